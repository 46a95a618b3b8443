"""What is rounding and what is another thing: limits that several rooms hold to."""

UNIT = 1e-3
"""The square of a quaternion's length may be off from one by less than this; what is off by more is no rotation."""
OPEN = 1e-3
"""Loops may be open by less than this (metres and radians, the norm of all gaps); else they are not closed."""
