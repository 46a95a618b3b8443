"""Random tasks for planners: seeded starts, goals and payloads for UR5 and Panda; plans checked by somebody else.

    python benchmarks/planning_tasks.py [--robots UR5 Panda] [--count 50] [--json tasks.json]

A task is a motion of least time between two positions at rest, drawn evenly within 98 % of the joints' ranges, with a
ball of 0 to 5 kg (UR5) or 0 to 3 kg (Panda, over its hand with closed fingers) at the flange; positions where holding
still alone takes more than 90 % of a joint's effort are drawn again. Limits are those of the URDF: position, velocity,
effort. Bodies may pass through each other.

A plan is checked apart from the planner: its curve is sampled at twenty times 200 points, and finer still where every
limit is closest to being broken; its velocities and accelerations are compared with differences of
its positions; torques are Pinocchio's, of its own reading of the URDF with the ball appended. *Falsely valid* is a
plan that the planner calls valid and this check does not.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib.metadata
import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import neuler
from neuler import Limits, Robot

RANGE = 0.98
"""Of a joint's positions, tasks use the middle part."""
HOLDING = 0.9
"""Of a joint's effort that holding still may take."""
RADIUS = 0.05
"""Of the ball, m; it touches the flange."""
CONTROLS = 20
FINER = 20
TOLERANCE = 1e-6
"""Times 1 + |bound|."""


@dataclass(frozen=True)
class Machine:
    """What tasks need to know of a robot: its URDF in example-robot-data, its flange and what it may carry there."""

    urdf: str
    flange: str
    payload: float
    locked: tuple[str, ...] = ()


MACHINES = {
    "UR5": Machine("ur_description/urdf/ur5_robot.urdf", "tool0", 5.0),
    "Panda": Machine(
        "panda_description/urdf/panda.urdf", "panda_link8", 3.0, ("panda_finger_joint1", "panda_finger_joint2")
    ),
}


@dataclass(frozen=True, eq=False)
class Task:
    """Move a robot from rest at ``start`` to rest at ``goal`` (rad) with ``payload`` (kg) at its flange."""

    robot: str
    seed: int
    start: np.ndarray
    goal: np.ndarray
    payload: float


@dataclass(frozen=True)
class Outcome:
    """A plan's figures, and what the check says of it."""

    seed: int
    valid: bool
    optimal: bool
    right: bool
    """By the check."""
    excess: float
    """The largest violation over what is allowed: right means at most 1."""
    worst: str
    """Where: a limit, a joint and a time."""
    duration: float
    seconds: float
    """From the statement to the answer, compiling included."""
    again: float
    """Seconds of the same problem solved once more, everything compiled."""
    function_seconds: float
    effort: float
    """The largest torque over its limit."""
    iterations: int
    message: str

    @property
    def falsely_valid(self) -> bool:
        return self.valid and not self.right


# ---- tasks -------------------------------------------------------------------------------


def urdf(name: str) -> Path:
    """The file of a machine."""
    package = importlib.metadata.distribution("example-robot-data")
    return Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots"))) / MACHINES[name].urdf


@functools.cache
def bare(name: str) -> Robot:
    """The arm without a payload; joints that tasks do not move are fixed at zero."""
    robot = neuler.load(urdf(name), mimic="independent", floating="fixed")
    locked = MACHINES[name].locked
    joints = [
        dataclasses.replace(joint, kind="fixed", role="", limits=Limits()) if joint.name in locked else joint
        for joint in robot.joints
    ]
    return robot.replace(joints=joints)


def ball(mass: float) -> dict[str, Any]:
    """A solid ball that touches the flange: mass, centre of mass and inertia about it."""
    return {"mass": mass, "com": (0.0, 0.0, RADIUS), "inertia": (0.4 * mass * RADIUS**2,) * 3}


def loaded(task: Task) -> Robot:
    """The robot of a task with its payload."""
    return bare(task.robot).with_payload(MACHINES[task.robot].flange, **ball(task.payload))


def task(robot: str, seed: int) -> Task:
    """Task ``seed`` of a robot.

    >>> task("UR5", 3).start.shape, task("UR5", 3).payload == task("UR5", 3).payload
    ((6,), True)
    """
    rng = np.random.default_rng([sorted(MACHINES).index(robot), seed])
    found = Task(robot, seed, np.empty(0), np.empty(0), rng.uniform(0.0, MACHINES[robot].payload))
    machine = loaded(found)
    lower, upper, _, effort = limits(machine)
    middle, half = (upper + lower) / 2, RANGE * (upper - lower) / 2
    ends = []
    while len(ends) < 2:
        q = rng.uniform(middle - half, middle + half)
        if np.all(np.abs(machine.gravity_force(q)) <= HOLDING * effort):
            ends.append(q)
    return dataclasses.replace(found, start=ends[0], goal=ends[1])


