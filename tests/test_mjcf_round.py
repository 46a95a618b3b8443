"""MJCF in, a robot, MJCF out: the same dynamics, by MuJoCo and by neuler."""

import dataclasses
from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np
import pytest

import neuler
from mjcf_models import EVERYTHING, FOUR_BAR, disagreement, switched_off
from neuler import robots

GYMNASIUM = Path(find_spec("gymnasium").origin).parent / "envs" / "mujoco" / "assets"
MODELS = {"everything": EVERYTHING, "four_bar": FOUR_BAR} | {
    path.stem: path for path in sorted(GYMNASIUM.glob("*.xml"))
}


def told(robot):
    return {joint.name: (joint.role, joint.limits, joint.gear_ratio) for joint in robot.moving_joints}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_is_saved_is_the_same_model(tmp_path, name):
    robot = neuler.load(MODELS[name])
    path = tmp_path / "saved.xml"
    neuler.save(robot, path, format="MJCF")
    model = switched_off(mujoco.MjModel.from_xml_path(str(path)), "CONSTRAINT")
    again = neuler.load(path)
    found = disagreement(again, model)
    assert max(found.values()) < 1e-9, found
    assert again.joint_names == robot.joint_names
    assert [loop.kind for loop in again.loops] == [loop.kind for loop in robot.loops]
    assert len(again.couplings) == len(robot.couplings)
    assert told(again) == told(robot)
    first, second, q = robot.tree, again.tree, robot.tree.random_configuration(0, 3)
    qd, tau = np.random.default_rng(0).normal(size=(2, 3, first.nv))
    assert np.allclose(second.mass_matrix(q), first.mass_matrix(q), rtol=1e-9, atol=1e-12)
    assert np.allclose(second.bias_force(q, qd), first.bias_force(q, qd), rtol=1e-9, atol=1e-9)
    assert np.allclose(second.forward_dynamics(q, qd, tau), first.forward_dynamics(q, qd, tau), rtol=1e-9, atol=1e-9)
    for key in robot.named_positions:
        assert np.allclose(again.named_positions[key], robot.named_positions[key], atol=1e-15)


@pytest.mark.parametrize("name", ["stanford", "rx90", "four_bar", "five_bar", "slider_crank", "sr400"])
def test_robots_of_the_catalogue(tmp_path, name):
    robot = robots.get(name).without_friction()
    neuler.save(robot, tmp_path / "saved.mjcf")
    again = neuler.load(tmp_path / "saved.mjcf")
    assert again.joint_names == robot.joint_names
    assert told(again) == told(robot)
    assert (again.nv, again.active_names) == (robot.nv, robot.active_names)
    again = again.replace(independent=robot.independent or robot.mobility.independent) if robot.loops else again
    q = robot.random_configuration(0, 3)
    rng = np.random.default_rng(0)
    qd, tau = rng.normal(size=(3, robot.nv)), rng.normal(size=(3, robot.nu))
    assert np.allclose(again.mass_matrix(q), robot.mass_matrix(q), rtol=1e-9, atol=1e-12)
    assert np.allclose(again.forward_dynamics(q, qd, tau), robot.forward_dynamics(q, qd, tau), rtol=1e-9, atol=1e-9)


def test_what_mjcf_has_no_word_for_comes_back(tmp_path):
    arm = robots.two_link().without_friction()
    limits = neuler.Limits(-1.0, 2.0, velocity=3.0, effort=4.0)
    first, second = (dataclasses.replace(joint, limits=limits, gear_ratio=50.0) for joint in arm.joints)
    arm = arm.replace(joints=[first, dataclasses.replace(second, role="passive")], named_positions={"up": [1.5, 0.0]})
    neuler.save(arm, tmp_path / "arm.mjcf")
    again = neuler.load(tmp_path / "arm.mjcf")
    for old, new in zip(arm.moving_joints, again.moving_joints, strict=True):
        assert (new.limits, new.gear_ratio, new.role) == (old.limits, old.gear_ratio, old.role)
    assert again.named_positions == arm.named_positions
