"""What identification returns: a robot, and the uncertainty of its parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.identify.diagnosis import Excitation, PredictionError
from neuler.identify.estimate import Estimate
from neuler.identify.prepared import Prepared
from neuler.identify.user_columns import UserColumns
from neuler.robot import Robot
from neuler.solve.base_parameters import BaseParameters

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Identified:
    """A robot with parameters identified from logs, and their uncertainty."""

    robot: Robot
    """Physically consistent; parameters that the logs do not determine stay near those of the given robot."""
    estimate: Estimate
    """Values with their uncertainty: of base parameters, or of all parameters for methods that need a prior; then of
    the custom columns."""
    base: BaseParameters
    """The base parameters: the combinations that motion can determine."""
    excitation: Excitation
    fitted: dict[str, PredictionError]
    """Errors of the fitted forces, by run."""
    held_out: dict[str, PredictionError]
    """Errors of the identified robot on motion that was not fitted, by run."""
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    """How logs were filtered, by run, and the options that were chosen."""
    own: dict[str, float] = field(default_factory=dict)
    """Values of the custom columns, which are not part of the robot."""
    columns: UserColumns = field(repr=False, default_factory=UserColumns)
    """The custom columns."""

    def forces(self, ready: Prepared) -> Array:
        """Predicted forces (n, nu) along a prepared log: of the robot, the custom columns and the run's known load."""
        state = ready.q, ready.qd, ready.qdd
        found = np.asarray(self.robot.inverse_dynamics(*state))
        if self.own:
            found = found + self.columns(*state) @ np.array(list(self.own.values()))
        load = self.settings.get("loads", {}).get(ready.name)
        if load:
            kernel = self.robot.compile("regressor", columns=tuple(load))
            found = found + kernel(*state) @ np.array(list(load.values()))
        return found

    def __str__(self) -> str:
        """Say what was found: values, errors by run, notes."""
        lines = [str(self.estimate), ""]
        for what, errors in (("fitted", self.fitted), ("held out", self.held_out)):
            for name, error in errors.items():
                shares = ", ".join(f"{x:.2g}" for x in error.nrmse)
                lines.append(f"{what} {name!r}: rms {error.overall:.4g}, in % of each force's own: {shares}")
        return "\n".join([*lines, *self.notes])
