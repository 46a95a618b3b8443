"""Robots written as MJCF, compiled by MuJoCo and compared."""

import dataclasses

import numpy as np
import pytest

from neuler import layouts
from neuler.formats import mjcf_write
from neuler.robot.expand import expand
from random_robots import close, random_link

mujoco = pytest.importorskip("mujoco")

TOLERANCE = 1e-9
KINDS = ("revolute", "prismatic", "spherical", "planar", "translation", "fixed")


def compiled(robot):
    model = mujoco.MjModel.from_xml_string(mjcf_write.write(robot))
    return model, mujoco.MjData(model)


def free_of_constraints(model):
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_LIMIT | off.mjDSBL_EQUALITY
    model.opt.tolerance, model.opt.iterations = 0.0, 200


def agrees(robot, count=5):
    """Mass matrix, bias with passive forces, and forward dynamics, of the tree, without limits and constraints."""
    model, data = compiled(robot)
    free_of_constraints(model)
    tree = robot.tree
    layout = layouts.mujoco(expand(robot.replace(motors=()).tree), model)
    rng = np.random.default_rng(7)
    q = tree.random_configuration(rng, count)
    qd, qdd = (
        rng.uniform(0.5, 2.0, (count, tree.nv)) * rng.choice([-1, 1], (count, tree.nv)),
        np.zeros((count, tree.nv)),
    )
    qdd = rng.uniform(-4, 4, (count, tree.nv))
    tau = tree.inverse_dynamics(q, qd, qdd)
    still = tree.inverse_dynamics(q, qd, np.zeros_like(qdd))
    dry = any(joint.coulomb for joint in tree.joints)
    matrices, bias, accelerations = [], [], []
    for k in range(count):
        data.qpos[:], data.qvel[:] = layout.q(q[k]), layout.v(qd[k], q[k])
        data.qfrc_applied[:] = layout.tau(tau[k], q[k])
        mujoco.mj_forward(model, data)
        accelerations.append(layout.from_a(data.qacc, data.qvel, data.qpos))
        full = np.zeros((model.nv, model.nv))
        for row, unit in zip(full, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, row, unit)
        matrices.append(layout.from_tau(layout.from_tau(full, data.qpos).T, data.qpos))
        there = np.zeros(model.nv)
        data.qacc[:] = layout.a(np.zeros(tree.nv), qd[k], q[k])
        mujoco.mj_rne(model, data, 1, there)
        full_bias = there - data.qfrc_passive - data.qfrc_constraint
        full_bias += model.dof_armature * data.qacc
        bias.append(layout.from_tau(full_bias, data.qpos))
    close(np.array(matrices), tree.mass_matrix(q), TOLERANCE, what="mass matrix")
    close(np.array(bias), still, TOLERANCE, max(1.0, float(np.abs(still).max())), what="bias")
    worst = max(float(np.linalg.cond(matrix)) for matrix in tree.mass_matrix(q))
    close(np.array(accelerations), qdd, max(TOLERANCE, 1e-14 * worst), what=f"forward dynamics, dry friction {dry}")
    return model


def alike(robot):
    """Coulomb friction the same in both directions."""
    return robot.replace(joints=[dataclasses.replace(joint, coulomb_reverse=None) for joint in robot.joints])


def solid(robot):
    """Mass on every link."""
    links = [
        link if link.mass else random_link(np.random.default_rng(k), link.name) for k, link in enumerate(robot.links)
    ]
    return robot.replace(links=links)
