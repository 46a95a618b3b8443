"""The verbs of a robot: every quantity as a kernel, and the methods that stand on kernels.

This is where they are put on ``Robot``, which itself is data and knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler import elsewhere
from neuler.diagnose.doctor import examine
from neuler.diagnose.finding import Finding
from neuler.errors import InputError, RobotError
from neuler.kernels import Kernel
from neuler.naming import closest
from neuler.passes.replaced import with_parameters
from neuler.plain import degrees
from neuler.quantities.catalogue import QUANTITIES
from neuler.quantities.declare import Names
from neuler.quantities.elastic import needed_derivatives
from neuler.robot import Robot
from neuler.robot.parallel import PLATFORM
from neuler.solve.assembly import Assembly, assemble
from neuler.solve.base_parameters import TOLERANCE, BaseParameters, base_parameters
from neuler.solve.platforms import is_parallel, motors, platform_positions
from neuler.solve.reference import near_reference

if TYPE_CHECKING:
    from neuler.export.c99.code import CCode
    from neuler.export.fmu.archive import FMU
    from neuler.rollouts.adjoint import RolloutGradient
    from neuler.rollouts.rollout import ControlledRollout, Rollout
    from neuler.rollouts.tangent import RolloutSensitivities
    from neuler.solve.inverse_kinematics import Reached

Array = NDArray[np.float64]


class Verb:
    """A quantity of the robot: a kernel that is compiled when it is first called.

    The robot stores it by the verb's own name, so that Python finds it there without asking here again.
    """

    def __init__(self, name: str, doc: str) -> None:
        self.name, self.__doc__ = name, doc

    def __get__(self, robot: Any, owner: type | None = None) -> Any:
        if robot is None:
            return self
        return robot.__dict__.setdefault(self.name, Kernel.later(robot, self.name))


_OF_ASSEMBLE = ("continuous", "tolerance", "iterations")
_OF_FRAMES = ("orientation", "joints", "limits", "tolerance", "iterations", "starts", "seed")
"""Options of inverse kinematics: of platforms, as ``assemble`` has them beside its guess; and of frames."""


class Methods:
    """What a robot can do beside its quantities."""

    def compile(self, quantity: str, **options: Any) -> Kernel:
        """A quantity with some of its options fixed, as a kernel: ``robot.compile("jacobian", frame="tool")(q)``.

        Options are checked at once; machine code is made when the kernel is first called with numbers. The options of
        each quantity are in docs/quantities.md and in ``help(robot.jacobian)``; all take ``dtype="float32"``.

        ``external=("tool",)`` adds an input ``wrench_tool``, (force; moment) in the axes of that frame at its origin;
        ``loads=("tool",)`` adds ``load_tool``, in the axes of the base frame, the force at the frame's origin.
        """
        return Kernel(cast("Robot", self), quantity, **options)

    def check(self) -> list[Finding]:
        """A list of what is unphysical or suspicious about the robot, errors first; empty if nothing is."""
        return examine(cast("Robot", self))

    def base_parameters(
        self, columns: Names = (), *, method: str | None = None, seed: int = 0, tolerance: float = TOLERANCE
    ) -> BaseParameters:
        """The parameters that the robot's forces depend on: which have no effect, which act together and how.

        tau = Y_b(q, qd, qdd) b with as few numbers b = G phi as possible. ``method``: of trees by "rules", after
        Gautier and Khalil; of other machines by "rank", of the regressor at random states (``seed``). A column counts
        as a combination of others if they give it but for the share ``tolerance`` of its length. ``columns`` as of
        ``regressor``: by default all links and all drives that are not zero.

        >>> import neuler
        >>> found = neuler.robots.rx90().base_parameters()
        >>> len(found), found.khalil()[1]
        (40, 'MXR2 = MX2 + 0.45 M3 + 0.45 M4 + 0.45 M5 + 0.45 M6')
        """
        return base_parameters(cast("Robot", self), columns, method=method, seed=seed, tolerance=tolerance)

    def with_parameters(self, values: Mapping[str, ArrayLike]) -> Robot:
        """The same robot with other numbers in the place of some of its own, by their names (docs/parameters.md).

        What identification has found becomes a robot this way. A payload is added to what is there.

        >>> import neuler
        >>> arm = neuler.robots.two_link().with_parameters({"link2.mass": 3.0, "joint1.viscous": 0.2})
        >>> arm.links[2].mass, arm.joints[0].viscous
        (3.0, 0.2)
        """
        return with_parameters(cast("Robot", self), values)

    def needed_derivatives(self) -> dict[str, int]:
        """For each joint, the highest derivative of its motion that ``elastic_inverse_dynamics`` needs: 4 is the snap.

        >>> import neuler
        >>> motor = neuler.Motor("m", "joint2", 50, inertia=1e-4, stiffness=100.0)
        >>> neuler.robots.puma560().replace(motors=[motor]).needed_derivatives()["joint6"]
        4
        """
        return needed_derivatives(cast("Robot", self))

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
        """Positions q at which the loops are closed, Khalil (3), for given positions of the independent joints.

        ``q_active`` holds the positions of ``mobility.independent``, or of the joints named in ``independent``, in that
        order. For a part of a ball, ``ball.wx``, it is the rotation about that axis from the guess (rad; for a free
        joint also m). Batch axes lead. Newton's method from ``guess`` (a position q; default: the reference), with
        bounded steps that never open the loops further; distant goals are approached gradually from the guess, so that
        the result stays on the same branch. ``continuous=True``: the first axis is a path, and every point starts from
        the result of the previous one.

        A single state that cannot be closed raises an error; in a batch such rows are NaN, and a warning counts them.

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

    def step_c(
        self,
        dt: float,
        tau: Any = None,
        name: str | None = None,
        *,
        method: str = "rk4",
        far: str = "libm",
        dtype: str = "float64",
        **options: Any,
    ) -> CCode:
        """One step of :meth:`rollout` as C99, for simulations without Python: ``NAME_begin``, ``NAME``, ``NAME_read``.

        ``tau``: None, then each step takes the forces (nu); or a controller, which becomes part of it, with its period.
        ``options`` are those of ``rollout``: ``limits``, ``effort``, ``external``, ``loads``, ``memory``,
        ``reference``, ``period``, ``parameters``. With fused multiply-add, steps equal those of a rollout bit for bit;
        the struct holds the whole state, nothing is allocated. ``dtype="float32"`` is for machines with single
        precision, for trees and the methods "euler" and "rk4".

        >>> import neuler
        >>> code = neuler.robots.two_link().step_c(1e-3)
        >>> [line for line in code.header.splitlines() if line.startswith("int two_link_step(")]
        ['int two_link_step(two_link_step_state *state, const double *NEULER_RESTRICT tau);']
        """
        from neuler.rollouts.embedded import step_c

        return step_c(cast("Robot", self), dt, tau, name, method=method, far=far, dtype=dtype, **options)

    def fmu(
        self,
        dt: float = 1e-3,
        name: str | None = None,
        *,
        method: str = "rk4",
        frames: str | Sequence[str] = (),
        external: str | Sequence[str] = (),
        loads: str | Sequence[str] = (),
        parameters: str | Sequence[str] | Mapping[str, Any] = (),
        limits: str = "ignore",
        effort: str = "ignore",
        q0: ArrayLike | None = None,
        qd0: ArrayLike | None = None,
        kinds: str | Sequence[str] | None = None,
        platforms: str | Sequence[str] | None = None,
    ) -> FMU:
        """A Functional Mock-up Unit (FMI 2.0) for Simulink, Dymola, OpenModelica, FMPy: docs/export-fmu.md.

        Inputs are the forces tau and wrenches on the frames in ``external`` and ``loads``; outputs q, qd, qdd and the
        poses of ``frames``; ``parameters``, by name or with values, can be changed. Co-simulation takes the steps of
        :meth:`rollout`, of ``dt`` seconds, with its ``method``, ``limits`` and ``effort``. Model exchange, for the
        importer's solver, is for robots without loops and dry friction: others get co-simulation alone, and ``notes``
        says why. ``kinds``: "model_exchange", "co_simulation". A run starts at ``q0``, ``qd0`` by default.
        ``platforms``: "linux64", "win64", "darwin64", by default this one; a C compiler is needed, the system's or
        ziglang's (``pip install ziglang``; always for other platforms). With ``()`` the unit has sources alone.

        >>> import neuler
        >>> arm = neuler.robots.two_link().fmu(1e-3, frames="link2", platforms=())
        >>> arm
        <FMU two_link: ModelExchange and CoSimulation; sources only>
        >>> "tau.joint1" in arm.description, arm.notes
        (True, ())
        """
        from neuler.rollouts.fmu import fmu

        return fmu(
            cast("Robot", self), dt, name, method=method, frames=frames, external=external, loads=loads,
            parameters=parameters, limits=limits, effort=effort, q0=q0, qd0=qd0, kinds=kinds, platforms=platforms,
        )  # fmt: skip

    def rollout(
        self,
        q0: ArrayLike,
        qd0: ArrayLike,
        tau: ArrayLike | Callable[..., Any] | None,
        dt: ArrayLike,
        steps: int | None = None,
        method: str = "rk4",
        every: int = 1,
        *,
        memory: ArrayLike | None = None,
        reference: ArrayLike | None = None,
        period: float | None = None,
        external: Mapping[str, Any] | None = None,
        loads: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        limits: str = "ignore",
        effort: str = "ignore",
        start: int = 0,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> Rollout | ControlledRollout:
        """Simulate ``steps`` steps of ``dt`` seconds in one call of compiled code; returns every ``every``-th state.

        ``q0`` (..., nq), ``qd0`` (..., nv), ``dt`` (...): batch axes lead and broadcast. ``tau``: forces (..., steps,
        nu); (nu,) or (..., 1, nu) held constant; None for no forces; or a controller, a function ``(t, q, qd) -> tau``
        or ``(t, q, qd, memory, reference) -> (tau, memory)`` that becomes part of the loop. ``steps`` is required
        unless tau has one row per step. ``method``: "rk4", fourth order;
        "euler", semi-implicit, first order; "implicit", second order, for stiff springs and dampers.

        For a controller, ``memory`` (..., nm) is its initial memory (default: its ``memory0``), ``reference``
        (..., steps or 1, nr) what it has to follow, ``period`` (s) its sample time (default: its own ``period``, or one
        step). ``external`` and ``loads`` map frames to wrenches (force; moment), in their own axes
        or the base's: (..., 6) held, or a function of (t, q, qd). ``parameters`` maps names of parameters to their
        values, a row each: docs/parameters.md.
        ``limits="stop"`` ends a row at a joint's position limit; "hold" stops the joint there, in an inelastic impact.
        ``effort="clip"`` clips forces at the effort limits. ``start`` is the number of the first step: t = start dt.
        ``out`` takes arrays for q and qd (and tau, with a controller).

        Returns a named tuple: q (..., kept, nq), qd (..., kept, nv), and for every row ``status`` (0 ok, 1 not finite,
        2 diverged, 3 limit, 4 loop open or singular, 5 controller) with the ``step`` and the ``joint`` at which it
        happened: later states of that row are NaN, other rows continue. With a controller also ``memory`` and ``tau``
        (..., kept, nu).

        >>> import neuler
        >>> arm = neuler.robots.two_link()
        >>> found = arm.rollout([0.3, 0.2], [1.0, 0.0], None, 1e-3, steps=1000, every=100)
        >>> found.q.shape, int(found.status), int(found.step)
        ((10, 2), 0, 1000)
        >>> damped = arm.rollout([0.3, 0.2], [1.0, 0.0], lambda t, q, qd: -5.0 * qd, 1e-3, steps=1000)
        >>> damped.tau.shape
        (1000, 2)
        """
        from neuler.rollouts.rollout import rollout

        return rollout(
            cast("Robot", self), q0, qd0, tau, dt, steps, method, every, memory=memory, reference=reference,
            period=period, external=external, loads=loads, parameters=parameters, limits=limits, effort=effort,
            start=start, out=out, threads=threads,
        )  # fmt: skip

    def rollout_sensitivities(
        self,
        q0: ArrayLike,
        qd0: ArrayLike,
        tau: ArrayLike | None,
        dt: ArrayLike,
        steps: int | None = None,
        method: str = "rk4",
        every: int = 1,
        *,
        external: Mapping[str, Any] | None = None,
        loads: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        start: int = 0,
        threads: int | None = None,
    ) -> RolloutSensitivities:
        """A rollout with the exact derivatives of its states with respect to its start and to ``parameters``.

        Arguments as for :meth:`rollout`; tau is an array. dq and dqd are (..., kept, nv, n): columns for q0 (nv of
        them, along velocities), for qd0 (nv), and for the parameters. The step itself is differentiated (forward mode):
        these are the derivatives of the numbers that the rollout returns, not of the continuous motion.

        >>> import neuler
        >>> arm = neuler.robots.two_link()
        >>> found = arm.rollout_sensitivities([0.3, 0.2], [1.0, 0.0], [[0.0, 0.0]], 1e-3, steps=100, every=100)
        >>> found.dq.shape
        (1, 2, 4)
        """
        from neuler.rollouts.tangent import rollout_sensitivities

        return rollout_sensitivities(
            cast("Robot", self), q0, qd0, tau, dt, steps, method, every, external=external, loads=loads,
            parameters=parameters, start=start, threads=threads,
        )  # fmt: skip

    def rollout_gradient(
        self,
        q0: ArrayLike,
        qd0: ArrayLike,
        tau: ArrayLike | None,
        dt: ArrayLike,
        steps: int | None = None,
        method: str = "rk4",
        *,
        running: Callable[..., Any] | None = None,
        final: Callable[..., Any] | None = None,
        external: Mapping[str, Any] | None = None,
        loads: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        start: int = 0,
        threads: int | None = None,
    ) -> RolloutGradient:
        """The cost of a rollout, and its exact gradient with respect to all forces, the start and ``parameters``.

        cost = final(q_N, qd_N) + sum of dt running(t, q, qd, tau) over the steps, each at its beginning; both functions
        return one number and are traced, as by ``neuler.function``. Other arguments as for :meth:`rollout`; tau is an
        array. Reverse mode: one rollout forward, one loop backward; all states are stored in between.

        >>> import neuler
        >>> arm = neuler.robots.two_link()
        >>> found = arm.rollout_gradient([0.3, 0.2], [1.0, 0.0], [[0.0, 0.0]] * 50, 1e-3,
        ...                              running=lambda t, q, qd, tau: tau @ tau, final=lambda q, qd: q @ q)
        >>> found.tau.shape
        (50, 2)
        """
        from neuler.rollouts.adjoint import rollout_gradient

        return rollout_gradient(
            cast("Robot", self), q0, qd0, tau, dt, steps, method, running=running, final=final, external=external,
            loads=loads, parameters=parameters, start=start, threads=threads,
        )  # fmt: skip

    @overload
    def inverse_kinematics(
        self,
        pose: ArrayLike,
        guess: ArrayLike | None = None,
        *,
        frame: str,
        orientation: bool = ...,
        joints: str | Sequence[str] | None = ...,
        limits: bool = ...,
        tolerance: float = ...,
        iterations: int = ...,
        starts: int = ...,
        seed: Any = ...,
    ) -> Reached: ...

    @overload
    def inverse_kinematics(
        self, pose: ArrayLike, guess: ArrayLike | None = None, *, frame: None = None, **options: Any
    ) -> Reached | Assembly: ...

    def inverse_kinematics(
        self, pose: ArrayLike, guess: ArrayLike | None = None, *, frame: str | None = None, **options: Any
    ) -> Reached | Assembly:
        """Positions q at which ``frame`` (a link or a frame; by default ``robot.tip``) has a pose in the base frame.

        ``pose`` holds homogeneous matrices (..., 4, 4), or with ``orientation=False`` positions (..., 3) of the frame's
        origin (m); batch axes lead. The Levenberg-Marquardt method with the exact Jacobian searches from ``guess`` (a
        position q; default: ``robot.neutral()``), and if that fails, from random starts, eight or more at a time: of
        the solutions of the first that succeed, the one nearest to the guess is returned. Joints that may
        move stay within their limits; joints that do not move the frame stay as in the guess. Loops stay closed; the
        guess must be closed.

        ========================  =====================================================================
        ``orientation=True``      whether the frame's orientation must be reached, too
        ``joints=None``           names of the joints that may move; the others stay as in the guess
        ``limits=True``           whether results must be within the joints' limits
        ``tolerance=1e-10``       largest error of position and orientation (m, rad)
        ``iterations=100``        most steps from each start
        ``starts=64``, ``seed=0`` random starts, the same for every row
        ========================  =====================================================================

        The result has ``q``, ``converged``, the remaining ``distance`` (m) and ``angle`` (rad), and ``iterations``. A
        single pose that cannot be reached raises an error that says by how much; in a batch such rows are NaN, and a
        warning counts them.

        >>> import neuler
        >>> robot = neuler.robots.puma560()
        >>> goal = robot.link_poses([0.1, -0.5, 0.3, 0.2, 0.7, -0.4], frame="link6")
        >>> found = robot.inverse_kinematics(goal, [0.0, -0.4, 0.2, 0.0, 0.5, 0.0])
        >>> found.q.round(6).tolist(), bool(found.converged)
        ([0.1, -0.5, 0.3, 0.2, 0.7, -0.4], True)

        For a parallel robot without a ``frame``: positions of all joints for positions of the platform, in the
        coordinates of its joint. ``guess`` (default: the reference) and the options are those of ``assemble``. A pose
        that the legs cannot reach, or whose quaternion is not of length one, raises an error; in a batch such rows
        are NaN, and a warning counts them.

        >>> robot = neuler.robots.gough_stewart()
        >>> found = robot.inverse_kinematics([0.25, 0.433, 1.0, 0, 0, 0, 1])
        >>> [round(float(x), 5) for x in found.q[9::3]]
        [1.0247, 1.03923, 1.14175, 1.12604, 1.02037, 1.09863]
        """
        robot = cast("Robot", self)
        platform = frame is None and is_parallel(robot)
        known = _OF_ASSEMBLE if platform else _OF_FRAMES
        other = next((name for name in options if name not in known), None)
        if other is not None and platform and other in _OF_FRAMES:
            raise InputError(
                f"inverse_kinematics: without a frame, robot {robot.name!r} is led by its platform, and {other!r} "
                f"is no option of that: {', '.join(known)} are; name a frame of the platform"
            )
        if other is not None:
            raise InputError(f"inverse_kinematics: unknown option {other!r}; its options are {', '.join(known)}")
        if platform:
            return self.assemble(platform_positions(robot, pose), guess, independent=(PLATFORM,), **options)
        from neuler.solve.inverse_kinematics import inverse_kinematics  # few programs need it

        return inverse_kinematics(robot, pose, guess, frame, **options)

    def forward_kinematics(self, q_active: ArrayLike, guess: ArrayLike | None = None, **options: Any) -> Assembly:
        """Positions of the platform and of all legs of a parallel robot, for positions of its motors.

        Several poses may belong to the same motor positions: the result is the one reached from ``guess`` (default: the
        reference). With more motors than degrees of freedom, ``q_active`` holds the positions of the first ones that
        determine the motion.

        >>> import neuler
        >>> robot = neuler.robots.delta()
        >>> found = robot.forward_kinematics([0.7, 0.7, 0.7])
        >>> [round(float(x), 4) + 0.0 for x in found.q[:3]]
        [0.0, 0.0, -0.534]
        """
        robot = cast("Robot", self)
        if not is_parallel(robot):
            raise InputError(
                f"forward_kinematics: robot {robot.name!r} has no platform on legs; neuler.parallel_robot makes such a "
                "robot. Of others, link_poses says where the links are"
            )
        if robot.mobility.driven < robot.nv:
            raise RobotError(
                f"forward_kinematics: robot {robot.name!r} has {degrees(robot.nv)}, of which its motors "
                f"decide {robot.mobility.driven}; drive more joints (role 'driven')"
            )
        return self.assemble(q_active, guess, independent=motors(robot), **options)


_OF_LOOPS = ("assemble",)
_OF_PLATFORMS = ("forward_kinematics",)
"""Verbs of robots with loops alone, and of parallel robots."""


def _names(robot: Robot) -> list[str]:
    """``dir(robot)``: public names, and of the verbs those that this robot has."""
    absent = {name for name, quantity in QUANTITIES.items() if not quantity.of(robot)}
    absent |= set() if robot.loops else {*_OF_LOOPS}
    absent |= set() if is_parallel(robot) else {*_OF_PLATFORMS}
    every = object.__dir__(robot)
    return sorted(name for name in every if name.isidentifier() and not name.startswith("_") and name not in absent)


def _no_attribute(robot: Robot, name: str) -> Any:
    """Python asks for an attribute that there is not: say what was meant."""
    if hasattr(type(robot), name):  # an error inside a property: that one is to be seen
        return object.__getattribute__(robot, name)
    called = f"robot {robot.__dict__.get('name', '')!r} has no attribute {name!r}"
    if name.startswith("_") or "links" not in robot.__dict__:  # protocols of Python and of notebooks; a pickle
        raise AttributeError(called, name=name, obj=robot)
    here, likely = elsewhere.method(name), closest(name, _names(robot))
    told = f"use {here}" if here else f"did you mean {likely!r}?" if likely else "dir(robot) lists what it has"
    raise AttributeError(f"{called}; {told}")


def _robot_html(robot: Robot) -> str:
    """What a notebook shows of a robot, as HTML."""
    from neuler.view.notebook import robot_html

    return robot_html(robot)


def _kernel_html(kernel: Kernel) -> str:
    """What a notebook shows of a kernel, as HTML."""
    from neuler.view.notebook import kernel_html

    return kernel_html(kernel)


for _name, _quantity in QUANTITIES.items():
    setattr(Robot, _name, Verb(_name, _quantity.help))
for _name in vars(Methods):
    if not _name.startswith("__"):
        setattr(Robot, _name, vars(Methods)[_name])
Robot._draw_closed = staticmethod(near_reference)
for _kind, _html in ((Robot, _robot_html), (Kernel, _kernel_html)):
    type.__setattr__(_kind, "_repr_html_", _html)
for _name, _method in (("__dir__", _names), ("__getattr__", _no_attribute)):  # type checkers know the names anyway
    type.__setattr__(Robot, _name, _method)
