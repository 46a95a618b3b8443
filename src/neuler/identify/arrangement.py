"""Whether torques and positions are those of the joints that they are named after, whatever the robot weighs.

A regressor knows how a robot can move and nothing of its parameters. Where the best parameters of all explain the
torques far better with two of them interchanged, or with one of opposite sign, their columns are named wrongly; and so
with positions. With the standard deviation sd_j of what weighted least squares leaves of each torque, the likelihood
of an arrangement is that of the least sum of log sd_j. A joint that moves by itself explains its torque with either
sign: friction that drives it tells. Delays of all torques together are tried one by one; then each torque has a delay d
of its own, a parameter with the column -dtau/dt, because tau(t - d) = tau - d dtau/dt to first order.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.identify.consistency import LATE, delays_said
from neuler.identify.plausibility import names_of
from neuler.identify.prepared import Prepared
from neuler.identify.rows import Regression, moving_rows
from neuler.identify.stacked import Triangles, solved

Array = NDArray[np.float64]
ROWS = 1500
"""Rows of all logs that are looked at."""
BETTER = 1.3
"""How many times less another arrangement leaves of each torque that it moves, from which on it is named."""
LATEST, TRIED = 0.1, (1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 85)
"""Seconds by which torques may be late, and samples of delay that are tried, both ways."""
_STEPS, _LONGEST = 4, 2.0
"""Steps for delays of their own, and samples of one step at most."""
_REFINED = (16.0, 8.0, 4.0, 2.0, 1.0, 1.0)
"""Samples by which a delay of all torques is refined."""
_SURE = 8.0
"""Logarithm of a ratio of likelihoods that is no chance, of a parameter that is one of many."""
_OPEN = 1.5
"""How many times more parameters of one robot leave than a torque's own would, from which on signs are tried."""
_UNEXPLAINED = 0.02
"""Share of a torque's power that is left, from which on other positions are tried."""
_DRIVES = 0.05
"""Share of a joint's power that friction gives instead of taking it, from which on the sign is doubted."""
_MOST = 16
"""Joints of robots that are looked at: there is a pair of each two."""
_PASSES, _FEW, _SETTLED = 8, 2, 0.01
"""Of weighted least squares, of trials, and the relative change of standard deviations at which they end."""
_LOSSES = ("viscous", "coulomb", "coulomb_reverse")


@dataclasses.dataclass(frozen=True)
class Arrangement:
    """Whose column each joint takes, and the sign of each."""

    order: tuple[int, ...]
    signs: tuple[float, ...]

    @property
    def moved(self) -> list[int]:
        """Joints that get another column than their own."""
        pairs = enumerate(zip(self.order, self.signs, strict=True))
        return [k for k, (at, sign) in pairs if k != at or sign < 0.0]

    def of(self, values: Array) -> Array:
        """Columns (n, joints) in this arrangement."""
        return values[:, list(self.order)] * np.array(self.signs)

    def said(self, what: str, names: Sequence[str]) -> str:
        """In words: "the torques tau_a and tau_b interchanged"."""
        own = [f"{what}_{names[k]}" for k in self.moved]
        kind = "torque" if what == "tau" else "position"
        if min(self.signs) < 0.0:
            return f"the {kind} {own[0]} reversed, or its counterpart,"
        return f"the {kind}s {own[0]} and {own[1]} interchanged"


