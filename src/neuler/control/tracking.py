"""A motion as the reference of controllers: a function of time that may be traced into compiled code."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neuler import math as nm
from neuler.control.pieces import Pieces
from neuler.control.references import Reference
from neuler.functions.function import function
from neuler.robot import Robot
from neuler.robot.coordinates import Selection

Array = NDArray[np.float64]
MOST_PIECES = 120
"""Pieces that a reference may have: each is chosen while it runs. Of motions with more knots some are left out."""


class Moving(Protocol):
    """What a reference needs of a motion."""

    @property
    def robot(self) -> Robot:
        """Whose motion it is."""
        ...

    @property
    def duration(self) -> float:
        """How long it takes (s)."""
        ...

    @property
    def knots(self) -> Array:
        """Times between which it is smooth."""
        ...

    def evaluate(self, t: Array, order: int) -> list[Array]:
        """Positions (N, nq) and derivatives (N, nv)."""
        ...


def own_coordinates(robot: Robot) -> Selection:
    """Positions that a motion is made of: the robot's own, without motors behind springs."""
    return robot.coordinates.links


def reference(motion: Moving, own: Selection, order: int) -> Reference | Any:
    """The motion of some coordinates as a function of time that may be traced.

    Where velocities are rates of positions, all derivatives follow from these; of quaternions a function gives
    positions, velocities and accelerations, each piece by piece a polynomial to thirteen digits. A motion with more
    than ``MOST_PIECES`` knots is followed between some of them, by the polynomials that fit best.
    """
    places, speeds = own.places, list(own.numbers)
    times, exact = _pieces(np.asarray(motion.knots))
    if own.plain:
        if not exact:
            path = Pieces.nearest(lambda t: _parts(motion.evaluate(t, 2), places, speeds), times)
        else:
            path = Pieces.integrated(lambda t: _parts(motion.evaluate(t, 3), places, speeds), times)
        return Reference(path, order, "motion")

    def every(t: Array) -> Array:
        return np.concatenate(_parts(motion.evaluate(t, order), places, speeds), axis=1)

    rows = Pieces.fitted(every, times) if exact else Pieces.nearest(lambda t: [every(t)], times)
    after = np.concatenate([rows(motion.duration)[: len(places)], np.zeros(order * len(speeds))])

    def flat(t: Any) -> Any:
        return nm.where(nm.greater(t, motion.duration), after, rows(t))

    return function(flat, {"t": ()}, "reference", "motion")


def _pieces(knots: Array) -> tuple[Array, bool]:
    """Times between which polynomials are fitted, and whether they are all the knots there are."""
    if len(knots) - 1 <= MOST_PIECES:
        return knots, True
    chosen = np.unique(np.linspace(0, len(knots) - 1, MOST_PIECES + 1).round().astype(int))
    return knots[chosen], False


def _parts(found: list[Array], places: list[int], speeds: list[int]) -> list[Array]:
    return [found[0][:, places], *(x[:, speeds] for x in found[1:])]
