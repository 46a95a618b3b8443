"""Other libraries, measured and compared in the same run: Pinocchio and MuJoCo.

A peer takes a robot's data, the converters are public: :func:`pinocchio_model`, :func:`mjcf`,
:func:`mujoco_model`. Coordinates keep the robot's order in models that are converted.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError, NeulerError
from neuler.robot.model import Link, Robot
from neuler.robot.transform import Transform

Array = NDArray[np.float64]
States = Mapping[str, Array]
"""Inputs by name, one state a row."""

PEERS = ("pinocchio", "mujoco")
LOOPED = 256
"""States that a peer without a batch call works through, one call each."""


@dataclass(frozen=True)
class Task:
    """A quantity, ready to be timed.

    ``one`` computes the first state, ``batch`` computes ``states`` of them, ``results`` gives them in
    the robot's order for comparison with ``adapt(our outputs)``. ``batched``: one library call did it all.
    """

    one: Callable[[], Any]
    batch: Callable[[], Any]
    states: int
    batched: bool
    results: Callable[[], Array]
    adapt: Callable[[tuple[Array, ...]], Array]


class Peer(Protocol):
    """Another library with a model of the same robot."""

    name: str
    version: str
    model_from: str

    def task(self, quantity: str, states: States) -> Task | None:
        """The quantity for these states; None where the library has no counterpart."""


def peer(name: str, robot: Robot, urdf: str | None = None) -> Peer:
    """The peer of this name for a robot, which must have no friction: neither library's model is Coulomb's."""
    if name not in PEERS:
        raise InputError(f"there is no peer {name!r}; there are: {', '.join(PEERS)}")
    return Pinocchio(robot, urdf) if name == "pinocchio" else MuJoCo(robot)


def _library(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NeulerError(
            f"peer {module!r} is not installed ({error}); install it with: pip install neuler[peers]"
        ) from None


def _has_centre(link: Link) -> None:
    if link.mass == 0 and any(link.first_moment):
        raise InputError(f"link {link.name!r}: has a first moment but no mass; peers know bodies by their mass centre")


def _looped(call: Callable[[int], Any], count: int) -> Callable[[], None]:
    def run() -> None:
        for k in range(count):
            call(k)

    return run


def _first(outputs: tuple[Array, ...]) -> Array:
    return outputs[0]


# ---- Pinocchio ----------------------------------------------------------------------------------


def pinocchio_model(robot: Robot) -> Any:
    """The robot as a ``pinocchio.Model``: its coordinates in its order, links as frames, rotors as armature.

    Joints about or along x, y, z become Pinocchio's aligned (faster) joints. Friction is left out.
    """
    pin = _library("pinocchio")
    model = pin.Model()
    model.name = robot.name
    model.gravity.linear = np.array(robot.gravity)
    placed = {robot.links[0].name: (0, Transform())}
    _add_body(pin, model, robot.links[0], 0, Transform())
    armature = []
    for joint, link in zip(robot.joints, robot.links[1:], strict=True):
        number, placement = placed[joint.parent]
        placement = placement @ joint.placement
        if joint.moves:
            kind = _pinocchio_joint(pin, joint.kind, joint.axis)
            number = model.addJoint(number, kind, _se3(pin, placement), joint.name)
            armature.append(joint.rotor_inertia)
            placement = Transform()
        placed[link.name] = (number, placement)
        _add_body(pin, model, link, number, placement)
    model.armature = np.array(armature)
    return model


def _pinocchio_joint(pin: Any, kind: str, axis: tuple[float, float, float]) -> Any:
    name = "JointModelR" if kind == "revolute" else "JointModelP"
    for letter, unit in zip("XYZ", np.eye(3), strict=True):
        if np.array_equal(unit, axis):
            return getattr(pin, name + letter)()
    unaligned = {"revolute": pin.JointModelRevoluteUnaligned, "prismatic": pin.JointModelPrismaticUnaligned}
    return unaligned[kind](np.array(axis))


def _add_body(pin: Any, model: Any, link: Link, number: int, placement: Transform) -> None:
    _has_centre(link)
    inertia = pin.Inertia(link.mass, np.array(link.com), link.inertia_about_com)
    model.appendBodyToJoint(number, inertia, _se3(pin, placement))
    model.addFrame(pin.Frame(link.name, number, 0, _se3(pin, placement), pin.FrameType.BODY))


def _se3(pin: Any, placement: Transform) -> Any:
    return pin.SE3(placement.matrix)


def _pinocchio_reads(pin: Any, robot: Robot, urdf: str) -> Any | None:
    """Pinocchio's own reading of the file, where its joints have the robot's coordinates."""
    try:
        model = pin.buildModelFromUrdf(urdf)
    except (ValueError, RuntimeError):
        return None
    known = all(model.existJointName(name) for name in robot.joint_names)
    frames = all(model.existFrame(name, pin.FrameType.BODY) for name in robot.link_names)
    if not (known and frames and model.nv == robot.nv and set(model.nvs[1:]) <= {1}):
        return None
    model.gravity.linear = np.array(robot.gravity)
    armature = np.zeros(model.nv)
    for joint in robot.moving_joints:
        armature[model.joints[model.getJointId(joint.name)].idx_v] = joint.rotor_inertia
    model.armature = armature
    return model


class Pinocchio:
    """Pinocchio: its own reading of a URDF file where there is one, else the converted robot."""

    name = "pinocchio"

    def __init__(self, robot: Robot, urdf: str | None = None) -> None:
        self.pin = _library("pinocchio")
        self.version = str(self.pin.__version__)
        own = _pinocchio_reads(self.pin, robot, urdf) if urdf else None
        self.model = own if own is not None else pinocchio_model(robot)
        self.model_from = "its own reading of the file" if own is not None else "the robot's data, converted"
        joints = [self.model.joints[self.model.getJointId(name)] for name in robot.joint_names]
        self.order = np.array([joint.idx_v for joint in joints], dtype=int)
        self.slots = [(joint.idx_q, joint.nq) for joint in joints]
        self.links = [self.model.getFrameId(name, self.pin.FrameType.BODY) for name in robot.link_names]

    def positions(self, q: Array) -> Array:
        """In Pinocchio's coordinates: a continuous joint has two, cosine and sine."""
        result = np.empty((len(q), self.model.nq))
        for k, (slot, size) in enumerate(self.slots):
            result[:, slot] = q[:, k] if size == 1 else np.cos(q[:, k])
            if size == 2:
                result[:, slot + 1] = np.sin(q[:, k])
        return result

    def velocities(self, v: Array) -> Array:
        """Velocities, accelerations or forces in Pinocchio's order."""
        result = np.empty_like(v)
        result[:, self.order] = v
        return result

    def task(self, quantity: str, states: States) -> Task | None:
        """The quantity for these states; None where Pinocchio has no counterpart."""
        arguments = [self.positions(x) if name == "q" else self.velocities(x) for name, x in states.items()]
        pin, model = self.pin, self.model
        if quantity in ("inverse_dynamics", "forward_dynamics"):
            direct = quantity == "forward_dynamics"
            return self._batched(
                pin.aba if direct else pin.rnea, pin.abaInParallel if direct else pin.rneaInParallel, arguments
            )
        data = model.createData()
        last, links, order = self.links[-1], self.links, self.order
        calls: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
            "mass_matrix": (pin.crba, lambda m: m[np.ix_(order, order)]),
            "bias_force": (pin.nonLinearEffects, lambda h: h[order]),
            "gravity_force": (pin.computeGeneralizedGravity, lambda g: g[order]),
            "coriolis_matrix": (pin.computeCoriolisMatrix, lambda c: c[np.ix_(order, order)]),
            "jacobian": (lambda m, d, q: pin.computeFrameJacobian(m, d, q, last), lambda j: j[:, order]),
            "link_poses": (pin.framesForwardKinematics, lambda _: np.array([data.oMf[k].homogeneous for k in links])),
            "link_velocities": (
                pin.forwardKinematics,
                lambda _: np.array([pin.getFrameVelocity(model, data, k).vector for k in links]),
            ),
        }
        if quantity not in calls:
            return None
        call, read = calls[quantity]
        rows = [tuple(np.ascontiguousarray(x[k]) for x in arguments) for k in range(min(LOOPED, len(arguments[0])))]

        def result(k: int) -> Array:
            return np.array(read(call(model, data, *rows[k])))

        def results() -> Array:
            values = np.array([result(k) for k in range(len(rows))])
            return _times_velocity(values, states["qd"]) if quantity == "coriolis_matrix" else values

        adapt = _first
        if quantity == "coriolis_matrix":  # only C qd is unique
            adapt = lambda outputs: _times_velocity(outputs[0], states["qd"])  # noqa: E731
        first = rows[0]
        return Task(
            lambda: call(model, data, *first),
            _looped(lambda k: call(model, data, *rows[k]), len(rows)),
            len(rows),
            False,
            results,
            adapt,
        )

    def _batched(self, call: Callable[..., Any], batch: Callable[..., Any], arguments: list[Array]) -> Task:
        data, pool = self.model.createData(), self.pin.ModelPool(self.model, 1)
        columns = [np.asfortranarray(x.T) for x in arguments]
        found = np.zeros((self.model.nv, columns[0].shape[1]), order="F")
        first = tuple(np.ascontiguousarray(x[0]) for x in arguments)

        def results() -> Array:
            batch(1, pool, *columns, found)
            return found.T[:, self.order]

        return Task(
            lambda: call(self.model, data, *first),
            lambda: batch(1, pool, *columns, found),
            found.shape[1],
            True,
            results,
            _first,
        )


