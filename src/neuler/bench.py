"""How fast, how many operations, how exact: each quantity measured, beside a peer in the same run.

Times are the least of several repeats after a warm-up: what the code costs, not what the machine
was doing meanwhile. Both sides work on the same states, with one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler import speed
from neuler.errors import InputError
from neuler.peers import Peer, PeerTask, peer
from neuler.peers.pinocchio import DerivativeTask
from neuler.plain import columns, shown
from neuler.robot import Robot
from neuler.speed import (
    REPEATS,
    SHORTEST,
    VERBS,
    Measurement,
    PeerTimes,
    best_seconds,
    default_verbs,
    machine,
    random_states,
)  # fmt: skip

__all__ = [
    "VERBS", "Bench", "Measurement", "PeerTimes", "beside", "best_seconds", "default_verbs", "machine",
    "random_states", "relative_error", "run", "table",
]  # fmt: skip

Array = NDArray[np.float64]
TINY = 1e-6


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
        """Measurements and machine as plain data, ready for JSON."""
        data = {**asdict(self), "machine": machine()}
        data["measurements"] = [one.as_dict() for one in self.measurements]
        return data


def run(
    robot: Robot,
    *,
    verbs: Iterable[str] | None = None,
    batch: int = 4096,
    against: str | None = None,
    urdf: str | None = None,
    progress: Callable[[Sequence[str]], Iterable[str]] = iter,
    repeats: int = REPEATS,
    shortest: float = SHORTEST,
) -> Bench:
    """Measure quantities of a robot, beside the peer ``against``; ``urdf`` is the file that the robot came from."""
    chosen = speed.check(robot, default_verbs(robot) if verbs is None else verbs, batch)
    other = None
    friction_left_out = False
    if against is not None:
        bare = _without_springs(robot.without_friction())
        friction_left_out = bare != robot
        robot = bare
        other = peer(against, robot, urdf)
    measurements = tuple(_measured(robot, name, batch, other, repeats, shortest) for name in progress(chosen))
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


def _measured(
    robot: Robot, quantity: str, batch: int, other: Peer | None, repeats: int, shortest: float
) -> Measurement:
    ours = speed.measure(robot, quantity, batch, repeats, shortest)
    task = other.task(quantity, ours.states) if other and not ours.measurement.failure else None
    if task is None:
        return ours.measurement
    return replace(ours.measurement, peer=beside(task, ours.found, repeats, shortest))


def beside(task: PeerTask, found: tuple[Array, ...], repeats: int = REPEATS, shortest: float = SHORTEST) -> PeerTimes:
    """The peer's times for what neuler found; off those of derivatives what its call from Python costs is taken."""
    one, many = (speed.best_seconds(job, repeats, shortest) for job in (task.one, task.batch))
    spared = speed.best_seconds(task.overhead, repeats, shortest) if isinstance(task, DerivativeTask) else 0.0
    spared = spared if spared < many else 0.0  # too short to tell apart
    per_state = 1e9 / task.states
    return PeerTimes(1e6 * one, (many - spared) * per_state, task.batched, _agreement(task, found), spared * per_state)


def _agreement(task: PeerTask, found: tuple[Array, ...]) -> float:
    """Of all results; where these are several matrices, each on its own scale."""
    ours, theirs = task.adapt(found)[: task.states], task.results()
    if not isinstance(task, DerivativeTask):
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


def table(bench: Bench) -> str:
    """The measurements as a table of text, a line a quantity."""
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
