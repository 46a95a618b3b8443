"""Parallel robots as recipes, Khalil (59)-(66): the platform and the legs each for themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from neuler.algebra.linear import times, transposed_times
from neuler.errors import RobotError
from neuler.recipes.mobility import Array, Numbers, mobility, usual_reduced
from neuler.recipes.setup import RobotRecipe, Values, fused_tree, grouped_tree
from neuler.recursions.closed import SINGULAR, Constraints
from neuler.recursions.composite import mass_matrix
from neuler.recursions.factor import Factor
from neuler.recursions.hybrid import hybrid
from neuler.recursions.parallel import Platform, ways
from neuler.robot import ParallelRobot
from neuler.trace.graph import Scalar, one_if_above, one_if_positive
from neuler.trace.recipe import Operand

_STRETCHED = 1e-7
"""Of the legs' measure: below it a leg is singular but for rounding, which a stretched one shows by its root."""
_REFUSED = 1e-12
"""Share (squared) of a platform's motion that its legs may not allow: more is not rounding."""


class _Setup:
    """What all recipes of one robot need."""

    def __init__(self, robot: ParallelRobot) -> None:
        mechanism = robot.mechanism
        self.robot, self.mechanism = robot, mechanism
        self.tree, self.grouped = fused_tree(mechanism.tree), grouped_tree(mechanism.tree)
        names = self.tree.freedom_names
        self.motors = [k for k, name in enumerate(names) if name in mechanism.active_names]
        if not self.motors:
            raise RobotError(f"parallel robot {robot.name!r}: no joint of its legs is driven; it needs motors")
        facts = mobility(mechanism)
        self.freedoms = facts.freedoms
        fewer = facts.freedoms < 6 and len(self.motors) > facts.freedoms > 0
        self.chosen = [k for k in self.motors if names[k] in facts.independent] if fewer else self.motors
        seats = np.array([leg.attachment.translation for leg in robot.legs])
        self.length = float(np.sqrt((seats**2).sum(axis=1).mean())) or 1.0
        self.reaches = _reaches(robot, np.array(facts.reference))
        self.q = Operand("q", (mechanism.tree.nq,))
        self.tau = Operand("tau", (len(self.motors),))

    def drivable(self) -> None:
        """Refuse motors that leave a freedom undecided."""
        if not self.freedoms:
            raise RobotError(f"parallel robot {self.robot.name!r} has no freedom: its legs hold the platform still")
        if not mobility(self.mechanism).independent:
            raise RobotError(
                f"parallel robot {self.robot.name!r} has {self.freedoms} freedoms, which its motors "
                f"({', '.join(self.robot.active_names)}) do not decide at its reference: it is under-actuated, or the "
                "reference is singular. Drive more joints (role 'driven'), or give another reference="
            )

    def platform(self, q: Sequence[Scalar]) -> Platform:
        """All legs at a position."""
        constraints = Constraints(self.tree, self.mechanism)
        return Platform(constraints, q, self.motors, self.chosen, self.length, self.reaches)

    def inputs(self, *more: str) -> tuple[Operand, ...]:
        """q, and screws of the platform."""
        return (self.q, *(Operand(name, (6,)) for name in more))

    def motion(self, platform: Platform, values: Values) -> tuple[list[Scalar], list[Scalar], Scalar]:
        """Velocities and accelerations of the tree; and one, or NaN where the legs do not allow this motion."""
        v, vd = values["v"], values["vd"]
        qd = platform.velocities(v)
        bias = platform.bias(qd)
        allowed = _allowed(platform.refused(v)) * _allowed(platform.refused(vd, bias))
        return qd, platform.accelerations(vd, bias), allowed

    def regular(self, platform: Platform) -> Scalar:
        """One, or NaN at a singular pose and where the loops are open."""
        return self.legs_follow(platform) * one_if_above(platform.margins()[1], SINGULAR)

    def legs_follow(self, platform: Platform) -> Scalar:
        """One, or NaN where a leg has lost a freedom or does not reach the platform."""
        return one_if_above(platform.margins()[0], _STRETCHED) * platform.constraints.closed(platform.q)


def _allowed(asked: tuple[Scalar, Scalar]) -> Scalar:
    """One, or NaN where legs refuse more of a motion than rounding."""
    refused, whole = asked
    if isinstance(whole, float) and whole == 0.0:
        return 1.0
    return one_if_positive(_REFUSED * (1.0 + whole) - refused)


