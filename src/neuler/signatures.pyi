"""Types of the verbs of a robot. Written by neuler.quantities.stubs from the declarations; do not edit."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.kernels import Kernel

Array = NDArray[np.float64]
Names = str | Iterable[str]
Values = Names | Mapping[str, ArrayLike]

class InverseDynamicsMore(tuple[Array, ...]):
    @property
    def tau(self) -> Array: ...
    @property
    def reactions(self) -> Array: ...
    @property
    def cuts(self) -> Array: ...

class InverseDynamics(Kernel):
    """Joint forces for a motion, (nu), in N m and N: tau = M(q) qdd + h(q, qd) - J(q)^T w.

    h is the bias force (Coriolis, centrifugal, gravity, friction, springs), w are external wrenches. Khalil (12); with
    loops (55)-(57), (66).

    ``external`` names frames on which a wrench (force; moment) acts, in the frame's own axes; ``loads`` names frames on
    which one acts in the base's axes. Each adds an input, ``wrench_FRAME`` or ``load_FRAME``. ``reactions=True``
    returns the reaction wrenches, too. If more joints are driven than the robot has degrees of freedom, tau is the
    solution with the least sum of squares.

    >>> import neuler
    >>> arm = neuler.robots.two_link()
    >>> arm.inverse_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape
    (2,)
    >>> arm.inverse_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0], loads={"link2": [0, -5, 0, 0, 0, 0]}).shape
    (2,)
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., reactions: Literal[True], parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> InverseDynamicsMore: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., reactions: Literal[False] = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., reactions: bool = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class ForwardDynamicsMore(tuple[Array, ...]):
    @property
    def qdd(self) -> Array: ...
    @property
    def reactions(self) -> Array: ...
    @property
    def cuts(self) -> Array: ...

class ForwardDynamics(Kernel):
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

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *more: ArrayLike, method: str = ..., external: Values = ..., loads: Values = ..., reactions: Literal[True], parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> ForwardDynamicsMore: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *more: ArrayLike, method: str = ..., external: Values = ..., loads: Values = ..., reactions: Literal[False] = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *more: ArrayLike, method: str = ..., external: Values = ..., loads: Values = ..., reactions: bool = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class HybridDynamicsMore(tuple[Array, ...]):
    @property
    def found(self) -> Array: ...
    @property
    def reactions(self) -> Array: ...
    @property
    def cuts(self) -> Array: ...

