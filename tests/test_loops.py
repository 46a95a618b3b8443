"""Closed loops, Khalil 2.2 and 4: the geometry of cut joints, assembly, dynamics, each against its definition."""

import dataclasses
import itertools
import math
import warnings

import numpy as np
import pytest
import sympy as sp

from loop_machines import (
    BUILT_IN,
    KINDS,
    MACHINES,
    active_velocities,
    bennett_ratio,
    closed_positions,
    independent_positions,
    independent_velocities,
    machine_of,
    motion,
    random_loop,
    rssr,
    states,
)
from neuler import Coupling, Joint, Link, Loop, Mechanism, Robot, Transform, robots
from neuler.recipes.closed_loops import CLOSED_LOOPS
from neuler.recipes.mobility import Numbers
from neuler.recipes.setup import fused_tree, whole_tree
from neuler.recursions import frames
from neuler.recursions.closed import Constraints
from random_robots import along, close, friction_of

TRUNKS = ("none", "hinge", "floating", "free")
EVERY_LOOP = list(itertools.product(KINDS, TRUNKS))


# ---- the geometry of cut joints: Khalil (3), (4) ---------------------------------------------------------


def frames_of(machine, q):
    """Poses of the first and the second frame of the only loop, from those of the links."""
    poses = machine.tree.link_poses(q)
    found = []
    for name in (machine.loops[0].first, machine.loops[0].second):
        index, placement = machine.tree.locate(name)
        found.append(poses[..., index, :, :] @ placement.matrix)
    return found


def apart(kind, q, machine):
    """How far a loop is open, from the words of its definition: what must vanish, and what must be positive."""
    first, second = frames_of(machine, q)
    seen = np.linalg.inv(first) @ second
    p, (x2, y2, z2) = seen[:3, 3], seen[:3, :3].T
    axes, line = [*z2[:2]], [*p[:2]]
    return {
        "fixed": [*p, x2[1], x2[2], y2[2]],
        "revolute": [*p, *axes],
        "prismatic": [*line, x2[1], x2[2], y2[2]],
        "cylindrical": [*line, *axes],
        "universal": [*p, y2[0]],
        "spherical": [*p],
        "planar": [p[2], *axes],
        "point_on_line": line,
        "point_on_plane": [p[2]],
    }[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_joint_holds_what_its_definition_says(kind):
    machine = random_loop(kind, 4)
    assert machine.constraints == KINDS[kind]
    assert machine.mobility.freedoms == 8 - KINDS[kind]
    for q in (np.array(machine.reference), *closed_positions(machine, 3)):
        assert np.abs(apart(kind, q, machine)).max() < 1e-12
        assert np.abs(machine.closure(q)[0]).max() < 1e-12
    rng = np.random.default_rng(0)
    for q in np.array(machine.reference) + rng.uniform(-0.3, 0.3, (5, 8)):  # open: both say so
        assert 0.3 < np.linalg.norm(machine.closure(q)[0]) / np.linalg.norm(apart(kind, q, machine)) < 3


@pytest.mark.parametrize(("kind", "trunk"), EVERY_LOOP)
def test_rows_are_the_derivative_of_the_gap(kind, trunk):
    """At closed positions, along every velocity of the tree, those of shared and free links too."""
    machine = random_loop(kind, 1, trunk)
    numbers = Numbers(machine)
    for q in closed_positions(machine, 1, seed=1):
        rows = numbers.jacobian(q)
        for k, unit in enumerate(np.eye(machine.nv)):
            column = along(lambda t, q=q, unit=unit: numbers.open_by(numbers.moved(q, t * unit)))
            close(rows[:, k], column, 1e-9, scale=1.0, what=f"velocity {k}")


@pytest.mark.parametrize(("kind", "trunk"), EVERY_LOOP)
def test_rows_are_the_relative_velocity_and_bias_its_rate(kind, trunk):
    """Anywhere, closed or not: d(W qd)/dt = W qdd + bias along a motion."""
    machine = random_loop(kind, 1, trunk)
    numbers, rng = Numbers(machine), np.random.default_rng(3)
    start = machine.tree.random_configuration(rng)
    v, a = rng.uniform(-1.5, 1.5, (2, machine.nv))

    def velocity(t):
        return v + a * t

    def held(t):  # two steps of the midpoint rule of a known velocity, extrapolated: exact to t^5
        coarse = numbers.moved(start, t * velocity(t / 2))
        half = numbers.moved(start, t / 2 * velocity(t / 4))
        fine = numbers.moved(half, t / 2 * velocity(3 * t / 4))
        q = (4 * fine - coarse) / 3
        return numbers.jacobian(machine.tree.normalize(q)) @ velocity(t)

    bias = np.array(numbers.constraints.bias(start.tolist(), v.tolist()))
    close(numbers.jacobian(start) @ a + bias, along(held), 1e-8, scale=1.0)


@pytest.mark.parametrize(("kind", "trunk"), EVERY_LOOP)
def test_wrenches_do_the_work_of_the_forces(kind, trunk):
    """Wrench on the first body times its velocity and on the second times its own: forces . (W qd)."""
    machine = random_loop(kind, 1, trunk)
    rng, tree = np.random.default_rng(5), fused_tree(machine.tree)
    closure = Constraints(tree, machine).closures[0]
    q, qd = machine.tree.random_configuration(rng), rng.uniform(-1, 1, machine.nv)
    forces = rng.uniform(-1, 1, machine.constraints)
    power = 0.0
    for frame, wrench in zip(("first", "second"), closure.wrench(q.tolist(), forces.tolist()), strict=True):
        screw = np.array(frames.jacobian(tree, q.tolist(), frame, world=False)) @ qd
        power += np.concatenate(wrench) @ screw
    close(power, forces @ (Numbers(machine).jacobian(q) @ qd), 1e-12, scale=1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_closure_is_the_one_on_numbers(kind):
    machine = random_loop(kind, 4)
    q = np.stack([machine.tree.random_configuration(k) for k in range(4)])
    gap, rows = machine.closure(q)
    numbers = Numbers(machine)
    close(gap, [numbers.open_by(x) for x in q], 1e-13, scale=1.0)
    close(rows, [numbers.jacobian(x) for x in q], 1e-13, scale=1.0)


def test_links_behind_fixed_joints_carry_the_same_loop():
    """A tree whose links are in pieces: cut frames on pieces, the same rows as on the whole."""
    machine = random_loop("revolute", 5, "hinge")
    piece = Transform.from_rpy((0.2, -0.1, 0.3), (0.4, 0.5, -0.6))
    index, placement = machine.tree.locate("first")
    tree = machine.tree
    kept = [frame for frame in tree.frames if frame.name != "first"]
    tree = tree.replace(
        links=(*tree.links, Link("piece")), joints=(*tree.joints, Joint("weld", "fixed", "a3", "piece", piece)),
        frames=kept,
    ).with_frame("first", "piece", piece.inverse() @ placement)  # fmt: skip
    other = machine.replace(tree=tree)
    assert tree.link_names[index] == "a3"
    q = closed_positions(machine, 3)
    for mine, theirs in zip(other.closure(q), machine.closure(q), strict=True):
        close(mine, theirs, 1e-13, scale=1.0)
    whole = Constraints(whole_tree(tree), other)
    close(whole.open_by((q[0] + 0.1).tolist()), machine.closure(q[0] + 0.1)[0], 1e-13, scale=1.0)


# ---- mobility -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "freedoms", "rank", "constraints", "redundant"),
    [
        ("four_bar", 1, 2, 5, ("cut (3)",)),
        ("five_bar", 2, 2, 5, ("cut (3)",)),
        ("slider_crank", 1, 2, 5, ("cut (3)",)),
        ("sr400", 6, 2, 5, ("joint9 (3)",)),
        ("rssr", 1, 3, 3, ()),
        ("hinged", 1, 5, 5, ()),
        ("bennett", 1, 2, 5, ("cut (3)",)),
        ("mirrored", 1, 3, 6, ("cut (3)",)),
        ("two_loops", 1, 3, 7, ("slot (1)", "cut (3)")),
    ],
)
def test_mobility(name, freedoms, rank, constraints, redundant):
    facts = machine_of(name).mobility
    assert (facts.freedoms, facts.rank, facts.constraints) == (freedoms, rank, constraints)
    assert facts.redundant == redundant
    assert facts.independent == machine_of(name).active_names
    assert len(facts.rows) == rank
    rows = Numbers(machine_of(name)).jacobian(np.array(facts.reference))
    close(rows @ facts.motions, np.zeros((constraints, freedoms)), 1e-10, scale=1.0)


def test_a_constraint_that_holds_nothing_is_redundant():
    """A planar arm whose tip is asked to stay in its plane: one constraint, no rank."""
    arm = robots.two_link()
    machine = Mechanism("flat", arm, [Loop("floor", "point_on_plane", arm.links[0].name, arm.links[-1].name)])
    facts = machine.mobility
    assert (facts.constraints, facts.rank, facts.freedoms, facts.redundant) == (1, 0, 2, ("floor (1)",))
    q, qd, qdd = np.array([0.3, 0.5]), np.array([1.0, -2.0]), np.array([0.5, 0.7])
    close(machine.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd), 1e-14)
    close(machine.assemble(q).q, q, 0)


