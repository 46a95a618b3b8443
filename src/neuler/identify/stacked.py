"""Data of a linear model y_t = W_t x + e_t, checked once and reduced by orthogonal transformations.

A sample t has ``nu`` forces, so that W is (N, nu, p) and y (N, nu). Of each force j, the rows of all samples are
reduced block by block to one triangular factor F_j, (p + 1, p + 1), with

    || W_j x - y_j ||^2 = || F_j (x, -1) ||^2     for every x.

Normal equations are never formed, so that the condition number is not squared; the factors have all that least squares
with any standard deviation per force needs, whatever the number of samples.

>>> import numpy as np
>>> W, y = np.arange(12.0).reshape(3, 2, 2) ** 2, np.ones((3, 2))
>>> reduced = Stacked.checked("example", W, y).triangles()
>>> x = np.array([0.5, -0.2])
>>> np.allclose(reduced.squares(x), ((W @ x - y) ** 2).sum(axis=0))
True
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.extras import require
from neuler.identify.singular import singular, singular_values
from neuler.inputs import array, told
from neuler.inputs import names as as_names

Array = NDArray[np.float64]
RANK = 1e-9
"""Singular values of the column-scaled regressor below this part of the largest one count as zero."""
FREE = 1e-6
"""A column with a larger share than this in the null space is not determined."""
_BLOCK = 1 << 18
"""Numbers of the regressor that are transformed at once."""
_LEAF, _PANEL = 512, 8
"""Rows that are added to a triangular factor at once, few enough for the cache; columns that LAPACK takes at once."""
_EXACT = 1e-8
"""Rounding errors of leverages up to which they may be computed from products of columns."""


@dataclass(frozen=True)
class Stacked:
    """Checked data: ``W`` (N, nu, p), ``y`` (N, nu), ``root`` (N, nu), the square roots of the weights, or None."""

    called: str
    names: tuple[str, ...]
    W: Array
    y: Array
    root: Array | None = None

    @classmethod
    def checked(cls, called: str, W: Any, y: Any, names: Iterable[str] | None = None, weights: Any = None) -> Stacked:
        """Refuses wrong shapes, numbers that are not finite, names used twice, negative weights and too few rows."""
        require("scipy", f"{called}: factorisations and distributions are SciPy's", "identify")
        W, y = regressor(called, "W", W), array(called, "y", y, ())
        if y.shape != W.shape[:2]:
            raise InputError(f"{called}: y must have shape (N, nu) = {W.shape[:2]} like W {W.shape}, got {y.shape}")
        if not np.isfinite(y).all():
            t, j = np.argwhere(~np.isfinite(y))[0]
            raise InputError(
                f"{called}: y has {np.count_nonzero(~np.isfinite(y))} values that are not finite, first at sample "
                f"{t}, force {j}; drop or interpolate these samples"
            )
        found = cls(called, column_names(called, names, W.shape[2]), W, y, _root(called, weights, y.shape))
        rows = int(found.rows.sum())
        if rows <= W.shape[2]:
            raise InputError(
                f"{called}: {rows} rows (samples times forces with a weight above zero) cannot determine "
                f"{W.shape[2]} columns and their uncertainty; give more samples or fewer columns"
            )
        return found

    @property
    def rows(self) -> Array:
        """Rows with a weight above zero, of each force, (nu,)."""
        if self.root is None:
            return np.full(self.y.shape[1], float(len(self.y)))
        return np.count_nonzero(self.root, axis=0).astype(float)

    def weighing(self, weights: Array) -> Stacked:
        """The same data, its weights multiplied by (N, nu) others."""
        root = np.sqrt(weights)
        return dataclasses.replace(self, root=root if self.root is None else self.root * root)

    def blocks(self) -> Iterator[slice]:
        """Of samples, so that a block of W stays small whatever their number."""
        size = max(1, _BLOCK // (self.W.shape[1] * self.W.shape[2]))
        return (slice(at, at + size) for at in range(0, len(self.W), size))

    def residuals(self, values: Array) -> Array:
        """y - W x, (N, nu), not weighted."""
        return np.concatenate([self.y[at] - self.W[at] @ values for at in self.blocks()])

    def triangles(self) -> Triangles:
        """One triangular factor for each force."""
        n, nu, p = self.W.shape
        used = np.zeros((nu, p), dtype=bool)
        for at in self.blocks():
            used |= self.W[at].any(axis=0)
        factors = np.zeros((nu, p + 1, p + 1))
        for j, columns in enumerate(used):
            k = np.flatnonzero(columns)
            held = np.zeros((len(k) + 1, len(k) + 1), order="F")
            rows = np.empty((_LEAF, len(k) + 1), order="F")
            for at in (slice(first, first + _LEAF) for first in range(0, n, _LEAF)):
                own = rows if at.stop <= n else np.empty((n - at.start, len(k) + 1), order="F")
                own[:, :-1] = self.W[at, j] if len(k) == p else self.W[at, j][:, k]
                own[:, -1] = self.y[at, j]
                if self.root is not None:
                    own *= self.root[at, j, None]
                held = added(held, own)
            factors[j][np.ix_(range(len(held)), [*k, p])] = held
        return Triangles(factors, self.rows)

    def scores(self, Z: Array, residuals: Array, sd: Array) -> Array:
        """Sum over forces of Z_tj w_tj e_tj / sd_j^2 of every sample, (N, columns of Z)."""
        scaled = residuals / sd**2 if self.root is None else residuals * self.root**2 / sd**2
        return np.concatenate([(scaled[at, None, :] @ Z[at])[:, 0] for at in self.blocks()])

    def leverages(self, Z: Array, root: Array, sd: Array, size: int, mask: Array | None = None) -> Array:
        """Q^T Q of every ``size`` samples, (N / size, r, r), where Q = Z root / sd, weighted, is orthonormal over all.

        ``mask`` (N, nu) of ones and zeros leaves rows out.
        """
        rows = self.rows_scale(sd) if mask is None else self.rows_scale(sd) * mask
        count = -(-len(Z) // size)
        grams = self._grams(Z, rows, size, count)
        levels = np.sqrt(np.einsum("ckk->k", grams))
        if np.finfo(float).eps * float(((levels[:, None] * root) ** 2).sum()) > _EXACT:
            return self._grams(Z, rows, size, count, root)
        return np.asarray(root.T @ grams @ root)

    def _grams(self, Z: Array, rows: Array, size: int, count: int, root: Array | None = None) -> Array:
        """X^T X of every ``size`` samples, where X = Z, or Z root, with its rows multiplied by ``rows`` (N, nu)."""
        nu, width = Z.shape[1], Z.shape[2] if root is None else root.shape[1]
        found = np.empty((count, width, width))
        step = max(1, _BLOCK // (nu * Z.shape[2] * size))
        X = np.empty((step * size, nu, width))  # one for all: fresh memory would cost as much as the products
        for first in range(0, count, step):
            at = slice(first * size, (first + step) * size)
            own = Z[at] if root is None else Z[at] @ root
            np.multiply(own, rows[at, :, None], out=X[: len(own)])
            X[len(own) :] = 0.0
            blocks = X.reshape(step, size * nu, width)[: count - first]
            found[first : first + step] = blocks.transpose(0, 2, 1) @ blocks
        return found

    def rows_scale(self, sd: Array) -> Array:
        """What rows are multiplied by: the root of their weight, divided by the force's standard deviation, (N, nu)."""
        return np.broadcast_to(1 / sd, self.y.shape) if self.root is None else self.root / sd


