"""Mimic joints of URDF files as couplings: Pinocchio's own mimic joints, and its whole trees projected."""

import dataclasses

import numpy as np
import pytest

import neuler
from neuler import Coupling, layouts
from random_robots import close, few, real_files

TOLERANCE = 1e-12
NOT_FOR_PINOCCHIO = ("romeo.urdf", "talos_full_v2.urdf", "talos_full_v2_box.urdf")
"""Their mimic joints stand before the joints that lead them, which Pinocchio refuses."""
COUPLED = ("panda.urdf", "baxter.urdf", "panda_collision.urdf", "pr2.urdf", "tiago_pro.urdf", *NOT_FOR_PINOCCHIO)

pin = pytest.importorskip("pinocchio")


def file(name):
    found = [path for path in real_files() if path.name == name]
    if not found:
        pytest.skip("example-robot-data is not installed")
    return found[0]


def bare(robot):
    """Without what Pinocchio does not compute."""
    return robot.without_friction().without_motors()


def states(robot, seed=0, count=5):
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng, count), *rng.normal(size=(2, count, robot.nv))


def symmetric(matrix):
    return np.triu(matrix) + np.triu(matrix, 1).T


def agrees(robot, model):
    """Torques and inertia matrix are those of the model, and direct dynamics inverts them."""
    model.armature[:] = 0.0
    data, layout = model.createData(), layouts.pinocchio(robot, model)
    assert (robot.nv, robot.nu) == (model.nv, model.nv)
    q, qd, qdd = states(robot)
    there = layout.q(q), layout.v(qd, q), layout.a(qdd, qd, q)
    expected = np.array([pin.rnea(model, data, *(x[k] for x in there)) for k in range(len(q))])
    close(robot.inverse_dynamics(q, qd, qdd), layout.from_tau(expected, there[0]), TOLERANCE)
    order = np.ix_(layout.order, layout.order)
    matrices = np.array([symmetric(pin.crba(model, data, row))[order] for row in there[0]])
    close(robot.mass_matrix(q), matrices, TOLERANCE)
    returns(robot, q, qd, qdd)


def returns(robot, q, qd, qdd):
    """Direct dynamics inverts inverse dynamics, to what the condition of the inertia matrix allows."""
    tau = robot.inverse_dynamics(q, qd, qdd)
    lost = np.linalg.cond(robot.mass_matrix(q)).max()
    close(robot.forward_dynamics(q, qd, tau), qdd, 1e-15 * lost + TOLERANCE)


def projected(robot, q, qd, qdd):
    """Torques and inertia matrix from the whole tree, by q = lift(q_own): G^T tau and G^T M G."""
    tree, own = robot.tree, {name: k for k, name in enumerate(robot.joint_names)}
    follows = {coupling.joint: coupling for coupling in robot.couplings}
    lift, shift = np.zeros((tree.nv, robot.nv)), np.zeros(tree.nv)

    def row(name):
        if name in own:
            return np.eye(robot.nv)[own[name]], 0.0
        (leader,), (ratio,) = follows[name].of, follows[name].ratio
        above, before = row(leader)
        return ratio * above, ratio * before + follows[name].offset

    for k, name in enumerate(tree.joint_names):
        lift[k], shift[k] = row(name)
    q_tree = q @ lift.T + shift
    tau = tree.inverse_dynamics(q_tree, qd @ lift.T, qdd @ lift.T) @ lift
    return tau, lift.T @ tree.mass_matrix(q_tree) @ lift


# ---- real robots ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_these_are_all_that_have_mimic_joints():
    if not real_files():
        pytest.skip("example-robot-data is not installed")
    broken = ("ur3.urdf", "alex_psyonic_hands.urdf")  # no link at all; mimics a joint that does not exist
    found = [path.name for path in real_files() if path.name not in broken and neuler.load(path).couplings]
    assert sorted(found) == sorted(COUPLED)


@pytest.mark.parametrize("name", few([name for name in COUPLED if name not in NOT_FOR_PINOCCHIO], 1))
def test_against_pinocchio(name):
    agrees(bare(neuler.load(file(name))), pin.buildModelFromUrdf(str(file(name)), mimic=True))


@pytest.mark.parametrize("name", few(["panda.urdf", "baxter.urdf"], 1))
def test_on_a_free_base_against_pinocchio(name):
    robot = bare(neuler.load(file(name), floating_base=True))
    agrees(robot, pin.buildModelFromUrdf(str(file(name)), pin.JointModelFreeFlyer(), mimic=True))


