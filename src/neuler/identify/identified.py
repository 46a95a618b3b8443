"""What identification returns: a robot, and how far its parameters can be relied on."""

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
    """A robot with parameters found from logs, and how far they can be relied on."""

    robot: Robot
    """Physically consistent, with the parameters that were found, and near the given robot in those that were not."""
    estimate: Estimate
    """Values with their uncertainty: of base parameters, or with methods that need a prior of all; then of the user's
    own columns."""
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
    own: dict[str, float] = field(default_factory=dict)
    """Of the user's own columns, the values: the robot does not have them."""
    columns: UserColumns = field(repr=False, default_factory=UserColumns)
    """The user's own columns."""

    def forces(self, ready: Prepared) -> Array:
        """What the robot, the user's own columns and the run's known load need along a prepared log, (n, nu)."""
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
