"""Vectors, turns, screws and inertias over any scalar. Knows nothing of robots."""