def test_bennetts_loop_moves():
    """Overconstrained, and movable: tan(theta1/2) tan(theta2/2) is constant, theta1 + theta3 = 2 pi; a whole turn."""
    machine = machine_of("bennett")
    angle = np.linspace(-3.0, 3.0, 61)
    found = machine.assemble(angle[:, None], continuous=True)
    second = 2 * np.arctan2(bennett_ratio() * np.cos(angle / 2), np.sin(angle / 2))
    close(np.sin((found.q[:, 1] - second) / 2), np.zeros(61), 1e-12, scale=1.0)
    close(np.sin((found.q[:, 2] + angle) / 2), np.zeros(61), 1e-12, scale=1.0)
    close(machine.coupling_matrix(found.q)[:, 2, 0], -np.ones(61), 1e-12)
    assert machine.singularity(found.q).min() > 0.5


# ---- assembly -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*BUILT_IN, "rssr", "hinged"])
def test_assembly_from_near_guesses(name):
    """Thousands of guesses within 0.3 rad (0.05 m) of closed positions: 1e-12 in ten steps of Newton's method."""
    machine = machine_of(name)
    q, _, _ = states(machine, 50, margin=0.2)
    rng = np.random.default_rng(0)
    reach = np.array([0.05 if joint.kind == "prismatic" else 0.3 for joint in machine.tree.moving_joints])
    guess = q[:, None] + rng.uniform(-1, 1, (50, 40, machine.nq)) * reach
    found = machine.assemble(q[:, None, independent_positions(machine)], guess)
    assert found.q.shape == (50, 40, machine.nq)
    assert found.gap.shape == found.iterations.shape == found.closed.shape == (50, 40)
    assert found.closed.all()
    assert found.gap.max() < 1e-12
    gap, _ = machine.closure(found.q)
    assert np.linalg.norm(gap, axis=-1).max() < 1e-12
    same = np.abs(found.q - q[:, None]).max(axis=-1) < 1e-9
    assert same.mean() > 0.99  # of seven hinges some other branches are within reach
    assert (name == "hinged") or same.all()
    assert np.quantile(found.iterations, 0.99 if name == "hinged" else 1.0) <= 10


FOUR_BAR = (0.15, 0.45, 0.525, 0.675)
"""Lengths of crank, coupler, rocker and ground."""
NEARLY_FLAT = (0.2, 0.5, 0.21, 0.509)
"""The same of one that nearly folds: with its crank along the ground, its two branches are 0.08 rad apart."""


def four_bar_by_hand(crank, side, lengths=FOUR_BAR):
    """Coupler (to the crank) and rocker, from the triangle of coupler, rocker and the diagonal; side 1 or -1."""
    a, b, c, d = lengths
    x, y = a * np.cos(crank), a * np.sin(crank)
    span = np.hypot(d - x, y)
    bend = np.arccos((b**2 + span**2 - c**2) / (2 * b * span))
    direction = np.arctan2(-y, d - x) + side * bend
    return direction - crank, np.arctan2(y + b * np.sin(direction), x + b * np.cos(direction) - d)


