"""Sensitivities: derivatives of torques, accelerations and reactions, by recursion or by the differentiation pass.

A derivative "to q" is one along the robot's own velocities: a column for every one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neuler.algebra.linear import dot
from neuler.algebra.screw import pair
from neuler.errors import InputError
from neuler.passes.tree import Tree
from neuler.passes.trees import fused_tree, may_vanish, whole_tree
from neuler.quantities.declare import Names, quantity
from neuler.quantities.direct import direct, own_names
from neuler.quantities.dynamics import inverse_dynamics, moved_tree, reactions_of
from neuler.quantities.losses import Losses
from neuler.quantities.setup import External, RobotRecipe, Values, coordinates, trees
from neuler.recursions import barman, frames
from neuler.recursions.drives import in_series
from neuler.recursions.factor import Factor
from neuler.recursions.hybrid import hybrid
from neuler.recursions.positions import along_tangents
from neuler.recursions.sensitivities import ReactionSensitivities, reaction_sensitivities, sensitivities
from neuler.robot import Joint, Robot
from neuler.robot.value import kept
from neuler.structure.chart import Chart
from neuler.structure.inertias import usual_own
from neuler.structure.mobility import refuse_forceless, refuse_undriven
from neuler.trace.dependence import dependence
from neuler.trace.differentiate import dense, hessian, jacobian, tangents
from neuler.trace.graph import Node, Scalar, count
from neuler.trace.recipe import Operand, traced

Rows = list[list[Scalar]]
Structure = dict[str, tuple[tuple[int, ...], ...]]
METHODS = ("cheapest", "recursion", "pass")
REACTION_METHODS = ("cheapest", "composite", "barman")
_FORWARD_PAYS = 12
"""Coordinates up to which differentiating column by column is tried too."""


def related(tree: Tree) -> list[tuple[int, int]]:
    """Pairs of coordinates on one path to the base, or joined by a spring, row by row: who can influence whom."""
    up: dict[int, set[int]] = {0: set()}
    pairs: set[tuple[int, int]] = set()
    for number, body in enumerate(tree.bodies):
        mine = set(up[body.antecedent]) if number else set()
        own = {index for index, _ in body.freedoms}
        mine |= own
        pairs.update((i, k) for i in own for k in mine)
        pairs.update((k, i) for i in own for k in mine)
        up[number] = mine
    for theta, _, series in in_series(tree):
        pairs |= {(theta, series.velocity), (series.velocity, theta)}
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


def _pattern(robot: Robot) -> list[tuple[int, int]]:
    """Which force may depend on which velocity's motion: in trees by paths, with couplings by the graph; else any."""
    if robot.loops:
        return [(i, k) for i in range(robot.nu) for k in range(robot.nv)]
    if robot.couplings:
        return _traced_pattern(robot)
    return related(fused_tree(robot))


@kept
def _traced_pattern(robot: Robot) -> list[tuple[int, int]]:
    """A rotor on another branch couples what no path does: what each force was traced to depend on."""
    inputs, outputs = traced(inverse_dynamics.make(robot))
    owners = [list(entry.velocities) for entry in robot.coordinates.owners("q")]  # velocities of every input
    owners += [[k] for _ in ("qd", "qdd") for k in range(robot.nv)]
    found = dependence(inputs, outputs)
    return sorted({(i, k) for i, reached in enumerate(found) for x in reached for k in owners[x]})


def _outputs(robot: Robot, names: Sequence[str], sparse: bool) -> tuple[tuple[Operand, ...], Structure]:
    if not sparse:
        return tuple(Operand(name, (robot.nu, robot.nv)) for name in names), {}
    pattern = _pattern(robot)
    axes = tuple(zip(*pattern, strict=True))
    return tuple(Operand(name, (len(pattern),)) for name in names), dict.fromkeys(names, axes)


def _picked(robot: Robot, matrices: Sequence[Rows], sparse: bool) -> list[list[Scalar]]:
    if not sparse:
        return [[x for row in matrix for x in row] for matrix in matrices]
    pattern = _pattern(robot)
    return [[matrix[i][j] for i, j in pattern] for matrix in matrices]


def _work(results: Sequence[Sequence[Scalar]]) -> int:
    total = count([x for result in results for x in result])
    return total["mul"] + total["add"]


def along_chart(
    chart: Chart, outputs: Sequence[Scalar], q: Sequence[Scalar], blocks: Sequence[Sequence[Scalar]]
) -> list[Rows]:
    """Derivatives of outputs to q, along the motions that loops and couplings allow, and to blocks of other inputs."""
    if not all(isinstance(x, Node) for x in q):
        raise InputError("sensitivities with loops or couplings are made by differentiating a graph: compiled only")
    found: list[Rows] = []
    for block in [None, *blocks]:
        columns = []
        for k in range(chart.robot.nv if block is None else len(block)):
            seed = dict(zip(q, chart.direction(k), strict=True)) if block is None else {block[k]: 1.0}
            columns.append(tangents(outputs, seed))  # type: ignore[arg-type]
        found.append([list(row) for row in zip(*columns, strict=True)])
    return found


