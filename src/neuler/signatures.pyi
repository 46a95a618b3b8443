"""Types of the verbs of a robot. Written by neuler.quantities.stubs from the declarations; do not edit."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuler.kernels import Kernel

Array = NDArray[np.float64]

class InverseDynamics(Kernel):
    """Forces for a motion: tau = M(q) qdd + h(q, qd) - J^T wrench, Khalil (12); in loops (55)-(57), (66).

    ``external`` names frames with a wrench in their own axes, ``loads`` frames with one in the base's axes;
    ``reactions`` adds the reaction wrenches. Where more joints are driven than the robot has freedoms, the forces are
    the least (in the sum of their squares) of all that do it.

    >>> import neuler
    >>> neuler.robots.two_link().inverse_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0]).shape
    (2,)
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class ForwardDynamics(Kernel):
    """The motion that forces make: qdd = M(q)^-1 (tau + J^T wrench - h(q, qd)).

    Of a tree by articulated bodies, Khalil (34)-(44), or by ``method`` "nasser" (Nasser 2) or "walker_orin" (columns
    of M by inverse dynamics); with couplings or loops by the reduced matrix, (58). ``reactions`` adds the reaction
    wrenches.
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class HybridDynamics(Kernel):
    """Joints named in ``motion`` are given accelerations, the others forces; the rest is found.

    By default the driven joints are given their motion: then it finds their forces, and the accelerations of
    elastic and passive joints, Khalil (72)-(82), and of free links, (89)-(100). ``given`` and ``found`` have a number
    for every one of tau; in loops the joints given their motion must be independent of each other.
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, given: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class MassMatrix(Kernel):
    """M(q), (nv, nv), rotor inertia included: A of Khalil (7), by composite links; A_c = G^T A G of (58) in loops."""

    def __call__(self, q: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class BiasForce(Kernel):
    """h(q, qd), (nv): Coriolis, centrifugal, gravity, friction and spring forces; H of Khalil (7), H_c of (58).

    Load-dependent friction is no part of it: it acts on tau, which ``inverse_dynamics`` gives with it.
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class GravityForce(Kernel):
    """The force that holds the robot still, (nv): the gradient of the potential energy."""

    def __call__(self, q: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class CoriolisMatrix(Kernel):
    """C(q, qd), (nv, nv): C qd are the Coriolis and centrifugal forces, and dM/dt - 2 C is skew-symmetric.

    By composite links (Echeandia and Wensing 2021); with couplings or loops G^T (C G + A dG/dt).
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class GeneralizedForce(Kernel):
    """M(q) qdd + h(q, qd) - J^T wrench along the robot's own velocities, (nv): of a parallel robot the bracket of
    Khalil (66). Of a tree it is ``inverse_dynamics``; of others G_a^T tau; both without load-dependent friction.
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class ActuationMatrix(Kernel):
    """Velocities of the joints in tau by the robot's own, (nu, nv): mass_matrix qdd + bias = actuation_matrix^T tau.

    Of a tree the unit matrix; of a parallel robot the inverse of the platform's Jacobian.
    """

    def __call__(self, q: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class ReactionWrenches(Kernel):
    """Of the antecedent on each link, of the ground on the base (row 0), (links, 6): Khalil (26)-(30).

    (force; moment) in the link's frame at its origin. What rigid links leave undecided, the forces of redundant
    constraints (those across the plane of a planar loop), is taken as zero.
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class LoopWrenches(Kernel):
    """Of the first frame of each cut joint on the second, (loops, 6): (force; moment) in the second frame.

    Forces of redundant constraints are taken as zero.
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class LinkPoses(Kernel):
    """Homogeneous matrices in the base frame, of all links (links, 4, 4) or of one named ``frame`` (4, 4).

    >>> import neuler
    >>> neuler.robots.two_link().link_poses([0.0, 0.0]).shape
    (3, 4, 4)
    """

    def __call__(self, q: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class LinkVelocities(Kernel):
    """Screws (linear; angular) in the frame's own axes at its own origin, of all links (links, 6) or one ``frame``."""

    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class LinkMotionsResult(NamedTuple):
    velocities: Array
    accelerations: Array
    jerks: Array

class LinkMotions(Kernel):
    """Velocity, acceleration and jerk of all links, (links, 6) each, or of one ``frame``, Guarino (3)-(9).

    (linear; angular) each, inertial derivatives at the frame's origin in its own axes, gravity not included.
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, qddd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> LinkMotionsResult: ...

class Jacobian(Kernel):
    """Of ``frame`` (default: ``robot.tip``), (6, nv): its screw (linear; angular) at its origin by qd.

    In its own axes (``reference="link"``) or in the base's ("world").
    """

    def __call__(self, q: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

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

    def __call__(self, q: ArrayLike, qd: ArrayLike, dt: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class EnergyResult(NamedTuple):
    kinetic: Array
    potential: Array

class Energy(Kernel):
    """Kinetic energy (rotors included) and potential energy (springs included), in joule."""

    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> EnergyResult: ...

class Momentum(Kernel):
    """(linear; angular) momentum of all links in the base frame, about its origin, (6)."""

    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class CenterOfMass(Kernel):
    """Mass centre of all links in the base frame (m): sum m x / sum m, the base's own mass included.

    >>> import neuler
    >>> neuler.robots.two_link().center_of_mass([0.0, 0.0]).shape
    (3,)
    """

    def __call__(self, q: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class CenterOfMassJacobian(Kernel):
    """J(q) with J qd the velocity of the mass centre in the base frame (m/s). (q) -> (3, nv).

    >>> import neuler
    >>> neuler.robots.two_link().center_of_mass_jacobian([0.0, 0.0]).shape
    (3, 2)
    """

    def __call__(self, q: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class CentroidalMomentum(Kernel):
    """(linear; angular) momentum of all links about the mass centre, in the base's axes (kg m/s, kg m^2/s).

    >>> import neuler
    >>> neuler.robots.two_link().centroidal_momentum([0.0, 0.0], [0.0, 0.0]).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class CentroidalMomentumRate(Kernel):
    """Time derivative of ``centroidal_momentum`` along the motion (N, N m): all outer forces, weight and ground's.

    >>> import neuler
    >>> neuler.robots.two_link().centroidal_momentum_rate([0.0, 0.0], [1.0, 0.0], [0.0, 0.0]).shape
    (6,)
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class CentroidalMatrix(Kernel):
    """A(q) with A qd = ``centroidal_momentum`` (Orin, Goswami, Lee 2013). (q) -> (6, nv).

    >>> import neuler, numpy
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> numpy.allclose(arm.centroidal_matrix(q) @ qd, arm.centroidal_momentum(q, qd))
    True
    """

    def __call__(self, q: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class InverseDynamicsRateResult(NamedTuple):
    tau: Array
    tau_rate: Array

class InverseDynamicsRate(Kernel):
    """tau and d(tau)/dt, Guarino (3)-(21); with ``order=2`` snap too, and the second derivative.

    Each external wrench comes with its rate: components in its frame, and their time derivatives; each load
    with the time derivatives of its components in the base frame. With couplings or loops by the differentiation pass.
    Coulomb friction adds nothing to a rate: it jumps at rest, and is constant elsewhere (a smooth law has a rate).
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, qddd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> InverseDynamicsRateResult: ...

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

    def __call__(self, q_link: ArrayLike, qd_link: ArrayLike, qdd_link: ArrayLike, qddd_link: ArrayLike, qdddd_link: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> ElasticInverseDynamicsResult: ...

class InverseDynamicsSensitivitiesResult(NamedTuple):
    dtau_dq: Array
    dtau_dqd: Array
    dtau_dqdd: Array

class InverseDynamicsSensitivities(Kernel):
    """d(tau)/dq, d(tau)/d(qd), d(tau)/d(qdd): Barman 3, by composite links or by the differentiation pass.

    ``sparse`` gives the entries of joints on one path to the base only; ``kernel.structure`` says where they
    belong. External wrenches are fixed to their frames; loads are constant in the base frame.
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> InverseDynamicsSensitivitiesResult: ...

class ForwardDynamicsSensitivitiesResult(NamedTuple):
    dqdd_dq: Array
    dqdd_dqd: Array
    dqdd_dtau: Array

class ForwardDynamicsSensitivities(Kernel):
    """d(qdd)/dq = -A^-1 d(tau)/dq, d(qdd)/d(qd) = -A^-1 d(tau)/d(qd), d(qdd)/d(tau) = A^-1, at the found qdd.

    A is never inverted as a matrix of numbers: it is eliminated joint by joint from the tips inward, as
    the articulated-body recursion does, and every column goes through that elimination.
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> ForwardDynamicsSensitivitiesResult: ...

class InverseDynamicsHessian(Kernel):
    """Second derivatives of weights . tau to (q, qd, qdd), (3 nv, 3 nv), symmetric: for optimisers.

    By the differentiation pass: the weighted sum is pulled back to its gradient, then differentiated again.
    """

    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, weights: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

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

    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> ReactionSensitivitiesResult: ...

class ClosureResult(NamedTuple):
    open_by: Array
    jacobian: Array

class Closure(Kernel):
    """How far the loops are open (m, rad), (constraints): zero where they are closed, Khalil (3); and W, (4).

    W has a row a constraint and a column for every velocity of the joints with coordinates.
    """

    def __call__(self, q: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> ClosureResult: ...

class Upright(Kernel):
    """Of every loop: negative where it is closed with its axes opposite, the wrong way round."""

    def __call__(self, q: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class AssemblyStepResult(NamedTuple):
    gap: Array
    reach: Array
    next: Array

class AssemblyStep(Kernel):
    """Newton's step of the dependent joints to closed loops: how far they are open, and where q would go.

    The gap's size, the step's, and q moved by ``share`` of the step, which is bounded smoothly: a long one to 0.8 (m,
    rad), a short one not at all. ``independent`` names other joints that stay as they are.
    """

    def __call__(self, q: ArrayLike, share: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> AssemblyStepResult: ...

class CouplingMatrix(Kernel):
    """G = d(q)/d(q_i), Khalil (56): velocities of all joints of the tree by the robot's own, (tree.nv, nv)."""

    def __call__(self, q: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

class SingularityResult(NamedTuple):
    joints: Array
    motors: Array

class Singularity(Kernel):
    """How far from singular, from 0 to 1 each: whether qd decides all joints, and whether tau decides all motion.

    ``joints`` is 0 where the independent velocities do not decide the others (a stretched leg of a parallel robot),
    ``motors`` where the forces in tau do not hold some motion (its platform gains a freedom).
    """

    def __call__(self, q: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> SingularityResult: ...

class TreeMotionResult(NamedTuple):
    qd_tree: Array
    qdd_tree: Array

class TreeMotion(Kernel):
    """Velocities and accelerations of all joints of the tree, (tree.nv) each, from Khalil (4) and its derivative."""

    def __call__(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> TreeMotionResult: ...

class PlatformJacobian(Kernel):
    """The robot's own velocities by those of the joints in tau, (nv, nu): J_p of Khalil (60) for a parallel robot.

    With more motors than freedoms it takes any velocities of theirs, and gives the nearest motion that goes.
    """

    def __call__(self, q: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> Array: ...

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

    def __call__(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, damping: ArrayLike, *more: ArrayLike, out: Any = None, **named: ArrayLike) -> ConstrainedDynamicsResult: ...

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
