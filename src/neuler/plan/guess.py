"""Where a solve begins: smooth paths between the positions that are asked for, no faster than limits allow.

Or a motion that is known: an earlier plan, a simulated or a measured one.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import spsolve

from neuler.errors import InputError, NeulerError
from neuler.moments.moving_robot import MovingRobot
from neuler.motions import splines
from neuler.motions.motion import Motion
from neuler.motions.profiles import Profiles
from neuler.optimize.programme import Array
from neuler.plan.conditions import Condition
from neuler.plan.objectives import MAGNITUDE
from neuler.plan.phases import Phase
from neuler.plan.relations import Relation
from neuler.plan.rows import LIMIT, SLACK, TOTAL
from neuler.plan.standing import stood
from neuler.plan.transcribe import Transcription

DURATIONS = np.geomspace(1e-3, 1e4, 141)
"""Durations (s) that the first guess tries."""
SLOW = 1e4
"""A duration (s) in which moving takes nothing."""
SWING = 1.6
"""How far joints swing out (rad; a tenth of it in m)."""
POSTURES, DIFFERENT = 24, 0.05
"""Random starts of inverse kinematics, and what tells one posture from another (rad, m)."""
TURN = (-np.pi, np.pi)
"""Where joints without bounds are looked for, beside where they are."""
ROOM = 0.9
"""Share of limits that the first guess may use."""


@dataclass(frozen=True)
class FirstGuess:
    """Where a solve begins: along smooth paths, as long as limits ask for."""

    seed: int | None = None
    """Perturbs the paths, the same way for the same seed."""
    pace: float | None = None
    """Durations are so many times the shortest for which moving alone, without gravity, stays within limits; None: the
    shortest for which limits hold."""
    swing: int = 0
    """Which swing the paths make beside the straight way, by its number in :func:`swings`; 0: none."""
    number: int = 0
    """Among the first guesses of a plan."""
    grid: int | None = None
    """Grid points in every span, where they are not the plan's."""


GUESSES = (
    FirstGuess(),
    FirstGuess(pace=1.0),
    FirstGuess(pace=2.0),
    FirstGuess(pace=0.5),
    FirstGuess(pace=1.5, swing=1),
    FirstGuess(pace=1.5, swing=2),
    FirstGuess(pace=1.0, swing=3),
    FirstGuess(pace=1.0, swing=4),
)
"""First guesses in the order in which they are tried: straight and swinging ones, at several paces."""


