"""Two hundred random tasks that are feasible by construction, planned with defaults, checked apart from the planner.

    python benchmarks/planning_random.py [--first 0] [--count 200] [--seeds 17 42] [--json outcomes.json]

Tasks are those of planning_arms.py (payloads, phases, via points, obstacles, poses, moving ends) and of
planning_machines.py (closed loops, a free base, springs, passive joints); the limits of each are 1.1 times what a known
motion needs. A plan is sampled at 3,001 points a phase, and finer where a limit is nearest to being violated:
positions, velocities, accelerations; torques by Pinocchio (arms, payloads appended) or the robot's inverse dynamics
(other robots); distances by NumPy; ends, via points, poses; velocities on both sides of every break; velocities and
accelerations beside differences of positions; loops closed. The tolerance is the planner's, 1e-6 (1 + |bound|), with an
allowance for sampling. *Falsely valid* is a plan that the planner calls valid and this check does not.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import neuler
from neuler import plan
from planning_arms import arm, moving, obstacles, phases, pose, via
from planning_known import Known, Task
from planning_machines import elastic, free_base, loops, passive

POINTS = 3001
"""Samples of every phase."""
TOLERANCE, ALLOWANCE = 1e-6, 1.5
SECONDS = 120.0
"""A solve may take as many."""
OPTIONS: dict[str, Any] = {}
"""Further options of every ``solve`` here."""
Array = np.ndarray
Found = tuple[float, str]
"""How far something is off, in tolerances, and what."""


@dataclass(frozen=True)
class Outcome:
    """A plan's figures, and what the check says of it."""

    seed: int
    kind: str
    robot: str
    objective: str
    valid: bool
    optimal: bool
    right: bool
    """By the check."""
    excess: float
    """The largest violation over its tolerance."""
    worst: str
    duration: float
    known: float
    """Duration of the known motion (s)."""
    cpu: float
    iterations: int
    points: int
    line: str
    """The first line that the plan prints."""
    why: str
    """The worst violation that the planner reports."""

    @property
    def falsely_valid(self) -> bool:
        """Whether the planner calls it valid, and the check does not."""
        return self.valid and not self.right


# ---- tasks ------------------------------------------------------------------------------

KINDS = (
    arm, obstacles, phases, via, pose, moving, loops, arm, obstacles, phases,
    free_base, elastic, loops, via, arm, pose, moving, obstacles, passive, arm,
)  # fmt: skip
"""What tasks are, by seed modulo its length."""


def task(seed: int) -> Task:
    """The task of a seed.

    >>> task(0).kind, task(3).kind, task(20).kind
    ('arm', 'via', 'arm')
    """
    return KINDS[seed % len(KINDS)](np.random.default_rng([2026, seed]), seed)


# ---- the check ---------------------------------------------------------------------------


def outside(value: Array, low: Any, high: Any, name: str) -> Found:
    """How far values (n, rows) are outside of bounds, in tolerances; below zero inside."""
    if not value.size:
        return -np.inf, name
    with np.errstate(invalid="ignore"):
        below = (np.asarray(low) - value) / (TOLERANCE * (1.0 + np.abs(low)))
        above = (value - np.asarray(high)) / (TOLERANCE * (1.0 + np.abs(high)))
    both = np.maximum(np.where(np.isfinite(low), below, -np.inf), np.where(np.isfinite(high), above, -np.inf))
    if np.isnan(value).any():
        return np.inf, f"{name} is not a number"
    sample, row = np.unravel_index(int(np.argmax(both)), both.shape)
    return float(both[sample, row]), f"{name} {row + 1} at sample {sample} of {len(value)}"


def path_limits(given: Task, phase: int, q: Array, qd: Array, qdd: Array) -> Iterator[Found]:
    """Everything that is bounded at all times, of samples in a phase."""
    values = {"position": q, "velocity": qd, "acceleration": qdd}
    for name, (low, high) in given.limits.items():
        if name == "torque":
            values[name] = given.referee.driven(phase, q, qd, qdd)
        yield outside(values[name][:, : len(low)], low, high, name)
    yield outside(given.referee.idle(phase, q, qd, qdd), 0.0, 0.0, "force without a motor")
    if given.scene is not None:
        yield outside(given.scene.clearances(given.referee, q), given.scene.margin, np.inf, "clearance")
    if given.robot.loops:
        gap = np.abs(np.asarray(given.robot.closure(q).open_by))
        yield outside(gap, -np.inf, 0.0, "gap of a loop")


