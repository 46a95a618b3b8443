"""Solvers of sparse nonlinear programmes, each a library of its own behind one function."""

from neuler.plan.solvers.choice import available, solve
from neuler.plan.solvers.multistart import Start, Starts, best_of

__all__ = ["Start", "Starts", "available", "best_of", "solve"]
