"""What errors of runs say of a fit: forces that it does not explain, motion for which it does not hold."""

from __future__ import annotations

import numpy as np

from neuler.identify.diagnosis import PredictionError
from neuler.identify.estimate import listed
from neuler.identify.methods import WORSE
from neuler.robot import Robot

_POOR = 50.0
"""Residuals in % of a measured force above which it is not explained."""
_ELSEWHERE, _WORTH = 3.0, 0.5
"""Times the fitted errors, from which on those of a held-out run are said; % of a force that count as fitted at least.
"""


def worse(robot: dict[str, PredictionError], estimate: dict[str, PredictionError]) -> list[str]:
    """Runs in which the consistent robot is much worse than the estimate that it was made from."""
    pairs = [(name, error.overall, estimate[name].overall) for name, error in robot.items()]
    return [
        f"{name}: no real robot has the parameters that were estimated: the nearest has errors of rms {own:.3g}, the "
        f"estimate {least:.3g}; excite more, or use method='consistent'"
        for name, own, least in pairs
        if own > WORSE * least
    ]


def elsewhere(robot: Robot, judged: dict[str, PredictionError], left: dict[str, PredictionError]) -> list[str]:
    """Held-out runs whose errors are far larger than those of the runs that were fitted, of rows that move."""
    parts = [error.moving or error for error in judged.values()]
    counts = np.maximum(np.sum([part.samples for part in parts], axis=0), 1)
    fitted = np.sqrt(np.sum([part.rms**2 * part.samples for part in parts], axis=0) / counts)
    found = []
    for name, error in left.items():
        part = error.moving or error
        seen = (part.samples > 0) & (part.nrmse > 0.0)
        level = np.divide(part.rms, part.nrmse, out=np.ones(len(seen)), where=seen)
        ratios = np.where(seen, part.rms / np.maximum(fitted, _WORTH * level), 0.0)
        if not seen.any() or np.sqrt((ratios[seen] ** 2).mean()) <= _ELSEWHERE:
            continue
        far = [force for force, ratio in zip(robot.coordinates.names("tau"), ratios, strict=True) if ratio > _ELSEWHERE]
        found.append(
            f"{name}: its errors are up to {ratios[seen].max():.2g} times those that were fitted, in {listed(far)}: "
            "what was found does not hold for this motion. Likely is friction of another law "
            "(neuler.identify.compare_friction), a load that only one run has (loads=), or that the fitted motion "
            "excites too little (found.excitation)"
        )
    return found


def poor(robot: Robot, judged: dict[str, PredictionError]) -> list[str]:
    """Runs and forces that are not explained."""
    found = []
    for name, error in judged.items():
        forces = zip(robot.coordinates.names("tau"), (error.moving or error).nrmse, strict=True)
        poor = [force for force, share in forces if share > _POOR]
        if poor:
            found.append(
                f"{name}: the model explains little of {listed(poor)}: what is left is more than {_POOR:g} % of the "
                "measured force; check its column, its unit and the joints' friction"
            )
    return found
