"""Identification by simulating the closed loop: DIDIM, input error and output error.

A log of a robot under a known controller is compared with a simulation of the same loop, same controller and same
reference, and the simulated robot's parameters are changed until both agree. Noise in measured positions does not
enter the model, so that estimates stay unbiased where least squares on measured motion are biased.

=================  ====================  ====================================================================
method             compares              Jacobian
=================  ====================  ====================================================================
``didim``          torques               the regressor along the simulated motion (Gautier, Janot, Vandanjon 2013)
``input_error``    torques               exact, of the closed loop
``output_error``   positions             exact, of the closed loop
=================  ====================  ====================================================================
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.estimate import Estimate
from neuler.identify.least_squares import Options
from neuler.identify.loop_runs import ClosedRun
from neuler.identify.loop_search import METHODS, LoopProblem, Point, Search, allowed, begun, bounded
from neuler.identify.loop_setup import closed_runs
from neuler.identify.prepared import Prepared
from neuler.identify.rows import COLUMNS, known_options, prepared_logs
from neuler.identify.wanted import alike_said, wanted_base
from neuler.inputs import array, choice, whole
from neuler.robot import Robot
from neuler.solve.base_parameters import BaseParameters

Array = NDArray[np.float64]
ITERATIONS = 30
_ROWS = 5000
"""Rows of a log that DIDIM then reads, about."""
_WARM = 0.3
"""Share of standard deviations to which DIDIM goes on before exact derivatives take over."""


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """Base parameters found by simulating the closed loop."""

    estimate: Estimate
    base: BaseParameters
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    """Steps of the simulation by log, number of simulations, and the error of every pass relative to the first."""

    @property
    def values(self) -> Array:
        """Base parameters, (p,)."""
        return self.estimate.values

    def robot(self) -> Robot:
        """A robot with the same forces as these base parameters; its links need not be physically consistent.

        ``identify.fit`` returns a consistent one.
        """
        return dataclasses.replace(self.base, standard=_representing(self.base, self.values)).minimal()

    def __str__(self) -> str:
        return "\n".join([str(self.estimate), *self.notes])


def _representing(base: BaseParameters, values: Array) -> Array:
    """All parameters, those of the groups' representatives in the place of the groups."""
    found = np.zeros(len(base.columns))
    found[[base.columns.index(name) for name in base.names]] = values
    return found


def didim(logs: Any, controller: Any, *, columns: Any = COLUMNS, **options: Any) -> ClosedLoop:
    """Direct and inverse dynamic identification: least squares of torques on the regressor of the simulated motion.

    ``logs`` is a Log or a Prepared, or several, of one robot; ``controller`` the one used in the experiment, one for
    all logs or by the name of the log. ``columns`` names the parameters, as in ``identify.fit``. Options are those of
    :func:`estimate` and of ``Log.prepare``.

    >>> import neuler
    >>> from neuler.control import GravityPD, sines
    >>> given = neuler.robots.two_link()
    >>> true = given.with_parameters({"link2.mass": given.links[2].mass + 0.5})
    >>> law = GravityPD(given, kp=60.0, kd=8.0, reference=sines([0.6, 0.5], [0.5, 0.8], 1.0), period=2e-3)
    >>> run = neuler.simulate(true, law, tuple(np.split(law.reference(0.0)[:4], 2)), 4.0, step=2e-3)
    >>> found = didim(neuler.identify.Log(given, run.t, run.q, run.tau), law, columns="links")
    >>> bool(abs(found.values - true.base_parameters("links").values).max() < 1e-8), found.estimate.converged
    (True, True)
    """
    return _alone("didim", logs, controller, columns, options)


def input_error(logs: Any, controller: Any, *, columns: Any = COLUMNS, **options: Any) -> ClosedLoop:
    """Closed-loop input error: fit simulated torques to measured ones, with exact derivatives of the loop.

    Arguments are those of :func:`didim`.
    """
    return _alone("input_error", logs, controller, columns, options)


def output_error(logs: Any, controller: Any, *, columns: Any = COLUMNS, **options: Any) -> ClosedLoop:
    """Closed-loop output error: fit simulated positions to measured ones, with exact derivatives of the loop.

    Arguments are those of :func:`didim`. Torques are used only if ``warm``, by DIDIM, to find where to begin.
    """
    return _alone("output_error", logs, controller, columns, options)


_OWN = (
    "reference",
    "start",
    "start_values",
    "step",
    "torque",
    "warm",
    "iterations",
    "covariance",
    "lag",
    "undetermined",
)


def _alone(method: str, logs: Any, controller: Any, columns: Any, options: dict[str, Any]) -> ClosedLoop:
    known_options(method, options, _OWN)
    own = {key: options.pop(key) for key in _OWN if key in options}
    ready = prepared_logs(method, logs, options)
    base = wanted_base(method, ready[0].robot, columns)
    found, notes, settings = estimate(method, ready, base, controller, **own)
    said = [f"{each.name}: {note}" for each in ready for note in each.notes]
    return ClosedLoop(found, base, (*said, *notes, *alike_said(base)), settings)


