"""A parallel robot in Pinocchio: its masses, Jacobians and velocity products in a dense system that NumPy solves.

Pinocchio's model has more joints than neuler's: the cut joints are real ones there, without mass, and their ends are
welded to the platform, which is free but for its legs whatever its joint in neuler is.
"""

import numpy as np
import pinocchio as pin

from parallel_machines import pose

_CUT = {"universal": "xy", "revolute": "z", "spherical": "s"}
"""Axes of the joints in place of a cut one."""
KINDS = {"revolute": pin.JointModelRevoluteUnaligned, "prismatic": pin.JointModelPrismaticUnaligned}


def se3(placement):
    return pin.SE3(np.array(placement.rotation), np.array(placement.translation))


def inertia(link):
    return pin.Inertia(link.mass, np.array(link.com), link.inertia_about_com)


class Model:
    """The platform as a free flyer, and all legs, loops open; ``cut`` adds the cut joints at their ends.

    A leg's joints come one after another, as Pinocchio's recursions ask for it.
    """

    def __init__(self, robot, cut=False):
        self.robot, self.model = robot, pin.Model()
        self.model.gravity.linear = np.array(robot.gravity)
        self.carrier, self.cuts, self.tips = {robot.links[0].name: 0}, {}, {}
        for joint, link in zip(robot.joints, robot.links[1:], strict=True):
            plate = joint.name == "platform"
            made = pin.JointModelFreeFlyer() if plate else KINDS[joint.kind](np.array(joint.axis))
            number = self.model.addJoint(self.carrier[joint.parent], made, se3(joint.placement), joint.name)
            self.model.appendBodyToJoint(number, inertia(link), pin.SE3.Identity())
            self.carrier[link.name] = number
            for loop in robot.loops if cut else ():
                if robot.links[robot.locate(loop.first)[0]] == link:
                    self._cut(loop)
        armature = np.zeros(self.model.nv)
        for joint in robot.moving_joints[1:]:
            armature[self[joint.name].idx_v] = joint.rotor_inertia
        self.model.armature = armature

    def __getitem__(self, name):
        return self.model.joints[self.model.getJointId(name)]

    def end(self, frame):
        """The joint that carries a frame, and its place there."""
        index, placement = self.robot.locate(frame)
        return self.carrier[self.robot.links[index].name], se3(placement)

    def _cut(self, loop):
        number, place = self.end(loop.first)
        kinds = {"x": pin.JointModelRX, "y": pin.JointModelRY, "z": pin.JointModelRZ, "s": pin.JointModelSpherical}
        self.cuts[loop.name] = []
        for letter in _CUT[loop.kind]:
            number = self.model.addJoint(number, kinds[letter](), place, f"{loop.name} {letter}")
            self.cuts[loop.name].append(number)
            place = pin.SE3.Identity()
        self.tips[loop.name] = number, place


