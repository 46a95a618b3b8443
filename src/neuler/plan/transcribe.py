"""From phases to a programme: places of variables, grids, blocks of rows on them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuler.errors import InputError
from neuler.functions.derivatives import Derivatives, derivatives
from neuler.functions.function import Function, function
from neuler.moments.tracing import made
from neuler.motions import splines
from neuler.motions.profiles import Profiles, placed
from neuler.optimize.block_programme import BlockProgramme
from neuler.optimize.blocks import Block
from neuler.optimize.composed import ComposedBlock
from neuler.optimize.elimination import Elimination, eliminated
from neuler.optimize.overall import Overall
from neuler.optimize.programme import Array
from neuler.plan.collocation import with_edges
from neuler.plan.impacts import impact
from neuler.plan.linear import dependent_bounds, equalities, variable_bounds
from neuler.plan.objectives import DURATION, INTEGRAL, MAGNITUDE, OVERALL, Term, TotalLimit
from neuler.plan.phase_blocks import (
    LEFT,
    FromClearance,
    FromCollocation,
    FromCondition,
    FromJoint,
    FromPath,
    FromRelation,
    FromUser,
    Origin,
    collocated_block,
    integral_weights,
    path_block,
    rows_block,
)
from neuler.plan.phases import Phase
from neuler.plan.relations import Relation
from neuler.plan.rows import TOTAL, Family
from neuler.plan.transcribed import Transcribed
from neuler.plan.two_times import TwoMoments, TwoTimes, joined, joined_derivatives, trace_two, two_times_block
from neuler.trace.graph import Node

GAUSS, FEW = 3, 8
"""Points of integrals in every span; twice as many where there are but a few spans."""
LOBATTO = 4
"""The same, both ends of the span among them, where forces are values at grid points: their rates do not jump there."""
BlockMaker = Callable[[Sequence[Profiles], int], Block | Sequence[Block]]
"""A user's own blocks: from the profiles of all phases and the number of variables."""


