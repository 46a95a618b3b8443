"""Rows of the regression: the regressor along a prepared log and its torques, behind the same filter.

    F tau = F Y(q, qd, qdd) x + F E(q, qd, qdd) e + F tau_known

with the columns Y of the robot's parameters, E of the user's own, and what the robot's model has beside its columns.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify.log import Log
from neuler.identify.prepared import Prepared
from neuler.identify.user_columns import UserColumns
from neuler.inputs import told
from neuler.kernels import Kernel
from neuler.naming import hint
from neuler.passes.parameters import parse
from neuler.robot import Robot

Array = NDArray[np.float64]
COLUMNS = ("links", "friction", "rotors")
"""What is looked for by default; springs and bodies of motors are named where they are wanted."""
_SERIES = 48
"""Series that are filtered at once."""


@dataclass(frozen=True, eq=False)
class Rows:
    """One run as rows of the regression: W (m, nu, p), y (m, nu) and which of them move, (m, nu)."""

    name: str
    W: Array
    y: Array
    moving: NDArray[np.bool_]
    level: Array
    """Root mean squares of the measured forces behind the filter, with what is known, (nu,)."""
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Regression:
    """What is regressed: ``columns`` of the robot, whose numbers in it are ``values``, the user's own, known loads."""

    robot: Robot
    columns: tuple[str, ...]
    values: Array
    own: UserColumns
    loads: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By run, payloads that are known: values of parameters such as "payload:tool.mass"."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of all columns: the robot's, then the user's own."""
        return (*self.columns, *self.own.names)

    @property
    def kernel(self) -> Kernel:
        """The regressor with the columns of the robot."""
        return self.robot.compile("regressor", columns=self.columns)

    def columns_along(self, ready: Prepared) -> tuple[Array, Array]:
        """All columns at the samples of a run, (n, nu, p), and what is known beside them, (n, nu); not filtered.

        Known is what the robot's model has beside the columns, and the run's load.
        """
        state = ready.q, ready.qd, ready.qdd
        Y = np.asarray(self.kernel(*state))
        known = self.robot.inverse_dynamics(*state) - Y @ self.values + self.load(ready)
        return (np.concatenate([Y, self.own(*state)], axis=-1) if self.own.names else Y), known

    def rows(self, ready: Prepared) -> Rows:
        """The rows of a run: columns, and torques less what is known, behind the filter."""
        Y, known = self.columns_along(ready)
        return filtered_rows(ready, Y, ready.tau - known)

    def load(self, ready: Prepared) -> Any:
        """Torques of the known load of a run, (n, nu); zero without one."""
        given = self.loads.get(ready.name)
        if not given:
            return 0.0
        kernel = self.robot.compile("regressor", columns=tuple(given))
        return kernel(ready.q, ready.qd, ready.qdd) @ np.array(list(given.values()), dtype=float)


def filtered_rows(ready: Prepared, columns: Array, forces: Array) -> Rows:
    """Columns and forces of a run behind its filter."""
    W, y = filtered(ready, refuse_singular(ready, columns)), ready.filter(forces)
    level = np.sqrt((ready.filter(ready.tau) ** 2).mean(axis=0))
    return Rows(ready.name, W, y, moving_rows(ready, y.shape), level, ready.weight)


def filtered(ready: Prepared, columns: Array) -> Array:
    """Columns (n, nu, p) behind a run's filter, which may overwrite them; those that are zero throughout stay so."""
    if ready.settings["torque_cutoff"] is None:
        return np.ascontiguousarray(ready.decimated(columns))
    flat = columns.reshape(len(columns), -1)
    used = np.flatnonzero(flat.any(axis=0))
    series = flat[:, used]
    rows = len(ready.decimated(ready.t))
    for first in range(0, len(used), _SERIES):
        at = slice(first, first + _SERIES)
        series[:rows, at] = ready.filter(series[:, at])
    found = flat if rows == len(flat) else np.zeros((rows, flat.shape[1]))  # fresh memory takes its time
    found[:, used] = series[:rows]
    return found.reshape(-1, *columns.shape[1:])


