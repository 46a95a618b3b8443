"""What a motion is: a robot, a duration, and its state and forces at any time in between."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.dask_arrays import refuse_dask
from neuler.errors import InputError
from neuler.inputs import number, real, told, whole
from neuler.moments.clearance import HalfSpace
from neuler.moments.contact import FLOOR
from neuler.moments.measures import Measure, measure_of
from neuler.moments.moving_robot import moving_links
from neuler.moments.tracing import measured
from neuler.motions.samples import Samples, names_of
from neuler.plain import number as shown_number
from neuler.plain import shown
from neuler.robot import Robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from neuler.control import Reference
    from neuler.robots.limbs import Limb
    from neuler.simulation.run import Run
    from neuler.view.player import Inline

Array = NDArray[np.float64]

SAMPLES, MOST_ROWS = 201, 10_000_000
"""Rows of samples by default, and at most."""
_AT_ONCE = 8192
"""Times that are evaluated at once, so that little memory is needed."""
_CACHED, _CACHED_ROWS = 4, 5000
"""Samples that a motion caches, and their rows at most: tables, figures and pages of one command share them."""


class State(NamedTuple):
    """A motion at times (N,): positions (N, nq), then velocities, accelerations and jerks (N, nv)."""

    q: Array
    qd: Array
    qdd: Array
    qddd: Array


@dataclass(frozen=True, eq=False)
class Bound:
    """Limits of a measure, to be drawn beside it: numbers (k,) for its labels, infinite where there is none.

    ``when`` is the part of the motion (s) in which they hold.
    """

    name: str
    """The measure's: "torque", "velocity"."""
    labels: tuple[str, ...]
    lower: Array
    upper: Array
    when: tuple[float, float] = (0.0, math.inf)


