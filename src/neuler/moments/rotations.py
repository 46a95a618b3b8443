"""Positions with quaternions as profiles: a translation p, and a rotation vector r about a reference orientation.

quaternion = reference (r sin(h) / 2h, cos h),  h = |r| / 2

without a square root: with x = h^2 and L_n(x) = j_n(h) / h^n (spherical Bessel functions), sin(h) / h = L_0 and
cos h = L_-1 are entire functions of x, with

dL_n/dx = -L_n+1 / 2,    L_n-1 = (2n + 1) L_n - x L_n+1

so that the two highest ones are power series, the others follow, and every derivative exists at r = 0. Rates are found
by the product rule: the angular velocity w = 2 conj(e) de/dt of e = exp(r / 2), its own ones alike; the velocity
v = R^T dp/dt in the link's axes by d(R^T a)/dt = R^T da/dt - w x R^T a.

The same lines run on traced values, numbers and arrays of them.

>>> import neuler
>>> ball = neuler.Robot("ball", [neuler.Link("base"), neuler.Link("ball", 1.0, (0, 0, 0), (1, 1, 1, 0, 0, 0))],
...     [neuler.Joint("joint", "spherical", "base", "ball")])
>>> parts = ball.coordinates.own
>>> q, w = lift(ball, parts, [0, 0, 0, 1], [[0.0, 0.0, np.pi / 2], [0.0, 0.0, 1.0]])
>>> q.round(4).tolist(), w.round(12).tolist()
([0.0, 0.0, 0.7071, 0.7071], [0.0, 0.0, 1.0])
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.algebra import vector as vec
from neuler.errors import InputError
from neuler.robot import Joint, Robot
from neuler.robot.coordinates import Selection
from neuler.robot.kinds.quaternions import turn_between
from neuler.tolerances import UNIT
from neuler.trace.graph import Node

Array = NDArray[np.float64]
Triple = tuple[Any, Any, Any]
Motion = list[Triple]
"""A vector and its rates, one for each order."""

WIDEST = 0.95 * math.pi
"""Rotation vectors of plans may be this long (rad): at a full turn from the reference they say nothing, and beyond half
a turn the other way round is shorter."""


def lift(robot: Robot, coordinates: Selection, reference: ArrayLike, derivatives: Sequence[Any]) -> tuple[Any, ...]:
    """Positions, velocities and their rates from profiles: (q, qd, qdd, ...), as many as ``derivatives``.

    ``derivatives``: profiles c (..., nv) and their rates per second, in the order of the velocities; of a joint with a
    quaternion a translation, if it has one, then the rotation vector. ``reference``: positions (..., nq) of the joints
    of ``coordinates``, one behind the other, of which quaternions alone are used. Other joints pass through.
    """
    rates = [_array(c) for c in derivatives]
    start = _reference(robot, coordinates, reference)
    found: list[list[Any]] = [[] for _ in rates]
    for joint, at, first, count in _parts(coordinates):
        mine = [[c[k] if c.ndim == 1 else c[..., k] for k in range(first, first + count)] for c in rates]
        if joint is not None and joint.type.quaternion is not None:
            mine = _turned(start[at : at + joint.nq], joint.type.quaternion, mine)
        for row, part in zip(found, mine, strict=True):
            row += part
    return tuple(_joined(row) for row in found)


def profiles_of(robot: Robot, coordinates: Selection, reference: ArrayLike, q: ArrayLike) -> Array:
    """Profiles (..., nv) at positions q (..., nq) of the joints of ``coordinates``: ``lift`` the other way.

    >>> import neuler
    >>> body = neuler.robots.puma560().with_free_base()
    >>> profiles_of(body, body.coordinates.own, body.neutral(), body.neutral())[:6].tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    start = _reference(robot, coordinates, reference)
    here = np.asarray(q, dtype=float)
    if here.ndim < 1 or here.shape[-1] != len(start) or not np.isfinite(here).all():
        raise InputError(f"a position of robot {robot.name!r} must be {len(start)} finite numbers, got {q!r:.80}")
    found = []
    for joint, at, _, count in _parts(coordinates):
        if joint is None or joint.type.quaternion is None:
            found.append(here[..., at : at + count])
            continue
        turn = at + joint.type.quaternion
        end = _unit(robot, joint, here[..., turn : turn + 4])
        r = turn_between(start[turn : turn + 4], end)[0]
        widest = float(np.sqrt(np.square(r).sum(axis=-1)).max(initial=0.0))
        if widest > WIDEST:
            raise InputError(
                f"joint {joint.name!r} is {np.degrees(widest):.1f} degrees from its reference orientation; a rotation "
                f"vector may be {np.degrees(WIDEST):.0f} degrees long, short of a half turn: choose a reference "
                "orientation between start and goal, or plan in phases"
            )
        found += [here[..., at:turn], r]
    return np.concatenate(found, axis=-1)


