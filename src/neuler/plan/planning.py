"""``Plan``: a robot, what must hold, and what is to be least; solved as a sparse programme with exact derivatives."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.functions.function import Function
from neuler.functions.tracing import listing_of
from neuler.inputs import whole
from neuler.optimize.blocks import Derived, derived
from neuler.optimize.elimination import Equality
from neuler.optimize.programme import Array
from neuler.optimize.solvers.choice import chosen
from neuler.plan import bspline
from neuler.plan.arguments import (
    check_limits,
    check_speeds,
    count_of,
    degree_of,
    grid_of,
    knots_of,
    limits_of,
    meshes_of,
    own_limit,
    payloads_of,
    phases_of,
    points_of,
    reference_of,
    relations_of,
    robot_of,
    smoothed,
)
from neuler.plan.charts import turn_rows
from neuler.plan.conditions import Boundary, Phase, Via, spread_of
from neuler.plan.measures import OF_ROBOT, Limit, below_half_a_turn
from neuler.plan.model import Model, Payload
from neuler.plan.objectives import Objective
from neuler.plan.objectives import duration as least_time
from neuler.plan.planned import Planned
from neuler.plan.posing import LEFT, Mesh, rough_rows
from neuler.plan.relations import Mirror, Relation
from neuler.plan.reports import reporting
from neuler.plan.rows import LIMIT
from neuler.plan.segment import Segment, lobatto
from neuler.plan.solving import ROUNDS, Settings, solved
from neuler.plan.stage import Stage, end_objective, spot_of, trace_stage, via_spots
from neuler.plan.starting import solve_starts
from neuler.robot import Robot

FRICTION = 5e-2
"""Speeds (rad/s or m/s) below which Coulomb friction is rounded off."""
GAUSS, FEW = 3, 8
"""Points of integrals in every span; twice as many where there are but a few spans."""


class Plan:
    """A motion to be planned: profiles of a robot's joints that keep limits and make an objective least.

    min sum of weighted durations, integrals and peaks  subject to  lower <= measures <= upper at all times,
    positions, velocities, accelerations and poses at ends and via points, Barman (4.16)-(4.19).

    ``start`` and ``goal``: positions at rest (nq), or ``plan.Boundary``. ``limits``: of ``plan.limit``; limits of
    the robot's joints (position, velocity, effort) hold too, unless a limit of the same measure is given, or
    ``robot_limits=False``. ``duration``: seconds, (least, most), or None. ``phases`` have limits and durations of their
    own. ``payload``: what it carries (``plan.Payload``; another one needs no new kernels). ``relations`` make profiles
    periodic or mirror each other (``plan.repeats``, ``plan.exchanges``, ``plan.mirrors``). Coulomb friction is rounded
    off below ``friction_width`` (rad/s, m/s).

    Profiles are clamped B-splines with ``control_points`` (20) of a ``degree`` (3; 5 with elastic drives) on ``knots``:
    "uniform", breaks from 0 to 1, or "free", found with the motion (then shares count spans between knots). ``grid``:
    points in every span at which limits are posed; those between are checked.

    >>> import neuler
    >>> from neuler.plan import Plan, torque, within
    >>> arm = neuler.robots.two_link()
    >>> task = Plan(arm, start=[0.0, 0.0], goal=[1.0, 0.5], limits=[within(torque, 20.0)], control_points=10)
    >>> found = task.solve()
    >>> found.valid, found.optimal
    (True, True)
    """

    def __init__(
        self,
        robot: Robot,
        objective: Objective | None = None,
        *,
        start: Any = None,
        goal: Any = None,
        limits: Sequence[Limit] = (),
        robot_limits: bool = True,
        via: Sequence[Via] = (),
        duration: Any = None,
        control_points: int | None = None,
        degree: int | None = None,
        knots: Any = "uniform",
        grid: int | None = None,
        phases: Sequence[Phase] | None = None,
        payload: Payload | Sequence[Payload] = (),
        relations: Sequence[Relation | Mirror] = (),
        friction_width: float = FRICTION,
    ) -> None:
        began = time.perf_counter()
        given = {name: value for name, value in locals().items() if name not in ("self", "began")}
        self._given = {name: value for name, value in given.items() if name != "__class__"}
        self.robot = robot_of(robot)
        self.objective = least_time() if objective is None else objective
        if not isinstance(self.objective, Objective) or not self.objective.terms:
            raise InputError(f"plan: objective must be one of neuler.plan's, as plan.duration(), got {objective!r:.60}")
        self.notes: list[str] = []
        smooth = smoothed(robot, friction_width, self.notes)
        names = robot.joint_names
        begin, end = Boundary.of(start, names), Boundary.of(goal, names)
        loads = payloads_of(payload, robot)
        width = 0.0 if smooth is robot else float(friction_width)
        self.model = Model(smooth, reference_of(robot, begin, end), 0, width, loads)
        self.degree = degree_of(self.model, degree)
        self.knots = knots_of(knots)
        if isinstance(knots, str) and knots == "free":
            self.model = replace(self.model, free=self.degree)
        self.robot = robot
        for each in loads:
            self.robot = self.robot.with_payload(each.frame, each.mass, each.com, each.inertia)
        self.grid = grid_of(grid, self.degree)
        self.control_points = points_of(control_points, self.degree, self.knots)
        limits = limits_of(limits)
        parts = phases_of(phases, duration, via, goal, end)
        self.stages = self._stages(parts, begin, limits, bool(robot_limits))
        if self.model.free and len(self.stages) > 1:
            raise InputError("plan: knots='free' takes one phase; phases have knots='uniform' or breaks")
        self.relations = relations_of(relations, self.model, self.degree, len(self.stages))
        self.slacks: dict[str, float] = {}
        for stage in self.stages:
            self.slacks = trace_stage(self.model, stage, self.objective)
        extra = end_objective(self.model, self.objective)
        if extra is not None:
            self.stages[-1].spots.append(extra)
        self._check_durations()
        self.compile_seconds = time.perf_counter() - began

    # ---- parts ------------------------------------------------------------------------------------------------

    def _stages(self, phases: Sequence[Phase], begin: Boundary, limits: Sequence[Limit], own: bool) -> list[Stage]:
        found = []
        for k, phase in enumerate(phases):
            what = "" if len(phases) == 1 else f"phase {phase.name or k + 1}: "
            every = [limit.of(self.model) for limit in (*limits, *limits_of(phase.limits))]
            if own:
                every += [limit for measure in OF_ROBOT if (limit := own_limit(self.model, measure, every))]
            check_limits(self.model, every, what)
            if turn_rows(self.model.coordinates):
                every.append(below_half_a_turn())
            spots = [spot_of(self.model, 0.0, begin, f"{what}start")] if k == 0 else []
            spots += via_spots(self.model, phase.via, what)
            last = k == len(phases) - 1
            end = Boundary.of(phase.end, self.robot.joint_names)
            spots.append(spot_of(self.model, 1.0, end, "goal" if last else f"{what}end", goal=True))
            count = None if phase.control_points is None else count_of(phase.control_points, self.degree)
            span = spread_of(phase.duration, f"plan {what}".strip())
            stage = Stage(what, span, count, tuple(every), spots, phase.continuity)
            check_speeds(self.model, stage)
            found.append(stage)
        return found

    def _check_durations(self) -> None:
        if not any(low < high and not np.isfinite(high) for low, high in (stage.span for stage in self.stages)):
            return
        weight = sum(term.weight for term in self.objective.terms if term.kind == "duration")
        if weight < 0.0:
            raise InputError(
                "plan: the objective asks for a long duration, which has no upper bound: duration=(0, most)"
            )
        if weight == 0.0:
            self.notes.append("the duration is free and not part of the objective: it may grow without bound")
        spots = [spot for stage in self.stages for spot in stage.spots]
        still = all(np.isnan(values).all() for spot in spots for k, values in spot.linear if k == 0)
        if still and not any(spot.poses for spot in spots):
            self.notes.append("neither start nor goal ask for a position: nothing has to move")

    @cached_property
    def uniform(self) -> Plan:
        """The same plan on uniform knots."""
        return _again({**self._given, "knots": "uniform"})

    def on(self, breaks: Array) -> Plan:
        """The same plan on knots that stay."""
        return _again({**self._given, "knots": breaks})

    @cached_property
    def joined(self) -> Derived | None:
        """Rates of the profiles at the end of a phase less those at the start of the next; none of one phase."""
        if len(self.stages) < 2:
            return None
        most = self.degree - 1
        names = [f"c{k}_{side}" for side in "ab" for k in range(1, most + 1)]
        inputs: dict[str, Any] = dict.fromkeys(names, self.model.nc)
        order = [*names[:most], "T_a", *names[most:], "T_b"]
        inputs |= {"T_a": (), "T_b": ()}

        def rows(*values: Any) -> Any:
            by_name = dict(zip(order, values, strict=True))
            found: list[Any] = []
            for k in range(1, most + 1):
                a, b = by_name["T_a"] ** k, by_name["T_b"] ** k
                found.extend(by_name[f"c{k}_a"] / a - by_name[f"c{k}_b"] / b)
            return found

        listing = listing_of("joined", rows, {name: inputs[name] for name in order}, "rows")
        return derived(Function(listing, "joined"), order)

    def compiled(self) -> None:
        """Make the machine code of all functions, if it is not there; the time counts as ``compile_seconds``."""
        began = time.perf_counter()
        rows = [rows for stage in self.stages for rows in (stage.path, stage.idle) if rows is not None]
        rows += [spot.rows for stage in self.stages for spot in stage.spots if spot.rows is not None]
        every = [found.derived for found in rows] + ([self.joined] if self.joined is not None else [])
        for each in every:
            each.compiled()
        self.compile_seconds += time.perf_counter() - began

    def mesh(self, control_points: int | None, grid: int | None = None) -> list[Mesh]:
        """Knots and grids of all phases; ``control_points`` for this one mesh, ``grid`` points in every span."""
        return [
            self.phase_mesh(stage, control_points or stage.control_points or self.control_points, grid=grid)
            for stage in self.stages
        ]

    def phase_mesh(self, stage: Stage, count: int, quadrature: int | None = None, grid: int | None = None) -> Mesh:
        """Knots and grid of one phase with so many control points (on given breaks, as many as these make)."""
        breaks = None
        if not isinstance(self.knots, str):
            breaks = np.asarray(self.knots, dtype=float)
            for _ in range(count - self.degree - len(breaks) + 1):  # more of them between those given
                widest = int(np.argmax(np.diff(breaks)))
                breaks = np.insert(breaks, widest + 1, breaks[widest : widest + 2].mean())
            count = len(breaks) - 1 + self.degree
        knots = bspline.clamped(count, self.degree, breaks)
        edges = np.unique(knots)
        points, weights = lobatto(edges, grid or self.grid)
        if self.model.free or stage.integrates:  # inside spans: at knots they meet, and the jerk may jump
            inside, parts = bspline.gauss(knots, quadrature or grid or (GAUSS if len(edges) > FEW else 2 * GAUSS))
            points, weights = _joined([inside, edges], [parts, np.zeros(len(edges))])
        if stage.path is not None and rough_rows(stage.path.derived, self.degree).any():
            left = edges[1:-1] - LEFT * np.diff(edges)[:-1]
            points, weights = _joined([points, left], [weights, np.zeros(len(left))])
        shares = [spot.share for spot in stage.spots if spot.rows is not None and 0.0 < spot.share < 1.0]
        shares += [edge for limit in stage.limits for edge in limit.when]
        for share in shares:
            if np.abs(points - share).min() > 1e-12:
                place = int(np.searchsorted(points, share))
                points, weights = np.insert(points, place, share), np.insert(weights, place, 0.0)
        return Mesh(knots, points, weights)

    def relations_of(self, segments: Sequence[Segment]) -> list[Equality]:
        """Symmetry, as equalities of control points."""
        return [each for relation in self.relations for each in relation.equalities(self.model, segments)]

    def left_out(self) -> list[Array]:
        """Rows of lazy limits, phase by phase."""
        found = []
        for stage in self.stages:
            out = np.zeros(stage.path.count if stage.path is not None else 0, dtype=bool)
            for part in stage.path.parts if stage.path is not None else ():
                if part.kind == LIMIT and part.limit is not None:
                    out[part.rows] = part.limit.lazy
            found.append(out)
        return found

    # ---- solve ------------------------------------------------------------------------------------------------

    def solve(
        self,
        solver: str = "auto",
        *,
        tolerance: float = 1e-8,
        iterations: int = 500,
        seconds: float | None = None,
        refine: bool = True,
        rounds: int = ROUNDS,
        mesh: Sequence[int] | None = None,
        seed: int | None = None,
        starts: int = 1,
        workers: int | None = None,
        progress: Any = None,
        options: dict[str, Any] | None = None,
    ) -> Planned:
        """Solve it; what is found is checked densely, and the grid is refined where limits are passed between points.

        ``mesh``: numbers of control points to go through, coarse to fine, as (8, 20, 80). ``seed`` strays from the
        straight first guess, the same way for the same seed; ``starts`` solves from so many of them, the straight one
        first, in ``workers`` processes (all cores), and keeps the best. ``progress``: True shows a bar; or a function
        of iteration, objective, infeasibility and seconds, which stops the solve by returning False. Interrupted, the
        best so far is given. ``options`` are the solver's own.
        """
        sizes = None if mesh is None else meshes_of(mesh, self.degree)
        settings = Settings(solver, tolerance, iterations, seconds, refine, rounds, sizes, options)
        settings.check()
        if seed is not None:
            seed = whole("solve: seed", seed, 0)
        if workers is not None:
            whole("solve: workers", workers, 1)
        chosen(solver)
        if starts != 1:
            return solve_starts(self, settings, starts, seed, workers, progress)
        with reporting(progress, f"plan of {self.robot.name}") as report:
            return solved(self, settings, seed, report)

    def __reduce__(self) -> Any:
        return _again, (self._given,)


def _joined(points: Sequence[Array], weights: Sequence[Array]) -> tuple[Array, Array]:
    """Points of several grids in order, with their weights."""
    every = np.concatenate(points)
    order = np.argsort(every)
    return every[order], np.concatenate(weights)[order]


def _again(given: dict[str, Any]) -> Plan:
    rest = {name: value for name, value in given.items() if name not in ("robot", "objective")}
    return Plan(given["robot"], given["objective"], **rest)
