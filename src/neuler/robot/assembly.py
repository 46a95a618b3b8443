"""Closing the loops of a mechanism: Newton's method, safeguarded, for many states at once."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError, RobotError

if TYPE_CHECKING:
    from neuler.kernels import Kernel

Array = NDArray[np.float64]

_SMALLEST = 2.0**-20
"""Share of a step below which a state is given up."""
_LED = (8, 64)
"""Into how many pieces the way from a guess is cut where one piece does not lead to the goal."""
_PIECES = 64
"""Into how many pieces a step along a path is cut, at most."""
_JUMP = 0.7
"""Radians or metres by which a step along a path may miss its prediction: more is another branch."""


@dataclass(frozen=True)
class Assembly:
    """Closed positions. ``gap`` is what the loops stay open by (m, rad), ``closed`` where it is small enough."""

    q: Array
    gap: Array
    iterations: NDArray[np.int64]
    closed: NDArray[np.bool_]


def assemble(
    mechanism: Any,
    q_active: ArrayLike,
    guess: ArrayLike | None,
    independent: Any,
    continuous: bool,
    tolerance: float,
    iterations: int,
) -> Assembly:
    """See ``Mechanism.assemble``."""
    options = {} if independent is None else {"independent": independent}
    step = mechanism.compile("assembly_step", **options)
    names = (independent,) if isinstance(independent, str) else independent or mechanism.mobility.independent
    picked = _positions(mechanism, names)
    given = _numbers(mechanism, "q_active", q_active, len(picked))
    start = mechanism.mobility.reference if guess is None else guess
    begin = _numbers(mechanism, "guess", start, mechanism.tree.nq)
    if continuous:
        if given.ndim < 2:
            raise InputError(f"assemble: a path needs a first axis of points, got q_active of shape {given.shape}")
        batch = np.broadcast_shapes(given.shape[1:-1], begin.shape[:-1])
        given = np.broadcast_to(given, (given.shape[0], *batch, len(picked)))
        begin = np.broadcast_to(begin, (*batch, begin.shape[-1]))
        found = _along(mechanism, step, picked, given, begin, tolerance, iterations)
    else:
        try:
            batch = np.broadcast_shapes(given.shape[:-1], begin.shape[:-1])
        except ValueError:
            raise InputError(
                f"assemble: q_active {given.shape} and guess {begin.shape} do not broadcast to one batch"
            ) from None
        q = np.array(np.broadcast_to(begin, (*batch, begin.shape[-1])))
        q[..., picked] = given
        found = _newton(mechanism, step, q, tolerance, iterations)
        far = ~found.closed
        if far.any():
            near = np.broadcast_to(begin, q.shape)[far]
            found = _led(mechanism, step, picked, found, far, near, tolerance, iterations)
    return _judged(mechanism, found, tolerance)


def _positions(mechanism: Any, names: Sequence[str]) -> list[int]:
    """Numbers in q of joints."""
    found, at = [], 0
    for joint in mechanism.tree.moving_joints:
        if joint.name in names:
            found += range(at, at + joint.nq)
        at += joint.nq
    return found


def _numbers(mechanism: Any, what: str, value: ArrayLike, size: int) -> Array:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"assemble: {what} must be an array of numbers, got {value!r}") from None
    if array.shape[-1:] != (size,):
        raise InputError(f"assemble: expected {what} with last axis {size}, got shape {array.shape}")
    return array


def _newton(mechanism: Any, step: Kernel, start: Array, tolerance: float, most: int) -> Assembly:
    batch = start.shape[:-1]
    q = start.reshape(-1, start.shape[-1]).copy()
    rows = len(q)
    gap, _, ahead = step(q, np.ones(rows))
    gap, share, count = np.array(gap), np.ones(rows), np.zeros(rows, dtype=np.int64)
    busy = np.flatnonzero(gap > tolerance / 100)
    for _ in range(most):
        if not len(busy):
            break
        trial = ahead[busy]
        there, _, beyond = step(trial, np.ones(len(busy)))
        count[busy] += 1
        better = there < gap[busy]
        won, lost = busy[better], busy[~better]
        q[won], gap[won], ahead[won], share[won] = trial[better], there[better], beyond[better], 1.0
        lost = lost[gap[lost] > tolerance]  # a gap of rounding errors cannot become smaller
        share[lost] *= 0.5
        lost = lost[share[lost] > _SMALLEST]
        if len(lost):
            ahead[lost] = step(q[lost], share[lost])[2]
        busy = np.concatenate([won[gap[won] > tolerance / 100], lost])
    closed = gap < tolerance
    if mechanism.loops:
        closed &= (np.asarray(mechanism.upright(q)) > 0).all(axis=-1)
    return Assembly(q.reshape(start.shape), gap.reshape(batch), count.reshape(batch), closed.reshape(batch))


def _led(
    mechanism: Any,
    step: Kernel,
    picked: list[int],
    found: Assembly,
    far: NDArray[np.bool_],
    near: Array,
    tolerance: float,
    most: int,
) -> Assembly:
    """States that Newton's method does not reach in one go, from their guesses over points between."""
    q, gap, count, closed = found.q.copy(), found.gap.copy(), found.iterations.copy(), found.closed.copy()
    goal = q[far][:, picked]
    start = _newton(mechanism, step, near, tolerance, most)
    for pieces in _LED:
        one = _between(mechanism, step, picked, start.q, near[:, picked], goal, pieces, tolerance, most)
        count[far] += one.iterations
        if one.closed.any():
            where = tuple(index[one.closed] for index in np.nonzero(far))
            q[where], gap[where], closed[where] = one.q[one.closed], one.gap[one.closed], True
            left = ~one.closed
            start = Assembly(*(getattr(start, name)[left] for name in ("q", "gap", "iterations", "closed")))
            near, goal, far = near[left], goal[left], far & ~closed
        if not far.any():
            break
    return Assembly(q, gap, count, closed)


