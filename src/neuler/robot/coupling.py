"""Joints that others lead: gears, mimic joints, tables. A coupled joint has no coordinate of its own."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neuler.errors import RobotError
from neuler.inputs import row
from neuler.robot.numbers import finite
from neuler.robot.value import kept
from neuler.trace.graph import Node, Scalar
from neuler.trace.scalars import less, where

SMOOTH = 1000
"""Derivatives that a function has which is smooth everywhere."""
_MOST = 500
"""Knots that a table may have."""


def _numbers(what: str, values: ArrayLike) -> tuple[float, ...]:
    return tuple(row(what, values, error=RobotError).tolist())


@dataclass(frozen=True)
class Polynomial:
    """c0 + c1 x + c2 x^2 + ...

    >>> Polynomial((1.0, 0.0, 3.0)).at(2.0)  # the value, and its first and second derivative
    (13.0, 12.0, 6.0)
    """

    coefficients: tuple[float, ...]

    def __init__(self, coefficients: ArrayLike) -> None:
        object.__setattr__(self, "coefficients", _numbers("polynomial: coefficients", coefficients))

    @property
    def continuous(self) -> int:
        """How many of its derivatives are continuous."""
        return SMOOTH

    def at(self, x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """The value, and its first and second derivative."""
        return _horner(self.coefficients, x)


@dataclass(frozen=True)
class Spline:
    """A smooth curve through points (x, y): the natural spline of ``degree`` 3 or 5.

    Two or four of its derivatives are continuous. Beyond its ends it goes on as a line (degree 3) or a parabola (5).
    Torque rates of a robot need a third derivative: give them degree 5.

    >>> knee = Spline((0.0, 0.5, 1.0), (0.0, 0.1, 0.4))
    >>> [round(value, 3) for value in knee.at(0.5)]
    [0.1, 0.4, 1.2]
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    degree: int = 3

    def __init__(self, x: ArrayLike, y: ArrayLike, degree: int = 3) -> None:
        if degree not in (3, 5) or isinstance(degree, bool):
            raise RobotError(f"spline: degree must be 3 or 5, got {degree!r}")
        knots, values = _numbers("spline: x", x), _numbers("spline: y", y)
        if len(knots) != len(values):
            raise RobotError(f"spline: x and y must have one length, got {len(knots)} and {len(values)}")
        least = (degree + 1) // 2
        if not least <= len(knots) <= _MOST:
            raise RobotError(f"spline: degree {degree} needs {least} to {_MOST} points, got {len(knots)}")
        if not all(a < b for a, b in itertools.pairwise(knots)):
            raise RobotError("spline: x must increase from point to point")
        for name, value in (("x", knots), ("y", values), ("degree", int(degree))):
            object.__setattr__(self, name, value)
        if not np.isfinite(np.array([c for _, row in self._pieces for c in row])).all():
            raise RobotError("spline: its points are too close to each other, or too far, to put a curve through")

    @property
    def continuous(self) -> int:
        """How many of its derivatives are continuous."""
        return self.degree - 1

    @property
    @kept
    def _pieces(self) -> list[tuple[float, tuple[float, ...]]]:
        """Of every piece the point that it is counted from and its coefficients; the first and the last lead away."""
        x, y, m = np.array(self.x), np.array(self.y), self.degree
        steps = np.diff(x)
        size = (m + 1) * len(steps)
        matrix, right, row = np.zeros((size, size)), np.zeros(size), 0
        derivative = [[float(math.perm(j, k)) for j in range(m + 1)] for k in range(m)]
        for k, _ in enumerate(steps):  # t from 0 to 1 in each piece; both ends are given
            own = slice((m + 1) * k, (m + 1) * (k + 1))
            matrix[row, own], right[row] = [1.0] + [0.0] * m, y[k]
            matrix[row + 1, own], right[row + 1] = 1.0, y[k + 1]
            row += 2
        for k, (left, after) in enumerate(itertools.pairwise(steps)):
            for order in range(1, m):
                scale = (after / left) ** order
                matrix[row, (m + 1) * k : (m + 1) * (k + 1)] = np.array(derivative[order]) * scale
                matrix[row, (m + 1) * (k + 1) + order] = -derivative[order][order]
                row += 1
        for order in range((m + 1) // 2, m):
            matrix[row, order] = 1.0
            matrix[row + 1, size - (m + 1) :] = derivative[order]
            row += 2
        with np.errstate(all="ignore"):
            local = np.linalg.solve(matrix, right).reshape(len(steps), m + 1) / steps[:, None] ** np.arange(m + 1)
        half = (m + 1) // 2
        found = [(float(x[0]), tuple(local[0, :half].tolist()))]
        found += [(float(start), tuple(c.tolist())) for start, c in zip(x[:-1], local, strict=True)]
        last = [float(np.polyval(np.polyder(local[-1][::-1], k), steps[-1])) for k in range(half)]
        found.append((float(x[-1]), tuple(value / (1, 1, 2)[k] for k, value in enumerate(last))))
        return found

    def at(self, x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """The value, and its first and second derivative."""
        pieces = self._pieces
        if not isinstance(x, Node):
            start, row = pieces[bisect.bisect_right(self.x, x.real)]
            return _horner(row, x - start)
        start, coefficients = pieces[0][0], [*pieces[0][1], *[0.0] * (self.degree + 1 - len(pieces[0][1]))]
        origin: Scalar = start
        chosen: list[Scalar] = list(coefficients)
        for knot, (begin, row) in zip(self.x, pieces[1:], strict=True):
            before = less(x, knot)
            origin = where(before, origin, begin)
            more = [*row, *[0.0] * (self.degree + 1 - len(row))]
            chosen = [where(before, old, new) for old, new in zip(chosen, more, strict=True)]
        return _horner(chosen, x - origin)


def _horner(coefficients: Sequence[Scalar], x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """The value of a polynomial, and its first and second derivative."""
    found = []
    row: list[Scalar] = list(coefficients)
    for _ in range(3):
        total: Scalar = 0.0
        for c in reversed(row):
            total = total * x + c
        found.append(total)
        row = [k * c for k, c in enumerate(row)][1:]
    return found[0], found[1], found[2]


@dataclass(frozen=True)
class Coupling:
    """q_joint = ratio q_of + offset, or ratio function(q_of) + offset: the joint follows another one, or several.

    ``of`` names the joint that leads, or several, each with its ``ratio``; ``function`` (of one joint) is a
    ``Polynomial`` or a ``Spline``. A leader may itself follow another. URDF's mimic joint is a coupling.

    >>> Coupling("finger2", "finger1").at([0.02])[0]
    0.02
    >>> Coupling("patella", "knee", function=Polynomial((0.0, 0.5, -0.1))).at([1.0])[0]
    0.4
    """

    joint: str
    of: tuple[str, ...]
    ratio: tuple[float, ...]
    offset: float = 0.0
    function: Polynomial | Spline | None = None

    def __init__(
        self,
        joint: str,
        of: str | Iterable[str],
        ratio: ArrayLike = 1.0,
        offset: float = 0.0,
        function: Polynomial | Spline | None = None,
    ) -> None:
        owner = f"coupling of joint {joint!r}"
        if not hasattr(of, "__iter__"):
            raise RobotError(f"{owner}: names of joints are expected, got {joint!r} of {of!r}")
        leaders = (of,) if isinstance(of, str) else tuple(of)
        if not isinstance(joint, str) or not joint or not all(isinstance(name, str) and name for name in leaders):
            raise RobotError(f"{owner}: names of joints are expected, got {joint!r} of {of!r}")
        if not leaders:
            raise RobotError(f"{owner}: names no joint that leads it")
        ratios = _numbers(f"{owner}: ratio", np.full(len(leaders), ratio) if np.ndim(ratio) == 0 else ratio)
        if len(ratios) != len(leaders):
            raise RobotError(f"{owner}: {len(leaders)} joints lead it, and {len(ratios)} ratios are given")
        if joint in leaders:
            raise RobotError(f"{owner}: a joint cannot be coupled to itself")
        if len(set(leaders)) != len(leaders):
            raise RobotError(f"{owner}: a joint leads it twice; add the ratios")
        if function is not None and not isinstance(function, Polynomial | Spline):
            raise RobotError(f"{owner}: function must be a Polynomial or a Spline, got {function!r}")
        if function is not None and len(leaders) > 1:
            raise RobotError(f"{owner}: a function has one leading joint, got {', '.join(leaders)}")
        values = {"joint": joint, "of": leaders, "ratio": ratios, "function": function}
        for key, value in values.items():
            object.__setattr__(self, key, value)
        object.__setattr__(self, "offset", finite(owner, "offset", offset))

    @property
    def continuous(self) -> int:
        """How many derivatives of the position are continuous."""
        return SMOOTH if self.function is None else self.function.continuous

    def at(self, leaders: Sequence[Scalar]) -> tuple[Scalar, list[Scalar], Scalar]:
        """The position; its derivatives by the leading positions; and the second by the only one of a function."""
        if self.function is not None:
            value, first, second = self.function.at(leaders[0])
            (ratio,) = self.ratio
            return ratio * value + self.offset, [ratio * first], ratio * second
        total: Scalar = self.offset
        for ratio, x in zip(self.ratio, leaders, strict=True):
            total = total + ratio * x
        return total, list(self.ratio), 0.0


def in_order(owner: str, couplings: Sequence[Coupling]) -> list[Coupling]:
    """Each after those that decide its leaders; one that leads itself, by way of others, is refused."""
    left = {coupling.joint: coupling for coupling in couplings}
    found: list[Coupling] = []
    while left:
        ready = [coupling for coupling in left.values() if not any(name in left for name in coupling.of)]
        if not ready:
            path = [next(iter(left))]
            while path[-1] not in path[:-1]:
                path.append(next(name for name in left[path[-1]].of if name in left))
            circle = " of ".join(map(repr, path[path.index(path[-1]) :]))
            raise RobotError(f"{owner}: couplings lead in a circle: {circle}; one joint must move by itself")
        for coupling in ready:
            found.append(left.pop(coupling.joint))
    return found
