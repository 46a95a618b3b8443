"""Motions of robots over time: what planning, path timing and simulation return, and what measured data are.

A :class:`Motion` knows its robot, how long it takes, and positions, velocities, forces at any time. Every motion is
sampled, saved, drawn, played, replayed and tracked in the same way. :class:`Recorded` makes one of samples or a file.
"""

from neuler.motions.motion import Bound, Motion, State
from neuler.motions.recorded import Recorded, load
from neuler.motions.samples import Samples

__all__ = ["Bound", "Motion", "Recorded", "Samples", "State", "load"]
