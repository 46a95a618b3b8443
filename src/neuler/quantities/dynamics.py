"""Forces for a motion: inverse dynamics, reactions, and the matrices of the equation of motion.

For every robot ``mass_matrix qdd + bias_force = actuation_matrix^T tau``. A trace lifts the robot's coordinates to
its tree by a chart, runs the tree's recursion, and projects the forces back; a tree's chart folds away.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuler.algebra.linear import dot, times
from neuler.algebra.screw import Wrench, flat
from neuler.errors import InputError
from neuler.passes.tree import Tree
from neuler.quantities.declare import Names, quantity
from neuler.quantities.losses import Losses
from neuler.quantities.setup import External, RobotRecipe, Values, coordinates, trees
from neuler.recursions import composite, coriolis, frames
from neuler.recursions.hybrid import HybridResult, hybrid
from neuler.recursions.positions import position_rates
from neuler.robot import Robot
from neuler.structure.chart import Chart
from neuler.structure.closed import Constraints, LoopSolution
from neuler.structure.guides import unguided, unguided_motion
from neuler.structure.lift import Lift
from neuler.structure.mobility import refuse_forceless, refuse_undriven
from neuler.trace.differentiate import tangents
from neuler.trace.graph import Node, Scalar
from neuler.trace.recipe import Operand


def reaction_outputs(robot: Robot) -> tuple[Operand, ...]:
    """Of all links, and of the cut joints where there are loops."""
    cuts = (Operand("cuts", (len(robot.loops), 6)),) if robot.loops else ()
    return (Operand("reactions", (len(robot.shown_names), 6)), *cuts)


def moved_tree(chart: Chart, tree: Tree, values: Values, outside: External, qdd: Sequence[Scalar]) -> HybridResult:
    """All motion given: inverse dynamics of the tree along the robot's motion, Khalil (12)."""
    qd = values["qd"]
    pushed = outside.applied(tree, {**values, "q": chart.q})
    accelerations = chart.accelerations(qd, qdd)
    return hybrid(tree, chart.q, chart.velocities(qd), accelerations, [True] * tree.dof, pushed)


def reactions_of(
    chart: Chart, tree: Tree, values: Values, outside: External, qdd: Sequence[Scalar]
) -> list[list[Scalar]]:
    """Wrenches on all links, and those of the cut joints, in the user's frames.

    The joints in tau carry its forces, the others those of their friction, springs and rotors; what the dependent
    joints lack the loops give.
    """
    alone = moved_tree(chart, tree, values, outside, qdd)
    if chart.solution is None:
        return [by_link(tree, alone.reactions)]
    tau, one = chart.distribute(chart.project(alone.coordinates))
    robot = unguided(chart.robot)
    motion = unguided_motion(chart, list(values["qd"]), list(qdd))
    tree = trees(robot, values).whole
    positions = [x for x, kept in zip(motion[0], _own(robot), strict=True) if kept]
    solution = LoopSolution(Constraints(tree, robot), robot.mobility.choice, positions)
    pushed: dict[int, list[Wrench]] = {
        number: list(some) for number, some in outside.applied(tree, {**values, "q": motion[0]}).items()
    }
    every = [True] * tree.dof
    needed = Lift(robot, positions).project(hybrid(tree, *motion, every, pushed).coordinates)
    for k, x in zip(robot.coordinates.active, tau, strict=True):
        needed[k] = needed[k] - x
    forces = solution.forces(needed)
    cuts: list[Scalar] = []
    at = 0
    for loop, part in zip(robot.loops, solution.constraints.closures, strict=True):
        back, onto = part.wrench(motion[0], forces[at : at + loop.constraints])
        at += loop.constraints
        cuts += [x * one for x in flat(onto)]
        for body, placement, wrench in zip(part.bodies, part.placements, (back, onto), strict=True):
            pushed.setdefault(body, []).append(frames.wrench_from(placement, wrench))
    solved = hybrid(tree, *motion, every, pushed)
    return [[x * one for x in by_link(tree, solved.reactions)], cuts]