class HybridDynamics(Kernel):
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

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, given: ArrayLike, *more: ArrayLike, motion: Names | None = ..., external: Values = ..., loads: Values = ..., reactions: Literal[True], parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> HybridDynamicsMore: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, given: ArrayLike, *more: ArrayLike, motion: Names | None = ..., external: Values = ..., loads: Values = ..., reactions: Literal[False] = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, given: ArrayLike, *more: ArrayLike, motion: Names | None = ..., external: Values = ..., loads: Values = ..., reactions: bool = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class MassMatrix(Kernel):
    """Mass matrix M(q), (nv, nv), symmetric, rotor inertia included: kinetic energy = qd . M qd / 2.

    A of Khalil (7), by composite links; with loops A_c = G^T A G of (58).

    >>> import neuler
    >>> M = neuler.robots.two_link().mass_matrix([0.1, 0.2])
    >>> M.shape, bool(M[0, 1] == M[1, 0])
    ((2, 2), True)
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class BiasForce(Kernel):
    """Bias force h(q, qd), (nv): Coriolis, centrifugal, gravity, friction and spring forces.

    tau = M(q) qdd + h(q, qd) for a tree. H of Khalil (7); with loops H_c of (58). Load-dependent friction is not part
    of it: it acts on tau, and ``inverse_dynamics`` includes it.

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> np.allclose(arm.bias_force(q, qd), arm.inverse_dynamics(q, qd, [0.0, 0.0]))
    True
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class GravityForce(Kernel):
    """Force that holds the robot still, (nv): the gradient of the potential energy, springs included.

    >>> import neuler, numpy as np
    >>> arm, q = neuler.robots.puma560(), np.full(6, 0.3)
    >>> up = [arm.energy(q + x, 0 * q).potential - arm.energy(q - x, 0 * q).potential for x in 1e-6 * np.eye(6)]
    >>> np.allclose(arm.gravity_force(q), np.array(up) / 2e-6, atol=1e-6)
    True
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CoriolisMatrix(Kernel):
    """Coriolis matrix C(q, qd), (nv, nv): C qd are the Coriolis and centrifugal forces.

    The matrix dM/dt - 2 C is skew-symmetric. By composite links (Echeandia and Wensing 2021); with couplings or loops
    G^T (C G + A dG/dt).

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), np.array([0.1, 0.2]), np.array([0.3, 0.4])
    >>> np.allclose(arm.coriolis_matrix(q, qd) @ qd, arm.bias_force(q, qd) - arm.gravity_force(q))
    True
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class GeneralizedForce(Kernel):
    """Force along the robot's own velocities, (nv): M(q) qdd + h(q, qd) - J(q)^T w.

    For a tree this is ``inverse_dynamics``; for other robots it is actuation_matrix^T tau, for a parallel robot the
    bracket of Khalil (66). Load-dependent friction is not part of it: it acts on tau.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> machine.generalized_force(machine.neutral(), [0.0], [0.0]).shape
    (1,)
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class ActuationMatrix(Kernel):
    """Velocities of the joints in tau per velocity of the robot, (nu, nv): v_tau = actuation_matrix qd.

    Its transpose turns tau into generalized force: mass_matrix qdd + bias_force = actuation_matrix^T tau. For a tree it
    is the identity; for a parallel robot the inverse of the platform's Jacobian.

    >>> import neuler
    >>> neuler.robots.two_link().actuation_matrix([0.1, 0.2]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class ReactionWrenches(Kernel):
    """Wrenches of each parent link on its child, (links, 6): (force; moment), N and N m.

    Row k belongs to ``robot.links[k]``, in that link's frame at its origin; row 0 is what the ground exerts on the
    base. Khalil (26)-(30). Forces of redundant constraints, which rigid links leave undetermined (those across the
    plane of a planar loop), are set to zero.

    >>> import neuler
    >>> neuler.robots.two_link().reaction_wrenches([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape
    (3, 6)
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class LoopWrenches(Kernel):
    """Wrenches in the cut joints, (loops, 6): (force; moment) of the first frame on the second, in the second.

    Forces of redundant constraints are set to zero.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> machine.loop_wrenches(machine.neutral(), [0.0], [0.0]).shape
    (1, 6)
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class LinkPoses(Kernel):
    """Poses in the base frame, homogeneous matrices: of all links, (links, 4, 4), or of one ``frame``, (4, 4).

    A point x of a link is at R x + p in the base frame.

    >>> import neuler
    >>> arm = neuler.robots.two_link()
    >>> arm.link_poses([0.0, 0.0]).shape, arm.link_poses([0.0, 0.0], frame="link2").shape
    ((3, 4, 4), (4, 4))
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, frame: str | None = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, frame: str | None = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class LinkVelocities(Kernel):
    """Velocities (linear; angular), m/s and rad/s, of all links, (links, 6), or of one ``frame``, (6).

    In the frame's own axes, at its own origin.

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> np.allclose(arm.link_velocities(q, qd, frame="link2"), arm.jacobian(q, frame="link2") @ qd)
    True
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, frame: str | None = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, frame: str | None = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class LinkMotionsResult(NamedTuple):
    velocities: Array
    accelerations: Array
    jerks: Array

class LinkMotions(Kernel):
    """Velocities, accelerations, jerks (linear; angular) of all links, (links, 6) each, or of one ``frame``.

    Inertial derivatives at the frame's origin, in its own axes; gravity is not included. Guarino (3)-(9).

    >>> import neuler
    >>> still = [0.0, 0.0]
    >>> found = neuler.robots.two_link().link_motions([0.1, 0.2], [1.0, 0.0], still, still)
    >>> found.accelerations.shape
    (3, 6)
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, qddd: ArrayLike, *more: ArrayLike, frame: str | None = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> LinkMotionsResult: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, qddd: ArrayLike, *more: ArrayLike, frame: str | None = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class Jacobian(Kernel):
    """Jacobian of ``frame``, (6, nv): J qd is its velocity (linear; angular) at its origin.

    In the frame's own axes (``reference="link"``) or in the base's (``reference="world"``). Without ``frame`` that of
    ``robot.tip``, the link behind the most moving joints.

    >>> import neuler
    >>> neuler.robots.puma560().jacobian([0.1] * 6, frame="dh6", reference="world").shape
    (6, 6)
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, frame: str | None = ..., reference: str = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, frame: str | None = ..., reference: str = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class Integrate(Kernel):
    """Position after dt seconds at velocity qd, (nq); qd is constant in each link's own frame.

    q + dt qd for plain coordinates. Free links follow the screw motion exactly, and quaternions keep their unit length.
    With loops, the independent joints move this way; the dependent ones follow, and the loops are closed again; NaN
    where the step is too long for that. ``robot.difference`` is the inverse.

    >>> import neuler
    >>> drone = neuler.robots.two_link().with_free_base()
    >>> q = drone.integrate(drone.neutral(), [1, 0, 0, 0, 0, 3.141592653589793, 0, 0], 1.0)
    >>> q[:7].round(3).tolist()  # half a turn to the left on a circle of circumference 2
    [0.0, 0.637, 0.0, 0.0, 0.0, 1.0, 0.0]
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, dt: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, dt: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class EnergyResult(NamedTuple):
    kinetic: Array
    potential: Array

class Energy(Kernel):
    """Kinetic energy, rotors included, and potential energy, springs included, in J.

    The potential energy is zero where the centre of mass is level with the base frame's origin and no spring is
    strained.

    >>> import neuler
    >>> found = neuler.robots.two_link().energy([0.0, 0.0], [1.0, 0.0])
    >>> bool(found.kinetic > 0)
    True
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> EnergyResult: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class Momentum(Kernel):
    """Momentum (linear; angular) of all links, (6), in the base frame about its origin: kg m/s, kg m^2/s.

    >>> import neuler
    >>> neuler.robots.two_link().momentum([0.0, 0.0], [1.0, 0.0]).shape
    (6,)
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CenterOfMass(Kernel):
    """Centre of mass of all links, (3), in the base frame (m): sum m x / sum m, the base's own mass included.

    >>> import neuler
    >>> neuler.robots.two_link().center_of_mass([0.0, 0.0]).shape
    (3,)
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CenterOfMassJacobian(Kernel):
    """Jacobian of the centre of mass, (3, nv): J qd is its velocity in the base frame (m/s).

    >>> import neuler
    >>> neuler.robots.two_link().center_of_mass_jacobian([0.0, 0.0]).shape
    (3, 2)
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CentroidalMomentum(Kernel):
    """Momentum (linear; angular), (6), about the centre of mass, in the base's axes: kg m/s, kg m^2/s.

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> whole, about = arm.momentum(q, qd), arm.centroidal_momentum(q, qd)
    >>> np.allclose(whole[3:], about[3:] + np.cross(arm.center_of_mass(q), about[:3]))
    True
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CentroidalMomentumRate(Kernel):
    """Time derivative of ``centroidal_momentum`` along the motion, (6), in N and N m.

    It equals the sum of all external forces: weight, and what the ground exerts.

    >>> import neuler
    >>> neuler.robots.two_link().centroidal_momentum_rate([0.0, 0.0], [1.0, 0.0], [0.0, 0.0]).shape
    (6,)
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CentroidalMatrix(Kernel):
    """Centroidal momentum matrix A(q), (6, nv): A qd is ``centroidal_momentum`` (Orin, Goswami, Lee 2013).

    >>> import neuler, numpy
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> numpy.allclose(arm.centroidal_matrix(q) @ qd, arm.centroidal_momentum(q, qd))
    True
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class InverseDynamicsRateResult(NamedTuple):
    tau: Array
    tau_rate: Array

class InverseDynamicsRateMore(tuple[Array, ...]):
    @property
    def tau(self) -> Array: ...
    @property
    def tau_rate(self) -> Array: ...
    @property
    def tau_rate2(self) -> Array: ...

class InverseDynamicsRate(Kernel):
    """Joint forces tau and their time derivatives along the motion, (nu) each: N m, N m/s. Guarino (3)-(21).

    ``order=2`` also takes the snap qdddd and returns the second derivative. Each external wrench comes with the time
    derivative of its components in its frame, each load with that of its components in the base frame: inputs
    ``wrench_FRAME_rate``, ``load_FRAME_rate``. With couplings or loops by automatic differentiation. Coulomb friction
    contributes nothing to a rate: it jumps at rest and is constant elsewhere; a smooth friction law has a rate.

    >>> import neuler
    >>> tau, tau_rate = neuler.robots.two_link().inverse_dynamics_rate([0.1, 0.2], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    >>> tau_rate.shape
    (2,)
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, qddd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., order: Literal[2], parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> InverseDynamicsRateMore: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, qddd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., order: Literal[1] = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> InverseDynamicsRateResult: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, qddd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., order: int = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class ElasticInverseDynamicsResult(NamedTuple):
    theta: Array
    thetad: Array
    thetadd: Array
    tau: Array

class ElasticInverseDynamics(Kernel):
    """Motor positions theta, their two rates, and torques, from the motion of the links up to its snap.

    theta = q + e / K, Hua (28), (29): e is the torque that the spring of stiffness K transmits. The inputs ``q_link``
    ... are those of the joints, without theta; for joints on which no elastic drive depends, jerk and snap have no
    effect (``robot.needed_derivatives()``). ``theta``, ``thetad`` and ``thetadd`` have one number for each drive with a
    spring; ``tau`` is as for ``inverse_dynamics``, zero on the link side of springs. Wrenches and loads come with two
    rates each.

    >>> import neuler
    >>> motor = neuler.Motor("m", "joint2", 50, inertia=1e-4, stiffness=100.0)
    >>> arm = neuler.robots.two_link().replace(motors=[motor])
    >>> still = [0.0, 0.0]
    >>> found = arm.elastic_inverse_dynamics([0.3, 0.2], still, still, still, still)
    >>> float(round(100 * (found.theta[0] - 0.2) - arm.gravity_force([0.3, 0.2, 0.2])[1], 12))
    0.0
    """

    @overload
    def __call__(self, q_link: ArrayLike, qd_link: ArrayLike, qdd_link: ArrayLike, qddd_link: ArrayLike, qdddd_link: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> ElasticInverseDynamicsResult: ...
    @overload
    def __call__(self, q_link: ArrayLike, qd_link: ArrayLike, qdd_link: ArrayLike, qddd_link: ArrayLike, qdddd_link: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class InverseDynamicsSensitivitiesResult(NamedTuple):
    dtau_dq: Array
    dtau_dqd: Array
    dtau_dqdd: Array

class InverseDynamicsSensitivities(Kernel):
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

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., sparse: bool = ..., method: str = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> InverseDynamicsSensitivitiesResult: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., sparse: bool = ..., method: str = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class ForwardDynamicsSensitivitiesResult(NamedTuple):
    dqdd_dq: Array
    dqdd_dqd: Array
    dqdd_dtau: Array

class ForwardDynamicsSensitivities(Kernel):
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

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> ForwardDynamicsSensitivitiesResult: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class InverseDynamicsHessian(Kernel):
    """Second derivatives of weights . tau with respect to (q, qd, qdd), (3 nv, 3 nv), symmetric.

    By automatic differentiation: reverse mode for the gradient of the weighted sum, then forward mode.

    >>> import neuler
    >>> arm, still = neuler.robots.two_link(), [0.0, 0.0]
    >>> arm.inverse_dynamics_hessian([0.1, 0.2], still, still, [1.0, 0.0]).shape
    (6, 6)
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, weights: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, weights: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class ReactionSensitivitiesResult(NamedTuple):
    dreaction_dq: Array
    dreaction_dqd: Array
    dreaction_dqdd: Array

class ReactionSensitivities(Kernel):
    """Derivatives of ``reaction_wrenches`` with respect to q, qd and qdd, (links, 6, nv) each.

    Components are those in the link's own frame. ``sparse=True`` returns only the wrenches of links that a coordinate
    affects, (entries, 6); ``kernel.structure`` holds the link and the coordinate of each. ``method`` is "composite"
    (composite links), "barman" (Barman's recursion, without free joints) or "cheapest".

    >>> import neuler
    >>> arm, still = neuler.robots.two_link(), [0.0, 0.0]
    >>> arm.reaction_sensitivities([0.1, 0.2], still, still).dreaction_dq.shape
    (3, 6, 2)
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., sparse: bool = ..., method: str = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> ReactionSensitivitiesResult: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., sparse: bool = ..., method: str = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class Regressor(Kernel):
    """Regressor Y(q, qd, qdd) of the joint forces, (nu, columns): tau = Y phi with phi = ``kernel.column_values``.

    ``columns`` names parameters as ``parameters=`` does (docs/parameters.md): "links", "link3", "joint2.viscous",
    "friction", "rotors", "springs", "payload:tool", "gravity". By default they are all links and all numbers of
    friction, rotors and springs that are not zero, so that Y phi is ``inverse_dynamics``; of other columns Y is the
    derivative of tau. ``kernel.column_names`` names them. Numbers in which tau is not linear are refused.
    ``robot.base_parameters().names`` are columns that motion can tell apart.

    ``sparse=True`` returns the entries alone that are not zero at every state, (entries,), with their rows and columns
    in ``kernel.structure``.

    >>> import neuler, numpy as np
    >>> arm, q, qd, qdd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4], [0.5, 0.6]
    >>> Y, phi = arm.regressor(q, qd, qdd), arm.regressor.column_values
    >>> np.allclose(Y @ phi, arm.inverse_dynamics(q, qd, qdd))
    True
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, columns: Names = ..., sparse: bool = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, columns: Names = ..., sparse: bool = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class ReactionRegressor(Kernel):
    """Regressor of the reaction wrenches, (links, 6, columns); with ``link`` of that link's alone, (6, columns).

    Wrenches as ``reaction_wrenches`` has them: of the parent on the link, in the link's frame. That of the base is
    what a force plate under the robot measures, that of the last link a sensor in the wrist. ``columns`` as of
    ``regressor``: masses and moments that joint forces do not show are seen here.

    >>> import neuler, numpy as np
    >>> arm, q, qd, qdd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4], [0.5, 0.6]
    >>> kernel = arm.compile("reaction_regressor", link="link2")
    >>> np.allclose(kernel(q, qd, qdd) @ kernel.column_values, arm.reaction_wrenches(q, qd, qdd)[2])
    True
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, columns: Names = ..., link: str | None = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, columns: Names = ..., link: str | None = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class EnergyRegressor(Kernel):
    """Regressor of kinetic and potential energy, (2, columns), in their order. ``columns`` as of ``regressor``.

    Energy needs no accelerations: between two times it changes by the work of the joint forces and of friction.

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> Y, phi = arm.energy_regressor(q, qd), arm.energy_regressor.column_values
    >>> np.allclose(Y @ phi, arm.energy(q, qd))
    True
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, columns: Names = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, columns: Names = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class PowerRegressor(Kernel):
    """Regressor of the power of all joint forces, (columns): tau . v = Y phi, v the velocities of the joints in tau.

    ``columns`` as of ``regressor``. One row a state, in which forces of constraints have no part.

    >>> import neuler, numpy as np
    >>> arm, q, qd, qdd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4], [0.5, 0.6]
    >>> Y, phi = arm.power_regressor(q, qd, qdd), arm.power_regressor.column_values
    >>> np.allclose(Y @ phi, arm.inverse_dynamics(q, qd, qdd) @ qd)
    True
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, columns: Names = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, columns: Names = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class ClosureResult(NamedTuple):
    open_by: Array
    jacobian: Array

class Closure(Kernel):
    """One residual per constraint (m, rad), zero where the loops are closed, Khalil (3); and their Jacobian W, (4).

    W has a row for each constraint and a column for each velocity of the joints that have coordinates.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> bool(abs(machine.closure(machine.neutral()).open_by).max() < 1e-12)
    True
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> ClosureResult: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class Upright(Kernel):
    """One number for each loop: negative where it is closed with its axes opposite, the wrong way round.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> bool((machine.upright(machine.neutral()) > 0).all())
    True
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class AssemblyStepResult(NamedTuple):
    gap: Array
    reach: Array
    next: Array

class AssemblyStep(Kernel):
    """One Newton step towards closed loops: the gap (m, rad), the size of the step, and the next q.

    q moves by ``share`` of the step. Long steps are limited smoothly to 0.8 (m, rad); short ones are unchanged.
    ``independent`` names other joints that stay where they are. ``robot.assemble`` does the whole iteration.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> bool(machine.assembly_step(machine.neutral(), 1.0).gap < 1e-12)
    True
    """

    @overload
    def __call__(self, q: ArrayLike, share: ArrayLike, *more: ArrayLike, independent: Names | None = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> AssemblyStepResult: ...
    @overload
    def __call__(self, q: ArrayLike, share: ArrayLike, *more: ArrayLike, independent: Names | None = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CouplingMatrix(Kernel):
    """Velocities of all joints of the tree per velocity of the robot, (tree.nv, nv): G of Khalil (56).

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> machine.coupling_matrix(machine.neutral()).shape
    (3, 1)
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class SingularityResult(NamedTuple):
    joints: Array
    motors: Array

