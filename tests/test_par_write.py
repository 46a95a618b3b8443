"""SYMORO+ files written: what is read again is the same robot."""

import dataclasses
import math
import re
from math import pi

import numpy as np
import pytest

from motor_robots import motor_robot, motor_states
from neuler import (
    Coulomb,
    Coupling,
    Frame,
    Joint,
    Limits,
    Link,
    Loop,
    Motor,
    Polynomial,
    Robot,
    Spline,
    Stribeck,
    Transform,
    robots,
)
from neuler.errors import FormatError
from neuler.formats import khalil
from neuler.formats.par import read, write
from neuler.robot.inertia_matrix import inertia_matrix
from par_files import table
from random_robots import NEARLY, close, few, random_robot, random_states


@pytest.mark.parametrize("name", [name for name in robots.names() if not robots.get(name).loops])
def test_the_catalogue_is_written_without_loss(name):
    robot = robots.get(name)
    text = write(robot)
    found = read(text)
    if name == "shuttle_arm":  # its axes are not z: turned, and turned back
        assert found.joint_names == robot.joint_names
        for a, b in zip(found.links, robot.links, strict=True):
            np.testing.assert_allclose(a.inertia, b.inertia, rtol=1e-15, atol=1e-12)
    else:
        assert found == robot
    assert write(found) == text


def test_a_written_table():
    text = write(robots.rx90())
    for line in (
        "(* Robotname = 'rx90' *)", "NL = 6", "NJ = 6", "NF = 6", "Type = 0", "is_floating = 0",
        "Ant = {0,1,2,3,4,5}", "Sigma = {0,0,0,0,0,0}", "d = {0,0,0.45,0,0,0}", "R = {0,0,0,0.45,0,0}",
        "Alpha = {0,pi/2,0,-pi/2,pi/2,-pi/2}", "Theta = {th1,th2,th3,th4,th5,th6}", "Mu = {1,1,1,1,1,1}",
        "M = {30,25,15,6,2,0.5}", "IA = {3,3,1,0.3,0.3,0.3}", "G = {0,0,-9.81}",
        "Z = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}",
    ):  # fmt: skip
        assert line in text.splitlines()
    assert "neuler" not in text
    slide = write(robots.stanford()).splitlines()
    assert "R = {0.412,0.154,r3,0,0,0.263}" in slide
    assert "Theta = {th1,th2,-pi/2,th4,th5,th6}" in slide


@pytest.mark.parametrize("seed", few(range(25), 8))
def test_any_tree_is_found_again(seed):
    robot = random_robot(seed)
    found = read(write(robot))
    assert found.frame_names == robot.frame_names
    assert found.antecedents == robot.antecedents
    for mine, theirs in zip(found.joints, robot.joints, strict=True):
        close(mine.placement.matrix, theirs.placement.matrix, 1e-14)
        same = {"placement": theirs.placement} if mine.moves else {"placement": theirs.placement, "axis": theirs.axis}
        assert dataclasses.replace(mine, **same) == theirs
    for mine, theirs in zip(found.links, robot.links, strict=True):
        close(mine.inertia_matrix, theirs.inertia_matrix, 1e-14)
        close((mine.mass, *mine.first_moment), (theirs.mass, *theirs.first_moment), 1e-14)
    assert found.frames == robot.frames
    assert found.gravity == robot.gravity


@pytest.mark.parametrize("seed", few(range(25), 8))
def test_the_table_alone_has_the_same_dynamics(seed):
    """What SYMORO+ reads, without the remarks: axes are z, nearly parallel ones have a link between them."""
    robot = random_robot(seed)
    bare = read(table(write(robot)))
    assert all(joint.axis == (0, 0, 1) for joint in bare.joints)
    for six in re.findall(r"^(?:B|R|d) = \{(.*)\}", write(robot), re.MULTILINE):
        assert all(abs(float(x)) < 100 for x in re.findall(r"[\d.]+(?:e-?\d+)?(?![\w.])", re.sub(r"r\d+", "", six)))
    assert bare.nq == robot.nq
    q = random_states(robot, 1, seed)[0][0]
    scale = np.abs(inertia_matrix(robot, q)).max()
    np.testing.assert_allclose(inertia_matrix(bare, q), inertia_matrix(robot, q), atol=1e-13 * scale)


@pytest.mark.parametrize("seed", few(range(5), 2))
def test_torques_are_the_same(seed):
    robot = random_robot(seed)
    state = random_states(robot, 10, seed)
    expected = robot.inverse_dynamics(*state)
    close(read(write(robot)).inverse_dynamics(*state), expected, 1e-12)
    symmetric = robot.replace(joints=[dataclasses.replace(joint, coulomb_reverse=None) for joint in robot.joints])
    close(read(table(write(robot))).inverse_dynamics(*state), symmetric.inverse_dynamics(*state), 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_free_bases_are_written(seed):
    robot = random_robot(seed, 4).with_free_base("float", "ground")
    placement = Transform.from_rpy((1, 2, 3), (0.3, 0.2, 0.1)) if seed else Transform()
    first = dataclasses.replace(robot.joints[0], placement=placement)
    robot = robot.replace(joints=(first, *robot.joints[1:]))
    text = write(robot)
    assert "is_floating = 1" in text
    assert re.search(r"^M = \{[^,}]+(,[^,}]+){4}\}$", text, re.MULTILINE)
    found = read(text)
    assert found.joints[0] == first
    assert found.link_names == robot.link_names
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.normal(size=robot.nq), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    q[3:7] /= np.linalg.norm(q[3:7])
    close(found.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), 1e-12)


