"""All quantities, by name: the one list that the robot's verbs, the command line and the docs are made from."""

from __future__ import annotations

from neuler.quantities import (
    closed_loops,
    derivatives,
    direct,
    dynamics,
    elastic,
    link_motion,
    regressors,
    torque_rates,
    whole_body,
)
from neuler.quantities.declare import Quantity, unknown
from neuler.quantities.setup import RobotRecipe
from neuler.robot import Robot

QUANTITIES: dict[str, Quantity] = {
    each.name: each
    for each in (
        dynamics.inverse_dynamics,
        direct.forward_dynamics,
        direct.hybrid_dynamics,
        dynamics.mass_matrix,
        dynamics.bias_force,
        dynamics.gravity_force,
        dynamics.coriolis_matrix,
        dynamics.generalized_force,
        dynamics.actuation_matrix,
        dynamics.reaction_wrenches,
        dynamics.loop_wrenches,
        link_motion.link_poses,
        link_motion.link_velocities,
        link_motion.link_motions,
        link_motion.jacobian,
        link_motion.integrate,
        whole_body.energy,
        whole_body.momentum,
        whole_body.center_of_mass,
        whole_body.center_of_mass_jacobian,
        whole_body.centroidal_momentum,
        whole_body.centroidal_momentum_rate,
        whole_body.centroidal_matrix,
        torque_rates.inverse_dynamics_rate,
        elastic.elastic_inverse_dynamics,
        derivatives.inverse_dynamics_sensitivities,
        derivatives.forward_dynamics_sensitivities,
        derivatives.inverse_dynamics_hessian,
        derivatives.reaction_sensitivities_of,
        regressors.regressor,
        regressors.reaction_regressor,
        regressors.energy_regressor,
        regressors.power_regressor,
        closed_loops.closure,
        closed_loops.upright,
        closed_loops.assembly_step,
        closed_loops.coupling_matrix,
        closed_loops.singularity,
        closed_loops.tree_motion,
        closed_loops.platform_jacobian,
        closed_loops.constrained_dynamics,
    )
}


def offered(robot: Robot) -> dict[str, Quantity]:
    """What can be computed of a robot."""
    return {name: each for name, each in QUANTITIES.items() if each.of(robot)}


def find(quantity: object) -> Quantity:
    """A quantity by name; an unknown one is an error that says which there are."""
    if not isinstance(quantity, str) or quantity not in QUANTITIES:
        raise unknown(quantity, QUANTITIES)
    return QUANTITIES[quantity]


def recipe(robot: Robot, quantity: str, **options: object) -> RobotRecipe:
    """The recipe of a quantity; unknown quantities and options are refused by name."""
    return find(quantity).recipe(robot, **options)