def _reaches(robot: ParallelRobot, reference: Array) -> list[float]:
    """How far (m) a turn of each leg's joints moves its tip. Legs that move while the platform stands are refused."""
    numbers = Numbers(robot.mechanism)
    near = numbers.moved(reference, np.random.default_rng(0).uniform(-0.01, 0.01, numbers.tree.dof))
    here, beside = numbers.jacobian(reference), numbers.jacobian(near)  # the reference itself may be singular
    found = []
    row, column = 0, 6
    for leg, loop in zip(robot.legs, robot.mechanism.loops, strict=True):
        block = np.s_[row : row + loop.constraints, column : column + leg.chain.nv]
        sizes = np.linalg.svd(beside[block], compute_uv=False)
        if len(sizes) < leg.chain.nv or sizes.min() < 1e-8 * sizes.max():
            raise RobotError(
                f"parallel robot {robot.name!r}: leg {leg.name!r} can move while the platform stands still: it has "
                f"{leg.chain.nv} joints, its {leg.kind} joint at the platform holds {loop.constraints} numbers; "
                "robot.mechanism computes with such legs"
            )
        turns = [joint.kind == "revolute" for joint in leg.chain.moving_joints]
        arms = np.linalg.norm(here[block][: ways(leg.kind), turns], axis=0)
        found.append(float(arms.max(initial=0.0)) or 1.0)
        row, column = row + loop.constraints, column + leg.chain.nv
    return found


