"""A Panda between two poses of its hand in least time, within its limits of position, velocity, torque and torque rate.

    python examples/plan_panda.py         # prints what came out, writes plan_panda.png, .html and .json

Franka's controller refuses torques that change faster than 1000 N m/s; no other planner keeps that. The URDF file is
that of the package example-robot-data, with the fingers held. The goal is a pose of the hand: which of the arm's
positions reaches it is found with the motion. With --payload the hand carries so many kg.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
from pathlib import Path

import numpy as np

import neuler
from neuler import Robot, plan

FILE = "cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf"
READY = np.array([0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4])
RATE = 1000.0
"""N m/s."""
SMOOTH = 1e-8
"""Weight of squared torque rates: joints that need not hurry move without haste."""


def arm(payload: float = 0.0) -> Robot:
    """The arm with its fingers held."""
    package = importlib.metadata.distribution("example-robot-data")
    robot = neuler.load(Path(str(package.locate_file(FILE))), mimic="couple")
    joints = [dataclasses.replace(joint, kind="fixed") if "finger" in joint.name else joint for joint in robot.joints]
    robot = robot.replace(joints=joints, couplings=())
    return robot.with_payload("panda_hand_tcp", payload) if payload else robot


def goal_pose() -> np.ndarray:
    """Of the hand: to the side, low, turned by a quarter about the vertical, fingers down."""
    pose = np.eye(4)
    pose[:3, :3] = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]
    pose[:3, 3] = 0.35, 0.45, 0.25
    return pose


def planned(robot: Robot, control_points: int = 20) -> plan.Planned:
    """From the ready position to the pose."""
    return plan.Plan(
        robot,
        plan.duration() + SMOOTH * plan.torque_rate_effort(),
        start=READY,
        goal=plan.Boundary(poses={"panda_hand_tcp": goal_pose()}),
        limits=[plan.within(plan.torque_rate, RATE)],
        control_points=control_points,
    ).solve()


def main() -> None:
    """Words, picture, page, trajectory."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--payload", type=float, default=0.0, help="kg in the hand (0)")
    robot = arm(arguments.parse_args().payload)
    found = planned(robot)
    print(found)
    pose = np.asarray(robot.compile("link_poses", frame="panda_hand_tcp")(found.at(found.duration).q))
    print(f"the hand misses its pose by {np.abs(pose - goal_pose()).max():.1e}")
    t = np.linspace(0.0, found.duration, 2001)
    effort = np.array([joint.limits.effort for joint in robot.moving_joints])
    speed = np.array([joint.limits.velocity for joint in robot.moving_joints])
    shares = {
        "torque": np.abs(found.torques(t)) / effort,
        "torque rate": np.abs(found.torque_rates(t)) / RATE,
        "velocity": np.abs(found.at(t).qd) / speed,
    }
    for name, share in shares.items():
        print(f"{name:>12}, largest share of its limit: " + "  ".join(f"{x:.3f}" for x in share.max(axis=0)))
    replay = found.replay(audit=False)
    print(f"without feedback the forces end {np.abs(replay.error[-1]).max():.1e} rad from the goal")
    found.plot().savefig("plan_panda.png")
    found.page("plan_panda.html", title="Panda, least time between poses")
    found.save("plan_panda.json", step=1e-3)
    print("written: plan_panda.png, plan_panda.html, plan_panda.json")


if __name__ == "__main__":
    main()
