"""Every verb of a tree, on robots of every structure: the same physics for all."""

import dataclasses
import warnings

import numpy as np
import pytest

from every_robot import MADE, made, path, states
from motor_robots import springs
from neuler.quantities.catalogue import QUANTITIES
from neuler.view.simpler_models import at_rest
from random_robots import along, close

ROBOTS = sorted(MADE)
LATER = (
    "delta_by_motors", "slider_crank", "planar_3rrr", "loose_chain", "gough_stewart", "free_motors",
    "five_bar", "sr400", "geared", "delta", "geared_crank",
)  # fmt: skip
"""Looked at with the slow tests: others stand for their structure in every run."""
LARGE = (*LATER, "kinds")
each = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LATER else name for name in ROBOTS]
)
derived = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in ROBOTS]
)
"""Derivatives of large robots take long to compile."""


def conditioned(robot, q):
    return max(1e-10, 1e-13 * float(np.linalg.cond(robot.mass_matrix(q)).max()))


@each
def test_lengths(name):
    robot = made(name)
    q, qd, qdd = states(name)
    assert q.shape[-1] == robot.nq == len(robot.neutral())
    assert robot.inverse_dynamics(q, qd, qdd).shape[-1] == robot.nu
    assert robot.actuation_matrix(q).shape[1:] == (robot.nu, robot.nv)
    assert len(robot.mobility.active) == robot.nu
    if robot.loops:
        assert np.linalg.norm(robot.closure(q).open_by, axis=-1).max() < 1e-11


@each
def test_equation_of_motion(name):
    """mass_matrix qdd + bias = actuation_matrix^T tau; the direct model inverts it."""
    robot = made(name)
    q, qd, qdd = states(name)
    tau = robot.inverse_dynamics(q, qd, qdd)
    left = np.einsum("nij,nj->ni", robot.mass_matrix(q), qdd) + robot.bias_force(q, qd)
    right = np.einsum("nui,nu->ni", robot.actuation_matrix(q), tau)
    close(right, left, 1e-10)
    close(robot.generalized_force(q, qd, qdd), left, 1e-11)
    close(robot.forward_dynamics(q, qd, tau), qdd, conditioned(robot, q))


