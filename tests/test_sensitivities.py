"""Sensitivities and rates as kernels: against the complex step, one another, differences and what physics says."""

import dataclasses
import functools

import numpy as np
import pytest

from neuler import InputError, Joint, Link, Robot, RobotError, Transform, robots
from neuler.algebra.screw import flat, pair
from neuler.quantities.derivatives import related, touched
from neuler.quantities.setup import External, fused_tree, grouped_tree, whole_tree
from neuler.recursions import barman
from neuler.recursions.frames import wrench_at
from neuler.recursions.hybrid import hybrid
from neuler.trace.recipe import evaluate
from random_robots import along, close, few, random_robot, random_states

EXACT = 1e-12
STEP = 1e-40
"""Of the complex step: no difference is taken, so it can be this small."""
STATES = ("q", "qd", "qdd")
SEEDS = (12, 5, 29, 0, 2, 6, 20, 32)
each = pytest.mark.parametrize("seed", few(SEEDS, 2))
some = pytest.mark.parametrize("seed", few((12, 29, 0, 5), 1))
"""Where much is compiled."""


def states_of(robot, count, seed):
    """Random states in which no joint is near its reversal."""
    q, qd, qdd = random_states(robot, count, seed)
    return q, np.where(qd < 0, qd - 0.1, qd + 0.1), qdd


@functools.cache
def case(seed, count=3):
    robot = random_robot(seed)
    return robot, states_of(robot, count, seed)


def rows(*arrays):
    return zip(*(x.tolist() for x in arrays), strict=True)


def torques(tree, state, external):
    return np.array(hybrid(tree, *state, [True] * tree.dof, external).coordinates)


def reactions(tree, state, external):
    """In the links' own frames, at their origins."""
    felt = hybrid(tree, *state, [True] * tree.dof, external).reactions
    placed = [tree.frames[name] for name in tree.link_names]
    return np.array([flat(wrench_at(placement, felt[number])) for number, placement in placed])


def by_complex_step(of, tree, state, external=None):
    """d/dq, d/dqd, d/dqdd, the coordinate last."""
    found = []
    for which in range(3):
        columns = []
        for i in range(tree.dof):
            moved = [list(values) for values in state]
            moved[which][i] += 1j * STEP
            columns.append(of(tree, moved, external).imag / STEP)
        found.append(np.stack(columns, -1))
    return found


def agree(found, expected, tolerance=EXACT):
    for name, a, b in zip(STATES, found, expected, strict=True):
        close(a, b, tolerance, what=f"d/d{name}")


def differences(function, state, which, step=1e-3):
    """The Jacobian to one of the inputs, by central differences of sixth order."""
    columns = []
    for i in range(state[which].shape[-1]):
        unit = np.zeros(state[which].shape[-1])
        unit[i] = 1.0
        moved = lambda t, unit=unit: [x + t * unit if k == which else x for k, x in enumerate(state)]  # noqa: E731
        columns.append(along(lambda t, moved=moved: function(*moved(t)), step=step))
    return np.stack(columns, -1)


def test_the_seeds_cover_every_joint_kind():
    joints = [joint for seed in SEEDS[:2] for joint in random_robot(seed).joints]
    assert {joint.kind for joint in joints} == {"revolute", "prismatic", "fixed"}
    assert all(any(getattr(joint, name) for joint in joints) for name in ("rotor_inertia", "viscous", "coulomb"))
    assert any(len(related(fused_tree(random_robot(seed)))) < random_robot(seed).nv ** 2 for seed in SEEDS[:2])


# ---- of torques ------------------------------------------------------------------------------------------


@each
def test_every_method_is_the_complex_step(seed):
    robot, states = case(seed)
    tree = grouped_tree(robot)
    kernels = [robot.compile("inverse_dynamics_sensitivities", method=m) for m in ("cheapest", "recursion", "pass")]
    found = [kernel(*states) for kernel in kernels]
    for k, state in enumerate(rows(*states)):
        expected = by_complex_step(torques, tree, state)
        for result in found:
            agree([matrix[k] for matrix in result], expected)
        theirs = barman.sensitivities(whole_tree(robot), *state)
        agree([theirs.dtau_dq, theirs.dtau_dqd, theirs.dtau_dqdd], expected)


