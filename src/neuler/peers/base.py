"""What a peer is, and what the peers share."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError, NeulerError
from neuler.extras import install
from neuler.robot import Joint, Link, Robot

Array = NDArray[np.float64]
States = Mapping[str, Array]
"""Inputs by name, one state a row."""

LOOPED = 256
"""States that a peer without a batch call works through, one call each."""


@dataclass(frozen=True)
class PeerTask:
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

    def task(self, quantity: str, states: States) -> PeerTask | None:
        """The quantity for these states; None where there is no counterpart. The Jacobian is that of ``robot.tip``."""


def library(module: str) -> Any:
    """The library, or an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NeulerError(f"peer {module!r} is not installed ({error}); install it with: {install('peers')}") from None


def has_centre(link: Link) -> None:
    """Refuse a link that has a first moment but no mass."""
    if link.mass == 0 and any(link.first_moment):
        raise InputError(
            f"link {link.name!r}: has a first moment but no mass; peers know bodies by their centre of mass"
        )


def with_armature(robot: Robot, library: str) -> Robot:
    """The robot with its motors as rotor inertias of joints and as weights on links; what that is not is refused.

    Friction of motors is left out, as all friction is.
    """
    for motor in robot.motors:
        if motor.elastic:
            what, remedy = "turns before a spring", "without its stiffness it is rigid"
        elif len(motor.ratios) > 1:
            what, remedy = f"drives {', '.join(map(repr, motor.ratios))} together", "give each joint a motor of its own"
        elif motor.coupled and motor.rotor:
            what = "has a rotor that its carrier feels"
            remedy = "robot.with_simple_motors() has rotors that their joints alone feel"
        else:
            continue
        raise InputError(f"robot {robot.name!r}: motor {motor.name!r} {what}; {library} knows armatures only: {remedy}")
    return robot.without_friction().with_simple_motors().mechanism if robot.motors else robot


def refuse_spin(joint: Joint, library: str) -> None:
    """Refuse a body that spins in a frame that stands still."""
    if joint.type.geared:
        raise InputError(
            f"joint {joint.name!r}: {library} has no {joint.kind} joint; where its body is round and carries nothing, "
            "a revolute one moves alike"
        )


def stands_light(robot: Robot) -> bool:
    """Whether the base, and what is fixed to it, has no mass."""
    still = {robot.links[0].name}
    for joint in robot.joints:  # outward
        if joint.parent in still and not joint.moves:
            still.add(joint.child)
    return not any(link.mass for link in robot.links if link.name in still)


def looped(call: Callable[[int], Any], count: int) -> Callable[[], None]:
    """A call for each state."""

    def run() -> None:
        for k in range(count):
            call(k)

    return run


def first_output(outputs: tuple[Array, ...]) -> Array:
    """Our only output, as it is."""
    return outputs[0]
