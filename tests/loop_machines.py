"""Mechanisms to test with: random loops of every kind of cut joint, spatial ones that are known, and their motions."""

import dataclasses
import functools
import math

import numpy as np

from neuler import Coupling, Frame, Joint, Link, Loop, Mechanism, Robot, Transform, robots
from neuler.recipes.mobility import Numbers
from neuler.recipes.setup import fused_tree
from neuler.recursions import frames
from random_robots import random_link, random_transform

PLANAR = ("four_bar", "five_bar", "slider_crank")
BUILT_IN = (*PLANAR, "sr400")
KINDS = {
    "fixed": 6, "revolute": 5, "prismatic": 5, "cylindrical": 4, "universal": 4, "spherical": 3, "planar": 3,
    "point_on_line": 2, "point_on_plane": 1,
}  # fmt: skip
"""How many constraints each cut joint sets, by its definition."""


def turn(axis, angle):
    """A rotation matrix about x, y or z (0, 1, 2)."""
    c, s = math.cos(angle), math.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    found = np.eye(3)
    found[i, i], found[i, j], found[j, i], found[j, j] = c, -s, s, c
    return found


def allowed(kind, rng):
    """A place of the second frame in the first that a cut joint allows, from the words of its definition."""
    x, y, z = rng.uniform(-0.3, 0.3, 3)
    a, b, c = rng.uniform(-1.0, 1.0, 3)
    none, any_turn = np.eye(3), turn(2, a) @ turn(1, b) @ turn(0, c)
    rotation, shift = {
        "fixed": (none, (0, 0, 0)),
        "revolute": (turn(2, a), (0, 0, 0)),
        "prismatic": (none, (0, 0, z)),
        "cylindrical": (turn(2, a), (0, 0, z)),
        "universal": (turn(0, a) @ turn(1, b), (0, 0, 0)),
        "spherical": (any_turn, (0, 0, 0)),
        "planar": (turn(2, a), (x, y, 0)),
        "point_on_line": (any_turn, (0, 0, z)),
        "point_on_plane": (any_turn, (x, y, 0)),
    }[kind]
    return Transform(translation=shift, rotation=rotation)


@functools.cache
def random_loop(kind, seed, trunk="none"):
    """Two branches of four random joints each, cut by a joint of this kind that is closed at the reference.

    ``trunk``: the branches grow from the base ("none"), behind a hinge that both share ("hinge"), from a free base
    ("floating"), or the second one's first link is free ("free"). As many joints are driven as there are freedoms.
    """
    rng = np.random.default_rng([seed, *map(ord, kind + trunk)])
    links, joints, root = [random_link(rng, "ground")], [], "ground"
    if trunk in ("hinge", "floating"):
        links.append(random_link(rng, "trunk"))
        how = {"axis": (1.0, -0.5, 0.7)} if trunk == "hinge" else {}
        joints.append(Joint("root", "free" if trunk == "floating" else "revolute", "ground", "trunk", **how))
        root = "trunk"
    for side in ("a", "b"):
        parent = root
        for k in range(4):
            child = f"{side}{k}"
            links.append(random_link(rng, child))
            if trunk == "free" and side == "b" and k == 0:
                joints.append(Joint("float", "free", "ground", child, random_transform(rng)))
            else:
                sort = "prismatic" if k == 2 else "revolute"
                axis = rng.normal(size=3)
                placement = Transform.from_rpy(rng.uniform(-0.4, 0.4, 3), rng.uniform(-2, 2, 3))
                joints.append(Joint(child, sort, parent, child, placement, tuple(axis)))
            parent = child
    tree = Robot(f"{kind}{seed}{trunk}", links, joints, gravity=9.81 * _unit(rng))
    reference = tree.random_configuration(rng)
    (r1, p1), (r2, p2) = frames.poses(fused_tree(tree), reference.tolist(), ("a3", "b3"))
    first = random_transform(rng)
    end = Transform(translation=p1, rotation=_nearest(r1)) @ first @ allowed(kind, rng)
    second = (Transform(translation=p2, rotation=_nearest(r2)).inverse() @ end).matrix
    tree = tree.with_frame("first", "a3", first)
    tree = tree.with_frame("second", "b3", Transform(translation=second[:3, 3], rotation=_nearest(second[:3, :3])))
    return driven(Mechanism(tree.name, tree, [Loop("cut", kind, "first", "second")], reference=reference))


def driven(machine):
    """The same with as many driven joints as it has freedoms, if joints that can be driven decide them."""
    names = machine.mobility.independent
    if not names:
        return machine
    return machine.replace(tree=machine.tree.with_passive(*(set(machine.active_names) - set(names))))


def _unit(rng):
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def _nearest(rotation):
    u, _, v = np.linalg.svd(np.array(rotation))
    return u @ v


