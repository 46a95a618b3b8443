"""Measure robots with closed loops: assemblies a second, and dynamics, on one thread.

    python benchmarks/loops.py

Near guesses are within 0.2 rad (0.03 m) of the position that is found, as from one instant of a simulation to the
next; far ones are the robot's reference, with the motors up to 0.8 rad from it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from collections.abc import Iterator

import numpy as np

from neuler import Robot, bench, robots

BATCH = 4096
MACHINES = ("four_bar", "five_bar", "slider_crank", "sr400")
VERBS = ("inverse_dynamics", "forward_dynamics", "constrained_dynamics", "reaction_wrenches")


def closed_loops(repeats: int = 7) -> list[str]:
    """Lines of Markdown: a table with a row for every machine of the catalogue."""
    lines = [
        "## Robots with closed loops, one thread, batch of 4,096",
        "",
        "| machine, joints, freedoms | assemblies/s, near guess | iterations | from the reference | one, us "
        "| inverse, ns | mul/add/div/trig | forward | all joints free | reactions |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in MACHINES:
        lines.append(_row(robots.get(name), repeats))
    return [*lines, ""]


def _row(machine: Robot, repeats: int) -> str:
    facts, rng = machine.mobility, np.random.default_rng(0)
    picked = [k for k, joint in enumerate(machine.joint_names) if joint in facts.independent]
    active = _within_reach(machine, np.array(facts.reference)[picked], rng)
    q = machine.assemble(active).q
    reach = np.array([0.03 if joint.kind == "prismatic" else 0.2 for joint in machine.tree.moving_joints])
    guess = q + rng.uniform(-1, 1, q.shape) * reach
    with one_thread():
        near = bench.best_seconds(functools.partial(machine.assemble, active, guess), repeats=repeats)
        far = bench.best_seconds(functools.partial(machine.assemble, active), repeats=repeats)
        alone = bench.best_seconds(functools.partial(machine.assemble, active[0], guess[0]), repeats=repeats)
        times = [_nanoseconds(machine, verb, q, rng, repeats) for verb in VERBS]
    steps = machine.assemble(active, guess).iterations.mean()
    counts = machine.inverse_dynamics.operations
    return (
        f"| {machine.name}, {machine.tree.nv}, {facts.freedoms} "
        f"| {BATCH / near:,.0f} | {steps:.1f} | {BATCH / far:,.0f} "
        f"| {1e6 * alone:.0f} | {times[0]:.0f} | {counts.mul}/{counts.add}/{counts.div}/{counts.trig} "
        f"| {times[1]:.0f} | {times[2]:.0f} | {times[3]:.0f} |"
    )


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Kernels keep to one core meanwhile."""
    before = os.environ.get("NEULER_THREADS")
    os.environ["NEULER_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["NEULER_THREADS"]
        else:
            os.environ["NEULER_THREADS"] = before


def _within_reach(machine: Robot, start: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Positions of the motors at which the loops can be closed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        active = start + rng.uniform(-0.8, 0.8, (2 * BATCH, len(start)))
        return active[machine.assemble(active).closed][:BATCH]


def _nanoseconds(machine: Robot, verb: str, q: np.ndarray, rng: np.random.Generator, repeats: int) -> float:
    kernel = getattr(machine, verb)
    arrays = [q if o.name == "q" else rng.normal(size=(BATCH, *o.shape)) for o in kernel.inputs]
    out = tuple(np.empty((BATCH, *o.shape)) for o in kernel.outputs)
    call = functools.partial(kernel, *arrays, out=out if len(out) > 1 else out[0])
    return 1e9 * bench.best_seconds(call, repeats=repeats) / BATCH


if __name__ == "__main__":
    print("\n".join(closed_loops()))
