"""How fast a quantity of a robot is: its operations, one call, a batch of states, and what compiling it takes.

Times are the least of several repeats after a warm-up: what the code costs, not what the computer was doing meanwhile.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.compiler.build import compile_recipe
from neuler.errors import InputError, NeulerError
from neuler.kernels import Kernel
from neuler.quantities.catalogue import find, offered
from neuler.robot import Robot
from neuler.trace.recipe import Operations

Array = NDArray[np.float64]

VERBS = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_force", "gravity_force", "coriolis_matrix",
    "jacobian", "link_poses", "energy", "inverse_dynamics_rate", "link_motions", "inverse_dynamics_sensitivities",
    "forward_dynamics_sensitivities", "reaction_sensitivities",
)  # fmt: skip
"""What is measured unless told otherwise; a Hessian takes long to compile and is measured when asked for."""
SLOW = ("forward_dynamics_sensitivities", "reaction_sensitivities")
MANY = 20
"""What takes long to compile, and the velocities beyond which it is measured only when asked for."""
IN_LOOPS = ("closure", "coupling_matrix", "tree_motion", "reaction_wrenches", "constrained_dynamics")
"""What is measured besides where there are loops; there sensitivities take long to compile, too."""

REPEATS = 5
SHORTEST = 0.01
"""Seconds that one repeat lasts at least."""
CLOSED_STATES = 64
"""Different positions with closed loops among the states of a batch."""


@dataclass(frozen=True)
class PeerTimes:
    """Another library's side of a comparison. ``error`` is the largest relative difference of any state's results.

    ``overhead_ns`` is what a call from Python costs that does nearly nothing, where it was taken off ``batch_ns``.
    """

    call_us: float
    batch_ns: float
    batched: bool
    error: float
    overhead_ns: float = 0.0


@dataclass(frozen=True)
class Measurement:
    """One quantity: operations and times; ``failure`` says why there are none."""

    quantity: str
    operations: Operations | None = None
    compile_seconds: float = 0.0
    call_us: float = 0.0
    batch_ns: float = 0.0
    peer: PeerTimes | None = None
    failure: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The measurement as plain data, ready for JSON."""
        data = asdict(self)
        if self.peer is not None:
            data["peer"]["call_ratio"] = self.peer.call_us / self.call_us
            data["peer"]["batch_ratio"] = self.peer.batch_ns / self.batch_ns
            data["peer"]["error"] = self.peer.error if np.isfinite(self.peer.error) else None
        return data


def default_verbs(robot: Robot) -> tuple[str, ...]:
    """What is measured unless told otherwise."""
    if not robot.loops:
        return tuple(name for name in VERBS if robot.nv <= MANY or name not in SLOW)
    return (*(name for name in VERBS if not name.endswith("sensitivities")), *IN_LOOPS)


def check(robot: Robot, verbs: Iterable[str], batch: object) -> tuple[str, ...]:
    """The quantities to measure; unknown ones, and a batch that is none, are refused."""
    chosen = tuple(verbs)
    for name in chosen:
        whose = find(name).whose
        if find(name).name not in offered(robot):
            raise InputError(f"{name}: robot {robot.name!r} has no {whose}; it exists for robots with {whose} alone")
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise InputError(f"batch must be a positive whole number of states, got {batch!r}")
    return chosen


def random_states(robot: Robot, names: Sequence[str], count: int, seed: int = 0) -> dict[str, Array]:
    """Seeded states: q of ``robot.random_configuration``; all the rest up to 1 either way.

    The rest is any vector of coordinates (qd, qdd, qddd, qdddd, tau), and a time step dt. Where there are loops some
    positions are used over and over.
    """
    sizes: dict[str, tuple[int, ...]] = {"dt": (), "tau": (robot.nu,)}
    return _states(robot, {name: sizes.get(name, (robot.nv,)) for name in names}, count, seed)


def _states(robot: Robot, shapes: dict[str, tuple[int, ...]], count: int, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    states: dict[str, Array] = {}
    for name, shape in shapes.items():
        if name in ("q", "q_link"):
            few = robot.random_configuration(rng, min(count, CLOSED_STATES) if robot.loops else count)
            every = np.resize(few, (count, robot.nq))
            states[name] = every if name == "q" else every[:, : shape[0]]  # joints come first, then motors
        else:
            states[name] = rng.uniform(-1.0, 1.0, (count, *shape))
    return states


@dataclass(frozen=True)
class Measured:
    """A measurement with the states it was made at and what was found there."""

    measurement: Measurement
    states: dict[str, Array]
    found: tuple[Array, ...]


def measure(
    robot: Robot,
    quantity: str,
    batch: int = 4096,
    repeats: int = REPEATS,
    shortest: float = SHORTEST,
    *,
    compile_again: bool = True,
) -> Measured:
    """One quantity, with one thread; where the robot cannot have it, the reason.

    Code that came from the cache is compiled once more to see how long that takes; without ``compile_again`` the time
    counts that it took when it was stored.
    """
    try:
        kernel = robot.compile(quantity)
        _ = kernel.ufunc  # some robots show only in the making that they cannot have it
    except NeulerError as error:
        return Measured(Measurement(quantity, failure=str(error)), {}, ())
    kernel.threads = 1
    states = _states(robot, {operand.name: operand.shape for operand in kernel.inputs}, batch)
    arrays = tuple(states.values())
    first = tuple(x[0].copy() for x in arrays)
    found = tuple(np.empty((batch, *operand.shape)) for operand in kernel.outputs)
    call = best_seconds(lambda: kernel(*first), repeats, shortest)
    into = found if len(found) > 1 else found[0]
    whole = best_seconds(lambda: kernel(*arrays, out=into), repeats, shortest)
    seconds = _compile_seconds(kernel) if compile_again else kernel.compiled_in
    told = Measurement(quantity, kernel.operations, seconds, 1e6 * call, 1e9 * whole / batch)
    return Measured(told, states, found)


# ---- the clock -----------------------------------------------------------------------------------


def best_seconds(call: Callable[[], Any], repeats: int = REPEATS, shortest: float = SHORTEST) -> float:
    """Seconds of one call: the least mean of several repeats, each at least ``shortest`` long.

    >>> best_seconds(lambda: None, repeats=2, shortest=1e-4) > 0
    True
    """
    count = 1
    while (spent := _seconds(call, count)) < shortest:  # also the warm-up
        count = max(2 * count, int(count * shortest / max(spent, 1e-9)))
    return min(_seconds(call, count) for _ in range(repeats)) / count


def _seconds(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


_fresh = 0


def _compile_seconds(kernel: Kernel) -> float:
    """From the recursion to machine code, on this computer, now: not what a cached kernel took to load."""
    global _fresh
    if not kernel.cached:
        return kernel.compile_seconds
    _fresh += 1
    with _cache_off():
        doc = kernel.__doc__ or ""
        return compile_recipe(kernel.recipe, kernel.quantity, doc, kernel.dtype.name, ("bench", _fresh)).seconds


@contextmanager
def _cache_off() -> Iterator[None]:
    before = os.environ.get("NEULER_CACHE_DIR")
    os.environ["NEULER_CACHE_DIR"] = "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ["NEULER_CACHE_DIR"]
        else:
            os.environ["NEULER_CACHE_DIR"] = before


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    from neuler.compiler.target import host
    from neuler.version import __version__

    target = host()
    return {
        "cpu": _cpu_name(),
        "code_for": f"{target.cpu}, {target.lanes('float64')} doubles a vector",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "neuler": __version__,
    }


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()
