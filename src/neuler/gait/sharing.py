"""How two feet share the resultant of the ground: the second, active, step of the two-step algorithm.

A foot that stands alone carries everything. Of two feet with anchors c_0 and c_1 on the ground the second has the share
s, 0 <= s <= 1, by the zero-moment point's projection onto the line between them. With p = (1 - s) c_0 + s c_1, the
resultant F and its moment M about p,

    F_0 = (1 - s) F + k D,  M_0 = (1 - s) M  about c_0        F_1 = s F - k D,  M_1 = s M  about c_1

with D = c_1 - c_0: the levers cancel, and the pair k D acts along the line, without net force or moment. Both centres
of pressure lie as far from their anchors as the zero-moment point lies from p, so that they are inside the feet where
the anchors are and that distance is small.

- ``"line"``: k = 0, the forces of both feet are parallel. Motion alone cannot contradict it, and force plates do: in
  walking the front foot brakes while the rear one pushes.
- ``"pivot"``, the default: k = s (1 - s) F_n / h, with the normal force F_n and the height h of the centre of mass. It
  is the pair with which both forces point to one place at that height (to the centre of mass, when standing still).
  People's forces nearly do (Maus et al. 2010 found them to meet at a point above the centre of mass).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuler.moments.clearance import HalfSpace
from neuler.moments.contact import LIGHT, TOGETHER

Array = NDArray[np.float64]
SPLITS = ("pivot", "line")
LIFTED = 0.02
"""Height above the lowest point of its sole (m) from which a point carries nothing."""
TOES = 0.3
"""Where toes carry that have only their tip on the ground, as a share of the way from the tip back to the ball."""
MOVED = 0.1
"""The most by which anchors are moved (m) so that centres of pressure are continuous where contacts change."""
LANDING = 0.04
"""Time (s) in which the load of a foot that lands begins to grow, as filters blur it."""


class FootLoads(NamedTuple):
    """What the ground exerts on the feet, in the base frame; the axis of feet comes behind those of the batch."""

    share: Array
    """Of the resultant, (..., feet); zero without contact."""
    force: Array
    """N, (..., feet, 3)."""
    moment: Array
    """About ``anchor`` (N m), (..., feet, 3)."""
    anchor: Array
    """On the ground (m), (..., feet, 3)."""
    pressure: Array
    """Centres of pressure (m), (..., feet, 3); NaN where a foot carries nothing."""


def on_ground(points: Array, ground: HalfSpace) -> Array:
    """Points (..., 3) projected onto the plane."""
    normal = np.array(ground.normal)
    return np.asarray(points - ((points - ground.point) @ normal)[..., None] * normal)


def anchors(points: Array, ground: HalfSpace) -> Array:
    """Where the shares of the feet act, (..., feet, 3), from the points of the soles, (..., feet, 3 points, 3).

    Points of a sole that are down carry it: the heel of a foot that lands, half-way between heel and ball of one that
    is flat, the ball once the heel is up, the toes once the ball is. A point counts the less the higher it is above the
    lowest of its foot, and not at all from ``LIFTED`` on: only the rotation of the foot matters.
    """
    height = (points - ground.point) @ np.array(ground.normal)
    down = np.clip(1.0 - (height - height.min(axis=-1, keepdims=True)) / LIFTED, 0.0, 1.0)
    heel, ball, tip = (down[..., k] for k in range(3))
    carry = np.stack([heel, ball, tip * (1.0 - heel) * (1.0 - ball)], axis=-1)
    carry = carry / carry.sum(axis=-1, keepdims=True)
    under = points + np.array([0.0, 0.0, TOES])[:, None] * (points[..., 1:2, :] - points)
    return on_ground((carry[..., None] * under).sum(axis=-2), ground)


def continued(ends: Array, place: Array, points: Array, touching: NDArray[np.bool_]) -> Array:
    """Anchors (..., n, feet, 3) moved in double support such that centres of pressure do not jump; n samples over time.

    While a foot stands alone its centre of pressure is the zero-moment point ``place`` (..., n, 3), known from the
    motion. As the other foot lands the anchor starts from there, as the other one leaves it arrives there: what it
    lacks, at most ``MOVED``, is taken over linearly in time, as far as it stays between heel and tip of the sole with
    ``points`` (..., n, feet, 3 points, 3). Shares then begin at zero and end at one.
    """
    both = np.asarray(touching.all(axis=-1))
    count = both.shape[-1]
    number = np.broadcast_to(np.arange(count), both.shape)
    before = np.maximum.accumulate(np.where(both, -1, number), axis=-1)  # -1: the series begins with both feet down
    after = np.minimum.accumulate(np.where(both, count, number)[..., ::-1], axis=-1)[..., ::-1]
    part = (number - before) / np.maximum(after - before, 1)
    found = ends
    for edge, weight in ((before, 1.0 - part), (after, part)):
        at = np.clip(edge, 0, count - 1)[..., None]
        stands = np.take_along_axis(touching, at, axis=-2)
        alone = both & (edge >= 0) & (edge < count) & (stands.sum(axis=-1) == 1)
        there = np.take_along_axis(ends, at[..., None], axis=-3)
        lack = np.take_along_axis(place, at, axis=-2)[..., None, :] - there
        size = np.linalg.norm(lack, axis=-1, keepdims=True)
        lack = lack * np.minimum(1.0, MOVED / np.maximum(size, 1e-12))
        found = found + (weight * alone)[..., None, None] * stands[..., None] * lack
    way = points[..., 2, :] - points[..., 0, :]
    along = ((found - points[..., 0, :]) * way).sum(axis=-1) / np.maximum((way**2).sum(axis=-1), 1e-12)
    beyond = np.where(both[..., None], along - np.clip(along, 0.0, 1.0), 0.0)
    return np.asarray(found - beyond[..., None] * way)


def line_shares(place: Array, ends: Array, touching: NDArray[np.bool_]) -> Array:
    """Shares (..., n, feet) by the projection of ``place`` (..., n, 3) onto the line between ends (..., n, feet, 3).

    A foot that stands alone has the share 1. Ends nearer than 5 cm share more nearly by halves.
    """
    across = ends[..., 1, :] - ends[..., 0, :]
    square = (across**2).sum(axis=-1)
    second = (((place - ends[..., 0, :]) * across).sum(axis=-1) + 0.5 * TOGETHER**2) / (square + TOGETHER**2)
    alone = touching.astype(float)
    share = np.where(touching.all(axis=-1), np.clip(second, 0.0, 1.0), alone[..., 1])
    return np.stack([touching.any(axis=-1) - share, share], axis=-1)


def from_zero(share: Array, touching: NDArray[np.bool_], step: float) -> Array:
    """Shares (..., n, feet) of blurred motions: the load of a foot that lands beside another begins with zero.

    Filters let the zero-moment point leave the standing foot before the other one is down. For ``LANDING`` the share
    of the foot that lands is multiplied by sin^2, from zero at the sample before it stands; ``step`` (s) between
    samples.
    """
    count = touching.shape[-2]
    number = np.arange(count)[:, None]
    down = np.maximum.accumulate(np.where(touching, -1, number), axis=-2)  # the last sample without contact, or -1
    grown = np.sin(0.5 * np.pi * np.clip((number - down) * step / LANDING, 0.0, 1.0)) ** 2
    beside = touching.all(axis=-1, keepdims=True) & (down >= 0) & (down > down[..., ::-1])
    less = share * np.where(beside, grown, 1.0)
    return np.asarray(less + np.where(beside[..., ::-1], share[..., ::-1] - less[..., ::-1], 0.0))


def shared(
    force: Array, moment: Array, ends: Array, share: Array, ground: HalfSpace, pivot: Array | None, light: float
) -> FootLoads:
    """The loads of both feet from the resultant and its moment (..., 3) about the ground's point.

    ``pivot``: heights (...) at which the forces of both feet meet; None for parallel forces. ``light``: normal
    force (N) below which no centre of pressure is given.
    """
    normal, s = np.array(ground.normal), share[..., None]
    middle = (s * ends).sum(axis=-2)
    turning = moment - np.cross(middle - ground.point, force)
    up = force @ normal
    forces, moments = s * force[..., None, :], s * turning[..., None, :]
    if pivot is not None:
        pair = share.prod(axis=-1) * up / pivot
        across = pair[..., None] * (ends[..., 1, :] - ends[..., 0, :])
        forces = forces + np.stack([across, -across], axis=-2)
    carries = (up > light)[..., None] & (share > 0.0)
    shift = np.cross(normal, turning) / np.where(up > light, up, 1.0)[..., None]
    pressure = np.where(carries[..., None], ends + shift[..., None, :], np.nan)
    return FootLoads(share, forces, moments, ends, pressure)


def no_less(weight: float) -> float:
    """Normal force (N) below which the ground decides no centre of pressure."""
    return LIGHT * weight


def outside(pressure: Array, points: Array, widths: Array) -> Array:
    """How far centres of pressure lie outside the soles (m), (..., feet): zero inside, NaN where there is none.

    Seen from above a sole is a rectangle from heel to tip, as wide as ``widths`` (feet,) say.
    """
    heel, tip = points[..., 0, :], points[..., 2, :]
    along = (tip - heel)[..., :2]
    length = np.maximum(np.linalg.norm(along, axis=-1), 1e-9)
    way = along / length[..., None]
    here = (pressure - heel)[..., :2]
    x = (here * way).sum(axis=-1)
    y = way[..., 0] * here[..., 1] - way[..., 1] * here[..., 0]
    beyond = np.stack([np.maximum(np.maximum(-x, x - length), 0.0), np.maximum(np.abs(y) - widths / 2, 0.0)])
    return np.asarray(np.linalg.norm(beyond, axis=0))