def four_bar_of(lengths):
    machine = robots.four_bar()
    (a, b, c, d), tree = lengths, machine.tree
    places = {"coupler": a, "rocker": d, "coupler_tip": b, "rocker_tip": c}
    for_it = [
        [dataclasses.replace(x, placement=Transform(translation=(places[x.name], 0, 0))) if x.name in places else x
         for x in group]
        for group in (tree.joints, tree.frames)
    ]  # fmt: skip
    return machine.replace(tree=tree.replace(joints=for_it[0], frames=for_it[1]), reference=None)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("points", [9, 13, 400])
@pytest.mark.parametrize("lengths", [FOUR_BAR, NEARLY_FLAT])
def test_a_full_turn_of_the_crank_keeps_the_branch(side, points, lengths):
    """Two turns forth, coarse or fine, on both branches; joints go on turning with the crank."""
    machine = four_bar_of(lengths)
    start = math.pi / 2
    guess = np.array([start, *four_bar_by_hand(start, side, lengths)])
    crank = start + np.linspace(0, 4 * math.pi, points)
    found = machine.assemble(crank[:, None], guess, continuous=True)
    for mine, by_hand in zip(found.q[:, 1:].T, four_bar_by_hand(crank, side, lengths), strict=True):
        close(np.exp(1j * mine), np.exp(1j * by_hand), 1e-11)
    turned = found.q[-1] - found.q[0]
    close(turned[0] + turned[1], 0.0 if lengths == FOUR_BAR else turned[2], 1e-11, scale=1.0)
    alone = machine.assemble(crank[1:, None], guess).q  # each for itself, however far
    close(np.exp(1j * alone), np.exp(1j * found.q[1:]), 1e-11)


@pytest.mark.parametrize("name", BUILT_IN)
def test_far_positions_are_on_the_branch_of_the_reference(name):
    """One by one from the reference, wherever: the closed forms of the docstrings decide which branch it is."""
    machine = machine_of(name)
    rng = np.random.default_rng(1)
    if name == "five_bar":
        active = np.array(machine.reference)[[0, 2]] + rng.uniform(-0.6, 0.6, (1000, 2))
        elbows = [np.stack([x + 0.3 * np.cos(a), 0.3 * np.sin(a)]) for x, a in zip((-0.1, 0.1), active.T, strict=True)]
        active = active[np.linalg.norm(elbows[0] - elbows[1], axis=0) < 0.6999]
        q = machine.assemble(active).q
        assert len(q) > 900
        assert (np.sin(q[:, 2] + q[:, 3] - q[:, 0] - q[:, 1]) > 0).all()
        return
    active = rng.uniform(-9.0, 9.0, (1000, len(machine.active_names)))
    if name == "sr400":
        active = np.array(machine.reference)[[0, 1, 3, 4, 5, 6]] + rng.uniform(-1.5, 1.5, active.shape)
    q = machine.assemble(active).q
    if name == "four_bar":
        expected = np.stack(four_bar_by_hand(q[:, 0], 1), axis=-1)
        close(np.exp(1j * q[:, 1:]), np.exp(1j * expected), 1e-11)
    elif name == "slider_crank":
        close(q[:, 2], 0.15 * np.cos(q[:, 0]) + np.sqrt(0.25**2 - (0.15 * np.sin(q[:, 0])) ** 2), 1e-11)
    else:
        close(np.exp(1j * q[:, 2]), np.exp(1j * (math.pi / 2 - q[:, 1] + q[:, 6])), 1e-11)
        close(np.exp(1j * q[:, 7]), np.exp(1j * (q[:, 1] - q[:, 6])), 1e-11)
    close(q[:, independent_positions(machine)], active, 0)


def test_a_path_through_a_crossing_of_branches_goes_straight_on():
    """The parallelogram of the SR400 lies flat at theta2 = theta7, where it could fold: its bar stays parallel."""
    machine = robots.sr400()
    path = np.tile(np.array(machine.reference)[[0, 1, 3, 4, 5, 6]], (60, 1))
    path[:, 5] += np.linspace(0.0, 3.0, 60)
    found = machine.assemble(path, continuous=True)
    close(np.exp(1j * found.q[:, 7]), np.exp(1j * (found.q[:, 1] - found.q[:, 6])), 1e-11)


def test_batches_broadcast():
    machine = robots.five_bar()
    active = np.array([[2.2, 0.9], [2.3, 1.0], [2.1, 0.8]])
    guess = np.stack([np.array(machine.reference)] * 2) + 0.05
    found = machine.assemble(active[:, None], guess)
    assert found.q.shape == (3, 2, 4)
    assert found.gap.shape == (3, 2)
    path = machine.assemble(active[:, None], guess, continuous=True)
    assert path.q.shape == (3, 2, 4)
    for one in (found, path):
        for k, row in enumerate(active):
            close(one.q[k, 0], machine.assemble(row).q, 1e-12)
            close(one.q[k, 1], one.q[k, 0], 1e-12)
    alone = machine.assemble(active[0])
    assert (alone.q.shape, alone.gap.shape, alone.closed.shape) == ((4,), (), ())
    for shape in ((0, 2), (3, 0, 2)):
        assert machine.assemble(np.zeros(shape)).q.shape == (*shape[:-1], 4)
        assert machine.assemble(np.zeros(shape), continuous=True).closed.shape == shape[:-1]


def test_other_joints_may_be_the_independent_ones():
    """In the order in which they are named; the same positions, the other way round."""
    machine = robots.five_bar()
    q, qd, qdd = states(machine, 20)
    names = ("right_forearm", "left_arm")
    found = machine.assemble(q[:, [3, 0]], q + 0.1, independent=names)
    close(found.q, q, 1e-10)
    g = machine.coupling_matrix(q)
    rates = np.einsum("bij,bj->bi", g, qd)
    other = machine.compile("coupling_matrix", independent=names)(q)
    close(np.einsum("bij,bj->bi", other, rates[:, [3, 0]]), rates, 1e-10)
    _, accelerations = machine.tree_motion(q, qd, qdd)
    tau = machine.compile("inverse_dynamics", independent=names)(q, rates[:, [3, 0]], accelerations[:, [3, 0]])
    close(tau, machine.inverse_dynamics(q, qd, qdd), 1e-9)
    back = machine.compile("forward_dynamics", independent=names)(q, rates[:, [3, 0]], tau)
    close(back, accelerations[:, [3, 0]], 1e-9)
    all_four = machine.assemble(q, independent=machine.joint_names)  # nothing left to follow
    close(all_four.q, q, 0)


