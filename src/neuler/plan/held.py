"""Points of contacts that are held: that they stay, and how far they slip.

Where a contact begins, its points are on the ground and at rest (plan/landings.py). From there on they stay at as many
shares of the phase as the profiles have control points, less these two conditions: more would leave the profiles
nothing to decide. How far they slip in between is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.functions.derivatives import Derivatives, derivatives
from neuler.functions.function import Function
from neuler.moments.contact import Contact
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import MovingRobot
from neuler.moments.sharing import Support
from neuler.moments.support import carries_no_moment, random_positions
from neuler.moments.tracing import function_of, traced
from neuler.motions import splines
from neuler.motions.profiles import Profiles
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.blocks import Block
from neuler.optimize.programme import Array
from neuler.plan.collocation import Collocated
from neuler.plan.rows import COLLOCATED, Family, collocated_family, trace_rows


@dataclass(frozen=True)
class HeldRow:
    """One coordinate of a contact's points: a direction in the base frame, of one of the points."""

    point: int
    direction: tuple[float, float, float]
    normal: bool
    """Whether it is the height above the ground."""

    def of(self, values: Any) -> Any:
        """That coordinate of vectors of all points, (k, 3)."""
        return values[self.point] @ np.array(self.direction)


def held_rows(
    robot: MovingRobot, contact: Contact, share: float | None = None, going: Sequence[Contact] = ()
) -> list[HeldRow]:
    """Coordinates of a contact's points that are independent where it stands flat: heights first.

    At a ``share`` of the phase, those that other contacts of its frame do not hold already, nor ``going``, contacts
    of the phase before.
    """
    assert robot.support is not None
    machine, normal = robot.robot, np.array(contact.ground.normal)
    jacobian = machine.compile("jacobian", frame=contact.frame, reference="world")
    motions = np.hstack([np.asarray(jacobian(q)) for q in random_positions(machine, 3)])
    U, size, _ = np.linalg.svd(motions, full_matrices=False)
    reach = U[:, size > 1e-9 * size[0]]  # velocities that the frame can have, (6, d)
    near = [each for each in robot.support.held if each.frame == contact.frame]
    earlier = [each for each in going if each.frame == contact.frame]
    turn = _flat(np.vstack([each.points for each in (*near, *earlier)]), normal)
    tangents = robot.support.root.tangents(normal)
    found: list[HeldRow] = []
    rows = np.zeros((0, reach.shape[1]))
    for each in (*earlier, *_before(near, contact, share), contact):
        points = each.points @ turn.T
        every = [(k, normal, True) for k in range(len(points))]
        every += [(k, way, False) for way in tangents for k in range(len(points))]
        for k, way, upright in every:
            more = np.vstack([rows, np.concatenate([way, np.cross(points[k], way)]) @ reach])
            if np.linalg.matrix_rank(more, tol=1e-8) > len(rows):
                rows = more
                found += [HeldRow(k, _plain(way), upright)] if each is contact else []
    if share is None and not (found and found[0].normal):
        raise InputError(
            f"contact {contact.name!r}: frame {contact.frame!r} cannot move along the ground's normal; it cannot be "
            "put down on it"
        )
    return found


def _before(contacts: Sequence[Contact], contact: Contact, share: float | None) -> list[Contact]:
    """Other contacts that hold the frame at a share already: those that began before, or stand before in the list."""
    if share is None:
        return []
    mine = contact.when[0], contacts.index(contact)
    return [
        each for k, each in enumerate(contacts)
        if (each.when[0], k) < mine and each.when[0] <= share <= each.when[1]
    ]  # fmt: skip


def _flat(points: Array, normal: Array) -> Array:
    """A rotation that lays points on the ground."""
    spread = points - points.mean(axis=0)
    _, size, axes = np.linalg.svd(np.vstack([spread, np.zeros((3, 3))]))
    rank = int((size > 1e-9).sum())
    if rank == 0:
        return np.eye(3)
    up = axes[2] if rank == 2 else normal - (normal @ axes[0]) * axes[0]
    if np.linalg.norm(up) < 1e-9:
        up = axes[2]
    up = up / np.linalg.norm(up) * (1.0 if up @ normal >= 0.0 else -1.0)
    axis, cosine = np.cross(up, normal), float(up @ normal)
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + K + K @ K / (1.0 + cosine)


