"""From an engine's catalog to the snapshot that the pipeline works on."""
