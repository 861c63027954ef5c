"""Value profiles, allowed values and what must not be read."""