@dataclass(eq=False)
class Transcription:
    """Phases as a nonlinear programme: how many control points, which grids, which rows."""

    phases: Sequence[Phase]
    degree: int
    breaks: Array | None
    """Breaks between polynomials, as shares of a phase; None if they are uniform."""
    control_points: int
    grid: int
    """Grid points in every span between knots."""
    relations: Sequence[Relation] = ()
    totals: Sequence[TotalLimit] = ()
    makers: Sequence[BlockMaker] = ()
    compile_seconds: float = 0.0
    _eliminations: dict[Any, Elimination] = field(default_factory=dict)

    # ---- functions ----------------------------------------------------------------------------------------------

    @cached_property
    def slacks(self) -> dict[str, Term]:
        """Variables that peaks stay below, of all phases."""
        return {name: term for phase in self.phases for name, term in phase.slacks.items()}

    @property
    def large(self) -> bool:
        """Whether second derivatives of limits are so many that they are not written out."""
        return any(phase.path is not None and phase.path.derivatives.by_products for phase in self.phases)

    @cached_property
    def joints(self) -> list[TwoTimes]:
        """Where phases go on in the next; where contacts change, accelerations may jump unless others are asked for."""
        found = []
        for k, (each, after) in enumerate(itertools.pairwise(self.phases)):
            found.append(joined(each.model, k, self.degree, after.continuity_from(each, after.model)))
        return found

    @property
    def _joined(self) -> Derivatives:
        return joined_derivatives(self.phases[0].model.profile_count, self.degree - 1)

    @cached_property
    def related(self) -> list[tuple[TwoMoments, Derivatives]]:
        """Relations that are functions of two moments."""
        rows = [each.rows(self.phases[0].model, self.degree, len(self.phases)) for each in self.relations]
        rows += [impact(phase.model, k, phase.title) for k, phase in enumerate(self.phases) if phase.impact]
        models = [phase.model for phase in self.phases]
        return [(two, trace_two(two, (models[two.at[0][0]], models[two.at[1][0]]))) for two in rows if two is not None]

    @cached_property
    def overall(self) -> dict[Term, Function]:
        """Terms of the objective that are functions of integrals over the whole motion."""
        families = [family for phase in self.phases if phase.path for family in phase.path.of_kind(OVERALL)]
        sizes = {family.term: family.count for family in families if family.term is not None}
        return {term: overall_function(term, size) for term, size in sizes.items()}

    def compile(self) -> None:
        """Make the machine code of all functions, if it is not there; the time counts as ``compile_seconds``."""
        began = time.perf_counter()
        for phase in self.phases:
            for rows in phase.functions:
                rows.derivatives.compile()
            for distances in phase.clearances:
                distances.compile()
            for held in phase.held:
                held.derivatives.compile()
        for _, found in self.related:
            found.compile()
        if self.joints:
            self._joined.compile()
        for made_of in self.overall.values():
            derivatives(made_of, ["total"], 1).compile()
        self.compile_seconds += time.perf_counter() - began

    # ---- grids --------------------------------------------------------------------------------------------------

    def profiles(self, control_points: int | None = None, grid: int | None = None) -> list[Profiles]:
        """Splines and grids of all phases; ``control_points`` of all of them, ``grid`` points in every span."""
        return placed([
            self.phase_profiles(phase, control_points or phase.control_points or self.control_points, grid=grid)
            for phase in self.phases
        ])  # fmt: skip

    def phase_profiles(
        self,
        phase: Phase,
        count: int,
        quadrature: int | None = None,
        grid: int | None = None,
        breaks: Array | None = None,
    ) -> Profiles:
        """Splines and grid of one phase with so many control points (on given breaks, as many as these make)."""
        if breaks is None:
            breaks = self._breaks(phase, count - self.degree)
        count = count if breaks is None else len(breaks) - 1 + self.degree
        knots = splines.clamped(count, self.degree, breaks)
        edges = np.unique(knots)
        jumping = phase.path is not None and bool(phase.path.jumps_at_knots(self.degree).any())
        nodal = phase.integrates and not phase.forces_jump and not jumping  # every point has variables of its own
        points, weights = splines.lobatto(edges, max(grid or self.grid, LOBATTO if nodal else 0))
        if phase.integrates and not nodal:  # inside spans: at knots they meet, and the jerk may jump
            inside, parts = splines.gauss(knots, quadrature or grid or (GAUSS if len(edges) > FEW else 2 * GAUSS))
            points, weights = _merged([inside, edges], [parts, np.zeros(len(edges))])
        if jumping:
            left = edges[1:-1] - LEFT * np.diff(edges)[:-1]
            points, weights = _merged([points, left], [weights, np.zeros(len(left))])
        shares = [each.share for each in phase.conditions if each.rows is not None and 0.0 < each.share < 1.0]
        shares += [edge for limit in phase.limits for edge in limit.when]
        jumps = (0.0, 1.0) if phase.forces_jump else (0.0,)
        shares += [edge - LEFT * share for edge in phase.model.contact_edges for share in jumps]
        if phase.model.dependent:  # which are variables at the points of the grid alone
            shares += [float(s) for each in phase.collocated for s in each.all_points(knots, self.degree)]
        for share in shares:
            if np.abs(points - share).min() > 1e-12:
                place = int(np.searchsorted(points, share))
                points, weights = np.insert(points, place, share), np.insert(weights, place, 0.0)
        return Profiles.of(phase.model, self.degree, knots, points, weights, phase.magnitudes)

    def _breaks(self, phase: Phase, spans: int) -> Array | None:
        """Breaks of so many spans, and at the edges of windows of equalities; None if they are uniform."""
        breaks = self.breaks
        for _ in range(spans + 1 - len(breaks) if breaks is not None else 0):  # more of them between those given
            assert breaks is not None
            widest = int(np.argmax(np.diff(breaks)))
            breaks = np.insert(breaks, widest + 1, breaks[widest : widest + 2].mean())
        edges = [edge for each in phase.collocated for edge in each.edges(self.degree, spans)]
        return with_edges(breaks, spans, edges)

    # ---- variables ------------------------------------------------------------------------------------------------

    def slack_places(self, profiles: Sequence[Profiles]) -> dict[str, int]:
        """Places of slacks: behind the variables of the last phase."""
        return {name: profiles[-1].last + k for k, name in enumerate(self.slacks)}

    def total_places(self, profiles: Sequence[Profiles]) -> list[dict[Family, range]]:
        """Of every phase, by its families that are integrated row by row, the places of these integrals."""
        first, found = profiles[-1].last + len(self.slacks), []
        for phase in self.phases:
            mine: dict[Family, range] = {}
            for family in phase.path.of_kind(TOTAL) if phase.path is not None else ():
                mine[family] = range(first, first + family.count)
                first += family.count
            found.append(mine)
        return found

    def size(self, profiles: Sequence[Profiles]) -> int:
        """How many variables there are."""
        sums = sum(len(places) for mine in self.total_places(profiles) for places in mine.values())
        return profiles[-1].last + len(self.slacks) + sums

    def _elimination(self, profiles: Sequence[Profiles], n: int) -> Elimination:
        """Cached: a finer grid changes nothing about it."""
        key = n, *((mine.first, mine.knots.tobytes()) for mine in profiles)
        if key not in self._eliminations:
            durations = [mine.duration for mine in profiles]
            self._eliminations[key] = eliminated(n, equalities(self.phases, self.relations, profiles), durations)
        return self._eliminations[key]

    # ---- the programme --------------------------------------------------------------------------------------------

    def transcribe(
        self,
        profiles: Sequence[Profiles],
        guess: Array,
        *,
        margins: Sequence[Array] | None = None,
        left_out: Sequence[NDArray[np.bool_]] | None = None,
        total_margins: Array | float = 0.0,
        more: Sequence[BlockMaker] = (),
        ceiling: float | None = None,
        proximal: float = 0.0,
        bent_rows: bool = True,
    ) -> Transcribed:
        """The programme on profiles; ``guess`` are all variables.

        ``margins`` and ``total_margins`` tighten bounds of limits; ``left_out`` are not posed. Of a phase, ``margins``
        and ``left_out`` are (grid, rows): rows of its path, then of clearances. ``more`` blocks come besides the plan's
        own. With a ``ceiling`` durations and peaks are not minimised: their weighted sum stays below it. With a
        ``proximal`` weight the objective is the distance from the guess alone: half the sum of squares over all
        variables of the phases. ``bent_rows``: see :class:`BlockProgramme`.
        """
        mine = list(profiles)
        n = self.size(mine)
        slacks = self.slack_places(mine)
        found = self._elimination(mine, n)
        low, high = variable_bounds(self.phases, mine, n, guess)
        linear = dependent_bounds(self.phases, found, mine, low, high)
        if self.totals:
            A, low_rows, high_rows = self._total_rows(mine, n)
            shift = A @ found.c
            linear = (
                sparse.vstack([linear[0], A @ found.Z]).tocsr(),
                np.concatenate([linear[1], low_rows + total_margins - shift]),
                np.concatenate([linear[2], high_rows - total_margins - shift]),
            )
        cost = np.zeros(n)
        for phase, each in zip(self.phases, mine, strict=True):
            for term in phase.terms:
                if term.kind == DURATION:
                    cost[each.duration] += term.weight
        for name, term in self.slacks.items():
            cost[slacks[name]] += term.weight
        if ceiling is not None:
            row = sparse.csr_matrix(cost) @ found.Z
            linear = (
                sparse.vstack([linear[0], row]).tocsr(),
                np.append(linear[1], -np.inf),
                np.append(linear[2], ceiling - float(cost @ found.c)),
            )
            cost = np.zeros(n)
        blocks = self._blocks(mine, n, slacks, margins, left_out, more)
        if proximal:
            cost[:] = 0.0
            blocks = [(origin, _without_weights(block)) for origin, block in blocks]
            blocks.append((FromUser(), _distance_block(guess, mine[-1].last, proximal)))
        programme = BlockProgramme(
            np.asarray(found.Z.T @ cost),
            [block.eliminated(found) for _, block in blocks],
            (low[found.free], high[found.free]),
            linear,
            guess[found.free],
            float(cost @ found.c),
            [] if proximal else self._overall(mine, blocks),
            bent_rows,
        )
        return Transcribed(mine, slacks, found, programme, [origin for origin, _ in blocks])

    def _blocks(
        self, profiles: Sequence[Profiles], n: int, slacks: Mapping[str, int], margins: Any, left_out: Any,
        more: Sequence[BlockMaker],
    ) -> list[tuple[Origin, Block | ComposedBlock]]:  # fmt: skip
        blocks: list[tuple[Origin, Block | ComposedBlock]] = []
        totals = self.total_places(profiles)
        for k, (phase, mine) in enumerate(zip(self.phases, profiles, strict=True)):
            if phase.path is not None:
                margin = None if margins is None else margins[k][:, : phase.path.count]
                out = None if left_out is None else left_out[k][:, : phase.path.count]
                blocks.append((FromPath(k), path_block(phase.path, mine, n, slacks, margin, out, totals[k])))
            first = phase.path.count if phase.path is not None else 0
            for number, distances in enumerate(phase.clearances):
                part = slice(first, first + distances.count)
                margin = None if margins is None else margins[k][:, part]
                out = None if left_out is None else left_out[k][:, part]
                composed, shares = distances.block(mine, n, slacks, margin, out)
                blocks.append((FromClearance(k, number, shares, composed.pairs), composed))
                first = part.stop
            for equal in phase.collocated:
                blocks.append((FromCollocation(k), collocated_block(equal, mine, n, slacks)))
            for held in phase.held:
                blocks.append((FromCollocation(k), held.block(mine, n)))
            for each in phase.conditions:
                if each.rows is not None:
                    at = np.array([each.share])
                    block = rows_block(each.rows, mine, at, n, slacks, each.lower, each.upper, each.given)
                    if each.objective:
                        weights = [[family.term.weight for family in each.rows.families if family.term is not None]]
                        block = replace(block, weights=np.array(weights, dtype=float))
                    blocks.append((FromCondition(k, each), block))
        for k, two in enumerate(self.joints):
            blocks.append((FromJoint(k), two_times_block(two, self._joined, profiles, n)))
        for related, found in self.related:
            blocks.append((FromRelation(related), two_times_block(related, found, profiles, n)))
        for make in (*self.makers, *more):
            given = make(profiles, n)
            for block in [given] if isinstance(given, Block) else list(given):
                if not isinstance(block, Block) or block.map.shape[1] != n:
                    raise InputError(f"plan: blocks must be functions (profiles, n) that give blocks of {n} variables")
                blocks.append((FromUser(), block))
        return blocks

    def _overall(
        self, profiles: Sequence[Profiles], blocks: Sequence[tuple[Origin, Block | ComposedBlock]]
    ) -> list[Overall]:
        """Terms that are functions of integrals over all phases, as weighted sums of the values of their blocks."""
        found = []
        for term, made_of in self.overall.items():
            sums = {}
            for number, (origin, block) in enumerate(blocks):
                path = self.phases[origin.phase].path if isinstance(origin, FromPath) else None
                family = next((each for each in path.of_kind(OVERALL) if each.term is term), None) if path else None
                if family is not None and isinstance(origin, FromPath):
                    sums[number] = integral_weights(family, profiles[origin.phase].weights, block.lower.shape)
            found.append(Overall(made_of, sums, term.weight, term.name))
        return found

    def _total_rows(self, profiles: Sequence[Profiles], n: int) -> tuple[Any, Array, Array]:
        """Limits of the whole motion: linear in durations and integrals."""
        places = self.total_places(profiles)
        rows, columns, values = [], [], []
        for number, limit in enumerate(self.totals):
            for term in limit.objective.terms:
                for phase, mine, sums in zip(self.phases, profiles, places, strict=True):
                    at: list[int] = [mine.duration] if term.kind == DURATION else []
                    if term.kind in (INTEGRAL, MAGNITUDE) and phase.path is not None:
                        family = next(each for each in phase.path.of_kind(TOTAL) if each.term is term)
                        at = list(sums[family])
                    rows += [number] * len(at)
                    columns += at
                    values += [term.weight] * len(at)
        A = sparse.csr_matrix((values, (rows, columns)), shape=(len(self.totals), n))
        return A, np.array([x.lower for x in self.totals]), np.array([x.upper for x in self.totals])