@each
def test_hybrid_dynamics(name):
    robot = made(name)
    q, qd, qdd = states(name)
    tau = robot.inverse_dynamics(q, qd, qdd)
    active = list(robot.mobility.active_numbers)
    joints = np.zeros((len(q), sum(joint.nv for joint in robot.moving_joints)))
    if robot.loops:
        every = robot.tree_motion(q, qd, qdd).qdd_tree
        followers = {coupling.joint for coupling in robot.couplings}
        own = [joint.name not in followers for joint in robot.tree.moving_joints for _ in range(joint.nv)]
        joints = every[:, own]
    else:
        joints = qdd
    names = robot.active_names
    told = names[: max(1, len(names) // 2)]
    mask = np.array([name in told for name in robot.mobility.active])
    accelerations = joints[:, active]
    given = np.where(mask, accelerations, tau)
    found = robot.compile("hybrid_dynamics", motion=told)(q, qd, given)
    close(found, np.where(mask, tau, accelerations), conditioned(robot, q))


@each
def test_energy_and_power(name):
    robot = made(name)
    q, qd, qdd = states(name)
    kinetic, _ = robot.energy(q, qd)
    close(kinetic, 0.5 * np.einsum("ni,nij,nj->n", qd, robot.mass_matrix(q), qd), 1e-11)
    at = path(robot, q, qd, qdd)
    lost = tree_losses(robot, q, qd)
    power = np.einsum("ni,ni->n", robot.generalized_force(q, qd, qdd), qd) - lost
    close(along(lambda t: sum(robot.energy(*at(t)[:2]))), power, 1e-7, scale=float(np.abs(power).max()) + 5)


def tree_losses(robot, q, qd):
    """Viscous losses of all joints of the tree (W)."""
    bare = robot.replace(motors=())
    joints = bare.nq  # then motors behind springs
    rates = tree_rates(bare, q[:, :joints], qd[:, : bare.nv])
    viscous = np.array([joint.viscous for joint in bare.tree.moving_joints for _ in range(joint.nv)])
    rotors = [motor.viscous * speed**2 for motor, speed in zip(robot.motors, rotor_speeds(robot, qd), strict=True)]
    dampers = springs(robot, q * 0, qd)
    return (viscous * rates * rates).sum(axis=-1) + sum(rotors) + (dampers * qd).sum(axis=-1)


def rotor_speeds(robot, qd):
    """Of every motor, by the joints that it drives or their theta; of a loop by its own velocities."""
    places, names = {}, [robot.moving_joints[k] for k in velocity_owners(robot)]
    for k, joint in enumerate(names):
        places[joint.series[0] if joint.series else joint.name] = k
    return [sum(ratio * qd[:, places[name]] for name, ratio in motor.ratios.items()) for motor in robot.motors]


def velocity_owners(robot):
    """The joint of every own velocity."""
    every = [k for k, joint in enumerate(robot.moving_joints) for _ in range(joint.nv)]
    return [every[k] for k in robot.mobility.choice.independent]


def tree_rates(robot, q, qd):
    """Velocities of all joints of the tree, from link velocities across each joint's axis: an independent way."""
    if not robot.loops and not robot.couplings:
        return qd
    found = []
    screws, poses = robot.link_velocities(q, qd), robot.link_poses(q)
    index = {name: k for k, name in enumerate(robot.link_names)}
    for joint in robot.tree.moving_joints:
        child, parent = index[joint.child], index[joint.parent]
        turn = np.swapaxes(poses[:, child, :3, :3], -1, -2) @ poses[:, parent, :3, :3]
        at = np.einsum(
            "nji,nj->ni", poses[:, parent, :3, :3], poses[:, child, :3, 3] - poses[:, parent, :3, 3]
        )  # the child's origin in the parent's axes
        carried = screws[:, parent, :3] + np.cross(screws[:, parent, 3:], at)
        linear = screws[:, child, :3] - np.einsum("nij,nj->ni", turn, carried)
        angular = screws[:, child, 3:] - np.einsum("nij,nj->ni", turn, screws[:, parent, 3:])
        if joint.kind == "free":
            found += [*linear.T, *angular.T]
        elif joint.kind == "spherical":
            found += [*angular.T]
        elif joint.type.has_axis:
            found.append((linear if joint.kind == "prismatic" else angular) @ np.array(joint.axis))
        else:  # planar, translation: rates along the axes of the seat
            seat = poses[:, parent, :3, :3] @ np.array(joint.placement.rotation)
            world = np.einsum("nij,nj->ni", poses[:, child, :3, :3], linear)
            along_seat = np.einsum("nji,nj->ni", seat, world)
            found += [along_seat[:, 0], along_seat[:, 1]]
            found.append(angular[:, 2] if joint.kind == "planar" else along_seat[:, 2])
    return np.array(found).T


@each
def test_coriolis_matrix(name):
    robot = made(name)
    q, qd, _ = states(name)
    coriolis = robot.coriolis_matrix(q, qd)
    at = path(robot, q, qd, np.zeros_like(qd))
    skew = along(lambda t: robot.mass_matrix(at(t)[0])) - 2 * coriolis
    close(skew, -np.swapaxes(skew, -1, -2), 1e-7, scale=float(np.abs(coriolis).max()) + 1)
    still = [
        dataclasses.replace(
            joint, stiffness=0.0, viscous=0.0, role="passive" if joint.role == "elastic" else joint.role
        )
        for joint in robot.joints
    ]
    motors = [dataclasses.replace(motor, viscous=0.0) for motor in robot.motors]
    bare = robot.replace(joints=still, gravity=(0, 0, 0), motors=motors)
    bias = bare.bias_force(q, qd) - springs(robot, q, qd)
    close(np.einsum("nij,nj->ni", coriolis, qd), bias, 1e-10, scale=float(np.abs(coriolis).max()) + 1)


@each
def test_gravity_force_is_the_gradient_of_the_potential(name):
    robot = made(name)
    q, qd, _ = states(name)
    nothing = np.zeros_like(qd)
    for k in range(robot.nv):
        unit = np.broadcast_to(np.eye(robot.nv)[k], qd.shape)
        at = path(robot, q, unit, nothing, pieces=1)
        slope = along(lambda t, at=at: robot.energy(at(t)[0], nothing).potential)
        close(robot.gravity_force(q)[:, k], slope, 1e-8, scale=10.0)


@each
def test_poses_jacobians_and_momenta(name):
    robot = made(name)
    q, qd, qdd = states(name)
    jerk = np.random.default_rng(4).uniform(-1, 1, qd.shape)
    at = path(robot, q, qd, qdd, jerk)
    velocity, acceleration, jolt = robot.link_motions(q, qd, qdd, jerk)
    poses = robot.link_poses(q)
    turn = np.swapaxes(poses[..., :3, :3], -1, -2)
    first = along(lambda t: robot.link_poses(at(t)[0])[..., :3, 3])
    scale = float(np.abs(velocity).max()) + 1
    close(np.einsum("nlij,nlj->nli", turn, first), velocity[..., :3], 1e-7, scale)
    close(robot.link_velocities(q, qd), velocity, 1e-11)
    for order, expected in ((0, acceleration), (1, jolt)):

        def inertial(t, order=order):
            motion = robot.link_motions(*at(t), jerk)[order][..., :3]
            return np.einsum("nlij,nlj->nli", robot.link_poses(at(t)[0])[..., :3, :3], motion)

        found = np.einsum("nlij,nlj->nli", turn, along(inertial))
        close(found, expected[..., :3], 1e-6, float(np.abs(expected).max()) + 1)
    tip = robot.link_names.index(robot.tip)
    close(np.einsum("nij,nj->ni", robot.jacobian(q), qd), velocity[:, tip], 1e-11)
    close(
        np.einsum("nij,nj->ni", robot.center_of_mass_jacobian(q), qd),
        along(lambda t: robot.center_of_mass(at(t)[0])),
        1e-7,
        1.0,
    )
    close(np.einsum("nij,nj->ni", robot.centroidal_matrix(q), qd), robot.centroidal_momentum(q, qd), 1e-10)
    rate = along(lambda t: robot.centroidal_momentum(*at(t)[:2]))
    close(robot.centroidal_momentum_rate(q, qd, qdd), rate, 1e-6, float(np.abs(rate).max()) + 1)
    close(robot.momentum(q, qd)[:, :3], robot.centroidal_momentum(q, qd)[:, :3], 1e-10)


@each
def test_external_wrenches_do_virtual_work(name):
    """A wrench at a frame adds -J^T wrench along the robot's own velocities; a load is one in the base's axes."""
    robot = made(name)
    q, qd, qdd = states(name)
    frame = robot.tip
    wrench = np.random.default_rng(5).uniform(-3, 3, (len(q), 6))
    bare = robot.generalized_force(q, qd, qdd)
    for option, reference in (("external", "link"), ("loads", "world")):
        jacobian = robot.compile("jacobian", frame=frame, reference=reference)(q)
        pushed = robot.compile("generalized_force", **{option: (frame,)})(q, qd, qdd, wrench)
        close(pushed, bare - np.einsum("nij,ni->nj", jacobian, wrench), 1e-10)
        tau = robot.compile("inverse_dynamics", **{option: (frame,)})(q, qd, qdd, wrench)
        direct = robot.compile("forward_dynamics", **{option: (frame,)})(q, qd, tau, wrench)
        close(direct, qdd, conditioned(robot, q))


@each
def test_reactions_balance_every_link(name):
    """Newton and Euler for each link: what its parent, its children, loops and gravity do is its rate of momentum."""
    robot = made(name)
    q, qd, qdd = states(name)
    reactions = robot.reaction_wrenches(q, qd, qdd)
    cuts = robot.loop_wrenches(q, qd, qdd) if robot.loops else None
    nothing = np.zeros_like(qd)
    _, acceleration, _ = robot.link_motions(q, qd, qdd, nothing)
    velocity = robot.link_velocities(q, qd)
    poses = robot.link_poses(q)
    index = {link: k for k, link in enumerate(robot.link_names)}
    balance = reactions.copy()
    for joint in robot.joints:
        child, parent = index[joint.child], index[joint.parent]
        balance[:, parent] -= carried(poses[:, child], poses[:, parent], reactions[:, child])
    for k, loop in enumerate(robot.loops):
        onto = robot.compile("link_poses", frame=loop.second)(q)
        for frame, sign in ((loop.second, 1.0), (loop.first, -1.0)):
            number = robot.locate(frame)[0]
            balance[:, number] += sign * carried(onto, poses[:, number], cuts[:, k])
    spins = rotor_moments(robot, velocity, qd, qdd)
    for k, link in enumerate(at_rest(robot).links):
        w, (a, wd) = velocity[:, k, 3:], (acceleration[:, k, :3], acceleration[:, k, 3:])
        gravity = np.einsum("nji,j->ni", poses[:, k, :3, :3], np.array(robot.gravity))
        s, j = np.array(link.first_moment), link.inertia_matrix
        force = link.mass * (a - gravity) + np.cross(wd, s) + np.cross(w, np.cross(w, s))
        moment = wd @ j.T + np.cross(w, w @ j.T) + np.cross(s, a - gravity) + spins[link.name]
        close(balance[:, k], np.concatenate([force, moment], axis=-1), 1e-9, scale=float(np.abs(reactions).max()))


def rotor_moments(robot, velocity, qd, qdd):
    """By link, what the rotors on it ask for beside being at rest: I (s' z + s w x z), Hua (24)."""
    found = {name: np.zeros((len(qd), 3)) for name in robot.link_names}
    rates = zip(robot.motors, rotor_speeds(robot, qd), rotor_speeds(robot, qdd), strict=True)
    for motor, speed, rise in rates:
        w, z = velocity[:, robot.link_names.index(motor.carrier), 3:], np.array(motor.axis)
        found[motor.carrier] += motor.rotor * (rise[:, None] * z + speed[:, None] * np.cross(w, z))
    return found


def carried(source, target, wrench):
    """A wrench of one frame at the origin and in the axes of another."""
    turn = np.swapaxes(target[:, :3, :3], -1, -2) @ source[:, :3, :3]
    arm = np.einsum("nji,nj->ni", target[:, :3, :3], source[:, :3, 3] - target[:, :3, 3])
    force = np.einsum("nij,nj->ni", turn, wrench[:, :3])
    moment = np.einsum("nij,nj->ni", turn, wrench[:, 3:]) + np.cross(arm, force)
    return np.concatenate([force, moment], axis=-1)


@each
def test_rates(name):
    robot = made(name)
    q, qd, qdd = states(name)
    jerk = np.random.default_rng(6).uniform(-1, 1, qd.shape)
    at = path(robot, q, qd, qdd, jerk)
    tau, rate = robot.inverse_dynamics_rate(q, qd, qdd, jerk)
    close(tau, robot.inverse_dynamics(q, qd, qdd), 1e-11)
    close(rate, along(lambda t: robot.inverse_dynamics(*at(t))), 1e-6, float(np.abs(rate).max()) + 1)


@derived
@pytest.mark.parametrize("verb", ["inverse_dynamics", "forward_dynamics"])
def test_sensitivities(name, verb):
    robot = made(name)
    q, qd, third = (x[:2] for x in states(name))
    if verb == "forward_dynamics":
        third = robot.inverse_dynamics(q, qd, third)
    function = getattr(robot, verb)
    dq, dqd, dlast = getattr(robot, verb + "_sensitivities")(q, qd, third)
    nothing = np.zeros_like(qd)
    scale = float(max(np.abs(dq).max(), np.abs(dqd).max())) + 1
    for k in range(robot.nv):
        unit = np.broadcast_to(np.eye(robot.nv)[k], qd.shape)
        at = path(robot, q, unit, nothing, pieces=1)
        close(dq[..., k], along(lambda t, at=at: function(at(t)[0], qd, third)), 1e-6, scale)
        close(dqd[..., k], along(lambda t, u=unit: function(q, qd + t * u, third)), 1e-7, scale)
    for k in range(third.shape[-1]):
        unit = np.broadcast_to(np.eye(third.shape[-1])[k], third.shape)
        close(dlast[..., k], along(lambda t, u=unit: function(q, qd, third + t * u)), 1e-7)


@derived
def test_reaction_sensitivities(name):
    robot = made(name)
    q, qd, qdd = (x[:1] for x in states(name))

    dq, dqd, dqdd = robot.reaction_sensitivities(q, qd, qdd)
    nothing = np.zeros_like(qd)
    scale = float(np.abs(dq).max()) + 1
    for k in range(robot.nv):
        unit = np.broadcast_to(np.eye(robot.nv)[k], qd.shape)
        at = path(robot, q, unit, nothing, pieces=1)
        close(dq[..., k], along(lambda t, at=at: robot.reaction_wrenches(at(t)[0], qd, qdd)), 1e-6, scale)
        close(dqd[..., k], along(lambda t, u=unit: robot.reaction_wrenches(q, qd + t * u, qdd)), 1e-7, scale)
        close(dqdd[..., k], along(lambda t, u=unit: robot.reaction_wrenches(q, qd, qdd + t * u)), 1e-7, scale)


@pytest.mark.parametrize(
    "name",
    [
        "four_bar",
        "five_bar",
        "geared",
        "puma560",
        "geared_crank",
        *(pytest.param(x, marks=pytest.mark.slow) for x in ("delta", "planar_3rrr", "motors")),
    ],
)
def test_hessian(name):
    """Symmetric, and the derivative of the sensitivities."""
    robot = made(name)
    q, qd, qdd = (x[:1] for x in states(name))
    weights = np.random.default_rng(7).uniform(-1, 1, (1, robot.nu))
    n = robot.nv
    hessian = robot.inverse_dynamics_hessian(q, qd, qdd, weights)
    close(hessian, np.swapaxes(hessian, -1, -2), 1e-9)

    def gradient(*state):
        parts = robot.inverse_dynamics_sensitivities(*state)
        return np.concatenate([np.einsum("nu,nuk->nk", weights, part) for part in parts], axis=-1)

    scale = float(np.abs(hessian).max()) + 1
    nothing = np.zeros_like(qd)
    for k in range(n):
        unit = np.broadcast_to(np.eye(n)[k], qd.shape)
        at = path(robot, q, unit, nothing, pieces=1)
        close(hessian[:, k], along(lambda t, at=at: gradient(at(t)[0], qd, qdd)), 1e-6, scale)
        close(hessian[:, n + k], along(lambda t, u=unit: gradient(q, qd + t * u, qdd)), 1e-6, scale)
        close(hessian[:, 2 * n + k], along(lambda t, u=unit: gradient(q, qd, qdd + t * u)), 1e-6, scale)


@each
def test_difference_undoes_integrate(name):
    robot = made(name)
    q, qd, _ = states(name)
    there = robot.integrate(q, qd, 0.05)
    close(robot.difference(q, there), 0.05 * qd, 1e-10)
    if robot.loops:
        assert np.linalg.norm(robot.closure(there).open_by, axis=-1).max() < 1e-9


@each
def test_payloads_frames_and_gravity(name):
    """A payload weighs and is carried; without gravity nothing is held."""
    robot = made(name)
    q, _, _ = states(name)
    loaded = robot.with_frame("hand", robot.tip, Transform_()).with_payload("hand", 2.0, (0.1, 0.2, 0.3))
    jacobian = loaded.compile("jacobian", frame="hand", reference="world")(q)
    pose = loaded.compile("link_poses", frame="hand")(q)
    arm = np.einsum("nij,j->ni", pose[:, :3, :3], np.array([0.1, 0.2, 0.3]))
    weight = 2.0 * np.array(robot.gravity)
    force = np.concatenate([np.broadcast_to(weight, arm.shape), np.cross(arm, weight)], axis=-1)
    close(loaded.gravity_force(q) - robot.gravity_force(q), -np.einsum("nij,ni->nj", jacobian, force), 1e-9)
    assert loaded.mass == pytest.approx(robot.mass + 2.0)


def Transform_():
    from neuler import Transform

    return Transform.from_rpy((0.05, -0.1, 0.2), (0.3, 0.2, -0.4))


@each
def test_every_quantity_is_there_or_says_why_not(name):
    """Looking at a robot compiles nothing; asking for what it has no meaning for names the reason."""
    from neuler import InputError

    robot = made(name).replace(name="fresh")
    for verb in QUANTITIES:
        kernel = getattr(robot, verb)
        assert "_frame" not in kernel.__dict__
        assert "_recipe" not in kernel.__dict__
        assert kernel.__doc__
        if not QUANTITIES[verb].of(robot):
            with pytest.raises(InputError, match=f"has no {QUANTITIES[verb].whose}"):
                _ = kernel.inputs


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=pytest.mark.slow if x in LATER else ()) for x in ROBOTS if MADE[x]().loops]
)
def test_one_step_is_many_small_ones_or_none(name):
    """integrate stays on the branch and closes the loops, or says that the step is too long."""
    robot = made(name)
    rng = np.random.default_rng(8)
    q = robot.random_configuration(rng, 200)
    qd = rng.normal(size=(200, robot.nv))
    for dt in (0.02, 0.3, 1.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            there = robot.integrate(q, qd, dt)
            small = q
            for _ in range(40):
                small = robot.integrate(small, qd, dt / 40)
        finite = np.isfinite(there).all(axis=-1) & np.isfinite(small).all(axis=-1)
        if dt < 0.1:
            assert finite.mean() > 0.9
        assert np.linalg.norm(robot.closure(there[finite]).open_by, axis=-1).max(initial=0.0) < 1e-9
        assert np.abs(there[finite] - small[finite]).max(initial=0.0) < 1e-6


def test_a_step_that_is_too_long_says_so():
    robot = made("slider_crank")
    with pytest.warns(RuntimeWarning, match="the step is too long to close the loops again"):
        assert np.isnan(robot.integrate(np.tile(robot.neutral(), (2, 1)), [[9.0], [0.1]], 1.0)[0]).all()
