"""What planning gives: a motion with exact derivatives, how well it keeps its limits, and what the solver says of it.

``valid`` and ``optimal`` stand apart. Valid is what was checked: every limit within 1e-6 (1 + |bound|) on a grid much
finer than that of the solve. Optimal is the solver's word.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError
from neuler.naming import hint
from neuler.plain import count, number, shown
from neuler.plan.inputs import whole
from neuler.plan.measures import MEASURES, Measure
from neuler.plan.samples import Samples, names_of
from neuler.robot import Robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from neuler.control import Reference
    from neuler.simulation.run import Run

Array = NDArray[np.float64]

VALID = 1e-6
"""Share of 1 + |bound| by which a limit may be passed."""
_PORTION = 8192
"""Times that a source is asked for at once."""
MOST_ROWS = 10_000_000
"""Of samples."""
_SAMPLES = "samples by their times"
"""Where a plan stores samples that were asked for; no name of an attribute."""
_STORED_ROWS = 5000
"""Rows of samples that are stored."""
_TOLD = 6
"""Violations that are told in words."""


class Motion(NamedTuple):
    """A motion at times (N,): positions (N, nq), then velocities, accelerations and jerks (N, nv)."""

    q: Array
    qd: Array
    qdd: Array
    qddd: Array


class MotionSource(Protocol):
    """Where the numbers of a plan come from: all that its results ask of a planner.

    Times are arrays (N,) within [0, duration], in s.
    """

    @property
    def duration(self) -> float:
        """In s."""
        ...

    @property
    def breaks(self) -> Array:
        """Times at which phases begin, and the end: (phases + 1,)."""
        ...

    @property
    def knots(self) -> Array:
        """Times between which the motion is smooth, both ends among them; the breaks are some of these."""
        ...

    def evaluate(self, t: Array, order: int) -> list[Array]:
        """Positions (N, nq) and derivatives (N, nv) up to ``order``, exact; of loops all positions, closed."""
        ...

    def torques(self, t: Array) -> Array:
        """Forces of the motors, (N, nu)."""
        ...

    def torque_rates(self, t: Array) -> Array:
        """Their time derivatives, (N, nu)."""
        ...

    @property
    def force_names(self) -> tuple[str, ...]:
        """Joints whose inner forces :meth:`forces` gives."""
        ...

    def forces(self, t: Array) -> Array:
        """Norms of the forces (N) inside the joints, (N, joints)."""
        ...

    def measure(self, what: Any, t: Array) -> Array:
        """Any measure of the planner along the motion, (N, numbers)."""
        ...


@dataclass(frozen=True, eq=False)
class Bound:
    """Limits of a measure with a name: lower and upper numbers (k,) for its labels, infinite where there is none."""

    name: str
    """As "torque", "velocity"."""
    labels: tuple[str, ...]
    lower: Array
    upper: Array


@dataclass(frozen=True)
class Violation:
    """A limit that is not kept: of what, where in time, by how much."""

    name: str
    """What is limited: "torque"."""
    label: str
    """Of which joint or row."""
    time: float
    """When it is worst (s)."""
    value: float
    bound: float
    remedy: str = ""
    """What to relax."""

    @property
    def excess(self) -> float:
        """By how much the bound is passed."""
        return abs(self.value - self.bound)

    @property
    def relative(self) -> float:
        """Of 1 + |bound|; valid up to 1e-6."""
        return self.excess / (1.0 + abs(self.bound))

    def __str__(self) -> str:
        of = f" of {self.label}" if self.label else ""
        told = f"{self.name}{of} at {number(self.time)} s is {number(self.value, 8)}, bound {number(self.bound, 8)}"
        return f"{told} (passed by {number(self.excess, 3)})" + (f"; {self.remedy}" if self.remedy else "")


@dataclass(frozen=True, eq=False)
class Planned:
    """A motion that was planned, valid or not; ``print(planned)`` says which, and what to relax."""

    robot: Robot
    motion: MotionSource
    valid: bool
    """Whether every limit holds, looked at on a fine grid."""
    optimal: bool
    """What the solver says."""
    status: str
    """optimal, acceptable, infeasible, limit, interrupted or failed."""
    message: str
    objective: float
    worst_violation: float
    """The largest excess over a bound, of 1 + |bound|; zero where none is passed."""
    violations: tuple[Violation, ...] = ()
    """The worst of every limit that is passed, the largest first."""
    bounds: tuple[Bound, ...] = ()
    """Limits, to be drawn beside what they limit."""
    iterations: int = 0
    seconds: float = 0.0
    """Of the whole solve."""
    function_seconds: float = 0.0
    """Of these, inside the functions of the programme."""
    compile_seconds: float = 0.0
    """Until these were made; nothing where the cache had them."""
    solver: str = ""
    phases: tuple[str, ...] = ()
    """Names; none where there is one phase."""
    notes: tuple[str, ...] = ()
    """What is worth knowing."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """By name: terms of the objective, weights included."""
    scenery: tuple[Any, ...] = ()
    """Obstacles, to be drawn."""

    @property
    def as_planned(self) -> Robot:
        """The robot as the plan has it: its friction rounded off at rest, where there is any."""
        return getattr(self.motion, "robot", self.robot)

    # ---- the motion --------------------------------------------------------------------------------

    @property
    def duration(self) -> float:
        """In s."""
        return float(self.motion.duration)

    def at(self, t: ArrayLike) -> Motion:
        """Positions, velocities, accelerations and jerks at a time, or at times (N,)."""
        times, one = self._times(t)
        parts = [self.motion.evaluate(part, 3) for part in _portions(times)]
        found = [np.concatenate(each) for each in zip(*parts, strict=True)]
        return Motion(*(x[0] for x in found)) if one else Motion(*found)

    def torques(self, t: ArrayLike) -> Array:
        """Forces of the motors, (nu,) at a time, (N, nu) at times."""
        return self._asked(self.motion.torques, t)

    def torque_rates(self, t: ArrayLike) -> Array:
        """Their rates."""
        return self._asked(self.motion.torque_rates, t)

    def forces(self, t: ArrayLike) -> Array:
        """Norms of the forces inside the joints (N), one for each of ``motion.force_names``."""
        return self._asked(self.motion.forces, t)

    def measure(self, what: Any, t: ArrayLike) -> Array:
        """Any measure of :mod:`neuler.plan` along the motion, or the name of one: "torque"."""
        if isinstance(what, str):
            if what not in MEASURES:
                raise InputError(f"measure: there is no {what!r}; {hint(what, MEASURES)}")
            what = MEASURES[what]
        if not isinstance(what, Measure):
            raise InputError(f"measure: one of neuler.plan's measures or its name is needed, got {what!r:.60}")
        return self._asked(lambda times: self.motion.measure(what, times), t)

    def _asked(self, what: Any, t: ArrayLike) -> Array:
        times, one = self._times(t)
        found: Array = np.concatenate([np.asarray(what(part)) for part in _portions(times)])
        return found[0] if one else found

    def _times(self, t: ArrayLike) -> tuple[Array, bool]:
        """Times (N,) within the motion, and whether one alone was asked for."""
        try:
            given = np.asarray(t, dtype=float)
        except (TypeError, ValueError):
            given = np.full(2, np.nan)
        near = 1e-9 * self.duration
        if given.ndim > 1 or not given.size or not np.all((given >= -near) & (given <= self.duration + near)):
            raise InputError(
                f"plan of {self.robot.name!r}: expected a time or an array of times from 0 to {self.duration:.9g} s, "
                f"got {t!r:.60}"
            )
        return np.clip(np.atleast_1d(given), 0.0, self.duration), given.ndim == 0

    # ---- out of here -------------------------------------------------------------------------------

    def sample(self, step: float | None = None, count: int = 201) -> Samples:
        """States and forces at ``count`` times from start to end, or every ``step`` seconds and at the end.

        Asked for again, they are copies of what was computed the first time.
        """
        t = self._sample_times(step, count)
        held: dict[bytes, Samples] = self.__dict__.setdefault(_SAMPLES, {})
        key = t.tobytes()
        found = held.get(key)
        if found is None:
            tau, rate, force = self.torques(t), self.torque_rates(t), self.forces(t)
            found = Samples(self.robot, t, *self.at(t), tau, rate, force, self.motion.force_names)
            if len(t) > _STORED_ROWS:
                return found
            held[key] = found
        copies: dict[str, Any] = {name: values.copy() for name, values in found.arrays.items()}
        return replace(found, **copies)

    def _sample_times(self, step: float | None, count: int) -> Array:
        if step is None:
            whole("sample: count", count, 2, MOST_ROWS)
            return np.linspace(0.0, self.duration, int(count))
        if not (isinstance(step, int | float) and math.isfinite(step) and step > 0):
            raise InputError(f"sample: step must be a positive time (s), got {step!r}")
        if self.duration / step > MOST_ROWS:
            raise InputError(f"sample: a step of {step:g} s makes more than {MOST_ROWS:,} rows")
        whole_steps = math.floor(self.duration / step * (1.0 + 1e-12))
        t = np.minimum(np.arange(whole_steps + 1) * step, self.duration)
        return np.append(t, self.duration) if self.duration - t[-1] > 1e-9 * step else t

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != _SAMPLES}

    def save(self, path: str | os.PathLike[str], step: float | None = None, count: int = 201) -> None:
        """Write samples: .csv, .parquet or .npz, or .json in the shape of ROS's trajectory_msgs/JointTrajectory."""
        self.sample(step, count).save(path)

    def reference(self, order: int = 2) -> Reference | Any:
        """The motion as a reference of controllers: piece by piece a polynomial, at rest after its end.

        Of the robot's own coordinates; of drives with springs, those of the links.
        """
        from neuler.plan.replay import own_coordinates, reference

        return reference(self, own_coordinates(self.robot), order)

    def replay(self, step: float | None = None, method: str = "rk4", *, after: float = 0.0, **options: Any) -> Run:
        """Simulate the robot under the plan's forces alone, without feedback: does the motion come out?

        ``run.error`` is how far it does not. The robot as planned moves, or ``robot=planned.robot``, with its friction
        as it is. Forces of joints that no motor drives are left out. ``after``: seconds to go on with the forces that
        hold the last position. The default step is 1e-4 s or less. ``options`` are those of ``neuler.simulate``.
        """
        from neuler.plan.replay import replay

        return replay(self, step, method, after=after, **options)

    def track(
        self, controller: Any, step: float | None = None, *, robot: Robot | None = None, after: float = 0.0,
        x0: Any = None, options: Mapping[str, Any] | None = None, **gains: Any,
    ) -> Run:  # fmt: skip
        """Simulate the robot under a controller that has the plan as its reference.

        ``controller``: a name ("computed_torque"), a class or an instance of :mod:`neuler.control`; ``gains`` are its
        other arguments. ``robot``: the one that moves, where it is not as planned (payload, friction). ``x0``: where it
        starts, by default where the plan does. ``options`` are those of ``neuler.simulate``.
        """
        from neuler.plan.replay import track

        return track(self, controller, step, robot=robot, after=after, x0=x0, options=options or {}, gains=gains)

    def plot(self, poses: int = 9, figure: Figure | None = None) -> Figure:
        """The motion, forces and rates with their limits, velocities, internal joint forces: a matplotlib figure.

        Notebooks show it, and ``matplotlib.pyplot.show()`` knows it until ``matplotlib.pyplot.close()``. ``figure``: an
        empty one to draw into instead; it gets the size that it needs.
        """
        from neuler.plan.pictures import overview

        drawn: Figure = overview(self, poses, figure)
        return drawn

    def figures(self, poses: int = 9) -> dict[str, Figure]:
        """The same one by one, by name: torque, torque_rate, position, velocity, joint_force, motion."""
        from neuler.plan.pictures import figures

        return figures(self, poses)

    def page(self, path: str | os.PathLike[str], *, title: str | None = None, speed: float | None = None) -> None:
        """Write a page (HTML) that plays the motion, with its curves and what there is to say.

        ``speed``: of playing, 1 as it is; by default motions of less than 2 s are played slower.
        """
        from neuler.plan.pictures import write_page

        write_page(self, path, title, speed)

    # ---- in words ----------------------------------------------------------------------------------

    @property
    def names(self) -> dict[str, list[str]]:
        """What the numbers of q, qd, qdd, qddd, tau, tau_rate and force are called in a file."""
        return names_of(self.robot, self.motion.force_names)

    def summary(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON; None for what is not finite."""
        return {
            "robot": shown(self.robot.name),
            "valid": bool(self.valid),
            "optimal": bool(self.optimal),
            "status": self.status,
            "message": shown(self.message),
            "duration": _plain(self.duration),
            "objective": _plain(self.objective),
            "parts": {shown(name): _plain(value) for name, value in self.parts.items()},
            "worst_violation": _plain(self.worst_violation),
            "violations": [
                {
                    "name": each.name,
                    "label": shown(each.label),
                    "time": _plain(each.time),
                    "value": _plain(each.value),
                    "bound": _plain(each.bound),
                    "excess": _plain(each.excess),
                    "remedy": shown(each.remedy),
                }
                for each in self.violations
            ],
            "iterations": int(self.iterations),
            "seconds": _plain(self.seconds),
            "function_seconds": _plain(self.function_seconds),
            "compile_seconds": _plain(self.compile_seconds),
            "solver": self.solver,
            "phases": [shown(name) for name in self.phases],
            "breaks": [_plain(x) for x in self.motion.breaks],
            "notes": [shown(note) for note in self.notes],
        }

    def __str__(self) -> str:
        """What came out: valid or not, optimal or not, how long, what is passed where and what to relax."""
        verdict = "valid" if self.valid else "NOT valid"
        word = "optimal" if self.optimal else f"not optimal ({self.status})"
        lines = [f"plan of {shown(self.robot.name)!r}: {verdict}; {word} says {self.solver or 'the solver'}"]
        terms = " = " + " + ".join(f"{number(x)} {shown(name)}" for name, x in self.parts.items()) if self.parts else ""
        lines.append(f"duration {number(self.duration, 6)} s, objective {number(self.objective, 6)}{terms}")
        if len(self.phases) > 1:
            spans = zip(self.phases, np.diff(self.motion.breaks), strict=True)
            lines.append("phases: " + ", ".join(f"{shown(name)} {number(float(x))} s" for name, x in spans))
        lines.append(
            f"{count(self.iterations, 'iteration')} in {number(self.seconds, 3)} s, of which "
            f"{number(self.function_seconds, 3)} s inside functions; compiled in {number(self.compile_seconds, 3)} s"
        )
        if not self.valid and self.message:
            lines.append(f"the solver's message: {shown(self.message)}")
        lines.append(self._worst())
        for each in self.violations[: 0 if self.valid else _TOLD]:
            lines.append(f"  {shown(str(each))}")
        if not self.valid and len(self.violations) > _TOLD:
            lines.append(f"  and {len(self.violations) - _TOLD} more")
        return "\n".join([*lines, *(f"note: {shown(note)}" for note in self.notes)])

    def _worst(self) -> str:
        if not math.isfinite(self.worst_violation):
            return "the motion is not finite: no limit could be looked at"
        if self.worst_violation <= 0.0:
            return "every limit holds"
        told = f"worst violation {number(self.worst_violation, 2)} of 1 + |bound|"
        return f"{told}, which counts as held" if self.valid else f"{told}; up to {VALID:g} would count as held:"

    def __repr__(self) -> str:
        """A line."""
        word = "valid" if self.valid else "not valid"
        return f"<plan of {self.robot.name!r}: {number(self.duration)} s, {word}, {self.status}>"


def _portions(times: Array) -> list[Array]:
    """Times in parts that need little memory."""
    return np.array_split(times, -(-len(times) // _PORTION))


def _plain(x: Any) -> float | None:
    return float(x) if math.isfinite(x) else None


__all__ = ["VALID", "Bound", "Motion", "MotionSource", "Planned", "Samples", "Violation"]