def test_closed_positions_of_a_loop_on_a_free_base():
    """The base is named among the independent joints: seven numbers of its pose, six of its velocity."""
    machine = random_loop("universal", 4, "floating")
    names = ("root", "a0", "a1", "a2", "b0")
    q = closed_positions(machine, 5, reach=0.2)
    found = machine.assemble(q[:, [*range(7), 7, 8, 9, 11]], np.array(machine.reference), independent=names)
    assert found.gap.max() < 1e-12
    close(found.q[:, :7], q[:, :7], 0)
    upside = np.array(machine.reference)
    upside[3:7] *= -1  # the same rotation
    again = machine.assemble(q[:, [*range(7), 7, 8, 9, 11]], upside, independent=names)
    close(again.q, found.q, 1e-10)
    assert (again.iterations == found.iterations).all()


# ---- consistency --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MACHINES)
def test_the_loops_stay_closed(name):
    """W G = 0, and W qdd + bias = 0 with the accelerations that follow."""
    machine = machine_of(name)
    q, qd, qdd = states(machine, 20)
    _, rows = machine.closure(q)
    g = machine.coupling_matrix(q)
    close(rows @ g, np.zeros((20, machine.constraints, g.shape[-1])), 1e-11, scale=np.abs(g).max())
    rates, accelerations = machine.tree_motion(q, qd, qdd)
    close(rates, np.einsum("bij,bj->bi", g, qd), 1e-12)
    close(rates[:, independent_velocities(machine)], qd, 0)
    close(accelerations[:, independent_velocities(machine)], qdd, 0)
    constraints = Constraints(fused_tree(machine.tree), machine)
    for row, position, rate, push in zip(rows, q, rates, accelerations, strict=True):
        bias = np.array(constraints.bias(position.tolist(), rate.tolist()))
        close(row @ push, -bias, 1e-10, scale=max(1.0, np.abs(push).max()))


@pytest.mark.parametrize("name", MACHINES)
def test_velocities_are_those_of_assembled_positions(name):
    """G and the accelerations against differences through the assembly."""
    machine = machine_of(name)
    q, qd, qdd = (x[0] for x in states(machine, 1, seed=3, margin=0.2))
    at = motion(machine, q, 0.3 * qd, 0.3 * qdd)
    _, rate, push = at(0.0)
    if machine.tree.nq == machine.tree.nv:
        close(rate, along(lambda t: at(t)[0]), 1e-8)
    close(push, along(lambda t: at(t)[1]), 1e-7)


@pytest.mark.parametrize("name", MACHINES)
def test_inverse_then_forward(name):
    machine = machine_of(name)
    q, qd, qdd = states(machine, 30)
    tau = machine.inverse_dynamics(q, qd, qdd)
    assert tau.shape == (30, len(machine.active_names))
    close(machine.forward_dynamics(q, qd, tau), qdd, 1e-9)


@pytest.mark.parametrize("name", MACHINES)
def test_all_joints_free_agrees(name):
    """constrained_dynamics, which knows no independent joints, against those that do; and its forces do no work."""
    machine = machine_of(name)
    q, qd, qdd = states(machine, 20)
    tau = machine.inverse_dynamics(q, qd, qdd)
    rates, accelerations = machine.tree_motion(q, qd, qdd)
    whole = np.zeros_like(rates)
    whole[:, active_velocities(machine)] = tau
    found, forces = machine.constrained_dynamics(q, rates, whole, 0.0)
    close(found, accelerations, 1e-9)
    _, rows = machine.closure(q)
    pushed = np.einsum("bji,bj->bi", rows, forces)  # W^T forces
    close(machine.tree.inverse_dynamics(q, rates, found), whole + pushed, 1e-9)
    close(np.einsum("bi,bi->b", pushed, rates), np.zeros(20), 1e-9, scale=np.abs(pushed).max())
    idle = [k for k in range(machine.constraints) if k not in machine.mobility.rows]
    assert not forces[:, idle].any()


@pytest.mark.parametrize("name", MACHINES)
def test_the_model_of_khalil_58(name):
    """G_a^T tau = A_c qdd + H_c; A_c = G^T A G is symmetric and positive."""
    machine = machine_of(name)
    q, qd, qdd = states(machine, 20)
    inertia, bias, g = machine.mass_matrix(q), machine.bias_force(q, qd), machine.coupling_matrix(q)
    close(inertia, np.swapaxes(g, -1, -2) @ machine.tree.mass_matrix(q) @ g, 1e-11)
    assert (np.linalg.eigvalsh(inertia) > 0).all()
    driven = np.einsum("bai,ba->bi", g[:, active_velocities(machine)], machine.inverse_dynamics(q, qd, qdd))
    close(np.einsum("bij,bj->bi", inertia, qdd) + bias, driven, 1e-10)


@pytest.mark.parametrize("name", MACHINES)
def test_power(name):
    """What the motors give is what the energy gains and friction takes, along a motion."""
    machine = machine_of(name)
    q, qd, qdd = (x[0] for x in states(machine, 1, seed=5, margin=0.2))
    qd, qdd = 0.3 * qd, 0.3 * qdd
    at = motion(machine, q, qd, qdd)
    _, rate, _ = at(0.0)
    given = machine.inverse_dynamics(q, qd, qdd) @ rate[active_velocities(machine)]
    lost = friction_of(machine.tree, rate) @ rate
    gained = along(lambda t: sum(machine.tree.energy(*at(t)[:2])))
    close(given, gained + lost, 1e-7, scale=max(1.0, abs(given)))


