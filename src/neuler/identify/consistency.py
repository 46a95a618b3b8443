"""Whether the columns of a log belong together: signs, units, order and delays of velocities and torques.

Velocities are compared with the derivatives of the positions, torques with those of the robot's own model, which is
right for the most part before anything is identified. Nothing is corrected: what looks wrong is named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuler.identify.plausibility import Findings, names_of
from neuler.identify.singular import singular
from neuler.robot import Robot

Array = NDArray[np.float64]

_SURE, _LIKELY = 0.95, 0.8
"""Correlations that leave no doubt, and that are worth a note."""
_RATIO = 0.1
"""A column belongs elsewhere where it leaves so much less unexplained."""
_FACTOR, _OFF = 0.05, 3.0
"""How far the factor of a velocity may be from 1, and how many times as large as the model's a torque may be."""
_LATEST = 0.1
"""Seconds by which columns may be delayed; at least five samples are tried."""
_UNEXPLAINED, _MOST = 0.05, 16
"""What a model may leave unexplained before other signs and orders of positions are tried; joints of such robots."""
_GAIN = 0.8
"""A delay is believed where it makes the unexplained part at least so much smaller."""
_RESTS = 0.1
"""Share of rows in which a joint must move for its torque to be taken for another one's."""
LATE = 1.0
"""Samples from which on a delay is said."""
_KNOWN = {
    180.0 / math.pi: "it is in degrees: units={'qd': 'deg/s'}",
    math.pi / 180.0: "positions are in degrees: units={'q': 'deg'}",
    30.0 / math.pi: "it is in revolutions per minute: units={'qd': 'rpm'}",
    1000.0: "it is in thousandths of the unit: units={'qd': 'mm/s'}",
}
_ROWS, _FEW = 20_000, 1000
"""Rows of a long log that are compared, in one piece from its middle; rows for trials, from all over it."""


# ---- velocities ---------------------------------------------------------------------------------------------------


def check_velocities(robot: Robot, rate: float, slope: Array, qd: Array, least: Array) -> Findings:
    """Compare velocities qd (n, nv) with the derivatives ``slope`` (n, nv) of the positions, both filtered alike.

    ``least`` (nv,): amplitudes below which a column is noise.
    """
    found = Findings([], [])
    slope, qd = _middle(slope), _middle(qd)
    names, positions = names_of(robot, "qd"), _position_names(robot)
    moves = (slope.std(axis=0) > least) & (qd.std(axis=0) > 0.0)
    alike = _correlations(slope, qd)
    swapped, doubtful = _misplaced(alike, moves)
    for b, a in (swapped | doubtful).items():
        (found.errors if b in swapped else found.notes).append(
            f"column {names[b]!r} follows the position {positions[a]!r}, not {positions[b]!r} (correlations "
            f"{alike[a, b]:.2f} and {alike[b, b]:.2f}): columns look swapped; correct columns="
        )
    done = swapped | doubtful
    late: dict[int, float] = {}
    for k in np.flatnonzero(moves).tolist():
        if k in done:
            continue
        lag, best = _delay(slope[:, k : k + 1], qd[:, k], rate)
        shifted, target = _shifted(slope[:, k], qd[:, k], round(lag))
        r = float(np.corrcoef(shifted, target)[0, 1])
        if abs(r) < _LIKELY:
            found.notes.append(
                f"column {names[k]!r} is not the derivative of {positions[k]!r}: their correlation is {r:.2f} "
                f"({best:.0%} explained)"
            )
            continue
        factor = float(shifted @ target / (shifted @ shifted))
        if factor < 0.0:
            found.errors.append(
                f"column {names[k]!r} has the sign opposite to the derivative of {positions[k]!r} (correlation "
                f"{r:.2f}); map it with a factor of -1: columns={{...: ({names[k]!r}, -1)}}"
            )
        if abs(abs(factor) - 1.0) > _FACTOR:
            known = next((text for value, text in _KNOWN.items() if abs(abs(factor) / value - 1.0) < _FACTOR), "")
            gear = _gear(robot, robot.coordinates.owners("qd")[k].name, abs(factor))
            text = known or gear or "its unit is another one, or one of both is of the motor: units= or a factor"
            found.errors.append(
                f"column {names[k]!r} is {abs(factor):.4g} times the derivative of {positions[k]!r}: {text}"
            )
        if abs(lag) >= 0.5:
            late[k] = lag
    found.notes.extend(delays_said(late, names, rate, "the derivatives of the positions"))
    return found