def _by_pass(
    joints: Sequence[Joint],
    outputs: Sequence[Scalar],
    q: Sequence[Scalar],
    blocks: Sequence[Sequence[Scalar]],
    *,
    backward: bool,
) -> list[Rows]:
    """Jacobians of the outputs to q (along the velocities' directions) and to other blocks of inputs."""
    inputs = [*q, *(x for block in blocks for x in block)]
    assert all(isinstance(x, Node) for x in inputs)
    entries = jacobian(outputs, inputs, backward=backward)  # type: ignore[arg-type]
    found, start = [along_tangents(joints, q, entries, len(outputs))], len(q)
    for block in blocks:
        found.append([[entries.get((i, start + j), 0.0) for j in range(len(block))] for i in range(len(outputs))])
        start += len(block)
    return found


def _torque_sensitivities(robot: Robot, values: Values, outside: External, method: str) -> list[Rows]:
    tree = trees(robot, values).grouped
    q, qd, qdd = values["q"], values["qd"], values["qdd"]
    losses = Losses(robot, tree, qd)

    def loads() -> list[Scalar]:
        return hybrid(tree, q, qd, qdd, [True] * tree.dof, outside.applied(tree, values)).coordinates

    ways: list[list[Rows]] = []
    if method != "pass" or not isinstance(q[0], Node):
        found = sensitivities(tree, q, qd, qdd, outside.fixed(tree, values), outside.turned(tree, values))
        ways.append(_lossy(losses, loads, [found.dq, found.dqd, found.dqdd]))
    if method != "recursion" and isinstance(q[0], Node):
        for backward in (True, False) if tree.dof <= _FORWARD_PAYS else (True,):
            tau = losses.tau_from_load(loads())
            ways.append(_by_pass(robot.moving_joints, tau, q, [qd, qdd], backward=backward))
    return min(ways, key=lambda way: _work([row for rows in way for row in rows])) if len(ways) > 1 else ways[0]


def _lossy(losses: Losses, loads: Callable[[], list[Scalar]], matrices: list[Rows]) -> list[Rows]:
    """With the friction that depends on loads: every row by its slope, and that to its own rate."""
    if not losses.any:
        return matrices
    slopes = losses.slopes(loads())
    found = [[[a * x for x in row] for (a, _), row in zip(slopes, matrix, strict=True)] for matrix in matrices]
    for k, (_, b) in enumerate(slopes):
        found[1][k][k] = found[1][k][k] + b
    return found


def _check_method(quantity: str, method: str) -> None:
    if method not in METHODS:
        raise InputError(f"{quantity}: method must be one of {', '.join(METHODS)}, got {method!r}")


@quantity("q, qd, qdd -> dtau_dq, dtau_dqd, dtau_dqdd")
def inverse_dynamics_sensitivities(
    robot: Robot,
    *,
    external: Names = (),
    loads: Names = (),
    sparse: bool = False,
    method: str = "cheapest",
) -> RobotRecipe:
    """Derivatives of the joint forces: d(tau)/dq, d(tau)/d(qd), d(tau)/d(qdd), (nu, nv) each. Barman 3.

    Entry (i, j) is the derivative of force i with respect to coordinate j. ``sparse=True`` returns only the entries of
    joints on one path to the base; ``kernel.structure`` says where they belong. ``method`` is "recursion" (composite
    links), "pass" (automatic differentiation) or "cheapest", the one with fewer operations. External wrenches are fixed
    to their frames; loads are constant in the base frame.

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> np.allclose(arm.inverse_dynamics_sensitivities(q, qd, [0.0, 0.0]).dtau_dqdd, arm.mass_matrix(q))
    True
    """
    _check_method("inverse_dynamics_sensitivities", method)
    outside = External.of(robot, external, loads)
    refuse_undriven(robot, "inverse_dynamics_sensitivities")
    outputs, structure = _outputs(robot, ("dtau_dq", "dtau_dqd", "dtau_dqdd"), sparse)

    def trace(values: Values) -> list[list[Scalar]]:
        chart = Chart(robot, values["q"])
        if chart.trivial:
            return _picked(robot, _torque_sensitivities(robot, values, outside, method), sparse)
        tree = trees(robot, values).grouped
        solved = moved_tree(chart, tree, values, outside, values["qdd"])
        tau, one = chart.distribute(chart.project(solved.coordinates))
        tau = Losses(robot, tree, chart.rates(values["qd"])).tau_from_load(tau)
        found = along_chart(chart, [x * one for x in tau], values["q"], [values["qd"], values["qdd"]])
        return _picked(robot, found, sparse)

    inputs = coordinates(robot, "q", "qd", "qdd") + outside.inputs()
    return RobotRecipe(inputs, outputs, trace, structure)


