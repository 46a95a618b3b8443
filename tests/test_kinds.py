"""Every kind of joint, anywhere in a tree: against Pinocchio, against MuJoCo, and against physics."""

import numpy as np
import pytest

from kind_robots import KINDS, SEEDS, hinged, kind_robot, kind_states, plain_losses
from neuler import InputError, Joint, Link, Robot, RobotError, Transform
from neuler.peers.mujoco import mujoco_model
from neuler.peers.pinocchio import pinocchio_model
from neuler.robot.kinds import KINDS as ALL
from neuler.robot.kinds.kind import InARow
from random_robots import along, close, few, random_link, random_transform

COUNT = 12


def moved(robot, q, qd, qdd, qddd=None):
    """q(t), qd(t), qdd(t) of a motion that has these at t = 0, each to the order that central differences see."""
    jerk = np.zeros_like(qd) if qddd is None else qddd

    def at(t):
        rate = qd + t * qdd + t * t / 2 * jerk
        # the way has the mean velocity; for turns, commutators of the velocity with its rate add t^3/12 [qd, qdd]
        steps = 24
        here = q
        for k in range(steps):
            middle = (k + 0.5) * t / steps
            here = robot.integrate(here, qd + middle * qdd + middle**2 / 2 * jerk, t / steps)
        return here, rate, qdd + t * jerk

    return at


# ---- authorities -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_against_pinocchio(seed):
    pin = pytest.importorskip("pinocchio")
    robot = kind_robot(seed)
    other, turns = hinged(robot)
    model = pinocchio_model(other)
    data = model.createData()
    q, qd, qdd = kind_states(robot, COUNT, seed)
    there = q.copy()
    for entry in robot.coordinates:
        there[:, entry.q] *= entry.joint.turns_per_unit
    tau = robot.inverse_dynamics(q, qd, qdd)
    matrix, found = robot.mass_matrix(q), robot.forward_dynamics(q, qd, tau)
    losses = plain_losses(robot, q, qd)
    kinetic, potential = robot.energy(q, qd)
    poses = robot.link_poses(q)
    still = {"base", *(j.child for j in robot.joints if j.kind == "fixed" and j.parent == "base")}
    spinning = {joint.child for joint in robot.joints if joint.kind == "spin"}
    light = robot.replace(
        links=[Link(link.name) if link.name in still else link for link in robot.links]
    )  # Pinocchio leaves out what stands still
    centre = light.centroidal_momentum(q, qd)
    for k in range(COUNT):
        found_there = pin.rnea(model, data, there[k], turns * qd[k], turns * qdd[k])
        close(tau[k], turns * found_there + losses[k], 1e-12, what="inverse")
        theirs = pin.crba(model, data, there[k])
        theirs = (np.triu(theirs) + np.triu(theirs, 1).T) * np.outer(turns, turns)
        close(matrix[k], theirs, 1e-12, what="mass matrix")
        close(found[k], qdd[k], max(1e-12, 1e-14 * np.linalg.cond(theirs)), what="forward")
        pin.framesForwardKinematics(model, data, there[k])
        for link, pose in zip(robot.links, poses[k], strict=True):
            if link.name in spinning:  # its frame stays, theirs turns
                continue
            close(pose, data.oMf[model.getFrameId(link.name)].homogeneous, 1e-12, what="poses")
        rotors = np.array([joint.rotor_inertia for joint in robot.moving_joints for _ in range(joint.nv)])
        pin.forwardKinematics(model, data, there[k], turns * qd[k])  # its energy counts some rotors, and others not
        theirs = sum(inertia.vtiv(v) for inertia, v in zip(model.inertias, data.v, strict=True)) / 2
        close(kinetic[k], theirs + 0.5 * rotors @ qd[k] ** 2, 1e-12)
        momentum = pin.computeCentroidalMomentum(model, data, there[k], turns * qd[k])
        close(centre[k], momentum.vector, 1e-11, what="centroidal")
    assert np.isfinite(potential).all()