@pytest.mark.parametrize("name", sorted(MACHINES.keys() - {"random_hinge"}))
def test_sensitivities(name):
    """Against differences with the dependent joints following: assembled anew at every point."""
    machine = machine_of(name)
    q, qd, qdd = (x[0] for x in states(machine, 1, seed=2, margin=0.2))
    where = independent_positions(machine)
    found = machine.inverse_dynamics_sensitivities(q, qd, qdd)
    tau = machine.inverse_dynamics
    for k, unit in enumerate(np.eye(len(qd))):
        columns = (
            along(lambda t, u=unit: tau(machine.assemble(q[where] + t * u, q).q, qd, qdd), step=2e-3),
            along(lambda t, u=unit: tau(q, qd + t * u, qdd)),
            along(lambda t, u=unit: tau(q, qd, qdd + t * u)),
        )
        for block, column, scale in zip(found, columns, [np.abs(x).max() for x in found], strict=True):
            close(block[:, k], column, 1e-7, scale=max(scale, 1.0))


@pytest.mark.parametrize("quantity", sorted(CLOSED_LOOPS.keys() - {"inverse_dynamics_sensitivities"}))
def test_compiled_and_on_plain_numbers(quantity):
    """Every recipe is a recursion over any scalar: floats give what the compiled kernel gives."""
    for name in ("five_bar", "hinged"):
        machine = machine_of(name)
        kernel, (q, *_) = machine.compile(quantity), states(machine, 1, seed=8)
        rng = np.random.default_rng(0)
        arrays = [q[0] if o.name == "q" else rng.uniform(0.1, 1, o.shape) for o in kernel.inputs]
        values = {o.name: np.ravel(x).tolist() for o, x in zip(kernel.inputs, arrays, strict=True)}
        results = kernel(*arrays)
        for mine, plain in zip(
            results if isinstance(results, tuple) else (results,), kernel.recipe.trace(values), strict=True
        ):
            close(np.ravel(mine), np.array(plain), 1e-11, scale=max(1.0, np.abs(plain).max()))


# ---- forces in the joints ----------------------------------------------------------------------------------


def moved_to(pose, wrench):
    """(force; moment) at a frame's origin in its axes, as one in the axes of the base about its origin."""
    force, moment = pose[:3, :3] @ wrench[:3], pose[:3, :3] @ wrench[3:]
    return np.concatenate([force, moment + np.cross(pose[:3, 3], force)])


@pytest.mark.parametrize("name", MACHINES)
def test_every_link_is_in_balance(name):
    """Newton and Euler by hand: reactions, weight and the wrenches of the cut joints are the change of momentum."""
    machine = machine_of(name)
    tree = machine.tree
    q, qd, qdd = (x[0] for x in states(machine, 1, seed=4))
    reactions, cuts = machine.reaction_wrenches(q, qd, qdd)
    rates, accelerations = machine.tree_motion(q, qd, qdd)
    poses = tree.link_poses(q)
    velocities, changes, _ = tree.link_motions(q, rates, accelerations, np.zeros_like(rates))
    total = np.stack([moved_to(pose, wrench) for pose, wrench in zip(poses, reactions, strict=True)])
    on_links = total.copy()
    for child, parent in enumerate(tree.antecedents, start=1):
        on_links[parent] -= total[child]
    for loop, cut in zip(machine.loops, cuts, strict=True):
        (first, _), (second, placement) = tree.locate(loop.first), tree.locate(loop.second)
        pushed = moved_to(poses[second] @ placement.matrix, cut)
        on_links[second] += pushed
        on_links[first] -= pushed
    largest = np.abs(total).max()
    for k, (link, pose) in enumerate(zip(tree.links, poses, strict=True)):
        turned, centre = pose[:3, :3], pose[:3, :3] @ np.array(link.com) + pose[:3, 3]
        w, wd, a = velocities[k, 3:], changes[k, 3:], changes[k, :3]
        com = np.array(link.com)
        push = link.mass * (turned @ (a + np.cross(wd, com) + np.cross(w, np.cross(w, com))) - np.array(tree.gravity))
        about = link.inertia_about_com
        spin = turned @ (about @ wd + np.cross(w, about @ w))
        expected = np.concatenate([push, spin + np.cross(centre, push)])
        close(on_links[k], expected, 1e-9, scale=largest, what=link.name)


@pytest.mark.parametrize("name", MACHINES)
def test_joints_carry_the_torque_of_their_motor(name):
    """About its axis a joint passes on what its motor gives less friction, spring and rotor; an idle one nothing."""
    machine = machine_of(name)
    tree = machine.tree
    q, qd, qdd = (x[0] for x in states(machine, 1, seed=4))
    reactions, cuts = machine.reaction_wrenches(q, qd, qdd)
    rates, accelerations = machine.tree_motion(q, qd, qdd)
    given = np.zeros(machine.nv)
    given[active_velocities(machine)] = machine.inverse_dynamics(q, qd, qdd)
    given -= friction_of(tree, rates) + [j.rotor_inertia for j in tree.moving_joints] * accelerations
    given -= [j.stiffness * (x - j.rest) for j, x in zip(tree.moving_joints, q, strict=True)]
    coupled = {name for coupling in machine.couplings for name in (coupling.joint, coupling.of)}
    for k, joint in enumerate(tree.moving_joints):
        half = reactions[tree.link_names.index(joint.child)][: 3 if joint.kind == "prismatic" else None][-3:]
        if joint.name not in coupled:
            close(half @ np.array(joint.axis), given[k], 1e-9, scale=np.abs(reactions).max(), what=joint.name)
    free = {"revolute": [5], "spherical": [3, 4, 5], "point_on_line": [3, 4, 5]}
    for loop, cut in zip(machine.loops, cuts, strict=True):
        if loop.kind in free:
            close(cut[free[loop.kind]], np.zeros(len(free[loop.kind])), 1e-12, scale=np.abs(cuts).max(), what=loop.name)


