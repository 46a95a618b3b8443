"""Robots with motors as text, JSON, pictures and pages; what simpler models of motors neglect."""

import dataclasses
import json
import re

import numpy as np
import pytest

import neuler
from cli_runs import run
from motor_robots import motor_robot
from neuler import Coulomb, Joint, LoadDependent, Motor, Robot
from neuler.formats import save
from neuler.solve.equilibrium import equilibrium, settling
from neuler.solve.modes import modes
from neuler.view import draw, text
from neuler.view.as_json import as_dict
from neuler.view.motors import stiffened
from neuler.view.poses import Placed
from neuler.view.sample_motion import sample_motion
from neuler.view.simpler_models import at_rest, neglected, random_motion
from neuler.view.space import ROTOR, SPRING
from random_robots import close, few
from shown_robots import HOSTILE, bar
from test_draw import corners, joined, polygons
from test_report import images
from test_report_robots import page_of

pytestmark = pytest.mark.usefixtures("brief")


def arm(**more):
    """Two hinges: a rigid drive on the base, an elastic one on the base for the elbow, and a differential behind."""
    joints = [
        Joint("shoulder", "revolute", "base", "a", axis=(0, 1, 0)),
        Joint("elbow", "revolute", "a", "b", neuler.Transform(translation=(0.4, 0, 0)), (0, 1, 0)),
        Joint("pitch", "revolute", "b", "c", neuler.Transform(translation=(0.4, 0, 0)), (0, 1, 0)),
        Joint("roll", "revolute", "c", "d", axis=(1, 0, 0)),
    ]
    motors = [
        Motor("m1", "shoulder", 100.0, inertia=1e-4, included=True),
        Motor(
            "m2", "elbow", -80.0, "base", (0, 1, 0), (1e-4, 1e-4, 2e-4), 0.8, (0.1, 0.05, -0.1),
            stiffness=900.0, damping=2.0, viscous=1e-4, coulomb=0.01, coulomb_reverse=0.02,
        ),
        Motor("m3", "pitch", {"pitch": 50.0, "roll": 50.0}, inertia=2e-5, included=True, friction=Coulomb(0.1)),
        Motor("m4", "roll", {"pitch": 50.0, "roll": -50.0}, inertia=2e-5, included=True, coupled=False),
    ]  # fmt: skip
    links = [neuler.Link("base"), *(bar(name) for name in "abcd")]
    return Robot("arm", links, joints, motors=motors, **more)


# ---- text and data --------------------------------------------------------------------------------------


def test_the_text_tells_every_motor(capsys, tmp_path):
    robot = arm()
    save(robot, tmp_path / "arm.par")
    code, told, _ = run(capsys, "info", tmp_path / "arm.par")
    assert code == 0
    assert told.strip() == text.summary(robot, robot.check()).strip()
    assert "arm: 5 links, 4 joints, 4 motors, 5 coordinates, 4.8 kg" in told
    assert "shoulder: revolute q[0], driven by m1 -> a" in told
    assert "elbow: revolute q[1], driven by m2 through a spring -> b" in told
    assert "roll: revolute q[3], driven by m3, m4 -> d" in told
    assert re.search(r"m1 +shoulder +base +body in its link's data +0 1 0 +100 +0.0001 +1 ", told)
    assert re.search(
        r"m2 +elbow +base +body +0 1 0 +-80 +0.0002 +1.28 +0.8 +900 +2 +elbow.motor, q\[4\] +0.0001 +0.01 / 0.02", told
    )
    assert re.search(r"m3 +pitch, roll +b +.* +50, 50 +2e-05 +0.05, 0.05 .* coulomb: coulomb 0.1", told)
    assert re.search(r"m4 +roll, pitch +c +reflected inertia +1 0 0 +-50, 50", told)


def test_columns_that_say_nothing_are_left_out():
    robot = neuler.robots.two_link().replace(motors=[Motor("m", "joint2", 50, inertia=1e-4)])
    told = text.summary(robot, [])
    line = next(line for line in told.splitlines() if line.startswith("motor "))
    assert re.sub(" +", " ", line) == "motor drives on link counts as axis ratio inertia at the joint"
    assert "motor" not in text.summary(neuler.robots.two_link(), [])


def test_all_of_a_motor_is_in_the_data():
    robot = arm()
    data = json.loads(json.dumps(as_dict(robot, robot.check()), allow_nan=False))
    assert (data["nq"], data["nv"], data["nu"]) == (5, 5, 5)
    motors = {motor["name"]: motor for motor in data["motors"]}
    m1, m2, m4 = (motors[name] for name in ("m1", "m2", "m4"))
    assert (m1["carrier"], m1["axis"], m1["stiffness"], m1["theta"], m1["q"]) == ("base", [0, 1, 0], None, None, None)
    assert (m2["stiffness"], m2["theta"], m2["q"], m2["qd"]) == (900, "elbow.motor", [4, 5], [4, 5])
    assert m2["reflected_inertia"] == {"elbow": pytest.approx(1.28)}
    assert (m2["coulomb"], m2["coulomb_reverse"], m2["mass"], m2["position"]) == (0.01, 0.02, 0.8, [0.1, 0.05, -0.1])
    assert (m4["ratio"], m4["coupled"]) == ({"roll": -50, "pitch": 50}, False)
    assert motors["m3"]["friction"]["law"] == "coulomb"
    assert as_dict(neuler.robots.two_link(), [])["motors"] == []


