"""The data model: validation, order, equality, copies."""

import copy
import dataclasses
import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuler
from neuler.errors import RobotError
from neuler.robot import Frame, Joint, Limits, Link, Robot, Transform

BODY = {"mass": 2.0, "com": (0.1, -0.2, 0.3), "inertia": (0.3, 0.4, 0.5, 0.01, 0.02, 0.03)}


def chain():
    links = [Link("base"), Link.from_com("upper", **BODY), Link.from_com("lower", **BODY)]
    joints = [
        Joint("shoulder", "revolute", "base", "upper", viscous=1, coulomb=2, coulomb_reverse=3, rotor_inertia=4),
        Joint("elbow", "prismatic", "upper", "lower", Transform.from_rpy((1, 0, 0), (0.1, 0.2, 0.3)), (1, 0, 0)),
    ]
    return Robot("arm", links, joints, frames=[Frame("tool", "lower", Transform.rot_x(0.3, 0.2))], notes=["n"])


# ---- transforms ----------------------------------------------------------------------------------------


angles = st.floats(-10, 10)


@given(st.tuples(angles, angles, angles), st.tuples(angles, angles, angles))
def test_inverse_and_composition(xyz, rpy):
    t = Transform.from_rpy(xyz, rpy)
    np.testing.assert_allclose((t @ t.inverse()).matrix, np.eye(4), atol=1e-13)
    np.testing.assert_allclose((t @ t).matrix, t.matrix @ t.matrix, atol=1e-12)
    assert Transform.from_matrix(t.matrix) == t


@pytest.mark.parametrize("quarter", range(-5, 6))
def test_quarter_turns_are_exact(quarter):
    angle = quarter * (math.pi / 2)
    for turn in (Transform.rot_x(angle), Transform.rot_z(angle), Transform.from_rpy(rpy=(angle, angle, angle))):
        assert {abs(x) for row in turn.rotation for x in row} == {0.0, 1.0}


def test_khalils_six_parameters():
    t = Transform.khalil(gamma=0.1, b=0.2, alpha=0.3, d=0.4, theta=0.5, r=0.6)
    parts = [Transform.rot_z(0.1), Transform.rot_z(0, 0.2), Transform.rot_x(0.3), Transform.rot_x(0, 0.4)]
    parts += [Transform.rot_z(0.5), Transform.rot_z(0, 0.6)]
    product = Transform()
    for part in parts:
        product = product @ part
    np.testing.assert_allclose(t.matrix, product.matrix, atol=1e-15)


@pytest.mark.parametrize(
    ("rotation", "translation", "message"),
    [
        (np.diag([1, 1, -1]), (0, 0, 0), "reflection"),
        (2 * np.eye(3), (0, 0, 0), "not a rotation matrix"),
        (np.eye(2), (0, 0, 0), "3x3"),
        (np.eye(3), (0, 0), "3 translations"),
        (np.eye(3), (0, 0, math.nan), "not finite"),
        (np.full((3, 3), math.nan), (0, 0, 0), "not finite"),
    ],
)
def test_bad_transforms(rotation, translation, message):
    with pytest.raises(RobotError, match=message):
        Transform(rotation, translation)


def test_bad_matrices():
    with pytest.raises(RobotError, match="4x4"):
        Transform.from_matrix(np.eye(3))
    with pytest.raises(RobotError, match="last row"):
        Transform.from_matrix(np.ones((4, 4)))


# ---- links ---------------------------------------------------------------------------------------------


def test_link_from_com_and_back():
    link = Link.from_com("rod", **BODY)
    assert link.com == pytest.approx(BODY["com"])
    expected = [[0.3, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.5]]
    np.testing.assert_allclose(link.inertia_about_com, expected, atol=1e-15)
    assert Link("x").com == (0, 0, 0)
    assert Link.from_com("x", mass=1, inertia=np.diag([1, 2, 3])) == Link.from_com("x", mass=1, inertia=(1, 2, 3))