def turn_rows(coordinates: Selection) -> list[tuple[str, tuple[int, int, int]]]:
    """Which three profiles are a rotation vector, by joint: their length must stay below ``WIDEST``.

    >>> import neuler
    >>> turn_rows(neuler.robots.two_link().with_free_base().coordinates.own)
    [('root_joint', (3, 4, 5))]
    """
    found = []
    for joint, _, first, _ in _parts(coordinates):
        if joint is not None and joint.type.quaternion is not None:
            k = first + joint.type.quaternion
            found.append((joint.name, (k, k + 1, k + 2)))
    return found


def quaternions(r: Motion) -> list[tuple[Any, Any, Any, Any]]:
    """Of a rotation vector and its rates: the unit quaternion (x, y, z, w) that turns so, and its rates.

    >>> [round(x, 6) for x in quaternions([(0.0, 0.0, np.pi)])[0]]
    [0.0, 0.0, 1.0, 0.0]
    """
    top = len(r) - 1
    x = [_dots(r, k) for k in range(top + 1)]
    sine, cosine = _functions(x, top)
    found = []
    for k in range(top + 1):
        v: Triple = vec.ZERO
        for i in range(k + 1):
            v = vec.add(v, vec.scale((0.5 * math.comb(k, i)) * sine[i], r[k - i]))
        found.append((*v, cosine[k]))
    return found


