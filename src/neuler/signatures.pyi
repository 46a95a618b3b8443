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
    """Forces for a motion: tau = M(q) qdd + h(q, qd) - J^T wrench, Khalil (12); in loops (55)-(57), (66).

    ``external`` names frames with a wrench in their own axes, ``loads`` frames with one in the base's axes;
    ``reactions`` adds the reaction wrenches. Where more joints are driven than the robot has freedoms, the forces are
    the least (in the sum of their squares) of all that do it.

    >>> import neuler
    >>> neuler.robots.two_link().inverse_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape
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
    """The motion that forces make: qdd = M(q)^-1 (tau + J^T wrench - h(q, qd)).

    Of a tree by articulated bodies, Khalil (34)-(44), or by ``method`` "nasser" (Nasser 2) or "walker_orin" (columns
    of M by inverse dynamics); with couplings or loops by the reduced matrix, (58). ``reactions`` adds the reaction
    wrenches.
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
    """Joints named in ``motion`` are given accelerations, the others forces; the rest is found.

    By default the driven joints are given their motion: then it finds their forces, and the accelerations of
    elastic and passive joints, Khalil (72)-(82), and of free links, (89)-(100). ``given`` and ``found`` have a number
    for every one of tau; in loops the joints given their motion must be independent of each other.
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, given: ArrayLike, *more: ArrayLike, motion: Names | None = ..., external: Values = ..., loads: Values = ..., reactions: Literal[True], parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> HybridDynamicsMore: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, given: ArrayLike, *more: ArrayLike, motion: Names | None = ..., external: Values = ..., loads: Values = ..., reactions: Literal[False] = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, given: ArrayLike, *more: ArrayLike, motion: Names | None = ..., external: Values = ..., loads: Values = ..., reactions: bool = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class MassMatrix(Kernel):
    """M(q), (nv, nv), rotor inertia included: A of Khalil (7), by composite links; A_c = G^T A G of (58) in loops."""

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class BiasForce(Kernel):
    """h(q, qd), (nv): Coriolis, centrifugal, gravity, friction and spring forces; H of Khalil (7), H_c of (58).

    Load-dependent friction is no part of it: it acts on tau, which ``inverse_dynamics`` gives with it.
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class GravityForce(Kernel):
    """The force that holds the robot still, (nv): the gradient of the potential energy."""

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CoriolisMatrix(Kernel):
    """C(q, qd), (nv, nv): C qd are the Coriolis and centrifugal forces, and dM/dt - 2 C is skew-symmetric.

    By composite links (Echeandia and Wensing 2021); with couplings or loops G^T (C G + A dG/dt).
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class GeneralizedForce(Kernel):
    """M(q) qdd + h(q, qd) - J^T wrench along the robot's own velocities, (nv): of a parallel robot the bracket of
    Khalil (66). Of a tree it is ``inverse_dynamics``; of others G_a^T tau; both without load-dependent friction.
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class ActuationMatrix(Kernel):
    """Velocities of the joints in tau by the robot's own, (nu, nv): mass_matrix qdd + bias = actuation_matrix^T tau.

    Of a tree the unit matrix; of a parallel robot the inverse of the platform's Jacobian.
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class ReactionWrenches(Kernel):
    """Of the antecedent on each link, of the ground on the base (row 0), (links, 6): Khalil (26)-(30).

    (force; moment) in the link's frame at its origin. What rigid links leave undecided, the forces of redundant
    constraints (those across the plane of a planar loop), is taken as zero.
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class LoopWrenches(Kernel):
    """Of the first frame of each cut joint on the second, (loops, 6): (force; moment) in the second frame.

    Forces of redundant constraints are taken as zero.
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class LinkPoses(Kernel):
    """Homogeneous matrices in the base frame, of all links (links, 4, 4) or of one named ``frame`` (4, 4).

    >>> import neuler
    >>> neuler.robots.two_link().link_poses([0.0, 0.0]).shape
    (3, 4, 4)
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, frame: str | None = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, frame: str | None = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class LinkVelocities(Kernel):
    """Screws (linear; angular) in the frame's own axes at its own origin, of all links (links, 6) or one ``frame``."""

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, frame: str | None = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, frame: str | None = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class LinkMotionsResult(NamedTuple):
    velocities: Array
    accelerations: Array
    jerks: Array

