"""What can be computed of a robot: each quantity as a recipe of inputs, outputs and a recursion."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence

from neuler.algebra.screw import Wrench, flat
from neuler.errors import InputError
from neuler.naming import closest, listed
from neuler.passes.tree import Tree
from neuler.recipes.closed_loops import CLOSED_LOOPS
from neuler.recipes.derivatives import (
    forward_dynamics_sensitivities,
    inverse_dynamics_hessian,
    inverse_dynamics_sensitivities,
    reaction_sensitivities_of,
)
from neuler.recipes.motion_rates import inverse_dynamics_rate, link_motions
from neuler.recipes.parallel_robots import PARALLEL
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
from neuler.recipes.whole_body import (
    center_of_mass,
    center_of_mass_jacobian,
    centroidal_matrix,
    centroidal_momentum,
    centroidal_momentum_rate,
    integrate,
)
from neuler.recursions import composite, coriolis, energy, frames, nasser, walker_orin
from neuler.recursions.hybrid import hybrid
from neuler.recursions.kinematics import placements, velocities
from neuler.robot import Mechanism, ParallelRobot, Robot
from neuler.robot.expand import expand
from neuler.trace.graph import Scalar
from neuler.trace.recipe import Operand

FORWARD_METHODS = ("articulated", "nasser", "walker_orin")


# ---- dynamics -----------------------------------------------------------------------------------


def _hybrid_recipe(
    robot: Robot, quantity: str, told: Sequence[bool], outside: External, reactions: bool
) -> RobotRecipe:
    """Hybrid dynamics with some joints' motion given; ``reactions`` adds the reaction wrenches."""
    given, found = {"inverse_dynamics": ("qdd", "tau"), "forward_dynamics": ("tau", "qdd")}.get(
        quantity, ("given", "found")
    )

    def trace(values: Values) -> list[list[Scalar]]:
        tree = whole_tree(robot) if reactions else grouped_tree(robot)
        solved = hybrid(tree, values["q"], values["qd"], values[given], told, outside.applied(tree, values))
        results = [solved.coordinates]
        if reactions:
            results.append(_reactions(tree, solved.reactions))
        return results

    outputs = [Operand(found, (robot.nv,))]
    if reactions:
        outputs.append(Operand("reactions", (len(robot.links), 6)))
    inputs = coordinates(robot, "q", "qd", given) + outside.inputs()
    return RobotRecipe(inputs, tuple(outputs), trace, may_vanish=may_vanish(robot, quantity, told))


def _reactions(tree: Tree, reactions: Sequence[Wrench]) -> list[Scalar]:
    """In the user's link frames, at their origins."""
    rows: list[Scalar] = []
    for name in tree.link_names:
        number, placement = tree.frames[name]
        rows.extend(flat(frames.wrench_at(placement, reactions[number])))
    return rows


def inverse_dynamics(
    robot: Robot, *, external: str | Iterable[str] = (), loads: str | Iterable[str] = (), reactions: bool = False
) -> RobotRecipe:
    """tau = M(q) qdd + h(q, qd) - J^T wrench, Khalil (12).

    ``external`` names frames with a wrench in their own axes, ``loads`` frames with one in the base's axes.
    """
    outside = External.of(robot, external, loads)
    return _hybrid_recipe(robot, "inverse_dynamics", [True] * robot.nv, outside, reactions)