@pytest.mark.parametrize("seed", few(range(6), 1))
def test_against_mujoco(seed):
    """Ball joints anywhere; a free joint in the middle as three slides and a ball, which MuJoCo has there."""
    mujoco = pytest.importorskip("mujoco")
    robot = kind_robot(seed, 5, ("spherical", "free", "revolute", "planar", "spherical", "prismatic"))
    apart, order = slides_and_balls(robot)
    model = mujoco_model(apart)
    data = mujoco.MjData(model)
    q, qd, qdd = kind_states(robot, COUNT, seed)
    tau = robot.inverse_dynamics(q, qd, qdd) - plain_losses(robot, q, qd)
    for k in range(COUNT):
        p, v, a, back = order(q[k], qd[k], qdd[k])
        data.qpos[:], data.qvel[:], data.qacc[:] = p, v, a
        mujoco.mj_inverse(model, data)
        close(tau[k], back(data.qfrc_inverse), 1e-9, what="inverse")


def slides_and_balls(robot):
    """The same with free joints as slides and a ball; and how a state is told and forces come back."""
    links, joints = [robot.links[0]], []
    for joint, link in zip(robot.joints, robot.links[1:], strict=True):
        if joint.kind not in ("free", "planar"):
            joints.append(joint)
            links.append(link)
            continue
        parent, seat = joint.parent, joint.placement
        for axis in range(2 if joint.kind == "planar" else 3):
            name = f"{joint.name}_{axis}"
            along = tuple(np.eye(3)[axis])
            along = along if joint.kind == "free" else InARow.turned(joint.axis, along)
            joints.append(Joint(name, "prismatic", parent, name, seat, along))
            links.append(Link(name))
            parent, seat = name, Transform()
        kind, axis = ("spherical", (0, 0, 1)) if joint.kind == "free" else ("revolute", joint.axis)
        joints.append(Joint(joint.name, kind, parent, link.name, axis=axis))
        links.append(link)
    apart = Robot("apart", links, joints, robot.gravity)

    def order(q, qd, qdd):
        p, v, a, turns = [], [], [], []
        at = first = 0
        for joint in robot.moving_joints:
            here, rate, push = q[at : at + joint.nq], qd[first : first + joint.nv], qdd[first : first + joint.nv]
            if joint.kind == "free":
                r = rotation(here[3:])
                p += [*here[:3], *np.roll(here[3:], 1)]
                v += [*(r @ rate[:3]), *rate[3:]]
                a += [*(r @ (push[:3] + np.cross(rate[3:], rate[:3]))), *push[3:]]
                turns += [(first, r)]
            else:
                p += [*(np.roll(here, 1) if joint.kind == "spherical" else here)]
                v, a = [*v, *rate], [*a, *push]
            at, first = at + joint.nq, first + joint.nv

        def back(force):
            found = np.array(force)
            for first, r in turns:
                found[first : first + 3] = r.T @ found[first : first + 3]
            return found

        return p, v, a, back

    return apart, order


def rotation(quaternion):
    x, y, z, w = quaternion
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * k + 2 * k @ k


