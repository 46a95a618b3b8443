"""What exists for loops alone: how far they are open, how their joints follow, and their forces."""

from __future__ import annotations

from collections.abc import Sequence

from neuler.algebra.linear import dot
from neuler.passes.trees import may_vanish
from neuler.quantities.declare import Names, quantity
from neuler.quantities.losses import Losses
from neuler.quantities.setup import RobotRecipe, Values, coordinates, trees
from neuler.recursions.composite import mass_matrix
from neuler.recursions.factor import Factor
from neuler.recursions.hybrid import hybrid
from neuler.recursions.positions import integrate
from neuler.robot import Robot
from neuler.structure.chart import Chart
from neuler.structure.closed import Constraints, LoopSolution, margin
from neuler.structure.inertias import usual_own
from neuler.structure.lift import Lift
from neuler.structure.mobility import choose, refuse_undriven
from neuler.structure.stepping import closing_step
from neuler.trace.graph import Scalar, one_if_above, sqrt
from neuler.trace.recipe import Operand

_LONGEST = 0.8
"""Radians or metres that one step of an assembly goes at most."""
_DEPENDENT = 1e-7
"""Margin of W A^-1 W^T below which constraints depend on each other."""


@quantity("q -> open_by, jacobian", only="loops")
def closure(robot: Robot) -> RobotRecipe:
    """One residual per constraint (m, rad), zero where the loops are closed, Khalil (3); and their Jacobian W, (4).

    W has a row for each constraint and a column for each velocity of the joints that have coordinates.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> bool(abs(machine.closure(machine.neutral()).open_by).max() < 1e-12)
    True
    """
    n = robot.coordinates.velocities

    def trace(values: Values) -> list[list[Scalar]]:
        constraints = Constraints(trees(robot, values).fused, robot)
        rows = constraints.jacobian(values["q"])
        matrix = [row.get(k, 0.0) for row in rows for k in range(n)]
        return [constraints.open_by(values["q"]), matrix]

    outputs = (Operand("open_by", (robot.constraints,)), Operand("jacobian", (robot.constraints, n)))
    return RobotRecipe((Operand("q", (robot.nq,)),), outputs, trace, open_loops=True, unmarked=True)


@quantity("q, share -> gap, reach, next", only="loops")
def assembly_step(robot: Robot, *, independent: Names | None = None) -> RobotRecipe:
    """One Newton step towards closed loops: the gap (m, rad), the size of the step, and the next q.

    q moves by ``share`` of the step. Long steps are limited smoothly to 0.8 (m, rad); short ones are unchanged.
    ``independent`` names other joints that stay where they are. ``robot.assemble`` does the whole iteration.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> bool(machine.assembly_step(machine.neutral(), 1.0).gap < 1e-12)
    True
    """
    names = None if independent is None else (independent,) if isinstance(independent, str) else tuple(independent)
    choice = choose(robot, robot.mobility, names, held=True)

    def trace(values: Values) -> list[list[Scalar]]:
        q = values["q"]
        solution = LoopSolution(Constraints(trees(robot, values).fused, robot), choice, q)
        step = closing_step(solution)
        reach = _size(step)
        bounded = values["share"][0] / sqrt(1.0 + (reach * reach) * (1.0 / _LONGEST**2))
        return [[_size(solution.constraints.open_by(q))], [reach], integrate(robot.moving_joints, q, step, bounded)]

    outputs = (Operand("gap", ()), Operand("reach", ()), Operand("next", (robot.nq,)))
    return RobotRecipe(
        (Operand("q", (robot.nq,)), Operand("share", ())), outputs, trace, open_loops=True, unmarked=True
    )


def _size(values: Sequence[Scalar]) -> Scalar:
    return sqrt(dot(values, values))


