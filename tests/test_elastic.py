"""Springs, elastic and passive joints: against dense algebra, closed forms, MuJoCo and what energy does."""

import itertools
import math

import numpy as np
import pytest

from free_robots import (
    dense_hybrid,
    floating,
    given_motion,
    hard,
    motion,
    simulate,
    smooth,
    springs,
    springy,
    states,
)
from neuler import Joint, Link, Robot, RobotError
from neuler.peers import mujoco_model
from random_robots import along, close, few, random_robot

SEEDS = range(300, 312)


def pull(robot, q):
    """K (q - rest), written from the definition: Khalil (69), (70)."""
    stiffness, rest, where = springs(robot)
    return stiffness * (q[..., where] - rest)


@pytest.fixture(params=[False, True], ids=["fixed", "free"])
def free(request):
    return request.param


def falling(robot):
    """Accelerations with no motor at work."""
    return lambda t, q, v: robot.forward_dynamics(q, v, np.zeros(robot.nv))


# ---- Khalil 6 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few(SEEDS, 2))
def test_three_passes_are_the_dense_solution(seed, free):
    """(67)-(71), with springs, friction and rotors: any mixture of driven, elastic and passive joints."""
    robot = springy(seed, free)
    q, v, a = states(robot, 6, seed)
    told = given_motion(robot)
    given = np.where(told, a, 0.0)
    mass, bias = robot.mass_matrix(q), hard(robot).bias_force(q, v) + pull(robot, q)
    found = robot.hybrid_dynamics(q, v, given)
    for k in range(len(q)):
        expected = dense_hybrid(mass[k], bias[k], given[k], told)
        scale = max(float(np.abs(expected).max()), float(np.abs(bias[k]).max()))
        close(found[k], expected, 1e-11, scale)


def test_the_mixtures_are_mixed():
    roles = [[joint.role for joint in springy(seed).moving_joints] for seed in SEEDS]
    assert {role for row in roles for role in row} == {"driven", "passive", "elastic"}
    assert any(row.index("elastic") < row.index("driven") for row in roles if {"elastic", "driven"} <= set(row))
    assert any(row.index("driven") < row.index("passive") for row in roles if {"passive", "driven"} <= set(row))
    assert any(joint.role == "elastic" and joint.rotor_inertia for s in SEEDS for joint in springy(s).moving_joints)
    assert any(joint.role == "elastic" and joint.coulomb for s in SEEDS for joint in springy(s).moving_joints)


@pytest.mark.parametrize("seed", few(SEEDS[:3], 1))
def test_springs_in_every_verb(seed, free):
    """K (q - rest) in forces, half K (q - rest)^2 in the energy, nothing in the matrices."""
    robot, bare = springy(seed, free), hard(springy(seed, free))
    q, v, a = states(robot, 5, seed)
    stiffness, _, _ = springs(robot)
    tau, force = robot.inverse_dynamics(q, v, a), pull(robot, q)
    close(tau, bare.inverse_dynamics(q, v, a) + force, 1e-12)
    close(robot.bias_force(q, v), bare.bias_force(q, v) + force, 1e-12)
    close(robot.gravity_force(q), bare.gravity_force(q) + force, 1e-12)
    np.testing.assert_array_equal(robot.mass_matrix(q), bare.mass_matrix(q))
    np.testing.assert_array_equal(robot.coriolis_matrix(q, v), bare.coriolis_matrix(q, v))
    _, potential = robot.energy(q, v)
    stored = 0.5 * np.divide(force**2, stiffness, out=np.zeros_like(force), where=stiffness > 0).sum(axis=-1)
    close(potential, bare.energy(q, v)[1] + stored, 1e-12)
    slope = along(lambda t: robot.energy(robot.integrate(q[0], np.eye(robot.nv), t), np.zeros(robot.nv))[1])
    close(slope, robot.gravity_force(q[0]), 1e-9)
    matrices = robot.mass_matrix(q)
    for method in ("articulated", "walker_orin") if free else ("articulated", "walker_orin", "nasser"):
        back = robot.compile("forward_dynamics", method=method)(q, v, tau)
        for mine, expected, matrix in zip(back, a, matrices, strict=True):
            close(mine, expected, max(1e-11, 1e-15 * float(np.linalg.cond(matrix))), what=method)


@pytest.mark.parametrize("seed", few([300, 303], 1))
def test_springs_in_sensitivities(seed, free):
    robot, bare = springy(seed, free), hard(springy(seed, free))
    q, v, a = states(robot, 3, seed)
    stiffness, _, _ = springs(robot)
    found, plain = (each.inverse_dynamics_sensitivities(q, v, a) for each in (robot, bare))
    close(found[0], plain[0] + np.diag(stiffness), 1e-12)
    close(found[1], plain[1], 1e-13)
    close(found[2], plain[2], 1e-13)
    tau = robot.inverse_dynamics(q, v, a)
    direct = robot.forward_dynamics_sensitivities(q, v, tau)
    close(direct[0], -np.linalg.solve(found[2], found[0]), 1e-9)
    close(direct[1], -np.linalg.solve(found[2], found[1]), 1e-9)


