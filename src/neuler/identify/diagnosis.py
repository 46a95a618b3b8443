"""How well a motion determines parameters, why not, and how well an estimate predicts other motions.

>>> import numpy as np
>>> W = np.random.default_rng(0).normal(size=(100, 1, 3))
>>> W[..., 2] = W[..., 0] - 2 * W[..., 1] + 1e-4 * W[..., 2]
>>> found = excitation(W, ["a", "b", "c"])
>>> found.badly, found.directions[0].columns
(True, ('c', 'b', 'a'))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.least_squares import BADLY
from neuler.identify.singular import singular, singular_values
from neuler.identify.stacked import RANK, Stacked, Triangles, column_names, regressor
from neuler.inputs import array

Array = NDArray[np.float64]
DOMINANT = 0.1
"""Part of the largest coefficient from which a column is named in a direction."""


@dataclass(frozen=True)
class Direction:
    """A combination of columns that hardly affects the forces: ``singular_value`` times as much as the best one.

    Columns are scaled to unit norm; ``columns`` are the dominant ones, largest coefficient first.
    """

    singular_value: float
    columns: tuple[str, ...]
    coefficients: tuple[float, ...]

    def __str__(self) -> str:
        parts = [f"{c:+.2f} {name}" for name, c in zip(self.columns, self.coefficients, strict=True)]
        return f"{' '.join(parts)} (relative singular value {self.singular_value:.2g})"


@dataclass(frozen=True, eq=False)
class Excitation:
    """Singular values, and the directions (combinations of parameters) that a motion hardly determines.

    ``condition`` depends on the units of the columns, ``scaled_condition`` does not: columns are divided by their norm.
    ``without_effect`` are columns of zeros.
    """

    names: tuple[str, ...]
    singular_values: Array
    """Of the column-scaled regressor, relative to the largest one, (p,)."""
    condition: float
    rank: int
    without_effect: tuple[str, ...]
    directions: tuple[Direction, ...]
    """The worst, worst first: those beyond ``least_squares.BADLY``, unless more were asked for."""

    @property
    def scaled_condition(self) -> float:
        """Ratio of the largest to the least singular value; infinite where the rank is deficient."""
        return float(1 / self.singular_values[-1]) if self.rank == len(self.names) else np.inf

    @property
    def badly(self) -> bool:
        """Whether the motion excites badly: a scaled condition number above 100."""
        return self.scaled_condition > BADLY

    def __str__(self) -> str:
        verdict = "excites badly" if self.badly else "excites well enough"
        head = (
            f"{verdict}: scaled condition {self.scaled_condition:.3g} (at most {BADLY:g} is good), plain "
            f"{self.condition:.3g}, rank {self.rank} of {len(self.names)}"
        )
        idle = [f"no effect: {', '.join(self.without_effect)}"] * bool(self.without_effect)
        return "\n".join([head, *idle, *(f"hardly determined: {each}" for each in self.directions)])


def excitation(
    W: Any, names: Iterable[str] | None = None, *, force_sd: Any = None, most: int = 10, below: float = 1 / BADLY
) -> Excitation:
    """Singular values of W (N, nu, p), rows divided by ``force_sd`` (nu,), and the ``most`` worst directions.

    Directions are those whose relative singular value is ``below`` a number.
    """
    W = regressor("excitation", "W", W)
    data = Stacked("excitation", column_names("excitation", names, W.shape[2]), W, np.zeros(W.shape[:2]))
    sd = np.ones(W.shape[1]) if force_sd is None else array("excitation", "force_sd", force_sd, (W.shape[1],))
    return excitation_of(data.triangles(), data.names, sd, most, below)


def excitation_of(
    reduced: Triangles, names: tuple[str, ...], sd: Array, most: int = 10, below: float = 1 / BADLY
) -> Excitation:
    """The same of data that is already reduced to triangular factors."""
    R = reduced.combined(sd)[:-1, :-1]
    norms = np.linalg.norm(R, axis=0)
    idle = tuple(name for name, norm in zip(names, norms, strict=True) if norm == 0)
    _, s, Vt = singular(R / np.where(norms > 0, norms, 1.0))
    relative = s / s[0] if s[0] > 0 else s
    plain = singular_values(R)
    rank = int(np.count_nonzero(relative > RANK))
    weak = []
    for value, v in zip(relative[::-1], Vt[::-1], strict=True):
        chosen = [k for k in np.argsort(-np.abs(v), kind="stable") if abs(v[k]) >= DOMINANT * np.abs(v).max()]
        if value < below and not all(names[k] in idle for k in chosen):
            shown = tuple(names[k] for k in chosen)
            weak.append(Direction(float(value), shown, tuple(float(v[k]) for k in chosen)))
    condition = float(plain[0] / plain[-1]) if rank == len(names) else np.inf
    return Excitation(names, relative, condition, rank, idle, tuple(weak[:most]))


# ---- held-out error ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PredictionError:
    """Errors of predicted forces on rows that were not fitted, per force (nu,).

    ``rms`` has the forces' unit, ``nrmse`` is in % of the ``reference``; ``moving`` and ``resting`` are the same for
    those rows alone, if ``moving`` was given.
    """

    rms: Array
    nrmse: Array
    samples: Array
    moving: PredictionError | None = None
    resting: PredictionError | None = None

    @property
    def overall(self) -> float:
        """Root mean square over all forces and samples."""
        return float(np.sqrt((self.rms**2 * self.samples).sum() / max(1, self.samples.sum())))


def prediction_error(W: Any, y: Any, values: Any, *, moving: Any = None, reference: Any = None) -> PredictionError:
    """Errors of W x against y of a log that was not fitted.

    ``W`` (N, nu, p), ``y`` (N, nu), ``values`` x (p,), ``moving`` a mask (N,) or (N, nu) of rows that move,
    ``reference`` (nu,) what nrmse is relative to, by default the root mean square of y. At rest, forces show only
    that friction can hold the robot: compare errors of moving rows.

    >>> found = prediction_error(np.ones((4, 1, 1)), [[1.0], [1], [1], [3]], [1.0], moving=[True, True, True, False])
    >>> found.rms.item(), found.moving.rms.item(), found.resting.rms.item()
    (1.0, 0.0, 2.0)
    """
    W, y = regressor("prediction_error", "W", W), array("prediction_error", "y", y, ())
    values = array("prediction_error", "values", values, (W.shape[2],))
    if y.shape != W.shape[:2]:
        raise InputError(f"prediction_error: y must have shape {W.shape[:2]} like W, got {y.shape}")
    if not np.isfinite(y).all() or not np.isfinite(values).all():
        raise InputError("prediction_error: y and values must be finite; drop or repair the samples that are not")
    errors = y - W @ values
    level = (
        np.sqrt((y**2).mean(axis=0))
        if reference is None
        else array("prediction_error", "reference", reference, (W.shape[1],))
    )
    found = _errors(errors, np.ones(y.shape, dtype=bool), level)
    if moving is None:
        return found
    mask = np.asarray(moving)
    if mask.dtype != bool or mask.shape not in (y.shape, y.shape[:1]):
        raise InputError(
            f"prediction_error: moving must be True or False for each of {y.shape[0]} samples, or {y.shape}, "
            f"got {mask.dtype} of shape {mask.shape}"
        )
    mask = np.broadcast_to(mask[:, None] if mask.ndim == 1 else mask, y.shape)
    parts = _errors(errors, mask, level), _errors(errors, ~mask, level)
    return PredictionError(found.rms, found.nrmse, found.samples, *parts)


def _errors(errors: Array, mask: NDArray[np.bool_], level: Array) -> PredictionError:
    count = mask.sum(axis=0)
    rms = np.sqrt((errors**2 * mask).sum(axis=0) / np.maximum(count, 1))
    return PredictionError(rms, 100 * rms / np.where(level > 0, level, np.nan), count)
