"""States from a file, made ready for a kernel: quaternions that turn, loops that are closed.

A kernel of a machine takes a closed position of its tree. Here an open one is refused by its place in the file; or,
where that is asked for, the loops are closed with some joints as given and the others found.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError, InputError, RobotError
from neuler.kernels import Kernel
from neuler.robot import Robot
from neuler.robot.configuration import length_instead_of_one, no_rotation, quaternions
from neuler.robot.parallel import PLATFORM
from neuler.tolerances import OPEN

Array = NDArray[np.float64]
Where = Callable[[tuple[int, ...]], str]
"""Names the place of a state in its file."""


@dataclass(frozen=True)
class Closing:
    """Closes the loops: the positions ``places`` of ``joints`` are kept, the others start from ``guess``.

    Of a joint of which a part is independent, ``ball.wx``, the guess says where that part is.
    """

    robot: Robot
    joints: tuple[str, ...]
    places: tuple[int, ...]
    guess: Array

    def close(self, q: Array, where: Where) -> Array:
        """Positions with all loops closed; one that cannot be reached is an error."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                found = self.robot.assemble(self._active(q), q, independent=self.joints)
        except RobotError as error:
            raise FormatError(f"{where((0,) * (q.ndim - 1))}: {error}") from None
        if found.closed.all():
            return found.q
        first = tuple(np.argwhere(~found.closed)[0].tolist())
        raise FormatError(
            f"{where(first)}: the loops of {self.robot.name!r} cannot be closed at this position; they stay open "
            f"by {float(found.gap[first]):.2g} (m or rad): out of reach, or of another branch"
        )

    def _active(self, q: Array) -> Array:
        """What is independent, of positions q: a part of a ball is not turned from there."""
        parts = [self.robot.coordinates.position(name) for name in self.joints]
        return np.concatenate(
            [q[..., one.places] if one.places else np.zeros((*q.shape[:-1], 1)) for one in parts], axis=-1
        )


def closings(kernel: Kernel) -> list[Closing]:
    """The ways to close the loops of a kernel's states: by the platform's pose, by the independent joints."""
    robot = kernel.robot
    if not robot.loops:
        raise InputError(f"--assemble closes loops, and robot {robot.name!r} has none")
    ways = [_sorted(robot, robot.mobility.independent)]
    if PLATFORM in robot.joint_names:
        ways.insert(0, (PLATFORM,))
        motors = robot.replace(independent=None).mobility
        if motors.driven == motors.freedoms:
            ways.append(_sorted(robot, motors.independent))
    guess = np.array(robot.mobility.reference)
    return [Closing(robot, way, _places(robot, way), guess) for way in dict.fromkeys(ways)]


def _sorted(robot: Robot, names: Sequence[str]) -> tuple[str, ...]:
    """In the order of the joints."""
    return tuple(sorted(names, key=lambda name: robot.coordinates.numbers(name)))


def _places(robot: Robot, names: Sequence[str]) -> tuple[int, ...]:
    return tuple(place for name in names for place in robot.coordinates.position(name).places)


def ready(kernel: Kernel, arrays: Sequence[Array], where: Where, closing: Closing | None = None) -> list[Array]:
    """The inputs as they are, or with their loops closed; a state that is none is refused by its place."""
    names = [operand.name for operand in kernel.inputs]
    found = list(arrays)
    if "q" not in names:
        return found
    at = names.index("q")
    robot = kernel.robot
    q = np.asarray(found[at])
    if closing is not None and q.ndim and q.shape[-1] == len(closing.places) != robot.nq:
        whole = np.array(np.broadcast_to(closing.guess, (*q.shape[:-1], robot.nq)))
        whole[..., closing.places] = q
        q = whole
    if q.ndim == 0 or q.shape[-1] != robot.nq or q.dtype.kind not in "fiu":
        return found  # the kernel says what is wrong
    for name, first in quaternions(robot):
        turn = q[..., first : first + 4]
        bad = no_rotation(turn)
        if bad.any():
            spot = tuple(np.argwhere(bad)[0].tolist())
            what, _ = length_instead_of_one(turn, bad)
            raise FormatError(f"{where(spot)}: the quaternion of joint {name!r} {what}; divide it by that, or set it")
    if closing is not None:
        found[at] = closing.close(q.astype(float), where)
    elif robot.loops and not kernel.recipe.open_loops:
        _refuse_open(kernel, q, where)
    return found


def _refuse_open(kernel: Kernel, q: Array, where: Where) -> None:
    robot = kernel.robot
    gap = np.linalg.norm(np.asarray(robot.compile("closure")(q)[0]), axis=-1)
    bad = np.asarray(gap >= OPEN)
    if bad.any():
        spot = tuple(np.argwhere(bad)[0].tolist())
        raise FormatError(
            f"{where(spot)}: the loops of {robot.name!r} are open by {float(gap[spot]):.2g} (m or rad) there; "
            "give closed positions, or let --assemble close them"
        )
