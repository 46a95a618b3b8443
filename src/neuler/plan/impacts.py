"""Impacts: velocities that jump where contacts begin.

The momentum balance M (v+ - v-) = J^T p with the impulses p of all contacts of the phase, whose points are at rest
after it, J v+ = 0:  v+ = v- - M^-1 J^T (J M^-1 J^T)^-1 J v-.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neuler import math as nm
from neuler.moments.contact import Contact
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import MovingRobot
from neuler.plan.held import HeldRow, held_rows
from neuler.plan.two_times import TwoMoments


def impact(robot: MovingRobot, phase: int, title: str) -> TwoMoments:
    """Velocities at the start of a phase less those that an impact makes of the ones at the end of the phase before."""
    assert robot.support is not None
    held = [(each, held_rows(robot, each, 0.0)) for each in robot.support.held if each.when[0] == 0.0]

    def rows(before: Moment, after: Moment) -> Any:
        J = np.array([row for contact, mine in held for row in _jacobian(after, contact, mine)], dtype=object)
        return after.qd - velocity_after(after, J, before.qd)

    zero = np.zeros(robot.profile_count)
    at = ((phase - 1, 1.0), (phase, 0.0))
    return TwoMoments(f"{title}impact", at, zero, zero, tuple(robot.names), rows)


def velocity_after(moment: Moment, J: Any, before: Any) -> Any:
    """v+ where coordinates with the Jacobian J (rows, nv) come to rest, from v-."""
    more = () if moment.payload is None else (moment.payload,)
    M = moment.model.verb("mass_matrix")(moment.q, *more)
    X = nm.solve(M, J.T, positive=True)
    impulse = nm.solve(J @ X, J @ before, positive=True)
    return before - X @ impulse


def _jacobian(moment: Moment, contact: Contact, rows: list[HeldRow]) -> list[Any]:
    """Rows of the Jacobian of held coordinates."""
    jacobian, turn = moment.jacobian(contact.frame), moment.pose(contact.frame)[:3, :3]
    found = []
    for row in rows:
        way = np.array(row.direction)
        arm = turn @ contact.points[row.point]
        found.append(way @ jacobian[:3] + np.cross(arm, way) @ jacobian[3:])
    return found