def angular_velocities(e: Sequence[tuple[Any, Any, Any, Any]]) -> Motion:
    """w = 2 conj(e) de/dt in the turned axes, and its rates, from a unit quaternion and its rates: one fewer."""
    found: Motion = []
    for k in range(len(e) - 1):
        w: Triple = vec.ZERO
        for i in range((k + 2) // 2):  # the parts of i and k + 1 - i are each other's negative
            factor = 2.0 * (math.comb(k, i) - (math.comb(k, k + 1 - i) if i else 0))
            if factor:
                w = vec.add(w, vec.scale(factor, _across(e[i], e[k + 1 - i])))
        found.append(w)
    return found


def _turned(reference: Array, slides: int, motion: list[list[Any]]) -> list[list[Any]]:
    """Of one joint: its translation (``slides`` numbers, three or none) and rotation vector, to q, qd, ..."""
    e = quaternions([(c[slides], c[slides + 1], c[slides + 2]) for c in motion])
    w = angular_velocities(e)
    start = reference[slides : slides + 4]
    found = [[*motion[0][:slides], *_product(start.tolist(), e[0])]]
    v: Motion = []
    if slides and len(motion) > 1:
        x, y, z, w0 = start.tolist()
        ahead = [_back(e[0], _back((x, y, z, w0), (c[0], c[1], c[2]))) for c in motion[1:]]
        v = _seen(ahead, w)
    for k, turn in enumerate(w):
        found.append([*(v[k] if slides else ()), *turn])
    return found


def _seen(ahead: Motion, w: Motion) -> Motion:
    """A vector in axes that turn by w, and its rates there, from its rates in fixed axes, ``ahead``, seen there."""
    rates = [ahead]
    for k in range(1, len(ahead)):
        row = []
        for j in range(len(ahead) - k):
            a = rates[k - 1][j + 1]
            for i in range(k):
                a = vec.subtract(a, vec.scale(math.comb(k - 1, i), vec.cross(w[i], rates[k - 1 - i][j])))
            row.append(a)
        rates.append(row)
    return [row[0] for row in rates]


def _functions(x: Sequence[Any], top: int) -> tuple[list[Any], list[Any]]:
    """sin(h) / h and cos(h) with their rates up to ``top``, of x = h^2 with its rates."""
    values: dict[int, Any] = {top: _series(top, x[0]), top - 1: _series(top - 1, x[0])}
    for n in range(top - 1, -1, -1):
        values[n - 1] = (2 * n + 1) * values[n] - x[0] * values[n + 1]
    rates: dict[int, list[Any]] = {}
    for n in range(top, -2, -1):
        mine = [values[n]]
        for k in range(1, min(top - n, top) + 1):
            total: Any = 0.0
            for i in range(k):
                total = total + (-0.5 * math.comb(k - 1, i)) * rates[n + 1][i] * x[k - i]
            mine.append(total)
        rates[n] = mine
    return rates[0], rates[-1]


def _series(n: int, x: Any) -> Any:
    """L_n(x) = sum over m of (-x / 2)^m / (m! (2m + 2n + 1)!!)."""
    first, *others = reversed(_terms(n))
    total: Any = first
    for term in others:
        total = total * x + term
    return total


@functools.cache
def _terms(n: int) -> tuple[float, ...]:
    """As many as two derivatives need at 1.2 half turns; beyond, the function is still smooth."""
    found, term, m = [], 1.0 / math.prod(range(1, 2 * n + 2, 2)), 0
    while True:
        found.append(term)
        m += 1
        term *= -0.5 / (m * (2 * m + 2 * n + 1))
        if abs(term) * (0.6 * math.pi) ** (2 * m) * m * m < 1e-17 * abs(found[0]):
            return tuple(found)


def _dots(r: Motion, k: int) -> Any:
    """The k-th rate of r . r / 4."""
    total: Any = 0.0
    for i in range(k // 2 + 1):
        both = 1 if 2 * i == k else 2
        total = total + (0.25 * both * math.comb(k, i)) * vec.dot(r[i], r[k - i])
    return total


def _across(a: Sequence[Any], b: Sequence[Any]) -> Triple:
    """The vector part of conj(a) b."""
    v, u = (a[0], a[1], a[2]), (b[0], b[1], b[2])
    return vec.subtract(vec.subtract(vec.scale(a[3], u), vec.scale(b[3], v)), vec.cross(v, u))


def _product(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """Of quaternions: a b."""
    v, u = (a[0], a[1], a[2]), (b[0], b[1], b[2])
    return [*vec.add(vec.add(vec.scale(a[3], u), vec.scale(b[3], v)), vec.cross(v, u)), a[3] * b[3] - vec.dot(v, u)]


def _back(e: Sequence[Any], a: Triple) -> Triple:
    """R^T a, R being the rotation of the unit quaternion e."""
    v = (e[0], e[1], e[2])
    side = vec.scale(2.0, vec.cross(v, a))
    return vec.add(vec.subtract(a, vec.scale(e[3], side)), vec.cross(v, side))


def _parts(coordinates: Selection) -> Iterator[tuple[Joint | None, int, int, int]]:
    """Joints, the places of their first position and velocity among these, and how many velocities."""
    at = first = 0
    for joint, places, count in coordinates.parts:
        yield joint, at, first, count
        at, first = at + len(places), first + count


def _reference(robot: Robot, coordinates: Selection, reference: ArrayLike) -> Array:
    """Checked, its quaternions of length one."""
    start = np.array(reference, dtype=float)
    if start.shape != (coordinates.size,) or not np.isfinite(start).all():
        raise InputError(
            f"the reference position of robot {robot.name!r} must be {coordinates.size} finite numbers, got "
            f"{reference!r:.80}"
        )
    for joint, at, _, _ in _parts(coordinates):
        if joint is not None and joint.type.quaternion is not None:
            turn = at + joint.type.quaternion
            start[turn : turn + 4] = _unit(robot, joint, start[turn : turn + 4])
    return start


def _unit(robot: Robot, joint: Joint, quaternion: Array) -> Array:
    square = np.square(quaternion).sum(axis=-1, keepdims=True)
    off = np.abs(square - 1.0).max(initial=0.0)
    if off >= UNIT:
        raise InputError(
            f"joint {joint.name!r} of robot {robot.name!r}: the quaternion (x, y, z, w) must have length one, the "
            f"square of its length is off by {off:.3g}; normalise it"
        )
    return quaternion / np.sqrt(square)


def _array(values: Any) -> Any:
    found = np.asarray(values)
    return found if found.dtype.kind in "Ofc" else found.astype(float)


def _joined(row: Sequence[Any]) -> Any:
    """An array of traced values, or numbers on the last axis."""
    row = [x.item() if isinstance(x, np.ndarray) and not x.ndim else x for x in row]
    if any(isinstance(x, Node) for x in row):
        found = np.empty(len(row), dtype=object)
        found[:] = row
        return found
    return np.stack(np.broadcast_arrays(*row), axis=-1)
