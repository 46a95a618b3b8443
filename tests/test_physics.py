"""Laws of mechanics on seeded random trees.

``close`` scales an error by the largest expected number of the batch. Identities that are exact in
exact arithmetic are held to 1e-12; what rests on a difference quotient states its own tolerance.
"""

import dataclasses
import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuler import InputError, Joint, Link, Robot, RobotError, Transform
from neuler.passes.fuse import fuse
from neuler.recipes.quantities import recipe
from neuler.trace.recipe import evaluate
from random_robots import (
    NEARLY,
    along,
    close,
    friction_of,
    random_link,
    random_robot,
    random_states,
    random_transform,
    rotors_of,
)

EXACT = 1e-12
QUOTIENT = 1e-9
"""For central differences of sixth order with a step of 1e-3: rounding 1e-13, truncation below 1e-10."""

SEEDS = (0, 2, 5, 6, 12, 20, 29, 32)
each = pytest.mark.parametrize("seed", SEEDS)
trees = given(st.integers(100, 1_000_000))
often = settings(max_examples=40, derandomize=True, deadline=None, database=None)


@functools.cache
def case(seed, count=25):
    """A robot with a batch of states."""
    robot = random_robot(seed)
    return robot, *random_states(robot, count, seed)


def on_floats(robot, quantity, values, **options):
    """A quantity by its recursion on plain numbers: no compiler."""
    found = evaluate(recipe(robot, quantity, **options), values)
    return found[0] if len(found) == 1 else found


def test_the_seeds_cover_what_others_forget():
    robots = [random_robot(seed) for seed in SEEDS]
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


# ---- kinematics ----------------------------------------------------------------------------------------


def _poses_by_hand(robot, q):
    """World poses of all links, multiplied out along the tree from the robot's own data."""
    poses, q = {robot.links[0].name: np.eye(4)}, iter(q)
    for joint in robot.joints:
        moved, axis = np.eye(4), np.array(joint.axis)
        if joint.kind == "revolute":
            angle, k = next(q), np.cross(axis, np.eye(3)).T
            moved[:3, :3] += np.sin(angle) * k + (1 - np.cos(angle)) * k @ k
        elif joint.kind == "prismatic":
            moved[:3, 3] = axis * next(q)
        poses[joint.child] = poses[joint.parent] @ joint.placement.matrix @ moved
    return poses


@each
def test_link_poses(seed):
    robot, q, _, _ = case(seed)
    poses = robot.link_poses(q)
    for state, row in zip(q, poses, strict=True):
        by_hand = _poses_by_hand(robot, state)
        close(row, [by_hand[name] for name in robot.link_names], EXACT)
    for frame in ("tool", "frame0"):
        number, placement = robot.locate(frame)
        close(robot.compile("link_poses", frame=frame)(q), poses[:, number] @ placement.matrix, EXACT)


def _screw(pose, rate):
    """(linear; angular) in the frame's own axes from its pose and the rate of its pose."""
    turn = np.swapaxes(pose[..., :3, :3], -1, -2)
    spin = turn @ rate[..., :3, :3]
    linear = (turn @ rate[..., :3, 3:])[..., 0]
    return np.concatenate([linear, np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)], axis=-1)


@each
def test_velocities_are_rates_of_poses(seed):
    robot, q, qd, _ = case(seed)
    velocities = robot.link_velocities(q, qd)
    rate = along(lambda t: robot.link_poses(q + t * qd))
    close(_screw(robot.link_poses(q), rate), velocities, QUOTIENT)


