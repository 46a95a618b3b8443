"""Numerical solvers on kernels."""
