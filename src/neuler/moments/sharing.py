"""What the ground exerts on a robot that no motor holds, and how contacts share it.

The forces of a base that no motor drives follow from the motion: what inverse dynamics asks of it is the resultant of
the ground, force F and moment M about a point of the ground. The zero-moment point p is where M has no part along the
ground. A contact i takes the share s_i of F at its centre c_i, and the share s_i of the moment M* about
p* = sum s_i c_i; the levers cancel, sum (c_i x s_i F + s_i M*) = p* x F + M* = M, whatever the shares are, so that
the base's forces are zero by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuler import math as nm
from neuler.errors import InputError
from neuler.moments.clearance import HalfSpace
from neuler.moments.contact import (
    FREE,
    LIGHT,
    LINE,
    PROFILES,
    TOGETHER,
    Contact,
    ContactWrench,
    GroundReaction,
    inside,
    weight,
)
from neuler.robot import Robot

if TYPE_CHECKING:
    from neuler.moments.moment import Moment

Array = NDArray[np.float64]
FAINT = 1e-9
"""Share of the weight that contacts count for at least, so that one that is not loaded may carry what is left."""


@dataclass(frozen=True, eq=False)
class Root:
    """The coordinates through which a robot's contacts hang on its base and that no motor drives."""

    link: str
    """The last link that they move."""
    names: tuple[str, ...]
    """Names of the joints that have these coordinates."""
    speeds: tuple[int, ...]
    """Their numbers in qd."""
    forces: tuple[int, ...]
    """Their numbers in tau."""
    orthonormal: bool
    """Whether their columns of the Jacobian of ``link`` are."""
    translations: Array
    """Projector (3, 3) onto the directions in which they move the link."""
    rotations: Array
    """Projector (3, 3) onto the axes about which they turn it."""

    @property
    def turns(self) -> bool:
        """Whether they turn the link."""
        return bool(self.rotations.any())

    @property
    def spatial(self) -> bool:
        """Whether they move it freely in space."""
        return len(self.speeds) == 6

    def tangents(self, normal: Array) -> Array:
        """Directions along the ground in which they move the link, orthonormal: (2, 3), (1, 3) or (0, 3)."""
        flat = np.eye(3) - np.outer(normal, normal)
        found: list[Array] = []
        for axis in self.translations @ flat:  # x first, where it may
            rest = axis - sum((axis @ each) * each for each in found)
            if np.linalg.norm(rest) > 1e-6:
                found.append(rest / np.linalg.norm(rest))
        return np.array(found).reshape(-1, 3)[:2]


Components = tuple[Array, Array]
"""Directions (k, 3) of a contact's force and of its moment."""


