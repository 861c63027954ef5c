"""Servers and protocol doubles that the tests start themselves."""
