"""Closed positions near a robot's reference, at random."""

from __future__ import annotations

import warnings

import numpy as np

from neuler.robot import Robot
from neuler.solve.assembly import Array

_ROUNDS = 12
_TURN, _SLIDE = 0.5, 0.25
"""Of random positions: radians, and shares of the largest offset between joints, that independent joints go."""
_REGULAR = 0.02
"""Of ``singularity``: random positions have more."""


def near_reference(robot: Robot, rng: np.random.Generator, count: int) -> Array:
    """Of a robot with loops, (count, nq), on the branch of its reference: its independent joints go at random, the
    others follow, and where that does not close the loops, or leads to a singular pose, a shorter way is tried.
    """
    found = np.tile(robot.neutral(), (count, 1))
    facts = robot.mobility
    unlooped = robot.replace(loops=(), reference=None, independent=None)
    reach = max((float(np.linalg.norm(joint.placement.translation)) for joint in robot.joints), default=0.0) or 1.0
    turns = np.array([turn for entry in robot.coordinates for turn in entry.turns])
    size = np.where(turns, _TURN, _SLIDE * reach)
    own = [robot.coordinates.position(name) for name in facts.independent]
    left = np.arange(count)
    for _ in range(_ROUNDS):
        step = np.zeros((len(left), len(turns)))
        for k in robot.coordinates.independent:
            step[:, k] = rng.uniform(-size[k], size[k], len(left))
        here = found[left]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            moved = unlooped.integrate(here, step, 1.0)
            active = [moved[:, one.places] if one.places else step[:, one.turned] for one in own]
            trial = robot.assemble(np.concatenate(active, axis=1), here)
            joints, motors = robot.singularity(trial.q)
        well = trial.closed & (joints > _REGULAR) & ((motors > _REGULAR) | (facts.driven < facts.freedoms))
        found[left[well]] = trial.q[well]
        left, size = left[~well], 0.6 * size
        if not len(left):
            break
    return found