@pytest.mark.parametrize("name", few(COUPLED, 1))
def test_the_tree_projected(name):
    """Friction and rotors of the joints that follow count too: they come with the ratio."""
    robot = neuler.load(file(name))
    robot = robot.replace(joints=[stiff(joint, k) for k, joint in enumerate(robot.joints)])
    q, qd, qdd = states(robot)
    tau, matrix = projected(robot, q, qd, qdd)
    close(robot.inverse_dynamics(q, qd, qdd), tau, TOLERANCE)
    close(robot.mass_matrix(q), matrix, TOLERANCE)
    returns(robot, q, qd, qdd)


def stiff(joint, k):
    if not joint.type.has_axis:
        return joint
    return dataclasses.replace(joint, viscous=0.1 + 0.01 * k, coulomb=0.2, rotor_inertia=0.03, stiffness=2.0, rest=0.1)


# ---- chains of mimic joints ----------------------------------------------------------------------------

BODY = """<inertial><origin xyz="0.1 0.2 0.05"/><mass value="1.5"/>
<inertia ixx="0.1" iyy="0.12" izz="0.07" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial>"""


def chain(*mimics, kinds="rrrr"):
    """Four joints in a row; ``mimics`` of each: (leader, multiplier, offset), or None."""
    parts = [f'<link name="l0">{BODY}</link>']
    for k, (letter, mimic) in enumerate(zip(kinds, mimics, strict=True), start=1):
        kind = {"r": "revolute", "p": "prismatic"}[letter]
        follows = f'<mimic joint="{mimic[0]}" multiplier="{mimic[1]}" offset="{mimic[2]}"/>' if mimic else ""
        parts.append(
            f'<link name="l{k}">{BODY}</link><joint name="j{k}" type="{kind}"><parent link="l{k - 1}"/>'
            f'<child link="l{k}"/><origin xyz="0.3 0 0.1" rpy="0.4 {0.2 * k} 0"/><axis xyz="0 0.6 0.8"/>'
            f'<limit lower="-2" upper="2" effort="9" velocity="3"/>{follows}</joint>'
        )
    return f'<robot name="chain">{"".join(parts)}</robot>'


@pytest.mark.parametrize("kinds", ["rrrr", "prpr", "rprp"])
def test_a_chain_of_mimics_is_resolved(kinds):
    """j4 of j3 of j2 of j1, in whatever order the file has them."""
    text = chain(None, ("j1", -2, 0.5), ("j2", 0.5, 0.1), ("j3", 3, -0.2), kinds=kinds)
    robot = neuler.load(text)
    assert (robot.joint_names, robot.active_names, robot.nq, robot.nv, robot.nu) == (("j1",), ("j1",), 1, 1, 1)
    assert robot.couplings == (
        Coupling("j2", "j1", -2.0, 0.5),
        Coupling("j3", "j2", 0.5, 0.1),
        Coupling("j4", "j3", 3.0, -0.2),
    )
    direct = robot.tree.replace(
        couplings=[Coupling("j2", "j1", -2, 0.5), Coupling("j3", "j1", -1, 0.35), Coupling("j4", "j1", -3, 0.85)]
    )
    q, qd, qdd = states(robot)
    tau, matrix = projected(robot, q, qd, qdd)
    for one in (robot, direct):
        close(one.inverse_dynamics(q, qd, qdd), tau, TOLERANCE)
        close(one.mass_matrix(q), matrix, TOLERANCE)
    returns(robot, q, qd, qdd)
    behind = neuler.load(chain(("j2", 1, 0), ("j3", -1, 0.2), ("j4", 2, 0), None, kinds=kinds))
    assert behind.joint_names == ("j4",)
    close(behind.inverse_dynamics(q, qd, qdd), projected(behind, q, qd, qdd)[0], TOLERANCE)


def test_options():
    text = chain(None, ("j1", -2, 0.5), None, ("j3", 1, 0))
    assert neuler.load(text) == neuler.load(text, mimic="couple")
    free = neuler.load(text, mimic="independent")
    assert (free.nv, free.couplings) == (4, ())
    assert neuler.load(text).tree.replace(notes=()) == free.replace(notes=())
    with pytest.raises(neuler.FormatError, match="joint 'j2': mimics joint 'j1'"):
        neuler.load(text, mimic="refuse")
