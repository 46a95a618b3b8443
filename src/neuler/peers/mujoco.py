"""MuJoCo beside neuler."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from neuler import layouts
from neuler.formats.armatures import has_centre, with_armature
from neuler.formats.mjcf_write_bodies import (
    Attributes,
    Worldbody,
    inertial_of,
    numbers,
    principal_inertias,
    text_of,
)
from neuler.peers.base import (
    LOOPED,
    Array,
    PeerTask,
    States,
    first_output,
    library,
    looped,
)
from neuler.robot import Joint, Link, Robot
from neuler.robot.expand import expand

LEAST = 1e-10
"""Bodies with less mass or inertia get a stand-in; MuJoCo's compiler refuses some of them."""


def mjcf(robot: Robot) -> str:
    """The tree of a robot as MJCF, to compare with: bodies, joints, rotors (armature) and gravity.

    Names are numbers of links and joints (``link0``, ``joint0``), joints that are several simple ones in a row are
    written as these, and constraints and contacts are disabled. Limits, friction, springs and actuators are left out:
    :func:`neuler.save` with ``format="MJCF"`` writes these. Bodies that MuJoCo's compiler refuses (no mass, impossible
    inertia) get a stand-in of 1 kg and 1 kg m^2; :func:`mujoco_model` puts their true values into the compiled model.
    Motors whose inertia acts along their joint alone (``coupled=False``) are armature too; others are refused by name.
    """
    root = ET.Element("mujoco")
    compiler = {"angle": "radian", "autolimits": "false", "fusestatic": "false", "balanceinertia": "false"}
    ET.SubElement(root, "compiler", compiler)
    option = ET.SubElement(root, "option", {"gravity": numbers(robot.gravity)})
    ET.SubElement(option, "flag", {"constraint": "disable", "contact": "disable"})
    simple = expand(with_armature(robot, "mujoco"))
    links = {link.name: f"link{k}" for k, link in enumerate(simple.links)}
    joints = {joint.name: f"joint{k}" for k, joint in enumerate(simple.joints)}
    root.append(Worldbody(simple, _inertial, _armature, links=links, joints=joints).world)
    return text_of(root)


def _inertial(link: Link) -> Attributes:
    has_centre(link)
    inertias, axes = principal_inertias(link)
    mass = link.mass
    if not is_possible(mass, inertias):
        mass, inertias = 1.0, np.ones(3)
    return inertial_of(link, mass, inertias, axes)


def _armature(joint: Joint) -> Attributes:
    return {"armature": numbers([joint.rotor_inertia])} if joint.type.has_axis else {}


def is_possible(mass: float, inertias: Array) -> bool:
    """Whether MuJoCo's compiler takes a body of this mass (kg) and these principal inertias (kg m^2)."""
    low, middle, high = np.sort(inertias).tolist()
    return mass > LEAST and low > LEAST and low + middle >= high


def mujoco_model(robot: Robot) -> Any:
    """The robot as a compiled ``mujoco.MjModel``, every body with its true mass and inertia."""
    mujoco = library("mujoco")
    robot = expand(with_armature(robot, "mujoco"))
    model = mujoco.MjModel.from_xml_string(mjcf(robot))
    changed = False
    for k, link in enumerate(robot.links):
        inertias, _ = principal_inertias(link)
        if not is_possible(link.mass, inertias):
            number = model.body(f"link{k}").id
            model.body_mass[number] = link.mass
            model.body_inertia[number] = inertias
            changed = True
    if changed:
        mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


