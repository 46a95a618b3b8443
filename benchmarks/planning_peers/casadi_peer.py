"""The same transcription in CasADi: SX, exact Hessian, the IPOPT of its wheel. Prints one JSON object.

    python casadi_peer.py two_link --controls 80 --per-span 4
    python casadi_peer.py ur5 --form map

``--ends bounds`` imposes the boundary conditions (bounds on the outer control points, rows for the velocities);
``--ends gone`` writes them into the expressions. ``--form sx`` expands every grid point, as CasADi's own examples do;
``--form map`` maps an SX function of one point over all of them. ``--mumps`` gives its MUMPS neuler's options.
"""

from __future__ import annotations

import argparse
from typing import Any

import casadi as ca
import numpy as np
import pinocchio
import problems

TINY = 1e-12
"""Numbers of a URDF below this are meant as zeros."""
MUMPS = {"mumps_pivot_order": 0, "mumps_permuting_scaling": 0, "mumps_scaling": 0}


def two_link_torques(q: Any, qd: Any, qdd: Any) -> Any:
    """The closed form, angles relative; inertia about the centres of mass."""
    p = problems.TWO_LINK
    m, I, l = p["mass"], p["inertia"], p["length"]
    c = l / 2
    h = m * l * c * ca.sin(q[1])
    cross = m * l * c * ca.cos(q[1])
    m22 = I + m * c**2
    m12 = m22 + cross
    m11 = I + m * c**2 + m * l**2 + m22 + 2 * cross
    return ca.vertcat(
        m11 * qdd[0] + m12 * qdd[1] - h * (2 * qd[0] + qd[1]) * qd[1],
        m12 * qdd[0] + m22 * qdd[1] + h * qd[0] ** 2,
    )


class Arm:
    """Newton-Euler in the frames of the links, of Pinocchio's reading of a URDF: numbers that are zero stay out."""

    def __init__(self, path: str) -> None:
        self.model = pinocchio.buildModelFromUrdf(path)
        self.gravity = -self.model.gravity.linear

    def torques(self, q: Any, qd: Any, qdd: Any) -> Any:
        model, n = self.model, self.model.nv
        turns, levers, forces, moments = [None], [None], [None], [None]
        w = wd = ca.SX(3, 1)
        a = ca.sparsify(ca.DM(self.gravity))
        for i in range(1, n + 1):
            placement, inertia = model.jointPlacements[i], model.inertias[i]
            e = ca.sparsify(ca.DM(np.eye(3)[:, "XYZ".index(model.joints[i].shortname()[-1])]))
            E = ca.mtimes(_rotation(e, q[i - 1]).T, _plain(placement.rotation.T))  # parent's axes to the link's
            p = _plain(placement.translation)
            a = ca.mtimes(E, a + ca.cross(wd, p) + ca.cross(w, ca.cross(w, p)))
            w, wd = ca.mtimes(E, w), ca.mtimes(E, wd)
            turn = e * qd[i - 1]
            wd = wd + ca.cross(w, turn) + e * qdd[i - 1]
            w = w + turn
            s, J = _plain(inertia.mass * inertia.lever), _plain(_about_origin(inertia))
            forces.append(inertia.mass * a + ca.cross(wd, s) + ca.cross(w, ca.cross(w, s)))
            moments.append(ca.mtimes(J, wd) + ca.cross(w, ca.mtimes(J, w)) + ca.cross(s, a))
            turns.append(E)
            levers.append(p)
        tau = [None] * n
        for i in range(n, 0, -1):
            tau[i - 1] = moments[i]["XYZ".index(model.joints[i].shortname()[-1])]
            if i > 1:
                f = ca.mtimes(turns[i].T, forces[i])
                forces[i - 1] += f
                moments[i - 1] += ca.mtimes(turns[i].T, moments[i]) + ca.cross(levers[i], f)
        return ca.vertcat(*tau)


def _plain(x: np.ndarray) -> ca.DM:
    return ca.sparsify(ca.DM(np.where(np.abs(x) < TINY, 0.0, x)))


def _about_origin(inertia: Any) -> np.ndarray:
    c = inertia.lever
    return inertia.inertia + inertia.mass * (c @ c * np.eye(3) - np.outer(c, c))


def _rotation(axis: ca.DM, q: Any) -> Any:
    k = int(np.argmax(np.abs(np.array(axis.full()).ravel())))
    i, j = (k + 1) % 3, (k + 2) % 3
    R = ca.SX(3, 3)
    R[k, k] = 1
    R[i, i] = R[j, j] = ca.cos(q)
    R[j, i] = ca.sin(q)
    R[i, j] = -ca.sin(q)
    return R


def torque_function(torques: Any, joints: int) -> ca.Function:
    q, qd, qdd = (ca.SX.sym(name, joints) for name in ("q", "qd", "qdd"))
    return ca.Function("tau", [q, qd, qdd], [torques(q, qd, qdd)])


