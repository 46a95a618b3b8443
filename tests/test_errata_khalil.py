"""Khalil, sections 5 and 7: the misprints of (62), (95) and (96), settled by numbers."""

from __future__ import annotations

import numpy as np
import pytest

import neuler
from random_robots import few, random_robot

SEEDS = range(4)


def hat(v):
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


class Links:
    """A free-base robot without gravity, link by link: what (89)-(97) read, in the links' own frames."""

    def __init__(self, seed):
        body = random_robot(seed).without_friction().without_motors().with_gravity((0, 0, 0))
        base = body.links[0].name
        self.robot = body.with_payload(base, 3.0, (0.1, -0.2, 0.3), (0.5, 0.6, 0.7)).with_free_base()
        rng = np.random.default_rng(seed)
        n = self.robot.nv
        self.q = np.concatenate([rng.normal(size=7), rng.uniform(-1, 1, n - 6)])
        self.q[3:7] /= np.linalg.norm(self.q[3:7])
        self.qd, self.qdd = rng.normal(size=(2, n))
        poses = np.asarray(self.robot.link_poses(self.q))
        screws = np.asarray(self.robot.link_velocities(self.q, self.qd))
        at = 6
        self.parents, self.t, self.zeta, self.beta, self.inertia = [], [], [], [], []
        for number in range(1, len(self.robot.links)):
            joint, parent = self.robot.joints[number - 1], self.robot.antecedents[number - 1]
            link, w = self.robot.links[number], screws[number, 3:]
            ms, j = np.array(link.first_moment), link.inertia_matrix
            self.inertia.append(np.block([[link.mass * np.eye(3), -hat(ms)], [hat(ms), j]]))
            self.beta.append(-np.concatenate([np.cross(w, np.cross(w, ms)), np.cross(w, j @ w)]))  # (90)
            self.parents.append(parent - 1)
            if joint.kind == "free":
                self.t.append(None)
                self.zeta.append(None)
                continue
            relative = np.linalg.inv(poses[parent]) @ poses[number]
            r, p = relative[:3, :3].T, relative[:3, 3]
            self.t.append(np.block([[r, -r @ hat(p)], [np.zeros((3, 3)), r]]))  # (17)
            above = screws[parent, 3:]
            gamma = np.concatenate([r @ np.cross(above, np.cross(above, p)), np.zeros(3)])
            zeta = gamma
            if joint.moves:
                rate, push, axis = self.qd[at], self.qdd[at], np.array(joint.axis)
                turn = np.cross(r @ above, rate * axis)
                part = slice(3, 6) if joint.kind == "revolute" else slice(0, 3)
                zeta = gamma.copy()
                zeta[part] += push * axis + (turn if joint.kind == "revolute" else 2 * turn)  # (89)
                at += 1
            self.zeta.append(zeta)

    def gathered(self, *, printed_inertia=False, printed_bias=False):
        """Jc_0 and beta_c_0 of (95), (96)."""
        composite, bias = [j.copy() for j in self.inertia], [b.copy() for b in self.beta]
        for k in range(len(self.inertia) - 1, 0, -1):
            t, parent = self.t[k], self.parents[k]
            composite[parent] += t.T @ composite[k] @ t
            if printed_bias:
                bias[parent] += -t.T @ bias[k] + t.T @ composite[k] @ self.zeta[k]
            else:
                bias[parent] += t.T @ (bias[k] - composite[k] @ self.zeta[k])
        if printed_inertia:  # the composite link's inertia on both sides: its own links count twice
            composite[0] = composite[0] + sum(
                self.t[k].T @ composite[k] @ self.t[k] for k, parent in enumerate(self.parents) if k and parent == 0
            )
        return composite[0], bias[0]

    def base_acceleration(self):
        """dV_0/dt of the recursion in neuler: from the components' rates to Khalil's inertial acceleration."""
        given = np.concatenate([np.zeros(6), self.qdd[6:]])
        motion = self.robot.joint_names[1:]
        found = self.robot.compile("hybrid_dynamics", motion=motion)(self.q, self.qd, given)[:6]
        v, w = self.qd[:3], self.qd[3:6]
        return np.concatenate([found[:3] + np.cross(w, v), found[3:]])


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_khalil_95(seed):
    """Jc_j starts from the link's own inertia: then Jc_0 is A_11, the base's block of the inertia matrix."""
    links = Links(seed)
    expected = np.asarray(links.robot.mass_matrix(links.q))[:6, :6]
    np.testing.assert_allclose(links.gathered()[0], expected, rtol=0, atol=1e-12 * abs(expected).max())
    twice = links.gathered(printed_inertia=True)[0]
    assert abs(twice - expected).max() > 1e-3 * abs(expected).max()


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_khalil_96_and_97(seed):
    """beta_c_j = beta_j + sum T^T (beta_c_k - Jc_k zeta_k): then (97) gives the base's acceleration."""
    links = Links(seed)
    expected = links.base_acceleration()
    inertia, bias = links.gathered()
    np.testing.assert_allclose(np.linalg.solve(inertia, bias), expected, rtol=0, atol=1e-10 * abs(expected).max())
    inertia, bias = links.gathered(printed_bias=True)
    assert abs(np.linalg.solve(inertia, bias) - expected).max() > 1e-3 * abs(expected).max()


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_khalil_86_bias_is_minus(seed):
    """beta_c_0 = -(H_1 + A_12 qdd), with the minus that the text below (97) leaves out."""
    links = Links(seed)
    v, w = links.qd[:3], links.qd[3:6]
    matrix = np.asarray(links.robot.mass_matrix(links.q))
    still = np.concatenate([np.cross(v, w), np.zeros(3)])  # components' rates where Khalil's acceleration is zero
    h1 = np.asarray(links.robot.bias_force(links.q, links.qd))[:6] + matrix[:6, :6] @ still
    whole = h1 + matrix[:6, 6:] @ links.qdd[6:]
    bias = links.gathered()[1]
    np.testing.assert_allclose(bias, -whole, rtol=0, atol=1e-11 * abs(whole).max())
    assert abs(bias - whole).max() > 1e-3 * abs(whole).max()


def test_khalil_62():
    """d(qd_i)/d(qd_a) = J_i^-1 J_vi J_p: the last factor is the robot's Jacobian of (60), not another one."""
    robot = neuler.robots.gough_stewart()
    q = robot.neutral()
    q[:3] += (0.05, -0.03, 0.02)
    q = robot.inverse_kinematics(q[:7]).q
    jacobian = np.asarray(robot.platform_jacobian(q))
    still = np.zeros((6, 6))
    legs, _ = robot.tree_motion(q, jacobian.T, still)  # the platform moves as the motors, one by one, make it
    motors = robot.with_independent(*robot.active_names)
    tree, _ = motors.tree_motion(q, np.eye(6), still)
    np.testing.assert_allclose(legs, tree, rtol=0, atol=1e-12)
    np.testing.assert_allclose(jacobian, np.linalg.inv(robot.actuation_matrix(q)), rtol=0, atol=1e-12)
    other, _ = robot.tree_motion(q, np.linalg.inv(jacobian).T, still)
    assert abs(np.asarray(other) - tree).max() > 1e-3
