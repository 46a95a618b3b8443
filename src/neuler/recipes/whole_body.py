"""The robot as a whole, as recipes: mass centre, momentum about it, and where a velocity leads."""

from __future__ import annotations

from collections.abc import Sequence

from neuler.algebra import vector as vec
from neuler.algebra.screw import Wrench
from neuler.algebra.vector import Matrix
from neuler.errors import RobotError
from neuler.passes.tree import Tree
from neuler.recipes.setup import RobotRecipe, Values, coordinates, fused_tree
from neuler.recursions import centroidal, configuration
from neuler.robot import Robot
from neuler.trace.graph import Scalar
from neuler.trace.recipe import Operand


def _check_mass(robot: Robot) -> None:
    if not robot.mass > 0:
        raise RobotError(f"robot {robot.name!r} has a mass of {robot.mass:g} kg, so it has no mass centre")


def _in_base_axes(tree: Tree, momentum: Wrench) -> list[Scalar]:
    to_base: Matrix = tree.base.rotation
    return [x for part in momentum for x in vec.apply_transposed(to_base, part)]


def _rows_in_base_axes(tree: Tree, rows: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """Rows in threes, turned column by column."""
    to_base: Matrix = tree.base.rotation
    found: list[list[Scalar]] = []
    for first in range(0, len(rows), 3):
        columns = [vec.apply_transposed(to_base, (x, y, z)) for x, y, z in zip(*rows[first : first + 3], strict=True)]
        found.extend([column[k] for column in columns] for k in range(3))
    return [x for row in found for x in row]


def integrate(robot: Robot) -> RobotRecipe:
    """Where q is after the velocity qd has lasted dt (s), qd constant in each link's own frame.

    q + dt qd for revolute and prismatic joints; free links screw along, exactly, and their quaternions keep the
    length one. ``robot.difference`` is its inverse.

    >>> import neuler
    >>> drone = neuler.robots.two_link().with_free_base()
    >>> q = drone.integrate(drone.neutral(), [1, 0, 0, 0, 0, 3.141592653589793, 0, 0], 1.0)
    >>> q[:7].round(3).tolist()  # half a turn to the left on a circle of circumference 2
    [0.0, 0.637, 0.0, 0.0, 0.0, 1.0, 0.0]
    """

    def trace(values: Values) -> list[list[Scalar]]:
        (dt,) = values["dt"]
        return [configuration.integrate(fused_tree(robot), values["q"], values["qd"], dt)]

    inputs = (*coordinates(robot, "q", "qd"), Operand("dt", ()))
    return RobotRecipe(inputs, (Operand("q", (robot.nq,)),), trace)


def center_of_mass(robot: Robot) -> RobotRecipe:
    """Mass centre of all links in the base frame (m): sum m x / sum m, the base's own mass included.

    >>> import neuler
    >>> neuler.robots.two_link().center_of_mass([0.0, 0.0]).shape
    (3,)
    """
    _check_mass(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = fused_tree(robot)
        found = vec.subtract(centroidal.mass_centre(tree, values["q"]), tree.base.translation)
        return [list(vec.apply_transposed(tree.base.rotation, found))]

    return RobotRecipe(coordinates(robot, "q"), (Operand("center_of_mass", (3,)),), trace)


def center_of_mass_jacobian(robot: Robot) -> RobotRecipe:
    """J(q) with J qd the velocity of the mass centre in the base frame (m/s). (q) -> (3, nv).

    >>> import neuler
    >>> neuler.robots.two_link().center_of_mass_jacobian([0.0, 0.0]).shape
    (3, 2)
    """
    _check_mass(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = fused_tree(robot)
        return [_rows_in_base_axes(tree, centroidal.mass_centre_jacobian(tree, values["q"]))]

    return RobotRecipe(coordinates(robot, "q"), (Operand("center_of_mass_jacobian", (3, robot.nv)),), trace)


def centroidal_momentum(robot: Robot) -> RobotRecipe:
    """(linear; angular) momentum of all links about the mass centre, in the base's axes (kg m/s, kg m^2/s).

    >>> import neuler
    >>> neuler.robots.two_link().centroidal_momentum([0.0, 0.0], [0.0, 0.0]).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    _check_mass(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = fused_tree(robot)
        return [_in_base_axes(tree, centroidal.momentum(tree, values["q"], values["qd"]))]

    return RobotRecipe(coordinates(robot, "q", "qd"), (Operand("centroidal_momentum", (6,)),), trace)


def centroidal_momentum_rate(robot: Robot) -> RobotRecipe:
    """Time derivative of ``centroidal_momentum`` along the motion (N, N m): all outer forces, weight and ground's.

    >>> import neuler
    >>> neuler.robots.two_link().centroidal_momentum_rate([0.0, 0.0], [1.0, 0.0], [0.0, 0.0]).shape
    (6,)
    """
    _check_mass(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = fused_tree(robot)
        return [_in_base_axes(tree, centroidal.momentum_rate(tree, values["q"], values["qd"], values["qdd"]))]

    return RobotRecipe(coordinates(robot, "q", "qd", "qdd"), (Operand("centroidal_momentum_rate", (6,)),), trace)


def centroidal_matrix(robot: Robot) -> RobotRecipe:
    """A(q) with A qd = ``centroidal_momentum`` (Orin, Goswami, Lee 2013). (q) -> (6, nv).

    >>> import neuler, numpy
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> numpy.allclose(arm.centroidal_matrix(q) @ qd, arm.centroidal_momentum(q, qd))
    True
    """
    _check_mass(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = fused_tree(robot)
        return [_rows_in_base_axes(tree, centroidal.matrix(tree, values["q"]))]

    return RobotRecipe(coordinates(robot, "q"), (Operand("centroidal_matrix", (6, robot.nv)),), trace)
