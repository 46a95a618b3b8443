"""Limits of contacts: they push, within friction, with their centres of pressure inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuler.moments.contact import LINE, PROFILES, Contact, ContactWrench
from neuler.moments.measures import ConstantLabels, Measure
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import MovingRobot
from neuler.moments.sharing import Support
from neuler.moments.support import edges_of
from neuler.plan.limits import Limit

FAMILY = "contact"
"""Of the limits of contacts."""
SIDES = 8
"""Of the pyramid inside a cone of friction."""


@dataclass(frozen=True)
class Pressing:
    """The force of a contact along the ground's normal, as a share of the robot's weight: it never pulls."""

    contact: str

    def __call__(self, moment: Moment) -> Any:
        """The share at a moment, one row; it is bounded by zero from below."""
        support = _support(moment)
        number = [each.name for each in support.contacts].index(self.contact)
        return [support.pressures(moment)[number] / support.weight]


@dataclass(frozen=True)
class Gripping:
    """What is left of friction in several directions, as a share of the robot's weight.

    Where contacts share one resultant their forces are parallel, and what holds of it holds of each.
    """

    contact: str
    """Of which contact; empty: of the resultant."""
    directions: tuple[tuple[float, float, float], ...]
    friction: float

    def __call__(self, moment: Moment) -> Any:
        """friction F.n - F.t for every direction t."""
        support = _support(moment)
        force = moment.contact_wrenches[self.contact].force if self.contact else moment.ground.force
        press = self.friction * (force @ np.array(support.ground.normal))
        return [(press - force @ np.array(t)) / support.weight for t in self.directions]


@dataclass(frozen=True)
class Rolling:
    """How far the centre of pressure is inside the edges of a contact, times the force as a share of the weight (m).

    The moment M_v about a vertex v puts the centre of pressure at v + n x M_v / F.n: rows (n x M_v) . e, e being the
    direction from the edge inwards, are linear in the forces and need no division. Where contacts share a resultant
    the rows are those of all of it: shares are not below zero.
    """

    contact: str
    edges: tuple[tuple[int, tuple[float, float, float]], ...]
    """Of each edge: a point on it, and the direction inwards in the frame's axes."""

    def __call__(self, moment: Moment) -> Any:
        """One row an edge."""
        support = _support(moment)
        contact = next(each for each in support.contacts if each.name == self.contact)
        wrench, places = _wrench(moment, self.contact), contact.places(moment)
        turn, normal = moment.pose(contact.frame)[:3, :3], np.array(support.ground.normal)
        rows = []
        for point, inwards in self.edges:
            rows.append(np.cross(normal, wrench.about(places[point])) @ (turn @ np.array(inwards)) / support.weight)
        return rows


@dataclass(frozen=True)
class Twisting:
    """What is left of a contact's moment about the ground's normal, both ways, over the weight (m)."""

    contact: str
    most: float

    def __call__(self, moment: Moment) -> Any:
        """most F.n - M.n and most F.n + M.n, at the contact's centre."""
        support, wrench = _support(moment), _wrench(moment, self.contact)
        normal = np.array(support.ground.normal)
        press, twist = self.most * (wrench.force @ normal), wrench.moment @ normal
        return [(press - twist) / support.weight, (press + twist) / support.weight]


def _wrench(moment: Moment, contact: str) -> ContactWrench:
    """The wrench of a contact; where contacts share a resultant, that of all of it at the contact's centre."""
    support, found = _support(moment), moment.contact_wrenches[contact]
    if support.by_profiles:
        return found
    return ContactWrench(moment.ground.force, support.moved(moment), found.centre)


def _support(moment: Moment) -> Support:
    assert moment.model.support is not None
    return moment.model.support


def contact_limits(robot: MovingRobot) -> list[Limit]:
    """Limits of all contacts: they push, within friction, with their centres of pressure inside."""
    support = robot.support
    if support is None:
        return []
    found, gripped = [], set()
    for contact in support.contacts:
        parts: list[tuple[str, Any, list[str]]] = [(f"pressure of {contact.name}", Pressing(contact.name), [""])]
        mine = contact.name if support.by_profiles else ""
        if contact.friction is not None and (mine, contact.friction, contact.when) not in gripped:
            parts += _friction(support, contact, mine, contact.friction)
            gripped.add((mine, contact.friction, contact.when))
        edges = edges_of(support.robot, support.root, contact)
        if edges and not _at_centre(support):
            labels = [f"edge{k + 1}" for k in range(len(edges))]
            parts.append((f"centre of pressure of {contact.name}", Rolling(contact.name, edges), labels))
        if contact.torsion is not None and support.root.spatial:
            rows = Twisting(contact.name, contact.torsion)
            parts.append((f"torsion of {contact.name}", rows, ["one way", "other way"]))
        for name, rows, labels in parts:
            what = Measure(name, rows, ConstantLabels(tuple(labels)), None, "of weight")
            # where the force is zero the rows are, and leave a solver no room; where a contact has ended there is none
            edges_out = contact.weightless if support.split == PROFILES else (False, contact.when[1] < 1.0)
            found.append(Limit(what, 0.0, None, when=contact.when, family=FAMILY, open=edges_out))
    return found


def _at_centre(support: Support) -> bool:
    """Whether centres of pressure are the contacts' centres by themselves: two of them in a plane, on one line."""
    return (
        support.split == LINE
        and not support.root.spatial
        and len(support.contacts) == 2
        and all(contact.whole_phase for contact in support.contacts)
    )


def _friction(support: Support, contact: Contact, mine: str, size: float) -> list[tuple[str, Any, list[str]]]:
    tangents = support.root.tangents(np.array(contact.ground.normal))
    if not len(tangents):
        return []
    if len(tangents) == 1:
        ways = np.array([tangents[0], -tangents[0]])
    else:
        angles = 2.0 * np.pi * np.arange(SIDES) / SIDES
        ways = np.cos(angles)[:, None] * tangents[0] + np.sin(angles)[:, None] * tangents[1]
        size *= float(np.cos(np.pi / SIDES))
    rows = Gripping(mine, tuple(_plain(way) for way in ways), size)
    return [(f"friction of {mine or 'the ground'}", rows, [f"side{k + 1}" for k in range(len(ways))])]


def _plain(way: Any) -> tuple[float, float, float]:
    return float(way[0]), float(way[1]), float(way[2])
