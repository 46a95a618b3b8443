"""Where a solve begins: smooth paths between the positions that are asked for, no faster than limits allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse.linalg import spsolve

from neuler.errors import NeulerError
from neuler.optimize.programme import Array
from neuler.plan import bspline
from neuler.plan.model import Model
from neuler.plan.rows import LIMIT, SLACK
from neuler.plan.segment import Segment
from neuler.plan.stage import Spot, Stage

DURATIONS = np.geomspace(1e-3, 1e4, 141)
"""Seconds that are tried."""
ROOM = 0.9
"""Share of limits that the first guess may use."""


def guessed(model: Model, stages: Sequence[Stage], segments: Sequence[Segment], n: int, seed: int | None) -> Array:
    """All variables; a ``seed`` strays from the straight way, the same way for the same seed."""
    x = np.zeros(n)
    random = None if seed is None else np.random.default_rng(seed)
    here = model.chart(model.reference)
    for stage, segment, end in zip(stages, segments, _ends(stages, here), strict=True):
        keys = _keys(model, stage, here, end)
        P = _fitted(segment, keys)
        if random is not None:
            low, high = stage.boxes(model)
            spread = np.maximum(np.ptp(np.array([value for _, value in keys]), axis=0), 0.2)
            bump = random.normal(size=(2, model.nc)) * 0.5 * spread
            s = bspline.greville(segment.knots, segment.degree)[:, None]
            P = P + bump[0] * np.sin(np.pi * s) ** 2 + bump[1] * np.sin(2 * np.pi * s) * np.sin(np.pi * s) ** 2
            P = np.clip(P, low, high)
        x[segment.first : segment.duration] = P.ravel()
        _set(x, segment, 1.0)
        if segment.followers:
            x[segment.followed : segment.last] = followers(model, segment.grid, segment, x).ravel()
        T = _duration(stage, segment, x) * (1.0 if random is None else float(random.uniform(1, 2)))
        low_T, high_T = stage.span
        _set(x, segment, min(max(T, low_T), high_T))
        here = keys[-1][1]
    return x


def _set(x: Array, segment: Segment, T: float) -> None:
    """A duration, and what follows from it."""
    for place, value in segment.given(T).items():
        x[place] = value


def _ends(stages: Sequence[Stage], here: Array) -> list[Array]:
    """Positions at which phases end: what is free lies on the way to the next phase that asks for it."""
    asked = [stages[0].positions(0.0), *(stage.positions(1.0) for stage in stages)]
    table = np.array([np.full(len(here), np.nan) if each is None else each for each in asked])
    table[0] = np.where(np.isnan(table[0]), here, table[0])
    number = np.arange(len(table))
    for column in table.T:
        known = ~np.isnan(column)
        column[:] = np.interp(number, number[known], column[known])
    return list(table[1:])


def _keys(model: Model, stage: Stage, here: Array, end: Array) -> list[tuple[float, Array]]:
    """Positions to pass: shares and chart coordinates; what is free stays as it was, or as a pose needs it."""
    shares = sorted({0.0, 1.0, *(spot.share for spot in stage.spots)})
    found: list[tuple[float, Array]] = []
    for share in shares:
        wanted = stage.positions(share)
        usual = end if share == 1.0 else here
        place = usual if wanted is None else np.where(np.isnan(wanted), usual, wanted)
        for spot in stage.spots:
            if spot.share == share and spot.poses:
                place = _reached(model, spot, place, wanted)
        found.append((share, place))
        here = place
    return found


def _reached(model: Model, spot: Spot, here: Array, wanted: Array | None) -> Array:
    """A position with the pose that is asked for, where one is found; else as it was."""
    if model.robot.loops or not model.coordinates.plain or model.elastic:
        return here
    for frame, pose in spot.poses.items():
        try:
            reached = model.robot.inverse_kinematics(pose, here, frame=frame, orientation=pose.shape == (4, 4))
        except NeulerError:
            return here
        q = np.asarray(reached.q, dtype=float)
        if np.isfinite(q).all():
            here = q if wanted is None else np.where(np.isnan(wanted), q, wanted)
    return here


def _fitted(segment: Segment, keys: Sequence[tuple[float, Array]]) -> Array:
    """Control points of a spline along the smooth way through all keys, at rest at both ends."""
    shares = np.array([share for share, _ in keys])
    places = np.array([place for _, place in keys])
    at = bspline.greville(segment.knots, segment.degree)
    if len(keys) == 2:
        step = at**3 * (10.0 - 15.0 * at + 6.0 * at**2)
        way = places[0] + step[:, None] * (places[1] - places[0])
    else:
        from scipy.interpolate import CubicSpline

        way = CubicSpline(shares, places, bc_type="clamped")(at)
    return np.asarray(spsolve(bspline.operator(segment.knots, segment.degree, at).tocsc(), way)).reshape(way.shape)


def _duration(stage: Stage, segment: Segment, x: Array) -> float:
    """The shortest that limits allow along the guess, or the one that violates them least."""
    low, high = stage.span
    if low == high:
        return low
    durations = DURATIONS[(low <= DURATIONS) & (high >= DURATIONS)]
    if not len(durations):
        return float(np.clip(1.0, max(low, 1e-3), high))
    rows = stage.path
    if rows is None or not any(part.kind == LIMIT for part in rows.parts):
        return float(np.clip(1.0, low, high))
    derived = rows.derived
    others = {name: segment.duration for name in derived.wrt if name.startswith("slack")}
    places = np.arange(len(segment.grid))
    L = segment.operator(derived.wrt, segment.grid, len(x), places, others)
    timed, rest = np.zeros(len(x)), x.copy()
    for place, value in segment.given(1.0).items():
        timed[place], rest[place] = value, 0.0
    z = (L @ rest) + durations[:, None] * (L @ timed)
    given = segment.known(segment.grid)
    known = {name: np.concatenate([given[name]] * len(durations)) for name in derived.known}
    values = np.asarray(derived.function(**derived.inputs(z.reshape(-1, derived.width), known)))
    lower, upper = rows.bounds()
    scale = rows.scales()
    chosen = np.zeros(rows.count, dtype=bool)
    for part in rows.parts:
        chosen[part.rows] = part.kind == LIMIT
    excess = np.fmax((lower - values) / scale, (values - upper) / scale)[:, chosen]
    worst = np.nan_to_num(excess, nan=1e9, neginf=-1e9).reshape(len(durations), -1).max(axis=1) + (1.0 - ROOM)
    allowed = np.flatnonzero(worst <= 0.0)
    if len(allowed):
        return float(durations[allowed[0]])
    near = worst <= worst.min() + 1e-3 * (1.0 + abs(worst.min()))
    return float(durations[np.flatnonzero(near)[0]])


def slack_values(stage: Stage, segment: Segment, x: Array, places: dict[str, int]) -> dict[str, float]:
    """Of peaks: the largest value along the guess."""
    rows = stage.path
    if rows is None or not places:
        return {}
    derived = rows.derived
    L = segment.operator(derived.wrt, segment.grid, len(x), np.arange(len(segment.grid)), places)
    given = segment.known(segment.grid)
    known = {name: given[name] for name in derived.known}
    values = np.asarray(derived.function(**derived.inputs((L @ x).reshape(len(segment.grid), -1), known)))
    found, peaks = {}, iter(places)
    for part in rows.parts:
        if part.kind == SLACK:
            name = next(peaks)
            found[name] = float(np.nanmax(values[:, part.rows])) + x[places[name]]
    return found


def followers(model: Model, shares: Array, segment: Segment, x: Array) -> Array:
    """Positions that loops decide along the profiles, (shares, followers): closed, from the reference on."""
    first, values = bspline.basis(segment.knots_at(x), segment.degree, segment.times(x, shares), 0)
    P = segment.control_points(x)
    chart = np.einsum("na,nak->nk", values[0], P[first[:, None] + np.arange(segment.degree + 1)])
    own = np.array(model.lifted_numbers(chart))
    found = model.robot.assemble(own, guess=model.reference, continuous=True)
    return np.asarray(found.q)[:, model.followers]
