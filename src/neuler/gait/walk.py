"""Prediction of human gait: one step of a symmetric walk as a plan, Barman chapter 5.

The right heel strikes as the step begins; the next step is its mirror image. Profiles are splines whose end is the
mirrored start with all derivatives, which leaves no row for symmetry and no jump between steps. Forces of the ground
are variables at grid points (``split="profiles"``), with the six equations of motion of the pelvis as constraints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, radians
from typing import Any

import numpy as np

from neuler import plan
from neuler.errors import InputError
from neuler.gait import costs
from neuler.gait.costs import Weights
from neuler.gait.ground import weight
from neuler.gait.soles import Away, Heights, Point, Sliding, Sole
from neuler.gait.start import rough_step
from neuler.inputs import number, real, whole
from neuler.moments.contact import PROFILES
from neuler.motions.recorded import Recorded
from neuler.naming import hint
from neuler.plan.limits import Limit
from neuler.plan.options import SOLVED
from neuler.plan.planned import with_costs
from neuler.plan.relations import Relation
from neuler.robot import Robot
from neuler.robots.humans import JOINTS, PARTNERS, WALKING_FIXED, Person, skeleton, strengths

X, Y, Z = range(3)
NEAR = 0.1
"""Metres by which places that are held are divided for the solver; speeds by ten times as much a second."""
PATCH = 0.03
"""Metres of the heel on which a foot lands."""
RANGES = {"ankle_flexion": (-25.0, 20.0), "knee_flexion": (0.0, 85.0)}
"""Ranges of motion in walking (degrees) that are narrower than those of the joints: chosen. Unloaded feet and legs
flail beyond them."""
SOLVE: dict[str, Any] = {"tolerance": 1e-4, "valid_to": 6e-4, "guesses": 1, "polish": False}
"""How steps are solved, where nothing else is asked for."""
NEARNESS = (100.0, 10.0, 1.0)
"""Weights of the distance from the rough step with which a feasible one is looked for, until a solve ends well."""
ORACLE = {"mu_oracle": "probing"}
"""How IPOPT chooses its barrier: others end in worse minima, or crawl."""


@dataclass(frozen=True)
class Events:
    """When contacts change, as shares of a step."""

    flat: float = 1.0 / 6.0
    """The ball of the front foot comes down; that of the rear foot leaves the ground."""
    double: float = 0.25
    """The tip of the rear foot leaves the ground: the end of double support."""
    heel_off: float = 0.75
    """The heel of the front foot leaves the ground."""

    def __post_init__(self) -> None:
        if not 0.0 < self.flat < self.double < self.heel_off < 1.0:
            raise InputError(
                f"gait: events must be in order, 0 < flat < double < heel_off < 1, got {self.flat:g}, {self.double:g} "
                f"and {self.heel_off:g}"
            )


@dataclass(frozen=True, eq=False)
class Walk:
    """One step of a symmetric walk: a person, a ``speed`` (m/s) and the length of a ``step`` (m).

    ``width``: distance of the feet's middle lines (m), by default 0.6 of that between the hip joints. ``fixed``: joints
    held at zero (``WALKING_FIXED`` leaves 38 degrees of freedom). ``band``: how far points that stand may be from their
    places (m); ``clearance``: how high the swinging foot is at least in the middle of its way (m). ``knee``: flexion of
    the swinging knee half-way through the step, degrees, and how much it may differ.

    >>> walk = Walk(Person(1.75, 75.0), speed=1.2, step=0.6)
    >>> walk.duration, walk.robot.nq
    (0.5, 38)
    """

    person: Person = field(default_factory=Person)
    speed: float = 1.2
    step: float = 0.6
    width: float | None = None
    events: Events = field(default_factory=Events)
    weights: Weights = field(default_factory=Weights)
    fixed: tuple[str, ...] = WALKING_FIXED
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=lambda: dict(RANGES))
    knee: tuple[float, float] = (60.0, 5.0)
    band: float = 1.4e-3
    clearance: float = 0.01
    slow: float = 0.08
    """Speeds of points that stand at most (m/s)."""
    friction: float = 0.8
    torsion: float = 0.02
    """Free moment of a contact at most, as a lever of its force (m)."""
    control_points: int = 17
    degree: int = 5

    def __post_init__(self) -> None:
        if not isinstance(self.person, Person):
            raise InputError(f"gait: a person is needed, neuler.robots.humans.Person(...), got {self.person!r:.60}")
        for name in ("speed", "step", "band", "slow", "friction", "torsion"):
            if number(f"gait: {name}", getattr(self, name)) <= 0.0:
                raise InputError(f"gait: {name} must be above zero, got {getattr(self, name)!r}")
        if number("gait: clearance", self.clearance) < 0.0:
            raise InputError(f"gait: clearance must not be below zero (m), got {self.clearance!r}")
        if self.width is not None and number("gait: width", self.width) <= 0.0:
            raise InputError(f"gait: width must be above zero (m), got {self.width!r}")
        for name, kind in (("events", Events), ("weights", Weights)):
            if not isinstance(getattr(self, name), kind):
                raise InputError(f"gait: {name} must be gait.{kind.__name__}(...), got {getattr(self, name)!r:.60}")
        knee = real(self.knee)
        if knee is None or knee.shape != (2,) or not np.isfinite(knee).all() or knee[1] < 0.0:
            raise InputError(
                f"gait: knee must be two numbers, degrees and how much it may differ, got {self.knee!r:.60}"
            )
        self._check_ranges()
        whole("gait: control_points", self.control_points, 12)
        whole("gait: degree", self.degree, 4, 8)
        reach = 2.0 * (self.person.lengths["thigh"] + self.person.lengths["shank"])
        if self.step >= reach:
            raise InputError(
                f"gait: a step of {self.step:g} m is longer than the legs allow: both of them stretched out reach "
                f"{reach:.2f} m; take shorter steps"
            )

    def _check_ranges(self) -> None:
        known = {name.removeprefix("l_").removeprefix("r_") for name in JOINTS}
        for name, pair in self.ranges.items():
            if name not in known:
                raise InputError(f"gait: ranges: there is no joint {name!r}; {hint(name, sorted(known))}")
            bounds = real(pair)
            if bounds is None or bounds.shape != (2,) or not bounds[0] < bounds[1]:
                raise InputError(
                    f"gait: range of {name}: two angles are needed (degrees), the least first, got {pair!r:.60}"
                )

    # ---- the person -------------------------------------------------------------------------------------------------

    @property
    def duration(self) -> float:
        """How long a step takes (s): its length over the speed."""
        return self.step / self.speed

    @cached_property
    def robot(self) -> Robot:
        """The skeleton with the joints that move in walking."""
        return skeleton(self.person).with_fixed(dict.fromkeys(self.fixed, 0.0))

    @cached_property
    def soles(self) -> tuple[Sole, Sole]:
        """Of the right foot, which is in front, and of the left one."""
        width = self.person.lengths["foot_width"]
        return Sole.of(self.robot, "r_", width), Sole.of(self.robot, "l_", width)

    @property
    def lines(self) -> tuple[float, float]:
        """Where the middle lines of the right and the left foot are, to the left (m)."""
        wide = 1.2 * self.person.lengths["hip_half_width"] if self.width is None else self.width
        return -0.5 * wide, 0.5 * wide

    # ---- the plan ---------------------------------------------------------------------------------------------------

    @cached_property
    def statement(self) -> plan.Plan:
        """The step as a plan."""
        robot = self.robot
        terms = costs.objective(
            self.weights, self.duration, robot.joint_names, strengths(robot), robot.mass, weight(robot)
        )
        return plan.Plan(
            robot,
            terms,
            start=plan.Boundary(q=None, qd=None),
            duration=self.duration,
            limits=[*self._feet(), *self._ground(), *self._joints(), *self._loads()],
            contacts=self.contacts,
            split=PROFILES,
            relations=self._relations(),
            control_points=self.control_points,
            degree=self.degree,
        )

    @property
    def contacts(self) -> list[plan.Contact]:
        """What carries: the front foot until its heel rises, its toes from when they are down, the rear toes."""
        (front, rear), when = self.soles, self.events
        shared: dict[str, Any] = {"friction": self.friction, "torsion": self.torsion, "hold": False}
        return [
            plan.Contact(
                front.foot, front.hind_corners(), (0.0, when.heel_off), centre=front.heel, name="front foot", **shared
            ),
            plan.Contact(
                front.toes, front.toe_corners(), (when.flat, 1.0), centre=front.ball, name="front toes", **shared
            ),
            plan.Contact(
                rear.toes, rear.toe_corners(), (0.0, when.double), centre=rear.ball, name="rear toes", **shared
            ),
        ]

    def _relations(self) -> list[Relation]:
        """The end of the step is its mirrored start, a step further on, with all derivatives."""
        found = []
        for name in self.robot.joint_names:
            other, sign = PARTNERS[name]
            found.append(Relation(name, other, float(sign), None, self.step if name == "pelvis_x" else 0.0))
        return found

    def _feet(self) -> list[Limit]:
        """Points that stand: their places and speeds."""
        (front, rear), when, (right, left) = self.soles, self.events, self.lines
        behind = -self.step
        found: list[Limit] = []

        def stands(name: str, point: Point, place: tuple[float, float, float], axes: str, window: Any) -> None:
            numbers = tuple("xyz".index(axis) for axis in axes)
            where = plan.measure(Away(point, place, numbers), name, labels=list(axes), unit="m")
            speed = plan.measure(Sliding(point, numbers), f"speed of {name}", labels=list(axes), unit="m/s")
            found.append(plan.limit(where, -self.band, self.band, when=window, family="foot contact", scale=NEAR))
            found.append(plan.limit(speed, -self.slow, self.slow, when=window, family="foot speed", scale=10 * NEAR))

        stands("right heel", front.heel_point(), (0.0, right, 0.0), "xyz", (0.0, when.heel_off))
        for name, sole, x, y, window in (
            ("right", front, 0.0, right, (when.flat, 1.0)),
            ("left", rear, behind, left, (0.0, when.flat)),
        ):
            stands(f"{name} ball", sole.ball_point(), (x + sole.arch, y, 0.0), "xy", window)
            for side, across in (("inner", -sole.half), ("outer", sole.half)):
                stands(f"{name} ball, {side} edge", sole.ball_point(across), (0.0, 0.0, 0.0), "z", window)
        stands("right tip", front.tip_point(), (0.0, 0.0, 0.0), "z", (when.flat, 1.0))
        stands("left tip", rear.tip_point(), (behind + rear.length, left, 0.0), "xyz", (0.0, when.double))
        return found

    def _ground(self) -> list[Limit]:
        """No foot in the ground, and the swinging one above it."""
        points, labels = [], []
        for name, sole in zip(("right", "left"), self.soles, strict=True):
            ball = (sole.heel[0] + sole.arch, sole.heel[1], sole.heel[2])
            points += [sole.heel_point(), Point(sole.foot, ball), sole.tip_point()]
            labels += [f"{name} {part}" for part in ("heel", "ball", "tip")]
        above = plan.measure(Heights(tuple(points)), "height", labels=labels, unit="m")
        swing = {label: self.clearance for label in labels if label.startswith("left")}
        middle = self.events.double + 0.15, 0.85
        return [
            plan.limit(above, -self.band, family="ground", scale=NEAR),
            plan.limit(above, swing, when=middle, family="ground", scale=NEAR),
        ]

    def _joints(self) -> list[Limit]:
        """Ranges of motion, strengths, and the bent knee of the swinging leg."""
        robot, (low, high) = self.robot, strengths(self.robot)
        least: dict[str, float] = {}
        most: dict[str, float] = {}
        for entry in robot.coordinates:
            bounds = entry.joint.limits
            own = self.ranges.get(entry.name.removeprefix("l_").removeprefix("r_"))
            lower, upper = (bounds.lower, bounds.upper) if own is None else map(radians, own)
            least |= {entry.name: lower} if lower > -inf else {}
            most |= {entry.name: upper} if upper < inf else {}
        names = robot.joint_names
        driven = [k for k in range(robot.nv) if high[k] > 0.0]
        bent, about = map(radians, self.knee)
        return [
            plan.limit(plan.position, least, most, family="joint range"),
            plan.limit(
                plan.torque, {names[k]: float(low[k]) for k in driven}, {names[k]: float(high[k]) for k in driven},
                lazy=True, family="strength",
            ),
            plan.limit(
                plan.position, {"l_knee_flexion": bent - about}, {"l_knee_flexion": bent + about}, when=(0.5, 0.5),
                family="knee in swing",
            ),
        ]  # fmt: skip

    def _loads(self) -> list[Limit]:
        """The front foot is loaded from zero, on its heel until it is flat; the rear one leaves on its tip."""
        force, rear, when = weight(self.robot), self.soles[1], self.events
        none = plan.measure(Loaded("front foot", force), "load at heel strike", labels=list("xyzabc"))
        heel = plan.measure(Ahead("front foot", PATCH, force), "pressure on the heel")
        tip = plan.measure(Ahead("rear toes", rear.tip[0] - 0.02, force), "pressure on the tip")
        return [
            plan.limit(none, 0.0, 0.0, when=(0.0, 0.0), family="contact"),
            plan.limit(heel, None, 0.0, when=(0.0, when.flat), family="contact", scale=NEAR),
            plan.limit(tip, 0.0, None, when=(when.flat, when.double), family="contact", scale=NEAR),
        ]

    # ---- solved -----------------------------------------------------------------------------------------------------

    def start(self) -> Recorded:
        """The rough step with which the search begins."""
        return rough_step(self.robot, self.soles, self.step, self.duration)

    def solve(self, **options: Any) -> plan.Planned:
        """Solve the plan from the rough step; ``options`` of ``plan.Plan.solve``, as guess, progress or seconds.

        A solve that fails is tried again with a feasible step that is looked for in another way. ``seconds`` bound all
        of these together.
        """
        given = {**SOLVE, **options}
        given.setdefault("guess", self.start())
        if given.get("solver", "auto") in ("auto", "ipopt"):
            given["options"] = {**ORACLE, **(given.get("options") or {})}
        found: list[plan.Planned] = []
        for near in [given.pop("proximal")] if "proximal" in given else NEARNESS:
            found.append(self.statement.solve(proximal=near, **given))
            if found[-1].status in (*SOLVED, "interrupted"):
                break
            if given.get("seconds") is not None:
                given["seconds"] -= found[-1].seconds
                if given["seconds"] <= 0.0:
                    break
        best = min(found, key=lambda each: (each.status not in SOLVED, each.worst_violation))
        return with_costs(best, found)


@dataclass(frozen=True)
class Loaded:
    """Force and moment of a contact, as shares of the weight."""

    contact: str
    weight: float

    def __call__(self, moment: Any) -> Any:
        """Return force and moment at a moment, six rows."""
        found = moment.contact_wrenches[self.contact]
        return np.concatenate([found.force, found.moment]) / self.weight


@dataclass(frozen=True)
class Ahead:
    """By how much the centre of pressure of a contact is in front of a point, times its force in body weights (m).

    ``beyond`` (m): how far the point is in front of the contact's centre. Feet point along x while they stand.
    """

    contact: str
    beyond: float
    weight: float

    def __call__(self, moment: Any) -> Any:
        """Return its value at a moment, as one row."""
        found = moment.contact_wrenches[self.contact]
        return [(-found.moment[1] - self.beyond * found.force[2]) / self.weight]
