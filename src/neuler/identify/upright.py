"""The direction of gravity: a robot that is mounted on a wall, upside down, or on a base that is tilted.

Torques are linear in gravity, W = W_0 + g_x W_x + g_y W_y + g_z W_z, with all columns of the links: of a robot that
stands upright torques depend on fewer of them than of one that is tilted. The direction is found by Gauss and Newton's
method, from the given one or along an axis.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuler.identify.along import Along
from neuler.identify.causes import Cause
from neuler.identify.prepared import Prepared
from neuler.identify.trials import Fitted, Sample, Trials

Array = NDArray[np.float64]
_STEPS, _LONGEST, _SETTLED = 12, 0.5, 1e-3
"""Steps, the angle of one at most, and of the last one (rad)."""
_SHARES = (1.0, 0.4, 0.15, 0.05)
"""Of a step, that are tried until less is left."""
_LEAST = 5e-3
"""The angle (rad) by which gravity is said to be turned."""
_AXIS = 0.1
"""Logarithm by which less must be left without gravity than with it along any axis."""
_FEW = 2
"""Passes of weighted least squares in each step."""
_NONE = "were the torques that hold the robot taken off, or does it float (robot.with_gravity([0, 0, 0]))?"
_REMEDY = "does the robot stand as its model does (robot.with_gravity)?"


def direction(sample: Sample, along: Along, now: Fitted) -> list[Cause]:
    """Another direction of gravity, with which less is left."""
    regression = sample.regression
    robot = regression.robot
    given = np.array(robot.gravity, dtype=float)
    size, plain = float(np.linalg.norm(given)), along.fitted()
    if size == 0.0 or regression.loads or plain is None:
        return []
    links = {f"{link.name}." for link in robot.links}
    others = [name for name in regression.columns if not any(name.startswith(each) for each in links)]
    kernel = robot.compile("regressor", columns=("links", *others), parameters=("gravity",))
    axes = [np.zeros(3), *np.eye(3)]

    def parts(each: Prepared) -> list[Array]:
        state = each.q, each.qd, each.qdd
        own = [regression.own(*state)] if regression.own.names else []
        return [*(np.asarray(kernel(*state, axis)) for axis in axes), *own, regression.columns_along(each)[1]]

    still, *turned, known = along.filtered(parts)
    slopes, own = [each - still for each in turned[:3]], turned[3:]
    y = along.tau - known

    def columns(g: Array) -> Array:
        return np.concatenate([still + sum(x * each for x, each in zip(g, slopes, strict=True)), *own], axis=-1)

    def fitted(g: Array, sd: Array, passes: int = _FEW) -> Fitted:
        return Trials(columns(g), along.moving).fitted(y, sd, passes=passes)

    starts = [given, *(sign * size * axis for axis in np.eye(3) for sign in (1.0, -1.0))]
    levels = [float(np.log(fitted(each, plain.sd).sd).mean()) for each in (*starts, np.zeros(3))]
    g = starts[int(np.argmin(levels[:-1]))] if min(levels[:-1]) < levels[-1] + _AXIS else np.zeros(3)
    at = fitted(g, plain.sd)

    def cause(g: Array, what: str, remedy: str) -> Cause:
        scale, rows = now.sd / plain.sd, Trials(columns(g), along.moving)
        return Cause(what, remedy, scale * rows.fitted(y, at.sd).sd, scale * rows.own(along.tau, known))

    without = [cause(np.zeros(3), "without gravity", _NONE)] if levels[-1] < min(levels) + _AXIS else []
    if not g.any():
        return without
    for _ in range(_STEPS):
        tangents = np.linalg.svd(g[None])[2][1:] * size
        x = at.values[: still.shape[-1]]
        beside = np.stack([sum(t * (each @ x) for t, each in zip(way, slopes, strict=True)) for way in tangents], -1)
        turn = np.clip(along.step(columns(g), y, beside, at.sd, 0.0, _LONGEST), -_LONGEST, _LONGEST)
        for share in _SHARES:
            to = g + share * turn @ tangents
            to *= size / np.linalg.norm(to)
            then = fitted(to, at.sd)
            if np.log(then.sd / at.sd).sum() < 0.0:
                break
        else:
            break
        g, at = to, then
        if share * np.abs(turn).max() < _SETTLED:
            break
    angle = float(np.arccos(np.clip(g @ given / size**2, -1.0, 1.0)))
    if angle < _LEAST:
        return without
    shown = ", ".join(f"{x:.3g}" for x in np.round(g, 3) + 0.0)
    what = f"with gravity along ({shown}) m/s^2, {np.degrees(angle):.3g} degrees from the model's"
    return [cause(g, what, _REMEDY), *without]
