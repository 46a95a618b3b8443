"""``neuler info`` of robots with loops, couplings, free bases, springs and joints of every kind: text and JSON."""

import json
import re

import numpy as np
import pytest

import neuler
from cli_runs import refused, run
from neuler.formats import par
from neuler.view import text
from neuler.view.as_json import as_dict
from random_robots import later
from shown_robots import LOOPS, PARALLEL, all_kinds, elastic, geared


def shown(capsys, *arguments):
    code, out, err = run(capsys, *arguments)
    assert code == 0, err
    return out


def data_of(capsys, name, *more):
    told = shown(capsys, "info", name, "--json", *more)
    return json.loads(told, parse_constant=lambda x: pytest.fail(f"{x} is not JSON"))


@pytest.mark.parametrize("name", later([*LOOPS, *PARALLEL], "delta", "gough_stewart", "orthoglide", "sr400"))
def test_the_mobility_of_every_robot_with_loops(capsys, name):
    robot = neuler.robots.get(name)
    facts = robot.mobility
    data = data_of(capsys, name)
    found = data["mobility"]
    assert (found["freedoms"], found["rank"], found["constraints"]) == (facts.freedoms, facts.rank, facts.constraints)
    assert found["independent"] == list(facts.independent)
    assert data["active_joints"] == [joint.name for joint in robot.joints if joint.role == "driven" and joint.moves]
    assert (data["nq"], data["nv"], data["nu"]) == (robot.nq, robot.nv, robot.nu)
    assert sum(loop["constraints"] for loop in data["loops"]) == facts.constraints
    gap, _ = robot.closure(found["reference"])
    assert np.abs(gap).max() < 1e-12
    told = shown(capsys, "info", name)
    velocities = sum(joint.nv for joint in robot.moving_joints)
    assert f"degrees of freedom  {facts.freedoms} = {velocities} joint velocities - {facts.rank} " in told
    for joint in robot.moving_joints:
        if not joint.type.always_passive:
            place = r"q\[[\d:]+\]" + (r" qd\[[\d:]+\]" if joint.name in facts.independent else "")
            assert re.search(rf"{re.escape(joint.name)}: {joint.kind} {place}, {joint.role} -> ", told)


def test_loops_have_their_frames_their_joints_and_what_is_redundant(capsys):
    told = shown(capsys, "info", "four_bar")
    assert "four_bar: 4 links, 3 joints, 1 loop, 3 positions, 1 velocity, 11 kg" in told
    assert re.search(r"cut +revolute +coupler_tip +coupler +rocker_tip +rocker +crank, coupler, rocker +5", told)
    assert "5, 3 redundant: cut (3)" in told
    assert "rocker: revolute q[2], passive -> rocker (5 kg)" in told