def _position_names(robot: Robot) -> list[str]:
    every = names_of(robot, "q")
    return [every[place] for place in robot.coordinates.own.places]


def _gear(robot: Robot, owner: str, factor: float, nearly: float = 1.0 + _FACTOR) -> str:
    """What to say where a factor is the gear ratio of the joint's own motor, or nearly so."""
    for motor in robot.motors:
        ratio = abs(motor.ratios.get(owner, 0.0))
        if ratio and any(1.0 / nearly < each < nearly for each in (factor / ratio, factor * ratio)):
            return f"the gear ratio of motor {motor.name!r} is {ratio:g}: one of both is of the motor"
    return ""


# ---- torques ------------------------------------------------------------------------------------------------------


def check_torques(robot: Robot, rate: float, friction: Array, model: Array, tau: Array) -> Findings:
    """Compare torques tau (n, nu) with those of the robot's model (n, nu), both filtered alike.

    Friction, which a model seldom has, is left out: what the columns ``friction`` (n, nu, 3) of
    :func:`friction_columns`, filtered likewise, explain. A column says something where model and measurement resemble
    each other in some order, with some sign or delay.
    """
    found = Findings([], [])
    model, tau, friction = _middle(model), _middle(tau), _middle(friction)
    names = names_of(robot, "tau")
    count = len(names)
    if not np.isfinite(model).all():
        return Findings([], ["torques were not compared with the robot's model, which has no finite ones here"])
    columns = [friction[:, k] for k in range(count)]
    alike, fit = np.zeros((count, count)), np.zeros((count, count))
    for a in range(count):  # column b as the torque of joint a, less that joint's friction
        own, torques = _without(model[:, a : a + 1], columns[a]), _without(tau, columns[a])
        alike[a] = _correlations(own, torques)[0]
        whole, left = (torques**2).sum(axis=0), ((torques - own) ** 2).sum(axis=0)
        share = np.divide(np.minimum(left, whole), whole, out=np.ones(count), where=whole > 0.0)
        fit[a] = np.sqrt(1.0 - share)  # like a correlation, but with the size of the torque
    units = np.array(robot.coordinates.units("tau"))
    alike[units[:, None] != units], fit[units[:, None] != units] = 0.0, 0.0
    told = (model.std(axis=0) > 1e-9 * max(float(np.abs(model).max()), 1e-12)) & (tau.std(axis=0) > 0.0)
    moves = told & ((np.abs(friction[:, :, 2]) > 0.5).mean(axis=0) > _RESTS)  # of joints at rest friction says anything
    swapped, doubtful = _misplaced(alike, moves)
    if not swapped and (by_size := _misplaced(fit, moves)[0]):  # torques that resemble each other, of different size
        swapped, alike = by_size, fit
    swaps: list[str] = []
    for b, a in (swapped | doubtful).items():
        sure = b in swapped and all(abs(alike[x, y]) > _SURE for y, x in swapped.items())
        (found.errors if sure else swaps).append(
            f"column {names[b]!r} resembles the model's {names[a]!r}, not its own (correlations {alike[a, b]:.2f} and "
            f"{alike[b, b]:.2f}): columns look swapped; correct columns="
        )
    done = swapped | doubtful
    late: dict[int, float] = {}
    for k in np.flatnonzero(told).tolist():
        if k in done:
            continue
        lag, driven, rest = _aligned(model[:, k], columns[k], tau[:, k], rate)
        r = float(_correlations(driven[:, None], rest[:, None])[0, 0])
        if abs(r) < _LIKELY:
            continue  # friction or noise hides the model: nothing can be said
        if abs(lag) >= LATE:
            late[k] = lag
        factor = float(driven @ rest / (driven @ driven))
        if factor < 0.0:
            (found.errors if abs(r) > _SURE else found.notes).append(
                f"column {names[k]!r} has the sign opposite to the model's torque (correlation {r:.2f}); if joint and "
                f"torque count in opposite directions, map it with a factor of -1: columns={{...: ({names[k]!r}, -1)}}"
            )
        if not 1.0 / _OFF < abs(factor) < _OFF:
            gear = _gear(robot, robot.coordinates.owners("tau")[k].name, abs(factor), _OFF)
            found.notes.append(
                f"column {names[k]!r} is {abs(factor):.3g} times the model's torque (correlation {r:.2f}): "
                + (gear or "is it in another unit (units=), or at the motor instead of the joint (ratios=)?")
            )
    doubt = ", unless the given robot is far off"
    return found._replace(delays=delays_said(late, names, rate, "the model's torques", doubt), swaps=swaps)


