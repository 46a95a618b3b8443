"""The version, in one place: the package's, and part of every cached kernel's key."""

__version__ = "0.2.0"
