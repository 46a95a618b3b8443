"""Coordinates of Pinocchio and MuJoCo: both ways, and the libraries themselves agree on what they mean."""

import types

import numpy as np
import pytest

import neuler
from free_robots import floating, several, states
from neuler import InputError, layouts, robots
from neuler.peers import mujoco_model, pinocchio_model
from random_robots import close, random_robot, real_files

TOLERANCE = 1e-11


def both_ways(layout, q, v, a):
    """There and back is the identity, batch by batch and one by one; power is the same in both layouts."""
    there = layout.q(q), layout.v(v, q), layout.a(a, v, q), layout.tau(a, q)
    close(layout.from_q(there[0]), q, 1e-14)
    close(layout.from_v(there[1], there[0]), v, 1e-14)
    close(layout.from_a(there[2], there[1], there[0]), a, 1e-14)
    close(layout.from_tau(there[3], there[0]), a, 1e-14)
    close((there[1] * there[3]).sum(axis=-1), (v * a).sum(axis=-1), 1e-13)
    close(layout.a(a[0], v[0], q[0]), there[2][0], 1e-15)
    close(layout.v(v[0], q), layout.v(np.broadcast_to(v[0], v.shape), q), 1e-15)
    return there


def shuffled(robot, seed=0):
    return np.random.default_rng(seed).permutation(robot.joint_names).tolist()


@pytest.mark.parametrize("robot", [random_robot(5), floating(6), several(3)], ids=lambda robot: robot.name)
@pytest.mark.parametrize("library", [layouts.pinocchio, layouts.mujoco])
def test_both_ways(robot, library):
    for names in (None, shuffled(robot)):
        both_ways(library(robot, names), *states(robot, 7, 1))


def test_order_is_that_of_matrices():
    robot = floating(6)
    layout = layouts.pinocchio(robot, shuffled(robot))
    q, v, _ = states(robot, 3)
    there = np.zeros((3, robot.nv))
    there[:, layout.order] = v
    np.testing.assert_array_equal(there, layout.v(v, q))


# ---- Pinocchio ------------------------------------------------------------------------------------------


def file(name):
    found = [path for path in real_files() if path.name == name]
    if not found:
        pytest.skip("example-robot-data is not installed")
    return found[0]


@pytest.mark.parametrize("name", ["bolt.urdf", "kinova.urdf", "double_pendulum_continuous.urdf", "anymal-kinova.urdf"])
@pytest.mark.parametrize("free", [False, True], ids=["fixed", "free"])
def test_pinocchio_as_it_reads_files(name, free):
    """Its order of joints is another one, continuous joints are (cosine, sine)."""
    pin = pytest.importorskip("pinocchio")
    path = file(name)
    robot = neuler.load(path, mimic="independent").without_friction()
    robot = robot.with_free_base() if free else robot
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if free else []))
    data, layout = model.createData(), layouts.pinocchio(robot, model)
    assert layout.nq == model.nq
    q, v, a = states(robot, 10)
    q[:, robot.nq - 1] = np.clip(q[:, robot.nq - 1], -3, 3)
    there = both_ways(layout, q, v, a)
    tau = np.array([pin.rnea(model, data, *state) for state in zip(*there[:3], strict=True)])
    close(layout.from_tau(tau, there[0]), robot.inverse_dynamics(q, v, a), TOLERANCE)
    close(layout.tau(robot.inverse_dynamics(q, v, a), q), tau, TOLERANCE)
    if free:
        moved = np.array([pin.integrate(model, at, 0.5 * rate) for at, rate in zip(*there[:2], strict=True)])
        close(robot.difference(q, layout.from_q(moved))[:, :6], 0.5 * v[:, :6], 1e-12)


# ---- MuJoCo ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", [floating(6), several(3), floating(11)], ids=lambda robot: robot.name)
def test_mujoco_means_the_same(robot):
    """Poses, accelerations and forces of MuJoCo, whose free joints have other axes, orders and seats."""
    mujoco = pytest.importorskip("mujoco")
    robot = robot.without_friction()
    model = mujoco_model(robot)
    data = mujoco.MjData(model)
    names = [robot.joints[int(model.joint(k).name.removeprefix("joint"))].name for k in range(model.njnt)]
    layout = layouts.mujoco(robot, names)
    q, v, a = states(robot, 10)
    tau = robot.inverse_dynamics(q, v, a)
    poses, there = robot.link_poses(q), both_ways(layout, q, v, a)
    scale = float(np.abs(tau).max())
    for k in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = (x[k] for x in there[:3])
        mujoco.mj_inverse(model, data)
        close(layout.from_tau(data.qfrc_inverse, data.qpos), tau[k], TOLERANCE, scale)
        for number in range(len(robot.links)):
            body = model.body(f"link{number}").id
            close(data.xpos[body], poses[k, number, :3, 3], TOLERANCE, scale=1.0)
            close(data.xmat[body].reshape(3, 3), poses[k, number, :3, :3], TOLERANCE, scale=1.0)
        data.qfrc_applied[:] = layout.tau(tau, q)[k]
        mujoco.mj_forward(model, data)
        close(layout.from_a(data.qacc, data.qvel, data.qpos), a[k], 1e-9)


