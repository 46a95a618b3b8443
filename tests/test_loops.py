"""Closed loops, Khalil 2.2: the geometry of cut joints, each against its definition, and what loops leave free."""

import itertools

import numpy as np
import pytest

from loop_machines import (
    KINDS,
    bennett_ratio,
    closed_positions,
    frames_of,
    machine_of,
    random_loop,
    velocities,
)
from neuler import Coupling, Frame, Joint, Link, Loop, Polynomial, Transform, robots
from neuler.passes.trees import fused_tree, whole_tree
from neuler.recursions import frames
from neuler.structure.closed import Constraints
from neuler.structure.mobility import Numbers
from random_robots import along, close, later

TRUNKS = ("none", "hinge", "floating", "free")
EVERY_LOOP = list(itertools.product(KINDS, TRUNKS))
ONE_OF_EACH = list(zip(KINDS, itertools.cycle(TRUNKS), strict=False))
"""Every kind of cut joint and every trunk, not each with each."""
ONCE_AND_REPEATED = [pytest.param(*each, marks=() if each in ONE_OF_EACH else pytest.mark.slow) for each in EVERY_LOOP]


# ---- the geometry of cut joints: Khalil (3), (4) ---------------------------------------------------------


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


@pytest.mark.parametrize("kind", later(KINDS, "prismatic", "cylindrical", "fixed", "point_on_line", "universal"))
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


@pytest.mark.parametrize(("kind", "trunk"), [
    pytest.param(*each, marks=() if each in ONE_OF_EACH else pytest.mark.slow) for each in EVERY_LOOP
])  # fmt: skip
def test_rows_are_the_derivative_of_the_gap(kind, trunk):
    """At closed positions, along every velocity of the tree, those of shared and free links too."""
    machine = random_loop(kind, 1, trunk)
    numbers = Numbers(machine)
    for q in closed_positions(machine, 1, seed=1):
        rows = numbers.jacobian(q)
        for k, unit in enumerate(np.eye(velocities(machine))):
            column = along(lambda t, q=q, unit=unit: numbers.open_by(numbers.moved(q, t * unit)))
            close(rows[:, k], column, 1e-9, scale=1.0, what=f"velocity {k}")


@pytest.mark.parametrize(("kind", "trunk"), ONCE_AND_REPEATED)
def test_rows_are_the_relative_velocity_and_bias_its_rate(kind, trunk):
    """Anywhere, closed or not: d(W qd)/dt = W qdd + bias along a motion."""
    machine = random_loop(kind, 1, trunk)
    numbers, rng = Numbers(machine), np.random.default_rng(3)
    start = machine.tree.random_configuration(rng)
    v, a = rng.uniform(-1.5, 1.5, (2, velocities(machine)))

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
    q, qd = machine.tree.random_configuration(rng), rng.uniform(-1, 1, velocities(machine))
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


@pytest.mark.slow
def test_links_behind_fixed_joints_carry_the_same_loop():
    """A tree whose links are in pieces: cut frames on pieces, the same rows as on the whole."""
    machine = random_loop("revolute", 5, "hinge")
    piece = Transform.from_rpy((0.2, -0.1, 0.3), (0.4, 0.5, -0.6))
    index, placement = machine.locate("first")
    assert machine.link_names[index] == "a3"
    kept = [frame for frame in machine.frames if frame.name != "first"]
    other = machine.replace(
        links=(*machine.links, Link("piece")),
        joints=(*machine.joints, Joint("weld", "fixed", "a3", "piece", piece)),
        frames=[*kept, Frame("first", "piece", piece.inverse() @ placement)],
    )
    q = closed_positions(machine, 3)
    for mine, theirs in zip(other.closure(q), machine.closure(q), strict=True):
        close(mine, theirs, 1e-13, scale=1.0)
    whole = Constraints(whole_tree(other.tree), other)
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
        ("mirrored", 1, 2, 5, ("cut (3)",)),
        ("cam", 1, 2, 5, ("cut (3)",)),
        ("two_loops", 1, 3, 7, ("slot (1)", "cut (3)")),
        ("floating_four_bar", 7, 2, 5, ("cut (3)",)),
        ("random_floating", 9, 5, 5, ()),
        ("random_free", 7, 6, 6, ()),
    ],
)
def test_mobility(name, freedoms, rank, constraints, redundant):
    machine = machine_of(name)
    facts = machine.mobility
    assert (facts.freedoms, facts.rank, facts.constraints) == (freedoms, rank, constraints)
    assert facts.redundant == redundant
    assert facts.independent == machine.active_names
    assert (machine.nv, machine.nu, facts.driven) == (freedoms, freedoms, freedoms)
    assert velocities(machine) == freedoms + rank
    assert len(facts.rows) == rank
    rows = Numbers(machine).jacobian(np.array(facts.reference))
    close(rows @ facts.motions, np.zeros((constraints, freedoms)), 1e-10, scale=1.0)
    close(machine.neutral(), facts.reference, 0)


def test_a_tree_has_all_its_freedoms():
    """Couplings take some; they are no constraints."""
    arm = robots.puma560()
    facts = arm.mobility
    assert (facts.freedoms, facts.rank, facts.constraints, facts.driven) == (6, 0, 0, 6)
    assert facts.independent == arm.active_names == arm.joint_names
    geared = arm.replace(couplings=[Coupling("joint3", "joint2", function=Polynomial((0.1, 0.5, 0.3)))])
    facts = geared.mobility
    assert (facts.freedoms, facts.constraints, geared.nq, geared.nv, geared.nu) == (5, 0, 5, 5, 5)
    assert facts.independent == geared.joint_names == tuple(name for name in arm.joint_names if name != "joint3")
    assert arm.tree is arm
    assert geared.tree == arm


def test_a_constraint_that_holds_nothing_is_redundant():
    """A planar arm whose tip is asked to stay in its plane: one constraint, no rank."""
    arm = robots.two_link()
    machine = arm.replace(loops=[Loop("floor", "point_on_plane", arm.links[0].name, arm.links[-1].name)])
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
    assert machine.singularity(found.q).joints.min() > 0.5
