"""Which coordinates contacts carry, and whether a robot can have the contacts that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.moments.contact import FREE, LINE, PROFILES, Contact
from neuler.moments.sharing import Root, Support
from neuler.robot import Robot
from neuler.robot.coordinates import undriven

Array = NDArray[np.float64]
_SMALL = 1e-9
"""Below it, singular values of Jacobians count as zero."""


def support_of(robot: Robot, contacts: Sequence[Contact], split: Any, what: str = "plan: ") -> Support | None:
    """The contacts of a phase, checked; None where there is none."""
    if not contacts:
        return None
    if robot.loops or any(entry.elastic for entry in robot.coordinates):
        raise InputError(f"{what}contacts are for robots without loops and elastic drives, which {robot.name!r} has")
    if not (callable(split) or split in (LINE, FREE, PROFILES)):
        raise InputError(
            f"{what}split must be {LINE!r}, {FREE!r}, {PROFILES!r} or a function of a moment, got {split!r:.60}"
        )
    for contact in contacts:
        robot.locate(contact.frame)
        if contact.unloaded and split != PROFILES:
            raise InputError(f"{what}contact {contact.name!r}: unloaded needs split={PROFILES!r}, got {split!r:.60}")
    _check_together(contacts, split, what)
    root = root_of(robot, [contact.frame for contact in contacts], what)
    _check_shapes(root, contacts, split, what)
    firm = tuple(bool(edges_of(robot, root, contact)) for contact in contacts)
    found = Support(robot, tuple(contacts), root, split, firm)
    for contact, carries in zip(contacts, firm, strict=True):
        if contact in found.carrying and root.turns and not carries and not contact.whole_phase:
            raise InputError(
                f"{what}contact {contact.name!r} is a point and carries what others leave for a part of the phase, but "
                f"a point carries no moment; give it more points, make phases of the parts, or take split={PROFILES!r}"
            )
    return found


def _check_together(contacts: Sequence[Contact], split: Any, what: str) -> None:
    """Refuse names that are used twice, several grounds, windows that leave nothing, and three at once."""
    names = [contact.name for contact in contacts]
    for k, contact in enumerate(contacts):
        if contact.name in names[:k]:
            raise InputError(f"{what}two contacts are named {contact.name!r}; give one of them a name of its own")
        first = contacts[0].ground
        if (contact.ground.point, contact.ground.normal) != (first.point, first.normal):
            raise InputError(f"{what}contacts {names[0]!r} and {contact.name!r} of one phase stand on different planes")
    edges = sorted({0.0, 1.0, *(edge for contact in contacts for edge in contact.when)})
    for begin, end in pairwise(edges):
        now = [each for each in contacts if each.when[0] <= begin and end <= each.when[1]]
        if not now:
            raise InputError(
                f"{what}no contact lasts from {begin:g} to {end:g} of the phase; a part without contact is a phase of "
                "its own, with contacts=()"
            )
        for k, one in enumerate(now):
            for other in now[:k]:
                if one.frame == other.frame and split not in (FREE, PROFILES):
                    raise InputError(
                        f"{what}contacts {other.name!r} and {one.name!r} contradict each other: both hold frame "
                        f"{one.frame!r} at once; make one contact of all points"
                    )
        if len(now) > 2 and split == LINE:
            raise InputError(
                f"{what}{len(now)} contacts at once ({', '.join(each.name for each in now)}): the zero-moment point "
                f"shares the ground's force between two; give split=a function of a moment, or split={FREE!r}"
            )


def _check_shapes(root: Root, contacts: Sequence[Contact], split: Any, what: str) -> None:
    """Refuse points that make no polygon where a robot moves in space, and grounds outside a robot's plane."""
    for contact in contacts:
        normal = np.array(contact.ground.normal)
        if np.linalg.norm(root.translations @ normal - normal) > 1e-9:
            raise InputError(
                f"{what}contact {contact.name!r}: the base's coordinates ({', '.join(root.names)}) do not move along "
                "the ground's normal, so that nothing stands on it"
            )
        if not root.turns and len(contacts) > 1 and split == LINE:
            raise InputError(
                f"{what}the base's coordinates ({', '.join(root.names)}) do not turn: there is no zero-moment point to "
                f"share the ground's force by; give split=a function of a moment, or split={FREE!r}"
            )
        spread = np.linalg.matrix_rank(contact.points - contact.points[0], tol=1e-9)
        if root.spatial and spread < 2 and split not in (FREE, PROFILES):
            shape = "one point" if spread == 0 else "points on one line"
            raise InputError(
                f"{what}contact {contact.name!r}: a centre of pressure in space needs a polygon, three points that are "
                f"not on one line; it has {shape}"
            )


