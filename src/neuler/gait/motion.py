"""Measured loads as a motion: sampled, drawn, played, saved and replayed like every other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.gait.loads import Loads
from neuler.moments.clearance import HalfSpace
from neuler.moments.contact import FLOOR
from neuler.motions import Recorded

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredMotion(Recorded):
    """A motion through samples, with the ground's forces of the samples; between them forces are linear in time."""

    found: Any = None
    """The loads, :class:`neuler.gait.Loads`."""

    @classmethod
    def of_loads(cls, found: Loads) -> MeasuredMotion:
        """Of the loads of one trial."""
        return cls(found.robot, found.t, found.q, found.qd, found.qdd, found.tau, found=found)

    @property
    def contact_frames(self) -> tuple[str, ...]:
        """Frames of the feet on which the ground acts."""
        return tuple(self.found.loads)

    @property
    def ground(self) -> HalfSpace:
        """The plane on which the feet stand: it holds the zero-moment point."""
        points = self.found.zero_moment_point[np.isfinite(self.found.zero_moment_point).all(axis=-1)]
        if not len(points):
            return FLOOR
        x, y, z = points[0].tolist()
        return HalfSpace((x, y, z), tuple(self.found.normal.tolist()))

    def _contact_loads(self, t: Array) -> Array:
        return self._linear(np.concatenate(list(self.found.loads.values()), axis=-1), t)

    def _forces(self, t: Array) -> Array:
        return self._linear(self.found.joint_forces, t)

    def _torque_rates(self, t: Array) -> Array:
        """Slopes between samples: torques of a motion on the ground depend on when feet stand."""
        k, _, h = self._place(t)
        return np.asarray((self.tau[k + 1] - self.tau[k]) / h)

    def _linear(self, values: Array, t: Array) -> Array:
        k, s, h = self._place(t)
        share = s / h
        return np.asarray((1.0 - share) * values[k] + share * values[k + 1])