class Peer:
    """One robot; q is neuler's, the platform's velocity and acceleration are screws in its own frame."""

    def __init__(self, robot):
        self.robot, self.parts = robot, Model(robot, cut=True)
        model, self.welds = self.parts.model, []
        for loop in robot.loops:
            ends = self.parts.tips[loop.name], self.parts.end(loop.second)
            frames = [
                pin.Frame(f"{loop.name} {side}", *end, pin.FrameType.OP_FRAME)
                for side, end in zip(("end", "seat"), ends, strict=True)
            ]
            self.welds.append([model.addFrame(frame) for frame in frames])
        self.model, self.data = model, model.createData()
        self.motors = [self.parts[name].idx_v for name in robot.active_names]

    def position(self, q):
        """Theirs: the cut joints' angles from where the tips and the seats are."""
        found = pin.neutral(self.model)
        found[:7] = pose(self.robot, q)
        for joint, x in zip(self.robot.moving_joints[1:], q[self.robot.moving_joints[0].nq :], strict=True):
            found[self.parts[joint.name].idx_q] = x
        pin.forwardKinematics(self.model, self.data, found)
        for loop in self.robot.loops:
            tip, seat = (self.data.oMi[k] * place for k, place in map(self.parts.end, (loop.first, loop.second)))
            turn = (tip.inverse() * seat).rotation
            letters, joints = _CUT[loop.kind], [self.model.joints[k] for k in self.parts.cuts[loop.name]]
            if letters == "s":
                found[joints[0].idx_q : joints[0].idx_q + 4] = pin.Quaternion(turn).coeffs()
            elif letters == "z":
                found[joints[0].idx_q] = np.arctan2(turn[1, 0], turn[0, 0])
            else:  # Rx(a) Ry(b)
                found[joints[0].idx_q] = np.arctan2(turn[2, 1], turn[1, 1])
                found[joints[1].idx_q] = np.arctan2(turn[0, 2], turn[0, 0])
        return found

    def constraints(self, q):
        """W of the welds at a position of theirs."""
        pin.computeJointJacobians(self.model, self.data, q)
        pin.updateFramePlacements(self.model, self.data)
        rows = []
        for end, seat in self.welds:
            gap = self.data.oMf[end].actInv(self.data.oMf[seat])
            assert np.abs(pin.log6(gap).vector).max() < 1e-10
            rows += [pin.getFrameJacobian(self.model, self.data, seat, pin.LOCAL_WORLD_ALIGNED)]
            rows[-1] = rows[-1] - pin.getFrameJacobian(self.model, self.data, end, pin.LOCAL_WORLD_ALIGNED)
        return np.vstack(rows)

    def velocity(self, w, v):
        """All velocities, from the platform's."""
        rest = np.linalg.lstsq(w[:, 6:], -w[:, :6] @ v, rcond=None)[0]
        return np.concatenate([v, rest])

    def drift(self, q, rates):
        """dW/dt qd."""
        pin.forwardKinematics(self.model, self.data, q, rates, np.zeros(self.model.nv))
        pin.updateFramePlacements(self.model, self.data)
        found = []
        for end, seat in self.welds:
            here = pin.getFrameClassicalAcceleration(self.model, self.data, seat, pin.LOCAL_WORLD_ALIGNED).vector
            found.append(
                here - pin.getFrameClassicalAcceleration(self.model, self.data, end, pin.LOCAL_WORLD_ALIGNED).vector
            )
        return np.concatenate(found)

    def system(self, q, v):
        """A, H, W and the drift at one state of neuler's."""
        q = self.position(q)
        w = self.constraints(q)
        rates = self.velocity(w, v)
        drift = self.drift(q, rates)
        mass = np.array(pin.crba(self.model, self.data, q))
        mass = np.triu(mass) + np.triu(mass, 1).T
        bias = np.array(pin.nonLinearEffects(self.model, self.data, q, rates))
        return mass, bias, w, drift

    def forward(self, q, v, tau):
        """vd of the platform: A qdd + H = S^T tau + W^T f, W qdd = -drift."""
        mass, bias, w, drift = self.system(q, v)
        matrix = np.block([[mass, w.T], [w, np.zeros((len(w), len(w)))]])
        right = np.concatenate([-bias, -drift])
        right[self.motors] += tau
        return np.linalg.lstsq(matrix, right, rcond=1e-13)[0][:6]

    def inverse(self, q, v, vd):
        """tau of the motors, of all that move the platform so the least."""
        mass, bias, w, drift = self.system(q, v)
        rest = np.linalg.lstsq(w[:, 6:], -drift - w[:, :6] @ vd, rcond=None)[0]
        needed = mass @ np.concatenate([vd, rest]) + bias
        _, sizes, vt = np.linalg.svd(w)
        free = vt[(sizes > 1e-9 * sizes[0]).sum() :].T
        return np.linalg.lstsq(free[self.motors].T, free.T @ needed, rcond=None)[0]