def test_named_positions_are_listed(capsys, tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(
        '<mujoco><worldbody><body name="a"><joint name="j"/><geom size=".1"/></body></worldbody>'
        '<keyframe><key name="home" qpos="0.25"/></keyframe></mujoco>'
    )
    assert re.search(r"position +q\n-+ +-+\nhome +0\.25\n", shown(capsys, "info", path))
    assert data_of(capsys, path)["named_positions"] == {"home": [0.25]}


def test_the_legs_of_a_parallel_robot_are_its_loops(capsys):
    data = data_of(capsys, "gough_stewart")
    assert data["loops"][2]["joints"] == ["leg3.tilt", "leg3.swing", "leg3.slide", "platform"]
    assert data["active_joints"] == [f"leg{k}.slide" for k in range(1, 7)]
    joints = {joint["name"]: joint for joint in data["joints"]}
    assert (joints["platform"]["q"], joints["platform"]["qd"]) == ([0, 7], [0, 6])
    assert (joints["leg1.slide"]["q"], joints["leg1.slide"]["qd"]) == ([9, 10], None)
    told = shown(capsys, "info", "gough_stewart")
    assert re.search(r"leg3 +spherical +leg3.\S+ +leg3.\S+ +platform.leg3 +platform +leg3.tilt, leg3.swing", told)


def test_other_independent_joints_can_be_chosen(capsys):
    told = shown(capsys, "info", "five_bar", "--independent", "left_forearm, right_arm")
    assert "independent joints  left_forearm, right_arm" in told
    assert "left_forearm: revolute q[1] qd[0], passive" in told
    assert "'handle'" in refused(capsys, "info", "five_bar", "--independent", "handle")


def test_a_free_base_counts_positions_and_velocities_apart(capsys):
    told = shown(capsys, "info", "eel")
    assert "13 links, 12 joints, 18 positions, 17 velocities" in told
    assert "root_joint: free q[0:7] qd[0:6] -> head" in told
    assert "yaw11: revolute q[17] qd[16] -> module12" in told
    assert re.search(r"root_joint +free +0:7 +0:6 ", told)
    joints = {joint["name"]: joint for joint in data_of(capsys, "eel")["joints"]}
    assert (joints["root_joint"]["q"], joints["root_joint"]["qd"]) == ([0, 7], [0, 6])
    assert joints["root_joint"]["axis"] is None
    assert (joints["yaw11"]["q"], joints["yaw11"]["qd"], joints["yaw11"]["coordinate"]) == ([17, 18], [16, 17], 17)


def test_every_kind_of_joint_is_told():
    robot = all_kinds()
    told = text.summary(robot, robot.check())
    assert "7 links, 6 joints, 13 positions, 12 velocities" in told
    assert "cart: planar q[0:3] qd[0:3], driven -> a (1 kg)" in told
    assert "hip: spherical q[3:7] qd[3:6], driven" in told
    assert "gantry: translation q[10:13] qd[9:12], passive" in told
    assert re.search(r"bolt +helical +driven +7 +6 +1 0 0 +0.05", told)
    assert "A spherical joint: q is qx, qy, qz, qw; qd is wx, wy, wz in the link's own frame." in told
    assert "A planar joint: q is x, y, angle; qd is their rates." in told
    data = json.loads(json.dumps(as_dict(robot, robot.check()), allow_nan=False))
    joints = {joint["name"]: joint for joint in data["joints"]}
    assert joints["bolt"]["pitch"] == 0.05
    assert joints["hip"]["axis"] is None
    assert joints["cart"]["axis"] == [0.0, 0.0, 1.0]


def test_springs_and_couplings_are_told(capsys, tmp_path):
    (tmp_path / "spring.par").write_text(par.write(elastic()))
    told = shown(capsys, "info", tmp_path / "spring.par")
    assert "elastic, spring 50 from 0.3 -> " in told
    spring = data_of(capsys, tmp_path / "spring.par")["joints"][1]
    assert (spring["role"], spring["stiffness"], spring["rest"]) == ("elastic", 50.0, 0.3)
    urdf = "<robot name='hand'>" + "".join(f"<link name='{x}'/>" for x in "abc")
    for child, parent, mimic in (("b", "a", ""), ("c", "b", "<mimic joint='jb' multiplier='0.5' offset='0.1'/>")):
        urdf += (
            f"<joint name='j{child}' type='continuous'><parent link='{parent}'/><child link='{child}'/>{mimic}</joint>"
        )
    (tmp_path / "hand.urdf").write_text(urdf + "</robot>")
    told = shown(capsys, "info", tmp_path / "hand.urdf")
    assert "3 links, 2 joints, 1 coupling, 1 coordinate" in told
    assert re.search(r"jc +jb +0.5 q \+ 0.1", told)
    assert "jc: revolute, follows jb -> c" in told
    data = data_of(capsys, tmp_path / "hand.urdf")
    assert data["couplings"] == [{"joint": "jc", "of": ["jb"], "ratio": [0.5], "offset": 0.1, "function": None}]
    assert data["joints"][1]["q"] is None
    assert "coupling" not in shown(capsys, "info", tmp_path / "hand.urdf", "--mimic", "independent")


def test_couplings_by_functions_are_told():
    knee = neuler.Coupling("half", "lead", 2.0, function=neuler.Spline((0, 1, 2), (0, 0.5, 0.7)))
    two = neuler.Coupling("rod", ("lead", "half"), (0.1, -0.2), 0.3)
    robot = geared().replace(couplings=(knee, two))
    told = text.summary(robot, robot.check())
    assert re.search(r"half +lead +2 spline\(q\)", told)
    assert re.search(r"rod +lead, half +0.1 q_lead \+ -0.2 q_half \+ 0.3", told)
    assert as_dict(robot, [])["couplings"][0]["function"]["kind"] == "spline"
    json.dumps(as_dict(robot, robot.check()), allow_nan=False)


def test_symbols_of_a_file_get_values_from_the_command_line(capsys, tmp_path):
    path = tmp_path / "arm.par"
    path.write_text(
        "NL = 1\nNJ = 1\nAnt = {0} Sigma = {0} d = {L} R = {0} Alpha = {0} Theta = {t1}\nM = {M1} G = {0,0,-9.81}\n"
    )
    told = data_of(capsys, path, "--value", "L=0.3", "--missing", "zero")
    assert told["joints"][0]["translation"] == [0.3, 0.0, 0.0]
    assert "SYMBOL=NUMBER" in refused(capsys, "info", path, "--value", "L")
    assert "--value or --values is for robot files" in refused(capsys, "info", "four_bar", "--value", "L=1")


def test_loops_that_cannot_be_closed_are_refused_by_every_command(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("neuler.structure.mobility._TRIES", 3)  # it never closes; three guesses tell as much as forty
    path, target = tmp_path / "short.par", tmp_path / "r.html"
    whole = par.write(neuler.robots.four_bar())
    path.write_text(whole.replace("0.675", "20.675"))  # the rocker stands out of reach
    assert path.read_text() != whole
    for command in (("info", path), ("report", path, "-o", target), ("bench", path)):
        error = refused(capsys, *command)
        assert "loops cannot be closed" in error
        assert "stays open by" in error
    assert not target.exists()


@pytest.mark.parametrize("name", ["four_bar", "delta", "puma560"])
def test_every_robot_floats_from_the_command_line(capsys, name):
    told = shown(capsys, "info", name, "--floating")
    robot = neuler.robots.get(name)
    assert "root_joint: free q[0:7] qd[0:6] -> " in told
    data = data_of(capsys, name, "--floating")
    assert (data["nq"], data["nv"]) == (robot.nq + 7, robot.nv + 6)
    if robot.loops:
        np.testing.assert_allclose(data["mobility"]["reference"][:7], [0, 0, 0, 0, 0, 0, 1], atol=1e-12)
        np.testing.assert_allclose(data["mobility"]["reference"][7:], robot.neutral(), atol=1e-12)


def test_a_floating_four_bar_has_one_crank_more_than_its_base(capsys):
    told = shown(capsys, "info", "four_bar", "--floating")
    assert "crank: revolute q[7] qd[6], driven -> crank" in told
    assert "7 = 9 joint velocities - 2 " in told
