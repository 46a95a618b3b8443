"""A parallel robot in Pinocchio: its masses, Jacobians and velocity products in a dense system that NumPy solves.

Pinocchio's model has more joints than neuler's: the cut joints are real ones there, without mass, and their ends are
welded to the platform.
"""

import numpy as np
import pinocchio as pin

_CUT = {"universal": "xy", "revolute": "z", "spherical": "s"}
"""Axes of the joints in place of a cut one."""


def _se3(placement):
    return pin.SE3(np.array(placement.rotation), np.array(placement.translation))


class Peer:
    """One robot; states are neuler's, one at a time."""

    def __init__(self, robot):
        self.robot = robot
        model = pin.Model()
        model.gravity.linear = np.array(robot.gravity)
        plate = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "platform")
        model.appendBodyToJoint(plate, self._inertia(robot.platform), pin.SE3.Identity())
        self.welds, self.points, rotors, self.cuts = [], [], [0.0] * 6, []
        make = {"revolute": pin.JointModelRevoluteUnaligned, "prismatic": pin.JointModelPrismaticUnaligned}
        for leg in robot.legs:
            carrier = {leg.chain.links[0].name: 0}
            for joint, link in zip(leg.chain.joints, leg.chain.links[1:], strict=True):
                name = f"{leg.name}.{joint.name}"
                number = model.addJoint(
                    carrier[joint.parent], make[joint.kind](np.array(joint.axis)), _se3(joint.placement), name
                )
                model.appendBodyToJoint(number, self._inertia(link), pin.SE3.Identity())
                carrier[link.name] = number
                rotors.append(joint.rotor_inertia)
            index, placement = leg.chain.locate(leg.tip)
            number, pose = carrier[leg.chain.links[index].name], _se3(placement)
            self.points.append((number, pose, plate, _se3(leg.attachment)))
            for letter in _CUT[leg.kind]:
                kinds = {
                    "x": pin.JointModelRX,
                    "y": pin.JointModelRY,
                    "z": pin.JointModelRZ,
                    "s": pin.JointModelSpherical,
                }
                number = model.addJoint(number, kinds[letter](), pose, f"{leg.name} {letter}")
                pose = pin.SE3.Identity()
                self.cuts.append(number)
                rotors += [0.0] * model.joints[number].nv
            end = model.addFrame(pin.Frame(f"{leg.name} end", number, pose, pin.FrameType.OP_FRAME))
            seat = model.addFrame(pin.Frame(f"{leg.name} seat", plate, _se3(leg.attachment), pin.FrameType.OP_FRAME))
            self.welds.append((end, seat))
        model.armature = np.array(rotors)
        self.model, self.data = model, model.createData()
        names = [f"{leg.name}.{joint.name}" for leg in robot.legs for joint in leg.chain.moving_joints]
        self.legs = [model.joints[model.getJointId(name)] for name in names]
        self.motors = [model.joints[model.getJointId(name)].idx_v for name in robot.active_names]

    @staticmethod
    def _inertia(link):
        return pin.Inertia(link.mass, np.array(link.com), link.inertia_about_com)

    def position(self, q):
        """Theirs: the cut joints' angles from where the tips and the seats are."""
        found = pin.neutral(self.model)
        found[:7] = q[:7]
        for joint, x in zip(self.legs, q[7:], strict=True):
            found[joint.idx_q] = x
        pin.forwardKinematics(self.model, self.data, found)
        at = 0
        for leg, (number, pose, plate, seat) in zip(self.robot.legs, self.points, strict=True):
            turn = ((self.data.oMi[number] * pose).inverse() * self.data.oMi[plate] * seat).rotation
            letters = _CUT[leg.kind]
            joints = [self.model.joints[k] for k in self.cuts[at : at + len(letters)]]
            at += len(letters)
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
