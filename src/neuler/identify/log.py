"""Measurements of one run of a robot: times, positions and torques, and velocities where they were measured."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import FormatError, InputError
from neuler.files.columns import read_columns
from neuler.identify import plausibility as check
from neuler.identify.prepared import Prepared, prepared
from neuler.identify.reading import RUN, Run, runs_of
from neuler.inputs import array, told
from neuler.robot import Robot
from neuler.robot.columns import by_columns

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Log:
    """One run of a robot in SI units: t (n,), q (n, nq), tau (n, nu), and qd and qdd (n, nv) where there are any.

    ``tau`` are the torques (N m) and forces (N) of the joints, not of motors before their gears. Times increase, with
    no samples missing; every number is finite. If no joint moves as fast as robots do, :meth:`prepare` suspects times
    in ms and refuses them, unless ``in_seconds``. ``weight`` is the weight of the run relative to others. :meth:`read`
    makes a log from a file with other names and units, :meth:`prepare` filters and differentiates it.

    >>> import neuler
    >>> robot, t = neuler.robots.two_link(), np.arange(0.0, 5.0, 0.01)
    >>> q, qd, qdd = (np.stack([a * np.sin(2 * t + p), np.cos(3 * t + p)], -1) for a, p in ((1, 0), (2, 1), (4, 2)))
    >>> log = Log(robot, t, q, robot.inverse_dynamics(q, qd, qdd), name="monday")
    >>> log
    <log 'monday' of 'two_link': 500 rows at 100 Hz, 4.99 s>
    """

    robot: Robot
    t: Array
    q: Array
    tau: Array
    qd: Array | None = None
    qdd: Array | None = None
    _: KW_ONLY
    weight: float = 1.0
    name: str = "log"
    notes: tuple[str, ...] = ()
    """Remarks from reading the file."""
    in_seconds: bool = False
    """Whether the unit of the times is known; otherwise times are doubted if no joint moves as fast as robots do."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"log: name must be a text, got {told(self.name)}")
        if not isinstance(self.robot, Robot):
            raise InputError(f"{self.name}: a robot is needed, got {told(self.robot)}")
        t = _times(self.t, self.name)
        check.check_times(t, self.name)
        self._set("t", t)
        sizes = {"q": self.robot.nq, "tau": self.robot.nu, "qd": self.robot.nv, "qdd": self.robot.nv}
        for key, size in sizes.items():
            given = getattr(self, key)
            if given is None and key in ("qd", "qdd"):
                continue
            named = by_columns(self.robot, self.name, key, given, "qd" if key == "qdd" else key)
            values = array(self.name, key, named, (size,), f" ({', '.join(check.names_of(self.robot, key)[:3])}, ...)")
            if values.shape != (len(t), size):
                raise InputError(
                    f"{self.name}: {key} must have a row for each of {len(t)} times, got shape {values.shape}"
                )
            check.check_numbers(values, check.names_of(self.robot, key), t, self.name)
            self._set(key, values)
        object.__setattr__(self, "weight", check.check_weight(self.name, self.weight))
        if isinstance(self.notes, str) or not isinstance(self.notes, Iterable):
            raise InputError(f"{self.name}: notes must be texts, got {told(self.notes)}")
        object.__setattr__(self, "notes", tuple(self.notes))

    def _set(self, key: str, values: Array) -> None:
        own = values.copy()
        own.setflags(write=False)
        object.__setattr__(self, key, own)

    @property
    def rate(self) -> float:
        """Samples a second (Hz), in the mean."""
        return (len(self.t) - 1) / float(self.t[-1] - self.t[0])

    # ---- from files ----------------------------------------------------------------------------------------------

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        robot: Robot,
        columns: Mapping[str, Any] | None = None,
        *,
        units: Mapping[str, str] | None = None,
        torque_constants: Any = None,
        ratios: Any = None,
        rate: float | None = None,
        run: Any = None,
        weight: float = 1.0,
        name: str | None = None,
    ) -> Log:
        """A log from a .csv, .parquet or .npz file.

        ``columns``: maps names of columns, {"name in the file": "q_joint1"}, also with a factor, {"pos": ("q1", -1)};
        arrays (n, k) of NPZ as {"positions": "q"}. By default columns have the names that neuler writes: ``t`` or
        ``time``, ``q_<joint>``, ``q1`` or ``q[0]``, and likewise for ``qd``, ``qdd`` and ``tau``.
        ``units``: by kind ("t", "q", "qd", "qdd", "tau") or by column, if they are not SI: "deg", "rpm", "deg/s",
        "mm", "ms", "mA", ... Parquet files may state their own.
        ``torque_constants`` (N m/A, at the motor): for torques in "A" or "mA"; one number, one per joint, or by joint.
        ``ratios``: joint torque divided by motor torque, if torques or currents are those of motors; likewise.
        ``rate`` (Hz): for files without times; a number ``dt`` (s) in an NPZ file is used, too. ``run``: selects a run
        of a file with a column ``run``; :meth:`read_all` reads all. ``notes`` lists unused columns.

        >>> import tempfile, neuler
        >>> path = os.path.join(tempfile.mkdtemp(), "log.csv")
        >>> with open(path, "w") as file:
        ...     lines = [f"{10 * k},{k % 7},{k % 5},{100 * k},{k}" for k in range(50)]
        ...     _ = file.write("\\n".join(["ms,a1,a2,i1,i2", *lines]))
        >>> log = Log.read(
        ...     path, neuler.robots.two_link(), {"ms": "t", "a1": "q1", "a2": ("q2", -1), "i1": "tau1", "i2": "tau2"},
        ...     units={"t": "ms", "q": "deg", "tau": "mA"}, torque_constants=0.1, ratios=[50, 100],
        ... )
        >>> log.rate, np.degrees(log.q[3]).round(6).tolist(), log.tau[1].round(6).tolist()
        (100.0, [3.0, -3.0], [0.5, 0.01])
        """
        shown, found = _runs(path, robot, columns, units, torque_constants, ratios, rate)
        labels = [each.label for each in found]
        if run is not None:
            wanted = f"{run:g}" if isinstance(run, int | float) else str(run)
            found = [each for each in found if each.label == wanted]
            if not found:
                raise FormatError(f"{shown}: has no run {wanted!r}; runs are {', '.join(map(repr, labels)) or 'none'}")
        if len(found) > 1:
            raise FormatError(
                f"{shown}: has {len(found)} runs, {', '.join(map(repr, labels[:6]))}; Log.read_all reads all, run= one"
            )
        return _log(robot, found[0], name or os.path.basename(os.fspath(path)), weight)

    @classmethod
    def read_all(
        cls,
        path: str | os.PathLike[str],
        robot: Robot,
        columns: Mapping[str, Any] | None = None,
        *,
        units: Mapping[str, str] | None = None,
        torque_constants: Any = None,
        ratios: Any = None,
        rate: float | None = None,
        weights: Mapping[Any, float] | None = None,
    ) -> list[Log]:
        """Every run of a file with a column ``run``, of numbers or texts, as a log; arguments as of :meth:`read`.

        ``weights``: by run, 1 by default.
        """
        shown, found = _runs(path, robot, columns, units, torque_constants, ratios, rate)
        if weights is not None and not isinstance(weights, Mapping):
            raise InputError(f"{shown}: weights must map runs to weights, {{1: 2.0}}, got {told(weights)}")
        given = {
            f"{key:g}" if isinstance(key, int | float) else str(key): each for key, each in (weights or {}).items()
        }
        for key in given:
            if key not in [each.label for each in found]:
                raise InputError(f"{shown}: weights: has no run {key!r}")
        base = os.path.basename(os.fspath(path))
        return [
            _log(robot, each, f"{base}, run {each.label}" if each.label else base, given.get(each.label, 1.0))
            for each in found
        ]

    # ---- to what identification needs ----------------------------------------------------------------------------

    def prepare(
        self,
        cutoff: float | None = None,
        *,
        method: str = "butterworth",
        order: int = 4,
        torque_cutoff: float | None = None,
        decimate: int | None = None,
        trim: float | None = None,
        outliers: bool = True,
        dead_zone: Any = None,
        derivatives: str = "positions",
        check: bool = True,
    ) -> Prepared:
        """Repair outliers, smooth and differentiate positions, cut off the ends; None: chosen from the data.

        ``cutoff`` (Hz) of the positions, where the gain is 1/2; infinite for no filter. By default it minimises the
        expected error of the accelerations (``docs/identify-logs.md``).
        ``method``: "butterworth" of ``order``, forwards and backwards, or "spline", a quintic one with knots half a
        period of ``cutoff`` apart. ``derivatives="measured"`` uses velocities (and accelerations) of the log instead
        of derivatives of the positions.
        ``torque_cutoff`` (Hz) of the parallel filter, :meth:`Prepared.filter`, by default that of the positions;
        ``decimate=k`` keeps every k-th row after it.
        ``trim`` (s) at each end, by default the filter's transient, and 0.1 s at least. ``outliers``: whether outliers
        and missing measurements are interpolated.
        ``dead_zone`` (rad/s or m/s), one number or one per velocity: below it a joint counts as at rest; by default
        five times the noise of qd, and 0.1 % of the highest velocity at least.
        ``check=False`` turns errors about implausible data into notes.

        >>> import neuler
        >>> robot, t = neuler.robots.two_link(), np.arange(0.0, 5.0, 0.01)
        >>> q = np.stack([np.sin(2 * t), np.cos(3 * t)], -1)
        >>> qd, qdd = np.stack([2 * np.cos(2 * t), -3 * np.sin(3 * t)], -1), q * [-4, -9]
        >>> tau = robot.inverse_dynamics(q, qd, qdd)
        >>> ready = Log(robot, t, q, tau).prepare()
        >>> model = robot.inverse_dynamics(ready.q, ready.qd, ready.qdd)
        >>> bool((ready.filter(ready.tau) - ready.filter(model)).std() < 1e-3 * tau.std())
        True
        """
        given = {
            "cutoff": cutoff, "torque_cutoff": torque_cutoff, "method": method, "order": order, "decimate": decimate,
            "trim": trim, "outliers": bool(outliers), "dead_zone": dead_zone, "derivatives": derivatives,
            "check": bool(check),
        }  # fmt: skip
        return prepared(self, given)

    def __repr__(self) -> str:
        """The robot, how many rows, at which rate."""
        span = f"{len(self.t)} rows at {self.rate:.4g} Hz, {self.t[-1] - self.t[0]:.4g} s"
        return f"<log {self.name!r} of {self.robot.name!r}: {span}>"


def _times(given: Any, name: str) -> Array:
    """Times (n,), NaN among them."""
    found = array(name, "t", given, ())
    if found.ndim != 1:
        raise InputError(f"{name}: t must be a list of times (s), got shape {found.shape}")
    return found


def _runs(
    path: str | os.PathLike[str], robot: Robot, columns: Any, units: Any, torque_constants: Any, ratios: Any, rate: Any
) -> tuple[str, list[Run]]:
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"log: path must be the name of a file, got {told(path)}")
    shown = os.path.basename(os.fspath(path))
    if not isinstance(robot, Robot):
        raise InputError(f"{shown}: a robot is needed, got {told(robot)}")
    mapped = columns.items() if isinstance(columns, Mapping) else ()
    table = read_columns(path, [RUN, *(name for name, target in mapped if target == RUN)])
    return shown, runs_of(table, robot, columns, units, torque_constants, ratios, rate, shown)


def _log(robot: Robot, run: Run, name: str, weight: float) -> Log:
    arrays = run.arrays
    return Log(
        robot, run.t, arrays["q"], arrays["tau"], arrays.get("qd"), arrays.get("qdd"), weight=weight, name=name,
        notes=run.notes, in_seconds=run.timed,
    )  # fmt: skip
