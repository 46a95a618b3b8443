"""Hua's inverse-dynamics controller of robots with rigid and elastic drives, (37)-(52)."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuler.control.controller import Controller, Wanted
from neuler.control.coordinates import gains
from neuler.control.elastic import Sides
from neuler.functions.function import Function, function
from neuler.quantities.catalogue import find
from neuler.recursions.factor import Factor
from neuler.robot import Robot
from neuler.robot.coordinates import Selection
from neuler.trace.differentiate import tangents


class ElasticInverseDynamics(Controller):
    """Hua (37)-(49): the load side is led as by Slotine and Li, the motors are led to where their springs do it.

    With e = q_d - q, v = qd_d + lam e, s = v - qd, lam = kp / kd, (37), (38), the joints are to get, (39),

        tau_qc = M a + S thetadd + C v + C1 thetad + G + kd s,        a = dv/dt

    rigid drives from their motors, elastic ones from their springs: theta_d = q + tau_qc / K, (43). Motors behind
    springs follow, (45), (49), with e_t = theta_d - theta, lam_t = kp_motor / kd_motor:

        thetad_r = thetad_d + lam_t e_t + s,    s_t = thetad_r - thetad
        tau_me = S^T qdd + B thetadd_r + C2 qd + K (theta_d - q) + kd_motor s_t

    theta_d is a function of time, q and qd; its two derivatives are exact ones along the closed loop, whose
    accelerations follow from the model: M (a - qdd) + C s + kd s = K e_t of elastic drives, 0 of rigid ones, (40). No
    acceleration is measured and none is a difference. As tau all this is the inverse dynamics of the closed loop's
    accelerations, with thetadd = thetadd_r + B^-1 (K e_t + kd_motor s_t), (50); friction is in it.

    It needs the reference to its fourth derivative, of the joints without theta (a function of time has them). Robots
    whose elastic joints carry a motor of an elastic drive are refused: theta_d would depend on accelerations of motors,
    and its derivatives on those of torques; so are springs with damping. A model with ``coupled=False`` motors does.

    ``kp``, ``kd``: one number each, or one for every joint (N m/rad, N m s/rad); ``kp_motor``, ``kd_motor``: of
    motors behind springs. ``lyapunov`` gives V1, V2 of (41), (51) and their rates (42), (52).

    >>> import neuler
    >>> motor = neuler.Motor("m", "joint2", 50, inertia=1e-4, stiffness=100.0)
    >>> robot = neuler.robots.two_link().replace(motors=[motor])
    >>> path = neuler.control.sines([0.5, 0.5], 0.25)
    >>> control = ElasticInverseDynamics(robot, kp=100.0, kd=20.0, kp_motor=20.0, kd_motor=2.0, reference=path)
    >>> found = control.lyapunov(0.0, [0.0, -0.4, -0.4], [0.0, 0.0, 0.0])
    >>> bool(found.V2 > found.V1 > 0 > found.V2_rate)
    True
    """

    name = "elastic_inverse_dynamics"
    order = 4

    def __init__(
        self,
        robot: Robot,
        kp: Any,
        kd: Any,
        kp_motor: Any,
        kd_motor: Any,
        reference: Any = None,
        period: float | None = None,
    ) -> None:
        super().__init__(robot, reference, period)
        self.sides = Sides.of(robot, self.name)
        joints, motors = len(self.sides.links), len(self.sides.motors)
        self.kp, self.kd = gains(self.name, "kp", kp, joints), gains(self.name, "kd", kd, joints)
        self.kp_motor = gains(self.name, "kp_motor", kp_motor, motors)
        self.kd_motor = gains(self.name, "kd_motor", kd_motor, motors)
        _ = self._core  # what it cannot do is said now

    @property
    def _core(self) -> Function:
        return self._kept("core", self._traced_core)

    def _traced_core(self) -> Function:
        robot, joints, motors = self.robot, len(self.sides.links), len(self.sides.motors)
        outputs = {"tau": robot.nu, "theta": motors, "thetad": motors, "thetadd": motors}
        numbers = dict.fromkeys(("V1", "V2", "V1_rate", "V2_rate"), ())
        return function(
            self._closed_loop, {"q": robot.nq, "qd": robot.nv, "wanted": 5 * joints}, {**outputs, **numbers}, self.name
        )

    def _refuse(self, robot: Robot) -> None:
        Sides.of(robot, self.name)
        find("elastic_inverse_dynamics").recipe(robot)  # what theta must not depend on is the same there, and so named

    @classmethod
    def coordinates_of(cls, robot: Robot) -> Selection:
        """The coordinates that references of the controller of a robot are of."""
        return robot.coordinates.links

    def law(self, t: Any, q: Any, qd: Any, memory: Any, wanted: Wanted) -> Any:
        """See above."""
        return self._core(q, qd, _flat(wanted)).tau

    def desired(self, q: Any, qd: Any, reference: Any) -> Any:
        """(tau, theta, thetad, thetadd, V1, V2, ...): torques, theta_d and its rates, for a flat reference."""
        return self._core(q, qd, reference)

    def lyapunov(self, t: Any, q: Any, qd: Any, reference: Any = None) -> Any:
        """(V1, V2, V1_rate, V2_rate): Hua (41), (51), and their rates by (42), (52), of a robot like the model."""
        given = reference is not None
        found = self._kept(("lyapunov", given), lambda: self.lyapunov_function(given))
        return found(t, q, qd, *([reference] if given else []))

    def lyapunov_function(self, given: bool = False) -> Function:
        """The same as a function of (t, q, qd), or (``given``) of (t, q, qd, reference), with derivatives."""
        inputs: dict[str, Any] = {"t": (), "q": self.robot.nq, "qd": self.robot.nv}
        if given:
            inputs["reference"] = sum(self.reference_sizes)

        def traced(t: Any, q: Any, qd: Any, *more: Any) -> Any:
            found = self._core(q, qd, more[0] if given else self._own(t))
            return {name: getattr(found, name) for name in ("V1", "V2", "V1_rate", "V2_rate")}

        return function(traced, inputs, name="lyapunov")

    def _closed_loop(self, q: Any, qd: Any, wanted: Any) -> Any:
        """Of values that are inputs of a graph: derivatives along the motion are tangents of them."""
        sides, robot = self.sides, self.robot
        links, motors, e = sides.links, sides.motors, sides.elastic
        x, xd, theta, thetad = q[links], qd[links], q[motors], qd[motors]
        stiffness, lam, lam_motor = sides.stiffness, self.kp / self.kd, self.kp_motor / self.kd_motor
        d = wanted.reshape(5, len(links))
        # the load side, with motors at rest behind springs at rest: none of it depends on theta
        error, error_rate = d[0] - x, d[1] - xd
        v, a = d[1] + lam * error, d[2] + lam * error_rate  # (37)
        s = v - xd  # (38)
        placed, still = sides.whole(x, x[e]), sides.whole(xd, 0.0)
        M = robot.mass_matrix(placed)
        C = robot.coriolis_matrix(placed, still)[np.ix_(links, links)]
        needed = robot.generalized_force(placed, still, sides.whole(a, 0.0))[links] + C @ s + self.kd * s  # (39)
        theta_d = x[e] + needed[e] / stiffness  # (43)
        off = theta_d - theta  # (44)
        pull = np.zeros(len(links), dtype=object)
        pull[e] = stiffness * off
        load = M[np.ix_(links, links)]
        s_rate = np.array(_solved(load, pull - C @ s - self.kd * s))  # (40)
        acceleration = a - s_rate
        # along the closed loop
        along = {**_seeds(x, xd), **_seeds(xd, acceleration), **_seeds(theta, thetad)}
        for k in range(4):
            along |= _seeds(d[k], d[k + 1])
        thetad_d = np.array(tangents(list(theta_d), along))
        thetadd_d = np.array(tangents(list(thetad_d), along))
        off_rate = thetad_d - thetad
        s_motor = off_rate + lam_motor * off + s[e]  # (47)
        thetadd_r = thetadd_d + lam_motor * off_rate + s_rate[e]  # the rate of (45)
        B = M[np.ix_(motors, motors)]
        thetadd = thetadd_r + np.array(_solved(B, stiffness * off + self.kd_motor * s_motor))  # (50)
        tau = robot.inverse_dynamics(q, qd, sides.whole(acceleration, thetadd))
        held = np.array(tau, dtype=object)
        held[[links[k] for k in e]] = 0.0  # what is left there is rounding: springs give it
        V1 = 0.5 * (s @ load @ s) + (lam * self.kd * error) @ error  # (41)
        V2 = V1 + 0.5 * (s_motor @ B @ s_motor) + 0.5 * (stiffness * off) @ off  # (51)
        lost = (self.kd * error_rate) @ error_rate + (lam * self.kd * lam * error) @ error
        rate = s[e] @ (stiffness * off) - lost  # (42), (48)
        lost_motor = (self.kd_motor * s_motor) @ s_motor + (stiffness * lam_motor * off) @ off
        return {
            "tau": held, "theta": theta_d, "thetad": thetad_d, "thetadd": thetadd_d,
            "V1": V1, "V2": V2, "V1_rate": rate, "V2_rate": -lost - lost_motor,  # (52)
        }  # fmt: skip


def _flat(wanted: Wanted) -> Any:
    return np.concatenate([wanted.q, wanted.qd, wanted.qdd, *wanted.more])


def _seeds(now: Any, rate: Any) -> dict[Any, Any]:
    return dict(zip(now, rate, strict=True))


def _solved(matrix: Any, right: Any) -> list[Any]:
    return Factor(matrix.tolist(), [""] * len(right)).solve(list(right))
