"""Loops and couplings as data: what they refuse, and the machines of the catalogue close where they say."""

import math
import pickle
from math import atan2, pi

import numpy as np
import pytest

from neuler import Coupling, Frame, Joint, Link, Loop, Polynomial, Robot, Spline, robots
from neuler.errors import RobotError

CLOSED = {
    "four_bar": (pi / 2, atan2(3, 4) - pi / 2, atan2(4, -3)),
    "five_bar": (atan2(4, -3), -pi / 2, atan2(4, 3), pi / 2),
    "slider_crank": (pi / 2, -pi / 2 - atan2(3, 4), 0.2),
    "sr400": (0, -pi / 2, 0, 0, 0, 0, -pi, pi / 2),
}
"""Of each machine: the coordinates of its tree at which its docstring says the loop is closed."""


def ends(machine, q):
    """Poses of the two frames of the loop, from those of the links."""
    poses = machine.link_poses(np.asarray(q, dtype=float))
    found = []
    for name in (machine.loops[0].first, machine.loops[0].second):
        index, placement = machine.locate(name)
        found.append(poses[index] @ placement.matrix)
    return found


def assert_closed(machine, q):
    """A revolute cut joint: one point, one axis."""
    first, second = ends(machine, q)
    np.testing.assert_allclose(first[:3, 2:], second[:3, 2:], atol=1e-12)


def test_the_catalogue_has_them():
    """And the parallel robots, whose loops are their legs."""
    parallel = {"delta", "gough_stewart", "orthoglide", "planar_3rrr"}
    assert set(CLOSED) | parallel == {name for name in robots.names() if robots.get(name).loops}
    for name in parallel:
        assert {loop.second for loop in robots.get(name).loops} | {loop.first for loop in robots.get(name).loops} >= {
            frame.name for frame in robots.get(name).frames if frame.name.startswith("platform.")
        }


@pytest.mark.parametrize("name", CLOSED)
def test_machines_close_where_they_say(name):
    machine = robots.get(name)
    assert machine.reference == CLOSED[name]
    assert_closed(machine, CLOSED[name])
    for k in range(machine.tree.nq):
        open_by = np.array(CLOSED[name], dtype=float)
        open_by[k] += 0.1
        first, second = ends(machine, open_by)
        in_loop = name != "sr400" or k in (1, 2, 6, 7)
        assert (np.abs(first[:3, 3] - second[:3, 3]).max() > 1e-3) == in_loop


@pytest.mark.parametrize("name", CLOSED)
def test_machines_are_sound(name):
    machine = robots.get(name)
    assert machine.name == machine.tree.name == name
    assert machine.tree.check() == []
    (only,) = machine.check()
    assert (only.severity, only.subject) == ("note", f"robot {name!r}")
    assert only.message.startswith(f"redundant constraints: {machine.loops[0].name} (3);")
    assert machine.constraints == 5
    # Planar loops: of the five equations of a revolute cut joint two are independent.
    assert len(machine.active_names) == machine.tree.nq - 2
    assert all(joint.role in ("driven", "passive") for joint in machine.tree.joints)


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "slider_crank"])
def test_planar_machines_move_in_the_plane(name):
    machine = robots.get(name)
    assert machine.tree.gravity == (0, -9.81, 0)
    poses = machine.tree.link_poses(np.linspace(0.3, 0.7, machine.tree.nq))
    assert not poses[:, 2, 3].any()
    np.testing.assert_array_equal(poses[:, :3, 2], np.tile([0, 0, 1], (len(poses), 1)))


def test_the_crank_of_the_four_bar_turns_fully():
    """For every crank angle the rocker's tip is within reach of the coupler: a closing pose exists."""
    machine = robots.four_bar()
    crank, coupler, ground, rocker = 0.15, 0.45, 0.675, 0.525
    for angle in np.linspace(-pi, pi, 25):
        x, y = crank * math.cos(angle), crank * math.sin(angle)
        span = math.hypot(ground - x, y)
        assert abs(coupler - rocker) < span < coupler + rocker
        bend = math.acos((coupler**2 + span**2 - rocker**2) / (2 * coupler * span))
        direction = atan2(-y, ground - x) + bend
        tip = np.array([x, y]) + coupler * np.array([math.cos(direction), math.sin(direction)])
        assert_closed(machine, (angle, direction - angle, atan2(tip[1], tip[0] - ground)))


