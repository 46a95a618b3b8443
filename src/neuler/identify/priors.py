"""What is known of a robot before it is measured: a consistent prior of its parameters, bounds, and the way back.

From base parameters b = K x, which measurements give, to all parameters x of a robot: those of real bodies that have b
within its uncertainty and are nearest to the prior.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.bodies import links_of
from neuler.identify.consistent import StandardParameters, nearest_standard
from neuler.identify.estimate import listed
from neuler.identify.physical import inconsistency, nearest_consistent, pseudo_inertia
from neuler.robot import Robot
from neuler.solve.base_parameters import BaseParameters

Array = NDArray[np.float64]
_WEIGHTS = (1e-4, 1e-3, 1e-2, 1e-1)
_NOT_NEGATIVE = (
    "viscous", "coulomb", "coulomb_reverse", "static", "rotor_inertia", "inertia", "stiffness", "damping", "load",
)  # fmt: skip
_LOSSES = ("viscous", "coulomb", "coulomb_reverse", "static", "damping")
_BALL, _LEAST = 0.05, 0.05
"""Radius of gyration (m) of a usual link, and what share of its pseudo-inertia a prior has at least."""
_LIGHTEST, _BARE = 0.01, 1e-3
"""The least mass (kg) of a usual link; and of what is usual, what a robot weighs less than if it has no masses."""
_DENSITY, _SLIM = 40.0, 0.5
"""Mass (kg) of an arm of one metre's reach, which grows with its cube; and the radius of gyration of a usual link as a
share of its length."""


_FLAT = 1e-9
"""Of a pseudo-inertia's trace, the least eigenvalue of one that rounding alone makes negative."""


def prior_of(base: BaseParameters, decides: bool = False) -> tuple[list[int], Array, list[str]]:
    """Numbers of the columns that may matter, a consistent prior for them from the robot's own data, and notes.

    A link without any effect, as one that does not move, is left as it is, and so is one without mass that is fixed to
    another: it is a frame. A link whose data are those of no body has the nearest body in their place, measured by a
    ball of 2 % of the robot's mass and 5 cm radius of gyration. Where the robot has no masses to speak of, its size
    says what is usual.

    Notes tell of links whose data contradict each other. A link that is given without mass, as a payload that is
    looked for, is not known rather than wrong: it is told of where the prior ``decides`` what motion does not show.
    Flat bodies, rods and points of mass are limits of bodies.
    """
    lost, links = set(base.without_effect), links_of(base.columns)
    frames = {joint.child for joint in base.robot.joints if not joint.moves}
    idle = [
        link
        for link, ten in links.items()
        if all(base.columns[k] in lost for k in ten) or (link in frames and not base.standard[ten].any())
    ]
    left_out = {k for link in idle for k in links[link]}
    kept = [k for k in range(len(base.columns)) if k not in left_out]
    values, notes = base.standard.copy(), []
    usual, radius, least = max(0.02 * base.robot.mass, _LIGHTEST), _BALL, _LEAST
    heavy, size = _of_size(base.robot)
    unknown: list[str] = []
    bare = base.robot.mass < _BARE * heavy * len(links)
    if bare:
        usual, radius, least = heavy, size, 1.0
    for link, ten in links.items():
        why = inconsistency(values[ten]) if link not in idle else ""
        if why:
            mass, told = max(usual, float(values[ten[0]])), values[ten]
            ball = np.array([mass, 0, 0, 0, *[2 * mass * radius**2] * 3, 0, 0, 0])
            values[ten] = nearest_consistent(values[ten], ball, least)
            if told[0] == 0.0:
                unknown.append(link)
            elif not bare and not _limit_of_bodies(told):
                notes.append(f"the given link {link!r} is no real body ({why}); the prior is the nearest that is one")
    if decides and unknown and not bare:
        notes.append(
            f"{listed(unknown)} {'is' if len(unknown) == 1 else 'are'} given without mass: a body of "
            f"{usual:.2g} kg is the prior, which decides what the motion does not show; give a mass"
        )
    if bare and len(idle) < len(links):
        notes.append(f"the given robot has no masses: links of {heavy:.2g} kg, usual for its size, are the prior")
    return kept, values[kept], notes


def _limit_of_bodies(ten: Array) -> bool:
    """Whether the ten are those of a body without extension in some direction, but for rounding."""
    least = np.linalg.eigvalsh(pseudo_inertia(ten))
    return bool(least[0] >= -_FLAT * least.sum())


def _of_size(robot: Robot) -> tuple[float, float]:
    """Mass (kg) and radius of gyration (m) of a usual link, of arms with a robot's reach: the longest of its chains."""
    along = {robot.link_names[0]: 0.0}
    for joint in robot.joints:
        along[joint.child] = along.get(joint.parent, 0.0) + float(np.linalg.norm(joint.placement.translation))
    count, reach = max(sum(joint.moves for joint in robot.joints), 1), max(along.values())
    return max(_DENSITY * reach**3 / count, _LIGHTEST), max(_SLIM * reach / count, _BALL)


def without_friction(names: Sequence[str], prior: Array) -> Array:
    """The prior with NaN, none, for friction: drawings and catalogues do not say how much a drive loses."""
    return np.where([name.rpartition(".")[2] in _LOSSES for name in names], np.nan, prior)


def not_negative(names: Iterable[str], free: Collection[str] = ()) -> dict[str, float]:
    """Bounds of friction, rotor inertia and stiffness among columns: zero.

    Of columns that are ``free``, those of the user's own, nothing is known, whatever they are called.
    """
    return {name: 0.0 for name in names if name.rpartition(".")[2] in _NOT_NEGATIVE and name not in free}


def nearest_robot(
    base: BaseParameters, kept: list[int], more: Sequence[str], free: Collection[str], values: Array,
    covariance: Array, prior: Array,
) -> tuple[StandardParameters, float]:  # fmt: skip
    """All parameters of a consistent robot with these base parameters, values of columns beside them, and the weight.

    ``values`` and ``covariance`` are of the base parameters and of ``more`` columns after them, of which some are
    ``free`` of bounds: what the prior does not let base parameters have, columns that act alike make up for. The prior
    counts as little as the solver bears: data that are far more accurate than it make the programme stiff.
    """
    names = [*(base.columns[k] for k in kept), *more]
    K = np.zeros((len(values), len(names)))
    K[: len(base), : len(kept)] = base.grouping[:, kept]
    K[len(base) :, len(kept) :] = np.eye(len(more))
    every = np.concatenate([prior, np.full(len(more), np.nan)])
    for weight in _WEIGHTS:
        try:
            found = nearest_standard(
                K, values, names, every, covariance=covariance, weight=weight, lower=not_negative(names, free)
            )
        except InputError:
            continue
        return found, weight
    raise InputError(
        "fit: no robot of real bodies was found with parameters near those that were estimated; check columns and "
        "units of the logs, excite more, or use method='consistent'"
    )
