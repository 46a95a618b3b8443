"""Parallel robots as recipes, Khalil (59)-(66): the platform and the legs each for themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neuler.compiler.build import Recipe
from neuler.compiler.graph import Scalar, one_if_positive
from neuler.compiler.llvm import Operand
from neuler.errors import InputError, RobotError
from neuler.mobility import chart, mobility
from neuler.recursions.closed import SINGULAR, Constraints, times, transposed_times
from neuler.recursions.composite import mass_matrix
from neuler.recursions.factor import Factor
from neuler.recursions.hybrid import hybrid
from neuler.recursions.parallel import Platform
from neuler.robot import ParallelRobot
from neuler.setup import Values, fused_tree, grouped_tree

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
            raise RobotError(f"parallel robot {robot.name!r}: no joint of its legs is driven")
        self.q = Operand("q", (mechanism.tree.nq,))
        self.tau = Operand("tau", (len(self.motors),))

    def platform(self, q: Sequence[Scalar]) -> Platform:
        """All legs at a position."""
        return Platform(Constraints(self.tree, self.mechanism), q, self.motors)

    def inputs(self, *more: str) -> tuple[Operand, ...]:
        """q, and screws of the platform."""
        return (self.q, *(Operand(name, (6,)) for name in more))

    def motion(self, platform: Platform, values: Values) -> tuple[list[Scalar], list[Scalar], Scalar]:
        """Velocities and accelerations of the tree; and one, or NaN where the legs do not allow this motion."""
        v, vd = values["v"], values["vd"]
        qd = platform.velocities(v)
        bias = platform.bias(qd)
        allowed: Scalar = 1.0
        for refused, whole in (platform.refused(v), platform.refused(vd, bias)):
            if not (isinstance(whole, float) and whole == 0.0):
                allowed = allowed * one_if_positive(_REFUSED * (1.0 + whole) - refused)
        return qd, platform.accelerations(vd, bias), allowed

    def regular(self, platform: Platform) -> Scalar:
        """One, or NaN at a singular pose."""
        legs, plate = platform.margins()
        return one_if_positive(legs - SINGULAR) * one_if_positive(plate - SINGULAR)


def _forces(setup: _Setup, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
    """F_P and all Gamma_i: inverse dynamics of platform and legs, Khalil (9), (12)."""
    return hybrid(setup.grouped, q, qd, qdd, [True] * setup.grouped.dof).coordinates


def inverse_dynamics(robot: ParallelRobot) -> Recipe:
    """Gamma = J_p^T (F_P + sum B_i^T Gamma_i), Khalil (66): (q, v, vd) -> tau of the motors.

    With more motors than freedoms, the least (in the sum of their squares) of all that do it.
    """
    setup = _Setup(robot)
    chart(setup.mechanism)  # names what the motors leave undecided

    def trace(values: Values) -> list[list[Scalar]]:
        platform = setup.platform(values["q"])
        qd, qdd, allowed = setup.motion(platform, values)
        whole = platform.cartesian(_forces(setup, values["q"], qd, qdd))
        one = setup.regular(platform) * allowed
        return [[x * one for x in transposed_times(platform.jacobian(), whole)]]

    return Recipe(setup.inputs("v", "vd"), (setup.tau,), trace)


def cartesian_force(robot: ParallelRobot) -> Recipe:
    """F_P + sum B_i^T Gamma_i: the dynamic model in the space of the platform, the bracket of Khalil (66)."""
    setup = _Setup(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        platform = setup.platform(values["q"])
        qd, qdd, allowed = setup.motion(platform, values)
        found = platform.cartesian(_forces(setup, values["q"], qd, qdd))
        one = allowed * one_if_positive(platform.margins()[0] - SINGULAR)
        return [[x * one for x in found]]

    return Recipe(setup.inputs("v", "vd"), (Operand("force", (6,)),), trace)


def cartesian_mass_matrix(robot: ParallelRobot) -> Recipe:
    """A_P + sum B_i^T A_i B_i: what ``cartesian_force`` grows by for a unit of vd."""
    setup = _Setup(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        platform = setup.platform(values["q"])
        found = platform.inertia(mass_matrix(setup.grouped, values["q"]))
        one = one_if_positive(platform.margins()[0] - SINGULAR)
        return [[x * one for row in found for x in row]]

    return Recipe(setup.inputs(), (Operand("mass_matrix", (6, 6)),), trace)


def forward_dynamics(robot: ParallelRobot) -> Recipe:
    """(q, v, tau) -> vd.

    Six freedoms: A_x vd = B_a^T tau - H_x in the space of the platform. Fewer: along the motions of the motors,
    vd = J_p qdd_a + what the velocities alone ask for, as in Khalil (58).
    """
    setup = _Setup(robot)
    freedoms = mobility(setup.mechanism).freedoms
    chart(setup.mechanism)
    if freedoms < 6 and len(setup.motors) > freedoms:
        raise InputError(
            f"forward_dynamics: {robot.name!r} has {freedoms} freedoms and {len(setup.motors)} motors; "
            "use robot.mechanism.forward_dynamics, which takes one motor a freedom as coordinates"
        )

    def trace(values: Values) -> list[list[Scalar]]:
        q, tau = values["q"], values["tau"]
        platform = setup.platform(q)
        qd = platform.velocities(values["v"])
        bias = platform.bias(qd)
        inertia = platform.inertia(mass_matrix(setup.grouped, q))
        legs, plate = (one_if_positive(x - SINGULAR) for x in platform.margins())
        if freedoms == 6:
            rest = platform.cartesian(_forces(setup, q, qd, platform.accelerations([0.0] * 6, bias)))
            driven = transposed_times(platform.inverse_jacobian, tau)
            found = Factor(inertia, ["platform"] * 6).solve([a - b for a, b in zip(driven, rest, strict=True)])
            return [[x * legs for x in found]]
        j, drift = platform.jacobian(), platform.drift(bias)
        rest = platform.cartesian(_forces(setup, q, qd, platform.accelerations(drift, bias)))
        columns = list(zip(*j, strict=True))
        moved = [times(inertia, column) for column in columns]
        reduced = [transposed_times(j, column) for column in moved]
        lacking = [a - b for a, b in zip(tau, transposed_times(j, rest), strict=True)]
        pushed = Factor(reduced, list(setup.mechanism.active_names)).solve(lacking)
        one = legs * plate
        return [[(a + b) * one for a, b in zip(times(j, pushed), drift, strict=True)]]

    return Recipe((*setup.inputs("v"), setup.tau), (Operand("vd", (6,)),), trace)


def jacobian(robot: ParallelRobot) -> Recipe:
    """J_p of Khalil (60), (6, motors): the platform's velocity by the motors'."""
    setup = _Setup(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        platform = setup.platform(values["q"])
        one = setup.regular(platform)
        return [[x * one for row in platform.jacobian() for x in row]]

    return Recipe(setup.inputs(), (Operand("jacobian", (6, len(setup.motors))),), trace)


def inverse_jacobian(robot: ParallelRobot) -> Recipe:
    """The motors' velocities by the platform's, (motors, 6): J_p^-1 of a robot with six freedoms."""
    setup = _Setup(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        platform = setup.platform(values["q"])
        one = one_if_positive(platform.margins()[0] - SINGULAR)
        return [[x * one for row in platform.inverse_jacobian for x in row]]

    return Recipe(setup.inputs(), (Operand("inverse_jacobian", (len(setup.motors), 6)),), trace)


def singularity(robot: ParallelRobot) -> Recipe:
    """From 0 to 1: of the legs, which lose a freedom at 0, and of the platform, which gains one."""
    setup = _Setup(robot)
    trace = lambda values: [[x] for x in setup.platform(values["q"]).margins()]  # noqa: E731
    return Recipe(setup.inputs(), (Operand("legs", ()), Operand("platform", ())), trace)


def leg_motion(robot: ParallelRobot) -> Recipe:
    """Velocities and accelerations of all legs' joints, Khalil (61)-(65): (q, v, vd) -> (joints), (joints)."""
    setup = _Setup(robot)

    def trace(values: Values) -> list[list[Scalar]]:
        platform = setup.platform(values["q"])
        qd, qdd, allowed = setup.motion(platform, values)
        one = allowed * one_if_positive(platform.margins()[0] - SINGULAR)
        return [[x * one for x in qd[6:]], [x * one for x in qdd[6:]]]

    size = (setup.tree.dof - 6,)
    return Recipe(setup.inputs("v", "vd"), (Operand("leg_qd", size), Operand("leg_qdd", size)), trace)


PARALLEL: dict[str, Callable[..., Recipe]] = {
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
