"""Where phases meet: derivatives that jump there, and limits that no jump keeps.

A measure that depends on derivative k of the profiles is infinite where derivative k - 1 jumps: a torque where the
velocity does, a torque rate or a jerk where the acceleration does. ``Phase(continuity=...)`` allows such jumps; a plan
that has one is valid only if no limit depends on it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from neuler.moments.measures import torque, torque_rate
from neuler.motions.spline_motion import SplineMotion
from neuler.optimize.programme import Array
from neuler.plan.phases import Phase
from neuler.plan.planned import Violation
from neuler.plan.rows import LIMIT, SLACK, TOTAL, Family
from neuler.plan.transcribe import Transcription

DERIVATIVES = ("position", "velocity", "acceleration", "jerk", "snap", "derivative 5")
"""Of profiles, by their order."""


def jump_violations(transcription: Transcription, motion: SplineMotion, tolerance: float) -> list[Violation]:
    """Derivatives that jump between phases although limits depend on the next higher one.

    The value is that after the jump, the bound that before it.
    """
    found = []
    phases = transcription.phases
    for k in range(len(phases) - 1):
        if phases[k + 1].impact:  # velocities jump as the impact makes them
            continue
        needed = _needed(phases[k], phases[k + 1])
        before = _rates(motion, k, 1.0, len(needed))
        after = _rates(motion, k + 1, 0.0, len(needed))
        for order, why in enumerate(needed, start=1):
            size = 1.0 + np.maximum(np.abs(before[order]), np.abs(after[order]))
            apart = np.abs(after[order] - before[order]) > tolerance * size
            if order > 1:
                apart[phases[k].model.undriven_profiles] = False  # it follows from forces, which may jump
            for profile in np.flatnonzero(apart) if why else ():
                found.append(
                    Violation(
                        f"{DERIVATIVES[order]} where phases {k + 1} and {k + 2} meet",
                        phases[k].model.names[profile],
                        float(motion.breaks[k + 1]),
                        float(after[order][profile]),
                        float(before[order][profile]),
                        f"it jumps, and {why} would be infinite: give phase {k + 1} a continuity of {order} or more",
                    )
                )
    return found


def load_notes(transcription: Transcription, motion: SplineMotion, tolerance: float) -> list[str]:
    """Torques that jump because what the robot carries changes: no motion avoids it, so that rates do not count it."""
    found, phases = [], transcription.phases
    for k, (one, other) in enumerate(itertools.pairwise(phases)):
        same = one.model.robot is other.model.robot and one.model.payloads == other.model.payloads
        if same or not any(limit.measure is torque_rate for phase in (one, other) for limit in phase.limits):
            continue
        t = motion.breaks[k + 1]
        before, after = motion.along(torque, np.array([t * (1.0 - 1e-15)])), motion.along(torque, np.array([t]))
        jump = np.abs(after - before)[0]
        if (jump > tolerance * (1.0 + np.abs(after[0]))).any():
            joint = int(np.argmax(jump))
            name = one.model.tau_names[one.model.driven[joint]]
            found.append(
                f"where phases {k + 1} and {k + 2} meet the load changes, and torques with it, that of {name} by "
                f"{jump[joint]:.3g} N m (N): limits on torque rates do not count this"
            )
    return found


def _rates(motion: SplineMotion, phase: int, share: float, order: int) -> list[Array]:
    """Profiles and their derivatives per second at one end of a phase, (profiles) each."""
    T = motion.durations[phase]
    return [c[0] / T**n for n, c in enumerate(motion.at_shares(phase, np.array([share]), order))]


def _needed(before: Phase, after: Phase) -> list[str]:
    """By the order of a derivative, from 1 on: the limited measure that is infinite where it jumps, or ""."""
    highest: dict[int, str] = {}
    for phase, share in ((before, 1.0), (after, 0.0)):
        for family, order in _orders(phase):
            when = (0.0, 1.0) if family.limit is None else family.limit.when
            if when[0] <= share <= when[1]:
                highest.setdefault(order, family.name)
    most = max(highest, default=0)
    return [next((highest[n] for n in sorted(highest) if n > order), "") for order in range(1, most)]


def _orders(phase: Phase) -> Sequence[tuple[Family, int]]:
    """Families of a phase's path, each with the highest derivative of the profiles that its rows depend on."""
    if phase.path is None:
        return []
    orders = phase.path.orders
    return [(family, int(orders[family.rows].max(initial=0))) for family in phase.path.of_kind(LIMIT, SLACK, TOTAL)]