def test_seen_from_agrees_with_a_cloud_of_points():
    rng = np.random.default_rng(0)
    points, masses = rng.normal(size=(9, 3)), rng.uniform(1, 2, 9)

    def cloud(points):
        s = masses @ points
        j = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
        return Link("cloud", masses.sum(), s, j)

    t = Transform.from_rpy((1, -2, 3), (0.4, 0.5, -0.6))
    moved = cloud(points @ np.array(t.rotation).T + t.translation)
    found = cloud(points).seen_from(t)
    np.testing.assert_allclose(found.first_moment, moved.first_moment, atol=1e-12)
    np.testing.assert_allclose(found.inertia_matrix, moved.inertia_matrix, atol=1e-12)
    np.testing.assert_allclose(found.seen_from(t.inverse()).inertia, cloud(points).inertia, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mass": math.nan}, "link 'x': mass must be finite"),
        ({"mass": math.inf}, "mass must be finite"),
        ({"mass": "heavy"}, "mass must be a number, got 'heavy'"),
        ({"first_moment": (1, 2)}, "first_moment must be 3 numbers"),
        ({"first_moment": (1, 2, math.nan)}, "first_moment must be finite"),
        ({"inertia": (1, 2)}, "inertia"),
        ({"inertia": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}, "not symmetric"),
        ({"inertia": (1, 2, 3, 4, 5, math.inf)}, "must be finite"),
    ],
)
def test_bad_links(arguments, message):
    with pytest.raises(RobotError, match=message):
        Link("x", **arguments)


# ---- joints --------------------------------------------------------------------------------------------


def test_axes_are_normalised():
    assert Joint("j", "revolute", "a", "b", axis=(0, 3, 4)).axis == pytest.approx((0, 0.6, 0.8))
    assert Joint("j", "revolute", "a", "b", axis=(0, 0, -1)).axis == (0, 0, -1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"kind": "ball"},
            "joint 'j': kind must be one of revolute, .*, spin, got 'ball'",
        ),
        ({"axis": (0, 0, 0)}, "the axis has no direction"),
        ({"axis": (0, 0, math.nan)}, "axis must be finite"),
        ({"axis": (0, 1)}, "axis must be 3 numbers"),
        ({"viscous": math.nan}, "viscous must be finite"),
        ({"coulomb_reverse": math.inf}, "coulomb_reverse must be finite"),
        ({"rotor_inertia": None}, "rotor_inertia must be a number"),
    ],
)
def test_bad_joints(arguments, message):
    with pytest.raises(RobotError, match=message):
        Joint(**{"name": "j", "kind": "revolute", "parent": "a", "child": "b", **arguments})


def test_limits():
    assert Limits() == Limits(-math.inf, math.inf, math.inf, math.inf)
    with pytest.raises(RobotError, match="'upper' must be a number"):
        Limits(upper=math.nan)


# ---- robots --------------------------------------------------------------------------------------------


def test_links_and_joints_are_sorted_outward():
    names = ["c", "a", "e", "b", "d", "f"]
    pairs = ["bd", "ab", "ac", "be", "cf"]
    robot = Robot("tree", map(Link, names), [Joint(p, "fixed" if p == "ac" else "revolute", *p) for p in pairs])
    assert robot.link_names == ("a", "b", "d", "e", "c", "f")
    assert [joint.name for joint in robot.joints] == ["ab", "bd", "be", "ac", "cf"]
    assert robot.joint_names == ("ab", "bd", "be", "cf")
    assert all(joint.child == link.name for joint, link in zip(robot.joints, robot.links[1:], strict=True))
    assert robot.antecedents == (0, 1, 1, 0, 4)
    assert robot.nq == robot.nv == 4


