"""The thin Dagster layer: partitions, assets, checks, sensors, schedules and resources.

Nothing here decides what a stage does; every function calls the core that the command line calls.
"""
