"""Phases: what a part of a plan says, and what follows from it for its robot: conditions, limits, traced rows."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.inputs import real, several, whole
from neuler.moments.contact import PROFILES, Contact
from neuler.moments.measures import OF_ROBOT, Measure, acceleration, jerk, position, velocity
from neuler.moments.moving_robot import MovingRobot, Payload
from neuler.moments.rotations import turn_rows
from neuler.optimize.programme import Array
from neuler.plan.collocation import Collocated, Given, equal_rows, equalities_of, without_rows
from neuler.plan.conditions import Boundary, Condition, Via, condition_of, end_condition
from neuler.plan.contact import contact_limits
from neuler.plan.held import Held, SlipCheck, held, moment_free, slip_check
from neuler.plan.landings import landing, lasting
from neuler.plan.limits import Limit, below_half_a_turn
from neuler.plan.objectives import END, INTEGRAL, MAGNITUDE, OVERALL, PEAK, Objective, Term, TotalLimit
from neuler.plan.obstacles import ClearanceRows, is_clearance
from neuler.plan.rows import (
    LIMIT,
    OBJECTIVE,
    TOTAL,
    Family,
    Rows,
    balance_family,
    closure_family,
    collocated_family,
    limit_family,
    magnitude_families,
    objective_family,
    peak_family,
    row_count,
    total_family,
    trace_rows,
)
from neuler.plan.standing import check_reach
from neuler.robot import Robot

WITHOUT_FRICTION = (position, velocity, acceleration, jerk)
"""Measures that friction has no part in."""
ALWAYS = (0.0, 1.0)
"""The window of a limit that holds all the time."""


@dataclass(frozen=True, eq=False)
class Phase:
    """A part of a plan with a duration, profiles and limits of its own; it ends in ``end`` and is smoothly joined.

    ``limits`` hold in addition to those of the plan. ``end`` is free by default. ``continuity`` is the highest
    derivative that goes on into the next phase (default: degree - 1). ``payload``, ``objective`` and ``robot`` stand in
    the place of the plan's in this phase: what it carries (() for nothing), what it minimises, and a robot with the
    same coordinates, as one with another tool. So do ``contacts`` with the ground (() for flight) and ``split``, how
    they share its force. With an ``impact`` contacts that begin with it hit the ground: velocities jump there.
    """

    duration: Any = None
    control_points: int | None = None
    limits: Sequence[Limit] = ()
    end: Any = None
    via: Sequence[Via] = ()
    name: str = ""
    continuity: int | None = None
    payload: Payload | Sequence[Payload] | None = None
    objective: Objective | None = None
    robot: Robot | None = None
    contacts: Contact | Sequence[Contact] | None = None
    split: Any = None
    impact: bool = False

    # what follows from it, once :meth:`prepared` has been called
    title: str = field(init=False, repr=False)
    """How messages begin: "phase lift: ", or nothing where there is one phase."""
    model: MovingRobot = field(init=False, repr=False)
    span: tuple[float, float] = field(init=False, repr=False)
    """Bounds of its duration (s)."""
    conditions: list[Condition] = field(init=False, repr=False)
    terms: tuple[Term, ...] = field(init=False, repr=False)
    """Terms of the objective in this phase."""
    slacks: dict[str, Term] = field(init=False, repr=False)
    """Variables that peaks stay below, by name."""
    magnitudes: int = field(init=False, repr=False)
    """How many bounds of magnitudes are variables at every point of its integrals."""
    path: Rows | None = field(init=False, repr=False)
    """Limits and integrands, at every grid point."""
    as_given: Rows | None = field(init=False, repr=False)
    """Limits that friction has a part in, of the robot as it is given: its friction is not rounded off."""
    collocated: list[Collocated] = field(init=False, repr=False)
    """Equalities along it: forces that no motor gives are zero, limits whose bounds are equal."""
    clearances: list[ClearanceRows] = field(init=False, repr=False)
    """Distances of balls from obstacles and each other, of every limit on them."""
    held: list[Held] = field(init=False, repr=False)
    """What keeps points of contacts where they are."""
    slip: SlipCheck | None = field(init=False, repr=False)
    """What contacts are checked for between the points at which they are held."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "via", several("phase: via points", self.via, Via, "plan.Via(...)"))
        if self.continuity is not None:
            whole("phase: continuity", self.continuity, 0, 8)
        if not isinstance(self.name, str):
            raise InputError(f"phase: its name must be text, got {self.name!r:.60}")
        if not isinstance(self.impact, bool):
            raise InputError(f"phase: impact must be True or False, got {self.impact!r:.60}")
        if self.objective is not None and not isinstance(self.objective, Objective):
            raise InputError(f"phase: objective must be one of neuler.plan's, got {self.objective!r:.60}")

    # ---- prepared -----------------------------------------------------------------------------------------------

    def prepared(
        self,
        title: str,
        model: MovingRobot,
        limits: Sequence[Limit],
        robot_limits: bool,
        start: Boundary | None,
        last: bool,
        objective: Objective,
        slacks: dict[str, Term],
        totals: Sequence[TotalLimit],
        points: int,
        follows: Follows,
    ) -> Phase:
        """The same phase for a robot: ``limits`` of the plan added, conditions and rows traced.

        ``start``: where the plan begins, of the first phase; ``last``: whether it ends here. ``slacks``: of the peaks
        of ``objective``. ``points``: how many its grid has, or nearly so. ``follows``: how it begins.
        """
        found = copy.copy(self)
        begins, before = follows.begins, follows.before
        every = [limit.of(model) for limit in (*limits, *limits_of(self.limits))]
        if robot_limits:
            every += [limit for measure in OF_ROBOT if (limit := own_limit(model, measure, every))]
        check_limits(model, every, title)
        if turn_rows(model.coordinates):
            every.append(below_half_a_turn())
        every += contact_limits(model)
        conditions = [] if start is None else [condition_of(model, 0.0, start, f"{title}start")]
        conditions += [
            condition_of(model, float(via.at), via.boundary, f"{title}via at {via.at:g}")
            for via in self.via
            if via.at is not None
        ]
        end = Boundary.of(self.end, model.robot.joint_names)
        conditions.append(condition_of(model, 1.0, end, "goal" if last else f"{title}end", goal=True))
        at_end = [term for term in objective.terms if term.kind == END]
        if at_end and (last or self.objective is not None):
            conditions.append(end_condition(model, at_end))
        object.__setattr__(found, "conditions", conditions)
        q, qd = ((before or found).given_at(1.0 if before else 0.0, order) for order in (0, 1))
        if self.impact and (before is None or model.support is None or not begins):
            raise InputError(f"plan: {title}an impact needs a phase before it, and a contact that begins with it")
        going = lasting(before.model) if before is not None else []
        conditions += landing(model, begins, going, q, qd, title, impact=self.impact)
        prepared = {
            "title": title, "model": model, "limits": tuple(every), "conditions": conditions, "slacks": slacks,
            "span": duration_bounds(self.duration, f"plan {title}".strip()), "terms": objective.terms,
        }  # fmt: skip
        for name, value in prepared.items():
            object.__setattr__(found, name, value)
        found._check_speeds()
        check_reach(model, *found.boxes(), title)
        equal = found._equal_rows()
        object.__setattr__(found, "path", found._path(totals, points, equal))
        object.__setattr__(found, "as_given", found._as_given())
        rows = [ClearanceRows.of(model, limit, points) for limit in every if is_clearance(limit)]
        object.__setattr__(found, "clearances", rows)
        equalities = found._equalities(equal, follows)
        object.__setattr__(found, "collocated", [*found._collocated(), *moment_free(model), *equalities])
        ends = found.given_at(1.0, 0), found.given_at(1.0, 1)
        stood = before.held if before is not None else []
        object.__setattr__(found, "held", held(model, begins, follows.repeated, q, ends, stood))
        object.__setattr__(found, "slip", slip_check(model))
        return found

    def _equal_rows(self) -> dict[Limit, Any]:
        """By the limits that have such: their rows whose bounds are equal."""
        found = {}
        for limit in self.limits:
            if limit.lower is None or limit.upper is None or is_clearance(limit) or is_box(limit):
                continue
            rows = equal_rows(self.model, limit)
            if rows.any():
                found[limit] = rows
        return found

    def _equalities(self, equal: Mapping[Limit, Any], follows: Follows) -> list[Collocated]:
        """Rows of limits whose bounds are equal, at the points that profiles can follow."""
        model, found = self.model, []
        for limit, rows in equal.items():
            ends = []
            for share, what in ((0.0, "start"), (1.0, "goal")):
                given = [self.given_at(share, order) for order in range(follows.degree)]
                values = [np.full(model.profile_count, np.nan) if x is None else x for x in given]
                going = follows.going_on(self, limit) if share == 0.0 else {}
                ends.append(Given(f"{self.title}{what}", values, going))
            found += equalities_of(model, limit, rows, ends)
        return found

    def _path(self, totals: Sequence[TotalLimit], points: int, equal: Mapping[Limit, Any]) -> Rows | None:
        """One function for limits, integrands, peaks and closed loops; rows that are ``equal`` are left out."""
        model = self.model
        families: list[Family] = []
        for limit in self.limits:
            if is_clearance(limit) or is_box(limit) or (limit in equal and equal[limit].all()):
                continue  # rows of their own, bounds of control points, collocated
            families.append(limit_family(model, without_rows(model, limit, equal[limit]) if limit in equal else limit))
        families += [objective_family(term) for term in self.terms if term.kind == INTEGRAL]
        families += [peak_family(model, term, slack) for slack, term in self.slacks.items()]
        families += [total_family(term) for term in self.terms if term.kind == OVERALL]
        limited = [term for limit in totals for term in limit.objective.terms]
        families += [total_family(term) for term in limited if term.kind == INTEGRAL]
        bounds = 0
        for term in (*self.terms, *limited):
            if term.kind == MAGNITUDE and term.measure is not None:
                families += magnitude_families(model, term, bounds, total=term in limited)
                bounds += row_count(model, term.measure)
        object.__setattr__(self, "magnitudes", bounds)
        if model.dependent:
            families.append(closure_family())
        if model.support is not None and model.support.split == PROFILES:
            families.append(balance_family(model))
        if not families:
            return None
        return trace_rows(model, families, "path", list(self.slacks), points=points, magnitudes=bounds)

    def _as_given(self) -> Rows | None:
        """Limits of torques and of what is made of them; rates of torques are infinite where friction jumps."""
        model = self.model.as_given
        if model is None or self.path is None:
            return None
        families = [
            limit_family(model, family.limit)
            for family in self.path.of_kind(LIMIT)
            if family.limit is not None
            and family.limit.measure not in WITHOUT_FRICTION
            and self.path.orders[family.rows].max(initial=0) <= 2
        ]
        return trace_rows(model, families, "as_given", list(self.slacks)) if families else None

    def _collocated(self) -> list[Collocated]:
        model = self.model
        if not model.unsupported or model.robot.loops:
            return []
        names = [model.tau_names[k] for k in model.unsupported]
        places, unit = model.unsupported, model.force_unit
        what = "force without a motor"
        rows = collocated_family(what, lambda moment: moment.all_tau[places] / unit, names)
        return [Collocated(trace_rows(model, [rows], "undriven"), 2, weak=True, name=what)]

    def _check_speeds(self) -> None:
        """Refuse velocities at ends and via points that limits do not allow."""
        names = self.model.names
        for limit in self.limits:
            if limit.measure is not velocity:
                continue
            low, high = limit.bounds(names)
            for condition in self.conditions:
                inside = limit.when[0] <= condition.share <= limit.when[1]
                for order, values in condition.linear if inside else ():
                    for k in np.flatnonzero((values < low) | (values > high)) if order == 1 else ():
                        raise InputError(
                            f"{condition.what}: velocity {values[k]:g} of {names[k]} is outside its limits, {low[k]:g} "
                            f"to {high[k]:g}; change it or widen the limit"
                        )

    # ---- what is asked of it --------------------------------------------------------------------------------------

    @property
    def integrates(self) -> bool:
        """Whether rows are integrated over the phase."""
        return self.path is not None and bool(self.path.of_kind(OBJECTIVE, TOTAL, OVERALL))

    @property
    def functions(self) -> list[Rows]:
        """All traced rows."""
        every = [self.path, *(each.rows for each in self.collocated), *(each.rows for each in self.conditions)]
        return [rows for rows in every if rows is not None]

    @property
    def forces_jump(self) -> bool:
        """Whether forces of contacts jump where these begin and end: not where they are values at grid points."""
        return self.model.support is None or self.model.support.split != PROFILES

    @property
    def rounds_friction(self) -> bool:
        """Whether checks are of the robot with its Coulomb friction rounded off."""
        equal = any(each.weak for each in self.collocated)
        return bool(self.model.friction_width) and (self.model.as_given is None or equal)

    def continuity_from(self, before: Phase, model: MovingRobot) -> int | None:
        """The highest derivative that goes on from the phase before it; None for all that splines have.

        Where contacts change, accelerations may jump unless others are asked for.
        """
        if self.impact:
            return 0
        same = before.model.contact_keys == model.contact_keys
        return 1 if before.continuity is None and not same else before.continuity

    def boxes(self) -> tuple[Array, Array]:
        """Bounds of all control points: limits of positions hold where they hold for these (convex hull)."""
        names = self.model.names
        low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
        for limit in self.limits:
            if is_box(limit):
                lower, upper = limit.bounds(names)
                low, high = np.maximum(low, lower), np.minimum(high, upper)
        return low, high

    def positions(self, share: float) -> Array | None:
        """What is asked of positions at a share; NaN where they are free."""
        return self.given_at(share, 0)

    def given_at(self, share: float, order: int) -> Array | None:
        """What is asked of a derivative (per second) of the profiles at a share; NaN where it is free."""
        found = None
        for condition in self.conditions:
            for derivative, values in condition.linear:
                if condition.share == share and derivative == order:
                    found = values if found is None else np.where(np.isnan(found), values, found)
        return found

    def lazy_rows(self) -> Array:
        """Which rows of the path are left out until a check finds them violated."""
        out = np.zeros(self.path.count if self.path is not None else 0, dtype=bool)
        for family in self.path.families if self.path is not None else ():
            if family.limit is not None:
                out[family.rows] = family.limit.lazy
        return out