@each
def test_the_cheapest_is_no_dearer(seed):
    robot = random_robot(seed)
    work = {}
    for method in ("cheapest", "recursion", "pass"):
        counted = robot.compile("inverse_dynamics_sensitivities", method=method).operations
        work[method] = counted.mul + counted.add
    assert work["cheapest"] <= min(work["recursion"], work["pass"])


@each
def test_mass_and_coriolis_matrices(seed):
    """d(tau)/d(qdd) is the mass matrix, d(tau)/d(qd) twice the Coriolis matrix and viscous friction."""
    robot, (q, qd, qdd) = case(seed)
    _, dqd, dqdd = robot.inverse_dynamics_sensitivities(q, qd, qdd)
    close(dqdd, robot.mass_matrix(q), EXACT)
    viscous = np.diag([joint.viscous for joint in robot.moving_joints])
    close(dqd, 2.0 * robot.coriolis_matrix(q, qd) + viscous, EXACT)


@some
def test_external_wrenches(seed):
    """Fixed to their frames, base and tool alike."""
    robot, states = case(seed)
    names = ("tool", "frame0", robot.links[0].name)
    rng = np.random.default_rng(seed)
    wrenches = [rng.uniform(-20, 20, (3, 6)) for _ in names]
    found = robot.compile("inverse_dynamics_sensitivities", external=names)(*states, *wrenches)
    felt = robot.compile("reaction_sensitivities", external=names)(*states, *wrenches)
    for k, state in enumerate(rows(*states)):
        values = {f"wrench_{name}": w[k].tolist() for name, w in zip(names, wrenches, strict=True)}
        outside, tree = External(names, ()), grouped_tree(robot)
        agree([m[k] for m in found], by_complex_step(torques, tree, state, outside.fixed(tree, values)))
        tree = whole_tree(robot)
        agree([m[k] for m in felt], by_complex_step(reactions, tree, state, outside.fixed(tree, values)))


# ---- of accelerations ------------------------------------------------------------------------------------


@each
def test_forward(seed):
    """A^-1, the chain rule through it, and differences of the forward dynamics."""
    robot, (q, qd, qdd) = case(seed)
    tau = robot.inverse_dynamics(q, qd, qdd)
    found = robot.forward_dynamics_sensitivities(q, qd, tau)
    there = robot.inverse_dynamics_sensitivities(q, qd, robot.forward_dynamics(q, qd, tau))
    for k, matrix in enumerate(there[2]):
        tolerance = max(EXACT, 1e-15 * float(np.linalg.cond(matrix)))
        close(found[2][k], np.linalg.inv(matrix), tolerance, what="inverse")
        close(found[0][k], -np.linalg.solve(matrix, there[0][k]), tolerance, what="dqdd/dq")
        close(found[1][k], -np.linalg.solve(matrix, there[1][k]), tolerance, what="dqdd/dqd")
    np.testing.assert_array_equal(found[2], np.swapaxes(found[2], 1, 2))
    for which in range(3):
        close(found[which], differences(robot.forward_dynamics, (q, qd, tau), which), 1e-6, what=f"input {which}")


@some
def test_forward_with_an_external_wrench(seed):
    robot, (q, qd, qdd) = case(seed)
    wrench = np.random.default_rng(seed).uniform(-20, 20, (3, 6))
    found = robot.compile("forward_dynamics_sensitivities", external="tool")(q, qd, qdd, wrench)
    forward = robot.compile("forward_dynamics", external="tool")
    for which in range(3):
        expected = differences(lambda *state: forward(*state, wrench), (q, qd, qdd), which)
        close(found[which], expected, 1e-6, what=f"input {which}")


# ---- of reactions ----------------------------------------------------------------------------------------


