"""A synthetic walk with exact derivatives.

Feet roll from heel to toe, and the pelvis moves such that the zero-moment point passes through them. Every coordinate
is a Fourier series, so that velocities and accelerations are exact.
"""

import functools
from typing import NamedTuple

import numpy as np

from neuler import gait
from neuler.robots.humans import Person, skeleton

STEP, PERIOD = 0.62, 0.55
"""Step length (m) and time (s)."""
DOUBLE = 0.20
"""Share of a step in which both feet stand."""
HARMONICS = 9
BEHIND = 0.22
"""How far the pelvis is behind the front foot as it lands, about (m)."""
STRIDE = 2 * PERIOD
SAMPLES = 400


class Walk(NamedTuple):
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    touching: np.ndarray


def person():
    return Person(1.75, 75.0)


@functools.cache
def human():
    return skeleton(person())


def _ramp(s):
    """From 0 to 1 with two derivatives zero at both ends."""
    s = np.clip(s, 0.0, 1.0)
    return s**3 * (10 - 15 * s + 6 * s * s)


def _foot(phase):
    """Pitch of a foot (toes up) and toe extension (rad), ankle x (less the foothold) and z (m), at shares of a stride.

    The foot lands at phase 0, with the ankle's foothold at x = 0; it leaves at (1 + DOUBLE) / 2.
    """
    lengths = person().lengths
    foot, ankle = lengths["foot"], lengths["ankle_height"]
    heel, ball = np.array([-0.25 * foot, -ankle]), np.array([0.47 * foot, -ankle])
    off, rise = (1 + DOUBLE) / 2, 0.32
    land, push = np.radians(16.0), np.radians(-48.0)
    swing = (phase - off) / (1 - off)
    pitch = land * (1 - _ramp(phase / 0.1)) + push * _ramp((phase - rise) / (off - rise))
    pitch = np.where(phase < off, pitch, push + (land - push) * _ramp(swing * 1.1))

    def turned(point, angle):
        return np.stack([point[0] * np.cos(angle) - point[1] * np.sin(angle),
                         point[0] * np.sin(angle) + point[1] * np.cos(angle)], axis=-1)  # fmt: skip

    about_heel = heel + np.array([0.0, ankle]) - turned(heel, pitch)
    about_ball = ball + np.array([0.0, ankle]) - turned(ball, pitch)
    place = np.where((phase < 0.2)[:, None], about_heel, about_ball)
    last = ball + np.array([0.0, ankle]) - turned(ball, np.array([push]))[0]
    first = heel + np.array([0.0, ankle]) - turned(heel, np.array([land]))[0]
    way = (0.5 - 0.5 * np.cos(np.pi * np.clip(swing, 0.0, 1.0)))[:, None]
    flight = last + way * (first + np.array([2 * STEP, 0.0]) - last)
    flight[:, 1] += 0.04 * np.sin(np.pi * np.clip(swing, 0, 1)) ** 2
    place = np.where((phase < off)[:, None], place, flight)
    toes = np.where(phase < off, np.maximum(-pitch, 0.0), -push * (1 - _ramp(2 * swing)))
    return pitch, toes, place[:, 0], place[:, 1]


def _leg(hip_to_ankle, side, pitch, toes):
    """Hip flexion and abduction, knee, ankle flexion and inversion, toe: of a leg whose ankle is there."""
    lengths = person().lengths
    thigh, shank = lengths["thigh"], lengths["shank"]
    x, y, z = hip_to_ankle.T
    far = np.minimum(np.linalg.norm(hip_to_ankle, axis=-1), 0.9995 * (thigh + shank))
    knee = np.pi - np.arccos((thigh**2 + shank**2 - far**2) / (2 * thigh * shank))
    v = np.stack([-shank * np.sin(knee), -thigh - shank * np.cos(knee)], axis=-1)  # of a thigh that hangs down
    abduction = np.arcsin(np.clip(y / -v[:, 1], -1, 1))  # about x: y = -sin(a) * v_z
    down = np.cos(abduction) * v[:, 1]
    flexion = np.arctan2(x, -z) - np.arctan2(v[:, 0], -down)
    return flexion, side * abduction, knee, pitch - flexion + knee, -side * abduction, toes


