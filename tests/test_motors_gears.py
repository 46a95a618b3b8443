"""Motors: from the motion of links alone, both sides of gears, sparse patterns, and their numbers as parameters."""

import dataclasses
import math

import numpy as np
import pytest

import neuler
from motor_robots import SEEDS, motor_robot, motor_states, transmission
from neuler import Joint, Link, Motor, Robot
from random_robots import along, close, few

each_seed = pytest.mark.parametrize("seed", SEEDS)


# ---- from the links alone ------------------------------------------------------------------------------------


def elastic_arm():
    """A PUMA with springs at joints 3 and 5, their motors on links before them; others rigid."""
    arm = neuler.robots.puma560().without_motors().without_friction()
    links = arm.link_names
    return arm.replace(
        motors=[
            Motor("m3", "joint3", 50, links[1], (0, 0.6, 0.8), 2e-4, stiffness=1e3),
            Motor("m1", "joint1", 60, inertia=2e-4),
            Motor("m5", "joint5", -60, links[2], (1, 0.6, 0.8), 2e-4, stiffness=500),
        ]
    )


def polynomial(seed=0):
    """A motion of six joints by its derivatives, up to the fourth."""
    c = np.random.default_rng(seed).normal(size=(6, 6))

    def motion(t, d):
        return sum(c[k] * t ** (k - d) / math.factorial(k - d) for k in range(d, 6))

    return lambda t: [motion(t, d) for d in range(5)]


def test_motors_follow_from_the_motion_of_links():
    """Theta's rates are those of theta; and the torques make the motion, by direct dynamics."""
    robot, motion = elastic_arm(), polynomial()
    found = robot.elastic_inverse_dynamics(*motion(0.2))
    rates = along(lambda t: np.concatenate(robot.elastic_inverse_dynamics(*motion(t))[:2]), 0.2)
    close(np.concatenate([found.thetad, found.thetadd]), rates, 1e-9)
    q, qd, qdd = motion(0.2)[:3]
    done = robot.forward_dynamics([*q, *found.theta], [*qd, *found.thetad], found.tau)
    close(done, [*qdd, *found.thetadd], 1e-11)
    close(found.tau[[2, 4]], np.zeros(2), 1e-12, scale=np.abs(found.tau).max())


def test_motors_follow_under_a_changing_load():
    robot, motion = elastic_arm().with_frame("tool", "link6"), polynomial(1)
    kernel = robot.compile("elastic_inverse_dynamics", loads=("tool",))
    force = lambda t, d: 5.0 * np.array([np.sin(2 * t + k + d * np.pi / 2) * 2**d for k in range(6)])  # noqa: E731
    at = lambda t: kernel(*motion(t), *(force(t, d) for d in range(3)))  # noqa: E731
    found = at(0.1)
    rates = along(lambda t: np.concatenate(at(t)[:2]), 0.1)
    close(np.concatenate([found.thetad, found.thetadd]), rates, 1e-9)


def test_which_derivatives_are_needed():
    """Of a branch that no spring feels, acceleration is enough."""
    arm = neuler.robots.two_link()
    other = Link.from_com("other", mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
    joint = Joint("branch", "revolute", arm.links[1].name, "other", axis=(0, 1, 0))
    motor = Motor("m", "joint2", 50, arm.links[0].name, (0, 1, 0), 1e-4, stiffness=100.0)
    robot = Robot("tee", [*arm.links, other], [*arm.joints, joint], arm.gravity, motors=[motor])
    assert robot.needed_derivatives() == {"joint1": 4, "joint2": 4, "branch": 2}


def test_springs_that_feel_other_rotors_are_named():
    arm = neuler.robots.two_link()
    motors = [Motor(f"m{k}", f"joint{k}", 50, inertia=1e-4, stiffness=100.0) for k in (1, 2)]
    with pytest.raises(neuler.RobotError, match=r"carried by joint 'joint1'.*beyond the fourth"):
        _ = arm.replace(motors=motors).elastic_inverse_dynamics.operations
    spong = arm.replace(motors=[dataclasses.replace(motor, coupled=False) for motor in motors])
    assert spong.elastic_inverse_dynamics(*np.zeros((5, 2))).theta.shape == (2,)
    damped = arm.replace(motors=[dataclasses.replace(motors[1], damping=1.0)])
    with pytest.raises(neuler.RobotError, match="has damping"):
        _ = damped.elastic_inverse_dynamics.operations
    with pytest.raises(neuler.InputError, match="motors behind springs alone"):
        _ = arm.elastic_inverse_dynamics.operations


# ---- both sides of the gears ---------------------------------------------------------------------------------


@each_seed
def test_power_is_the_same_on_both_sides_of_the_gears(seed):
    robot = motor_robot(seed, elastic=True)
    rng = np.random.default_rng(seed)
    torques, qd = rng.normal(size=(3, len(robot.motors))), rng.normal(size=(3, robot.nv))
    tau = robot.output_torques(torques)
    close((tau * qd).sum(-1), (torques * (qd @ robot.transmission_matrix.T)).sum(-1), 1e-13)
    close(robot.motor_torques(tau), torques, 1e-11)
    close(robot.transmission_matrix, transmission(robot), 1e-15)


def test_sides_of_gears_explain_themselves():
    with pytest.raises(neuler.RobotError, match="has no motors"):
        neuler.robots.two_link().motor_torques([1.0, 2.0])
    robot = motor_robot(0)
    with pytest.raises(neuler.InputError, match="last axis"):
        robot.motor_torques([1.0])
    with pytest.raises(neuler.InputError, match="torques must be real numbers"):
        robot.output_torques(["a"] * 4)


def test_sparse_patterns_follow_the_graph():
    """A rotor on another branch couples two branches; the entries that stay zero are left out."""
    arm = neuler.robots.two_link()
    side = [Link.from_com(f"side{k}", mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1)) for k in range(2)]
    joints = [
        Joint("side0", "revolute", arm.links[0].name, "side0", axis=(0, 1, 0)),
        Joint("side1", "revolute", arm.links[0].name, "side1", axis=(0, 1, 0)),
    ]
    motor = Motor("m", "joint2", 50, "side0", (0, 1, 0), 1e-4)
    robot = Robot("two arms", [*arm.links, *side], [*arm.joints, *joints], arm.gravity, motors=[motor])
    kernel = robot.compile("inverse_dynamics_sensitivities", sparse=True)
    entries = set(zip(*kernel.structure["dtau_dqdd"], strict=True))
    names = list(robot.joint_names)
    pair = names.index("joint2"), names.index("side0")
    assert pair in entries
    assert pair[::-1] in entries
    assert (names.index("side1"), names.index("joint1")) not in entries


