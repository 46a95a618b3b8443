"""Torques and places of a robot for checks of plans: Pinocchio's for arms, the robot's own verbs for other robots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from neuler import Robot

Array = np.ndarray
AT_REST = 1e-7
"""Speeds (rad/s) below which a joint is at rest, and its friction any force up to that of motion."""


class Torques(Protocol):
    """Forces of motors along a motion, phase by phase."""

    def driven(self, phase: int, q: Array, qd: Array, qdd: Array) -> Array:
        """Of the motors, (n, motors)."""

    def idle(self, phase: int, q: Array, qd: Array, qdd: Array) -> Array:
        """Of what no motor gives, which must be zero, (n, k)."""

    def poses(self, frame: str, q: Array) -> Array:
        """Of a frame in the base frame, (n, 4, 4)."""


class Pinocchio:
    """Pinocchio's reading of a URDF, or the converted robot, with the payload of every phase appended.

    Pinocchio knows no friction: that of the joints is added here, Khalil (31); none of Coulomb's where a joint rests.
    """

    def __init__(
        self, robot: Robot, loads: Sequence[dict[str, Any] | None], urdf: str | None, locked: Sequence[str]
    ) -> None:
        self.robot, self.loads, self.urdf, self.locked = robot, list(loads), urdf, tuple(locked)
        self._models: list[Any] = []

    @property
    def models(self) -> list[Any]:
        """A model a phase."""
        if not self._models:
            self._models = [self._model(load) for load in self.loads]
        return self._models

    def _model(self, load: dict[str, Any] | None) -> Any:
        import pinocchio as pin

        from neuler.peers.pinocchio import pinocchio_model

        if self.urdf:
            model = pin.buildModelFromUrdf(self.urdf)
            if self.locked:
                held = [model.getJointId(name) for name in self.locked]
                model = pin.buildReducedModel(model, held, pin.neutral(model))
        else:
            model = pinocchio_model(self.robot)
            for frame in self.robot.frames:
                carrier = model.frames[model.getFrameId(frame.link)]
                place = carrier.placement * pin.SE3(np.array(frame.placement.matrix))
                model.addFrame(pin.Frame(frame.name, carrier.parentJoint, 0, place, pin.FrameType.OP_FRAME))
        assert list(model.names)[1:] == list(self.robot.joint_names)
        assert model.nq == self.robot.nq
        if load is not None:
            frame = model.frames[model.getFrameId(load["frame"])]
            body = pin.Inertia(load["mass"], np.array(load["com"]), np.diag(load["inertia"]))
            model.appendBodyToJoint(frame.parentJoint, body, frame.placement)
        return model

    def driven(self, phase: int, q: Array, qd: Array, qdd: Array) -> Array:
        """rnea, and friction."""
        import pinocchio as pin

        model = self.models[phase]
        data = model.createData()
        tau = np.array([pin.rnea(model, data, *state) for state in zip(q, qd, qdd, strict=True)])
        return tau + self._friction(qd)

    def _friction(self, qd: Array) -> Array:
        joints = self.robot.moving_joints
        viscous = np.array([joint.viscous for joint in joints])
        ahead = np.array([joint.coulomb for joint in joints])
        back = np.array([joint.coulomb if joint.coulomb_reverse is None else joint.coulomb_reverse for joint in joints])
        s = np.where(np.abs(qd) < AT_REST, 0.0, np.sign(qd))
        return viscous * qd + 0.5 * (ahead + back) * s + 0.5 * (ahead - back) * s**2

    def idle(self, phase: int, q: Array, qd: Array, qdd: Array) -> Array:
        """Every joint has a motor."""
        return np.zeros((len(q), 0))

    def poses(self, frame: str, q: Array) -> Array:
        """Forward kinematics."""
        import pinocchio as pin

        model = self.models[0]
        data, number, found = model.createData(), model.getFrameId(frame), np.empty((len(q), 4, 4))
        assert number < model.nframes, frame
        for k, each in enumerate(q):
            pin.forwardKinematics(model, data, each)
            found[k] = pin.updateFramePlacement(model, data, number).homogeneous
        return found


class Own:
    """The verbs of a robot: inverse dynamics of the robot as it is given."""

    def __init__(self, robot: Robot, driven: Sequence[int] | None = None, still: Sequence[int] = ()) -> None:
        self.robot = robot
        self.motors = list(range(robot.nu)) if driven is None else list(driven)
        self.still = list(still)

    def driven(self, phase: int, q: Array, qd: Array, qdd: Array) -> Array:
        """Entries of tau that motors give."""
        return np.asarray(self.robot.inverse_dynamics(q, qd, qdd))[:, self.motors]

    def idle(self, phase: int, q: Array, qd: Array, qdd: Array) -> Array:
        """Entries of tau that nothing gives."""
        return np.asarray(self.robot.inverse_dynamics(q, qd, qdd))[:, self.still]

    def poses(self, frame: str, q: Array) -> Array:
        """Of a frame."""
        return np.asarray(self.robot.compile("link_poses", frame=frame)(q))
