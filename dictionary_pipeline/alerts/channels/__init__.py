"""One module per kind of channel; its name is the `type` of a configured channel."""
