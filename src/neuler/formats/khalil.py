"""Khalil's six parameters of any rigid placement, and frames whose z is a joint's axis."""

from __future__ import annotations

import math

import numpy as np

from neuler.robot.transform import Transform, Vec3, exact_cos_sin

Six = tuple[float, float, float, float, float, float]
"""gamma, b, alpha, d, theta, r of Khalil (1)."""

PARALLEL = 1e-15
"""Sine of the angle under which two axes are taken as parallel."""
FAR = 100.0
"""How much longer than the placement itself b and r may be: they cost as many digits."""
CLOSE = 4e-15
"""How near the six parameters must come to a placement: a few roundings."""


def transform(six: Six) -> Transform:
    """Khalil (1): Rot(z, gamma) Tran(z, b) Rot(x, alpha) Tran(x, d) Rot(z, theta) Tran(z, r).

    >>> transform((0.0, 0.0, 0.0, 0.45, 0.0, 0.1)).translation
    (0.45, 0.0, 0.1)
    """
    gamma, b, alpha, d, theta, r = six
    return Transform.khalil(gamma=gamma, b=b, alpha=alpha, d=d, theta=theta, r=r)


def tilt(axis: Vec3) -> Transform:
    """The smallest turn that takes z to the unit vector ``axis`` (Rodrigues).

    >>> tilt((1.0, 0.0, 0.0)).rotation
    ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0))
    """
    a, b, c = axis
    across = a * a + b * b
    if c < 0.0 and across < 1e-300:
        return Transform(((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)))
    k = (1.0 - c) / across if c < 0.0 else 1.0 / (1.0 + c)  # the same; near -z without a loss of digits
    return Transform(((1.0 - a * a * k, -a * b * k, a), (-a * b * k, 1.0 - b * b * k, b), (-a, -b, c)))


def factors(placement: Transform) -> list[Six]:
    """The placement as one set of six parameters, or as two where the common normal of the z axes is too far away.

    Between axes that are nearly parallel and do not meet, gamma and b point to a common normal at a great
    distance, where digits are lost. A frame between them, turned by a quarter about x, brings it back.

    >>> factors(Transform.khalil(alpha=0.3, d=0.45, theta=1.0, r=0.2))
    [(0.0, 0.0, 0.3, 0.45, 1.0, 0.2)]
    """
    six = _parameters(placement)
    reach = FAR * max(0.01, float(np.abs(placement.translation).max()))
    if max(abs(six[1]), abs(six[5])) <= reach and _miss(placement, six) <= CLOSE:
        return [_polished(placement, six)]
    quarter: Six = (0.0, 0.0, math.pi / 2, 0.0, 0.0, 0.0)
    rest = transform(quarter).inverse() @ placement
    return [quarter, _polished(rest, _parameters(rest))]


def _parameters(placement: Transform) -> Six:
    """gamma within a half turn about zero; gamma = b = 0 where that is possible, as in a chain."""
    rotation = placement.rotation
    x, y, z = placement.translation
    sine, cosine = math.hypot(rotation[0][2], rotation[1][2]), rotation[2][2]
    parallel = sine < PARALLEL
    gamma = _direction(x, y) if parallel else _direction(-rotation[1][2], rotation[0][2])
    c, s = exact_cos_sin(gamma)
    if parallel:
        alpha = 0.0 if cosine > 0 else math.pi
        sine, cosine = 0.0, math.copysign(1.0, cosine)
    else:
        sine = s * rotation[0][2] - c * rotation[1][2]
        alpha = math.atan2(sine, cosine)
    first, second = rotation[0][0], rotation[1][0]
    theta = math.atan2(cosine * (c * second - s * first) + sine * rotation[2][0], c * first + s * second)
    d, off = c * x + s * y, c * y - s * x
    r = cosine * z - sine * off
    if parallel or abs(cosine * off + sine * z) <= PARALLEL * max(1.0, abs(r)):
        return gamma, 0.0, alpha, d, theta, r
    r = -off / sine
    return gamma, z - r * cosine, alpha, d, theta, r


def _direction(x: float, y: float) -> float:
    """The angle of the line along (x, y), from above -pi/2 to pi/2."""
    if abs(y) <= PARALLEL * abs(x) or (x == 0.0 and y == 0.0):
        return 0.0
    return math.atan2(-y, -x) if x < 0.0 or (x == 0.0 and y < 0.0) else math.atan2(y, x)


def _miss(placement: Transform, six: Six) -> float:
    found = transform(six)
    size = max(1.0, float(np.abs(placement.translation).max()))
    turn = float(np.abs(np.subtract(found.rotation, placement.rotation)).max())
    return max(turn, float(np.abs(np.subtract(found.translation, placement.translation)).max()) / size)


def _polished(placement: Transform, six: Six) -> Six:
    """Short decimals where they are as good, neighbours where they are better: what was written is found again."""
    best, error = six, _miss(placement, six)
    for k, value in enumerate(six):
        short = (0.0, round(value, 12))
        near = () if error == 0.0 else (math.nextafter(value, math.inf), math.nextafter(value, -math.inf))
        for trial in (*short, *near):
            if trial == best[k] or best[k] == 0.0:
                continue
            changed: Six = (*best[:k], trial, *best[k + 1 :])
            miss = _miss(placement, changed)
            if miss < error or (miss == error and trial in short):
                best, error = changed, miss
    return best