@dataclass(frozen=True, eq=False)
class Follows:
    """How a phase begins: after another one, at the start of a plan, or where a cycle begins again."""

    degree: int
    """Of all profiles."""
    begins: Sequence[Contact] = ()
    """Contacts that begin with it."""
    before: Phase | None = None
    """The phase that it follows."""
    repeated: int = 0
    """Where there is none: how many derivatives relations take over from the end of the plan."""
    cyclic: Mapping[str, int] = field(default_factory=dict)
    """By profile: the highest derivative that begins as it ends, where a cycle of one phase repeats."""

    def going_on(self, phase: Phase, limit: Limit) -> dict[int, int]:
        """By profile: how many derivatives are those of where a limit has held already."""
        before, names = self.before, phase.model.names
        if before is None:
            whole = limit.when == ALWAYS
            return {names.index(name): order + 1 for name, order in self.cyclic.items()} if whole else {}
        if limit not in before.limits or limit.when != ALWAYS:
            return {}
        continuity = phase.continuity_from(before, phase.model)
        most = self.degree if continuity is None else min(continuity + 1, self.degree)
        if before.model is not phase.model:  # another payload: the same positions, but other forces
            most = min(most, 2)
        return dict.fromkeys(range(len(names)), most)


def peaks_of(objective: Objective, first: int) -> dict[str, Term]:
    """A slack for every peak of an objective, numbered from ``first`` on."""
    peaks = [term for term in objective.terms if term.kind == PEAK]
    return {f"slack{first + k}": term for k, term in enumerate(peaks)}


