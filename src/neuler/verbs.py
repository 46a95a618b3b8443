"""The verbs of a robot: every quantity as a kernel, and the methods that stand on kernels.

This is where they are put on ``Robot``, which itself is data and knows none of them.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.diagnose.doctor import Finding, examine
from neuler.errors import InputError, RobotError
from neuler.kernels import Kernel
from neuler.quantities.catalogue import QUANTITIES
from neuler.robot import Robot
from neuler.robot.parallel import PLATFORM
from neuler.solve.assembly import Assembly, assemble
from neuler.solve.platforms import motors, platform_positions, refuse_unless_parallel
from neuler.solve.reference import near_reference

Array = NDArray[np.float64]


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
        refuse_unless_parallel(robot, "inverse_kinematics")
        return self.assemble(platform_positions(robot, pose), guess, independent=(PLATFORM,), **options)

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
        refuse_unless_parallel(robot, "forward_kinematics")
        if robot.mobility.driven < robot.nv:
            raise RobotError(
                f"forward_kinematics: robot {robot.name!r} has {robot.nv} freedoms, of which its motors decide "
                f"{robot.mobility.driven}; drive more joints (role 'driven')"
            )
        return self.assemble(q_active, guess, independent=motors(robot), **options)


def _robot_html(robot: Robot) -> str:
    """For notebooks."""
    from neuler.view.notebook import robot_html

    return robot_html(robot)


def _kernel_html(kernel: Kernel) -> str:
    """For notebooks."""
    from neuler.view.notebook import kernel_html

    return kernel_html(kernel)


for _name, _quantity in QUANTITIES.items():
    setattr(Robot, _name, Verb(_name, _quantity.text))
for _name in vars(Methods):
    if not _name.startswith("__"):
        setattr(Robot, _name, vars(Methods)[_name])
Robot.draw_closed = staticmethod(near_reference)
for _kind, _html in ((Robot, _robot_html), (Kernel, _kernel_html)):
    type.__setattr__(_kind, "_repr_html_", _html)