def programme(one: ca.Function, start: Any, goal: Any, at: np.ndarray, controls: int, ends: str, form: str) -> Any:
    """Variables, their first guess, the rows' values and labels: torques, then velocities, at all grid points."""
    joints = len(start)
    kind = ca.SX if form == "sx" else ca.MX
    guess = problems.straight(start, goal, controls).T  # (joints, controls)
    if ends == "gone":
        inner = kind.sym("P", joints, controls - 4)
        a, b = ca.DM(start), ca.DM(goal)
        P, variables, first = ca.horzcat(a, a, inner, b, b), inner, guess[:, 2:-2]
    else:
        P = kind.sym("P", joints, controls)
        variables, first = P, guess
    T = kind.sym("T")
    B, B1, B2 = (ca.sparsify(ca.DM(np.where(np.abs(x) < TINY, 0.0, x))) for x in problems.basis(controls, at))
    q, qd, qdd = ca.mtimes(P, B.T), ca.mtimes(P, B1.T) / T, ca.mtimes(P, B2.T) / T**2
    if form == "sx":
        tau = ca.horzcat(*[one(q[:, k], qd[:, k], qdd[:, k]) for k in range(len(at))])
    else:
        tau = one.map(len(at))(q, qd, qdd)
    return P, variables, first, T, tau, qd


def primed() -> None:
    """Solve something else: the plug-in for IPOPT is loaded."""
    x = ca.SX.sym("x")
    options = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes"}
    ca.nlpsol("first", "ipopt", {"x": x, "f": x**2, "g": ca.sin(x)}, options)(lbg=0.1, ubg=0.2)


def solve(a: argparse.Namespace) -> dict[str, Any]:
    primed()
    clock = problems.Clock()
    if a.problem == "two_link":
        case = problems.TWO_LINK
        one = torque_function(two_link_torques, 2)
        effort, speed = np.full(2, case["torque"]), None
        reach = np.full(2, np.inf)
        at = problems.grid(a.controls, a.per_span)
    else:
        case = problems.UR5
        arm = Arm(str(problems.urdf(case["urdf"])))
        one = torque_function(arm.torques, arm.model.nv)
        effort, speed, reach = arm.model.effortLimit, arm.model.velocityLimit, arm.model.upperPositionLimit
        at = np.linspace(0.0, 1.0, a.points)
    P, variables, first, T, tau, qd = programme(one, case["start"], case["goal"], at, a.controls, a.ends, a.form)
    rows, bounds = [ca.vec(tau)], [np.tile(effort, len(at))]
    if speed is not None:
        rows.append(ca.vec(qd))
        bounds.append(np.tile(speed, len(at)))
    upper = np.concatenate(bounds)
    lower = -upper
    wide = np.repeat(reach[:, None], first.shape[1], axis=1)
    low, high = -wide, wide.copy()
    if a.ends == "bounds":
        low[:, 0] = high[:, 0] = case["start"]
        low[:, -1] = high[:, -1] = case["goal"]
        rows.append(ca.vertcat(P[:, 1] - P[:, 0], P[:, -1] - P[:, -2]))
        zeros = np.zeros(2 * len(effort))
        lower, upper = np.concatenate([lower, zeros]), np.concatenate([upper, zeros])
    options: dict[str, Any] = {"ipopt.tol": problems.TOLERANCE, "ipopt.print_level": 0, "print_time": False}
    options |= {"ipopt.sb": "yes", "record_time": True}
    if a.mumps:
        options |= {f"ipopt.{key}": value for key, value in MUMPS.items()}
    nlp = {"x": ca.vertcat(ca.vec(variables), T), "f": T, "g": ca.vertcat(*rows)}
    solver = ca.nlpsol("solver", "ipopt", nlp, options)
    build = clock.lap()
    x0 = np.concatenate([first.T.ravel(), [case["guess"]]])
    lbx, ubx = (np.concatenate([x.T.ravel(), [end]]) for x, end in ((low, 1e-3), (high, np.inf)))
    found = solver(x0=x0, lbx=lbx, ubx=ubx, lbg=lower, ubg=upper)
    seconds, cpu = clock.lap(), clock.cpu
    stats = solver.stats()
    inside = sum(value for key, value in stats.items() if key.startswith("t_wall_nlp_"))
    points = ca.Function("P", [nlp["x"]], [P])(found["x"])
    return {
        "peer": "CasADi",
        "version": ca.__version__,
        "problem": a.problem,
        "form": a.form,
        "ends": a.ends,
        "mumps": "same" if a.mumps else "default",
        "controls": a.controls,
        "points": len(at),
        "variables": int(nlp["x"].numel()),
        "rows": int(nlp["g"].numel()),
        "instructions": one.n_instructions(),
        "build": build,
        "solve": seconds,
        "total": build + seconds,
        "cpu": cpu,
        "iterations": stats["iter_count"],
        "functions": inside,
        "per_iteration": inside / max(1, stats["iter_count"]),
        "duration": float(found["f"]),
        "status": stats["return_status"],
        "control_points": np.array(points.full()).T,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", choices=("two_link", "ur5"))
    parser.add_argument("--controls", type=int, default=20)
    parser.add_argument("--per-span", type=int, default=4, help="two_link: grid steps in a span of the knots")
    parser.add_argument("--points", type=int, default=problems.UR5["points"], help="ur5: grid points")
    parser.add_argument("--ends", choices=("gone", "bounds"), default="gone")
    parser.add_argument("--form", choices=("sx", "map"), default="sx")
    parser.add_argument("--mumps", action="store_true")
    problems.answer(**solve(parser.parse_args()))


if __name__ == "__main__":
    main()