def phases_of(phases: Any, duration: Any, via: Any, goal: Any, joints: Sequence[str]) -> list[Phase]:
    """Phases as given; of one, split where a via point has no time."""
    end = Boundary.of(goal, joints)
    if phases is not None:
        found = several("plan: phases", phases, Phase, "plan.Phase(...)")
        if not found:
            raise InputError("plan: phases are none; leave them away, or give one at least")
        if duration is not None:
            raise InputError("plan: with phases each has a duration of its own; leave the plan's away")
        if via:
            raise InputError("plan: with phases each has via points of its own; leave the plan's away")
        if goal is not None and found[-1].end is not None:
            raise InputError("plan: both goal and the end of the last phase are given; leave one away")
        for number, phase in enumerate(found, start=1):
            if any(each.at is None for each in phase.via):
                raise InputError(
                    f"plan: phase {phase.name or number}: a via point within a phase needs its share, at=...; one "
                    "without a time is the end of a phase of its own: Phase(end=...)"
                )
        if goal is not None:
            found[-1] = copy.copy(found[-1])
            object.__setattr__(found[-1], "end", end)
        return found
    via = several("plan: via points", via, Via, "plan.Via(...)")
    timed = [each for each in via if each.at is not None]
    free = [each for each in via if each.at is None]
    if not free:
        return [Phase(duration=duration, end=end, via=timed)]
    if timed or duration is not None:
        raise InputError(
            "plan: via points without a time split the plan into phases: then all have none, and durations are "
            "those of phases (plan.Phase)"
        )
    spans = [Phase(end=each.boundary, name=f"to via {k + 1}") for k, each in enumerate(free)]
    return [*spans, Phase(end=end, name="to goal")]