@quantity("q, qd, tau -> dqdd_dq, dqdd_dqd, dqdd_dtau")
def forward_dynamics_sensitivities(robot: Robot, *, external: Names = (), loads: Names = ()) -> RobotRecipe:
    """Derivatives of the accelerations: d(qdd)/dq, d(qdd)/d(qd), (nv, nv) each, and d(qdd)/d(tau), (nv, nu).

    d(qdd)/dq = -M^-1 d(tau)/dq, d(qdd)/d(qd) = -M^-1 d(tau)/d(qd), d(qdd)/d(tau) = M^-1, at qdd = forward_dynamics(q,
    qd, tau). M is not inverted numerically: it is eliminated joint by joint from the tips inward, as in the
    articulated-body algorithm.

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> slopes = arm.forward_dynamics_sensitivities(q, qd, [0.0, 0.0])
    >>> np.allclose(slopes.dqdd_dtau @ arm.mass_matrix(q), np.eye(2))
    True
    """
    refuse_forceless(robot, "forward_dynamics_sensitivities")
    outside = External.of(robot, external, loads)
    n, m = robot.nv, robot.nu
    outputs = (Operand("dqdd_dq", (n, n)), Operand("dqdd_dqd", (n, n)), Operand("dqdd_dtau", (n, m)))
    inputs = coordinates(robot, "q", "qd", "tau") + outside.inputs()
    if robot.loops or robot.couplings:
        names = own_names(robot)
        usual = usual_own(robot, "forward_dynamics_sensitivities", names)

        def trace_chart(values: Values) -> list[list[Scalar]]:
            chart = Chart(robot, values["q"])
            found = chart.nan_where_invalid(direct(chart, values, outside, values["tau"], names, usual))
            parts = along_chart(chart, found, values["q"], [values["qd"], values["tau"]])
            return [[x for row in part for x in row] for part in parts]

        return RobotRecipe(inputs, outputs, trace_chart, may_vanish=tuple(dict.fromkeys(names)) if usual else ())

    def trace(values: Values) -> list[list[Scalar]]:
        tree = trees(robot, values).grouped
        n = tree.dof
        q, qd = values["q"], values["qd"]
        losses = Losses(robot, tree, qd)
        loads = losses.load_from_tau(values["tau"])
        slopes = losses.slopes(loads)  # tau' = a load' + b qd'
        qdd = hybrid(tree, q, qd, loads, [False] * n, outside.applied(tree, values)).coordinates
        found = sensitivities(tree, q, qd, qdd, outside.fixed(tree, values), outside.turned(tree, values))
        for k, (a, b) in enumerate(slopes):
            found.dqd[k][k] = found.dqd[k][k] + b / a
        factor = Factor(found.dqdd, tree.freedom_names, tree.usual)
        results: list[Rows] = []
        for matrix in (found.dq, found.dqd):
            columns = [factor.solve([-matrix[i][j] for i in range(n)]) for j in range(n)]
            results.append([[columns[j][i] for j in range(n)] for i in range(n)])
        results.append([[x / a for x, (a, _) in zip(row, slopes, strict=True)] for row in factor.inverse_matrix()])
        return _picked(robot, results, sparse=False)

    vanishing = may_vanish(robot, "forward_dynamics_sensitivities", [False] * robot.nv)
    return RobotRecipe(inputs, outputs, trace, may_vanish=vanishing)


@quantity("q, qd, qdd, weights -> hessian")
def inverse_dynamics_hessian(robot: Robot, *, external: Names = (), loads: Names = ()) -> RobotRecipe:
    """Second derivatives of weights . tau with respect to (q, qd, qdd), (3 nv, 3 nv), symmetric.

    By automatic differentiation: reverse mode for the gradient of the weighted sum, then forward mode.

    >>> import neuler
    >>> arm, still = neuler.robots.two_link(), [0.0, 0.0]
    >>> arm.inverse_dynamics_hessian([0.1, 0.2], still, still, [1.0, 0.0]).shape
    (6, 6)
    """
    outside = External.of(robot, external, loads)
    refuse_undriven(robot, "inverse_dynamics_hessian")
    n = robot.nv
    turning = next((joint for joint in robot.moving_joints if joint.type.quaternion is not None), None)
    if turning is not None:
        raise InputError(
            f"inverse_dynamics_hessian: joint {turning.name!r} turns by a quaternion: a {turning.kind} joint has no "
            "second derivatives that would be symmetric"
        )

    def trace(values: Values) -> list[list[Scalar]]:
        q, qd, qdd, weights = (values[name] for name in ("q", "qd", "qdd", "weights"))
        inputs = [x for x in (*q, *qd, *qdd) if isinstance(x, Node)]
        if len(inputs) < len(q) + 2 * n:
            raise InputError("inverse_dynamics_hessian is made by differentiating a graph: it runs compiled only")
        chart = Chart(robot, q)
        tree = trees(robot, values).grouped
        solved = moved_tree(chart, tree, values, outside, qdd)
        tau, one = chart.distribute(chart.project(solved.coordinates))
        tau = Losses(robot, tree, chart.rates(qd)).tau_from_load(tau)
        if chart.solution is None:
            return [dense(hessian(tau, weights, inputs), 3 * n, 3 * n)]
        slopes = along_chart(chart, [dot(weights, tau)], q, [qd, qdd])
        second = along_chart(chart, [x * one for (row,) in slopes for x in row], q, [qd, qdd])
        return [[x for rows in zip(*second, strict=True) for row in rows for x in row]]

    operands = coordinates(robot, "q", "qd", "qdd") + (Operand("weights", (robot.nu,)),) + outside.inputs()
    return RobotRecipe(operands, (Operand("hessian", (3 * n, 3 * n)),), trace)