@pytest.mark.parametrize("seed", few([301, 304], 1))
def test_springs_in_rates(seed, free):
    robot = smooth(springy(seed, free))
    path = motion(robot, seed)
    tau, first, second = robot.compile("inverse_dynamics_rate", order=2)(*path(0.0))
    close(tau, robot.inverse_dynamics(*path(0.0)[:3]), 1e-13)
    close(first, along(lambda t: robot.inverse_dynamics(*path(t)[:3])), 1e-9)
    close(second, along(lambda t: robot.inverse_dynamics_rate(*path(t)[:4])[1]), 1e-9)


# ---- stiff springs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few([308, 306, 309], 1))
def test_stiff_springs_tend_to_the_rigid_robot(seed):
    """A spring that bends just so much that its joint stays put (qdd = 0): the other torques are off by c / K.

    The bend is where K dq balances the load; with it the torques tend to those with the joint locked.
    """
    base = hard(random_robot(seed))
    names = base.joint_names[::2]
    q, v, a = (x[0] for x in states(base, 1, seed))
    soft = np.array([name in names for name in base.joint_names])
    v, a = np.where(soft, 0.0, v), np.where(soft, 0.0, a)  # a rigid joint does not move
    rigid = base.inverse_dynamics(q, v, a)
    errors = []
    for stiffness in (1e3, 1e5, 1e7, 1e9):
        robot = base
        for name in names:
            robot = robot.with_spring(name, stiffness, rest=float(q[base.joint_names.index(name)]))
        bent = q.copy()
        for _ in range(60):
            bent = q - np.where(soft, base.inverse_dynamics(bent, v, a), 0.0) / stiffness
        found = robot.hybrid_dynamics(bent, v, np.where(soft, 0.0, a))
        close(found[soft], np.zeros(soft.sum()), 1e-6, scale=max(1.0, 1e-7 * stiffness))
        errors.append(np.abs(found - rigid)[~soft].max())
        assert np.abs(bent - q).max() < 2 * np.abs(rigid).max() / stiffness
    assert errors[0] < 0.2 * np.abs(rigid).max()
    for softer, stiffer in itertools.pairwise(errors[:3]):
        assert 50 < softer / stiffer < 200  # a hundredth for a hundred times the stiffness
    assert errors[3] < 1e-6 * np.abs(rigid).max()


def test_a_stiff_spring_shakes_little():
    """Let go at rest under gravity: the arm sags by 2 m g l / K at most and keeps its energy."""
    for stiffness in (1e4, 1e6):
        arm = Robot(
            "bar",
            [Link("base"), Link.from_com("bar", mass=2.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))],
            [Joint("hinge", "revolute", "base", "bar", axis=(0, 1, 0), stiffness=stiffness)],
        )
        period = 2 * math.pi * math.sqrt(0.6 / stiffness)
        q, _ = simulate(arm, falling(arm), np.zeros(1), np.zeros(1), period / 2, 50)
        close(q, [2 * 2.0 * 9.81 * 0.5 / stiffness], 1e-2)


# ---- closed forms ---------------------------------------------------------------------------------------


def oscillator(m1, m2, k1, k2):
    """Two masses on a line: wall - k1 - m1 - k2 - m2; the second coordinate is relative to the first."""
    links = [Link("wall"), Link.from_com("a", mass=m1), Link.from_com("b", mass=m2)]
    joints = [
        Joint("s1", "prismatic", "wall", "a", axis=(1, 0, 0), stiffness=k1),
        Joint("s2", "prismatic", "a", "b", axis=(1, 0, 0), stiffness=k2, rest=0.3),
    ]
    return Robot("oscillator", links, joints)


def test_natural_frequencies_of_two_masses():
    """m1 m2 w^4 - (m1 k2 + m2 (k1 + k2)) w^2 + k1 k2 = 0, from the matrices and from the sensitivities at rest."""
    m1, m2, k1, k2 = 2.0, 0.7, 30.0, 11.0
    robot = oscillator(m1, m2, k1, k2)
    rest = np.array([0.0, 0.3])
    np.testing.assert_array_equal(robot.forward_dynamics(rest, np.zeros(2), np.zeros(2)), np.zeros(2))
    squares = np.sort(np.roots([m1 * m2, -(m1 * k2 + m2 * (k1 + k2)), k1 * k2]))
    stiffness = np.diag([joint.stiffness for joint in robot.joints])
    close(np.sort(np.linalg.eigvals(np.linalg.solve(robot.mass_matrix(rest), stiffness))), squares, 1e-13)
    dq, _, _ = robot.forward_dynamics_sensitivities(rest, np.zeros(2), np.zeros(2))
    close(np.sort(np.linalg.eigvals(-dq)), squares, 1e-13)


