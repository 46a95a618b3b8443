"""Robots of which tests make Functional Mock-up Units, and a few lines that run them."""

import dataclasses

import numpy as np

import neuler

DT = 1e-3


def free_arm():
    robot = neuler.robots.two_link()
    base = neuler.Link(robot.links[0].name, 2.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    return robot.replace(links=[base, *robot.links[1:]]).with_free_base()


def standing_arm():
    """A two-link arm that gravity pulls."""
    return neuler.robots.two_link().with_gravity([0.0, -9.81, 0.0])


def sticking_arm():
    """The same with dry friction that its weight can overcome in the first joint alone."""
    return standing_arm().with_friction("joint1", neuler.Coulomb(1.0)).with_friction("joint2", neuler.Coulomb(5.0))


def between(most, robot=None):
    """An arm whose joints have limits."""
    robot, limits = robot or standing_arm(), neuler.Limits(-most, most)
    joints = [dataclasses.replace(joint, limits=limits) if joint.moves else joint for joint in robot.joints]
    return robot.replace(joints=joints)


ELASTIC = neuler.Motor("m", "joint2", 50, inertia=1e-4, stiffness=100.0)


HOSTILE = ('a"<&>\n', "a'*/ \\??/", "\x00ß.\ud800]]>", "#r1#%s")


def hostile():
    """A chain whose joints and links have such names."""
    links = [neuler.Link("base")]
    joints = []
    for k, name in enumerate(HOSTILE):
        links.append(neuler.Link.from_com(f"{name} {k}", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1)))
        joints.append(
            neuler.Joint(name, "revolute", links[-2].name, links[-1].name, axis=(0, 0, 1), coulomb=0.1 * (k == 0))
        )
    return neuler.Robot('r"<\n*/', links, joints)


def simulated(one, taus, h=DT, time=0.0):
    """q and qd after every communication step."""
    rows = []
    for k, tau in enumerate(taus):
        one.set(tau=tau)
        assert one.step(time + k * h, h) == 0
        rows.append(np.concatenate([one.get("q"), one.get("qd")]))
    return np.array(rows)
