"""Singular poses of robots with loops: NaN by name there, digits near them, and what goes on regardless."""

import math
import warnings

import numpy as np
import pytest

from loop_machines import states, stretched_five_bar
from neuler import robots
from random_robots import close


def test_singular_poses_are_nan_and_the_others_intact():
    """Forearms in one line: the motors do not decide the tool's motion. Every pose is seen, not only some."""
    machine = robots.five_bar()
    singular = np.stack([stretched_five_bar(left) for left in np.linspace(2.2, 2.9, 40)])
    assert np.abs(machine.closure(singular)[0]).max() < 1e-15
    assert machine.singularity(singular).joints.max() < 1e-14
    good, qd, qdd = states(machine, 40)
    q = np.concatenate([singular, good])
    motion = np.concatenate([qd, qd]), np.concatenate([qdd, qdd])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        results = [
            machine.inverse_dynamics(q, *motion), machine.forward_dynamics(q, *motion), machine.mass_matrix(q),
            machine.bias_force(q, motion[0]), machine.coupling_matrix(q), *machine.tree_motion(q, *motion),
            machine.generalized_force(q, *motion), machine.hybrid_dynamics(q, *motion), machine.momentum(q, motion[0]),
            machine.coriolis_matrix(q, motion[0]), machine.energy(q, motion[0]).kinetic,
        ]  # fmt: skip
        reactions = [machine.reaction_wrenches(q, *motion), machine.loop_wrenches(q, *motion)]
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
    left = machine.with_independent("left_arm", "left_forearm")
    ones = np.ones((10, 2))
    assert left.singularity(q).joints.min() > 0.1
    assert left.singularity(q).motors.max() < 1e-7
    rates, accelerations = left.tree_motion(q, ones, ones)
    assert np.isfinite(accelerations).all()
    found = left.forward_dynamics(q, ones, ones)
    tau = np.zeros((10, 4))
    tau[:, [0, 2]] = 1.0
    close(found, machine.constrained_dynamics(q, rates, tau, 0.0)[0][:, :2], 1e-9)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert np.isnan(left.inverse_dynamics(q, ones, ones)).all()


def test_near_a_singular_pose_digits_are_kept():
    """A margin of 1e-6: G against matrices in three times the precision of the normal equations."""
    machine = robots.five_bar()
    q = stretched_five_bar(2.5)
    q = machine.assemble([2.5, q[2] + 1e-11], q + [0, 1e-6, 0, -1e-6]).q
    assert 1e-7 < machine.singularity(q).joints < 1e-4
    _, rows = machine.closure(q)
    rows = rows[:2]
    expected = -np.linalg.solve(rows[:, [1, 3]], rows[:, [0, 2]])
    found = machine.coupling_matrix(q)[[1, 3]]
    close(found, expected, 1e-16 / machine.singularity(q).joints * 1e2)


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
