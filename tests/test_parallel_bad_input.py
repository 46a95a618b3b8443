"""Parallel and hybrid robots that cannot be: every refusal names the thing, what was expected and what came."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import neuler
from neuler import Frame, InputError, Joint, Leg, Link, ParallelRobot, Robot, RobotError, Transform, robots
from parallel_machines import machine

STILL = np.zeros(6)


def chain(*kinds, roles=(), links=()):
    """Links along x, 0.3 m, joints about or along y."""
    bodies = [Link("base"), *(Link.from_com(f"link{k}", mass=1.0, inertia=(1, 1, 1)) for k in range(len(kinds)))]
    joints = []
    for k, kind in enumerate(kinds):
        role = roles[k] if k < len(roles) else ""
        place = Transform(translation=(0.3 if k else 0.0, 0.0, 0.0))
        joints.append(Joint(f"joint{k}", kind, bodies[k].name, f"link{k}", place, axis=(0, 1, 0), role=role))
    return Robot("chain", [*bodies, *links], joints)


def leg(name="leg", **changes):
    given = {"chain": chain("revolute", "prismatic"), "tip": "link1", "kind": "spherical"}
    return Leg(name, **{**given, **changes})


PLATE = Link.from_com("plate", mass=1.0, inertia=(1, 1, 1))

# ---- legs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chain": "rod"}, r"leg 'leg': its chain must be a Robot, got str"),
        ({"kind": "ball"}, r"leg 'leg': kind must be one of fixed, revolute.*, got 'ball'"),
        ({"attachment": (1, 2, 3)}, r"leg 'leg': its attachment must be a Transform, got \(1, 2, 3\)"),
        ({"tip": "hand"}, r"leg 'leg': robot 'chain' has no link or frame 'hand'; it has: 'base', 'link0', 'link1'"),
        ({"reference": (1.0,)}, r"leg 'leg': reference must be 2 numbers, got shape \(1,\)"),
        ({"reference": (1.0, np.nan)}, r"leg 'leg': reference must be finite"),
        ({"reference": "ab"}, r"leg 'leg': reference must be 2 numbers, got 'ab'"),
        ({"chain": chain("fixed"), "tip": "link0"}, r"leg 'leg': none of its joints moves"),
        ({"chain": chain("free"), "tip": "link0"}, r"leg 'leg': its joint 'joint0' is free; a leg stands on the base"),
        ({"tip": "link0"}, r"leg 'leg': its joint 'joint1' is not between the base and the tip 'link0'; a leg is one"),
        ({"tip": "base"}, r"leg 'leg': its joint 'joint0' is not between the base and the tip 'base'"),
    ],
)
def test_legs_that_cannot_be(changes, message):
    with pytest.raises(RobotError, match=message):
        leg(**changes)


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_leg_needs_a_name(name):
    with pytest.raises(RobotError, match="a leg needs a name"):
        leg(name)


def test_a_branch_on_a_leg_is_refused():
    tree = chain("revolute", "revolute")
    side = Joint("side", "revolute", "link0", "weight")
    tree = tree.replace(links=[*tree.links, Link("weight", 1.0)], joints=[*tree.joints, side])
    with pytest.raises(RobotError, match="its joint 'side' is not between the base and the tip 'link1'"):
        leg(chain=tree)
    still = [dataclasses.replace(joint, kind="fixed") if joint.name == "side" else joint for joint in tree.joints]
    assert leg(chain=tree.replace(joints=still)).motors == ("joint0", "joint1")


def test_motors_of_a_leg():
    assert leg(chain=chain("revolute", "prismatic", roles=("passive",))).motors == ("joint1",)
    assert leg(chain=chain("revolute", "prismatic", roles=("passive", "passive"))).motors == ()


# ---- robots --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"platform": "plate"}, r"parallel robot 'robot': its platform must be a Link, got 'plate'"),
        ({"legs": []}, r"parallel robot 'robot': has no legs"),
        ({"legs": leg()}, r"parallel robot 'robot': needs a list of legs, got Leg\("),
        ({"legs": [leg(), "two"]}, r"parallel robot 'robot': expected a Leg, got 'two'"),
        ({"legs": [leg("a"), leg("a")]}, r"parallel robot 'robot': two legs are named 'a'"),
        ({"legs": [leg("platform")]}, r"parallel robot 'robot': a leg cannot be named 'platform'"),
        ({"reference": (0, 0, 0, 0, 0, 0, 2)}, r"the quaternion of its reference has length 2, not 1"),
        ({"reference": (0, 0, 0, 0, 0, 0, 0)}, r"the quaternion of its reference has length 0, not 1"),
        ({"reference": (0, 0, 0, 0, 0, 1)}, r"reference must be 7 numbers, got shape \(6,\)"),
        ({"reference": (np.inf, 0, 0, 0, 0, 0, 1)}, r"reference must be finite"),
        ({"gravity": (0, 0)}, r"gravity must be 3 numbers"),
    ],
)
def test_robots_that_cannot_be(changes, message):
    given = {"name": "robot", "platform": PLATE, "legs": [leg("a"), leg("b")]}
    with pytest.raises(RobotError, match=message):
        ParallelRobot(**{**given, **changes})


def test_a_reference_is_normalized():
    robot = ParallelRobot("robot", PLATE, [leg()], reference=(0, 0, 0, 0, 0, 0, 1 + 1e-5))
    assert robot.reference[-1] == 1.0


def test_replace():
    robot = machine("delta")
    assert robot.replace(name="other").name == "other"
    assert robot.with_gravity((0, 0, -1)).gravity == (0.0, 0.0, -1.0)
    assert robot.without_friction() == robot
    with pytest.raises(RobotError, match="a parallel robot has no field 'plate'; its fields are 'name', 'platform'"):
        robot.replace(plate=1)


def passive(robot, *legs):
    """Without the motors of some legs."""
    changed = []
    for each in robot.legs:
        chosen = each.chain.with_passive(*each.motors) if each.name in legs else each.chain
        changed.append(dataclasses.replace(each, chain=chosen))
    return robot.replace(legs=changed)


def test_legs_without_motors():
    robot = passive(machine("delta"), "leg1", "leg2", "leg3")
    assert robot.active_names == ()
    with pytest.raises(RobotError, match="parallel robot 'delta': no joint of its legs is driven; it needs motors"):
        _ = robot.inverse_dynamics
    assert robot.inverse_kinematics(robot.reference).closed  # geometry needs none


def test_fewer_motors_than_freedoms():
    robot = passive(machine("delta"), "leg2")
    message = r"parallel robot 'delta' has 3 freedoms, which its motors \(leg1.motor, leg3.motor\) do not decide"
    for quantity in ("inverse_dynamics", "forward_dynamics", "jacobian"):
        with pytest.raises(RobotError, match=message):
            getattr(robot, quantity)
    with pytest.raises(RobotError, match=r"under-actuated"):
        robot.forward_kinematics([0.5, 0.5])
    q = robot.inverse_kinematics(robot.reference).q
    assert robot.inverse_jacobian(q).shape == (2, 6)
    assert np.isfinite(robot.cartesian_force(q, STILL, STILL)).all()


def test_legs_that_hold_the_platform_still():
    """Slides of a hexapod locked at their lengths."""
    robot = machine("gough_stewart")
    legs = []
    for each in robot.legs:
        tilt, swing, slide = each.chain.joints
        length = Transform(translation=(0, 0, each.reference[2]))
        swing = dataclasses.replace(swing, role="driven")
        locked = [tilt, swing, dataclasses.replace(slide, kind="fixed", placement=length)]
        legs.append(dataclasses.replace(each, chain=each.chain.replace(joints=locked), reference=each.reference[:2]))
    still = robot.replace(legs=legs)
    assert still.mechanism.mobility.freedoms == 0
    for quantity in ("inverse_dynamics", "forward_dynamics", "jacobian"):
        with pytest.raises(RobotError, match="parallel robot 'gough_stewart' has no freedom: its legs hold"):
            getattr(still, quantity)


def test_legs_that_move_while_the_platform_stands():
    """Four joints to a spherical joint; and a joint about the leg's own axis."""
    robot = machine("gough_stewart")
    chain = robot.legs[0].chain
    longer = chain.replace(
        links=[*chain.links, Link.from_com("wrist", mass=0.1, inertia=(1e-3, 1e-3, 1e-3))],
        joints=[*chain.joints, Joint("wrist", "revolute", "rod", "wrist", axis=(1, 0, 0))],
        frames=[Frame("hand", "wrist", Transform(translation=(0, 0, 0.2)))],
    )
    more = Leg("leg1", longer, "hand", "spherical", robot.legs[0].attachment, (*robot.legs[0].reference, 0.3))
    with pytest.raises(RobotError, match=r"leg 'leg1' can move while the platform stands still: it has 4 joints, its"):
        _ = robot.replace(legs=[more, *robot.legs[1:]]).inverse_dynamics
    spun = Leg("leg1", longer.with_frame("end", "wrist"), "end", "revolute", robot.legs[0].attachment)
    joints = [*chain.joints, Joint("wrist", "prismatic", "rod", "wrist")]  # beside the slide
    spun = dataclasses.replace(spun, chain=longer.replace(joints=joints).with_frame("end", "wrist"))
    with pytest.raises(RobotError, match=r"robot.mechanism computes with such legs"):
        _ = robot.replace(legs=[spun, *robot.legs[1:]]).inverse_dynamics


