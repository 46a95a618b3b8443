"""What to excite next: which joint, moved farther or faster, would show a direction that a motion hardly shows.

A direction v of base parameters is hardly determined where |W v| is small, with the columns of W divided by their norms
and |v| = 1. A second run is imagined in which one joint at a time moves farther about the middle of its motion, or
twice as fast, (q, 2 qd, 4 qdd), all others as before. With the rows W' of that run, the standard deviation of v is
proportional to sqrt(v^T (W^T W + W'^T W')^-1 v). The gain is by how much it falls below that of the same motion run
twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuler.identify.diagnosis import DOMINANT
from neuler.identify.least_squares import BADLY
from neuler.identify.prepared import Prepared
from neuler.identify.singular import singular
from neuler.solve.base_parameters import BaseParameters

Array = NDArray[np.float64]
_ROWS = 600
"""Rows of all runs that are looked at."""
_HELPS = 1.15
"""Gain from which a change is worth naming."""
_NEVER = 1e-9
"""Relative singular value below which a direction is not shown at all."""
_STILL = 0.05
"""Share of what it would move in the imagined run below which a joint has no motion of its own to be enlarged."""
WAYS = ("farther", "faster")


@dataclass(frozen=True)
class Remedy:
    """A joint that is moved farther or faster, and how many times as exactly the direction is known then."""

    joint: str
    way: str
    now: float
    """How far it moves to either side (rad or m), or how fast it is at most (rad/s or m/s)."""
    then: float
    unit: str
    gain: float

    def __str__(self) -> str:
        """What to do, and what it is worth."""
        size = "\N{PLUS-MINUS SIGN}" if self.way == "farther" else ""
        return (
            f"move {self.joint} {self.way}, {size}{self.then:.2g} {self.unit} instead of {size}{self.now:.2g} "
            f"(its uncertainty falls to 1/{self.gain:.3g})"
        )


@dataclass(frozen=True)
class Advice:
    """A combination of base parameters that the motion hardly shows, and what would show it, best first."""

    singular_value: float
    """|W v|, relative to that of the direction that is shown best."""
    columns: tuple[str, ...]
    """The parameters that dominate the combination."""
    remedies: tuple[Remedy, ...]
    tried: bool = True
    """Whether remedies were looked for: not of robots with loops or quaternions."""

    @property
    def otherwise(self) -> str:
        """What to do where no remedy is named."""
        if self.tried:
            return "no joint alone shows it; let several move together, through other poses"
        return "move farther and faster, through other poses"

    def __str__(self) -> str:
        """One sentence.

        >>> print(Advice(0.002, ("link3.mx", "link4.mass"), (Remedy("joint3", "faster", 0.5, 1.0, "rad/s", 2.1),)))
        link3.mx, link4.mass: move joint3 faster, 1 rad/s instead of 0.5 (its uncertainty falls to 1/2.1)
        """
        names = ", ".join(self.columns[:4]) + (f" and {len(self.columns) - 4} more" if len(self.columns) > 4 else "")
        told = "; or ".join(map(str, self.remedies[:3]))
        return f"{names}: {told or self.otherwise}"


def advice(
    base: BaseParameters, runs: Sequence[Prepared], force_sd: Array | None = None, most: int = 5
) -> tuple[Advice, ...]:
    """What would show the ``most`` worst of the directions that runs excite badly; none where they excite well.

    Rows of each force are divided by ``force_sd`` (nu,), as a weighted fit divides them. Of robots with loops or
    quaternions the directions are named without remedies.
    """
    states = [_thinned(run, -(-_ROWS // len(runs))) for run in runs]
    t, q, qd, qdd = (np.concatenate([state[k] for state in states]) for k in range(4))
    kernel = base.regressor()
    scale = np.ones(base.robot.nu) if force_sd is None else force_sd

    def rows(*state: Array) -> Array:
        W = (np.asarray(kernel(*state)) / scale[:, None]).reshape(-1, len(base))
        return W[np.isfinite(W).all(axis=1)]

    W = rows(q, qd, qdd)
    if not W.size:
        return ()
    norms = np.linalg.norm(W, axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    _, s, Vt = singular(W / norms, full=False)
    weak = [k for k in range(len(s) - 1, -1, -1) if s[k] * BADLY < s[0]][:most]
    if not weak:
        return ()
    before = np.linalg.qr(W / norms, mode="r")
    twice = _spread(np.vstack([before, before]), Vt[weak])
    gains = []
    for remedy, state in _imagined(base, t, q, qd, qdd):
        gains.append((remedy, twice / _spread(np.vstack([before, rows(*state) / norms]), Vt[weak])))
    found = []
    for place, k in enumerate(weak):
        v = Vt[k]
        named = [j for j in np.argsort(-np.abs(v), kind="stable") if abs(v[j]) >= 3 * DOMINANT * np.abs(v).max()]
        every = [replace(remedy, gain=float(gain[place])) for remedy, gain in gains if gain[place] >= _HELPS]
        every.sort(key=lambda remedy: -remedy.gain)
        found.append(Advice(float(s[k] / s[0]), tuple(base.names[j] for j in named), tuple(every[:4]), bool(gains)))
    return tuple(found)


def _spread(W: Array, directions: Array) -> Array:
    """Standard deviations sqrt(v^T (W^T W)^-1 v) of directions v, (k, p), for rows of unit variance."""
    _, s, Vt = singular(np.asarray(np.linalg.qr(W, mode="r")))
    return np.asarray(np.linalg.norm((directions @ Vt.T) / np.maximum(s, _NEVER * s[0]), axis=1))


def _thinned(run: Prepared, most: int) -> tuple[Array, Array, Array, Array]:
    step = max(1, len(run.t) // most)
    return run.t[::step], run.q[::step], run.qd[::step], run.qdd[::step]


State = tuple[Array, Array, Array]


def _imagined(base: BaseParameters, t: Array, q: Array, qd: Array, qdd: Array) -> Iterator[tuple[Remedy, State]]:
    """Remedies, their gain not yet known, with the motion of each.

    Farther is twice as far, and at least as far as half of the other joints with the same unit, within its limits. A
    joint that rests is given a sine as fast as the motion of the others.
    """
    table = base.robot.coordinates
    if base.robot.nq != base.robot.nv or not table.own.plain or len(table.own.places) < base.robot.nq:
        return
    middle, half = (q.max(axis=0) + q.min(axis=0)) / 2, (q.max(axis=0) - q.min(axis=0)) / 2
    units, pace = table.units("q"), np.sqrt((qd**2).mean(axis=0) / np.maximum(((q - middle) ** 2).mean(axis=0), 1e-300))
    for k, (name, owner) in enumerate(zip(table.names("q"), table.owners("q"), strict=True)):
        alike = [j for j, unit in enumerate(units) if unit == units[k]]
        limits = owner.joint.limits
        room = max(min(limits.upper - middle[k], middle[k] - limits.lower), half[k])
        far = min(max(2.0 * half[k], float(np.median(half[alike]))), room)
        if half[k] > _STILL * far:
            motion = [x * (far / half[k]) for x in (q[:, k] - middle[k], qd[:, k], qdd[:, k])]
        else:
            w = float(np.median(pace[half >= np.median(half)]))
            motion = [far * np.sin(w * t), far * w * np.cos(w * t), -far * w * w * np.sin(w * t)]
        unit = units[k]
        if far > 1.2 * half[k]:
            state = _put(q, k, middle[k] + motion[0]), _put(qd, k, motion[1]), _put(qdd, k, motion[2])
            yield Remedy(name, WAYS[0], float(half[k]), far, unit, 0.0), state
        most = float(np.abs(qd[:, k]).max())
        if 2.0 * most <= limits.velocity:
            yield (
                Remedy(name, WAYS[1], most, 2.0 * most, f"{unit}/s", 0.0),
                (q, _put(qd, k, 2.0 * qd[:, k]), _put(qdd, k, 4.0 * qdd[:, k])),
            )


def _put(values: Array, place: int, column: Array) -> Array:
    found = values.copy()
    found[:, place] = column
    return found
