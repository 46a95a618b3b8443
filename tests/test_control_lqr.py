"""LQR: the linear motion against differences, Riccati's equation, costs of runs, and robots that fall without it."""

import importlib

import numpy as np
import pytest

import neuler
from control_runs import run
from every_robot import made
from neuler import InputError, Joint, Link, NeulerError, Robot, RobotError, Transform
from neuler.control import LQR
from random_robots import close, few, random_robot, random_states

pytest.importorskip("scipy")


def cart_pole():
    """A pole that stands upright at zero, on a cart that slides along x."""
    links = [
        Link("rail"),
        Link.from_com("cart", mass=1.5, inertia=(0.1, 0.1, 0.1)),
        Link.from_com("pole", mass=0.3, com=(0, 0, 0.5), inertia=(0.02, 0.02, 0.001)),
    ]
    joints = [
        Joint("slide", "prismatic", "rail", "cart", axis=(1, 0, 0), viscous=0.1),
        Joint("hinge", "revolute", "cart", "pole", axis=(0, 1, 0), role="passive"),
    ]
    return Robot("cart_pole", links, joints)


@pytest.mark.parametrize("seed", few(range(4), 1))
def test_the_linear_motion_is_that_of_small_motions(seed):
    robot = random_robot(seed)
    (q0,), _, _ = random_states(robot, 1, seed)
    law = LQR(robot, q0, 1.0, 1.0)
    n, h = robot.nv, 1e-5

    def rate(x, u):
        qdd = robot.without_friction().forward_dynamics(q0 + x[:n], x[n:], law.tau0 + u)
        viscous = np.array([joint.viscous for joint in robot.moving_joints]) * x[n:]
        return np.concatenate([x[n:], qdd - np.linalg.solve(robot.mass_matrix(q0 + x[:n]), viscous)])

    A = np.stack([(rate(h * e, 0.0) - rate(-h * e, 0.0)) / (2 * h) for e in np.eye(2 * n)], axis=-1)
    B = np.stack([(rate(np.zeros(2 * n), h * e) - rate(np.zeros(2 * n), -h * e)) / (2 * h) for e in np.eye(n)], axis=-1)
    close(law.A, A, 1e-7)
    close(law.B, B, 1e-7)


@pytest.mark.parametrize("period", [None, 0.02])
def test_riccatis_equation(period):
    """The cost that is found solves it, the closed loop is stable, and a run costs what it says."""
    robot = cart_pole()
    Q, R = np.diag([10.0, 20.0, 1.0, 1.0]), np.array([[0.1]])
    law = LQR(robot, [0.0, 0.0], Q, R, period)
    P, K = law.cost, law.K
    if period is None:
        A, B = law.A, law.B
        close(A.T @ P + P @ A - P @ B @ K + Q, np.zeros((4, 4)), 1e-9, scale=np.abs(P).max())
        assert np.linalg.eigvals(A - B @ K).real.max() < 0
        start = np.array([0.01, -0.005, 0.0, 0.0])
        q, qd, tau, _ = run(robot, law, start[:2], start[2:], 10.0, 5e-3)
        x = np.concatenate([q, qd], axis=-1)
        paid = 5e-3 * (np.einsum("ki,ij,kj->k", x[:-1], Q, x[:-1]) + 0.1 * tau[:, 0] ** 2).sum()
        assert paid == pytest.approx(start @ P @ start, rel=2e-2)
        return
    n = 400  # of the motion that is held for a period: many short steps, their series to the second order
    step = np.eye(4) + period / n * law.A + (period / n) ** 2 / 2 * law.A @ law.A
    A, B = np.eye(4), np.zeros((4, 1))
    for _ in range(n):
        B = step @ B + (period / n * np.eye(4) + (period / n) ** 2 / 2 * law.A) @ law.B
        A = step @ A
    close(A.T @ P @ A - P - A.T @ P @ B @ K + Q, np.zeros((4, 4)), 1e-6, scale=np.abs(P).max())
    assert np.abs(np.linalg.eigvals(A - B @ K)).max() < 1


@pytest.mark.parametrize("period", [None, 0.02])
def test_a_pole_is_balanced(period):
    robot = cart_pole()
    law = LQR(robot, [0.3, 0.0], [10.0, 10.0, 1.0, 1.0], 0.1, period)
    q0 = np.array([[0.3, 0.25], [0.0, -0.2], [0.5, 0.1]])
    q, qd, tau, _ = run(robot, law, q0, np.zeros((3, 2)), 6.0, 5e-3)
    np.testing.assert_allclose(q[-1], np.broadcast_to([0.3, 0.0], (3, 2)), atol=5e-3)
    assert np.abs(qd[-1]).max() < 5e-3
    np.testing.assert_array_equal(tau[..., 1], 0.0)
    fallen, _, _, _ = run(robot, still(robot), q0, np.zeros((3, 2)), 2.0, 5e-3)
    assert np.abs(fallen[-1, :, 1]).min() > 1.0


def still(robot):
    """No force at all."""

    class Still:
        memory, memory0, period = 0, np.zeros(0), None

        def __call__(self, t, q, qd, memory):
            return np.zeros((*q.shape[:-1], robot.nu)), memory

    return Still()


