"""Identification of robots: parameters from measured motion and forces, with uncertainty and physical consistency."""
