"""Pinocchio beside neuler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuler import layouts
from neuler.formats.armatures import has_centre, refuse_spin, with_armature
from neuler.peers.base import (
    LOOPED,
    Array,
    PeerTask,
    States,
    first_output,
    library,
    looped,
    stands_light,
)
from neuler.robot import Joint, Link, Robot
from neuler.robot.expand import expand
from neuler.robot.transform import Transform


def pinocchio_model(robot: Robot) -> Any:
    """The robot as a ``pinocchio.Model``: its coordinates in its order, links as frames, rotors as armature.

    Joints about or along x, y, z become Pinocchio's aligned (faster) joints. Friction is left out. Motors that are felt
    along their joint alone (``coupled=False``) are armature too; others are refused by name.
    """
    pin = library("pinocchio")
    robot = expand(with_armature(robot, "pinocchio"))
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
            kind = _pinocchio_joint(pin, joint)
            number = model.addJoint(number, kind, _se3(pin, placement), joint.name)
            armature.extend([joint.rotor_inertia] * joint.nv)
            placement = Transform()
        placed[link.name] = (number, placement)
        _add_body(pin, model, link, number, placement)
    model.armature = np.array(armature)
    return model


def _pinocchio_joint(pin: Any, joint: Joint) -> Any:
    refuse_spin(joint, "pinocchio")
    if not joint.type.has_axis:
        return {"free": pin.JointModelFreeFlyer, "spherical": pin.JointModelSpherical}[joint.kind]()
    more = (joint.pitch,) if joint.type.has_pitch else ()
    name = {"revolute": "Revolute", "prismatic": "Prismatic", "helical": "Helical"}[joint.kind]
    for letter, unit in zip("XYZ", np.eye(3), strict=True):
        if np.array_equal(unit, joint.axis):
            return getattr(pin, f"JointModel{name[0]}{letter}")(*more)
    return getattr(pin, f"JointModel{name}Unaligned")(np.array(joint.axis), *more)


def _add_body(pin: Any, model: Any, link: Link, number: int, placement: Transform) -> None:
    has_centre(link)
    inertia = pin.Inertia(link.mass, np.array(link.com), link.inertia_about_com)
    model.appendBodyToJoint(number, inertia, _se3(pin, placement))
    model.addFrame(pin.Frame(link.name, number, 0, _se3(pin, placement), pin.FrameType.BODY))


def _se3(pin: Any, placement: Transform) -> Any:
    return pin.SE3(placement.matrix)


def _pinocchio_reads(pin: Any, robot: Robot, urdf: str) -> Any | None:
    """Pinocchio's own reading of the file, on a free base if need be, where its joints are the robot's."""
    if any(joint.inner for joint in robot.joints):  # motors that weigh are in no file
        return None
    for root in ((), (pin.JointModelFreeFlyer(),)):
        try:
            model = pin.buildModelFromUrdf(urdf, *root)
            layout = layouts.pinocchio(expand(robot), model)
        except (ValueError, RuntimeError):
            continue
        if not all(model.existFrame(name, pin.FrameType.BODY) for name in robot.shown_names[len(root) :]):
            continue
        model.gravity.linear = np.array(robot.gravity)
        armature = np.zeros(model.nv)
        armature[layout.order] = [entry.joint.rotor_inertia for entry in robot.coordinates.owners("qd")]
        model.armature = armature
        return model
    return None


@dataclass(frozen=True)
class DerivativeTask(PeerTask):
    """Several matrices a state, made by a call from Python each; axis 1 of the results counts the matrices.

    ``overhead`` makes as many calls of the same function for a robot of one joint: nearly all of it is the way
    from Python into the library and back.
    """

    overhead: Callable[[], Any]


class Pinocchio:
    """Pinocchio: its own reading of a URDF file where there is one, else the converted robot."""

    name = "pinocchio"

    def __init__(self, robot: Robot, urdf: str | None = None) -> None:
        self.pin = library("pinocchio")
        robot = with_armature(robot, self.name)
        self.version = str(self.pin.__version__)
        own = _pinocchio_reads(self.pin, robot, urdf) if urdf else None
        self.model = own if own is not None else pinocchio_model(robot)
        self.model_from = "its own reading of the file" if own is not None else "the robot's data, converted"
        self.layout = layouts.pinocchio(expand(robot), self.model)
        self.order = self.layout.order
        names = robot.shown_names
        self.links = [self._frame(name) for name in names]
        self.tip = self.links[names.index(robot.tip)]
        self.light_base = stands_light(robot)

    def _frame(self, link: str) -> int:
        """Number of a link's frame; 0, the universe, for a base that Pinocchio does not know by its name."""
        body = self.pin.FrameType.BODY
        return int(self.model.getFrameId(link, body)) if self.model.existFrame(link, body) else 0

    def task(self, quantity: str, states: States) -> PeerTask | None:
        """The quantity for these states; None where Pinocchio has no counterpart."""
        if "dt" in states:
            return None
        q = states["q"]
        arguments = [self.layout.q(x) if name == "q" else self.layout.v(x, q) for name, x in states.items()]
        pin, model = self.pin, self.model
        if quantity in ("inverse_dynamics", "forward_dynamics"):
            direct = quantity == "forward_dynamics"
            return self._batched(
                pin.aba if direct else pin.rnea, pin.abaInParallel if direct else pin.rneaInParallel, arguments
            )
        if quantity in ("inverse_dynamics_sensitivities", "forward_dynamics_sensitivities"):
            inverse = quantity == "inverse_dynamics_sensitivities"
            return self._derivatives(pin.computeRNEADerivatives if inverse else pin.computeABADerivatives, arguments)
        data = model.createData()
        tip, links, order = self.tip, self.links, self.order
        calls: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
            "mass_matrix": (pin.crba, lambda m: m[np.ix_(order, order)]),
            "bias_force": (pin.nonLinearEffects, lambda h: h[order]),
            "gravity_force": (pin.computeGeneralizedGravity, lambda g: g[order]),
            "coriolis_matrix": (pin.computeCoriolisMatrix, lambda c: c[np.ix_(order, order)]),
            "jacobian": (lambda m, d, q: pin.computeFrameJacobian(m, d, q, tip), lambda j: j[:, order]),
            "link_poses": (pin.framesForwardKinematics, lambda _: np.array([data.oMf[k].homogeneous for k in links])),
            "link_velocities": (
                pin.forwardKinematics,
                lambda _: np.array([pin.getFrameVelocity(model, data, k).vector for k in links]),
            ),
        }
        if self.light_base:  # theirs has no weight
            calls |= {
                "center_of_mass": (pin.centerOfMass, lambda c: c),
                "center_of_mass_jacobian": (pin.jacobianCenterOfMass, lambda j: j[:, order]),
                "centroidal_momentum": (pin.computeCentroidalMomentum, lambda h: h.vector),
                "centroidal_momentum_rate": (pin.computeCentroidalMomentumTimeVariation, lambda h: h.vector),
                "centroidal_matrix": (pin.computeCentroidalMap, lambda a: a[:, order]),
            }
        if quantity not in calls:
            return None
        call, read = calls[quantity]
        rows = _rows(arguments)

        def result(k: int) -> Array:
            return np.array(read(call(model, data, *rows[k])))

        def results() -> Array:
            values = np.array([result(k) for k in range(len(rows))])
            return _times_velocity(values, states["qd"]) if quantity == "coriolis_matrix" else values

        adapt = first_output
        if quantity == "coriolis_matrix":  # only C qd is unique
            adapt = lambda outputs: _times_velocity(outputs[0], states["qd"])  # noqa: E731
        first = rows[0]
        return PeerTask(
            lambda: call(model, data, *first),
            looped(lambda k: call(model, data, *rows[k]), len(rows)),
            len(rows),
            False,
            results,
            adapt,
        )

    def _batched(self, call: Callable[..., Any], batch: Callable[..., Any], arguments: list[Array]) -> PeerTask:
        data, pool = self.model.createData(), self.pin.ModelPool(self.model, 1)
        columns = [np.asfortranarray(x.T) for x in arguments]
        found = np.zeros((self.model.nv, columns[0].shape[1]), order="F")
        first = tuple(np.ascontiguousarray(x[0]) for x in arguments)

        def results() -> Array:
            batch(1, pool, *columns, found)
            return found.T[:, self.order]

        return PeerTask(
            lambda: call(self.model, data, *first),
            lambda: batch(1, pool, *columns, found),
            found.shape[1],
            True,
            results,
            first_output,
        )

    def _derivatives(self, call: Callable[..., Any], arguments: list[Array]) -> DerivativeTask:
        """d/dq, d/d(qd), and the symmetric third matrix, of which the upper triangle is taken."""
        pin, model, pick = self.pin, self.model, np.ix_(self.order, self.order)
        data, rows = model.createData(), _rows(arguments)
        single = pin.Model()
        single.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "joint")
        single.appendBodyToJoint(1, pin.Inertia(1.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
        small, still = single.createData(), (np.zeros(1),) * 3

        def matrices(k: int) -> list[Array]:
            dq, dqd, symmetric = call(model, data, *rows[k])
            whole = np.triu(symmetric) + np.triu(symmetric, 1).T
            return [np.array(x)[pick] for x in (dq, dqd, whole)]

        return DerivativeTask(
            lambda: call(model, data, *rows[0]),
            looped(lambda k: call(model, data, *rows[k]), len(rows)),
            len(rows),
            False,
            lambda: np.array([matrices(k) for k in range(len(rows))]),
            lambda outputs: np.stack(outputs, axis=1),
            looped(lambda _: call(single, small, *still), len(rows)),
        )


def _rows(arguments: list[Array]) -> list[tuple[Array, ...]]:
    """Arguments state by state, as many states as are looped over."""
    count = min(LOOPED, len(arguments[0]))
    return [tuple(np.ascontiguousarray(x[k]) for x in arguments) for k in range(count)]


def _times_velocity(matrices: Array, qd: Array) -> Array:
    count = min(len(matrices), len(qd))
    return np.einsum("kij,kj->ki", matrices[:count], qd[:count])
