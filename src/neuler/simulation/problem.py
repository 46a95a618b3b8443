"""Problem files of simulations: the tables [robot], [controller], [reference], [simulate], [[load]] and [output]."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler import control
from neuler import math as nm
from neuler.control import CONTROLLERS, Reference
from neuler.errors import FormatError, NeulerError
from neuler.files.cells import numbers_below
from neuler.files.problem_robots import changed, read_robots
from neuler.files.problem_values import matrix_of
from neuler.files.problems import Problem, Section
from neuler.files.series import KINDS
from neuler.files.tasks import Output, Progress
from neuler.naming import hint
from neuler.progress import progress_bar
from neuler.robot import Robot
from neuler.robot.coordinates import Selection
from neuler.rollouts.efforts import EFFORTS
from neuler.rollouts.kernel import METHODS
from neuler.rollouts.rollout import LIMITS
from neuler.simulation.adaptive import METHODS as ADAPTIVE
from neuler.simulation.run import Run
from neuler.simulation.simulator import simulate

Array = NDArray[np.float64]

MOST_ROWS = 1_000_000
"""Random starts of one simulation."""


@dataclass(frozen=True)
class SimulationTask:
    """A simulation as a problem file asks for it: a :class:`neuler.files.tasks.Task`."""

    title: str
    robot: Robot
    controller: Any
    """A controller of :mod:`neuler.control`, forces (nu,) that are held, or None."""
    x0: tuple[Array, Array]
    """Positions (..., nq) and velocities (..., nv) to start from."""
    duration: float
    """How long it is simulated (s)."""
    options: dict[str, Any]
    """Other arguments of ``neuler.simulate``."""
    output: Output
    notes: list[str] = field(default_factory=list)

    def run(self, progress: Progress = None) -> Run:
        """Simulate it; a function ``progress`` is called with the seconds of each part that was simulated."""
        if callable(progress) or not progress:
            return self._run(progress or None)
        with progress_bar(round(self.duration, 6), self.title, "s") as step:
            return self._run(step)

    def _run(self, step: Callable[[float], Any] | None) -> Run:
        return simulate(self.robot, self.controller, self.x0, self.duration, progress=step, **self.options)


def read_simulation(problem: Problem, robot: Robot | None = None) -> SimulationTask:
    """What a problem file asks for, with everything looked at; ``robot`` stands for the table [robot].

    >>> problem = Problem.of_text('''
    ... [robot]
    ... name = "two_link"
    ... [controller]
    ... kind = "computed_torque"
    ... kp = 100.0
    ... [reference]
    ... kind = "sines"
    ... amplitude = 0.5
    ... frequency = 0.25
    ... [simulate]
    ... duration = 1.0
    ... ''')
    >>> read_simulation(problem).run().q.shape
    (1001, 2)
    """
    root = problem.root
    robot, model = read_robots(root.section("robot")) if robot is None else (robot, robot)
    title = root.text("title", f"{robot.name}: simulation")
    law = _controller(root, model)
    section = root.section("simulate")
    x0 = _start(section, robot)
    duration, options = _options(section)
    external, loads = _wrenches(root, robot)
    options |= {"external": external, "loads": loads}
    output = Output.read(root, ("csv",), KINDS)
    problem.done()
    return SimulationTask(title, robot, law, x0, duration, options, output, problem.notes)


# ---- the controller ------------------------------------------------------------------------------


def _controller(root: Section, model: Robot) -> Any:
    section = root.section("controller")
    if not section.table:
        if root.section("reference").table:
            raise root.error("reference", "a reference is followed by a controller, and there is no table [controller]")
        return None
    if "tau" in section:
        names = model.coordinates.names("tau")
        return section.each("tau", names, 0.0)
    kind = CONTROLLERS[section.text("kind", among=tuple(CONTROLLERS))]
    if "model" in section:
        model = changed(section.section("model"), model)
    takes = inspect.signature(kind).parameters
    options: dict[str, Any] = {}
    for name, parameter in takes.items():
        if name in ("robot", "reference"):
            continue
        if name in section:
            options[name] = _gain(section, name, model)
        elif parameter.default is parameter.empty:
            raise section.refusal(f"{kind.name} needs a key {name!r}")
    try:
        if "reference" in takes:
            options["reference"] = _reference(root, kind.coordinates_of(model))
        return kind(model, **options)
    except NeulerError as error:
        if isinstance(error, FormatError):
            raise
        raise section.refusal(str(error)) from None


def _gain(section: Section, key: str, model: Robot) -> Any:
    """A number, numbers, a table by joint, or names: whatever a controller takes."""
    value = section.raw(key)
    if isinstance(value, dict):
        if key == "q":
            return section.each(key, model.coordinates.names("q"), model.neutral())
        return section.each(key, _gained(key, model))
    if isinstance(value, str) or (isinstance(value, list) and value and isinstance(value[0], str)):
        return section.names(key)
    if isinstance(value, list):
        if value and isinstance(value[0], list):
            return matrix_of(section, key)
        return section.vector(key, len(value))
    return section.number(key)


def _gained(key: str, robot: Robot) -> list[str]:
    """What gains are of: all velocities; with springs in drives those of the joints, or of the motors behind them."""
    motors = [entry.name for entry in robot.coordinates if entry.elastic]
    if key.endswith("_motor"):
        return motors
    return [name for name in robot.coordinates.names("qd") if name not in motors]


def _own(coordinates: Selection) -> tuple[list[str], Array]:
    """Names of positions, and the neutral ones."""
    robot, places = coordinates.robot, coordinates.places
    names = robot.coordinates.names("q")
    return [names[k] for k in places], robot.neutral()[places]


# ---- the reference -------------------------------------------------------------------------------


def _reference(root: Section, coordinates: Selection) -> Any:
    section = root.section("reference")
    names, neutral = _own(coordinates)
    if not section.table:
        return neutral
    form = section.text("kind", "constant", among=("constant", "sines", "quintic", "table"))
    try:
        if form == "constant":
            return section.each("q", names, neutral)
        if form == "sines":
            size, turns = section.each("amplitude", names, 0.0), section.each("frequency", names, 1.0)
            return control.sines(size, turns, section.each("phase", names, 0.0), section.each("offset", names, neutral))
        if form == "quintic":
            start, end = (section.each(key, names, neutral, alike=False) for key in ("start", "end"))
            return control.quintic(start, end, section.number("duration", above=0.0), section.number("begin", 0.0))
        return _table(section, names)
    except NeulerError as error:
        if isinstance(error, FormatError):
            raise
        raise section.refusal(str(error)) from None


def _table(section: Section, names: list[str]) -> Reference:
    """Points in the file itself, t and q, or in a CSV file with the columns t, q_<joint>."""
    degree = section.whole("degree", 5, least=1)
    if "file" in section:
        times, points = _read_points(section, names)
    else:
        value = section.raw("t")
        times = section.vector("t", len(value) if isinstance(value, list) else 2)
        points = matrix_of(section, "q")
        if points.shape != (len(times), len(names)):
            raise section.error("q", f"expected {len(times)} rows of {len(names)} numbers, got {points.shape}")
    return control.table(times, points, degree)


def _read_points(section: Section, names: list[str]) -> tuple[Array, Array]:
    wanted = ["t", *(f"q_{name}" for name in names)]
    try:
        header, rows = numbers_below(section.path("file"), wanted)
    except FormatError as error:
        raise section.error("file", str(error)) from None
    for name in wanted:
        if name not in header:
            raise section.error("file", f"has no column {name!r}; {hint(name, header)}")
    found = rows[:, [header.index(name) for name in wanted]]
    return found[:, 0], found[:, 1:]


# ---- start, times, wrenches ----------------------------------------------------------------------


def _start(section: Section, robot: Robot) -> tuple[Array, Array]:
    q, qd = _position(section, robot), section.each("qd0", robot.coordinates.names("qd"), 0.0)
    random = section.section("random")
    if random.table:
        rows, rng = random.whole("rows", least=1, most=MOST_ROWS), np.random.default_rng(random.whole("seed", 0))
        ways = random.number("q", 0.0, least=0.0) * rng.normal(size=(rows, robot.nv))
        qd = qd + random.number("qd", 0.0, least=0.0) * rng.normal(size=(rows, robot.nv))
        q = np.asarray(robot.integrate(q, ways, 1.0))
    return q, qd


def _position(section: Section, robot: Robot) -> Array:
    """q0: all positions, or the name of one; of a robot with loops also those of its own alone, in a table: the others
    are found.
    """
    names = robot.coordinates.names("q")
    value = section.raw("q0", None)
    if isinstance(value, str) and robot.named_positions:
        try:
            return robot.named_positions[value]
        except NeulerError as error:
            raise section.error("q0", str(error)) from None
    if robot.loops and isinstance(value, dict):
        own, neutral = _own(robot.coordinates.own)
        active = section.each("q0", own, neutral)
        try:
            return np.asarray(robot.assemble(active).q)
        except NeulerError as error:
            raise section.error("q0", str(error)) from None
    return section.each("q0", names, robot.neutral(), alike=False)


def _options(section: Section) -> tuple[float, dict[str, Any]]:
    found: dict[str, Any] = {
        "step": section.number("step", 1e-3, above=0.0),
        "method": section.text("method", "rk4", among=(*METHODS, *ADAPTIVE)),
        "every": section.whole("every", None, least=1),
        "limits": section.text("limits", "ignore", among=LIMITS),
        "effort": section.text("effort", "ignore", among=EFFORTS),
        "rtol": section.number("rtol", 1e-9, above=0.0),
        "atol": section.number("atol", 1e-10, above=0.0),
        "audit": section.flag("audit", True),
    }
    return section.number("duration", above=0.0), found


def _wrenches(root: Section, robot: Robot) -> tuple[dict[str, Any], dict[str, Any]]:
    """[[load]]: frame, force, moment, axes ("base", "frame"), begin and end (s)."""
    found: dict[str, dict[str, Any]] = {"frame": {}, "base": {}}
    for part in root.sections("load"):
        frame = part.text("frame", among=robot.frame_names)
        wrench = np.concatenate([part.vector(key, 3, np.zeros(3)) for key in ("force", "moment")])
        axes = part.text("axes", "base", among=("base", "frame"))
        if frame in found[axes]:
            raise part.error("frame", f"there is another load on {frame!r}; add them up")
        begin, end = part.number("begin", None), part.number("end", None)
        found[axes][frame] = wrench if begin is None and end is None else Switched(wrench, begin, end)
    return found["frame"], found["base"]


@dataclass(frozen=True)
class Switched:
    """A wrench (6,) that acts from ``begin`` to ``end`` (s): a function (t, q, qd) of numbers or traced values."""

    wrench: Array
    begin: float | None
    """None: from the start."""
    end: float | None
    """None: to the end."""

    def __call__(self, t: Any, q: Any, qd: Any) -> Any:
        """(force; moment) at a time."""
        on: Any = 1.0
        if self.begin is not None:
            on = on * nm.where(nm.greater_equal(t, self.begin), 1.0, 0.0)
        if self.end is not None:
            on = on * nm.where(nm.less(t, self.end), 1.0, 0.0)
        return self.wrench * on
