"""What the axes of a result with several run over: links, coordinates, parts of a wrench.

Read by whatever describes a kernel's results in another language.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuler.robot.columns import entry_names
from neuler.trace.recipe import Operand

if TYPE_CHECKING:
    from neuler.robot.model import Robot

_WRENCH = ("force x", "y", "z (N)", "moment x", "y", "z (N m)")
_TWIST = ("linear x", "y", "z", "angular x", "y", "z")
_POINT = ("x", "y", "z")
_AXES: dict[str, tuple[str | tuple[str, ...], ...]] = {
    "mass_matrix": ("qd", "qd"),
    "coriolis_matrix": ("qd", "qd"),
    "actuation_matrix": ("tau", "qd"),
    "jacobian": (_TWIST, "qd"),
    "center_of_mass_jacobian": (_POINT, "qd"),
    "centroidal_matrix": (_TWIST, "qd"),
    "poses": ("links", (), ()),
    "reactions": ("links", _WRENCH),
    "velocities": ("links", _TWIST),
    "accelerations": ("links", _TWIST),
    "jerks": ("links", _TWIST),
    "dtau_dq": ("tau", "qd"),
    "dtau_dqd": ("tau", "qd"),
    "dtau_dqdd": ("tau", "qd"),
    "dqdd_dq": ("qd", "qd"),
    "dqdd_dqd": ("qd", "qd"),
    "dqdd_dtau": ("qd", "tau"),
    "dreaction_dq": ("links", _WRENCH, "qd"),
    "dreaction_dqd": ("links", _WRENCH, "qd"),
    "dreaction_dqdd": ("links", _WRENCH, "qd"),
    "regressor": ("tau", "columns"),
    "reaction_regressor": ("links", _WRENCH, "columns"),
    "energy_regressor": (("kinetic (J)", "potential (J)"), "columns"),
    "power_regressor": ("columns",),
    "center_of_mass": (("x", "y", "z (m)"),),
    "momentum": (("linear x", "y", "z (N s)", "angular x", "y", "z (N m s)"),),
    "centroidal_momentum": (("linear x", "y", "z (N s)", "angular x", "y", "z (N m s)"),),
}
"""By operand, of each axis: coordinates, "links" or "columns" (parameters of a regressor), or the names themselves."""
_UNITS = {"dt": "s", "kinetic": "J", "potential": "J"}


def unit_of(operand: Operand) -> str:
    """The unit of a scalar, where it is the same for every robot."""
    return "" if operand.shape else _UNITS.get(operand.name, "")


def axis_names(robot: Robot, operand: Operand, columns: Sequence[str] = ()) -> list[Sequence[str]]:
    """The names along each axis, empty where they have none; ``columns`` are those of a regressor.

    >>> import neuler
    >>> axis_names(neuler.robots.two_link(), Operand("actuation_matrix", (2, 2)))
    [['joint1', 'joint2'], ['joint1', 'joint2']]
    """
    found: list[Sequence[str]] = []
    said = _AXES.get(operand.name, ())
    if len(said) < len(operand.shape):
        return found
    for size, what in zip(operand.shape, said[len(said) - len(operand.shape) :], strict=True):  # of one link no "links"
        names: Sequence[str]
        if what == "links":
            names = [link.name for link in robot.links]
        elif what == "columns":
            names = columns
        elif isinstance(what, str):
            names = entry_names(robot, Operand(what, (size,))) or ()
        else:
            names = what
        found.append(names if len(names) == size else ())
    return found
