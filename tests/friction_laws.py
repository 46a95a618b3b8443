"""Friction laws of every sort, and robots that have them."""

import dataclasses

import pytest

from neuler import Coulomb, LoadDependent, Stribeck

LAWS = {
    "coulomb": Coulomb(0.8, viscous=0.1, coulomb_reverse=0.5, width=0.4),
    "stribeck": Stribeck(0.6, 1.1, 0.5, viscous=0.2),
    "stribeck, smooth": Stribeck(0.6, 1.1, 0.7, exponent=1.5, width=0.3),
    "load": LoadDependent(0.25, coulomb=0.4, viscous=0.1),
    "load, smooth": LoadDependent(0.3, coulomb=0.4, width=0.4, load_width=0.6),
}
each_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


def with_laws(robot, laws):
    """Laws on the joints with one axis, in turn; no Coulomb friction besides."""
    laws, joints = list(laws), []
    followers = {coupling.joint for coupling in robot.couplings}
    for k, joint in enumerate(robot.joints):
        joint = dataclasses.replace(joint, coulomb=0.0, coulomb_reverse=None)
        law = laws[k % len(laws)]
        felt = joint.role == "driven" and joint.name not in followers
        if joint.moves and joint.type.has_axis and joint.role != "guide":
            joint = dataclasses.replace(joint, friction=law if felt or not law.loaded else LAWS["coulomb"])
        joints.append(joint)
    return robot.replace(joints=joints)