@each
def test_reactions(seed):
    robot, states = case(seed)
    found = robot.reaction_sensitivities(*states)
    assert [x.shape for x in found] == [(3, len(robot.links), 6, robot.nv)] * 3
    tree = whole_tree(robot)
    placed = [tree.frames[name] for name in tree.link_names]
    for k, state in enumerate(rows(*states)):
        agree([m[k] for m in found], by_complex_step(reactions, tree, state))
        theirs = barman.sensitivities(tree, *state)
        for name, mine in zip(STATES, found, strict=True):
            tables = np.array(getattr(theirs, f"dreaction_d{name}"))
            for link, (number, placement) in enumerate(placed):
                columns = [flat(wrench_at(placement, pair(column.tolist()))) for column in tables[number].T]
                close(mine[k, link], np.array(columns).T, EXACT, float(np.abs(tables).max()), f"Barman, {name}, {link}")
    for which in range(3):
        close(found[which], differences(robot.reaction_wrenches, states, which), 1e-8, what=f"input {which}")


@each
def test_reactions_hold_the_torques(seed):
    """The component along a joint's axis is its torque's sensitivity, but for rotor and friction."""
    robot, states = case(seed)
    dtau, dreaction = robot.inverse_dynamics_sensitivities(*states)[0], robot.reaction_sensitivities(*states)[0]
    for k, joint in enumerate(robot.moving_joints):
        part = dreaction[:, robot.link_names.index(joint.child)]
        part = part[:, :3] if joint.kind == "prismatic" else part[:, 3:]
        scale = max(float(np.abs(dtau).max()), float(np.abs(part).max()), 1e-6)
        close(np.einsum("i,kij->kj", joint.axis, part), dtau[:, k], EXACT, scale)


# ---- sparse ----------------------------------------------------------------------------------------------


def spread(values, shape, index):
    """Entries of a sparse output at their places in an array of zeros."""
    dense = np.zeros(shape)
    for entry, place in enumerate(zip(*index, strict=True)):
        dense[place] = values[entry]
    assert len(set(zip(*(axis.tolist() for axis in index), strict=True))) == len(values), "an entry twice"
    return dense


@some
def test_sparse_torque_sensitivities(seed):
    robot, states = case(seed)
    kernel = robot.compile("inverse_dynamics_sensitivities", sparse=True)
    pattern = related(fused_tree(robot))
    outside = np.ones((robot.nv, robot.nv), dtype=bool)
    outside[tuple(zip(*pattern, strict=True))] = False
    dense = robot.inverse_dynamics_sensitivities(*states)
    for operand, values, whole in zip(kernel.outputs, kernel(*states), dense, strict=True):
        assert operand.shape == (len(pattern),)
        index = kernel.structure[operand.name]
        assert list(zip(*(axis.tolist() for axis in index), strict=True)) == pattern
        for k in range(len(whole)):
            close(spread(values[k], whole[k].shape, index), whole[k], 1e-13)
            assert not whole[k][outside].any()


@some
def test_sparse_reaction_sensitivities(seed):
    robot, states = case(seed)
    kernel = robot.compile("reaction_sensitivities", sparse=True)
    pattern = touched(whole_tree(robot))
    outside = np.ones((len(robot.links), robot.nv), dtype=bool)
    outside[tuple(zip(*pattern, strict=True))] = False
    dense = robot.reaction_sensitivities(*states)
    for operand, values, whole in zip(kernel.outputs, kernel(*states), dense, strict=True):
        assert operand.shape == (len(pattern), 6)
        for k in range(len(whole)):
            by_pair = np.swapaxes(whole[k], 1, 2)  # links, coordinates, 6
            close(spread(values[k], by_pair.shape, kernel.structure[operand.name]), by_pair, 1e-13)
            assert not by_pair[outside].any()


def test_dense_kernels_have_no_structure():
    robot = robots.two_link()
    assert robot.inverse_dynamics_sensitivities.structure == {}
    assert robot.reaction_sensitivities.structure == {}


# ---- rates and motions -----------------------------------------------------------------------------------


def path(start, seed, size):
    """A polynomial of degree five through ``start`` (value, first derivatives): t -> it and its derivatives."""
    rng = np.random.default_rng(seed)
    rest = rng.uniform(-1, 1, (6 - len(start), size))
    polynomial = np.polynomial.Polynomial
    curves = [polynomial(c) for c in np.vstack([*start, *rest]).T]
    return lambda t, order: np.array([curve.deriv(order)(t) if order else curve(t) for curve in curves])


