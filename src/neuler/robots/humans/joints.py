"""The joints of the skeleton: names, axes, ranges of motion and strengths, and which joint mirrors which.

Ranges marked *published* are those of the American Academy of Orthopaedic Surgeons for adults, rounded. All strengths
are *chosen*: round figures within the spread of published isometric maxima of men; those of the neck and the
clavicles are chosen without a table to compare with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuler.errors import RobotError
from neuler.inputs import choice
from neuler.robot import Limits, Robot
from neuler.robot.coordinates import Entry
from neuler.robot.transform import Vec3

Array = NDArray[np.float64]

LEFT, RIGHT = "l_", "r_"
"""What names of joints, links and frames of the two sides begin with."""
REFERENCE_MASS, REFERENCE_STATURE = 75.0, 1.75
"""Of the man (kg, m) whose strengths are in the table; others' scale with mass times stature."""
ROOT = "root_joint"
"""The joint that moves the pelvis where it is one free joint."""

FORWARD, LEFTWARD, UPWARD = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class JointRange:
    """A joint's axis, range and strength, on the left side where there are two."""

    axis: Vec3
    """A positive angle turns about it, in the axes of the upright body: x forwards, y to the left, z up."""
    lower: float
    upper: float
    """Range of motion (degrees)."""
    negative: float
    positive: float
    """Greatest torques of the reference man towards negative and positive angles, both as magnitudes (N m)."""
    chosen: tuple[str, ...] = ()
    """Bounds of the range that are chosen; the others are published."""


def _opposite(axis: Vec3) -> Vec3:
    return (-axis[0] + 0.0, -axis[1] + 0.0, -axis[2] + 0.0)


_BOTH = ("lower", "upper")
_SPINE = {
    "flexion": JointRange(LEFTWARD, -25.0, 80.0, 250.0, 160.0),
    "lateral": JointRange(FORWARD, -35.0, 35.0, 150.0, 150.0),
    "rotation": JointRange(UPWARD, -45.0, 45.0, 90.0, 90.0),
}
"""Of lumbar and thoracic spine together: the range is shared equally among ``SPINE_JOINTS``, the strength is that of
each."""
SPINE_JOINTS = 4

_NECK = {
    "neck_flexion": JointRange(LEFTWARD, -22.5, 22.5, 40.0, 20.0, _BOTH),
    "neck_lateral": JointRange(FORWARD, -45.0, 45.0, 30.0, 30.0, _BOTH),
    "neck_rotation": JointRange(UPWARD, -30.0, 30.0, 15.0, 15.0, _BOTH),
    "head_flexion": JointRange(LEFTWARD, -22.5, 22.5, 40.0, 20.0, _BOTH),
    "head_rotation": JointRange(UPWARD, -30.0, 30.0, 15.0, 15.0, _BOTH),
}
_ARM = {
    "clavicle_protraction": JointRange(_opposite(UPWARD), -20.0, 20.0, 90.0, 90.0, _BOTH),
    "clavicle_elevation": JointRange(FORWARD, -10.0, 30.0, 90.0, 90.0, _BOTH),
    "shoulder_flexion": JointRange(_opposite(LEFTWARD), -60.0, 180.0, 90.0, 90.0),
    "shoulder_abduction": JointRange(FORWARD, -30.0, 180.0, 90.0, 90.0, ("lower",)),
    "shoulder_rotation": JointRange(_opposite(UPWARD), -90.0, 70.0, 50.0, 50.0),
    "elbow_flexion": JointRange(_opposite(LEFTWARD), 0.0, 150.0, 50.0, 75.0),
    "elbow_pronation": JointRange(_opposite(UPWARD), -80.0, 80.0, 12.0, 12.0),
    "wrist_flexion": JointRange(_opposite(FORWARD), -70.0, 80.0, 12.0, 12.0),
    "wrist_deviation": JointRange(_opposite(LEFTWARD), -30.0, 20.0, 12.0, 12.0, _BOTH),
}
_LEG = {
    "hip_flexion": JointRange(_opposite(LEFTWARD), -30.0, 120.0, 200.0, 150.0),
    "hip_abduction": JointRange(FORWARD, -30.0, 45.0, 110.0, 110.0),
    "hip_rotation": JointRange(_opposite(UPWARD), -45.0, 45.0, 60.0, 60.0),
    "knee_flexion": JointRange(LEFTWARD, 0.0, 140.0, 240.0, 120.0),
    "ankle_flexion": JointRange(_opposite(LEFTWARD), -50.0, 20.0, 170.0, 45.0),
    "ankle_inversion": JointRange(_opposite(FORWARD), -15.0, 35.0, 40.0, 40.0),
    "toe_extension": JointRange(_opposite(LEFTWARD), -20.0, 40.0, 20.0, 20.0, ("lower",)),
}

PELVIS = ("pelvis_x", "pelvis_y", "pelvis_z", "pelvis_yaw", "pelvis_pitch", "pelvis_roll")
"""The six joints that move the pelvis: along x, y, z, then about its z, y and x."""


def _shared(whole: JointRange) -> JointRange:
    return JointRange(
        whole.axis, whole.lower / SPINE_JOINTS, whole.upper / SPINE_JOINTS, whole.negative, whole.positive, _BOTH
    )


def _mirrored(left: JointRange) -> JointRange:
    """For the other side: the same motion seen in a mirror has the same sign."""
    x, y, z = left.axis
    axis = (-x + 0.0, y, -z + 0.0)  # a rotation in the mirror y -> -y turns about -(x, -y, z)
    return JointRange(axis, left.lower, left.upper, left.negative, left.positive, left.chosen)