# ---- physics ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_all_direct_models_agree_and_invert(seed):
    robot = kind_robot(seed)
    q, qd, qdd = kind_states(robot, COUNT, seed)
    tau = robot.inverse_dynamics(q, qd, qdd)
    cond = float(np.linalg.cond(robot.mass_matrix(q)).max())
    tolerance = max(1e-11, 1e-14 * cond)
    close(robot.forward_dynamics(q, qd, tau), qdd, tolerance)
    close(robot.compile("forward_dynamics", method="walker_orin")(q, qd, tau), qdd, tolerance)
    close((robot.mass_matrix(q) @ qdd[..., None])[..., 0] + robot.bias_force(q, qd), tau, 1e-12)
    if all(ALL[joint.kind].sigma is not None or ALL[joint.kind].elements for joint in robot.joints):
        close(robot.compile("forward_dynamics", method="nasser")(q, qd, tau), qdd, tolerance)
    else:
        with pytest.raises(InputError, match="method 'nasser' knows revolute and prismatic joints"):
            robot.compile("forward_dynamics", method="nasser")


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_hybrid_dynamics_find_what_was_not_given(seed):
    robot = kind_robot(seed)
    q, qd, qdd = kind_states(robot, COUNT, seed)
    tau = robot.inverse_dynamics(q, qd, qdd)
    told = robot.joint_names[::2]
    kernel = robot.compile("hybrid_dynamics", motion=told)
    mask = np.array([joint.name in told for joint in robot.moving_joints for _ in range(joint.nv)])
    found = kernel(q, qd, np.where(mask, qdd, tau))
    cond = float(np.linalg.cond(robot.mass_matrix(q)).max())
    close(found, np.where(mask, tau, qdd), max(1e-11, 1e-14 * cond))


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_energy_mass_matrix_and_coriolis_matrix(seed):
    robot = kind_robot(seed)
    q, qd, _ = kind_states(robot, COUNT, seed)
    at = moved(robot, q, qd, np.zeros_like(qd))
    matrix, coriolis = robot.mass_matrix(q), robot.coriolis_matrix(q, qd)
    rate = along(lambda t: robot.mass_matrix(at(t)[0]))
    skew = rate - 2 * coriolis
    close(skew, -np.swapaxes(skew, -1, -2), 1e-8, scale=float(np.abs(coriolis).max()) + 1)
    still = robot.without_friction().with_gravity((0, 0, 0))
    still = still.replace(joints=[without_spring(joint) for joint in still.joints])
    close((coriolis @ qd[..., None])[..., 0], still.bias_force(q, qd), 1e-11)
    kinetic, _ = robot.energy(q, qd)
    close(kinetic, 0.5 * np.einsum("ni,nij,nj->n", qd, matrix, qd), 1e-12)


def without_spring(joint):
    import dataclasses

    return dataclasses.replace(joint, stiffness=0.0, role="passive" if joint.role == "passive" else "")


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_power_is_the_rate_of_energy(seed):
    robot = kind_robot(seed)
    q, qd, qdd = kind_states(robot, COUNT, seed)
    at = moved(robot, q, qd, qdd)
    tau = robot.inverse_dynamics(q, qd, qdd)
    lost = np.array([joint.viscous * joint.turns_per_unit**2 for joint in robot.moving_joints for _ in range(joint.nv)])
    power = (tau * qd).sum(axis=-1) - (lost * qd * qd).sum(axis=-1)
    close(along(lambda t: sum(robot.energy(*at(t)[:2]))), power, 1e-8, scale=float(np.abs(power).max()) + 10)


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_jacobians_and_motions_are_derivatives_of_poses(seed):
    robot = kind_robot(seed)
    q, qd, qdd = kind_states(robot, COUNT, seed)
    jerk = np.random.default_rng(seed).uniform(-1, 1, qd.shape)
    at = moved(robot, q, qd, qdd, jerk)
    velocity, acceleration, jolt = robot.link_motions(q, qd, qdd, jerk)
    poses = robot.link_poses(q)
    turn = np.swapaxes(poses[..., :3, :3], -1, -2)
    first = along(lambda t: robot.link_poses(at(t)[0]))
    close(np.einsum("nlij,nlj->nli", turn, first[..., :3, 3]), velocity[..., :3], 1e-8)
    close(robot.link_velocities(q, qd), velocity, 1e-12)
    for order, expected in ((0, acceleration), (1, jolt)):

        def inertial(t, order=order):
            motion = robot.link_motions(*at(t), jerk)[order][..., :3]
            return np.einsum("nlij,nlj->nli", robot.link_poses(at(t)[0])[..., :3, :3], motion)

        close(np.einsum("nlij,nlj->nli", turn, along(inertial)), expected[..., :3], 1e-8)
    tip = robot.link_names.index(robot.tip)
    close((robot.jacobian(q) @ qd[..., None])[..., 0], velocity[:, tip], 1e-12)
    close(
        (robot.center_of_mass_jacobian(q) @ qd[..., None])[..., 0],
        along(lambda t: robot.center_of_mass(at(t)[0])),
        1e-8,
    )
    close((robot.centroidal_matrix(q) @ qd[..., None])[..., 0], robot.centroidal_momentum(q, qd), 1e-11)
    close(robot.centroidal_momentum_rate(q, qd, qdd), along(lambda t: robot.centroidal_momentum(*at(t)[:2])), 1e-8)


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_rates_of_torques(seed):
    robot = kind_robot(seed)
    q, qd, qdd = kind_states(robot, COUNT, seed)
    jerk = np.random.default_rng(seed).uniform(-1, 1, qd.shape)
    at = moved(robot, q, qd, qdd, jerk)
    tau, rate = robot.inverse_dynamics_rate(q, qd, qdd, jerk)
    close(tau, robot.inverse_dynamics(q, qd, qdd), 1e-12)
    close(rate, along(lambda t: robot.inverse_dynamics(*at(t))), 1e-8)


