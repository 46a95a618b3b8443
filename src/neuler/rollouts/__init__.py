"""Rollouts: integrators compiled together with the dynamics, a time loop that never returns to Python."""
