"""A Robot as a Pinocchio model, and the two libraries' numbering side by side.

Pinocchio knows no friction; its armature is the rotor inertia.
"""

import numpy as np
import pinocchio as pin


def _se3(placement):
    return pin.SE3(np.array(placement.rotation), np.array(placement.translation))


def _inertia(link):
    return pin.Inertia(link.mass, np.array(link.com), link.inertia_about_com)


def from_robot(robot):
    """Joints and links added one by one, in neuler's order; links behind fixed joints join their carrier."""
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    carrier = {robot.links[0].name: (0, pin.SE3.Identity())}
    model.appendBodyToJoint(0, _inertia(robot.links[0]), pin.SE3.Identity())
    rotors = []
    make = {"revolute": pin.JointModelRevoluteUnaligned, "prismatic": pin.JointModelPrismaticUnaligned}
    for joint, link in zip(robot.joints, robot.links[1:], strict=True):
        number, pose = carrier[joint.parent]
        pose = pose * _se3(joint.placement)
        if joint.moves:
            number = model.addJoint(number, make[joint.kind](np.array(joint.axis)), pose, joint.name)
            pose = pin.SE3.Identity()
            rotors.append(joint.rotor_inertia)
        carrier[link.name] = (number, pose)
        model.appendBodyToJoint(number, _inertia(link), pose)
    for link in robot.links:
        model.addFrame(pin.Frame(link.name, *carrier[link.name], pin.FrameType.BODY))
    for frame in robot.frames:
        number, pose = carrier[frame.link]
        model.addFrame(pin.Frame(frame.name, number, pose * _se3(frame.placement), pin.FrameType.OP_FRAME))
    model.armature = np.array(rotors)
    return model


def columns(robot, model):
    """Index in Pinocchio's velocity of every coordinate of the robot."""
    return np.array([model.joints[model.getJointId(name)].idx_v for name in robot.joint_names], dtype=int)


def positions(robot, model, q):
    """Pinocchio's configurations, one a row: continuous joints are (cos, sin) there."""
    theirs = np.tile(pin.neutral(model), (len(q), 1))
    for name, values in zip(robot.joint_names, q.T, strict=True):
        joint = model.joints[model.getJointId(name)]
        if joint.nq == 1:
            theirs[:, joint.idx_q] = values
        else:
            theirs[:, joint.idx_q], theirs[:, joint.idx_q + 1] = np.cos(values), np.sin(values)
    return theirs


def velocities(robot, model, values):
    """Velocities, accelerations or forces of the robot in Pinocchio's order, one a row."""
    theirs = np.zeros((len(values), model.nv))
    theirs[:, columns(robot, model)] = values
    return theirs
