"""MJCF files that are written: what stands beside the tree, names, what is refused."""

import dataclasses
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import neuler
from kind_robots import kind_robot
from neuler import (
    Coulomb,
    Coupling,
    FormatError,
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
    layouts,
    robots,
)
from neuler.formats import mjcf_write
from neuler.robot.expand import expand
from random_robots import random_link

mujoco = pytest.importorskip("mujoco")

from mjcf_written import KINDS, agrees, compiled, solid  # noqa: E402

# ---- what stands beside the tree ---------------------------------------------------------------------------


def test_limits_actuators_and_sites():
    arm = robots.two_link().with_frame("eye", "link2", Transform.from_rpy((0.1, 0.2, 0.3), (1, 0, 0)))
    first, second = arm.joints
    arm = arm.replace(
        joints=[
            dataclasses.replace(first, limits=Limits(-1.0, 2.0, 3.0, 40.0), gear_ratio=50.0),
            dataclasses.replace(second, limits=Limits(upper=0.5, effort=7.0), role="passive"),
        ]
    )
    model, data = compiled(arm)
    assert [model.actuator(k).name for k in range(model.nu)] == ["joint1"]
    np.testing.assert_array_equal(model.actuator("joint1").forcerange, [-40.0, 40.0])
    np.testing.assert_array_equal(model.joint("joint1").range, [-1.0, 2.0])
    np.testing.assert_array_equal(model.joint("joint2").range, [-1e10, 0.5])
    np.testing.assert_array_equal(model.jnt_actfrcrange[model.joint("joint2").id], [-7.0, 7.0])
    assert model.jnt_limited.all()
    assert model.numeric("velocity_limit.joint1").data == [3.0]
    assert model.numeric("gear_ratio.joint1").data == [50.0]
    data.ctrl[:] = 3.0
    data.qpos[:] = q = np.array([0.4, -0.3])
    mujoco.mj_forward(model, data)
    np.testing.assert_array_equal(data.qfrc_actuator, [3.0, 0.0])
    np.testing.assert_allclose(data.qacc, arm.forward_dynamics(q, [0, 0], [3.0, 0.0]), rtol=1e-9)
    pose = arm.compile("link_poses", frame="eye")(q)
    np.testing.assert_allclose(data.site("eye").xpos, pose[:3, 3], atol=1e-12)
    np.testing.assert_allclose(data.site("eye").xmat.reshape(3, 3), pose[:3, :3], atol=1e-12)


def test_a_ball_that_is_driven_has_three_actuators():
    ball = Robot(
        "ball", [Link("base"), random_link(np.random.default_rng(3), "body")],
        [Joint("ball", "spherical", "base", "body", limits=Limits(effort=2.0))],
    )  # fmt: skip
    model, data = compiled(ball)
    layout = layouts.mujoco(ball, model)
    q = ball.random_configuration(np.random.default_rng(1))
    tau = np.array([0.5, -1.0, 1.5])
    data.qpos[:], data.ctrl[:] = layout.q(q), tau
    mujoco.mj_forward(model, data)
    assert [model.actuator(k).name for k in range(3)] == ["ball.wx", "ball.wy", "ball.wz"]
    np.testing.assert_allclose(data.qacc, ball.forward_dynamics(q, np.zeros(3), tau), atol=1e-12)


def closed(robot, q):
    """The residuals of MuJoCo's equality constraints at a position."""
    model, data = compiled(robot)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
    found = []
    for each in np.atleast_2d(q):
        data.qpos[:] = mjcf_write._Writer(robot).qpos(each)
        mujoco.mj_forward(model, data)
        found.append(data.efc_pos.copy())
    return model, np.array(found)


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "slider_crank", "sr400", "planar_3rrr", "gough_stewart"])
def test_closed_loops_are_closed_there(name):
    robot = robots.get(name)
    q = robot.random_configuration(np.random.default_rng(2), 3)
    model, residuals = closed(robot, q)
    rows = {"revolute": 6, "spherical": 3, "fixed": 6}
    assert residuals.shape[1] == sum(rows[loop.kind] for loop in robot.loops)
    assert np.abs(residuals).max() < 1e-9
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("reference").id)
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos[: residuals.shape[1]]).max() < 1e-9
    # and an open loop is open
    _, off = closed(robot, q + 0.05)
    assert np.abs(off).max() > 1e-3


