"""Tasks that planners find hard, beside what is known of them: closed forms, phase planes, long searches.

    python benchmarks/planning_hard.py [--rows weak four_bar ...] [--quick] [--seconds 300] [--json rows.json]

Numbers are in planning_hard.json, tasks with exact answers in planning_exact.py, closed forms in planning_truths.py,
the search for the best known durations of the weak two-link arm in planning_best.py. Every task is solved with the
planner's defaults, except for what its row says. Time is the CPU's, of statement and solve, with kernels from the cache
or not, as it comes. A solve that takes longer than ``--seconds`` is stopped.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import neuler
import planning_best
from neuler import plan
from planning_best import NUMBERS
from planning_exact import barman, cops, four_bar, ruckig, slider, swing
from planning_rows import OPTIONS, Row, cart_pole, from_urdf, row, several, solved, ur5
from planning_standing import standing


def numbers() -> dict[str, Any]:
    """The file of numbers."""
    found: dict[str, Any] = json.loads(NUMBERS.read_text(encoding="utf-8"))
    return found


def weak(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """Motors weaker than gravity on the way."""
    tasks = case["tasks"][:2] if quick else case["tasks"]
    points = case["control_points"]
    every = [solved(functools.partial(planning_best.statement, case, task, points)) for task in tasks]
    held = [(k, each.planned.duration) for k, each in enumerate(every) if each.planned.valid]
    told = []
    for key, label in (("best", "of all"), ("best_20", f"with {points} points")):
        ratios = [T / tasks[k][key] for k, T in held] or [np.inf]
        slow = sum(ratio > 1.05 for ratio in ratios)
        told.append(f"{label}: worst {max(ratios):.4f}, mean {np.mean(ratios):.4f}, {slow} above 1.05")
    missing = [k for k, each in enumerate(every) if not each.planned.valid]
    yield several(
        f"two links, weak motors, {len(tasks)} tasks",
        every,
        f"ratio to the best known {'; '.join(told)}",
        "1",
        f"not valid: {missing}" if missing else "",
    )


def energy_plan(task: dict[str, Any], case: dict[str, Any], clutter: dict[str, Any], objective: Any) -> plan.Plan:
    """A task of least energy; the file says what its modes mean."""
    limits: list[Any] = []
    if task["robot"] == "puma":
        robot = neuler.robots.puma560().without_friction()
        limits += [plan.within(plan.torque, case["puma_torque"]), plan.within(plan.velocity, case["puma_velocity"])]
    else:
        robot = ur5()
    limits += [plan.within(plan.torque_rate, task["torque_rate"])] if task["torque_rate"] else []
    if task["spheres"]:
        limits.append(_clear(clutter, [plan.Sphere(tuple(each["center"]), each["radius"]) for each in task["spheres"]]))
    shape = {"control_points": task["control_points"], "degree": task["degree"], "limits": limits}
    if task["payload"]:
        shape["payload"] = plan.Payload(robot.tip, **task["payload"])
    T, stops = task["duration"], [*task["mids"], task["goal"]]
    if task["mode"] == "phases":
        ends = [*(plan.Boundary(q=q, qd=None) for q in stops[:-1]), stops[-1]]
        parts = [plan.Phase(end=end, duration=T / len(stops)) for end in ends]
        return plan.Plan(robot, objective, start=task["start"], phases=parts, **shape)
    if task["mode"] == "repeat":
        via = [plan.Via(at=(k + 1) / (len(stops) + 1), q=q) for k, q in enumerate(stops)]
        cycle = plan.repeats(*robot.joint_names)
        begin = plan.Boundary(q=task["start"], qd=None)
        return plan.Plan(robot, objective, start=begin, via=via, relations=cycle, duration=T, **shape)
    return plan.Plan(robot, objective, start=task["start"], goal=task["goal"], duration=T, **shape)


def energy(case: dict[str, Any], quick: bool, clutter: dict[str, Any]) -> Iterator[Row]:
    """Integrals of the size of power, which has corners; beside it the same task with least effort."""
    for k, task in enumerate([] if quick else case["tasks"]):
        label = f"{task['robot']}, {task['mode']}"
        easy = solved(lambda task=task: energy_plan(task, case, clutter, plan.effort()))
        seen = f"effort: {'valid' if easy.planned.valid else 'not valid'}, {easy.planned.iterations} iterations"
        found = solved(lambda task=task: energy_plan(task, case, clutter, plan.energy()))
        said = found.planned
        yield row(f"energy {k + 1}: {label}", found, f"{said.objective:.4f} J", f"feasible; {seen}")


def swing_up(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """A pole that nothing drives is swung up by its cart."""
    robot = cart_pole(case)
    for bound in (None,) if quick else (None, 20.0):
        make = functools.partial(
            plan.Plan, robot, plan.effort(), start=case["start"], goal=case["goal"], duration=case["duration"],
            limits=[] if bound is None else [plan.within(plan.torque, bound)],
        )  # fmt: skip
        found = solved(make)
        label = "force unlimited" if bound is None else f"force within {bound:g} N"
        value, truth = f"{found.planned.objective:.4f}", f"{case['optimum']:.4f} (Pontryagin)"
        yield row(f"cart-pole swing-up, {label}", found, value, truth)


def _clear(case: dict[str, Any], spheres: list[plan.Sphere]) -> plan.Limit:
    balls = [plan.Ball(each["frame"], each["radius"], tuple(each["center"])) for each in case["balls"]]
    return plan.clear_of(balls, spheres, margin=case["margin"])


def clutter(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """UR5 among spheres."""
    for count in ("5",) if quick else tuple(case["spheres"]):
        spheres = [plan.Sphere(tuple(each), case["sphere_radius"]) for each in case["spheres"][count]]
        make = functools.partial(
            plan.Plan, ur5(), start=case["start"], goal=case["goal"], limits=[_clear(case, spheres)],
            control_points=case["control_points"],
        )  # fmt: skip
        found = solved(make)
        yield row(f"UR5 among {count} spheres, least time", found, f"{found.planned.duration:.4f} s", "feasible")


def g1_upper(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """A humanoid's upper body, 17 joints."""
    robot = from_urdf(case["robot"]).with_fixed(dict.fromkeys(case["fixed"], 0.0))
    assert list(robot.joint_names) == case["joints"]
    for points in () if quick else case["control_points"]:
        found = solved(
            functools.partial(plan.Plan, robot, start=case["start"], goal=case["goal"], control_points=points)
        )
        inside = f"{found.planned.function_seconds:.1f} s inside functions"
        yield row(
            f"G1's upper body, least time, {points} points", found, f"{found.planned.duration:.4f} s", "-", inside
        )


