"""Where the search for a walk begins: a rough step, drawn by a few harmonics, moved so that its feet nearly stand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuler.gait.soles import Sole
from neuler.motions.recorded import Recorded
from neuler.robot import Robot

Array = NDArray[np.float64]

HARMONICS: dict[str, tuple[tuple[float, float], ...]] = {
    "hip_flexion": ((10.0, 0.0), (23.0, 1.0), (-4.0, -2.0)),
    "knee_flexion": ((30.0, 0.0), (2.0, -18.0), (-16.0, 2.0), (-2.0, 4.0)),
    "ankle_flexion": ((2.0, 0.0), (-3.0, 8.0), (5.0, -7.0), (-3.0, -2.0)),
}
"""Of the right leg over a stride from its heel strike, degrees: mean, then cosine and sine of the first harmonics.
Whole degrees, after mean curves of one adult at 1.33 m/s (Falisse et al. 2019, J. R. Soc. Interface 16:20190402)."""
SAMPLES = 100
"""Intervals of the step."""
SMOOTH = 6
"""Samples over which the path of the pelvis is smoothed."""


def rough_step(robot: Robot, soles: tuple[Sole, Sole], step: float, duration: float) -> Recorded:
    """A step (m) of a human in ``duration`` seconds, right heel first; ``soles`` of the right and the left foot."""
    share = np.linspace(0.0, 1.0, SAMPLES + 1)
    names = list(robot.joint_names)
    q = np.zeros((len(share), robot.nq))
    for joint, series in HARMONICS.items():
        for side, phase in (("r_", 0.0), ("l_", 0.5)):
            q[:, names.index(side + joint)] = _series(series, 0.5 * share + phase) * np.sqrt(min(step / 0.69, 1.2))
    points = {(sole.foot, sole.heel): None for sole in soles} | {(sole.toes, sole.tip): None for sole in soles}
    places = {key: _places(robot, q, *key) for key in points}
    low = np.min([place[:, 2] for place in places.values()], axis=0)
    right = soles[0]
    heel, ball = places[right.foot, right.heel][:, 0], _places(robot, q, right.toes, right.ball)[:, 0]
    x = np.where(share < 1.0 / 6.0, -heel, right.arch - ball)
    q[:, names.index("pelvis_z")] = _smoothed(-low)
    q[:, names.index("pelvis_x")] = _smoothed(x - step * share) + step * share
    return Recorded(robot, duration * share, q)


def _series(series: tuple[tuple[float, float], ...], phase: Array) -> Array:
    """Radians at phases of a stride."""
    found = np.zeros_like(phase)
    for k, (cosine, sine) in enumerate(series):
        found += cosine * np.cos(2.0 * np.pi * k * phase) + sine * np.sin(2.0 * np.pi * k * phase)
    return np.asarray(np.radians(found))


def _places(robot: Robot, q: Array, frame: str, offset: tuple[float, float, float]) -> Array:
    """Where a point is along positions, (n, 3)."""
    poses = np.asarray(robot.compile("link_poses", frame=frame)(q))
    return np.asarray(poses[:, :3, :3] @ np.array(offset) + poses[:, :3, 3])


def _smoothed(values: Array) -> Array:
    """Values of a step that repeats, smoothed."""
    from scipy.ndimage import gaussian_filter1d

    found = gaussian_filter1d(np.tile(values[:-1], 3), SMOOTH)
    return np.append(found[SAMPLES : 2 * SAMPLES], found[SAMPLES])
