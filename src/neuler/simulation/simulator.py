"""``neuler.simulate``: a robot, a controller and a start in; a :class:`Run` out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError
from neuler.inputs import choice
from neuler.naming import hint
from neuler.robot import Robot
from neuler.rollouts.efforts import EFFORTS
from neuler.rollouts.kernel import METHODS
from neuler.rollouts.rollout import LIMITS
from neuler.simulation.adaptive import METHODS as ADAPTIVE
from neuler.simulation.adaptive import Adaptive, RightHandSide
from neuler.simulation.audit import Audit
from neuler.simulation.fixed import Fixed
from neuler.simulation.forces import Forces
from neuler.simulation.peaks import Peaks
from neuler.simulation.run import INTERRUPTED, Run
from neuler.simulation.start import Clock, moments, states
from neuler.simulation.wrenches import Wrenches

Array = NDArray[np.float64]


class Interrupted(KeyboardInterrupt):
    """A simulation that was stopped from the keyboard; ``run`` is what was computed."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"simulation stopped at {run.t[-1]:g} s; what was computed is in the exception's .run")
        self.run = run


def simulate(
    robot: Robot,
    controller: Any,
    x0: tuple[ArrayLike | None, ArrayLike | None] | None,
    t: ArrayLike,
    *,
    method: str = "rk4",
    step: float = 1e-3,
    every: int | None = None,
    external: Mapping[str, Any] | None = None,
    loads: Mapping[str, Any] | None = None,
    limits: str = "ignore",
    effort: str = "ignore",
    compile: bool | None = None,
    audit: bool = True,
    rtol: float = 1e-9,
    atol: float = 1e-10,
    progress: Callable[[float], Any] | None = None,
) -> Run:
    """Simulate a robot: from the state ``x0`` for a time ``t``, under a controller.

    ``controller``: a controller of :mod:`neuler.control`, which is compiled into the time loop; any other callable
    ``(t, q, qd) -> tau`` or ``(t, q, qd, memory, reference) -> (tau, memory)``, which is called from Python at its
    samples with states of shape (nq,), of a batch (rows, nq), unless ``compile=True`` says that it may be traced; an
    array of forces (nu,) that are held, or (..., steps, nu); None for no forces. Forces are held between samples:
    ``controller.period`` (s), by default every step. ``controller.memory0`` is the memory to start with.

    ``x0``: (q0, qd0), batch axes leading; None stands for the neutral position, and for rest. ``t``: a duration (s),
    or an array of times, the first being that of x0. ``step``: of the integrator (s); every k-th state is kept, by
    default all, fewer in long runs. ``method``: "rk4", "euler" (semi-implicit) and the others of ``robot.rollout``; for
    single runs also "dop853" and "radau" (SciPy), which choose their steps by ``rtol`` and ``atol``; controllers
    without a period are part of their right-hand side.

    ``external``, ``loads``: by frame, a wrench (force; moment) in its axes or in the base's, or a function (t, q, qd)
    of traced values that gives one: fluid, contact springs. ``limits="stop"`` ends a row at the first limit of a
    position; "hold" stops the joint there, inelastically. Limits of effort have no effect, and ``run.notes`` say which
    of them was passed, by how much and when; ``effort="clip"`` clips forces at them. A row that diverges, or gets
    NaN, ends too; the others go on, and ``run.events`` says what happened. ``audit=False`` leaves out the work of
    forces, which costs about as much as the motion. ``progress`` is called with the simulated time (s) of each finished
    piece. An interruption (Ctrl-C) raises :class:`Interrupted`, which has the run as far as it came; an exception
    raised by the controller carries it, too.

    >>> import neuler
    >>> robot = neuler.robots.two_link()
    >>> run = neuler.simulate(robot, None, ([0.3, 0.2], [0.0, 0.0]), 1.0)
    >>> run.q.shape, run.status, float(run.relative_drift) < 1e-9
    ((1001, 2), array(0), True)
    >>> damped = neuler.simulate(robot, lambda t, q, qd: -0.5 * qd, ([0.3, 0.2], [1.0, 1.0]), 2.0)
    >>> bool(damped.kinetic[-1] < 0.1 * damped.kinetic[0])
    True
    """
    begun = time.perf_counter()
    if not isinstance(robot, Robot):
        raise InputError(f"simulate: a robot is needed, got {type(robot).__name__}")
    if not robot.nv:
        raise InputError(f"simulate: robot {robot.name!r} has nothing that moves")
    known = (*METHODS, *ADAPTIVE)
    if method not in known:
        raise InputError(f"simulate: there is no method {method!r}; {hint(method, known)}")
    choice("simulate: limits", limits, LIMITS)
    choice("simulate: effort", effort, EFFORTS)
    if method in ADAPTIVE and limits == "hold":
        raise InputError(
            f"simulate: method {method!r} has no stops for joints; use limits='stop', or one of {', '.join(METHODS)}"
        )
    forces = Forces.of(robot, controller, compile)
    q, qd = states(robot, x0)
    wrenches = Wrenches.of(robot, external, loads)
    task = _Task(robot, forces, wrenches, (q, qd), method, limits, effort, audit, begun)
    if method in ADAPTIVE:
        return task.adaptive(moments(t, step, every), step, rtol, atol, progress)
    rows = int(np.prod(q.shape[:-1]))
    return task.fixed(Clock.of(t, step, every, rows * (robot.nq + robot.nv + robot.nu)), progress)


