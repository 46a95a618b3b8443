"""Forces inside robots with loops: reactions against Newton and Euler by hand, motors, gears, springs."""

import dataclasses
import math

import numpy as np
import pytest

from loop_machines import (
    SOME,
    active_velocities,
    four_bar_by_hand,
    frames_of,
    machine_of,
    own_velocities,
    states,
    tree_friction,
    tree_positions,
)
from neuler import Coupling, InputError, Joint, Link, Robot, Transform, robots
from random_robots import along, close


def moved_to(pose, wrench):
    """(force; moment) at a frame's origin in its axes, as one in the axes of the base about its origin."""
    force, moment = pose[:3, :3] @ wrench[:3], pose[:3, :3] @ wrench[3:]
    return np.concatenate([force, moment + np.cross(pose[:3, 3], force)])


@pytest.mark.parametrize("name", SOME)
def test_every_link_is_in_balance(name):
    """Newton and Euler by hand: reactions, weight and the wrenches of the cut joints are the change of momentum."""
    machine = machine_of(name)
    tree = machine.tree
    q, qd, qdd = (x[0] for x in states(machine, 1, seed=4))
    reactions, cuts = machine.reaction_wrenches(q, qd, qdd), machine.loop_wrenches(q, qd, qdd)
    rates, accelerations = machine.tree_motion(q, qd, qdd)
    place = tree_positions(machine, q)
    poses = tree.link_poses(place)
    velocities, changes, _ = tree.link_motions(place, rates, accelerations, np.zeros_like(rates))
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


@pytest.mark.parametrize("name", SOME)
def test_joints_carry_the_torque_of_their_motor(name):
    """About its axis a joint passes on what its motor gives less friction, spring and rotor; an idle one nothing.

    A free link takes the wrench in tau, and one that a loop moves none.
    """
    machine = machine_of(name)
    tree = machine.tree
    q, qd, qdd = (x[0] for x in states(machine, 1, seed=4))
    reactions, cuts = machine.reaction_wrenches(q, qd, qdd), machine.loop_wrenches(q, qd, qdd)
    rates, accelerations = machine.tree_motion(q, qd, qdd)
    given = np.zeros(tree.nv)
    given[np.array(own_velocities(machine))[active_velocities(machine)]] = machine.inverse_dynamics(q, qd, qdd)
    given -= tree_friction(machine, rates)
    place = tree_positions(machine, q)
    coupled = {name for coupling in machine.couplings for name in (coupling.joint, *coupling.of)}
    at = first = 0
    for joint in tree.moving_joints:
        force, whole = given[first : first + joint.nv], reactions[tree.link_names.index(joint.child)]
        carried = whole
        if joint.nv == 1:
            force = force - joint.rotor_inertia * accelerations[first] - joint.stiffness * (place[at] - joint.rest)
            carried = [whole[: 3 if joint.kind == "prismatic" else None][-3:] @ np.array(joint.axis)]
        if joint.name not in coupled:
            close(carried, force, 1e-9, scale=np.abs(reactions).max(), what=joint.name)
        at, first = at + joint.nq, first + joint.nv
    free = {"revolute": [5], "spherical": [3, 4, 5], "point_on_line": [3, 4, 5]}
    for loop, cut in zip(machine.loops, cuts, strict=True):
        if loop.kind in free:
            close(cut[free[loop.kind]], np.zeros(len(free[loop.kind])), 1e-12, scale=np.abs(cuts).max(), what=loop.name)


