"""Laws of mechanics on seeded random trees.

``close`` scales an error by the largest expected number of the batch. Identities that are exact in
exact arithmetic are held to 1e-12; what rests on a difference quotient states its own tolerance.
"""

import dataclasses

import numpy as np
import pytest

from neuler import Joint, Link, Robot, RobotError, Transform
from neuler.passes.fuse import fuse
from physics_cases import (
    EVERYDAY,
    EXACT,
    QUOTIENT,
    SEEDS,
    case,
    each,
    often,
    on_floats,
    trees,
)
from random_robots import (
    NEARLY,
    along,
    close,
    friction_of,
    random_robot,
    random_states,
    random_transform,
    rotors_of,
)


def test_the_seeds_cover_what_others_forget():
    robots = [random_robot(seed) for seed in SEEDS[:EVERYDAY]]
    joints = [joint for robot in robots for joint in robot.joints]
    assert {joint.kind for joint in joints} == {"revolute", "prismatic", "fixed"}
    assert any(joint.rotor_inertia for joint in joints)
    assert any(not joint.rotor_inertia for joint in joints if joint.moves)
    assert any(joint.viscous for joint in joints)
    assert any(joint.coulomb_reverse not in (None, joint.coulomb) for joint in joints)
    assert any(not joint.moves for robot in robots for joint in robot.joints[-1:])
    assert any(len(set(robot.antecedents)) < len(robot.joints) for robot in robots)
    assert any(not link.mass for robot in robots for link in robot.links)
    assert all(robot.links[0].mass for robot in robots)
    assert any(robot.gravity == (0, 0, -9.81) for robot in robots)
    assert any(robot.gravity[0] for robot in robots)
    bends = []
    for robot in robots:
        carried = {joint.child: joint for joint in robot.joints}
        for joint in robot.moving_joints:
            above = carried.get(joint.parent)
            if above is not None and above.moves:
                bends.append(np.linalg.norm(np.cross(above.axis, np.array(joint.placement.rotation) @ joint.axis)))
    assert min(bends) < 1e-15
    assert any(1e-12 < bend < 2 * NEARLY for bend in bends)
    assert max(bends) > 0.1


# ---- inverse and forward dynamics ----------------------------------------------------------------------


@each
def test_forward_dynamics_undoes_inverse_dynamics(seed):
    robot, q, qd, qdd = case(seed)
    tau = robot.inverse_dynamics(q, qd, qdd)
    close(robot.forward_dynamics(q, qd, tau), qdd, EXACT)
    close(robot.inverse_dynamics(q, qd, robot.forward_dynamics(q, qd, tau)), tau, EXACT)


@each
def test_forward_methods_agree(seed):
    robot, q, qd, _ = case(seed)
    tau = np.random.default_rng(seed).uniform(-20, 20, q.shape)
    expected = robot.forward_dynamics(q, qd, tau)
    for method in ("nasser", "walker_orin"):
        close(robot.compile("forward_dynamics", method=method)(q, qd, tau), expected, 1e-10, what=method)


@trees
@often
def test_forward_methods_agree_on_any_tree(seed):
    robot = random_robot(seed)
    q, qd, tau = (x[0] for x in random_states(robot, 1, seed))
    values = {"q": q, "qd": qd, "tau": tau}
    expected = on_floats(robot, "forward_dynamics", values)
    for method in ("nasser", "walker_orin"):
        close(on_floats(robot, "forward_dynamics", values, method=method), expected, 1e-10, what=method)
    close(on_floats(robot, "inverse_dynamics", {"q": q, "qd": qd, "qdd": expected}), tau, 1e-10)