def test_mujoco_integrates_the_same_positions():
    """mj_integratePos takes the velocity of one instant: the linear part straight on, in the world's axes."""
    mujoco = pytest.importorskip("mujoco")
    robot = floating(6).without_friction()
    model, layout, h = mujoco_model(robot), layouts.mujoco(robot), 1e-6
    q, v, _ = states(robot, 1)
    theirs = layout.q(q[0])
    mujoco.mj_integratePos(model, theirs, layout.v(v, q)[0], h)
    close(robot.difference(q[0], layout.from_q(theirs)) / h, v[0], 1e-5)


def test_a_model_is_asked_for_names_and_addresses():
    robot = robots.two_link().with_free_base()
    model = types.SimpleNamespace(
        njnt=3, jnt_type=[3, 0, 3], jnt_qposadr=[0, 1, 8], jnt_dofadr=[0, 1, 7],
        joint=lambda k: types.SimpleNamespace(name=["joint2", "root_joint", "joint1"][k]),
    )  # fmt: skip
    layout = layouts.mujoco(robot, model)
    assert layout.order.tolist() == [1, 2, 3, 4, 5, 6, 7, 0]
    assert layout.q([1, 2, 3, 0.1, 0.2, 0.3, 0.9, 5, 6]).tolist() == [6, 1, 2, 3, 0.9, 0.1, 0.2, 0.3, 5]


# ---- what does not fit ----------------------------------------------------------------------------------

TWO = robots.two_link()


def fake(*joints):
    """A Pinocchio model: (name, nq, nv)."""
    q = v = 0
    made = [types.SimpleNamespace(idx_q=-1, idx_v=-1, nq=0, nv=0)]
    for _, nq, nv in joints:
        made.append(types.SimpleNamespace(idx_q=q, idx_v=v, nq=nq, nv=nv))
        q, v = q + nq, v + nv
    return types.SimpleNamespace(names=["universe", *(name for name, _, _ in joints)], joints=made)


def on_a_link():
    """A free link on a link that moves."""
    joints = [*TWO.joints, neuler.Joint("fly", "free", TWO.tip, "bird")]
    return TWO.replace(links=[*TWO.links, neuler.Link("bird", 1.0)], joints=joints)


def geared():
    return TWO.replace(couplings=[neuler.Coupling("joint2", "joint1", -2.0)])


def test_joints_that_follow_others_have_no_numbers_in_either_library():
    layout = layouts.pinocchio(geared(), fake(("joint2", 0, 0), ("joint1", 1, 1)))
    assert (layout.nq, layout.order.tolist(), layout.q([0.3]).tolist()) == (1, [0], [0.3])
    assert layouts.mujoco(geared(), ["joint1"]).v([0.2], [0.3]).tolist() == [0.2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layouts.pinocchio(TWO, ["joint1"]), "pinocchio: the model has no joint 'joint2'; both need"),
        (lambda: layouts.mujoco(TWO, ["joint1", "joint2", "x"]), "'two_link' has no moving joint 'x'"),
        (lambda: layouts.pinocchio(TWO, ["a", "joint2"]), "no joint 'joint1' and robot 'two_link' has no .* 'a'"),
        (lambda: layouts.pinocchio(TWO, ["joint1", "joint1", "joint2"]), "'joint1' is named twice"),
        (lambda: layouts.pinocchio(TWO, fake(("joint1", 4, 3), ("joint2", 1, 1))), "revolute here, and has 4"),
        (lambda: layouts.pinocchio(TWO, fake(("joint1", 1, 1))), "no joint 'joint2'"),
        (lambda: layouts.pinocchio(TWO).q([0.0]), r"expected q with last axis 2, got shape \(1,\)"),
        (lambda: layouts.pinocchio(TWO).v(["x", 0], [0, 0]), "v must be real numbers"),
        (lambda: layouts.mujoco(TWO.with_free_base()).v(np.zeros((2, 8)), np.zeros((3, 9))), "do not broadcast"),
        (lambda: layouts.pinocchio(robots.four_bar()), "robot 'four_bar' has loops, .* take the layout of robot.tree"),
        (lambda: layouts.mujoco(robots.delta()), "robot 'delta' has loops"),
        (lambda: layouts.mujoco(on_a_link()), "joint 'fly' is free on a link that joint 'joint2' moves; MuJoCo"),
        (lambda: layouts.pinocchio(geared(), fake(("joint1", 1, 1), ("joint2", 1, 1))), "no moving joint 'joint2'"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_pinocchio_models_keep_the_order_and_the_seats_of_free_links():
    pin = pytest.importorskip("pinocchio")
    robot = several(4).without_friction()
    model, layout = pinocchio_model(robot), layouts.pinocchio(robot)
    np.testing.assert_array_equal(layouts.pinocchio(robot, model).order, layout.order)
    q, v, a = states(robot, 5)
    found = [pin.rnea(model, model.createData(), *state) for state in zip(q, v, a, strict=True)]
    close(robot.inverse_dynamics(q, v, a), np.array(found), TOLERANCE)
