"""Limbs on paper and in a player: where their balls are, and the outline of what is seen of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.inputs import told
from neuler.robot import Robot
from neuler.robots.humans.body import limbs as human_limbs
from neuler.robots.limbs import Limb

Array = NDArray[np.float64]

SIDES = 28
"""Corners of what is round."""
_LAMP = np.array([-0.42, 0.55])
"""Where light comes from, on paper: to the left, up; the share of a radius by which bright layers are moved."""
_DARK, _BRIGHT = 0.80, 1.28
"""Tone of the rim and of the middle."""


def limbs_of(robot: Robot, given: Sequence[Limb] | None = None) -> tuple[Limb, ...]:
    """Limbs that are given, checked; by default those of a human, and none of other robots.

    >>> import neuler
    >>> limbs_of(neuler.robots.two_link())
    ()
    """
    if given is None:
        return human_limbs(robot)
    found = tuple(given)
    for limb in found:
        if not isinstance(limb, Limb):
            raise InputError(f"limbs must be view.Limb([(frame, radius), ...]), got {told(limb)}")
        for ball in limb.balls:
            robot.locate(ball.frame)
    return found


def ball_centres(robot: Robot, poses: Array, limb: Limb) -> Array:
    """Centres of a limb's balls in the base frame, (..., balls, 3), from poses of all links (..., links, 4, 4)."""
    found = []
    for ball in limb.balls:
        number, placement = robot.locate(ball.frame)
        point = placement.matrix @ (*ball.point, 1.0)
        found.append(poses[..., number, :3, :] @ point)
    return np.stack(found, axis=-2)


def outline(centres: Array, radii: Array) -> Array:
    """The convex hull of circles, centres (k, 2), as a polygon, (corners, 2), counter-clockwise.

    >>> outline(np.zeros((1, 2)), np.ones(1)).shape
    (28, 2)
    """
    turn = 2.0 * np.pi * np.arange(SIDES) / SIDES
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    return hull((centres[:, None] + radii[:, None, None] * ring).reshape(-1, 2))


def hull(points: Array) -> Array:
    """The convex hull of points (n, 2), counter-clockwise (Andrew's monotone chain).

    >>> hull(np.array([[0, 0], [1, 0], [1, 1], [0.5, 0.5], [0, 1.0]])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    ordered = np.unique(points, axis=0)
    if len(ordered) < 3:
        return ordered
    halves = []
    for part in (ordered, ordered[::-1]):
        chain: list[Array] = []
        for point in part:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0.0:
                chain.pop()
            chain.append(point)
        halves += chain[:-1]
    return np.array(halves)


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def layers(centres: Array, radii: Array, colour: str, count: int = 12) -> Iterator[tuple[Array, Array]]:
    """Outlines of a limb that is lit, from its rim to its middle, with their colours (3,): painted in this order.

    Inner layers are the hulls of smaller balls, moved towards the light.
    """
    base = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
    for share in np.linspace(0.0, 1.0, count):
        inner = (1.0 - 0.92 * share) * radii
        moved = centres + (radii - inner)[:, None] * _LAMP * 0.6
        tone = _DARK + (_BRIGHT - _DARK) * np.sin(0.5 * np.pi * share)
        yield outline(moved, inner), tinted(base, tone)


def tinted(base: Array, tone: float) -> Array:
    """A colour that is darker (below 1) or nearer to white (above)."""
    return base * tone if tone <= 1.0 else base + (1.0 - base) * (tone - 1.0)


def as_dict(limb: Limb, spot: Any) -> dict[str, Any]:
    """A limb as plain data for a page: of each ball its body, its centre there and its radius (m)."""
    balls = []
    for ball in limb.balls:
        body, point = spot(ball.frame, ball.point)
        balls.append([body, *(round(x, 5) for x in point), round(ball.radius, 5)])
    return {"balls": balls, "colour": limb.colour}