@each
def test_mass_matrix_is_the_derivative_of_the_torque(seed):
    """tau is linear in qdd, so that a unit step is the derivative."""
    robot, q, qd, qdd = case(seed)
    tau, matrix = robot.inverse_dynamics(q, qd, qdd), robot.mass_matrix(q)
    for k, unit in enumerate(np.eye(robot.nv)):
        column = robot.inverse_dynamics(q, qd, qdd + unit) - tau
        close(column, matrix[..., k], EXACT, scale=np.abs(tau).max() + np.abs(matrix).max())
    close(robot.bias_force(q, qd) + (matrix @ qdd[..., None])[..., 0], tau, EXACT)


@each
def test_mass_matrix_is_symmetric_and_positive_definite(seed):
    robot, q, _, _ = case(seed)
    matrix = robot.mass_matrix(q)
    assert np.array_equal(matrix, np.swapaxes(matrix, -1, -2))
    assert np.linalg.eigvalsh(matrix).min() > 0
    moved = robot.without_motors().mass_matrix(q) + np.diag(rotors_of(robot))
    close(moved, matrix, EXACT)


# ---- Coriolis, gravity, friction -----------------------------------------------------------------------


@each
def test_coriolis_matrix(seed):
    """C qd is what the bias has beside gravity and friction; dM/dt - 2 C is skew."""
    robot, q, qd, _ = case(seed)
    c = robot.coriolis_matrix(q, qd)
    bias, gravity = robot.bias_force(q, qd), robot.gravity_force(q)
    close((c @ qd[..., None])[..., 0], bias - gravity - friction_of(robot, qd), EXACT, scale=np.abs(bias).max())
    rate = along(lambda t: robot.mass_matrix(q + t * qd))
    skew = rate - 2 * c
    close(skew, -np.swapaxes(skew, -1, -2), QUOTIENT, scale=np.abs(c).max() + np.abs(rate).max())


@trees
@often
def test_coriolis_forces_on_any_tree(seed):
    robot = random_robot(seed)
    q, qd, _ = (x[0] for x in random_states(robot, 1, seed))
    c = on_floats(robot, "coriolis_matrix", {"q": q, "qd": qd})
    bias, gravity = on_floats(robot, "bias_force", {"q": q, "qd": qd}), on_floats(robot, "gravity_force", {"q": q})
    scale = max(np.abs(bias).max(), np.abs(gravity).max(), 1e-3)
    close(c @ qd, bias - gravity - friction_of(robot, qd), EXACT, scale=scale)
    matrix = on_floats(robot, "mass_matrix", {"q": q})
    kinetic, _ = on_floats(robot, "energy", {"q": q, "qd": qd})
    close(kinetic, 0.5 * qd @ matrix @ qd, EXACT)


@each
def test_gravity_torque_is_the_gradient_of_the_potential(seed):
    robot, q, _, _ = case(seed)
    still = np.zeros(robot.nv)
    gravity = robot.gravity_force(q)
    close(robot.inverse_dynamics(q, still, still), gravity, EXACT)
    for k, unit in enumerate(np.eye(robot.nv)):
        slope = along(lambda t, unit=unit: robot.energy(q + t * unit, still)[1])
        close(slope, gravity[..., k], QUOTIENT, scale=max(1.0, np.abs(gravity).max()))


def test_friction_by_its_definition():
    links = [Link("base"), Link.from_com("bob", mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))]
    joint = Joint("hinge", "revolute", "base", "bob", viscous=0.5, coulomb=2.0, coulomb_reverse=3.0)
    robot = Robot("arm", links, [joint], gravity=(0, 0, 0))
    rates = np.array([[-2.0], [-1e-300], [-0.0], [0.0], [1e-300], [2.0]])
    zeros = np.zeros_like(rates)
    expected = np.array([[-4.0], [-3.0], [0.0], [0.0], [2.0], [3.0]])
    assert np.array_equal(robot.inverse_dynamics(zeros, rates, zeros), expected)
    assert np.array_equal(robot.bias_force(zeros, rates), expected)
    even = robot.replace(joints=[dataclasses.replace(joint, coulomb_reverse=None)])
    expected = np.array([[-3.0], [-2.0], [0.0], [0.0], [2.0], [3.0]])
    assert np.array_equal(even.inverse_dynamics(zeros, rates, zeros), expected)
    assert np.array_equal(robot.without_friction().inverse_dynamics(zeros, rates, zeros), zeros)
    moment = robot.mass_matrix([0.0])[0, 0]
    close(robot.forward_dynamics(zeros, rates, zeros), -robot.bias_force(zeros, rates) / moment, EXACT)