def forward_dynamics(
    robot: Robot,
    *,
    method: str = "articulated",
    external: str | Iterable[str] = (),
    loads: str | Iterable[str] = (),
    reactions: bool = False,
) -> RobotRecipe:
    """qdd = M(q)^-1 (tau + J^T wrench - h(q, qd)), Khalil (41)."""
    if method not in FORWARD_METHODS:
        raise InputError(f"forward_dynamics: method must be one of {', '.join(FORWARD_METHODS)}, got {method!r}")
    outside = External.of(robot, external, loads)
    if method == "articulated":
        return _hybrid_recipe(robot, "forward_dynamics", [False] * robot.nv, outside, reactions)
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
        tree = whole_tree(robot) if reactions else grouped_tree(robot)
        arguments = (tree, values["q"], values["qd"], values["tau"], outside.applied(tree, values))
        if method == "walker_orin":
            return [walker_orin.forward_dynamics(*arguments)]
        solved = nasser.nasser(*arguments)
        return [solved.coordinates, *([_reactions(tree, solved.reactions)] if reactions else [])]

    outputs = [Operand("qdd", (robot.nv,))]
    if reactions:
        outputs.append(Operand("reactions", (len(robot.links), 6)))
    inputs = coordinates(robot, "q", "qd", "tau") + outside.inputs()
    vanishing = may_vanish(robot, "forward_dynamics", [False] * robot.nv)
    return RobotRecipe(inputs, tuple(outputs), trace, may_vanish=vanishing)


def hybrid_dynamics(
    robot: Robot,
    *,
    motion: str | Iterable[str] | None = None,
    external: str | Iterable[str] = (),
    loads: str | Iterable[str] = (),
    reactions: bool = False,
) -> RobotRecipe:
    """Joints named in ``motion`` are given accelerations, the others forces; the rest is found.

    By default the driven joints are given their motion: then it finds their forces, and the accelerations of
    elastic and passive joints, Khalil (72)-(82), and of free links, (89)-(100).
    """
    driven = tuple(joint.name for joint in robot.moving_joints if joint.role == "driven")
    chosen = driven if motion is None else (motion,) if isinstance(motion, str) else tuple(motion)
    for name in chosen:
        if name not in robot.joint_names:
            raise InputError(
                f"hybrid_dynamics: robot {robot.name!r} has no moving joint {name!r}; "
                f"it has {listed(name, robot.joint_names)}"
            )
    told = [joint.name in chosen for joint in robot.moving_joints for _ in range(joint.nv)]
    return _hybrid_recipe(robot, "hybrid_dynamics", told, External.of(robot, external, loads), reactions)


def reaction_wrenches(
    robot: Robot, *, external: str | Iterable[str] = (), loads: str | Iterable[str] = ()
) -> RobotRecipe:
    """Khalil (26)-(30): of the antecedent on each link, of the ground on the base (row 0)."""
    whole = inverse_dynamics(robot, external=external, loads=loads, reactions=True)
    return RobotRecipe(whole.inputs, whole.outputs[1:], lambda values: whole.trace(values)[1:])


def bias_force(robot: Robot, *, external: str | Iterable[str] = (), loads: str | Iterable[str] = ()) -> RobotRecipe:
    """H(q, qd) of Khalil (7): tau at qdd = 0."""
    whole = inverse_dynamics(robot, external=external, loads=loads)
    still = [0.0] * robot.nv
    inputs = tuple(operand for operand in whole.inputs if operand.name != "qdd")
    outputs = (Operand("bias", (robot.nv,)),)
    return RobotRecipe(inputs, outputs, lambda values: whole.trace({**values, "qdd": list(still)}))


def gravity_force(robot: Robot) -> RobotRecipe:
    """tau at qd = 0 and qdd = 0: the gradient of the potential energy."""
    whole = inverse_dynamics(robot)
    still = [0.0] * robot.nv
    outputs = (Operand("gravity", (robot.nv,)),)
    trace = lambda values: whole.trace({**values, "qd": list(still), "qdd": list(still)})  # noqa: E731
    return RobotRecipe(coordinates(robot, "q"), outputs, trace)


def mass_matrix(robot: Robot) -> RobotRecipe:
    """A(q) of Khalil (7)."""
    n = robot.nv

    def trace(values: Values) -> list[list[Scalar]]:
        matrix = composite.mass_matrix(grouped_tree(robot), values["q"])
        return [[x for row in matrix for x in row]]

    return RobotRecipe(coordinates(robot, "q"), (Operand("mass_matrix", (n, n)),), trace)


