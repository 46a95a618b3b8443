"""Robots of every structure, and the states to look at them: trees, loops, parallel robots, couplings, kinds,
motors."""

import dataclasses
import functools
import warnings

import numpy as np

import neuler
from kind_robots import kind_robot
from motor_robots import motor_robot
from neuler import Coupling, Joint, Link, Polynomial, Robot, Spline, Transform
from random_robots import random_link, random_transform


def geared(seed=3):
    """Four joints that move by themselves, and four that follow: a gear, two joints at once, a curve, a chain."""
    rng = np.random.default_rng(seed)
    kinds = ["revolute", "prismatic", "revolute", "revolute", "revolute", "prismatic", "revolute", "revolute"]
    parents = [0, 1, 2, 1, 4, 5, 3, 7]
    links = [random_link(rng, "base"), *(random_link(rng, f"link{k}") for k in range(1, 9))]
    joints = []
    for k, (kind, parent) in enumerate(zip(kinds, parents, strict=True), start=1):
        axis = rng.normal(size=3)
        drive = {"viscous": rng.uniform(0, 1), "rotor_inertia": rng.uniform(0, 0.3)}
        joints.append(Joint(f"joint{k}", kind, links[parent].name, f"link{k}", random_transform(rng), axis, **drive))
    couplings = [
        Coupling("joint8", "joint6", -1.5),  # a chain: joint6 follows itself
        Coupling("joint3", ("joint1", "joint2"), (0.5, -2.0), 0.1),
        Coupling("joint6", "joint5", function=Spline((-2, -1, 0, 0.7, 2), (0.1, 0.3, 0.0, -0.2, 0.4), degree=5)),
        Coupling("joint7", "joint4", 0.8, function=Polynomial((0.1, 0.5, -0.3, 0.1))),
    ]
    return Robot("geared", links, joints, 9.81 * np.array([0.6, 0, -0.8]), couplings=couplings).with_frame(
        "tool", "link8", random_transform(rng)
    )


def geared_loop():
    """A five-bar whose second motor drives its arm through a gear, on a base that slides by the same motor."""
    five = neuler.robots.five_bar()
    links = [Link("floor"), Link.from_com("sled", mass=3.0, inertia=(0.1, 0.1, 0.1)), *five.links]
    joints = [
        Joint("slide", "prismatic", "floor", "sled", axis=(1, 0, 0), viscous=0.3),
        Joint("mount", "fixed", "sled", five.links[0].name, Transform.from_rpy((0.1, 0.2, 0.0), (0, 0, 0.3))),
        *five.joints,
    ]
    return Robot(
        "geared_loop", links, joints, five.gravity, five.frames, loops=five.loops,
        couplings=[Coupling("right_arm", "slide", 2.0, 0.9)], reference=(0.0, *[2.2143, -1.5708, 1.5708]),
    )  # fmt: skip


def loose_chain():
    """A four-bar with a pendulum on its coupler that no motor drives, on a free base."""
    four = neuler.robots.four_bar()
    links = [*four.links, Link.from_com("bob", mass=0.7, com=(0.2, 0.1, 0.05), inertia=(0.02, 0.03, 0.025))]
    joints = [*four.joints, Joint("swing", "revolute", "coupler", "bob", axis=(0.3, 0.5, 0.8), role="passive")]
    robot = four.replace(
        name="loose_chain", links=links, joints=joints, reference=(*four.reference[:2], 0.3, four.reference[2])
    )
    ground = robot.links[0]
    heavy = Link.from_com(ground.name, mass=5.0, com=(0.1, 0, 0), inertia=(0.3, 0.4, 0.5))
    return robot.replace(links=[heavy, *robot.links[1:]]).with_free_base()


FINGERS = """<robot name="gripper"><link name="base"/>{links}
  <joint name="wrist" type="continuous"><parent link="base"/><child link="palm"/><origin xyz="0 0 0.1"/>
    <axis xyz="0 0 1"/><dynamics damping="0.2"/></joint>
  <joint name="left" type="prismatic"><parent link="palm"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.1" velocity="1" effort="20"/><dynamics damping="0.5"/></joint>
  <joint name="right" type="prismatic"><parent link="palm"/><child link="right"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.1" velocity="1" effort="20"/><mimic joint="left"/></joint>
  <joint name="tip" type="revolute"><parent link="right"/><child link="tip"/><origin xyz="0.05 0 0.1" rpy="0.3 0 0.2"/>
    <axis xyz="1 0 0"/><limit lower="-2" upper="2" velocity="1" effort="20"/>
    <mimic joint="right" multiplier="-8" offset="0.2"/></joint></robot>"""