@pytest.mark.parametrize(
    ("links", "pairs", "message"),
    [
        ("", [], "at least one link"),
        ("aa", [], "two links are named 'a'"),
        ("ab", ["ab", "ab"], "two joints are named 'ab'"),
        ("ab", [], "2 roots, 'a', 'b'"),
        ("ab", ["ab", "ba"], "form a cycle"),
        ("abc", ["bc", "cb"], "links 'b', 'c' form a cycle that the base 'a' does not reach"),
        ("abcd", ["ab", "ac", "bd", "cd"], "link 'd' is carried by two joints, 'bd' and 'cd'"),
        ("ab", ["xb"], "joint 'xb': its parent link 'x' does not exist"),
        ("ab", ["ax"], "joint 'ax': its child link 'x' does not exist"),
    ],
)
def test_only_trees(links, pairs, message):
    with pytest.raises(RobotError, match=message):
        Robot("r", map(Link, links), [Joint(p, "revolute", *p) for p in pairs])


@pytest.mark.parametrize("name", ["", None, 3])
def test_names_are_needed(name):
    with pytest.raises(RobotError, match="a link needs a name"):
        Robot("r", [Link(name)])


def test_frames():
    robot = chain()
    assert robot.frame_names == ("base", "upper", "lower", "tool")
    assert robot.locate("tool") == (2, Transform.rot_x(0.3, 0.2))
    assert robot.locate("upper") == (1, Transform())
    with pytest.raises(RobotError, match="no link or frame 'hand'; it has: 'base'"):
        robot.locate("hand")
    with pytest.raises(RobotError, match="there is no link 'x'"):
        robot.with_frame("f", "x")
    for taken in ("tool", "upper"):
        with pytest.raises(RobotError, match="has this name"):
            robot.with_frame(taken, "base")
    assert robot.with_frame("camera", "base").frame_names[-1] == "camera"


def test_gravity_is_checked():
    for bad in ((0, 0), (0, 0, math.nan), "down"):
        with pytest.raises(RobotError, match="robot 'r': gravity"):
            Robot("r", [Link("a")], gravity=bad)


def test_equal_by_value_and_hashable_by_content():
    assert chain() == chain()
    assert hash(chain()) == hash(chain())
    assert chain().content_hash == chain().content_hash
    assert len({chain(), chain(), chain().with_gravity((0, 0, 0))}) == 2
    assert chain().with_gravity((0, 0, 0)).content_hash != chain().content_hash
    assert chain() != "arm"


def test_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        chain().name = "other"
    with pytest.raises(dataclasses.FrozenInstanceError):
        chain().links[0].mass = 1.0


def test_pickles_and_copies():
    robot = chain()
    for twin in (pickle.loads(pickle.dumps(robot)), copy.copy(robot), copy.deepcopy(robot)):
        assert twin == robot
        assert twin.content_hash == robot.content_hash


def test_pickles_without_compiled_kernels():
    robot = chain()
    robot.__dict__["inverse_dynamics"] = lambda: None
    twin = pickle.loads(pickle.dumps(robot))
    assert "inverse_dynamics" not in twin.__dict__
    assert twin == robot


def test_replace():
    assert chain().replace(name="b").name == "b"
    with pytest.raises(RobotError, match="no field 'colour'; its fields are 'name', 'links'"):
        chain().replace(colour="red")


def test_with_payload():
    robot = chain()
    loaded = robot.with_payload("tool", 3.0, com=(0, 0, 0.1), inertia=(0.1, 0.1, 0.1))
    assert loaded.mass == pytest.approx(robot.mass + 3)
    assert loaded.links[:2] == robot.links[:2]
    index, placement = robot.locate("tool")
    point = np.array(placement.rotation) @ (0, 0, 0.1) + placement.translation
    expected = np.array(robot.links[index].first_moment) + 3 * point
    np.testing.assert_allclose(loaded.links[index].first_moment, expected, atol=1e-14)
    with pytest.warns(UserWarning, match="the payload of 'tool' has a negative mass, -3 kg"):
        unloaded = loaded.with_payload("tool", -3.0, com=(0, 0, 0.1), inertia=(-0.1, -0.1, -0.1))
    np.testing.assert_allclose(unloaded.links[index].inertia, robot.links[index].inertia, atol=1e-14)


