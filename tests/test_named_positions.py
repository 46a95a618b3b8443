"""Positions that have names: what they are checked for, and what happens to them when the robot changes."""

import copy
import pickle

import numpy as np
import pytest

import neuler
from neuler import Coupling, InputError, RobotError, robots
from neuler.files.problems import Problem
from neuler.simulation.problem import read_simulation

HOME = (0.1, -0.2)


@pytest.fixture
def arm():
    return robots.two_link().replace(named_positions={"home": HOME, "up": [1.5, 0.0]})


def test_they_are_values(arm):
    assert list(arm.named_positions) == ["home", "up"]
    assert arm.named_positions["home"].tolist() == list(HOME)
    arm.named_positions["home"][0] = 9.0
    assert arm.named_positions["home"][0] == 0.1
    same = robots.two_link().replace(named_positions={"home": HOME, "up": (1.5, 0.0)})
    assert arm == same == copy.deepcopy(arm) == pickle.loads(pickle.dumps(arm))
    assert hash(arm) == hash(same)
    assert arm.content_hash == same.content_hash != robots.two_link().content_hash
    assert arm != robots.two_link()
    turned = arm.replace(named_positions={"up": [1.5, 0.0], "home": HOME})  # equal robots have equal hashes
    assert (arm == turned) == (arm.content_hash == turned.content_hash) == (hash(arm) == hash(turned))


def test_a_changed_robot_keeps_what_still_makes_sense(arm):
    assert arm.with_free_base().named_positions["home"].tolist() == [0, 0, 0, 0, 0, 0, 1, *HOME]
    assert arm.with_planar_base().named_positions["home"].tolist() == [0, 0, 0, *HOME]
    assert arm.with_fixed({"joint2": 0.3}).named_positions["home"].tolist() == [0.1]
    assert arm.with_gravity((0, 0, -1)).named_positions == arm.named_positions
    led = arm.replace(couplings=[Coupling("joint2", "joint1")])
    assert led.named_positions["home"].tolist() == [0.1]
    assert not led.tree.named_positions  # nothing says where the joint that is free now stands
    assert not arm.replace(named_positions={}).named_positions


def test_a_name_will_do_for_a_state_to_start_from(arm):
    run = neuler.simulate(arm, None, ("home", None), 0.01)
    assert run.q[0].tolist() == list(HOME)
    assert np.allclose(arm.difference("home", "up"), [1.4, 0.2])
    assert arm.rollout("up", np.zeros(2), None, dt=1e-3, steps=1).q.shape == (1, 2)
    strong = neuler.plan.within(neuler.plan.torque, 50.0)
    best = neuler.Plan(arm, neuler.plan.duration(), start="home", goal="up", limits=[strong]).solve()
    assert np.allclose(best.at([0.0, best.duration]).q, [HOME, (1.5, 0.0)])


def test_unknown_names_and_bad_positions_are_refused(arm):
    with pytest.raises(InputError, match="simulate: q0: the robot has no position named 'hme'; it has 'home', 'up'"):
        neuler.simulate(arm, None, ("hme", None), 0.01)
    with pytest.raises(InputError, match="difference: q0 must be"):
        robots.two_link().difference("home", [0, 0])
    with pytest.raises(InputError, match="rollout: qd0 must be"):
        arm.rollout("home", "home", None, dt=1e-3, steps=1)
    free = robots.two_link().with_free_base()
    for given, match in (
        ({"a": [1.0]}, "named position 'a' must be 2 numbers"),
        ({"a": [1.0, np.nan]}, "named position 'a'"),
        ({"a": "x"}, "named position 'a'"),
        ({"": HOME}, "needs a name"),
        ({3: HOME}, "needs a name"),
        ([HOME], "must map names to positions"),
    ):
        with pytest.raises(RobotError, match=match):
            arm.replace(named_positions=given)
    with pytest.raises(RobotError, match="the quaternion of joint 'root_joint' has the length 2"):
        free.replace(named_positions={"a": [0, 0, 0, 0, 0, 0, 2, 0, 0]})
    rounded = free.replace(named_positions={"a": [0, 0, 0, 0, 0, 0.7071, 0.7071, 0, 0]}).named_positions["a"]
    assert np.linalg.norm(rounded[3:7]) == pytest.approx(1.0, abs=1e-15)


def test_problem_files_and_commands_take_names(tmp_path, arm):
    (tmp_path / "arm.mjcf").write_text(
        '<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos="1 0 0"/></body></worldbody>'
        '<keyframe><key name="home" qpos="0.3"/></keyframe></mujoco>'
    )
    text = '[robot]\nfile = "arm.mjcf"\n[simulate]\nduration = 0.01\nq0 = "{}"\n'
    (tmp_path / "run.toml").write_text(text.format("home"))
    task = read_simulation(Problem.read(tmp_path / "run.toml"))
    assert task.run().q[0].tolist() == [0.3]
    (tmp_path / "run.toml").write_text(text.format("hom"))
    with pytest.raises(neuler.FormatError, match=r"q0.*no position named 'hom'; it has 'home'"):
        read_simulation(Problem.read(tmp_path / "run.toml"))
