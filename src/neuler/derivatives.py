"""Derivatives as recipes: sensitivities and rates of the quantities, by recursion or by the differentiation pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from neuler.algebra.screw import Wrench
from neuler.compiler.build import Recipe
from neuler.compiler.differentiate import dense, hessian, jacobian
from neuler.compiler.graph import Node, Scalar, count
from neuler.compiler.llvm import Operand
from neuler.errors import InputError
from neuler.passes.tree import Tree
from neuler.recursions import frames
from neuler.recursions.factor import Factor
from neuler.recursions.hybrid import hybrid
from neuler.recursions.sensitivities import ReactionSensitivities, reaction_sensitivities, sensitivities
from neuler.robot import Robot
from neuler.setup import Values, coordinates, fused_tree, grouped_tree, loads, named, whole_tree, wrench_inputs

Rows = list[list[Scalar]]
Structure = dict[str, tuple[tuple[int, ...], ...]]
METHODS = ("cheapest", "recursion", "pass")
_FORWARD_PAYS = 12
"""Coordinates up to which differentiating column by column is tried too."""


def related(tree: Tree) -> list[tuple[int, int]]:
    """Pairs of coordinates on one path to the base, row by row: who can influence whom."""
    up: dict[int, set[int]] = {0: set()}
    pairs: set[tuple[int, int]] = set()
    for number, body in enumerate(tree.bodies):
        mine = set(up[body.antecedent]) if number else set()
        if body.coordinate is not None:
            mine.add(body.coordinate)
            pairs.update((body.coordinate, k) for k in mine)
            pairs.update((k, body.coordinate) for k in mine)
        up[number] = mine
    return sorted(pairs)


def touched(tree: Tree) -> list[tuple[int, int]]:
    """(body, coordinate): whose reaction wrench a coordinate can change, row by row."""
    carried: dict[int, set[int]] = {}
    for number, body in enumerate(tree.bodies):
        below = set(carried[body.antecedent]) if number else set()
        carried[number] = below | ({body.coordinate} if body.coordinate is not None else set())
    reach: dict[int, set[int]] = {number: set(mine) for number, mine in carried.items()}
    for number in range(len(tree.bodies) - 1, 0, -1):
        body = tree.bodies[number]
        behind = reach[number] - carried[number]
        own = {body.coordinate} if body.coordinate is not None else set()
        reach[body.antecedent] |= behind | own
    return sorted((number, k) for number, mine in reach.items() for k in mine)


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


def _work(matrices: Sequence[Rows]) -> int:
    total = count([x for matrix in matrices for row in matrix for x in row])
    return total["mul"] + total["add"]


def _by_pass(outputs: Sequence[Scalar], blocks: Sequence[Sequence[Scalar]], *, backward: bool) -> list[Rows]:
    """Jacobians of the outputs with respect to blocks of inputs."""
    inputs = [x for block in blocks for x in block]
    assert all(isinstance(x, Node) for x in inputs)
    entries = jacobian(outputs, inputs, backward=backward)  # type: ignore[arg-type]
    found, start = [], 0
    for block in blocks:
        found.append([[entries.get((i, start + j), 0.0) for j in range(len(block))] for i in range(len(outputs))])
        start += len(block)
    return found


def _cheapest(candidates: Sequence[Callable[[], list[Rows]]]) -> list[Rows]:
    """All are equal; the one that needs the fewest operations."""
    return min((candidate() for candidate in candidates), key=_work)


def _torque_sensitivities(
    tree: Tree, values: Values, qdd: Sequence[Scalar], chosen: Mapping[int, Sequence[Wrench]], method: str
) -> list[Rows]:
    q, qd = values["q"], values["qd"]

    def recursion() -> list[Rows]:
        found = sensitivities(tree, q, qd, qdd, chosen)
        return [found.dq, found.dqd, found.dqdd]

    def differentiated(backward: bool) -> Callable[[], list[Rows]]:
        def run() -> list[Rows]:
            tau = hybrid(tree, q, qd, qdd, [True] * tree.dof, chosen).coordinates
            return _by_pass(tau, [q, qd, qdd], backward=backward)

        return run

    if not isinstance(q[0], Node) or method == "recursion":
        return recursion()
    ways = [differentiated(True)] + ([differentiated(False)] if tree.dof <= _FORWARD_PAYS else [])
    return _cheapest(ways if method == "pass" else [recursion, *ways])


def _check_method(quantity: str, method: str) -> None:
    if method not in METHODS:
        raise InputError(f"{quantity}: method must be one of {', '.join(METHODS)}, got {method!r}")


def inverse_dynamics_sensitivities(
    robot: Robot, *, external: str | Iterable[str] = (), sparse: bool = False, method: str = "cheapest"
) -> Recipe:
    """d(tau)/dq, d(tau)/d(qd), d(tau)/d(qdd): Barman 3, by composite links or by the differentiation pass.

    ``sparse`` gives the entries of joints on one path to the base only; ``kernel.structure`` says where they
    belong. External wrenches are fixed to their frames.
    """
    _check_method("inverse_dynamics_sensitivities", method)
    chosen = named(robot, external)
    outputs, structure = _outputs(robot, ("dtau_dq", "dtau_dqd", "dtau_dqdd"), sparse)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = grouped_tree(robot)
        found = _torque_sensitivities(tree, values, values["qdd"], loads(tree, chosen, values), method)
        return _picked(robot, found, sparse)

    inputs = coordinates(robot, "q", "qd", "qdd") + wrench_inputs(chosen)
    return Recipe(inputs, outputs, trace, structure)


def forward_dynamics_sensitivities(robot: Robot, *, external: str | Iterable[str] = ()) -> Recipe:
    """d(qdd)/dq = -A^-1 d(tau)/dq, d(qdd)/d(qd) = -A^-1 d(tau)/d(qd), d(qdd)/d(tau) = A^-1, at the found qdd.

    A is never inverted as a matrix of numbers: it is eliminated joint by joint from the tips inward, as
    the articulated-body recursion does, and every column goes through that elimination.
    """
    chosen = named(robot, external)
    outputs, _ = _outputs(robot, ("dqdd_dq", "dqdd_dqd", "dqdd_dtau"), sparse=False)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = grouped_tree(robot)
        n = tree.dof
        wrenches = loads(tree, chosen, values)
        q, qd = values["q"], values["qd"]
        qdd = hybrid(tree, q, qd, values["tau"], [False] * n, wrenches).coordinates
        found = sensitivities(tree, q, qd, qdd, wrenches)
        factor = Factor(tree, found.dqdd)
        results: list[Rows] = []
        for matrix in (found.dq, found.dqd):
            columns = [factor.solve([-matrix[i][j] for i in range(n)]) for j in range(n)]
            results.append([[columns[j][i] for j in range(n)] for i in range(n)])
        results.append(factor.inverse_matrix())
        return _picked(robot, results, sparse=False)

    return Recipe(coordinates(robot, "q", "qd", "tau") + wrench_inputs(chosen), outputs, trace)


def inverse_dynamics_hessian(robot: Robot, *, external: str | Iterable[str] = ()) -> Recipe:
    """Second derivatives of weights . tau to (q, qd, qdd), (3 nv, 3 nv), symmetric: for optimisers.

    By the differentiation pass: the weighted sum is pulled back to its gradient, then differentiated again.
    """
    chosen = named(robot, external)
    n = robot.nv

    def trace(values: Values) -> list[list[Scalar]]:
        tree = grouped_tree(robot)
        q, qd, qdd = (values[name] for name in ("q", "qd", "qdd"))
        inputs = [x for x in (*q, *qd, *qdd) if isinstance(x, Node)]
        if len(inputs) < 3 * n:
            raise InputError("inverse_dynamics_hessian is made by differentiating a graph: it runs compiled only")
        tau = hybrid(tree, q, qd, qdd, [True] * n, loads(tree, chosen, values)).coordinates
        return [dense(hessian(tau, values["weights"], inputs), 3 * n, 3 * n)]

    operands = coordinates(robot, "q", "qd", "qdd", "weights") + wrench_inputs(chosen)
    return Recipe(operands, (Operand("hessian", (3 * n, 3 * n)),), trace)


def reaction_sensitivities_of(robot: Robot, *, external: str | Iterable[str] = (), sparse: bool = False) -> Recipe:
    """Of the reaction wrenches (rows as in reaction_wrenches) to q, qd, qdd: (links, 6, nv) each.

    Components are those in the link's own frame. ``sparse`` gives the wrenches of links that a coordinate can
    reach only, (entries, 6); ``kernel.structure`` holds link and coordinate of each.
    """
    chosen = named(robot, external)
    names = ("dreaction_dq", "dreaction_dqd", "dreaction_dqdd")
    tree = whole_tree(robot)
    pattern = touched(tree) if sparse else []
    shape = (len(pattern), 6) if sparse else (len(robot.links), 6, robot.nv)
    axes = tuple(zip(*pattern, strict=True))
    structure = dict.fromkeys(names, axes) if sparse else {}

    def trace(values: Values) -> list[list[Scalar]]:
        wrenches = loads(tree, chosen, values)
        found = reaction_sensitivities(tree, values["q"], values["qd"], values["qdd"], wrenches)
        return _seen_by_user(robot, tree, found, pattern)

    inputs = coordinates(robot, "q", "qd", "qdd") + wrench_inputs(chosen)
    return Recipe(inputs, tuple(Operand(name, shape) for name in names), trace, structure)


def _seen_by_user(
    robot: Robot, tree: Tree, found: ReactionSensitivities, pattern: Sequence[tuple[int, int]]
) -> list[list[Scalar]]:
    """In the frames of the links, at their origins."""
    results = []
    for entries in (found.dq, found.dqd, found.dqdd):
        seen: dict[tuple[int, int], tuple[Scalar, ...]] = {}
        for (number, column), wrench in entries.items():
            f, m = frames.wrench_at(tree.frames[tree.link_names[number]][1], wrench)
            seen[number, column] = (*f, *m)
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