@each
def test_friction_is_added_to_the_torque(seed):
    robot, q, qd, qdd = case(seed)
    qd = np.where(np.random.default_rng(seed).random(qd.shape) < 0.3, 0.0, qd)
    smooth = robot.without_friction()
    tau = robot.inverse_dynamics(q, qd, qdd)
    close(tau - friction_of(robot, qd), smooth.inverse_dynamics(q, qd, qdd), EXACT)
    for method in ("articulated", "nasser", "walker_orin"):
        close(robot.compile("forward_dynamics", method=method)(q, qd, tau), qdd, EXACT, what=method)


# ---- energy and momentum -------------------------------------------------------------------------------


@each
def test_power_balance(seed):
    """qd . (tau - friction) = d(kinetic + potential)/dt on the parabola through q, qd, qdd."""
    robot, q, qd, qdd = case(seed)
    tau = robot.inverse_dynamics(q, qd, qdd)
    kinetic, _ = robot.energy(q, qd)
    matrix, c = robot.mass_matrix(q), robot.coriolis_matrix(q, qd)
    close(kinetic, 0.5 * np.einsum("bi,bij,bj->b", qd, matrix, qd), EXACT)
    power = np.sum(qd * (tau - friction_of(robot, qd)), axis=-1)
    flow = np.sum(qd * robot.gravity_force(q), axis=-1)
    inner = np.einsum("bi,bij,bj->b", qd, matrix, qdd) + np.einsum("bi,bij,bj->b", qd, c, qd)
    scale = np.abs(power).max() + np.abs(flow).max()
    close(power - flow, inner, EXACT, scale=scale)
    rate = along(lambda t: sum(robot.energy(q + t * qd + t * t / 2 * qdd, qd + t * qdd)))
    close(rate, power, QUOTIENT, scale=scale)


@each
def test_momentum_changes_by_the_base_reaction_and_the_weight(seed):
    robot, q, qd, qdd = case(seed)
    rate = along(lambda t: robot.momentum(q + t * qd + t * t / 2 * qdd, qd + t * qdd))
    weight = np.zeros_like(rate)
    for link, pose in zip(robot.links, np.moveaxis(robot.link_poses(q), -3, 0), strict=True):
        centre = pose[..., :3, :3] @ np.array(link.com) + pose[..., :3, 3]
        force = link.mass * np.array(robot.gravity)
        weight += np.concatenate([np.broadcast_to(force, centre.shape), np.cross(centre, force)], axis=-1)
    reaction = robot.reaction_wrenches(q, qd, qdd)[..., 0, :]
    close(rate, reaction + weight, QUOTIENT, scale=max(np.abs(rate).max(), np.abs(reaction).max()))


# ---- changed robots ------------------------------------------------------------------------------------


@each
def test_a_payload_is_a_link_behind_a_fixed_joint(seed):
    robot, q, qd, qdd = case(seed)
    body = {"mass": 1.3, "com": (0.1, -0.2, 0.05), "inertia": (0.03, 0.02, 0.04, 0.001, -0.002, 0.003)}
    loaded = robot.with_payload("tool", **body)
    number, placement = robot.locate("tool")
    weld = Joint("weld", "fixed", robot.links[number].name, "load", placement)
    joined = robot.replace(links=[*robot.links, Link.from_com("load", **body)], joints=[*robot.joints, weld])
    assert loaded.mass == pytest.approx(joined.mass)
    close(loaded.inverse_dynamics(q, qd, qdd), joined.inverse_dynamics(q, qd, qdd), EXACT)
    close(loaded.energy(q, qd), joined.energy(q, qd), EXACT)
    rows = [joined.link_names.index(name) for name in loaded.link_names]
    close(loaded.reaction_wrenches(q, qd, qdd), joined.reaction_wrenches(q, qd, qdd)[:, rows], EXACT)


