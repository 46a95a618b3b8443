"""Derivatives as recipes: sensitivities and rates of the quantities, by recursion or by the differentiation pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neuler.algebra.screw import pair
from neuler.errors import InputError
from neuler.passes.tree import Tree
from neuler.recipes.setup import (
    External,
    RobotRecipe,
    Values,
    coordinates,
    fused_tree,
    grouped_tree,
    may_vanish,
    whole_tree,
)
from neuler.recursions import barman, frames
from neuler.recursions.configuration import along_tangents
from neuler.recursions.factor import Factor
from neuler.recursions.hybrid import hybrid
from neuler.recursions.sensitivities import ReactionSensitivities, reaction_sensitivities, sensitivities
from neuler.robot import Robot
from neuler.trace.differentiate import dense, hessian, jacobian
from neuler.trace.graph import Node, Scalar, count
from neuler.trace.recipe import Operand

Rows = list[list[Scalar]]
Structure = dict[str, tuple[tuple[int, ...], ...]]
METHODS = ("cheapest", "recursion", "pass")
REACTION_METHODS = ("cheapest", "composite", "barman")
_FORWARD_PAYS = 12
"""Coordinates up to which differentiating column by column is tried too."""


def related(tree: Tree) -> list[tuple[int, int]]:
    """Pairs of coordinates on one path to the base, row by row: who can influence whom."""
    up: dict[int, set[int]] = {0: set()}
    pairs: set[tuple[int, int]] = set()
    for number, body in enumerate(tree.bodies):
        mine = set(up[body.antecedent]) if number else set()
        own = {index for index, _ in body.freedoms}
        mine |= own
        pairs.update((i, k) for i in own for k in mine)
        pairs.update((k, i) for i in own for k in mine)
        up[number] = mine
    return sorted(pairs)


def touched(tree: Tree) -> list[tuple[int, int]]:
    """(link, coordinate): whose reaction wrench a coordinate can change, row by row."""
    carried: dict[int, set[int]] = {}
    for number, body in enumerate(tree.bodies):
        below = set(carried[body.antecedent]) if number else set()
        carried[number] = below | {index for index, _ in body.freedoms}
    reach: dict[int, set[int]] = {number: set(mine) for number, mine in carried.items()}
    for number in range(len(tree.bodies) - 1, 0, -1):
        body = tree.bodies[number]
        behind = reach[number] - carried[number]
        reach[body.antecedent] |= behind | {index for index, _ in body.freedoms}
    return [(link, k) for link, name in enumerate(tree.link_names) for k in sorted(reach[tree.frames[name][0]])]


def _outputs(robot: Robot, names: Sequence[str], sparse: bool) -> tuple[tuple[Operand, ...], Structure]:
    n = robot.nv
    if not sparse:
        return tuple(Operand(name, (n, n)) for name in names), {}
    pattern = related(fused_tree(robot))
    axes = tuple(zip(*pattern, strict=True))
    return tuple(Operand(name, (len(pattern),)) for name in names), dict.fromkeys(names, axes)


def _picked(robot: Robot, matrices: Sequence[Rows], sparse: bool) -> list[list[Scalar]]:
    if not sparse:
        return [[x for row in matrix for x in row] for matrix in matrices]
    pattern = related(fused_tree(robot))
    return [[matrix[i][j] for i, j in pattern] for matrix in matrices]


def _work(results: Sequence[Sequence[Scalar]]) -> int:
    total = count([x for result in results for x in result])
    return total["mul"] + total["add"]


def _by_pass(
    tree: Tree, outputs: Sequence[Scalar], q: Sequence[Scalar], blocks: Sequence[Sequence[Scalar]], *, backward: bool
) -> list[Rows]:
    """Jacobians of the outputs to q (along the velocities' directions) and to other blocks of inputs."""
    inputs = [*q, *(x for block in blocks for x in block)]
    assert all(isinstance(x, Node) for x in inputs)
    entries = jacobian(outputs, inputs, backward=backward)  # type: ignore[arg-type]
    found, start = [along_tangents(tree, q, entries, len(outputs))], len(q)
    for block in blocks:
        found.append([[entries.get((i, start + j), 0.0) for j in range(len(block))] for i in range(len(outputs))])
        start += len(block)
    return found


def _torque_sensitivities(tree: Tree, values: Values, outside: External, method: str) -> list[Rows]:
    q, qd, qdd = values["q"], values["qd"], values["qdd"]
    ways: list[list[Rows]] = []
    if method != "pass" or not isinstance(q[0], Node):
        found = sensitivities(tree, q, qd, qdd, outside.fixed(tree, values), outside.turned(tree, values))
        ways.append([found.dq, found.dqd, found.dqdd])
    if method != "recursion" and isinstance(q[0], Node):
        for backward in (True, False) if tree.dof <= _FORWARD_PAYS else (True,):
            tau = hybrid(tree, q, qd, qdd, [True] * tree.dof, outside.applied(tree, values)).coordinates
            ways.append(_by_pass(tree, tau, q, [qd, qdd], backward=backward))
    return min(ways, key=lambda way: _work([row for rows in way for row in rows])) if len(ways) > 1 else ways[0]


def _check_method(quantity: str, method: str) -> None:
    if method not in METHODS:
        raise InputError(f"{quantity}: method must be one of {', '.join(METHODS)}, got {method!r}")


def inverse_dynamics_sensitivities(
    robot: Robot,
    *,
    external: str | Iterable[str] = (),
    loads: str | Iterable[str] = (),
    sparse: bool = False,
    method: str = "cheapest",
) -> RobotRecipe:
    """d(tau)/dq, d(tau)/d(qd), d(tau)/d(qdd): Barman 3, by composite links or by the differentiation pass.

    ``sparse`` gives the entries of joints on one path to the base only; ``kernel.structure`` says where they
    belong. External wrenches are fixed to their frames; loads are constant in the base frame.
    """
    _check_method("inverse_dynamics_sensitivities", method)
    outside = External.of(robot, external, loads)
    outputs, structure = _outputs(robot, ("dtau_dq", "dtau_dqd", "dtau_dqdd"), sparse)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = grouped_tree(robot)
        found = _torque_sensitivities(tree, values, outside, method)
        return _picked(robot, found, sparse)

    inputs = coordinates(robot, "q", "qd", "qdd") + outside.inputs()
    return RobotRecipe(inputs, outputs, trace, structure)


def forward_dynamics_sensitivities(
    robot: Robot, *, external: str | Iterable[str] = (), loads: str | Iterable[str] = ()
) -> RobotRecipe:
    """d(qdd)/dq = -A^-1 d(tau)/dq, d(qdd)/d(qd) = -A^-1 d(tau)/d(qd), d(qdd)/d(tau) = A^-1, at the found qdd.

    A is never inverted as a matrix of numbers: it is eliminated joint by joint from the tips inward, as
    the articulated-body recursion does, and every column goes through that elimination.
    """
    outside = External.of(robot, external, loads)
    outputs, _ = _outputs(robot, ("dqdd_dq", "dqdd_dqd", "dqdd_dtau"), sparse=False)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = grouped_tree(robot)
        n = tree.dof
        q, qd = values["q"], values["qd"]
        qdd = hybrid(tree, q, qd, values["tau"], [False] * n, outside.applied(tree, values)).coordinates
        found = sensitivities(tree, q, qd, qdd, outside.fixed(tree, values), outside.turned(tree, values))
        factor = Factor(found.dqdd, tree.freedom_names, tree.usual)
        results: list[Rows] = []
        for matrix in (found.dq, found.dqd):
            columns = [factor.solve([-matrix[i][j] for i in range(n)]) for j in range(n)]
            results.append([[columns[j][i] for j in range(n)] for i in range(n)])
        results.append(factor.inverse_matrix())
        return _picked(robot, results, sparse=False)

    vanishing = may_vanish(robot, "forward_dynamics_sensitivities", [False] * robot.nv)
    return RobotRecipe(coordinates(robot, "q", "qd", "tau") + outside.inputs(), outputs, trace, may_vanish=vanishing)


def inverse_dynamics_hessian(
    robot: Robot, *, external: str | Iterable[str] = (), loads: str | Iterable[str] = ()
) -> RobotRecipe:
    """Second derivatives of weights . tau to (q, qd, qdd), (3 nv, 3 nv), symmetric: for optimisers.

    By the differentiation pass: the weighted sum is pulled back to its gradient, then differentiated again.
    """
    outside = External.of(robot, external, loads)
    n = robot.nv
    if robot.nq != n:
        raise InputError("inverse_dynamics_hessian: a free joint has no second derivatives that would be symmetric")

    def trace(values: Values) -> list[list[Scalar]]:
        tree = grouped_tree(robot)
        q, qd, qdd = (values[name] for name in ("q", "qd", "qdd"))
        inputs = [x for x in (*q, *qd, *qdd) if isinstance(x, Node)]
        if len(inputs) < 3 * n:
            raise InputError("inverse_dynamics_hessian is made by differentiating a graph: it runs compiled only")
        tau = hybrid(tree, q, qd, qdd, [True] * n, outside.applied(tree, values)).coordinates
        return [dense(hessian(tau, values["weights"], inputs), 3 * n, 3 * n)]

    operands = coordinates(robot, "q", "qd", "qdd", "weights") + outside.inputs()
    return RobotRecipe(operands, (Operand("hessian", (3 * n, 3 * n)),), trace)


def reaction_sensitivities_of(
    robot: Robot,
    *,
    external: str | Iterable[str] = (),
    loads: str | Iterable[str] = (),
    sparse: bool = False,
    method: str = "cheapest",
) -> RobotRecipe:
    """Of the reaction wrenches (rows as in reaction_wrenches) to q, qd, qdd: (links, 6, nv) each.

    Components are those in the link's own frame. ``sparse`` gives the wrenches of links that a coordinate can
    reach only, (entries, 6); ``kernel.structure`` holds link and coordinate of each. ``method`` is "composite"
    (by composite links), "barman" (his recursion, without free joints) or the cheaper one of both.
    """
    if method not in REACTION_METHODS:
        known = ", ".join(REACTION_METHODS)
        raise InputError(f"reaction_sensitivities: method must be one of {known}, got {method!r}")
    outside = External.of(robot, external, loads)
    names = ("dreaction_dq", "dreaction_dqd", "dreaction_dqdd")
    tree = whole_tree(robot)
    if method == "barman" and not _sigmas(tree):
        raise InputError(
            "reaction_sensitivities: Barman's recursion has revolute and prismatic joints alone; use method='composite'"
        )
    pattern = touched(tree) if sparse else []
    shape = (len(pattern), 6) if sparse else (len(robot.links), 6, robot.nv)
    axes = tuple(zip(*pattern, strict=True))
    structure = dict.fromkeys(names, axes) if sparse else {}

    def trace(values: Values) -> list[list[Scalar]]:
        state = (values["q"], values["qd"], values["qdd"])
        fixed = outside.fixed(tree, values)
        ways = []
        if method != "barman":
            found = reaction_sensitivities(tree, *state, fixed, outside.turned(tree, values))
            ways.append(_seen_by_user(robot, tree, found, pattern))
        if method != "composite" and _sigmas(tree):
            found = _as_entries(barman.sensitivities(tree, *state, fixed, outside.still(tree, values)))
            ways.append(_seen_by_user(robot, tree, found, pattern))
        return min(ways, key=_work) if len(ways) > 1 and isinstance(values["q"][0], Node) else ways[0]

    inputs = coordinates(robot, "q", "qd", "qdd") + outside.inputs()
    return RobotRecipe(inputs, tuple(Operand(name, shape) for name in names), trace, structure)


def _sigmas(tree: Tree) -> bool:
    """Whether all joints are of the kinds that the papers have."""
    return all(body.sigma is not None for body in tree.bodies)


def _as_entries(found: barman.Sensitivities) -> ReactionSensitivities:
    """Barman's tables, by body and coordinate."""
    tables = []
    for bodies in (found.dreaction_dq, found.dreaction_dqd, found.dreaction_dqdd):
        entries = {}
        for number, rows in enumerate(bodies):
            for column, wrench in enumerate(zip(*rows, strict=True)):
                entries[number, column] = pair(wrench)
        tables.append(entries)
    return ReactionSensitivities(*tables)


def _seen_by_user(
    robot: Robot, tree: Tree, found: ReactionSensitivities, pattern: Sequence[tuple[int, int]]
) -> list[list[Scalar]]:
    """In the frames of the links, at their origins."""
    results = []
    for entries in (found.dq, found.dqd, found.dqdd):
        seen: dict[tuple[int, int], tuple[Scalar, ...]] = {}
        links = {tree.frames[name][0]: (link, tree.frames[name][1]) for link, name in enumerate(tree.link_names)}
        for (number, column), wrench in entries.items():
            if number in links:
                link, placement = links[number]
                f, m = frames.wrench_at(placement, wrench)
                seen[link, column] = (*f, *m)
        nothing: tuple[Scalar, ...] = (0.0,) * 6
        if pattern:
            results.append([x for pair in pattern for x in seen.get(pair, nothing)])
            continue
        results.append(
            [
                seen.get((number, column), nothing)[k]
                for number in range(len(robot.links))
                for k in range(6)
                for column in range(robot.nv)
            ]
        )
    return results