def ends(given: Task, at: plan.Boundary, q: Array, qd: Array, qdd: Array, what: str) -> Iterator[Found]:
    """Conditions of one moment."""
    robot = given.robot
    if isinstance(at.q, Mapping):
        places = _places(given, at.q, robot.nq)
        yield _equal(q[places], np.array(list(at.q.values())), f"position {what}")
    elif at.q is not None:
        wanted = np.asarray(at.q)
        own = list(robot.mobility.choice.independent) if robot.loops else list(range(len(wanted)))
        own = own if len(own) == len(wanted) else list(range(len(wanted)))
        yield _equal(q[own], wanted, f"position {what}")
    if isinstance(at.qd, Mapping):
        places = _places(given, at.qd, robot.nv)
        yield _equal(qd[places], np.array(list(at.qd.values())), f"velocity {what}")
    elif at.qd is not None:
        wanted = np.broadcast_to(np.asarray(at.qd, dtype=float), qd.shape)
        yield _equal(qd, wanted, f"velocity {what}")
    if at.qdd is not None:
        yield _equal(qdd, np.broadcast_to(np.asarray(at.qdd, dtype=float), qdd.shape), f"acceleration {what}")
    for frame, wanted in at.poses.items():
        here = given.referee.poses(frame, q[None])[0]
        turned = np.asarray(wanted)
        yield _equal(here[:3, 3], turned if turned.shape == (3,) else turned[:3, 3], f"place of {frame} {what}")
        if turned.shape == (4, 4):
            yield _equal(here[:3, :3].ravel(), turned[:3, :3].ravel(), f"turn of {frame} {what}")


def _places(given: Task, names: Iterable[str], size: int) -> list[int]:
    """Where joints of one coordinate are among ``size`` numbers, behind a base that may have several."""
    joints = given.robot.joint_names
    return [size - len(joints) + joints.index(name) for name in names]


def _equal(value: Array, wanted: Array, name: str) -> Found:
    return outside(np.atleast_2d(value), wanted, wanted, name)


def _at(found: plan.Planned, t: Any, phase: int) -> list[Array]:
    """State at times of a phase; at its end, that of the phase itself, not of the next."""
    begin, end = found.breaks[phase], found.breaks[phase + 1]
    t = np.clip(np.atleast_1d(np.asarray(t, dtype=float)), begin, end)
    if phase < len(found.breaks) - 2:
        t = np.minimum(t, end - 1e-12 * (end - begin))
    return [np.asarray(x) for x in found.evaluate(t, 2)]


def phase_checks(given: Task, found: plan.Planned, phase: int) -> Iterator[Found]:
    """Samples of a phase; then the neighbourhood of the worst one, finer."""
    begin, end = found.breaks[phase], found.breaks[phase + 1]
    t = np.linspace(begin, end, POINTS)
    coarse = list(path_limits(given, phase, *_at(found, t, phase)))
    yield from coarse
    step = (end - begin) / (POINTS - 1)
    near = {int(name.split(" at sample ")[1].split(" of ")[0]) for _, name in coarse if " at sample " in name}
    fine = np.unique(np.concatenate([t[k] + np.linspace(-step, step, 41) for k in sorted(near)]))
    yield from path_limits(given, phase, *_at(found, fine, phase))
    yield from differences(given, found, phase)


def differences(given: Task, found: plan.Planned, phase: int) -> Iterator[Found]:
    """Velocities and accelerations are those of the positions, by central differences, to 1e-4 of the largest."""
    begin, end = found.breaks[phase], found.breaks[phase + 1]
    step = 1e-6 * (end - begin)
    t = np.random.default_rng(given.seed).uniform(begin + 2 * step, end - 2 * step, 200)
    before, here, after = (_at(found, x, phase) for x in (t - step, t, t + step))
    way = np.asarray(given.robot.difference(before[0], after[0])) / (2 * step)
    for name, rate, value in (
        ("velocity", way, here[1]),
        ("acceleration", (after[1] - before[1]) / (2 * step), here[2]),
    ):
        error = np.abs(rate - value).max() / (1e-4 * (1.0 + np.abs(value).max()))
        yield float(error), f"{name} beside differences"


def checked(given: Task, found: plan.Planned) -> Found:
    """The worst of everything; at most ALLOWANCE is right."""
    count = len(found.breaks) - 1
    if count != len(given.ends):
        return np.inf, f"{count} phases, {len(given.ends)} are asked for"
    every = [*ends(given, given.start, *(x[0] for x in _at(found, 0.0, 0)), "at the start")]
    for k in range(count):
        every += phase_checks(given, found, k)
        last = [x[-1] for x in _at(found, found.breaks[k + 1], k)]
        every += ends(given, given.ends[k], *last, f"at the end of phase {k + 1}")
        if k + 1 < count:
            first = [x[0] for x in _at(found, found.breaks[k + 1], k + 1)]
            for name, a, b in (("position", last[0], first[0]), ("velocity", last[1], first[1])):
                every.append(_equal(a, b, f"{name} beyond break {k + 1}"))
    if given.objective == "effort":
        every.append(_equal(np.diff(found.breaks), np.array(given.known.durations), "duration"))
    return max(every, key=lambda one: np.inf if np.isnan(one[0]) else one[0])


def known_excess(given: Task) -> Found:
    """The same limits and ends, of the known motion: below zero inside, if the task is what it claims to be."""
    known: Known = given.known
    every: list[Found] = []
    for k, (first, last) in enumerate(known.ends()):
        states = [x[first : last + 1] for x in (known.q, known.qd, known.qdd)]
        every += [one for one in path_limits(given, k, *states) if "motor" not in one[1]]
        every += ends(given, given.ends[k], *(x[-1] for x in states), f"at the end of phase {k + 1}")
    return max(every)


