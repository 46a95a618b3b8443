"""One step of a walk in the setting of Barman's thesis, chapter 5, beside our own of :mod:`neuler.gait.walk`.

All 55 joints have cubic profiles with six control points: 330 variables. Symmetry is that of positions and velocities
(5.8), so that accelerations and forces jump from step to step. The objective is effort alone (5.1). The ground's
resultant follows from the motion, and the zero-moment point on the line between the feet shares it: the two-step
algorithm. Nothing else about forces is a variable.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import radians
from typing import Any

import numpy as np

from neuler import plan
from neuler.gait.families import arms
from neuler.gait.footfalls import NEAR, PATCH, Events, Footfall, Standing, heights
from neuler.gait.soles import Away, Point, Sole
from neuler.gait.start import upright
from neuler.gait.walk import RANGES, Walk
from neuler.gait.walker import by_joint, ranges_of
from neuler.moments.contact import LINE
from neuler.moments.moment import Moment
from neuler.motions.recorded import Recorded
from neuler.plan.limits import Limit
from neuler.plan.relations import Relation
from neuler.robot import Robot
from neuler.robots.humans import PARTNERS, WALKING_FIXED, Person, strengths

FAMILIES = {
    "joint range": "(5.2)",
    "strength": "(5.3)",
    "foot contact": "(5.4), heights of points that stand",
    "foot speed": "(5.4), velocities of points that stand",
    "ground": "(5.4), heights of points that do not stand",
    "contact": "(5.5), the zero-moment point in the support polygon; the ground pushes",
    "arm-leg coupling": "(5.6)",
    "self-avoidance": "(5.7)",
    "knee in swing": "(5.9)",
    "foot position": "(5.10)",
}
"""Families of limits, by their equations. The symmetry (5.8) is linear and removes variables."""
EVENTS = Events(flat=0.15, double=0.2, heel_off=0.6)
"""Chosen: the thesis does not give its own."""
CONTROL_POINTS, DEGREE = 6, 3
BAND, SLOW = 2e-3, 0.08
"""Metres and metres a second within which points stand: exact equalities leave six control points no choice."""
NO_BREAKS = np.zeros(1)
"""No window in which a swinging foot keeps a clearance: the bent knee (5.9) gives it."""
SOLVE: dict[str, Any] = {
    "tolerance": 1e-3,
    "valid_to": 1e-3,
    "guesses": 1,
    "polish": False,
    "refine": False,
    "proximal": 1e-2,
    "options": {"mu_strategy": "monotone", "mu_init": 1e-3},
}
"""First a feasible motion, near the start; then effort from there; with the thesis's tolerances and one grid. Adaptive
barriers did not converge at 1.33 m/s with steps of 0.69 m; this one did wherever it was tried."""


@dataclass(frozen=True)
class Torques:
    """Sum of squared torques, each over its joint's largest strength: the integrand of (5.1)."""

    places: tuple[int, ...]
    largest: tuple[float, ...]

    def __call__(self, moment: Moment) -> Any:
        """Return its value at a moment, as one row."""
        return [sum((moment.all_tau[k] / size) ** 2 for k, size in zip(self.places, self.largest, strict=True))]


