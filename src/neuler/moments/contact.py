"""Contact with the ground: what stands on it, and what the ground exerts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler import math as nm
from neuler.errors import InputError
from neuler.inputs import number, real
from neuler.moments.clearance import HalfSpace

if TYPE_CHECKING:
    from neuler.moments.moment import Moment
    from neuler.robot import Robot

Array = NDArray[np.float64]
FLOOR = HalfSpace((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
"""The ground by default: z = 0, up."""
SLIP = 1e-4
"""Metres that held points may move, by default."""
LINE, FREE, PROFILES = "line", "free", "profiles"
"""How contacts share the resultant: by the zero-moment point on the line between two centres; by profiles of all but
those that carry the rest; by profiles of all, for which the base's equations of motion are constraints."""
TOGETHER = 0.05
"""Metres between two centres below which they share the force more nearly by halves than by the line between them."""
LIGHT = 0.02
"""Share of the weight below which the force of the ground decides no zero-moment point; forces balance all the same."""
STANDARD_GRAVITY = 9.80665
"""m/s^2; the weight by which forces are scaled where there is no gravity."""


@dataclass(frozen=True, eq=False)
class Contact:
    """A link or frame that stands on the ground with ``points`` (k, 3), in the frame's axes (m).

    The points neither move nor leave the ground while it lasts: ``when``, a window of shares of a phase, by default all
    of it. It pushes and does not pull; its force is inside the cone of ``friction`` (a pyramid inside the cone: exact
    in a plane, of eight sides in space; None for no limit), and its centre of pressure inside the polygon of the
    points. ``ground`` is a plane, by default z = 0. ``centre`` is where its share of the ground's force acts, by
    default the points' mean.
    ``slip`` (m): how far points may move between the points at which they are held. ``torsion`` (m): the most that the
    moment about the ground's normal may be, at the centre, as a multiple of the normal force; None for no limit.
    ``hold=False``: it carries force, but points are not held; limits of your own say where they are. ``unloaded``: its
    force is zero as it begins, also where that is the begin of the phase, as of a foot that comes down; where forces
    are values at grid points (``split="profiles"``), those of contacts that begin or end within a phase are anyway.

    >>> sole = Contact("foot", [(-0.0625, 0.0, 0.0), (0.1875, 0.0, 0.0)], friction=0.6)
    >>> sole.name, sole.centre.tolist()
    ('foot', [0.0625, 0.0, 0.0])
    """

    frame: str
    points: Any
    when: tuple[float, float] = (0.0, 1.0)
    friction: float | None = 0.8
    ground: HalfSpace = FLOOR
    centre: Any = None
    slip: float = SLIP
    torsion: float | None = None
    hold: bool = True
    name: str = ""
    unloaded: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.frame, str) or not self.frame:
            raise InputError(f"contact: the name of a link or frame is needed, got {self.frame!r:.60}")
        called = self.name or self.frame
        if not isinstance(called, str):
            raise InputError(f"contact: its name must be text, got {self.name!r:.60}")
        what = f"contact {called!r}"
        points = real(self.points)
        points = None if points is None else np.atleast_2d(points)
        if points is None or points.ndim != 2 or points.shape[1] != 3 or not len(points):
            raise InputError(f"{what}: points must be (k, 3), in the frame's axes (m), got {self.points!r:.60}")
        centre = points.mean(axis=0) if self.centre is None else real(self.centre)
        if centre is None or centre.shape != (3,):
            raise InputError(f"{what}: centre must be three numbers, in the frame's axes (m), got {self.centre!r:.60}")
        if not (np.isfinite(points).all() and np.isfinite(centre).all()):
            raise InputError(f"{what}: points and centre must be finite")
        if self.friction is not None and number(f"{what}: friction", self.friction) < 0.0:
            raise InputError(f"{what}: friction must not be negative, got {self.friction!r}")
        if number(f"{what}: slip", self.slip) <= 0.0:
            raise InputError(f"{what}: slip must be above zero (m), got {self.slip!r}")
        if self.torsion is not None and number(f"{what}: torsion", self.torsion) < 0.0:
            raise InputError(f"{what}: torsion must not be negative (m), got {self.torsion!r}")
        window = real(self.when)
        if window is None or window.shape != (2,) or not 0.0 <= window[0] < window[1] <= 1.0:
            raise InputError(f"{what}: when must be two shares of a phase, 0 <= a < b <= 1, got {self.when!r:.60}")
        for option in ("hold", "unloaded"):
            if not isinstance(getattr(self, option), bool):
                raise InputError(f"{what}: {option} must be True or False, got {getattr(self, option)!r:.60}")
        if not isinstance(self.ground, HalfSpace):
            raise InputError(f"{what}: ground must be plan.HalfSpace(point, normal), got {self.ground!r:.60}")
        values = {
            "points": points, "centre": centre, "name": called, "when": (float(window[0]), float(window[1])),
            "friction": None if self.friction is None else float(self.friction), "slip": float(self.slip),
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes it the same contact in another phase: frame, points and ground."""
        return self.frame, self.points.tobytes(), self.ground.point, self.ground.normal

    @property
    def weightless(self) -> tuple[bool, bool]:
        """Whether its force, as values at grid points, is zero where it begins and where it ends."""
        return self.unloaded or self.when[0] > 0.0, self.when[1] < 1.0

    @property
    def whole_phase(self) -> bool:
        """Whether it lasts a whole phase."""
        return self.when == (0.0, 1.0)

    def active(self, share: Any) -> Any:
        """1 while it lasts, else 0; where a window ends another may begin, so that its end is not part of it."""
        return inside(share, self.when)

    def fading(self, share: Any, window: tuple[float, float]) -> Any:
        """1 in a window, falling to zero at those of its ends that are within the phase: forces do not jump there."""
        begin, end = window
        length, found = end - begin, 1.0
        if begin > 0.0:
            found = found * nm.maximum((share - begin) / length, 0.0)
        if end < 1.0:
            found = found * nm.maximum((end - share) / length, 0.0)
        return 4.0 * found if begin > 0.0 and end < 1.0 else found

    def places(self, moment: Moment) -> Any:
        """Its points in the base frame, (k, 3)."""
        pose = moment.pose(self.frame)
        return np.array([pose[:3, :3] @ point + pose[:3, 3] for point in self.points], dtype=object)

    def velocities(self, moment: Moment) -> Any:
        """Velocities of its points in the axes of the base frame, (k, 3)."""
        pose, twist = moment.pose(self.frame), moment.frame_velocity(self.frame)
        return np.array([twist[:3] + np.cross(twist[3:], pose[:3, :3] @ point) for point in self.points], dtype=object)

    def __reduce__(self) -> Any:
        return Contact, (
            self.frame, self.points, self.when, self.friction, self.ground, self.centre, self.slip, self.torsion,
            self.hold, self.name, self.unloaded,
        )  # fmt: skip


def weight(robot: Robot) -> float:
    """The robot's weight (N), by which forces are compared; with standard gravity where the robot has none."""
    return float(robot.mass * (float(np.linalg.norm(robot.gravity)) or STANDARD_GRAVITY))


class GroundReaction(NamedTuple):
    """What the ground exerts on a robot: force (N), and moment (N m) about ``point``, in the base frame."""

    force: Any
    moment: Any
    point: Array
    zero_moment_point: Any
    """Where the moment has no part along the ground, (3); where the base does not turn, ``point``."""


class ContactWrench(NamedTuple):
    """What the ground exerts on one contact: force (N) at ``centre``, moment (N m) about it, in the base frame."""

    force: Any
    moment: Any
    centre: Any

    def about(self, place: Any) -> Any:
        """The moment about another point."""
        return self.moment + np.cross(self.centre - place, self.force)


def inside(share: Any, window: tuple[float, float]) -> Any:
    """1 in a window of shares, its end left out, else 0."""
    begin, end = window
    found = nm.greater_equal(share, begin) if begin > 0.0 else 1.0
    return found * nm.less(share, end) if end < 1.0 else found
