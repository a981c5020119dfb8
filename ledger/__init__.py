"""The write side: rules core, round, use cases, store and the terminals' door."""

__version__ = "0.3.0"
