"""Closed loops against MuJoCo and Pinocchio, built from the same trees.

MuJoCo's equality constraints are springs, however stiff. So it gives what it knows exactly, inertia, bias forces and
the Jacobians of points and their rates, and the equations of motion with constraint forces are solved densely here.
Pinocchio solves them itself, by a proximal method that takes redundant constraints too. Agreement to 1e-11.
"""

import numpy as np
import pytest

from loop_machines import active_velocities, machine_of, states
from neuler import RobotError
from random_robots import close, few

NAMES = [
    "four_bar",
    "five_bar",
    "slider_crank",
    "sr400",
    "rssr",
    "bennett",
    "hinged",
    "random_spherical",
    "random_hinge",
]
COUNT = 10
TOLERANCE = 1e-11


def heavy(name):
    """The machine without friction, a little more mass on every link: MuJoCo wants no moment of inertia to be zero."""
    machine = machine_of(name).without_friction()
    for link in machine.links[1:]:
        machine = machine.with_payload(link.name, 1e-2, com=(0.01, 0.02, -0.01), inertia=(1e-3, 2e-3, 2e-3))
    return machine


def tree_states(machine):
    """q, velocities and accelerations of the tree, forces of all joints (none where no motor is)."""
    q, qd, qdd = states(machine, COUNT, seed=6, margin=0.1)
    rates, accelerations = machine.tree_motion(q, qd, qdd)
    tau = np.zeros_like(rates)
    tau[:, active_velocities(machine)] = machine.inverse_dynamics(q, qd, qdd)
    return q, qd, qdd, rates, accelerations, tau


def axes_across(axis):
    """Two directions square to a third one."""
    _, _, v = np.linalg.svd(axis[None])
    return v[1:]


class Mujoco:
    """Inertia, bias and constraint Jacobians of a tree, by MuJoCo alone."""

    def __init__(self, machine):
        import mujoco

        from mujoco_model import from_robot

        self.mujoco, self.machine, tree = mujoco, machine, machine.tree
        self.model = from_robot(tree)
        self.data = mujoco.MjData(self.model)
        names = [self.model.joint(k).name for k in range(self.model.njnt)]
        assert tuple(names) == tree.joint_names
        self.bodies = {tree.links[0].name: 1}  # 0 is MuJoCo's world
        for joint in tree.joints:
            number = int(self.model.jnt_bodyid[names.index(joint.name)])
            self.bodies[joint.child] = number

    def at(self, q, qd):
        """M, bias, and every constraint of the loops as (row, its rate times qd)."""
        mujoco, model, data = self.mujoco, self.model, self.data
        data.qpos[:], data.qvel[:] = q, qd
        mujoco.mj_forward(model, data)
        matrix = np.zeros((model.nv, model.nv))
        for row, unit in zip(matrix, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, row, unit)
        rows, drift = [], []
        for loop in self.machine.loops:
            (v1, w1, dv1, dw1, r1), (v2, w2, dv2, dw2, _) = (self._frame(name) for name in (loop.first, loop.second))
            rows.append(v2 - v1)
            drift.append((dv2 - dv1) @ qd)
            if loop.kind == "revolute":  # the relative turning velocity is along the axis, which turns with the first
                axis = r1[:, 2]
                across = axes_across(axis)
                relative = (w2 - w1) @ qd
                turning = np.cross(w1 @ qd, across)
                rows.append(across @ (w2 - w1))
                drift.append(across @ ((dw2 - dw1) @ qd) + turning @ relative)
            else:
                assert loop.kind == "spherical"
        return matrix, data.qfrc_bias.copy(), np.concatenate(rows), np.concatenate(drift)

    def _frame(self, name):
        index, placement = self.machine.tree.locate(name)
        body = self.bodies[self.machine.tree.links[index].name]
        rotation = self.data.xmat[body].reshape(3, 3)
        point = self.data.xpos[body] + rotation @ np.array(placement.translation)
        found = [np.zeros((3, self.model.nv)) for _ in range(4)]
        self.mujoco.mj_jac(self.model, self.data, found[0], found[1], point, body)
        self.mujoco.mj_jacDot(self.model, self.data, found[2], found[3], point, body)
        return *found, rotation @ np.array(placement.rotation)


def solved(matrix, bias, rows, drift, tau):
    """Accelerations and W^T forces of M qdd + bias = tau + W^T forces, W qdd + drift = 0; redundant rows may be."""
    n, m = len(bias), len(rows)
    system = np.block([[matrix, -rows.T], [rows, np.zeros((m, m))]])
    scale = np.sqrt(np.abs(np.diag(matrix)).max())
    weights = np.concatenate([np.ones(n) / scale, np.full(m, scale)])  # inertia and geometry on one scale
    system = weights[:, None] * system * weights
    found = weights * np.linalg.lstsq(system, weights * np.concatenate([tau - bias, -drift]), rcond=1e-11)[0]
    return found[:n], rows.T @ found[n:]


