"""How fast, how many operations, how exact: each quantity measured, beside a peer in the same run.

Times are the least of several repeats after a warm-up: what the code costs, not what the machine
was doing meanwhile. Both sides work on the same states, with one thread.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.compiler.build import compile_recipe
from neuler.errors import InputError, NeulerError
from neuler.kernels import Kernel
from neuler.naming import closest
from neuler.peers import Peer, Task, peer
from neuler.peers.pinocchio import Derivatives
from neuler.recipes.quantities import QUANTITIES
from neuler.robot.model import Robot
from neuler.trace.recipe import Operations

Array = NDArray[np.float64]

VERBS = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_force", "gravity_force", "coriolis_matrix",
    "jacobian", "link_poses", "energy", "inverse_dynamics_rate", "link_motions", "inverse_dynamics_sensitivities",
    "forward_dynamics_sensitivities", "reaction_sensitivities",
)  # fmt: skip
"""What is measured unless told otherwise; a Hessian takes long to compile and is measured when asked for."""

REPEATS = 5
SHORTEST = 0.01
"""Seconds that one repeat lasts at least."""
TINY = 1e-6


@dataclass(frozen=True)
class PeerTimes:
    """The peer's side of a comparison. ``error`` is the largest relative difference of any state's results.

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
        """Plain data for JSON."""
        data = asdict(self)
        if self.peer is not None:
            data["peer"]["call_ratio"] = self.peer.call_us / self.call_us
            data["peer"]["batch_ratio"] = self.peer.batch_ns / self.batch_ns
            data["peer"]["error"] = self.peer.error if np.isfinite(self.peer.error) else None
        return data


@dataclass(frozen=True)
class Bench:
    """All measurements of one robot. Bit-equal inputs for both sides; friction and springs left out beside a peer."""

    robot: str
    batch: int
    measurements: tuple[Measurement, ...]
    peer: str = ""
    peer_version: str = ""
    peer_model: str = ""
    without_friction: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        data = {**asdict(self), "machine": machine()}
        data["measurements"] = [one.as_dict() for one in self.measurements]
        return data


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    from neuler import __version__
    from neuler.compiler.target import host

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


def best_seconds(call: Callable[[], Any], repeats: int = REPEATS, shortest: float = SHORTEST) -> float:
    """Seconds of one call: the least mean of several repeats, each at least ``shortest`` long.

    >>> best_seconds(lambda: None, repeats=2, shortest=1e-4) < 0.1
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


def random_states(robot: Robot, names: Sequence[str], count: int, seed: int = 0) -> dict[str, Array]:
    """Seeded states: q of ``robot.random_configuration``; all the rest up to 1 either way.

    The rest is any vector of coordinates (qd, qdd, qddd, qdddd, tau), and a time step dt.
    """
    rng = np.random.default_rng(seed)
    states: dict[str, Array] = {}
    for name in names:
        shape = (count,) if name == "dt" else (count, robot.nv)
        states[name] = robot.random_configuration(rng, count) if name == "q" else rng.uniform(-1.0, 1.0, shape)
    return states


def run(
    robot: Robot,
    *,
    verbs: Iterable[str] = VERBS,
    batch: int = 4096,
    against: str | None = None,
    urdf: str | None = None,
    progress: Callable[[Sequence[str]], Iterable[str]] = iter,
    repeats: int = REPEATS,
    shortest: float = SHORTEST,
) -> Bench:
    """Measure quantities of a robot, beside the peer ``against``; ``urdf`` is the file that the robot came from."""
    chosen = tuple(verbs)
    for name in chosen:
        if name not in QUANTITIES:
            likely = closest(name, QUANTITIES)
            meant = f"did you mean {likely!r}? " if likely else ""
            raise InputError(f"there is no quantity {name!r} to measure; {meant}there are: {', '.join(QUANTITIES)}")
    if not isinstance(batch, int) or batch < 1:
        raise InputError(f"batch must be a positive whole number of states, got {batch!r}")
    other = None
    friction_left_out = False
    if against is not None:
        bare = _without_springs(robot.without_friction())
        friction_left_out = bare != robot
        robot = bare
        other = peer(against, robot, urdf)
    measurements = tuple(_measure(robot, name, batch, other, repeats, shortest) for name in progress(chosen))
    return Bench(
        robot.name,
        batch,
        measurements,
        other.name if other else "",
        other.version if other else "",
        other.model_from if other else "",
        friction_left_out,
    )


def _without_springs(robot: Robot) -> Robot:
    joints = [
        replace(joint, stiffness=0.0, role="passive" if joint.role == "elastic" else joint.role)
        for joint in robot.joints
    ]
    return robot.replace(joints=joints)


def _measure(robot: Robot, quantity: str, batch: int, other: Peer | None, repeats: int, shortest: float) -> Measurement:
    try:
        kernel = Kernel(robot, quantity)
    except NeulerError as error:
        return Measurement(quantity, failure=str(error))
    kernel.threads = 1
    states = random_states(robot, [operand.name for operand in kernel.inputs], batch)
    arrays = tuple(states.values())
    first = tuple(x[0].copy() for x in arrays)
    found = tuple(np.empty((batch, *operand.shape)) for operand in kernel.outputs)
    call = best_seconds(lambda: kernel(*first), repeats, shortest)
    whole = best_seconds(lambda: kernel(*arrays, out=found), repeats, shortest)
    task = other.task(quantity, states) if other else None
    theirs = None if task is None else beside(task, found, repeats, shortest)
    return Measurement(quantity, kernel.operations, _compile_seconds(kernel), 1e6 * call, 1e9 * whole / batch, theirs)


def beside(task: Task, found: tuple[Array, ...], repeats: int = REPEATS, shortest: float = SHORTEST) -> PeerTimes:
    """The peer's times for what neuler found; off those of derivatives what its call from Python costs is taken."""
    one, many = (best_seconds(job, repeats, shortest) for job in (task.one, task.batch))
    spared = best_seconds(task.overhead, repeats, shortest) if isinstance(task, Derivatives) else 0.0
    spared = spared if spared < many else 0.0  # too short to tell apart
    per_state = 1e9 / task.states
    return PeerTimes(1e6 * one, (many - spared) * per_state, task.batched, _agreement(task, found), spared * per_state)


