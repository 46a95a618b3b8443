"""The same of every link: poses, velocities, reaction wrenches; wrenches from outside and joints told their motion."""

import numpy as np
import pytest

from neuler import InputError, Joint, Robot, Transform
from physics_cases import (
    EXACT,
    QUOTIENT,
    case,
    each,
    often,
    on_floats,
    one,
    trees,
)
from random_robots import (
    along,
    close,
    friction_of,
    random_link,
    random_robot,
    random_states,
    rotors_of,
)

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
    """Newton and Euler for every link in the world's axes, at its centre of mass; then moments at link origins.

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


@one
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


@one
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
