"""How well predicted forces agree with measured ones: the figures that gait laboratories report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.errors import InputError
from neuler.inputs import number, real, told

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Agreement:
    """Of one curve, over all samples that both have."""

    rmse: float
    """Root of the mean square difference, in the curves' unit."""
    rmse_body_weight: float
    """The same in % of body weight; NaN where no weight is given."""
    nrmse: float
    """The same in % of the range of the measured curve."""
    correlation: float
    """Pearson's; NaN where a curve is constant."""
    samples: int

    def __str__(self) -> str:
        """Say it in one line: errors and correlation."""
        return (
            f"RMSE {self.rmse:.4g} ({self.rmse_body_weight:.2f} % of body weight), {self.nrmse:.2f} % of range, "
            f"r = {self.correlation:.4f}"
        )


def agreement(predicted: ArrayLike, measured: ArrayLike, weight: float | None = None, where: Any = None) -> Agreement:
    """Compare two curves of the same shape; samples that are NaN in either, or not in ``where``, are left out.

    ``weight`` (N): forces are also compared with it.

    >>> found = agreement([0.0, 310.0, 700.0], [0.0, 300.0, 700.0], weight=700.0)
    >>> round(found.nrmse, 3), round(found.rmse_body_weight, 3)
    (0.825, 0.825)
    """
    first, second, kept = _pairs(predicted, measured, where)
    first, second = first[kept], second[kept]
    rmse = float(np.sqrt(np.mean((first - second) ** 2)))
    span = float(np.ptp(second))
    moving = float(np.std(first)) > 0.0 and float(np.std(second)) > 0.0
    return Agreement(
        rmse, 100.0 * rmse / number("agreement: weight", weight, above=0.0, unit="N") if weight is not None else np.nan,
        100.0 * rmse / span if span > 0.0 else np.nan,
        float(np.corrcoef(first, second)[0, 1]) if moving else np.nan, int(kept.sum()),
    )  # fmt: skip


def pressure_error(predicted: ArrayLike, measured: ArrayLike, where: Any = None) -> float:
    """Root of the mean square distance of centres of pressure (..., 3) or (..., 2), in millimetres along the ground.

    >>> pressure_error([[0.0, 0.003, 0.0]], [[0.0, 0.0, 0.0]])
    3.0
    """
    first, second, kept = _pairs(predicted, measured, where, axis=True)
    away = (first - second)[..., :2][kept]
    return float(1000.0 * np.sqrt((away**2).sum(axis=-1).mean()))


def compare(predicted: Any, measured: Any, *, where: Any = None, single: bool = False) -> dict[str, Agreement | float]:
    """Two :class:`neuler.gait.Loads` of the same motion: vertical, fore-aft and lateral force, and pressure in mm.

    Forces are those of both feet, at all samples; centres of pressure are compared where both have one, with ``single``
    only where one foot stands in both. ``where``: true for the samples (n,) to compare.
    """
    if predicted.vertical.shape != measured.vertical.shape:
        raise InputError(
            f"compare: both must have the same samples, got {predicted.vertical.shape} and {measured.vertical.shape}"
        )
    chosen = np.ones(measured.vertical.shape[:-1], bool) if where is None else np.broadcast_to(
        np.asarray(where, bool), measured.vertical.shape[:-1]
    )  # fmt: skip
    feet = np.broadcast_to(chosen[..., None], measured.vertical.shape)
    found: dict[str, Agreement | float] = {
        name: agreement(getattr(predicted, name), getattr(measured, name), measured.weight, feet)
        for name in ("vertical", "fore_aft", "lateral")
    }
    if single:
        alone = (predicted.touching.sum(axis=-1) == 1) & (measured.touching.sum(axis=-1) == 1)
        feet = feet & alone[..., None]
    found["pressure_mm"] = pressure_error(predicted.center_of_pressure, measured.center_of_pressure, feet)
    return found


def _pairs(predicted: Any, measured: Any, where: Any, *, axis: bool = False) -> tuple[Array, Array, Any]:
    first, second = real(predicted), real(measured)
    if first is None or second is None or first.shape != second.shape:
        raise InputError(f"agreement: two arrays of one shape are needed, got {told(predicted)} and {told(measured)}")
    good = np.isfinite(first) & np.isfinite(second)
    kept = good.all(axis=-1) if axis else good
    if where is not None:
        kept = kept & np.broadcast_to(np.asarray(where, bool), kept.shape)
    if not kept.any():
        raise InputError("agreement: there is no sample that both curves have")
    return first, second, kept