def test_a_turn_about_the_axis_is_free_and_no_other():
    """Two connects hold what the revolute cut joint holds: W of the constraints has its rank."""
    robot = robots.four_bar()
    model, _ = closed(robot, robot.mobility.reference)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    mujoco.mj_forward(model, data)
    rank = np.linalg.matrix_rank(data.efc_J.reshape(-1, model.nv), tol=1e-8)
    assert model.nv - rank == robot.mobility.freedoms


def test_a_weld_holds_a_loop_that_is_fixed():
    rng = np.random.default_rng(4)
    links = [Link("base"), *(random_link(rng, f"l{k}") for k in range(2))]
    joints = [Joint("a", "free", "base", "l0"), Joint("b", "revolute", "base", "l1")]
    frames = [Frame("x", "l0", Transform(translation=(1, 0, 0))), Frame("y", "l1", Transform(translation=(0, 1, 0)))]
    robot = Robot("welded", links, joints, frames=frames, loops=[Loop("weld", "fixed", "x", "y")])
    _, residuals = closed(robot, robot.random_configuration(rng, 3))
    assert residuals.shape == (3, 6)
    assert np.abs(residuals).max() < 1e-9


def coupled(*couplings):
    rng = np.random.default_rng(5)
    links = [Link("base"), *(random_link(rng, f"l{k}") for k in range(3))]
    joints = [Joint(f"j{k}", "revolute", links[k].name, links[k + 1].name, axis=(0, 0, 1)) for k in range(3)]
    return Robot("gears", links, joints, couplings=couplings)


def test_couplings():
    quartic = Polynomial((0.1, 0.5, -0.1, 0.2, 0.05))
    robot = coupled(Coupling("j1", "j0", -2.0, 0.3), Coupling("j2", "j1", 1.5, 0.1, quartic))
    model, residuals = closed(robot, [[0.3], [-0.7]])
    assert residuals.shape == (2, 2)
    assert np.abs(residuals).max() < 1e-12
    assert [model.actuator(k).name for k in range(model.nu)] == ["j0"]
    agrees(robot)
    for coupling, what in (
        (Coupling("j2", "j0", function=Spline((0, 1, 2), (0, 1, 3))), "polynomials up to degree 4, .* is a spline"),
        (Coupling("j2", "j0", function=Polynomial((0, 1, 0, 0, 0, 1))), "up to degree 4, and this one is of degree 5"),
    ):
        with pytest.raises(FormatError, match=what):
            mjcf_write.write(coupled(coupling))


def test_a_joint_that_follows_several_is_held_by_a_fixed_tendon():
    robot = coupled(Coupling("j2", ("j0", "j1"), (1.5, -2.0), 0.3))
    _, residuals = closed(robot, [[0.3, 0.1], [-0.7, 1.2]])
    assert residuals.shape == (2, 1)
    assert np.abs(residuals).max() < 1e-12
    assert neuler.load(mjcf_write.write(robot)).couplings == robot.couplings
    agrees(robot)


@pytest.mark.filterwarnings("ignore:.*negative mass")
def test_links_that_cannot_be_count_with_what_they_are_fixed_to():
    place = Transform.from_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    body = Link.from_com("body", mass=5.0, com=(0.1, 0.2, 0.3), inertia=(0.5, 0.6, 0.7))
    flat = Link("flat", 0.1, (0.0, 0.0, 0.0), (1e-3, 1e-3, 3e-3, 0, 0, 0))
    robot = Robot(
        "odd", [Link("base"), body, flat, Link("gone", -0.2, (0.01, 0.0, 0.0))],
        [Joint("hinge", "revolute", "base", "body", axis=(1, 2, 3)), Joint("a", "fixed", "body", "flat", place),
         Joint("b", "fixed", "flat", "gone", place)],
        frames=[Frame("eye", "gone")],
    )  # fmt: skip
    agrees(robot)
    model, data = compiled(robot)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.site("eye").xpos, robot.link_poses([0.0], frame="eye")[:3, 3], atol=1e-12)
    joints = [Joint("root", "free", "world", "flat"), Joint("a", "fixed", "flat", "body", place)]
    agrees(Robot("hull", [Link("world"), flat, body], joints))  # what is fixed to it is behind it