def _forces(setup: _Setup, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
    """F_P and all Gamma_i: inverse dynamics of platform and legs, Khalil (9), (12)."""
    return hybrid(setup.grouped, q, qd, qdd, [True] * setup.grouped.dof).coordinates


def inverse_dynamics(robot: ParallelRobot) -> RobotRecipe:
    """Gamma = J_p^T (F_P + sum B_i^T Gamma_i), Khalil (66): (q, v, vd) -> tau of the motors.

    With more motors than freedoms, the least (in the sum of their squares) of all that do it.
    """
    setup = _Setup(robot)
    setup.drivable()

    def trace(values: Values) -> list[list[Scalar]]:
        platform = setup.platform(values["q"])
        qd, qdd, allowed = setup.motion(platform, values)
        whole = platform.cartesian(_forces(setup, values["q"], qd, qdd))
        one = setup.regular(platform) * allowed
        return [[x * one for x in platform.torques(whole)]]

    return RobotRecipe(setup.inputs("v", "vd"), (setup.tau,), trace)


def cartesian_force(robot: ParallelRobot) -> RobotRecipe:
    """F_P + sum B_i^T Gamma_i: the dynamic model in the space of the platform, the bracket of Khalil (66)."""
    setup = _Setup(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        platform = setup.platform(values["q"])
        qd, qdd, allowed = setup.motion(platform, values)
        found = platform.cartesian(_forces(setup, values["q"], qd, qdd))
        one = allowed * setup.legs_follow(platform)
        return [[x * one for x in found]]

    return RobotRecipe(setup.inputs("v", "vd"), (Operand("force", (6,)),), trace)


def cartesian_mass_matrix(robot: ParallelRobot) -> RobotRecipe:
    """A_P + sum B_i^T A_i B_i: what ``cartesian_force`` grows by for a unit of vd."""
    setup = _Setup(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        platform = setup.platform(values["q"])
        found = platform.inertia(mass_matrix(setup.grouped, values["q"]))
        one = setup.legs_follow(platform)
        return [[x * one for row in found for x in row]]

    return RobotRecipe(setup.inputs(), (Operand("mass_matrix", (6, 6)),), trace)


def forward_dynamics(robot: ParallelRobot) -> RobotRecipe:
    """(q, v, tau) -> vd.

    Six freedoms: A_x vd = B_a^T tau - H_x in the space of the platform, also where the motors cannot hold it. Fewer:
    along the motions of the motors, vd = J_p x + what the velocities alone ask for, as in Khalil (58).
    """
    setup = _Setup(robot)
    setup.drivable()
    independent = range(6) if setup.freedoms == 6 else setup.chosen
    names = [setup.tree.freedom_names[k] for k in independent]
    usual = usual_reduced(setup.mechanism, "forward_dynamics", independent, names)

    def trace(values: Values) -> list[list[Scalar]]:
        q, v, tau = values["q"], values["v"], values["tau"]
        platform = setup.platform(q)
        qd = platform.velocities(v)
        bias = platform.bias(qd)
        matrix = mass_matrix(setup.grouped, q)
        driven = transposed_times(platform.inverse_jacobian, tau)
        margins = platform.margins()
        legs, plate = setup.legs_follow(platform), one_if_above(margins[1], SINGULAR)
        if setup.freedoms == 6:
            rest = platform.cartesian(_forces(setup, q, qd, platform.accelerations([0.0] * 6, bias)))
            inertia = platform.inertia(matrix)
            found = Factor(inertia, names, usual).solve([a - b for a, b in zip(driven, rest, strict=True)])
            return [[x * legs for x in found]]
        motions, drift = platform.motions(), platform.drift(bias)
        rest = platform.cartesian(_forces(setup, q, qd, platform.accelerations(drift, bias)))
        lacking = transposed_times(motions, [a - b for a, b in zip(driven, rest, strict=True)])
        pushed = Factor(platform.inertia(matrix, motions), names, usual).solve(lacking)
        one = legs * plate * _allowed(platform.refused(v))
        return [[(a + b) * one for a, b in zip(times(motions, pushed), drift, strict=True)]]

    vanishing = tuple(dict.fromkeys(names)) if usual else ()
    return RobotRecipe((*setup.inputs("v"), setup.tau), (Operand("vd", (6,)),), trace, may_vanish=vanishing)


def jacobian(robot: ParallelRobot) -> RobotRecipe:
    """J_p of Khalil (60), (6, motors): the platform's velocity by the motors'.

    With more motors than freedoms it takes any velocities of theirs, and gives that of the nearest ones that go.
    """
    setup = _Setup(robot)
    setup.drivable()

    def trace(values: Values) -> list[list[Scalar]]:
        platform = setup.platform(values["q"])
        one = setup.regular(platform)
        return [[x * one for row in platform.jacobian() for x in row]]

    return RobotRecipe(setup.inputs(), (Operand("jacobian", (6, len(setup.motors))),), trace)


def inverse_jacobian(robot: ParallelRobot) -> RobotRecipe:
    """The motors' velocities by the platform's, (motors, 6): J_p^-1 of a robot with six freedoms."""
    setup = _Setup(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        platform = setup.platform(values["q"])
        one = setup.legs_follow(platform)
        return [[x * one for row in platform.inverse_jacobian for x in row]]

    return RobotRecipe(setup.inputs(), (Operand("inverse_jacobian", (len(setup.motors), 6)),), trace)


def singularity(robot: ParallelRobot) -> RobotRecipe:
    """(q) -> (legs, platform), both from 0 to 1, singular at 0.

    Legs: the volume that a leg's columns of J_i span, 0 where one loses a freedom, a stretched leg for instance; over
    all legs a harmonic mean. Platform: the volume of the motors' rows of J_p^-1 and of what the legs hold, 0 where the
    platform gains a freedom that no motor holds. 1 is isotropic: square to one another and equally long, with turns
    counted as the ways by which they move the platform's joints.
    """
    setup = _Setup(robot)
    trace = lambda values: [[x] for x in setup.platform(values["q"]).margins()]  # noqa: E731
    return RobotRecipe(setup.inputs(), (Operand("legs", ()), Operand("platform", ())), trace, unmarked=True)


def leg_motion(robot: ParallelRobot) -> RobotRecipe:
    """Velocities and accelerations of all legs' joints, Khalil (61)-(65): (q, v, vd) -> (joints), (joints)."""
    setup = _Setup(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        platform = setup.platform(values["q"])
        qd, qdd, allowed = setup.motion(platform, values)
        one = allowed * setup.legs_follow(platform)
        return [[x * one for x in qd[6:]], [x * one for x in qdd[6:]]]

    size = (setup.tree.dof - 6,)
    return RobotRecipe(setup.inputs("v", "vd"), (Operand("leg_qd", size), Operand("leg_qdd", size)), trace)


PARALLEL: dict[str, Callable[..., RobotRecipe]] = {
    "inverse_dynamics": inverse_dynamics,
    "forward_dynamics": forward_dynamics,
    "cartesian_force": cartesian_force,
    "cartesian_mass_matrix": cartesian_mass_matrix,
    "jacobian": jacobian,
    "inverse_jacobian": inverse_jacobian,
    "singularity": singularity,
    "leg_motion": leg_motion,
}
"""What can be computed of a parallel robot."""
