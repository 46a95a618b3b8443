"""Motions that forces make: direct dynamics, and hybrid ones, where the motion of some joints is given.

By articulated bodies of a tree; with couplings or loops by the reduced matrix, Khalil (58), but for rotors on the
antecedents of their joints, which articulated bodies know.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuler.algebra.linear import dot
from neuler.errors import InputError
from neuler.naming import listed
from neuler.passes.trees import may_vanish
from neuler.quantities.declare import Names, quantity
from neuler.quantities.dynamics import by_link, moved_tree, reaction_outputs, reactions_of, reduced_mass
from neuler.quantities.losses import Losses
from neuler.quantities.setup import External, RobotRecipe, Values, coordinates, has_parameters, trees
from neuler.recursions import nasser, walker_orin
from neuler.recursions.factor import Factor
from neuler.recursions.hybrid import hybrid
from neuler.robot import Robot
from neuler.robot.expand import expand
from neuler.structure.chart import Chart
from neuler.structure.geared import geared_tree
from neuler.structure.inertias import usual_free, usual_own
from neuler.structure.mobility import completed, refuse_forceless, refuse_undriven, velocity_numbers
from neuler.trace.graph import Scalar
from neuler.trace.recipe import Operand

FORWARD_METHODS = ("articulated", "nasser", "walker_orin")


def own_names(robot: Robot) -> list[str]:
    """The joint behind every one of the robot's own velocities."""
    return [entry.name for entry in robot.coordinates.owners("qd")]


def direct(
    chart: Chart,
    values: Values,
    outside: External,
    tau: Sequence[Scalar],
    names: Sequence[str],
    usual: dict[int, float],
) -> list[Scalar]:
    """A_c^-1 (G_a^T tau - H_c), Khalil (58)."""
    tree = trees(chart.robot, values).grouped
    tau = Losses(chart.robot, tree, chart.rates(values["qd"])).load_from_tau(tau)
    rest = moved_tree(chart, tree, values, outside, [0.0] * len(names)).coordinates
    right = [a - b for a, b in zip(chart.generalized(tau), chart.project(rest), strict=True)]
    return Factor(reduced_mass(chart, tree), names, usual).solve(right)


@quantity("q, qd, tau -> qdd")
def forward_dynamics(
    robot: Robot,
    *,
    method: str = "articulated",
    external: Names = (),
    loads: Names = (),
    reactions: bool = False,
) -> RobotRecipe:
    """Accelerations for given forces, (nv): qdd = M(q)^-1 (tau + J(q)^T w - h(q, qd)).

    For a tree by the articulated-body algorithm, Khalil (34)-(44); ``method`` "nasser" (Nasser 2) and "walker_orin"
    (columns of M by inverse dynamics) are independent of it. With couplings or loops from the reduced mass matrix,
    (58). ``external``, ``loads`` and ``reactions`` as for ``inverse_dynamics``.

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> tau = arm.inverse_dynamics(q, qd, [1.0, 2.0])
    >>> np.allclose(arm.forward_dynamics(q, qd, tau), [1.0, 2.0])
    True
    """
    if method not in FORWARD_METHODS:
        raise InputError(f"forward_dynamics: method must be one of {', '.join(FORWARD_METHODS)}, got {method!r}")
    outside = External.of(robot, external, loads)
    inputs = coordinates(robot, "q", "qd", "tau") + outside.inputs()
    outputs = coordinates(robot, "qdd") + (reaction_outputs(robot) if reactions else ())
    if method == "articulated" and not reactions and geared_tree(robot) is not None:
        return _geared_direct(robot, outside, inputs, outputs)
    if robot.loops or robot.couplings:
        return _reduced_direct(robot, method, outside, inputs, outputs, reactions)
    if method == "nasser":
        other = next((joint for joint in expand(robot).joints if joint.type.sigma is None), None)
        if other is not None:
            raise InputError(
                f"forward_dynamics: method 'nasser' knows revolute and prismatic joints, and robot {robot.name!r} has "
                f"{other.name!r}, which is {other.kind}; use 'articulated' or 'walker_orin'"
            )
    if method == "walker_orin" and reactions:
        raise InputError("forward_dynamics: method 'walker_orin' has no reactions; use 'articulated' or 'nasser'")

    def trace(values: Values) -> list[list[Scalar]]:
        tree = trees(robot, values).whole if reactions else trees(robot, values).grouped
        q, qd, pushed = values["q"], values["qd"], outside.applied(tree, values)
        tau = Losses(robot, tree, qd).load_from_tau(values["tau"])
        if method == "walker_orin":
            return [walker_orin.forward_dynamics(tree, q, qd, tau, pushed)]
        if method == "nasser":
            solved = nasser.nasser(tree, q, qd, tau, pushed)
        else:
            solved = hybrid(tree, q, qd, tau, [False] * tree.dof, pushed)
        return [solved.coordinates, *([by_link(tree, solved.reactions)] if reactions else [])]

    vanishing = may_vanish(robot, "forward_dynamics", [False] * robot.nv)
    return RobotRecipe(inputs, outputs, trace, may_vanish=vanishing)


