"""Where contacts begin: which ones do, and that their points are put down on the ground, at rest.

A contact that goes on from the phase before, or from the end of a cycle that repeats, is there already: asking again
would ask twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.moments.contact import Contact
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import MovingRobot
from neuler.optimize.programme import Array
from neuler.plan.conditions import Condition
from neuler.plan.held import HeldRow, all_given, held_rows, labels_of, point_heights
from neuler.plan.relations import Relation
from neuler.plan.rows import LIMIT, Family, trace_rows

ON_GROUND = 1e-6
"""Metres that a position that is given may be away from the ground."""


def landing(
    robot: MovingRobot, contacts: Sequence[Contact], going: Sequence[Contact], q: Array | None, qd: Array | None,
    what: str, *, impact: bool,
) -> list[Condition]:  # fmt: skip
    """Points of contacts that begin: on the ground, and at rest unless an ``impact`` sees to it.

    ``going`` are contacts of the phase before, whose points are there already. ``q`` and ``qd`` are profiles and their
    rates where all of them are given: then numbers are checked instead.
    """
    found = []
    for contact in contacts:
        rows = held_rows(robot, contact, contact.when[0], going if contact.when[0] == 0.0 else ())
        if not rows:  # others of its frame hold it already
            continue
        point = np.array(contact.ground.point)
        upright = [row for row in rows if row.normal]

        def heights(
            moment: Moment, contact: Contact = contact, upright: list[HeldRow] = upright, point: Any = point
        ) -> Any:
            places = contact.places(moment) - point
            return [row.of(places) for row in upright]

        def speeds(moment: Moment, contact: Contact = contact, rows: list[HeldRow] = rows) -> Any:
            values = contact.velocities(moment)
            return [row.of(values) for row in rows]

        title = f"{what}contact of {contact.name}"
        if contact.when[0] == 0.0 and q is not None and all_given(q):
            high = point_heights(robot, contact, q)
            if np.abs(high).max() > ON_GROUND:
                raise InputError(
                    f"{title}: its points are {', '.join(f'{x:.3g}' for x in high)} m above the ground at the position "
                    "that is given; a contact begins on the ground"
                )
        elif upright:
            found.append(_zero(robot, contact.when[0], title, "height", heights, labels_of(contact, upright)))
        if impact or (contact.when[0] == 0.0 and qd is not None and all_given(qd) and not qd.any()):
            continue
        found.append(_zero(robot, contact.when[0], title, "velocity", speeds, labels_of(contact, rows)))
    return found


def _zero(robot: MovingRobot, share: float, title: str, name: str, rows: Any, labels: Sequence[str]) -> Condition:
    found = Condition(share, title)
    found.rows = trace_rows(robot, [Family(LIMIT, name, rows, lambda n: labels)], name)
    found.lower = found.upper = np.zeros(len(labels))
    return found


def begins(models: Sequence[MovingRobot], relations: Sequence[Relation], degree: int) -> list[list[Contact]]:
    """Of every phase the contacts that begin in it: those that the phase before, or a cycle's end, does not have."""
    found = []
    for k, model in enumerate(models):
        mine = () if model.support is None else model.support.held
        if k == 0:
            again = [_repeated(models, relations, degree, each) and each.when[0] == 0.0 for each in mine]
            found.append([contact for contact, so in zip(mine, again, strict=True) if not so])
            continue
        going = lasting(models[k - 1])
        found.append([contact for contact in mine if contact.when[0] > 0.0 or not _goes_on(contact, going)])
    return found


def lasting(robot: MovingRobot) -> list[Contact]:
    """Contacts that last until the phase ends."""
    return [] if robot.support is None else [each for each in robot.support.held if each.when[1] == 1.0]


def _goes_on(contact: Contact, going: Sequence[Contact]) -> bool:
    """Whether all points of a contact are points of contacts before."""
    same = [each for each in going if each.frame == contact.frame and each.key[2:] == contact.key[2:]]
    known = np.vstack([np.zeros((0, 3)), *(each.points for each in same)])
    return all(np.abs(known - point).max(axis=1).min(initial=1.0) < 1e-12 for point in contact.points)


def repeated_order(relations: Sequence[Relation], degree: int) -> int:
    """The highest derivative that all relations of a cycle make the same at its ends."""
    return min((each.orders(degree) for each in relations if type(each) is Relation), default=0)


def cyclic_orders(relations: Sequence[Relation], degree: int) -> dict[str, int]:
    """By profile: the highest derivative that ends as it began, of those that repeat without a shift."""
    return {
        each.end: each.orders(degree) for each in relations
        if type(each) is Relation and each.end == each.start and each.sign == 1.0 and each.shift == 0.0
    }  # fmt: skip


def _repeated(models: Sequence[MovingRobot], relations: Sequence[Relation], degree: int, contact: Contact) -> bool:
    """Whether relations make a contact at the start the image of one that is held at the end.

    Then its points have the same heights at any two positions that the relations relate.
    """
    first, last = models[0], models[-1]
    plain = [each for each in relations if type(each) is Relation and each.orders(degree) >= 1]
    if last.support is None or {each.start for each in plain} != set(first.names):
        return False
    random = np.random.default_rng(3)
    alike = np.ones((len(contact.points), sum(len(each.points) for each in lasting(last))), dtype=bool)
    for _ in range(2):
        end, start = random.normal(size=first.profile_count) * 0.3, np.zeros(first.profile_count)
        for each in plain:
            value = end[last.names.index(each.end)]
            start[first.names.index(each.start)] = (value - each.shift) / each.sign
        there = np.concatenate([np.zeros(0), *(point_heights(last, other, end) for other in lasting(last))])
        alike &= np.abs(point_heights(first, contact, start)[:, None] - there) < 1e-9
    return bool(alike.any(axis=1).all())
