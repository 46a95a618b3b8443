"""Each misprint of the papers that neuler lists as settled, settled by numbers."""

from __future__ import annotations

import numpy as np
import pytest

import neuler
from neuler import Joint, Link, Robot, Transform
from neuler.passes.trees import fused_tree
from neuler.recursions import nasser
from neuler.recursions.hybrid import hybrid

ROBOT = neuler.robots.puma560()
RNG = np.random.default_rng(5)
Q, QD, TAU = RNG.normal(size=(3, 6))


def test_khalil_1():
    """A homogeneous matrix has a 1 in its last corner: with 0 a point would lose the frame's origin."""
    frame = Transform.khalil(gamma=0.1, b=0.2, alpha=0.3, d=0.4, theta=0.5, r=0.6)
    np.testing.assert_array_equal(frame.matrix[3], [0, 0, 0, 1])
    np.testing.assert_allclose(frame.matrix @ [0, 0, 0, 1], [*frame.translation, 1])


def test_khalil_8():
    """qdd = + A^-1 (tau - H)."""
    qdd = np.linalg.solve(ROBOT.mass_matrix(Q), TAU - ROBOT.bias_force(Q, QD))
    found = ROBOT.forward_dynamics(Q, QD, TAU)
    np.testing.assert_allclose(found, qdd, rtol=1e-11)
    assert np.abs(found + qdd).max() > 1.0


def test_khalil_51():
    """On a link the child's joint pushes back: J V' = f - T^T f_child + beta, checked where nothing moves."""
    up = 9.81
    robot = Robot(
        "stack",
        [Link("base"), Link("lower", 2.0), Link("upper", 3.0)],
        [Joint("a", "prismatic", "base", "lower"), Joint("b", "prismatic", "lower", "upper")],
    )
    still = np.zeros(2)
    wrench = robot.reaction_wrenches(still, still, still)
    f_lower, f_upper = wrench[1, 2], wrench[2, 2]
    assert f_upper == pytest.approx(3.0 * up)
    assert 2.0 * up == pytest.approx(f_lower - f_upper)
    assert 2.0 * up != pytest.approx(f_lower + f_upper)


def test_khalil_82():
    """With some motion given, rotor inertia and friction count as they do in (31), (36) and (44)."""
    qdd = RNG.normal(size=6)
    tau = ROBOT.inverse_dynamics(Q, QD, qdd)
    told = ("joint2", "joint5")
    mask = np.array([name in told for name in ROBOT.joint_names])
    assert mask.sum() == 2
    found = ROBOT.compile("hybrid_dynamics", motion=told)(Q, QD, np.where(mask, qdd, tau))
    np.testing.assert_allclose(found, np.where(mask, tau, qdd), rtol=1e-9, atol=1e-9)
    bare = ROBOT.without_friction().without_motors()
    without = bare.compile("hybrid_dynamics", motion=told)(Q, QD, np.where(mask, qdd, tau))
    assert np.abs(without - found)[mask].min() > 1e-3


def test_external_wrench_sign():
    """Public wrenches are applied TO the link: one that carries a weight relieves the joint that carries it."""
    robot = Robot("lift", [Link("base"), Link("load", 2.0)], [Joint("lift", "prismatic", "base", "load")])
    held = robot.compile("inverse_dynamics", external=("load",))
    assert held([0.0], [0.0], [0.0], [0, 0, 5.0, 0, 0, 0])[0] == pytest.approx(2 * 9.81 - 5.0)


def test_nasser_2_1_13_2(monkeypatch):
    """With the printed sign of omega x z thetad Nasser's model disagrees with the others."""
    tree = fused_tree(ROBOT)
    right = hybrid(tree, list(Q), list(QD), list(TAU), [False] * 6).coordinates
    np.testing.assert_allclose(nasser.nasser(tree, list(Q), list(QD), list(TAU)).coordinates, right, rtol=1e-9)
    genuine = nasser._equations

    def printed(*arguments):
        one = genuine(*arguments)
        turned = (one.sigma[0], tuple(-x for x in one.sigma[1]))
        change = tuple(b - a for a, b in zip(one.sigma[1], turned[1], strict=True))
        load = nasser.plus(one.b, one.a @ ((0.0, 0.0, 0.0), change))
        return nasser.Equations(one.stand, one.joint, one.a, load, turned, one.lift)

    monkeypatch.setattr(nasser, "_equations", printed)
    wrong = nasser.nasser(tree, list(Q), list(QD), list(TAU)).coordinates
    assert np.abs(np.array(wrong) - right).max() > 1e-2
