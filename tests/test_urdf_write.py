"""URDF files written: read again they are the same robot, to us and to Pinocchio; what they cannot hold is refused."""

import dataclasses

import numpy as np
import pytest

import neuler
from motor_robots import motor_robot, motor_states
from neuler import Coulomb, Coupling, Joint, Limits, Link, Motor, Polynomial, Robot, Transform, robots
from neuler.errors import FormatError
from neuler.formats import load, save
from neuler.formats.urdf_write import write
from random_robots import close, few, random_robot, random_states

EARTH = (0.0, 0.0, -9.81)


def plain(robot):
    """What a file can hold of a random tree."""
    joints = []
    for k, joint in enumerate(robot.joints):
        limits = (Limits(-1.0, 2.0, 3.0, 4.0), Limits(), Limits(velocity=2.0), Limits(lower=-0.5))[k % 4]
        role = {} if joint.type.always_passive or not joint.moves else {"role": "driven"}
        moves = {"limits": limits} if joint.type.has_axis else {}
        joints.append(dataclasses.replace(joint, stiffness=0.0, rest=0.0, coulomb_reverse=None, **role, **moves))
    return robot.replace(joints=joints, gravity=EARTH, frames=())


def alike(found, robot):
    assert (found.name, found.link_names) == (robot.name, robot.link_names)
    assert found.couplings == robot.couplings
    for mine, theirs in zip(found.joints, robot.joints, strict=True):
        close(mine.placement.matrix, theirs.placement.matrix, 1e-14)
        if theirs.type.has_axis:
            close(mine.axis, theirs.axis, 1e-15)
        assert dataclasses.replace(mine, placement=theirs.placement, axis=theirs.axis) == theirs
    for mine, theirs in zip(found.links, robot.links, strict=True):
        close(mine.inertia_matrix, theirs.inertia_matrix, 1e-14)
        close((mine.mass, *mine.first_moment), (theirs.mass, *theirs.first_moment), 1e-14)


@pytest.mark.parametrize("seed", few(range(12), 2))
def test_any_tree_is_found_again(seed):
    robot = plain(random_robot(seed))
    found = load(write(robot))
    alike(found, robot)
    alike(load(write(found)), found)


@pytest.mark.parametrize("seed", few(range(4), 1))
def test_pinocchio_reads_the_same(seed, tmp_path):
    pin = pytest.importorskip("pinocchio")
    robot = plain(random_robot(seed)).without_friction().without_motors()
    robot = robot.replace(links=[Link(robot.links[0].name), *robot.links[1:]])
    save(robot, tmp_path / "arm.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "arm.urdf"))
    layout = neuler.layouts.pinocchio(robot, model)
    q, qd, qdd = (x[0] for x in random_states(robot, 1, seed))
    theirs = pin.rnea(model, model.createData(), layout.q(q), layout.v(qd, q), layout.a(qdd, qd, q))
    close(layout.from_tau(theirs, layout.q(q)), robot.inverse_dynamics(q, qd, qdd), 1e-11)


def test_the_rx90_and_a_free_base():
    for robot in (robots.rx90(), robots.rx90().with_free_base(), robots.stanford().with_planar_base()):
        alike(load(write(robot)), robot)


def test_frames_become_links_and_followers_mimics(tmp_path):
    robot = robots.two_link().replace(frames=(), gravity=EARTH)
    robot = robot.with_frame("tool", "link2", Transform.from_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)))
    robot = robot.replace(couplings=[Coupling("joint2", "joint1", -2.0, 0.3)])
    save(robot, tmp_path / "arm.xml")
    found = load(tmp_path / "arm.xml")
    assert found.link_names == robot.frame_names
    assert found.couplings == robot.couplings
    close(found.link_poses([0.4])[-1], robot.compile("link_poses", frame="tool")([0.4]), 1e-14)


# ---- motors ---------------------------------------------------------------------------------------------

SIMPLE = {"included": True, "coupled": False}