def gripper():
    """A URDF whose joints mimic others, one of them another follower."""
    rng = np.random.default_rng(2)
    links = ""
    for name in ("palm", "left", "right", "tip"):
        body = random_link(rng, name)
        xx, yy, zz, xy, xz, yz = (
            body.inertia_about_com[i, k] for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        )
        links += (
            f'<link name="{name}"><inertial><origin xyz="{body.com[0]} {body.com[1]} {body.com[2]}"/>'
            f'<mass value="{body.mass}"/><inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="{xz}" iyz="{yz}"/>'
            "</inertial></link>"
        )
    return neuler.load(FINGERS.format(links=links))


def motors(seed):
    """Rigid and elastic drives on any link, two of which share their joints; friction on the rotors."""
    robot = motor_robot(seed)
    return robot.replace(motors=[dataclasses.replace(motor, viscous=2e-4) for motor in robot.motors])


def geared_crank():
    """A four-bar whose motor sits on the coupler and drives the crank."""
    four = neuler.robots.four_bar()
    motor = neuler.Motor(
        "m", "crank", 30.0, "coupler", (0.3, 0.5, 0.8), (1e-3, 1e-3, 2e-3), 0.5, (0.1, 0.05, 0.02), viscous=2e-4,
    )  # fmt: skip
    return four.replace(name="geared_crank", motors=[motor])


MADE = {
    "gripper": gripper,
    "four_bar": neuler.robots.four_bar,
    "five_bar": neuler.robots.five_bar,
    "slider_crank": neuler.robots.slider_crank,
    "sr400": neuler.robots.sr400,
    "gough_stewart": neuler.robots.gough_stewart,
    "delta": neuler.robots.delta,
    "planar_3rrr": neuler.robots.planar_3rrr,
    "delta_by_motors": lambda: neuler.robots.delta().replace(independent=None),
    "geared": geared,
    "geared_loop": geared_loop,
    "loose_chain": loose_chain,
    "kinds": lambda: kind_robot(0),
    "puma560": neuler.robots.puma560,
    "motors": lambda: motors(1),
    "free_motors": lambda: motors(3).with_free_base(),
    "geared_crank": geared_crank,
}


@functools.cache
def made(name):
    robot = MADE[name]()
    smooth = [dataclasses.replace(j, coulomb=0.0, coulomb_reverse=None) for j in robot.joints]
    robot = robot.replace(joints=smooth)  # what jumps has no derivative
    joints = robot.moving_joints
    drives = [j for j in robot.joints if j.name == joints[-1].name and j.type.has_axis]
    if robot.loops and drives:  # friction and a spring inside a loop count too
        (last,) = drives
        changed = dataclasses.replace(last, viscous=0.2, stiffness=1.5, rest=0.1, rotor_inertia=0.01, role=last.role)
        robot = robot.replace(joints=[changed if j.name == last.name else j for j in robot.joints])
    return robot


@functools.cache
def states(name, count=6):
    """q (closed), qd, qdd."""
    robot = made(name)
    rng = np.random.default_rng(11)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q = robot.random_configuration(rng, count)
    return q, rng.uniform(-1, 1, (count, robot.nv)), rng.uniform(-2, 2, (count, robot.nv))


def path(robot, q, qd, qdd, qddd=None, pieces=16):
    """q(t), qd(t), qdd(t) of a motion that has these at t = 0."""
    jerk = np.zeros_like(qd) if qddd is None else qddd

    def at(t):
        here = q
        for k in range(pieces):
            middle = (k + 0.5) * t / pieces
            here = robot.integrate(here, qd + middle * qdd + middle**2 / 2 * jerk, t / pieces)
        return here, qd + t * qdd + t * t / 2 * jerk, qdd + t * jerk

    return at
