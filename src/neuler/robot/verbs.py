"""The verbs of a robot, as lazy attributes. What a verb computes is defined above this room."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuler.kernels import Kernel

_makers: list[Callable[..., Kernel]] = []


def provide(maker: Callable[..., Kernel]) -> None:
    """Tell the verbs how a kernel is made: (robot, quantity, **options) -> Kernel."""
    _makers[:] = [maker]


_analysts: list[Callable[[Any], Any]] = []


def provide_analysis(analyst: Callable[[Any], Any]) -> None:
    """Tell the verbs how the mobility of a mechanism is found."""
    _analysts[:] = [analyst]


def made(subject: Any, quantity: str, **options: Any) -> Kernel:
    """A kernel of a robot or a mechanism."""
    return _makers[0](subject, quantity, **options)


def analysed(mechanism: Any) -> Any:
    """The mobility of a mechanism."""
    return _analysts[0](mechanism)


class Verb:
    """A quantity of the robot, compiled when it is first asked for and then kept on the robot."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, robot: Any, owner: type | None = None) -> Any:
        if robot is None:
            return self
        kernel = _makers[0](robot, self.name)
        robot.__dict__[self.name] = kernel
        return kernel


class Verbs:
    """Mixed into Robot: every quantity as a kernel. Batch axes lead; the last axis is the coordinate."""

    inverse_dynamics = Verb("tau = M(q) qdd + h(q, qd), Khalil (12). (q, qd, qdd) -> tau")
    forward_dynamics = Verb("qdd = M(q)^-1 (tau - h(q, qd)), Khalil (41). (q, qd, tau) -> qdd")
    mass_matrix = Verb("The inertia matrix, rotor inertia on its diagonal. (q) -> (nv, nv)")
    bias_force = Verb("h(q, qd): Coriolis, centrifugal, gravity and friction. (q, qd) -> h")
    gravity_force = Verb("The torque that holds the robot still. (q) -> g")
    coriolis_matrix = Verb("C(q, qd) with dM/dt - 2 C skew-symmetric. (q, qd) -> (nv, nv)")
    reaction_wrenches = Verb("Wrench of the antecedent on each link. (q, qd, qdd) -> (links, 6)")
    hybrid_dynamics = Verb("Each joint is told its acceleration or its force. (q, qd, given) -> found")
    link_poses = Verb("Homogeneous matrices of all links in the base frame. (q) -> (links, 4, 4)")
    link_velocities = Verb("Screws (linear; angular) of all links in their frames. (q, qd) -> (links, 6)")
    jacobian = Verb("Jacobian of robot.tip, in its frame at its origin. (q) -> (6, nv)")
    energy = Verb("(q, qd) -> (kinetic, potential), in joule")
    momentum = Verb("Linear and angular momentum in the base frame, about its origin. (q, qd) -> (6)")

    integrate = Verb("Where q is after the velocity qd has lasted dt seconds. (q, qd, dt) -> q")
    center_of_mass = Verb("Mass centre of all links, base included, in the base frame. (q) -> (3)")
    center_of_mass_jacobian = Verb("J qd is the velocity of the mass centre. (q) -> (3, nv)")
    centroidal_momentum = Verb("(linear; angular) momentum about the mass centre, base axes. (q, qd) -> (6)")
    centroidal_momentum_rate = Verb("Its time derivative along the motion. (q, qd, qdd) -> (6)")
    centroidal_matrix = Verb("A(q) with A qd the centroidal momentum. (q) -> (6, nv)")

    inverse_dynamics_rate = Verb("Torques and their time derivatives, Guarino. (q, qd, qdd, qddd) -> (tau, tau_rate)")
    link_motions = Verb("(q, qd, qdd, qddd) -> (velocities, accelerations, jerks) of all links, (links, 6) each")
    inverse_dynamics_sensitivities = Verb("(q, qd, qdd) -> (dtau_dq, dtau_dqd, dtau_dqdd), (nv, nv) each. Barman 3")
    forward_dynamics_sensitivities = Verb("(q, qd, tau) -> (dqdd_dq, dqdd_dqd, dqdd_dtau), (nv, nv) each")
    inverse_dynamics_hessian = Verb("Of weights . tau to (q, qd, qdd). (q, qd, qdd, weights) -> (3 nv, 3 nv)")
    reaction_sensitivities = Verb("Of the reaction wrenches. (q, qd, qdd) -> to q, qd, qdd: (links, 6, nv) each")

    def compile(self, quantity: str, **options: Any) -> Kernel:
        """A variant of a verb: ``method="nasser"``, ``dtype="float32"``, ``frame="tool"``.

        ``external=("tool",)`` adds an input ``wrench_tool``, (force; moment) in the axes of that frame at its origin;
        ``loads=("tool",)`` adds ``load_tool``, in the axes of the base frame, the force at the frame's origin.
        """
        return _makers[0](self, quantity, **options)

    def check(self) -> Any:
        """The doctor's findings: what is unphysical or suspicious. A list, empty for a healthy robot."""
        from neuler.robot.doctor import examine

        return examine(self)  # type: ignore[arg-type]