@pytest.mark.parametrize("name", ["four_bar", "five_bar"])
def test_reactions_with_the_wrenches_of_the_cuts_as_external_ones(name):
    machine = machine_of(name)
    q, qd, qdd = states(machine, 5)
    reactions, cuts = machine.reaction_wrenches(q, qd, qdd)
    loop = machine.loops[0]
    first, second = frames_of(machine, q)
    seen = np.linalg.inv(first) @ second
    back = -np.einsum("bij,bkj->bki", seen[:, :3, :3], cuts[:, 0].reshape(-1, 2, 3)).reshape(-1, 6)
    kernel = machine.tree.compile("reaction_wrenches", external=(loop.first, loop.second))
    close(kernel(q, *machine.tree_motion(q, qd, qdd), back, cuts[:, 0]), reactions, 1e-10)


# ---- motors, gears, springs ---------------------------------------------------------------------------------


def test_more_motors_than_freedoms_share_the_work():
    """A five-bar with a third motor: of all torques that do it, those with the least sum of squares."""
    machine = robots.five_bar()
    joints = [dataclasses.replace(j, role="driven") if j.name == "left_forearm" else j for j in machine.tree.joints]
    machine = machine.replace(tree=machine.tree.replace(joints=joints))
    assert len(machine.active_names) == 3
    assert machine.mobility.independent == ("left_arm", "left_forearm")
    q, qd, qdd = states(machine, 20)
    tau = machine.inverse_dynamics(q, qd, qdd)
    g = machine.coupling_matrix(q)
    needed = np.einsum("bij,bi->bj", g, machine.tree.inverse_dynamics(q, *machine.tree_motion(q, qd, qdd)))
    driven = np.swapaxes(g[:, active_velocities(machine)], -1, -2)
    close(tau, np.einsum("bij,bj->bi", np.linalg.pinv(driven), needed), 1e-11)
    close(machine.forward_dynamics(q, qd, tau), qdd, 1e-9)
    assert "least" in machine.inverse_dynamics.__doc__
    reactions, _ = machine.reaction_wrenches(q, qd, qdd)
    carried = np.zeros((20, 4))  # left_arm, left_forearm, right_arm, right_forearm
    carried[:, active_velocities(machine)] = tau
    close(reactions[:, 1:, 5], carried, 1e-10)


@pytest.mark.parametrize(("ratio", "offset"), [(-2.5, 0.3), (0.5, 0.0)])
def test_a_pair_of_gears(ratio, offset):
    """(I1 + r^2 I2) a + weights: two pendulums on one shaft, by hand."""
    m1, c1, i1, m2, c2, i2, g = 1.2, 0.3, 0.05, 0.7, 0.2, 0.02, 9.81
    links = [Link("ground"), Link.from_com("a", mass=m1, com=(c1, 0, 0), inertia=(0.1, 0.1, i1))]
    links.append(Link.from_com("b", mass=m2, com=(c2, 0, 0), inertia=(0.1, 0.1, i2)))
    joints = [
        Joint("one", "revolute", "ground", "a", rotor_inertia=0.1),
        Joint("two", "revolute", "ground", "b", Transform(translation=(1, 0, 0)), role="passive", viscous=0.4),
    ]
    tree = Robot("gears", links, joints, gravity=(0, -g, 0))
    machine = Mechanism("gears", tree, couplings=[Coupling("two", "one", ratio, offset)])
    rng = np.random.default_rng(0)
    x, v, a = rng.uniform(-3, 3, (3, 50, 1))
    q = machine.assemble(x).q
    close(q, np.concatenate([x, ratio * x + offset], axis=-1), 1e-14)
    inertia = i1 + m1 * c1**2 + 0.1 + ratio**2 * (i2 + m2 * c2**2)
    weight = m1 * g * c1 * np.cos(x) + ratio * m2 * g * c2 * np.cos(q[:, 1:])
    tau = inertia * a + weight + ratio**2 * 0.4 * v
    close(machine.inverse_dynamics(q, v, a), tau, 1e-13)
    close(machine.forward_dynamics(q, v, tau), a, 1e-12)
    close(machine.mass_matrix(q)[..., 0], np.full((50, 1), inertia), 1e-13)
    close(machine.coupling_matrix(q), np.tile([[1.0], [ratio]], (50, 1, 1)), 1e-14)
    found, forces = machine.constrained_dynamics(q, v * [1, ratio], tau * [1, 0], 0.0)
    close(found, a * [1, ratio], 1e-12)
    behind = (i2 + m2 * c2**2) * ratio * a + m2 * g * c2 * np.cos(q[:, 1:]) + 0.4 * ratio * v
    close(forces, behind, 1e-12)  # what the gear gives the second shaft
    reactions = machine.reaction_wrenches(q, v, a)
    assert reactions.shape == (50, 3, 6)
    close(reactions[:, 2, 5:], behind - 0.4 * ratio * v, 1e-12)


def test_geared_arms_of_the_five_bar():
    """right = pi - left: the torque is the left arm's less the right one's of the five-bar that moves alike."""
    machine, whole = machine_of("mirrored"), robots.five_bar()
    q, qd, qdd = states(machine, 20)
    close(q[:, 2], math.pi - q[:, 0], 1e-12)
    both = np.concatenate([qd, -qd], axis=-1), np.concatenate([qdd, -qdd], axis=-1)
    tau = whole.inverse_dynamics(q, *both)
    close(machine.inverse_dynamics(q, qd, qdd), tau[:, :1] - tau[:, 1:], 1e-11)


def test_springs_and_friction_of_passive_joints_reach_the_motor():
    """By virtual work with the rates of the hand-made four-bar: viscous coupler, spring and dry rocker."""
    lossy, plain = machine_of("lossy_four_bar"), robots.four_bar()
    rng = np.random.default_rng(0)
    crank, qd, qdd = rng.uniform(-3, 3, (40, 1)), rng.uniform(-3, 3, (40, 1)), rng.uniform(-5, 5, (40, 1))
    q = plain.assemble(crank).q
    rates = [along(lambda t, k=k: four_bar_by_hand(crank + t, 1)[k]) for k in (0, 1)]
    assert np.abs(q[:, 2]).max() < math.pi
    coupler, rocker = (rate * qd for rate in rates)
    dry = np.where(rocker > 0, 0.5, -0.2)
    extra = 0.1 * qd + 0.02 * qdd + rates[0] * 0.3 * coupler + rates[1] * (dry + 8.0 * (q[:, 2:] - 2.0))
    close(lossy.inverse_dynamics(q, qd, qdd), plain.inverse_dynamics(q, qd, qdd) + extra, 1e-9)
    assert lossy.active_names == ("crank",)


