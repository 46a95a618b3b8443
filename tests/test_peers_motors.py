"""Robots with motors beside Pinocchio and MuJoCo: armature where that is all, refused by name where it is not."""

import dataclasses

import numpy as np
import pytest

import neuler
from cli_runs import refused, run
from motor_robots import motor_robot
from neuler import InputError, Joint, Link, Motor, Robot, bench, layouts
from neuler.formats import save
from neuler.peers import mjcf, mujoco_model, pinocchio_model
from random_robots import close

PEERS = ("pinocchio", "mujoco")
VERBS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity_force", "link_poses", "jacobian")
TOLERANCE = 1e-9
pytestmark = pytest.mark.usefixtures("brief")


def simple(seed):
    """Rigid drives with a mass and friction, felt along their joints alone; one is contained in its link."""
    robot = motor_robot(seed, elastic=False, transmission=False).with_simple_motors()
    motors = [dataclasses.replace(motor, viscous=1e-3, friction=neuler.Coulomb(0.1)) for motor in robot.motors]
    motors[0] = dataclasses.replace(motors[0], included=True)
    return robot.replace(motors=motors)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", PEERS)
def test_reflected_inertia_is_armature(name, seed):
    pytest.importorskip(name)
    result = bench.run(simple(seed), verbs=VERBS, batch=20, against=name)
    assert result.without_friction
    errors = {one.quantity: one.peer.error for one in result.measurements}
    assert all(error < TOLERANCE for error in errors.values()), errors


def test_masses_of_motors_are_in_the_mass_centre():
    pytest.importorskip("pinocchio")
    robot = simple(2).with_free_base()
    verbs = ("center_of_mass", "centroidal_momentum", "centroidal_matrix", "link_velocities")
    result = bench.run(robot, verbs=verbs, batch=20, against="pinocchio")
    assert all(one.peer.error < TOLERANCE for one in result.measurements)


@pytest.mark.parametrize(
    ("motor", "message"),
    [
        ({}, "motor 'm' has a rotor that its carrier feels; {} knows armatures only: robot.with_simple_motors()"),
        (
            {"stiffness": 50.0, "coupled": False},
            "motor 'm' turns before a spring; {} knows armatures only",
        ),
        ({"ratio": {"joint1": 3.0, "joint2": 5.0}, "coupled": False}, "motor 'm' drives 'joint2', 'joint1' together"),
    ],
)
@pytest.mark.parametrize("name", PEERS)
def test_other_motors_are_refused_by_name(name, motor, message):
    pytest.importorskip(name)
    fields = {"name": "m", "joint": "joint2", "ratio": 50.0, "inertia": 1e-4, **motor}
    motors = [Motor(**fields), Motor("n", "joint1", 9.0, inertia=1e-5, coupled=False)]
    robot = neuler.robots.two_link().replace(motors=motors)
    convert = {"pinocchio": [pinocchio_model], "mujoco": [mjcf, mujoco_model]}[name]
    for call in (*convert, lambda x: bench.run(x, verbs=["mass_matrix"], batch=4, against=name)):
        with pytest.raises(InputError) as caught:
            call(robot)
        assert message.format(name) in str(caught.value)


def test_a_motor_without_inertia_is_no_obstacle():
    pytest.importorskip("pinocchio")
    robot = neuler.robots.two_link().replace(motors=[Motor("m", "joint2", 50.0, mass=1.0, position=(0.1, 0, 0))])
    result = bench.run(robot, verbs=["inverse_dynamics"], batch=10, against="pinocchio")
    assert result.measurements[0].peer.error < TOLERANCE


def test_a_joint_that_spins_is_refused_by_name():
    pytest.importorskip("pinocchio")
    wheel = Link.from_com("wheel", mass=1.0, inertia=(0.1, 0.1, 0.2))
    robot = Robot("top", [Link("base"), wheel], [Joint("axle", "spin", "base", "wheel")])
    for convert in (pinocchio_model, mujoco_model):
        with pytest.raises(InputError, match=r"joint 'axle': .* has no spin joint; where its body is round"):
            convert(robot)


# ---- layouts --------------------------------------------------------------------------------------------


def test_layouts_of_robots_with_motors():
    rigid, elastic = motor_robot(1, elastic=False), motor_robot(1)
    q = elastic.random_configuration(0, 3)
    own = layouts.pinocchio(elastic)
    close(own.from_q(own.q(q)), q, 1e-15)
    names = [name for name in elastic.joint_names if not name.endswith(".motor")]
    assert layouts.mujoco(rigid, names[::-1]).q(q[:, : rigid.nq]).tolist() == q[:, : rigid.nq][:, ::-1].tolist()
    with pytest.raises(InputError, match=r"no joint 'joint\d.motor'.*motors before springs: take the layout of the"):
        layouts.pinocchio(elastic, names)


def test_a_model_of_reflected_inertia_has_the_robots_layout():
    pin = pytest.importorskip("pinocchio")
    robot = simple(1)
    model = pinocchio_model(robot)
    layout = layouts.pinocchio(robot, model)
    q, qd, qdd = (np.random.default_rng(k).uniform(-1, 1, robot.nv) for k in range(3))
    theirs = pin.rnea(model, model.createData(), layout.q(q), layout.v(qd, q), layout.a(qdd, qd, q))
    close(layout.from_tau(theirs, layout.q(q)), robot.without_friction().inverse_dynamics(q, qd, qdd), 1e-12)


# ---- the command ----------------------------------------------------------------------------------------


def test_bench_on_a_robot_with_motors(capsys, tmp_path):
    robot = neuler.robots.two_link()
    motors = [Motor("m", "joint2", 50.0, inertia=1e-4, included=True, stiffness=200.0)]
    path = tmp_path / "arm.par"
    save(robot.replace(motors=motors), path)
    code, told, err = run(capsys, "bench", path, "--batch", "16", "--verbs", "inverse_dynamics", "mass_matrix")
    assert code == 0, err
    assert "inverse_dynamics" in told
    if pytest.importorskip("pinocchio"):
        told = refused(capsys, "bench", path, "--batch", "16", "--peer", "pinocchio")
        assert "motor 'm' turns before a spring" in told