def _own(robot: Robot) -> list[bool]:
    """Of every position of the tree, whether it is one of the robot's own."""
    followers = {coupling.joint for coupling in robot.couplings}
    return [entry.name not in followers for entry in robot.tree.coordinates.owners("q")]


def by_link(tree: Tree, reactions: Sequence[Wrench]) -> list[Scalar]:
    """In the user's link frames, at their origins."""
    rows: list[Scalar] = []
    for name in tree.link_names:
        number, placement = tree.frames[name]
        rows.extend(flat(frames.wrench_at(placement, reactions[number])))
    return rows


@quantity("q, qd, qdd -> tau")
def inverse_dynamics(robot: Robot, *, external: Names = (), loads: Names = (), reactions: bool = False) -> RobotRecipe:
    """Joint forces for a motion, (nu), in N m and N: tau = M(q) qdd + h(q, qd) - J(q)^T w.

    h is the bias force (Coriolis, centrifugal, gravity, friction, springs), w are external wrenches. Khalil (12); with
    loops (55)-(57), (66).

    ``external`` names frames on which a wrench (force; moment) acts, in the frame's own axes; ``loads`` names frames on
    which one acts in the base's axes. Each adds an input, ``wrench_FRAME`` or ``load_FRAME``. ``reactions=True``
    returns the reaction wrenches, too. If more joints are driven than the robot has degrees of freedom, tau is the
    solution with the least sum of squares.

    >>> import neuler
    >>> arm = neuler.robots.two_link()
    >>> arm.inverse_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape
    (2,)
    >>> arm.inverse_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0], loads={"link2": [0, -5, 0, 0, 0, 0]}).shape
    (2,)
    """
    outside = External.of(robot, external, loads)
    refuse_undriven(robot, "inverse_dynamics")

    def trace(values: Values) -> list[list[Scalar]]:
        tree = trees(robot, values).whole if reactions else trees(robot, values).grouped
        chart = Chart(robot, values["q"], tree if reactions else None)
        solved = moved_tree(chart, tree, values, outside, values["qdd"])
        tau, one = chart.distribute(chart.project(solved.coordinates))
        tau = Losses(robot, tree, chart.rates(values["qd"])).tau_from_load(tau)
        found = [[x * one for x in tau]]
        return found + reactions_of(chart, tree, values, outside, values["qdd"]) if reactions else found

    outputs = coordinates(robot, "tau") + (reaction_outputs(robot) if reactions else ())
    return RobotRecipe(coordinates(robot, "q", "qd", "qdd") + outside.inputs(), outputs, trace)


@quantity("q, qd, qdd -> force")
def generalized_force(robot: Robot, *, external: Names = (), loads: Names = ()) -> RobotRecipe:
    """Force along the robot's own velocities, (nv): M(q) qdd + h(q, qd) - J(q)^T w.

    For a tree this is ``inverse_dynamics``; for other robots it is actuation_matrix^T tau, for a parallel robot the
    bracket of Khalil (66). Load-dependent friction is not part of it: it acts on tau.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> machine.generalized_force(machine.neutral(), [0.0], [0.0]).shape
    (1,)
    """
    outside = External.of(robot, external, loads)

    def trace(values: Values) -> list[list[Scalar]]:
        chart = Chart(robot, values["q"])
        solved = moved_tree(chart, trees(robot, values).grouped, values, outside, values["qdd"])
        return [chart.nan_where_invalid(chart.project(solved.coordinates))]

    inputs = coordinates(robot, "q", "qd", "qdd") + outside.inputs()
    return RobotRecipe(inputs, (Operand("force", (robot.nv,)),), trace)


