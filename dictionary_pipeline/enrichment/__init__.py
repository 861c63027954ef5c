"""Definitions: human > database > inherited > model > derived."""