def misplaced(regression: Regression, logs: Sequence[Prepared]) -> list[str]:
    """What to say of torques and positions that would be explained far better as those of other joints or times.

    >>> import neuler
    >>> robot, t = neuler.robots.two_link(), np.arange(0.0, 10.0, 0.02)
    >>> q = np.stack([np.sin(2.1 * t) + 0.5 * np.sin(5.2 * t), np.cos(3.3 * t) + 0.3 * np.sin(1.7 * t)], axis=-1)
    >>> qd, qdd = (np.gradient(x, t, axis=0) for x in (q, np.gradient(q, t, axis=0)))
    >>> swapped = neuler.identify.Log(robot, t, q, robot.inverse_dynamics(q, qd, qdd)[:, ::-1])
    >>> found = neuler.identify.fit(swapped.prepare(check=False), columns="links")
    >>> [note[:54] for note in found.notes if "interchanged" in note]
    ['with the torques tau_joint1 and tau_joint2 interchange']
    """
    robot = regression.robot
    if not 1 < robot.nu <= _MOST or robot.nu != robot.nv or not robot.coordinates.own.plain:
        return []
    sample = _Sample(regression, logs)
    tau, rows = sample.tau(), _Rows(sample.W, sample.moving)
    now = rows.fitted(tau - sample.known)
    alone = rows.alone(tau, sample.known)
    found: list[tuple[float, str]] = []
    positions: list[Arrangement] = []
    for each in _likely(alone, now.sd, rows.levels(tau - sample.known)):
        gain = _gain(now, rows.fitted(each.of(tau) - sample.known, now.sd), each)
        if gain > BETTER:
            found.append((gain, each.said("tau", robot.coordinates.names("tau"))))
            positions.append(each)
    if robot.nq == robot.nv:
        if not positions and alone.diagonal().max() > _UNEXPLAINED:
            positions = [*_swaps(robot.nv), *_flips(robot.nv)]
        for each in positions:
            other = sample.moved(each)
            if other is not None and (gain := _gain(now, other, each)) > BETTER:
                found.append((gain, each.said("q", robot.coordinates.names("q"))))
    if found:
        gain, what = max(found)
        return [
            f"with {what} what is left of the torques is 1/{gain:.2g} of what it is, whatever the robot weighs: are "
            "these columns named rightly?"
        ]
    values = dict(zip(regression.names, now.values.tolist(), strict=False))  # friction by load has no column here
    return [*_driven(sample, values), *_late(sample, rows, now)]


def _driven(sample: _Sample, values: Mapping[str, float]) -> list[str]:
    """Joints whose friction comes out as driving them."""
    qd, tau = sample.rates, sample.tau()
    found = []
    for k, owner in enumerate(sample.regression.robot.coordinates.owners("tau")):
        viscous, coulomb, reverse = (values.get(f"{owner.name}.{part}") for part in _LOSSES)
        if coulomb is None or viscous is None:
            continue
        at = sample.moving[:, k]
        dry = np.where(qd[at, k] > 0.0, coulomb, coulomb if reverse is None else reverse)
        lost = float((viscous * qd[at, k] ** 2 + dry * np.abs(qd[at, k])).sum())
        if lost < -_DRIVES * float(np.abs(tau[at, k] * qd[at, k]).sum()):
            found.append(
                f"the friction of {owner.name!r} comes out as driving it: has tau_{owner.name} the opposite sign?"
            )
    return found


def _late(sample: _Sample, rows: _Rows, now: _Fitted) -> list[str]:
    """Torques that are later or earlier than the motion: all of them alike, or else some."""
    rate, most = sample.rate, min(LATEST, 0.1 * sample.seconds)
    counts = np.minimum(sample.independent, rows.counts)
    names, than = names_of(sample.regression.robot, "tau"), "the torques of the best parameters"
    together = _common(sample, rows, now, counts, most)
    if abs(together) >= LATE / 2:
        return delays_said(dict.fromkeys(range(len(names)), together), names, rate, than)
    delays, fitted = np.zeros(len(names)), now
    for _ in range(_STEPS):
        fitted = rows.fitted(sample.tau(delays) - sample.known, fitted.sd, -sample.slopes(delays))
        step = np.clip(fitted.extra * rate, -_LONGEST, _LONGEST)
        delays = np.clip(delays + step / rate, -most, most)
        if np.abs(step).max() < 0.1:
            break
    sure = (np.log(now.sd / fitted.sd) * counts > _SURE) & (np.abs(delays) < most)
    own = {k: x for k, x in enumerate((delays * rate).tolist()) if sure[k] and abs(x) >= LATE}
    return delays_said(own, names, rate, than)


