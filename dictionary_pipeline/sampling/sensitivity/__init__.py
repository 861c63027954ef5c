"""Which columns hold personal or secret values: a detector over names, types, context and values."""