def test_names_cannot_steer_a_page_or_a_terminal():
    robot = arm()
    robot = robot.replace(motors=[dataclasses.replace(robot.motors[0], name=HOSTILE + "\x1b[2J")])
    assert "\x1b" not in text.summary(robot, robot.check())
    assert HOSTILE not in page_of(robot)
    assert HOSTILE not in robot._repr_html_()


def test_a_notebook_shows_motors():
    found = arm()._repr_html_()
    assert "elbow" in found
    assert re.search(r"m2.*-80.*0.0002.*1.28", found, re.DOTALL)
    assert "<td" in found
    many = neuler.robots.two_link().replace(motors=[Motor(f"m{k}", "joint1", 2.0 + k) for k in range(30)])
    assert "and 6 motors more" in many._repr_html_()


# ---- pictures -------------------------------------------------------------------------------------------


def rotors(ax):
    from matplotlib.colors import to_rgb

    hue = np.array(to_rgb(ROTOR))
    marks = [
        c
        for c in polygons(ax, 5)
        if np.abs(c.get_facecolor()[0, :3] / hue - c.get_facecolor()[0, 0] / hue[0]).max() < 1e-6
    ]
    return [corners(c) for c in marks]


def test_rotors_stand_on_their_carriers_with_lines_to_what_they_drive():
    robot = arm()
    q = np.array([0.3, 0.5, -0.4, 0.2, 0.5])
    ax, placed = draw(robot, q).axes[0], Placed.of(robot, q)
    marks = rotors(ax)
    assert len(marks) == 4
    size = float(np.ptp(placed.points, axis=0).max())
    centre = marks[1].mean(axis=0)
    close(centre, [0.1, 0.05, -0.1], 1e-9, 1.0)  # m2, where it says
    assert joined(ax, np.array([0.1, 0.05, -0.1]), placed.origins[2])
    at = marks[0].mean(axis=0)  # m1 has no place of its own: beside its joint, along the axis
    assert 0.0 < abs(at[1]) < 0.15 * size
    close(at[[0, 2]], [0.0, 0.0], 1e-9, 1.0)
    colours = [line.get_color() for line in ax.lines if line.get_color() in (ROTOR, SPRING)]
    assert sorted(colours) == sorted([ROTOR, SPRING, *[ROTOR] * 4])
    spots = np.array([mark.mean(axis=0) for mark in marks])
    apart = np.linalg.norm(spots[:, None] - spots[None], axis=-1) + np.eye(4)
    assert apart.min() > 0.005 * size


def test_motors_are_within_the_picture_and_do_not_turn_a_flat_robot():
    flat = neuler.robots.four_bar()
    motor = Motor("m", "crank", 40, "coupler", (0, 0, 1), 1e-4, 1.0, (0.3, -0.7, 0.0))
    robot = flat.replace(motors=[motor])
    assert Placed.of(robot).plane == Placed.of(flat).plane == 2
    assert Placed.of(robot.replace(motors=[dataclasses.replace(motor, position=(0, 0, 0.4))])).plane == 2
    ax, place = draw(robot).axes[0], Placed.of(robot).rotors[0, :3, 3]
    for name, x in zip("xyz", place, strict=True):
        low, high = getattr(ax, f"get_{name}lim")()
        assert low < x < high
    assert {"m", "crank", "coupler", "rocker"} <= {part for text in ax.texts for part in text.get_text().split(", ")}


# ---- the page -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_report_on_motors():
    page = page_of(arm())
    for expected in (
        "motors, elastic", "4, 1", "rotor, dotted to its joint", "dotted: through a spring", "driven by m3, m4",
        "body in its link&#x27;s data", "elbow.motor, q[4]", "What simpler models of the motors neglect",
        "reflected inertia alone", "the springs of its drives do not stretch here", "Springs", "hangs at",
    ):  # fmt: skip
        assert expected in page, expected
    assert len(images(page)) == 2 + 4 + 1 + 1  # poses, forces of the joints, sensitivities, what is neglected
    assert "No motor moves" not in page
    assert "neglect" not in page_of(neuler.robots.two_link())


@pytest.mark.slow
@pytest.mark.parametrize(
    "robot",
    [
        pytest.param(
            neuler.robots.four_bar().replace(motors=[Motor("m", "crank", 40, inertia=1e-4, stiffness=900.0)]),
            marks=pytest.mark.slow,
        ),
        pytest.param(motor_robot(2, elastic=False).with_free_base(), marks=pytest.mark.slow),
        neuler.robots.two_link().replace(motors=[
            Motor("m", "joint1", 40, inertia=1e-4, stiffness=500.0, friction=LoadDependent(0.2))
        ]),
    ],
    ids=["loop", "free", "load"],
)  # fmt: skip
def test_report_on_other_robots_with_motors(robot):
    page = page_of(robot)
    assert "What simpler models of the motors neglect" in page
    assert "unphysical" not in page