class LinkMotions(Kernel):
    """Velocity, acceleration and jerk of all links, (links, 6) each, or of one ``frame``, Guarino (3)-(9).

    (linear; angular) each, inertial derivatives at the frame's origin in its own axes, gravity not included.
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, qddd: ArrayLike, *more: ArrayLike, frame: str | None = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> LinkMotionsResult: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, qddd: ArrayLike, *more: ArrayLike, frame: str | None = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class Jacobian(Kernel):
    """Of ``frame`` (default: ``robot.tip``), (6, nv): its screw (linear; angular) at its origin by qd.

    In its own axes (``reference="link"``) or in the base's ("world").
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, frame: str | None = ..., reference: str = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, frame: str | None = ..., reference: str = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class Integrate(Kernel):
    """Where q is after the velocity qd has lasted dt (s), qd constant in each link's own frame.

    q + dt qd where positions are plain numbers; free links screw along, exactly, and their quaternions keep the
    length one. With loops the independent joints go so, the others along G and then to where the loops are closed
    again; NaN where a step is too long for that. ``robot.difference`` is its inverse on one branch.

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
    """Kinetic energy (rotors included) and potential energy (springs included), in joule."""

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> EnergyResult: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class Momentum(Kernel):
    """(linear; angular) momentum of all links in the base frame, about its origin, (6)."""

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CenterOfMass(Kernel):
    """Mass centre of all links in the base frame (m): sum m x / sum m, the base's own mass included.

    >>> import neuler
    >>> neuler.robots.two_link().center_of_mass([0.0, 0.0]).shape
    (3,)
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CenterOfMassJacobian(Kernel):
    """J(q) with J qd the velocity of the mass centre in the base frame (m/s). (q) -> (3, nv).

    >>> import neuler
    >>> neuler.robots.two_link().center_of_mass_jacobian([0.0, 0.0]).shape
    (3, 2)
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CentroidalMomentum(Kernel):
    """(linear; angular) momentum of all links about the mass centre, in the base's axes (kg m/s, kg m^2/s).

    >>> import neuler
    >>> neuler.robots.two_link().centroidal_momentum([0.0, 0.0], [0.0, 0.0]).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CentroidalMomentumRate(Kernel):
    """Time derivative of ``centroidal_momentum`` along the motion (N, N m): all outer forces, weight and ground's.

    >>> import neuler
    >>> neuler.robots.two_link().centroidal_momentum_rate([0.0, 0.0], [1.0, 0.0], [0.0, 0.0]).shape
    (6,)
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CentroidalMatrix(Kernel):
    """A(q) with A qd = ``centroidal_momentum`` (Orin, Goswami, Lee 2013). (q) -> (6, nv).

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
    """tau and d(tau)/dt, Guarino (3)-(21); with ``order=2`` snap too, and the second derivative.

    Each external wrench comes with its rate: components in its frame, and their time derivatives; each load
    with the time derivatives of its components in the base frame. With couplings or loops by the differentiation pass.
    Coulomb friction adds nothing to a rate: it jumps at rest, and is constant elsewhere (a smooth law has a rate).
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
    """Motion and torques of the motors from the motion of the links to its snap: theta = q + e / K, Hua (28), (29).

    ``q_link`` ... are those of the joints, without theta; of joints that no elastic one feels, jerk and snap have no
    effect (``robot.needed_derivatives()``). ``theta`` and its rates: one for each drive with a spring; ``tau`` as of
    ``inverse_dynamics``, zero on the links' side of springs. Wrenches and loads come with two rates each.

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
    """d(tau)/dq, d(tau)/d(qd), d(tau)/d(qdd): Barman 3, by composite links or by the differentiation pass.

    ``sparse`` gives the entries of joints on one path to the base only; ``kernel.structure`` says where they
    belong. External wrenches are fixed to their frames; loads are constant in the base frame.
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
    """d(qdd)/dq = -A^-1 d(tau)/dq, d(qdd)/d(qd) = -A^-1 d(tau)/d(qd), d(qdd)/d(tau) = A^-1, at the found qdd.

    A is never inverted as a matrix of numbers: it is eliminated joint by joint from the tips inward, as
    the articulated-body recursion does, and every column goes through that elimination.
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> ForwardDynamicsSensitivitiesResult: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class InverseDynamicsHessian(Kernel):
    """Second derivatives of weights . tau to (q, qd, qdd), (3 nv, 3 nv), symmetric: for optimisers.

    By the differentiation pass: the weighted sum is pulled back to its gradient, then differentiated again.
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
    """Of the reaction wrenches (rows as in reaction_wrenches) to q, qd, qdd: (links, 6, nv) each.

    Components are those in the link's own frame. ``sparse`` gives the wrenches of links that a coordinate can
    reach only, (entries, 6); ``kernel.structure`` holds link and coordinate of each. ``method`` is "composite"
    (by composite links), "barman" (his recursion, without free joints) or the cheaper one of both.
    """

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., sparse: bool = ..., method: str = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> ReactionSensitivitiesResult: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, external: Values = ..., loads: Values = ..., sparse: bool = ..., method: str = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class ClosureResult(NamedTuple):
    open_by: Array
    jacobian: Array

class Closure(Kernel):
    """How far the loops are open (m, rad), (constraints): zero where they are closed, Khalil (3); and W, (4).

    W has a row a constraint and a column for every velocity of the joints with coordinates.
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> ClosureResult: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class Upright(Kernel):
    """Of every loop: negative where it is closed with its axes opposite, the wrong way round."""

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class AssemblyStepResult(NamedTuple):
    gap: Array
    reach: Array
    next: Array

