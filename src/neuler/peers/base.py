"""What a peer is, and what the peers share."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError, NeulerError
from neuler.robot import Link

Array = NDArray[np.float64]
States = Mapping[str, Array]
"""Inputs by name, one state a row."""

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
        """The quantity for these states; None where there is no counterpart. The Jacobian is that of ``robot.tip``."""


def library(module: str) -> Any:
    """The library, or an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NeulerError(
            f"peer {module!r} is not installed ({error}); install it with: pip install neuler[peers]"
        ) from None


def has_centre(link: Link) -> None:
    """Refuse a link that has a first moment but no mass."""
    if link.mass == 0 and any(link.first_moment):
        raise InputError(f"link {link.name!r}: has a first moment but no mass; peers know bodies by their mass centre")


def looped(call: Callable[[int], Any], count: int) -> Callable[[], None]:
    """A call for each state."""

    def run() -> None:
        for k in range(count):
            call(k)

    return run


def first_output(outputs: tuple[Array, ...]) -> Array:
    """Our only output, as it is."""
    return outputs[0]
