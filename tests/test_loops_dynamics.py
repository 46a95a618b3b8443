"""Dynamics of robots with loops, Khalil 4: each quantity against its definition, and the energy against all."""

import dataclasses

import numpy as np
import pytest

from loop_machines import (
    SOME,
    active_velocities,
    felt,
    independent_velocities,
    machine_of,
    motion,
    own_velocities,
    shifted,
    states,
    tree_friction,
    tree_positions,
    velocities,
)
from neuler import InputError, RobotError, robots
from neuler.passes.trees import fused_tree
from neuler.quantities.catalogue import QUANTITIES
from neuler.structure.closed import Constraints
from random_robots import along, close, few


def by_joint(machine, values):
    """Numbers of tau, spread over the velocities of the joints with coordinates."""
    found = np.zeros((*values.shape[:-1], velocities(machine)))
    found[..., active_velocities(machine)] = values
    return found


@pytest.mark.parametrize("name", SOME)
def test_the_loops_stay_closed(name):
    """W G = 0, and W qdd + bias = 0 with the accelerations that follow."""
    machine = machine_of(name)
    q, qd, qdd = states(machine, 20)
    _, rows = machine.closure(q)
    g, own = machine.coupling_matrix(q), own_velocities(machine)
    assert g.shape == (20, machine.tree.nv, machine.nv)
    close(rows @ g[:, own], np.zeros((20, machine.constraints, machine.nv)), 1e-11, scale=np.abs(g).max())
    rates, accelerations = machine.tree_motion(q, qd, qdd)
    close(rates, np.einsum("bij,bj->bi", g, qd), 1e-12)
    rates, accelerations = rates[:, own], accelerations[:, own]
    close(rates[:, independent_velocities(machine)], qd, 0)
    close(accelerations[:, independent_velocities(machine)], qdd, 0)
    constraints = Constraints(fused_tree(machine.tree), machine)
    for row, position, rate, push in zip(rows, q, rates, accelerations, strict=True):
        bias = np.array(constraints.bias(position.tolist(), rate.tolist()))
        close(row @ push, -bias, 1e-10, scale=max(1.0, np.abs(push).max()))


@pytest.mark.parametrize("name", SOME)
def test_velocities_are_those_of_assembled_positions(name):
    """G and the accelerations against differences through the assembly."""
    machine = machine_of(name)
    q, qd, qdd = (x[0] for x in states(machine, 1, seed=3, margin=0.2))
    at = motion(machine, q, 0.3 * qd, 0.3 * qdd)
    _, _, rate, push = at(0.0)
    if machine.tree.nq == machine.tree.nv:
        close(rate, along(lambda t: tree_positions(machine, at(t)[0])), 1e-8)
    close(push, along(lambda t: at(t)[2]), 1e-7)


@pytest.mark.parametrize("name", SOME)
def test_inverse_then_forward(name):
    machine = machine_of(name)
    q, qd, qdd = states(machine, 30)
    tau = machine.inverse_dynamics(q, qd, qdd)
    assert tau.shape == (30, machine.nu)
    close(machine.forward_dynamics(q, qd, tau), qdd, 1e-9)


@pytest.mark.parametrize("name", SOME)
def test_all_joints_free_agrees(name):
    """constrained_dynamics, which knows no independent joints, against those that do; and its forces do no work."""
    machine = machine_of(name)
    q, qd, qdd = states(machine, 20)
    tau = machine.inverse_dynamics(q, qd, qdd)
    own = own_velocities(machine)
    rates, accelerations = (x[:, own] for x in machine.tree_motion(q, qd, qdd))
    whole = by_joint(machine, tau)
    found, forces = machine.constrained_dynamics(q, rates, whole, 0.0)
    close(found, accelerations, 1e-9)
    _, rows = machine.closure(q)
    pushed = np.einsum("bji,bj->bi", rows, forces)  # W^T forces
    needed = machine.tree.inverse_dynamics(tree_positions(machine, q), *machine.tree_motion(q, qd, qdd))
    close(felt(machine, q, needed), whole + pushed, 1e-9)
    close(np.einsum("bi,bi->b", pushed, rates), np.zeros(20), 1e-9, scale=np.abs(pushed).max())
    idle = [k for k in range(machine.constraints) if k not in machine.mobility.rows]
    assert not forces[:, idle].any()


