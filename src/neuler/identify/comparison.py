"""Friction laws compared: each is fitted, and validated on parts of the logs, and on logs, that were not fitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.diagnosis import PredictionError
from neuler.identify.estimation import regressed
from neuler.identify.fit import fit
from neuler.identify.friction_laws import FRICTION_LAWS, SHARES, speeds_of
from neuler.identify.identified import Identified
from neuler.identify.least_squares import force_deviations
from neuler.identify.methods import ALL, BASE
from neuler.identify.prepared import Prepared
from neuler.identify.rows import COLUMNS, Rows, prepared_groups
from neuler.identify.stacked import Stacked, solved
from neuler.identify.stretches import Stretches
from neuler.inputs import choice, names, whole
from neuler.plain import columns as table

Array = NDArray[np.float64]
METHODS = tuple(method for method in (*BASE, *ALL) if method != "instrumental")
"""Of ``fit``, those that need no more than logs."""
HEAD = ("law", "speed", "numbers", "fitted", "cross-validated", "held out", "moving", "resting")


@dataclass(frozen=True, eq=False)
class FittedLaw:
    """A friction law as it was fitted: root mean squares of errors, in % of each force."""

    name: str
    share: float | None
    """For laws with a speed parameter, that speed as a fraction of the root mean square of a velocity."""
    identified: Identified
    fitted: float
    cross_validated: float
    """Error on moving rows, cross-validated over stretches of the fitted logs."""

    def held_out(self, rows: str = "all") -> float:
        """Error over all held-out logs; ``rows``: "all", "moving" or "resting". NaN without such logs."""
        return overall(self.identified.held_out.values(), rows)


@dataclass(frozen=True, eq=False)
class FrictionComparison:
    """Friction laws, best first: by the error on moving rows of held-out logs, or by cross-validation without any."""

    laws: tuple[FittedLaw, ...]
    not_fitted: Mapping[str, str] = field(default_factory=dict)
    """Laws that could not be fitted to these logs, with the reason."""

    @property
    def best(self) -> FittedLaw:
        """The law that predicts best: the first."""
        return self.laws[0]

    def __str__(self) -> str:
        """A table, errors in % of each force; then the laws that were not fitted, and why."""
        rows = []
        for law in self.laws:
            speed = "" if law.share is None else f"{law.share:g} rms"
            errors = (law.fitted, law.cross_validated, *(law.held_out(rows) for rows in ("all", "moving", "resting")))
            count = str(len(law.identified.estimate.names))
            rows.append((law.name, speed, count, *("" if np.isnan(x) else f"{x:.4g}" for x in errors)))
        lost = [f"not fitted with {name!r}: {why}" for name, why in self.not_fitted.items()]
        return "\n".join([table(HEAD, rows, left=2), *lost])


def compare_friction(
    logs: Any,
    *,
    laws: Iterable[str] = FRICTION_LAWS,
    held_out: Any = (),
    columns: Any = COLUMNS,
    method: str = "weighted",
    folds: int = 5,
    own: Any = None,
    loads: Any = None,
    **preparation: Any,
) -> FrictionComparison:
    """Fit logs with each of several friction laws, and compare them on motion that was not fitted.

    ``laws`` are names of ``friction_laws.FRICTION_LAWS``. The speeds of "smooth" and "stribeck" are chosen on the
    fitted logs, by weighted least squares of base parameters, cross-validated over ``folds`` stretches of time. Laws
    are ranked by ``held_out`` logs, if there are any; rows in motion and rows at rest are reported separately. A law
    whose parameters the logs do not determine (friction of both directions, for a joint that moves in one only) is
    listed in ``not_fitted`` with the reason; the others are compared. Other arguments are those of :func:`fit`.

    >>> import neuler
    >>> robot, t = neuler.robots.two_link().with_parameters({"joint1.coulomb": 1.0}), np.arange(0.0, 10.0, 0.01)
    >>> q = np.stack([np.sin(2.1 * t) + 0.5 * np.sin(5.2 * t), np.cos(3.3 * t) + 0.3 * np.sin(1.7 * t)], axis=-1)
    >>> qd, qdd = (np.gradient(x, t, axis=0) for x in (q, np.gradient(q, t, axis=0)))
    >>> log = neuler.identify.Log(robot, t, q, robot.inverse_dynamics(q, qd, qdd))
    >>> neuler.identify.compare_friction(log, laws=["viscous", "coulomb"], columns=["links", "friction"]).best.name
    'coulomb'
    """
    chosen = [choice("compare_friction: laws", name, FRICTION_LAWS) for name in names("compare_friction: laws", laws)]
    folds = whole("compare_friction: folds", folds, 2)
    choice("compare_friction: method", method, METHODS)
    ready, others = prepared_groups("compare_friction", {"": logs, "held_out": held_out}, preparation)
    shared = {"columns": columns, "own": own, "loads": loads}
    found: list[FittedLaw] = []
    lost: dict[str, str] = {}
    for name in chosen:
        try:
            found.append(_compared(name, ready, others, method, folds, shared))
        except InputError as error:
            lost[name] = str(error)
    if not found:
        raise InputError(_no_law(lost))
    judged = bool(found[0].identified.held_out)
    order = sorted(found, key=lambda law: law.held_out("moving") if judged else law.cross_validated)
    return FrictionComparison(tuple(order), lost)


def _no_law(lost: Mapping[str, str]) -> str:
    """What to say where no law can be fitted: what is wrong with all of them, or with each."""
    if len(set(lost.values())) == 1:
        return next(iter(lost.values()))
    return f"compare_friction: no law can be fitted; {'; '.join(f'{name!r}: {why}' for name, why in lost.items())}"


def _compared(
    name: str, ready: list[Prepared], others: list[Prepared], method: str, folds: int, shared: dict[str, Any]
) -> FittedLaw:
    share, speeds, error = None, None, np.inf
    for tried in SHARES.get(name, (None,)):
        at = None if tried is None else speeds_of(ready, tried)
        rows = regressed(ready, others, [], method="weighted", friction=name, friction_speeds=at, **shared).rows
        validated = _cross_validated(rows, folds)
        if validated < error or error == np.inf:
            share, speeds, error = tried, at, validated
    found = fit(ready, method=method, held_out=others, friction=name, friction_speeds=speeds, **shared)
    return FittedLaw(name, share, found, overall(found.fitted.values(), "all"), error)


def _cross_validated(rows: list[Rows], folds: int) -> float:
    """Error of stretches that were left out, in % of each force, moving rows alone."""
    W, y = np.concatenate([run.W for run in rows]), np.concatenate([run.y for run in rows])
    data = Stacked.checked("compare_friction", W, y, None, np.concatenate([run.weight * run.moving for run in rows]))
    stretches = Stretches(data, folds)
    sd = force_deviations(stretches.every)[0]
    errors = stretches.errors(lambda part: solved(part.combined(sd)).values, np.maximum(stretches.every.levels, 1e-300))
    return 100.0 * float(np.sqrt(errors.mean()))


def overall(errors: Iterable[PredictionError], rows: str) -> float:
    """Errors in % of each force, root mean square over runs and forces, of "all", "moving" or "resting" rows."""
    parts = [error if rows == "all" else getattr(error, rows) for error in errors]
    squares = [part.nrmse[part.samples > 0] ** 2 for part in parts]
    found = np.concatenate([np.zeros(0), *squares])
    found = found[np.isfinite(found)]
    return float(np.sqrt(found.mean())) if len(found) else np.nan