def edges_of(robot: Robot, root: Root, contact: Contact) -> tuple[tuple[int, tuple[float, float, float]], ...]:
    """Edges of a contact's points, each by a point on it and the direction inwards, in the frame's axes.

    In a plane the ends of a line; none of a point, which carries no moment, and where the base does not turn.
    """
    points = contact.points
    if not root.turns:
        return ()
    if not root.spatial:  # in the plane, with the base's axes at the neutral position
        pose = np.asarray(robot.compile("link_poses", frame=contact.frame)(robot.neutral()))
        flat = (points - points.mean(axis=0)) @ pose[:3, :3].T
        size, way = _longest(flat - flat @ root.rotations)
        if size < 1e-9:
            return ()
        order, inwards = flat @ way, pose[:3, :3].T @ way
        return ((int(np.argmin(order)), _plain(inwards)), (int(np.argmax(order)), _plain(-inwards)))
    if len(points) < 3:
        return ()
    from scipy.spatial import ConvexHull

    middle = points.mean(axis=0)
    axes = np.linalg.svd(points - middle)[2]
    hull = ConvexHull((points - middle) @ axes[:2].T)
    return tuple(
        (int(simplex[0]), _plain(-(equation[:2] @ axes[:2])))
        for simplex, equation in zip(hull.simplices, hull.equations, strict=True)
    )


def _longest(points: Array) -> tuple[float, Array]:
    """How far points about zero reach along the direction in which they reach furthest, and that direction."""
    _, size, axes = np.linalg.svd(points)
    return float(size[0]), axes[0]


def _plain(way: Array) -> tuple[float, float, float]:
    return float(way[0]), float(way[1]), float(way[2])


def carries_no_moment(support: Support, contact: Contact) -> bool:
    """Whether a contact is a point whose moment is not zero by itself: the only one, of a base that turns."""
    if not support.root.turns or edges_of(support.robot, support.root, contact) or support.split == PROFILES:
        return False
    return len(support.contacts) == 1 or (support.split == FREE and contact in support.carrying)


def root_of(robot: Robot, frames: Sequence[str], what: str = "") -> Root:
    """The coordinates without motors between a robot's base and all of some frames.

    They must move what hangs on them freely in space or in a plane, or along straight lines alone.
    """
    idle = set(undriven(robot))
    above = {joint.child: joint for joint in robot.joints}
    ways = []
    for frame in frames:
        link = robot.link_names[robot.locate(frame)[0]]
        way = []
        while link in above:
            way.append(above[link])
            link = above[link].parent
        ways.append(way[::-1])
    chain = []
    for step in zip(*ways, strict=False):
        if any(joint is not step[0] for joint in step) or (step[0].moves and step[0].name not in idle):
            break
        chain.append(step[0])
    moving = [joint for joint in chain if joint.moves]
    if not moving:
        raise InputError(
            f"{what}contacts: robot {robot.name!r} has no base that moves without motors; add one: "
            "robot.with_free_base(), or passive joints (role='passive') at its base"
        )
    entries = [robot.coordinates[joint.name] for joint in moving]
    speeds = [k for entry in entries for k in entry.velocities]
    names = {entry.name for entry in entries}
    forces = [k for k, entry in enumerate(robot.coordinates.owners("tau")) if entry.name in names]
    link = moving[-1].child
    return Root(
        link, tuple(joint.name for joint in moving), tuple(speeds), tuple(forces),
        *_columns(robot, link, speeds, [joint.name for joint in moving], what),
    )  # fmt: skip


def _columns(
    robot: Robot, link: str, speeds: Sequence[int], names: Sequence[str], what: str
) -> tuple[bool, Array, Array]:
    """Whether columns of the Jacobian are orthonormal; projectors onto translations and axes of rotation."""
    jacobian = robot.compile("jacobian", frame=link, reference="world")
    S = [np.asarray(jacobian(q))[:, list(speeds)] for q in random_positions(robot, 3)]
    values = [np.linalg.svd(each, compute_uv=False) for each in S]
    if len(speeds) > 6 or any(each.min() < _SMALL for each in values):
        raise InputError(f"{what}contacts: the base's coordinates ({', '.join(names)}) do not move it independently")
    orthonormal = all(np.abs(each.T @ each - np.eye(len(speeds))).max() < 1e-12 for each in S)
    turns, together = _span(np.hstack([each[3:] for each in S])), np.hstack(S)
    moves = np.eye(3) if len(speeds) == 6 else _span(together[:3])
    rank = int(np.linalg.matrix_rank(turns, tol=1e-9) + np.linalg.matrix_rank(moves, tol=1e-9))
    if rank != len(speeds):
        raise InputError(
            f"{what}contacts: the base's coordinates ({', '.join(names)}) must move it freely in space or in a plane, "
            "or along straight lines alone"
        )
    return orthonormal, moves, turns


def _span(columns: Array) -> Array:
    """Projector onto the span of columns."""
    U, size, _ = np.linalg.svd(columns, full_matrices=False)
    used = U[:, size > 1e-9]
    found = used @ used.T
    return np.where(np.abs(found) < 1e-12, 0.0, found)


def random_positions(robot: Robot, count: int, seed: int = 5) -> Array:
    """Positions about the neutral one, the same every time."""
    random = np.random.default_rng(seed)
    neutral = np.asarray(robot.neutral(), dtype=float)
    steps = random.normal(size=(count, robot.nv)) * 0.4
    return np.array([np.asarray(robot.integrate(neutral, step, 1.0)) for step in steps])