def moving_rows(ready: Prepared, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which rows of a run move, for each force."""
    moving = np.asarray(ready.decimated(ready.moving), dtype=bool)
    if moving.shape != shape:  # forces in loops are not one for each velocity
        moving = np.broadcast_to(moving.all(axis=-1, keepdims=True), shape)
    return moving


def refuse_singular(ready: Prepared, W: Array) -> Array:
    """Rows, all of them finite."""
    bad = ~np.isfinite(W.reshape(len(W), -1).sum(axis=1))
    if bad.any():
        raise InputError(
            f"{ready.name}: the regressor is not finite in {int(bad.sum())} of {len(W)} rows; loops are open or "
            "singular there: robot.check() and robot.closure(q) say more"
        )
    return W


def known_loads(called: str, loads: Any, runs: Iterable[str], robot: Robot) -> dict[str, dict[str, float]]:
    """Known loads by run, checked: every name is one number of the robot."""
    loads = {} if loads is None else loads
    names = list(runs)
    if not isinstance(loads, Mapping):
        raise InputError(
            f"{called}: loads must map the name of a run to values of a payload, such as "
            f'{{"loaded": {{"payload:tool.mass": 2.0}}}}, got {told(loads)}'
        )
    for run, values in loads.items():
        if run not in names:
            raise InputError(f"{called}: loads has no run {run!r} to load; runs are {', '.join(map(repr, names))}")
        if names.count(run) > 1:
            raise InputError(
                f"{called}: loads: a fitted and a held-out log are both called {run!r}; give them different names, to "
                "say which was loaded"
            )
        if not isinstance(values, Mapping) or not values:
            raise InputError(f"{called}: loads[{run!r}] must map parameters to values, got {told(values)}")
        for name, value in values.items():
            _check_load(f"{called}: loads[{run!r}]", name, robot)
            if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
                raise InputError(f"{called}: loads[{run!r}][{name!r}] must be a finite number, got {told(value)}")
    return {run: {name: float(x) for name, x in values.items()} for run, values in loads.items()}


def _check_load(what: str, name: Any, robot: Robot) -> None:
    if not isinstance(name, str):
        raise InputError(f"{what} must map names of parameters to values, got {told(name)}")
    numbers = parse(robot, name, what)
    if len(numbers) > 1:
        frame = numbers[0].owner if numbers[0].of in ("link", "payload") else robot.shown_names[-1]
        raise InputError(
            f"{what}: {name!r} stands for {len(numbers)} numbers; give each of a payload by its name, such as "
            f"'payload:{frame}.mass'"
        )


def known_options(called: str, preparation: Iterable[str], own: Iterable[str] = ()) -> None:
    """Refuse options that neither ``Log.prepare`` nor the caller itself, whose are ``own``, has."""
    known = list(dict.fromkeys([*own, *list(inspect.signature(Log.prepare).parameters)[1:]]))
    for name in preparation:
        if name not in known:
            raise InputError(f"{called}: there is no option {name!r}; {hint(name, known)}")


def prepared_logs(called: str, logs: Any, preparation: dict[str, Any]) -> list[Prepared]:
    """Logs made ready, all of one robot."""
    return prepared_groups(called, {"": logs}, preparation)[0]


def prepared_groups(called: str, groups: Mapping[str, Any], preparation: dict[str, Any]) -> list[list[Prepared]]:
    """Logs made ready, all of one robot: those to be fitted, of which there is one at least, and others by argument.

    Options that no log would be prepared with are refused.
    """
    known_options(called, preparation)
    given = {f"{called}: {argument}" if argument else called: _logs(logs) for argument, logs in groups.items()}
    for label, logs in given.items():
        for each in logs:
            if not isinstance(each, Log | Prepared):
                raise InputError(
                    f"{label}: logs must be neuler.identify.Log or what its prepare() returns, got {told(each)}"
                )
    if not given[called]:
        raise InputError(f"{called}: at least one log is needed")
    if preparation and not any(isinstance(each, Log) for logs in given.values() for each in logs):
        name = next(iter(preparation))
        raise InputError(
            f"{called}: {name}= says how logs are prepared, and all are prepared already; give it to Log.prepare, or "
            "give the logs themselves"
        )
    robot = given[called][0].robot
    return [_prepared(label, logs, preparation, robot) for label, logs in given.items()]


def _logs(given: Any) -> list[Any]:
    if given is None or isinstance(given, Iterable):
        return [] if given is None else list(given)
    return [given]


def _prepared(label: str, logs: list[Any], preparation: dict[str, Any], robot: Robot) -> list[Prepared]:
    """Of one group, each with a name of its own."""
    found: list[Prepared] = [each if isinstance(each, Prepared) else each.prepare(**preparation) for each in logs]
    for each in found:
        if each.robot != robot:
            raise InputError(f"{label}: log {each.name!r} is of another robot; logs are fitted with one robot's model")
    names = [each.name for each in found]
    if len(set(names)) != len(names):
        raise InputError(f"{label}: two logs are called {next(x for x in names if names.count(x) > 1)!r}; give names")
    return found
