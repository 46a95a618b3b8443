"""The robot as a whole: energy, momentum, centre of mass, and momentum about it."""

from __future__ import annotations

from collections.abc import Sequence

from neuler.algebra import vector as vec
from neuler.algebra.screw import Wrench, flat
from neuler.algebra.vector import Matrix
from neuler.errors import RobotError
from neuler.passes.tree import Tree
from neuler.quantities.declare import quantity
from neuler.quantities.link_motion import by_own
from neuler.quantities.setup import RobotRecipe, Values, coordinates, trees
from neuler.recursions import centroidal, frames
from neuler.recursions.energy import kinetic_energy, potential_energy
from neuler.recursions.energy import momentum as momentum_of
from neuler.robot import Robot
from neuler.structure.chart import Chart
from neuler.structure.lift import Lift
from neuler.trace.graph import Scalar
from neuler.trace.recipe import Operand


def _check_mass(robot: Robot) -> None:
    if not robot.mass > 0:
        raise RobotError(f"robot {robot.name!r} has a mass of {robot.mass:g} kg, so it has no centre of mass")


def _in_base_axes(tree: Tree, momentum: Wrench) -> list[Scalar]:
    to_base: Matrix = tree.base.rotation
    return [x for part in momentum for x in vec.apply_transposed(to_base, part)]


def _rows_in_base_axes(tree: Tree, rows: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    """Rows in threes, turned column by column."""
    to_base: Matrix = tree.base.rotation
    found: list[list[Scalar]] = []
    for first in range(0, len(rows), 3):
        columns = [vec.apply_transposed(to_base, (x, y, z)) for x, y, z in zip(*rows[first : first + 3], strict=True)]
        found.extend([column[k] for column in columns] for k in range(3))
    return found


@quantity("q, qd -> kinetic, potential")
def energy(robot: Robot) -> RobotRecipe:
    """Kinetic energy, rotors included, and potential energy, springs included, in J.

    The potential energy is zero where the centre of mass is level with the base frame's origin and no spring is
    strained.

    >>> import neuler
    >>> found = neuler.robots.two_link().energy([0.0, 0.0], [1.0, 0.0])
    >>> bool(found.kinetic > 0)
    True
    """

    def trace(values: Values) -> list[list[Scalar]]:
        chart = Chart(robot, values["q"])
        kinetic = kinetic_energy(trees(robot, values).grouped, chart.q, chart.velocities(values["qd"]))
        return [chart.nan_where_invalid([kinetic]), [potential_energy(trees(robot, values).fused, chart.q)]]

    outputs = (Operand("kinetic", ()), Operand("potential", ()))
    return RobotRecipe(coordinates(robot, "q", "qd"), outputs, trace)


@quantity("q, qd -> momentum")
def momentum(robot: Robot) -> RobotRecipe:
    """Momentum (linear; angular) of all links, (6), in the base frame about its origin: kg m/s, kg m^2/s.

    >>> import neuler
    >>> neuler.robots.two_link().momentum([0.0, 0.0], [1.0, 0.0]).shape
    (6,)
    """

    def trace(values: Values) -> list[list[Scalar]]:
        tree, chart = trees(robot, values).fused, Chart(robot, values["q"])
        carried = momentum_of(tree, chart.q, chart.velocities(values["qd"]))
        return [chart.nan_where_invalid(flat(frames.wrench_at(tree.base, carried)))]

    return RobotRecipe(coordinates(robot, "q", "qd"), (Operand("momentum", (6,)),), trace)


@quantity("q -> center_of_mass")
def center_of_mass(robot: Robot) -> RobotRecipe:
    """Centre of mass of all links, (3), in the base frame (m): sum m x / sum m, the base's own mass included.

    >>> import neuler
    >>> neuler.robots.two_link().center_of_mass([0.0, 0.0]).shape
    (3,)
    """
    _check_mass(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = trees(robot, values).fused
        found = vec.subtract(centroidal.mass_centre(tree, Lift(robot, values["q"]).q), tree.base.translation)
        return [list(vec.apply_transposed(tree.base.rotation, found))]

    return RobotRecipe(coordinates(robot, "q"), (Operand("center_of_mass", (3,)),), trace, unmarked=True)


@quantity("q -> center_of_mass_jacobian")
def center_of_mass_jacobian(robot: Robot) -> RobotRecipe:
    """Jacobian of the centre of mass, (3, nv): J qd is its velocity in the base frame (m/s).

    >>> import neuler
    >>> neuler.robots.two_link().center_of_mass_jacobian([0.0, 0.0]).shape
    (3, 2)
    """
    _check_mass(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        tree, chart = trees(robot, values).fused, Chart(robot, values["q"])
        return [by_own(chart, _rows_in_base_axes(tree, centroidal.mass_centre_jacobian(tree, chart.q)))]

    return RobotRecipe(coordinates(robot, "q"), (Operand("center_of_mass_jacobian", (3, robot.nv)),), trace)


@quantity("q, qd -> centroidal_momentum")
def centroidal_momentum(robot: Robot) -> RobotRecipe:
    """Momentum (linear; angular), (6), about the centre of mass, in the base's axes: kg m/s, kg m^2/s.

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> whole, about = arm.momentum(q, qd), arm.centroidal_momentum(q, qd)
    >>> np.allclose(whole[3:], about[3:] + np.cross(arm.center_of_mass(q), about[:3]))
    True
    """
    _check_mass(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        tree, chart = trees(robot, values).fused, Chart(robot, values["q"])
        momentum = centroidal.momentum(tree, chart.q, chart.velocities(values["qd"]))
        return [chart.nan_where_invalid(_in_base_axes(tree, momentum))]

    return RobotRecipe(coordinates(robot, "q", "qd"), (Operand("centroidal_momentum", (6,)),), trace)


@quantity("q, qd, qdd -> centroidal_momentum_rate")
def centroidal_momentum_rate(robot: Robot) -> RobotRecipe:
    """Time derivative of ``centroidal_momentum`` along the motion, (6), in N and N m.

    It equals the sum of all external forces: weight, and what the ground exerts.

    >>> import neuler
    >>> neuler.robots.two_link().centroidal_momentum_rate([0.0, 0.0], [1.0, 0.0], [0.0, 0.0]).shape
    (6,)
    """
    _check_mass(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        tree, chart = trees(robot, values).fused, Chart(robot, values["q"])
        motion = chart.velocities(values["qd"]), chart.accelerations(values["qd"], values["qdd"])
        return [chart.nan_where_invalid(_in_base_axes(tree, centroidal.momentum_rate(tree, chart.q, *motion)))]

    return RobotRecipe(coordinates(robot, "q", "qd", "qdd"), (Operand("centroidal_momentum_rate", (6,)),), trace)


@quantity("q -> centroidal_matrix")
def centroidal_matrix(robot: Robot) -> RobotRecipe:
    """Centroidal momentum matrix A(q), (6, nv): A qd is ``centroidal_momentum`` (Orin, Goswami, Lee 2013).

    >>> import neuler, numpy
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> numpy.allclose(arm.centroidal_matrix(q) @ qd, arm.centroidal_momentum(q, qd))
    True
    """
    _check_mass(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        tree, chart = trees(robot, values).fused, Chart(robot, values["q"])
        return [by_own(chart, _rows_in_base_axes(tree, centroidal.matrix(tree, chart.q)))]

    return RobotRecipe(coordinates(robot, "q"), (Operand("centroidal_matrix", (6, robot.nv)),), trace)