@quantity("q -> upright", only="loops")
def upright(robot: Robot) -> RobotRecipe:
    """One number for each loop: negative where it is closed with its axes opposite, the wrong way round.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> bool((machine.upright(machine.neutral()) > 0).all())
    True
    """

    def trace(values: Values) -> list[list[Scalar]]:
        return [Constraints(trees(robot, values).fused, robot).turned_over(values["q"])]

    outputs = (Operand("upright", (len(robot.loops),)),)
    return RobotRecipe((Operand("q", (robot.nq,)),), outputs, trace, open_loops=True, unmarked=True)


@quantity("q -> coupling", only="loops")
def coupling_matrix(robot: Robot) -> RobotRecipe:
    """Velocities of all joints of the tree per velocity of the robot, (tree.nv, nv): G of Khalil (56).

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> machine.coupling_matrix(machine.neutral()).shape
    (3, 1)
    """

    def trace(values: Values) -> list[list[Scalar]]:
        chart = Chart(robot, values["q"])
        return [chart.nan_where_invalid([x for row in zip(*chart.columns(), strict=True) for x in row])]

    return RobotRecipe(coordinates(robot, "q"), (Operand("coupling", (robot.tree.nv, robot.nv)),), trace)


@quantity("q -> joints, motors", only="loops")
def singularity(robot: Robot) -> RobotRecipe:
    """Distances from singular poses, 0 (singular) to 1: of the joints, and of the motors.

    ``joints`` is 0 where the independent velocities do not determine the others (a stretched leg of a parallel robot),
    ``motors`` where the forces in tau cannot hold some motion (the platform gains a degree of freedom).

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> bool(machine.singularity(machine.neutral()).joints > 0.1)
    True
    """

    def trace(values: Values) -> list[list[Scalar]]:
        chart = Chart(robot, values["q"])
        assert chart.solution is not None
        least = chart.actuation_columns()[1] if robot.mobility.driven == robot.nv else 0.0
        return [[chart.solution.margin], [least]]

    coordinates(robot, "q")
    outputs = (Operand("joints", ()), Operand("motors", ()))
    return RobotRecipe((Operand("q", (robot.nq,)),), outputs, trace, unmarked=True)


@quantity("q, qd, qdd -> qd_tree, qdd_tree", only="loops")
def tree_motion(robot: Robot) -> RobotRecipe:
    """Velocities and accelerations of all joints of the tree, (tree.nv) each: Khalil (4) and its derivative.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> machine.tree_motion(machine.neutral(), [1.0], [0.0]).qd_tree.shape
    (3,)
    """

    def trace(values: Values) -> list[list[Scalar]]:
        chart = Chart(robot, values["q"])
        qd, qdd = values["qd"], values["qdd"]
        return [chart.nan_where_invalid(chart.velocities(qd)), chart.nan_where_invalid(chart.accelerations(qd, qdd))]

    outputs = (Operand("qd_tree", (robot.tree.nv,)), Operand("qdd_tree", (robot.tree.nv,)))
    return RobotRecipe(coordinates(robot, "q", "qd", "qdd"), outputs, trace)


@quantity("q -> platform_jacobian", only="loops")
def platform_jacobian(robot: Robot) -> RobotRecipe:
    """Velocities of the robot per velocity of the joints in tau, (nv, nu): J_p of Khalil (60).

    With more motors than degrees of freedom it accepts any velocities of the motors and returns the nearest possible
    motion.

    >>> import neuler
    >>> robot = neuler.robots.delta()
    >>> robot.platform_jacobian(robot.neutral()).shape
    (3, 3)
    """
    refuse_undriven(robot, "platform_jacobian")

    def trace(values: Values) -> list[list[Scalar]]:
        chart = Chart(robot, values["q"])
        columns = [chart.distribute([float(i == k) for i in range(robot.nv)]) for k in range(robot.nv)]
        return [[x * one for row, one in columns for x in row]]

    return RobotRecipe(coordinates(robot, "q"), (Operand("platform_jacobian", (robot.nv, robot.nu)),), trace)