@quantity("q, qd -> bias")
def bias_force(robot: Robot, *, external: Names = (), loads: Names = ()) -> RobotRecipe:
    """Bias force h(q, qd), (nv): Coriolis, centrifugal, gravity, friction and spring forces.

    tau = M(q) qdd + h(q, qd) for a tree. H of Khalil (7); with loops H_c of (58). Load-dependent friction is not part
    of it: it acts on tau, and ``inverse_dynamics`` includes it.

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> np.allclose(arm.bias_force(q, qd), arm.inverse_dynamics(q, qd, [0.0, 0.0]))
    True
    """
    whole = generalized_force.make(robot, external=external, loads=loads)
    still = [0.0] * robot.nv
    inputs = tuple(operand for operand in whole.inputs if operand.name != "qdd")
    trace = lambda values: whole.trace({**values, "qdd": list(still)})  # noqa: E731
    return RobotRecipe(inputs, (Operand("bias", (robot.nv,)),), trace)


@quantity("q -> gravity")
def gravity_force(robot: Robot) -> RobotRecipe:
    """Force that holds the robot still, (nv): the gradient of the potential energy, springs included.

    >>> import neuler, numpy as np
    >>> arm, q = neuler.robots.puma560(), np.full(6, 0.3)
    >>> up = [arm.energy(q + x, 0 * q).potential - arm.energy(q - x, 0 * q).potential for x in 1e-6 * np.eye(6)]
    >>> np.allclose(arm.gravity_force(q), np.array(up) / 2e-6, atol=1e-6)
    True
    """
    whole = generalized_force.make(robot)
    still = [0.0] * robot.nv
    trace = lambda values: whole.trace({**values, "qd": list(still), "qdd": list(still)})  # noqa: E731
    return RobotRecipe(coordinates(robot, "q"), (Operand("gravity", (robot.nv,)),), trace)


# ---- matrices -------------------------------------------------------------------------------------


def reduced_mass(chart: Chart, tree: Tree) -> list[list[Scalar]]:
    """G^T A G of Khalil (58); A of a tree."""
    inertia = composite.mass_matrix(tree, chart.q)
    if chart.trivial:
        return inertia
    columns = chart.columns()
    moved = [times(inertia, column) for column in columns]  # columns of A G
    every = range(len(columns))
    upper = [[dot(columns[i], moved[k]) if k >= i else 0.0 for k in every] for i in every]
    return [[upper[min(i, k)][max(i, k)] for k in every] for i in every]


@quantity("q -> mass_matrix")
def mass_matrix(robot: Robot) -> RobotRecipe:
    """Mass matrix M(q), (nv, nv), symmetric, rotor inertia included: kinetic energy = qd . M qd / 2.

    A of Khalil (7), by composite links; with loops A_c = G^T A G of (58).

    >>> import neuler
    >>> M = neuler.robots.two_link().mass_matrix([0.1, 0.2])
    >>> M.shape, bool(M[0, 1] == M[1, 0])
    ((2, 2), True)
    """
    n = robot.nv

    def trace(values: Values) -> list[list[Scalar]]:
        chart = Chart(robot, values["q"])
        matrix = reduced_mass(chart, trees(robot, values).grouped)
        return [chart.nan_where_invalid([x for row in matrix for x in row])]

    return RobotRecipe(coordinates(robot, "q"), (Operand("mass_matrix", (n, n)),), trace)


