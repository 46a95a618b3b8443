"""The regression that a fit consists of: its columns, the rows of its logs, and its estimate."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError
from neuler.identify import closed_loop
from neuler.identify.estimate import listed
from neuler.identify.friction_laws import FRICTION_LAWS, SHARES, columns_of, of_robot, speeds_of, with_law
from neuler.identify.least_squares import Undetermined
from neuler.identify.load_friction import PASSES, LoadedRegression, loaded_joints
from neuler.identify.methods import ALL, BASE, CLOSED, Found, RegressionData
from neuler.identify.prepared import Prepared
from neuler.identify.priors import nearest_robot, not_negative, prior_of, without_friction
from neuler.identify.rows import Regression, Rows, known_loads
from neuler.identify.twice import refuse_same
from neuler.identify.user_columns import UserColumns, user_columns
from neuler.identify.wanted import alike_said, wanted_base
from neuler.inputs import choice, names, real, told
from neuler.solve.base_parameters import BaseParameters

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Regressed:
    """An estimate, the rows it was made of, and the logs: of a robot with the friction law that was asked for."""

    work: Estimation
    found: Found
    regression: Regression
    rows: list[Rows]
    logs: list[Prepared]
    others: list[Prepared]
    settings: dict[str, Any]


def regressed(
    logs: list[Prepared],
    others: list[Prepared],
    again: list[Prepared],
    *,
    columns: Any,
    method: str,
    friction: str | None = None,
    friction_speeds: Any = None,
    own: Any = None,
    loads: Any = None,
    prior_sd: float = 0.2,
    controller: Any = None,
) -> Regressed:
    """Estimate what ``fit`` was asked for; arguments as there. ``others`` are not fitted, ``again`` are instruments."""
    robot = logs[0].robot
    _refuse_instruments(method, friction, logs, again)
    _refuse_controller(method, controller, again, friction, own, loads)
    refuse_same(logs, again)
    columns = names("fit: columns", columns)
    if not any(each.tau.any() for each in logs):
        raise InputError("fit: all torques that were measured are zero; are they in other columns of the file?")
    settings: dict[str, Any] = {"method": method}
    if friction is not None:
        speeds = _speeds(friction, friction_speeds, logs)
        robot, columns = with_law(robot, friction, speeds), columns_of(robot, friction, columns)
        logs, others, again = ([of_robot(each, robot) for each in part] for part in (logs, others, again))
        settings |= {"friction": friction, "friction_speeds": list(map(float, speeds))}
    elif friction_speeds is not None:
        raise InputError(f"fit: friction_speeds belong to friction={' or '.join(map(repr, SHARES))}")
    known = known_loads("fit", loads, [each.name for each in (*logs, *others)], robot)
    base = wanted_base("fit", robot, columns)
    work = Estimation(base, method, friction == "load", user_columns(robot, own or {}), prior_sd)
    try:
        if method in CLOSED:
            estimate, notes, chosen = closed_loop.estimate(method, logs, base, controller)
            found, regression = Found(estimate, tuple(notes), chosen), work.regression({})
            rows = [regression.rows(each) for each in logs]
        else:
            found, regression, rows = work.estimated(work.regression(known), logs, again, controller)
    except Undetermined as error:
        raise InputError(f"fit: {error.told}. {_shown_by(logs)}") from None
    settings |= {**found.settings, "columns": [*base.columns, *work.own.names], "loads": known}
    return Regressed(work, found, regression, rows, logs, others, settings)


def _shown_by(logs: list[Prepared]) -> str:
    """What shows more columns."""
    moves = np.any([each.moving.any(axis=0) for each in logs], axis=0)
    rest = [name for name, each in zip(logs[0].robot.coordinates.names("qd"), moves, strict=True) if not each]
    held = f"or hold {'it' if len(rest) == 1 else 'them'}, robot.with_fixed or --fixed"
    move = (
        f"Move {listed(rest)}, too, which rest in all rows, {held}" if rest else "Excite more (neuler.identify.excite)"
    )
    return f"{move}, look for fewer columns=, or use method='consistent', which keeps to the given robot where need be"


class Estimation:
    """What is estimated, base parameters or all, and how one comes from the other."""

    def __init__(self, base: BaseParameters, method: str, loaded: bool, own: UserColumns, prior_sd: float) -> None:
        self.base, self.method, self.loaded, self.own, self.prior_sd = base, method, loaded, own, prior_sd
        self.kept, self.prior, self.notes = prior_of(base, method in ALL)
        self.notes += alike_said(base)
        self.whole = method in ALL
        taken = [name for name in own.names if name in base.columns]
        if taken:
            raise InputError(f"fit: own: {taken[0]!r} is a parameter of the robot; call the column something else")

    @property
    def columns(self) -> tuple[str, ...]:
        """Parameters of the robot that are columns."""
        return tuple(self.base.columns[k] for k in self.kept) if self.whole else self.base.names

    def regression(self, loads: dict[str, dict[str, float]]) -> Regression:
        """The regression about the given robot."""
        values = self.base.standard[self.kept] if self.whole else self.base.values
        fields = (self.base.robot, self.columns, values, self.own, loads)
        if not self.loaded:
            return Regression(*fields)
        joints = loaded_joints(self.base.robot, self.columns)
        start = np.concatenate([values, np.zeros(len(self.own.names) + len(joints))])
        return LoadedRegression(*fields, joints, start)

    def at(self, regression: Regression, values: Array) -> Regression:
        """The regression about other values, where it depends on them."""
        return dataclasses.replace(regression, at=values) if isinstance(regression, LoadedRegression) else regression

    def estimated(
        self, regression: Regression, ready: Sequence[Prepared], again: Sequence[Prepared], controller: Any = None
    ) -> tuple[Found, Regression, list[Rows]]:
        """The estimate; where forces are not linear in all numbers, by Gauss and Newton's method."""
        names = regression.names
        prior = np.concatenate([self.prior, np.full(len(names) - len(self.kept), np.nan)]) if self.whole else self.prior
        lower = not_negative(names, self.own.names)
        instruments: Any = np.concatenate([regression.rows(each).W for each in again]) if again else None
        said: list[str] = []
        chosen: dict[str, Any] = {}
        if controller is not None:
            instruments, said, chosen = closed_loop.simulated_instruments(ready, self.base, controller)
        last: Array | None = None
        for _ in range(PASSES):
            rows = [regression.rows(each) for each in ready]
            data = RegressionData(names, rows, without_friction(names, prior) if self.whole else prior, lower,
                              self.prior_sd, instruments)  # fmt: skip
            found = (ALL if self.whole else BASE)[self.method](data)
            values = found.estimate.values
            sd = np.where(np.isfinite(found.estimate.sd), found.estimate.sd, np.inf)
            if not isinstance(regression, LoadedRegression):
                more = dataclasses.replace(found, notes=(*said, *found.notes), settings=chosen | found.settings)
                return more, regression, rows
            if last is not None and bool((np.abs(values - last) <= 0.01 * sd + 1e-9 * np.abs(values)).all()):
                return found, regression, rows
            last, regression = values, self.at(regression, values)
        note = f"load-dependent friction did not converge in {PASSES} passes"
        return dataclasses.replace(found, notes=(*found.notes, note)), regression, rows

    def standard(self, found: Found) -> tuple[dict[str, float], dict[str, Any]]:
        """All columns' values of a consistent robot, by name, and the weight of the prior in the way there."""
        estimate, columns = found.estimate, self.columns
        if self.whole:
            given = dict(zip(columns, self.base.standard[self.kept].tolist(), strict=True))
            unknown = set(estimate.undetermined)
            values = zip(estimate.names, estimate.values.tolist(), strict=True)
            return {name: given.get(name, 0.0) if name in unknown else x for name, x in values}, {}
        near, weight = nearest_robot(
            self.base, self.kept, estimate.names[len(columns) :], self.own.names, estimate.values, estimate.classical,
            self.prior,
        )  # fmt: skip
        return dict(zip(near.names, near.values.tolist(), strict=True)), {"weight": weight}

    def answer(self, found: Found, values: dict[str, float]) -> Array:
        """The values of the estimate's columns that the identified robot has."""
        if self.whole:
            return np.array([values[name] for name in found.estimate.names])
        whole = np.array([values[self.base.columns[k]] for k in self.kept])
        own = [values[name] for name in found.estimate.names[len(self.base) :]]
        return np.concatenate([self.base.grouping[:, self.kept] @ whole, own])

    def losses(self, regression: LoadedRegression, found: dict[str, float]) -> dict[str, float]:
        """mu of each joint, at least zero and below one."""
        values = [found[f"{joint}.load"] for joint in regression.joints]
        for joint, mu in zip(regression.joints, values, strict=True):
            if not 0.0 <= mu < 1.0:
                self.notes.append(
                    f"load-dependent friction of {joint!r} was found as {mu:.3g}; the robot has 0 to 0.99"
                )
        return dict(zip(regression.joints, np.clip(values, 0.0, 0.99).tolist(), strict=True))