class Motion:
    """A motion of a robot from 0 to ``duration`` (s).

    Subclasses have ``robot``, ``duration`` and ``evaluate``; the other quantities follow from these unless a subclass
    knows better. Where a robot changes on the way (a payload picked up), ``robots`` says which one moves when.
    """

    robot: Robot

    # ---- what a motion knows ----------------------------------------------------------------------------------

    @property
    def duration(self) -> float:
        """How long it takes (s)."""
        raise NotImplementedError

    def evaluate(self, t: Array, order: int) -> list[Array]:
        """Positions (N, nq) and derivatives up to ``order``, (N, nv) each, at times t (N,) from 0 to ``duration``."""
        raise NotImplementedError

    @property
    def breaks(self) -> Array:
        """Times at which phases begin, and the end (s)."""
        return np.array([0.0, self.duration])

    @property
    def knots(self) -> Array:
        """Times between which the motion is smooth (s)."""
        return self.breaks

    @property
    def robots(self) -> tuple[Robot, ...]:
        """The robot of each phase, as it moves there: with its payload, and with friction as the motion counts it."""
        return (self.robot,) * (len(self.breaks) - 1)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Limits, to be drawn beside what they limit."""
        return ()

    @property
    def scenery(self) -> tuple[Any, ...]:
        """Obstacles, to be drawn."""
        return ()

    @property
    def headline(self) -> str:
        """A few words about it, for titles."""
        return f"{shown_number(self.duration)} s"

    def torques(self, t: ArrayLike) -> Array:
        """Forces of the joints: tau, (nu,) at a time (s), (N, nu) at times."""
        return self.asked(self._torques, t)

    def _torques(self, t: Array) -> Array:
        return self._of_phases(t, lambda robot, part: robot.inverse_dynamics(*self.evaluate(part, 2)))

    def torque_rates(self, t: ArrayLike) -> Array:
        """Their time derivatives, (nu,) or (N, nu)."""
        return self.asked(self._torque_rates, t)

    def _torque_rates(self, t: Array) -> Array:
        return self._of_phases(t, lambda robot, part: robot.inverse_dynamics_rate(*self.evaluate(part, 3)).tau_rate)

    @property
    def force_names(self) -> tuple[str, ...]:
        """Joints whose internal forces :meth:`forces` gives: those that move."""
        return tuple(name for name, _ in moving_links(self.robot))

    def forces(self, t: ArrayLike) -> Array:
        """Norms of the forces (N) inside these joints, (joints,) at a time (s), (N, joints) at times."""
        return self.asked(self._forces, t)

    def _forces(self, t: Array) -> Array:
        links = [k for _, k in moving_links(self.robot)]

        def norms(robot: Robot, part: Array) -> Array:
            wrenches = robot.reaction_wrenches(*self.evaluate(part, 2))
            return np.asarray(np.linalg.norm(wrenches[:, links, :3], axis=-1))

        return self._of_phases(t, norms)

    @property
    def contact_frames(self) -> tuple[str, ...]:
        """Links and frames on which the ground acts at some time; none of most motions."""
        return ()

    @property
    def ground(self) -> HalfSpace:
        """The plane on which contacts stand, those of the first phase that has some; z = 0 unless a subclass knows."""
        return FLOOR

    def contact_loads(self, t: ArrayLike) -> dict[str, Array]:
        """What the ground exerts, by frame: force (N) and moment (N m) at its origin, (6,) at a time, (N, 6) at times.

        In the axes of the base frame: ``loads`` of the robot's quantities.
        """
        if not self.contact_frames:
            return {}
        parts = np.split(self.asked(self._contact_loads, t), len(self.contact_frames), axis=-1)
        return dict(zip(self.contact_frames, parts, strict=True))

    def _contact_loads(self, t: Array) -> Array:
        return np.zeros((len(t), 6 * len(self.contact_frames)))

    def velocity_jump(self, phase: int) -> Array:
        """By how much velocities jump where a phase begins, (nv): after an impact; zero of most motions."""
        return np.zeros(self.robot.nv)

    def _of_phases(self, t: Array, make: Callable[[Robot, Array], Any]) -> Array:
        """A quantity at times t, computed with the robot of each phase."""
        robots, times = self.robots, np.asarray(t, dtype=float)
        if all(robot is robots[0] for robot in robots):
            return np.asarray(make(robots[0], times))
        phase = np.clip(np.searchsorted(self.breaks, times, side="right") - 1, 0, len(robots) - 1)
        parts = {int(k): np.asarray(make(robots[int(k)], times[phase == k])) for k in np.unique(phase)}
        found = np.empty((len(times), *next(iter(parts.values())).shape[1:]))
        for k, part in parts.items():
            found[phase == k] = part
        return found

    # ---- at times that users give -----------------------------------------------------------------------------

    def at(self, t: ArrayLike) -> State:
        """Positions, velocities, accelerations and jerks at a time (s), or at times (N,)."""
        times, one = self._times(t)
        found = self.states(times)
        return State(*(x[0] for x in found)) if one else found

    def states(self, t: Array) -> State:
        """The same at times (N,) from 0 to ``duration``."""
        refuse_dask(f"motion of {self.robot.name!r}", "t", t)
        parts = [self.evaluate(part, 3) for part in _portions(t)]
        return State(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def measure(self, what: Any, t: ArrayLike) -> Array:
        """A measure of :mod:`neuler.plan` along the motion: (rows,) at a time, (N, rows) at times.

        ``what``: a measure, as ``plan.power``, or the name of one.
        """
        chosen = measure_of(what)
        return self.asked(lambda times: self.along(chosen, times), t)

    def along(self, what: Measure, t: Array) -> Array:
        """A measure at times t (N,), (N, rows)."""
        return measured(what, self, t)

    def asked(self, what: Callable[[Array], Array], t: ArrayLike) -> Array:
        """A function of times (N,) at a time or at times that a user gives, which are checked."""
        times, one = self._times(t)
        found: Array = np.concatenate([np.asarray(what(part)) for part in _portions(times)])
        return found[0] if one else found

    def _times(self, t: ArrayLike) -> tuple[Array, bool]:
        """Times (N,) within the motion, and whether one alone was asked for."""
        given = real(t)
        near = 1e-9 * self.duration
        if (
            given is None or given.ndim > 1 or not given.size
            or not np.all((given >= -near) & (given <= self.duration + near))
        ):  # fmt: skip
            raise InputError(
                f"motion of {self.robot.name!r}: expected a time or an array of times from 0 to {self.duration:.9g} s, "
                f"got {told(t)}"
            )
        return np.clip(np.atleast_1d(given), 0.0, self.duration), given.ndim == 0

    # ---- samples and files ------------------------------------------------------------------------------------

    def sample(self, step: float | None = None, count: int = SAMPLES) -> Samples:
        """States and forces at ``count`` times from start to end, or every ``step`` seconds and at the end."""
        key = (None if step is None else float(step)) if isinstance(step, int | float | None) else step, count
        cached: dict[Any, Samples] = self.__dict__.setdefault("_samples", {})
        if key not in cached:
            t = self._sample_times(step, count)
            tau, rate, force = (self.asked(each, t) for each in (self._torques, self._torque_rates, self._forces))
            found = Samples(self.robot, t, *self.states(t), tau, rate, force, self.force_names)
            if len(t) > _CACHED_ROWS:
                return found
            while len(cached) >= _CACHED:
                cached.pop(next(iter(cached)))
            cached[key] = found
        return cached[key].copy()

    def _sample_times(self, step: float | None, count: int) -> Array:
        if step is None:
            return np.linspace(0.0, self.duration, whole("sample: count", count, 2, MOST_ROWS))
        number("sample: step", step, above=0.0, unit="s")
        if self.duration / step > MOST_ROWS:
            raise InputError(f"sample: a step of {step:g} s makes more than {MOST_ROWS:,} rows")
        steps = math.floor(self.duration / step * (1.0 + 1e-12))
        t = np.minimum(np.arange(steps + 1) * step, self.duration)
        return np.append(t, self.duration) if self.duration - t[-1] > 1e-9 * step else t

    def save(self, path: str | os.PathLike[str], step: float | None = None, count: int | None = None) -> None:
        """Write samples: .csv, .parquet or .npz, or .json in the shape of ROS's trajectory_msgs/JointTrajectory.

        There are 201 of them unless ``step`` (s) or ``count`` is given. ``neuler.motions.load`` reads .csv and .npz
        back as a motion.
        """
        self.sample(step, SAMPLES if count is None else count).save(path)

    @property
    def names(self) -> dict[str, list[str]]:
        """What the numbers of q, qd, qdd, qddd, tau, tau_rate and force are called in a file."""
        return names_of(self.robot, self.force_names)

    def __getstate__(self) -> dict[str, Any]:
        """Pickles have no samples: these are made again."""
        return {name: value for name, value in self.__dict__.items() if name != "_samples"}

    # ---- put to use -------------------------------------------------------------------------------------------

    def reference(self, order: int = 2) -> Reference | Any:
        """The motion as a reference for controllers: piece by piece a polynomial, at rest after its end.

        It is the motion of the robot's own coordinates; of elastic drives, of the links.
        """
        from neuler.control.tracking import own_coordinates, reference

        return reference(self, own_coordinates(self.robot), order)

    def replay(self, step: float | None = None, method: str = "rk4", *, after: float = 0.0, **options: Any) -> Run:
        """Simulate the robot under the motion's forces alone, without feedback: does the motion come out?

        ``run.error`` is how far it does not. The robot as in :attr:`robots` moves, or the one given as ``robot=``,
        phase by phase where it changes. Forces of joints without a motor are left out. ``after``: seconds to go on
        with the forces that hold the last position. The default step is 1e-4 s or less. ``options`` are those of
        ``neuler.simulate``.
        """
        from neuler.simulation.replay import replay

        return replay(self, step, method, after=after, **options)

    def track(
        self, controller: Any, step: float | None = None, *, robot: Robot | None = None, after: float = 0.0,
        x0: Any = None, options: Mapping[str, Any] | None = None, **gains: Any,
    ) -> Run:  # fmt: skip
        """Simulate the robot under a controller that has the motion as its reference.

        ``controller``: a name ("computed_torque"), a class or an instance of :mod:`neuler.control`; ``gains`` are its
        other arguments. ``robot``: the one that moves, where it differs (payload, friction). ``x0``: where it starts,
        by default where the motion does. ``options`` are those of ``neuler.simulate``.
        """
        from neuler.simulation.replay import track

        return track(self, controller, step, robot=robot, after=after, x0=x0, options=options or {}, gains=gains)

    # ---- pictures ---------------------------------------------------------------------------------------------

    def plot(self, poses: int = 9, figure: Figure | None = None) -> Figure:
        """The motion, forces and rates with their limits, velocities, internal joint forces: a matplotlib figure.

        Notebooks show it, and ``matplotlib.pyplot.show()`` knows it until ``matplotlib.pyplot.close()``. ``figure``: an
        empty one to draw into instead; it gets the size that it needs.
        """
        from neuler.motions.pictures import overview

        drawn: Figure = overview(self, poses, figure)
        return drawn

    def figures(self, poses: int = 9) -> dict[str, Figure]:
        """The same one by one, by name: torque, torque_rate, position, velocity, joint_force, motion."""
        from neuler.motions.pictures import figures

        return figures(self, poses)

    def page(
        self, path: str | os.PathLike[str], *, title: str | None = None, speed: float | None = None,
        limbs: Sequence[Limb] | None = None,
    ) -> None:  # fmt: skip
        """Write a page (HTML) that plays the motion, with its curves and what is known of it.

        ``speed``: of playing, 1 is real time; by default motions of less than 2 s are played slower. ``limbs``: rounded
        bodies in the place of rods, :class:`neuler.view.Limb`; by default those of a human, and none of other robots.
        Of a motion with contacts the page shows the forces of the ground on each foot; one that ends as it began, or a
        human's step that ends as the mirror image of its start, goes on ahead without a jump.
        """
        from neuler.motions.pictures import write_page

        write_page(self, path, title, speed, limbs)

    def player(self, *, height: int = 620, speed: float | None = None) -> Inline:
        """The player inside a notebook, ``height`` pixels high: the result of a cell plays the motion there."""
        from neuler.motions.pictures import inline

        return inline(self, height, speed)

    def _repr_html_(self) -> str:
        """For notebooks: the motion in one picture, what is known of it, and a player."""
        from neuler.motions.pictures import html

        return html(self)

    @property
    def facts(self) -> Sequence[str]:
        """Lines about it, for pages and notebooks; the first one is a summary."""
        return [f"motion of {shown(self.robot.name)!r}: {self.headline}"]


def _portions(times: Array) -> list[Array]:
    """Times in parts that need little memory."""
    return np.array_split(times, -(-len(times) // _AT_ONCE))