@dataclass(frozen=True, eq=False)
class Support:
    """The contacts of a phase, the base's coordinates that they carry, and how they share the ground's force."""

    robot: Robot
    contacts: tuple[Contact, ...]
    root: Root
    split: str | Callable[[Moment], Any] = LINE
    firm: tuple[bool, ...] = ()
    """Of each contact whether it carries a moment."""
    exact: bool = False
    """Whether, where profiles give all forces, contacts carry what these leave: each its part of the load, so that
    those that are hardly loaded change little; in turn where some of them are points."""
    weight: float = field(init=False)
    """Of the robot (N): forces are compared with it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", weight(self.robot))

    @property
    def ground(self) -> HalfSpace:
        """The plane that all contacts of a phase stand on."""
        return self.contacts[0].ground

    @cached_property
    def frames(self) -> tuple[str, ...]:
        """Frames on which contacts act, each once."""
        return tuple(dict.fromkeys(contact.frame for contact in self.contacts))

    @cached_property
    def keys(self) -> tuple[Any, ...]:
        """What makes the contacts the same in another phase."""
        return tuple(contact.key for contact in self.contacts)

    # ---- the resultant --------------------------------------------------------------------------------------------

    def resultant(self, moment: Moment) -> GroundReaction:
        """Force and moment of the ground from what the base's coordinates need."""
        root, normal, point = self.root, np.array(self.ground.normal), np.array(self.ground.point)
        columns = moment.jacobian(root.link)[:, list(root.speeds)]
        needed = moment.bare_tau[list(root.forces)]
        if not root.orthonormal:
            needed = nm.solve(columns.T @ columns, needed, positive=True)
        wrench = columns @ needed
        force = wrench[:3]
        if not root.turns:
            return GroundReaction(force, np.zeros(3), point, point)
        turning = self._turning(wrench[3:] + np.cross(moment.pose(root.link)[:3, 3] - point, force))
        zmp = point + np.cross(normal, turning) / nm.maximum(normal @ force, LIGHT * self.weight)
        return GroundReaction(force, turning, point, zmp)

    def _turning(self, moment: Any) -> Any:
        """The part of a moment that the base's coordinates feel."""
        return moment if self.root.spatial else self.root.rotations @ moment

    # ---- shared ---------------------------------------------------------------------------------------------------

    def centres(self, moment: Moment) -> list[Any]:
        """Where the shares of the contacts act, in the base frame."""
        found = []
        for contact in self.contacts:
            pose = moment.pose(contact.frame)
            found.append(pose[:3, :3] @ contact.centre + pose[:3, 3])
        return found

    def wrenches(self, moment: Moment) -> dict[str, ContactWrench]:
        """What the ground exerts on every contact, by its name."""
        if self.by_profiles:
            return self._given_wrenches(moment)
        found = {}
        for contact, share, centre in zip(self.contacts, self.shares(moment), self.centres(moment), strict=True):
            found[contact.name] = ContactWrench(share * moment.ground.force, share * self.moved(moment), centre)
        return found

    @cached_property
    def carrying(self) -> dict[Contact, tuple[float, float]]:
        """Where the split is free: the contacts that carry in turn what the others do not, each with its window."""
        alone = self.split == FREE or (self.exact and not all(self.firm))
        return dict(in_turn(self.contacts) or ()) if alone else {}

    @property
    def balanced(self) -> Support:
        """The same contacts with forces that balance at all times; itself where they do so already."""
        return replace(self, exact=True) if self.split == PROFILES and not self.exact else self

    @cached_property
    def components(self) -> tuple[Components, ...]:
        """Of each contact the directions of its force and of its moment that profiles give."""
        forces, axes = _basis(self.root.translations), _basis(self.root.rotations)
        found = []
        for contact, firm in zip(self.contacts, self.firm, strict=True):
            begin, end = self.own_window(contact) if self.by_profiles else (0.0, 0.0)
            found.append((forces, axes if firm else axes[:0]) if begin < end else (forces[:0], axes[:0]))
        return tuple(found)

    @property
    def by_profiles(self) -> bool:
        """Whether profiles give forces of contacts."""
        return self.split in (FREE, PROFILES)

    @cached_property
    def held(self) -> tuple[Contact, ...]:
        """Contacts whose points are held."""
        return tuple(contact for contact in self.contacts if contact.hold)

    def _lasting(self, contact: Contact, share: Any) -> Any:
        """What a contact's profile counts: fading towards the ends of its window, or zero from there on."""
        if self.split == FREE:
            return contact.fading(share, self.own_window(contact))
        begin, end = contact.when
        found = nm.greater(share, begin) if begin > 0.0 else 1.0
        return found * nm.less(share, end) if end < 1.0 else found

    def own_window(self, contact: Contact) -> tuple[float, float]:
        """When a contact lasts without carrying what others leave: then its wrench is a profile."""
        carried = self.carrying.get(contact) if self.split == FREE else None
        return contact.when if carried is None else (contact.when[0], carried[0])

    @cached_property
    def force_windows(self) -> Array:
        """When each of the profiles of forces counts, (forces, 2)."""
        pairs = zip(self.contacts, self.components, strict=True)
        return np.array([self.own_window(each) for each, parts in pairs for part in parts for _ in part]).reshape(-1, 2)

    @cached_property
    def force_weightless(self) -> NDArray[np.bool_]:
        """Of each of the profiles of forces, whether it is zero where it begins and where it ends, (forces, 2)."""
        pairs = zip(self.contacts, self.components, strict=True)
        return np.array([each.weightless for each, parts in pairs for part in parts for _ in part]).reshape(-1, 2)

    @cached_property
    def force_count(self) -> int:
        """How many profiles give forces of contacts."""
        return sum(len(part) for pair in self.components for part in pair)

    @cached_property
    def force_guess(self) -> Array:
        """Forces to begin with, as shares of the weight: equal ones, upright."""
        normal = np.array(self.ground.normal) / len(self.contacts)
        return np.concatenate([np.concatenate([ways @ normal, np.zeros(len(axes))]) for ways, axes in self.components])

    def _given_wrenches(self, moment: Moment) -> dict[str, ContactWrench]:
        """Those that profiles give, and the rest on who carries: with it the base's forces are zero at all times."""
        ground, found, at = moment.ground, {}, 0
        force, turning = ground.force, ground.moment
        centres = dict(zip(self.contacts, self.centres(moment), strict=True))
        for contact, (ways, axes) in zip(self.contacts, self.components, strict=True):
            count = len(ways) + len(axes)
            if not count:
                continue
            values = moment.contact_forces[at : at + count] * self.weight
            values = values * self._lasting(contact, moment.share)
            at += count
            mine = ContactWrench(values[: len(ways)] @ ways, values[len(ways) :] @ axes, centres[contact])
            found[contact] = mine
            force, turning = force - mine.force, turning - mine.about(ground.point)
        if self.exact and not self.carrying:
            return self._by_load(moment, found, force, turning)
        for contact, window in self.carrying.items():
            on, centre = inside(moment.share, window), centres[contact]
            rest: Any = np.zeros(3)
            if self.root.turns:
                rest = self._turning(turning - np.cross(centre - ground.point, force))
            mine = ContactWrench(on * force, on * rest, centre)
            if contact in found:
                mine = ContactWrench(mine.force + found[contact].force, mine.moment + found[contact].moment, centre)
            found[contact] = mine
        return {contact.name: found[contact] for contact in self.contacts}

    def _by_load(self, moment: Moment, given: dict[Contact, ContactWrench], force: Any, turning: Any) -> Any:
        """The given wrenches and, shared by their normal forces N, a force and a moment about the ground's point.

        With shares N_i / sum(N) each contact gets its share of the force, and of the moment about the sum of shares
        times centres: the levers cancel, as on the line between two contacts.
        """
        normal = np.array(self.ground.normal)
        least = [FAINT * self.weight * contact.active(moment.share) for contact in given]
        loads = [nm.maximum(each.force @ normal, 0.0) + x for each, x in zip(given.values(), least, strict=True)]
        shares = [load / sum(loads) for load in loads]
        rest: Any = np.zeros(3)
        if self.root.turns:
            middle = sum(share * each.centre for share, each in zip(shares, given.values(), strict=True))
            rest = self._turning(turning - np.cross(middle - moment.ground.point, force))
        found = {}
        for (contact, each), share in zip(given.items(), shares, strict=True):
            found[contact.name] = ContactWrench(each.force + share * force, each.moment + share * rest, each.centre)
        return found

    def shares(self, moment: Moment) -> list[Any]:
        """Shares of the contacts in the ground's force, whose sum is 1."""
        held = moment.__dict__.setdefault("_contact_shares", [])
        if not held:
            held += self._shares(moment)
        return list(held)

    def moved(self, moment: Moment) -> Any:
        """The moment of the ground about p* = sum of shares times centres: of which each contact has its share."""
        if not self.root.turns:
            return np.zeros(3)
        held = moment.__dict__.setdefault("_contact_moment", [])
        if not held:
            pairs = zip(self.shares(moment), self.centres(moment), strict=True)
            middle = sum(share * centre for share, centre in pairs)
            held.append(
                self._turning(moment.ground.moment - np.cross(middle - moment.ground.point, moment.ground.force))
            )
        return held[0]

    def _shares(self, moment: Moment) -> list[Any]:
        active = [contact.active(moment.share) for contact in self.contacts]
        if callable(self.split):
            raw = np.asarray(self.split(moment), dtype=object).ravel()
            if len(raw) != len(self.contacts):
                raise InputError(
                    f"split: its function must give a share for each of {len(self.contacts)} contacts "
                    f"({', '.join(contact.name for contact in self.contacts)}), it gave {len(raw)}"
                )
            parts = [share * on for share, on in zip(raw, active, strict=True)]
            total = sum(parts)
            return [share / total for share in parts]
        return self._by_line(moment, 1.0, self._share_on_line)

    def pressures(self, moment: Moment) -> list[Any]:
        """Forces of the contacts along the ground's normal (N); by the line, without a division by their sum."""
        normal = np.array(self.ground.normal)
        if self.split != LINE:
            return [moment.contact_wrenches[contact.name].force @ normal for contact in self.contacts]
        return self._by_line(moment, normal @ moment.ground.force, self._pressure_on_line)

    def _by_line(self, moment: Moment, whole: Any, part: Callable[[Moment, Any, Any], Any]) -> list[Any]:
        """The whole for the contact that is alone, parts of it for each of two; whichever last at that moment."""
        active = [contact.active(moment.share) for contact in self.contacts]
        centres = self.centres(moment)
        if len(centres) == 1:
            return [whole]
        found: list[Any] = [0.0] * len(centres)
        for i, on in enumerate(active):  # alone
            found[i] = found[i] + whole * on * _product(1.0 - other for j, other in enumerate(active) if j != i)
        for i, j in combinations(range(len(centres)), 2):  # two of them, and no other
            both = active[i] * active[j] * _product(1.0 - x for k, x in enumerate(active) if k not in (i, j))
            if isinstance(both, float) and both == 0.0:
                continue
            mine = part(moment, centres[i], centres[j])
            found[i], found[j] = found[i] + both * mine, found[j] + both * (whole - mine)
        return found

    def _share_on_line(self, moment: Moment, one: Any, other: Any) -> Any:
        """The share of ``one``: where the zero-moment point is on the line from ``other`` to it."""
        off = moment.ground.zero_moment_point - 0.5 * (one + other)
        return 0.5 + self._along(off, one - other)

    def _pressure_on_line(self, moment: Moment, one: Any, other: Any) -> Any:
        """The same share of the normal force, by the moment about the middle."""
        ground, normal = moment.ground, np.array(self.ground.normal)
        press = normal @ ground.force
        off = np.cross(normal, ground.moment) + press * (ground.point - 0.5 * (one + other))
        return 0.5 * press + self._along(off, one - other)

    def _along(self, off: Any, way: Any) -> Any:
        """How far something is along a way, as a share of it; in the plane in which the base moves."""
        if not self.root.spatial:
            way, off = self.root.translations @ way, self.root.translations @ off
        return (off @ way) / nm.maximum(way @ way, TOGETHER**2)

    def loads(self, moment: Moment) -> list[Any]:
        """Wrenches at the origins of ``frames``, in the axes of the base frame, (6) each."""
        found = {frame: np.zeros(6, dtype=object) for frame in self.frames}
        wrenches = moment.contact_wrenches
        for contact in self.contacts:
            each = wrenches[contact.name]
            origin = moment.pose(contact.frame)[:3, 3]
            found[contact.frame] = found[contact.frame] + np.concatenate([each.force, each.about(origin)])
        return list(found.values())


def _basis(projector: Array) -> Array:
    """Orthonormal directions of a projector, those of the base frame's axes where they are."""
    found: list[Array] = []
    for axis in projector:
        rest = axis - sum((axis @ each) * each for each in found)
        if np.linalg.norm(rest) > 1e-6:
            found.append(rest / np.linalg.norm(rest))
    return np.array(found).reshape(-1, 3)


def in_turn(contacts: Sequence[Contact]) -> list[tuple[Contact, tuple[float, float]]] | None:
    """Contacts that cover a phase one after the other, each with its window; None where there are no such.

    Of those that last at a share the one that lasts longest, of equal ones the first.
    """
    found: list[tuple[Contact, tuple[float, float]]] = []
    at = 0.0
    while at < 1.0:
        now = [each for each in contacts if each.when[0] <= at < each.when[1]]
        if not now:
            return None
        best = max(now, key=lambda each: each.when[1])
        found.append((best, (at, best.when[1])))
        at = best.when[1]
    return found


def _product(values: Any) -> Any:
    found: Any = 1.0
    for x in values:
        found = found * x
    return found
