"""The verbs of a mechanism, as lazy attributes. What a verb computes is defined above this room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuler.robot import verbs
from neuler.robot.assembly import Assembly, assemble
from neuler.robot.verbs import Verb

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from neuler.kernels import Kernel
    from neuler.recipes.mobility import Mobility


class MechanismVerbs:
    """Mixed into Mechanism. ``q`` is a closed position of the tree, ``qd`` and ``qdd`` of the independent joints."""

    inverse_dynamics = Verb("Torques of the active joints, Khalil (55)-(57). (q, qd, qdd) -> tau")
    forward_dynamics = Verb("Khalil (58). (q, qd, tau of the active joints) -> qdd")
    mass_matrix = Verb("A_c of Khalil (58). (q) -> (freedoms, freedoms)")
    bias_force = Verb("H_c of Khalil (58). (q, qd) -> (freedoms)")
    coupling_matrix = Verb("G = d(q)/d(q_i), Khalil (56). (q) -> (nv, freedoms)")
    singularity = Verb("From 0, where the independent joints do not decide the others, to 1. (q) -> margin")
    tree_motion = Verb("(q, qd, qdd) -> velocities and accelerations of all joints of the tree, (nv) each")
    constrained_dynamics = Verb("All joints free: (q, qd, tau, damping), of the tree -> (qdd, forces of the loops)")
    reaction_wrenches = Verb("(q, qd, qdd) -> of the antecedent on each link (links, 6), of the cut joints (loops, 6)")
    inverse_dynamics_sensitivities = Verb("(q, qd, qdd) -> (dtau_dq, dtau_dqd, dtau_dqdd), (active, freedoms) each")
    closure = Verb("How far the loops are open, Khalil (3), and W of (4). (q) -> (constraints), (constraints, nv)")
    upright = Verb("Negative where a loop is closed the wrong way round. (q) -> (loops)")

    def compile(self, quantity: str, **options: Any) -> Kernel:
        """A variant of a verb: ``independent=("joint1",)``, ``dtype="float32"``."""
        return verbs.made(self, quantity, **options)

    @property
    def mobility(self) -> Mobility:
        """Freedoms, rank and redundant constraints of the loops, and a position at which they are closed."""
        return verbs.analysed(self)

    def assemble(
        self,
        q_active: ArrayLike,
        guess: ArrayLike | None = None,
        *,
        independent: Any = None,
        continuous: bool = False,
        tolerance: float = 1e-12,
        iterations: int = 40,
    ) -> Assembly:
        """Positions of all joints at which the loops are closed, Khalil (3), with the independent ones as given.

        ``q_active`` are those of ``mobility.independent``, or of the joints named in ``independent``, in that order.
        By Newton's method from ``guess`` (a position of the tree; by default the reference), with steps that are
        bounded and never open the loops further; far goals are led from the guess, so that the branch is kept. Batch
        axes lead. ``continuous``: the first axis is a path;
        every point starts where the one before ended, so that the branch is kept.

        One state that cannot be closed is an error; of a batch, these rows are NaN and a warning counts them.

        >>> import neuler
        >>> four_bar = neuler.robots.four_bar()
        >>> found = four_bar.assemble([1.0])
        >>> bool(found.closed), float(found.gap) < 1e-12
        (True, True)
        """
        return assemble(self, q_active, guess, independent, continuous, tolerance, iterations)