def _geared_direct(
    robot: Robot, outside: External, inputs: tuple[Operand, ...], outputs: tuple[Operand, ...]
) -> RobotRecipe:
    """By articulated bodies that know the rotors of their joints; with parameters by the reduced matrix."""
    names = own_names(robot)
    usual = usual_own(robot, "forward_dynamics", names)

    def trace(values: Values) -> list[list[Scalar]]:
        tree = geared_tree(robot)
        assert tree is not None
        if has_parameters(values):
            return [direct(Chart(robot, values["q"]), values, outside, values["tau"], names, usual)]
        q, qd = values["q"], values["qd"]
        tau = Losses(robot, tree, qd).load_from_tau(values["tau"])
        return [hybrid(tree, q, qd, tau, [False] * tree.dof, outside.applied(tree, values)).coordinates]

    return RobotRecipe(inputs, outputs, trace, may_vanish=tuple(dict.fromkeys(names)) if usual else ())


def _reduced_direct(
    robot: Robot,
    method: str,
    outside: External,
    inputs: tuple[Operand, ...],
    outputs: tuple[Operand, ...],
    reactions: bool,
) -> RobotRecipe:
    if method != "articulated":
        raise InputError(
            f"forward_dynamics: method {method!r} is for trees; robot {robot.name!r} has loops or couplings"
        )
    refuse_forceless(robot, "forward_dynamics")
    if reactions:
        refuse_undriven(robot, "forward_dynamics with reactions")
    names = own_names(robot)
    usual = usual_own(robot, "forward_dynamics", names)

    def trace(values: Values) -> list[list[Scalar]]:
        whole = trees(robot, values).whole if reactions else None
        chart = Chart(robot, values["q"], whole)
        found = direct(chart, values, outside, values["tau"], names, usual)
        results = [chart.nan_where_invalid(found)]
        return results if whole is None else results + reactions_of(chart, whole, values, outside, found)

    return RobotRecipe(inputs, outputs, trace, may_vanish=tuple(dict.fromkeys(names)) if usual else ())


