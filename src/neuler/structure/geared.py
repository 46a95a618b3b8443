"""Rotors on the antecedent of the joint that they follow, taken into that joint: then direct dynamics stay linear.

A rotor of inertia I that turns n times as fast as joint j about the unit vector z of link a(j) has, beside what it is
at rest, the kinetic energy n I qd_j (z . w) + n^2 I qd_j^2 / 2, w being the angular velocity of a(j). With the momentum
n I z for a unit of qd_j known to the joint, the articulated-body recursion needs no body for it: Khalil (36)-(38) with
u = J* a_j + (0; n I z), and H_j = a_j^T J* a_j + n^2 I.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from neuler.passes.canonical import canonical
from neuler.passes.fuse import fuse
from neuler.passes.regroup import regroup
from neuler.passes.tree import Body, Tree
from neuler.passes.trees import usual_inertias
from neuler.robot import Coupling, Joint, Robot
from neuler.robot.expand import expand
from neuler.robot.mechanism import with_rotor
from neuler.robot.value import kept


@kept
def geared_tree(robot: Robot) -> Tree | None:
    """The tree of a robot whose couplings are all rotors on the antecedent of their joint; None of any other."""
    if robot.loops or not robot.couplings:
        return None
    fused = fuse(expand(robot.tree))
    joints = {joint.name: joint for joint in fused.joints}
    links = {link.name: link for link in fused.links}
    momenta: dict[str, np.ndarray] = {}
    for coupling in robot.couplings:
        shaft, leader = joints[coupling.joint], joints[coupling.of[0]]
        if not _taken_in(coupling, shaft, leader):
            return None
        (n,) = coupling.ratio
        rotor = links.pop(shaft.child)
        inertia = rotor.inertia[2] + shaft.rotor_inertia
        carrier = links[shaft.parent]
        links[shaft.parent] = carrier.merged(dataclasses.replace(rotor, name=carrier.name).seen_from(shaft.placement))
        joints[leader.name] = with_rotor(leader, shaft, inertia, n)
        del joints[shaft.name]
        z = np.array(shaft.placement.rotation) @ np.array(shaft.axis)
        momenta[leader.name] = momenta.get(leader.name, np.zeros(3)) + n * rotor.inertia[2] * z
    kept_frames = [frame for frame in fused.frames if frame.link in links]
    alone = fused.replace(links=tuple(links.values()), joints=tuple(joints.values()), frames=kept_frames)
    tree = regroup(dataclasses.replace(canonical(alone), link_names=robot.shown_names, usual=usual_inertias(alone)))
    bodies = [_with_momentum(tree, body, momenta) for body in tree.bodies]
    return dataclasses.replace(tree, bodies=tuple(bodies))


def _taken_in(coupling: Coupling, shaft: Joint, leader: Joint) -> bool:
    alone = len(coupling.of) == 1 and coupling.function is None
    return alone and shaft.inner and not leader.inner and shaft.parent == leader.parent and shaft.friction is None


def _with_momentum(tree: Tree, body: Body, momenta: dict[str, np.ndarray]) -> Body:
    """In the axes of the antecedent's canonical frame."""
    if body.joint is None or body.joint.name not in momenta:
        return body
    _, user = tree.frames[body.joint.parent]
    x, y, z = (np.array(user.rotation) @ momenta[body.joint.name]).tolist()
    return dataclasses.replace(body, drive=dataclasses.replace(body.drive, momentum=(x, y, z)))