class Singularity(Kernel):
    """Distances from singular poses, 0 (singular) to 1: of the joints, and of the motors.

    ``joints`` is 0 where the independent velocities do not determine the others (a stretched leg of a parallel robot),
    ``motors`` where the forces in tau cannot hold some motion (the platform gains a degree of freedom).

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> bool(machine.singularity(machine.neutral()).joints > 0.1)
    True
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> SingularityResult: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class TreeMotionResult(NamedTuple):
    qd_tree: Array
    qdd_tree: Array

class TreeMotion(Kernel):
    """Velocities and accelerations of all joints of the tree, (tree.nv) each: Khalil (4) and its derivative.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> machine.tree_motion(machine.neutral(), [1.0], [0.0]).qd_tree.shape
    (3,)
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> TreeMotionResult: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class PlatformJacobian(Kernel):
    """Velocities of the robot per velocity of the joints in tau, (nv, nu): J_p of Khalil (60).

    With more motors than degrees of freedom it accepts any velocities of the motors and returns the nearest possible
    motion.

    >>> import neuler
    >>> robot = neuler.robots.delta()
    >>> robot.platform_jacobian(robot.neutral()).shape
    (3, 3)
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class ConstrainedDynamicsResult(NamedTuple):
    qdd: Array
    forces: Array

class ConstrainedDynamics(Kernel):
    """Accelerations of all joints with the loops held by constraint forces, and these forces.

    A qdd + H = tau + W^T forces with W qdd + dW/dt qd = -drift. Here qd, qdd and tau are those of all joints that have
    coordinates. ``damping`` (1/s) is the rate a at which a loop that has opened by c closes again, drift = 2 a dc/dt +
    a^2 c (Baumgarte); zero leaves it open. ``forces`` are those of all constraints; redundant ones, which rigid links
    leave undetermined, are zero. Poses at which the motors do not determine the motion cause no difficulty; where the
    constraints themselves become dependent, where branches of the assembly meet, the results are NaN. Every joint needs
    inertia.

    >>> import neuler
    >>> machine = neuler.robots.four_bar()
    >>> machine.constrained_dynamics(machine.neutral(), [0.0] * 3, [0.0] * 3, 0.0).qdd.shape
    (3,)
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, damping: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> ConstrainedDynamicsResult: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, damping: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class Verbs:
    """Every quantity of a robot as a kernel."""

    inverse_dynamics: InverseDynamics
    forward_dynamics: ForwardDynamics
    hybrid_dynamics: HybridDynamics
    mass_matrix: MassMatrix
    bias_force: BiasForce
    gravity_force: GravityForce
    coriolis_matrix: CoriolisMatrix
    generalized_force: GeneralizedForce
    actuation_matrix: ActuationMatrix
    reaction_wrenches: ReactionWrenches
    loop_wrenches: LoopWrenches
    link_poses: LinkPoses
    link_velocities: LinkVelocities
    link_motions: LinkMotions
    jacobian: Jacobian
    integrate: Integrate
    energy: Energy
    momentum: Momentum
    center_of_mass: CenterOfMass
    center_of_mass_jacobian: CenterOfMassJacobian
    centroidal_momentum: CentroidalMomentum
    centroidal_momentum_rate: CentroidalMomentumRate
    centroidal_matrix: CentroidalMatrix
    inverse_dynamics_rate: InverseDynamicsRate
    elastic_inverse_dynamics: ElasticInverseDynamics
    inverse_dynamics_sensitivities: InverseDynamicsSensitivities
    forward_dynamics_sensitivities: ForwardDynamicsSensitivities
    inverse_dynamics_hessian: InverseDynamicsHessian
    reaction_sensitivities: ReactionSensitivities
    regressor: Regressor
    reaction_regressor: ReactionRegressor
    energy_regressor: EnergyRegressor
    power_regressor: PowerRegressor
    closure: Closure
    upright: Upright
    assembly_step: AssemblyStep
    coupling_matrix: CouplingMatrix
    singularity: Singularity
    tree_motion: TreeMotion
    platform_jacobian: PlatformJacobian
    constrained_dynamics: ConstrainedDynamics

    @overload
    def compile(self, quantity: Literal["inverse_dynamics"], *, external: Names = ..., loads: Names = ..., parameters: Names = ...) -> InverseDynamics: ...
    @overload
    def compile(self, quantity: Literal["forward_dynamics"], *, method: str = ..., external: Names = ..., loads: Names = ..., parameters: Names = ...) -> ForwardDynamics: ...
    @overload
    def compile(self, quantity: Literal["hybrid_dynamics"], *, motion: Names | None = ..., external: Names = ..., loads: Names = ..., parameters: Names = ...) -> HybridDynamics: ...
    @overload
    def compile(self, quantity: Literal["mass_matrix"], *, parameters: Names = ...) -> MassMatrix: ...
    @overload
    def compile(self, quantity: Literal["bias_force"], *, external: Names = ..., loads: Names = ..., parameters: Names = ...) -> BiasForce: ...
    @overload
    def compile(self, quantity: Literal["gravity_force"], *, parameters: Names = ...) -> GravityForce: ...
    @overload
    def compile(self, quantity: Literal["coriolis_matrix"], *, parameters: Names = ...) -> CoriolisMatrix: ...
    @overload
    def compile(self, quantity: Literal["generalized_force"], *, external: Names = ..., loads: Names = ..., parameters: Names = ...) -> GeneralizedForce: ...
    @overload
    def compile(self, quantity: Literal["actuation_matrix"], *, parameters: Names = ...) -> ActuationMatrix: ...
    @overload
    def compile(self, quantity: Literal["reaction_wrenches"], *, external: Names = ..., loads: Names = ..., parameters: Names = ...) -> ReactionWrenches: ...
    @overload
    def compile(self, quantity: Literal["loop_wrenches"], *, external: Names = ..., loads: Names = ..., parameters: Names = ...) -> LoopWrenches: ...
    @overload
    def compile(self, quantity: Literal["link_poses"], *, frame: str | None = ..., parameters: Names = ...) -> LinkPoses: ...
    @overload
    def compile(self, quantity: Literal["link_velocities"], *, frame: str | None = ..., parameters: Names = ...) -> LinkVelocities: ...
    @overload
    def compile(self, quantity: Literal["link_motions"], *, frame: str | None = ..., parameters: Names = ...) -> LinkMotions: ...
    @overload
    def compile(self, quantity: Literal["jacobian"], *, frame: str | None = ..., reference: str = ..., parameters: Names = ...) -> Jacobian: ...
    @overload
    def compile(self, quantity: Literal["integrate"], *, parameters: Names = ...) -> Integrate: ...
    @overload
    def compile(self, quantity: Literal["energy"], *, parameters: Names = ...) -> Energy: ...
    @overload
    def compile(self, quantity: Literal["momentum"], *, parameters: Names = ...) -> Momentum: ...
    @overload
    def compile(self, quantity: Literal["center_of_mass"], *, parameters: Names = ...) -> CenterOfMass: ...
    @overload
    def compile(self, quantity: Literal["center_of_mass_jacobian"], *, parameters: Names = ...) -> CenterOfMassJacobian: ...
    @overload
    def compile(self, quantity: Literal["centroidal_momentum"], *, parameters: Names = ...) -> CentroidalMomentum: ...
    @overload
    def compile(self, quantity: Literal["centroidal_momentum_rate"], *, parameters: Names = ...) -> CentroidalMomentumRate: ...
    @overload
    def compile(self, quantity: Literal["centroidal_matrix"], *, parameters: Names = ...) -> CentroidalMatrix: ...
    @overload
    def compile(self, quantity: Literal["inverse_dynamics_rate"], *, external: Names = ..., loads: Names = ..., parameters: Names = ...) -> InverseDynamicsRate: ...
    @overload
    def compile(self, quantity: Literal["elastic_inverse_dynamics"], *, external: Names = ..., loads: Names = ..., parameters: Names = ...) -> ElasticInverseDynamics: ...
    @overload
    def compile(self, quantity: Literal["inverse_dynamics_sensitivities"], *, external: Names = ..., loads: Names = ..., sparse: bool = ..., method: str = ..., parameters: Names = ...) -> InverseDynamicsSensitivities: ...
    @overload
    def compile(self, quantity: Literal["forward_dynamics_sensitivities"], *, external: Names = ..., loads: Names = ..., parameters: Names = ...) -> ForwardDynamicsSensitivities: ...
    @overload
    def compile(self, quantity: Literal["inverse_dynamics_hessian"], *, external: Names = ..., loads: Names = ..., parameters: Names = ...) -> InverseDynamicsHessian: ...
    @overload
    def compile(self, quantity: Literal["reaction_sensitivities"], *, external: Names = ..., loads: Names = ..., sparse: bool = ..., method: str = ..., parameters: Names = ...) -> ReactionSensitivities: ...
    @overload
    def compile(self, quantity: Literal["regressor"], *, columns: Names = ..., sparse: bool = ..., parameters: Names = ...) -> Regressor: ...
    @overload
    def compile(self, quantity: Literal["reaction_regressor"], *, columns: Names = ..., link: str | None = ..., parameters: Names = ...) -> ReactionRegressor: ...
    @overload
    def compile(self, quantity: Literal["energy_regressor"], *, columns: Names = ..., parameters: Names = ...) -> EnergyRegressor: ...
    @overload
    def compile(self, quantity: Literal["power_regressor"], *, columns: Names = ..., parameters: Names = ...) -> PowerRegressor: ...
    @overload
    def compile(self, quantity: Literal["closure"], *, parameters: Names = ...) -> Closure: ...
    @overload
    def compile(self, quantity: Literal["upright"], *, parameters: Names = ...) -> Upright: ...
    @overload
    def compile(self, quantity: Literal["assembly_step"], *, independent: Names | None = ..., parameters: Names = ...) -> AssemblyStep: ...
    @overload
    def compile(self, quantity: Literal["coupling_matrix"], *, parameters: Names = ...) -> CouplingMatrix: ...
    @overload
    def compile(self, quantity: Literal["singularity"], *, parameters: Names = ...) -> Singularity: ...
    @overload
    def compile(self, quantity: Literal["tree_motion"], *, parameters: Names = ...) -> TreeMotion: ...
    @overload
    def compile(self, quantity: Literal["platform_jacobian"], *, parameters: Names = ...) -> PlatformJacobian: ...
    @overload
    def compile(self, quantity: Literal["constrained_dynamics"], *, parameters: Names = ...) -> ConstrainedDynamics: ...
    @overload
    def compile(self, quantity: str, **options: Any) -> Kernel: ...