def test_a_reference_out_of_reach():
    robot = machine("gough_stewart").replace(reference=(0, 0, 1, 0, 0, 0, 1))
    delta = machine("delta")
    assert robot.mechanism.mobility.freedoms == 6  # slides are as long as it takes
    far = [
        dataclasses.replace(each, attachment=each.attachment @ Transform(translation=(5, 0, 0))) for each in delta.legs
    ]
    with pytest.raises(RobotError, match=r"mechanism 'delta': its loops cannot be closed from its reference; 'leg"):
        _ = delta.replace(legs=far).inverse_dynamics


# ---- poses and states ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pose", "kind", "message"),
    [
        ([0, 0, -0.52, 0, 0, 0], InputError, r"expected pose with last axis 7 .*, got shape \(6,\)"),
        (3.0, InputError, r"expected pose with last axis 7 .*, got shape \(\)"),
        ("here", InputError, r"pose must be an array of numbers, got 'here'"),
        ([0, 0, -0.52, 0, 0, 0, 2], InputError, r"the quaternion of the pose has the length 2 instead of 1"),
        ([0, 0, -0.52, 0, 0, 0, 0], InputError, r"the quaternion of the pose has the length 0 instead of 1"),
        ([0, 0, np.nan, 0, 0, 0, 1], InputError, r"must be finite"),
        ([0, 0, -3.0, 0, 0, 0, 1], RobotError, r"mechanism 'delta': its loops cannot be closed at this position"),
        ([0, 0, -0.52, 0, 0, np.sin(0.1), np.cos(0.1)], RobotError, r"cannot be closed at this position"),
    ],
)
def test_poses_that_cannot_be(pose, kind, message):
    with pytest.raises(kind, match=message):
        machine("delta").inverse_kinematics(pose)