def _every() -> Iterator[tuple[str, JointRange]]:
    for k in range(1, SPINE_JOINTS + 1):
        yield from ((f"spine{k}_{name}", _shared(whole)) for name, whole in _SPINE.items())
    yield from _NECK.items()
    for limb in (_ARM, _LEG):
        yield from ((RIGHT + name, _mirrored(left)) for name, left in limb.items())
        yield from ((LEFT + name, left) for name, left in limb.items())


JOINTS: dict[str, JointRange] = dict(_every())
"""The 49 joints that muscles move, in the order of q: spine, neck, right arm, left arm, right leg, left leg."""


def partner(joint: str) -> tuple[str, int]:
    """The joint that moves where a mirror shows this one moving, and the sign of its angle there.

    Joints of the two sides are partners with the sign +1. Joints of the middle are their own: +1 in the sagittal plane,
    -1 where left and right change places.

    >>> partner("l_hip_abduction"), partner("spine1_rotation"), partner("pelvis_x")
    (('r_hip_abduction', 1), ('spine1_rotation', -1), ('pelvis_x', 1))
    """
    if joint not in PARTNERS:
        raise RobotError(f"a human has no joint {joint!r} with a partner; neuler.robots.humans.PARTNERS lists them")
    return PARTNERS[joint]


def _partner(joint: str) -> tuple[str, int]:
    for side, other in ((LEFT, RIGHT), (RIGHT, LEFT)):
        if joint.startswith(side):
            return other + joint.removeprefix(side), 1
    across = joint.endswith(("_y", "_yaw", "_roll", "_lateral", "_rotation"))
    return joint, -1 if across else 1


PARTNERS: dict[str, tuple[str, int]] = {name: _partner(name) for name in (*PELVIS, *JOINTS)}
"""Of every joint its mirrored partner and the sign, as :func:`partner` gives them."""

WALKING_FIXED: tuple[str, ...] = (
    *_NECK,
    *(side + name for side in (RIGHT, LEFT) for name in _ARM if name.startswith(("clavicle", "wrist"))),
    *(f"spine{SPINE_JOINTS}_{name}" for name in _SPINE),
    f"spine{SPINE_JOINTS - 1}_rotation",
)
"""Joints that are held at zero for walking, which leaves 38 degrees of freedom: neck, clavicles, wrists, the upper
spine (Barman 5.1), and one more axial rotation of the spine, which his count asks for and his text does not name."""


# ---- of a robot --------------------------------------------------------------------------------------------


def limits(joint: str, scale: float = 1.0) -> Limits:
    """Range (rad) and effort (N m) of a joint, with strengths ``scale`` times the reference man's.

    The effort of a joint has no direction: it is the larger of the two. :func:`strengths` has both.

    >>> limits("l_knee_flexion").effort
    240.0
    """
    row = JOINTS[joint]
    return Limits(math.radians(row.lower), math.radians(row.upper), effort=scale * max(row.negative, row.positive))


def strengths(robot: Robot) -> tuple[Array, Array]:
    """Least and greatest torques (N m) of a human's joints in the order of tau: two arrays (nv,).

    ``robot`` is a human, also with joints held, other limits or loads. A joint is as strong as its limit of effort says
    in its stronger direction, and weaker in the other by the ratio of the table, so that a weak or injured joint is
    one with a smaller effort. Nothing drives the pelvis: zero.

    >>> import neuler
    >>> human = neuler.robots.human()
    >>> lower, upper = strengths(human)
    >>> knee = human.joint_names.index("l_knee_flexion")
    >>> lower[knee].item(), upper[knee].item()
    (-240.0, 120.0)
    """
    lower, upper = np.zeros(robot.nv), np.zeros(robot.nv)
    for entry in _entries(robot):
        if entry.name in JOINTS:
            row = JOINTS[entry.name]
            unit = entry.joint.limits.effort / max(row.negative, row.positive)
            lower[entry.v], upper[entry.v] = -unit * row.negative, unit * row.positive
    return lower, upper


def mirror(robot: Robot, of: str = "qd") -> tuple[NDArray[np.intp], Array]:
    """How coordinates look in a mirror between left and right: ``signs * x[..., order]``.

    ``of``: "q", or "qd", which stands for qdd and tau, too. The mirror is the plane y = 0.

    >>> import neuler
    >>> human = neuler.robots.human()
    >>> order, signs = mirror(human, "q")
    >>> k = human.joint_names.index("r_knee_flexion")
    >>> human.joint_names[order[k]], signs[k].item()
    ('l_knee_flexion', 1.0)
    """
    choice("mirror: of", of, ("q", "qd"))
    size = robot.nq if of == "q" else robot.nv
    numbers = np.arange(size)
    order, signs = numbers.copy(), np.ones(size)
    entries = _entries(robot)
    places = {entry.name: entry.q if of == "q" else entry.v for entry in entries}
    for name, here in places.items():
        if name == ROOT:  # linear, then what turns: of a quaternion and of an angular velocity alike
            signs[here] = (1, -1, 1, -1, 1, -1, 1) if of == "q" else (1, -1, 1, -1, 1, -1)
            continue
        other, sign = PARTNERS[name]
        if other not in places:
            raise RobotError(f"mirror: joint {name!r} moves and its partner {other!r} is fixed; fix both, or neither")
        order[here], signs[here] = numbers[places[other]], sign
    return order, signs


def _entries(robot: Robot) -> list[Entry]:
    """Its coordinates, all of them a human's."""
    found = list(robot.coordinates)
    for entry in found:
        if entry.name not in PARTNERS and entry.name != ROOT:
            raise RobotError(
                f"robot {robot.name!r}: joint {entry.name!r} is no joint of a human; neuler.robots.human() makes one"
            )
    return found
