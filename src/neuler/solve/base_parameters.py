"""Base parameters: the smallest set of a robot's parameters that its forces depend on (Gautier and Khalil 1990).

Forces are tau = Y phi, but some columns of Y are zero at every state, and some are the same combination of others at
every state. Of the rest, the independent columns, tau = Y_b b, where each base parameter b_i is the parameter of its
column and, with constant factors, of the columns that depend on it: b = G phi.

On trees rules say exactly which combinations these are (``passes/grouping.py``). With loops, couplings, motors and
friction laws they are found by rank, from Y at random states. Either way columns are taken in an order in which those
come last that Khalil's rules remove, and a column that those before it give is a combination of them. The factors
follow from the choice of columns, so that robots in Khalil's frames have Khalil's groupings.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neuler.errors import InputError, RobotError
from neuler.inputs import choice, number, whole
from neuler.kernels import Kernel
from neuler.passes.grouping import grouping
from neuler.passes.parameters import INERTIA, MOMENT, TEN, Parameter
from neuler.passes.replaced import with_parameters
from neuler.plain import columns as table
from neuler.quantities.declare import Names
from neuler.robot import Joint, Robot

Array = NDArray[np.float64]
METHODS = ("rules", "rank")
_DRIVES = ("viscous", "coulomb", "coulomb_reverse", "stiffness")
"""Of a joint's, what no other parameter acts like: powers and signs of its own position and velocity. A slide is an
exception: Coulomb friction that differs by direction has a constant part, as its weight has."""
_JOINTS = (*_DRIVES, "rotor_inertia")
TOLERANCE = 1e-7
"""A column counts as a combination of others if they give it but for so small a share of its length."""
_ROWS = 4
"""Rows of random states for each column, at least."""
_NOTHING, _ROUNDING = 1e-8, 1e-12
"""Columns shorter than that, beside the longest of parameters of the same unit or of all, are rounding: they have no
effect."""
HEAD = ("base parameter", "value", "group")
_CANCELLED = 1e-13
"""Of the sizes of its terms, what a sum at least is that has not cancelled."""
_SMALL = 1e-9
"""Factors below it, beside the largest of the same column, are rounding."""


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The base parameters of a robot, b = ``grouping`` phi, and what has become of its other parameters."""

    robot: Robot
    names: tuple[str, ...]
    """Parameters that represent the groups, in the order of ``columns``."""
    columns: tuple[str, ...]
    """All parameters phi."""
    grouping: Array
    """G, (base parameters, columns): one at the parameter itself, factors of those grouped with it."""
    standard: Array = field(repr=False)
    """The robot's own phi, (columns,)."""
    gap: tuple[float, float]
    """The smallest share of a column that was new, and the largest that counted as rounding."""
    method: str = "rank"
    """Of ``METHODS``, how they were found."""

    @property
    def values(self) -> Array:
        """The robot's own base parameters b = G phi; sums that are nothing but rounding are zero."""
        found = self.grouping @ self.standard
        return np.where(np.abs(found) > _CANCELLED * (np.abs(self.grouping) @ np.abs(self.standard)), found, 0.0)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Parameters on which no force depends."""
        seen = np.asarray(self.grouping.any(axis=0)).tolist()
        return tuple(name for name, some in zip(self.columns, seen, strict=True) if not some)

    @property
    def groups(self) -> dict[str, dict[str, float]]:
        """By base parameter, the factors of all parameters in it.

        >>> import neuler
        >>> found = neuler.robots.two_link().base_parameters()
        >>> found.groups["link2.mx"]
        {'link2.mx': 1.0}
        """
        return {
            name: {column: float(x) for column, x in zip(self.columns, row, strict=True) if x}
            for name, row in zip(self.names, self.grouping, strict=True)
        }

    def regressor(self) -> Kernel:
        """The regressor with these columns alone: tau = Y_b b; refused where there are none."""
        if not self.names:
            raise InputError(
                f"base_parameters: robot {self.robot.name!r} has none among {', '.join(self.columns[:6])}: no force "
                "depends on them, so there is no regressor; name other columns"
            )
        return Kernel(self.robot, "regressor", columns=self.names)

    def minimal(self) -> Robot:
        """A robot with the base parameters in the place of what represents them, and zero elsewhere: the same forces.

        Its links are no real bodies. Its kernels have no more operations than those of the robot, whose parameters
        are regrouped by Khalil's rules when they are compiled.

        >>> import neuler, numpy as np
        >>> arm, still = neuler.robots.rx90(), np.zeros(6)
        >>> small = arm.base_parameters().minimal()
        >>> np.allclose(small.inverse_dynamics(still, still + 1, still), arm.inverse_dynamics(still, still + 1, still))
        True
        """
        found = dict.fromkeys(self.columns, 0.0) | dict(zip(self.names, self.values.tolist(), strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about bodies that are none
            return with_parameters(self.robot, found)

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        """A line for each base parameter: its value and its group; then what has no effect."""
        lost = f"\nwithout effect: {', '.join(self.without_effect)}" if self.without_effect else ""
        head = f"{len(self)} base parameters of {len(self.columns)} parameters"
        return f"{head}\n{table(HEAD, self.rows(), left=3)}{lost}"

    def rows(self) -> list[tuple[str, str, str]]:
        """The rows of a table under ``HEAD``: name, value, group."""
        return [
            (name, f"{value:.6g}", _sum(group))
            for (name, group), value in zip(self.groups.items(), self.values.tolist(), strict=True)
        ]

    def khalil(self) -> list[str]:
        """The groups in Khalil's letters: "ZZR1 = ZZ1 + IA1 + YY2", numbers being those of the joints' links.

        R marks a parameter with which others are grouped; IA is a rotor inertia, FV and FS are viscous and Coulomb
        friction. Only of robots in Khalil's frames are these his parameters (``neuler.from_dh``, SYMORO+ files).

        >>> import neuler
        >>> neuler.robots.rx90().base_parameters().khalil()[0][:16]
        'ZZR1 = ZZ1 + YY2'
        """
        letters, own = _letters(self.robot), self.letters
        return [
            f"{own[name]} = {_sum({letters.get(k, k): x for k, x in group.items()})}" if len(group) > 1 else own[name]
            for name, group in self.groups.items()
        ]

    @property
    def letters(self) -> dict[str, str]:
        """Khalil's letters of the base parameters, by name: names for formulas, ``kernel.sympy(names=...)``.

        >>> import neuler
        >>> base = neuler.robots.rx90().base_parameters()
        >>> base.letters["link1.zz"], base.letters["link2.my"]
        ('ZZR1', 'MY2')
        """
        letters = _letters(self.robot)
        known = {name: letters.get(name, name) for name in self.names}
        return {name: _grouped(known[name]) if len(group) > 1 else known[name] for name, group in self.groups.items()}


def base_parameters(
    robot: Robot, columns: Names = (), *, method: str | None = None, seed: int = 0, tolerance: float = TOLERANCE
) -> BaseParameters:
    """The base parameters of a robot among ``columns`` (as of ``regressor``: by default all that it has).

    ``method``: by "rules", of trees, or by "rank"; by default rules where they apply.
    """
    if number("base_parameters: tolerance", tolerance, above=0.0) >= 1.0:
        raise InputError(f"base_parameters: tolerance is a share of a column's length below one, got {tolerance}")
    whole("base_parameters: seed", seed, 0)
    kernel = Kernel(robot, "regressor", columns=columns)
    parameters = kernel.recipe.columns
    why = _without_rules(robot, parameters)
    method = choice("base_parameters: method", method, METHODS) if method else METHODS[1 if why else 0]
    if method == "rules" and why:
        raise InputError(f"base_parameters: rules are those of trees, and {why}; use method='rank'")
    matrix = _ruled(robot, parameters) if method == "rules" else _sampled(robot, kernel, seed)
    order = _order(robot, parameters)
    length = np.linalg.norm(matrix, axis=0)
    seen = length > np.maximum(_NOTHING * _longest(length, parameters), _ROUNDING * length.max(initial=0.0))
    chosen, least, most = _independent(matrix / np.where(seen, length, 1.0), [k for k in order if seen[k]], tolerance)
    factors = np.zeros((len(chosen), len(length)))
    factors[np.arange(len(chosen)), chosen] = 1.0
    others = [k for k in np.flatnonzero(seen) if k not in set(chosen)]
    if others and chosen:
        scale = length[chosen][:, None] / length[others]
        found = np.linalg.lstsq(matrix[:, chosen] / length[chosen], matrix[:, others] / length[others], rcond=None)[0]
        found[np.abs(found) < _SMALL * np.abs(found).max(axis=0)] = 0.0
        factors[:, others] = found / scale
    names = kernel.column_names
    return BaseParameters(
        robot, tuple(names[k] for k in chosen), names, factors, np.asarray(kernel.column_values), (least, most), method
    )


def _without_rules(robot: Robot, parameters: Sequence[Parameter]) -> str:
    """Why the rules of trees do not apply, or nothing."""
    if robot.loops or robot.couplings or robot.motors:
        what = next(name for name in ("loops", "couplings", "motors") if getattr(robot, name))
        return f"robot {robot.name!r} has {what}"
    slides = {joint.name for joint in robot.joints if joint.type.has_pitch or not all(joint.type.turns)}
    if both := [each.name for each in parameters if each.part == "coulomb_reverse" and each.owner in slides]:
        return f"{both[0]!r} and 'coulomb' together act like the weight of a slide"
    other = [each.name for each in parameters if each.of not in ("link", "payload") and each.part not in _JOINTS]
    return f"{other[0]!r} is no parameter of a link or of a joint's plain friction, rotor or spring" if other else ""


def _ruled(robot: Robot, parameters: Sequence[Parameter]) -> Array:
    """Rows that span what forces depend on: combinations of inertial parameters, and every other parameter alone."""
    alone = [k for k, each in enumerate(parameters) if each.part in _DRIVES]
    inertial = [k for k in range(len(parameters)) if k not in set(alone)]
    combined = np.zeros((0, len(parameters)))
    if inertial:
        found = grouping(robot, [parameters[k] for k in inertial])
        combined = np.zeros((len(found), len(parameters)))
        combined[:, inertial] = found
    return np.concatenate([combined, np.eye(len(parameters))[alone]])


def _sampled(robot: Robot, kernel: Kernel, seed: int) -> Array:
    """The regressor at random states, one under the other, (rows, columns)."""
    rng, width = np.random.default_rng(seed), len(kernel.column_names)
    count = -(-_ROWS * width // max(robot.nu, 1)) + 8
    q = robot.random_configuration(rng, count)
    qd, qdd = rng.normal(size=(2, count, robot.nv))
    found = np.asarray(kernel(q, qd, 4.0 * qdd)).reshape(-1, width)
    found = found[np.isfinite(found).all(axis=1)]
    if len(found) < 2 * width:
        raise RobotError(
            f"base_parameters: robot {robot.name!r} has {len(found)} regular states of {count * robot.nu} at random, "
            f"too few for {width} parameters; its reference is singular, or its loops cannot close near it"
        )
    return found


def _longest(length: Array, parameters: tuple[Parameter, ...]) -> Array:
    """For each column the length of the longest one whose parameter has the same unit."""
    units = {**dict.fromkeys(MOMENT, "moment"), **dict.fromkeys(INERTIA, "inertia")}
    kinds = np.array([units.get(each.part, each.part) for each in parameters])
    return np.array([length[kinds == kind].max(initial=0.0) for kind in kinds])


def _independent(matrix: Array, order: list[int], tolerance: float) -> tuple[list[int], float, float]:
    """Columns, in this order, that those before do not give, sorted; the least share that was new, the largest not."""
    basis = np.empty((len(matrix), 0))
    chosen: list[int] = []
    least, most = np.inf, 0.0
    for k in order:
        rest = matrix[:, k]
        for _ in range(2):  # twice is enough
            rest = rest - basis @ (basis.T @ rest)
        left = float(np.linalg.norm(rest))
        if left > tolerance:
            chosen.append(k)
            least = min(least, left)
            basis = np.column_stack([basis, rest / left])
        else:
            most = max(most, left)
    return sorted(chosen), least, most


# ---- the order of columns -------------------------------------------------------------------------------------------


def _order(robot: Robot, parameters: tuple[Parameter, ...]) -> list[int]:
    """Numbers of the columns: what Khalil's rules leave at a link, then drives, then what they move to its parent."""
    above = {joint.child: joint for joint in robot.joints}
    ranks = []
    for k, each in enumerate(parameters):
        if each.of in ("link", "payload"):
            joint = above.get(each.owner)
            rank = 4 if each.of == "payload" else 3 if joint is not None and not joint.moves else 0
            ranks.append((rank or (2 if joint is not None and each.part in moved(joint) else 0), k))
        else:
            ranks.append((1 if each.part in ("rotor_inertia", "inertia") else 0, k))
    return [k for _, k in sorted(ranks)]


