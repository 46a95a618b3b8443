"""Which column of a table is which coordinate of a person; OpenSim's names, signs and axes, and ours.

OpenSim: x forwards, y up, z to the right; the pelvis turns by tilt about z, list about x, rotation about y, in this
order. Here: x forwards, y to the left, z up; yaw about z, pitch about y, roll about x. Positions are therefore
(x, -z, y) of OpenSim's, and rotations are converted as matrices, not angle by angle.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.inputs import choice, number, told, vector
from neuler.robot import Robot
from neuler.robots.humans.joints import LEFT, PELVIS, RIGHT

Array = NDArray[np.float64]

TILT = ("pelvis_tilt", "pelvis_list", "pelvis_rotation")
PLACE = ("pelvis_tx", "pelvis_ty", "pelvis_tz")
AXES = ("y", "z")


@dataclass(frozen=True)
class Columns:
    """How columns are called: ``joints`` maps a column to a joint, or to a joint and a factor, mostly a sign.

    ``pelvis_up`` says how the pelvis is given:

    - None: its six coordinates are columns like others, in ``joints``, with our meaning (``pelvis_z`` is the height
      above that of upright standing);
    - "y": OpenSim's ``pelvis_tx``, ``pelvis_ty``, ``pelvis_tz``, with y up, and ``pelvis_tilt``, ``pelvis_list``,
      ``pelvis_rotation``;
    - "z": the same names of the positions, with x forwards, y to the left and z up, and our ``pelvis_yaw``,
      ``pelvis_pitch``, ``pelvis_roll``.

    ``pelvis_point`` is the point of the pelvis whose place is given, from the middle between the hip joints, in our
    axes (m): OpenSim's models have the origin of the pelvis between the front iliac spines.
    """

    joints: Mapping[str, Any] = field(default_factory=dict)
    pelvis_up: str | None = None
    pelvis_point: Any = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if not isinstance(self.joints, Mapping):
            raise InputError(f"gait: columns must map columns to joints, got {told(self.joints)}")
        if self.pelvis_up is not None:
            choice("gait: pelvis_up", self.pelvis_up, AXES)
        pairs = {}
        for column, given in self.joints.items():
            joint, factor = (given, 1.0) if isinstance(given, str) else given
            pairs[column] = (joint, number(f"gait: the factor of column {column!r}", factor))
        object.__setattr__(self, "joints", pairs)
        object.__setattr__(self, "pelvis_point", tuple(vector("gait: pelvis_point", self.pelvis_point, 3).tolist()))

    @property
    def pelvis(self) -> tuple[str, ...]:
        """Columns of the pelvis, positions first; none where they are columns like others."""
        if self.pelvis_up is None:
            return ()
        return PLACE + (TILT if self.pelvis_up == "y" else PELVIS[3:])


_SIDED = {
    "hip_flexion": ("hip_flexion", 1.0),
    "hip_adduction": ("hip_abduction", -1.0),
    "hip_rotation": ("hip_rotation", 1.0),
    "knee_angle": ("knee_flexion", 1.0),
    "ankle_angle": ("ankle_flexion", 1.0),
    "subtalar_angle": ("ankle_inversion", 1.0),
    "mtp_angle": ("toe_extension", 1.0),
    "arm_flex": ("shoulder_flexion", 1.0),
    "arm_add": ("shoulder_abduction", -1.0),
    "arm_rot": ("shoulder_rotation", 1.0),
    "elbow_flex": ("elbow_flexion", 1.0),
    "pro_sup": ("elbow_pronation", 1.0),
    "wrist_flex": ("wrist_flexion", 1.0),
    "wrist_dev": ("wrist_deviation", -1.0),
}
_LUMBAR = {
    "lumbar_extension": ("spine1_flexion", -1.0),
    "lumbar_bending": ("spine1_lateral", 1.0),
    "lumbar_rotation": ("spine1_rotation", 1.0),
}
"""OpenSim's trunk is one rigid body on one joint: the lowest of our spine moves as that joint, the others stay."""


def _opensim(**other: tuple[str, float]) -> dict[str, tuple[str, float]]:
    found = dict(_LUMBAR)
    for end, side in (("_r", RIGHT), ("_l", LEFT)):
        for name, (joint, factor) in {**_SIDED, **other}.items():
            found[name + end] = (side + joint, factor)
    return found


OPENSIM = Columns(_opensim(), "y", (0.0563, 0.0, 0.0785))
"""Names and signs of Rajagopal et al. (2016) and the models made from it: knee flexion is positive. The point of the
pelvis is that of the unscaled model; a scaled one has its own."""
GAIT2392 = Columns(_opensim(knee_angle=("knee_flexion", -1.0)), "y", (0.0707, 0.0, 0.0661))
"""Those of gait2392 and gait2354: knee flexion is negative."""