@each
def test_rates_along_a_polynomial(seed):
    robot, (q, qd, _) = case(seed)
    at = path([q[0], qd[0]], seed, robot.nv)
    first, second = robot.inverse_dynamics_rate, robot.compile("inverse_dynamics_rate", order=2)
    tau, rate, rate2 = second(*(at(0.0, k) for k in range(5)))
    np.testing.assert_allclose(first(*(at(0.0, k) for k in range(4))), (tau, rate), rtol=1e-12, atol=1e-12)
    close(tau, robot.inverse_dynamics(*(at(0.0, k) for k in range(3))), EXACT)
    close(rate, along(lambda t: robot.inverse_dynamics(*(at(t, k) for k in range(3)))), 1e-9)
    close(rate2, along(lambda t: first(*(at(t, k) for k in range(4)))[1]), 1e-9)


@some
def test_rates_with_wrenches_that_change(seed):
    robot, (q, qd, _) = case(seed)
    names = ("tool", "frame1")
    at = path([q[0], qd[0]], seed, robot.nv)
    pulls = [path([], seed + 7 + k, 6) for k in range(2)]
    inverse = robot.compile("inverse_dynamics", external=names)
    first = robot.compile("inverse_dynamics_rate", external=names)
    second = robot.compile("inverse_dynamics_rate", external=names, order=2)

    def inputs(t, order):
        return [at(t, k) for k in range(order + 3)] + [pull(t, k) for k in range(order + 1) for pull in pulls]

    assert [x.name for x in second.inputs[5:]] == [f"wrench_{n}{s}" for s in ("", "_rate", "_rate2") for n in names]
    tau, rate, rate2 = second(*inputs(0.0, 2))
    close(tau, inverse(*inputs(0.0, 0)), EXACT)
    close(rate, first(*inputs(0.0, 1))[1], EXACT)
    close(rate, along(lambda t: inverse(*inputs(t, 0))), 1e-9)
    close(rate2, along(lambda t: first(*inputs(t, 1))[1]), 1e-9)


@each
def test_the_rate_is_the_sensitivities_along_the_motion(seed):
    robot, (q, qd, qdd) = case(seed)
    qddd = np.random.default_rng(seed).uniform(-20, 20, q.shape)
    dq, dqd, dqdd = robot.inverse_dynamics_sensitivities(q, qd, qdd)
    expected = sum(np.einsum("kij,kj->ki", m, x) for m, x in ((dq, qd), (dqd, qdd), (dqdd, qddd)))
    close(robot.inverse_dynamics_rate(q, qd, qdd, qddd)[1], expected, EXACT)


@some
@pytest.mark.parametrize("frame", [None, "tool"])
def test_link_motions_are_derivatives_of_poses(seed, frame):
    robot, (q, qd, _) = case(seed)
    at = path([q[0], qd[0]], seed, robot.nv)
    poses, motions = (robot.compile(name, frame=frame) for name in ("link_poses", "link_motions"))

    def turned(t, which):
        """Linear and angular parts in the axes of the base."""
        turn = poses(at(t, 0))[..., :3, :3]
        found = motions(*(at(t, k) for k in range(4)))[which]
        return np.stack([np.einsum("...ij,...j->...i", turn, found[..., part]) for part in (slice(3), slice(3, 6))])

    now = poses(at(0.0, 0))
    slope = along(lambda t: poses(at(t, 0)))
    spin = slope[..., :3, :3] @ np.swapaxes(now[..., :3, :3], -1, -2)
    spun = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], -1)
    close(turned(0.0, 0), np.stack([slope[..., :3, 3], spun]), 1e-9, scale=max(float(np.abs(slope).max()), 1.0))
    for which in (1, 2):
        expected = along(lambda t, which=which: turned(t, which - 1))
        close(turned(0.0, which), expected, 1e-9, scale=max(float(np.abs(expected).max()), 1.0))


# ---- kernels in use --------------------------------------------------------------------------------------


