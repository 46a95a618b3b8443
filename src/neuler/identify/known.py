"""What is known before an experiment: the information of logs, of an identification, or a matrix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.identified import Identified
from neuler.identify.log import Log
from neuler.identify.prepared import Prepared
from neuler.identify.rows import Regression, prepared_logs
from neuler.identify.user_columns import UserColumns
from neuler.inputs import real, told
from neuler.solve.base_parameters import BaseParameters

Array = NDArray[np.float64]


def known_information(known: Any, base: BaseParameters, force_sd: Array) -> tuple[Array, float | None]:
    """M_0 (p, p) of base parameters, and the rate (Hz) of the logs it is of, where it is of logs.

    Rows of logs are divided by ``force_sd`` (nu,), like those of the motion.
    """
    p = len(base)
    if isinstance(known, Identified):
        return _of_identified(known, base), None
    if isinstance(known, Log | Prepared) or (
        isinstance(known, Iterable) and not isinstance(known, np.ndarray) and _logs(known)
    ):
        found, regression = np.zeros((p, p)), Regression(base.robot, base.names, base.values, UserColumns())
        logs = prepared_logs("excite: known", known, {})
        for each in logs:
            if each.robot.coordinates.names("q") != base.robot.coordinates.names("q"):
                raise InputError(f"excite: known: log {each.name!r} is of another robot, {each.robot.name!r}")
            rows = regression.rows(each)
            weights = each.weight * rows.moving / force_sd**2
            A = (np.sqrt(weights)[:, :, None] * rows.W).reshape(-1, p)
            found += A.T @ A
        first = logs[0]
        return found, first.rate / first.settings["decimate"]
    matrix = real(known)
    if matrix is None or matrix.shape != (p, p) or not np.isfinite(matrix).all():
        raise InputError(
            f"excite: known must be logs, what fit returns, or an information matrix of the {p} base parameters, "
            f"({p}, {p}), got {told(known)}"
        )
    if not np.allclose(matrix, matrix.T) or np.linalg.eigvalsh(matrix)[0] < -1e-9 * np.abs(matrix).max():
        raise InputError("excite: known must be symmetric, with no eigenvalue below zero; give W^T W of a log")
    return 0.5 * (matrix + matrix.T), None


def _logs(known: Iterable[Any]) -> bool:
    return any(isinstance(each, Log | Prepared) for each in known)


def _of_identified(known: Identified, base: BaseParameters) -> Array:
    """The inverse of the covariance of an estimate of the same base parameters."""
    estimate = known.estimate
    if estimate.names != base.names:
        raise InputError(
            f"excite: known was identified with {len(estimate.names)} columns that are not the {len(base)} base "
            "parameters asked for; identify with the same columns and a method other than 'consistent', or give the log"
        )
    if estimate.undetermined or not np.isfinite(estimate.covariance).all():
        raise InputError(
            f"excite: known does not determine {', '.join(estimate.undetermined[:6])}: its covariance is infinite; "
            "give the log instead: known=log.prepare()"
        )
    found = np.linalg.inv(estimate.covariance)
    return np.asarray(0.5 * (found + found.T))