@dataclass(frozen=True, eq=False)
class Held:
    """Points of a contact that stay where they were when it began: heights at the ground's, others as they were."""

    contact: Contact
    derivatives: Derivatives
    """Of the profiles (c0) and of those where it begins (began)."""
    rows: list[HeldRow]
    known: tuple[int, int]
    """How many derivatives from 0 on are decided where it begins, and where the phase ends."""
    anchored: bool
    """Whether the place where it was put down is given."""
    robot: MovingRobot

    def points(self, knots: Array, degree: int) -> Array:
        """Shares of a phase: Greville points within its window, without those that its beginning decides."""
        begin, end = self.contact.when
        every = splines.greville(knots, degree)
        if begin > 0.0:
            return every[(every > begin) & (every <= end)]
        return every[every <= end][self.known[0] :]

    def used(self, shares: Array) -> Any:
        """Which rows hold at points, (points, rows): not those that the end of the phase or other contacts decide."""
        count = len(shares)
        found = np.ones((count, len(self.rows)), dtype=bool)
        last = self.known[1] if self.contact.when[1] == 1.0 else 0
        for k, row in enumerate(self.rows):
            found[count - last :, k] = False
            if last and not (row.normal or self.anchored):  # where it was put down follows from the end
                found[-1, k] = True
        assert self.robot.support is not None
        if sum(each.frame == self.contact.frame for each in self.robot.support.held) > 1:
            for point, share in enumerate(shares):
                free = held_rows(self.robot, self.contact, float(share))
                found[point] &= [row in free for row in self.rows]
        return found

    def block(self, profiles: Profiles, n: int) -> Block:
        """Rows at its points."""
        shares = self.points(profiles.knots, profiles.degree)
        maps = {"c0": profiles.input_matrix(["c0"], shares, n)}
        if "began" in self.derivatives.wrt:
            maps["began"] = profiles.input_matrix(["c0"], np.full(len(shares), self.contact.when[0]), n)
        free = np.where(self.used(shares), 0.0, np.inf)
        name = f"{self.contact.name} held"
        return Block.of(self.derivatives.function, maps, points=len(shares), lower=-free, upper=free, name=name)


def held(
    robot: MovingRobot, begins: Sequence[Contact], repeated: int, q: Array | None,
    ends: tuple[Array | None, Array | None], before: Sequence[Held],
) -> list[Held]:  # fmt: skip
    """What keeps the points of each contact where they are.

    ``begins``: contacts that are put down here, at profiles ``q`` where these are given; others go on from ``before``,
    of the first phase with ``repeated`` derivatives. ``ends``: profiles and their rates where the phase ends.
    """
    support = robot.support
    if support is None or not support.held:
        return []
    every = {contact.name: held_rows(robot, contact) for contact in support.held}
    _check_independent(robot)
    last = 0
    for values in ends:
        if not all_given(values):
            break
        last += 1
    found = []
    for contact in support.held:
        new = contact in begins
        first = 2 if new or before else max(2, repeated + 1)
        anchored = all_given(q) if new and contact.when[0] == 0.0 else any(
            each.anchored for each in before if each.contact.frame == contact.frame
        )  # fmt: skip
        rows = every[contact.name]
        found.append(Held(contact, _staying(robot, contact, rows), rows, (first, last), anchored, robot))
    return found


def all_given(values: Array | None) -> bool:
    """Whether all profiles are given."""
    return values is not None and not bool(np.isnan(values).any())


def _staying(robot: MovingRobot, contact: Contact, rows: Sequence[HeldRow]) -> Derivatives:
    point = np.array(contact.ground.point)

    def stays(c0: Any, began: Any) -> Any:
        here, there = (contact.places(Moment(robot, [profiles], 0.0, 1.0)) - point for profiles in (c0, began))
        return [row.of(here) - (0.0 if row.normal else row.of(there)) for row in rows]

    size = robot.profile_count
    function = traced("held", stays, {"c0": size, "began": size}, [f"contact {contact.name}"], marked=True)
    return derivatives(function, [operand.name for operand in function.inputs])


def moment_free(robot: MovingRobot) -> list[Collocated]:
    """Moments of contacts that are a point, zero along the phase."""
    support = robot.support
    if support is None:
        return []
    rows = [_moment_family(support, each) for each in support.contacts if carries_no_moment(support, each)]
    return [Collocated(trace_rows(robot, rows, "contact_moments"), 2, name="moments of contacts")] if rows else []