def test_the_test_motion_takes_motors_behind_springs_along():
    for robot in (arm(), motor_robot(1), motor_robot(3).with_free_base()):
        motion = sample_motion(robot)
        names = list(robot.joint_names)
        starts = np.cumsum([0, *(joint.nq for joint in robot.moving_joints)])
        for joint in robot.moving_joints:
            if joint.series:
                q, theta = (motion.q[:, starts[names.index(name)]] for name in (joint.series[0], joint.name))
                np.testing.assert_array_equal(q, theta)


# ---- springs --------------------------------------------------------------------------------------------


def test_where_a_link_hangs_on_the_spring_of_its_motor_and_how_it_swings():
    link = neuler.Link.from_com("bob", mass=2.0, com=(0.5, 0, 0), inertia=(0.01, 0.02, 0.03))
    hinge = Joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0))
    motor = Motor("m", "hinge", 50.0, inertia=1e-4, included=True, stiffness=200.0)
    robot = Robot("bob", [neuler.Link("base"), link], [hinge], motors=[motor])
    assert settling(robot) == [0]
    q, theta = equilibrium(robot, [0.0, 0.0])
    assert theta == 0.0
    close(200.0 * q, 9.81 * np.cos(q), 1e-9)
    squares, _ = modes(robot, [q, theta])
    inertia = 0.02 + 2.0 * 0.25
    close(squares[0], (200.0 + 9.81 * np.sin(q)) / inertia, 1e-6)
    assert f"{np.sqrt(squares[0]) / (2 * np.pi):.4g}" in page_of(robot)


# ---- what simpler models neglect ------------------------------------------------------------------------


def test_what_is_neglected_of_two_parallel_hinges():
    """The rotor of the second turns with the first link: Hua (24), (27) by hand."""
    n, inertia = 60.0, 3e-4
    motor = Motor("m", "joint2", n, inertia=inertia, included=True)
    robot = neuler.robots.two_link().replace(motors=[motor])
    _, qd, qdd = random_motion(robot, 2048, 0)
    assert np.abs(qd).max() <= 2.0
    assert np.abs(qdd).max() <= 10.0
    found = neglected(robot)
    rms = lambda x: np.sqrt(np.mean(np.square(x)))  # noqa: E731
    a, b = n * inertia * qdd.T
    close(found.simple[0], [rms(b), rms(a)], 1e-10)
    close(found.simple[1], [np.abs(b).max(), np.abs(a).max()], 1e-10)
    close(found.none[0], [rms(b), rms(a + n * b)], 1e-10)
    assert found.units == ("N m", "N m")
    assert (found.simple[0] < found.none[0] + 1e-15).all()


@pytest.mark.parametrize("seed", few(range(3), 1))
def test_motors_at_rest_weigh_the_same(seed):
    robot = motor_robot(seed, elastic=False)
    still = at_rest(robot)
    assert not still.motors
    assert still.mass == pytest.approx(robot.mass, rel=1e-14)
    q = robot.random_configuration(seed, 5)
    close(still.gravity_force(q), robot.gravity_force(q), 1e-12)
    nothing = np.zeros_like(q)
    close(still.inverse_dynamics(q, nothing, nothing), robot.inverse_dynamics(q, nothing, nothing), 1e-12)


@pytest.mark.parametrize("seed", few(range(3), 2))
def test_simple_motors_are_reflected_inertia(seed):
    robot = motor_robot(seed, elastic=False, transmission=False)
    simple = robot.with_simple_motors()
    assert not any(motor.coupled for motor in simple.motors)
    rotors = {motor.joint: motor.ratios[motor.joint] ** 2 * motor.rotor for motor in robot.motors}
    still = at_rest(robot)
    joints = [dataclasses.replace(j, rotor_inertia=rotors.get(j.name, 0.0)) for j in still.joints]
    q, qd, qdd = random_motion(robot, 20, 1)
    other = still.replace(joints=joints)
    close(simple.inverse_dynamics(q, qd, qdd), other.inverse_dynamics(q, qd, qdd), 1e-12)


def test_speeds_keep_the_limits():
    robot = neuler.robots.two_link()
    limits = [neuler.Limits(velocity=0.3), neuler.Limits(velocity=0.0)]
    joints = [dataclasses.replace(j, limits=x) for j, x in zip(robot.joints, limits, strict=True)]
    _, qd, qdd = random_motion(robot.replace(joints=joints), 4000, 0)
    top = np.abs(qd).max(axis=0)
    assert 0.29 < top[0] <= 0.3
    assert 1.9 < top[1] <= 2.0
    assert np.abs(qdd[:, 0]).max() <= 1.5


def test_rigid_drives_in_the_place_of_springs():
    plain = neuler.robots.two_link()
    assert stiffened(plain) is plain
    rigid = stiffened(arm())
    assert rigid.joint_names == ("shoulder", "elbow", "pitch", "roll")
    assert [motor.elastic for motor in rigid.motors] == [False] * 4