@pytest.mark.parametrize("name", ["five_bar", "four_bar", "slider_crank", "sr400"])
def test_mechanisms_are_written(name):
    machine = robots.get(name)
    found = read(write(machine))
    assert (found.name, found.loops, found.active_names) == (machine.name, machine.loops, machine.active_names)
    assert found.reference == machine.reference
    assert found.tree.frames == machine.tree.frames
    for mine, theirs in zip(found.tree.joints, machine.tree.joints, strict=True):
        assert dataclasses.replace(mine, placement=theirs.placement) == theirs
        np.testing.assert_allclose(mine.placement.matrix, theirs.placement.matrix, atol=1e-15)
    bare = read(table(write(machine)))
    assert [(loop.kind, loop.constraints) for loop in bare.loops] == [("revolute", 5)]
    q = np.linspace(0.1, 0.9, machine.tree.nq)
    for end in ("first", "second"):
        poses = [
            m.tree.compile("link_poses", frame=getattr(m.loops[0], end))(q) for m in (bare, machine)
        ]  # fmt: skip
        np.testing.assert_allclose(poses[0][:3, 2:], poses[1][:3, 2:], atol=1e-13)  # the axis and the point


def test_what_the_format_has_no_place_for_is_kept():
    name = "arm *) of 'Noë' (* \\ \"quoted\"\n"
    base = Link("pedestal", 3.0, (1, 2, 3), (4, 5, 6, 0.1, 0.2, 0.3))
    links = [base, Link("upper", 1.0), Link("lower", 1.0), Link("w")]
    joints = [
        Joint("hip *)", "revolute", "pedestal", "upper", axis=(0, 0.6, 0.8), limits=Limits(-1, 2, math.inf, 30),
              gear_ratio=-50, coulomb=0.1, coulomb_reverse=0.2, stiffness=5.0, rest=0.3, role="driven"),
        Joint("knee", "prismatic", "upper", "lower", stiffness=7.0, rest=-0.1),
        Joint("ankle", "fixed", "lower", "w", Transform.from_rpy((0, 0, 1))),
    ]  # fmt: skip
    frames = [Frame("eye (*", "upper", Transform.from_rpy((1, 2, 3), (0.1, 0.2, 0.3)))]
    robot = Robot(name, links, joints, (1, 2, 3), frames, notes=("read from *) somewhere",))
    found = read(write(robot))
    assert (found.name, found.notes, found.frames, found.gravity) == (name, robot.notes, robot.frames, (1, 2, 3))
    assert found.links[0] == robot.links[0]
    assert [dataclasses.replace(j, placement=Transform()) for j in found.joints] == [
        dataclasses.replace(j, placement=Transform()) for j in joints
    ]
    assert "eta = {0,1,0}" in write(robot)
    assert "k = {0,7,0}" in write(robot)


def test_roles_and_couplings_are_kept():
    tree = robots.two_link().with_passive("joint1", "joint2")
    assert read(write(tree)) == tree
    gear = Coupling("joint2", "joint1", -2.5, 1)
    geared = robots.two_link().replace(name="gears", couplings=[gear])
    assert read(write(geared)) == geared
    assert read(table(write(geared))).nv == 2  # SYMORO+ takes both as joints of their own
    loop = robots.five_bar()
    names = [joint.name for joint in loop.joints]
    both = loop.replace(name="other", couplings=[Coupling(names[1], names[0], 0.5)], reference=None)
    found = read(write(both))
    assert (found.couplings, found.name, found.nv) == (both.couplings, "other", both.nv)


@pytest.mark.parametrize(
    "coupling",
    [
        Coupling("joint4", ("joint2", "joint3"), (1.0, -0.5), 0.25),
        Coupling("joint4", "joint3", 2.0, 0.1, function=Polynomial((0.1, 0.2, -0.3))),
        Coupling("joint4", "joint3", function=Spline((0.0, 0.5, 1.0), (0.0, 0.1, 0.4))),
        Coupling("joint4", "joint3", function=Spline((0.0, 0.5, 1.0, 2.0), (0.0, 0.1, 0.4, 0.3), 5)),
    ],
    ids=["several leaders", "polynomial", "spline", "quintic spline"],
)
def test_couplings_of_every_kind_are_kept(coupling):
    robot = robots.rx90().replace(couplings=[coupling, Coupling("joint5", "joint4", -1.0)])
    found = read(write(robot))
    assert found == robot
    state = np.random.default_rng(0).normal(size=(3, robot.nv))
    np.testing.assert_array_equal(found.inverse_dynamics(*state), robot.inverse_dynamics(*state))