def estimate(
    method: str,
    logs: Sequence[Prepared],
    base: BaseParameters,
    controller: Any,
    start_values: Any = None,
    *,
    reference: Any = None,
    start: Any = None,
    step: float | None = None,
    torque: str = "before",
    warm: bool = True,
    iterations: int = ITERATIONS,
    covariance: str = "robust",
    lag: int | None = None,
    undetermined: str = "refuse",
) -> tuple[Estimate, list[str], dict[str, Any]]:
    """Base parameters of prepared logs by "didim", "input_error" or "output_error"; notes, and the chosen settings.

    ``start_values`` (p,), in the order of ``base.names``, are where the search begins, by default the robot's own.
    ``start`` is the state at the log's first row: "reference" (the default if the controller has one; refused if the
    log begins elsewhere), "measured", or (q0, qd0). ``reference`` contains rows for a controller without a reference
    of its own, one for each row of the log, or k if the controller runs at k times the log's rate. ``step`` (s) is the
    integrator's, by default so short that half of it changes torques by less than 1e-5. ``torque`` says which torque
    the log records in a row at which the controller updates it: the one "before", as in runs of ``neuler.simulate``, or
    the one "after". With ``warm`` the search begins where DIDIM on some of the rows ends. ``reference``, ``start`` and
    ``controller`` may be mappings by the name of the log.

    The log's times are the controller's clock: the reference begins at t = 0.
    """
    choice("closed loop: method", method, METHODS)
    options = Options(method, covariance, lag, undetermined)
    whole(f"{method}: iterations", iterations, 1)
    _check_logs(method, logs, base)
    values = base.values if start_values is None else array(method, "start_values", start_values, (len(base),))
    if values.shape != (len(base),) or not np.isfinite(values).all():
        raise InputError(
            f"{method}: start_values must be {len(base)} finite numbers, those of {', '.join(base.names[:4])}, ..."
        )
    values = allowed(base.names, values)
    if method == "output_error" and not base.robot.coordinates.own.plain:
        raise InputError(
            "output_error: positions with quaternions are not compared; use method 'input_error' or 'didim'"
        )
    runs, notes, settings = closed_runs(
        method, logs, base, controller, values, reference=reference, start=start, step=step, torque=torque
    )
    problem = LoopProblem(method, runs)
    point, warmed = begun(problem, values), 0
    if warm:
        point, warmed = _warmed(problem, point)
    search = Search(problem, iterations)
    point, data, passes, converged = search.run(point)
    found = problem.estimate(point, data, options, passes, converged)
    notes += search.notes
    if not converged:
        other = "; where control is soft, method 'input_error' goes on" if method == "didim" else ""
        notes.append(
            f"do not rely on the values of a search that did not converge: its last step was {search.length:.2g} "
            f"standard deviations{other}"
        )
    notes += [*problem.unexplained(point), *bounded(base.names, point.values)]
    chosen = {
        "simulation": settings, "iterations": passes, "didim_iterations": warmed, "simulations": problem.count,
        "errors": [float(f"{x:.6g}") for x in search.history],
    }  # fmt: skip
    return found, notes, chosen


def _warmed(problem: LoopProblem, point: Point) -> tuple[Point, int]:
    """Where DIDIM ends, if that is better: it needs no derivatives of the loop, and here no more than some rows."""
    rough = LoopProblem("didim", [_thinned(run) for run in problem.runs])
    try:
        near, _, passes, _ = Search(rough, 10, _WARM).run(begun(rough, point.values))
    except InputError:  # columns that torques do not tell
        return point, 0
    problem.count += rough.count
    trial = problem.at(near.values)
    return (trial, passes) if trial is not None and problem.share(trial) < problem.share(point) else (point, 0)


def _thinned(run: ClosedRun) -> ClosedRun:
    """The same run with fewer rows, not filtered."""
    ready = run.ready
    some = max(ready.settings["decimate"], len(ready.t) // _ROWS, 1)
    return dataclasses.replace(
        run, ready=dataclasses.replace(ready, settings={**ready.settings, "torque_cutoff": None, "decimate": some})
    )


def _check_logs(method: str, logs: Sequence[Prepared], base: BaseParameters) -> None:
    if not logs:
        raise InputError(f"{method}: at least one log is needed")
    for each in logs:
        if each.robot != base.robot:
            raise InputError(f"{method}: log {each.name!r} is of another robot; logs are fitted with one robot's model")


def simulated_instruments(
    logs: Sequence[Prepared], base: BaseParameters, controller: Any
) -> tuple[Callable[[Array], Array], list[str], dict[str, Any]]:
    """Instruments as a function of base parameters: the regressor along the simulated closed loop, (N, nu, p).

    The first ones are those of the given robot, whatever the parameters: those of least squares may be so biased that
    the loop with them is another. Notes, and the steps of the simulation, come with it.
    """
    _check_logs("instrumental", logs, base)
    runs, notes, settings = closed_runs("instrumental", logs, base, controller, allowed(base.names, base.values))
    problem = LoopProblem("didim", runs)
    points = [begun(problem, allowed(base.names, base.values))]
    calls = itertools.count()

    def found(values: Array) -> Array:
        point = problem.at(allowed(base.names, values)) if next(calls) else None
        points[:] = [point or points[0]]  # parameters that cannot be simulated leave the last motion
        return problem.data(points[0]).W

    return found, notes, {"simulation": settings}
