"""Stores, bundle, verify, value store and exports."""