@pytest.mark.parametrize("name", SOME)
def test_the_model_of_khalil_58(name):
    """G_a^T tau = A_c qdd + H_c; A_c = G^T A G is symmetric and positive."""
    machine = machine_of(name)
    q, qd, qdd = states(machine, 20)
    inertia, bias, g = machine.mass_matrix(q), machine.bias_force(q, qd), machine.coupling_matrix(q)
    place = tree_positions(machine, q)
    close(inertia, np.swapaxes(g, -1, -2) @ machine.tree.mass_matrix(place) @ g, 1e-11)
    assert (np.linalg.eigvalsh(inertia) > 0).all()
    rows = g[:, own_velocities(machine)][:, active_velocities(machine)]
    close(machine.actuation_matrix(q), rows, 1e-14)
    driven = np.einsum("bai,ba->bi", rows, machine.inverse_dynamics(q, qd, qdd))
    close(np.einsum("bij,bj->bi", inertia, qdd) + bias, driven, 1e-10)
    close(machine.generalized_force(q, qd, qdd), driven, 1e-10)
    tree = machine.tree.inverse_dynamics(place, *machine.tree_motion(q, qd, qdd))
    close(np.einsum("bji,bj->bi", g, tree), driven, 1e-10)  # (55)


@pytest.mark.parametrize("name", SOME)
def test_power(name):
    """What the motors give is what the energy gains and friction takes, along a motion."""
    machine = machine_of(name)
    q, qd, qdd = (x[0] for x in states(machine, 1, seed=5, margin=0.2))
    qd, qdd = 0.3 * qd, 0.3 * qdd
    at = motion(machine, q, qd, qdd)
    rate = at(0.0)[2]
    given = machine.inverse_dynamics(q, qd, qdd) @ (machine.actuation_matrix(q) @ qd)
    gained = along(lambda t: sum(machine.energy(*at(t)[:2])))
    close(given, gained + tree_friction(machine, rate) @ rate, 1e-7, scale=max(1.0, abs(given)))
    for mine, of_tree in zip(machine.energy(q, qd), machine.tree.energy(tree_positions(machine, q), rate), strict=True):
        close(mine, of_tree, 1e-12, scale=max(1.0, abs(of_tree)))


@pytest.mark.parametrize("name", SOME)
def test_the_energy_is_that_of_the_matrices(name):
    """T = qd^T M qd / 2, gravity_force the slope of V, and the Coriolis matrix that of Lagrange's equations."""
    machine = machine_of(name)
    q, qd, _ = (x[0] for x in states(machine, 1, seed=5, margin=0.2))
    qd = 0.3 * qd
    kinetic, potential = machine.energy(q, qd)
    close(kinetic, qd @ machine.mass_matrix(q) @ qd / 2, 1e-12)
    slopes = [along(lambda t, u=u: machine.energy(shifted(machine, q, t * u), qd)[1]) for u in np.eye(machine.nv)]
    close(machine.gravity_force(q), slopes, 1e-7, scale=max(1.0, abs(potential)))
    matrix = machine.coriolis_matrix(q, qd)
    turning = along(lambda t: machine.mass_matrix(shifted(machine, q, t * qd)))
    close(matrix + matrix.T, turning, 1e-7, scale=max(1.0, np.abs(turning).max()))
    calm = machine.without_friction()
    expected = calm.bias_force(q, qd) - machine.gravity_force(q)
    close(matrix @ qd, expected, 1e-10, scale=max(1.0, np.abs(machine.bias_force(q, qd)).max()))


@pytest.mark.parametrize("name", SOME)
def test_momentum_is_that_of_the_tree(name):
    """And the frame Jacobian: what a frame does for every one of the robot's own velocities."""
    machine = machine_of(name)
    q, qd, _ = states(machine, 5, seed=5)
    rates, _ = machine.tree_motion(q, qd, np.zeros_like(qd))
    place = tree_positions(machine, q)
    for verb in ("momentum", "centroidal_momentum"):
        close(getattr(machine, verb)(q, qd), getattr(machine.tree, verb)(place, rates), 1e-12)
    close(machine.center_of_mass(q), machine.tree.center_of_mass(place), 1e-13)
    end = machine.loops[0].second
    one, whole = (robot.compile("jacobian", frame=end) for robot in (machine, machine.tree))
    close(one(q), whole(place) @ machine.coupling_matrix(q), 1e-12)


@pytest.mark.parametrize("name", SOME)
def test_wrenches_from_outside(name):
    """tau with a wrench is tau without, less J^T wrench along the freedoms; forward dynamics goes back."""
    machine = machine_of(name)
    q, qd, qdd = states(machine, 5, seed=5)
    end = machine.loops[0].second
    wrench = np.random.default_rng(1).uniform(-3, 3, (5, 6))
    bare = machine.generalized_force(q, qd, qdd)
    for option, axes in (("external", "link"), ("loads", "world")):
        rows = machine.compile("jacobian", frame=end, reference=axes)(q)
        kernel = machine.compile("generalized_force", **{option: (end,)})
        expected = bare - np.einsum("bij,bi->bj", rows, wrench)
        close(kernel(q, qd, qdd, wrench), expected, 1e-10, what=option)
        tau = machine.compile("inverse_dynamics", **{option: (end,)})(q, qd, qdd, wrench)
        back = machine.compile("forward_dynamics", **{option: (end,)})(q, qd, tau, wrench)
        close(back, qdd, 1e-8, what=option)


