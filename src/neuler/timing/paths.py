"""Geometric paths q(s) with their derivatives: through points, from samples, or given as functions.

A path says where a robot goes and not when: s grows along it, and q' = dq/ds. Batch axes lead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BPoly, CubicSpline, PPoly

from neuler.errors import InputError
from neuler.inputs import array

Array = NDArray[np.float64]
ORDERS = ("q", "dq/ds", "d2q/ds2")
FEW = 30
"""Points whose weights are quicker than the polynomials between them."""


class Path:
    """A path, or a batch of paths: positions and derivatives at any s from ``start`` to ``end``.

    ``shape`` are the batch axes. Made by :meth:`through`, :meth:`sampled` or :meth:`of`.
    """

    def __init__(
        self,
        evaluate: _Evaluator,
        ends: tuple[float, float],
        shape: tuple[int, ...],
        nq: int,
        nv: int | None = None,
    ) -> None:
        self._evaluate = evaluate
        self.start, self.end = ends
        self.shape = shape
        self.sizes = nq, nq if nv is None else nv
        """Lengths of q, and of its derivatives."""
        self.everywhere = not isinstance(evaluate, _AtSamples)
        """Whether it is known between its samples."""

    @classmethod
    def through(cls, points: Any, at: Any = None, ends: str = "not-a-knot") -> Path:
        """Return a cubic spline through points (..., W, nq); ``at`` (W) is s of each, evenly from 0 to 1 by default.

        ``ends`` is SciPy's condition: "not-a-knot", "natural", "clamped", "periodic". Of robots whose joints are turns
        and slides: a quaternion is no point to draw a spline through, sample such paths.

        >>> path = Path.through([[0.0, 0.0], [1.0, 0.5], [2.0, 0.0]])
        >>> path(0.5).tolist(), path(0.5, 1).round(6).tolist()
        ([1.0, 0.5], [2.0, 0.0])
        """
        points = _rows("points", points)
        count = points.shape[-2]
        if count < 2:
            raise InputError(f"a path needs two points or more, got points of shape {points.shape}")
        knots = np.linspace(0.0, 1.0, count) if at is None else _rising("at", at, count)
        if ends == "periodic" and not (points[..., 0, :] == points[..., -1, :]).all():
            raise InputError("a periodic path must end where it starts: its first and its last point differ")
        if count > FEW:
            try:
                return cls._of_pieces(CubicSpline(knots, np.moveaxis(points, -2, 0), bc_type=ends))
            except (TypeError, ValueError) as error:
                raise InputError(f"no spline through these points: {error}") from None
        unit: Any = np.eye(count)
        if ends == "periodic":
            unit, points = np.vstack([unit[:-1, :-1], unit[:1, :-1]]), points[..., :-1, :]
        try:
            spline = CubicSpline(knots, unit, bc_type=ends)
        except (TypeError, ValueError) as error:
            raise InputError(f"no spline through these points: {error}") from None
        return cls(_Weighted(spline, points), (float(knots[0]), float(knots[-1])), points.shape[:-2], points.shape[-1])

    @classmethod
    def sampled(cls, s: Any, q: Any, first: Any = None, second: Any = None) -> Path:
        """Return a path from samples q (..., N, nq) at s (N), with dq/ds and d2q/ds2 (..., N, nv) where they are known.

        Between samples a quintic takes the values of both ends, a cubic without ``second``; without both it is a cubic
        spline through all samples. Positions with quaternions need both and are not looked at between samples.

        >>> s = np.linspace(0, 1, 5)
        >>> path = Path.sampled(s, s[:, None] ** 2, 2 * s[:, None], 2 + 0 * s[:, None])
        >>> path(0.3).round(12).tolist()
        [0.09]
        """
        q = _rows("q", q)
        s = _rising("s", s, q.shape[-2])
        if first is None:
            if second is not None:
                raise InputError("a path with second derivatives needs the first ones, too")
            return cls.through(q, s)
        given = [_rows("dq/ds", first)] + ([] if second is None else [_rows("d2q/ds2", second)])
        for name, values in zip(("dq/ds", "d2q/ds2"), given, strict=False):
            if values.shape[:-1] != q.shape[:-1] or values.shape[-1] != given[0].shape[-1]:
                raise InputError(f"{name} must have a row for each of q, {q.shape}, got {values.shape}")
        if q.shape[-1] != given[0].shape[-1]:
            if second is None:
                raise InputError("a path whose q has quaternions needs dq/ds and d2q/ds2 at its samples")
            found = _AtSamples(s, (q, *given))
            return cls(found, (float(s[0]), float(s[-1])), q.shape[:-2], q.shape[-1], given[0].shape[-1])
        rows = np.stack([np.moveaxis(x, -2, 0) for x in (q, *given)], axis=1)
        pieces = PPoly.from_bernstein_basis(BPoly.from_derivatives(s, rows))
        return cls._of_pieces(pieces)

    @classmethod
    def _of_pieces(cls, pieces: PPoly) -> Path:
        """Of polynomials (degree + 1, pieces, ..., n)."""
        shape, size = pieces.c.shape[2:-1], pieces.c.shape[-1]
        return cls(_Pieces(pieces), (float(pieces.x[0]), float(pieces.x[-1])), shape, size)

    @classmethod
    def of(cls, given: Any, ends: tuple[float, float] | None = None) -> Path:
        """Return the path of a spline of SciPy's, or of a function ``f(s, order)`` of s (n) that gives (n, nq).

        A function must know derivatives up to the second; up to the third for bounds on torque rates.

        >>> circle = Path.of(lambda s, order: np.stack([np.sin(s + order * np.pi / 2)], axis=-1), (0.0, 1.0))
        >>> circle(0.0, 1).tolist()
        [1.0]
        """
        if isinstance(given, Path):
            return given
        if ends is None:
            if hasattr(given, "t") and hasattr(given, "k"):
                ends = float(given.t[given.k]), float(given.t[-given.k - 1])
            elif hasattr(given, "x"):
                ends = float(given.x[0]), float(given.x[-1])
            else:
                raise InputError("a path that is a function needs its ends: Path.of(f, (0.0, 1.0))")
        if not (np.isfinite(ends).all() and ends[0] < ends[1]):
            raise InputError(f"the ends of a path must be two finite numbers, the first one less, got {ends!r}")
        probe = np.asarray(given(np.array(ends), 0))
        if probe.ndim != 2 or probe.shape[0] != 2:
            raise InputError(f"a path's function must give positions (n, nq) for s of shape (n), got {probe.shape}")
        slope = np.asarray(given(np.array(ends), 1))
        return cls(_OfFunction(given), ends, (), probe.shape[1], slope.shape[-1])

    @property
    def knots(self) -> Array | None:
        """s where derivatives of the path may jump, its ends included; None where they are not known."""
        return self._evaluate.knots

    def moved(self) -> Path:
        """Return the same path with s from zero on."""
        if self.start == 0.0:
            return self
        evaluate = _Moved(self._evaluate, self.start)
        return Path(evaluate, (0.0, self.end - self.start), self.shape, *self.sizes)

    def __getitem__(self, key: Any) -> Path:
        """Return one path of a batch, or several of them: what ``key`` picks from the batch axes."""
        if not self.shape:
            raise InputError("this is one path and no batch: there is nothing to take from it")
        numbers = np.arange(math.prod(self.shape)).reshape(self.shape)
        try:
            chosen = np.asarray(numbers[key])
        except IndexError as error:
            raise InputError(f"paths have the batch axes {self.shape}: {error}") from None
        found = self._evaluate.part(chosen)
        return Path(found, (self.start, self.end), chosen.shape, *self.sizes)

    def part(self, cut: slice) -> Path:
        """Return some of the paths, counted along all batch axes: a batch with one axis."""
        chosen = np.arange(math.prod(self.shape))[cut]
        return Path(self._evaluate.part(chosen), (self.start, self.end), chosen.shape, *self.sizes)

    def __call__(self, s: Any, order: int = 0) -> Array:
        """Return q, or its derivative of an order: s one number, (n) for all paths, or (..., n) for each its own."""
        s = np.asarray(s, dtype=float)
        if not s.ndim:
            found: Array = self._evaluate(s[None], order)[..., 0, :]
            return found
        return self._evaluate(s, order)


@dataclass(frozen=True)
class PathPoints:
    """A path at points s (N), or (..., N): q (..., N, nq), and dq/ds and d2q/ds2 (..., N, nv)."""

    s: Array
    q: Array
    first: Array
    second: Array

    @classmethod
    def of(cls, path: Path, s: Array) -> PathPoints:
        """Return the path at s; a number that is not finite is refused."""
        found = cls(s, *(path(s, order) for order in range(3)))
        for name, values in zip(ORDERS, (found.q, found.first, found.second), strict=True):
            if not np.isfinite(values).all():
                where = tuple(int(k) for k in np.argwhere(~np.isfinite(values))[0])
                raise InputError(f"the path's {name} is {values[where]} at s = {s[where[-2]]:g}, entry {where[-1]}")
        return found

    def __getitem__(self, cut: slice | NDArray[np.intp]) -> PathPoints:
        """Return some of the points."""
        return PathPoints(self.s[..., cut], self.q[..., cut, :], self.first[..., cut, :], self.second[..., cut, :])


class _Evaluator:
    """Positions and derivatives of paths; a class of its own for each kind, so that paths can be pickled."""

    @property
    def knots(self) -> Array | None:
        """s where derivatives may jump."""
        return None

    def __call__(self, s: Array, order: int) -> Array:
        """Of s (n) for all paths, or (..., n) for each its own."""
        raise NotImplementedError

    def part(self, chosen: NDArray[np.intp]) -> _Evaluator:
        """Some of the paths, by their numbers along all batch axes, with the axes of these numbers."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Weighted(_Evaluator):
    """Points (..., W, n) times the weights that a spline has for them at s."""

    spline: Any
    points: Array

    @property
    def knots(self) -> Array | None:
        return np.asarray(self.spline.x)

    def __call__(self, s: Array, order: int) -> Array:
        found: Array = self.spline(s, order) @ self.points
        return found

    def part(self, chosen: NDArray[np.intp]) -> _Evaluator:
        return _Weighted(self.spline, self.points.reshape((-1, *self.points.shape[-2:]))[chosen])


