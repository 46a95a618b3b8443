"""Slotine and Li's passivity-based controller, and the adaptive one, which learns the robot's parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from neuler import math as nm
from neuler.control.controller import Array, Controller, Wanted
from neuler.control.coordinates import gains, refuse_springs, refuse_undriven
from neuler.errors import InputError, RobotError
from neuler.functions.function import function
from neuler.inputs import names as as_names
from neuler.inputs import vector
from neuler.kernels import Kernel
from neuler.robot import Robot
from neuler.trace.dependence import dependence
from neuler.trace.differentiate import pull_back


class SlotineLi(Controller):
    """tau = M(q) a + C(q, qd) v + g(q) + f(v) + k s, with v = qd_d + lam e, a = dv/dt, s = v - qd (Slotine, Li 1987).

    The robot's nonlinear forces are met, not cancelled: with the right model M ds/dt + C s + k s = 0 (friction, whose
    law f is taken at v, adds its own damping), and V = s.M s / 2 falls by s.k s, because dM/dt - 2 C is skew-symmetric.
    ``lam`` (1/s) leads the error to zero once s is; ``k`` is in N m s/rad or N s/m. One number each, or one for every
    velocity.

    Computed as inverse dynamics of v and a, less C(q, s) v: C is linear in its velocity. In loops these are forces
    along the robot's own velocities, and tau the motors' least forces that give them.

    >>> import neuler, numpy as np
    >>> control = SlotineLi(neuler.robots.two_link(), lam=5.0, k=20.0, reference=[0.3, -0.2])
    >>> control(0.0, [0.2, -0.2], [0.1, 0.0]).tau.shape
    (2,)
    """

    name = "slotine_li"

    def __init__(self, robot: Robot, lam: Any, k: Any, reference: Any = None, period: float | None = None) -> None:
        super().__init__(robot, reference, period)
        self.lam = gains(self.name, "lam", lam, robot.nv)
        self.k = gains(self.name, "k", k, robot.nv)
        self._force = Kernel.later(robot, "generalized_force")
        self._coriolis = Kernel.later(robot, "coriolis_matrix")

    def _refuse(self, robot: Robot) -> None:
        refuse_springs(robot, self.name)
        loaded = [joint.name for joint in robot.moving_joints if joint.friction is not None and joint.friction.loaded]
        if loaded:
            raise RobotError(
                f"{self.name}: the friction of {loaded[0]!r} depends on its load, which is not in this law; "
                "neuler.control.ComputedTorque has it"
            )
        refuse_undriven(robot, self.name, "Drive it (role 'driven'); neuler.control.ComputedTorque leaves it loose.")

    def law(self, t: Any, q: Any, qd: Any, memory: Any, wanted: Wanted) -> Any:
        """See above."""
        v, a, s = self.sliding(q, qd, wanted)
        return self.coordinates.tau(q, self.model(q, v, a, s) + self.k * s)

    def sliding(self, q: Any, qd: Any, wanted: Wanted) -> tuple[Any, Any, Any]:
        """v, a = dv/dt and s."""
        own = self.coordinates
        v = wanted.qd + self.lam * own.difference(q[own.places], wanted.q)
        return v, wanted.qdd + self.lam * (wanted.qd - qd), v - qd

    def model(self, q: Any, v: Any, a: Any, s: Any, *parameters: Any) -> Any:
        """M a + C(q, v - s) v + g + f(v)."""
        return self._force(q, v, a, *parameters) - self._coriolis(q, s, *parameters) @ v


class AdaptiveSlotineLi(SlotineLi):
    """``SlotineLi`` with estimates p of some of the robot's parameters: dp/dt = rate Y^T s, tau = Y p + ... + k s.

    The model is linear in ``parameters`` (names as in docs/parameters.md: "payload:tool", "link3", "joint2.viscous";
    or ``robot.base_parameters().names``, the fewest that can make up for all others); Y is its derivative by them, and
    Y^T s is pulled back through the model without making Y. With V = s.M s / 2 + (p - p0).(p - p0) / (2 rate),
    dV/dt = - s.k s: s goes to zero; p goes where the motion tells it to.

    The estimates are the controller's memory: they start at ``start`` (default: the robot's own values) and change by
    ``period`` x dp/dt from sample to sample, kept within ``lower`` and ``upper``. ``rate`` is one number or one for
    every parameter (unit of the parameter squared over N m, or N, and m or rad).

    >>> import neuler
    >>> robot = neuler.robots.two_link()
    >>> control = AdaptiveSlotineLi(
    ...     robot, lam=5.0, k=20.0, parameters="payload:link2", rate=0.1, period=1e-3, reference=[0.3, -0.2])
    >>> control.parameter_names[:2], control.memory
    (('payload:link2.mass', 'payload:link2.mx'), 10)
    """

    name = "adaptive_slotine_li"

    def __init__(
        self,
        robot: Robot,
        lam: Any,
        k: Any,
        parameters: str | Iterable[str],
        rate: Any,
        period: float,
        reference: Any = None,
        start: Any = None,
        lower: Any = -np.inf,
        upper: Any = np.inf,
    ) -> None:
        super().__init__(robot, lam, k, reference, period)
        if self.period is None:
            raise InputError(f"{self.name}: period must be the time between samples (s): estimates change by it")
        names = as_names(f"{self.name}: parameters", parameters)
        self._force = Kernel.later(robot, "generalized_force", parameters=names)
        self._coriolis = Kernel.later(robot, "coriolis_matrix", parameters=names)
        self.parameter_names = self._force.parameter_names
        size, n = len(self.parameter_names), robot.nv
        self._learning = function(
            self._forces, {"q": robot.nq, "v": n, "a": n, "s": n, "p": size}, ("force", "slope"), self.name
        )
        own = self._force.parameter_values
        self.memory0 = own if start is None else vector(f"{self.name}: start", start, size)
        self.rate = gains(self.name, "rate", rate, size, zero=True)
        self.lower, self.upper = (self._bounds(name, x) for name, x in (("lower", lower), ("upper", upper)))
        outside = [
            n
            for n, x, a, b in zip(self.parameter_names, self.memory0, self.lower, self.upper, strict=True)
            if not a <= x <= b
        ]
        if outside:
            raise InputError(f"{self.name}: the first estimate of {outside[0]!r} is not between lower and upper")

    def _bounds(self, name: str, value: Any) -> Array:
        try:
            found = np.broadcast_to(np.asarray(value, dtype=float), (len(self.parameter_names),))
        except (TypeError, ValueError):
            found = np.array([np.nan])
        if np.isnan(found).any():
            raise InputError(
                f"{self.name}: {name} must be one number or one for each of {len(self.parameter_names)} parameters, "
                f"got {value!r:.80}"
            )
        return found

    def _forces(self, q: Any, v: Any, a: Any, s: Any, p: Any) -> Any:
        """The model, and Y^T s. Where that depends on p the model is not linear in it: refused."""
        force = self.model(q, v, a, s, p)
        slope = pull_back(list(force), list(s), list(p))
        for name, bent in zip(self.parameter_names, dependence(list(p), slope), strict=True):
            if bent:
                others = ", ".join(repr(self.parameter_names[k]) for k in sorted(bent)[:3])
                raise InputError(
                    f"{self.name}: the forces are not linear in {name!r}: their slope depends on {others}; it learns "
                    "inertial parameters, payloads, viscous and Coulomb friction, stiffness and rotor inertia"
                )
        return force, np.array(slope)

    def law(self, t: Any, q: Any, qd: Any, memory: Any, wanted: Wanted) -> Any:
        """See above."""
        v, a, s = self.sliding(q, qd, wanted)
        force, slope = self._learning(q, v, a, s, memory)
        assert self.period is not None
        learnt = memory + self.period * self.rate * slope
        return self.coordinates.tau(q, force + self.k * s), nm.clip(learnt, self.lower, self.upper)