def test_batches_broadcast_and_single_precision_is_near():
    robot = robots.puma560()
    q, qd, qdd = random_states(robot, 6, 3)
    whole = robot.inverse_dynamics_sensitivities(q.reshape(2, 3, 6), qd[0], qdd[0])
    assert [x.shape for x in whole] == [(2, 3, 6, 6)] * 3
    agree([x[1, 2] for x in whole], robot.inverse_dynamics_sensitivities(q[5], qd[0], qdd[0]))
    near = robot.compile("inverse_dynamics_sensitivities", dtype="float32")(q, qd, qdd)
    agree(near, robot.inverse_dynamics_sensitivities(q, qd, qdd), 1e-5)


def test_one_joint():
    """A pendulum by hand: tau = (m l^2 + rotor) qdd + m g l cos q + viscous qd."""
    arm = Link.from_com("arm", mass=2.0, com=(0.5, 0.0, 0.0), inertia=(0.0, 0.0, 0.0))
    joint = Joint("hinge", "revolute", "base", "arm", Transform(), (0, -1, 0), rotor_inertia=0.3, viscous=0.2)
    robot = Robot("pendulum", [Link("base"), arm], [joint])
    mass, pull = 2.0 * 0.25 + 0.3, 2.0 * 9.81 * 0.5
    found = robot.inverse_dynamics_sensitivities([0.4], [3.0], [1.0])
    np.testing.assert_allclose(np.ravel(found), [-pull * np.sin(0.4), 0.2, mass], rtol=1e-12)
    found = robot.forward_dynamics_sensitivities([0.4], [3.0], [1.0])
    np.testing.assert_allclose(np.ravel(found), [pull * np.sin(0.4) / mass, -0.2 / mass, 1 / mass], rtol=1e-12)
    rates = robot.compile("inverse_dynamics_rate", order=2)([0.4], [3.0], [1.0], [5.0], [7.0])
    second = mass * 7.0 + 0.2 * 5.0 - pull * (np.cos(0.4) * 9.0 + np.sin(0.4) * 1.0)
    np.testing.assert_allclose(rates[2], [second], rtol=1e-12)


# ---- what is refused, and what is not a number -----------------------------------------------------------

NEW = ("inverse_dynamics_rate", "link_motions", "inverse_dynamics_sensitivities", "forward_dynamics_sensitivities",
       "reaction_sensitivities")  # fmt: skip


@pytest.mark.parametrize("quantity", NEW)
def test_wrong_arrays_are_refused(quantity):
    kernel = robots.two_link().compile(quantity)
    good = [np.zeros(2)] * len(kernel.inputs)
    kernel(*good)
    for k, operand in enumerate(kernel.inputs):
        with pytest.raises(InputError, match=rf"{quantity}: expected {operand.name} with last axis 2"):
            kernel(*good[:k], np.zeros(3), *good[k + 1 :])
    with pytest.raises(InputError, match=f"takes {len(good)} arrays"):
        kernel(*good[:-1])
    with pytest.raises(InputError, match="real numbers"):
        kernel(*good[:-1], np.zeros(2, dtype=complex))
    with pytest.raises(InputError, match="do not broadcast"):
        kernel(np.zeros((3, 2)), np.zeros((4, 2)), *good[2:])


@pytest.mark.parametrize(
    ("quantity", "options", "message"),
    [
        ("inverse_dynamics_rate", {"order": 3}, "order must be 1 or 2, got 3"),
        ("inverse_dynamics_rate", {"order": 0}, "order must be 1 or 2"),
        ("inverse_dynamics_rate", {"order": True}, "order"),
        ("inverse_dynamics_rate", {"order": "2"}, "order"),
        ("inverse_dynamics_rate", {"order": 1.5}, "order"),
        ("inverse_dynamics_rate", {"external": ("nowhere",)}, "nowhere"),
        ("inverse_dynamics_rate", {"external": ("link1", "link1")}, "twice"),
        ("inverse_dynamics_sensitivities", {"sparse": "yes"}, "must be True or False, got 'yes'"),
        ("inverse_dynamics_sensitivities", {"sparse": 1}, "must be True or False"),
        ("inverse_dynamics_sensitivities", {"method": "magic"}, "cheapest, recursion, pass, got 'magic'"),
        ("inverse_dynamics_sensitivities", {"method": 1}, "method"),
        ("inverse_dynamics_sensitivities", {"external": "nowhere"}, "nowhere"),
        ("forward_dynamics_sensitivities", {"sparse": True}, "unknown option 'sparse'"),
        ("forward_dynamics_sensitivities", {"external": "nowhere"}, "nowhere"),
        ("reaction_sensitivities", {"sparse": "yes"}, "must be True or False"),
        ("reaction_sensitivities", {"external": "nowhere"}, "nowhere"),
        ("link_motions", {"frame": "nowhere"}, "nowhere"),
        ("link_motions", {"order": 2}, "unknown option 'order'"),
    ],
)
def test_wrong_options_are_refused(quantity, options, message):
    with pytest.raises((InputError, RobotError), match=message):
        robots.two_link().compile(quantity, **options)