@each
def test_jacobians(seed):
    robot, q, qd, _ = case(seed)
    velocities = robot.link_velocities(q, qd)
    tip = robot.link_names.index(robot.tip)
    close((robot.jacobian(q) @ qd[..., None])[..., 0], velocities[:, tip], EXACT)
    for frame in ("tool", "frame0", robot.link_names[len(robot.links) // 2]):
        jacobian = robot.compile("jacobian", frame=frame)(q)
        velocity = robot.compile("link_velocities", frame=frame)(q, qd)
        close((jacobian @ qd[..., None])[..., 0], velocity, EXACT, what=frame)
        if frame in robot.link_names:
            close(velocity, velocities[:, robot.link_names.index(frame)], EXACT, what=frame)
    pose = robot.compile("link_poses", frame="tool")(q)
    jacobian, world = (robot.compile("jacobian", frame="tool", reference=r)(q) for r in ("link", "world"))
    turn = pose[:, :3, :3]
    close(world, np.concatenate([turn @ jacobian[:, :3], turn @ jacobian[:, 3:]], axis=1), EXACT)


@trees
@often
def test_kinematics_of_any_tree(seed):
    robot = random_robot(seed)
    q, qd, _ = (x[0] for x in random_states(robot, 1, seed))
    by_hand = _poses_by_hand(robot, q)
    close(on_floats(robot, "link_poses", {"q": q}), [by_hand[name] for name in robot.link_names], EXACT)
    velocity = on_floats(robot, "link_velocities", {"q": q, "qd": qd})[robot.link_names.index(robot.tip)]
    close(on_floats(robot, "jacobian", {"q": q}) @ qd, velocity, EXACT)


# ---- reaction wrenches ---------------------------------------------------------------------------------


def _reactions_by_hand(robot, q, qd, qdd, applied=None):
    """Newton and Euler for every link in the world's axes, at its mass centre; then moments at link origins.

    ``applied`` holds wrenches on named frames, in their own axes.
    """
    poses = _poses_by_hand(robot, q)
    turning = {robot.links[0].name: (np.zeros(3), np.zeros(3), np.zeros(3))}  # omega, its rate, origin's acceleration
    at = 0
    for joint in robot.joints:
        omega, spin, push = turning[joint.parent]
        pose = poses[joint.child]
        axis = pose[:3, :3] @ joint.axis
        rate, force = (qd[at], qdd[at]) if joint.moves else (0.0, 0.0)
        at += joint.moves
        arm = pose[:3, 3] - poses[joint.parent][:3, 3]
        push = push + np.cross(spin, arm) + np.cross(omega, np.cross(omega, arm))
        if joint.kind == "prismatic":
            push = push + 2 * rate * np.cross(omega, axis) + force * axis
        elif joint.kind == "revolute":
            spin = spin + rate * np.cross(omega, axis) + force * axis
            omega = omega + rate * axis
        turning[joint.child] = (omega, spin, push)
    need = {}
    for link in robot.links:
        omega, spin, push = turning[link.name]
        turn, origin = poses[link.name][:3, :3], poses[link.name][:3, 3]
        arm = turn @ link.com
        inertia = turn @ link.inertia_about_com @ turn.T
        acceleration = push + np.cross(spin, arm) + np.cross(omega, np.cross(omega, arm))
        force = link.mass * (acceleration - np.array(robot.gravity))
        moment = inertia @ spin + np.cross(omega, inertia @ omega) + np.cross(origin + arm, force)
        need[link.name] = np.concatenate([force, moment])  # about the world's origin
    for name, wrench in (applied or {}).items():
        number, placement = robot.locate(name)
        pose = poses[robot.links[number].name] @ placement.matrix
        force, moment = pose[:3, :3] @ wrench[:3], pose[:3, :3] @ wrench[3:]
        need[robot.links[number].name] -= np.concatenate([force, moment + np.cross(pose[:3, 3], force)])
    for joint in reversed(robot.joints):
        need[joint.parent] = need[joint.parent] + need[joint.child]
    rows = []
    for name in robot.link_names:
        turn, origin = poses[name][:3, :3], poses[name][:3, 3]
        force, moment = need[name][:3], need[name][3:]
        rows.append(np.concatenate([turn.T @ force, turn.T @ (moment - np.cross(origin, force))]))
    return np.array(rows)


@each
def test_reaction_wrenches_balance_every_link(seed):
    robot, q, qd, qdd = case(seed)
    found = robot.reaction_wrenches(q, qd, qdd)
    expected = [_reactions_by_hand(robot, *state) for state in zip(q, qd, qdd, strict=True)]
    close(found, np.array(expected), EXACT)


@each
def test_reaction_wrenches_under_load(seed):
    robot, q, qd, qdd = case(seed)
    wrenches = np.random.default_rng(seed).uniform(-10, 10, (2, *q.shape[:1], 6))
    found = robot.compile("reaction_wrenches", external=("tool", "base"))(q, qd, qdd, *wrenches)
    for k, state in enumerate(zip(q, qd, qdd, strict=True)):
        applied = {"tool": wrenches[0, k], "base": wrenches[1, k]}
        close(found[k], _reactions_by_hand(robot, *state, applied), EXACT)


@trees
@often
def test_reaction_wrenches_of_any_tree(seed):
    robot = random_robot(seed)
    q, qd, qdd = (x[0] for x in random_states(robot, 1, seed))
    values = {"q": q, "qd": qd, "qdd": qdd}
    close(on_floats(robot, "reaction_wrenches", values), _reactions_by_hand(robot, q, qd, qdd), EXACT)


@pytest.mark.parametrize("tilt", [0.3, 0.03, 0.0201, 0.0199, 1e-3, 1e-6, 1e-9, 1e-12, 1e-14, 1e-15, 0.0])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_axes_at_any_small_angle(kind, tilt):
    """Six axes, each turned by ``tilt`` from the one before: no angle is lost and none is a trap."""
    rng = np.random.default_rng(3)
    links = [random_link(rng, f"link{k}") for k in range(7)]
    joints = []
    for k in range(6):
        place = Transform.from_rpy(rng.uniform(-0.5, 0.5, 3), (tilt, 0, 0))
        slides = kind if k % 3 == 1 else "revolute"
        joints.append(Joint(f"joint{k}", slides, f"link{k}", f"link{k + 1}", place))
    robot = Robot("bent", links, joints)
    for state in zip(*random_states(robot, 5, 1), strict=True):
        values = dict(zip(("q", "qd", "qdd"), state, strict=True))
        by_hand = _reactions_by_hand(robot, *state)
        close(on_floats(robot, "reaction_wrenches", values), by_hand, EXACT)
        tau = [row[5] if joint.kind == "revolute" else row[2] for row, joint in zip(by_hand[1:], joints, strict=True)]
        close(on_floats(robot, "inverse_dynamics", values), np.array(tau), EXACT)
        found = on_floats(robot, "forward_dynamics", {"q": state[0], "qd": state[1], "tau": tau})
        close(found, state[2], 1e-10)


@each
def test_base_reaction_is_that_of_its_children_and_its_weight(seed):
    robot, q, qd, qdd = case(seed)
    reactions, base = robot.reaction_wrenches(q, qd, qdd), robot.links[0]
    weight = base.mass * np.array(robot.gravity)
    total = -np.concatenate([weight, np.cross(base.com, weight)])
    poses = robot.link_poses(q)
    for number, (joint, above) in enumerate(zip(robot.joints, robot.antecedents, strict=True), start=1):
        if above == 0:
            turn, origin = poses[:, number, :3, :3], poses[:, number, :3, 3]
            force = (turn @ reactions[:, number, :3, None])[..., 0]
            moment = (turn @ reactions[:, number, 3:, None])[..., 0] + np.cross(origin, force)
            total = total + np.concatenate([force, moment], axis=-1)
            assert joint.parent == base.name
    close(reactions[:, 0], total, EXACT)


@each
def test_reaction_along_the_joint_is_the_drive(seed):
    """Its projection on the axis is tau less rotor and friction."""
    robot, q, qd, qdd = case(seed)
    tau, reactions = robot.compile("inverse_dynamics", reactions=True)(q, qd, qdd)
    close(tau, robot.inverse_dynamics(q, qd, qdd), EXACT)
    close(reactions, robot.reaction_wrenches(q, qd, qdd), EXACT)
    drive = tau - rotors_of(robot) * qdd - friction_of(robot, qd)
    for k, joint in enumerate(robot.moving_joints):
        row = reactions[:, robot.link_names.index(joint.child)]
        part = row[:, 3:] if joint.kind == "revolute" else row[:, :3]
        close(part @ np.array(joint.axis), drive[:, k], EXACT, scale=np.abs(reactions).max(), what=joint.name)


@each
@pytest.mark.parametrize("method", ["articulated", "nasser"])
def test_forward_dynamics_gives_the_reactions_at_the_acceleration_it_finds(seed, method):
    robot, q, qd, qdd = case(seed)
    tau = robot.inverse_dynamics(q, qd, qdd)
    found, reactions = robot.compile("forward_dynamics", method=method, reactions=True)(q, qd, tau)
    close(found, qdd, EXACT)
    close(reactions, robot.reaction_wrenches(q, qd, qdd), EXACT)


def test_walker_orin_has_no_reactions():
    with pytest.raises(InputError, match="no reactions"):
        random_robot(0).compile("forward_dynamics", method="walker_orin", reactions=True)


# ---- external wrenches, hybrid dynamics ----------------------------------------------------------------


@each
def test_external_wrenches_act_by_the_transposed_jacobian(seed):
    robot, q, qd, qdd = case(seed)
    frames = ("tool", "frame0", robot.link_names[1], "base")
    wrenches = np.random.default_rng(seed).uniform(-10, 10, (len(frames), len(q), 6))
    push = 0.0
    for frame, wrench in zip(frames, wrenches, strict=True):
        push = push + np.einsum("bij,bi->bj", robot.compile("jacobian", frame=frame)(q), wrench)
    tau = robot.inverse_dynamics(q, qd, qdd)
    loaded = robot.compile("inverse_dynamics", external=frames)(q, qd, qdd, *wrenches)
    scale = np.abs(tau).max() + np.abs(push).max()
    close(loaded, tau - push, EXACT, scale=scale)
    bias = robot.compile("bias_force", external=frames)(q, qd, *wrenches)
    close(bias, robot.bias_force(q, qd) - push, EXACT, scale=scale)
    for method in ("articulated", "nasser", "walker_orin"):
        forward = robot.compile("forward_dynamics", method=method, external=frames)
        close(forward(q, qd, loaded, *wrenches), qdd, EXACT, what=method)
    forward = robot.compile("forward_dynamics", method="nasser", external=frames, reactions=True)
    reactions = robot.compile("reaction_wrenches", external=frames)(q, qd, qdd, *wrenches)
    close(forward(q, qd, loaded, *wrenches)[1], reactions, EXACT)


@each
def test_hybrid_dynamics(seed):
    """Whichever joints are told their motion, the rest is what inverse dynamics says."""
    robot, q, qd, qdd = case(seed)
    rng = np.random.default_rng(seed)
    tau = robot.inverse_dynamics(q, qd, qdd)
    wrench = rng.uniform(-10, 10, (len(q), 6))
    loaded, reactions = robot.compile("inverse_dynamics", external="tool", reactions=True)(q, qd, qdd, wrench)
    close(robot.hybrid_dynamics(q, qd, qdd), tau, EXACT)
    close(robot.compile("hybrid_dynamics", motion=())(q, qd, tau), qdd, EXACT)
    for _ in range(2):
        told = rng.random(robot.nv) < 0.5
        names = [name for name, motion in zip(robot.joint_names, told, strict=True) if motion]
        hybrid = robot.compile("hybrid_dynamics", motion=names)
        expected = np.where(told, tau, qdd)
        close(hybrid(q, qd, np.where(told, qdd, tau)), expected, EXACT, what=f"{names}")
        hybrid = robot.compile("hybrid_dynamics", motion=names, external="tool", reactions=True)
        found, felt = hybrid(q, qd, np.where(told, qdd, loaded), wrench)
        close(found, np.where(told, loaded, qdd), EXACT, what=f"{names}")
        close(felt, reactions, EXACT, what=f"{names}")


@trees
@often
def test_hybrid_dynamics_of_any_tree(seed):
    robot = random_robot(seed)
    q, qd, qdd = (x[0] for x in random_states(robot, 1, seed))
    tau = on_floats(robot, "inverse_dynamics", {"q": q, "qd": qd, "qdd": qdd})
    told = np.random.default_rng(seed).random(robot.nv) < 0.5
    names = [name for name, motion in zip(robot.joint_names, told, strict=True) if motion]
    values = {"q": q, "qd": qd, "given": np.where(told, qdd, tau)}
    found, felt = on_floats(robot, "hybrid_dynamics", values, motion=names, reactions=True)
    close(found, np.where(told, tau, qdd), 1e-11)
    close(felt, on_floats(robot, "reaction_wrenches", {"q": q, "qd": qd, "qdd": qdd}), 1e-11)


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
