"""A free-floating satellite's arm reaches a pose with the satellite's attitude unchanged at the end.

    python examples/plan_space.py         # prints what came out, writes plan_space.png and plan_space.html

Nothing pushes the satellite: it moves as the arm's motion makes it, momentum being conserved. Its attitude at the end
depends on the way of the arm, not on the arm's last position alone, so that a way can be found after which the
satellite looks where it did. The plan is put to the test by a simulation in which the arm's motors alone push; beside
it the straight way of the arm to the same position of its joints, after which the satellite looks elsewhere.
"""

from __future__ import annotations

import numpy as np

import neuler
from neuler import Joint, Limits, Link, Robot, Transform, plan

BODY, UPPER, FORE, HAND = "satellite", "upper", "fore", "hand"
BASE = "root_joint"
TARGET = np.array([1.35, 0.95, 0.3])
"""Where the tool is to be, m, in the frame of the first position of the satellite."""
DURATION = 20.0
"""s."""
DRIVE = Limits(-3.1, 3.1, 2.0, 25.0)


def robot() -> Robot:
    """A cube of 150 kg with an arm of three links and four joints, in space."""
    links = [
        Link.from_com(BODY, mass=150.0, inertia=(25.0, 25.0, 25.0)),
        Link.from_com("shoulder", mass=3.0, com=(0.0, 0.0, 0.05), inertia=(0.01, 0.01, 0.01)),
        Link.from_com(UPPER, mass=12.0, com=(0.45, 0.0, 0.0), inertia=(0.05, 0.9, 0.9)),
        Link.from_com(FORE, mass=9.0, com=(0.4, 0.0, 0.0), inertia=(0.04, 0.5, 0.5)),
        Link.from_com(HAND, mass=6.0, com=(0.15, 0.0, 0.0), inertia=(0.03, 0.06, 0.06)),
    ]
    joints = [
        Joint("yaw", "revolute", BODY, "shoulder", Transform.from_rpy((0.5, 0.0, 0.0)), axis=(0, 0, 1), limits=DRIVE),
        Joint("lift", "revolute", "shoulder", UPPER, Transform.from_rpy((0.0, 0.0, 0.1)), axis=(0, 1, 0), limits=DRIVE),
        Joint("elbow", "revolute", UPPER, FORE, Transform.from_rpy((0.9, 0.0, 0.0)), axis=(0, 1, 0), limits=DRIVE),
        Joint("wrist", "revolute", FORE, HAND, Transform.from_rpy((0.8, 0.0, 0.0)), axis=(0, 0, 1), limits=DRIVE),
    ]
    arm = Robot("space robot", links, joints).with_gravity((0.0, 0.0, 0.0))
    return arm.with_frame("tool", HAND, Transform.from_rpy((0.3, 0.0, 0.0))).with_free_base(BASE)


def start(machine: Robot) -> np.ndarray:
    """The satellite at the origin, the arm bent."""
    return np.concatenate([machine.neutral()[:7], [-0.5, -0.6, 1.4, 0.2]])


def planned(machine: Robot, mesh: tuple[int, ...] = (24, 40, 64)) -> plan.Planned:
    """The tool at its target, the satellite as it was turned, all at rest; jerks of all joints least.

    That nothing pushes the satellite is asked for at as many points as there are control points: between them smooth
    profiles keep it the better the more there are, and the higher their degree.
    """
    attitude = {f"{BASE}_{axis}": 0.0 for axis in ("wx", "wy", "wz")}
    return plan.Plan(
        machine,
        plan.jerk_effort(),
        start=start(machine),
        goal=plan.Boundary(q=attitude, poses={"tool": TARGET}),
        duration=DURATION,
        degree=7,
        control_points=mesh[-1],
    ).solve(mesh=mesh)


def turned(q: np.ndarray) -> float:
    """Angle (rad) by which the satellite is turned from its first attitude."""
    return float(2.0 * np.arctan2(np.linalg.norm(q[3:6]), abs(q[6])))


def straight(machine: Robot, found: plan.Planned) -> neuler.simulation.Run:
    """The arm led to the same position of its joints straight, by a quintic, the satellite left to itself."""
    first, last = found.at(0.0).q, found.at(found.duration).q
    goal = neuler.control.quintic(first[7:], last[7:], found.duration)

    def wanted(t):
        here = goal(t)
        rest = np.zeros(6)
        return np.concatenate([first[:7], here[:4], rest, here[4:8], rest, here[8:]])

    law = neuler.control.ComputedTorque(machine, kp=400.0, reference=wanted)
    step = found.duration / 2000
    return neuler.simulate(machine, law, (first, None), 2000 * step, step=step)


def main() -> None:
    """Words, pictures, page."""
    machine = robot()
    found = planned(machine)
    print(found)
    run = found.replay()
    end = run.q[-1]
    tool = np.asarray(machine.compile("link_poses", frame="tool")(end))[:3, 3]
    momentum = np.abs(np.asarray(machine.momentum(run.q, run.qd))).max()
    print(
        f"replay: tool {np.linalg.norm(tool - TARGET):.1e} m from its target, satellite turned by {turned(end):.1e} rad"
    )
    print(f"        largest momentum on the way {momentum:.1e} (kg m/s, kg m^2/s)")
    turns = max(turned(q) for q in run.q)
    print(f"        on the way it turned by up to {turns:.3f} rad; after the straight way it is turned by ", end="")
    print(f"{turned(straight(machine, found).q[-1]):.3f} rad")
    found.plot().savefig("plan_space.png")
    found.page("plan_space.html", title="A space robot reaches with its attitude unchanged")
    print("written: plan_space.png, plan_space.html")


if __name__ == "__main__":
    main()