# ---- runs --------------------------------------------------------------------------------


def run(seed: int, **options: Any) -> Outcome:
    """Plan a task with the planner's defaults and check the plan."""
    given = task(seed)
    begin = time.process_time()
    known = float(sum(given.known.durations))
    try:
        found = given.statement().solve(**{"seconds": SECONDS, **OPTIONS, **options})
    except neuler.NeulerError as error:
        told = f"raised {type(error).__name__}: {str(error).splitlines()[0]}"
        cpu, nan = time.process_time() - begin, float("nan")
        what = (seed, given.kind, given.label, given.objective)
        return Outcome(*what, False, False, False, np.inf, "no plan", nan, known, cpu, 0, 0, told, "")
    cpu = time.process_time() - begin
    excess, worst = checked(given, found)
    return Outcome(
        seed=seed,
        kind=given.kind,
        robot=given.label,
        objective=given.objective,
        valid=bool(found.valid),
        optimal=bool(found.optimal),
        right=bool(excess <= ALLOWANCE),
        excess=float(excess),
        worst=worst,
        duration=float(found.duration),
        known=known,
        cpu=cpu,
        iterations=int(found.iterations),
        points=sum(mine.control_point_count for mine in found.motion.profiles),
        line=str(found).splitlines()[0],
        why=str(found.violations[0]) if found.violations and not found.valid else "",
    )


def run_all(seeds: Iterable[int], **options: Any) -> list[Outcome]:
    """One after the other, with a bar on the screen; what fails is printed as it comes."""
    from tqdm import tqdm

    outcomes: list[Outcome] = []
    with tqdm(list(seeds), desc="random tasks", unit="task", disable=not sys.stderr.isatty()) as bar:
        for seed in bar:
            found = run(seed, **options)
            outcomes.append(found)
            bar.set_postfix(valid=sum(x.valid for x in outcomes), false=sum(x.falsely_valid for x in outcomes))
            if not found.valid or not found.right:
                tqdm.write(told(found))
    return outcomes


def told(found: Outcome) -> str:
    """What went wrong, in a line."""
    word = "FALSELY VALID" if found.falsely_valid else "right, not called valid" if found.right else "not valid"
    return (
        f"{found.seed} {found.kind}, {found.robot}, {found.objective}: {word}; {found.line}; {found.iterations} "
        f"iterations, {found.cpu:.1f} s, T {found.duration:.4g} (known {found.known:.4g}); check: {found.worst}, "
        f"{found.excess:.3g} tolerances; {found.why}"
    )


def table(outcomes: list[Outcome]) -> list[str]:
    """A row a kind of task, and one for all."""
    lines = [
        "## Random tasks that are feasible by construction",
        "",
        "Limits are 1.1 times what a known motion needs (benchmarks/planning_random.py); planned with defaults,",
        "checked apart from the planner. CPU seconds from the statement to the answer, compiling included; three",
        "figures are the median, nine of ten, and the largest. Slower: least time, longer than the known motion.",
        "",
        "| tasks | number | valid | falsely valid | right | optimal | slower | CPU, s | iterations |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    kinds = Counter(x.kind for x in outcomes)
    for name in [*kinds, "all"]:
        mine = [x for x in outcomes if name in (x.kind, "all")]
        slower = sum(x.valid and x.objective == "time" and x.duration > x.known for x in mine)
        lines.append(
            f"| {name} | {len(mine)} | {sum(x.valid for x in mine)} | {sum(x.falsely_valid for x in mine)} "
            f"| {sum(x.right for x in mine)} | {sum(x.optimal for x in mine)} | {slower} "
            f"| {_spread(x.cpu for x in mine)} | {_spread(x.iterations for x in mine)} |"
        )
    return [*lines, ""]


def _spread(values: Iterable[float]) -> str:
    return " / ".join(f"{x:.3g}" for x in np.quantile(np.fromiter(values, float), (0.5, 0.9, 1.0)))


def report(count: int = 200, first: int = 0) -> list[str]:
    """The table."""
    return table(run_all(range(first, first + count)))


def main() -> None:
    """Run, print the table and whatever went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seeds", type=int, nargs="+", help="these alone")
    parser.add_argument("--kind", choices=sorted({make.__name__ for make in KINDS}), help="tasks of this kind alone")
    parser.add_argument("--json", type=Path, help="every outcome, to a file")
    a = parser.parse_args()
    seeds = a.seeds or range(a.first, a.first + a.count)
    if a.kind:
        seeds = [seed for seed in seeds if KINDS[seed % len(KINDS)].__name__ == a.kind]
    outcomes = run_all(seeds)
    print("\n".join(table(outcomes)))
    if a.json:
        a.json.write_text(json.dumps([dataclasses.asdict(x) for x in outcomes], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
