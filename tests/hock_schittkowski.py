"""Problems of Hock and Schittkowski (Test Examples for Nonlinear Programming Codes, 1981) with exact derivatives.

Derivatives are made by SymPy from the formulas of the book, which also gives starts and optima.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import sympy as sp

INF = np.inf


class Symbolic:
    """A programme of SymPy expressions in x0, x1, ..."""

    def __init__(self, objective, rows, start, row_bounds=(), lower=-INF, upper=INF):
        self.start = np.array(start, float)
        n = self.n = self.start.size
        m = self.m = len(rows)
        self.lower, self.upper = (np.array(np.broadcast_to(v, n), float) for v in (lower, upper))
        self.row_lower, self.row_upper = np.array(row_bounds, float).reshape(m, 2).T.copy()
        x, y, w = sp.symbols(f"x:{n}"), sp.symbols(f"y:{m}"), sp.Symbol("w")
        f, g = sp.sympify(objective), [sp.sympify(row) for row in rows]
        lagrangian = w * f + sum(a * b for a, b in zip(y, g, strict=True))
        jacobian = {(i, j): sp.diff(g[i], x[j]) for i in range(m) for j in range(n)}
        jacobian = {at: value for at, value in jacobian.items() if value != 0}
        hessian = {(i, j): sp.diff(lagrangian, x[i], x[j]) for i in range(n) for j in range(i + 1)}
        hessian = {at: value for at, value in hessian.items() if value != 0}
        self.jacobian_at = tuple(np.array([at[k] for at in jacobian], int) for k in (0, 1))
        self.hessian_at = tuple(np.array([at[k] for at in hessian], int) for k in (0, 1))
        self._f = sp.lambdify([x], f, "numpy")
        self._df = sp.lambdify([x], [sp.diff(f, v) for v in x], "numpy")
        self._g = sp.lambdify([x], g, "numpy")
        self._dg = sp.lambdify([x], list(jacobian.values()), "numpy")
        self._h = sp.lambdify([x, w, y], list(hessian.values()), "numpy")
        self.calls = 0

    def objective(self, x):
        self.calls += 1
        return float(self._f(x))

    def gradient(self, x):
        return np.array(self._df(x), float)

    def rows(self, x):
        return np.array(self._g(x), float)

    def jacobian(self, x):
        return np.array(self._dg(x), float)

    def hessian(self, x, weight, multipliers):
        return np.array(self._h(x, weight, multipliers), float)


@cache
def problem(name):
    """The programme and its optimum."""
    return OPTIMA[name][0](), OPTIMA[name][1]


def _hs100():
    f = "(x0-10)**2+5*(x1-12)**2+x2**4+3*(x3-11)**2+10*x4**6+7*x5**2+x6**4-4*x5*x6-10*x5-8*x6"
    g = (
        "127-2*x0**2-3*x1**4-x2-4*x3**2-5*x4", "282-7*x0-3*x1-10*x2**2-x3+x4",
        "196-23*x0-x1**2-6*x5**2+8*x6", "-4*x0**2-x1**2+3*x0*x1-2*x2**2-5*x5+11*x6",
    )  # fmt: skip
    return Symbolic(f, g, (1, 2, 0, 4, 0, 1, 1), [(0, INF)] * 4)


OPTIMA = {
    "HS5": (
        lambda: Symbolic("sin(x0+x1)+(x0-x1)**2-1.5*x0+2.5*x1+1", (), (0, 0), (), (-1.5, -3), (4, 3)),
        -(3**0.5) / 2 - np.pi / 3,
    ),
    "HS6": (lambda: Symbolic("(1-x0)**2", ("10*(x1-x0**2)",), (-1.2, 1), [(0, 0)]), 0.0),
    "HS15": (
        lambda: Symbolic(
            "100*(x1-x0**2)**2+(1-x0)**2", ("x0*x1", "x0+x1**2"), (-2, 1), [(1, INF), (0, INF)], -INF, (0.5, INF)
        ),
        306.5,
    ),
    "HS35": (
        lambda: Symbolic(
            "9-8*x0-6*x1-4*x2+2*x0**2+2*x1**2+x2**2+2*x0*x1+2*x0*x2", ("3-x0-x1-2*x2",), (0.5, 0.5, 0.5), [(0, INF)], 0
        ),
        1 / 9,
    ),
    "HS39": (lambda: Symbolic("-x0", ("x1-x0**3-x2**2", "x0**2-x1-x3**2"), (2, 2, 2, 2), [(0, 0)] * 2), -1.0),
    "HS71": (
        lambda: Symbolic(
            "x0*x3*(x0+x1+x2)+x2", ("x0*x1*x2*x3", "x0**2+x1**2+x2**2+x3**2"), (1, 5, 5, 1), [(25, INF), (40, 40)], 1, 5
        ),
        17.0140173,
    ),
    "HS100": (_hs100, 680.6300573),
}
"""Programmes and the least values that the book gives."""
