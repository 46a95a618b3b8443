"""Where a robot is to be: positions as functions of time, with exact derivatives.

A reference is called with a time (s), a number, an array of them or a traced value, and gives positions, velocities,
accelerations (and more, by its ``order``), one behind the other. Any function of time over arrays makes one: its
derivatives are found by the differentiation pass.

>>> import neuler, numpy as np
>>> swing = Reference(lambda t: np.array([np.sin(t), 2 * t]))
>>> swing(0.0).tolist()  # q, qd, qdd of two joints
[0.0, 0.0, 1.0, 2.0, -0.0, 0.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuler import math as nm
from neuler.errors import InputError
from neuler.functions.function import Function
from neuler.functions.tracing import listing_of
from neuler.inputs import array, number, row, whole
from neuler.robot.coupling import Spline
from neuler.trace.differentiate import tangents
from neuler.trace.graph import Node, Scalar
from neuler.trace.listing import Listing, run
from neuler.trace.recipe import Operand, Recipe

MOST = 8
"""Derivatives that a reference may give."""


class Reference:
    """Positions as a function of time, (size), and its derivatives up to ``order``: t -> ((order + 1) size) numbers.

    ``position`` is called once, with a traced time: what works inside is what works in ``neuler.function``.
    ``with_order(4)`` gives more derivatives, as controllers of elastic joints need them.
    """

    def __init__(self, position: Callable[[Any], Any], order: int = 2, name: str = "reference") -> None:
        order = whole(f"{name}: order", order, 0, MOST)
        listing = listing_of(name, lambda t: np.atleast_1d(np.asarray(position(t), dtype=object)), {"t": ()}, "q")
        (operand,) = listing.outputs
        if len(operand.shape) != 1:
            raise InputError(f"{name}: positions must be an array with one axis, the function gave {operand.shape}")
        self._setup(listing, order, name)

    def _setup(self, listing: Listing, order: int, name: str) -> None:
        self.size, self.order, self.name = listing.outputs[0].size, order, name
        self._listing = listing

        def trace(values: Mapping[str, list[Scalar]]) -> list[list[Scalar]]:
            (t,) = values["t"]
            rows = [run(listing.body, [t])]
            for _ in range(order):
                rows.append(tangents(rows[-1], {t: 1.0} if isinstance(t, Node) else {}))
            return [[x for row in rows for x in row]]

        outputs = (Operand("reference", ((order + 1) * self.size,)),)
        self.function = Function(Listing.of(Recipe((Operand("t", ()),), outputs, trace)), name)

    def with_order(self, order: int) -> Reference:
        """The same positions with other derivatives."""
        made = Reference.__new__(Reference)
        made._setup(self._listing, order, self.name)
        return made

    def __call__(self, t: Any) -> Any:
        """Positions, velocities, ... one behind the other, ((order + 1) size); of an array of times a row each."""
        return self.function(t)

    def __repr__(self) -> str:
        return f"<reference {self.name!r}: {self.size} positions and {self.order} derivatives of them>"


def constant(q: ArrayLike, order: int = 2) -> Reference:
    """It stays at q.

    >>> constant([0.1, 0.2])(3.0).tolist()
    [0.1, 0.2, 0.0, 0.0, 0.0, 0.0]
    """
    values = _row("constant: q", q)
    return Reference(lambda t: values, order, "constant")


def sines(
    amplitude: ArrayLike, frequency: ArrayLike, phase: ArrayLike = 0.0, offset: ArrayLike = 0.0, order: int = 2
) -> Reference:
    """offset + amplitude sin(2 pi frequency t + phase), frequency in Hz; all broadcast.

    >>> sines([0.5, 0.5], 0.25)(1.0).round(6).tolist()
    [0.5, 0.5, 0.0, 0.0, -1.233701, -1.233701]
    """
    given = {"amplitude": amplitude, "frequency": frequency, "phase": phase, "offset": offset}
    rows = [_row(f"sines: {name}", value) for name, value in given.items()]
    try:
        size, turn, start, middle = np.broadcast_arrays(*rows)
    except ValueError:
        shapes = ", ".join(f"{name} {row.shape}" for name, row in zip(given, rows, strict=True))
        raise InputError(f"sines: one number or as many as there are joints for each: {shapes}") from None
    return Reference(lambda t: middle + size * nm.sin(2 * math.pi * turn * t + start), order, "sines")


def quintic(start: ArrayLike, end: ArrayLike, duration: float, begin: float = 0.0, order: int = 2) -> Reference:
    """From start to end in ``duration`` seconds from ``begin`` on, at rest before and after, by a quintic.

    start + (end - start) (10 s^3 - 15 s^4 + 6 s^5) with s = (t - begin) / duration: velocity and acceleration are
    continuous.

    >>> quintic([0.0], [1.0], 2.0)([0.0, 1.0, 5.0])[:, :2].tolist()
    [[0.0, 0.0], [0.5, 0.9375], [1.0, 0.0]]
    """
    a, b = _row("quintic: start", start), _row("quintic: end", end)
    if a.shape != b.shape:
        raise InputError(f"quintic: start and end must have one length, got {len(a)} and {len(b)}")
    time, first = number("quintic: duration", duration, above=0.0, unit="s"), number("quintic: begin", begin)

    def position(t: Any) -> Any:
        s = nm.clip((t - first) / time, 0.0, 1.0)
        return a + (b - a) * (s * s * s * (10.0 - s * (15.0 - 6.0 * s)))

    return Reference(position, order, "quintic")


def table(t: ArrayLike, q: ArrayLike, degree: int = 5, order: int = 2) -> Reference:
    """Through points q (points, joints) at times t (s), by natural splines of ``degree`` 3 or 5.

    Two or four derivatives are continuous. Before the first point and after the last it stays there: velocity and
    acceleration jump to zero, unless the points end at rest. Of up to 500 points; each is chosen while it runs, so that
    a long table makes a slow controller: give it rows of references instead.

    >>> path = table([0.0, 1.0, 2.0], [[0.0, 1.0], [1.0, 0.5], [0.0, 0.0]])
    >>> path(1.0)[:2].round(12).tolist()
    [1.0, 0.5]
    """
    times = _row("table: t", t)
    points = array("table", "q", q, ())
    if points.ndim != 2 or len(points) != len(times) or not points.shape[1]:
        raise InputError(f"table: q must be (points, joints) with {len(times)} points, got shape {points.shape}")
    curves = [Spline(times, column, degree) for column in points.T]
    first, last = float(times[0]), float(times[-1])

    def position(now: Any) -> Any:
        within = nm.clip(now, first, last)
        return np.array([curve.at(within)[0] for curve in curves])

    return Reference(position, order, "table")


def _row(what: str, value: ArrayLike) -> np.ndarray:
    """A number for each joint; one alone is a row of one."""
    return row(what, [value] if np.ndim(value) == 0 else value)


def joined(parts: Sequence[Any]) -> Any:
    """Arrays of numbers and traced values, one behind the other."""
    return np.concatenate([np.atleast_1d(np.asarray(part)) for part in parts])