def own_columns(robot: Robot, header: Collection[str] = ()) -> Columns:
    """Every coordinate of a robot under its own name, or with ``q_`` before it where a header has it so."""
    names = robot.coordinates.names("q")
    return Columns({f"q_{name}" if f"q_{name}" in header else name: name for name in names})


# ---- the pelvis ---------------------------------------------------------------------------------------------------


def turn(axis: int, angle: Array) -> Array:
    """Rotations (..., 3, 3) about an axis of the frame by angles (...)."""
    c, s = np.cos(angle), np.sin(angle)
    found = np.zeros((*np.shape(angle), 3, 3))
    j, k = (axis + 1) % 3, (axis + 2) % 3
    found[..., axis, axis] = 1.0
    found[..., j, j], found[..., k, k] = c, c
    found[..., j, k], found[..., k, j] = -s, s
    return found


def pelvis_coordinates(robot: Robot, columns: Columns, place: Array, angles: Array) -> Array:
    """Our six coordinates (..., n, 6) from positions (..., n, 3) and angles (..., n, 3) as the columns give them."""
    if columns.pelvis_up == "y":
        place = place[..., [0, 2, 1]] * np.array([1.0, -1.0, 1.0])
        turned = turn(1, -angles[..., 0]) @ turn(0, angles[..., 1]) @ turn(2, angles[..., 2])
        angles = yaw_pitch_roll(turned)
    else:
        turned = turn(2, angles[..., 0]) @ turn(1, angles[..., 1]) @ turn(0, angles[..., 2])
    hips = place - turned @ np.array(columns.pelvis_point) - standing_pelvis(robot)
    return np.concatenate([hips, np.unwrap(angles, axis=-2)], axis=-1)


def yaw_pitch_roll(turned: Array) -> Array:
    """Angles (..., 3) of R = R_z(yaw) R_y(pitch) R_x(roll)."""
    yaw = np.arctan2(turned[..., 1, 0], turned[..., 0, 0])
    pitch = -np.arcsin(np.clip(turned[..., 2, 0], -1.0, 1.0))
    return np.stack([yaw, pitch, np.arctan2(turned[..., 2, 1], turned[..., 2, 2])], axis=-1)


def flexion_bending_rotation(turned: Array) -> Array:
    """Angles (..., 3) of R = R_y(a) R_x(b) R_z(c): OpenSim's order of pelvis and trunk, in our axes."""
    a = np.arctan2(turned[..., 0, 2], turned[..., 2, 2])
    b = -np.arcsin(np.clip(turned[..., 1, 2], -1.0, 1.0))
    return np.stack([a, b, np.arctan2(turned[..., 1, 0], turned[..., 1, 1])], axis=-1)


def standing_pelvis(robot: Robot) -> Array:
    """Where the pelvis is when all coordinates are zero (m)."""
    return np.asarray(robot.compile("link_poses", frame="pelvis")(np.zeros(robot.nq)))[:3, 3]


# ---- and back -----------------------------------------------------------------------------------------------------


def opensim_angles(robot: Robot, q: Array, columns: Columns = OPENSIM) -> dict[str, Array]:
    """Columns of a .mot file from positions (n, nq): metres and degrees.

    The trunk's three angles are those of the highest link of the spine to the pelvis. Neck and clavicles have no
    columns.
    """
    if columns.pelvis_up != "y":
        raise InputError("gait: OpenSim's angles need columns with pelvis_up='y', as gait.OPENSIM")
    poses = {link: np.asarray(robot.compile("link_poses", frame=link)(q)) for link in ("pelvis", "spine4")}
    turned = poses["pelvis"][:, :3, :3]
    place = poses["pelvis"][:, :3, 3] + turned @ np.array(columns.pelvis_point)
    tilt, bend, rotation = np.degrees(np.unwrap(flexion_bending_rotation(turned), axis=0)).T
    found = dict(zip((*TILT, *PLACE), (-tilt, bend, rotation, place[:, 0], place[:, 2], -place[:, 1]), strict=True))
    trunk = np.degrees(flexion_bending_rotation(np.swapaxes(turned, -1, -2) @ poses["spine4"][:, :3, :3])).T
    places = {entry.name: entry.q.start for entry in robot.coordinates}
    for column, (joint, factor) in columns.joints.items():
        if column in _LUMBAR:
            found[column] = factor * trunk[list(_LUMBAR).index(column)]
        elif joint in places:
            found[column] = factor * np.degrees(q[:, places[joint]])
    return found