class AssemblyStep(Kernel):
    """Newton's step of the dependent joints to closed loops: how far they are open, and where q would go.

    The gap's size, the step's, and q moved by ``share`` of the step, which is bounded smoothly: a long one to 0.8 (m,
    rad), a short one not at all. ``independent`` names other joints that stay as they are.
    """

    @overload
    def __call__(self, q: ArrayLike, share: ArrayLike, *more: ArrayLike, independent: Names | None = ..., parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> AssemblyStepResult: ...
    @overload
    def __call__(self, q: ArrayLike, share: ArrayLike, *more: ArrayLike, independent: Names | None = ..., parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class CouplingMatrix(Kernel):
    """G = d(q)/d(q_i), Khalil (56): velocities of all joints of the tree by the robot's own, (tree.nv, nv)."""

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class SingularityResult(NamedTuple):
    joints: Array
    motors: Array

class Singularity(Kernel):
    """How far from singular, from 0 to 1 each: whether qd decides all joints, and whether tau decides all motion.

    ``joints`` is 0 where the independent velocities do not decide the others (a stretched leg of a parallel robot),
    ``motors`` where the forces in tau do not hold some motion (its platform gains a freedom).
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> SingularityResult: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class TreeMotionResult(NamedTuple):
    qd_tree: Array
    qdd_tree: Array

class TreeMotion(Kernel):
    """Velocities and accelerations of all joints of the tree, (tree.nv) each, from Khalil (4) and its derivative."""

    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> TreeMotionResult: ...
    @overload
    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class PlatformJacobian(Kernel):
    """The robot's own velocities by those of the joints in tau, (nv, nu): J_p of Khalil (60) for a parallel robot.

    With more motors than freedoms it takes any velocities of theirs, and gives the nearest motion that goes.
    """

    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Literal["float64"] | type[np.float64] = ..., out: Any = None, **named: ArrayLike) -> Array: ...
    @overload
    def __call__(self, q: ArrayLike, *more: ArrayLike, parameters: Values = ..., dtype: Any = ..., out: Any = None, **named: ArrayLike) -> Any: ...

class ConstrainedDynamicsResult(NamedTuple):
    qdd: Array
    forces: Array

class ConstrainedDynamics(Kernel):
    """All joints free, the loops held by forces: A qdd + H = tau + W^T forces, W qdd + dW/dt qd = -drift.

    qd, qdd and tau are those of all joints with coordinates; ``damping`` (1/s) is the rate a at which
    a loop that has opened by c closes again, drift = 2 a dc/dt + a^2 c (Baumgarte); zero leaves it as it is.
    ``forces`` are those of all constraints; redundant ones, which rigid links leave undecided, carry none. Poses at
    which the motors do not decide the motion are no hindrance; where the constraints themselves become dependent,
    where branches of the assembly meet, the results are NaN. All joints need inertia of their own.
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