@quantity("q, qd, given -> found")
def hybrid_dynamics(
    robot: Robot,
    *,
    motion: Names | None = None,
    external: Names = (),
    loads: Names = (),
    reactions: bool = False,
) -> RobotRecipe:
    """Mixed dynamics, (nu): each joint is given its acceleration or its force, and the other one is returned.

    For the joints named in ``motion`` the input ``given`` holds accelerations and the result ``found`` their forces;
    for all others ``given`` holds forces and ``found`` accelerations. By default ``motion`` are the driven joints: the
    result is then the motors' forces, and the accelerations of elastic and passive joints, Khalil (72)-(82), and of
    free links, (89)-(100). With loops the joints in ``motion`` must be independent of each other.

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> tau = arm.inverse_dynamics(q, qd, [1.0, 2.0])
    >>> found = arm.hybrid_dynamics(q, qd, [1.0, tau[1]], motion="joint1")  # acceleration of joint1, force of joint2
    >>> np.allclose(found, [tau[0], 2.0])
    True
    """
    refuse_forceless(robot, "hybrid_dynamics")
    roles = {joint.name: joint.role for joint in robot.moving_joints}
    driven = tuple(name for name in robot.active_names if roles[name] == "driven")
    chosen = driven if motion is None else (motion,) if isinstance(motion, str) else tuple(motion)
    for name in chosen:
        if name not in robot.active_names:
            raise InputError(
                f"hybrid_dynamics: robot {robot.name!r} has no moving joint {name!r}"
                f"{' in tau' if name in robot.joint_names else ''}; it has {listed(name, robot.active_names)}"
            )
    if len(set(chosen)) != len(chosen):
        raise InputError(f"hybrid_dynamics: a joint is named twice in motion={chosen}")
    outside = External.of(robot, external, loads)
    outputs = (Operand("found", (robot.nu,)), *(reaction_outputs(robot) if reactions else ()))
    inputs = (*coordinates(robot, "q", "qd"), Operand("given", (robot.nu,)), *outside.inputs())
    if robot.loops or robot.couplings:
        return _reduced_hybrid(robot, chosen, outside, inputs, outputs)
    motion_given = [entry.name in chosen for entry in robot.coordinates.owners("qd")]

    def trace(values: Values) -> list[list[Scalar]]:
        tree = trees(robot, values).whole if reactions else trees(robot, values).grouped
        losses = Losses(robot, tree, values["qd"])
        given = losses.mixed(values["given"], motion_given, found=False)
        solved = hybrid(tree, values["q"], values["qd"], given, motion_given, outside.applied(tree, values))
        return [
            losses.mixed(solved.coordinates, motion_given, found=True),
            *([by_link(tree, solved.reactions)] if reactions else []),
        ]

    return RobotRecipe(inputs, outputs, trace, may_vanish=may_vanish(robot, "hybrid_dynamics", motion_given))


def _reduced_hybrid(
    robot: Robot,
    chosen: tuple[str, ...],
    outside: External,
    inputs: tuple[Operand, ...],
    outputs: tuple[Operand, ...],
) -> RobotRecipe:
    """Along velocities that begin with those given: M_ff qdd_f = tau_f - h_f - M_fm qdd_m."""
    if len(outputs) > 1:
        raise InputError("hybrid_dynamics: with loops or couplings it has no reactions; inverse_dynamics has them")
    moved = [k for k, _ in velocity_numbers(robot, chosen)]
    choice = completed(robot, chosen) if robot.loops else None
    active = robot.coordinates.active
    own = list(choice.independent if choice else robot.coordinates.independent)
    free = [k for k in own if k not in moved]
    every = [entry.name for entry in robot.coordinates.owners("qd", every=True)]
    spots = [own.index(k) for k in free]
    usual = usual_free(robot, "hybrid_dynamics", own, [every[k] for k in own], spots)

    def trace(values: Values) -> list[list[Scalar]]:
        base = Chart(robot, values["q"])
        chart = Chart(robot, values["q"], choice=choice)
        rates = base.rates(values["qd"])
        motion = {**values, "qd": [rates[k] for k in own]}
        tree = trees(robot, values).grouped
        losses, motion_given = Losses(robot, tree, rates), [k in moved for k in active]
        given = dict(zip(active, losses.mixed(values["given"], motion_given, found=False), strict=True))
        pushed = [given[k] if k in moved else 0.0 for k in own]
        needed = chart.project(moved_tree(chart, tree, motion, outside, pushed).coordinates)
        # forces that are given, along all velocities; those that are unknown act along their own alone
        rows = chart.coupling
        forces = [(rows[k], x) for k, x in given.items() if k not in moved]
        helped = [dot([row[i] for row, _ in forces], [x for _, x in forces]) for i in range(len(own))]
        qdd = list(pushed)
        matrix = reduced_mass(chart, tree)
        if spots:
            part = Factor([[matrix[i][k] for k in spots] for i in spots], [every[k] for k in free], usual)
            for i, x in zip(spots, part.solve([helped[i] - needed[i] for i in spots]), strict=True):
                qdd[i] = x
        moving = chart.joint_accelerations(motion["qd"], qdd)
        whole = chart.project(moved_tree(chart, tree, motion, outside, qdd).coordinates)
        found = [whole[own.index(k)] - helped[own.index(k)] if k in moved else moving[k] for k in active]
        return [base.nan_where_invalid(losses.mixed(found, motion_given, found=True), chart.valid)]

    vanishing = tuple(dict.fromkeys(every[k] for k in free)) if usual else ()
    return RobotRecipe(inputs, outputs, trace, may_vanish=vanishing)
