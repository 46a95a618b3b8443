"""The verbs of a robot: every quantity as a kernel, and the methods that stand on kernels.

This is where they are put on ``Robot``, which itself is data and knows none of them.
"""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.diagnose.doctor import Finding, examine
from neuler.errors import InputError, RobotError
from neuler.kernels import Kernel
from neuler.quantities.catalogue import QUANTITIES
from neuler.robot import Robot
from neuler.robot.configuration import length_instead_of_one, listed, no_rotation
from neuler.robot.parallel import PLATFORM
from neuler.robot.value import kept
from neuler.solve.assembly import Assembly, assemble

Array = NDArray[np.float64]
_ROUNDS = 12
_TURN, _SLIDE = 0.5, 0.25
"""Of random positions: radians, and shares of the largest offset between joints, that independent joints go."""
_REGULAR = 0.02
"""Of ``singularity``: random positions have more."""


class Verb:
    """A quantity of the robot: a kernel that is compiled when it is first called, and kept on the robot."""

    def __init__(self, name: str, doc: str) -> None:
        self.name, self.__doc__ = name, doc

    def __get__(self, robot: Any, owner: type | None = None) -> Any:
        if robot is None:
            return self
        return robot.__dict__.setdefault(self.name, Kernel.later(robot, self.name))


class Methods:
    """What a robot can do beside its quantities."""

    def compile(self, quantity: str, **options: Any) -> Kernel:
        """A variant of a verb: ``method="nasser"``, ``dtype="float32"``, ``frame="tool"``.

        ``external=("tool",)`` adds an input ``wrench_tool``, (force; moment) in the axes of that frame at its origin;
        ``loads=("tool",)`` adds ``load_tool``, in the axes of the base frame, the force at the frame's origin.
        """
        return Kernel(cast("Robot", self), quantity, **options)

    def check(self) -> list[Finding]:
        """The doctor's findings: what is unphysical or suspicious. A list, empty for a healthy robot."""
        return examine(cast("Robot", self))

    def assemble(
        self,
        q_active: ArrayLike,
        guess: ArrayLike | None = None,
        *,
        independent: Any = None,
        continuous: bool = False,
        tolerance: float = 1e-12,
        iterations: int = 40,
    ) -> Assembly:
        """Positions of all joints at which the loops are closed, Khalil (3), with the independent ones as given.

        ``q_active`` are those of ``mobility.independent``, or of the joints named in ``independent``, in that order.
        By Newton's method from ``guess`` (a position q; by default the reference), with steps that are
        bounded and never open the loops further; far goals are led from the guess, so that the branch is kept. Batch
        axes lead. ``continuous``: the first axis is a path;
        every point starts where the one before ended, so that the branch is kept.

        One state that cannot be closed is an error; of a batch, these rows are NaN and a warning counts them.

        >>> import neuler
        >>> four_bar = neuler.robots.four_bar()
        >>> found = four_bar.assemble([1.0])
        >>> bool(found.closed), float(found.gap) < 1e-12
        (True, True)
        """
        robot = cast("Robot", self)
        if not robot.loops:
            raise InputError(f"assemble: robot {robot.name!r} has no loops to close")
        return assemble(robot, q_active, guess, independent, continuous, tolerance, iterations)

    def inverse_kinematics(self, pose: ArrayLike, guess: ArrayLike | None = None, **options: Any) -> Assembly:
        """Positions of all legs of a parallel robot for positions of its platform, as its joint counts them.

        ``guess`` (a position q of the whole robot; by default the reference) and ``options`` are those of
        ``assemble``. A pose that the legs cannot reach, or whose orientation they do not allow, or whose
        quaternion is not of length one, is an error; of a batch, these rows are NaN and a warning counts them.

        >>> import neuler
        >>> robot = neuler.robots.gough_stewart()
        >>> found = robot.inverse_kinematics([0.25, 0.433, 1.0, 0, 0, 0, 1])
        >>> [round(float(x), 5) for x in found.q[9::3]]
        [1.0247, 1.03923, 1.14175, 1.12604, 1.02037, 1.09863]
        """
        robot = cast("Robot", self)
        _parallel(robot, "inverse_kinematics")
        return self.assemble(_poses(robot, pose), guess, independent=(PLATFORM,), **options)

    def forward_kinematics(self, q_active: ArrayLike, guess: ArrayLike | None = None, **options: Any) -> Assembly:
        """Positions of the platform and of all legs of a parallel robot, for positions of its motors.

        Several poses may belong to the same positions: the one that is reached from ``guess`` (by default the
        reference) is found. With more motors than freedoms, ``q_active`` are the positions of the first that decide
        the motion.

        >>> import neuler
        >>> robot = neuler.robots.delta()
        >>> found = robot.forward_kinematics([0.7, 0.7, 0.7])
        >>> [round(float(x), 4) + 0.0 for x in found.q[:3]]
        [0.0, 0.0, -0.534]
        """
        robot = cast("Robot", self)
        _parallel(robot, "forward_kinematics")
        if robot.mobility.driven < robot.nv:
            raise RobotError(
                f"forward_kinematics: robot {robot.name!r} has {robot.nv} freedoms, of which its motors decide "
                f"{robot.mobility.driven}; drive more joints (role 'driven')"
            )
        return self.assemble(q_active, guess, independent=_motors(robot), **options)

    def near_reference(self, rng: np.random.Generator, count: int) -> Array:
        """Closed positions of a robot with loops, (count, nq), on the branch of its reference: see
        ``random_configuration``.
        """
        robot = cast("Robot", self)
        found = np.tile(robot.neutral(), (count, 1))
        facts = robot.mobility
        unlooped = robot.replace(loops=(), reference=None, independent=None)
        reach = max((float(np.linalg.norm(joint.placement.translation)) for joint in robot.joints), default=0.0) or 1.0
        turns = np.array([turn for joint in robot.moving_joints for turn in joint.type.turns])
        size = np.where(turns, _TURN, _SLIDE * reach)
        places, at = [], 0
        for joint in robot.moving_joints:
            places += [*range(at, at + joint.nq)] if joint.name in facts.independent else []
            at += joint.nq
        left = np.arange(count)
        for _ in range(_ROUNDS):
            step = np.zeros((len(left), len(turns)))
            for k in facts.choice.independent:
                step[:, k] = rng.uniform(-size[k], size[k], len(left))
            here = found[left]
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                trial = robot.assemble(unlooped.integrate(here, step, 1.0)[:, places], here)
                joints, motors = robot.singularity(trial.q)
            well = trial.closed & (joints > _REGULAR) & ((motors > _REGULAR) | (facts.driven < facts.freedoms))
            found[left[well]] = trial.q[well]
            left, size = left[~well], 0.6 * size
            if not len(left):
                break
        return found


