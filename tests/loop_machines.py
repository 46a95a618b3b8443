"""Robots with loops to test with: random ones of every kind of cut joint, known ones in space, and their motions."""

import dataclasses
import functools
import math
import types

import numpy as np
import pytest

from neuler import Coupling, Frame, Joint, Link, Loop, Polynomial, Robot, Transform, robots
from neuler.passes.trees import fused_tree
from neuler.recursions import frames
from neuler.structure.mobility import Numbers
from random_robots import friction_of, random_link, random_transform

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
    return driven(tree.replace(loops=[Loop("cut", kind, "first", "second")], reference=reference))


def driven(machine):
    """The same with as many driven joints as it has freedoms."""
    names = machine.mobility.independent
    return machine.with_passive(*(name for name in machine.active_names if name not in names))


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
    loops = [Loop("cut", "spherical", "ball", "socket")]
    return Robot("rssr", links, joints, frames=ends, loops=loops, reference=(0.3, -0.3, -0.6, 1.8))


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
    return tree.replace(loops=[Loop("cut", "revolute", "first", "second")], reference=reference)


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
    ends = [Frame("end", "link3", one), Frame("seat", "ground", two.inverse())]
    reference = (1.0, 2 * math.atan(bennett_ratio() / math.tan(0.5)), 2 * math.pi - 1.0)
    loops = [Loop("cut", "revolute", "end", "seat")]
    return Robot("bennett", links, joints, frames=ends, loops=loops, reference=reference)


def lossy_four_bar():
    """The four-bar with a spring and dry friction on its rocker, viscous friction on its coupler, a rotor."""
    machine = robots.four_bar()
    more = {
        "crank": {"rotor_inertia": 0.02, "viscous": 0.1},
        "coupler": {"viscous": 0.3},
        "rocker": {"coulomb": 0.5, "coulomb_reverse": 0.2, "stiffness": 8.0, "rest": 2.0, "role": "elastic"},
    }
    return machine.replace(joints=[dataclasses.replace(joint, **more[joint.name]) for joint in machine.joints])


def mirrored():
    """The five-bar with its arms geared together: right = pi - left, no coordinate of its own. One freedom."""
    machine = robots.five_bar()
    left, forearm, _, other = machine.reference
    gears = [Coupling("right_arm", "left_arm", -1.0, math.pi)]
    return machine.replace(name="mirrored", couplings=gears, reference=(left, forearm, other))


def cam():
    """The five-bar with its right arm on a cam: a cubic of the left arm's angle. One freedom."""
    machine = robots.five_bar()
    left, forearm, right, other = machine.reference
    shape = Polynomial((0.0, -0.7, 0.2, -0.1))
    offset = right - shape.at(left)[0]
    gears = [Coupling("right_arm", "left_arm", offset=offset, function=shape)]
    return machine.replace(name="cam", couplings=gears, reference=(left, forearm, other))


def two_loops():
    """The four-bar with an arm on its coupler whose tip slides along a slot in the ground. One freedom."""
    machine = robots.four_bar()
    slot = Transform.from_rpy((0.1, 0.75, 0.0), (0.0, math.pi / 2, 0.3))  # z of it along the slot
    arm = Joint("arm", "revolute", "coupler", "arm", Transform(translation=(0.2, 0.15, 0)), role="passive")
    tree = machine.tree.replace(
        links=(*machine.links, rod_like("arm", 0.9, 0.4)), joints=(*machine.joints, arm), name="two_loops"
    )
    tree = tree.with_frame("slider", "arm", Transform(translation=(0.4, 0, 0))).with_frame("slot", "ground", slot)
    loops = (Loop("slot", "point_on_line", "slot", "slider"), *machine.loops)
    where = dict(zip(machine.joint_names, machine.reference, strict=True)) | {"arm": 1.0}
    return tree.replace(loops=loops, reference=[where[name] for name in tree.joint_names])


def floating_four_bar():
    """The four-bar with its ground free to move, and heavy enough to be moved."""
    machine = robots.four_bar().with_payload("ground", 4.0, com=(0.3, 0.05, 0.02), inertia=(0.2, 0.3, 0.4))
    return machine.replace(name="floating_four_bar").with_free_base()


def body(name):
    return Link.from_com(name, mass=1.0, com=(0.1, 0.05, 0.0), inertia=(0.01, 0.02, 0.03))


def at(x, y=0.0, rpy=(0, 0, 0)):
    """A place in the plane."""
    return Transform.from_rpy((x, y, 0), rpy)