@pytest.mark.filterwarnings("ignore:mechanism 'delta'. its loops cannot be closed in 3 of 5 rows")
def test_poses_of_a_batch_are_marked():
    robot = machine("delta")
    poses = np.tile(robot.reference, (5, 1))
    poses[1, 2] = -3.0
    poses[3, 3:] = [0, np.sin(0.2), 0, np.cos(0.2)]
    with pytest.warns(RuntimeWarning, match=r"cannot be closed in 2 of 5 rows: 1, 3; there q is NaN"):
        found = robot.inverse_kinematics(poses)
    np.testing.assert_array_equal(found.closed, [True, False, True, False, True])
    np.testing.assert_array_equal(np.isnan(found.q).all(axis=-1), ~found.closed)
    with np.errstate(invalid="ignore"):
        tau = robot.inverse_dynamics(found.q, STILL, STILL)
    np.testing.assert_array_equal(np.isnan(tau).all(axis=-1), ~found.closed)
    np.testing.assert_array_equal(tau[0], robot.inverse_dynamics(found.q[0], STILL, STILL))
    poses[4, 3:] *= 3
    with pytest.warns(RuntimeWarning, match=r"quaternion of the pose has the length 3 instead of 1 in 1 of 5 rows: 4"):
        found = robot.inverse_kinematics(poses)
    np.testing.assert_array_equal(found.closed, [True, False, True, False, False])
    with pytest.raises(InputError, match="length 3 instead of 1 in 2 of 2 rows: 0, 1"):
        robot.inverse_kinematics(poses[[4, 4]])


def test_motors_that_cannot_be():
    robot = machine("planar_3rrr")
    with pytest.raises(InputError, match=r"expected q_active with last axis 3.*leg1.motor, leg2.motor, leg3.motor"):
        robot.forward_kinematics([0.1, 0.2])
    folded = np.array(robot.mechanism.mobility.reference)[[7, 9, 11]] + np.pi  # all cranks outward
    with pytest.raises(RobotError, match="'planar_3rrr': its loops cannot be closed at this position"):
        robot.forward_kinematics(folded)
    with pytest.raises(InputError, match="guess"):
        robot.forward_kinematics([0.1, 0.2, 0.3], guess=np.zeros(4))