@quantity("q, qd, tau, damping -> qdd, forces", only="loops")
def constrained_dynamics(robot: Robot) -> RobotRecipe:
    """Accelerations of all joints with the loops held by constraint forces, and these forces.

    A qdd + H = tau + W^T forces with W qdd + dW/dt qd = -drift. Here qd, qdd and tau are those of all joints that have
    coordinates. ``damping`` (1/s) is the rate a at which a loop that has opened by c closes again, drift = 2 a dc/dt +
    a^2 c (Baumgarte); zero leaves it open. ``forces`` are those of all constraints; redundant ones, which rigid links
    leave undetermined, are zero. Poses at which the motors do not determine the motion cause no difficulty; where the
    constraints themselves become dependent, where branches of the assembly meet, the results are NaN. Every joint needs
    inertia.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> machine.constrained_dynamics(machine.neutral(), [0.0] * 3, [0.0] * 3, 0.0).qdd.shape
    (3,)
    """
    facts = robot.mobility
    n = robot.coordinates.velocities
    usual: dict[int, float] = {}
    if robot.couplings:  # of the joints with coordinates, not of those that follow them
        names = [entry.name for entry in robot.coordinates.owners("qd", every=True)]
        usual = usual_own(robot.replace(loops=(), reference=None, independent=None), "constrained_dynamics", names)
        vanishing = tuple(dict.fromkeys(names)) if usual else ()
    else:
        vanishing = may_vanish(robot.tree, "constrained_dynamics", [False] * robot.tree.nv)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = trees(robot, values).grouped
        q, qd, rate = values["q"], values["qd"], values["damping"][0]
        constraints = Constraints(trees(robot, values).fused, robot)
        lift = Lift(robot, q)
        tau = Losses(robot, tree, qd, every=True).load_from_tau(values["tau"])
        rows, gap, bias = constraints.jacobian(q), constraints.open_by(q), constraints.bias(q, qd)
        matrix = mass_matrix(tree, lift.q)
        if robot.couplings:
            led = [[row.get(k, 0.0) for row in lift.rows()] for k in range(n)]  # a column a velocity
            moved = [[dot(row, column) for row in matrix] for column in led]
            bent = lift.accelerations(qd, [0.0] * n)
            rest = lift.project(hybrid(tree, lift.q, lift.velocities(qd), bent, [True] * tree.dof).coordinates)
            factor = Factor([[dot(column, force) for force in moved] for column in led], constraints.names, usual)
            free = factor.solve([t - h for t, h in zip(tau, rest, strict=True)])
        else:
            factor = Factor(matrix, tree.freedom_names, tree.usual)
            free = hybrid(tree, q, qd, tau, [False] * n).coordinates
        whole = [[rows[k].get(i, 0.0) for i in range(n)] for k in facts.rows]
        answers = [factor.solve(row) for row in whole]  # columns of A^-1 W^T
        lacking = []
        for k, row in zip(facts.rows, whole, strict=True):
            drift = rate * (2.0 * dot(row, qd) + rate * gap[k])
            lacking.append(-(dot(row, free) + bias[k] + drift))
        admitted = [[dot(row, answer) for answer in answers] for row in whole]
        loops = Factor(admitted, [f"constraint {k}" for k in facts.rows])
        one = one_if_above(margin([row[k] for k, row in enumerate(admitted)], loops.inverse), _DEPENDENT)
        held = loops.solve(lacking)
        found = [(a + dot([x[i] for x in answers], held)) * one for i, a in enumerate(free)]
        forces: list[Scalar] = [0.0] * robot.constraints
        for k, force in zip(facts.rows, held, strict=True):
            forces[k] = force * one
        return [found, forces]

    inputs = (Operand("q", (robot.nq,)), Operand("qd", (n,)), Operand("tau", (n,)), Operand("damping", ()))
    outputs = (Operand("qdd", (n,)), Operand("forces", (robot.constraints,)))
    return RobotRecipe(inputs, outputs, trace, may_vanish=vanishing, open_loops=True)
