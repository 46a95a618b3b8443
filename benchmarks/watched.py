"""Robots whose results may be NaN: what it costs that a call of their kernels says why, beside the bare gufunc.

    python benchmarks/watched.py             # Markdown on standard output

Double precision, one thread, C-contiguous arrays, the two ways in turn, the least of many calls. No result is NaN.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

import neuler
from neuler import Robot

SIZES = (2_048, 8_192, 32_768, 100_000)
SECONDS = 2.0
"""Spent on one size of a batch."""


def _least(calls: list[Callable[[], object]]) -> list[float]:
    """Seconds of each, measured in turn."""
    best = [float("inf")] * len(calls)
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def report(robots: dict[str, Robot]) -> list[str]:
    """A table: nanoseconds a state of the gufunc, of the kernel, and their ratio; with and without ``out``."""
    lines = [
        "## Calls that explain NaN beside the bare gufunc, one thread",
        "",
        "| robot | quantity | states | gufunc, ns | kernel, ns | ratio | gufunc, `out=` | kernel, `out=` | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, robot in robots.items():
        kernel = robot.forward_dynamics
        for size in SIZES:
            rng = np.random.default_rng(0)
            q = robot.random_configuration(rng, size)
            given = [q, *(rng.uniform(-1, 1, (size, *operand.shape)) for operand in kernel.inputs[1:])]
            with np.errstate(all="ignore"):
                bad = np.isnan(kernel.ufunc(*given)).any(axis=-1)
            given[0][bad] = q[~bad][0]
            kernel.threads, out = 1, np.empty((size, *kernel.outputs[0].shape))
            calls = [partial(f, *given, **into) for into in ({}, {"out": out}) for f in (kernel.ufunc, kernel)]
            bare, called, bare_out, called_out = (1e9 * x / size for x in _least(calls))
            lines.append(
                f"| {name} | {kernel.quantity} | {size:,} | {bare:.0f} | {called:.0f} | {called / bare:.2f} "
                f"| {bare_out:.0f} | {called_out:.0f} | {called_out / bare_out:.2f} |"
            )
    return [*lines, ""]


if __name__ == "__main__":
    from run import robot_of

    print("\n".join(report({"human": robot_of("human"), "PUMA, free": neuler.robots.puma560().with_free_base()})))