def human(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """36 joints: effort in a second, and least time."""
    robot = from_urdf(case["robot"])
    low, high = np.array([(each.lower, each.upper) for each in robot.coordinate_limits]).T
    rng = np.random.default_rng(case["seed"])
    start = np.clip(np.zeros(robot.nq), low, high)
    goal = np.clip(rng.uniform(-case["spread"], case["spread"], robot.nq), low, high)
    shape = {"start": start, "goal": goal, "control_points": case["control_points"]}
    jobs = {
        "effort in 1 s": functools.partial(plan.Plan, robot, plan.effort(), duration=case["duration"], **shape),
        f"least time, {case['torque']:g} N m": functools.partial(
            plan.Plan, robot, limits=[plan.within(plan.torque, case["torque"])], **shape
        ),
    }
    for label, make in () if quick else jobs.items():
        found = solved(make)
        value = f"{found.planned.objective:.4f}"
        yield row(f"human.urdf, {label}", found, value, "-", f"{found.planned.function_seconds:.1f} s inside functions")


def idle_wrist(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """What a joint does that has nothing to do."""
    found = solved(functools.partial(plan.Plan, ur5(), start=case["start"], goal=case["goal"]))
    said = found.planned
    moved = said.at(np.linspace(0.0, said.duration, 4001))
    travel = float(np.abs(np.diff(moved.q[:, 5])).sum())
    speed = moved.qd[:, 5]
    turns = np.sign(speed[np.abs(speed) > 1e-6])
    reversals = int(np.count_nonzero(np.diff(turns)))
    value = f"{said.duration:.4f} s, wrist 3 travels {travel:.3f} rad, {reversals} reversals"
    yield row("UR5, idle wrist 3", found, value, f"{case['duration']:g} s with {case['travel']:g} rad")


def jumps(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """Phases that are joined in position alone: no torque makes a velocity jump."""
    phases = [plan.Phase(end=plan.Boundary(q=case["over"], qd=None), continuity=0), plan.Phase(end=case["goal"])]
    found = solved(
        functools.partial(
            plan.Plan, neuler.robots.two_link(), start=case["start"], phases=phases,
            limits=[plan.within(plan.torque, case["torque"])],
        )
    )  # fmt: skip
    said = found.planned
    before, after = said.at(said.breaks[1] - np.array([1e-9, -1e-9])).qd
    miss = float(np.abs(np.asarray(said.replay().q[-1]) - case["goal"]).max())
    value = f"velocity jumps by {np.abs(after - before).max():.3g} rad/s, replay misses by {miss:.2g} rad"
    wrong = said.valid and miss > 1e-3
    yield row(
        "phases joined in position alone", found, value, "not valid, or it holds", "FALSELY VALID" if wrong else ""
    )


# ---- the table ---------------------------------------------------------------------------

ROWS: dict[str, tuple[Callable[..., Iterator[Row]], str]] = {
    "weak": (weak, "weak_two_link"),
    "four_bar": (four_bar, "four_bar"),
    "energy": (energy, "energy"),
    "cart_pole": (swing_up, "cart_pole"),
    "clutter": (clutter, "clutter"),
    "g1": (g1_upper, "g1_upper"),
    "human": (human, "human"),
    "idle_wrist": (idle_wrist, "idle_wrist"),
    "jumps": (jumps, "jumps"),
    "ruckig": (ruckig, "ruckig"),
    "cops": (cops, "cops"),
    "pendulum": (swing, "pendulum"),
    "slider": (slider, "slider"),
    "barman": (barman, "barman"),
    "standing": (standing, ""),
}
HEAD = [
    "| task | valid | value | truth or best known | CPU, s | iterations | control points | |",
    "|---|---|---|---|---|---|---|---|",
]


def rows(names: Iterable[str] = tuple(ROWS), quick: bool = False) -> Iterator[Row]:
    """Lines of the table, one after the other."""
    from tqdm import tqdm

    given = numbers()
    for name in tqdm(list(names), desc="hard tasks", disable=not sys.stderr.isatty()):
        make, key = ROWS[name]
        more = {"clutter": given["clutter"]} if name == "energy" else {}
        try:
            yield from make(given.get(key, {}), quick, **more)
        except neuler.NeulerError as error:  # a row of its own, not the end of the table
            yield Row(name, "no", "-", "-", float("nan"), 0, "-", f"raised {type(error).__name__}: {error}")


def report(names: Iterable[str] = tuple(ROWS), quick: bool = False) -> list[str]:
    """The table with its heading."""
    lines = [
        "## Motion planning: tasks that are hard, beside what is known of them",
        "",
        "Defaults of the planner unless the task says otherwise (benchmarks/planning_hard.py); CPU seconds of",
        f"statement and solve, stopped after {OPTIONS['seconds']:.0f} s. Best known durations of the weak two",
        "links: the shortest valid plan of some 170 solves a task with bounded durations and perturbed first",
        "guesses, with 20 to 96 control points (benchmarks/planning_best.py).",
        "",
        *HEAD,
    ]
    return [*lines, *map(str, rows(names, quick)), ""]


def main() -> None:
    """Print the table, line by line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", choices=tuple(ROWS), default=list(ROWS))
    parser.add_argument("--quick", action="store_true", help="the smallest task of every kind, the long ones left out")
    parser.add_argument("--seconds", type=float, default=OPTIONS["seconds"], help="that a solve may take")
    parser.add_argument("--json", type=Path, help="the lines, to a file")
    a = parser.parse_args()
    OPTIONS["seconds"] = a.seconds
    print("\n".join(HEAD), flush=True)
    found = []
    for each in rows(a.rows, a.quick):
        print(each, flush=True)
        found.append(dataclasses.asdict(each))
    if a.json:
        a.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