def _common(sample: _Sample, rows: _Rows, now: _Fitted, counts: Array, most: float) -> float:
    """By how many samples all torques are late, zero where that is no better beyond doubt."""
    known: dict[float, float] = {}

    def likelihood(samples: float) -> float:
        if samples not in known:
            tau = sample.tau(np.full(len(counts), samples / sample.rate))
            known[samples] = float(counts @ np.log(rows.fitted(tau - sample.known, now.sd, passes=_FEW).sd))
        return known[samples]

    tried = [float(sign * each) for each in TRIED for sign in (1, -1) if each / sample.rate < most]
    best = min([0.0, *tried], key=likelihood)
    for near in _REFINED:  # between those that were tried, then by a parabola
        best = min((best - near, best, best + near), key=likelihood) if near < abs(best) else best
    if likelihood(0.0) - likelihood(best) < _SURE:
        return 0.0
    before, here, after = (likelihood(best + k) for k in (-1.0, 0.0, 1.0))
    bend = before - 2.0 * here + after
    return best + float(np.clip(0.5 * (before - after) / bend, -1.0, 1.0)) if bend > 0.0 else best


# ---- arrangements ---------------------------------------------------------------------------------------------------


def _swaps(count: int) -> Iterator[Arrangement]:
    for a, b in itertools.combinations(range(count), 2):
        order = list(range(count))
        order[a], order[b] = b, a
        yield Arrangement(tuple(order), (1.0,) * count)


def _flips(count: int) -> Iterator[Arrangement]:
    for k in range(count):
        yield Arrangement(tuple(range(count)), tuple(-1.0 if j == k else 1.0 for j in range(count)))


def _likely(alone: Array, sd: Array, levels: Array) -> Iterator[Arrangement]:
    """Those worth trying: torques that each other's joint explains better, signs where joints contradict."""
    for each in _swaps(len(sd)):
        a, b = each.moved
        if alone[a, b] * alone[b, a] < alone[a, a] * alone[b, b]:
            yield each
    if (sd > _OPEN * np.sqrt(alone.diagonal()) * levels).any():
        yield from _flips(len(sd))


def _gain(now: _Fitted, then: _Fitted, each: Arrangement) -> float:
    """How many times less is left, the mean over the joints that an arrangement moves."""
    return float(np.exp(np.log(now.sd / then.sd).sum() / len(each.moved)))


# ---- rows -----------------------------------------------------------------------------------------------------------


