"""Bounds on torque rates along a path: a local optimisation in time that starts at the law without them."""
