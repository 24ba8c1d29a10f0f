"""Make GPU training cheaper, and prove it."""

__version__ = "0.1.0"
