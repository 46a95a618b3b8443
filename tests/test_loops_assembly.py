"""Assembly: positions at which loops are closed, against closed forms, along paths, from other joints."""

import dataclasses
import math

import numpy as np
import pytest

from loop_machines import (
    BUILT_IN,
    FOUR_BAR,
    NEARLY_FLAT,
    closed_positions,
    four_bar_by_hand,
    independent_positions,
    machine_of,
    random_loop,
    rssr,
    states,
    tree_positions,
    velocities,
)
from neuler import Transform, robots
from random_robots import close, few


@pytest.mark.parametrize("name", few([*BUILT_IN, "rssr", "hinged"], len(BUILT_IN) + 1))
def test_assembly_from_near_guesses(name):
    """Thousands of guesses within 0.3 rad (0.05 m) of closed positions: 1e-12 in ten steps of Newton's method."""
    machine = machine_of(name)
    q, _, _ = states(machine, 50, margin=0.2)
    rng = np.random.default_rng(0)
    reach = np.array([0.05 if joint.kind == "prismatic" else 0.3 for joint in machine.moving_joints])
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


def four_bar_of(lengths):
    machine = robots.four_bar()
    a, b, c, d = lengths
    places = {"coupler": a, "rocker": d, "coupler_tip": b, "rocker_tip": c}
    for_it = [
        [dataclasses.replace(x, placement=Transform(translation=(places[x.name], 0, 0))) if x.name in places else x
         for x in group]
        for group in (machine.joints, machine.frames)
    ]  # fmt: skip
    return machine.replace(joints=for_it[0], frames=for_it[1], reference=None)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("points", few([9, 13, 400], 1))
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
    other = machine.with_independent(*names)
    assert other.mobility.independent == other.independent == names
    assert (other.nv, other.active_names) == (2, machine.active_names)
    assert other.with_independent(*machine.mobility.independent).mobility.choice == machine.mobility.choice
    close(other.assemble(q[:, [3, 0]], q + 0.1).q, q, 1e-10)
    mine = rates[:, [3, 0]]
    close(np.einsum("bij,bj->bi", other.coupling_matrix(q), mine), rates, 1e-10)
    _, accelerations = machine.tree_motion(q, qd, qdd)
    theirs = accelerations[:, [3, 0]]
    tau = other.inverse_dynamics(q, mine, theirs)
    close(tau, machine.inverse_dynamics(q, qd, qdd), 1e-9)
    close(other.forward_dynamics(q, mine, tau), theirs, 1e-9)
    for one, two in zip(other.energy(q, mine), machine.energy(q, qd), strict=True):
        close(one, two, 1e-11)
    close(other.actuation_matrix(q), g[:, [0, 2]] @ np.linalg.inv(g[:, [3, 0]]), 1e-9)
    close(np.einsum("bij,bi->bj", other.actuation_matrix(q), tau), other.generalized_force(q, mine, theirs), 1e-10)
    all_four = machine.assemble(q, independent=machine.joint_names)  # nothing left to follow
    close(all_four.q, q, 0)


@pytest.mark.slow
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


def test_rssr_turns_fully():
    machine = rssr()
    angle = np.linspace(0.3, 0.3 + 2 * math.pi, 40)
    found = machine.assemble(angle[:, None], continuous=True)
    close(found.q[-1, 1:] % (2 * math.pi), found.q[0, 1:] % (2 * math.pi), 1e-11, scale=1.0)


# ---- the robot's own ways to closed positions ---------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    few([*BUILT_IN, "rssr", "floating_four_bar", "mirrored", "random_floating", "random_free"], len(BUILT_IN) + 2),
)
def test_random_positions_are_closed(name):
    """Different from each other, the right way round, and of the shape that is asked for."""
    machine = machine_of(name)
    q = machine.random_configuration(0, (2, 5))
    assert q.shape == (2, 5, machine.nq)
    assert np.abs(machine.closure(q)[0]).max() < 1e-11
    assert (machine.upright(q) > 0).all()
    assert np.ptp(q.reshape(10, -1)[:, independent_positions(machine)], axis=0).min() > 0.02
    close(q, machine.random_configuration(0, (2, 5)), 0)
    close(machine.normalize(q), q, 1e-14)
    assert machine.random_configuration(1).shape == (machine.nq,)


@pytest.mark.parametrize(
    "name",
    [*BUILT_IN, "rssr", "mirrored", "cam", "floating_four_bar", pytest.param("random_free", marks=pytest.mark.slow)],
)
def test_steps_go_along_the_loops(name):
    """Integrated, the independent joints are where difference says, all others where assemble finds them."""
    machine = machine_of(name)
    q, qd, _ = states(machine, 10, margin=0.2)
    dt = 0.05
    there = machine.integrate(q, qd, dt)
    assert np.abs(machine.closure(there)[0]).max() < 1e-9
    close(machine.difference(q, there), dt * qd, 1e-12)
    close(machine.assemble(there[:, independent_positions(machine)], q).q, there, 1e-8)
    close(machine.difference(q, q), np.zeros_like(qd), 1e-15, scale=1.0)


def test_a_step_that_the_loops_do_not_allow_is_told():
    machine = robots.five_bar()
    q = np.array(machine.reference)
    with pytest.warns(RuntimeWarning, match="integrate of 'five_bar'"):
        assert np.isnan(machine.integrate(q, [5.0, -5.0], 1.0)).all()


def test_coupled_joints_are_lifted():
    """Poses with couplings are those of the tree with the followers where their leaders put them."""
    for name in ("mirrored", "cam"):
        machine = machine_of(name)
        assert "right_arm" not in machine.joint_names
        assert machine.nq == velocities(machine) == 3
        q = closed_positions(machine, 10)
        close(machine.link_poses(q), machine.tree.link_poses(tree_positions(machine, q)), 1e-14)
        close(machine.assemble(q[:, :1], q + [0, 0.05, -0.05]).q, q, 1e-10)