def duration_bounds(duration: Any, what: str) -> tuple[float, float]:
    """Bounds of a duration: of None, a number, or two."""
    if duration is None:
        return 0.0, np.inf
    found = real(duration)
    array = np.zeros(0) if found is None else found
    if array.shape == ():
        array = np.array([float(array)] * 2)
    if array.shape != (2,) or np.isnan(array).any():
        raise InputError(f"{what}: duration must be seconds, (least, most) or None, got {duration!r:.60}")
    low, high = map(float, array)
    if low > high:
        raise InputError(f"{what}: the least duration {low:g} s is above the most, {high:g} s")
    if high <= 0.0 or not np.isfinite(low):
        raise InputError(f"{what}: a duration must be above zero and finite, got {duration!r:.60}")
    return max(low, 0.0), high


# ---- limits ------------------------------------------------------------------------------------------------------


def limits_of(limits: Any) -> list[Limit]:
    """A list of limits of moments."""
    return several("plan: limits", limits, Limit, "plan.limit(measure, lower, upper)")


def split_limits(limits: Any) -> tuple[list[Limit], list[TotalLimit]]:
    """Limits of moments, and limits of the whole motion."""
    every = several("plan: limits", limits, (Limit, TotalLimit), "plan.limit(measure, lower, upper) and plan.total")
    whole_motion = [limit for limit in every if isinstance(limit, TotalLimit)]
    return [limit for limit in every if isinstance(limit, Limit)], whole_motion