def swings(robot: MovingRobot, number: int) -> Array:
    """How far each profile swings out in the middle of a swing: joints folded one way or the other, or the outer ones.

    An arm whose motors are too weak to lift it straight gains speed, or shortens its levers, on such ways.
    """
    count = robot.profile_count
    fold, outer = (-1.0) ** np.arange(count), (np.arange(count) >= count // 2).astype(float)
    found = (0.0 * fold, -fold, fold, outer, -outer)[number]
    every = robot.robot.coordinates.units("qd")
    slides = [every[k] == "m/s" for k in robot.coordinates.numbers]
    return SWING * np.where(slides, 0.1 * found, found)


def first_guesses(transcription: Transcription, seed: int | None, count: int) -> list[FirstGuess]:
    """The first guesses of a plan, numbered; of a plan whose durations are given, paces make no difference."""
    fixed = all(low == high for low, high in (phase.span for phase in transcription.phases))
    found = [replace(each, seed=seed) for each in GUESSES if each.pace is None or each.swing or not fixed]
    first = 0 if seed is None else seed + 1  # those of a seed are its own
    while len(found) < count:
        found.append(FirstGuess(first + len(found), 1.0 + 0.5 * (len(found) % 3)))
    return [replace(each, number=k) for k, each in enumerate(found[:count])]


def guessed(transcription: Transcription, profiles: Sequence[Profiles], first: FirstGuess = GUESSES[0]) -> Array:
    """All variables along smooth paths."""
    phases = transcription.phases
    x = np.zeros(transcription.size(profiles))
    random = None if first.seed is None else np.random.default_rng(first.seed)
    here, ends = _ends(transcription, phases[0].model.profiles_at(phases[0].model.reference))
    for phase, mine, end in zip(phases, profiles, ends, strict=True):
        model = phase.model
        keys = _keys(model, phase, here, end, first.number)
        P = _fitted(mine, keys)
        s = splines.greville(mine.knots, mine.degree)[:, None]
        low, high = phase.boxes()
        if first.swing:
            P = np.clip(P + swings(model, first.swing) * np.sin(np.pi * s) ** 2, low, high)
        if random is not None:
            spread = np.maximum(np.ptp(np.array([value for _, value in keys]), axis=0), 0.2)
            bump = random.normal(size=(2, model.profile_count)) * 0.5 * spread
            P = P + bump[0] * np.sin(np.pi * s) ** 2 + bump[1] * np.sin(2 * np.pi * s) * np.sin(np.pi * s) ** 2
            P = np.clip(P, low, high)
        x[mine.first : mine.duration] = P.ravel()
        x[mine.duration] = 1.0
        if mine.dependent:
            x[mine.first_dependent : mine.first_magnitude] = dependent_positions(model, mine, x).ravel()
        T, _ = guessed_duration(phase, mine, x, first.pace)
        T *= 1.0 if random is None or first.pace is not None else float(random.uniform(1, 2))
        low_T, high_T = phase.span
        x[mine.duration] = min(max(T, low_T), high_T)
        here = keys[-1][1]
    return filled(transcription, profiles, x)


def along(transcription: Transcription, profiles: Sequence[Profiles], motion: Motion) -> Array:
    """All variables along a motion that is known: its profiles fitted, its duration shared out to the phases.

    A motion with as many phases keeps their durations; of another, phases take shares of its time.
    """
    phases = transcription.phases
    robot = phases[0].model.robot
    names = motion.robot.coordinates.names("q")
    if names != robot.coordinates.names("q"):
        raise InputError(
            f"solve: the guess is a motion of {motion.robot.name!r}, whose coordinates are not those of {robot.name!r}"
        )
    x = np.zeros(transcription.size(profiles))
    times = np.asarray(motion.breaks, dtype=float)
    if len(times) != len(phases) + 1:
        times = np.linspace(0.0, motion.duration, len(phases) + 1)
    for phase, mine, begin, end in zip(phases, profiles, times[:-1], times[1:], strict=True):
        shares = np.unique(np.concatenate([mine.grid, splines.greville(mine.knots, mine.degree)]))
        t = begin + (end - begin) * shares
        q = motion.asked(lambda moments: motion.evaluate(moments, 0)[0], np.clip(t, 0.0, motion.duration))
        wanted = phase.model.profiles_at(q[:, phase.model.coordinates.places], "guess")
        basis = splines.operator(mine.knots, mine.degree, shares).toarray()
        x[mine.first : mine.duration] = np.linalg.lstsq(basis, wanted, rcond=None)[0].ravel()
        x[mine.duration] = min(max(end - begin, phase.span[0]), phase.span[1])
        if mine.dependent:
            at = begin + (end - begin) * mine.grid
            q = motion.asked(lambda moments: motion.evaluate(moments, 0)[0], np.clip(at, 0.0, motion.duration))
            x[mine.first_dependent : mine.first_magnitude] = q[:, phase.model.dependent].ravel()
    return filled(transcription, profiles, x)


def filled(transcription: Transcription, profiles: Sequence[Profiles], x: Array) -> Array:
    """The variables with slacks and magnitudes at the largest values along the profiles, and integrals at theirs."""
    slacks = transcription.slack_places(profiles)
    totals = transcription.total_places(profiles)
    for phase, mine in zip(transcription.phases, profiles, strict=True):
        if phase.model.support is not None and mine.force_count and not x[mine.first_force : mine.last].any():
            x[mine.first_force : mine.last] = np.tile(
                phase.model.support.force_guess, (mine.last - mine.first_force) // mine.force_count
            )
        fill_magnitudes(phase, mine, x, slacks)
    for phase, mine, sums in zip(transcription.phases, profiles, totals, strict=True):
        if phase.path is None or not (slacks or sums):
            continue
        values = path_values(phase, mine, x, slacks)
        for family in phase.path.of_kind(SLACK):
            place = slacks[family.slack]
            x[place] = max(x[place], float(np.nanmax(values[:, family.rows])) + x[place])
        for family in phase.path.of_kind(TOTAL):
            x[list(sums[family])] = mine.weights @ values[:, family.rows]
    return x


def fill_magnitudes(phase: Phase, profiles: Profiles, x: Array, slacks: Mapping[str, int]) -> None:
    """Put bounds of magnitudes at what the profiles have, a little above it."""
    if not profiles.magnitudes or phase.path is None:
        return
    mine = slice(profiles.first_magnitude, profiles.first_force)
    x[mine] = 0.0
    values = path_values(phase, profiles, x, slacks)[profiles.weights != 0.0]
    found = [np.abs(values[:, each.rows][:, : each.count // 2]) for each in phase.path.of_kind(MAGNITUDE)]
    every = np.concatenate(found, axis=1)
    x[mine] = (1.01 * every + 1e-3 * every.max(initial=1e-3)).ravel()


def carried_forces(old: Profiles, new: Profiles, x: Array) -> Array:
    """Control points of the forces of contacts on other knots, nearest to those of some variables."""
    P = old.force_points(x)
    if len(old.force_knots) != len(new.force_knots) or not np.allclose(old.force_knots, new.force_knots):
        P = splines.fitted(old.force_knots, old.force_degree, new.force_knots, ends=0) @ P
    return np.asarray(P).ravel()


def path_values(phase: Phase, profiles: Profiles, x: Array, slacks: Mapping[str, int]) -> Array:
    """The rows of a phase at its grid, (grid, rows)."""
    assert phase.path is not None
    found = phase.path.derivatives
    L = profiles.input_matrix(found.wrt, profiles.grid, len(x), np.arange(len(profiles.grid)), slacks)
    constants = profiles.constants_at(profiles.grid)
    known = {name: constants[name] for name in found.constants}
    return np.asarray(found.function(**found.inputs((L @ x).reshape(len(profiles.grid), -1), known)))


def _ends(transcription: Transcription, here: Array) -> tuple[Array, list[Array]]:
    """Positions at which the first phase begins and all end: what is free lies on the way to what asks for it.

    What relations shift lies so far from where it began; contacts stand where they were put down.
    """
    phases, names = transcription.phases, transcription.phases[0].model.names
    relations = [each for each in transcription.relations if type(each) is Relation]
    asked = [phases[0].positions(0.0), *(phase.positions(1.0) for phase in phases)]
    table = np.array([np.full(len(here), np.nan) if each is None else each for each in asked])
    free = np.isnan(table)
    table[0] = _standing(phases[0], np.where(free[0], here, table[0]), free[0])
    for each in relations:
        end = names.index(each.end)
        if free[-1, end]:
            table[-1, end] = each.sign * table[0, names.index(each.start)] + each.shift
        if each.shift:
            free[1:, end] = False  # it moves on
    number = np.arange(len(table))
    for column in table.T:
        known = ~np.isnan(column)
        column[:] = np.interp(number, number[known], column[known])
    for k, phase in enumerate(phases):
        table[k + 1] = _standing(phase, table[k + 1], free[k + 1], table[k])
    if any(phase.model.support is not None for phase in phases):
        for each in relations:
            start = names.index(each.start)
            if free[0, start]:
                table[0, start] = each.sign * (table[-1, names.index(each.end)] - each.shift)
    return table[0], list(table[1:])


def _standing(phase: Phase, place: Array, free: Array, before: Array | None = None) -> Array:
    """A position with the contacts of a phase on the ground, where it has some."""
    return place if phase.model.support is None else stood(phase.model, place, free, *phase.boxes(), before)


def _keys(model: MovingRobot, phase: Phase, here: Array, end: Array, number: int) -> list[tuple[float, Array]]:
    """Positions to pass: shares and profiles; what is free stays as it was, or as a pose needs it."""
    shares = sorted({0.0, 1.0, *(each.share for each in phase.conditions)})
    found: list[tuple[float, Array]] = []
    for share in shares:
        wanted = phase.positions(share)
        usual = end if share == 1.0 else here
        place = usual if wanted is None else np.where(np.isnan(wanted), usual, wanted)
        for each in phase.conditions:
            if each.share == share and each.poses:
                place = _reached(model, each, place, wanted, phase.boxes(), number)
        found.append((share, place))
        here = place
    return found


def _reached(
    model: MovingRobot, condition: Condition, here: Array, wanted: Array | None, box: tuple[Array, Array], number: int
) -> Array:  # fmt: skip
    """A position with the pose that is asked for, where one is found; else as it was.

    Of several postures, the nearest within the bounds of positions, or another one by its ``number``.
    """
    if model.robot.loops or not model.coordinates.plain or model.elastic:
        return here
    for frame, pose in condition.poses.items():
        found = _postures(model, frame, pose, here[None], box)
        if not found or number:
            low, high = (np.where(np.isfinite(side), side, here + turn) for side, turn in zip(box, TURN, strict=True))
            starts = np.random.default_rng(0).uniform(low, high, (POSTURES, len(here)))
            found = _postures(model, frame, pose, np.vstack([here, starts]), box) or found
        if found:
            q = found[number % len(found)]
            here = q if wanted is None else np.where(np.isnan(wanted), q, wanted)
    return here


def _postures(
    model: MovingRobot, frame: str, pose: Array, starts: Array, box: tuple[Array, Array]
) -> list[Array]:  # fmt: skip
    """Positions within bounds that bring a frame to a pose, from ``starts`` (N, nq); those near the first one first."""
    poses = np.broadcast_to(pose, (len(starts), *pose.shape))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            reached = model.robot.inverse_kinematics(poses, starts, frame=frame, orientation=pose.shape == (4, 4))
    except NeulerError:
        return []
    q = np.asarray(reached.q, dtype=float)
    good = np.isfinite(q).all(axis=1) & (q >= box[0] - 1e-9).all(axis=1) & (q <= box[1] + 1e-9).all(axis=1)
    found: list[Array] = []
    for each in sorted(q[good], key=lambda x: float(np.abs(x - starts[0]).sum())):
        if all(np.abs(each - other).max() > DIFFERENT for other in found):
            found.append(each)
    return found


def _fitted(profiles: Profiles, keys: Sequence[tuple[float, Array]]) -> Array:
    """Control points of a spline along the smooth way through all keys, at rest at both ends."""
    shares = np.array([share for share, _ in keys])
    places = np.array([place for _, place in keys])
    at = splines.greville(profiles.knots, profiles.degree)
    if len(keys) == 2:
        step = at**3 * (10.0 - 15.0 * at + 6.0 * at**2)
        way = places[0] + step[:, None] * (places[1] - places[0])
    else:
        from scipy.interpolate import CubicSpline

        way = CubicSpline(shares, places, bc_type="clamped")(at)
    basis = splines.operator(profiles.knots, profiles.degree, at).tocsc()
    return np.asarray(spsolve(basis, way)).reshape(way.shape)


def guessed_duration(phase: Phase, profiles: Profiles, x: Array, pace: float | None = None) -> tuple[float, float]:
    """The shortest duration that limits allow along the guess, or the one that violates them least.

    What a slow motion takes of limits is told besides, as a share: more than 1 where motors are weaker than gravity.
    With a ``pace`` the duration is so many times the shortest for which the part of the rows that comes from moving
    stays within the bounds.
    """
    low, high = phase.span
    if low == high:
        return low, 0.0
    durations = DURATIONS[(low <= DURATIONS) & (high >= DURATIONS)]
    if not len(durations):
        return float(np.clip(1.0, max(low, 1e-3), high)), 0.0
    rows = phase.path
    if rows is None or not rows.of_kind(LIMIT):
        return float(np.clip(1.0, low, high)), 0.0
    every = np.append(durations, SLOW)
    values = _paced(phase, profiles, x, every)
    lower, upper = rows.bounds()
    scale = rows.scales()
    chosen = np.zeros(rows.count, dtype=bool)
    for family in rows.of_kind(LIMIT):
        chosen[family.rows] = True

    def worst(values: Array) -> Array:
        excess = np.fmax((lower - values) / scale, (values - upper) / scale)[..., chosen]
        return np.nan_to_num(excess, nan=1e9, neginf=-1e9).max(axis=(1, 2)) + (1.0 - ROOM)

    slow = ROOM + float(worst(values[-1:])[0])
    if pace is not None:
        moving = values[:-1] - np.where(rows.orders >= 2, values[-1], 0.0)
        allowed = np.flatnonzero(worst(moving) <= 0.0)
        return float(np.clip(pace * durations[allowed[0] if len(allowed) else -1], low, high)), slow
    found = worst(values[:-1])
    allowed = np.flatnonzero(found <= 0.0)
    if len(allowed):
        return float(durations[allowed[0]]), slow
    near = found <= found.min() + 1e-3 * (1.0 + abs(found.min()))
    return float(durations[np.flatnonzero(near)[0]]), slow


def _paced(phase: Phase, profiles: Profiles, x: Array, durations: Array) -> Array:
    """The rows of a phase's path for several durations, (durations, grid, rows)."""
    assert phase.path is not None
    found = phase.path.derivatives
    others = dict.fromkeys(phase.slacks, profiles.duration)  # slacks do not matter to limits
    L = profiles.input_matrix(found.wrt, profiles.grid, len(x), np.arange(len(profiles.grid)), others)
    timed, rest = np.zeros(len(x)), x.copy()
    timed[profiles.duration], rest[profiles.duration] = 1.0, 0.0
    z = (L @ rest) + durations[:, None] * (L @ timed)
    given = profiles.constants_at(profiles.grid)
    known = {name: np.concatenate([given[name]] * len(durations)) for name in found.constants}
    values = np.asarray(found.function(**found.inputs(z.reshape(-1, found.width), known)))
    return values.reshape(len(durations), len(profiles.grid), -1)


def slow_share(transcription: Transcription, profiles: Sequence[Profiles], x: Array) -> float:
    """What a slow motion along the guess takes of limits: near 1 and above, motors are weak and one guess is poor."""
    phases = zip(transcription.phases, profiles, strict=True)
    return max(guessed_duration(phase, mine, x)[1] for phase, mine in phases)


def dependent_positions(robot: MovingRobot, profiles: Profiles, x: Array) -> Array:
    """Positions that loops decide along the profiles, (grid, dependent): closed, from the reference on."""
    own = np.array(robot.positions(profiles.evaluate(x, profiles.grid, 0)[0]))
    found = robot.robot.assemble(own, guess=robot.reference, continuous=True)
    return np.asarray(found.q)[:, robot.dependent]