def _without_weights(block: Block | ComposedBlock) -> Block | ComposedBlock:
    """The same rows without a part in the objective."""
    return replace(block, weights=np.zeros_like(block.weights)) if isinstance(block, Block) else block


def _distance_block(guess: Array, count: int, weight: float) -> Block:
    """Half the squared distance of the first ``count`` variables from a guess, times a weight."""
    half = function(lambda away: [0.5 * away[0] * away[0]], {"away": 1}, "rows", "distance")
    select = sparse.eye(count, len(guess), format="csr")
    return Block.of(half, {"away": select}, count, weights=weight, offsets={"away": -guess[:count, None]})


def overall_function(term: Term, size: int) -> Function:
    """The function of the integrals of a measure's rows that a term of the objective is."""

    def rows(total: Any) -> Any:
        assert term.function is not None
        value = made(term.name, term.function, total)
        if len(value) != 1:
            raise InputError(f"overall {term.name!r}: its function must return one number")
        if not isinstance(value[0], Node):
            raise InputError(f"overall {term.name!r}: its function does not depend on the integrals")
        return value

    return function(rows, {"total": size}, "rows", "overall")


def _merged(points: Sequence[Array], weights: Sequence[Array]) -> tuple[Array, Array]:
    """Points of several grids in order, with their weights."""
    every = np.concatenate(points)
    order = np.argsort(every)
    return every[order], np.concatenate(weights)[order]