def triangle(**changes):
    """Two links of 1 m on a base of 1.2 m: a structure."""
    joints = [Joint("p", "revolute", "base", "a"), Joint("q", "revolute", "a", "b", at(1), role="passive")]
    ends = [Frame("tip", "b", at(1)), Frame("foot", "base", at(1.2))]
    loops = [Loop("cut", "revolute", "tip", "foot")]
    values = {"links": [Link("base"), body("a"), body("b")], "joints": joints, "frames": ends, "loops": loops}
    return Robot("triangle", **{**values, **changes})


def bar(name, length=0.5):
    """A rod along x."""
    return Link.from_com(name, mass=1.0, com=(length / 2, 0, 0), inertia=(0.001, 0.02, 0.02))


def rhombus(**changes):
    """Four equal bars, both cranks on one axis: at q = 0 all are folded onto each other."""
    joints = [
        Joint("left", "revolute", "base", "left_crank"),
        Joint("left_knee", "revolute", "left_crank", "left_rod", at(0.5), role="passive"),
        Joint("right", "revolute", "base", "right_crank"),
        Joint("right_knee", "revolute", "right_crank", "right_rod", at(0.5), role="passive"),
    ]
    bars = [bar(name) for name in ("left_crank", "left_rod", "right_crank", "right_rod")]
    ends = [Frame("left_end", "left_rod", at(0.5)), Frame("right_end", "right_rod", at(0.5))]
    loops = [Loop("cut", "revolute", "left_end", "right_end")]
    return Robot("rhombus", [Link("base"), *bars], joints, frames=ends, loops=loops, **changes)


def stretched_five_bar(left):
    """The five-bar with its forearms in one line: the right arm's angle by bisection."""

    def span(right):
        one = np.array([-0.1 + 0.3 * math.cos(left), 0.3 * math.sin(left)])
        two = np.array([0.1 + 0.3 * math.cos(right), 0.3 * math.sin(right)])
        return two - one

    low, high = 0.0, 1.3
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if np.hypot(*span(middle)) > 0.7 else (low, middle)
    direction = math.atan2(*span(low)[::-1])
    return np.array([left, direction - left, low, direction + math.pi - low])


MACHINES = {
    **{name: getattr(robots, name) for name in BUILT_IN},
    "rssr": rssr, "hinged": hinged, "bennett": bennett, "lossy_four_bar": lossy_four_bar, "mirrored": mirrored,
    "cam": cam, "two_loops": two_loops, "floating_four_bar": floating_four_bar,
    "random_spherical": lambda: random_loop("spherical", 1),
    "random_hinge": lambda: random_loop("revolute", 2, "hinge"),
    "random_floating": lambda: random_loop("prismatic", 1, "floating"),
    "random_free": lambda: random_loop("fixed", 1, "free"),
}  # fmt: skip
"""What the dynamics are tested on."""
LATER = {
    "hinged", "five_bar", "slider_crank", "mirrored", "bennett", "sr400", "lossy_four_bar",
    *(name for name in MACHINES if name.startswith("random_")),
}  # fmt: skip
SOME = [pytest.param(name, marks=pytest.mark.slow if name in LATER else ()) for name in MACHINES]
"""As parameters: large ones, and those whose like is among the others, with the slow tests."""


@functools.cache
def machine_of(name):
    return MACHINES[name]()


FOUR_BAR = (0.15, 0.45, 0.525, 0.675)
"""Lengths of crank, coupler, rocker and ground."""
NEARLY_FLAT = (0.2, 0.5, 0.21, 0.509)
"""The same of one that nearly folds: with its crank along the ground, its two branches are 0.08 rad apart."""


def four_bar_by_hand(crank, side, lengths=FOUR_BAR):
    """Coupler (to the crank) and rocker, from the triangle of coupler, rocker and the diagonal; side 1 or -1."""
    a, b, c, d = lengths
    x, y = a * np.cos(crank), a * np.sin(crank)
    span = np.hypot(d - x, y)
    bend = np.arccos((b**2 + span**2 - c**2) / (2 * b * span))
    direction = np.arctan2(-y, d - x) + side * bend
    return direction - crank, np.arctan2(y + b * np.sin(direction), x + b * np.cos(direction) - d)


# ---- states ------------------------------------------------------------------------------------------------


def closed_positions(machine, count, seed=0, reach=0.5):
    """Positions with closed loops, some way from the reference, found by least squares over all joints (no verb)."""
    numbers = Numbers(machine)
    rng = np.random.default_rng(seed)
    start, found = np.array(machine.mobility.reference), []
    for _ in range(20 * count):
        guess = numbers.moved(start, reach * rng.uniform(-1, 1, velocities(machine)))
        q, gap = numbers.close(guess)
        if gap < 1e-13 and numbers.upright(q):
            found.append(q)
        if len(found) == count:
            return np.array(found)
    raise AssertionError(f"{machine.name}: too few closed positions")