# ---- against closed forms -----------------------------------------------------------------------------------


def four_bar_lagrange():
    """Inertia, its derivative and that of the potential, functions of the crank's angle, by computer algebra."""
    a = sp.Symbol("a", real=True)
    crank, coupler, rocker, ground = (sp.Rational(x, 1000) for x in (150, 450, 525, 675))
    masses = {"crank": sp.Rational(3, 2), "coupler": sp.Rational(9, 2), "rocker": sp.Integer(5)}
    b = crank * sp.Matrix([sp.cos(a), sp.sin(a)])
    across = sp.Matrix([ground, 0]) - b
    span = sp.sqrt(across.dot(across))
    along_it = (coupler**2 - rocker**2 + span**2) / (2 * span)
    height = sp.sqrt(coupler**2 - along_it**2)
    unit = across / span
    c = b + along_it * unit + height * sp.Matrix([-unit[1], unit[0]])  # the tip, above the diagonal
    kinetic, potential = 0, 0
    for (mass, length), start, end in zip(
        zip(masses.values(), (crank, coupler, rocker), strict=True),
        (sp.zeros(2, 1), b, sp.Matrix([ground, 0])), (b, c, c), strict=True,
    ):  # fmt: skip
        middle, arm = (start + end) / 2, end - start
        v, d = middle.diff(a), arm.diff(a)
        turning = (arm[0] * d[1] - arm[1] * d[0]) / length**2
        kinetic += mass * v.dot(v) / 2 + mass * length**2 / 12 * turning**2 / 2
        potential += mass * sp.Rational(981, 100) * middle[1]
    inertia = 2 * kinetic
    return sp.lambdify(a, [inertia, inertia.diff(a), potential.diff(a), *c], "numpy", cse=True)


def test_the_four_bar_against_lagrange():
    """Minimal coordinates, one of them: inverse and forward dynamics for a whole turn of the crank."""
    machine = robots.four_bar()
    rng = np.random.default_rng(0)
    x, v, a = rng.uniform(-math.pi, math.pi, (500, 1)), rng.uniform(-5, 5, (500, 1)), rng.uniform(-9, 9, (500, 1))
    inertia, slope, weight, *tip = four_bar_lagrange()(x)
    q = machine.assemble(x).q
    close(frames_of(machine, q)[0][:, :2, 3], np.concatenate(tip, axis=-1), 1e-12)
    tau = inertia * a + slope * v * v / 2 + weight
    close(machine.inverse_dynamics(q, v, a), tau, 1e-10)
    close(machine.forward_dynamics(q, v, tau), a, 1e-10)
    close(machine.mass_matrix(q)[..., 0], inertia, 1e-10)
    close(machine.bias_force(q, v), slope * v * v / 2 + weight, 1e-10)


def test_the_slider_crank_against_its_textbook():
    """x = r cos a + sqrt(l^2 - r^2 sin^2 a): a slider alone, massless crank and rod, takes m x'' dx/da."""
    machine = robots.slider_crank()
    links = [link if link.name == "slider" else Link(link.name) for link in machine.tree.links]
    machine = machine.replace(tree=machine.tree.replace(links=links))
    angle = sp.Function("angle")(sp.Symbol("t"))
    t = sp.Symbol("t")
    place = sp.Rational(3, 20) * sp.cos(angle) + sp.sqrt(sp.Rational(1, 16) - sp.Rational(9, 400) * sp.sin(angle) ** 2)
    x, v, a = sp.symbols("x v a")
    torque = 2 * place.diff(t, 2) * place.diff(angle)
    torque = torque.subs(angle.diff(t, 2), a).subs(angle.diff(t), v).subs(angle, x)
    function = sp.lambdify([x, v, a], torque)
    values = np.random.default_rng(0).uniform(-3, 3, (3, 100, 1))
    q = machine.assemble(values[0]).q
    close(machine.inverse_dynamics(q, *values[1:]), function(*values), 1e-11)


# ---- simulation ---------------------------------------------------------------------------------------------


def simulate(machine, q, qd, steps, duration, damping):
    """All joints free, by Runge and Kutta's method; q, qd, and the largest gap on the way."""
    h, tau = duration / steps, np.zeros(machine.nv)
    largest = 0.0

    def rate(q, qd):
        return qd, machine.constrained_dynamics(q, qd, tau, damping)[0]

    for _ in range(steps):
        a = rate(q, qd)
        b = rate(q + h / 2 * a[0], qd + h / 2 * a[1])
        c = rate(q + h / 2 * b[0], qd + h / 2 * b[1])
        d = rate(q + h * c[0], qd + h * c[1])
        q, qd = (x + h / 6 * (k + 2 * l + 2 * m + n) for x, k, l, m, n in zip((q, qd), a, b, c, d, strict=True))
        largest = max(largest, float(np.abs(machine.closure(q)[0]).max()))
    return q, qd, largest


def test_a_free_four_bar_keeps_its_energy_and_its_loop():
    """Swinging for a second: the loop stays closed to 1e-8, the energy's error falls with the fourth power of h."""
    machine = robots.four_bar()
    q = machine.assemble([1.0]).q
    qd, _ = machine.tree_motion(q, [3.0], [0.0])
    start = sum(machine.tree.energy(q, qd))
    errors = []
    for steps in (250, 500, 1000):
        end, rate, gap = simulate(machine, q, qd, steps, 1.0, damping=10.0)
        errors.append(abs(sum(machine.tree.energy(end, rate)) - start))
        assert np.abs(end - q).max() > 0.5
    assert gap < 1e-8
    assert errors[-1] < 1e-7 * abs(start)
    for coarse, fine in itertools.pairwise(errors):
        assert 10 < coarse / fine < 40


