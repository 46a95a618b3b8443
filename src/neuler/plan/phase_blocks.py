"""Blocks of a phase, rows at shares of it, limits and integrands on the whole grid; and where blocks come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from neuler.motions.profiles import Profiles
from neuler.optimize.blocks import Block, Total
from neuler.optimize.programme import Array
from neuler.plan.collocation import Collocated
from neuler.plan.conditions import Condition
from neuler.plan.objectives import MAGNITUDE
from neuler.plan.rows import LIMIT, OBJECTIVE, TOTAL, Family, Rows
from neuler.plan.two_times import TwoTimes

LEFT = 1e-7
"""Of a span: how far before a knot points lie at which rows take their values before it."""


@dataclass(frozen=True)
class FromPath:
    """A block of a phase's limits and integrands, on its grid."""

    phase: int


@dataclass(frozen=True)
class FromCollocation:
    """A block of rows that a phase's profiles make zero."""

    phase: int


@dataclass(frozen=True, eq=False)
class FromClearance:
    """A block of distances of a phase: the share and the pair of each row."""

    phase: int
    number: int
    """Which of the phase's limits on clearance it is."""
    shares: Array
    pairs: Any

    def carried(self, before: FromClearance, values: Array) -> Array:
        """Numbers of the rows of another such block, as those of the same rows here; 0 of new ones."""
        found = np.zeros(len(self.shares))
        keys = [each.shares + 2.0 * each.pairs for each in (self, before)]  # shares are at most 1
        _, here, there = np.intersect1d(*keys, return_indices=True)
        found[here] = values[there]
        return found


@dataclass(frozen=True, eq=False)
class FromCondition:
    """A block of what is asked for at a share of a phase, or paid there."""

    phase: int
    condition: Condition


@dataclass(frozen=True)
class FromJoint:
    """A block of rates that go on from a phase, by its number, into the next."""

    phase: int


@dataclass(frozen=True, eq=False)
class FromRelation:
    """A block of rows over two times."""

    two: TwoTimes


@dataclass(frozen=True)
class FromUser:
    """A block that a user's function made."""


Origin = FromPath | FromClearance | FromCollocation | FromCondition | FromJoint | FromRelation | FromUser
"""Where a block of a plan's programme comes from."""


def rows_block(
    rows: Rows, profiles: Profiles, points: Array, n: int, slacks: Mapping[str, int], lower: Array, upper: Array,
    given: Array | None = None,
) -> Block:  # fmt: skip
    """Rows at some shares of a phase."""
    on_grid = profiles.dependent or profiles.magnitudes
    at = np.searchsorted(profiles.grid, points - 1e-12) if on_grid else None
    L = profiles.input_matrix(rows.derivatives.wrt, points, n, at, slacks)
    known = profiles.constants_at(points)
    if given is not None and len(given):
        known["given"] = np.broadcast_to(given, (len(points), len(given)))
    shape = (len(points), rows.count)
    size = np.maximum(np.abs(lower), np.abs(upper))
    return Block(
        rows.derivatives,
        L,
        np.zeros(L.shape[0]),
        {name: known[name] for name in rows.derivatives.constants},
        np.broadcast_to(lower, shape).copy(),
        np.broadcast_to(upper, shape).copy(),
        np.zeros(shape),
        np.where(np.isfinite(size) & (size > 0.0), size, rows.scales()),
        name=rows.function.name,
    )