def _speeds(friction: str, speeds: Any, ready: Sequence[Prepared]) -> Array:
    choice("fit: friction", friction, FRICTION_LAWS)
    nv = ready[0].robot.nv
    if friction not in SHARES:
        if speeds is not None:
            raise InputError(f"fit: friction_speeds belong to {' and '.join(SHARES)}, not to {friction!r}")
        return np.zeros(0)
    if speeds is None:
        return speeds_of(ready, SHARES[friction][len(SHARES[friction]) // 2])
    found = real(speeds)
    if found is None or found.shape not in ((), (nv,)) or not (found > 0).all() or not np.isfinite(found).all():
        raise InputError(f"fit: friction_speeds must be {nv} speeds above zero, got {told(speeds)}")
    return np.broadcast_to(found, (nv,)).copy()


def _refuse_controller(
    method: str, controller: Any, again: list[Prepared], friction: Any, own: Any, loads: Any
) -> None:
    """A controller, and what does not go with it."""
    if controller is None:
        return  # closed_loop refuses that by the name of the method
    if method not in (*CLOSED, "instrumental"):
        simulating = ", ".join(map(repr, (*CLOSED, "instrumental")))
        raise InputError(f"fit: controller= belongs to methods that simulate, {simulating}, not to {method!r}")
    if again:
        raise InputError("fit: give instruments= or controller=, not both: either is enough")
    for given, name in ((own, "own"), (loads, "loads"), (friction == "load", "friction='load'")):
        if given:
            raise InputError(f"fit: {name} is not part of the simulated closed loop; leave it or controller= out")


def _refuse_instruments(method: str, friction: str | None, ready: list[Prepared], again: list[Prepared]) -> None:
    if again and method != "instrumental":
        raise InputError(f"fit: instruments belong to method 'instrumental', not to {method!r}")
    if method == "instrumental" and friction == "load":
        raise InputError("fit: instruments for load-dependent friction are not known; take another law or method")
    if again and [len(each.t) for each in again] != [len(each.t) for each in ready]:
        raise InputError(
            "fit: instruments must be one log of the same motion for each log, with as many rows: got "
            f"{[len(each.t) for each in again]} rows for {[len(each.t) for each in ready]}; prepare both with the same "
            "cutoff and trim"
        )
