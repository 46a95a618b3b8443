"""Traced graphs to machine code to NumPy gufuncs."""