@dataclass(frozen=True)
class Triangles:
    """Data reduced to ``factors`` (nu, p + 1, p + 1) and ``rows`` (nu,), the number of rows behind each of them."""

    factors: Array
    rows: Array

    def squares(self, values: Array) -> Array:
        """Sum of squared weighted residuals of each force, (nu,)."""
        return ((self.factors @ np.append(values, -1.0)) ** 2).sum(axis=1)

    def combined(self, sd: Array) -> Array:
        """One factor of all forces, each divided by its standard deviation, (p + 1, p + 1)."""
        size = self.factors.shape[1]
        rows = (self.factors / sd[:, None, None]).reshape(-1, size)
        stacked = np.linalg.qr(rows[rows.any(axis=1)], mode="r")  # a force does not know every column
        return np.concatenate([stacked, np.zeros((size - len(stacked), size))])

    @property
    def levels(self) -> Array:
        """Root mean square of the weighted y of each force, (nu,)."""
        return np.sqrt((self.factors[:, :, -1] ** 2).sum(axis=1) / np.maximum(self.rows, 1))

    def least(self, share: float) -> Array:
        """What standard deviations are at least, (nu,): a share of each force's level.

        A force without rows, of a joint that rests, has no level: a thousandth of the largest one counts.
        """
        levels = self.levels
        return np.maximum(share * np.maximum(levels, 1e-3 * levels.max()), 1e-300)