def rod_like(name, mass, length):
    """A body with full inertia along x."""
    return Link.from_com(
        name, mass=mass, com=(0.45 * length, 0.03, -0.02), inertia=(0.02, 0.05, 0.06, 0.003, -0.002, 0.004)
    )


def rssr():
    """A spatial four-bar: crank and rocker on crossed axes, a coupler with a universal joint and a ball at its ends.

    The crank turns about z, the rocker, 0.6 m away, about y. One freedom; three equations, none redundant.
    """
    links = [Link("ground"), rod_like("crank", 1.0, 0.1), Link("cross"), rod_like("coupler", 0.8, 0.55)]
    links += [rod_like("rocker", 1.5, 0.4)]
    joints = [
        Joint("crank", "revolute", "ground", "crank"),
        Joint("swing", "revolute", "crank", "cross", Transform(translation=(0.1, 0, 0)), role="passive"),
        Joint("dip", "revolute", "cross", "coupler", axis=(0, 1, 0), role="passive"),
        Joint("rocker", "revolute", "ground", "rocker", Transform(translation=(0.6, 0.05, 0)), (0, -1, 0),
              role="passive"),
    ]  # fmt: skip
    ends = [Frame("ball", "coupler", Transform(translation=(0.6, 0, 0)))]
    ends += [Frame("socket", "rocker", Transform(translation=(0.4, 0, 0)))]
    tree = Robot("rssr", links, joints, frames=ends)
    return Mechanism("rssr", tree, [Loop("cut", "spherical", "ball", "socket")], reference=(0.3, -0.3, -0.6, 1.8))


def hinged():
    """A spatial loop of seven hinges, six in the tree and the last one cut: five equations, one freedom."""
    rng = np.random.default_rng(7)
    links, joints = [Link("ground")], []
    for side in ("left", "right"):
        parent = "ground"
        for k in range(3):
            child = f"{side}{k}"
            links.append(rod_like(child, 1.0 + 0.3 * k, 0.3))
            placement = Transform.from_rpy((0.3, 0.1 * k, 0.05), rng.uniform(-1.5, 1.5, 3))
            joints.append(Joint(child, "revolute", parent, child, placement, tuple(rng.normal(size=3)), role="passive"))
            parent = child
    joints[0] = dataclasses.replace(joints[0], role="driven")
    tree = Robot("hinged", links, joints)
    reference = (0.3, -0.5, 0.8, 0.2, 0.6, -0.4)
    poses = tree.link_poses(np.array(reference))
    first = Transform.from_rpy((0.25, 0.0, 0.1), (0.4, -0.3, 0.2))
    second = np.linalg.inv(poses[6]) @ poses[3] @ first.matrix @ Transform(rotation=turn(2, 0.7)).matrix
    tree = tree.with_frame("first", "left2", first)
    tree = tree.with_frame("second", "right2", Transform(translation=second[:3, 3], rotation=_nearest(second[:3, :3])))
    return Mechanism("hinged", tree, [Loop("cut", "revolute", "first", "second")], reference=reference)


BENNETT = (0.4, 0.6, 1.1)
"""Of a Bennett loop: the length of its first link, the twists of both."""


def bennett_ratio():
    """tan(theta1/2) tan(theta2/2) of a Bennett loop."""
    _, alpha, beta = BENNETT
    return math.sin((beta + alpha) / 2) / math.sin((beta - alpha) / 2)


def bennett():
    """Four hinges in space that move although six equations hold them: lengths are as the sines of the twists."""
    length, alpha, beta = BENNETT
    one = Transform(translation=(length, 0, 0), rotation=turn(0, alpha))
    two = Transform(translation=(length * math.sin(beta) / math.sin(alpha), 0, 0), rotation=turn(0, beta))
    links = [Link("ground"), *(rod_like(f"link{k}", 1.0, 0.3) for k in (1, 2, 3))]
    joints = [
        Joint("hinge1", "revolute", "ground", "link1"),
        Joint("hinge2", "revolute", "link1", "link2", one, role="passive"),
        Joint("hinge3", "revolute", "link2", "link3", two, role="passive"),
    ]
    tree = Robot("bennett", links, joints, frames=[Frame("end", "link3", one), Frame("seat", "ground", two.inverse())])
    reference = (1.0, 2 * math.atan(bennett_ratio() / math.tan(0.5)), 2 * math.pi - 1.0)
    return Mechanism("bennett", tree, [Loop("cut", "revolute", "end", "seat")], reference=reference)


