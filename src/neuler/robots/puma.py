"""The PUMA 560."""

from __future__ import annotations

from math import pi

from neuler.formats.dh import from_dh
from neuler.robot.model import Robot

_GEOMETRY = (  # alpha, a, d
    (pi / 2, 0.0, 0.0),
    (0.0, 0.4318, 0.0),
    (-pi / 2, 0.0203, 0.15005),
    (pi / 2, 0.0, 0.4318),
    (-pi / 2, 0.0, 0.0),
    (0.0, 0.0, 0.0),
)
_BODIES = (  # mass, centre of mass, inertia about it
    (0.0, (0, 0, 0), (0, 0.35, 0)),
    (17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539)),
    (4.8, (-0.0203, -0.0141, 0.07), (0.066, 0.086, 0.0125)),
    (0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3)),
    (0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3)),
    (0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
)
_DRIVES = (  # on the motor's side: inertia, gear ratio, viscous, Coulomb for positive and negative joint motion
    (200e-6, -62.6111, 1.48e-3, 0.395, 0.435),
    (200e-6, 107.815, 0.817e-3, 0.126, 0.071),
    (200e-6, -53.7063, 1.38e-3, 0.132, 0.105),
    (33e-6, 76.0364, 71.2e-6, 11.2e-3, 16.9e-3),
    (33e-6, 71.923, 82.6e-6, 9.26e-3, 14.5e-3),
    (33e-6, 76.686, 36.7e-6, 3.96e-3, 10.5e-3),
)


def puma560() -> Robot:
    """The PUMA 560 with motors and friction: Armstrong, Khatib and Burdick 1986, as collected by Corke.

    Standard DH, gravity 9.81 along -z. Motor inertia and viscous friction are brought to the joint's
    side with the square of the gear ratio, Coulomb friction with its size; the latter differs between
    the two directions. Links 1 (an inertia without mass) and 3 have, as published, inertias that no
    body can have: the doctor says so. Use ``without_motors()`` and ``without_friction()`` for the bare arm.

    >>> round(puma560().moving_joints[1].rotor_inertia, 4)
    2.3248
    """
    rows = [
        {
            "alpha": alpha,
            "a": a,
            "d": d,
            "mass": mass,
            "com": com,
            "inertia": inertia,
            "rotor_inertia": gear**2 * motor,
            "gear_ratio": gear,
            "viscous": gear**2 * viscous,
            "coulomb": abs(gear) * forward,
            "coulomb_reverse": abs(gear) * reverse,
        }
        for (alpha, a, d), (mass, com, inertia), (motor, gear, viscous, forward, reverse) in zip(
            _GEOMETRY, _BODIES, _DRIVES, strict=True
        )
    ]
    return from_dh(rows, name="puma560")
