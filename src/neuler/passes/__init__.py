"""Robot to robot: the same machine in a form that is cheaper to compute with."""