def is_box(limit: Limit) -> bool:
    """Whether a limit of positions bounds control points instead of rows."""
    return limit.measure is position and limit.when == ALWAYS


def own_limit(robot: MovingRobot, measure: Measure, given: Sequence[Limit]) -> Limit | None:
    """Limits of a robot's joints; where a side of a row is given for all times, that one holds instead."""
    assert measure.of_robot is not None
    assert measure.labels is not None
    low, high = (side.copy() for side in measure.of_robot(robot))
    for limit in given:
        if limit.measure is measure and limit.when == ALWAYS:
            below, above = limit.covers(measure.labels(robot))
            low[below], high[above] = -np.inf, np.inf
    return Limit(measure, low, high) if np.isfinite(low).any() or np.isfinite(high).any() else None


def check_limits(robot: MovingRobot, limits: Sequence[Limit], what: str) -> None:
    """Refuse bounds of one row that contradict each other."""
    for measure in {limit.measure for limit in limits if limit.measure.labels is not None}:
        assert measure.labels is not None
        labels = measure.labels(robot)
        sides = [(limit, *limit.bounds(labels)) for limit in limits if limit.measure is measure]
        for one, low, _ in sides:
            for other, _, high in sides:
                overlap = one.when[0] <= other.when[1] and other.when[0] <= one.when[1]
                for row in map(int, np.flatnonzero(low > high)) if overlap else ():
                    who = f" of {labels[row]}" if labels[row] else ""
                    raise InputError(
                        f"{what}limit of {measure.name}{who}: one limit asks for at least {low[row]:g}, another for at "
                        f"most {high[row]:g}"
                    )