def test_the_slider_follows_the_crank():
    machine = robots.slider_crank()
    for angle in np.linspace(-pi, pi, 13):
        down = math.asin(0.15 * math.sin(angle) / 0.25)
        slide = 0.15 * math.cos(angle) + 0.25 * math.cos(down)
        assert_closed(machine, (angle, -down - angle, slide))


def test_the_parallelogram_of_the_sr400():
    """Khalil's solution of the loop: theta3 = pi/2 - theta2 + theta7, theta8 = theta2 - theta7."""
    machine = robots.sr400()
    rng = np.random.default_rng(0)
    for q in rng.uniform(-pi, pi, (10, 8)):
        q[2] = pi / 2 - q[1] + q[6]
        q[7] = q[1] - q[6]
        assert_closed(machine, q)
        poses = machine.tree.link_poses(q)
        np.testing.assert_allclose(poses[2][:3, 0], poses[8][:3, 0], atol=1e-13)  # upper arm and bar are parallel
    upright = machine.tree.link_poses(np.array(CLOSED["sr400"], dtype=float))
    np.testing.assert_allclose(upright[3][:3, 3], [0.35, 0, 0.9], atol=1e-15)
    np.testing.assert_allclose(upright[4][:3, 3], [0.35 + 1.1, 0, 0.9 + 0.15], atol=1e-15)


# ---- loops and couplings -----------------------------------------------------------------------------------


def small(**more):
    links = [Link("base"), Link("a", 1.0), Link("b", 1.0)]
    joints = [Joint("p", "revolute", "base", "a"), Joint("q", "revolute", "a", "b", role="passive")]
    return Robot("small", links, joints, frames=[Frame("tip", "b")], **more)


def test_equal_by_value_and_pickled():
    machine = robots.five_bar()
    again = robots.five_bar()
    assert machine == again
    assert machine.content_hash == again.content_hash
    assert hash(machine) == hash(again)
    assert pickle.loads(pickle.dumps(machine)) == machine
    other = machine.with_gravity((0, 0, 0))
    assert other != machine
    assert other.content_hash != machine.content_hash
    assert other.tree.gravity == (0, 0, 0)
    assert machine.replace(name="x").content_hash != machine.content_hash
    assert machine.tree.content_hash != machine.content_hash
    assert machine.tree != machine
    assert machine.tree.replace(loops=machine.loops, reference=machine.reference) == machine
    assert machine.with_independent("left_arm", "right_arm") != machine


def test_couplings_and_loops_count():
    """Loops set constraints; a coupled joint has no coordinate."""
    machine = small().replace(loops=[Loop("ball", "spherical", "tip", "base")], couplings=[Coupling("q", "p", 2, 0.5)])
    assert machine.constraints == 3
    assert (machine.active_names, machine.joint_names) == (("p",), ("p",))
    assert machine.tree.joint_names == ("p", "q")
    assert (machine.nq, machine.nv, machine.nu) == (1, 1, 1)
    (coupling,) = machine.couplings
    assert (coupling.of, coupling.ratio, coupling.offset) == (("p",), (2.0,), 0.5)


def test_couplings_of_several_and_in_chains():
    """Each position is what its definition says, whichever way the couplings are listed."""
    links = [Link("base"), *(Link(name, 1.0) for name in "abcd")]
    joints = [Joint(name.upper(), "revolute", "base", name) for name in "abcd"]
    curve = Spline([-2.0, -1.0, 0.0, 1.0, 2.0], [0.3, -0.2, 0.5, 0.1, -0.4])
    couplings = [
        Coupling("D", "C", 0.5, 0.1, Polynomial((0.2, -1.0, 0.3))),
        Coupling("C", ("A", "B"), (2.0, -3.0), 0.4),
    ]
    robot = Robot("chain", links, joints, couplings=couplings)
    assert robot.joint_names == ("A", "B")
    c = 2 * 0.3 - 3 * 0.7 + 0.4
    d = 0.5 * (0.2 - c + 0.3 * c * c) + 0.1
    np.testing.assert_allclose(robot.link_poses([0.3, 0.7]), robot.tree.link_poses([0.3, 0.7, c, d]), atol=1e-14)
    assert robot.replace(couplings=couplings[::-1]).joint_names == robot.joint_names
    rates = robot.link_velocities([0.3, 0.7], [1.0, 2.0])
    slope = 0.5 * (-1.0 + 0.6 * c)
    np.testing.assert_allclose(rates[1:, 5], [1.0, 2.0, -4.0, -4.0 * slope], atol=1e-13)
    led = Robot("led", links, joints, couplings=[Coupling("B", "A", -1.0, 0.2, curve)])
    for x, y in zip(curve.x, curve.y, strict=True):
        poses = led.link_poses([x, 0.0, 0.0])
        np.testing.assert_allclose(poses[2], led.tree.link_poses([x, 0.2 - y, 0.0, 0.0])[2], atol=1e-13)