SMALL = [(seed, 3) for seed in range(3)]
"""They have a joint of every kind between them; trees of six joints compile for long."""


def test_small_trees_have_every_kind():
    assert {joint.kind for case in SMALL for joint in kind_robot(*case).joints} == set(KINDS)


@pytest.mark.parametrize("case", few([*SMALL, *((seed, 6) for seed in SEEDS)], 1), ids=str)
def test_sensitivities_are_derivatives(case):
    """Along every velocity's direction; torques and reactions, with wrenches and loads."""
    robot, seed = kind_robot(*case), case[0]
    q, qd, qdd = kind_states(robot, 3, seed)
    rng = np.random.default_rng(seed)
    wrench, load = rng.uniform(-2, 2, (2, 3, 6))
    options = {"external": ("tool",), "loads": ("eye",)}
    inverse = robot.compile("inverse_dynamics", **options)
    for method in ("recursion", "pass"):
        found = robot.compile("inverse_dynamics_sensitivities", method=method, **options)(q, qd, qdd, wrench, load)
        for k in range(robot.nv):
            unit = np.eye(robot.nv)[k]
            close(
                found[0][..., k],
                along(
                    lambda t, u=unit: inverse(
                        robot.integrate(q, np.broadcast_to(u, qd.shape), t), qd, qdd, wrench, load
                    )
                ),
                1e-8,
            )
            close(found[1][..., k], along(lambda t, u=unit: inverse(q, qd + t * u, qdd, wrench, load)), 1e-8)
        close(found[2], robot.mass_matrix(q), 1e-11)
    reactions = robot.compile("reaction_wrenches", **options)
    spins = any(joint.kind == "spin" for joint in robot.joints)
    method = "cheapest" if spins else "composite"
    found = robot.compile("reaction_sensitivities", method=method, **options)(q, qd, qdd, wrench, load)
    scale = float(np.abs(found[0]).max())
    for k in range(robot.nv):
        unit = np.broadcast_to(np.eye(robot.nv)[k], qd.shape)
        slope = along(lambda t, u=unit: reactions(robot.integrate(q, u, t), qd, qdd, wrench, load))
        close(found[0][..., k], slope, 1e-8, scale)
        close(found[1][..., k], along(lambda t, u=unit: reactions(q, qd + t * u, qdd, wrench, load)), 1e-8)
    direct = robot.forward_dynamics_sensitivities(q, qd, robot.inverse_dynamics(q, qd, qdd))
    close(direct[2] @ robot.mass_matrix(q), np.broadcast_to(np.eye(robot.nv), direct[2].shape), 1e-9)


# ---- what the kinds mean -----------------------------------------------------------------------------------


