"""Solvers of sparse nonlinear programmes, each a library of its own behind one function."""

from neuler.optimize.solvers.choice import PUSH, available, solve

__all__ = ["PUSH", "available", "solve"]
