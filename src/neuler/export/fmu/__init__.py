"""Functional Mock-up Units (FMI 2.0): a model's description, its C around exported functions, binaries, the archive."""
