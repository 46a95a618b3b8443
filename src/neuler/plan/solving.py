"""The solve: coarse meshes first, then finer grids where limits are passed between points, then a dense check."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.inputs import number, whole
from neuler.optimize import solvers
from neuler.optimize.programme import Array, Progress, Report, Solution
from neuler.plan import bspline, checking
from neuler.plan.checking import Dense
from neuler.plan.costs import costs
from neuler.plan.guessing import followers, guessed, slack_values
from neuler.plan.looking import coarse, drawn_in, finer, looked
from neuler.plan.measures import power
from neuler.plan.planned import Planned
from neuler.plan.posing import Mesh, Posed, posed, segments_of
from neuler.plan.reporting import bounds_of, friction_left, violations_of
from neuler.plan.segment import SOFT, Segment
from neuler.plan.source import Splines

ROUNDS = 12
"""Refinements of the grid."""
DRAWN_IN = 2
"""Refinements after which bounds are drawn in by what is left."""
SHARPER = 5
"""Steps in which corners get sharper, each 0.3 of the one before."""
INTEGRATED, INTEGRAL = 2, 1e-5
"""Refinements of integrals, and what they may be off by beside 1 + |objective|."""
GROWN = 3
"""How often splines may get more control points by themselves."""


@dataclass(frozen=True)
class Settings:
    """How to solve a plan."""

    solver: str = "auto"
    tolerance: float = 1e-8
    iterations: int = 500
    """Of each of the solves."""
    seconds: float | None = None
    """Of all together, without what compiling takes."""
    refine: bool = True
    rounds: int = ROUNDS
    mesh: Sequence[int] | None = None
    """Numbers of control points, coarse to fine."""
    options: dict[str, Any] | None = None

    def check(self) -> None:
        """Refuse what makes no sense."""
        whole("solve: iterations", self.iterations, 1, 2**31 - 1)
        whole("solve: rounds", self.rounds, 0)
        for name in ("tolerance", "seconds"):
            value = getattr(self, name)
            if (name == "tolerance" or value is not None) and number(f"solve: {name}", value) <= 0.0:
                raise InputError(f"solve: {name} must be above zero, got {value!r}")
        if not isinstance(self.refine, bool):
            raise InputError(f"solve: refine must be True or False, got {self.refine!r}")
        if self.options is not None and not isinstance(self.options, dict):
            raise InputError(f"solve: options must be a dict of the solver's own options, got {self.options!r:.60}")


class Solve:
    """One solve of a plan: settings, what was spent, and the best so far."""

    def __init__(
        self,
        plan: Any,
        settings: Settings,
        seed: int | None = None,
        report: Report | None = None,
        grid: int | None = None,
    ) -> None:
        self.grid = grid
        self.plan, self.settings, self.seed, self.report = plan, settings, seed, report
        self.tolerance, self.rounds, self.refine = settings.tolerance, settings.rounds, settings.refine
        self.began = self.clock = time.perf_counter()
        self.spent = 0
        self.function_seconds = 0.0
        self.interrupted = False
        self.left_out = plan.left_out()
        self.finest = GROWN
        self.soft = 0.0

    # ---- meshes -----------------------------------------------------------------------------------------------

    def run(self, known: tuple[Array, Sequence[Segment]] | None = None) -> Planned:
        """Coarse to fine, from what is ``known``, or from a guess; then refine the grid of the last."""
        plan = self.plan
        meshes: Sequence[int | None] = self.settings.mesh or [None]
        plan.compiled()
        self.clock = time.perf_counter()
        x, before = known if known is not None else (None, None)
        state: Posed | None = None
        solution: Solution | None = None
        for k, size in enumerate(meshes):
            mesh = plan.mesh(size, self.grid)
            guess = self._carried(before, x, mesh) if before is not None and x is not None else self._guess(mesh)
            self.soft = self.soft or self._widest(mesh, guess)
            state = self._posed(mesh, guess)
            tolerance = max(self.tolerance, 1e-4) if k < len(meshes) - 1 else self.tolerance
            solution = self._solved(state, None, tolerance)
            x, before = state.x(solution.x), state.segments
            if self.interrupted:
                break
        assert state is not None
        assert solution is not None
        state, solution = self._sharpened(state, solution)
        state, solution = self._integrated(state, solution)
        return self._refined(state, solution)

    def _sharpened(self, state: Posed, solution: Solution) -> tuple[Posed, Solution]:
        """Corners that were rounded off, step by step less so."""
        if self.soft:
            for _ in range(SHARPER):
                if self.interrupted or solution.status not in ("optimal", "acceptable"):
                    break
                self.soft *= 0.3
                sharper = self._posed(_meshes(state), state.x(solution.x))
                found = self._solved(sharper, _warm(state, sharper, solution), self.tolerance)
                if found.status not in ("optimal", "acceptable"):
                    break
                state, solution = sharper, found
        return state, solution

    def _integrated(self, state: Posed, solution: Solution) -> tuple[Posed, Solution]:
        """More points for integrals, where the motion's own differ from what the solve took them for."""
        plan = self.plan
        for turn in range(1, INTEGRATED + 1):
            if not any(stage.integrates for stage in plan.stages) or not self.refine or self.interrupted:
                break
            x = state.x(solution.x)
            true, taken = sum(costs(plan, state, x).values()), solution.objective
            if not np.isfinite(true) or abs(true - taken) <= INTEGRAL * (1.0 + abs(true)) or self.soft:
                break
            if solution.status not in ("optimal", "acceptable"):
                break
            meshes = [
                plan.phase_mesh(stage, segment.m, 4 * 2**turn)
                for stage, segment in zip(plan.stages, state.segments, strict=True)
            ]
            finer_state = self._posed(meshes, self._regrid(state, x, meshes))
            found = self._solved(finer_state, None, self.tolerance)
            if found.status not in ("optimal", "acceptable"):
                break
            state, solution = finer_state, found
        return state, solution

    def on_uniform_knots(self, size: int | None) -> tuple[Array, list[Segment]]:
        """Variables of the same plan on knots that stay, roughly solved."""
        twin = Solve(self.plan.uniform, self.settings, self.seed, self.report, self.grid)
        twin.plan.compiled()
        twin.clock = time.perf_counter()
        mesh = twin.plan.mesh(size, self.grid)
        guess = twin._guess(mesh)
        twin.soft = twin._widest(mesh, guess)
        state = twin._posed(mesh, guess)
        solution = twin._solved(state, None, max(self.tolerance, 1e-4))
        self.spent += twin.spent
        self.function_seconds += twin.function_seconds
        return state.x(solution.x), state.segments

    def _widest(self, meshes: Sequence[Mesh], guess: Array) -> float:
        """Of corners that are rounded off at first: a share of the largest power along the guess; 0 without any."""
        plan = self.plan
        if not any(stage.path is not None and SOFT in stage.path.derived.known for stage in plan.stages):
            return 0.0
        splines = Splines(plan.model, segments_of(plan.model, meshes, plan.degree), guess)
        largest = np.abs(splines.measure(power, np.linspace(0.0, splines.duration, 201))).max()
        return 0.3 * float(largest) if largest > 0.0 else 1.0

    def _guess(self, meshes: Sequence[Mesh]) -> Array:
        plan = self.plan
        segments = segments_of(plan.model, meshes, plan.degree)
        n = segments[-1].last + len(plan.slacks)
        x = guessed(plan.model, plan.stages, segments, n, self.seed)
        places = {name: segments[-1].last + k for k, name in enumerate(plan.slacks)}
        for stage, segment in zip(plan.stages, segments, strict=True):
            for name, value in slack_values(stage, segment, x, places).items():
                x[places[name]] = max(x[places[name]], value)
        return x

    def _carried(self, before: Sequence[Segment], x: Array, meshes: Sequence[Mesh]) -> Array:
        """Variables of another mesh that are nearest to these."""
        plan = self.plan
        segments = segments_of(plan.model, meshes, plan.degree)
        found = np.zeros(segments[-1].last + len(plan.slacks))
        for old, new in zip(before, segments, strict=True):
            found[new.first : new.duration + 1] = 0.0
            for place, value in new.given(float(x[old.duration])).items():
                found[place] = value
            knots, finer_knots, P = old.knots_at(x), new.knots_at(found), old.control_points(x)
            if len(knots) != len(finer_knots) or not np.allclose(knots, finer_knots):
                P = bspline.fitted(knots, old.degree, finer_knots, ends=min(plan.model.rest, 1)) @ P
            found[new.first : new.duration] = P.ravel()
            if new.followers:
                found[new.followed : new.last] = followers(plan.model, new.grid, new, found).ravel()
        found[segments[-1].last :] = x[before[-1].last :]
        return found

    def _posed(self, meshes: Sequence[Mesh], guess: Array, margins: Sequence[Array] | None = None) -> Posed:
        return posed(self.plan, meshes, guess, margins=margins, left_out=self.left_out, soft=self.soft)

    def _solved(self, state: Posed, warm: Solution | None, tolerance: float) -> Solution:
        left = self.settings.seconds
        left = None if left is None else max(left - (time.perf_counter() - self.clock), 1e-3)
        found = solvers.solve(
            state.programme,
            self.settings.solver,
            warm=warm,
            tolerance=tolerance,
            iterations=self.settings.iterations,
            seconds=left,
            progress=self._report(),
            options=self.settings.options,
        )
        self.spent += found.iterations
        self.function_seconds += found.function_seconds
        self.interrupted = found.status == "interrupted"
        return found

    def _report(self) -> Report | None:
        if self.report is None:
            return None
        tell, spent, began = self.report, self.spent, self.began

        def told(progress: Progress) -> bool | None:
            return tell(replace(progress, iteration=progress.iteration + spent, seconds=time.perf_counter() - began))

        return told

    # ---- between grid points ----------------------------------------------------------------------------------

    def _refined(self, state: Posed, solution: Solution) -> Planned:
        """Add points where limits are passed between them, until none is; later also draw bounds in.

        Limits that were left out come in as soon as they are passed. Where forces that no motor gives are not zero
        between the points, the splines themselves are too coarse: they get more control points.
        """
        plan = self.plan
        margins = [np.zeros(stage.path.count if stage.path else 0) for stage in plan.stages]
        finest, since = self.finest, 0
        best: tuple[tuple[bool, float], Posed, Solution, list[Dense]] | None = None
        for turn in range(self.rounds + 1):
            x = state.x(solution.x)
            found = self._looked(state, x)
            worst = max((peak[2] for each in found for peak in each.peaks), default=0.0)
            good = solution.status in ("optimal", "acceptable")
            rank = not good, max(worst, checking.TOLERANCE)
            if best is None or rank <= best[0]:
                best = rank, state, solution, found
            if worst <= checking.TOLERANCE or not self.refine or self.interrupted or turn == self.rounds or not good:
                break
            if self.settings.seconds is not None and time.perf_counter() - self.clock > self.settings.seconds:
                break
            meshes, admitted = [], False
            for k, (stage, segment, each) in enumerate(zip(plan.stages, state.segments, found, strict=True)):
                mesh = Mesh(segment.knots, *finer(segment, each, stage.path))
                admitted |= self._admit(k, each)
                if coarse(stage, segment, each) and finest > 0:
                    count = segment.m + max(4, segment.m // 2)
                    mesh = plan.phase_mesh(stage, count)
                    margins[k][:] = 0.0
                elif turn - since >= DRAWN_IN and stage.path is not None:
                    margins[k] = drawn_in(stage.path, each, margins[k], plan.model.nc)
                meshes.append(mesh)
            same = all(len(mesh.knots) == len(seg.knots) for mesh, seg in zip(meshes, state.segments, strict=True))
            if same and not admitted and not self._refinable(state, meshes, found, turn):
                break
            finest -= not same
            guess = self._regrid(state, x, meshes) if same else self._carried(state.segments, x, meshes)
            if admitted:  # without these limits it may have gone far astray
                guess, since = self._guess(meshes), turn + 1
                margins = [np.zeros_like(margin) for margin in margins]
            next_one = self._posed(meshes, guess, margins)
            warm = _warm(state, next_one, solution) if same and not admitted else None
            state, solution = next_one, self._solved(next_one, warm, self.tolerance)
            if solution.status not in ("optimal", "acceptable") and warm is not None and not self.interrupted:
                solution = self._solved(state, None, self.tolerance)
        assert best is not None
        return self._planned(*best[1:])

    def _admit(self, k: int, found: Dense) -> bool:
        """Limits that were left out and are passed hold from now on; whether there are any."""
        out = self.left_out[k]
        before = int(out.sum())
        first = self.plan.model.nc
        for row, _, relative, _ in found.peaks:
            if relative > checking.TOLERANCE and first <= row < first + len(out):
                part, _ = self.plan.stages[k].path.find(row - first)
                out[part.rows] = False
        return int(out.sum()) < before

    def _refinable(self, state: Posed, meshes: Sequence[Mesh], found: Sequence[Dense], turn: int) -> bool:
        """Whether anything changes: new points, or bounds to draw in; positions at ends are as they are."""
        more = any(len(mesh.grid) > len(segment.grid) for mesh, segment in zip(meshes, state.segments, strict=True))
        first = self.plan.model.nc
        rows = [row for each in found for row, _, relative, _ in each.peaks if relative > checking.TOLERANCE]
        return more or (turn < self.rounds and any(row >= first for row in rows) and turn >= DRAWN_IN)

    def _regrid(self, state: Posed, x: Array, meshes: Sequence[Mesh]) -> Array:
        """The same splines on other grids."""
        segments = segments_of(self.plan.model, meshes, self.plan.degree)
        found = np.zeros(segments[-1].last + len(self.plan.slacks))
        splines = Splines(self.plan.model, state.segments, x)
        for k, (old, new) in enumerate(zip(state.segments, segments, strict=True)):
            found[new.first : new.followed] = x[old.first : old.followed]
            if new.followers:
                found[new.followed : new.last] = splines.followers(k, new.grid).ravel()
        found[segments[-1].last :] = x[state.segments[-1].last :]
        return found

    def _looked(self, state: Posed, x: Array) -> list[Dense]:
        """Every phase's limits on a fine grid, and forces that no motor gives."""
        splines = Splines(self.plan.model, state.segments, x)
        found = []
        for k, (stage, segment) in enumerate(zip(self.plan.stages, state.segments, strict=True)):
            slacks = {name: float(x[place]) for name, place in state.slacks.items()}
            found.append(looked(splines, k, stage, segment, slacks))
        return found

    # ---- what came out ----------------------------------------------------------------------------------------

    def _planned(self, state: Posed, solution: Solution, looked: Sequence[Dense]) -> Planned:
        plan = self.plan
        x = state.x(solution.x)
        splines = Splines(plan.model, state.segments, x)
        violations = violations_of(plan, splines, looked, state, solution)
        worst = max((each.relative for each in violations), default=0.0)
        finite = bool(np.isfinite(x).all())
        parts = costs(plan, state, x, looked)
        status = "interrupted" if self.interrupted else solution.status
        return Planned(
            plan.robot,
            splines,
            valid=finite and worst <= checking.TOLERANCE,
            optimal=solution.status == "optimal" and not self.interrupted,
            status=status,
            message=solution.message,
            objective=sum(parts.values()),
            parts=parts if len(parts) > 1 else {},
            worst_violation=worst if finite else np.inf,
            violations=tuple(violations),
            bounds=tuple(bounds_of(plan)),
            iterations=self.spent,
            seconds=time.perf_counter() - self.began,
            function_seconds=self.function_seconds,
            solver=solution.solver,
            phases=tuple(stage.name.strip(": ") for stage in plan.stages) if len(plan.stages) > 1 else (),
            notes=(*plan.notes, *friction_left(plan, splines)),
            compile_seconds=plan.compile_seconds,
        )


def solved(plan: Any, settings: Settings, seed: int | None = None, report: Report | None = None) -> Planned:
    """Solve a plan; once more on a finer grid, where what came out passes limits between points."""
    found = _attempt(plan, settings, seed, report, None)
    if found.valid or found.status not in ("optimal", "acceptable") or not settings.refine or not settings.rounds:
        return found
    left = settings.seconds
    left = None if left is None else left - found.seconds
    if left is not None and left <= 0.0:
        return found
    again = _attempt(plan, replace(settings, seconds=left), seed, report, 5)
    better = again.valid or again.worst_violation < found.worst_violation
    return _added(again if better else found, found if better else again)


def _attempt(plan: Any, settings: Settings, seed: int | None, report: Report | None, grid: int | None) -> Planned:
    """One solve. Knots that move begin uniform; where limits do not hold between points so, they stay at last."""
    if not plan.model.free:
        return Solve(plan, settings, seed, report, grid).run()
    first = Solve(plan, settings, seed, report, grid)
    size = settings.mesh[-1] if settings.mesh else None
    found = first.run(first.on_uniform_knots(size))
    if found.valid or not settings.refine or not settings.rounds or found.status not in ("optimal", "acceptable"):
        return found
    motion: Splines = found.motion  # type: ignore[assignment]
    fixed = plan.on(np.unique(motion.segments[0].knots_at(motion.x)))
    rest = Solve(fixed, replace(settings, mesh=None), seed, report, grid).run((motion.x, motion.segments))
    better = rest.valid or rest.worst_violation < found.worst_violation
    return _added(rest if better else found, found if better else rest)


def _added(found: Planned, other: Planned) -> Planned:
    """With what the other took, too."""
    return replace(
        found,
        seconds=found.seconds + other.seconds,
        iterations=found.iterations + other.iterations,
        function_seconds=found.function_seconds + other.function_seconds,
    )


def _meshes(state: Posed) -> list[Mesh]:
    return [Mesh(segment.knots, segment.grid, segment.weights) for segment in state.segments]


def _warm(before: Posed, after: Posed, solution: Solution) -> Solution:
    """Multipliers of rows at points that both grids have; zero at new ones."""
    old = before.multipliers(solution)
    found = []
    for group, mine, values in zip(after.programme.groups, before.programme.groups, old, strict=True):
        new = np.zeros(group.kept.shape)
        if group.points == mine.points:
            new = values
        else:
            k = next(i for i, each in enumerate(after.path_groups) if each is group)
            new[np.searchsorted(after.segments[k].grid, before.segments[k].grid)] = values
        found.append(new[group.kept])
    rest = solution.multipliers[sum(group.count for group in before.programme.groups) :]
    lower, upper = solution.bound_multipliers
    if len(after.elimination.free) != len(lower):  # positions at new grid points
        lower = upper = np.zeros(len(after.elimination.free))
    return replace(
        solution,
        x=after.programme.start,
        rows=np.zeros(after.programme.m),
        multipliers=np.concatenate([*found, rest]),
        bound_multipliers=(lower, upper),
    )