def _agreement(task: Task, found: tuple[Array, ...]) -> float:
    """Of all results; where these are several matrices, each on its own scale."""
    ours, theirs = task.adapt(found)[: task.states], task.results()
    if not isinstance(task, Derivatives):
        return relative_error(ours, theirs)
    return max(relative_error(ours[:, k], theirs[:, k]) for k in range(theirs.shape[1]))


def relative_error(ours: Array, theirs: Array) -> float:
    """The largest difference of any state, relative to the largest number of that state's result.

    Results below ``TINY`` are compared with that: what is zero is rounding on one side.

    >>> relative_error(np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[1.0, 2.5], [0.0, 0.0]]))
    0.2
    """
    a, b = (x.reshape(len(x), -1) for x in (ours, theirs))
    if a.shape != b.shape:
        raise InputError(f"results to compare must have one shape, got {ours.shape} and {theirs.shape}")
    size = np.maximum(np.abs(b).max(axis=1), TINY)
    return float((np.abs(a - b).max(axis=1) / size).max())


_fresh = 0


def _compile_seconds(kernel: Kernel) -> float:
    """From the recursion to machine code, on this machine, now: not what a cached kernel took to load."""
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


def table(bench: Bench) -> str:
    """The measurements as text."""
    from neuler.view.text import columns, shown

    head = ["quantity", "mul", "add", "div", "trig", "compile s", "call us", "batch ns/state"]
    if bench.peer:
        head += ["peer call us", "peer ns/state", "call ratio", "batch ratio", "agreement"]
    rows = [_row(one, bool(bench.peer)) for one in bench.measurements]
    facts = machine()
    lines = [
        f"{shown(bench.robot)}: one thread, batch of {bench.batch} states, best of {REPEATS}; neuler {facts['neuler']}",
        f"{facts['cpu']}; code for {facts['code_for']}; Python {facts['python']}, NumPy {facts['numpy']}",
    ]
    if bench.peer:
        lines.append(f"peer: {bench.peer} {bench.peer_version}, model from {bench.peer_model}")
    lines += ["", columns(head, rows), ""]
    if bench.peer:
        lines.append("ratio: peer's time / ours. agreement: largest relative difference of any state.")
        if any(one.peer and not one.peer.batched for one in bench.measurements):
            lines.append("*: per call; the peer has no batch call for it from Python, its states were looped over.")
        spared = [one.peer.overhead_ns for one in bench.measurements if one.peer and one.peer.overhead_ns]
        if spared:
            lines.append(
                f"Sensitivities: off the peer's ns/state was taken what the same call costs for a robot of one joint "
                f"({min(spared):.0f} to {max(spared):.0f} ns): the way from Python into the library and back. "
                f"agreement: the worst of three matrices, each relative to its own largest number."
            )
        if any(one.peer and one.quantity in ("link_poses", "link_velocities") for one in bench.measurements):
            lines.append("Poses and velocities of links: the peer leaves them in its data; reading them is not timed.")
        if bench.without_friction:
            lines.append("Friction and springs were left out on both sides, so that both compute the same.")
    lines += [f"{one.quantity}: not measured: {shown(one.failure)}" for one in bench.measurements if one.failure]
    return "\n".join(lines).rstrip()


def _row(one: Measurement, beside_peer: bool) -> list[str]:
    if one.operations is None:
        return [one.quantity, *["-"] * (12 if beside_peer else 7)]
    counts = one.operations
    row = [one.quantity, *(str(x) for x in (counts.mul, counts.add, counts.div, counts.trig))]
    row += [f"{one.compile_seconds:.2f}", f"{one.call_us:.2f}", f"{one.batch_ns:.1f}"]
    if not beside_peer:
        return row
    if one.peer is None:
        return row + ["-"] * 5
    theirs = one.peer
    star = "" if theirs.batched else "*"
    return [
        *row,
        f"{theirs.call_us:.2f}",
        f"{theirs.batch_ns:.1f}{star}",
        f"{theirs.call_us / one.call_us:.2f}",
        f"{theirs.batch_ns / one.batch_ns:.1f}{star}",
        f"{theirs.error:.1e}",
    ]