@dataclass(frozen=True)
class Solution:
    """Least squares of one triangular factor.

    ``root`` (p, rank) is a root of the inverse of the information matrix: root root^T = (W^T W)^+.
    """

    values: Array
    root: Array
    rank: int
    condition: float
    scaled_condition: float
    """Of the directions that are determined."""
    free: NDArray[np.bool_]
    """Columns that are not determined, (p,); the values are then the least ones in units of the column's norm."""


def solved(factor: Array) -> Solution:
    """Minimises || F (x, -1) || by singular values of the column-scaled factor."""
    R, rhs = factor[:-1, :-1], factor[:-1, -1]
    norms = np.linalg.norm(R, axis=0)
    scale = np.where(norms > 0, norms, 1.0)
    U, s, Vt = singular(R / scale)
    rank = int(np.count_nonzero(s > RANK * s[0])) if s[0] > 0 else 0
    root = Vt[:rank].T / s[:rank] / scale[:, None]
    free = np.linalg.norm(Vt[rank:], axis=0) > FREE
    return Solution(
        root @ (U[:, :rank].T @ rhs), root, rank, _ratio(singular_values(R)), _ratio(s[: max(rank, 1)]), free
    )


def _ratio(s: Array) -> float:
    return float(s[0] / s[-1]) if s[-1] > RANK**2 * s[0] else np.inf


def added(factor: Array, rows: Array) -> Array:
    """The triangular factor of another (n, n) and rows (m, n) below it; both, in Fortran's order, are overwritten."""
    from scipy.linalg.lapack import dtpqrt

    return np.asarray(dtpqrt(0, min(_PANEL, len(factor)), factor, rows, overwrite_a=1, overwrite_b=1)[0])


def triangle(rows: Array) -> Array:
    """The triangular factor of a matrix (m, n), (min(m, n), n); the matrix, in Fortran's order, is overwritten."""
    from scipy.linalg.lapack import dgeqrf

    m, n = rows.shape
    factored, _, _, _ = dgeqrf(rows, lwork=64 * n, overwrite_a=1)
    return np.triu(factored[: min(m, n)])


# ---- input ---------------------------------------------------------------------------------------------------------


def regressor(called: str, name: str, value: Any) -> Array:
    """An array of finite numbers with three axes."""
    found = array(called, name, value, ())
    if found.ndim != 3 or 0 in found.shape:
        raise InputError(
            f"{called}: {name} must have shape (N, nu, p): samples, forces, columns; got {found.shape}"
            + "; of one force give W[:, None, :]" * (found.ndim == 2)
        )
    for at in range(0, len(found), 4096):
        if not np.isfinite(block := found[at : at + 4096]).all():
            t, j, k = np.argwhere(~np.isfinite(block))[0]
            raise InputError(
                f"{called}: {name} is not finite at sample {at + t}, force {j}, column {k}; drop this sample, or "
                "repair the signal that it was computed from"
            )
    return found


def column_names(called: str, names: Iterable[str] | None, size: int) -> tuple[str, ...]:
    """One name for each column, all different; "x0", "x1", ... where none are given."""
    if names is None:
        return tuple(f"x{k}" for k in range(size))
    found = as_names(f"{called}: names", names)
    if len(found) != size:
        raise InputError(f"{called}: W has {size} columns, got {len(found)} names; give one name for each column")
    if twice := sorted({name for name in found if found.count(name) > 1}):
        raise InputError(f"{called}: names must differ, {told(twice)} occur more than once; rename these columns")
    return found


def _root(called: str, weights: Any, shape: tuple[int, ...]) -> Array | None:
    if weights is None:
        return None
    found = array(called, "weights", weights, ())
    if found.shape not in (shape[:1], shape):
        raise InputError(
            f"{called}: weights must have shape {shape[:1]}, one for each sample, or {shape}, got {found.shape}"
        )
    if not np.isfinite(found).all() or (found < 0).any():
        raise InputError(f"{called}: weights must be finite and not negative; zero leaves a row out")
    if found.ndim == 1:
        found = np.broadcast_to(found[:, None], shape)
    return np.sqrt(found)