def test_the_reference_is_a_keyframe():
    robot = kind_robot(1, kinds=KINDS).with_free_base()
    reference = robot.random_configuration(np.random.default_rng(1))
    model, data = compiled(robot.replace(reference=reference))
    mujoco.mj_resetDataKeyframe(model, data, model.key("reference").id)
    layout = layouts.mujoco(expand(robot), model)
    np.testing.assert_allclose(data.qpos, layout.q(reference), atol=1e-14)


# ---- names --------------------------------------------------------------------------------------------------

HOSTILE = ["a/b", "a b", ' "q" ', "l'", "<&>", "é漢😀", "a\tb\nc", ".", "x.axis"]


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_comes_out_as_it_is(name):
    rng = np.random.default_rng(6)
    links = [Link(f"{name}0"), random_link(rng, name), random_link(rng, "other")]
    joints = [Joint(name, "revolute", f"{name}0", name), Joint("j2", "revolute", name, "other")]
    frames = [Frame(f"{name}1", name), Frame("back", f"{name}0")]
    loop = Loop(name, "spherical", f"{name}1", f"{name}0")  # its second end is a link
    robot = Robot(name, links, joints, frames=frames, couplings=[Coupling("j2", name)])
    model, _ = compiled(robot)
    assert model.joint(0).name == model.actuator(0).name == name
    assert [model.body(k).name for k in range(4)] == ["world", f"{name}0", name, "other"]
    assert {model.site(k).name for k in range(2)} == {f"{name}1", "back"}
    assert ET.fromstring(mjcf_write.write(robot)).attrib["model"] == name
    model, _ = compiled(robot.replace(couplings=(), loops=[loop], frames=[Frame(f"{name}1", "other")]))
    assert model.equality(0).name == name


def test_the_same_name_in_several_places():
    """Links, joints, frames and loops have names of their own sort; what is made up collides with none."""
    rng = np.random.default_rng(8)
    links = [Link("a"), random_link(rng, "b"), random_link(rng, "c")]
    joints = [Joint("a", "spherical", "a", "b"), Joint("a.wx", "revolute", "b", "c", axis=(1, 0, 0))]
    frames = [Frame("a.first", "c"), Frame("a.second", "b")]
    robot = Robot("a", links, joints, frames=frames, loops=[Loop("a", "revolute", "c", "a")])
    model, _ = compiled(robot)
    for count, of in ((model.nsite, model.site), (model.neq, model.equality), (model.nu, model.actuator)):
        names = [of(k).name for k in range(count)]
        assert len(set(names)) == len(names)


def test_names_that_no_file_holds():
    arm = robots.two_link()
    base, first, second = arm.links
    for robot, what in (
        (arm.replace(name="a\0b"), "robot: its name has a character that no XML file holds; rename it"),
        (arm.replace(frames=[Frame("\ud800", "link2")]), "frame .*: its name has a character"),
        (
            Robot("w", [base, first, dataclasses.replace(second, name="world")],
                  [arm.joints[0], dataclasses.replace(arm.joints[1], child="world")]),
            "link 'world': has the name of MuJoCo's world",
        ),
    ):  # fmt: skip
        with pytest.raises(FormatError, match=what):
            mjcf_write.write(robot)


def test_the_world_is_a_base_without_mass():
    free = solid(robots.two_link()).with_free_base()
    assert free.links[0].name == "world"
    model, _ = compiled(free.with_frame("corner", "world", Transform(translation=(1, 0, 0))))
    assert model.nbody == len(free.links)
    assert model.site("corner").bodyid == 0
    with pytest.raises(FormatError, match="link 'world'"):
        mjcf_write.write(free.replace(links=[Link("world", 1.0), *free.links[1:]]))


# ---- what is refused ------------------------------------------------------------------------------------------


def two(**changes):
    arm = robots.two_link()
    return arm.replace(joints=[dataclasses.replace(arm.joints[0], **changes), arm.joints[1]])


BODY = random_link(np.random.default_rng(9), "body")


