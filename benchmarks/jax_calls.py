"""Kernels as functions of JAX beside the NumPy call, an empty jitted function and frax, a library in pure JAX.

    python benchmarks/jax_calls.py [ROBOT.urdf]

One process, double precision, one thread. The candidates of a column take short turns, and the least time of many
rounds counts, which a busy machine disturbs little; results are waited for. The batch has 4,096 states in arrays of
shape (4096, n).
"""

from __future__ import annotations

import importlib.util
import os
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")  # as frax advises, for all candidates

import numpy as np

import neuler
import neuler.jax
from neuler import Robot

BATCH, ROUNDS, SHORTEST = 4096, 80, 5e-3


def best(candidates: Mapping[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds of a call of each, the least of as many rounds in which all take turns."""
    counts, found = {}, dict.fromkeys(candidates, float("inf"))
    for name, call in candidates.items():
        call()
        start = time.perf_counter()
        call()
        counts[name] = max(1, int(SHORTEST / (time.perf_counter() - start)))
    for _ in range(rounds):
        for name, call in candidates.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                call()
            found[name] = min(found[name], (time.perf_counter() - start) / counts[name])
    return found


def waiting(function: Callable[..., Any], *arrays: Any) -> Callable[[], Any]:
    """A call that returns when its results are there."""
    import jax

    return lambda: jax.block_until_ready(function(*arrays))


def of_frax(path: Path) -> Callable[..., Any] | None:
    """Inverse dynamics of one state by frax 0.1, or None where it is not installed."""
    if importlib.util.find_spec("frax") is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import frax

        model = frax.Manipulator(str(path))
    gravity = np.array(FRAX_GRAVITY)
    return lambda q, qd, qdd: model.rnea(q, qd, qdd, gravity, None)


FRAX_GRAVITY = [0.0, 0.0, 9.81, 0.0, 0.0, 0.0]


def report(name: str, robot: Robot, path: Path | None = None) -> list[str]:
    """The section of RESULTS.md; ``path`` is the robot's URDF for frax."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    kernel = robot.inverse_dynamics
    kernel.threads = 1
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (3, BATCH, robot.nv))
    one = [np.ascontiguousarray(x[0]) for x in states]
    rows, row = [jnp.asarray(x) for x in states], [jnp.asarray(x) for x in one]
    f, back = neuler.jax.wrap(kernel), neuler.jax.wrap(kernel, mode="reverse")
    other = of_frax(path) if path is not None else None

    def slope(g: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(jax.grad(lambda q, qd, qdd: (g(q, qd, qdd) ** 2).sum()))

    def steps(q: Any, qd: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            return (state[0] + 1e-3 * state[1], state[1] + 1e-3 * f(*state, state[1])), None

        return jax.lax.scan(step, (q, qd), None, 1000)[0]

    empty = jax.jit(lambda q, qd, qdd: q + 1.0)
    out = np.empty_like(states[0])
    call = {
        "NumPy": lambda: kernel(*states), "NumPy, out=": lambda: kernel(*states, out=out),
        "jit": waiting(jax.jit(f), *rows),
        "empty": waiting(empty, *rows), "both": waiting(slope(f), *rows), "reverse": waiting(slope(back), *rows),
        "one, NumPy": lambda: kernel(*one), "one, jit": waiting(jax.jit(f), *row), "one, empty": waiting(empty, *row),
        "scan": waiting(jax.jit(steps), *row[:2]),
    }  # fmt: skip
    if other is not None:
        expected = kernel(*one)
        error = np.abs(np.asarray(other(*row)) - expected).max() / np.abs(expected).max()
        many = jax.vmap(other)
        call |= {"frax": waiting(jax.jit(many), *rows), "frax, grad": waiting(slope(many), *rows)}
        call |= {"one, frax": waiting(jax.jit(other), *row)}
    columns: dict[str, dict[str, Callable[[], Any]]] = {}
    for what, each_call in call.items():  # calls that take microseconds are disturbed by what empties the caches
        column = "one" if what.startswith("one") else "grad" if what in ("both", "reverse", "frax, grad") else what
        columns.setdefault(column if column in ("one", "grad", "scan") else "batch", {})[what] = each_call
    t = {what: seconds for column in columns.values() for what, seconds in best(column).items()}

    def each(what: str) -> str:
        return f"{1e9 * t[what] / BATCH:.1f}" if what in t else ""

    def us(what: str) -> str:
        return f"{1e6 * t[what]:.2f}" if what in t else ""

    lines = [
        f"## JAX: {name}, inverse dynamics, one thread",
        "",
        f"jax {jax.__version__}, float64, `jax.jit`. *One call*: from Python until the result is there.",
        "",
        f"| | ns a state of {BATCH:,} | one call, us | gradient of tau.tau by q, ns a state |",
        "|---|---|---|---|",
        f"| NumPy, `kernel(q, qd, qdd)` | {each('NumPy')} | {us('one, NumPy')} | |",
        f"| NumPy, `out=` | {each('NumPy, out=')} | | |",
        f"| `neuler.jax.wrap(kernel)` | {each('jit')} | {us('one, jit')} | {each('both')} |",
        f'| `mode="reverse"` | | | {each("reverse")} |',
        f"| an empty function | {each('empty')} | {us('one, empty')} | |",
    ]
    if other is not None:
        lines.append(f"| frax, pure JAX | {each('frax')} | {us('one, frax')} | {each('frax, grad')} |")
    lines += ["", f"Batch, jit / NumPy: {t['jit'] / t['NumPy']:.2f}; one call beyond the empty function: "]
    lines[-1] += f"{1e6 * (t['one, jit'] - t['one, empty']):.2f} us; a step of `lax.scan`: {1e6 * t['scan']:.0f} ns."
    if other is not None:
        lines[-1] += f" frax agrees to {error:.0e}; frax / neuler: {t['frax'] / t['jit']:.0f} in the batch, "
        lines[-1] += f"{t['frax, grad'] / t['both']:.0f} and {t['frax, grad'] / t['reverse']:.0f} for gradients."
    return [*lines, ""]


def main() -> None:
    """Print the section for a URDF file, the UR5's unless another is named."""
    import sys

    from run import ROBOTS, urdf

    path = Path(sys.argv[1]) if len(sys.argv) > 1 else urdf(next(iter(ROBOTS)))
    robot = neuler.load(path, floating="fixed").without_friction().without_motors()
    print("\n".join(report(path.stem if len(sys.argv) > 1 else next(iter(ROBOTS)), robot, path)))


if __name__ == "__main__":
    main()