def _aligned(model: Array, friction: Array, tau: Array, rate: float) -> tuple[float, Array, Array]:
    """By how many samples tau (n,) is later than the model (n,); both shifted by that, less what friction explains."""
    lag, _ = _delay(np.column_stack([model, friction]), tau, rate)
    shift = round(lag)
    (nuisance, target), own = _shifted(friction, tau, shift), _shifted(model, tau, shift)[0]
    return lag, _without(own[:, None], nuisance)[:, 0], _without(target[:, None], nuisance)[:, 0]


def friction_columns(qd: Array, still: Array) -> Array:
    """What friction consists of, (n, nv, 3): a constant, the velocity (n, nv), its sign, zero below ``still`` (nv,)."""
    return np.stack([np.ones_like(qd), qd, np.where(np.abs(qd) > still, np.sign(qd), 0.0)], axis=-1)


# ---- positions ----------------------------------------------------------------------------------------------------


def check_positions(robot: Robot, motion: tuple[Array, Array, Array], tau: Array, still: Array) -> Findings:
    """Whether the model explains the torques far better with one joint's sign reversed, or two joints interchanged.

    ``motion`` is q, qd, qdd. Tried only where the model explains little as things are.
    """
    names, count = names_of(robot, "q"), robot.nv
    step = max(1, len(tau) // _FEW)
    thin, tau = [each[::step] for each in motion], tau[::step]

    def unexplained(order: Sequence[int], signs: Array) -> float:
        state = [each[:, order] * signs for each in thin]
        rest, friction = np.asarray(robot.inverse_dynamics(*state)) - tau, friction_columns(state[1], still[order])
        parts = []
        for k in range(count):
            columns = friction[:, k]
            whole = float((_without(tau[:, k : k + 1], columns) ** 2).sum())
            left = float((_without(rest[:, k : k + 1], columns) ** 2).sum())
            parts.append(min(left / whole, 1.0) if whole > 0.0 and np.isfinite(left) else 1.0)
        return float(np.mean(parts))

    plain, ones = list(range(count)), np.ones(count)
    now = unexplained(plain, ones)
    if now < _UNEXPLAINED or count > _MOST:
        return Findings([], [])
    tried = {f"the sign of {name!r} reversed": (plain, 1.0 - 2.0 * np.eye(count)[k]) for k, name in enumerate(names)}
    for a in range(count):
        for b in range(a):
            swapped = list(plain)
            swapped[a], swapped[b] = b, a
            tried[f"{names[b]!r} and {names[a]!r} interchanged"] = (swapped, ones)
    found = {what: unexplained(*each) for what, each in tried.items()}
    best = min(found, key=lambda what: found[what])
    if found[best] > 0.5 * now:
        return Findings([], [])
    shares = f"{1.0 - found[best]:.0%} of the torques, as they are {1.0 - now:.0%}"
    return Findings([], [f"with {best} the model explains {shares}: are these columns right?"])


# ---- comparing series -----------------------------------------------------------------------------------------------


def _middle(values: Array) -> Array:
    first = max(0, (len(values) - _ROWS) // 2)
    return values[first : first + _ROWS]


def _without(values: Array, columns: Array) -> Array:
    """What columns do not explain of series (n, k)."""
    scale = np.sqrt((columns**2).mean(axis=0))
    basis = columns[:, scale > 0.0] / scale[scale > 0.0]
    found = np.linalg.lstsq(basis.T @ basis, basis.T @ values, rcond=1e-12)[0]  # few columns: their products suffice
    return np.asarray(values - basis @ found)


def _correlations(a: Array, b: Array) -> Array:
    """Correlations of the columns of a with those of b; zero where one is constant."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    scale = np.sqrt((a**2).sum(axis=0))[:, None] * np.sqrt((b**2).sum(axis=0))
    return np.divide(a.T @ b, scale, out=np.zeros_like(scale), where=scale > 0.0)


def _misplaced(alike: Array, moves: NDArray[np.bool_]) -> tuple[dict[int, int], dict[int, int]]:
    """Columns that resemble the counterpart of another one, not their own: by column, whose it resembles.

    First those that are interchanged among each other, then the others.
    """
    size = np.abs(np.where(moves[:, None], alike, 0.0))
    nearest = {int(b): int(np.argmax(size[:, b])) for b in np.flatnonzero(moves)}
    found = {b: a for b, a in nearest.items() if a != b and size[a, b] > _LIKELY and _better(size[a, b], size[b, b])}
    closed = {b: a for b, a in found.items() if _returns(b, found)}
    return closed, {b: a for b, a in found.items() if b not in closed}


def _better(other: float, own: float) -> bool:
    """Whether one correlation is so much higher than another that their order is no chance."""
    return other > own + 0.3 or 1.0 - other**2 < _RATIO * (1.0 - own**2)


def _returns(start: int, steps: dict[int, int]) -> bool:
    at = start
    for _ in steps:
        if at not in steps:
            return False
        at = steps[at]
        if at == start:
            return True
    return False


def _shifted(a: Array, b: Array, lag: int) -> tuple[Array, Array]:
    """Rows of a, and those of b that are ``lag`` samples later."""
    return (a[: len(a) - lag], b[lag:]) if lag >= 0 else (a[-lag:], b[: len(b) + lag])


def _delay(columns: Array, target: Array, rate: float) -> tuple[float, float]:
    """By how many samples a series is later than what explains it, (n, k), and the share that is explained then.

    Zero where no delay within 0.1 s explains markedly more. A parabola through three neighbours gives fractions.
    """
    most = min(max(5, math.ceil(_LATEST * rate)), len(target) // 4)
    lags = np.unique(np.round(np.linspace(-most, most, min(2 * most + 1, 81))).astype(int))

    inner = slice(most, len(target) - most)
    basis = np.column_stack([np.ones(len(target)), columns])[inner]
    found, sizes, _ = singular(basis / np.sqrt((basis**2).mean(axis=0) + np.finfo(float).tiny), full=False)
    found = found[:, sizes > 1e-9 * sizes[0]]  # orthonormal

    def unexplained(lag: int) -> float:
        series = target[inner.start + lag : inner.stop + lag]
        series = series - series.mean()
        whole = float(series @ series)
        return 1.0 - float(((series @ found) ** 2).sum()) / whole if whole > 0.0 else 1.0

    coarse = {int(lag): unexplained(int(lag)) for lag in lags}
    center = min(coarse, key=lambda lag: coarse[lag])
    for lag in range(max(center - 3, -most), min(center + 3, most) + 1):
        coarse.setdefault(lag, unexplained(lag))
    best = min(coarse, key=lambda lag: coarse[lag])
    if best == 0 and not (-1 in coarse and 1 in coarse):
        return 0.0, 1.0 - coarse[0]
    fraction = float(best)
    if best - 1 in coarse and best + 1 in coarse:
        before, here, after = coarse[best - 1], coarse[best], coarse[best + 1]
        bend = before - 2.0 * here + after
        fraction += 0.5 * (before - after) / bend if bend > 0.0 else 0.0
    if best != 0 and (coarse[best] > _GAIN * coarse[0] or abs(best) == most):  # at the range's end it is none
        return 0.0, 1.0 - coarse[0]
    return fraction, 1.0 - coarse[best]


def delays_said(late: dict[int, float], names: Sequence[str], rate: float, than: str, doubt: str = "") -> list[str]:
    """One note for all columns that are later, and one for all that are earlier."""
    said = []
    for way in (1.0, -1.0):
        some = {names[k]: abs(lag) for k, lag in late.items() if lag * way > 0.0}
        if some:
            low, high = (f"{each:.1f}" for each in (min(some.values()), max(some.values())))
            middle = 1e3 * float(np.median(list(some.values()))) / rate
            said.append(
                f"column{'s' * (len(some) > 1)} {', '.join(map(repr, some))}: "
                f"{low if low == high else f'{low} to {high}'} samples ({middle:.3g} ms) "
                f"{'later' if way > 0.0 else 'earlier'} than {than}; shift them before they are read{doubt}"
            )
    return said
