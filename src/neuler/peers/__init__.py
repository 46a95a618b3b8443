"""Other libraries, measured and compared in the same run: Pinocchio and MuJoCo.

The converters are public: :func:`pinocchio_model`, :func:`mjcf`, :func:`mujoco_model`. Converted
models keep the robot's order of coordinates. Needs the extra ``peers``.
"""

from __future__ import annotations

from neuler.errors import InputError, NeulerError
from neuler.peers.base import Peer, PeerTask, library
from neuler.peers.mujoco import MuJoCo, mjcf, mujoco_model
from neuler.peers.pinocchio import Pinocchio, pinocchio_model
from neuler.robot.model import Robot

__all__ = ["PEERS", "Peer", "PeerTask", "mjcf", "mujoco_model", "peer", "pinocchio_model"]

PEERS = ("pinocchio", "mujoco")


def peer(name: str, robot: Robot, urdf: str | None = None) -> Peer:
    """The peer of this name for a robot, which must have no friction: neither library's model is Coulomb's."""
    if name not in PEERS:
        raise InputError(f"there is no peer {name!r}; there are: {', '.join(PEERS)}")
    library(name)
    if robot.loops or robot.couplings:
        raise InputError(f"robot {robot.name!r} has loops or couplings, and only trees are compared with a peer")
    try:
        return Pinocchio(robot, urdf) if name == "pinocchio" else MuJoCo(robot)
    except (ValueError, RuntimeError) as error:
        if isinstance(error, NeulerError):
            raise
        raise InputError(f"{name} does not take robot {robot.name!r}: {error}") from None
