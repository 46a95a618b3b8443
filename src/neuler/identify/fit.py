"""From logs to a robot: the regressor along measured motion, an estimate of its base parameters, a robot that has them.

    tau = Y_b(q, qd, qdd) b,        filtered on both sides alike, one row a sample and force.

Rows at which a joint rests are left out for its force: the sign of a velocity that is noise says nothing of friction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify import least_squares
from neuler.identify.bodies import links_of
from neuler.identify.consistent import StandardParameters, constrained, nearest_standard
from neuler.identify.diagnosis import Excitation, PredictionError, excitation, prediction_error
from neuler.identify.estimate import Estimate, listed
from neuler.identify.log import Log
from neuler.identify.physical import inconsistency, nearest_consistent
from neuler.identify.prepared import Prepared
from neuler.identify.weight import choose_weight
from neuler.inputs import choice, told
from neuler.kernels import Kernel
from neuler.robot import Robot
from neuler.solve.base_parameters import BaseParameters, base_parameters

Array = NDArray[np.float64]
METHODS = ("weighted", "ordinary", "reweighted", "consistent")
COLUMNS = ("links", "friction", "rotors")
"""What is looked for by default; springs and bodies of motors are named where they are wanted."""
_WEIGHTS = (1e-4, 1e-3, 1e-2, 1e-1)
_NOT_NEGATIVE = ("viscous", "coulomb", "coulomb_reverse", "static", "rotor_inertia", "inertia", "stiffness", "damping")
_POOR = 50.0
"""Residuals in % of a measured force above which it is not explained."""
_BALL, _LEAST = 0.05, 0.05
"""Radius of gyration (m) of a usual link, and what share of its pseudo-inertia a prior has at least."""


@dataclass(frozen=True, eq=False)
class Rows:
    """One run as rows of the regression: W (m, nu, p), y (m, nu) and which of them move, (m, nu)."""

    name: str
    W: Array
    y: Array
    moving: NDArray[np.bool_]
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Identified:
    """A robot with parameters found from logs, and how far they can be relied on."""

    robot: Robot
    """Physically consistent, with the parameters that were found, and near the given robot in those that were not."""
    estimate: Estimate
    """Values with their uncertainty: of base parameters, or with method "consistent" of all."""
    base: BaseParameters
    """What the logs may determine at all."""
    excitation: Excitation
    fitted: dict[str, PredictionError]
    """By run, errors of the forces that were fitted."""
    held_out: dict[str, PredictionError]
    """By run, errors of the identified robot on motion that was not fitted."""
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    """How logs were filtered, by run, and what was chosen."""

    def __str__(self) -> str:
        """Say what was found: values, errors by run, notes."""
        lines = [str(self.estimate), ""]
        for what, errors in (("fitted", self.fitted), ("held out", self.held_out)):
            for name, error in errors.items():
                shares = ", ".join(f"{x:.2g}" for x in error.nrmse)
                lines.append(f"{what} {name!r}: rms {error.overall:.4g}, in % of each force's own: {shares}")
        return "\n".join([*lines, *self.notes])


def fit(
    logs: Any,
    *,
    columns: Any = COLUMNS,
    method: str = "weighted",
    held_out: Any = (),
    **preparation: Any,
) -> Identified:
    """Identify the parameters of a robot from logs of its motion.

    ``logs`` is a :class:`Log` or several, of one robot; ready-made :class:`Prepared` ones are taken as they are, others
    are prepared with the options ``preparation`` of :meth:`Log.prepare`. ``columns`` names what is looked for, as
    ``robot.regressor`` does. ``method``: "weighted", "ordinary" or "reweighted" least squares of the base parameters;
    the robot then is the consistent one that has them within their uncertainty and is nearest to the given one.
    "consistent" looks for all parameters at once, of real bodies, near the given robot; how near is found by
    cross-validation within the logs. ``held_out``: logs that are not fitted, to judge by.

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
    choice("fit: method", method, METHODS)
    ready = prepared_logs("fit", logs, preparation)
    robot = ready[0].robot
    others = prepared_logs("fit: held_out", held_out, preparation, robot) if _some(held_out) else []
    base = base_parameters(robot, columns)
    kept, prior, priors = prior_of(base)
    names = tuple(base.columns[k] for k in kept) if method == "consistent" else base.names
    kernel = robot.compile("regressor", columns=names)
    own = base.standard[kept] if method == "consistent" else base.values
    runs, unseen = ([rows_of(each, kernel, own) for each in part] for part in (ready, others))
    W, y = np.concatenate([run.W for run in runs]), np.concatenate([run.y for run in runs])
    weights = np.concatenate([run.weight * run.moving for run in runs])
    notes = [*(f"{each.name}: {note}" for each in (*ready, *others) for note in each.notes), *priors]
    if method == "consistent":
        lower = not_negative(names)
        weight = choose_weight(W, y, names, prior, lower=lower, weights=weights).weight
        estimate: Estimate = constrained(W, y, names, prior=prior, weight=weight, lower=lower, weights=weights)
        values = dict(zip(names, estimate.values.tolist(), strict=True))
        settings: dict[str, Any] = {"weight": weight}
    else:
        estimate = getattr(least_squares, method)(W, y, names, weights=weights)
        spread = getattr(least_squares, method)(W, y, names, weights=weights, covariance="classical").covariance
        near, weight = _standard(base, kept, estimate.values, spread, prior)
        values = dict(zip(near.names, near.values.tolist(), strict=True))
        settings = {"weight": weight}
    found = robot.with_parameters(values)
    whole = np.array([values[base.columns[k]] for k in kept])
    answer = whole if method == "consistent" else base.grouping[:, kept] @ whole
    judged = {run.name: _judged(run, estimate.values) for run in runs}
    left = {run.name: _judged(run, answer) for run in unseen}
    for name, error in judged.items():
        poor = [
            force for force, share in zip(robot.coordinates.names("tau"), error.nrmse, strict=True) if share > _POOR
        ]
        if poor:
            notes.append(
                f"{name}: the model explains little of {listed(poor)}: what is left is more than {_POOR:g} % of the "
                "measured force; check its column, its unit and the joints' friction"
            )
    settings |= {"method": method, "columns": list(base.columns), "logs": {each.name: each.settings for each in ready}}
    return Identified(found, estimate, base, excitation(W, names), judged, left, (*notes, *estimate.notes), settings)