def test_without_losses():
    joint = chain().without_friction().joints[0]
    assert (joint.viscous, joint.coulomb, joint.coulomb_reverse, joint.rotor_inertia) == (0, 0, None, 4)
    assert chain().without_motors().joints[0].rotor_inertia == 0


def test_check_is_the_doctor():
    assert [finding.severity for finding in chain().check()] == ["note"]


def test_rotations_rounded_to_a_few_digits_become_rotations():
    rounded = np.round(np.array(Transform.from_rpy((0, 0, 0), (0.3, 0.4, 0.5)).rotation), 7)
    kept = np.array(Transform(rounded.tolist()).rotation)
    np.testing.assert_allclose(kept @ kept.T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(kept, rounded, atol=1e-7)
    with pytest.raises(RobotError, match="reflection"):
        Transform(np.diag([1.0, 1.0, -1.0]).tolist())


def test_frames_and_notes_are_checked():
    with pytest.raises(RobotError, match="frame 'f': placement must be a Transform"):
        Robot("r", [Link("b")], frames=[Frame("f", "b", None)])
    for notes in ("abc", [["x"]]):
        with pytest.raises(RobotError, match="notes must be a list of texts"):
            Robot("r", [Link("b")], notes=notes)


# ---- messages that know what was meant -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("continuous", "a 'revolute' joint without limits"),
        ("Continuous", "a 'revolute' joint without limits"),
        ("floating", "a 'free' joint"),
        ("free_flyer", "a 'free' joint"),
        ("revolut", "did you mean 'revolute'"),
        ("ball", "a 'spherical' joint"),
    ],
)
def test_kinds_that_are_called_otherwise_elsewhere(kind, meant):
    with pytest.raises(RobotError, match=re.escape(meant)):
        Joint("j", kind, "a", "b")


def test_the_likely_name_is_not_cut_off():
    names = [f"part_{k}" for k in range(40)]
    links = [Link("base"), *(Link(name) for name in names), Link("left_hand")]
    joints = [Joint(f"to_{link.name}", "fixed", "base", link.name) for link in links[1:]]
    robot = Robot("many", links, joints)
    for name in ("lefthand", "Left_Hand", "hand", "left_hnad"):
        with pytest.raises(RobotError, match=f"no link or frame '{name}'; it has: 'left_hand', "):
            robot.locate(name)


def test_options_that_are_the_robots():
    robot = neuler.robots.two_link()
    with pytest.raises(neuler.InputError, match=r"unknown option 'gravity'; .*robot.with_gravity\("):
        robot.compile("inverse_dynamics", gravity=(0, 0, -1.62))
    with pytest.raises(neuler.InputError, match=r"unknown option 'payload'.*robot.with_payload\("):
        robot.compile("forward_dynamics", payload=3)
    with pytest.raises(neuler.InputError, match="did you mean 'inverse_dynamics'"):
        robot.compile("inverse_dynamic")


def test_turns_about_each_axis():
    for k, turn in enumerate((Transform.rot_x, Transform.rot_y, Transform.rot_z)):
        found = turn(0.7, 0.3)
        axis = np.eye(3)[k]
        np.testing.assert_allclose(np.array(found.rotation) @ axis, axis, atol=1e-15)
        np.testing.assert_allclose(found.translation, 0.3 * axis)
        other = np.eye(3)[(k + 1) % 3]
        expected = np.cos(0.7) * other + np.sin(0.7) * np.eye(3)[(k + 2) % 3]
        np.testing.assert_allclose(np.array(found.rotation) @ other, expected, atol=1e-15)
