"""The information of a motion as the objective of a plan: one value of all points, with exact derivatives.

With z_t the profiles, their derivatives and the duration at point t, linear in the variables, and G = df/dM

M = M_0 + rate sum of w_t Y_t^T S Y_t,    df/dz_t = 2 rate w_t tr(G Y_t^T S dY_t/dz_t)

The second derivatives have three parts: those of Y weighted by df/dY, the products of first ones, and those of f
along dM/dx. They are dense over all variables, which are few. Each evaluation is a call of a compiled kernel for all
points and some products of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuler.functions.function import Function
from neuler.identify.criterion import Criterion, Judged
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import MovingRobot
from neuler.motions.profiles import Profiles
from neuler.optimize.blocks import Block
from neuler.plan.phase_blocks import rows_block
from neuler.plan.rows import Family, Rows, trace_rows
from neuler.trace.graph import Node

Array = NDArray[np.float64]
Integers = NDArray[np.intp]
DENSE = 0.1
"""Share of a matrix that is not zero, above which products with arrays are quicker than sparse ones."""


class RegressorRows:
    """The entries of a regressor at a moment that are not zero at every state."""

    def __init__(self, model: MovingRobot, columns: tuple[str, ...]) -> None:
        self.columns = columns
        self.places: tuple[Integers, Integers] = (np.zeros(0, np.intp), np.zeros(0, np.intp))
        """Force and column of each entry."""
        self.shape = (model.robot.nu, len(columns))
        family = Family("information", "information", self._rows, lambda n: [""] * n)
        self.rows: Rows = trace_rows(model, [family], "information")
        self.gradient: Function = self.rows.function.vjp(list(self.rows.derivatives.wrt))

    def _rows(self, moment: Moment) -> Any:
        Y = np.asarray(moment.robot.compile("regressor", columns=self.columns)(moment.q, moment.qd, moment.qdd))
        force, column = np.nonzero([[isinstance(x, Node) or x != 0.0 for x in row] for row in Y])
        self.places = force, column
        return Y[self.places]

    def compile(self) -> None:
        """Make the machine code of the regressor and its derivatives, if it is not there."""
        self.rows.derivatives.compile()
        inputs = {operand.name: np.ones((1, *operand.shape)) for operand in self.gradient.inputs}
        with np.errstate(all="ignore"):
            self.gradient(**inputs)


@dataclass(frozen=True, eq=False)
class Experiment:
    """What is measured along a motion, and what is known before it."""

    regressor: RegressorRows
    precision: Array
    """S: 1 over the variance of each force, (nu,)."""
    samples: float
    """Samples in the whole motion."""
    known: Array
    """Information that is there before the motion, M_0, (p, p)."""

    def matrix(self, W: Array) -> Array:
        """M of the regressor (n, nu, p) at even times of the whole motion."""
        A = (W * np.sqrt(self.precision * self.samples / len(W))[:, None]).reshape(-1, W.shape[2])
        return np.asarray(A.T @ A + self.known)

    def block(self, profiles: Profiles, n: int, criterion: Criterion) -> InformationBlock:
        """The criterion as a part of an objective, at the points of the grid that have a weight."""
        used = profiles.weights != 0.0
        none = np.full(self.regressor.rows.count, np.inf)
        given = rows_block(self.regressor.rows, profiles, profiles.grid[used], n, {}, -none, none)
        same = {each.name: getattr(given, each.name) for each in fields(Block)}
        one = np.ones((1, 1))
        same |= {"lower": -np.inf * one, "upper": np.inf * one, "weights": one, "scale": np.ones(1)}
        return InformationBlock(**same, experiment=self, criterion=criterion, shares=profiles.weights[used])


@dataclass(frozen=True, eq=False)
class InformationBlock(Block):
    """f(M) as a block of one row over all points; ``shares`` are the weights of the points in integrals."""

    experiment: Experiment = field(kw_only=True)
    criterion: Criterion = field(kw_only=True)
    shares: Array = field(kw_only=True)

    def inputs(self, x: Array) -> dict[str, Array]:
        """What the regressor takes at every point."""
        z = (self.map @ x + self.offset).reshape(len(self.shares), self.derivatives.width)
        return self.derivatives.inputs(z, self.constants)

    def values(self, inputs: Any) -> Array:
        """The criterion, (1, 1)."""
        return np.array([[self._judged(inputs)[1].value]])

    def _regressors(self, entries: Array) -> Array:
        """Entries (..., r) in their places in dense matrices, (..., nu, p)."""
        regressor = self.experiment.regressor
        found = np.zeros((*entries.shape[:-1], *regressor.shape))
        found[(..., *regressor.places)] = entries
        return found

    @cached_property
    def _weights(self) -> Array:
        """Of the squared rows at every point, (points, nu)."""
        return self.experiment.samples * self.shares[:, None] * self.experiment.precision

    def _judged(self, inputs: Any) -> tuple[Array, Judged]:
        """The regressor at all points, (points, nu, p), and the criterion."""
        Y = self._regressors(np.asarray(self.derivatives.function(**inputs)))
        A = (np.sqrt(self._weights)[:, :, None] * Y).reshape(-1, Y.shape[2])
        return Y, self.criterion(A.T @ A + self.experiment.known)

    def _slopes(self, Y: Array, judged: Judged) -> Array:
        """df/dY, (points, nu, p)."""
        return np.asarray(2.0 * self._weights[:, :, None] * (Y @ judged.gradient))

    # ---- derivatives --------------------------------------------------------------------------------------------

    @property
    def jacobian_size(self) -> int:
        """The inputs at all points: df/dz has an entry for each."""
        return len(self.shares) * self.derivatives.width

    def jacobian_entries(self, inputs: Any) -> Array:
        """df/dz at all points, point by point."""
        regressor = self.experiment.regressor
        slopes = self._slopes(*self._judged(inputs))[(..., *regressor.places)]
        found = regressor.gradient(**inputs, weights=slopes)
        parts = found if isinstance(found, tuple) else (found,)
        return np.concatenate([np.asarray(x).reshape(len(slopes), -1) for x in parts], axis=1).ravel()

    def jacobian_terms(self) -> tuple[Integers, Integers, Integers, Array]:
        """None: it is no row of the programme."""
        none = np.zeros(0, dtype=np.intp)
        return none, none, none, np.zeros(0)

    def gradient_operator(self, n: int) -> Any:
        """From df/dz to the gradient of the objective."""
        return sparse.csr_matrix(self.map.T * float(self.weights[0, 0]))

    @cached_property
    def _columns(self) -> Integers:
        """Variables that the motion depends on."""
        return np.unique(self.map.indices).astype(np.intp)

    @cached_property
    def _turned(self) -> Any:
        """L^T over these variables: an array where most of it is not zero, as of Fourier series."""
        L = self.map[:, self._columns].T.tocsr()
        return L.toarray() if L.nnz > DENSE * L.shape[0] * L.shape[1] else L

    @cached_property
    def _spread(self) -> Array:
        """L by points, (points, width, variables)."""
        dense = self.map[:, self._columns].toarray()
        return np.asarray(dense.reshape(len(self.shares), self.derivatives.width, -1))

    @property
    def hessian_size(self) -> int:
        """A lower triangle over these variables."""
        return len(self._columns) * (len(self._columns) + 1) // 2

    def hessian_terms(self, sums: Any = ()) -> tuple[Integers, Integers, Integers, Array]:
        """Of the lower triangle: row, column, number of the entry, coefficient."""
        row, column = np.tril_indices(len(self._columns))
        return self._columns[row], self._columns[column], np.arange(len(row)), np.ones(len(row))

    def hessian_entries(self, inputs: Any, weights: Array) -> Array:
        """Second derivatives of the criterion by the variables: a lower triangle."""
        Y, judged = self._judged(inputs)
        points, width = len(self.shares), self.derivatives.width
        places = self.experiment.regressor.places
        slopes = self._slopes(Y, judged)[(..., *places)]
        at = np.zeros((points, width, width))
        hessian = self.derivatives.hessian
        if hessian is not None:
            row, column = hessian.places
            bent = hessian(**inputs, weights=slopes)
            at[:, row, column] = bent
            at[:, column, row] = bent
        row, column = self.derivatives.jacobian.places
        first = np.zeros((points, width, len(places[0])))
        first[:, column, row] = self.derivatives.jacobian(**inputs)
        dY = self._regressors(first)  # (points, width, nu, p)
        scaled = dY * self._weights[:, None, :, None]
        flat = scaled.reshape(points, width, -1)
        at += 2.0 * flat @ (dY @ judged.gradient).reshape(points, width, -1).transpose(0, 2, 1)
        products = Y.transpose(0, 2, 1)[:, None] @ scaled  # (points, width, p, p)
        changes = np.asarray(self._turned @ products.reshape(points * width, -1)).reshape(-1, *judged.gradient.shape)
        found = judged.second(changes + changes.transpose(0, 2, 1))
        L = self._spread
        found = found + np.einsum("twx,twy->xy", L, at @ L, optimize=True)
        return np.asarray(float(weights[0, 0]) * found[np.tril_indices(len(found))])
