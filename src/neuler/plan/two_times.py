"""Rows over two times of a motion: phases that go on in the next, and functions of two moments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from neuler.errors import InputError
from neuler.functions.derivatives import Derivatives, derivatives
from neuler.functions.function import function
from neuler.moments.moment import Moment
from neuler.moments.moving_robot import MovingRobot
from neuler.moments.tracing import CONSTANTS, made, moment_inputs, moment_of, traced
from neuler.motions.profiles import Profiles
from neuler.optimize.blocks import Block

Times = tuple[tuple[int, float], tuple[int, float]]
"""Two times of a motion: of each the number of a phase and a share of it."""
OfTwoMoments = Callable[[Moment, Moment], Any]
SIDES = "ab"
"""What the names of inputs end with: those of the first time, and of the second."""


@dataclass(frozen=True, eq=False)
class TwoTimes:
    """Rows of two times of a motion, and their bounds."""

    name: str
    at: Times
    lower: Any
    upper: Any
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TwoMoments(TwoTimes):
    """lower <= function(first moment, second moment) <= upper."""

    function: OfTwoMoments = lambda first, second: []


def trace_two(two: TwoMoments, robots: tuple[MovingRobot, MovingRobot]) -> Derivatives:
    """The function of two moments, compiled; ``robots`` are those that move at both times."""
    inputs = {
        f"{name}_{side}": shape
        for side, robot in zip(SIDES, robots, strict=True)
        for name, shape in moment_inputs(robot).items()
    }

    def rows(*values: Any) -> Any:
        by_name = dict(zip(inputs, values, strict=True))
        moments = [
            moment_of(robot, {name: by_name[f"{name}_{side}"] for name in moment_inputs(robot)})
            for side, robot in zip(SIDES, robots, strict=True)
        ]
        return made(two.name, two.function, *moments)

    found = traced(two.name.replace(" ", "_"), rows, inputs, [two.name], marked=True)
    return derivatives(found, [x.name for x in found.inputs if x.name.rpartition("_")[0] not in CONSTANTS])


def joined(robot: MovingRobot, phase: int, degree: int, continuity: int | None) -> TwoTimes:
    """Rates at the end of a phase less those at the start of the next, zero up to derivative ``continuity``.

    Those of joints without a motor follow from the forces; their velocities alone go on.
    """
    most = degree - 1
    used = np.ones((most, robot.profile_count), dtype=bool)
    used[most if continuity is None else continuity :] = False
    used[1:, robot.undriven_profiles] = False
    bound = np.where(used.ravel(), 0.0, np.inf)
    return TwoTimes("joined", ((phase, 1.0), (phase + 1, 0.0)), -bound, bound)


@functools.cache
def joined_derivatives(count: int, most: int) -> Derivatives:
    """Derivatives 1 to ``most`` per second of ``count`` profiles at the end of a phase, less those of the next.

    They depend on no robot: all plans with as many profiles share one function.
    """
    names = [f"c{k}_{side}" for side in SIDES for k in range(1, most + 1)]
    inputs: dict[str, Any] = dict.fromkeys(names[:most], count) | {"T_a": ()}
    inputs |= dict.fromkeys(names[most:], count) | {"T_b": ()}

    def rows(*values: Any) -> Any:
        given = dict(zip(inputs, values, strict=True))
        return [
            x
            for k in range(1, most + 1)
            for x in given[f"c{k}_a"] / given["T_a"] ** k - given[f"c{k}_b"] / given["T_b"] ** k
        ]

    return derivatives(function(rows, inputs, "rows", "joined"), list(inputs))


def two_times_block(two: TwoTimes, found: Derivatives, profiles: Sequence[Profiles], n: int) -> Block:
    """Rows over two times of a motion, one point of a block."""
    parts, known = [], {}
    for name in (*found.wrt, *found.constants):
        inner, _, side = name.rpartition("_")
        number, share = two.at[SIDES.index(side)]
        at = np.array([share])
        if name in found.wrt:
            parts.append(profiles[number].input_matrix([inner], at, n))
        else:
            known[name] = profiles[number].constants_at(at)[inner]
    L = sparse.vstack(parts).tocsr()
    try:
        low, high = (np.broadcast_to(side, (found.rows,))[None].astype(float) for side in (two.lower, two.upper))
    except ValueError:
        raise InputError(
            f"relation {two.name!r}: bounds must be numbers or one for each of its {found.rows} rows"
        ) from None
    zeros = np.zeros(L.shape[0]), np.zeros((1, found.rows))
    return Block(found, L, zeros[0], known, low.copy(), high.copy(), zeros[1], np.ones(found.rows), name=two.name)
