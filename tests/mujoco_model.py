"""A Robot as MuJoCo's own XML: one body a link, hinges and slides, no geometry, no contacts.

Friction is viscous alone (MuJoCo's damping); its dry friction is a constraint, not a force law.
"""

import xml.etree.ElementTree as ET

import mujoco
import numpy as np


def _numbers(values):
    return " ".join(repr(float(x)) for x in values)


def _quaternion(rotation):
    """(w, x, y, z) of a rotation matrix, from its largest component."""
    r = np.asarray(rotation, dtype=float)
    outer = np.array(
        [
            [1 + r[0, 0] + r[1, 1] + r[2, 2], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]],
            [r[2, 1] - r[1, 2], 1 + r[0, 0] - r[1, 1] - r[2, 2], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0]],
            [r[0, 2] - r[2, 0], r[0, 1] + r[1, 0], 1 - r[0, 0] + r[1, 1] - r[2, 2], r[1, 2] + r[2, 1]],
            [r[1, 0] - r[0, 1], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], 1 - r[0, 0] - r[1, 1] + r[2, 2]],
        ]
    )  # 4 q q^T
    column = outer[:, int(np.argmax(np.diag(outer)))]
    return column / np.linalg.norm(column)


def _inertial(body, link):
    if not link.mass:
        return
    moments, axes = np.linalg.eigh(link.inertia_about_com)
    axes = axes * np.linalg.det(axes)
    ET.SubElement(
        body, "inertial", pos=_numbers(link.com), quat=_numbers(_quaternion(axes)),
        mass=repr(link.mass), diaginertia=_numbers(moments),
    )  # fmt: skip


def from_robot(robot):
    """The compiled model. MuJoCo refuses moving links without mass and impossible inertias."""
    root = ET.Element("mujoco", model=robot.name)
    ET.SubElement(root, "compiler", angle="radian", inertiafromgeom="false", autolimits="false")
    option = ET.SubElement(root, "option", gravity=_numbers(robot.gravity))
    ET.SubElement(option, "flag", contact="disable", constraint="disable")
    bodies = {robot.links[0].name: ET.SubElement(ET.SubElement(root, "worldbody"), "body")}
    _inertial(bodies[robot.links[0].name], robot.links[0])
    for joint, link in zip(robot.joints, robot.links[1:], strict=True):
        place = joint.placement
        body = ET.SubElement(
            bodies[joint.parent], "body",
            pos=_numbers(place.translation), quat=_numbers(_quaternion(place.rotation)),
        )  # fmt: skip
        bodies[link.name] = body
        if joint.moves:
            kind = {"revolute": "hinge", "prismatic": "slide"}[joint.kind]
            ET.SubElement(
                body, "joint", name=joint.name, type=kind, axis=_numbers(joint.axis),
                damping=repr(joint.viscous), armature=repr(joint.rotor_inertia),
            )  # fmt: skip
        _inertial(body, link)
    return mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
