"""Against MuJoCo: ten real robots and random trees, built from the same Robot.

MuJoCo keeps rotations as quaternions that it renormalises, and principal inertias; agreement to
1e-9 of the largest value of a batch is what it promises. Forward accelerations may lose the
condition number of M: max(1e-9, 1e-14 cond(M)) at each state, as against Pinocchio.
"""

import dataclasses

import numpy as np
import pytest

from neuler import load
from random_robots import close, error, few, random_robot, random_states, real_files, tenth

mujoco = pytest.importorskip("mujoco")
from mujoco_model import from_robot  # noqa: E402

TOLERANCE = 1e-9
CHOSEN = {
    "baxter", "g1_29dof_rev_1_0", "go2", "kinova", "panda",
    "solo12", "talos_full_v2", "tiago_pro", "ur5_robot", "xarm7",
}  # fmt: skip
FILES = [path for path in real_files() if path.stem in CHOSEN]


def without_dry_friction(robot):
    return robot.replace(joints=[dataclasses.replace(j, coulomb=0.0, coulomb_reverse=None) for j in robot.joints])


def agrees(robot, count=40):
    model = from_robot(robot)
    data = mujoco.MjData(model)
    assert tuple(model.joint(k).name for k in range(model.njnt)) == robot.joint_names
    q, qd, qdd = random_states(robot, count, 2)
    inverse, matrices, forward = [], [], []
    tau = np.random.default_rng(3).uniform(-1, 1, q.shape) * 0.1 + robot.inverse_dynamics(q, qd, qdd)
    for k in range(count):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], qd[k], qdd[k]
        mujoco.mj_inverse(model, data)
        inverse.append(data.qfrc_inverse.copy())
        full = np.zeros((robot.nv, robot.nv))
        for row, unit in zip(full, np.eye(robot.nv), strict=True):
            mujoco.mj_mulM(model, data, row, unit)
        matrices.append(full)
        data.qfrc_applied[:] = tau[k]
        mujoco.mj_forward(model, data)
        forward.append(data.qacc.copy())
    close(robot.inverse_dynamics(q, qd, qdd), np.array(inverse), TOLERANCE, what="inverse")
    close(robot.mass_matrix(q), np.array(matrices), TOLERANCE, what="mass matrix")
    found = robot.forward_dynamics(q, qd, tau)
    for mine, theirs, matrix in zip(found, forward, matrices, strict=True):
        tolerance = max(TOLERANCE, 1e-14 * float(np.linalg.cond(matrix)))
        off = error(mine, theirs)
        assert off <= tolerance, f"forward: scaled error {off:.3g} is above {tolerance:.3g}"


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
def test_all_ten_are_there():
    assert {path.stem for path in FILES} == CHOSEN


@pytest.mark.parametrize("path", tenth(FILES), ids=lambda path: path.stem)
def test_real_robot(path):
    agrees(without_dry_friction(load(path, mimic="independent", floating="fixed")))


def mass_everywhere(robot):
    """Whether every moving link has mass of its own, as MuJoCo demands."""
    return all(link.mass for joint, link in zip(robot.joints, robot.links[1:], strict=True) if joint.moves)


HEAVY = [seed for seed in range(80, 120) if mass_everywhere(random_robot(seed))][:10]


@pytest.mark.parametrize("seed", few(HEAVY, 2))
def test_random_tree(seed):
    agrees(without_dry_friction(random_robot(seed)))