def _robot_html(robot: Robot) -> str:
    """For notebooks."""
    from neuler.view.notebook import robot_html

    return robot_html(robot)


def _kernel_html(kernel: Kernel) -> str:
    """For notebooks."""
    from neuler.view.notebook import kernel_html

    return kernel_html(kernel)


@kept
def _motors(robot: Robot) -> tuple[str, ...]:
    """The joints in tau that decide the motion."""
    return robot.replace(independent=None).mobility.independent


def _parallel(robot: Robot, verb: str) -> None:
    if not robot.loops or PLATFORM not in robot.joint_names:
        raise InputError(
            f"{verb}: robot {robot.name!r} has no platform on legs; neuler.parallel_robot makes such a robot"
        )


def _poses(robot: Robot, pose: ArrayLike) -> Array:
    """Finite numbers of the platform's joint; those whose quaternion is no rotation become NaN, and are named."""
    try:
        given = np.array(pose, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"inverse_kinematics: pose must be an array of numbers, got {pose!r}") from None
    joint = next(joint for joint in robot.moving_joints if joint.name == PLATFORM)
    if given.shape[-1:] != (joint.nq,):
        raise InputError(
            f"inverse_kinematics: expected pose with last axis {joint.nq} ({', '.join(joint.type.parts)}), "
            f"got shape {given.shape}"
        )
    if joint.type.quaternion is None:
        return given
    turn = given[..., joint.type.quaternion :]
    bad = no_rotation(turn)
    if bad.any():
        what, _ = length_instead_of_one(turn, bad)
        message = f"inverse_kinematics: the quaternion of the pose {what}{listed(bad)}"
        if bad.all():
            raise InputError(message)
        warnings.warn(f"{message}; there q is NaN", RuntimeWarning, stacklevel=3)
        given[bad] = np.nan
    return given


for _name, _quantity in QUANTITIES.items():
    setattr(Robot, _name, Verb(_name, _quantity.text))
for _name in ("compile", "check", "assemble", "inverse_kinematics", "forward_kinematics", "near_reference"):
    setattr(Robot, _name, getattr(Methods, _name))
for _kind, _html in ((Robot, _robot_html), (Kernel, _kernel_html)):
    type.__setattr__(_kind, "_repr_html_", _html)