def coriolis_matrix(robot: Robot) -> RobotRecipe:
    """C(q, qd) with C qd the Coriolis and centrifugal forces and dM/dt - 2 C skew-symmetric."""
    n = robot.nv

    def trace(values: Values) -> list[list[Scalar]]:
        matrix = coriolis.coriolis_matrix(grouped_tree(robot), values["q"], values["qd"])
        return [[x for row in matrix for x in row]]

    return RobotRecipe(coordinates(robot, "q", "qd"), (Operand("coriolis_matrix", (n, n)),), trace)


# ---- kinematics ---------------------------------------------------------------------------------


def _pose_values(robot: Robot, names: Sequence[str], values: Values) -> list[Scalar]:
    flat_values: list[Scalar] = []
    for rotation, origin in frames.poses(fused_tree(robot), values["q"], names):
        for row, x in zip(rotation, origin, strict=True):
            flat_values.extend((*row, x))
        flat_values.extend((0.0, 0.0, 0.0, 1.0))
    return flat_values


def link_poses(robot: Robot, *, frame: str | None = None) -> RobotRecipe:
    """Homogeneous matrices in the base frame, of all links or of one named ``frame``."""
    names = robot.link_names if frame is None else (frame,)
    robot.locate(names[0])
    shape = (len(names), 4, 4) if frame is None else (4, 4)
    outputs = (Operand("poses", shape),)
    return RobotRecipe(coordinates(robot, "q"), outputs, lambda values: [_pose_values(robot, names, values)])


def link_velocities(robot: Robot, *, frame: str | None = None) -> RobotRecipe:
    """Screws (linear; angular) in the frame's own axes at its own origin, of all links or of one ``frame``."""
    names = robot.link_names if frame is None else (frame,)
    robot.locate(names[0])

    def trace(values: Values) -> list[list[Scalar]]:
        tree = fused_tree(robot)
        screws = velocities(tree, placements(tree, values["q"]), values["qd"])
        rows: list[Scalar] = []
        for name in names:
            number, placement = tree.frames[name]
            rows.extend(flat(frames.motion_at(placement, screws[number])))
        return [rows]

    shape = (len(names), 6) if frame is None else (6,)
    return RobotRecipe(coordinates(robot, "q", "qd"), (Operand("velocities", shape),), trace)


def jacobian(robot: Robot, *, frame: str | None = None, reference: str = "link") -> RobotRecipe:
    """Of ``frame`` (default: ``robot.tip``), at its origin, in its axes ("link") or the base's ("world")."""
    name = robot.tip if frame is None else frame
    robot.locate(name)
    if reference not in ("link", "world"):
        raise InputError(f"jacobian: reference must be 'link' or 'world', got {reference!r}")

    def trace(values: Values) -> list[list[Scalar]]:
        rows = frames.jacobian(fused_tree(robot), values["q"], name, world=reference == "world")
        return [[x for row in rows for x in row]]

    return RobotRecipe(coordinates(robot, "q"), (Operand("jacobian", (6, robot.nv)),), trace)


# ---- energy and momentum ------------------------------------------------------------------------


def energy_of(robot: Robot) -> RobotRecipe:
    """Kinetic energy (rotors included) and potential energy, in joule."""

    def trace(values: Values) -> list[list[Scalar]]:
        tree = fused_tree(robot)
        return [
            [energy.kinetic_energy(grouped_tree(robot), values["q"], values["qd"])],
            [energy.potential_energy(tree, values["q"])],
        ]

    outputs = (Operand("kinetic", ()), Operand("potential", ()))
    return RobotRecipe(coordinates(robot, "q", "qd"), outputs, trace)


def momentum(robot: Robot) -> RobotRecipe:
    """(linear; angular) of all links in the base frame, about its origin."""

    def trace(values: Values) -> list[list[Scalar]]:
        tree = fused_tree(robot)
        carried = energy.momentum(tree, values["q"], values["qd"])
        return [list(flat(frames.wrench_at(tree.base, carried)))]

    return RobotRecipe(coordinates(robot, "q", "qd"), (Operand("momentum", (6,)),), trace)


