"""From logs to a robot: the regressor along measured motion, an estimate of its base parameters, a robot that has them.

    tau = Y_b(q, qd, qdd) b,        filtered on both sides alike, one row a sample and force.

Rows at which a joint rests are left out for its force: the sign of a velocity that is noise says nothing of friction.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.identify.arrangement import Looked, misplaced
from neuler.identify.diagnosis import Excitation, PredictionError, excitation_of, prediction_error
from neuler.identify.estimation import Regressed, regressed
from neuler.identify.friction_laws import with_loads
from neuler.identify.identified import Identified
from neuler.identify.load_friction import LoadedRegression
from neuler.identify.methods import ALL, BASE, CLOSED
from neuler.identify.offsets import drives_one_way
from neuler.identify.rows import COLUMNS, Rows, known_options, prepared_groups
from neuler.identify.stacked import Stacked
from neuler.identify.stretches import joined
from neuler.identify.twice import judged_by_themselves
from neuler.identify.verdicts import elsewhere, poor, worse
from neuler.inputs import choice, number
from neuler.passes.parameters import group_names
from neuler.robot import Robot

Array = NDArray[np.float64]
METHODS = (*BASE, *ALL, *CLOSED)


def fit(
    logs: Any,
    *,
    columns: Any = COLUMNS,
    method: str = "weighted",
    held_out: Any = (),
    friction: str | None = None,
    friction_speeds: Any = None,
    own: Any = None,
    loads: Any = None,
    instruments: Any = (),
    prior_sd: float = 0.2,
    controller: Any = None,
    **preparation: Any,
) -> Identified:
    """Identify the parameters of a robot from logs of its motion.

    ``logs`` is a :class:`Log` or several, of one robot, the given robot; :class:`Prepared` logs are used unchanged,
    others are prepared with the options ``preparation`` of :meth:`Log.prepare`. ``columns`` names the parameters to be
    identified, as ``robot.regressor`` does. ``held_out``: logs that are not fitted, for validation.

    ``method``: "weighted", "ordinary" or "reweighted" least squares of the base parameters, "bootstrap" for weighted
    least squares with the uncertainty of resamples, "instrumental" variables (``instruments``: for each log another
    one of the same motion, run again). The returned robot is physically consistent: of those whose base parameters
    agree with the estimate within its uncertainty, the nearest to the given one. "consistent" estimates all parameters
    at once, subject to consistency, near the given robot; cross-validation within the logs chooses the weight of the
    distance. "bayesian" uses the given robot as a prior with the relative standard deviation ``prior_sd`` of its links'
    inertias, by an entropic divergence. "didim", "input_error" and "output_error" simulate the closed loop under its
    ``controller`` (docs/identify-closed-loop.md), and so does "instrumental" if it has no ``instruments``.

    ``friction``: a law that replaces the robot's own, one of ``friction_laws.FRICTION_LAWS``; ``friction_speeds`` are
    the speeds of "smooth" and "stribeck", (nv,), by default small fractions of the velocities.
    ``own``: custom columns by name, functions of q, qd and qdd that return the torques for one unit of a parameter.
    ``loads``: known payloads by run, {"run": {"payload:tool.mass": 2.0}}.

    >>> import numpy as np, neuler
    >>> robot, t = neuler.robots.two_link(), np.arange(0.0, 10.0, 0.01)
    >>> q = np.stack([np.sin(2.1 * t) + 0.5 * np.sin(5.2 * t), np.cos(3.3 * t) + 0.3 * np.sin(1.7 * t)], axis=-1)
    >>> qd, qdd = (np.gradient(x, t, axis=0) for x in (q, np.gradient(q, t, axis=0)))
    >>> heavy = robot.with_parameters({"link2.mass": robot.links[2].mass + 1.0})
    >>> log = neuler.identify.Log(robot, t, q, heavy.inverse_dynamics(q, qd, qdd))
    >>> found = neuler.identify.fit(log, columns="links")
    >>> len(found.base), found.estimate.converged
    (4, True)
    """
    known_options("fit", preparation, _OPTIONS)
    choice("fit: method", method, METHODS)
    prior_sd = number("fit: prior_sd", prior_sd, above=0.0)
    ready, others, again = prepared_groups(
        "fit", {"": logs, "held_out": held_out, "instruments": instruments}, preparation
    )
    robot = ready[0].robot
    done = regressed(
        ready, others, again, columns=columns, method=method, friction=friction, friction_speeds=friction_speeds,
        own=own, loads=loads, prior_sd=prior_sd, controller=controller,
    )  # fmt: skip
    work, estimate = done.work, done.found.estimate
    values, chosen = work.standard(done.found)
    identified = work.base.robot.with_parameters({name: values[name] for name in values if name in work.base.columns})
    if isinstance(done.regression, LoadedRegression):
        identified = with_loads(identified, work.losses(done.regression, values))
    answer = work.answer(done.found, values)
    judged = {run.name: _judged(run, estimate.values) for run in done.rows}
    left = {each.name: _judged(work.at(done.regression, answer).rows(each), answer) for each in done.others}
    looked = Looked([], orders=False, delays=True)  # a loop that is simulated wrongly looks like columns at wrong times
    if method not in CLOSED:
        looked = misplaced(done.regression, done.logs, done.rows, _whole(work.base.robot, work.base.columns))
    notes = [f"{each.name}: {note}" for each in (*ready, *others) for note in looked.left(each)]
    notes += [*looked.notes, *(() if method == "reweighted" else looked.bursts)]
    notes += [*work.notes, *poor(robot, judged), *done.found.notes, *estimate.notes]
    grouped = [name for name, group in work.base.groups.items() if len(group) > 1]
    one_way = [] if looked.notes else drives_one_way(estimate, robot, done.rows, grouped)
    notes += one_way or worse({run.name: _judged(run, answer) for run in done.rows}, judged)
    notes += [*elsewhere(robot, judged, left), *judged_by_themselves(done.logs, done.others)]
    settings = {**chosen, **done.settings, "logs": {each.name: each.settings for each in ready}}
    extra = {name: values[name] for name in work.own.names}
    return Identified(
        identified, estimate, work.base, _excitation(done), judged, left, tuple(notes), settings, extra, work.own
    )


_OPTIONS = tuple(inspect.signature(fit).parameters)[1:-1]


def _excitation(done: Regressed) -> Excitation:
    """Of base parameters and the user's own columns, of moving rows, forces divided by their standard deviations."""
    every = done.regression.names
    names = [name for name in every if name in done.work.base.names or name not in done.work.base.columns]
    at = slice(None) if len(names) == len(every) else [every.index(name) for name in names]
    reduced = joined(
        [
            Stacked("fit", tuple(names), run.W[:, :, at], run.y, run.moving.astype(float)).triangles()
            for run in done.rows
        ]
    )
    estimate = done.found.estimate  # of output errors, deviations are those of positions
    sd = np.ones(len(reduced.factors)) if estimate.method == "output_error" else estimate.force_sd
    return excitation_of(reduced, tuple(names), sd)


def _whole(robot: Robot, columns: Sequence[str]) -> bool:
    """Whether all that torques depend on most is looked for: what every link weighs, and every joint's friction."""
    links = {f"{link.name}.mass" for link in robot.links if link.mass > 0.0 and link.name in robot.shown_names}
    found = {name.partition(".")[0] for name in columns if name in set(group_names(robot, "friction"))}
    friction = {joint.name for joint in robot.joints if joint.friction or joint.viscous or joint.coulomb}
    return links <= set(columns) and friction <= found


def _judged(run: Rows, values: Array) -> PredictionError:
    return prediction_error(run.W, run.y, values, moving=run.moving, reference=run.level)
