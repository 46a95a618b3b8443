"""``Plan``: a robot, what must hold, and an objective; solved as a sparse programme with exact derivatives."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.inputs import several, whole
from neuler.moments.contact import LINE, Contact
from neuler.moments.measures import torque
from neuler.moments.moving_robot import MovingRobot, Payload, check_same_coordinates
from neuler.moments.support import support_of
from neuler.motions.motion import Motion
from neuler.naming import hint
from neuler.optimize.dense import TOLERANCE
from neuler.optimize.progress import reporting
from neuler.optimize.solvers.choice import chosen
from neuler.plan.arguments import (
    breaks_of,
    count_of,
    degree_of,
    grid_of,
    meshes_of,
    payloads_of,
    phase_robot,
    points_of,
    reference_of,
    relations_of,
    robot_of,
)
from neuler.plan.attempt import Attempt
from neuler.plan.conditions import Boundary, Via
from neuler.plan.conflicts import Conflicts, conflicts
from neuler.plan.guess import FirstGuess
from neuler.plan.landings import begins, cyclic_orders, repeated_order
from neuler.plan.limits import Limit
from neuler.plan.objectives import DURATION, Objective, Term, TotalLimit
from neuler.plan.objectives import duration as least_time
from neuler.plan.options import ITERATIONS, ROUNDS, SolveOptions
from neuler.plan.phases import Follows, Phase, peaks_of, phases_of, split_limits
from neuler.plan.planned import Planned
from neuler.plan.relations import Relation
from neuler.plan.solve import PlanSolver
from neuler.plan.starts import solve_starts
from neuler.plan.transcribe import BlockMaker, Transcription
from neuler.robot import Robot

FRICTION = 5e-2
"""Speeds (rad/s or m/s) below which Coulomb friction is rounded off."""


class Plan:
    """A motion to be planned: profiles of a robot's joints that keep limits and minimise an objective.

    min sum of weighted durations, integrals and peaks  subject to  lower <= measures <= upper at all times,
    positions, velocities, accelerations and poses at ends and via points, Barman (4.16)-(4.19).

    ``start`` and ``goal``: positions at rest (nq), or ``plan.Boundary``. ``limits``: of ``plan.limit``,
    ``plan.within``, ``plan.clear_of`` and ``plan.total``; limits of the robot's joints (position, velocity, effort)
    hold too, except where a limit gives another bound for a joint and a side, or with ``robot_limits=False``.
    ``via``: conditions on the way (``plan.Via``). ``duration``: seconds, (least, most), or None for any. ``phases``
    (``plan.Phase``) have limits and durations of their own, and may have payloads, objectives and robots of their own.
    ``payload``: what the robot carries (``plan.Payload``; another one needs no new kernels). ``contacts``: what stands
    on the ground (``plan.Contact``), and ``split``, how contacts share its force: "line", "free" or a function of a
    moment, docs/contact.md. ``relations`` make
    profiles periodic or mirror each other (``plan.repeats``, ``plan.exchanges``, ``plan.mirrors``), or relate two
    moments (``plan.relate``). ``blocks``: functions (profiles, n) that return blocks of :mod:`neuler.optimize`, for
    constraints and objectives of your own. Coulomb friction is rounded off below ``friction_width`` (rad/s, m/s).

    Profiles are clamped B-splines with ``control_points`` (20) of a ``degree`` (3; 5 with elastic drives) on ``knots``:
    "uniform", or breaks from 0 to 1. ``grid``: points in every span at which limits are imposed; between them they are
    checked.

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
        limits: Sequence[Limit | TotalLimit] = (),
        robot_limits: bool = True,
        via: Sequence[Via] = (),
        duration: Any = None,
        control_points: int | None = None,
        degree: int | None = None,
        knots: Any = "uniform",
        grid: int | None = None,
        phases: Sequence[Phase] | None = None,
        payload: Payload | Sequence[Payload] = (),
        contacts: Contact | Sequence[Contact] = (),
        split: Any = LINE,
        relations: Sequence[Relation] = (),
        blocks: BlockMaker | Sequence[BlockMaker] = (),
        friction_width: float = FRICTION,
    ) -> None:
        began = time.perf_counter()
        self._given: dict[str, Any] = {
            "robot": robot, "objective": objective, "start": start, "goal": goal, "limits": limits,
            "robot_limits": robot_limits, "via": via, "duration": duration, "control_points": control_points,
            "degree": degree, "knots": knots, "grid": grid, "phases": phases, "payload": payload,
            "contacts": contacts, "split": split, "relations": relations, "blocks": blocks,
            "friction_width": friction_width,
        }  # fmt: skip
        given = robot_of(robot)
        self.objective = _objective(objective)
        self.notes: list[str] = []
        names = given.joint_names
        begin, end = Boundary.of(start, names), Boundary.of(goal, names)
        said = phases_of(phases, duration, via, goal, names)
        reference = reference_of(given, begin, end)
        models = self._models(given, said, reference, payload, friction_width, contacts, split)
        self.robot = models[0].loaded
        """The robot, with what it carries in the first phase."""
        order = degree_of(models, degree)
        breaks = breaks_of(knots)
        moments, totals = split_limits(limits)
        count, spans = points_of(control_points, order, breaks), grid_of(grid, order)
        related = relations_of(relations, models[0], order, len(said))
        landings = begins(models, related, order)
        self.transcription = Transcription(
            self._phases(
                said,
                models,
                begin,
                moments,
                totals,
                bool(robot_limits),
                order,
                count * spans,
                landings,
                related,
            ),
            order,
            breaks,
            count,
            spans,
            related,
            totals,
            _makers(blocks),
        )
        if self.transcription.makers:
            self.notes.append("rows of blocks of your own are checked at their points alone, not between them")
        self._check_durations()
        self._ends = begin, Boundary.of(said[-1].end, names)
        self.transcription.compile_seconds = time.perf_counter() - began

    # ---- parts ------------------------------------------------------------------------------------------------

    def _models(
        self, robot: Robot, phases: Sequence[Phase], reference: Any, payload: Any, width: Any, contacts: Any, split: Any
    ) -> list[MovingRobot]:
        """The robot of every phase; phases whose robots, payloads and contacts are alike share one."""
        found: list[MovingRobot] = []
        cached: dict[Any, MovingRobot] = {}
        for k, phase in enumerate(phases):
            what = f"phase {phase.name or k + 1}: "
            mine = robot if phase.robot is None else robot_of(phase.robot)
            if mine is not robot:
                check_same_coordinates(robot, mine, what)
            loads = payloads_of(payload if phase.payload is None else phase.payload, mine)
            touching = several(
                "plan: contacts", contacts if phase.contacts is None else phase.contacts, Contact, "plan.Contact(...)"
            )
            shared = split if phase.split is None else phase.split
            key = id(mine), tuple(repr(load) for load in loads), tuple(map(id, touching)), id(shared)
            if key not in cached:
                model = phase_robot(mine, reference, loads, width, self.notes)
                support = support_of(model.robot, touching, shared, what if len(phases) > 1 else "plan: ")
                cached[key] = model if support is None else dataclasses.replace(model, support=support)
            found.append(cached[key])
        unit = next((model.support.weight for model in found if model.support is not None), None)
        if unit is None:
            return found
        scaled = {id(model): dataclasses.replace(model, force_unit=unit) for model in cached.values()}
        return [scaled[id(model)] for model in found]

    def _phases(
        self, phases: Sequence[Phase], models: Sequence[MovingRobot], begin: Boundary, limits: Sequence[Limit],
        totals: Sequence[TotalLimit], robot_limits: bool, degree: int, points: int,
        landings: Sequence[Sequence[Contact]], relations: Sequence[Relation],
    ) -> list[Phase]:  # fmt: skip
        """All phases, prepared for their robots."""
        found: list[Phase] = []
        shared = peaks_of(self.objective, 0)
        slacks: dict[str, Term] = dict(shared)
        for k, (phase, model) in enumerate(zip(phases, models, strict=True)):
            title = "" if len(phases) == 1 else f"phase {phase.name or k + 1}: "
            if phase.control_points is not None:
                count_of(phase.control_points, degree)
            objective, peaks = self.objective, shared
            if phase.objective is not None:
                objective, peaks = phase.objective, peaks_of(phase.objective, len(slacks))
                slacks |= peaks
            first, last = begin if k == 0 else None, k == len(phases) - 1
            before = found[-1] if found else None
            repeated = repeated_order(relations, degree)
            cyclic = cyclic_orders(relations, degree) if len(phases) == 1 else {}
            follows = Follows(degree, landings[k], before, repeated, cyclic)
            found.append(
                phase.prepared(
                    title, model, limits, robot_limits, first, last, objective, peaks, totals, points, follows
                )
            )
        return found

    def _check_durations(self) -> None:
        phases = self.transcription.phases
        for phase in phases:
            low, high = phase.span
            if low < high and not np.isfinite(high):
                weight = sum(term.weight for term in phase.terms if term.kind == DURATION)
                if weight < 0.0:
                    raise InputError(
                        "plan: the objective asks for a long duration, which has no upper bound: duration=(0, most)"
                    )
                if weight == 0.0:
                    note = "the duration is free and not part of the objective: it may grow without bound"
                    self.notes += [note] if note not in self.notes else []
        if all(low == high or np.isfinite(high) for low, high in (phase.span for phase in phases)):
            return
        conditions = [condition for phase in phases for condition in phase.conditions]
        still = all(np.isnan(values).all() for each in conditions for k, values in each.linear if k == 0)
        if still and not any(each.poses for each in conditions):
            self.notes.append("neither start nor goal ask for a position: nothing has to move")

    @cached_property
    def _rest_notes(self) -> list[str]:
        """Where the robot cannot be held at rest, as it is asked to be, within the limits of its torques."""
        found = []
        for what, boundary, phase, share in (
            ("start", self._ends[0], self.transcription.phases[0], 0.0),
            ("goal", self._ends[1], self.transcription.phases[-1], 1.0),
        ):
            limits = [each for each in phase.limits if each.measure is torque and each.when[0] <= share <= each.when[1]]
            if not limits or phase.model.weightless or phase.model.support is not None:
                continue
            model, wanted = phase.model, phase.positions(share)
            known = wanted is not None and not np.isnan(wanted).any()
            if not boundary.at_rest or not known or wanted is None or model.dependent or model.elastic:
                continue
            q, still = model.positions(wanted), np.zeros(model.robot.nv)
            tau = np.asarray(model.with_payloads.inverse_dynamics(q, still, still))[model.driven]
            names = [model.tau_names[k] for k in model.driven]
            for limit in limits:
                low, high = limit.bounds(names)
                for k in np.flatnonzero((tau < low) | (tau > high)):
                    bound = low[k] if tau[k] < low[k] else high[k]
                    found.append(
                        f"{what}: {names[k]} needs {tau[k]:.4g} N m (N) to be held at rest there, its limit is "
                        f"{bound:.4g}: the robot cannot stay"
                    )
        return found

    def replace(self, **changes: Any) -> Plan:
        """Return the same plan with some arguments changed: another objective, other limits, another goal.

        >>> import neuler
        >>> from neuler import plan
        >>> arm = neuler.robots.two_link()
        >>> task = plan.Plan(arm, start=[0, 0], goal=[1, 0.5], limits=[plan.within(plan.torque, 20)])
        >>> str(task.replace(objective=plan.effort(), duration=1.0).objective)
        '1 effort'
        """
        for name in changes:
            if name not in self._given:
                raise InputError(f"replace: a plan has no argument {name!r}; {hint(name, self._given)}")
        return _again({**self._given, **changes})

    # ---- solve ------------------------------------------------------------------------------------------------

    def solve(
        self,
        solver: str = "auto",
        *,
        guess: Motion | None = None,
        tolerance: float = 1e-8,
        valid_to: float = TOLERANCE,
        iterations: int = ITERATIONS,
        seconds: float | None = None,
        refine: bool = True,
        rounds: int = ROUNDS,
        mesh: Sequence[int] | None = None,
        polish: bool = True,
        switches: bool = True,
        guesses: int | None = None,
        seed: int | None = None,
        starts: int = 1,
        workers: int | None = None,
        executor: Any = None,
        proximal: float | None = None,
        progress: Any = None,
        options: dict[str, Any] | None = None,
    ) -> Planned:
        """Return the motion that the solver finds; the grid is refined where limits do not hold between its points.

        ``guess``: where to begin, a motion of the same robot: an earlier plan, a timed path, a run, or
        ``neuler.motions.load``; by default a smooth way from start to goal. ``valid_to``: how much a limit may be
        violated in a valid plan, as a share of 1 + |bound|. ``mesh``: numbers of control points to go through, coarse
        to fine, as (8, 20, 80). ``iterations`` and ``seconds`` bound all solves together, the former from each first
        guess. Where the objective leaves open how some joints move, as least time does, ``polish`` picks the smoothest
        motion, with an objective within 1e-4. With ``switches`` profiles of least time get knots where limited rows
        switch between bounds, up to half as many control points again, for which a solve takes longer. ``guesses``: how
        many first guesses are tried, straight and swinging ones at several paces; by default one, and more where it
        finds no valid motion, or where motors are too weak to hold
        the robot on its way. ``seed`` perturbs the straight first guess, the same way for the same seed; ``starts``
        solves from so many of them, the straight one first, in ``workers`` processes (all cores) or on the machines of
        an ``executor`` (``concurrent.futures``, docs/studies.md), and returns the best. ``proximal``: first a motion
        within limits is looked for that is near the guess, by the squared distance of the variables with this weight
        alone; the objective counts from there on. By default 0.01 in plans with contacts that begin without a guess,
        and 0 (not at all) in others.
        ``progress``: True shows a bar; or a function of iteration, objective, infeasibility and seconds, which stops
        the solve by returning False. Interrupted, it returns the best so far. ``options`` are the solver's own.
        """
        sizes = None if mesh is None else meshes_of(mesh, self.transcription.degree)
        settings = SolveOptions(
            solver,
            tolerance,
            iterations,
            seconds,
            refine,
            rounds,
            sizes,
            options,
            valid_to,
            guess,
            polish,
            switches,
            guesses,
            proximal,
        )
        if seed is not None:
            seed = whole("solve: seed", seed, 0)
        if workers is not None:
            whole("solve: workers", workers, 1)
        chosen(solver)
        if starts != 1:
            self.transcription.compile()
            found = solve_starts(self._again, self.robot.name, settings, starts, seed, (workers, executor), progress)
            return self._solver.polished(settings, found)
        with reporting(progress, f"plan of {self.robot.name}") as report:
            return self._solver.solved(settings, seed, report)

    def conflicts(
        self,
        guess: Motion | None = None,
        *,
        solver: str = "auto",
        iterations: int = ITERATIONS,
        seconds: float | None = None,
        progress: Any = None,
        options: dict[str, Any] | None = None,
    ) -> Conflicts:
        """Return which families of limits contradict each other near a motion, and the motion that violates them least.

        Of every family of limits all rows are relaxed by one number; the sum of these numbers is minimised, which
        leaves most of them at zero. Ends, ranges of positions, durations and equations of motion hold. Arguments are
        those of :meth:`solve`.
        """
        settings = SolveOptions(solver, iterations=iterations, seconds=seconds, options=options, guess=guess)
        chosen(solver)
        with reporting(progress, f"conflicts in the plan of {self.robot.name}") as report:
            return conflicts(Attempt(self.robot, self.transcription, settings, FirstGuess(), report))

    @property
    def _solver(self) -> PlanSolver:
        return PlanSolver(self.robot, self.transcription, self._again, [*self.notes, *self._rest_notes])

    def _again(self, settings: SolveOptions, first: FirstGuess) -> Planned:
        return self._solver.from_guess(settings, first)

    def __reduce__(self) -> Any:
        return _again, (self._given,)


def _objective(given: Objective | None) -> Objective:
    found = least_time() if given is None else given
    if not isinstance(found, Objective) or not found.terms:
        raise InputError(f"plan: objective must be one of neuler.plan's, as plan.duration(), got {given!r:.60}")
    return found


def _makers(given: Any) -> list[BlockMaker]:
    found = list(given) if isinstance(given, list | tuple) else [] if given is None else [given]
    for each in found:
        if not callable(each):
            raise InputError(f"plan: blocks are functions (profiles, n) that return blocks, got {each!r:.60}")
    return found


def _again(given: dict[str, Any]) -> Plan:
    rest = {name: value for name, value in given.items() if name not in ("robot", "objective")}
    return Plan(given["robot"], given["objective"], **rest)
