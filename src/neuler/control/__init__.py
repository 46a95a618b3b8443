"""Controllers: laws for the forces of a robot's motors, over numbers and over traced values.

Each is called ``controller(t, q, qd, memory, reference)`` and gives ``(tau, memory)``: docs/control.md.
"""

from neuler.control.computed_torque import ComputedTorque
from neuler.control.controller import Command, Controller, Wanted
from neuler.control.elastic_inverse_dynamics import ElasticInverseDynamics
from neuler.control.elastic_pd import ElasticPD
from neuler.control.gravity_pd import GravityPD
from neuler.control.lqr import LQR
from neuler.control.passivity import AdaptiveSlotineLi, SlotineLi
from neuler.control.references import Reference, constant, quintic, sines, table

__all__ = [
    "CONTROLLERS", "LQR", "AdaptiveSlotineLi", "Command", "ComputedTorque", "Controller", "ElasticInverseDynamics",
    "ElasticPD", "GravityPD", "Reference", "SlotineLi", "Wanted", "constant", "quintic", "sines", "table",
]  # fmt: skip

CONTROLLERS: dict[str, type[Controller]] = {
    kind.name: kind
    for kind in (ComputedTorque, GravityPD, SlotineLi, AdaptiveSlotineLi, LQR, ElasticPD, ElasticInverseDynamics)
}
"""All controllers by the names that problem files and commands have for them."""