@dataclass(frozen=True)
class _Pieces(_Evaluator):
    """Polynomials (degree + 1, pieces, ..., n)."""

    pieces: PPoly

    @property
    def knots(self) -> Array | None:
        return np.asarray(self.pieces.x)

    def __call__(self, s: Array, order: int) -> Array:
        part = self.pieces.derivative(order) if order else self.pieces
        if s.ndim == 1:
            return np.ascontiguousarray(np.moveaxis(part(s), 0, -2))
        every = part.c.reshape((*part.c.shape[:2], -1, part.c.shape[-1]))  # each path at its own places
        rows = s.reshape((-1, s.shape[-1]))
        found = np.empty((*rows.shape, part.c.shape[-1]))
        for k, mine in enumerate(rows):
            found[k] = PPoly(every[:, :, k], part.x)(mine)
        return found.reshape((*s.shape, -1))

    def part(self, chosen: NDArray[np.intp]) -> _Evaluator:
        c = self.pieces.c
        return _Pieces(PPoly(c.reshape((*c.shape[:2], -1, c.shape[-1]))[:, :, chosen], self.pieces.x))


@dataclass(frozen=True)
class _OfFunction(_Evaluator):
    """A user's function of s (n) and an order: one path."""

    function: Callable[[Array, int], Any]

    def __call__(self, s: Array, order: int) -> Array:
        return np.asarray(self.function(s.ravel(), order), dtype=float).reshape((*s.shape, -1))