def collocated_block(equal: Collocated, profiles: Profiles, n: int, slacks: Mapping[str, int]) -> Block:
    """Rows that have their values at collocation points; in their weak form a total for every row and spline."""
    value, _ = equal.rows.bounds()
    if not equal.weak:
        points = equal.points(profiles.knots, profiles.degree)
        used = equal.used(len(points))
        block = rows_block(equal.rows, profiles, points, n, slacks, value, value)
        lower, upper = (np.where(used, block.lower, side) for side in (-np.inf, np.inf))
        return replace(block, lower=lower, upper=upper, name=equal.name)
    points, against = equal.projections(profiles.knots, profiles.degree)
    used = equal.used(against.shape[0])
    free = np.full(equal.rows.count, np.inf)
    block = rows_block(equal.rows, profiles, points, n, slacks, -free, free)
    totals = [
        Total(
            sparse.kron(against[i], _unit(equal.rows.count, row)).reshape(block.lower.shape),
            value[row], value[row], {}, "weak",
        )
        for i, row in np.argwhere(used)
    ]  # fmt: skip
    return replace(block, totals=tuple(totals), scale=equal.rows.scales(), name=equal.name)


def _unit(size: int, place: int) -> Any:
    return sparse.csr_matrix(([1.0], ([0], [place])), shape=(1, size))


def path_block(
    rows: Rows, profiles: Profiles, n: int, slacks: Mapping[str, int], margin: Array | None,
    left_out: Array | None, totals: Mapping[Family, range],
) -> Block:  # fmt: skip
    """Limits at every grid point in their windows, and integrands with the grid's weights."""
    block = rows_block(rows, profiles, profiles.grid, n, slacks, *rows.bounds())
    lower, upper, weights = block.lower, block.upper, block.weights
    if margin is not None:
        lower, upper = lower + margin, upper - margin
    sums: list[Total] = []
    for family in rows.families:
        if family.kind == OBJECTIVE and family.term is not None:
            weights[:, family.rows] = (profiles.weights * family.term.weight)[:, None]
        if family.kind == LIMIT and family.limit is not None:
            outside = family.limit.outside(profiles.grid)
            lower[outside, family.rows] = -np.inf
            upper[outside, family.rows] = np.inf
        if family.kind == MAGNITUDE:
            upper[profiles.weights == 0.0, family.rows] = np.inf
        if family.kind == TOTAL:
            sums += _sums(family, profiles.weights, totals[family], block.weights.shape)
    rough = rows.jumps_at_knots(profiles.degree)
    if rough.any():  # just before a knot: rows that jump there, alone
        edges = np.unique(profiles.knots)
        before = np.abs(profiles.grid[:, None] - (edges[1:-1] - LEFT * np.diff(edges)[:-1])).min(axis=1, initial=1.0)
        smooth = np.ix_(before < 1e-3 * LEFT, ~rough)
        lower[smooth], upper[smooth] = -np.inf, np.inf
    if profiles.nodes is not None:  # between nodes forces are not variables: they follow from the motion
        between = np.ix_(~np.isin(profiles.grid, profiles.nodes), rows.of_forces)
        lower[between], upper[between] = -np.inf, np.inf
    if left_out is not None:
        lower = np.where(left_out, -np.inf, lower)
        upper = np.where(left_out, np.inf, upper)
    return replace(block, lower=lower, upper=upper, weights=weights, scale=rows.scales(), totals=tuple(sums))


def _sums(family: Family, weights: Array, places: range, shape: tuple[int, ...]) -> list[Total]:
    """The integral of every row of a family is a variable."""
    sums = integral_weights(family, weights, shape)
    return [Total(sums[k].reshape(shape), 0.0, 0.0, {place: -1.0}, family.name) for k, place in enumerate(places)]


def integral_weights(family: Family, weights: Array, shape: tuple[int, ...]) -> Any:
    """Weights of a block's values in the integrals of a family's rows: sparse, (rows of the family, points times rows).

    ``weights``: of the points in integrals; ``shape``: points and rows of the block.
    """
    points = np.flatnonzero(weights)
    number = np.repeat(np.arange(family.count), len(points))
    column = np.tile(points * shape[1], family.count) + family.rows.start + number
    values = np.tile(weights[points], family.count)
    return sparse.csr_matrix((values, (number, column)), shape=(family.count, shape[0] * shape[1]))
