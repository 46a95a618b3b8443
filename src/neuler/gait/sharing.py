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
ADJUSTED = 0.3
"""The most by which shares are moved so that they begin and end where a foot stands alone."""


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

    The ball of a foot that is a foot's length behind the other one, or more; the heel of one as far in front; half-way
    between them where the feet are side by side; and smoothly in between.
    """
    heel, ball, tip = (on_ground(points[..., k, :], ground) for k in range(3))
    middle, along = 0.5 * (heel + ball), tip - heel
    length = np.linalg.norm(along, axis=-1)
    forwards = along.sum(axis=-2) / np.maximum(np.linalg.norm(along.sum(axis=-2), axis=-1), 1e-9)[..., None]
    ahead = ((middle - middle[..., ::-1, :]) * forwards[..., None, :]).sum(axis=-1)
    ahead = np.clip(ahead / np.maximum(length.mean(axis=-1), 1e-9)[..., None], -1.0, 1.0)[..., None]
    return np.asarray(middle + np.maximum(ahead, 0.0) * (heel - middle) + np.maximum(-ahead, 0.0) * (ball - middle))


def line_shares(place: Array, ends: Array, touching: NDArray[np.bool_]) -> Array:
    """Shares (..., n, feet) by the projection of ``place`` (..., n, 3) onto the line between ends (..., n, feet, 3).

    n samples over time. A foot that stands alone has the share 1. Where both stand and shares would jump as the second
    foot lands or the first one leaves, because the place is between the ends by then, they are moved linearly, by at
    most ``ADJUSTED``, such that a foot is loaded from zero and unloaded to zero. Ends nearer than 5 cm share more
    nearly by halves.
    """
    across = ends[..., 1, :] - ends[..., 0, :]
    square = (across**2).sum(axis=-1)
    second = (((place - ends[..., 0, :]) * across).sum(axis=-1) + 0.5 * TOGETHER**2) / (square + TOGETHER**2)
    second = _adjusted(second, touching)
    alone = touching.astype(float)
    share = np.where(touching.all(axis=-1), np.clip(second, 0.0, 1.0), alone[..., 1])
    return np.stack([touching.any(axis=-1) - share, share], axis=-1)


def _adjusted(second: Array, touching: NDArray[np.bool_]) -> Array:
    """The second foot's share, moved in each double support to that of the single supports before and after."""
    both = np.asarray(touching.all(axis=-1))
    count = both.shape[-1]
    number = np.broadcast_to(np.arange(count), both.shape)
    before = np.concatenate([np.zeros_like(both[..., :1]), both[..., :-1]], axis=-1)
    after = np.concatenate([both[..., 1:], np.zeros_like(both[..., :1])], axis=-1)
    first = np.maximum.accumulate(np.where(both & ~before, number, 0), axis=-1)
    last = np.minimum.accumulate(np.where(both & ~after, number, count - 1)[..., ::-1], axis=-1)[..., ::-1]

    def ends(edge: NDArray[np.intp], step: int) -> tuple[NDArray[np.bool_], Array, Array]:
        """Whether one foot stands alone beyond an edge, the second's share there, and the line's share at the edge."""
        beyond = np.clip(edge + step, 0, count - 1)
        alone = np.take_along_axis(touching.sum(axis=-1), beyond, axis=-1) == 1
        goal = np.take_along_axis(touching[..., 1], beyond, axis=-1).astype(float)
        here = np.take_along_axis(second, edge, axis=-1)
        return alone, goal, np.clip(here, np.maximum(goal - ADJUSTED, 0.0), np.minimum(goal + ADJUSTED, 1.0))

    (from_one, begin, low), (to_one, end, high) = ends(first, -1), ends(last, 1)
    begin, low = np.where(from_one, begin, 1.0 - end), np.where(from_one, low, 1.0 - end)
    end, high = np.where(to_one, end, 1.0 - begin), np.where(to_one, high, 1.0 - begin)
    across = (from_one | to_one) & (begin != end)
    span = np.where(across, high - low, 1.0)
    return np.asarray(np.where(across, begin + (second - low) / span * (end - begin), second))


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