@pytest.mark.parametrize("name", ["four_bar", "five_bar"])
def test_reactions_with_the_wrenches_of_the_cuts_as_external_ones(name):
    machine = machine_of(name)
    q, qd, qdd = states(machine, 5)
    reactions, cuts = machine.reaction_wrenches(q, qd, qdd), machine.loop_wrenches(q, qd, qdd)
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
    joints = [dataclasses.replace(j, role="driven") if j.name == "left_forearm" else j for j in machine.joints]
    machine = machine.replace(joints=joints)
    assert (len(machine.active_names), machine.nu, machine.nv) == (3, 3, 2)
    assert machine.mobility.independent == ("left_arm", "left_forearm")
    q, qd, qdd = states(machine, 20)
    tau = machine.inverse_dynamics(q, qd, qdd)
    g = machine.coupling_matrix(q)
    needed = np.einsum("bij,bi->bj", g, machine.tree.inverse_dynamics(q, *machine.tree_motion(q, qd, qdd)))
    driven = np.swapaxes(g[:, active_velocities(machine)], -1, -2)
    close(tau, np.einsum("bij,bj->bi", np.linalg.pinv(driven), needed), 1e-11)
    close(machine.forward_dynamics(q, qd, tau), qdd, 1e-9)
    assert "least" in machine.inverse_dynamics.__doc__
    reactions = machine.reaction_wrenches(q, qd, qdd)
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
    machine = Robot("gears", links, joints, gravity=(0, -g, 0), couplings=[Coupling("two", "one", ratio, offset)])
    assert (machine.joint_names, machine.active_names, machine.nq) == (("one",), ("one",), 1)
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-3, 3, (3, 50, 1))
    second = ratio * q + offset
    close(tree_positions(machine, q), np.concatenate([q, second], axis=-1), 0)
    close(machine.link_poses(q), machine.tree.link_poses(np.concatenate([q, second], axis=-1)), 1e-14)
    inertia = i1 + m1 * c1**2 + 0.1 + ratio**2 * (i2 + m2 * c2**2)
    weight = m1 * g * c1 * np.cos(q) + ratio * m2 * g * c2 * np.cos(second)
    tau = inertia * a + weight + ratio**2 * 0.4 * v
    close(machine.inverse_dynamics(q, v, a), tau, 1e-13)
    close(machine.forward_dynamics(q, v, tau), a, 1e-12)
    close(machine.compile("hybrid_dynamics", motion=())(q, v, tau), a, 1e-12)
    close(machine.hybrid_dynamics(q, v, a), tau, 1e-13)
    close(machine.mass_matrix(q)[..., 0], np.full((50, 1), inertia), 1e-13)
    close(machine.gravity_force(q), weight, 1e-13)
    kinetic, potential = machine.energy(q, v)
    close(kinetic, inertia * v[:, 0] ** 2 / 2, 1e-13)
    height = m1 * g * c1 * np.sin(q) + m2 * g * c2 * np.sin(second)
    close(np.diff(potential), np.diff(height[:, 0]), 1e-12)
    tree = machine.tree.inverse_dynamics(tree_positions(machine, q), v * [1, ratio], a * [1, ratio])
    close(tau, tree[:, :1] + ratio * tree[:, 1:], 1e-12)
    behind = (i2 + m2 * c2**2) * ratio * a + m2 * g * c2 * np.cos(second) + 0.4 * ratio * v
    close(tree[:, 1:], behind, 1e-12)  # what the gear gives the second shaft
    for verb in ("closure", "coupling_matrix", "constrained_dynamics"):
        with pytest.raises(InputError, match=f"{verb}: robot 'gears' has no loops"):
            machine.compile(verb)
    reactions = machine.reaction_wrenches(q, v, a)
    assert reactions.shape == (50, 3, 6)
    close(reactions[:, 2, 5:], behind - 0.4 * ratio * v, 1e-12)


def test_geared_arms_of_the_five_bar():
    """right = pi - left: the torque is the left arm's less the right one's of the five-bar that moves alike."""
    machine, whole = machine_of("mirrored"), robots.five_bar()
    q, qd, qdd = states(machine, 20)
    q = np.insert(q, 2, math.pi - q[:, 0], axis=-1)
    close(q, tree_positions(machine, q[:, [0, 1, 3]]), 1e-15)
    assert np.abs(whole.closure(q)[0]).max() < 1e-12
    both = np.concatenate([qd, -qd], axis=-1), np.concatenate([qdd, -qdd], axis=-1)
    tau = whole.inverse_dynamics(q, *both)
    close(machine.inverse_dynamics(q[:, [0, 1, 3]], qd, qdd), tau[:, :1] - tau[:, 1:], 1e-11)


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