def test_a_free_base_and_more_carry_loops_along():
    """Changed robots keep their loops, and say anew whether they can be closed."""
    machine = robots.four_bar().with_independent("rocker")
    for other in (
        machine.with_gravity((0, 0, 0)), machine.with_payload("coupler", 1.0), machine.without_friction(),
        machine.with_frame("middle", "coupler"), machine.with_spring("rocker", 3.0), machine.without_motors(),
    ):  # fmt: skip
        assert other.loops == machine.loops
        assert other.independent == ("rocker",)
        assert_closed(other, other.mobility.reference)
    free = machine.with_free_base()
    assert free.independent == ("root_joint", "rocker")
    assert free.reference == (0, 0, 0, 0, 0, 0, 1, *machine.reference)
    assert (free.nq, free.nv) == (10, 7)
    rolling = machine.with_planar_base()
    assert rolling.independent == ("base_x", "base_y", "base_turn", "rocker")
    assert (rolling.nq, rolling.nv, rolling.nu) == (6, 4, 4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: small(loops=["loop"]), "expected a Loop, got 'loop'"),
        (lambda: small(loops=[Loop("l", "fixed", "tip", "nowhere")]), "robot 'small', loop 'l': .*no link or frame"),
        (lambda: small(loops=[Loop("l", "fixed", "tip", "b")]), "both frames are fixed to one link"),
        (lambda: small(loops=[Loop("l", "fixed", "tip", "base")] * 2), "two loops are named 'l'"),
        (lambda: small(loops=[Loop("l", "spherical", "tip", "base")], reference=(0,)), "reference must be 2 numbers"),
        (lambda: small(couplings=["c"]), "expected a Coupling, got 'c'"),
        (lambda: small(couplings=[Coupling("q", "z")]), "'z', which is no moving joint; it has 'p', 'q'"),
        (lambda: small(couplings=[Coupling("q", "p")] * 2), "joint 'q' is coupled twice"),
        (lambda: small(couplings=[Coupling("q", "p"), Coupling("p", "q")]), "lead in a circle: 'q' of 'p' of 'q'"),
        (
            lambda: small().with_free_base().replace(couplings=[Coupling("q", "root_joint")]),
            "joint 'root_joint' is free and cannot be coupled",
        ),
        (lambda: Coupling("q", "q"), "cannot be coupled to itself"),
        (lambda: Coupling("q", ()), "names no joint that leads it"),
        (lambda: Coupling("q", ("p", "p")), "a joint leads it twice"),
        (lambda: Coupling("q", ("p", "r"), (1.0,)), "2 joints lead it, and 1 ratios are given"),
        (lambda: Coupling("q", ("p", "r"), function=Polynomial((0, 1))), "a function has one leading joint, got p, r"),
        (lambda: Coupling("q", "p", function=math.sin), "function must be a Polynomial or a Spline"),
        (lambda: Coupling("q", "p", math.nan), "coupling of joint 'q': ratio must be a list of finite numbers"),
        (lambda: Coupling("q", "p", offset=math.inf), "offset must be finite"),
        (lambda: Loop("l", "welded", "a", "b"), "kind must be one of fixed, revolute.*got 'welded'"),
        (lambda: Loop("", "fixed", "a", "b"), "a loop needs a name"),
        (lambda: robots.four_bar().replace(colour="red"), "a robot has no field 'colour'"),
    ],
)  # fmt: skip
def test_refusals_name_the_thing(make, message):
    with pytest.raises(RobotError, match=message):
        make()