def _along(
    mechanism: Any, step: Kernel, picked: list[int], path: Array, begin: Array, tolerance: float, most: int
) -> Assembly:
    """Point by point; where the next one does not follow from the last, over points between them."""
    q = np.array(begin)
    q[..., picked] = path[0]
    found = [_newton(mechanism, step, q, tolerance, most)]
    for here, there in itertools.pairwise(path):
        last = found[-1].q
        pieces = 1
        while True:
            one = _between(mechanism, step, picked, last, here, there, pieces, tolerance, most)
            missed = ~one.closed | (np.abs(one.q - last).max(axis=-1) > _JUMP + np.abs(there - here).max(axis=-1))
            if pieces >= _PIECES or not (missed & found[-1].closed).any():
                break
            pieces *= 2
        found.append(one)
    parts = (np.stack([getattr(one, name) for one in found]) for name in ("q", "gap", "iterations", "closed"))
    return Assembly(*parts)


def _between(
    mechanism: Any,
    step: Kernel,
    picked: list[int],
    last: Array,
    here: Array,
    there: Array,
    pieces: int,
    tolerance: float,
    most: int,
) -> Assembly:
    q = last
    count, closed = np.zeros(q.shape[:-1], dtype=np.int64), np.ones(q.shape[:-1], dtype=bool)
    for k in range(1, pieces + 1):
        q = np.array(q)
        q[..., picked] = here + (there - here) * (k / pieces)
        q = _unit(mechanism, q)
        one = _newton(mechanism, step, q, tolerance, most)
        q, count, closed = one.q, count + one.iterations, closed & one.closed
    return Assembly(one.q, one.gap, count, closed)


def _unit(mechanism: Any, q: Array) -> Array:
    """Quaternions between two others, of length one again."""
    at = 0
    for joint in mechanism.tree.moving_joints:
        if joint.kind == "free":
            turn = q[..., at + 3 : at + 7]
            q[..., at + 3 : at + 7] = turn / np.linalg.norm(turn, axis=-1, keepdims=True)
        at += joint.nq
    return q


def _judged(mechanism: Any, found: Assembly, tolerance: float) -> Assembly:
    if found.closed.all():
        return found
    name = mechanism.name
    if not found.closed.any():
        least = float(np.nanmin(found.gap)) if np.isfinite(found.gap).any() else float("nan")
        if least < tolerance:
            reason = "they close only with their axes opposite, the wrong way round; give a guess nearer to the branch"
        else:
            reason = f"they stay open by {least:.2g} (m or rad): out of reach, or the guess is too far away"
        raise RobotError(f"mechanism {name!r}: its loops cannot be closed at this position; {reason}")
    bad = np.argwhere(~found.closed)
    shown = ", ".join(str(tuple(row.tolist()) if len(row) > 1 else int(row[0])) for row in bad[:5])
    warnings.warn(
        f"mechanism {name!r}: the loops of {len(bad)} of {found.closed.size} states cannot be closed "
        f"(rows {shown}{', ...' if len(bad) > 5 else ''}); their q is NaN",
        RuntimeWarning,
        stacklevel=4,
    )
    q = np.where(found.closed[..., None], found.q, np.nan)
    return Assembly(q, found.gap, found.iterations, found.closed)
