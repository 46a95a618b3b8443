"""Problem files of plans: [robot], [plan], [objective], [start], [goal], [[limit]], [[via]], [[phase]], [output].

Obstacles are tables [[obstacle]]; balls on frames of the robot, which keep clear of them, are [[ball]], and [clearance]
has the margin. What it carries is [[payload]]; profiles that repeat or mirror each other are [[relation]].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError, NeulerError
from neuler.files.problem_robots import read_robot
from neuler.files.problem_values import numbers_of, rotation_of
from neuler.files.problems import Problem, Section
from neuler.files.series import KINDS
from neuler.files.tasks import Output, Progress
from neuler.moments.clearance import Ball, Box, Capsule, HalfSpace, Obstacle, Sphere
from neuler.moments.measures import MEASURES, Measure, frame_position
from neuler.moments.moving_robot import Payload
from neuler.optimize.dense import TOLERANCE
from neuler.optimize.solvers.choice import SOLVERS
from neuler.plan.conditions import Boundary, Via
from neuler.plan.limits import Limit, clear_of, limit, within
from neuler.plan.objectives import OBJECTIVES, Objective
from neuler.plan.options import ITERATIONS, MOST_GUESSES
from neuler.plan.phases import Phase
from neuler.plan.plan import FRICTION, Plan
from neuler.plan.planned import Planned
from neuler.plan.relations import Relation
from neuler.plan.starts import MOST_STARTS
from neuler.robot import Robot

Array = NDArray[np.float64]
TABLES = ("csv", "npz", "json")
"""That are written unless others are asked for."""
OBSTACLES = ("sphere", "capsule", "box", "half_space")
PLACES = "frame_position"
"""The measure of limits that needs a frame."""


@dataclass(frozen=True)
class PlanTask:
    """A plan as a problem file asks for it: a :class:`neuler.files.tasks.Task`."""

    title: str
    robot: Robot
    plan: Plan
    options: dict[str, Any]
    """Arguments of its solve."""
    output: Output
    notes: list[str] = field(default_factory=list)

    def run(self, progress: Progress = None) -> Planned:
        """Solve it; a function ``progress`` is called with the state of the solver after each iteration."""
        return self.plan.solve(progress=progress, **self.options)


def read_plan(problem: Problem, robot: Robot | None = None) -> PlanTask:
    """Return the task of a problem file, read and checked; ``robot`` replaces the table [robot].

    >>> problem = Problem.of_text('''
    ... [robot]
    ... name = "two_link"
    ... [objective]
    ... duration = 1.0
    ... [start]
    ... q = [0.0, -2.0]
    ... [goal]
    ... q = [1.0, -1.0]
    ... [plan]
    ... control_points = 8
    ... ''')
    >>> read_plan(problem).run().valid
    True
    """
    root = problem.root
    if robot is None:
        robot = read_robot(root.section("robot"))
    title = root.text("title", f"{robot.name}: plan")
    section = root.section("plan")
    about, options = _plan_options(section), _solve_options(section)
    about |= {"start": _boundary(root.section("start"), robot), "goal": _boundary(root.section("goal"), robot)}
    about |= {"limits": (*_limits(root, robot), *_clearances(root, robot)), "via": _vias(root, robot)}
    about |= {"payload": _payloads(root, robot), "relations": _relations(root)}
    about["phases"] = [_phase(part, robot) for part in root.sections("phase")] or None
    goal = _objective(root.section("objective"))
    output = Output.read(root, TABLES, (*KINDS, "json"))
    problem.done()
    try:
        plan = Plan(robot, goal, **about)
    except NeulerError as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{problem.label}: {error}") from None
    return PlanTask(title, robot, plan, options, output, problem.notes)


def _told(section: Section, make: Callable[[], Any]) -> Any:
    """What is made of a table; a refusal names the table."""
    try:
        return make()
    except NeulerError as error:
        if isinstance(error, FormatError):
            raise
        raise section.refusal(str(error)) from None


# ---- the plan and its solve ----------------------------------------------------------------------


def _plan_options(section: Section) -> dict[str, Any]:
    found: dict[str, Any] = {
        "control_points": section.whole("control_points", None, least=2),
        "degree": section.whole("degree", None, least=1),
        "duration": _duration(section),
        "robot_limits": section.flag("robot_limits", True),
        "grid": section.whole("grid", None, least=2),
        "friction_width": section.number("friction_width", FRICTION, above=0.0),
    }
    knots = section.raw("knots", "uniform")
    if isinstance(knots, list):
        found["knots"] = section.vector("knots", len(knots))
    else:
        found["knots"] = section.text("knots", "uniform", among=("uniform",))
    return found


def _duration(section: Section) -> Any:
    """A number, two bounds, or none where it is free."""
    value = section.raw("duration", None)
    if isinstance(value, list):
        low, high = section.vector("duration", 2)
        return float(low), float(high)
    return section.number("duration", None, above=0.0)


def _solve_options(section: Section) -> dict[str, Any]:
    found: dict[str, Any] = {
        "solver": section.text("solver", "auto", among=("auto", *SOLVERS)),
        "tolerance": section.number("tolerance", 1e-8, above=0.0),
        "valid_to": section.number("valid_to", TOLERANCE, above=0.0),
        "iterations": section.whole("iterations", ITERATIONS, least=1, most=2**31 - 1),
        "refine": section.flag("refine", True),
        "polish": section.flag("polish", True),
        "switches": section.flag("switches", True),
        "guesses": section.whole("guesses", None, least=1, most=MOST_GUESSES),
        "seed": section.whole("seed", None),
    }
    starts = section.whole("starts", 1, least=1, most=MOST_STARTS)
    if starts > 1:
        found["starts"] = starts
    seconds = section.number("seconds", None, above=0.0)
    if seconds is not None:
        found["seconds"] = seconds
    mesh = section.raw("mesh", None)
    if mesh is not None:
        sizes = section.vector("mesh", len(mesh) if isinstance(mesh, list) else 1)
        if not len(sizes) or np.any(sizes != np.round(sizes)) or np.any(sizes < 2) or np.any(np.diff(sizes) <= 0):
            raise section.error("mesh", f"expected whole numbers of control points that grow, got {mesh}")
        found["mesh"] = tuple(int(x) for x in sizes)
    return found


def _objective(section: Section) -> Objective:
    if not section.table:
        return OBJECTIVES["duration"]()
    found: Objective | None = None
    for name, make in OBJECTIVES.items():
        weight = section.number(name, None, least=0.0)
        if weight is not None:
            term = weight * make()
            found = term if found is None else found + term
    if found is None:
        section.done()  # names what is unknown
        raise section.refusal(f"expected a weight of {', '.join(OBJECTIVES)}")
    return found


# ---- conditions ----------------------------------------------------------------------------------


def _boundary(section: Section, robot: Robot) -> Boundary | None:
    """q (a list, some by name: the others are free, or a position's name), qd (rest by default), qdd, [[pose]],
    [[velocity]].
    """
    if not section.table:
        return None
    named = bool(robot.named_positions) and isinstance(section.raw("q", None), str)
    q = section.text("q", among=tuple(robot.named_positions)) if named else numbers_of(section, "q", one=False)
    qdd = numbers_of(section, "qdd")
    qd = section.raw("qd", 0.0)
    if qd == "free":
        qd = None
    elif "qd" in section:
        qd = numbers_of(section, "qd")
    return Boundary(q, qd, qdd, _poses(section, robot), _velocities(section, robot))


def _poses(section: Section, robot: Robot) -> dict[str, Any]:
    """[[pose]]: frame, position; how it is turned by rpy (rad), quaternion (x, y, z, w) or rotation (3 rows)."""
    found: dict[str, Any] = {}
    for part in section.sections("pose"):
        frame = part.text("frame", among=robot.frame_names)
        if frame in found:
            raise part.error("frame", f"there is another pose of {frame!r}")
        position = part.vector("position", 3)
        turn = rotation_of(part)
        if turn is None:
            found[frame] = position
        else:
            found[frame] = np.eye(4)
            found[frame][:3, :3], found[frame][:3, 3] = turn, position
    return found


def _velocities(section: Section, robot: Robot) -> dict[str, Any]:
    """[[velocity]]: frame, linear (m/s) and angular (rad/s) in the axes of the base frame."""
    found: dict[str, Any] = {}
    for part in section.sections("velocity"):
        linear, angular = part.vector("linear", 3), part.vector("angular", 3, None)
        found[part.text("frame", among=robot.frame_names)] = linear if angular is None else [*linear, *angular]
    return found


def _vias(section: Section, robot: Robot) -> list[Via]:
    """[[via]]: at (a share, none where the time is free), q, qd, [[via.pose]]."""
    return [_via(part, robot) for part in section.sections("via")]


def _via(part: Section, robot: Robot) -> Via:
    at = part.number("at", None, above=0.0)
    q, qd = numbers_of(part, "q", one=False), numbers_of(part, "qd")
    frames = _poses(part, robot), _velocities(part, robot)
    via: Via = _told(part, lambda: Via(at, q, qd, *frames))
    return via


def _phase(part: Section, robot: Robot) -> Phase:
    """[[phase]]: name, duration, control_points, continuity, [phase.end], [[phase.limit]], [[phase.via]]; and, in the
    place of the plan's, [[phase.payload]] and [phase.objective]."""
    aim = part.section("objective")
    return Phase(
        duration=_duration(part),
        control_points=part.whole("control_points", None, least=2),
        limits=tuple(_limits(part, robot)),
        end=_boundary(part.section("end"), robot),
        via=tuple(_vias(part, robot)),
        name=part.text("name", ""),
        continuity=part.whole("continuity", None),
        payload=_payloads(part, robot) if "payload" in part else None,
        objective=_objective(aim) if aim.table else None,
    )


# ---- limits --------------------------------------------------------------------------------------


def _limits(section: Section, robot: Robot) -> list[Limit]:
    """[[limit]]: measure, lower and upper or bound (none of them: the robot's own), joints, when (two shares), lazy;
    frame of frame_position.
    """
    return [_limit(part, robot) for part in section.sections("limit")]


def _limit(part: Section, robot: Robot) -> Limit:
    name = part.text("measure", among=(*MEASURES, PLACES))
    what: Measure = frame_position(part.text("frame", among=robot.frame_names)) if name == PLACES else MEASURES[name]
    options: dict[str, Any] = {"joints": part.names("joints", None), "lazy": part.flag("lazy")}
    when = part.vector("when", 2, None)
    if when is not None:
        options["when"] = (float(when[0]), float(when[1]))
    lower, upper, bound = (_side(part, key) for key in ("lower", "upper", "bound"))
    if bound is not None and (lower is not None or upper is not None):
        raise part.error("bound", "stands for both sides; leave out 'lower' and 'upper'")
    if bound is not None or (lower is None and upper is None):
        return _told(part, lambda: within(what, bound, **options))
    return _told(part, lambda: limit(what, lower, upper, **options))


def _side(part: Section, key: str) -> Any:
    """Numbers; infinite ones in a list, as TOML writes them (inf), are no limit."""
    value = part.raw(key, None)
    if isinstance(value, list):
        if not all(isinstance(x, int | float) and not isinstance(x, bool) and not math.isnan(x) for x in value):
            raise part.error(key, "expected a list of numbers, inf where there is no limit")
        return np.array(value, dtype=float)
    return numbers_of(part, key)


def _clearances(root: Section, robot: Robot) -> list[Limit]:
    """[[obstacle]] and [[ball]], and [clearance]: the distance to keep (margin, m), own (pairs of frames, or "all")."""
    obstacles = [_obstacle(part) for part in root.sections("obstacle")]
    balls = [_ball(part, robot) for part in root.sections("ball")]
    section = root.section("clearance")
    margin = section.number("margin", 0.0)
    own: Any = section.raw("own", [])
    if obstacles and not balls:
        raise root.refusal("expected tables [[ball]], spheres on frames of the robot, beside [[obstacle]]")
    if not balls:
        return []
    return [_told(section, lambda: clear_of(balls, obstacles, margin, own))]


def _obstacle(part: Section) -> Obstacle:
    kind, name = part.text("kind", among=OBSTACLES), part.text("name", "")
    if kind == "half_space":
        point, normal = part.vector("point", 3), part.vector("normal", 3)
        return _told(part, lambda: HalfSpace(tuple(point), tuple(normal), name))
    if kind == "box":
        middle, size, turn = part.vector("center", 3), part.vector("size", 3), rotation_of(part)
        return _told(part, lambda: Box(tuple(middle), tuple(size), turn, name))
    radius = part.number("radius", above=0.0)
    if kind == "sphere":
        center = part.vector("center", 3)
        return _told(part, lambda: Sphere(tuple(center), radius, name))
    a, b = part.vector("a", 3), part.vector("b", 3)
    return _told(part, lambda: Capsule(tuple(a), tuple(b), radius, name))


def _ball(part: Section, robot: Robot) -> Ball:
    frame, radius = part.text("frame", among=robot.frame_names), part.number("radius", above=0.0)
    center, name = part.vector("center", 3, np.zeros(3)), part.text("name", "")
    return _told(part, lambda: Ball(frame, radius, tuple(center), name))


# ---- the rest ------------------------------------------------------------------------------------


def _payloads(root: Section, robot: Robot) -> list[Payload]:
    """[[payload]]: frame, mass, com, inertia about it; what is carried, in the frame's axes."""
    found = []
    for part in root.sections("payload"):
        frame, mass = part.text("frame", among=robot.frame_names), part.number("mass", least=0.0)
        com, inertia = (tuple(part.vector(key, 3, np.zeros(3)).tolist()) for key in ("com", "inertia"))
        found.append(Payload(frame, mass, com, inertia))
    return found


def _relations(root: Section) -> list[Relation]:
    """[[relation]]: the joint ``end`` ends as ``sign`` times the joint ``start`` began, ``shift`` further on."""
    return [
        Relation(part.text("end"), part.text("start"), part.number("sign", 1.0), part.whole("order", None),
                 part.number("shift", 0.0))
        for part in root.sections("relation")
    ]  # fmt: skip
