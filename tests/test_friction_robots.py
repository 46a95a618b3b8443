"""Every verb of robots with friction laws: trees, couplings, loops and motors, against formulas and differences."""

import functools

import numpy as np
import pytest

import neuler
from every_robot import geared, path
from friction_laws import LAWS, each_law, with_laws
from neuler import Coulomb, Motor, RobotError
from neuler.quantities.catalogue import offered
from neuler.structure.lift import Lift
from neuler.trace.recipe import evaluate
from random_robots import along, close, few, random_robot, random_states


@functools.cache
def arm(name):
    """Three joints and a branch, with one law on all."""
    return with_laws(random_robot(12, 4), [LAWS[name]])


ROBOTS = {
    **{name: functools.partial(arm, name) for name in LAWS},
    "couplings": lambda: with_laws(geared(), list(LAWS.values())[::-1]),
    "loops": lambda: with_laws(neuler.robots.five_bar(), list(LAWS.values())[::-1]),
}
each_robot = pytest.mark.parametrize("name", ROBOTS)
each_tree = pytest.mark.parametrize("name", LAWS)


@functools.cache
def made(name):
    return ROBOTS[name]()


@functools.cache
def states(name):
    robot = made(name)
    laws = [joint.friction for joint in robot.joints if joint.friction]
    assert len(laws) > 1
    assert name in LAWS or {law.loaded for law in laws} == {False, True}
    rng = np.random.default_rng(3)
    q = robot.random_configuration(rng, 5)
    return q, rng.uniform(-1, 1, (5, robot.nv)), rng.uniform(-2, 2, (5, robot.nv))


def rates_in_tau(robot, q, qd):
    return np.einsum("nui,ni->nu", robot.actuation_matrix(q), qd)


def by_hand(robot, q, qd, loads):
    """tau from what is needed besides load-dependent friction."""
    rates = rates_in_tau(robot, q, qd)
    found = np.array(loads)
    laws = {joint.name: joint.friction for joint in robot.moving_joints}
    for k, name in enumerate(robot.mobility.active):
        law = laws[name]
        if law is not None and law.loaded:
            for row in range(len(found)):
                found[row, k] = law.needed(found[row, k], rates[row, k])
    return found


@each_robot
def test_inverse_dynamics_is_the_sum_of_its_parts(name):
    """Without friction, and the forces of the laws along all joints of the tree; load-dependent ones come last."""
    robot = made(name)
    q, qd, qdd = states(name)
    bare = robot.without_friction()
    force = bare.generalized_force(q, qd, qdd)
    rates, columns = tree_rates(robot, q, qd)
    for k, joint in enumerate(robot.tree.moving_joints):
        loss = joint.viscous * rates[:, k]
        if joint.friction is not None and not joint.friction.loaded:
            loss = loss + [joint.friction.force(v) for v in rates[:, k]]
        force += columns[:, k] * loss[:, None]
    close(robot.generalized_force(q, qd, qdd), force, 1e-11)
    still = np.zeros_like(qdd)
    close(robot.bias_force(q, qd), robot.generalized_force(q, qd, still), 1e-11)
    matrix = robot.actuation_matrix(q)
    loads = np.array([np.linalg.lstsq(a.T, f, rcond=None)[0] for a, f in zip(matrix, force, strict=True)])
    close(robot.inverse_dynamics(q, qd, qdd), by_hand(robot, q, qd, loads), 1e-10)


def tree_rates(robot, q, qd):
    """Velocities of all joints of the tree, and how they go with the robot's own."""
    if robot.loops:
        columns = robot.coupling_matrix(q)
    elif robot.couplings:
        units = np.eye(robot.nv).tolist()
        moved = [[Lift(robot, row).velocities(unit) for unit in units] for row in q.tolist()]
        columns = np.swapaxes(np.array(moved), -1, -2)
    else:
        columns = np.broadcast_to(np.eye(robot.nv), (len(q), robot.nv, robot.nv))
    return np.einsum("nij,nj->ni", columns, qd), columns