def test_independent_joints_are_kept():
    machine = robots.four_bar()
    for name in machine.joint_names:
        other = machine.with_independent(name)
        found = read(write(other))
        assert (found.independent, found.reference) == ((name,), machine.reference)
        assert found.mobility.independent == other.mobility.independent
    assert read(write(machine)).independent is None


def test_nearly_parallel_axes_stay_near():
    far = Transform.from_rpy((0.1, -0.2, 0.3), (NEARLY, 2 * NEARLY, 0.0))
    found = khalil.factors(far)
    assert len(found) == 2
    assert max(abs(x) for six in found for x in six) < 2.0
    whole = khalil.transform(found[0]) @ khalil.transform(found[1])
    np.testing.assert_allclose(whole.matrix, far.matrix, atol=1e-15)
    joint = Joint("hinge", "revolute", "base", "bob", far)
    robot = Robot("arm", [Link("base"), Link("bob", 1.0)], [joint])
    text = write(robot)
    assert "NL = 2" in text
    assert read(text).link_names == ("base", "bob")
    assert read(table(text)).link_names == ("base", "link1", "link2")


@pytest.mark.parametrize("off", [0.0, 1e-200, 1e-12, 1e-9, 1e-6, 1.5e-6, 1e-4, 0.1])
def test_axes_near_minus_z_are_turned_to_exactly(off):
    axis = np.array([off, -0.5 * off, -1.0])
    axis /= np.linalg.norm(axis)
    turn = np.array(khalil.tilt(tuple(axis.tolist())).rotation)
    np.testing.assert_allclose(turn[:, 2], axis, atol=1e-16)
    np.testing.assert_allclose(turn.T @ turn, np.eye(3), atol=1e-15)


@pytest.mark.parametrize("seed", few(range(40), 8))
def test_the_six_parameters_of_any_placement(seed):
    rng = np.random.default_rng(seed)
    quarters = rng.choice([0.0, pi / 2, -pi / 2, pi], 3)
    six = rng.uniform(-1, 1, 6) * rng.integers(0, 2, 6)
    if seed % 2:
        six[[0, 2, 4]] = quarters
    placement = khalil.transform(tuple(six.tolist()))
    found = khalil.factors(placement)
    assert len(found) == 1
    np.testing.assert_allclose(khalil.transform(found[0]).matrix, placement.matrix, atol=2e-15)


def test_what_cannot_be_written_is_refused():
    free = Joint("f", "free", "ground", "body")
    other = Joint("g", "free", "ground", "other")
    hinge = Joint("h", "revolute", "ground", "other")
    links = [Link("ground"), Link("body", 1.0), Link("other", 1.0)]
    loop = robots.four_bar()
    cases = [
        (Robot("two", links, [free, other]), "holds one free link, the base; 'f', 'g' are free"),
        (Robot("beside", links, [free, hinge]), "'ground' carries more than the joint 'f'"),
        (
            loop.replace(loops=[Loop("ball", "spherical", "coupler_tip", "rocker_tip")]),
            "not a spherical one; build",
        ),
        (
            loop.tree.with_free_base().with_frame("hook", "world").replace(
                loops=[Loop("tie", "revolute", "rocker_tip", "hook")]
            ),
            "nothing is joined to the ground 'world'",
        ),
        *(
            (Robot("one", links[:2], [Joint("j", kind, "ground", "body")]), f"joint 'j': .* not a {kind} one; build")
            for kind in ("spherical", "planar", "translation", "helical")
        ),
        (robots.delta(), "joint 'platform': .* not a translation one"),
        (robots.gough_stewart(), "'base' carries more than the joint 'platform'"),
        ("arm", "expected a Robot, got str"),
    ]  # fmt: skip
    for machine, message in cases:
        with pytest.raises(FormatError, match=message):
            write(machine)


@pytest.mark.parametrize("seed", few(range(4), 2))
def test_motors_stand_in_remarks(seed):
    """All of a motor is found again; what SYMORO+ reads is the arm without."""
    robot = motor_robot(seed)
    laws = [None, Stribeck(0.1, 0.2, 3.0), Coulomb(0.1, width=0.5)]
    robot = robot.replace(
        motors=[
            dataclasses.replace(motor, friction=laws[k % 3], viscous=1e-4, coulomb_reverse=0.1, coupled=bool(k % 2))
            for k, motor in enumerate(robot.motors)
        ],
        reference=[0.1 * k for k in range(robot.nq)],
    )
    found = read(write(robot))
    assert found.motors == robot.motors
    assert (found.joint_names, found.reference) == (robot.joint_names, robot.reference)
    assert [joint.role for joint in found.joints] == [joint.role for joint in robot.joints]
    state = motor_states(robot, 2)
    close(found.inverse_dynamics(*state), robot.inverse_dynamics(*state), 1e-12)
    assert read(table(write(robot))).nq == len(robot.replace(motors=()).joint_names)


def test_a_loop_with_a_motor_behind_a_spring():
    four = robots.four_bar()
    robot = four.replace(motors=[Motor("m", "crank", 40, inertia=1e-4, stiffness=200.0)])
    found = read(write(robot))
    assert found.motors == robot.motors
    assert found.joint_names == robot.joint_names
    assert found.nv == robot.nv == 2
