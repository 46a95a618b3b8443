"""What a peer is, and what the peers share."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neuler.errors import NeulerError
from neuler.extras import install
from neuler.robot import Robot

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