@quantity("q, qd -> coriolis_matrix")
def coriolis_matrix(robot: Robot) -> RobotRecipe:
    """Coriolis matrix C(q, qd), (nv, nv): C qd are the Coriolis and centrifugal forces.

    The matrix dM/dt - 2 C is skew-symmetric. By composite links (Echeandia and Wensing 2021); with couplings or loops
    G^T (C G + A dG/dt).

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), np.array([0.1, 0.2]), np.array([0.3, 0.4])
    >>> np.allclose(arm.coriolis_matrix(q, qd) @ qd, arm.bias_force(q, qd) - arm.gravity_force(q))
    True
    """
    n = robot.nv

    def trace(values: Values) -> list[list[Scalar]]:
        q, qd = values["q"], values["qd"]
        chart, tree = Chart(robot, q), trees(robot, values).grouped
        matrix = coriolis.coriolis_matrix(tree, chart.q, chart.velocities(qd))
        if chart.trivial:
            return [[x for row in matrix for x in row]]
        inertia, columns = composite.mass_matrix(tree, chart.q), chart.columns()
        turned = [[0.0] * len(column) for column in columns]
        if not _constant(robot):
            if not all(isinstance(x, Node) for x in q):
                raise InputError("coriolis_matrix: of a robot with loops or couplings it is made compiled only")
            along = dict(zip(q, position_rates(robot.moving_joints, q, chart.rates(qd)), strict=True))
            turned = [tangents(column, along) for column in columns]  # type: ignore[arg-type, misc]
        bent = [
            [a + b for a, b in zip(times(matrix, column), times(inertia, rate), strict=True)]
            for column, rate in zip(columns, turned, strict=True)
        ]
        return [chart.nan_where_invalid([dot(row, column) for row in columns for column in bent])]

    return RobotRecipe(coordinates(robot, "q", "qd"), (Operand("coriolis_matrix", (n, n)),), trace)


def _constant(robot: Robot) -> bool:
    """Whether the chart is the same at every position: gears alone."""
    return not robot.loops and all(coupling.function is None for coupling in robot.couplings)


@quantity("q -> actuation_matrix")
def actuation_matrix(robot: Robot) -> RobotRecipe:
    """Velocities of the joints in tau per velocity of the robot, (nu, nv): v_tau = actuation_matrix qd.

    Its transpose turns tau into generalized force: mass_matrix qdd + bias_force = actuation_matrix^T tau. For a tree it
    is the identity; for a parallel robot the inverse of the platform's Jacobian.

    >>> import neuler
    >>> neuler.robots.two_link().actuation_matrix([0.1, 0.2]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    refuse_forceless(robot, "actuation_matrix")

    def trace(values: Values) -> list[list[Scalar]]:
        chart = Chart(robot, values["q"])
        return [chart.nan_where_invalid([x for row in chart.actuation() for x in row])]

    return RobotRecipe(coordinates(robot, "q"), (Operand("actuation_matrix", (robot.nu, robot.nv)),), trace)


# ---- reactions ------------------------------------------------------------------------------------


@quantity("q, qd, qdd -> reactions")
def reaction_wrenches(robot: Robot, *, external: Names = (), loads: Names = ()) -> RobotRecipe:
    """Wrenches of each parent link on its child, (links, 6): (force; moment), N and N m.

    Row k belongs to ``robot.links[k]``, in that link's frame at its origin; row 0 is what the ground exerts on the
    base. Khalil (26)-(30). Forces of redundant constraints, which rigid links leave undetermined (those across the
    plane of a planar loop), are set to zero.

    >>> import neuler
    >>> neuler.robots.two_link().reaction_wrenches([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape
    (3, 6)
    """
    return _reactions(robot, "reaction_wrenches", 0, External.of(robot, external, loads))


@quantity("q, qd, qdd -> cuts", only="loops")
def loop_wrenches(robot: Robot, *, external: Names = (), loads: Names = ()) -> RobotRecipe:
    """Wrenches in the cut joints, (loops, 6): (force; moment) of the first frame on the second, in the second.

    Forces of redundant constraints are set to zero.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> machine.loop_wrenches(machine.neutral(), [0.0], [0.0]).shape
    (1, 6)
    """
    return _reactions(robot, "loop_wrenches", 1, External.of(robot, external, loads))


def _reactions(robot: Robot, quantity: str, which: int, outside: External) -> RobotRecipe:
    refuse_undriven(robot, quantity)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = trees(robot, values).whole
        return [reactions_of(Chart(robot, values["q"], tree), tree, values, outside, values["qdd"])[which]]

    inputs = coordinates(robot, "q", "qd", "qdd") + outside.inputs()
    return RobotRecipe(inputs, (reaction_outputs(robot)[which],), trace)
