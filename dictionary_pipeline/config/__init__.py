"""Read and validate `dbt_like_configs/`; dbt manifests and YAML as a source of human knowledge."""