@pytest.mark.parametrize("name", SOME)
def test_sensitivities(name):
    """Against differences with the dependent joints following: assembled anew at every point."""
    machine = machine_of(name)
    q, qd, qdd = (x[0] for x in states(machine, 1, seed=2, margin=0.2))
    found = machine.inverse_dynamics_sensitivities(q, qd, qdd)
    tau = machine.inverse_dynamics
    for k, unit in enumerate(np.eye(machine.nv)):
        columns = (
            along(lambda t, u=unit: tau(shifted(machine, q, t * u), qd, qdd), step=2e-3),
            along(lambda t, u=unit: tau(q, qd + t * u, qdd)),
            along(lambda t, u=unit: tau(q, qd, qdd + t * u)),
        )
        for block, column, scale in zip(found, columns, [np.abs(x).max() for x in found], strict=True):
            close(block[:, k], column, 1e-7, scale=max(scale, 1.0))


COMPILED_ONLY = {
    "inverse_dynamics_sensitivities", "forward_dynamics_sensitivities", "reaction_sensitivities",
    "inverse_dynamics_hessian", "inverse_dynamics_rate", "coriolis_matrix", "link_motions",
}  # fmt: skip
"""Made by differentiating a graph, which plain numbers have not."""


@pytest.mark.parametrize("name", few(["cam", "five_bar", "hinged"], 1))
@pytest.mark.parametrize("quantity", sorted(QUANTITIES.keys() - COMPILED_ONLY - {"elastic_inverse_dynamics"}))
def test_compiled_and_on_plain_numbers(quantity, name):
    """Every recipe is a recursion over any scalar: floats give what the compiled kernel gives."""
    machine = machine_of(name)
    kernel, (q, *_) = machine.compile(quantity), states(machine, 1, seed=8)
    rng = np.random.default_rng(0)
    arrays = [q[0] if o.name == "q" else rng.uniform(0.1, 0.3 if o.name == "dt" else 1, o.shape) for o in kernel.inputs]
    values = {o.name: np.ravel(x).tolist() for o, x in zip(kernel.inputs, arrays, strict=True)}
    results = kernel(*arrays)
    for mine, plain in zip(
        results if isinstance(results, tuple) else (results,), kernel.recipe.trace(values), strict=True
    ):
        assert np.isfinite(mine).all()
        close(np.ravel(mine), np.array(plain), 1e-11, scale=max(1.0, np.abs(plain).max()))


@pytest.mark.parametrize("quantity", sorted(COMPILED_ONLY))
def test_what_runs_compiled_only_says_so(quantity):
    recipe = machine_of("five_bar").compile(quantity).recipe
    values = {o.name: [0.1] * o.size for o in recipe.inputs} | {"q": list(machine_of("five_bar").reference)}
    with pytest.raises(InputError, match="compiled only"):
        recipe.trace(values)


# ---- some motion given, some forces --------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOME)
def test_hybrid_dynamics_agree_with_inverse_dynamics(name):
    """Whichever joints of tau are given their motion: their forces, and the motion of the others, are found."""
    machine = machine_of(name)
    q, qd, qdd = states(machine, 10, seed=3)
    tau = machine.inverse_dynamics(q, qd, qdd)
    pushes = machine.tree_motion(q, qd, qdd)[1][:, own_velocities(machine)][:, active_velocities(machine)]
    names = machine.active_names
    owner = [joint.name for joint in machine.moving_joints for _ in range(joint.nv) if joint.name in names]
    for chosen in {names[:1], names[1:], names[::2], names, ()}:
        told = np.array([one in chosen for one in owner])
        kernel = machine.compile("hybrid_dynamics", motion=chosen)
        found = kernel(q, qd, np.where(told, pushes, tau))
        close(found, np.where(told, tau, pushes), 1e-9, what=", ".join(chosen))
    driven = [joint.name for joint in machine.moving_joints if joint.role == "driven"]
    told = np.array([one in driven for one in owner])  # the default
    close(machine.hybrid_dynamics(q, qd, np.where(told, pushes, tau)), np.where(told, tau, pushes), 1e-9)


