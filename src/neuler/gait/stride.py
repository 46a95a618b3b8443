"""A stride of a walk: curves of the right leg from its heel strike to its next one, and what characterises them.

A symmetric walk is known from one step: the next step is its mirror image, one step length further. The first half of
a stride is the step itself, the second half its mirror image, in which the right leg moves as the left one did.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.files.opensim import SUFFIXES, write_storage
from neuler.files.series import save_series
from neuler.gait import tables
from neuler.gait.agreement import Agreement, agreement
from neuler.gait.columns import opensim_angles
from neuler.gait.continuation import stride_loads
from neuler.gait.loads import Loads
from neuler.gait.peaks import Peak, peaks, rises, valley
from neuler.gait.reference import ANGLES, FORCES, Reference
from neuler.inputs import choice, number, told, whole
from neuler.moments.clearance import HalfSpace
from neuler.moments.contact import FLOOR
from neuler.motions.motion import Motion
from neuler.robot import Robot
from neuler.robots.humans.joints import RIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from neuler.gait.motion import MeasuredMotion

Array = NDArray[np.float64]

SAMPLES = 401
"""Samples of a stride by default."""
PROMINENCE = 0.05
"""By how much a peak of the vertical force rises above both sides (body weights); smaller ones are kinks."""
DEADBAND = 0.01
"""Fore-aft forces (body weights) that count neither as braking nor as propulsion."""
JOINTS = {"hip": "hip_flexion", "knee": "knee_flexion", "ankle": "ankle_flexion"}
"""Joints of a leg whose curves are compared with measured ones, without the side."""


@dataclass(frozen=True, eq=False)
class Stride:
    """Curves over a stride, n samples of the same distance in time.

    Unless they say otherwise curves are those of the right leg, in N, N m, m and degrees. Of the left leg they are the
    same half a stride later if the walk is symmetric; :attr:`loads` has both.
    """

    loads: Loads
    """Motion, forces on both feet (right, left), torques and joint forces over the stride."""
    percent: Array
    """Of the stride, (n,), from 0 to 100."""
    length: float
    """How far the pelvis moves forwards in the stride (m)."""
    force_jump: Array
    """By how much forces on the feet (right, left) jump where the motion joins its continuation (N), (2, 3)."""
    point_jump: Array
    """By how much the zero-moment point jumps there (m), (3,)."""
    state_jump: tuple[float, float]
    """The largest jump of an angle (rad) and of its velocity (rad/s) there."""
    release: float
    """Normal force on a foot just before its contact ends (N); zero where load is shifted fully to the other foot."""

    # ---- construction -------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, motion: Motion, n: int = SAMPLES, *, ground: HalfSpace = FLOOR, symmetric: bool = True) -> Stride:
        """The stride of a motion of a human on the ground, as a plan with contacts or measured loads give it.

        ``motion`` is one step that begins when the right heel strikes. With ``symmetric=False`` it is a whole stride:
        of a person with an injured leg, or of measured motion. ``n`` is odd, so that a sample is at 50 %. ``ground``:
        the plane on which the feet stand; its normal must be in the plane of symmetry.
        """
        count = whole("stride: n", n, 11)
        if count % 2 == 0:
            raise InputError(f"stride: n must be odd, so that a sample is at 50 %, got {n}")
        found = stride_loads(motion, count, ground, symmetric)
        percent = np.linspace(0.0, 100.0, count)
        return cls(found.loads, percent, found.length, found.force, found.point, found.state, found.release)

    # ---- curves -------------------------------------------------------------------------------------------------

    @property
    def robot(self) -> Robot:
        """The human whose stride it is."""
        return self.loads.robot

    @property
    def t(self) -> Array:
        """Times (s), (n,)."""
        return self.loads.t

    @property
    def duration(self) -> float:
        """Of the stride (s)."""
        return float(self.t[-1])

    @property
    def weight(self) -> float:
        """Body weight with what is carried (N)."""
        return self.loads.weight

    @property
    def q(self) -> Array:
        """All coordinates (rad, m), (n, nq)."""
        return self.loads.q

    @property
    def tau(self) -> Array:
        """All torques (N m), (n, nu)."""
        return self.loads.tau

    def angle(self, joint: str) -> Array:
        """Of "hip", "knee" or "ankle" of the right leg: flexion in degrees, (n,)."""
        entry = self.robot.coordinates[self._joint(joint)]
        return np.degrees(self.q[:, entry.q.start])

    def torque(self, joint: str) -> Array:
        """Of "hip", "knee" or "ankle" of the right leg: flexing torque (N m), (n,)."""
        return self.loads.torque(self._joint(joint))

    def joint_force(self, joint: str) -> Array:
        """Of "hip", "knee" or "ankle" of the right leg: norm of the internal force (N), (n,)."""
        return self.loads.joint_force(self._joint(joint))

    def _joint(self, name: str) -> str:
        joint = RIGHT + JOINTS[choice("stride: joint", name, JOINTS)]
        if joint not in self.robot.joint_names:
            raise InputError(f"stride: joint {joint!r} of robot {self.robot.name!r} is fixed; it has no curve")
        return joint

    @property
    def vertical(self) -> Array:
        """Force on the right foot along the ground's normal (N), (n,)."""
        return self.loads.vertical[:, 0]

    @property
    def fore_aft(self) -> Array:
        """Force on the right foot forwards along the ground (N), (n,): negative brakes."""
        return self.loads.fore_aft[:, 0]

    @property
    def lateral(self) -> Array:
        """Force on the right foot to the right (N), (n,): away from the middle of the body."""
        return -self.loads.lateral[:, 0]

    @property
    def body_weights(self) -> Array:
        """Vertical, fore-aft and lateral force in body weights, (n, 3)."""
        return np.stack([self.vertical, self.fore_aft, self.lateral], axis=-1) / self.weight

    @property
    def center_of_pressure(self) -> Array:
        """Of the right foot in the base frame (m), (n, 3); NaN where it carries less than 2 % of the weight."""
        return self.loads.center_of_pressure[:, 0]

    @property
    def zero_moment_point(self) -> Array:
        """Of both feet together in the base frame (m), (n, 3)."""
        return self.loads.zero_moment_point

    @property
    def stance(self) -> NDArray[np.bool_]:
        """Whether the right foot carries more than 2 % of the weight, (n,)."""
        return self.loads.touching[:, 0]

    def curves(self) -> dict[str, Array]:
        """What measured curves are compared with: angles in degrees, forces in percent of body weight, (n,) each."""
        forces = dict(zip(FORCES, 100.0 * self.body_weights.T, strict=True))
        return {**{joint: self.angle(joint) for joint in ANGLES}, **forces}

    # ---- figures of merit ---------------------------------------------------------------------------------------

    def peaks(self, prominence: float = PROMINENCE) -> tuple[Peak, ...]:
        """Peaks of the vertical force (body weights) with this prominence (body weights) or more."""
        least = number("stride: prominence", prominence, above=0.0)
        return peaks(self.percent, self.body_weights[:, 0], least)

    def valley(self, prominence: float = PROMINENCE) -> Peak | None:
        """The lowest vertical force (body weights) between the highest peaks of both halves of stance.

        None where one of the halves has no peak of this prominence.
        """
        if not self.stance.any():
            return None
        tops, middle = self.peaks(prominence), 0.5 * self._lift
        return valley(self.percent, self.body_weights[:, 0], tops, float(middle))

    def propulsion(self, deadband: float = DEADBAND) -> tuple[float, ...]:
        """Percents at which the fore-aft force changes from braking to propulsion; people have one.

        Forces within ``deadband`` (body weights) count as neither.
        """
        return rises(self.percent, self.body_weights[:, 1], number("stride: deadband", deadband, least=0.0))

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Least and greatest value of every coordinate over the stride: degrees, or m of slides."""
        names, units = self.robot.coordinates.names("q"), self.robot.coordinates.units("q")
        shown = np.where([unit == "rad" for unit in units], np.degrees(self.q), self.q)
        return {name: (float(x.min()), float(x.max())) for name, x in zip(names, shown.T, strict=True)}

    @property
    def stance_knee(self) -> float:
        """The largest flexion of the knee (degrees) in the first half of stance, as the leg takes over the load.

        Later in stance the knee flexes for the swing. NaN if the right foot never carries.
        """
        if not self.stance.any():
            return float("nan")
        return float(self.angle("knee")[self.stance & (self.percent <= 0.5 * self._lift)].max())

    @property
    def _lift(self) -> float:
        """Percent at which the stance with which the stride begins ends; the last sample may be in the next one."""
        first = int(np.argmax(self.stance))
        flies = ~self.stance[first:]
        return float(self.percent[first + int(np.argmax(flies)) - 1 if flies.any() else -1])

    @property
    def swing_knee(self) -> float:
        """The largest flexion of the knee (degrees) while the foot is in the air; NaN if it always carries."""
        swing = ~self.stance
        return float(self.angle("knee")[swing].max()) if swing.any() else float("nan")

    @property
    def impulse_error(self) -> float:
        """Mean upward force of the ground over the stride, less the weight, as a share of the weight.

        Of a motion that repeats itself it is zero.
        """
        gravity = np.array(self.robot.gravity)
        up = -gravity / (np.linalg.norm(gravity) or 1.0)
        return float(np.trapezoid(self.loads.force @ up, self.t) / (self.weight * self.duration) - 1.0)

    @property
    def root_residual(self) -> float:
        """The largest force (N) or moment (N m) that the pelvis needs besides the ground, divided by the weight.

        It is computed from the motion and the forces on the feet by inverse dynamics, not taken from the plan.
        """
        return float(np.abs(self.loads.residual).max() / self.weight)

    @property
    def outside(self) -> float:
        """By how much a centre of pressure lies outside its sole at most (m)."""
        found = self.loads.outside
        return float(np.nanmax(found)) if np.isfinite(found).any() else 0.0

    def compare(self, reference: Reference | None = None) -> dict[str, Agreement]:
        """By curve the agreement with measured curves, by default with :meth:`Reference.adult`, at their percents.

        ``rmse`` of hip, knee and ankle is in degrees, of vertical, fore_aft and lateral in percent of body weight.
        """
        measured = Reference.adult() if reference is None else reference
        if not isinstance(measured, Reference):
            raise InputError(f"stride: measured curves must be a gait.Reference, got {told(reference)}")
        own = self.curves()
        return {
            name: agreement(np.interp(measured.percent, self.percent, own[name]), mean)
            for name, mean in measured.mean.items()
        }

    def summary(self, reference: Reference | None = None) -> dict[str, Any]:
        """Plain numbers, ready for JSON: forces in body weights, angles in degrees, lengths in metres.

        ``rms_*`` are distances to ``reference``, by default the measured adult.
        """
        tops, low, changes = self.peaks(), self.valley(), self.propulsion()
        jumps = np.abs(self.force_jump).max(axis=0) / self.weight
        measured = self.compare(reference)
        found = {
            "duration": self.duration,
            "length": self.length,
            "speed": self.length / self.duration,
            "weight": self.weight,
            "grf_peaks": [top.value for top in tops],
            "grf_peaks_percent": [top.percent for top in tops],
            "grf_valley": None if low is None else low.value,
            "grf_valley_percent": None if low is None else low.percent,
            "grf_prominence": PROMINENCE,
            "braking": float(self.body_weights[:, 1].min()),
            "propulsion": float(self.body_weights[:, 1].max()),
            "braking_to_propulsion": len(changes),
            "braking_to_propulsion_percent": list(changes),
            "stance_percent": 100.0 * float(self.stance[:-1].mean()),
            "stance_knee_deg": self.stance_knee,
            "swing_knee_deg": self.swing_knee,
            "step_jump": float(jumps.max()),
            "step_jump_xyz": jumps.tolist(),
            "step_jump_zmp": float(np.linalg.norm(self.point_jump)),
            "step_jump_state": list(self.state_jump),
            "release": self.release / self.weight,
            "impulse_error": self.impulse_error,
            "root_residual": self.root_residual,
            "pressure_outside": self.outside,
            "peak_force": {joint: float(self.joint_force(joint).max() / self.weight) for joint in JOINTS},
            "peak_torque": {joint: float(np.abs(self.torque(joint)).max()) for joint in JOINTS},
            **{f"rms_{joint}_deg": measured[joint].rmse for joint in ANGLES},
            **{f"rms_{name}_percent_bw": measured[name].rmse for name in FORCES},
            "ranges": {name: list(pair) for name, pair in self.ranges.items()},
        }
        return {name: _plain(value) for name, value in found.items()}

    # ---- motions, files and pictures ----------------------------------------------------------------------------

    @cached_property
    def _motion(self) -> MeasuredMotion:
        return self.loads.motion()

    def motion(self) -> MeasuredMotion:
        """The whole stride as a motion, to be sampled, drawn and played like every other."""
        return self._motion

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the curves: .csv, .parquet or .npz with everything, .mot angles, .sto forces of the ground.

        .mot and .sto have OpenSim's names and axes: angles in degrees, forces as external loads.
        """
        suffix = Path(path).suffix.lower()
        if suffix == SUFFIXES[0]:
            angles = {"time": self.t, **opensim_angles(self.robot, self.q)}
            write_storage(path, angles, in_degrees=True, name="angles of a stride")
        elif suffix == SUFFIXES[1]:
            tables.save(self.loads, path)
        else:
            columns, units = tables.series(self.loads)
            save_series(path, {"percent": self.percent, **columns}, self._arrays(), {"percent": "%", **units})

    def _arrays(self) -> dict[str, Array]:
        return {
            "percent": self.percent, "t": self.t, "q": self.q, "tau": self.tau, "body_weights": self.body_weights,
            "foot_force": self.loads.foot_force, "center_of_pressure": self.loads.center_of_pressure,
            "zero_moment_point": self.zero_moment_point, "joint_force": self.loads.joint_forces,
        }  # fmt: skip

    def plot(self, reference: Reference | None = None, figure: Figure | None = None) -> Figure:
        """Angles, ground forces, torques, joint forces and the zero-moment point among footprints: a figure.

        The band is the mean of ``reference``, by default the measured adult, with two standard deviations to both
        sides. ``figure``: an empty one to draw into instead.
        """
        from neuler.gait import figures

        drawn: Figure = figures.curves(self, Reference.adult() if reference is None else reference, figure)
        return drawn

    def strip(self, poses: int = 9, figure: Figure | None = None) -> Figure:
        """Postures of the stride from the right, next to each other, with the forces of the ground: a figure."""
        from neuler.gait import figures

        drawn: Figure = figures.strip(self, whole("strip: poses", poses, 2, 50), figure)
        return drawn

    def __repr__(self) -> str:
        """Length, duration and samples."""
        covered = f"{self.length:.3g} m in {self.duration:.3g} s"
        return f"<stride of {self.robot.name!r}: {covered}, {len(self.percent)} samples>"


def _plain(value: Any) -> Any:
    """Numbers that are not finite become None, for JSON."""
    if isinstance(value, Mapping):
        return {name: _plain(x) for name, x in value.items()}
    if isinstance(value, list):
        return [_plain(x) for x in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