def test_a_planar_joint_is_two_slides_and_a_turn_and_a_translation_three_slides():
    rng = np.random.default_rng(3)
    link, seat = random_link(rng, "plate"), random_transform(rng)
    for kind, axes, kinds in (
        ("planar", (0, 1, 2), ("prismatic", "prismatic", "revolute")),
        ("translation", (0, 1, 2), ("prismatic",) * 3),
    ):
        whole = Robot("whole", [Link("base"), link], [Joint("joint", kind, "base", "plate", seat)])
        links, joints, parent = [Link("base")], [], "base"
        for k, (axis, part) in enumerate(zip(axes, kinds, strict=True)):
            child = "plate" if k == 2 else f"part{k}"
            place = seat if k == 0 else Transform()
            joints.append(Joint(f"part{k}", part, parent, child, place, tuple(np.eye(3)[axis])))
            links.append(link if k == 2 else Link(child))
            parent = child
        apart = Robot("apart", links, joints)
        q, qd, qdd = kind_states(whole, COUNT)
        assert whole.inverse_dynamics.operations == apart.inverse_dynamics.operations
        close(whole.inverse_dynamics(q, qd, qdd), apart.inverse_dynamics(q, qd, qdd), 1e-13)
        close(whole.reaction_wrenches(q, qd, qdd), apart.reaction_wrenches(q, qd, qdd)[:, [0, 3]], 1e-13)


def test_a_helical_joint_without_pitch_is_revolute_and_with_much_pitch_nearly_prismatic():
    rng = np.random.default_rng(4)
    link, seat = random_link(rng, "nut"), random_transform(rng)
    axis = (0.6, 0.0, 0.8)
    made = lambda kind, **more: Robot("r", [Link("base"), link], [Joint("j", kind, "base", "nut", seat, axis, **more)])  # noqa: E731
    q, qd, qdd = (rng.uniform(-1, 1, (COUNT, 1)) for _ in range(3))
    close(made("helical").inverse_dynamics(q, qd, qdd), made("revolute").inverse_dynamics(q, qd, qdd), 1e-13)
    pitch = 1e7
    screw = made("helical", pitch=pitch).inverse_dynamics(q / pitch, qd / pitch, qdd / pitch)
    close(screw / pitch, made("prismatic").inverse_dynamics(q, qd, qdd), 1e-6)
    lead = made("helical", pitch=0.25)
    poses = lead.link_poses([[0.0], [2.0]])[:, 1]
    close(poses[1, :3, 3] - poses[0, :3, 3], 0.5 * np.array(seat.rotation) @ axis, 1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_difference_undoes_integrate_and_neutral_is_a_position(kind):
    robot = Robot("r", [Link("base"), random_link(np.random.default_rng(1), "a")], [Joint("j", kind, "base", "a")])
    if kind == "fixed":
        assert robot.nq == robot.nv == 0
        return
    q = robot.random_configuration(2, 50)
    there = robot.random_configuration(3, 50)
    close(
        robot.difference(robot.integrate(q, robot.difference(q, there), 1.0), there),
        np.zeros((50, robot.nv)),
        1e-12,
        1.0,
    )
    assert np.isfinite(robot.inverse_dynamics(robot.neutral(), np.ones(robot.nv), np.ones(robot.nv))).all()
    assert len(robot.neutral()) == robot.nq == q.shape[-1]


def test_kinds_refuse_what_they_cannot_have():
    with pytest.raises(RobotError, match="a spherical joint has no coulomb; use external wrenches"):
        Joint("ball", "spherical", "a", "b", coulomb=1.0)
    with pytest.raises(RobotError, match="a planar joint has no viscous"):
        Joint("plate", "planar", "a", "b", viscous=1.0)
    with pytest.raises(RobotError, match="a revolute joint has no pitch; a helical one has"):
        Joint("hinge", "revolute", "a", "b", pitch=0.1)
    with pytest.raises(RobotError, match="that is a 'spherical' joint here"):
        Joint("ball", "ball", "a", "b")
    with pytest.raises(RobotError, match="that is a 'helical' joint here"):
        Joint("screw", "screw", "a", "b")
    robot = kind_robot(0, 3, ("spherical",))
    q, qd, qdd = kind_states(robot, 1)
    q[0, 0] = 5.0
    with pytest.warns(RuntimeWarning, match="quaternion of joint 'joint1'"):
        assert np.isnan(robot.inverse_dynamics(q, qd, qdd)).any()
    with pytest.raises(InputError, match="quaternion of joint 'joint1'"):
        robot.inverse_dynamics(q[0], qd[0], qdd[0])
