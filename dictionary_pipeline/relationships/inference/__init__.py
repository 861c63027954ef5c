"""Relationships that the database does not declare, worked out from names, types and data."""
