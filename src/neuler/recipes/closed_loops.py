"""Mechanisms as recipes: Khalil 4 by the recursions of the tree, along the motions that the loops allow.

``q`` is a position of the tree at which the loops are closed (``mechanism.assemble`` finds it); ``qd`` and
``qdd`` are those of the independent joints. Where these do not decide the others, at a singular pose, and
where the loops are open, the results are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from neuler.algebra.linear import dot, times, transposed_times
from neuler.errors import InputError, RobotError
from neuler.passes.tree import Tree
from neuler.recipes.mobility import chart, mobility, usual_reduced, velocity_numbers
from neuler.recipes.setup import RobotRecipe, Values, fused_tree, grouped_tree, may_vanish, whole_tree
from neuler.recursions import frames
from neuler.recursions.closed import SINGULAR, Chart, Constraints, Solution, independent_columns, margin
from neuler.recursions.composite import mass_matrix
from neuler.recursions.configuration import integrate, position_rates
from neuler.recursions.factor import Factor
from neuler.recursions.hybrid import hybrid
from neuler.robot import Mechanism
from neuler.trace.differentiate import tangents
from neuler.trace.graph import Node, Scalar, one_if_above, sqrt
from neuler.trace.recipe import Operand

Independent = str | Iterable[str] | None

_LONGEST = 0.8
"""Radians or metres that one step of an assembly goes at most."""
_DEPENDENT = 1e-7
"""Margin of W A^-1 W^T below which constraints depend on each other."""


def _chosen(mechanism: Mechanism, independent: Independent) -> Chart:
    picked = chart(mechanism, _names(independent))
    if not picked.independent:
        raise RobotError(
            f"mechanism {mechanism.name!r} has no freedom: its loops hold every joint. Of such a structure there are "
            "closure and constrained_dynamics alone"
        )
    return picked


def _names(independent: Independent) -> tuple[str, ...] | None:
    return None if independent is None else (independent,) if isinstance(independent, str) else tuple(independent)


def _solution(mechanism: Mechanism, chart: Chart, q: Sequence[Scalar]) -> Solution:
    tree = fused_tree(mechanism.tree)
    return Solution(Constraints(tree, mechanism), chart, q)


def _whole(solution: Solution) -> Scalar:
    """One, or NaN at a singular pose and where the loops are open."""
    return one_if_above(solution.margin, SINGULAR) * solution.constraints.closed(solution.q)


def _inputs(mechanism: Mechanism, chart: Chart, *names: str) -> tuple[Operand, ...]:
    size = {"q": mechanism.tree.nq, "tau": len(_active(mechanism))}
    return tuple(Operand(name, (size.get(name, len(chart.independent)),)) for name in names)


def _active(mechanism: Mechanism) -> list[int]:
    """Numbers of the driven velocities."""
    return [k for k, _ in velocity_numbers(mechanism, mechanism.active_names)]


# ---- kinematics ---------------------------------------------------------------------------------


def closure(mechanism: Mechanism) -> RobotRecipe:
    """How far the loops are open (m, rad): zero where they are closed, Khalil (3); and W, (4)."""
    tree = fused_tree(mechanism.tree)

    def trace(values: Values) -> list[list[Scalar]]:
        constraints = Constraints(tree, mechanism)
        rows = constraints.jacobian(values["q"])
        matrix = [row.get(k, 0.0) for row in rows for k in range(tree.dof)]
        return [constraints.open_by(values["q"]), matrix]

    size = mechanism.constraints
    outputs = (Operand("open_by", (size,)), Operand("jacobian", (size, mechanism.tree.nv)))
    return RobotRecipe((Operand("q", (mechanism.tree.nq,)),), outputs, trace, open_loops=True, unmarked=True)


def assembly_step(mechanism: Mechanism, *, independent: Independent = None) -> RobotRecipe:
    """Newton's step of the dependent joints to closed loops: how far they are open, and where q would go.

    (q, share) -> (gap, reach, next): the gap's size, the step's, and q moved by ``share`` of the step, which is
    bounded smoothly: a long one to ``_LONGEST``, a short one not at all.
    """
    picked = chart(mechanism, _names(independent), held=True)
    tree = fused_tree(mechanism.tree)

    def trace(values: Values) -> list[list[Scalar]]:
        q = values["q"]
        solution = _solution(mechanism, picked, q)
        gap = solution.constraints.open_by(q)
        follow = solution.dependent([-gap[k] for k in picked.rows])
        step: list[Scalar] = [0.0] * tree.dof
        for k, x in zip(picked.dependent, follow, strict=True):
            step[k] = x
        reach = _size(step)
        bounded = values["share"][0] / sqrt(1.0 + (reach * reach) * (1.0 / _LONGEST**2))
        return [[_size(gap)], [reach], integrate(tree, q, step, bounded)]

    outputs = (Operand("gap", ()), Operand("reach", ()), Operand("next", (mechanism.tree.nq,)))
    return RobotRecipe(
        (Operand("q", (mechanism.tree.nq,)), Operand("share", ())), outputs, trace, open_loops=True, unmarked=True
    )


def _size(values: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for x in values:
        total = total + x * x
    return sqrt(total)


def upright(mechanism: Mechanism) -> RobotRecipe:
    """Of every loop: negative where it is closed with its axes opposite, the wrong way round."""
    if not mechanism.loops:
        raise RobotError(f"upright: mechanism {mechanism.name!r} has couplings, but no loop")

    def trace(values: Values) -> list[list[Scalar]]:
        return [Constraints(fused_tree(mechanism.tree), mechanism).turned_over(values["q"])]

    outputs = (Operand("upright", (len(mechanism.loops),)),)
    return RobotRecipe((Operand("q", (mechanism.tree.nq,)),), outputs, trace, open_loops=True, unmarked=True)


def coupling_matrix(mechanism: Mechanism, *, independent: Independent = None) -> RobotRecipe:
    """G = d(q)/d(q_i), Khalil (56): all velocities of the tree by the independent ones, (nv, freedoms)."""
    picked = _chosen(mechanism, independent)

    def trace(values: Values) -> list[list[Scalar]]:
        solution = _solution(mechanism, picked, values["q"])
        one = _whole(solution)
        return [[x * one for row in solution.coupling() for x in row]]

    outputs = (Operand("coupling", (mechanism.tree.nv, len(picked.independent))),)
    return RobotRecipe(_inputs(mechanism, picked, "q"), outputs, trace)


def singularity(mechanism: Mechanism, *, independent: Independent = None) -> RobotRecipe:
    """From 0, where the independent joints do not decide the others, to 1."""
    picked = _chosen(mechanism, independent)
    trace = lambda values: [[_solution(mechanism, picked, values["q"]).margin]]  # noqa: E731
    return RobotRecipe(_inputs(mechanism, picked, "q"), (Operand("margin", ()),), trace, unmarked=True)


def tree_motion(mechanism: Mechanism, *, independent: Independent = None) -> RobotRecipe:
    """Velocities and accelerations of all joints, from Khalil (4) and its derivative: (q, qd, qdd) -> (nv), (nv)."""
    picked = _chosen(mechanism, independent)

    def trace(values: Values) -> list[list[Scalar]]:
        solution = _solution(mechanism, picked, values["q"])
        _, qd, qdd = _motion(solution, values["qd"], values["qdd"])
        one = _whole(solution)
        return [[x * one for x in qd], [x * one for x in qdd]]

    outputs = (Operand("qd_tree", (mechanism.tree.nv,)), Operand("qdd_tree", (mechanism.tree.nv,)))
    return RobotRecipe(_inputs(mechanism, picked, "q", "qd", "qdd"), outputs, trace)


def _motion(
    solution: Solution, qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> tuple[list[list[Scalar]], list[Scalar], list[Scalar]]:
    """G, and velocities and accelerations of the tree."""
    g = solution.coupling()
    rates = times(g, qd)
    rest = solution.remainder(rates)
    return g, rates, [a + b for a, b in zip(times(g, qdd), rest, strict=True)]


# ---- dynamics -----------------------------------------------------------------------------------


def _tree_forces(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
    """Gamma_tr, Khalil (12)."""
    return hybrid(tree, q, qd, qdd, [True] * tree.dof).coordinates


def _shared(
    solution: Solution, g: Sequence[Sequence[Scalar]], active: Sequence[int], needed: Sequence[Scalar]
) -> tuple[list[Scalar], Scalar]:
    """Forces of the active joints with G_a^T tau = needed; of all that do, where there are more, the least.

    And one, or NaN where the loops or the motors do not decide the motion.
    """
    rows = [g[k] for k in active]
    if len(rows) == len(needed) and all(_unit(row, k) for k, row in enumerate(rows)):
        return list(needed), _whole(solution)
    names = [solution.constraints.tree.freedom_names[k] for k in solution.chart.independent]
    motors, even = independent_columns(list(zip(*rows, strict=True)), names)
    return motors.least(needed), _whole(solution) * one_if_above(even, SINGULAR)


def _unit(row: Sequence[Scalar], k: int) -> bool:
    return all(not isinstance(x, Node) and x == float(i == k) for i, x in enumerate(row))


def _inverse(mechanism: Mechanism, picked: Chart, values: Values) -> list[Scalar]:
    solution = _solution(mechanism, picked, values["q"])
    g, qd, qdd = _motion(solution, values["qd"], values["qdd"])
    forces = _tree_forces(grouped_tree(mechanism.tree), values["q"], qd, qdd)
    tau, one = _shared(solution, g, _active(mechanism), transposed_times(g, forces))
    return [x * one for x in tau]


def inverse_dynamics(mechanism: Mechanism, *, independent: Independent = None) -> RobotRecipe:
    """Gamma_c = G^T Gamma_tr, Khalil (55)-(57), of the active joints: (q, qd, qdd) -> tau.

    Where more joints are driven than the mechanism has freedoms, the torques are the least (in the sum of their
    squares) of all that do it.
    """
    picked = _chosen(mechanism, independent)
    _drivable(mechanism)
    outputs = _inputs(mechanism, picked, "tau")
    return RobotRecipe(
        _inputs(mechanism, picked, "q", "qd", "qdd"), outputs, lambda values: [_inverse(mechanism, picked, values)]
    )


def _drivable(mechanism: Mechanism) -> None:
    chart(mechanism)  # names what the active joints leave undecided


def _projected(
    mechanism: Mechanism, picked: Chart, values: Values
) -> tuple[Solution, list[list[Scalar]], list[list[Scalar]], list[Scalar]]:
    """G, A_c and H_c of Khalil (58)."""
    tree = grouped_tree(mechanism.tree)
    q = values["q"]
    solution = _solution(mechanism, picked, q)
    g = solution.coupling()
    inertia = mass_matrix(tree, q)
    moved = [times(inertia, column) for column in zip(*g, strict=True)]  # columns of A G
    reduced = [[dot(column, force) for force in moved] for column in zip(*g, strict=True)]
    if "qd" not in values:
        return solution, g, reduced, []
    rates = times(g, values["qd"])
    bias = transposed_times(g, _tree_forces(tree, q, rates, solution.remainder(rates)))
    return solution, g, reduced, bias


def mass_matrix_of(mechanism: Mechanism, *, independent: Independent = None) -> RobotRecipe:
    """A_c = G^T A G of Khalil (58), (freedoms, freedoms)."""
    picked = _chosen(mechanism, independent)
    m = len(picked.independent)

    def trace(values: Values) -> list[list[Scalar]]:
        solution, _, reduced, _ = _projected(mechanism, picked, values)
        one = _whole(solution)
        return [[reduced[min(i, j)][max(i, j)] * one for i in range(m) for j in range(m)]]

    return RobotRecipe(_inputs(mechanism, picked, "q"), (Operand("mass_matrix", (m, m)),), trace)


def bias_force(mechanism: Mechanism, *, independent: Independent = None) -> RobotRecipe:
    """H_c of Khalil (58): the forces along the freedoms at qdd = 0."""
    picked = _chosen(mechanism, independent)

    def trace(values: Values) -> list[list[Scalar]]:
        solution, _, _, bias = _projected(mechanism, picked, values)
        one = _whole(solution)
        return [[x * one for x in bias]]

    outputs = (Operand("bias", (len(picked.independent),)),)
    return RobotRecipe(_inputs(mechanism, picked, "q", "qd"), outputs, trace)


def forward_dynamics(mechanism: Mechanism, *, independent: Independent = None) -> RobotRecipe:
    """qdd = A_c^-1 (G_a^T tau - H_c), Khalil (58): (q, qd, tau of the active joints) -> qdd."""
    picked = _chosen(mechanism, independent)
    if not mechanism.active_names:
        raise RobotError(
            f"forward_dynamics: mechanism {mechanism.name!r} has no driven joint whose force it could be told; "
            "constrained_dynamics takes those of all joints"
        )
    names = [fused_tree(mechanism.tree).freedom_names[k] for k in picked.independent]
    usual = usual_reduced(mechanism, "forward_dynamics", picked.independent, names)

    def trace(values: Values) -> list[list[Scalar]]:
        solution, g, reduced, bias = _projected(mechanism, picked, values)
        driven = transposed_times([g[k] for k in _active(mechanism)], values["tau"])
        found = Factor(reduced, names, usual).solve([t - h for t, h in zip(driven, bias, strict=True)])
        one = _whole(solution)
        return [[x * one for x in found]]

    inputs = _inputs(mechanism, picked, "q", "qd", "tau")
    vanishing = tuple(names) if usual else ()
    return RobotRecipe(inputs, (Operand("qdd", (len(names),)),), trace, may_vanish=vanishing)


def constrained_dynamics(mechanism: Mechanism) -> RobotRecipe:
    """All joints of the tree free, the loops held by forces: A qdd + H = tau + W^T forces, W qdd + dW/dt qd = -drift.

    (q, qd, tau, damping) -> (qdd, forces). q, qd, tau are those of the tree; ``damping`` (1/s) is the rate a at which
    a loop that has opened by c closes again, drift = 2 a dc/dt + a^2 c (Baumgarte); zero leaves it as it is.
    ``forces`` are those of all constraints; redundant ones, which rigid links leave undecided, carry none. Poses at
    which the motors do not decide the motion are no hindrance; where the constraints themselves become dependent,
    where branches of the assembly meet, the results are NaN. All joints need inertia of their own.
    """
    tree = grouped_tree(mechanism.tree)
    facts = mobility(mechanism)
    n = mechanism.tree.nv
    vanishing = may_vanish(mechanism.tree, "constrained_dynamics", [False] * n)

    def trace(values: Values) -> list[list[Scalar]]:
        q, qd, rate = values["q"], values["qd"], values["damping"][0]
        constraints = Constraints(fused_tree(mechanism.tree), mechanism)
        rows, gap, bias = constraints.jacobian(q), constraints.open_by(q), constraints.bias(q, qd)
        free = hybrid(tree, q, qd, values["tau"], [False] * n).coordinates
        factor = Factor(mass_matrix(tree, q), tree.freedom_names, tree.usual)
        dense = [[rows[k].get(i, 0.0) for i in range(n)] for k in facts.rows]
        answers = [factor.solve(row) for row in dense]  # columns of A^-1 W^T
        lacking = []
        for k, row in zip(facts.rows, dense, strict=True):
            drift = rate * (2.0 * dot(row, qd) + rate * gap[k])
            lacking.append(-(dot(row, free) + bias[k] + drift))
        admitted = [[dot(row, answer) for answer in answers] for row in dense]
        loops = Factor(admitted, [f"constraint {k}" for k in facts.rows])
        one = one_if_above(margin([row[k] for k, row in enumerate(admitted)], loops.inverse), _DEPENDENT)
        held = loops.solve(lacking)
        found = [(a + dot([x[i] for x in answers], held)) * one for i, a in enumerate(free)]
        forces: list[Scalar] = [0.0] * mechanism.constraints
        for k, force in zip(facts.rows, held, strict=True):
            forces[k] = force * one
        return [found, forces]

    inputs = (
        Operand("q", (mechanism.tree.nq,)), Operand("qd", (n,)), Operand("tau", (n,)), Operand("damping", ()),
    )  # fmt: skip
    outputs = (Operand("qdd", (n,)), Operand("forces", (mechanism.constraints,)))
    return RobotRecipe(inputs, outputs, trace, may_vanish=vanishing, open_loops=True)


def reaction_wrenches(mechanism: Mechanism, *, independent: Independent = None) -> RobotRecipe:
    """Of the antecedent on each link of the tree, and of the first frame of each cut joint on the second.

    (q, qd, qdd) -> (links, 6), (loops, 6), in the frames of the links, and in the second frames of the loops, at
    their origins; the second array only where there are loops. The active joints carry the torques of
    ``inverse_dynamics``, the others those of their friction, springs, rotors and couplings. What rigid links leave
    undecided, the forces of redundant constraints (those across the plane of a planar loop), is taken as zero.
    """
    picked = _chosen(mechanism, independent)
    _drivable(mechanism)
    robot = mechanism.tree
    tree = whole_tree(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        q = values["q"]
        constraints = Constraints(tree, mechanism)
        solution = Solution(constraints, picked, q)
        g, qd, qdd = _motion(solution, values["qd"], values["qdd"])
        alone = _tree_forces(tree, q, qd, qdd)
        active = _active(mechanism)
        tau, one = _shared(solution, g, active, transposed_times(g, alone))
        unbalanced = list(alone)
        for k, x in zip(active, tau, strict=True):
            unbalanced[k] = unbalanced[k] - x
        forces = solution.forces(unbalanced)
        applied: dict[int, list[tuple[tuple[Scalar, ...], tuple[Scalar, ...]]]] = {}
        cuts: list[Scalar] = []
        at = 0
        for loop, part in zip(mechanism.loops, constraints.closures, strict=True):
            back, onto = part.wrench(q, forces[at : at + loop.constraints])
            at += loop.constraints
            cuts += [x * one for x in (*onto[0], *onto[1])]
            for body, placement, wrench in zip(part.bodies, part.placements, (back, onto), strict=True):
                applied.setdefault(body, []).append(frames.wrench_from(placement, wrench))
        solved = hybrid(tree, q, qd, qdd, [True] * tree.dof, applied)  # type: ignore[arg-type]
        rows: list[Scalar] = []
        for name in tree.link_names:
            number, placement = tree.frames[name]
            f, m = frames.wrench_at(placement, solved.reactions[number])
            rows += [x * one for x in (*f, *m)]
        return [rows, cuts] if mechanism.loops else [rows]

    outputs = [Operand("reactions", (len(robot.links), 6)), Operand("cuts", (len(mechanism.loops), 6))]
    return RobotRecipe(_inputs(mechanism, picked, "q", "qd", "qdd"), tuple(outputs[: 1 + bool(mechanism.loops)]), trace)


def inverse_dynamics_sensitivities(mechanism: Mechanism, *, independent: Independent = None) -> RobotRecipe:
    """d(tau)/d(q_i), d(tau)/d(qd_i), d(tau)/d(qdd_i), with the dependent joints following: (active, freedoms) each.

    By the differentiation pass along the motions G that the loops allow.
    """
    picked = _chosen(mechanism, independent)
    _drivable(mechanism)
    m = len(picked.independent)
    tree = fused_tree(mechanism.tree)

    def trace(values: Values) -> list[list[Scalar]]:
        q = values["q"]
        if not isinstance(q[0], Node):
            raise InputError("inverse_dynamics_sensitivities: made by differentiating a graph, compiled only")
        tau = _inverse(mechanism, picked, values)
        g = _solution(mechanism, picked, q).coupling()
        columns: list[list[list[Scalar]]] = [[], [], []]
        for k in range(m):
            along = position_rates(tree, q, [row[k] for row in g])
            seeds = [dict(zip(q, along, strict=True)), {values["qd"][k]: 1.0}, {values["qdd"][k]: 1.0}]
            for found, seed in zip(columns, seeds, strict=True):
                found.append(tangents(tau, seed))  # type: ignore[arg-type]
        return [[block[k][i] for i in range(len(tau)) for k in range(m)] for block in columns]

    shape = (len(_active(mechanism)), m)
    outputs = tuple(Operand(name, shape) for name in ("dtau_dq", "dtau_dqd", "dtau_dqdd"))
    return RobotRecipe(_inputs(mechanism, picked, "q", "qd", "qdd"), outputs, trace)


CLOSED_LOOPS: dict[str, Callable[..., RobotRecipe]] = {
    "closure": closure,
    "upright": upright,
    "assembly_step": assembly_step,
    "coupling_matrix": coupling_matrix,
    "singularity": singularity,
    "tree_motion": tree_motion,
    "inverse_dynamics": inverse_dynamics,
    "forward_dynamics": forward_dynamics,
    "mass_matrix": mass_matrix_of,
    "bias_force": bias_force,
    "constrained_dynamics": constrained_dynamics,
    "reaction_wrenches": reaction_wrenches,
    "inverse_dynamics_sensitivities": inverse_dynamics_sensitivities,
}
"""What can be computed of a mechanism."""