class _Sample:
    """Some rows of all logs, and their torques at any delay."""

    def __init__(self, regression: Regression, logs: Sequence[Prepared]) -> None:
        self.regression = regression
        self.states = [_thinned(each, -(-ROWS // len(logs))) for each in logs]
        self.rate = min(each.rate / each.settings["decimate"] for each in logs)
        self.seconds = min(float(each.t[-1] - each.t[0]) for each in logs)
        self.W, self.known = self._columns(self.states)
        self.moving = np.concatenate([moving_rows(each, each.tau.shape) for each in self.states])
        self.rates = np.concatenate([each.qd for each in self.states])
        self.independent = self.moving.mean(axis=0) * sum(_independent(each) for each in logs)
        """Rows of each torque that filters leave independent, (nu,)."""
        self.series = [(each.decimated(each.t), each.filter(each.tau)) for each in logs]

    def _columns(self, states: Sequence[Prepared]) -> tuple[Array, Array]:
        """The regressor (n, nu, p), and what is known beside it, (n, nu)."""
        parts = [self.regression.columns_along(each) for each in states]
        return np.concatenate([W for W, _ in parts]), np.concatenate([known for _, known in parts])

    def tau(self, delays: Array | None = None) -> Array:
        """Torques (n, nu), those of later times by ``delays`` (nu,) in s."""
        return self._read([tau for _, tau in self.series], delays)

    def slopes(self, delays: Array) -> Array:
        """Derivatives of the torques, likewise."""
        return self._read([np.gradient(tau, t, axis=0) for t, tau in self.series], delays)

    def _read(self, values: Sequence[Array], delays: Array | None) -> Array:
        found = []
        for state, (t, _), own in zip(self.states, self.series, values, strict=True):
            late = np.zeros(own.shape[1]) if delays is None else delays
            found.append(np.stack([np.interp(state.t + d, t, x) for d, x in zip(late, own.T, strict=True)], axis=1))
        return np.concatenate(found)

    def moved(self, each: Arrangement) -> _Fitted | None:
        """What is fitted with positions arranged in another way; None where the robot cannot be there."""
        states = []
        for state in self.states:
            q, qd, qdd = (each.of(x) for x in (state.q, state.qd, state.qdd))
            states.append(dataclasses.replace(state, q=q, qd=qd, qdd=qdd))
        W, known = self._columns(states)
        return _Rows(W, self.moving).fitted(self.tau() - known) if np.isfinite(W).all() else None


def _independent(ready: Prepared) -> float:
    """Of noise below a cut-off f, 2 f T numbers are independent."""
    cutoff = ready.settings["torque_cutoff"] or np.inf
    return min(2.0 * cutoff * float(ready.t[-1] - ready.t[0]), float(len(ready.t)))


def _thinned(ready: Prepared, most: int) -> Prepared:
    """Some of a prepared log's rows."""
    step = max(1, len(ready.decimated(ready.t)) // most)
    keys = ("t", "q", "qd", "qdd", "tau", "moving", "rows")
    settings = {**ready.settings, "torque_cutoff": None, "decimate": 1}
    rows: dict[str, Any] = {key: ready.decimated(getattr(ready, key))[::step] for key in keys}
    return dataclasses.replace(ready, settings=settings, **rows)


class _Fitted(NamedTuple):
    """Weighted least squares: parameters, those of the columns beside them, and what is left of every torque."""

    values: Array
    extra: Array
    sd: Array


class _Joint(NamedTuple):
    """Rows of one joint: which, the columns that are not zero, and their factors."""

    at: NDArray[np.intp]
    used: NDArray[np.intp]
    Q: Array
    R: Array


class _Rows:
    """The regressor of every joint as orthogonal and triangular factors, for any torques."""

    def __init__(self, W: Array, moving: NDArray[np.bool_]) -> None:
        _, self.nu, self.p = W.shape
        self.joints: list[_Joint] = []
        for j in range(self.nu):
            at = np.flatnonzero(moving[:, j])
            own = W[at, j]
            used = np.flatnonzero(own.any(axis=0))
            Q, R = np.linalg.qr(own[:, used])
            self.joints.append(_Joint(at, used, Q, R))
        self.counts = np.array([float(max(len(joint.at), 1)) for joint in self.joints])

    def levels(self, y: Array) -> Array:
        """Root mean squares of torques (n, nu) in the rows of their joints, (nu,)."""
        return np.array([np.sqrt((y[joint.at, j] ** 2).mean()) for j, joint in enumerate(self.joints)])

    def alone(self, tau: Array, known: Array) -> Array:
        """Of each joint, the share of each torque's power that its own best parameters leave, (nu, nu)."""
        shares = np.ones((self.nu, self.nu))
        for j, joint in enumerate(self.joints):
            y = tau[joint.at] - known[joint.at, j, None]
            power = (y**2).sum(axis=0)
            left = np.maximum(power - ((joint.Q.T @ y) ** 2).sum(axis=0), 0.0)
            shares[j] = np.divide(left, power, out=np.ones(self.nu), where=power > 0.0)
        return shares

    def _triangles(self, y: Array, beside: Array | None) -> Triangles:
        size = self.p + (0 if beside is None else self.nu)
        factors = np.zeros((self.nu, size + 1, size + 1))
        for j, (at, used, Q, R) in enumerate(self.joints):
            both = y[at, j, None]
            if beside is not None:
                both = np.column_stack([beside[at, j], both])
            inside = Q.T @ both
            left = np.linalg.qr(both - Q @ inside, mode="r")
            columns = np.array([size] if beside is None else [self.p + j, size])
            factors[j][: len(R), used] = R
            factors[j][: len(R), columns] = inside
            factors[j][len(R) : len(R) + len(left), columns] = left
        return Triangles(factors, self.counts)

    def fitted(self, y: Array, sd: Array | None = None, beside: Array | None = None, passes: int = _PASSES) -> _Fitted:
        """Fit torques y (n, nu), from standard deviations on; ``beside`` (n, nu) is a column of each joint's own."""
        rows = self._triangles(y, beside)
        least = 1e-9 * max(float(rows.levels.max()), 1e-300)
        sd = np.maximum(rows.levels if sd is None else sd, least)
        for _ in range(passes):
            values = solved(rows.combined(sd)).values
            before, sd = sd, np.maximum(np.sqrt(rows.squares(values) / self.counts), least)
            if np.allclose(sd, before, rtol=_SETTLED, atol=0.0):
                break
        return _Fitted(values[: self.p], values[self.p :], sd)
