"""One module per engine: connect, catalog SQL, sampling SQL, capabilities."""
