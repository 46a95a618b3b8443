"""Where a first guess stands: positions near others at which contacts are on the ground."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.moments.moving_robot import MovingRobot
from neuler.optimize.programme import Array
from neuler.plan.held import contact_points, point_heights

TRIES = 4
"""Positions from which a way down to the ground is looked for."""
NEAR = 1e-3
"""Metres above the ground that count as on it."""
STAY = 1e-3
"""Weight of staying where a first guess was beside metres above the ground."""


def stood(
    robot: MovingRobot, profiles: Array, free: Any, low: Array, high: Array, before: Array | None = None
) -> Array:
    """A position near one, within bounds, at which contacts are on the ground: some profiles are ``free`` to move.

    ``before``: where the phase began, and contacts were put down.
    """
    support, places = robot.support, np.flatnonzero(free)
    if support is None or not support.held or not len(places):
        return profiles
    from scipy.optimize import least_squares

    low, high = low[places], np.maximum(high[places], low[places] + 1e-9)
    near = np.clip(profiles[places], low, high)
    put = None if before is None else [contact_points(robot, contact, before) for contact in support.held]

    def there(x: Array) -> Array:
        found = profiles.copy()
        found[places] = x
        return found

    def rows(x: Array) -> Array:
        parts = []
        for k, contact in enumerate(support.held):
            at, normal = contact_points(robot, contact, there(x)), np.array(contact.ground.normal)
            parts.append((at - np.array(contact.ground.point)) @ normal)
            if put is not None:
                parts.append((at - put[k]).ravel())
        return np.concatenate([*parts, STAY * (x - near)])

    return there(least_squares(rows, near, bounds=(low, high), max_nfev=50).x)


def check_reach(robot: MovingRobot, low: Array, high: Array, what: str) -> None:
    """Refuse contacts that cannot be on the ground, all of a phase at once, within the bounds of positions."""
    support = robot.support
    if support is None or not support.held:
        return
    random = np.random.default_rng(1)
    begin = robot.profiles_at(robot.reference)
    free, best = np.ones(len(begin), dtype=bool), None
    for turn in range(TRIES):
        there = stood(robot, begin + 0.5 * random.normal(size=len(begin)) * (turn > 0), free, low, high)
        away = {each.name: float(np.abs(point_heights(robot, each, there)).max()) for each in support.held}
        best = away if best is None or max(away.values()) < max(best.values()) else best
        if max(best.values()) < NEAR:
            return
    assert best is not None
    name = max(best, key=lambda each: best[each])
    raise InputError(
        f"{what}contact {name!r} cannot reach the ground within the limits of the joints: {best[name]:.3g} m are left; "
        "move the ground or widen the limits of positions"
    )
