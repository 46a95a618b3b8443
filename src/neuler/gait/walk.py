"""Prediction of human gait: one step of a symmetric walk, or a whole stride, as a plan, Barman chapter 5.

The right heel strikes as the motion begins. Of a symmetric walk the next step is the mirror image; otherwise the motion
is a stride, which repeats. Profiles are splines whose end is the start, mirrored or not, with all derivatives: that
leaves no row for symmetry and no jump between steps. Forces of the ground are variables at grid points
(``split="profiles"``), with the six equations of motion of the pelvis as constraints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, radians
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler import plan
from neuler.errors import InputError
from neuler.gait import costs
from neuler.gait.costs import Weights
from neuler.gait.families import arms
from neuler.gait.footfalls import Events, Footfall, Standing, heights, share_of
from neuler.gait.soles import Sole
from neuler.gait.start import upright
from neuler.gait.stuck import Stuck
from neuler.gait.walker import Load, by_joint, ranges_of, same_on_both_sides, walker
from neuler.inputs import names, number, real, several, whole
from neuler.moments.contact import PROFILES, weight
from neuler.motions.recorded import Recorded
from neuler.optimize.progress import reporting
from neuler.plan.limits import Limit
from neuler.plan.options import SOLVED
from neuler.plan.planned import with_costs
from neuler.plan.relations import Relation
from neuler.robot import Robot
from neuler.robots.humans import PARTNERS, WALKING_FIXED, Person, strengths

Array = NDArray[np.float64]
RANGES = {"ankle_flexion": (-25.0, 20.0), "knee_flexion": (0.0, 85.0)}
"""Ranges of motion in walking (degrees) that are narrower than those of the joints: chosen. Unloaded feet and legs
flail beyond them."""
STEEPEST = 20.0
"""Degrees of the slope at most."""
SOLVE: dict[str, Any] = {"tolerance": 1e-3, "valid_to": 6e-4, "guesses": 1, "polish": False}
"""How walks are solved, where nothing else is asked for."""
BARRIERS: tuple[dict[str, Any], ...] = (
    {"mu_strategy": "adaptive", "mu_oracle": "quality-function"},
    {"mu_strategy": "monotone", "mu_init": 1e-3},
    {"mu_strategy": "monotone", "mu_init": 1e-1},
)
"""How IPOPT chooses its barrier: the next where a solve ends without a solution."""
RELAXING: dict[str, Any] = {"mu_strategy": "monotone", "mu_init": 1e-1}
"""The same, of the search for the motion that violates limits least."""
LOOKING, CLEARLY = 100, 0.02
"""Iterations of that search at most, and by how much a family is relaxed that conflicts where the search has not
ended."""


@dataclass(frozen=True, eq=False)
class Walk:
    """A walk: a person, a ``speed`` (m/s) and the length of a ``step`` (m).

    ``width``: distance of the feet's middle lines (m), by default 0.6 of that between the hip joints. ``loads``: what
    is carried, as ``Load.backpack(15.0)``. ``slope``: of the ground, degrees, uphill above zero. ``ranges``: of joints
    in degrees, ``strength``: factors of their strengths; by name, of both sides ("knee_flexion") or of one
    ("r_knee_flexion"). What differs between the sides needs ``symmetric=False``: then the motion is a stride of two
    steps, else one step. ``fixed``: joints held at zero (``WALKING_FIXED`` leaves 38 degrees of freedom). ``band``: how
    far points that stand may be from their places (m); ``clearance``: how high the swinging foot is at least in the
    middle of its way (m). ``knee``: flexion of the swinging knee half-way through the step, degrees, and how much it
    may differ. ``control_points``: of a step.

    >>> walk = Walk(Person(1.75, 75.0), speed=1.2, step=0.6)
    >>> walk.duration, walk.robot.nq
    (0.5, 38)
    """

    person: Person = field(default_factory=Person)
    speed: float = 1.2
    step: float = 0.6
    width: float | None = None
    loads: tuple[Load, ...] = ()
    slope: float = 0.0
    symmetric: bool = True
    events: Events = field(default_factory=Events)
    weights: Weights = field(default_factory=Weights)
    fixed: tuple[str, ...] = WALKING_FIXED
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=lambda: dict(RANGES))
    strength: Mapping[str, float] = field(default_factory=dict)
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
        if abs(number("gait: slope", self.slope)) > STEEPEST:
            raise InputError(f"gait: slope must be within {STEEPEST:g} degrees, got {self.slope!r}")
        if not isinstance(self.symmetric, bool):
            raise InputError(f"gait: symmetric must be True or False, got {self.symmetric!r:.60}")
        for name, kind in (("events", Events), ("weights", Weights)):
            if not isinstance(getattr(self, name), kind):
                raise InputError(f"gait: {name} must be gait.{kind.__name__}(...), got {getattr(self, name)!r:.60}")
        knee = real(self.knee)
        if knee is None or knee.shape != (2,) or not np.isfinite(knee).all() or knee[1] < 0.0:
            raise InputError(
                f"gait: knee must be two numbers, degrees and how much it may differ, got {self.knee!r:.60}"
            )
        loads = tuple(several("gait: loads", self.loads, Load, "gait.Load(...) or gait.Load.backpack(15.0)"))
        object.__setattr__(self, "loads", loads)
        self._check_joints()
        whole("gait: control_points", self.control_points, 12)
        whole("gait: degree", self.degree, 4, 8)
        reach = 2.0 * (self.person.lengths["thigh"] + self.person.lengths["shank"])
        if self.step >= reach:
            raise InputError(
                f"gait: a step of {self.step:g} m is longer than the legs allow: both of them stretched out reach "
                f"{reach:.2f} m; take shorter steps"
            )

    def _check_joints(self) -> None:
        """Refuse unknown joints, bounds that are none, and sides that differ in a symmetric walk."""
        for name, pair in by_joint("ranges", self.ranges).items():
            bounds = real(pair)
            if bounds is None or bounds.shape != (2,) or not bounds[0] < bounds[1]:
                raise InputError(
                    f"gait: range of {name}: two angles are needed (degrees), the least first, got {pair!r:.60}"
                )
        for name, factor in by_joint("strength", self.strength).items():
            if number(f"gait: strength of {name}", factor) <= 0.0:
                raise InputError(f"gait: strength of {name} must be a factor above zero, got {factor!r}")
        uneven = [
            what for what in ("ranges", "strength") if not same_on_both_sides(by_joint(what, getattr(self, what)))
        ]
        held = by_joint("fixed", dict.fromkeys(names("gait: fixed", self.fixed) if self.fixed != () else ()))
        object.__setattr__(self, "fixed", tuple(held))
        uneven += ["fixed"] if any(PARTNERS[name][0] not in held for name in held) else []
        images = [load.mirrored for load in self.loads]
        uneven += ["loads"] if any(load not in images for load in self.loads) else []
        if self.symmetric and uneven:
            raise InputError(
                f"gait: left and right are not alike in {' and '.join(uneven)}, and the walk is symmetric; say "
                "symmetric=False, or the same of both sides"
            )

    # ---- the person -------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """Steps of the motion: one, whose mirror image is the next, or two."""
        return 1 if self.symmetric else 2

    @property
    def duration(self) -> float:
        """How long the motion takes (s): its length over the speed."""
        return self.steps * self.step / self.speed

    @cached_property
    def robot(self) -> Robot:
        """The skeleton with the joints that move in walking, and what it carries."""
        return walker(self.person, self.fixed, self.loads, by_joint("strength", self.strength), self.slope)

    @cached_property
    def soles(self) -> tuple[Sole, Sole]:
        """Of the right and of the left foot."""
        width = self.person.lengths["foot_width"]
        return Sole.of(self.robot, "r_", width), Sole.of(self.robot, "l_", width)

    @property
    def lines(self) -> tuple[float, float]:
        """Where the middle lines of the right and the left foot are, to the left (m)."""
        wide = 1.2 * self.person.lengths["hip_half_width"] if self.width is None else self.width
        return -0.5 * wide, 0.5 * wide

    @cached_property
    def footfalls(self) -> list[Footfall]:
        """Where and when feet stand: the left one from before, then right and left in turn."""
        found = []
        for begin in range(-1, self.steps):
            side = begin % 2
            name = f"{('right', 'left')[side]}{', before' if begin < 0 else ''}"
            place = begin * self.step, self.lines[side]
            found.append(Footfall(name, self.soles[side], float(begin), place, self.events, self.steps))
        return found

    # ---- the plan ---------------------------------------------------------------------------------------------------

    @cached_property
    def statement(self) -> plan.Plan:
        """The walk as a plan."""
        robot, force = self.robot, weight(self.robot)
        standing = Standing(self.band, self.slow, self.friction, self.torsion)
        terms = costs.objective(
            self.weights, self.duration, robot, strengths(robot), self.steps, lean=radians(self.slope)
        )
        limits = [limit for each in self.footfalls for limit in (*each.places(standing), *each.pressures(force))]
        return plan.Plan(
            robot,
            terms,
            start=plan.Boundary(q=None, qd=None),
            duration=self.duration,
            limits=[
                *limits,
                *heights(self.footfalls, self.band, self.clearance, self.breaks),
                *self._joints(),
                *arms(),
            ],
            contacts=[contact for each in self.footfalls for contact in each.contacts(standing)],
            split=PROFILES,
            relations=self._relations(),
            knots=self.breaks,
            degree=self.degree,
        )

    @cached_property
    def breaks(self) -> Array:
        """Shares of the motion between which profiles are polynomials: contacts change at some of them.

        A step has ``control_points - degree`` spans, of nearly equal lengths.
        """
        events = (0.0, self.events.flat, self.events.double, self.events.heel_off, 1.0)
        counts = [1] * (len(events) - 1)
        for _ in range(self.control_points - self.degree - len(counts)):  # where spans are longest
            k = int(np.argmax(np.diff(events) / counts))
            counts[k] += 1
        parts = [np.linspace(a, b, n, endpoint=False) for a, b, n in zip(events, events[1:], counts, strict=False)]
        step = np.concatenate(parts)
        return np.array([*(share_of(at + k, self.steps) for k in range(self.steps) for at in step), 1.0])

    def _relations(self) -> list[Relation]:
        """The end is the start, mirrored after one step, as far ahead as the walk went, with all derivatives."""
        found = []
        for name in self.robot.joint_names:
            other, sign = PARTNERS[name] if self.symmetric else (name, 1)
            ahead = self.steps * self.step if name == "pelvis_x" else 0.0
            found.append(Relation(name, other, float(sign), None, ahead))
        return found

    def _joints(self) -> list[Limit]:
        """Ranges of motion, strengths, and the bent knee of the swinging leg."""
        robot, (low, high) = self.robot, strengths(self.robot)
        least, most = ranges_of(robot, by_joint("ranges", self.ranges))
        known = robot.joint_names
        driven = [k for k in range(robot.nv) if high[k] > 0.0]
        found = [
            plan.limit(plan.position, least, most, family="joint range"),
            plan.limit(
                plan.torque, {known[k]: float(low[k]) for k in driven}, {known[k]: float(high[k]) for k in driven},
                lazy=True, family="strength",
            ),
        ]  # fmt: skip
        bent, about = map(radians, self.knee)
        for step in range(self.steps):
            joint, middle = ("l_knee_flexion", "r_knee_flexion")[step], (step + 0.5) / self.steps
            if joint in known and most.get(joint, inf) > bent - about:  # a stiff knee does not bend so far
                found.append(
                    plan.limit(
                        plan.position, {joint: bent - about}, {joint: bent + about}, when=(middle, middle),
                        family="knee in swing",
                    )
                )  # fmt: skip
        return found

    # ---- solved -----------------------------------------------------------------------------------------------------

    def start(self) -> Recorded:
        """The motion with which the search begins: an upright person gliding ahead."""
        return upright(self.robot, self.steps * self.step, self.duration)

    def solve(self, **options: Any) -> plan.Planned:
        """Solve the plan from :meth:`start`; ``options`` of ``plan.Plan.solve``, as guess, progress or seconds.

        Where that leads nowhere, the motion is looked for that violates limits least (``plan.Plan.conflicts``): if it
        is within all of them, the solve begins again with it, in other ways; else it is returned, and its notes name
        the families of limits that contradict each other. ``seconds`` bound all of these together.
        """
        given = {**SOLVE, **options}
        given.setdefault("guess", self.start())
        given.setdefault("proximal", 0.0)
        asked, progress = given.pop("options", None) or {}, given.pop("progress", None)
        barriers = BARRIERS if given.get("solver", "auto") in ("auto", "ipopt") else ({},)
        found: list[plan.Planned] = []
        with reporting(progress, f"walk of {self.speed:g} m/s") as report:
            for number, barrier in enumerate(barriers):
                stuck = Stuck(report)
                told = stuck if number == 0 else report
                found.append(self.statement.solve(options={**barrier, **asked}, progress=told, **given))
                ended = found[-1].status in (*SOLVED, "limit", "interrupted") and not stuck.stopped
                if ended or not _left(given, found[-1]):
                    break
                if number == 0:
                    near = self.statement.conflicts(
                        given["guess"], iterations=LOOKING, seconds=given.get("seconds"), progress=report,
                        options={**RELAXING, **asked} if barrier else None,
                    )  # fmt: skip
                    clear = near.found or max(near.families.values(), default=0.0) > CLEARLY
                    if (near.families and clear) or near.nearest.status == "interrupted":
                        return with_costs(near.nearest, [*found, near.nearest])
                    if not _left(given, near.nearest):
                        break
                    given["guess"] = near.nearest if not near.families else given["guess"]
        best = min(found, key=lambda each: (each.status not in SOLVED, each.worst_violation))
        return with_costs(best, found)


def _left(given: dict[str, Any], spent: plan.Planned) -> bool:
    """Whether time is left after a solve, where it is bounded; the rest of it becomes the bound of the next."""
    if given.get("seconds") is None:
        return True
    given["seconds"] -= spent.seconds
    return bool(given["seconds"] > 0.0)