# ---- parameters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("included", [False, True])
@pytest.mark.parametrize("seed", few([0, 1, 2], 1))
def test_numbers_of_motors_are_parameters(seed, included):
    """As inputs they give what robots with these numbers give."""
    robot = motor_robot(seed)
    robot = robot.replace(
        motors=[dataclasses.replace(motor, included=included, coulomb=1e-3) for motor in robot.motors]
    )
    elastic = [motor.name for motor in robot.motors if motor.elastic]
    names = [f"{motor.name}.{part}" for motor in robot.motors for part in ("inertia", "viscous", "coulomb")]
    names += [f"{name}.{part}" for name in elastic for part in ("stiffness", "damping")]
    names += [] if included else [f"{motor.name}.mass" for motor in robot.motors]
    values = np.random.default_rng(seed).uniform(0.5, 1.5, len(names))
    values = np.where([name.endswith("inertia") for name in names], 1e-3 * values, values)
    changes = {motor.name: {} for motor in robot.motors}
    for name, value in zip(names, values, strict=True):
        motor, _, part = name.rpartition(".")
        old = next(each for each in robot.motors if each.name == motor)
        changes[motor][part] = (*old.inertia[:2], value) if part == "inertia" else value
    other = robot.replace(motors=[dataclasses.replace(motor, **changes[motor.name]) for motor in robot.motors])
    state = motor_states(robot)
    kernel = robot.compile("inverse_dynamics", parameters=names)
    close(kernel(*state, values), other.inverse_dynamics(*state), 1e-12)
    direct = robot.compile("forward_dynamics", parameters=names)
    tau = other.inverse_dynamics(*state)
    close(direct(state[0], state[1], tau, values), state[2], 1e-9)


def test_numbers_that_are_no_parameters_are_named():
    arm = neuler.robots.two_link()
    robot = arm.replace(
        motors=[Motor("m", "joint2", 50, inertia=1e-4, coupled=False), Motor("n", "joint1", 50, inertia=1e-4)]
    )
    for name, message in (
        ("m.inertia", "no rotor of its own"),
        ("n.stiffness", "has no spring"),
        ("n.mass", "no mass"),
        ("n.speed", "none called"),
    ):
        with pytest.raises(neuler.InputError, match=message):
            _ = robot.compile("inverse_dynamics", parameters=name).inputs


@pytest.mark.parametrize("name", few(["five_bar", "delta", "sr400"], 1))
def test_springs_in_drives_of_loops_keep_the_robots_own_velocities(name):
    """Independent stay those of the rigid robot, then theta; the energy of a motion without forces is kept."""
    rigid = getattr(neuler.robots, name)().without_friction()
    driven = [joint.name for joint in rigid.moving_joints if joint.role == "driven"]
    motors = [Motor(f"m{k}", joint, 20.0 + k, inertia=1e-3, stiffness=3000.0) for k, joint in enumerate(driven)]
    elastic = rigid.replace(motors=motors)
    assert elastic.mobility.independent == (*rigid.mobility.independent, *(f"{joint}.motor" for joint in driven))
    q, qd = elastic.neutral(), 0.05 * np.random.default_rng(0).normal(size=elastic.nv)
    found = elastic.rollout(q, qd, np.zeros((1, elastic.nu)), 2e-5, 500)
    first, last = elastic.energy(q, qd), elastic.energy(found.q[-1], found.qd[-1])
    moved = elastic.energy(found.q, found.qd).kinetic.max()
    assert abs(sum(last) - sum(first)) < 1e-9 * moved
