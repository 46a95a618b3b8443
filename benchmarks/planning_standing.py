"""Plans that stand on the ground: rows of benchmarks/planning_hard.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from neuler import plan
from planning_rows import Row, Solved, row, solved

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("examples", "tests")]

import legged_robots
import plan_step


def replay_miss(found: Solved) -> float:
    """How far a simulation without feedback ends from the plan, rad and m."""
    said = found.planned
    return float(np.abs(np.asarray(said.replay(step=2e-5).q[-1]) - said.at(said.duration).q).max())


def standing(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """A step of a planar biped, feet that share the ground's force in two ways; and a hop with a flight."""
    machine = plan_step.robot()
    for split in ("line",) if quick else ("line", "free"):
        found = solved(lambda split=split: plan_step.task(machine, split))
        value = f"effort {1e3 * found.planned.objective:.1f} N^2 m^2 s, replay off by {replay_miss(found):.1e}"
        yield row(f"a step of a planar biped, split {split}", found, value, "replay within 1e-4")
    if not quick:
        smooth = plan.effort() + 2e-5 * plan.jerk_effort()
        found = solved(lambda: legged_robots.hop(legged_robots.hopper(), smooth))
        value = f"objective {found.planned.objective:.4f}, replay off by {replay_miss(found):.1e}"
        yield row("a hopping leg with a flight", found, value, "replay within 1e-4")