def prior_of(base: BaseParameters) -> tuple[list[int], Array, list[str]]:
    """Numbers of the columns that may matter, a consistent prior for them from the robot's own data, and notes.

    A link without any effect, as one that does not move, is left as it is. A link whose data are those of no body has
    the nearest body in their place, measured by a ball of 2 % of the robot's mass and 5 cm radius of gyration.
    """
    lost, links = set(base.without_effect), links_of(base.columns)
    idle = [link for link, ten in links.items() if all(base.columns[k] in lost for k in ten)]
    left_out = {k for link in idle for k in links[link]}
    kept = [k for k in range(len(base.columns)) if k not in left_out]
    values, notes = base.standard.copy(), []
    usual = max(0.02 * base.robot.mass, 0.01)
    for link, ten in links.items():
        why = inconsistency(values[ten]) if link not in idle else ""
        if why:
            mass = max(usual, float(values[ten[0]]))
            ball = np.array([mass, 0, 0, 0, *[2 * mass * _BALL**2] * 3, 0, 0, 0])
            values[ten] = nearest_consistent(values[ten], ball, _LEAST)
            notes.append(f"the given link {link!r} is no real body ({why}); the prior is the nearest that is one")
    return kept, values[kept], notes


def not_negative(names: Iterable[str]) -> dict[str, float]:
    """Bounds of friction, rotor inertia and stiffness among columns: zero."""
    return {name: 0.0 for name in names if name.rpartition(".")[2] in _NOT_NEGATIVE}


def _standard(
    base: BaseParameters, kept: list[int], values: Array, covariance: Array, prior: Array
) -> tuple[StandardParameters, float]:
    """All parameters of a consistent robot with these base parameters, and the weight of the prior.

    It counts as little as the solver bears: data that are far more accurate than the prior make the programme stiff.
    """
    names = [base.columns[k] for k in kept]
    for weight in _WEIGHTS:
        try:
            found = nearest_standard(
                base.grouping[:, kept], values, names, prior,
                covariance=covariance, weight=weight, lower=not_negative(names),
            )  # fmt: skip
        except InputError:
            if weight == _WEIGHTS[-1]:
                raise
            continue
        break
    return found, weight


def rows_of(ready: Prepared, kernel: Kernel, own: Array) -> Rows:
    """The regression's rows of a run: regressor and torques behind the same filter.

    What the robot's model has beside the columns, whose values are ``own`` there, is taken off the torques.
    """
    state = ready.q, ready.qd, ready.qdd
    Y = kernel(*state)
    known = ready.robot.inverse_dynamics(*state) - Y @ own
    W, y = ready.filter(Y), ready.filter(ready.tau - known)
    moving = np.asarray(ready.decimated(ready.moving), dtype=bool)
    if moving.shape != y.shape:  # forces in loops are not one for each velocity
        moving = np.broadcast_to(moving.all(axis=-1, keepdims=True), y.shape)
    bad = ~np.isfinite(W).all(axis=(1, 2))
    if bad.any():
        raise InputError(
            f"{ready.name}: the regressor is not finite in {int(bad.sum())} of {len(W)} rows; loops are open or "
            "singular there: robot.check() and robot.closure(q) say more"
        )
    return Rows(ready.name, W, y, moving, ready.weight)


def prepared_logs(called: str, logs: Any, preparation: dict[str, Any], robot: Robot | None = None) -> list[Prepared]:
    """Logs made ready, all of one robot."""
    given: Sequence[Any] = list(logs) if isinstance(logs, Iterable) else [logs]
    found: list[Prepared] = []
    for each in given:
        if not isinstance(each, Log | Prepared):
            raise InputError(
                f"{called}: logs must be neuler.identify.Log or what its prepare() returns, got {told(each)}"
            )
        found.append(each if isinstance(each, Prepared) else each.prepare(**preparation))
    if not found:
        raise InputError(f"{called}: at least one log is needed")
    for each in found:
        if each.robot != (robot or found[0].robot):
            raise InputError(f"{called}: log {each.name!r} is of another robot; logs are fitted with one robot's model")
    names = [each.name for each in found]
    if len(set(names)) != len(names):
        raise InputError(f"{called}: two logs are called {next(x for x in names if names.count(x) > 1)!r}; give names")
    return found


def _some(logs: Any) -> bool:
    return isinstance(logs, Log | Prepared) or bool(logs)


def _judged(run: Rows, values: Array) -> PredictionError:
    return prediction_error(run.W, run.y, values, moving=run.moving)
