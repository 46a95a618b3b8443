"""Sparse nonlinear programmes and who solves them: blocks of compiled functions, linear equalities, solvers."""

from neuler.extras import require

require("scipy", "neuler.plan, neuler.timing and neuler.optimize need SciPy, and a solver", "plan")