def _times_velocity(matrices: Array, qd: Array) -> Array:
    count = min(len(matrices), len(qd))
    return np.einsum("kij,kj->ki", matrices[:count], qd[:count])


# ---- MuJoCo -------------------------------------------------------------------------------------

_MUJOCO_LEAST = 1e-10
"""MuJoCo's compiler refuses moving bodies with less mass or inertia."""


def mjcf(robot: Robot) -> str:
    """The robot as MJCF: tree, bodies, joints, rotors (armature) and gravity; no friction, no contacts.

    Names are numbers of links and joints (``link0``, ``joint0``), so that any name is allowed in a
    robot. Bodies that MuJoCo's compiler refuses (no mass, impossible inertia) get a stand-in of 1 kg
    and 1 kg m^2; :func:`mujoco_model` puts their true values into the compiled model.
    """
    children: dict[str, list[int]] = {link.name: [] for link in robot.links}
    for k, joint in enumerate(robot.joints):
        children[joint.parent].append(k)
    lines = [
        "<mujoco>",
        '<compiler angle="radian" autolimits="false" fusestatic="false" balanceinertia="false"/>',
        f"<option {_attribute('gravity', robot.gravity)}>",
        '<flag constraint="disable" contact="disable"/></option>',
        "<worldbody>",
    ]
    stack: list[int | None] = [-1]  # the joint that carries a link, -1 for the base, None to close a body
    while stack:
        k = stack.pop()
        if k is None:
            lines.append("</body>")
            continue
        placement = robot.joints[k].placement if k >= 0 else Transform()
        link = robot.links[k + 1]
        frame = f"{_attribute('pos', placement.translation)} {_attribute('quat', _quaternion(placement.rotation))}"
        lines.append(f'<body name="link{k + 1}" {frame}>')
        lines.append(_mjcf_body(link))
        if k >= 0 and robot.joints[k].moves:
            joint = robot.joints[k]
            kind = "hinge" if joint.kind == "revolute" else "slide"
            rotor = _attribute("armature", [joint.rotor_inertia])
            lines.append(f'<joint name="joint{k}" type="{kind}" {_attribute("axis", joint.axis)} {rotor}/>')
        stack.append(None)
        stack.extend(reversed(children[link.name]))
    return "\n".join([*lines, "</worldbody>", "</mujoco>"])