@pytest.mark.parametrize(
    ("robot", "what"),
    [
        (lambda: two(kind="helical", pitch=0.1), "joint 'joint1': MuJoCo has no helical joints"),
        (
            lambda: Robot("s", [Link("base"), BODY], [Joint("j", "spin", "base", "body")]),
            "joint 'j': MuJoCo has no spin joint; where its body is round",
        ),
        (lambda: two(coulomb=1.0, coulomb_reverse=2.0), "joint 'joint1': .*1 forward and 2 in reverse"),
        (lambda: two(friction=Stribeck(1.0, 1.5, 0.1)), "joint 'joint1': .* it has Stribeck friction; robot.with_fr"),
        (lambda: two(friction=Coulomb(1.0, width=0.1)), "Coulomb friction with a width"),
        (lambda: two(viscous=-1.0), "joint 'joint1': viscous is -1"),
        (lambda: two(limits=Limits(1.0, 1.0)), "joint 'joint1': its limits, 1 to 1, leave it no way"),
        (lambda: two(limits=Limits(effort=-1.0)), "joint 'joint1': its effort limit is -1"),
        (
            lambda: Robot("b", [Link("base"), BODY], [Joint("b", "spherical", "base", "body", limits=Limits(-1, 1))]),
            "joint 'b': is spherical, and its position limits",
        ),
        (
            lambda: Robot("r", [Link("base"), Link("l", 0.0, (1.0, 0, 0))], [Joint("j", "revolute", "base", "l")]),
            "link 'l': moves without mass",
        ),
        (
            lambda: Robot("r", [Link("base"), Link("l", 0.0, (1.0, 0, 0))], [Joint("j", "fixed", "base", "l")]),
            "link 'l': has a first moment but no mass",
        ),
        (
            lambda: Robot("r", [Link("base"), Link.from_com("l", mass=1.0, inertia=(1, 1, 3))],
                          [Joint("j", "revolute", "base", "l")]),
            "link 'l': no body can have its mass, 1 kg, and principal inertias, 1, 1, 3",
        ),
        (
            lambda: Robot("r", [Link("base"), BODY, dataclasses.replace(BODY, name="top")],
                          [Joint("j", "revolute", "base", "body"), Joint("f", "free", "body", "top")]),
            "joint 'f': MuJoCo lets only the world carry a free joint, and 'body' moves",
        ),
        (
            lambda: robots.two_link().replace(motors=[Motor("m", "joint1", 5.0, inertia=1e-3, stiffness=10.0)]),
            "motor 'm' turns before a spring",
        ),
        (
            lambda: robots.two_link().replace(
                motors=[Motor("m", "joint1", 5.0, inertia=1e-3, coupled=False, friction=Stribeck(1.0, 2.0, 0.1))]
            ),
            "motor 'm': has a friction law",
        ),
    ],
)  # fmt: skip
def test_what_it_cannot_hold_is_refused_by_name(robot, what, tmp_path):
    made = robot()
    with pytest.raises(FormatError, match=what):
        neuler.save(made, tmp_path / "arm.mjcf")
    assert not (tmp_path / "arm.mjcf").exists()


# ---- files ----------------------------------------------------------------------------------------------------


def test_saving(tmp_path):
    arm = robots.rx90()
    for name, more in (("a.mjcf", {}), ("a.xml", {"format": "MJCF"}), ("b.txt", {"format": "mjcf"})):
        neuler.save(arm, tmp_path / name, **more)
        assert mujoco.MjModel.from_xml_path(str(tmp_path / name)).nv == arm.nv
    neuler.save(arm, tmp_path / "u.xml")
    assert neuler.load(tmp_path / "u.xml").joint_names == arm.joint_names  # URDF, as before
    with pytest.raises(FormatError, match=r"option 'format' must be one of URDF, MJCF, SYMORO\+, got 'SDF'"):
        neuler.save(arm, tmp_path / "c.xml", format="SDF")
    with pytest.raises(FormatError, match="expected a Robot, got str"):
        neuler.save("arm", tmp_path / "c.mjcf")
    with pytest.raises(FormatError, match="cannot be written"):
        neuler.save(arm, tmp_path / "no" / "c.mjcf")