def test_states_of_wrong_shape():
    robot = machine("delta")
    q = np.array(robot.mechanism.mobility.reference)
    for arrays, message in (
        ((q, STILL), r"takes 3 arrays \(q, v, vd\), got 2"),
        ((q[:7], STILL, STILL), r"expected q with last axis 16"),
        ((q, STILL[:3], STILL), r"expected v with last axis 6, got shape \(3,\)"),
        ((q, STILL, np.zeros((2, 6)), 1), r"takes 3 arrays"),
        ((np.tile(q, (3, 1)), np.zeros((2, 6)), STILL), r"the batch axes do not broadcast"),
        ((q, "fast", STILL), r"v must be real numbers"),
    ):
        with pytest.raises(InputError, match=message):
            robot.inverse_dynamics(*arrays)
    with pytest.raises(InputError, match="there is no quantity 'energy'; there are: inverse_dynamics, forward_dyn"):
        robot.compile("energy")
    with pytest.raises(InputError, match="unknown option 'method'"):
        robot.compile("inverse_dynamics", method="fast")


def test_a_quaternion_that_is_no_rotation():
    robot = machine("gough_stewart")
    q = np.tile(robot.mechanism.mobility.reference, (3, 1))
    q[1, 3:7] *= 2
    well = robot.inverse_dynamics(q[0], STILL, STILL)
    with np.errstate(invalid="ignore"):
        found = robot.inverse_dynamics(q, STILL, STILL)
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[[0, 2]], [well, well])
    q[1, 3:7] *= (1 + 1e-6) / 2  # rounding of its length is taken out
    np.testing.assert_allclose(robot.inverse_dynamics(q[1], STILL, STILL), well, rtol=1e-12)


# ---- names and copies ----------------------------------------------------------------------------------------


def test_links_of_a_leg_may_have_any_name():
    """A leg whose links are called end, seat and platform, and whose base has a mass."""
    robot = machine("planar_3rrr")
    legs = []
    for each in robot.legs:
        first, second = each.chain.links[1:]
        links = [
            Link("ground", 5.0), dataclasses.replace(first, name="seat"), dataclasses.replace(second, name="platform"),
        ]  # fmt: skip
        joints = [
            dataclasses.replace(each.chain.joints[0], parent="ground", child="seat", name="ground"),
            dataclasses.replace(each.chain.joints[1], parent="seat", child="platform"),
        ]
        named = Robot("chain", links, joints, frames=[Frame("end", "platform", each.chain.frames[0].placement)])
        legs.append(dataclasses.replace(each, chain=named))
    other = robot.replace(legs=legs)
    q, v, vd = np.array(robot.mechanism.mobility.reference), STILL, STILL
    np.testing.assert_allclose(other.inverse_dynamics(q, v, vd), robot.inverse_dynamics(q, v, vd), rtol=1e-13)
    assert other.active_names == ("leg1.ground", "leg2.ground", "leg3.ground")
    assert "leg1.end" in other.mechanism.tree.frame_names


@pytest.mark.parametrize("name", ["delta", "gough_stewart"])
def test_pickling(name):
    robot = robots.get(name)
    q = np.array(robot.mechanism.mobility.reference)
    tau = robot.inverse_dynamics(q, STILL, STILL)
    for other in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot)):
        assert other == robot
        assert hash(other) == hash(robot)
        assert other.content_hash == robot.content_hash
        np.testing.assert_array_equal(other.inverse_dynamics(q, STILL, STILL), tau)
    kernel = pickle.loads(pickle.dumps(robot.inverse_dynamics))
    np.testing.assert_array_equal(kernel(q, STILL, STILL), tau)
    assert robot.with_gravity((0, 0, 1)).content_hash != robot.content_hash
    assert robot != robot.with_gravity((0, 0, 1))


# ---- stacks --------------------------------------------------------------------------------------------------


def test_stacks_that_cannot_be():
    delta = machine("delta")
    two = [("low", delta), ("high", delta)]
    for modules, mounts, message in (
        ([("low", delta)], (), r"stack 'arm': needs two modules or more, got 1"),
        ([], (), r"stack 'arm': needs two modules or more, got 0"),
        ([("a", delta), ("a", delta)], (), r"stack 'arm': two modules are named 'a'"),
        ([("a", delta), ("", delta)], (), r"stack 'arm': a module needs a name, got ''"),
        ([("a", delta), ("b", robots.sr400())], (), r"stack 'arm': module 'b' must be a ParallelRobot, got Mechanism"),
        ([delta, delta], (), r"stack 'arm': its modules must be pairs of a name and a ParallelRobot"),
        (7, (), r"stack 'arm': its modules must be pairs"),
        (two, [Transform()] * 2, r"stack 'arm': mounts must be 1 Transforms, one for each module after the first"),
        (two, [(0, 0, 1)], r"stack 'arm': mounts must be 1 Transforms"),
    ):
        with pytest.raises(RobotError, match=message):
            neuler.stack("arm", modules, mounts)
