"""Studies: one task over a table of settings, on every core and on many machines."""
