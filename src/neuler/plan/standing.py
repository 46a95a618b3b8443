"""Where a first guess stands: positions near others at which contacts are on the ground."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuler.moments.moving_robot import MovingRobot
from neuler.optimize.programme import Array
from neuler.plan.held import contact_points

STAY = 1e-3
"""Weight of staying where a first guess was beside metres above the ground."""


def stood(
    robot: MovingRobot, profiles: Array, free: Any, low: Array, high: Array, before: Array | None = None
) -> Array:
    """A position near one, within bounds, at which contacts are on the ground: some profiles are ``free`` to move.

    ``before``: where the phase began, and contacts were put down.
    """
    support, places = robot.support, np.flatnonzero(free)
    if support is None or not len(places):
        return profiles
    from scipy.optimize import least_squares

    low, high = low[places], np.maximum(high[places], low[places] + 1e-9)
    near = np.clip(profiles[places], low, high)
    put = None if before is None else [contact_points(robot, contact, before) for contact in support.contacts]

    def there(x: Array) -> Array:
        found = profiles.copy()
        found[places] = x
        return found

    def rows(x: Array) -> Array:
        parts = []
        for k, contact in enumerate(support.contacts):
            at, normal = contact_points(robot, contact, there(x)), np.array(contact.ground.normal)
            parts.append((at - np.array(contact.ground.point)) @ normal)
            if put is not None:
                parts.append((at - put[k]).ravel())
        return np.concatenate([*parts, STAY * (x - near)])

    return there(least_squares(rows, near, bounds=(low, high), max_nfev=50).x)