def _attribute(name: str, numbers: Iterable[float]) -> str:
    return f"{name}={quoteattr(' '.join(repr(float(x)) for x in numbers))}"


def _quaternion(rotation: Any) -> Array:
    """(w, x, y, z) of a rotation matrix: the eigenvector of the largest eigenvalue, exact to rounding (Bar-Itzhack)."""
    r = np.asarray(rotation, dtype=float)
    k = np.empty((4, 4))
    k[0, 0] = np.trace(r)
    k[0, 1:] = k[1:, 0] = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    k[1:, 1:] = r + r.T - np.trace(r) * np.eye(3)
    return np.linalg.eigh(k)[1][:, -1]


def _principal(link: Link) -> tuple[Array, Array]:
    """Principal inertias about the mass centre and the right-handed axes they belong to."""
    about_com = link.inertia_about_com
    if not np.any(about_com - np.diag(np.diag(about_com))):
        return np.diag(about_com).copy(), np.eye(3)
    inertias, axes = np.linalg.eigh(about_com)
    axes[:, 2] *= np.linalg.det(axes)
    return inertias, axes


def _possible(mass: float, inertias: Array) -> bool:
    low, middle, high = np.sort(inertias).tolist()
    return mass > _MUJOCO_LEAST and low > _MUJOCO_LEAST and low + middle >= high