def _moment_family(support: Support, contact: Contact) -> Family:
    _, _, axes = np.linalg.svd(support.root.rotations)
    used = axes[: int(np.linalg.matrix_rank(support.root.rotations))]

    def rows(moment: Moment) -> Any:
        return [moment.contact_wrenches[contact.name].moment @ axis / support.weight for axis in used]

    labels = [f"{contact.name}.moment{k + 1}" for k in range(len(used))]
    return collocated_family(f"moment of {contact.name}, which is a point", rows, labels)


def labels_of(contact: Contact, rows: Sequence[HeldRow]) -> list[str]:
    """Names of held coordinates."""
    return [f"{contact.name}.point{row.point + 1}.{'height' if row.normal else 'along'}" for row in rows]


def _check_independent(robot: MovingRobot) -> None:
    """Refuse contacts of one phase that the robot cannot have at the same time."""
    assert robot.support is not None
    q = random_positions(robot.robot, 1)[0]
    rows, names = [], []
    for contact in robot.support.held:
        if not contact.whole_phase:
            continue
        pose = np.asarray(robot.robot.compile("link_poses", frame=contact.frame)(q))
        J = np.asarray(robot.robot.compile("jacobian", frame=contact.frame, reference="world")(q))
        for row in held_rows(robot, contact, 0.0):
            way, arm = np.array(row.direction), pose[:3, :3] @ contact.points[row.point]
            rows.append(np.concatenate([way, np.cross(arm, way)]) @ J)
        names.append(contact.name)
    if not rows:
        return
    rank = int(np.linalg.matrix_rank(np.array(rows), tol=1e-8))
    if rank < len(rows):
        raise InputError(
            f"contacts {', '.join(map(repr, names))} contradict each other: together they hold {len(rows)} "
            f"coordinates, of which the robot moves {rank} independently; hold fewer points, or fewer contacts at once"
        )


def point_heights(robot: MovingRobot, contact: Contact, profiles: Array) -> Array:
    """Heights of a contact's points above its ground (m) at one position, (k,)."""
    places = contact_points(robot, contact, profiles) - np.array(contact.ground.point)
    return np.asarray(places @ np.array(contact.ground.normal))


def contact_points(robot: MovingRobot, contact: Contact, profiles: Array) -> Array:
    """Points of a contact in the base frame at one position, (k, 3)."""
    pose = np.asarray(robot.robot.compile("link_poses", frame=contact.frame)(robot.positions(profiles)))
    return np.asarray(contact.points @ pose[:3, :3].T + pose[:3, 3])


# ---- checked between the points -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SlipCheck:
    """How far the points of contacts are from where they were when the phase began, between collocation points."""

    function: Function
    """Of a moment: held coordinates of all contacts (m), heights above the ground."""
    family: Family
    upright: Array
    """Which of them are heights, which have no beginning but the ground."""
    windows: list[tuple[float, float]]
    """When each of them counts, in shares of the phase."""

    def began(self, motion: SplineMotion, phase: int) -> Array:
        """Where the points were put down: on the ground, and as they were when each contact began."""
        shares = np.array([begin for begin, _ in self.windows])
        then = np.diag(motion.values(self.function, phase, shares))
        return np.where(self.upright, 0.0, then)


def slip_check(robot: MovingRobot) -> SlipCheck | None:
    """Rows that a dense check compares with the slip of each contact; None without contacts."""
    support = robot.support
    if support is None or not support.held:
        return None
    every = [(contact, held_rows(robot, contact)) for contact in support.held]

    def rows(moment: Moment) -> Any:
        found: list[Any] = []
        for contact, mine in every:
            places = contact.places(moment) - np.array(contact.ground.point)
            found += [row.of(places) for row in mine]
        return found

    labels = [label for contact, mine in every for label in labels_of(contact, mine)]
    most = np.array([contact.slip for contact, mine in every for _ in mine])
    family = Family(COLLOCATED, "slip", rows, lambda n: labels)
    family.rows, family.names = slice(0, len(labels)), labels
    family.lower, family.upper = -most, most
    upright = np.array([row.normal for _, mine in every for row in mine])
    windows = [contact.when for contact, mine in every for _ in mine]
    return SlipCheck(function_of(robot, "slip", rows), family, upright, windows)


def _plain(way: Array) -> tuple[float, float, float]:
    return float(way[0]), float(way[1]), float(way[2])
