"""Arms of a walk, footfalls of steps and strides, and who walks: loads, slopes, weak joints."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from neuler import gait, plan
from neuler.errors import InputError, NeulerError
from neuler.gait.families import Apart, Coupled
from neuler.gait.walker import by_joint
from neuler.motions.recorded import Recorded
from neuler.robots.humans import Person, strengths

pytest.importorskip("scipy")
PERSON = Person(1.75, 75.0)


@functools.cache
def robot():
    return gait.Walk(PERSON).robot


def place(q, frame):
    return np.asarray(robot().compile("link_poses", frame=frame)(q))[..., :3, 3]


def swinging():
    """Random postures of legs and arms within 40 degrees, as a motion and its positions."""
    names = robot().joint_names
    t = np.linspace(0.0, 1.0, 40)
    q = np.zeros((len(t), robot().nq))
    random = np.random.default_rng(3)
    for side in ("r_", "l_"):
        for joint in ("hip_flexion", "shoulder_flexion", "knee_flexion"):
            wave = np.sin(2 * np.pi * (t + random.uniform()))
            q[:, names.index(side + joint)] = 0.6 * np.abs(wave) if joint == "knee_flexion" else 0.6 * wave
    return Recorded(robot(), t, q)


def pendulums(q, axis):
    """Products of parts along an axis of the unit vectors shoulder-wrist and hip-ankle of the other side, (n, 2)."""
    found = []
    for arm, leg in (("l_", "r_"), ("r_", "l_")):
        ways = [place(q, f"{arm}hand") - place(q, f"{arm}upper_arm"), place(q, f"{leg}foot") - place(q, f"{leg}thigh")]
        found.append(np.prod([(way / np.linalg.norm(way, axis=-1, keepdims=True))[..., axis] for way in ways], axis=0))
    return np.stack(found, axis=-1)


def test_coupling_and_distances_against_plain_numbers():
    motion = swinging()
    t = np.linspace(0.1, 0.9, 9)
    q = motion.at(t).q
    found = motion.measure(plan.measure(Coupled(), "coupled"), t)
    np.testing.assert_allclose(found, pendulums(q, 0), atol=1e-12)
    found = motion.measure(plan.measure(Apart(), "apart"), t)
    for k, side in enumerate(("r_", "l_")):
        away = np.linalg.norm(place(q, f"{side}hand") - place(q, f"{side}thigh"), axis=-1)
        np.testing.assert_allclose(found[:, k], away, atol=1e-12)


def test_barman_5_6():
    """Along the vertical the product is above zero in every posture: a limit that constrains nothing."""
    q = swinging().at(np.linspace(0.0, 1.0, 101)).q
    assert pendulums(q, 2).min() > 0.3
    assert pendulums(q, 0).min() < -0.1


# ---- footfalls ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_footfalls_of_a_step_and_of_a_stride():
    """A stride is the step and its mirror image: the same windows, half as long, one foot after the other."""
    step, stride = gait.Walk(PERSON), gait.Walk(PERSON, symmetric=False)
    assert [each.name for each in step.footfalls] == ["left, before", "right"]
    assert [each.name for each in stride.footfalls] == ["left, before", "right", "left"]
    (_, right), (_, same, left) = step.footfalls, stride.footfalls
    assert right.heel == (0.0, 0.7)
    assert same.heel == (0.0, 0.35)
    assert left.heel == (0.5, 0.85)
    assert right.tip == pytest.approx((1 / 6, 1.0))
    assert same.tip == pytest.approx((1 / 12, 0.65))
    assert left.place == (step.step, -right.place[1])
    assert stride.duration == 2.0 * step.duration
    np.testing.assert_allclose(stride.breaks[:13], 0.5 * step.breaks, atol=1e-12)
    for walk in (step, stride):
        for contact in walk.statement.transcription.phases[0].model.support.contacts:
            assert np.isin(contact.when, walk.breaks).all()  # to the bit: forces are zero there


@pytest.mark.slow
def test_every_point_of_a_foot_is_held_or_above_the_ground():
    """At every time each of heel, ball and tip of both feet has a limit of its height."""
    for walk in (gait.Walk(PERSON), gait.Walk(PERSON, symmetric=False)):
        limits = walk.statement.transcription.phases[0].limits
        for share in np.linspace(0.001, 0.999, 97):
            covered = set()
            for limit in limits:
                if limit.family in ("ground", "foot contact") and limit.when[0] <= share <= limit.when[1]:
                    name = limit.measure.name.removeprefix("height of ").replace(", before", "")
                    if limit.family == "ground" or "z" in limit.measure.labels(None):
                        covered.add(name.split(",")[0].replace(" as it leaves", ""))
            assert covered == {f"{side} {part}" for side in ("right", "left") for part in ("heel", "ball", "tip")}


# ---- who walks ---------------------------------------------------------------------------------------------------


def test_loads_slope_and_strength():
    plain = robot()
    packed = gait.Walk(PERSON, loads=(gait.Load.backpack(15.0),)).robot
    assert packed.mass == pytest.approx(plain.mass + 15.0)
    q = np.zeros(plain.nq)
    com = [np.asarray(each.center_of_mass(q)) for each in (plain, packed)]
    behind = (com[1] * packed.mass - com[0] * plain.mass) / 15.0  # where the load itself is
    assert behind[0] == pytest.approx(-0.19)
    assert 1.2 < behind[2] < 1.5
    steep = gait.Walk(PERSON, slope=10.0).robot
    np.testing.assert_allclose(np.linalg.norm(steep.gravity), np.linalg.norm(plain.gravity))
    assert steep.gravity[0] == pytest.approx(plain.gravity[2] * np.sin(np.radians(10.0)))
    weak = strengths(gait.Walk(PERSON, strength={"ankle_flexion": 0.5}).robot)
    full = strengths(plain)
    ankle = plain.joint_names.index("l_ankle_flexion")
    for side in range(2):
        ratio = weak[side][6:] / full[side][6:]
        assert ratio[ankle - 6] == pytest.approx(0.5)
        assert np.isclose(ratio, 1.0).sum() == len(ratio) - 2
    assert by_joint("ranges", {"r_knee_flexion": 2, "knee_flexion": 1}) == {"r_knee_flexion": 2, "l_knee_flexion": 1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"slope": 40.0}, "slope must be within 20 degrees"),
        ({"symmetric": 1}, "symmetric must be True or False"),
        ({"loads": 15.0}, "loads"),
        ({"loads": (gait.Load.bag(5.0, "r_"),)}, "left and right are not alike in loads.*symmetric=False"),
        ({"loads": (gait.Load(5.0, offset=(0.0, 0.1, 0.0)),)}, "not alike in loads"),
        ({"strength": {"r_knee_flexion": 0.5}}, "not alike in strength"),
        ({"strength": {"knee": 0.5}}, "there is no joint 'knee'; there are 'knee_flexion'"),
        ({"strength": {"knee_flexion": 0.0}}, "strength of .* must be a factor above zero"),
        ({"fixed": ("r_knee_flexion",)}, "not alike in fixed"),
        ({"fixed": ("tail",)}, "fixed: there is no joint 'tail'"),
        ({"fixed": 3}, "fixed"),
        ({"strength": 0.5}, "strength must be a mapping by the names of joints"),
    ],
)
def test_bad_input(change, words):
    with pytest.raises(InputError, match=words):
        gait.Walk(PERSON, **change)


def test_bad_loads():
    with pytest.raises(InputError, match="its mass must not be negative"):
        gait.Load(-1.0)
    with pytest.raises(InputError, match="side of a bag must be 'r_' or 'l_'"):
        gait.Load.bag(1.0, "right")
    with pytest.raises(InputError, match="offset must be three numbers"):
        gait.Load(1.0, "spine4", (0.0, 0.0))
    with pytest.raises(NeulerError, match="has no link or frame 'tail'"):
        _ = gait.Walk(PERSON, loads=(gait.Load(1.0, "tail"),)).robot


def test_optional_terms_against_plain_numbers():
    """Rates of torques and internal forces, by the kernels of the robot."""
    from neuler.gait import costs

    motion = swinging()
    t = np.linspace(0.15, 0.85, 5)
    state = motion.at(t)
    low, high = strengths(robot())
    driven = tuple(int(k) for k in np.flatnonzero(high > 0.0))
    sides = [tuple(map(float, np.abs(x[list(driven)]))) for x in (low, high)]
    found = motion.measure(plan.measure(costs.TorqueRate(driven, *sides, 1), "rate"), t)
    step = 1e-5
    rate = (motion.torques(t + step) - motion.torques(t - step)) / (2 * step)
    size = 0.5 * (np.abs(low) + high)[list(driven)]
    expected = ((rate[:, list(driven)] * motion.duration / size) ** 2).sum(axis=1)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-5)
    found = motion.measure(plan.measure(costs.JointForce(robot().link_names, 700.0), "force"), t)
    wrenches = np.asarray(robot().reaction_wrenches(state.q, state.qd, state.qdd))
    places = [robot().link_names.index(f"{side}{name}") for side in ("r_", "l_") for name in costs.LOADED]
    expected = (wrenches[:, places, :3] ** 2).sum(axis=(1, 2)) / 700.0**2
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-9)
