"""Random tasks of other robots: closed loops, springs, a free base, joints that nothing drives."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from scipy.interpolate import make_interp_spline

import neuler
from neuler import Joint, Link, Motor, Robot, plan
from planning_known import SAMPLES, Known, Task, bounds, drawn_objective, sampled, smooth
from planning_torques import Own

Array = np.ndarray
LOOPS = {
    "four_bar": 2.0, "five_bar": 0.4, "slider_crank": 1.5, "delta": 0.1, "orthoglide": 0.08, "planar_3rrr": 0.1,
    "sr400": 0.4, "gough_stewart": 0.1,
}  # fmt: skip
"""How far independent joints or a platform move from the reference (rad or m)."""


def loops(rng: np.random.Generator, seed: int) -> Task:
    """A robot with closed loops, about its reference."""
    name = str(rng.choice(list(LOOPS)))
    robot = neuler.robots.get(name)
    own = list(robot.mobility.choice.independent)
    q0 = np.asarray(robot.neutral(), dtype=float)
    middle, far = q0[own], np.full(len(own), LOOPS[name])
    if name == "gough_stewart":
        far[3:] = 0.0  # a translation alone: velocities in the platform's axes are those in the base's
    start, goal = middle + far * rng.uniform(-1.0, 1.0, (2, len(own)))
    curve = sampled(smooth(rng, start, goal, 0.2 * far), float(rng.uniform(0.5, 1.5)), (0.0, 1.0))
    given = curve.q
    if name == "gough_stewart":
        given = np.column_stack([curve.q[:, :3], np.tile(q0[3:7], (len(curve.q), 1))])
    lead = np.linspace(middle, curve.q[0], 50) if name != "gough_stewart" else None
    q = _closed(robot, given, lead)
    known = Known(curve.t, q, curve.qd, curve.qdd, curve.phase)
    referee = Own(robot)
    own_bounds = bounds(known, referee)
    ends = [given[k] for k in (0, -1)]
    return Task(
        seed, "loops", robot, referee, known, own_bounds, plan.Boundary(q=ends[0]), [plan.Boundary(q=ends[1])],
        objective=drawn_objective(rng), label=name,
    )  # fmt: skip


def _closed(robot: Robot, own: Array, lead: Array | None) -> Array:
    """Positions of all joints along a path of the independent ones; ``lead`` comes to its start from the reference."""
    path = own if lead is None else np.concatenate([lead, own])
    found = np.asarray(robot.assemble(path, continuous=True).q)[len(path) - len(own) :]
    if not np.isfinite(found).all():
        raise ValueError(f"loops of {robot.name} cannot be closed along this motion")
    return found


# ---- springs, free bases, passive joints -------------------------------------------------


def elastic(rng: np.random.Generator, seed: int) -> Task:
    """Two links behind springs, from rest to rest; where the motors are follows from what the springs give."""
    stiff = rng.uniform(50.0, 200.0, 2)
    motors = [
        Motor(
            f"motor{k + 1}", f"joint{k + 1}", 50, inertia=2e-5, stiffness=float(stiff[k]), viscous=1e-5, coupled=False
        )
        for k in range(2)
    ]
    rigid = neuler.robots.two_link()
    robot = rigid.replace(motors=motors)
    start, goal = rng.uniform(-1.5, 1.5, (2, 2))
    T = float(rng.uniform(0.6, 1.2))
    link = sampled(smooth(rng, start, goal, np.full(2, 0.2), rest=6), T, (0.0, 1.0))
    load = np.asarray(rigid.inverse_dynamics(link.q, link.qd, link.qdd))
    load[:, 0] += 2e-5 * link.qdd[:, 0]  # the second rotor turns with the link that carries it
    theta = make_interp_spline(link.t, link.q + load / stiff, k=7)
    q, qd, qdd = (np.column_stack([x, theta.derivative(k)(link.t)]) for k, x in enumerate((link.q, link.qd, link.qdd)))
    known = Known(link.t, q, qd, qdd, link.phase)
    referee = Own(robot, driven=[2, 3], still=[0, 1])
    found = bounds(known, referee)
    found = {"torque": found["torque"], "velocity": tuple(x[:2] for x in found["velocity"])}  # type: ignore[dict-item]
    begin, end = plan.Boundary(q=q[0]), plan.Boundary(q=q[-1])
    return Task(
        seed, "elastic", robot, referee, known, found, begin, [end], objective=drawn_objective(rng, "time", "effort"),
        label="two links on springs",
    )  # fmt: skip


@functools.cache
def craft() -> Robot:
    """A body with two joints that nothing holds, without gravity."""
    links = [
        Link.from_com("craft", mass=5.0, com=(0.02, 0.0, 0.01), inertia=(0.3, 0.35, 0.4)),
        Link.from_com("arm", mass=1.0, com=(0.25, 0.0, 0.02), inertia=(0.01, 0.05, 0.05)),
        Link.from_com("hand", mass=0.5, com=(0.15, 0.0, 0.0), inertia=(0.005, 0.01, 0.01)),
    ]
    joints = [
        Joint("hinge", "revolute", "craft", "arm", neuler.Transform(translation=(0.2, 0.1, 0.0)), (0.0, 0.6, 0.8)),
        Joint("wrist", "revolute", "arm", "hand", neuler.Transform(translation=(0.5, 0.0, 0.0)), (0.0, 0.0, 1.0)),
    ]
    return Robot("craft", links, joints, gravity=(0.0, 0.0, 0.0)).with_free_base()


def free_base(rng: np.random.Generator, seed: int) -> Task:
    """A free base moves as the arm on it makes it: momentum stays zero."""
    robot, n = craft(), 6
    start, goal = rng.uniform(-0.8, 0.8, (2, 2))
    curve = sampled(smooth(rng, start, goal, np.full(2, 0.1)), float(rng.uniform(0.6, 1.5)), (0.0, 1.0))
    q = [np.concatenate([np.asarray(robot.neutral(), dtype=float)[:7], start])]

    def base(at: Array, rates: Array) -> Array:
        M = np.asarray(robot.mass_matrix(at))
        return np.concatenate([-np.linalg.solve(M[:n, :n], M[:n, n:] @ rates), rates])

    qd = []
    for k in range(len(curve.t)):  # Heun's method on the configuration manifold; the joints' own positions are given
        q[k][7:] = curve.q[k]
        qd.append(base(q[k], curve.qd[k]))
        if k + 1 < len(curve.t):
            step = curve.t[k + 1] - curve.t[k]
            ahead = np.asarray(robot.integrate(q[k], qd[k], step))
            ahead[7:] = curve.q[k + 1]
            q.append(np.asarray(robot.integrate(q[k], 0.5 * (qd[k] + base(ahead, curve.qd[k + 1])), step)))
    states, rates = np.array(q), np.array(qd)
    M, h = np.asarray(robot.mass_matrix(states)), np.asarray(robot.bias_force(states, rates))
    follow = -np.linalg.solve(M[:, :n, :n], (M[:, :n, n:] @ curve.qdd[..., None])[..., 0][..., None] + h[:, :n, None])
    known = Known(curve.t, states, rates, np.column_stack([follow[..., 0], curve.qdd]), curve.phase)
    referee = Own(robot, driven=[6, 7], still=list(range(6)))
    torque = bounds(known, referee)["torque"]
    begin = plan.Boundary(q=states[0])
    end = plan.Boundary(q={"hinge": goal[0], "wrist": goal[1]}, qd={"hinge": 0.0, "wrist": 0.0})
    return Task(
        seed, "free base", robot, referee, known, {"torque": torque}, begin, [end], objective="effort", label="craft"
    )  # fmt: skip


@functools.cache
def passive_robot(name: str) -> Robot:
    """Two joints under gravity, one of which nothing drives."""
    if name == "cart_pole":
        links = [
            Link("base"),
            Link.from_com("cart", mass=1.0, inertia=(0.0, 0.0, 0.0)),
            Link.from_com("pole", mass=0.3, com=(0.0, -0.5, 0.0), inertia=(0.0, 0.0, 0.0)),
        ]
        joints = [
            Joint("rail", "prismatic", "base", "cart", axis=(1, 0, 0)),
            Joint("hinge", "revolute", "cart", "pole", axis=(0, 0, 1), role="passive"),
        ]
        return Robot(name, links, joints, gravity=(0.0, -9.81, 0.0))
    arm = neuler.robots.two_link().with_gravity((9.81, 0.0, 0.0))  # hangs along x at zero
    free = {"pendubot": "joint2", "acrobot": "joint1"}[name]
    return arm.replace(
        name=name, joints=[dataclasses.replace(j, role="passive") if j.name == free else j for j in arm.joints]
    )


def passive(rng: np.random.Generator, seed: int) -> Task:
    """From rest, hanging, to the state in which smooth forces have brought it after a time."""
    name = str(rng.choice(["cart_pole", "pendubot", "acrobot"]))
    robot = passive_robot(name)
    driven = [k for k, joint in enumerate(robot.moving_joints) if joint.role == "driven"]
    still = [k for k in range(2) if k not in driven]
    T, size = float(rng.uniform(0.8, 1.6)), float(rng.uniform(1.0, 4.0))
    waves = rng.uniform(-1.0, 1.0, 3)
    t = np.linspace(0.0, T, SAMPLES)

    def force(at: float) -> Array:
        s = at / T
        tau = np.zeros(2)
        tau[driven] = size * sum(w * np.sin((k + 1) * np.pi * s) for k, w in enumerate(waves))
        return tau

    def slope(at: float, x: Array) -> Array:
        return np.concatenate([x[2:], np.asarray(robot.forward_dynamics(x[:2], x[2:], force(at)))])

    x = np.zeros((len(t), 4))
    for k, (at, step) in enumerate(zip(t[:-1], np.diff(t), strict=True)):
        k1 = slope(at, x[k])
        k2 = slope(at + step / 2, x[k] + step / 2 * k1)
        k3 = slope(at + step / 2, x[k] + step / 2 * k2)
        k4 = slope(at + step, x[k] + step * k3)
        x[k + 1] = x[k] + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    qdd = np.array([slope(at, each)[2:] for at, each in zip(t, x, strict=True)])
    known = Known(t, x[:, :2], x[:, 2:], qdd, np.zeros(len(t), dtype=int))
    referee = Own(robot, driven=driven, still=still)
    found = {"torque": bounds(known, referee)["torque"]}
    begin, end = plan.Boundary(q=x[0, :2]), plan.Boundary(q=x[-1, :2], qd=x[-1, 2:])
    return Task(
        seed, "passive", robot, referee, known, found, begin, [end], objective="effort", label=name
    )  # fmt: skip