def _mjcf_body(link: Link) -> str:
    _has_centre(link)
    inertias, axes = _principal(link)
    mass = link.mass
    if not _possible(mass, inertias):
        mass, inertias = 1.0, np.ones(3)
    where = f"{_attribute('pos', link.com)} {_attribute('quat', _quaternion(axes))}"
    return f"<inertial {where} {_attribute('mass', [mass])} {_attribute('diaginertia', inertias)}/>"


def mujoco_model(robot: Robot) -> Any:
    """The robot as a compiled ``mujoco.MjModel``, every body with its true mass and inertia."""
    mujoco = _library("mujoco")
    model = mujoco.MjModel.from_xml_string(mjcf(robot))
    changed = False
    for k, link in enumerate(robot.links):
        inertias, _ = _principal(link)
        if not _possible(link.mass, inertias):
            number = model.body(f"link{k}").id
            model.body_mass[number] = link.mass
            model.body_inertia[number] = inertias
            changed = True
    if changed:
        mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


class MuJoCo:
    """MuJoCo, constraints and contacts off. It has no batch call for these: measured per call."""

    name = "mujoco"
    model_from = "the robot's data, converted"

    def __init__(self, robot: Robot) -> None:
        self.mujoco = _library("mujoco")
        self.version = str(self.mujoco.__version__)
        self.model = mujoco_model(robot)
        numbers = [k for k, joint in enumerate(robot.joints) if joint.moves]
        self.order = np.array([self.model.joint(f"joint{k}").dofadr[0] for k in numbers], dtype=int)
        self.links = np.array([self.model.body(f"link{k}").id for k in range(len(robot.links))])

    def task(self, quantity: str, states: States) -> Task | None:
        """The quantity for these states; None where MuJoCo has no counterpart."""
        mujoco, model, order, links = self.mujoco, self.model, self.order, self.links
        data = mujoco.MjData(model)
        fields = {"q": data.qpos, "qd": data.qvel, "qdd": data.qacc, "tau": data.qfrc_applied}
        dense, found = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))

        def kinematics() -> None:
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)

        def matrix() -> None:
            kinematics()
            mujoco.mj_crb(model, data)
            _full_matrix(mujoco, model, data, dense)

        def bias() -> None:
            kinematics()
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, 0, found)

        def jacobian() -> None:
            kinematics()
            mujoco.mj_jacBody(model, data, linear, angular, links[-1])

        def poses() -> Array:
            result = np.tile(np.eye(4), (len(links), 1, 1))
            result[:, :3, :3] = data.xmat[links].reshape(-1, 3, 3)
            result[:, :3, 3] = data.xpos[links]
            return result

        def in_link_axes() -> Array:
            turn = data.xmat[links[-1]].reshape(3, 3).T
            return np.vstack([turn @ linear, turn @ angular])[:, order]

        calls: dict[str, tuple[Callable[[], Any], Callable[[], Array]]] = {
            "inverse_dynamics": (functools.partial(mujoco.mj_inverse, model, data), lambda: data.qfrc_inverse[order]),
            "forward_dynamics": (functools.partial(mujoco.mj_forward, model, data), lambda: data.qacc[order]),
            "mass_matrix": (matrix, lambda: dense[np.ix_(order, order)]),
            "bias_force": (bias, lambda: found[order]),
            "gravity_force": (bias, lambda: found[order]),
            "jacobian": (jacobian, in_link_axes),
            "link_poses": (functools.partial(mujoco.mj_kinematics, model, data), poses),
        }
        if quantity not in calls:
            return None
        call, read = calls[quantity]
        count = min(LOOPED, len(states["q"]))
        rows = []
        for k in range(count):
            row = []
            for name, values in states.items():
                placed = np.zeros(model.nv)
                placed[order] = values[k]
                row.append((fields[name], placed))
            rows.append(row)

        def run(k: int) -> None:
            for field, value in rows[k]:
                field[:] = value
            call()

        def result(k: int) -> Array:
            run(k)
            return np.array(read())

        return Task(
            lambda: run(0),
            _looped(run, count),
            count,
            False,
            lambda: np.array([result(k) for k in range(count)]),
            _first,
        )


def _full_matrix(mujoco: Any, model: Any, data: Any, dense: Array) -> None:
    try:
        mujoco.mj_fullM(model, dense, data.qM)
    except (AttributeError, TypeError):  # newer releases read the matrix from the data
        mujoco.mj_fullM(model, data, dense)