class MuJoCo:
    """MuJoCo, constraints and contacts off. It has no batch call for these: measured per call.

    Sensitivities have no counterpart: MuJoCo's are finite differences (``mjd_inverseFD``, ``mjd_transitionFD``).
    """

    name = "mujoco"
    model_from = "the robot's data, converted"

    def __init__(self, robot: Robot) -> None:
        self.mujoco = library("mujoco")
        self.version = str(self.mujoco.__version__)
        robot = with_armature(robot, self.name)
        self.model = mujoco_model(robot)
        simple = expand(robot)
        numbers = [int(self.model.joint(k).name.removeprefix("joint")) for k in range(self.model.njnt)]
        self.layout = layouts.mujoco(simple, [simple.joints[k].name for k in numbers])
        self.free = any(joint.type.always_passive for joint in robot.moving_joints)
        self.links = np.array(
            [self.model.body(f"link{simple.link_names.index(name)}").id for name in robot.shown_names]
        )
        self.tip = int(self.links[robot.shown_names.index(robot.tip)])

    def task(self, quantity: str, states: States) -> PeerTask | None:
        """The quantity for these states; None where MuJoCo has no counterpart."""
        mujoco, model, layout, links, tip = self.mujoco, self.model, self.layout, self.links, self.tip
        data = mujoco.MjData(model)
        fields = {"q": data.qpos, "qd": data.qvel, "qdd": data.qacc, "tau": data.qfrc_applied}
        dense, found = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        spread = _full_matrix(mujoco, model, data, dense)

        def kinematics() -> None:
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)

        def matrix() -> None:
            kinematics()
            mujoco.mj_crb(model, data)
            spread()

        def bias() -> None:
            kinematics()
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, int(self.free), found)

        def jacobian() -> None:
            kinematics()
            mujoco.mj_jacBody(model, data, linear, angular, tip)

        def poses() -> Array:
            result = np.tile(np.eye(4), (len(links), 1, 1))
            result[:, :3, :3] = data.xmat[links].reshape(-1, 3, 3)
            result[:, :3, 3] = data.xpos[links]
            return result

        def in_link_axes() -> Array:
            turn = data.xmat[tip].reshape(3, 3).T
            return forces(np.vstack([turn @ linear, turn @ angular]))

        def forces(theirs: Array) -> Array:
            return layout.from_tau(theirs, data.qpos)

        calls: dict[str, tuple[Callable[[], Any], Callable[[], Array]]] = {
            "inverse_dynamics": (functools.partial(mujoco.mj_inverse, model, data), lambda: forces(data.qfrc_inverse)),
            "forward_dynamics": (
                functools.partial(mujoco.mj_forward, model, data),
                lambda: layout.from_a(data.qacc, data.qvel, data.qpos),
            ),
            "mass_matrix": (matrix, lambda: forces(forces(dense).T)),
            "bias_force": (bias, lambda: forces(found)),
            "gravity_force": (bias, lambda: forces(found)),
            "jacobian": (jacobian, in_link_axes),
            "link_poses": (functools.partial(mujoco.mj_kinematics, model, data), poses),
        }
        if quantity not in calls:
            return None
        call, read = calls[quantity]
        count = min(LOOPED, len(states["q"]))
        given = {name: values[:count] for name, values in states.items()}
        q, still = given["q"], np.zeros((count, model.nv))
        qd = given.get("qd", still)
        theirs = {"q": layout.q(q), "qd": layout.v(qd, q), "qdd": layout.a(given.get("qdd", still), qd, q)}
        theirs["tau"] = layout.tau(given.get("tau", still), q)
        names = [*given, *(["qdd"] if self.free and quantity == "bias_force" else [])]
        rows = [[(fields[name], theirs[name][k]) for name in names] for k in range(count)]

        def run(k: int) -> None:
            for field, value in rows[k]:
                field[:] = value
            call()

        def result(k: int) -> Array:
            run(k)
            return np.array(read())

        return PeerTask(
            lambda: run(0),
            looped(run, count),
            count,
            False,
            lambda: np.array([result(k) for k in range(count)]),
            first_output,
        )


def _full_matrix(mujoco: Any, model: Any, data: Any, dense: Array) -> Callable[[], Any]:
    """MuJoCo's sparse inertia matrix into a dense one; the arguments changed between releases."""
    newer = functools.partial(mujoco.mj_fullM, model, data, dense)
    try:
        newer()
    except TypeError:
        return functools.partial(mujoco.mj_fullM, model, dense, data.qM)
    return newer