@pytest.mark.parametrize("seed", few(range(4), 1))
def test_reflected_inertia_is_kept(seed):
    robot = motor_robot(seed, elastic=False, transmission=False)
    motors = [dataclasses.replace(motor, **SIMPLE, mass=0.0) for motor in robot.motors]
    robot = robot.replace(motors=motors, gravity=EARTH)
    found = load(write(robot))
    for mine, theirs in zip(found.motors, robot.motors, strict=True):
        assert mine == Motor(theirs.name, theirs.joint, theirs.ratio, inertia=theirs.rotor, **SIMPLE)
    state = motor_states(robot)
    close(found.inverse_dynamics(*state), robot.inverse_dynamics(*state), 1e-12)
    assert load(write(found)).motors == found.motors


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([[40.0, 0.0], [3.0, -70.0]], "FourBarLinkage"),
        ([[-7.0, 50.0], [0.0, 20.0]], "FourBarLinkage"),
        ([[30.0, 20.0], [60.0, -40.0]], "Differential"),
        ([[-31.7, 20.1], [10.3, 10.3 * 20.1 / 31.7]], "Differential"),
    ],
)
def test_two_motors_on_two_joints_are_kept(rows, kind):
    robot = robots.two_link().replace(gravity=EARTH)
    motors = []
    for k, row in enumerate(rows):
        ratio = {f"joint{i + 1}": n for i, n in enumerate(row) if n}
        motors.append(Motor(f"m{k}", f"joint{k + 1}", ratio, inertia=1e-4 * (k + 1), **SIMPLE))
    robot = robot.replace(motors=motors)
    text = write(robot)
    assert f"{kind}Transmission" in text
    found = load(text)
    theirs = {motor.name: motor.ratios for motor in found.motors}
    for motor in robot.motors:
        assert theirs[motor.name] == {name: pytest.approx(n, rel=1e-14) for name, n in motor.ratios.items()}
    state = motor_states(robot)
    close(found.inverse_dynamics(*state), robot.inverse_dynamics(*state), 1e-12)


def two(**motor):
    fields = {"name": "m", "joint": "joint2", "ratio": 50.0, "inertia": 1e-4, **SIMPLE, **motor}
    return robots.two_link().replace(gravity=EARTH, motors=[Motor(**fields)])


def changed(**joint):
    robot = robots.two_link().replace(gravity=EARTH)
    return robot.replace(joints=[robot.joints[0], dataclasses.replace(robot.joints[1], **joint)])


def pair(rows):
    motors = [
        Motor(f"m{k}", f"joint{k + 1}", {"joint1": row[0], "joint2": row[1]}, inertia=1e-4, **SIMPLE)
        for k, row in enumerate(rows)
    ]
    return robots.two_link().replace(gravity=EARTH, motors=motors)


@pytest.mark.parametrize(
    ("robot", "message"),
    [
        (two(stiffness=9.0), "motor 'm': a URDF file holds no motor that drives its joint through a spring"),
        (two(coupled=True), "motor 'm': a URDF file holds no motor that its carrier feels; robot.with_simple_motors"),
        (two(included=False, mass=1.0), "motor 'm': a URDF file holds no motor that is no part of its link's data"),
        (two(viscous=1.0), "motor 'm': a URDF file holds no motor that has friction; give it to the joint"),
        (pair([[3.0, 5.0], [2.0, 7.0]]), "motors 'm0', 'm1': their transmission is neither a differential nor"),
        (changed(stiffness=3.0), "joint 'joint2': a URDF file holds no spring"),
        (changed(friction=Coulomb(1.0, width=0.1)), "joint 'joint2': a URDF file holds no friction law"),
        (changed(coulomb_reverse=3.0), "holds no friction that differs between directions"),
        (changed(role="passive"), "holds no role, and the joint is passive"),
        (changed(kind="helical", pitch=0.1), "joint 'joint2': a URDF file holds no helical joint"),
        (robots.four_bar(), "loop 'cut': a URDF file holds trees; save the robot as .par"),
        (robots.two_link().with_gravity((0, 0, -1.62)), "holds no gravity, and it is"),
        (changed().replace(reference=[0.1, 0.2]), "holds no reference"),
        (changed().replace(couplings=[Coupling("joint2", "joint1", function=Polynomial((0, 1)))]), "by a function"),
        (changed().replace(name="\x1b[2J"), "cannot be written in a URDF file; rename it"),
        (changed().replace(name=" arm"), "cannot be written in a URDF file; rename it"),
        ("arm", "expected a Robot, got str"),
    ],
)
def test_what_cannot_be_written_is_refused(robot, message):
    with pytest.raises(FormatError) as caught:
        write(robot)
    assert message in str(caught.value)


def test_names_are_escaped(tmp_path):
    link = Link.from_com('a"<&>', mass=1.0, inertia=(1, 1, 1))
    robot = Robot("<robot>", [Link("base"), link], [Joint("'j'", "revolute", "base", 'a"<&>')])
    alike(load(write(robot)), robot)


def test_nothing_is_written_where_it_is_refused(tmp_path):
    with pytest.raises(FormatError, match="holds trees"):
        save(robots.four_bar(), tmp_path / "loop.urdf")
    assert not list(tmp_path.iterdir())
    assert np.isfinite(load(write(two())).mass_matrix([0.1, 0.2])).all()