@dataclass(frozen=True)
class _Moved(_Evaluator):
    """The same from another s on."""

    before: _Evaluator
    start: float

    @property
    def knots(self) -> Array | None:
        return None if self.before.knots is None else self.before.knots - self.start

    def __call__(self, s: Array, order: int) -> Array:
        return self.before(s + self.start, order)

    def part(self, chosen: NDArray[np.intp]) -> _Evaluator:
        return _Moved(self.before.part(chosen), self.start)


@dataclass(frozen=True)
class _AtSamples(_Evaluator):
    """Values (..., N, n) at samples s (N), and nowhere else."""

    s: Array
    values: tuple[Array, ...]

    def __call__(self, s: Array, order: int) -> Array:
        if order >= len(self.values):
            raise InputError(f"this path, whose q has quaternions, has no derivatives of order {order}")
        if s.shape != self.s.shape or not np.array_equal(s, self.s):
            raise InputError("this path, whose q has quaternions, is known at its samples alone: use them as the grid")
        return self.values[order]

    def part(self, chosen: NDArray[np.intp]) -> _Evaluator:
        return _AtSamples(self.s, tuple(x.reshape((-1, *x.shape[-2:]))[chosen] for x in self.values))


def _rows(name: str, given: Any) -> Array:
    """A row of numbers for every point: (..., points, joints), all finite."""
    found = array("path", name, given, ())
    if found.ndim < 2 or not found.shape[-1]:
        raise InputError(f"path: expected {name} with axes (..., points, joints), got shape {found.shape}")
    if not np.isfinite(found).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(found))[0])
        raise InputError(f"path: {name}: every number must be finite, entry {where} is {found[where]}")
    return found


def _rising(name: str, given: Any, count: int) -> Array:
    found = array("path", name, given, ())
    if found.shape != (count,):
        raise InputError(f"path: {name}: expected one number for each of {count} points, got shape {found.shape}")
    good = np.isfinite(found[:-1]) & np.isfinite(found[1:]) & (np.diff(found) > 0)
    if not good.all():
        where = int(np.argmin(good))
        raise InputError(
            f"path: {name} must rise from point to point, it does not at point {where}: {found[where : where + 2]}"
        )
    return found