def test_a_loop_that_has_opened_closes_again():
    """c'' + 2 a c' + a^2 c = 0: after one second at a = 12, e^-12 (1 + 12) of it is left."""
    machine = robots.four_bar().with_gravity((0, 0, 0))
    q = machine.assemble([1.0]).q + np.array([0.0, 1e-4, 0.0])
    gap = np.abs(machine.closure(q)[0]).max()
    end, _, _ = simulate(machine, q, np.zeros(3), 200, 1.0, damping=12.0)
    left = np.abs(machine.closure(end)[0]).max() / gap
    assert 0.8 < left / (13 * math.exp(-12)) < 1.25
    stays, _, _ = simulate(machine, q, np.zeros(3), 50, 0.2, damping=0.0)
    close(np.abs(machine.closure(stays)[0]).max() / gap, 1.0, 1e-6)


# ---- singular poses -----------------------------------------------------------------------------------------


def stretched_five_bar(left):
    """The five-bar with its forearms in one line: the right arm's angle by bisection."""

    def span(right):
        one = np.array([-0.1 + 0.3 * math.cos(left), 0.3 * math.sin(left)])
        two = np.array([0.1 + 0.3 * math.cos(right), 0.3 * math.sin(right)])
        return two - one

    low, high = 0.0, 1.3
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if np.hypot(*span(middle)) > 0.7 else (low, middle)
    direction = math.atan2(*span(low)[::-1])
    return np.array([left, direction - left, low, direction + math.pi - low])


def test_singular_poses_are_nan_and_the_others_intact():
    """Forearms in one line: the motors do not decide the tool's motion. Every pose is seen, not only some."""
    machine = robots.five_bar()
    singular = np.stack([stretched_five_bar(left) for left in np.linspace(2.2, 2.9, 40)])
    assert np.abs(machine.closure(singular)[0]).max() < 1e-15
    assert machine.singularity(singular).max() < 1e-14
    good, qd, qdd = states(machine, 40)
    q = np.concatenate([singular, good])
    motion = np.concatenate([qd, qd]), np.concatenate([qdd, qdd])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        results = [
            machine.inverse_dynamics(q, *motion), machine.forward_dynamics(q, *motion), machine.mass_matrix(q),
            machine.bias_force(q, motion[0]), machine.coupling_matrix(q), *machine.tree_motion(q, *motion),
        ]  # fmt: skip
        reactions = machine.reaction_wrenches(q, *motion)
    for found in (*results, *reactions):
        assert np.isnan(found[:40].reshape(40, -1)).any(axis=-1).all()
        assert not np.abs(np.nan_to_num(found[:40])).any()  # but zeros, which every pose has
        assert np.isfinite(found[40:]).all()
    close(results[0][40:], machine.inverse_dynamics(good, qd, qdd), 1e-14)
    with np.errstate(all="ignore"):
        with pytest.warns(
            RuntimeWarning, match=r"inverse_dynamics of 'five_bar': .*singular.* in 40 of 80 rows: 0, 1, 2"
        ):
            machine.inverse_dynamics(q, *motion)
        with pytest.warns(RuntimeWarning, match=r"inverse_dynamics of 'five_bar': .*singular"):
            assert np.isnan(machine.inverse_dynamics(singular[3], qd[0], qdd[0])).all()


def test_where_the_motors_fail_other_joints_may_decide():
    """Forearms in one line: described by the left branch all is regular but the torques, which no motors could give."""
    machine = robots.five_bar()
    q = np.stack([stretched_five_bar(left) for left in np.linspace(2.2, 2.9, 10)])
    left = {"independent": ("left_arm", "left_forearm")}
    ones = np.ones((10, 2))
    assert machine.compile("singularity", **left)(q).min() > 0.1
    rates, accelerations = machine.compile("tree_motion", **left)(q, ones, ones)
    assert np.isfinite(accelerations).all()
    found = machine.compile("forward_dynamics", **left)(q, ones, ones)
    tau = np.zeros((10, 4))
    tau[:, [0, 2]] = 1.0
    close(found, machine.constrained_dynamics(q, rates, tau, 0.0)[0][:, :2], 1e-9)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert np.isnan(machine.compile("inverse_dynamics", **left)(q, ones, ones)).all()


def test_near_a_singular_pose_digits_are_kept():
    """A margin of 1e-6: G against matrices in three times the precision of the normal equations."""
    machine = robots.five_bar()
    q = stretched_five_bar(2.5)
    q = machine.assemble([2.5, q[2] + 1e-11], q + [0, 1e-6, 0, -1e-6]).q
    assert 1e-7 < machine.singularity(q) < 1e-4
    _, rows = machine.closure(q)
    rows = rows[:2]
    expected = -np.linalg.solve(rows[:, [1, 3]], rows[:, [0, 2]])
    found = machine.coupling_matrix(q)[[1, 3]]
    close(found, expected, 1e-16 / machine.singularity(q) * 1e2)


def test_all_joints_free_needs_no_motors():
    """At the poses where the motors do not decide the motion, constrained_dynamics goes on as if nothing were."""
    machine = robots.five_bar()
    q = stretched_five_bar(2.5)
    found, forces = machine.constrained_dynamics(q, np.zeros(4), np.zeros(4), 0.0)
    _, rows = machine.closure(q)
    inertia, weight = machine.tree.mass_matrix(q), machine.tree.gravity_force(q)
    rows = rows[:2]
    system = np.block([[inertia, -rows.T], [rows, np.zeros((2, 2))]])
    expected = np.linalg.solve(system, np.concatenate([-weight, np.zeros(2)]))
    close(found, expected[:4], 1e-10)
    close(forces[:2], expected[4:], 1e-10)
    flat = robots.sr400()
    q = np.array([0, -1.5, math.pi / 2, 0, 0, 0, -1.5, 0])
    assert np.abs(flat.closure(q)[0]).max() < 1e-15
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert np.isnan(flat.constrained_dynamics(q, np.zeros(8), np.zeros(8), 0.0)[0]).all()  # branches meet here


def test_rssr_turns_fully():
    machine = rssr()
    angle = np.linspace(0.3, 0.3 + 2 * math.pi, 40)
    found = machine.assemble(angle[:, None], continuous=True)
    close(found.q[-1, 1:] % (2 * math.pi), found.q[0, 1:] % (2 * math.pi), 1e-11, scale=1.0)
