"""Best known durations of the tasks with weak motors in planning_hard.json: a long search, run once.

    nice python benchmarks/planning_best.py [--rounds 3] [--seeds 6] [--first-seed 0] [--output FILE]

Every task is solved many times: from the straight first guess and from perturbed ones, with the duration free and
within windows about what was found so far (from a share of it to below, at and above it), with 20, 32 and 48 control
points. Windows below the best known duration make the solver look for another way. Rounds go on while one improves. The
best valid motion is then solved again with 64 and 96 control points, itself the first guess. What is stored: ``best``,
the least duration (s) of a valid plan of all; ``best_20``, with 20 control points; and how many solves were valid.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import neuler
from neuler import plan

HERE = Path(__file__).resolve().parent
NUMBERS = HERE / "planning_hard.json"
POINTS = (20, 32, 48)
FINE = (64, 96)
WINDOWS = ((0.2, 0.7), (0.3, 0.9), (0.5, 0.98), (0.3, 1.1), (0.8, 1.6), (0.5, 3.0))
"""Shares of the best known duration between which one is sought."""
BETTER = 1e-4
"""A round that improves by less than this share ends the search."""


def statement(case: dict[str, Any], task: dict[str, Any], points: int, duration: Any = None) -> plan.Plan:
    """Least time of the two links under gravity, with motors that cannot hold them everywhere."""
    return plan.Plan(
        neuler.robots.two_link().with_gravity(case["gravity"]),
        plan.duration(),
        start=task["start"],
        goal=task["goal"],
        limits=[plan.within(plan.torque, case["torque"])],
        control_points=points,
        duration=duration,
    )


def search(case: dict[str, Any], task: dict[str, Any], rounds: int, seeds: range) -> dict[str, Any]:
    """The least durations of valid plans of one task."""
    best: dict[int, plan.Planned] = {}
    solves = valid = 0

    def attempt(points: int, duration: Any = None, **options: Any) -> None:
        nonlocal solves, valid
        found = statement(case, task, points, duration).solve(**options)
        solves, valid = solves + 1, valid + found.valid
        if found.valid and (points not in best or found.duration < best[points].duration):
            best[points] = found

    def least() -> float:
        return min((found.duration for found in best.values()), default=float("inf"))

    for points in POINTS:
        for seed in (None, *seeds):
            attempt(points, seed=seed)
            attempt(points, (0.1, 4.0), seed=seed)
    for _ in range(rounds):
        before = least()
        for low, high in WINDOWS:
            for points in POINTS:
                for seed in (None, *seeds):
                    attempt(points, (low * before, high * before), seed=seed)
        leader = min(best.values(), key=lambda found: found.duration)
        for points in POINTS:
            attempt(points, (0.3 * before, 1.5 * before), guess=leader)
        if least() > (1.0 - BETTER) * before:
            break
    for points in FINE:
        leader = min(best.values(), key=lambda found: found.duration)
        attempt(points, (0.3 * leader.duration, 1.1 * leader.duration), guess=leader)
    shortest = min(best, key=lambda points: best[points].duration)
    return {
        "best": round(best[shortest].duration, 6),
        "best_points": shortest,
        "best_20": round(best[20].duration, 6) if 20 in best else None,
        "solves": solves,
        "valid": valid,
    }


def better(known: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Results of two searches together.

    >>> better({"best": 1.5, "best_points": 96, "best_20": 1.7, "solves": 3, "valid": 2},
    ...        {"best": 1.6, "best_points": 64, "best_20": 1.6, "solves": 1, "valid": 1})
    {'best': 1.5, 'best_points': 96, 'best_20': 1.6, 'solves': 4, 'valid': 3}
    """
    if "best" not in known:
        return found
    shorter = min(known, found, key=lambda one: one["best"])
    coarse = [each["best_20"] for each in (known, found) if each["best_20"] is not None]
    sums = {name: known[name] + found[name] for name in ("solves", "valid")}
    return {
        "best": shorter["best"],
        "best_points": shorter["best_points"],
        "best_20": min(coarse, default=None),
        **sums,
    }


def main() -> None:
    """Search, task by task, and write what was found into the file of numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--first-seed", type=int, default=0, help="of another search, whose results are added")
    parser.add_argument("--first", type=int, default=0, help="the first task")
    parser.add_argument("--count", type=int, help="how many tasks; all by default")
    parser.add_argument("--output", type=Path, default=NUMBERS)
    a = parser.parse_args()
    numbers = json.loads(NUMBERS.read_text(encoding="utf-8"))
    case = numbers["weak_two_link"]
    last = len(case["tasks"]) if a.count is None else a.first + a.count
    for k in range(a.first, last):
        task = case["tasks"][k]
        found = search(case, task, a.rounds, range(a.first_seed, a.first_seed + a.seeds))
        task.update(better(task, found))
        print(f"task {k}: {found}", flush=True)
        a.output.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