def lossy_four_bar():
    """The four-bar with a spring and dry friction on its rocker, viscous friction on its coupler, a rotor."""
    machine = robots.four_bar()
    more = {
        "crank": {"rotor_inertia": 0.02, "viscous": 0.1},
        "coupler": {"viscous": 0.3},
        "rocker": {"coulomb": 0.5, "coulomb_reverse": 0.2, "stiffness": 8.0, "rest": 2.0, "role": "elastic"},
    }
    joints = [dataclasses.replace(joint, **more[joint.name]) for joint in machine.tree.joints]
    return machine.replace(tree=machine.tree.replace(joints=joints))


def mirrored():
    """The five-bar with its arms geared together: right = pi - left. One freedom."""
    machine = robots.five_bar()
    tree = machine.tree.with_passive("right_arm")
    return machine.replace(name="mirrored", tree=tree, couplings=[Coupling("right_arm", "left_arm", -1.0, math.pi)])


def two_loops():
    """The four-bar with an arm on its coupler whose tip slides along a slot in the ground. One freedom."""
    machine = robots.four_bar()
    tree, slot = machine.tree, Transform.from_rpy((0.1, 0.75, 0.0), (0.0, math.pi / 2, 0.3))  # z of it along the slot
    arm = Joint("arm", "revolute", "coupler", "arm", Transform(translation=(0.2, 0.15, 0)), role="passive")
    tree = tree.replace(links=(*tree.links, rod_like("arm", 0.9, 0.4)), joints=(*tree.joints, arm))
    tree = tree.with_frame("slider", "arm", Transform(translation=(0.4, 0, 0))).with_frame("slot", "ground", slot)
    loops = (Loop("slot", "point_on_line", "slot", "slider"), *machine.loops)
    where = dict(zip(machine.joint_names, machine.reference, strict=True)) | {"arm": 1.0}
    return Mechanism("two_loops", tree, loops, reference=[where[name] for name in tree.joint_names])


MACHINES = {
    **{name: getattr(robots, name) for name in BUILT_IN},
    "rssr": rssr, "hinged": hinged, "bennett": bennett, "lossy_four_bar": lossy_four_bar, "mirrored": mirrored,
    "two_loops": two_loops,
    "random_spherical": lambda: random_loop("spherical", 1),
    "random_hinge": lambda: random_loop("revolute", 2, "hinge"),
}  # fmt: skip
"""What the dynamics are tested on."""


@functools.cache
def machine_of(name):
    return MACHINES[name]()


# ---- states ------------------------------------------------------------------------------------------------


def closed_positions(machine, count, seed=0, reach=0.5):
    """Positions with closed loops, some way from the reference, found by least squares over all joints (no verb)."""
    numbers = Numbers(machine)
    rng = np.random.default_rng(seed)
    start, found = np.array(machine.mobility.reference), []
    for _ in range(20 * count):
        guess = numbers.moved(start, reach * rng.uniform(-1, 1, machine.tree.nv))
        q, gap = numbers.close(guess)
        if gap < 1e-13 and numbers.upright(q):
            found.append(q)
        if len(found) == count:
            return np.array(found)
    raise AssertionError(f"{machine.name}: too few closed positions")


def states(machine, count, seed=0, reach=0.4, margin=0.05):
    """Closed positions that are not nearly singular, velocities and accelerations of the independent joints."""
    rng = np.random.default_rng(seed)
    m = len(machine.mobility.independent)
    q = np.zeros((0, machine.tree.nq))
    for k in range(20):
        more = closed_positions(machine, count, 100 * seed + k, reach)
        q = np.concatenate([q, more[machine.singularity(more) > margin]])[:count]
        if len(q) == count:
            break
    return q, rng.uniform(-2, 2, (count, m)), rng.uniform(-5, 5, (count, m))


def independent_positions(machine):
    """Numbers in q of the independent joints, which have one coordinate each."""
    names, at, found = machine.mobility.independent, 0, []
    for joint in machine.tree.moving_joints:
        if joint.name in names:
            found.append(at)
        at += joint.nq
    return found


def independent_velocities(machine):
    """Their numbers in the velocities."""
    names = [joint.name for joint in machine.tree.moving_joints for _ in range(joint.nv)]
    return [k for k, name in enumerate(names) if name in machine.mobility.independent]


def active_velocities(machine):
    """Numbers of the driven velocities."""
    names = [joint.name for joint in machine.tree.moving_joints for _ in range(joint.nv)]
    return [k for k, name in enumerate(names) if name in machine.active_names]


def motion(machine, q, qd, qdd):
    """t -> (q, velocities, accelerations of the tree) along q_i + qd t + qdd t^2/2, closed at every instant."""
    where = independent_positions(machine)

    def at(t):
        found = machine.assemble(q[where] + qd * t + qdd * t * t / 2, q)
        return found.q, *machine.tree_motion(found.q, qd + qdd * t, qdd)

    return at