def test_the_second_rate_needs_a_graph():
    recipe = robots.two_link().compile("inverse_dynamics_rate", order=2).recipe
    with pytest.raises(InputError, match="compiled only"):
        evaluate(recipe, {operand.name: np.ones(2) for operand in recipe.inputs})


@each
def test_a_jerk_that_is_not_a_number_reaches_what_depends_on_it(seed):
    robot, (q, qd, qdd) = case(seed)
    pairs = set(related(fused_tree(robot)))
    carried = whole_tree(robot)
    for k in range(robot.nv):
        qddd = np.zeros(robot.nv)
        qddd[k] = np.nan
        tau, rate = robot.inverse_dynamics_rate(q[0], qd[0], qdd[0], qddd)
        assert np.isfinite(tau).all()
        assert all(np.isfinite(rate[i]) for i in range(robot.nv) if (i, k) not in pairs)
        assert np.isnan(rate[k])
        velocities, accelerations, jerks = robot.link_motions(q[0], qd[0], qdd[0], qddd)
        assert np.isfinite(velocities).all()
        assert np.isfinite(accelerations).all()
        for number in range(len(robot.links)):
            at = number
            while at and carried.bodies[at].coordinate != k:
                at = carried.bodies[at].antecedent
            assert np.isnan(jerks[number]).any() == bool(at)


@some
def test_coulomb_friction_has_no_derivative_at_rest_or_elsewhere(seed):
    """As documented: the rate and the sensitivities are those of the smooth part, also at qd = 0, where it jumps."""
    robot, (q, qd, qdd) = case(seed)
    smooth = robot.replace(joints=[dataclasses.replace(j, coulomb=0.0, coulomb_reverse=None) for j in robot.joints])
    for rate in (np.zeros_like(qd), qd):
        states = q, rate, qdd
        agree(robot.inverse_dynamics_sensitivities(*states), smooth.inverse_dynamics_sensitivities(*states))
        found, expected = (r.inverse_dynamics_rate(*states, qdd) for r in (robot, smooth))
        close(found[1], expected[1], EXACT)
    close(robot.inverse_dynamics_rate(q, 0 * qd, qdd, qdd)[0], smooth.inverse_dynamics(q, 0 * qd, qdd), EXACT)


def test_frames_whose_names_collide_are_refused():
    robot = robots.two_link().with_frame("tool_rate", "link1")
    with pytest.raises(InputError, match="two inputs would be named 'wrench_tool_rate'"):
        robot.compile("inverse_dynamics_rate", external=("tool", "tool_rate"))


@pytest.mark.parametrize("seed", few((1, 0, 2, 3, 4, 5), 1))
def test_the_cheaper_way_to_reactions(seed):
    robot = random_robot(seed)
    state = np.random.default_rng(seed).normal(size=(3, 5, robot.nv))
    ways = {name: robot.compile("reaction_sensitivities", method=name) for name in ("composite", "barman", "cheapest")}
    work = {name: kernel.operations.mul + kernel.operations.add for name, kernel in ways.items()}
    assert work["cheapest"] == min(work.values())
    for ours, theirs in zip(ways["composite"](*state), ways["barman"](*state), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * max(1.0, abs(theirs).max()))