QUANTITIES: dict[str, Callable[..., RobotRecipe]] = {
    "inverse_dynamics": inverse_dynamics,
    "forward_dynamics": forward_dynamics,
    "hybrid_dynamics": hybrid_dynamics,
    "mass_matrix": mass_matrix,
    "bias_force": bias_force,
    "gravity_force": gravity_force,
    "coriolis_matrix": coriolis_matrix,
    "reaction_wrenches": reaction_wrenches,
    "link_poses": link_poses,
    "link_velocities": link_velocities,
    "jacobian": jacobian,
    "energy": energy_of,
    "momentum": momentum,
    "integrate": integrate,
    "center_of_mass": center_of_mass,
    "center_of_mass_jacobian": center_of_mass_jacobian,
    "centroidal_momentum": centroidal_momentum,
    "centroidal_momentum_rate": centroidal_momentum_rate,
    "centroidal_matrix": centroidal_matrix,
    "inverse_dynamics_rate": inverse_dynamics_rate,
    "link_motions": link_motions,
    "inverse_dynamics_sensitivities": inverse_dynamics_sensitivities,
    "forward_dynamics_sensitivities": forward_dynamics_sensitivities,
    "inverse_dynamics_hessian": inverse_dynamics_hessian,
    "reaction_sensitivities": reaction_sensitivities_of,
}


Subject = Robot | Mechanism | ParallelRobot
"""What kernels are made of."""


def catalogue(subject: Subject) -> dict[str, Callable[..., RobotRecipe]]:
    """What can be computed of it."""
    if isinstance(subject, Mechanism):
        return CLOSED_LOOPS
    return PARALLEL if isinstance(subject, ParallelRobot) else QUANTITIES


_OF_THE_ROBOT = {
    "gravity": "Gravity is the robot's: robot.with_gravity((0, 0, -1.62)) is the same robot elsewhere",
    "payload": "A payload is the robot's: robot.with_payload(frame, mass) is the same robot with one",
    "friction": "Friction is the robot's: robot.without_friction() is the same robot without",
    "rotor_inertia": "Rotor inertia is the robot's: robot.without_motors() is the same robot without",
    "floating": "The base is the robot's: robot.with_free_base() is the same robot with a free one",
    "floating_base": "The base is the robot's: robot.with_free_base() is the same robot with a free one",
    "threads": "kernel.threads = 1 limits the threads of a kernel, NEULER_THREADS those of all",
}
"""What options are taken for that are none."""


def check_options(subject: Subject, quantity: str, options: Mapping[str, object]) -> None:
    """Refuse unknown quantities and options by name, and values of a wrong kind."""
    offered = catalogue(subject)
    if not isinstance(quantity, str) or quantity not in offered:
        likely = closest(quantity, offered)
        meant = f"did you mean {likely!r}? " if likely else ""
        raise InputError(f"there is no quantity {quantity!r}; {meant}there are: {', '.join(offered)}")
    known = {name: p.default for name, p in list(inspect.signature(offered[quantity]).parameters.items())[1:]}
    for name, value in options.items():
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            elsewhere = f". {_OF_THE_ROBOT[name]}" if name in _OF_THE_ROBOT else ""
            raise InputError(f"{quantity}: unknown option {name!r}; {takes} (and dtype){elsewhere}")
        if isinstance(known[name], bool) and not isinstance(value, bool):
            raise InputError(f"{quantity}: option {name!r} must be True or False, got {value!r}")
        if isinstance(known[name], str) and not isinstance(value, str):
            raise InputError(f"{quantity}: option {name!r} must be a name, got {value!r}")
        if isinstance(known[name], tuple) and not isinstance(value, str | tuple | list):
            raise InputError(f"{quantity}: option {name!r} must be a name or a list of names, got {value!r}")


def recipe(subject: Subject, quantity: str, **options: object) -> RobotRecipe:
    """The recipe of a quantity; unknown quantities and options are refused by name."""
    check_options(subject, quantity, options)
    made = catalogue(subject)[quantity](subject, **options)
    names = [operand.name for operand in made.inputs]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{quantity}: two inputs would be named {name!r}; rename one of the external frames")
    return made