@dataclass(frozen=True, eq=False)
class ThesisWalk:
    """A step of a walk as in the thesis: a person, a ``speed`` (m/s) and the length of a ``step`` (m).

    Joints that the thesis freezes have ranges of zero width, which removes their control points, and symmetry removes
    others: of 330 variables 152 are free. Friction is not limited, as in the thesis.

    >>> walk = ThesisWalk(Person(1.75, 75.0))
    >>> walk.duration, walk.robot.nq
    (0.5, 55)
    """

    person: Person = field(default_factory=Person)
    speed: float = 1.2
    step: float = 0.6

    def __post_init__(self) -> None:
        _ = self._walk  # which refuses what is no walk

    @cached_property
    def _walk(self) -> Walk:
        """The same step in our own setting: feet and when they stand are those of it."""
        return Walk(self.person, self.speed, self.step, events=EVENTS, fixed=())

    @property
    def duration(self) -> float:
        """How long the step takes (s): its length over the speed."""
        return self._walk.duration

    @property
    def robot(self) -> Robot:
        """The skeleton, with all of its joints."""
        return self._walk.robot

    @property
    def soles(self) -> tuple[Sole, Sole]:
        """Of the right foot, whose heel strikes as the step begins, and of the left one."""
        return self._walk.soles

    @property
    def footfalls(self) -> list[Footfall]:
        """That of the left foot, which ends in this step, and that of the right one."""
        return self._walk.footfalls

    @property
    def moving(self) -> list[int]:
        """Numbers of the joints with motors that are not frozen."""
        high = strengths(self.robot)[1]
        return [k for k, name in enumerate(self.robot.joint_names) if high[k] > 0.0 and name not in WALKING_FIXED]

    # ---- the plan ---------------------------------------------------------------------------------------------------

    @cached_property
    def statement(self) -> plan.Plan:
        """The step as a plan."""
        robot = self.robot
        standing = Standing(BAND, SLOW, friction=0.0, torsion=0.0)  # places take neither of the latter
        low, high = strengths(robot)
        effort = Torques(tuple(self.moving), tuple(float(max(-low[k], high[k])) for k in self.moving))
        return plan.Plan(
            robot,
            plan.integral(plan.measure(effort, "effort"), "effort"),
            start=plan.Boundary(q=None, qd=None),
            duration=self.duration,
            limits=[
                *(limit for each in self.footfalls for limit in each.places(standing)),
                *heights(self.footfalls, BAND, 0.0, NO_BREAKS),
                *self._positions(),
                *self._joints(),
                *(replace(limit, lazy=False) for limit in arms()),
            ],
            robot_limits=False,
            contacts=self._contacts(),
            split=LINE,
            relations=self._relations(),
            control_points=CONTROL_POINTS,
            degree=DEGREE,
        )

    def _contacts(self) -> list[plan.Contact]:
        """The rear toes in double support, the front foot until its heel rises, then its toes: two at once at most.

        Shares are those of the line from the rear ball to the middle of the front heel's patch. The flat foot is one
        body: its polygon reaches to the tip of the toes.
        """
        before, front = self.footfalls
        (x, y, z), sole = front.sole.heel, front.sole
        corners = [(x + far, y + across, z) for far in (0.0, sole.length) for across in (-sole.half, sole.half)]
        rear, lifted = before.sole, EVENTS.heel_off
        shared: dict[str, Any] = {"friction": None, "hold": False}  # limits say where points are
        heel = x + 0.5 * PATCH, y, z
        return [
            plan.Contact(
                rear.toes, rear.toe_corners(), (0.0, EVENTS.double), centre=rear.ball, name="rear toes", **shared
            ),
            plan.Contact(sole.foot, corners, (0.0, lifted), centre=heel, name="front foot", **shared),
            plan.Contact(sole.toes, sole.toe_corners(), (lifted, 1.0), centre=sole.ball, name="front toes", **shared),
        ]

    def _relations(self) -> list[Relation]:
        """(5.8): positions and velocities at the end are those of the start, mirrored, a step further on."""
        return [
            Relation(name, PARTNERS[name][0], float(PARTNERS[name][1]), 1, self.step if name == "pelvis_x" else 0.0)
            for name in self.robot.joint_names
        ]

    def _positions(self) -> list[Limit]:
        """(5.10): where the feet are as the step begins and ends."""
        found = []
        (behind, left), (here, right) = (each.place for each in self.footfalls)
        mine, other = self.soles
        for at, places in (
            (0.0, {"right heel": (mine.heel_point(), here, right), "left ball": _ball(other, behind, left)}),
            (1.0, {"left heel": (other.heel_point(), here + self.step, left), "right ball": _ball(mine, here, right)}),
        ):
            for name, (point, x, y) in places.items():
                where = plan.measure(Away(point, (x, y, 0.0), (0, 1, 2)), f"{name} at {at:g}", labels=list("xyz"))
                found.append(plan.limit(where, -BAND, BAND, when=(at, at), family="foot position", scale=NEAR))
        return found

    def _joints(self) -> list[Limit]:
        """(5.2), (5.3) and (5.9): ranges, frozen joints among them, strengths, the bent knee of the swinging leg."""
        robot, (low, high), own = self.robot, strengths(self.robot), by_joint("ranges", RANGES)
        own |= dict.fromkeys(WALKING_FIXED, (0.0, 0.0))
        least, most = ranges_of(robot, own)
        names = [robot.joint_names[k] for k in self.moving]
        weak, strong = (dict(zip(names, map(float, side[self.moving]), strict=True)) for side in (low, high))
        bent, about = map(radians, self._walk.knee)
        knee = {"l_knee_flexion": bent - about}, {"l_knee_flexion": bent + about}
        return [
            plan.limit(plan.position, least, most, family="joint range"),
            plan.limit(plan.torque, weak, strong, family="strength"),
            plan.limit(plan.position, *knee, when=(0.5, 0.5), family="knee in swing"),
        ]

    # ---- solved -----------------------------------------------------------------------------------------------------

    def start(self) -> Recorded:
        """The motion with which the search begins: all angles zero, the pelvis gliding ahead."""
        return upright(self.robot, self.step, self.duration)

    def solve(self, **options: Any) -> plan.Planned:
        """Solve the plan from :meth:`start`; ``options`` of ``plan.Plan.solve``, in place of ``SOLVE``."""
        return self.statement.solve(**{**SOLVE, "guess": self.start(), **options})


def _ball(sole: Sole, x: float, y: float) -> tuple[Point, float, float]:
    """The ball of a foot whose heel stands at a place, and where it is."""
    return sole.ball_point(), x + sole.arch, y