@each_robot
def test_direct_dynamics_undo_it(name):
    robot = made(name)
    q, qd, qdd = states(name)
    tau = robot.inverse_dynamics(q, qd, qdd)
    close(robot.forward_dynamics(q, qd, tau), qdd, 1e-10)
    if not robot.loops and not robot.couplings:
        for method in ("nasser", "walker_orin"):
            close(robot.compile("forward_dynamics", method=method)(q, qd, tau), qdd, 1e-10)
    names = robot.active_names
    told = names[: max(1, len(names) // 2)]
    mask = np.array([each in told for each in robot.mobility.active])
    motion = np.einsum("nui,ni->nu", robot.actuation_matrix(q), qdd)
    if robot.loops:
        own = list(robot.mobility.active_numbers)
        motion = robot.tree_motion(q, qd, qdd).qdd_tree[:, own]
    found = robot.compile("hybrid_dynamics", motion=told)(q, qd, np.where(mask, motion, tau))
    close(found, np.where(mask, tau, motion), 1e-10, scale=max(np.abs(tau).max(), np.abs(motion).max()))


def test_constrained_dynamics_know_the_load():
    """All joints of the loops free, held by forces: the same motion."""
    robot = made("loops")
    q, qd, qdd = states("loops")
    tau = robot.inverse_dynamics(q, qd, qdd)
    motion = robot.tree_motion(q, qd, qdd)
    every = np.zeros((len(q), robot.tree.nv))
    every[:, list(robot.mobility.active_numbers)] = tau
    found = robot.constrained_dynamics(q, motion.qd_tree, every, np.zeros(len(q)))
    close(found.qdd, motion.qdd_tree, 1e-9)


@each_robot
def test_power_is_energy_and_heat(name):
    robot = made(name)
    q, qd, qdd = states(name)
    at = path(robot, q, qd, qdd)
    gained = along(lambda t: sum(robot.energy(*at(t)[:2])))
    tau, bare = robot.inverse_dynamics(q, qd, qdd), robot.without_friction().generalized_force(q, qd, qdd)
    heat = np.einsum("nu,nu->n", tau, rates_in_tau(robot, q, qd)) - np.einsum("ni,ni->n", bare, qd)
    assert (heat > 0.0).all()
    power = np.einsum("nu,nu->n", tau, rates_in_tau(robot, q, qd)) - heat
    close(gained, power, 1e-7, scale=float(np.abs(power).max()) + 5)


@each_robot
def test_rates_are_differences_along_a_motion(name):
    robot = made(name)
    q, qd, qdd = states(name)
    jerk, snap = np.random.default_rng(6).uniform(-1, 1, (2, *qd.shape))
    at = path(robot, q, qd, qdd, jerk)
    tau, rate = robot.inverse_dynamics_rate(q, qd, qdd, jerk)
    close(tau, robot.inverse_dynamics(q, qd, qdd), 1e-11)
    close(rate, along(lambda t: robot.inverse_dynamics(*at(t))), 1e-6, float(np.abs(rate).max()) + 1)
    if name not in LAWS:
        return
    twice = robot.compile("inverse_dynamics_rate", order=2)

    def then(t):
        ahead = qdd + t * jerk + t * t / 2 * snap, jerk + t * snap
        moving = qd + t * qdd + t * t / 2 * jerk + t**3 / 6 * snap
        return twice(q + t * qd + t * t / 2 * qdd + t**3 / 6 * jerk + t**4 / 24 * snap, moving, *ahead, snap)

    close(then(0.0).tau_rate, rate, 1e-11)
    close(then(0.0).tau_rate2, along(lambda t: then(t).tau_rate), 1e-6, float(np.abs(then(0.0).tau_rate2).max()) + 1)


@each_robot
def test_sensitivities_are_differences(name):
    robot = made(name)
    q, qd, qdd = states(name)
    tau = robot.inverse_dynamics(q, qd, qdd)
    nothing = np.zeros_like(qd)
    found, direct = robot.inverse_dynamics_sensitivities(q, qd, qdd), robot.forward_dynamics_sensitivities(q, qd, tau)
    scale = [float(np.abs(each).max()) + 1 for each in (*found, *direct)]
    for k in range(robot.nv):
        unit = np.broadcast_to(np.eye(robot.nv)[k], qd.shape)
        at = path(robot, q, unit, nothing, pieces=1)
        moved = along(lambda t, at=at: robot.inverse_dynamics(at(t)[0], qd, qdd))
        close(found.dtau_dq[..., k], moved, 1e-7, scale[0])
        close(direct.dqdd_dq[..., k], along(lambda t, at=at: robot.forward_dynamics(at(t)[0], qd, tau)), 1e-6, scale[3])
        faster = along(lambda t, u=unit: robot.inverse_dynamics(q, qd + t * u, qdd))
        close(found.dtau_dqd[..., k], faster, 1e-7, scale[1])
        close(
            direct.dqdd_dqd[..., k], along(lambda t, u=unit: robot.forward_dynamics(q, qd + t * u, tau)), 1e-6, scale[4]
        )
        pushed = along(lambda t, u=unit: robot.inverse_dynamics(q, qd, qdd + t * u))
        close(found.dtau_dqdd[..., k], pushed, 1e-7, scale[2])
    for k in range(robot.nu):
        unit = np.eye(robot.nu)[k]
        pushed = along(lambda t, u=unit: robot.forward_dynamics(q, qd, tau + t * u))
        close(direct.dqdd_dtau[..., k], pushed, 1e-6, scale[5])


@each_tree
def test_methods_and_sparse_structure_agree(name):
    robot = made(name)
    q, qd, qdd = states(name)
    expected = robot.inverse_dynamics_sensitivities(q, qd, qdd)
    for method in ("recursion", "pass"):
        found = robot.compile("inverse_dynamics_sensitivities", method=method)(q, qd, qdd)
        for one, other in zip(found, expected, strict=True):
            close(one, other, 1e-11)
    kernel = robot.compile("inverse_dynamics_sensitivities", sparse=True)
    for result, one, other in zip(kernel.outputs, kernel(q, qd, qdd), expected, strict=True):
        rows, columns = kernel.structure[result.name]
        close(one, other[:, rows, columns], 1e-11)
        rest = np.array(other)
        rest[:, rows, columns] = 0.0
        assert not rest.any()


@each_tree
def test_hessian_is_the_difference_of_sensitivities(name):
    robot = made(name)
    q, qd, qdd = states(name)
    weights = np.random.default_rng(8).uniform(-1, 1, (len(q), robot.nu))
    found = robot.inverse_dynamics_hessian(q, qd, qdd, weights)
    close(found, np.swapaxes(found, -1, -2), 1e-12)

    def slope(k, t):
        x = np.concatenate([q, qd, qdd], axis=-1) + t * np.eye(3 * robot.nv)[k]
        parts = robot.inverse_dynamics_sensitivities(*np.split(x, 3, axis=-1))
        return np.concatenate([np.einsum("nu,nuj->nj", weights, part) for part in parts], axis=-1)

    for k in range(2 * robot.nv):
        close(found[..., k], along(lambda t, k=k: slope(k, t)), 1e-6, float(np.abs(found).max()) + 1)


@pytest.mark.parametrize("name", few(list(LAWS), 1))
def test_every_quantity_compiled_is_that_on_plain_floats(name):
    robot = made(name)
    q, qd, qdd = states(name)
    values = {"q": q, "qd": qd, "dt": np.linspace(-0.1, 0.1, len(q))}
    for quantity in offered(robot):
        if quantity == "inverse_dynamics_hessian":
            continue
        if quantity in ("regressor", "power_regressor") and name.startswith("load"):
            with pytest.raises(neuler.InputError, match="load-dependent friction off"):
                robot.compile(quantity)(q, qd, qdd)
            continue
        kernel = robot.compile(quantity)
        arrays = [values.get(operand.name, qdd) for operand in kernel.inputs]
        found = kernel(*arrays)
        found = list(found) if isinstance(found, tuple) else [found]
        names = [operand.name for operand in kernel.inputs]
        rows = [evaluate(kernel.recipe, dict(zip(names, row, strict=True))) for row in zip(*arrays, strict=True)]
        for one, other in zip(found, zip(*rows, strict=True), strict=True):
            close(one, np.array(other), 1e-11)


def test_reactions_do_not_feel_friction():
    """Along a given motion links carry the same, whatever a drive loses."""
    for name in ("stribeck", "load", "loops"):
        robot, (q, qd, qdd) = made(name), states(name)
        if not robot.loops:
            close(robot.reaction_wrenches(q, qd, qdd), robot.without_friction().reaction_wrenches(q, qd, qdd), 1e-12)
        tau = robot.inverse_dynamics(q, qd, qdd)
        pushed = robot.compile("forward_dynamics", reactions=True)(q, qd, tau)
        close(pushed.reactions, robot.reaction_wrenches(q, qd, qdd), 1e-9)


def test_gravity_and_inertia_do_not_feel_friction():
    robot, (q, _, _) = made("load"), states("load")
    bare = robot.without_friction()
    close(robot.gravity_force(q), bare.gravity_force(q), 1e-14)
    close(robot.mass_matrix(q), bare.mass_matrix(q), 1e-14)


# ---- motors --------------------------------------------------------------------------------------------


@each_law
def test_friction_of_a_motor_behind_a_spring(law):
    """On the motor's side: n f(n thetad) along theta."""
    n = -40.0
    motor = Motor("m", "joint2", ratio=n, inertia=1e-3, stiffness=300.0, friction=law)
    robot = neuler.robots.two_link().replace(motors=[motor])
    rng = np.random.default_rng(4)
    q, qd, qdd = rng.uniform(-1, 1, (3, 6, 3))
    free = robot.without_friction().inverse_dynamics(q, qd, qdd)
    tau = robot.inverse_dynamics(q, qd, qdd)
    for row in range(len(q)):
        v = n * qd[row, 2]
        expected = n * law.needed(free[row, 2] / n, v) if law.loaded else free[row, 2] + n * law.force(v)
        close(tau[row], [*free[row, :2], expected], 1e-12)
    close(robot.forward_dynamics(q, qd, tau), qdd, 1e-10)


def test_friction_of_a_motor_without_a_spring():
    """On the motor's side: n f(n qd), wherever the rotor sits; a load-dependent law belongs to the joint there."""
    law, n = LAWS["stribeck"], 40.0
    for carrier, axis in (("", None), ("link2", (1.0, 0.0, 0.0))):
        motor = Motor("m", "joint2", ratio=n, inertia=1e-3, included=True, carrier=carrier, axis=axis, friction=law)
        robot = neuler.robots.two_link().replace(motors=[motor])
        rng = np.random.default_rng(5)
        q, qd, qdd = rng.uniform(-1, 1, (3, 6, 2))
        more = robot.inverse_dynamics(q, qd, qdd) - robot.without_friction().inverse_dynamics(q, qd, qdd)
        close(more, [[0.0, n * law.force(n * v)] for v in qd[:, 1]], 1e-12)
        close(robot.forward_dynamics(q, qd, robot.inverse_dynamics(q, qd, qdd)), qdd, 1e-10)
    with pytest.raises(RobotError, match=r"motor 'm': has no force of its own .* give load-dependent friction"):
        Motor("m", "joint2", inertia=1e-3, friction=LAWS["load"])


def test_smooth_friction_of_a_whole_robot():
    robot = neuler.robots.puma560()
    motor = Motor("m", "joint2", ratio=50.0, inertia=1e-4, included=True, coulomb=0.02)
    smooth = robot.replace(motors=[motor]).with_smooth_friction(1e-3, 0.1)
    first = robot.moving_joints[0]
    assert smooth.moving_joints[0].friction == Coulomb(first.coulomb, 0.0, first.coulomb_reverse, 1e-3)
    assert smooth.motors[0].friction == Coulomb(0.02, width=0.05)
    assert all(joint.coulomb == 0.0 for joint in smooth.joints)
    q, qd, qdd = random_states(robot, 8, 3)
    qd = np.sign(qd) * np.maximum(np.abs(qd), 0.05)
    close(smooth.inverse_dynamics(q, qd, qdd), robot.replace(motors=[motor]).inverse_dynamics(q, qd, qdd), 1e-12)
    gear = robot.with_friction("joint1", LAWS["stribeck"])
    with pytest.raises(RobotError, match="joint 'joint1': has Coulomb friction of its own and a law besides"):
        gear.with_smooth_friction(0.01)
    assert neuler.robots.two_link().with_smooth_friction(0.1) == neuler.robots.two_link()
    load = made("load").with_smooth_friction(0.2, 0.3).moving_joints[0].friction
    assert (load.width, load.load_width) == (0.2, 0.3)
