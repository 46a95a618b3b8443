"""How fast the quantities of a machine with loops are: operations, one call, a batch of closed states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler import bench
from neuler.bench import Bench, Measurement
from neuler.errors import InputError, NeulerError
from neuler.kernels import Kernel
from neuler.recipes.quantities import catalogue
from neuler.robot import Mechanism, ParallelRobot
from neuler.view.motions import machine_motion

Array = NDArray[np.float64]

MECHANISM = (
    "closure", "coupling_matrix", "tree_motion", "inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_force",
    "constrained_dynamics", "reaction_wrenches",
)  # fmt: skip
SENSITIVE = 12
"""Velocities up to which sensitivities, which take long to compile, are measured unless told otherwise."""


def default_verbs(machine: Mechanism | ParallelRobot) -> tuple[str, ...]:
    """What is measured unless told otherwise."""
    if isinstance(machine, ParallelRobot):
        return tuple(catalogue(machine))
    return (*MECHANISM, "inverse_dynamics_sensitivities") if machine.nv <= SENSITIVE else MECHANISM


def run_machine(
    machine: Mechanism | ParallelRobot,
    *,
    verbs: Iterable[str] | None = None,
    batch: int = 4096,
    progress: Callable[[Sequence[str]], Iterable[str]] = iter,
) -> Bench:
    """Measure quantities of a machine at closed positions: those of its test motion, over and over."""
    chosen = tuple(default_verbs(machine) if verbs is None else verbs)
    known = catalogue(machine)
    for name in chosen:
        if name not in known:
            raise InputError(f"there is no quantity {name!r} of {machine.name!r}; there are: {', '.join(known)}")
    if not isinstance(batch, int) or batch < 1:
        raise InputError(f"batch must be a positive whole number of states, got {batch!r}")
    states = _states(machine, batch)
    return Bench(machine.name, batch, tuple(_measure(machine, name, states) for name in progress(chosen)))


def _states(machine: Mechanism | ParallelRobot, batch: int) -> dict[str, Array]:
    """Closed positions; of a parallel robot also velocities that its legs allow."""
    motion = machine_motion(machine)
    found = {"q": motion.q}
    if isinstance(machine, ParallelRobot):
        kernel = machine.mechanism.compile("tree_motion", independent=motion.independent)
        moving = kernel(motion.q, motion.qd, motion.qdd)
        found |= {name: np.asarray(x)[:, :6] for name, x in zip(("v", "vd"), moving, strict=True)}
    return {name: np.resize(x, (batch, x.shape[1])) for name, x in found.items()}


def _measure(machine: Mechanism | ParallelRobot, quantity: str, states: dict[str, Array]) -> Measurement:
    try:
        kernel = Kernel(machine, quantity)
    except NeulerError as error:
        return Measurement(quantity, failure=str(error))
    kernel.threads = 1
    rng = np.random.default_rng(0)
    batch = len(states["q"])
    arrays: list[Any] = [states.get(o.name, rng.uniform(-1, 1, (batch, *o.shape))) for o in kernel.inputs]
    first = tuple(np.array(x[0]) for x in arrays)
    found = tuple(np.empty((batch, *operand.shape)) for operand in kernel.outputs)
    call = bench.best_seconds(lambda: kernel(*first), bench.REPEATS, bench.SHORTEST)
    whole = bench.best_seconds(lambda: kernel(*arrays, out=found), bench.REPEATS, bench.SHORTEST)
    seconds = bench._compile_seconds(kernel)
    return Measurement(quantity, kernel.operations, seconds, 1e6 * call, 1e9 * whole / batch)
