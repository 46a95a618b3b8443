"""Barman's analytic sensitivities against the complex step, on trees of every joint kind."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import neuler
from free_robots import springy
from neuler.algebra.screw import flat
from neuler.passes.trees import grouped_tree, whole_tree
from neuler.recursions import composite
from neuler.recursions.barman import GlobalLoad, sensitivities
from neuler.recursions.hybrid import hybrid
from neuler.recursions.kinematics import placements, world_poses
from neuler.trace.graph import Graph, Node, count
from random_robots import close, few, random_robot, random_states

SEEDS = range(40)
STATES = ("q", "qd", "qdd")
STEP = 1e-40


def state_of(robot, seed=0):
    return [x[0].tolist() for x in random_states(robot, 1, seed)]


def random_loads(tree, seed):
    """Wrenches fixed to some links, and forces at points and moments of the base frame on others; two on one."""
    rng = np.random.default_rng(seed)
    vector = lambda: tuple(rng.normal(size=3).tolist())  # noqa: E731
    chosen = [k for k in range(len(tree.bodies)) if rng.random() < 0.5]
    fixed = {k: [(vector(), vector())] for k in chosen}
    chosen = [k for k in range(len(tree.bodies)) if rng.random() < 0.5] or [len(tree.bodies) - 1]
    turned = {k: [GlobalLoad(vector(), vector(), vector())] for k in chosen}
    turned[chosen[-1]] += [GlobalLoad(force=vector(), point=vector()), GlobalLoad(moment=vector())]
    return fixed, turned


def dynamics(tree, state, fixed=None, turned=None):
    """Torques and reactions, loads of the base frame brought to the links by their poses."""
    loads = {number: list(wrenches) for number, wrenches in (fixed or {}).items()}
    poses = world_poses(tree, placements(tree, state[0]))
    for number, found in (turned or {}).items():
        rotation = np.array(poses[number][0])
        for load in found:
            force = np.array(load.force) @ rotation
            moment = np.array(load.moment) @ rotation + np.cross(load.point, force)
            loads.setdefault(number, []).append((tuple(force.tolist()), tuple(moment.tolist())))
    solved = hybrid(tree, *state, [True] * tree.dof, loads)
    return np.array(solved.coordinates), np.array([flat(wrench) for wrench in solved.reactions])


def by_complex_step(tree, state, fixed=None, turned=None):
    """For q, qd and qdd: d(tau), d(reactions), the coordinate last."""
    found = []
    for which in range(3):
        torques, reactions = [], []
        for i in range(tree.dof):
            moved = [list(values) for values in state]
            moved[which][i] += 1j * STEP
            tau, reaction = dynamics(tree, moved, fixed, turned)
            torques.append(tau.imag / STEP)
            reactions.append(reaction.imag / STEP)
        found.append((np.stack(torques, -1), np.stack(reactions, -1)))
    return found


def compare(tree, state, fixed=None, turned=None):
    found = sensitivities(tree, *state, fixed, turned)
    for name, (torques, reactions) in zip(STATES, by_complex_step(tree, state, fixed, turned), strict=True):
        close(getattr(found, f"dtau_d{name}"), torques, 1e-12, what=f"dtau/d{name}")
        close(getattr(found, f"dreaction_d{name}"), reactions, 1e-12, what=f"dreaction/d{name}")


def traced(tree):
    graph = Graph()
    return sensitivities(tree, *(graph.inputs(name, tree.dof) for name in STATES))


@pytest.mark.parametrize("seed", few(SEEDS, 8))
def test_complex_step(seed):
    robot = random_robot(seed)
    compare(whole_tree(robot), state_of(robot, seed))


@pytest.mark.parametrize("seed", few(SEEDS, 8))
def test_external_loads(seed):
    """Wrenches that turn with a link, and forces at points and moments that keep their direction in the base."""
    robot = random_robot(seed)
    tree = whole_tree(robot)
    compare(tree, state_of(robot, seed), *random_loads(tree, seed))


@pytest.mark.parametrize("seed", few(SEEDS, 8))
def test_torques_of_regrouped_links(seed):
    """Regrouped parameters keep the torques, and so their sensitivities."""
    robot = random_robot(seed)
    state = state_of(robot, seed)
    found, whole = sensitivities(grouped_tree(robot), *state), sensitivities(whole_tree(robot), *state)
    for name in STATES:
        close(getattr(found, f"dtau_d{name}"), getattr(whole, f"dtau_d{name}"), 1e-11, what=name)


@pytest.mark.parametrize("seed", few(SEEDS, 8))
def test_mass_matrix(seed):
    """d(tau)/d(qdd) is A(q), rotors included."""
    robot = random_robot(seed)
    tree, state = whole_tree(robot), state_of(robot, seed)
    close(sensitivities(tree, *state).dtau_dqdd, composite.mass_matrix(tree, state[0]), 1e-12)


@pytest.mark.parametrize("seed", few(SEEDS, 8))
def test_friction(seed):
    """Viscous friction is the diagonal that friction adds to d(tau)/d(qd); Coulomb friction adds nothing."""
    robot = random_robot(seed)
    state = state_of(robot, seed)
    found = sensitivities(whole_tree(robot), *state)
    bare = sensitivities(whole_tree(robot.without_friction()), *state)
    viscous = np.diag([joint.viscous for joint in robot.moving_joints])
    np.testing.assert_allclose(np.subtract(found.dtau_dqd, bare.dtau_dqd), viscous, atol=1e-12)
    assert (found.dtau_dq, found.dtau_dqdd, found.dreaction_dqd) == (bare.dtau_dq, bare.dtau_dqdd, bare.dreaction_dqd)


@pytest.mark.parametrize("seed", few(SEEDS[:10], 4))
def test_weights_as_loads(seed):
    """Gravity is a force of the base frame at every centre of mass: given as such it has the same sensitivities."""
    robot = random_robot(seed)
    tree, state = whole_tree(robot), state_of(robot, seed)
    weights = {
        number: [GlobalLoad(tuple(body.mass * g for g in tree.gravity), point=tuple(x / body.mass for x in ms))]
        for number, body in enumerate(tree.bodies)
        if (ms := body.first_moment) and body.mass
    }
    floating = sensitivities(dataclasses.replace(tree, gravity=(0.0, 0.0, 0.0)), *state, None, weights)
    falling = sensitivities(tree, *state)
    close(floating.dtau_dq, falling.dtau_dq, 1e-12)
    close(floating.dreaction_dq, falling.dreaction_dq, 1e-12)


@pytest.mark.parametrize("seed", few(SEEDS, 8))
def test_structural_zeros(seed):
    """A joint is felt by the links it carries and by those that carry it; by no others, whatever the numbers."""
    tree = whole_tree(random_robot(seed))
    found = traced(tree)
    above = [{0}]
    for number, body in enumerate(tree.bodies[1:], start=1):
        above.append(above[body.antecedent] | {number})
    moving = {body.coordinate: number for number, body in enumerate(tree.bodies) if body.coordinate is not None}
    for i, joint in moving.items():
        for number in range(len(tree.bodies)):
            related = joint in above[number] or number in above[joint]
            for name in STATES:
                entries = [row[i] for row in getattr(found, f"dreaction_d{name}")[number]]
                row = tree.bodies[number].coordinate
                entries += [] if row is None else [getattr(found, f"dtau_d{name}")[row][i]]
                zero = [type(entry) is float and entry == 0.0 for entry in entries]
                assert related or all(zero), (name, i, number)
    last = found.dreaction_dqdd[len(tree.bodies) - 1]
    assert all(any(isinstance(row[i], Node) or row[i] for row in last) for i in moving if moving[i] in above[-1])


def operations(tree):
    found = traced(tree)
    tables = [getattr(found, f"dtau_d{name}") for name in STATES]
    bodies = [getattr(found, f"dreaction_d{name}") for name in STATES]
    return (
        count([x for table in tables for row in table for x in row]),
        count([x for body in bodies for table in body for row in table for x in row]),
    )


@pytest.mark.parametrize(
    ("robot", "torques", "reactions"),
    [
        (neuler.robots.stanford(), (1354, 987), (1615, 1138)),
        (neuler.robots.general_chain(6), (4403, 3565), (4756, 3778)),
    ],
    ids=["stanford", "general"],
)
def test_operation_counts(robot, torques, reactions):
    """Multiplications and additions of all sensitivities to q, qd and qdd, the ground's reaction included."""
    for found, bound in zip(operations(whole_tree(robot)), (torques, reactions), strict=True):
        assert (found["mul"] <= bound[0], found["add"] <= bound[1], found["div"]) == (True, True, 0), found


@pytest.mark.parametrize("seed", few(range(6), 2))
def test_springs_are_in_the_torques(seed):
    """K on the diagonal of d(tau)/dq, as the complex step and the other recursion have it."""
    robot = springy(seed)
    assert any(joint.stiffness for joint in robot.joints)
    for tree in (whole_tree(robot), grouped_tree(robot)):
        compare(tree, state_of(robot, seed))
    q, qd, qdd = state_of(robot, seed)
    found = sensitivities(grouped_tree(robot), q, qd, qdd)
    close(found.dtau_dq, robot.inverse_dynamics_sensitivities(q, qd, qdd)[0], 1e-12)