def test_hybrid_dynamics_of_an_underactuated_five_bar():
    """One motor, two freedoms: what it needs for its own motion, the rest swings."""
    machine = robots.five_bar().with_passive("right_arm")
    q, qd, _ = states(machine, 10, seed=3)
    tau = np.random.default_rng(0).uniform(-5, 5, (10, 1))
    pushes = machine.tree_motion(q, qd, machine.forward_dynamics(q, qd, tau))[1]
    where = machine.joint_names.index("left_arm")
    close(machine.hybrid_dynamics(q, qd, pushes[:, [where]]), tau, 1e-9)
    close(machine.compile("hybrid_dynamics", motion=())(q, qd, tau), pushes[:, [where]], 1e-9)


def test_hybrid_dynamics_with_motors_to_spare():
    """Three motors, two freedoms: two follow a path, the third pushes as it is told; all three cannot be led."""
    machine = robots.five_bar()
    joints = [dataclasses.replace(j, role="driven") if j.name == "left_forearm" else j for j in machine.joints]
    machine = machine.replace(joints=joints)
    q, qd, qdd = states(machine, 10, seed=3)
    kernel = machine.compile("hybrid_dynamics", motion=("left_arm", "right_arm"))
    pushes = machine.tree_motion(q, qd, qdd)[1][:, :3]  # left_arm, left_forearm, right_arm
    given = np.where([True, False, True], pushes, 2.5)
    found = kernel(q, qd, given)
    close(found[:, 1], pushes[:, 1], 1e-9)
    tau = np.where([True, False, True], found, 2.5)
    close(machine.forward_dynamics(q, qd, tau), qdd, 1e-9)
    with pytest.raises(InputError, match="no moving joint 'right_forearm' in tau"):
        machine.compile("hybrid_dynamics", motion=("right_forearm",))
    with pytest.raises(RobotError, match=r"left_arm, left_forearm, right_arm \(3 velocities\) depend on each other"):
        machine.compile("hybrid_dynamics", motion=machine.active_names)


# ---- on a free base --------------------------------------------------------------------------------------------


def test_a_free_base_that_stands_still_is_the_ground():
    """The same torques, and the wrench on the base is the one that the ground gives."""
    fixed = robots.four_bar().with_payload("ground", 4.0, com=(0.3, 0.05, 0.02), inertia=(0.2, 0.3, 0.4))
    free = fixed.with_free_base()
    assert free.active_names == ("root_joint", "crank")
    q, qd, qdd = states(fixed, 20)
    still = np.zeros((20, 6))
    place = np.concatenate([np.tile(free.neutral()[:7], (20, 1)), q], axis=-1)
    tau = free.inverse_dynamics(place, np.concatenate([still, qd], axis=-1), np.concatenate([still, qdd], axis=-1))
    close(tau[:, 6:], fixed.inverse_dynamics(q, qd, qdd), 1e-11)
    close(tau[:, :6], fixed.reaction_wrenches(q, qd, qdd)[:, 0], 1e-11)


@pytest.mark.parametrize("name", few(["floating_four_bar", "random_floating"], 1))
def test_a_floating_machine_keeps_its_momentum(name):
    """No wrench on the base, no gravity: whatever the motors do, forces inside change no momentum."""
    machine = machine_of(name).with_gravity((0, 0, 0)).without_friction()
    q, qd, _ = states(machine, 1, seed=7, margin=0.2)
    q, qd = q[0], 0.3 * qd[0]
    tau = np.concatenate([np.zeros(6), np.random.default_rng(2).uniform(-3, 3, machine.nu - 6)])
    qdd = machine.forward_dynamics(q, qd, tau)
    at = motion(machine, q, qd, qdd)
    size = np.abs(machine.momentum(q, qd)).max()
    close(along(lambda t: machine.momentum(*at(t)[:2])), np.zeros(6), 1e-7, scale=max(1.0, size))
    close(machine.centroidal_momentum_rate(q, qd, qdd), np.zeros(6), 1e-9, scale=max(1.0, np.abs(qdd).max()))


@pytest.mark.parametrize("name", few(["floating_four_bar", "random_floating"], 1))
def test_the_wrench_on_a_free_base_changes_the_momentum(name):
    """Inverse dynamics: its first six numbers, at the base's origin in its axes, are all that acts beside gravity."""
    machine = machine_of(name).with_gravity((0, 0, 0))
    q, qd, qdd = states(machine, 10, seed=7)
    tau = machine.inverse_dynamics(q, qd, qdd)
    carrier = next(joint.child for joint in machine.joints if joint.kind == "free")
    pose = machine.compile("link_poses", frame=carrier)(q)
    force = np.einsum("bij,bj->bi", pose[:, :3, :3], tau[:, :3])
    moment = np.einsum("bij,bj->bi", pose[:, :3, :3], tau[:, 3:6])
    arm = pose[:, :3, 3] - machine.center_of_mass(q)
    expected = np.concatenate([force, moment + np.cross(arm, force)], axis=-1)
    close(machine.centroidal_momentum_rate(q, qd, qdd), expected, 1e-9)