def moved(joint: Joint) -> tuple[str, ...]:
    """Of a link's ten, those that Khalil's rules move across its joint, for an axis along one of the link's own.

    A revolute joint about z moves M, MZ and YY; a prismatic one the inertia; a ball the mass.
    """
    if not joint.type.has_axis:
        return ("mass",) if joint.type.nv == 3 and all(joint.type.turns) else ()
    if joint.type.sigma == 1:
        return INERTIA
    along = int(np.argmax(np.abs(joint.axis)))
    return ("mass", MOMENT[along], INERTIA[(along + 2) % 3])


# ---- words ----------------------------------------------------------------------------------------------------------


def _letters(robot: Robot) -> dict[str, str]:
    """Khalil's letters by the names of parameters."""
    found = {}
    for number_, joint in enumerate((joint for joint in robot.joints if joint.moves), start=1):
        for part in TEN:
            found[f"{joint.child}.{part}"] = f"{'M' if part == 'mass' else part.upper()}{number_}"
        for part, letters in (("rotor_inertia", "IA"), ("viscous", "FV"), ("coulomb", "FS"), ("stiffness", "K")):
            found[f"{joint.name}.{part}"] = f"{letters}{number_}"
    return found


def _grouped(letters: str) -> str:
    """With the R of regrouped parameters before the number: ZZ1 is ZZR1."""
    head = letters.rstrip("0123456789")
    return f"{head}R{letters[len(head) :]}"


def _sum(group: dict[str, float]) -> str:
    """Terms with their factors, "a + 2 b - c"."""
    text = ""
    for name, x in group.items():
        size = "" if abs(abs(x) - 1.0) < 1e-9 else f"{abs(x):.6g} "
        sign = " - " if x < 0 else " + "
        text += f"{sign}{size}{name}" if text else f"{'-' if x < 0 else ''}{size}{name}"
    return text