@dataclass
class _Task:
    """A simulation with its arguments looked at."""

    robot: Robot
    forces: Forces
    wrenches: Wrenches
    start: tuple[Array, Array]
    method: str
    limits: str
    effort: str
    audited: bool
    begun: float

    def fixed(self, clock: Clock, progress: Callable[[float], Any] | None) -> Run:
        """In steps of one size."""
        audit = Audit(self.robot, self.wrenches)
        fixed = Fixed(
            self.robot, self.forces, self.wrenches, clock, self.start, method=self.method,
            limits=self.limits, effort=self.effort, audit=audit if self.audited else None, progress=progress,
        )  # fmt: skip
        try:
            fixed.go()
        except KeyboardInterrupt:
            raise Interrupted(self._of_fixed(fixed, audit, clock, True)) from None
        except Exception as error:
            if fixed.done:  # a controller that fails on its way: nothing of the way is lost
                _with_run(error, self._of_fixed(fixed, audit, clock, True))
            raise
        return self._of_fixed(fixed, audit, clock, False)

    def _of_fixed(self, fixed: Fixed, audit: Audit, clock: Clock, interrupted: bool) -> Run:
        robot, rows = self.robot, fixed.rows
        first = np.full((rows, robot.nu), np.nan) if fixed.first is None else fixed.first
        q, qd, tau = (
            np.concatenate([start.reshape(rows, 1, -1), *(getattr(piece, name) for piece in fixed.kept)], axis=1)
            for name, start in (("q", self.start[0]), ("qd", self.start[1]), ("tau", first))
        )
        zero = np.zeros((rows, 1)) if self.audited else np.full((rows, 1), np.nan)
        works = [np.concatenate([zero, *(each[k] for each in fixed.works)], axis=1) for k in (0, 1)]
        count = len(clock.times)
        if interrupted:
            count = q.shape[1]
            going = fixed.status == 0
            fixed.status[going], fixed.ended[going] = INTERRUPTED, fixed.done
        whole = [_padded(x, count) for x in (q, qd, tau, *works)]
        shaped = [x.reshape(*fixed.batch, *x.shape[1:]) for x in whole]
        ended = clock.times[0] + fixed.ended * clock.step
        marks = [x.reshape(fixed.batch) for x in (fixed.status, ended, fixed.joint)]
        notes = tuple(dict.fromkeys([*fixed.notes, *fixed.peaks.notes()]))
        return self._run(audit, clock.times[:count], shaped, marks, notes)

    def adaptive(
        self, times: Array, step: float, rtol: float, atol: float, progress: Callable[[float], Any] | None
    ) -> Run:
        """By an integrator that chooses its steps."""
        if self.start[0].ndim > 1 or (self.forces.control is None and self.forces.given.ndim > 2):
            raise InputError(
                f"simulate: method {self.method!r} integrates a single run; simulate the rows one by one, or choose "
                f"{', '.join(map(repr, METHODS))}"
            )
        audit = Audit(self.robot, self.wrenches)
        motion = RightHandSide(self.robot, self.forces, audit, Peaks(self.robot, self.effort))
        found = Adaptive(
            motion, times, self.start, method=self.method, rtol=rtol, atol=atol,
            limits=self.limits == "stop", step=step, progress=progress,
        )  # fmt: skip
        try:
            found.go()
        except KeyboardInterrupt:
            found.status = INTERRUPTED
            raise Interrupted(self._of_adaptive(found, audit, found.done)) from None
        except Exception as error:
            if found.done:
                found.status = INTERRUPTED
                _with_run(error, self._of_adaptive(found, audit, found.done))
            raise
        return self._of_adaptive(found, audit, len(times))

    def _of_adaptive(self, found: Adaptive, audit: Audit, count: int) -> Run:
        nq, nv = self.robot.nq, self.robot.nv
        y = found.states[:count]
        parts = [y[:, :nq], y[:, nq : nq + nv], found.tau[:count], y[:, -2], y[:, -1]]
        ended = found.time if found.status else float(found.times[-1])
        marks = [np.array(found.status), np.array(ended), np.array(found.joint)]
        return self._run(audit, found.times[:count], parts, marks, tuple(found.peaks.notes()))

    def _run(
        self, audit: Audit, times: Array, parts: list[Array], marks: list[Any], notes: tuple[str, ...] = ()
    ) -> Run:
        q, qd, tau, work, work_of_losses = parts
        with np.errstate(all="ignore"):
            kinetic, potential = audit.energies(q, qd)
            gap, loads = audit.gap(q), self.wrenches.shown(times, q, qd)
        status, ended, joint = marks
        return Run(
            self.robot, times, q, qd, tau, status, ended, joint, self.method, kinetic, potential, work,
            work_of_losses, gap, loads, self.forces.reference(times), self.forces.followed, notes,
            seconds=time.perf_counter() - self.begun,
        )  # fmt: skip


def _with_run(error: Exception, run: Run) -> None:
    """Hand over what was computed before something failed."""
    error.run = run  # type: ignore[attr-defined]
    error.add_note(f"simulate: what was computed until {run.t[-1]:g} s is in the exception's .run")


def _padded(values: Array, count: int) -> Array:
    """To so many moments, NaN behind."""
    missing = count - values.shape[1]
    return np.pad(values, [(0, 0), (0, missing), *[(0, 0)] * (values.ndim - 2)], constant_values=np.nan)