def _angles(phase, sway):
    """All coordinates at shares of a stride, less the progression; ``sway``: pelvis x, y, z beside the mean path."""
    robot, lengths = human(), person().lengths
    index = {name: robot.coordinates[name].v.start for name in robot.joint_names}
    q = np.zeros((len(phase), robot.nv))
    path = 2 * STEP * phase - BEHIND
    q[:, :3] = sway
    for name, side, late in (("r_", -1.0, 0.0), ("l_", 1.0, 0.5)):
        own = (phase - late) % 1.0
        pitch, toes, x, z = _foot(own)
        ahead = x + (0.0 if late == 0.0 else np.where(phase < late, -STEP, STEP))
        across = side * 0.75 * lengths["hip_half_width"]
        hip = np.stack([path + q[:, 0], q[:, 1] + side * lengths["hip_half_width"],
                        person().hip_height + q[:, 2]], axis=-1)  # fmt: skip
        place = np.stack([ahead, np.full_like(x, across), z], axis=-1)
        names = ["hip_flexion", "hip_abduction", "knee_flexion", "ankle_flexion", "ankle_inversion", "toe_extension"]
        for joint, values in zip(names, _leg(place - hip, side, pitch, toes), strict=True):
            q[:, index[name + joint]] = values
        q[:, index[name + "shoulder_flexion"]] = -0.3 * np.cos(2 * np.pi * own)
        q[:, index[name + "elbow_flexion"]] = 0.4 - 0.1 * np.cos(2 * np.pi * own)
    q[:, 0] -= BEHIND
    for joint, degrees, often in (("lateral", 1.0, 1), ("rotation", 2.0, 1), ("flexion", 0.5, 2)):
        for k in (1, 2):  # shoulders turn against the legs, and nod with every step
            q[:, index[f"spine{k}_{joint}"]] = np.radians(degrees) * np.sin(2 * np.pi * often * phase + 0.4)
    return q


def _series(values):
    """Fourier coefficients of samples over one stride."""
    return np.fft.rfft(values, axis=0)[: HARMONICS + 1] / len(values)


def _evaluated(coefficients, t):
    k = np.arange(len(coefficients))
    turn = np.exp(2j * np.pi * np.outer(t / STRIDE, k)) * np.where(k > 0, 2.0, 1.0)
    rate = 2j * np.pi * k / STRIDE
    q, qd, qdd = (np.real((turn * rate**n) @ coefficients) for n in range(3))
    q[:, 0] += 2 * STEP * t / STRIDE
    qd[:, 0] += 2 * STEP / STRIDE
    return q, qd, qdd


def _stands(t):
    """Whether right and left foot stand."""
    phase = np.stack([t / STRIDE % 1.0, (t / STRIDE - 0.5) % 1.0], axis=-1)
    return phase < (1 + DOUBLE) / 2


def _wanted(t):
    """The zero-moment point: heel to ball under the foot that stands alone, then over to the other one."""
    foot, across = person().lengths["foot"], 0.75 * person().lengths["hip_half_width"]
    share, number = (t / PERIOD) % 1.0, np.floor(t / PERIOD)
    side = np.where(number % 2 == 0, -1.0, 1.0)
    rear, front, leave = number * STEP + 0.42 * foot - STEP, number * STEP - 0.1 * foot, number * STEP + 0.42 * foot
    over = np.clip(share / DOUBLE, 0, 1)
    alone = np.clip((share - DOUBLE) / (1 - DOUBLE), 0, 1)
    x = np.where(share < DOUBLE, rear + over * (front - rear), front + alone * (leave - front))
    y = side * across * np.where(share < DOUBLE, 2 * over - 1, 1.0)
    return np.stack([x, y], axis=-1)


@functools.cache
def coefficients():
    """Of the walk: the pelvis is moved until the zero-moment point follows the wanted path, in its lower harmonics."""
    t = np.arange(SAMPLES) / SAMPLES * STRIDE
    phase, base = t / STRIDE, -0.035
    sway = np.zeros((SAMPLES, 3))
    step = 2 * np.pi * t / PERIOD
    sway[:, 2] = base - 0.014 * np.cos(step - 0.6) - 0.003 * np.cos(2 * step - 1.2)
    kernel, k = gait.ground_reaction(human()), np.arange(SAMPLES // 2 + 1)
    stiff = 9.81 / human().center_of_mass(np.zeros(55))[2]
    found = None
    for _ in range(8):
        found = _series(_angles(phase, sway))
        zmp = kernel(*_evaluated(found, t)).zero_moment_point[:, :2]
        gap = np.fft.rfft(_wanted(t) - zmp, axis=0)
        gain = np.where(k <= 6, stiff / (stiff + (2 * np.pi * k / STRIDE) ** 2), 0.0)
        sway[:, :2] += np.fft.irfft(gain[:, None] * gap, SAMPLES, axis=0)
    return found


def walk(duration=3.3, rate=100.0):
    """Samples of the walk, exact."""
    t = np.arange(round(duration * rate) + 1) / rate
    return Walk(t, *_evaluated(coefficients(), t), _stands(t))


def noisy(q, degrees, metres, seed=0):
    """Angles and positions of the pelvis with independent normal noise."""
    random = np.random.default_rng(seed)
    size = np.full(q.shape[-1], np.radians(degrees))
    size[:3] = metres
    return q + random.normal(size=q.shape) * size