@each
def test_gravity_acts_linearly(seed):
    robot, q, qd, qdd = case(seed)
    pulls = np.random.default_rng(seed).normal(size=(2, 3))
    one, two, both = (robot.with_gravity(g) for g in (*pulls, pulls.sum(axis=0)))
    close(one.gravity_force(q) + two.gravity_force(q), both.gravity_force(q), EXACT)
    free = robot.with_gravity((0, 0, 0))
    assert not free.gravity_force(q).any()
    close(free.inverse_dynamics(q, qd, qdd) + one.gravity_force(q), one.inverse_dynamics(q, qd, qdd), EXACT)


@each
def test_turning_the_whole_robot_with_its_gravity_changes_nothing(seed):
    """A new base, to which the old one is welded in any pose."""
    robot, q, qd, qdd = case(seed)
    pose = random_transform(np.random.default_rng(seed))
    pull = np.array(pose.rotation) @ robot.gravity
    weld = Joint("weld", "fixed", "ground", "base", pose)
    moved = robot.replace(links=[Link("ground"), *robot.links], joints=[weld, *robot.joints], gravity=pull)
    tau = robot.inverse_dynamics(q, qd, qdd)
    close(moved.inverse_dynamics(q, qd, qdd), tau, EXACT)
    close(moved.forward_dynamics(q, qd, tau), qdd, EXACT)
    close(moved.link_poses(q)[:, 1:], pose.matrix @ robot.link_poses(q), EXACT)
    close(moved.reaction_wrenches(q, qd, qdd)[:, 1:], robot.reaction_wrenches(q, qd, qdd), EXACT)


@each
def test_fusing_fixed_links_changes_nothing_that_moves(seed):
    robot, q, qd, qdd = case(seed)
    fused = fuse(robot)
    assert fused.joint_names == robot.joint_names
    assert all(joint.moves for joint in fused.joints)
    assert set(fused.frame_names) == set(robot.frame_names)
    close(fused.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), EXACT)
    close(fused.energy(q, qd), robot.energy(q, qd), EXACT)
    close(fused.momentum(q, qd), robot.momentum(q, qd), EXACT)
    poses = robot.link_poses(q)
    for number, name in enumerate(robot.link_names):
        close(fused.compile("link_poses", frame=name)(q), poses[:, number], EXACT, what=name)
    reactions = robot.reaction_wrenches(q, qd, qdd)
    rows = [robot.link_names.index(name) for name in fused.link_names]
    close(fused.reaction_wrenches(q, qd, qdd), reactions[:, rows], EXACT)


def test_a_joint_that_moves_nothing_is_refused_by_name():
    """Its acceleration under a force does not exist; its force under an acceleration does."""
    links = [Link("base"), Link.from_com("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)), Link("empty")]
    joints = [
        Joint("shoulder", "revolute", "base", "arm", axis=(0, 1, 0)),
        Joint("wrist", "revolute", "arm", "empty", Transform.from_rpy((1, 0, 0)), axis=(0, 1, 0)),
    ]
    robot = Robot("arm", links, joints)
    close(robot.inverse_dynamics([0.0, 0.3], [0.0, 0.0], [0.0, 1.0]), [-9.81 / 2, 0.0], EXACT)
    for method in ("articulated", "nasser", "walker_orin"):
        with pytest.raises(RobotError, match="wrist"):
            robot.compile("forward_dynamics", method=method)
    found = robot.compile("hybrid_dynamics", motion="wrist")([0.0, 0.3], [0.0, 0.0], [0.0, 1.0])
    close(found, [9.81 / 2 / 0.35, 0.0], EXACT)