def limits(robot: Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Lowest and highest positions, velocities and efforts, one entry a joint."""
    rows = [(x.lower, x.upper, x.velocity, x.effort) for x in robot.coordinate_limits]
    return tuple(np.array(rows).T)  # type: ignore[return-value]


# ---- the check ---------------------------------------------------------------------------


class Referee:
    """Pinocchio's torques of a task and what of a curve q(t) is outside limits."""

    def __init__(self, task: Task) -> None:
        import pinocchio

        whole = pinocchio.buildModelFromUrdf(str(urdf(task.robot)))
        machine = MACHINES[task.robot]
        locked = [whole.getJointId(name) for name in machine.locked]
        model = pinocchio.buildReducedModel(whole, locked, pinocchio.neutral(whole))
        frame = model.frames[model.getFrameId(machine.flange)]
        load = ball(task.payload)
        inertia = pinocchio.Inertia(load["mass"], np.array(load["com"]), np.diag(load["inertia"]))
        model.appendBodyToJoint(frame.parentJoint, inertia, frame.placement)
        self.task, self.model, self.data = task, model, model.createData()
        self._rnea = functools.partial(pinocchio.rnea, self.model, self.data)

    def torques(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Of motors, N m: the URDF's viscous friction is theirs to overcome."""
        tau = np.array([self._rnea(*state) for state in zip(q, qd, qdd, strict=True)])
        return tau + self.model.damping * qd

    def margins(self, at: Callable[[np.ndarray], Any], t: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """How far outside (above 0) every limit is, over TOLERANCE (1 + |bound|): (points, rows); and rows' names."""
        motion, model = at(t), self.model
        tau = self.torques(motion.q, motion.qd, motion.qdd)
        values, names = [], []
        for name, value, low, high in (
            ("position", motion.q, model.lowerPositionLimit, model.upperPositionLimit),
            ("velocity", motion.qd, -model.velocityLimit, model.velocityLimit),
            ("torque", tau, -model.effortLimit, model.effortLimit),
        ):
            for bound, outside in ((low, low - value), (high, value - high)):
                values.append(outside / (TOLERANCE * (1.0 + np.abs(bound))))
                names += [f"{name} of joint {k + 1}" for k in range(value.shape[1])]
        return np.concatenate(values, axis=1), names

    def worst(self, at: Callable[[np.ndarray], Any], duration: float, points: int) -> tuple[float, str]:
        """The largest of all margins and where, ends and derivatives among them; at most 1 is right."""
        t = np.linspace(0.0, duration, points)
        margins, names = self.margins(at, t)
        # the highest samples of every row again, finer, between their neighbours
        peaks = np.unique(np.argmax(margins, axis=0))
        step = t[1] - t[0]
        near = np.unique(np.clip(t[peaks][:, None] + np.linspace(-step, step, 41), 0.0, duration))
        closer, _ = self.margins(at, near)
        margins, t = np.concatenate([margins, closer]), np.concatenate([t, near])
        k, row = np.unravel_index(np.argmax(margins), margins.shape)
        found = [(float(margins[k, row]), f"{names[row]} at {t[k]:.4f} s")]
        found += self._ends(at, duration)
        found += self._derivatives(at, duration)
        return max(found, key=lambda one: np.inf if np.isnan(one[0]) else one[0])

    def _ends(self, at: Callable[[np.ndarray], Any], duration: float) -> Iterable[tuple[float, str]]:
        ends = at(np.array([0.0, duration]))
        for name, k, q in (("start", 0, self.task.start), ("goal", -1, self.task.goal)):
            yield float(np.max(np.abs(ends.q[k] - q) / (TOLERANCE * (1 + np.abs(q))))), f"position at the {name}"
            yield float(np.max(np.abs(ends.qd[k])) / TOLERANCE), f"velocity at the {name}"

    def _derivatives(self, at: Callable[[np.ndarray], Any], duration: float) -> Iterable[tuple[float, str]]:
        """Velocities and accelerations are those of the positions, by central differences, to 1e-4 of the largest."""
        step = 1e-6 * duration
        t = np.random.default_rng(0).uniform(step, duration - step, 200)
        before, here, after = at(t - step), at(t), at(t + step)
        for name, value, ends in (
            ("velocity", here.qd, (before.q, after.q)),
            ("acceleration", here.qdd, (before.qd, after.qd)),
        ):
            error = np.abs((ends[1] - ends[0]) / (2 * step) - value)
            yield float(error.max() / (1e-4 * (1.0 + np.abs(value).max()))), f"{name} beside differences"


# ---- runs --------------------------------------------------------------------------------


def run(task: Task, **options: Any) -> Outcome:
    """Plan a task and check the plan; ``options`` are those of ``Plan.solve``."""
    from neuler import plan

    robot = bare(task.robot)
    load = plan.Payload(MACHINES[task.robot].flange, **ball(task.payload))
    begin = time.perf_counter()
    problem = plan.Plan(robot, plan.duration(), start=task.start, goal=task.goal, payload=load, control_points=CONTROLS)
    found = problem.solve(**options)
    seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    found = problem.solve(**options)
    again = time.perf_counter() - begin
    t = np.linspace(0.0, found.duration, 1001)
    excess, worst = Referee(task).worst(found.at, found.duration, FINER * 10 * CONTROLS + 1)
    return Outcome(
        seed=task.seed,
        valid=bool(found.valid),
        optimal=bool(found.optimal),
        right=bool(excess <= 1.0),
        excess=excess,
        worst=worst,
        duration=float(found.duration),
        seconds=seconds,
        again=again,
        function_seconds=float(found.function_seconds),
        effort=float(np.max(np.abs(found.torques(t)) / limits(robot)[3])),
        iterations=int(found.iterations),
        message=str(found.message),
    )


def run_all(robot: str, count: int, first: int = 0, **options: Any) -> list[Outcome]:
    """Tasks first .. first + count - 1 of a robot, with a bar on the screen."""
    from tqdm import tqdm

    outcomes: list[Outcome] = []
    with tqdm(range(first, first + count), desc=robot, unit="task", disable=not sys.stderr.isatty()) as bar:
        for seed in bar:
            outcomes.append(run(task(robot, seed), **options))
            bar.set_postfix(valid=sum(x.valid for x in outcomes), false=sum(x.falsely_valid for x in outcomes))
    return outcomes


def spread(values: Iterable[float]) -> str:
    """Median, nine of ten, and the largest."""
    return " / ".join(f"{x:.2f}" for x in np.quantile(np.fromiter(values, float), (0.5, 0.9, 1.0)))


def report(robots: Iterable[str] = tuple(MACHINES), count: int = 50, **options: Any) -> list[str]:
    """The table."""
    return table({name: run_all(name, count, **options) for name in robots})


def table(found: dict[str, list[Outcome]]) -> list[str]:
    """A row a robot."""
    lines = [
        "## Random tasks: start, goal, payload",
        "",
        "Least time between two positions at rest under the URDF's limits (benchmarks/planning_tasks.py has the",
        f"generator), {CONTROLS} control points; checked apart from the planner with Pinocchio's torques. Seconds are",
        "from the statement to the answer, compiling included (payloads are inputs: the first task compiles), and of",
        "the same problem solved once more. Three figures are the median, nine of ten, and the largest. The last one",
        "counts tasks where a torque reaches its limit; elsewhere velocities alone decide.",
        "",
        "| robot | tasks | valid | falsely valid | right | optimal | seconds | once more | iterations "
        "| duration of the motion, s | at a torque's limit |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, outcomes in found.items():
        n = len(outcomes)
        lines.append(
            f"| {name} | {n} | {sum(x.valid for x in outcomes) / n:.0%} | {sum(x.falsely_valid for x in outcomes)} "
            f"| {sum(x.right for x in outcomes) / n:.0%} | {sum(x.optimal for x in outcomes) / n:.0%} "
            f"| {spread(x.seconds for x in outcomes)} | {spread(x.again for x in outcomes)} "
            f"| {spread(x.iterations for x in outcomes)} | {spread(x.duration for x in outcomes)} "
            f"| {sum(x.effort > 0.999 for x in outcomes)} |"
        )
    return [*lines, ""]


def main() -> None:
    """Run, print the table and whatever went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", choices=tuple(MACHINES), default=list(MACHINES))
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--json", type=Path, help="every outcome, to a file")
    a = parser.parse_args()
    found = {name: run_all(name, a.count, a.first) for name in a.robots}
    print("\n".join(table(found)))
    for name, outcomes in found.items():
        for x in outcomes:
            if not (x.valid and x.right):
                word = "falsely valid" if x.falsely_valid else "not valid" if not x.right else "right, not called valid"
                print(f"{name} {x.seed}: {word}; {x.worst}, {x.excess:.3g} times what is allowed; {x.message}")
    if a.json:
        a.json.write_text(json.dumps({k: [dataclasses.asdict(x) for x in v] for k, v in found.items()}, indent=1))


if __name__ == "__main__":
    main()