def test_two_masses_swing_at_a_natural_frequency():
    robot = oscillator(2.0, 0.7, 30.0, 11.0)
    rest = np.array([0.0, 0.3])
    values, modes = np.linalg.eig(np.linalg.solve(robot.mass_matrix(rest), np.diag([30.0, 11.0])))
    for square, mode in zip(values, modes.T, strict=True):
        period = 2 * math.pi / math.sqrt(square)
        q, v = simulate(robot, falling(robot), rest + 0.1 * mode, np.zeros(2), period, 200)
        close(q, rest + 0.1 * mode, 1e-7)
        close(v, np.zeros(2), 1e-6, scale=1.0)


def test_a_driven_joint_with_a_spring_is_helped_by_it():
    """A balanced arm: the motor holds what the spring does not."""
    arm = Robot(
        "arm",
        [Link("base"), Link.from_com("bar", mass=2.0, com=(0.5, 0, 0))],
        [Joint("hinge", "revolute", "base", "bar", axis=(0, 1, 0))],
    )
    helped = arm.with_spring("hinge", 30.0, rest=0.2, role="driven")
    assert helped.joints[0].role == "driven"
    still = np.zeros(1)
    close(helped.inverse_dynamics(still, still, still), [-9.81 + 30.0 * (0.0 - 0.2)], 1e-14)
    close(helped.hybrid_dynamics(still, still, still), helped.inverse_dynamics(still, still, still), 1e-15)


# ---- energy ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few([302, 307], 1))
def test_energy_is_kept_springs_included(seed, free):
    """Up to the method's error, which falls by 16 (or more) when the step is halved."""
    robot = smooth(springy(seed, free))
    assert any(joint.stiffness for joint in robot.joints)
    q, v, _ = (x[0] for x in states(robot, 1, seed))
    start, duration = sum(robot.energy(q, v)), 0.1
    drifts = []
    for steps in (40, 80, 320):
        end = simulate(robot, falling(robot), q, v, duration, steps)
        drifts.append(abs(sum(robot.energy(*end)) - start) / abs(start))
    assert drifts[0] / drifts[1] > 10
    assert drifts[2] < 1e-7
    without = hard(robot)
    assert abs(sum(without.energy(*end)) - sum(without.energy(q, v))) > 1e-3 * abs(start)  # the springs took part


# ---- a library nobody here wrote ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [300, 305, 309])
def test_mujoco_agrees_on_springs(seed):
    mujoco = pytest.importorskip("mujoco")
    robot = smooth(springy(seed))
    model = mujoco_model(robot)
    for k, joint in enumerate(robot.joints):
        if joint.moves:
            number = model.joint(f"joint{k}").id
            model.jnt_stiffness[number] = joint.stiffness
            model.qpos_spring[model.jnt_qposadr[number]] = joint.rest
    data = mujoco.MjData(model)
    q, v, a = states(robot, 10, seed)
    tau = robot.inverse_dynamics(q, v, a)
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        close(data.qfrc_inverse, tau[k], 1e-10)


# ---- who moves a joint ----------------------------------------------------------------------------------


def test_roles_and_their_errors():
    robot = random_robot(310)
    name = robot.joint_names[0]
    assert robot.with_spring(name, 5.0).moving_joints[0].role == "elastic"
    assert robot.with_passive(name).moving_joints[0].role == "passive"
    with pytest.raises(RobotError, match="has no moving joint 'x'"):
        robot.with_spring("x", 5.0)
    with pytest.raises(RobotError, match="stiffness must not be negative"):
        robot.with_spring(name, -1.0)
    with pytest.raises(RobotError, match="an elastic joint needs a stiffness"):
        robot.with_spring(name, 0.0)
    with pytest.raises(RobotError, match="a free joint has no stiffness"):
        floating(310).with_spring("root_joint", 5.0, role="passive")
    with pytest.raises(RobotError, match="a free joint is passive, it cannot be driven"):
        Joint("j", "free", "a", "b", role="driven")


def test_a_passive_pendulum_on_a_driven_cart():
    """The cart is told its acceleration a: the pendulum swings by l qdd = -a cos q - g sin q, the motor feels both."""
    length, mass, cart, g = 0.8, 0.5, 2.0, 9.81
    robot = Robot(
        "cart",
        [Link("rail"), Link.from_com("cart", mass=cart), Link.from_com("bob", mass=mass, com=(0, 0, -length))],
        [
            Joint("wheel", "prismatic", "rail", "cart", axis=(1, 0, 0)),
            Joint("hinge", "revolute", "cart", "bob", axis=(0, -1, 0), role="passive"),
        ],
    )
    x, angle, rate, push = 0.3, 0.4, -1.2, 2.5
    found = robot.hybrid_dynamics([x, angle], [0.1, rate], [push, 0.0])
    swing = (-push * math.cos(angle) - g * math.sin(angle)) / length
    force = (cart + mass) * push + mass * length * (swing * math.cos(angle) - rate**2 * math.sin(angle))
    close(found, [force, swing], 1e-13)