def test_an_acrobot_stands():
    """Two links upright, driven at the second joint alone."""
    body = Link.from_com("lower", mass=1.0, com=(0, 0, 0.5), inertia=(0.08, 0.08, 0.01))
    links = [Link("base"), body, Link.from_com("upper", mass=1.0, com=(0, 0, 0.5), inertia=(0.08, 0.08, 0.01))]
    joints = [
        Joint("ankle", "revolute", "base", "lower", axis=(0, 1, 0), role="passive"),
        Joint("hip", "revolute", "lower", "upper", Transform(translation=(0, 0, 1.0)), axis=(0, 1, 0)),
    ]
    robot = Robot("acrobot", links, joints)
    law = LQR(robot, [0.0, 0.0], 1.0, 1.0)
    q, qd, tau, _ = run(robot, law, [[0.02, -0.03], [-0.01, 0.0]], np.zeros((2, 2)), 8.0, 5e-3)
    assert np.abs(q[-1]).max() < 1e-3
    assert np.abs(tau[..., 0]).max() == 0.0
    assert np.abs(qd[-1]).max() < 1e-3


@pytest.mark.parametrize("name", ["four_bar", "five_bar"])
def test_loops_are_held(name):
    robot = made(name).without_friction()
    q0 = robot.neutral()
    law = LQR(robot, q0, [*[500.0] * robot.nv, *[1.0] * robot.nv], 1e-3, period=5e-3)
    assert law.B.shape == (2 * robot.nv, robot.nu)
    away = robot.integrate(q0, np.full(robot.nv, 0.01), 1.0)
    q, _, _, _ = run(robot, law, away, np.zeros(robot.nv), 1.0, 5e-3)
    assert np.abs(robot.difference(q0, q[-1])).max() < 2e-4


def test_a_free_body_is_held_by_its_own_wrench_or_not_at_all():
    floating = neuler.robots.puma560().with_free_base()
    with pytest.raises(RobotError, match=r"does not rest at q: .* N m \(or N\) pull at 'root_joint', which no motor"):
        LQR(floating, floating.neutral(), 1.0, 1.0)
    weightless = floating.with_gravity((0, 0, 0))
    with pytest.raises(RobotError, match="no motor reaches a motion of joint 'root_joint' that does not die away"):
        LQR(weightless, weightless.neutral(), 1.0, 1.0)


def planar_arm(*passive):
    """Three links that swing about vertical axes, so that nothing pulls at them."""
    links = [Link("base")]
    joints = []
    for k in (1, 2, 3):
        links.append(Link.from_com(f"link{k}", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)))
        place = Transform(translation=(0.0 if k == 1 else 1.0, 0, 0))
        role = "passive" if f"joint{k}" in passive else "driven"
        parent = links[-2].name
        joints.append(Joint(f"joint{k}", "revolute", parent, f"link{k}", place, axis=(0, 0, 1), role=role))
    return Robot("planar", links, joints)


@pytest.mark.parametrize("period", [None, 0.02])
@pytest.mark.parametrize("passive", ["joint1", "joint2", "joint3"])
def test_the_joint_that_no_motor_reaches_is_named(passive, period):
    """Its momentum stays what it is, and most of that may be of a joint with a motor."""
    with pytest.raises(RobotError, match=f"no motor reaches a motion of joint '{passive}' that does not die away"):
        LQR(planar_arm(passive), [0.1, 0.2, 0.3], 1.0, 1.0, period)


def test_a_spring_that_does_not_rest_is_told_where_it_does():
    """The function that the message names exists, and LQR takes what it gives."""
    robot = neuler.robots.two_link().with_spring("joint2", 300.0)
    with pytest.raises(
        RobotError, match=r"pull at 'joint2', which no motor holds; (neuler\.[a-z_.]+)\(robot, q\) finds"
    ) as raised:
        LQR(robot, [0.3, 0.4], 1.0, 1.0)
    named = str(raised.value).split("; ")[1].split("(")[0]
    module, _, function = named.rpartition(".")
    rest = getattr(importlib.import_module(module), function)(robot, [0.3, 0.4])
    assert LQR(robot, rest, 1.0, 1.0).K.shape == (1, 4)


def test_bad_input(monkeypatch):
    robot = cart_pole()
    for args, message in [
        (([0.0], 1.0, 1.0), "lqr: q must be 2 numbers"),
        (([0.0, 0.0], [1.0, 2.0], 1.0), r"Q must be one number, 4 of them or a matrix \(4, 4\)"),
        (([0.0, 0.0], np.triu(np.ones((4, 4))), 1.0), "Q must be symmetric"),
        (([0.0, 0.0], [-1.0, 1.0, 1.0, 1.0], 1.0), "no state may cost less than nothing"),
        (([0.0, 0.0], 1.0, 0.0), "R must be positive definite"),
        (([0.0, 0.0], 1.0, "dear"), "R must be one number"),
    ]:
        with pytest.raises(InputError, match=message):
            LQR(robot, *args)
    with pytest.raises(
        RobotError, match=r"does not rest at q: 0.292 N m .* pull at 'hinge', which no motor holds; choose q"
    ):
        LQR(robot, [0.0, 0.2], 1.0, 1.0)
    with pytest.raises(RobotError, match="no motor drives robot 'cart_pole'"):
        LQR(robot.with_passive("slide"), [0.0, 0.0], 1.0, 1.0)
    law = LQR(robot, [0.0, 0.0], 1.0, 1.0)
    assert law.reference is None
    np.testing.assert_array_equal(law(0.0, [0.0, 0.0], [0.0, 0.0], None, np.zeros(3)).tau, [0.0, 0.0])  # none is needed
    monkeypatch.setitem(__import__("sys").modules, "scipy", None)
    with pytest.raises(NeulerError, match=r"needs SciPy; install it with: pip install scipy"):
        LQR(robot, [0.0, 0.0], 1.0, 1.0)


@pytest.mark.parametrize("period", [None, 0.01])
@pytest.mark.parametrize("Q", [0.0, [0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0]])
def test_motions_that_cost_nothing_are_refused(Q, period):
    with pytest.raises(RobotError, match="let Q cost"):
        LQR(neuler.robots.two_link(), [0.0, 0.0], Q, 1.0, period)