@quantity("q, qd, qdd -> dreaction_dq, dreaction_dqd, dreaction_dqdd", name="reaction_sensitivities")
def reaction_sensitivities_of(
    robot: Robot,
    *,
    external: Names = (),
    loads: Names = (),
    sparse: bool = False,
    method: str = "cheapest",
) -> RobotRecipe:
    """Derivatives of ``reaction_wrenches`` with respect to q, qd and qdd, (links, 6, nv) each.

    Components are those in the link's own frame. ``sparse=True`` returns only the wrenches of links that a coordinate
    affects, (entries, 6); ``kernel.structure`` holds the link and the coordinate of each. ``method`` is "composite"
    (composite links), "barman" (Barman's recursion, without free joints) or "cheapest".

    >>> import neuler
    >>> arm, still = neuler.robots.two_link(), [0.0, 0.0]
    >>> arm.reaction_sensitivities([0.1, 0.2], still, still).dreaction_dq.shape
    (3, 6, 2)
    """
    if method not in REACTION_METHODS:
        known = ", ".join(REACTION_METHODS)
        raise InputError(f"reaction_sensitivities: method must be one of {known}, got {method!r}")
    outside = External.of(robot, external, loads)
    refuse_undriven(robot, "reaction_sensitivities")
    names = ("dreaction_dq", "dreaction_dqd", "dreaction_dqdd")
    tree = whole_tree(robot.tree)
    inputs = coordinates(robot, "q", "qd", "qdd") + outside.inputs()
    if robot.loops or robot.couplings or any(joint.type.geared and not joint.inner for joint in robot.joints):
        return _reactions_along(robot, outside, names, inputs, method, sparse)
    if method == "barman" and not _sigmas(tree):
        raise InputError(
            "reaction_sensitivities: Barman's recursion has revolute and prismatic joints alone; use method='composite'"
        )
    pattern = touched(tree) if sparse else []
    shape = (len(pattern), 6) if sparse else (len(robot.shown_names), 6, robot.nv)
    axes = tuple(zip(*pattern, strict=True))
    structure = dict.fromkeys(names, axes) if sparse else {}

    def trace(values: Values) -> list[list[Scalar]]:
        tree = trees(robot, values).whole
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

    return RobotRecipe(inputs, tuple(Operand(name, shape) for name in names), trace, structure)


def _reactions_along(
    robot: Robot,
    outside: External,
    names: Sequence[str],
    inputs: tuple[Operand, ...],
    method: str,
    sparse: bool,
) -> RobotRecipe:
    """With loops or couplings: by the differentiation pass."""
    if method != "cheapest" or sparse:
        raise InputError(
            f"reaction_sensitivities: methods and sparse= are for trees without spinning bodies; robot {robot.name!r} "
            "has loops, couplings or such a body"
        )
    links = len(robot.shown_names)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = trees(robot, values).whole
        chart = Chart(robot, values["q"], tree)
        rows = reactions_of(chart, tree, values, outside, values["qdd"])[0]
        parts = along_chart(chart, rows, values["q"], [values["qd"], values["qdd"]])
        return [[x for row in part for x in row] for part in parts]

    return RobotRecipe(inputs, tuple(Operand(name, (links, 6, robot.nv)) for name in names), trace)


def _sigmas(tree: Tree) -> bool:
    """Whether all joints are of the kinds that the papers have."""
    return all(body.sigma is not None for body in tree.bodies)


def _as_entries(found: barman.Tables) -> ReactionSensitivities:
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
                for number in range(len(tree.link_names))
                for k in range(6)
                for column in range(robot.nv)
            ]
        )
    return results
