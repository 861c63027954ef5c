"""Definitions by a language model: one request per table, validated, kept by content, within a budget."""