def margin_of(machine, q):
    """How far from singular: by its independent joints, and by its motors where they decide all."""
    found = machine.singularity(q)
    return np.minimum(found.joints, found.motors) if machine.mobility.driven == machine.nv else found.joints


def states(machine, count, seed=0, reach=0.4, margin=0.05):
    """Closed positions that are not nearly singular, velocities and accelerations of the independent joints."""
    rng = np.random.default_rng(seed)
    q = np.zeros((0, machine.nq))
    for k in range(20):
        more = closed_positions(machine, count, 100 * seed + k, reach)
        q = np.concatenate([q, more[margin_of(machine, more) > margin]])[:count]
        if len(q) == count:
            break
    return q, rng.uniform(-2, 2, (count, machine.nv)), rng.uniform(-5, 5, (count, machine.nv))


def velocities(machine):
    """How many velocities the joints with coordinates have."""
    return sum(joint.nv for joint in machine.moving_joints)


def _numbers(joints, names, size):
    found, at = [], 0
    for joint in joints:
        found += [*range(at, at + size(joint))] if joint.name in names else []
        at += size(joint)
    return found


def independent_positions(machine):
    """Numbers in q of the independent joints."""
    return _numbers(machine.moving_joints, machine.mobility.independent, lambda joint: joint.nq)


def independent_velocities(machine):
    """Numbers of their velocities among those of the joints with coordinates."""
    return _numbers(machine.moving_joints, machine.mobility.independent, lambda joint: joint.nv)


def active_velocities(machine):
    """Numbers of the velocities in tau among those of the joints with coordinates."""
    return _numbers(machine.moving_joints, machine.active_names, lambda joint: joint.nv)


def own_velocities(machine):
    """Numbers of the velocities of the joints with coordinates among those of the tree."""
    return _numbers(machine.tree.moving_joints, machine.joint_names, lambda joint: joint.nv)


def felt(machine, q, forces):
    """Forces of the tree's joints, by virtual work on the joints with coordinates: followers push their leaders."""
    names = [joint.name for joint in machine.tree.moving_joints for _ in range(joint.nv)]
    place, at = tree_positions(machine, q), 0
    found, where = np.array(forces), {}
    for joint in machine.tree.moving_joints:
        where[joint.name] = place[..., at]
        at += joint.nq
    for coupling in machine.couplings:  # none leads another here
        pushed = found[..., names.index(coupling.joint)]
        for name, ratio in zip(coupling.of, coupling.ratio, strict=True):
            slope = ratio
            if coupling.function is not None:
                slope = ratio * np.polynomial.Polynomial(coupling.function.coefficients).deriv()(where[name])
            found[..., names.index(name)] += slope * pushed
    return found[..., own_velocities(machine)]


def tree_friction(machine, rates):
    """The losses of all joints of the tree, by their velocities; free links have none."""
    owners = [joint for joint in machine.tree.moving_joints for _ in range(joint.nv)]
    return friction_of(types.SimpleNamespace(moving_joints=owners), rates)


def frames_of(machine, q):
    """Poses of the first and the second frame of the only loop, from those of the links."""
    poses = machine.link_poses(q)
    found = []
    for name in (machine.loops[0].first, machine.loops[0].second):
        index, placement = machine.locate(name)
        found.append(poses[..., index, :, :] @ placement.matrix)
    return found


def tree_positions(machine, q):
    """Positions of all joints of the tree: those of coupled ones, from the definition of each coupling, too."""
    where, at = {}, 0
    for joint in machine.moving_joints:
        where[joint.name] = q[..., at : at + joint.nq]
        at += joint.nq
    for coupling in machine.couplings:  # none leads another here
        lead = [where[name][..., 0] for name in coupling.of]
        if coupling.function is not None:
            lead = [np.polynomial.Polynomial(coupling.function.coefficients)(lead[0])]
        total = sum(ratio * x for ratio, x in zip(coupling.ratio, lead, strict=True)) + coupling.offset
        where[coupling.joint] = total[..., None]
    return np.concatenate([where[joint.name] for joint in machine.tree.moving_joints], axis=-1)


def shifted(machine, q, step):
    """Closed positions with the independent joints moved along ``step`` of their velocities."""
    along_all = np.zeros(velocities(machine))
    along_all[independent_velocities(machine)] = step
    where = independent_positions(machine)
    return machine.assemble(Numbers(machine).moved(q, along_all)[where], q).q


def motion(machine, q, qd, qdd):
    """t -> (q, qd, velocities and accelerations of the tree) with qd + qdd t, closed at every instant.

    The positions go along qd t + qdd t^2 / 2: of free links that is a motion with this qd at t = 0 alone.
    """

    def at(t):
        place = shifted(machine, q, qd * t + qdd * t * t / 2)
        return place, qd + qdd * t, *machine.tree_motion(place, qd + qdd * t, qdd)

    return at