@pytest.mark.parametrize("name", few(NAMES, 3))
def test_mujoco(name):
    """Forward: accelerations of all joints. Inverse: the motors' forces leave nothing to be balanced."""
    pytest.importorskip("mujoco")
    machine = heavy(name)
    peer = Mujoco(machine)
    q, _, _, rates, accelerations, tau = tree_states(machine)
    found, forces = machine.constrained_dynamics(q, rates, tau, 0.0)
    ours = np.einsum("bji,bj->bi", machine.closure(q)[1], forces)
    expected, pushes = [], []
    for k in range(COUNT):
        matrix, bias, rows, drift = peer.at(q[k], rates[k])
        assert np.abs(rows @ rates[k]).max() < 1e-9 * max(1.0, np.abs(rates[k]).max())
        one, push = solved(matrix, bias, rows, drift, tau[k])
        expected.append(one)
        pushes.append(push)
        close(
            matrix @ accelerations[k] + bias - tau[k],
            push,
            TOLERANCE,
            scale=np.abs(bias).max(),
            what="inverse dynamics",
        )
    close(accelerations, np.array(expected), TOLERANCE, what="accelerations that follow")
    close(found, np.array(expected), TOLERANCE, what="constrained dynamics")
    close(ours, np.array(pushes), TOLERANCE, what="forces of the loops")


class Pinocchio:
    """A tree with rigid constraints: a point for a spherical cut joint, two points of its axis for a revolute one."""

    def __init__(self, machine):
        import pinocchio as pin

        from pinocchio_model import from_robot

        self.pin, self.model = pin, from_robot(machine.tree)
        self.data = self.model.createData()
        constraints = pin.StdVec_RigidConstraintModel()
        for loop in machine.loops:
            first, second = (self.model.frames[self.model.getFrameId(name)] for name in (loop.first, loop.second))
            assert loop.kind in ("revolute", "spherical")
            for height in (0.0, 0.5) if loop.kind == "revolute" else (0.0,):
                shift = pin.SE3(np.eye(3), np.array([0.0, 0.0, height]))
                ends = [(one.parentJoint, one.placement * shift) for one in (first, second)]
                point = (pin.ContactType.CONTACT_3D, self.model, *ends[0], *ends[1], pin.ReferenceFrame.LOCAL)
                constraints.append(pin.RigidConstraintModel(*point))
        self.constraints = constraints
        self.datas = pin.StdVec_RigidConstraintData()
        for one in constraints:
            self.datas.append(one.createData())
        try:
            pin.initConstraintDynamics(self.model, self.data, constraints, self.datas)
        except TypeError:  # before version 4
            pin.initConstraintDynamics(self.model, self.data, constraints)

    def accelerations(self, q, qd, tau):
        """By its own solver."""
        settings = self.pin.ProximalSettings(1e-14, 1e-8, 200)
        arguments = (self.constraints, self.datas, settings)
        return self.pin.constraintDynamics(self.model, self.data, q, qd, tau, *arguments).copy()


@pytest.mark.parametrize("name", few(NAMES, 3))
def test_pinocchio(name):
    pytest.importorskip("pinocchio")
    machine = heavy(name)
    peer = Pinocchio(machine)
    q, qd, qdd, rates, accelerations, tau = tree_states(machine)
    theirs = np.array([peer.accelerations(*state) for state in zip(q, rates, tau, strict=True)])
    close(accelerations, theirs, TOLERANCE, what="accelerations that follow")
    close(machine.constrained_dynamics(q, rates, tau, 0.0)[0], theirs, TOLERANCE, what="constrained dynamics")
    close(machine.forward_dynamics(q, qd, tau[:, active_velocities(machine)]), qdd, TOLERANCE)


def test_the_massless_cross_of_the_rssr():
    """Forward dynamics along the freedoms takes links without mass; with all joints free they are refused by name."""
    machine = machine_of("rssr")
    q, qd, qdd, rates, *_ = tree_states(machine)
    close(machine.forward_dynamics(q, qd, machine.inverse_dynamics(q, qd, qdd)), qdd, 1e-10)
    bare = machine.replace(
        links=[link if link.name in ("crank", "rocker") else type(link)(link.name) for link in machine.links]
    )
    close(bare.forward_dynamics(q, qd, bare.inverse_dynamics(q, qd, qdd)), qdd, 1e-10)
    with pytest.raises(RobotError, match="the joints 'swing', 'dip' move no inertia"):
        bare.constrained_dynamics(q, rates, rates, 0.0)
