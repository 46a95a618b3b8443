"""Parallel and hybrid robots that cannot be: every refusal names the thing, what was expected and what came."""

import copy
import dataclasses
import functools
import pickle

import numpy as np
import pytest

import neuler
from neuler import Frame, InputError, Joint, Leg, Link, Loop, Robot, RobotError, Transform, parallel_robot, robots
from neuler.robots.platforms import _BASE, _PLATE
from parallel_machines import by_motors, hexapod_legs, hexapod_position, machine, place, planar_of_legs, unguided

STILL = np.zeros(3)


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
        ({"chain": robots.four_bar(), "tip": "rocker"}, r"leg 'leg': its chain has loops or couplings of its own"),
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
        ({"joint": "spherical"}, r"parallel robot 'robot': the platform's joint must be one of free, planar, trans"),
        ({"joint": "planar", "reference": (0, 0, 0, 0)}, r"reference must be 3 numbers, got shape \(4,\)"),
    ],
)
def test_robots_that_cannot_be(changes, message):
    given = {"name": "robot", "platform": PLATE, "legs": [leg("a"), leg("b")]}
    with pytest.raises(RobotError, match=message):
        parallel_robot(**{**given, **changes})


def test_a_reference_is_normalized():
    body = Link.from_com("plate", mass=1.0, inertia=(1, 1, 1))
    reference = (0.25, 0.433, 1.0, 0, 0, 0, 1 + 1e-5)
    assert parallel_robot("robot", body, hexapod_legs(_BASE, _PLATE), reference=reference).reference[6] == 1.0


def test_replace():
    robot = machine("delta")
    assert robot.replace(name="other").name == "other"
    assert robot.with_gravity((0, 0, -1)).gravity == (0.0, 0.0, -1.0)
    assert robot.without_friction() == robot
    with pytest.raises(RobotError, match="a robot has no field 'plate'; its fields are 'name', 'links'"):
        robot.replace(plate=1)


def test_legs_without_motors():
    delta = machine("delta")
    robot = delta.with_passive(*delta.active_names)
    assert (robot.active_names, robot.nu, robot.mobility.driven) == ((), 0, 0)
    q = robot.inverse_kinematics(place(robot, robot.reference)).q  # geometry needs none
    message = (
        r"inverse_dynamics: robot 'delta' has 3 degrees of freedom, of which its motors \(none\) decide 0 at its ref"
    )
    with pytest.raises(RobotError, match=message):
        robot.inverse_dynamics(q, STILL, STILL)
    with pytest.raises(
        RobotError, match="forward_dynamics: robot 'delta' has no driven joint, so that tau has no numbers"
    ):
        robot.compile("forward_dynamics")
    with pytest.raises(
        RobotError, match="forward_kinematics: robot 'delta' has 3 degrees of freedom, of which its motors decide 0"
    ):
        robot.forward_kinematics([])
    for quantity in ("mass_matrix", "gravity_force"):
        np.testing.assert_allclose(getattr(robot, quantity)(q), getattr(delta, quantity)(q), rtol=1e-14)


def test_fewer_motors_than_freedoms():
    """What needs a force for every motion is refused by name; what the forces that there are do is computed."""
    delta = machine("delta")
    robot = delta.with_passive("leg2.motor")
    assert (robot.nv, robot.nu, robot.mobility.driven, robot.independent) == (3, 2, 2, ("platform",))
    decided = (
        r"robot 'delta' has 3 degrees of freedom, of which its motors \(leg1.motor, leg3.motor\) decide 2 .* under"
    )
    for quantity in ("inverse_dynamics", "platform_jacobian", "reaction_wrenches"):
        with pytest.raises(RobotError, match=rf"{quantity}: {decided}"):
            robot.compile(quantity)
    with pytest.raises(
        RobotError, match=r"forward_kinematics: robot 'delta' has 3 degrees of freedom, of which its motors decide 2"
    ):
        robot.forward_kinematics([0.5, 0.5])
    q = robot.inverse_kinematics([0.05, 0.02, -0.55]).q
    assert robot.singularity(q).motors == 0.0
    rows = robot.actuation_matrix(q)
    np.testing.assert_allclose(rows, delta.actuation_matrix(q)[[0, 2]], rtol=1e-13)
    speed, tau = np.array([0.3, -0.2, 0.5]), np.array([0.7, -0.4])
    expected = delta.forward_dynamics(q, speed, [tau[0], 0.0, tau[1]])
    np.testing.assert_allclose(robot.forward_dynamics(q, speed, tau), expected, rtol=1e-11)
    force = robot.generalized_force(q, speed, expected)
    np.testing.assert_allclose(force, rows.T @ tau, atol=1e-12)


def test_legs_that_hold_the_platform_still():
    """Slides of a hexapod locked at their lengths."""
    robot = machine("gough_stewart")
    q, joints, reference = np.array(robot.reference), [], list(robot.reference[:7])
    lengths = dict(zip([joint.name for joint in robot.moving_joints[1:]], q[7:], strict=True))
    for joint in robot.joints:
        if joint.kind == "prismatic":
            length = Transform(translation=(0, 0, lengths[joint.name]))
            joint = dataclasses.replace(joint, kind="fixed", placement=length)
        elif joint.name != "platform":
            reference.append(lengths[joint.name])
            joint = dataclasses.replace(joint, role="driven" if "swing" in joint.name else "passive")
        joints.append(joint)
    still = robot.replace(joints=joints, reference=reference, independent=None)
    assert still.mobility.freedoms == still.nv == 0
    for quantity in ("inverse_dynamics", "forward_dynamics", "platform_jacobian", "mass_matrix", "singularity"):
        with pytest.raises(
            RobotError, match="robot 'gough_stewart' has no degree of freedom: its loops hold every joint"
        ):
            still.compile(quantity)
    with pytest.raises(RobotError, match=r"robot 'gough_stewart' has 0 degrees of freedom; platform have 6 velocities"):
        robot.replace(joints=joints, reference=reference)


@functools.cache
def swaying():
    """Four joints to a spherical joint: seven freedoms, which the platform's velocities do not decide."""
    pose = (0.25, 0.433, 1.0, 0, 0, 0, 1)
    guesses = hexapod_position(_BASE, _PLATE, pose)[7:].reshape(6, 3)
    legs = [
        dataclasses.replace(each, reference=guess)
        for each, guess in zip(hexapod_legs(_BASE, _PLATE, np.random.default_rng(2)), guesses, strict=True)
    ]
    chain = legs[0].chain
    longer = chain.replace(
        links=[*chain.links, Link.from_com("wrist", mass=0.1, inertia=(1e-3, 1e-3, 1e-3))],
        joints=[*chain.joints, Joint("wrist", "revolute", "rod", "wrist", axis=(1, 0, 0))],
        frames=[Frame("hand", "wrist", Transform(translation=(0, 0, 0.2)))],
    )
    more = Leg("leg1", longer, "hand", "spherical", legs[0].attachment, (*legs[0].reference, 0.3))
    return parallel_robot("swaying", PLATE, [more, *legs[1:]], reference=pose)


def test_legs_that_move_while_the_platform_stands():
    robot = swaying()
    assert (robot.nv, robot.nu, robot.independent) == (7, 7, None)
    assert robot.mobility.independent == robot.active_names  # its motors, the wrist among them
    with pytest.raises(
        RobotError, match=r"robot 'swaying' has 7 degrees of freedom, but the joints \(platform\) decide 6 of them"
    ):
        robot.with_independent("platform")


@pytest.mark.slow
def test_dynamics_of_legs_that_move_while_the_platform_stands():
    robot = swaying()
    q = np.array(robot.mobility.reference)
    qd, qdd = np.random.default_rng(0).uniform(-1, 1, (2, 7))
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, atol=1e-10)
    both = robot.with_independent("platform", "leg1.wrist")
    rates, accelerations = robot.tree_motion(q, qd, qdd)
    names = [joint.name for joint in robot.tree.moving_joints for _ in range(joint.nv)]
    own = [*range(6), names.index("leg1.wrist")]
    np.testing.assert_allclose(both.inverse_dynamics(q, rates[own], accelerations[own]), tau, atol=1e-10)


def test_a_reference_out_of_reach():
    pose = (0, 0, 1, 0, 0, 0, 1)
    robot = parallel_robot("robot", PLATE, hexapod_legs(_BASE, _PLATE), reference=pose)
    assert robot.mobility.freedoms == 6  # slides are as long as it takes
    delta = machine("delta")
    far = [
        dataclasses.replace(frame, placement=frame.placement @ Transform(translation=(5, 0, 0)))
        if frame.link == "platform"
        else frame
        for frame in delta.frames
    ]
    with pytest.raises(RobotError, match=r"robot 'delta': its loops cannot be closed from its reference; 'leg"):
        delta.replace(frames=far)


# ---- poses and states ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pose", "kind", "message"),
    [
        ([0, 0, -0.52, 0], InputError, r"expected pose with last axis 3 \(x, y, z\), got shape \(4,\)"),
        (3.0, InputError, r"expected pose with last axis 3 .*, got shape \(\)"),
        ("here", InputError, r"pose must be real numbers, got values of type <U4"),
        ([0, 0, np.nan], InputError, r"must be finite"),
        ([0, 0, -3.0], RobotError, r"robot 'delta': its loops cannot be closed at this position"),
    ],
)
def test_poses_that_cannot_be(pose, kind, message):
    with pytest.raises(kind, match=message):
        machine("delta").inverse_kinematics(pose)


@pytest.mark.parametrize(
    ("pose", "message"),
    [
        ([0, 0, 1, 0, 0, 0], r"expected pose with last axis 7 \(x, y, z, qx, qy, qz, qw\), got shape \(6,\)"),
        ([0, 0, 1, 0, 0, 0, 2], r"the quaternion of the pose has the length 2 instead of 1"),
        ([0, 0, 1, 0, 0, 0, 0], r"the quaternion of the pose has the length 0 instead of 1"),
    ],
)
def test_poses_of_a_free_platform_that_cannot_be(pose, message):
    with pytest.raises(InputError, match=message):
        machine("gough_stewart").inverse_kinematics(pose)


def test_a_turn_that_the_legs_do_not_allow():
    """Of a Delta whose platform only its legs hold."""
    robot = unguided(machine("delta"))
    assert robot.inverse_kinematics([0.05, 0, -0.52, 0, 0, 0, 1]).closed
    with pytest.raises(RobotError, match=r"robot 'delta': its loops cannot be closed at this position"):
        robot.inverse_kinematics([0, 0, -0.52, 0, 0, np.sin(0.1), np.cos(0.1)])


@pytest.mark.filterwarnings("ignore:robot 'delta'. its loops cannot be closed in 3 of 5 rows")
def test_poses_of_a_batch_are_marked():
    robot = unguided(machine("delta"))
    poses = np.tile(place(robot, robot.reference), (5, 1))
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


def test_positions_of_a_batch_are_marked():
    robot = machine("delta")
    poses = np.tile(place(robot, robot.reference), (4, 1))
    poses[2, 2] = -3.0
    with pytest.warns(RuntimeWarning, match=r"robot 'delta': its loops cannot be closed in 1 of 4 rows: 2; there q is"):
        found = robot.inverse_kinematics(poses)
    np.testing.assert_array_equal(found.closed, [True, True, False, True])
    np.testing.assert_array_equal(np.isnan(found.q).all(axis=-1), ~found.closed)


def test_motors_that_cannot_be():
    robot = machine("planar_3rrr")
    with pytest.raises(InputError, match=r"expected q_active with last axis 3.*leg1.motor, leg2.motor, leg3.motor"):
        robot.forward_kinematics([0.1, 0.2])
    folded = np.array(robot.mobility.reference)[[3, 5, 7]] + np.pi  # all cranks outward
    with pytest.raises(RobotError, match="'planar_3rrr': its loops cannot be closed at this position"):
        robot.forward_kinematics(folded)
    with pytest.raises(InputError, match="guess"):
        robot.forward_kinematics([0.1, 0.2, 0.3], guess=np.zeros(4))


def test_robots_without_a_platform():
    for name in ("five_bar", "two_link"):
        message = rf"forward_kinematics: robot '{name}' has no platform on legs; neuler.parallel_robot"
        with pytest.raises(InputError, match=message):
            robots.get(name).forward_kinematics([0.1, 0.2])


def test_states_of_wrong_shape():
    robot = machine("delta")
    q = np.array(robot.mobility.reference)
    for arrays, message in (
        ((q, STILL), r"takes 3 arrays \(q, qd, qdd\), got 2"),
        ((q[:3], STILL, STILL), r"expected q with last axis 12"),
        ((q, np.zeros(6), STILL), r"expected qd with last axis 3.*, got shape \(6,\)"),
        ((q, STILL, np.zeros((2, 3)), 1), r"takes 3 arrays"),
        ((np.tile(q, (3, 1)), np.zeros((2, 3)), STILL), r"the batch axes do not broadcast"),
        ((q, "fast", STILL), r"qd must be real numbers"),
    ):
        with pytest.raises(InputError, match=message):
            robot.inverse_dynamics(*arrays)
    with pytest.raises(InputError, match=r"there is no quantity 'cartesian_force'; .*there are: inverse_dynamics"):
        robot.compile("cartesian_force")
    with pytest.raises(InputError, match="unknown option 'method'"):
        robot.compile("inverse_dynamics", method="fast")


def test_legs_that_are_open():
    """A platform that is not where its legs are: NaN, and the warning says so."""
    robot = machine("delta")
    q = np.tile(robot.mobility.reference, (3, 1))
    q[1, 0] += 0.01
    with pytest.warns(
        RuntimeWarning, match=r"inverse_dynamics of 'delta': the loops are open at this q.* in 1 of 3 rows: 1"
    ):
        found = robot.inverse_dynamics(q, STILL, STILL)
    np.testing.assert_array_equal(np.isnan(found).all(axis=-1), [False, True, False])


def test_a_quaternion_that_is_no_rotation():
    robot, still = machine("gough_stewart"), np.zeros(6)
    q = np.tile(robot.mobility.reference, (3, 1))
    q[1, 3:7] *= 2
    well = robot.inverse_dynamics(q[0], still, still)
    with pytest.warns(RuntimeWarning, match=r"a quaternion in q has not the length 1 in 1 of 3 rows: 1"):
        found = robot.inverse_dynamics(q, still, still)
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[[0, 2]], [well, well])
    q[1, 3:7] *= (1 + 1e-6) / 2  # rounding of its length is taken out
    np.testing.assert_allclose(robot.inverse_dynamics(q[1], still, still), well, rtol=1e-12)


# ---- names and copies ----------------------------------------------------------------------------------------


def test_links_of_a_leg_may_have_any_name():
    """A leg whose links are called end, seat and platform, and whose base has a mass."""
    robot = machine("planar_3rrr")
    assert planar_of_legs() == robot
    other = planar_of_legs(Link("ground", 5.0), ("seat", "platform", "ground"))
    q = np.array(robot.mobility.reference)
    qd, qdd = np.random.default_rng(0).uniform(-1, 1, (2, 3))
    np.testing.assert_allclose(other.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), rtol=1e-13)
    assert other.active_names == ("leg1.ground", "leg2.ground", "leg3.ground")
    assert "leg1.end" in other.frame_names
    assert other.mass == pytest.approx(robot.mass + 15.0)


def test_what_a_parallel_robot_is_made_of():
    robot = machine("delta")
    assert robot.loops[0] == Loop("leg1", "universal", "leg1.end", "platform.leg1")
    assert [frame.name for frame in robot.frames[:2]] == ["leg1.end", "platform.leg1"]
    assert robot.joint_names[:4] == ("platform", "leg1.motor", "leg1.knee", "leg1.sway")
    assert robot.joints[0].kind == "translation"
    assert robot.tree.loops == ()
    assert by_motors(robot).with_independent("platform") == robot
    assert machine("planar_3rrr").joints[0].kind == "planar"
    assert machine("gough_stewart").joints[0].kind == "free"


@pytest.mark.parametrize("name", ["delta", "gough_stewart"])
def test_pickling(name):
    robot = robots.get(name)
    q, still = np.array(robot.mobility.reference), np.zeros(robot.nv)
    tau = robot.inverse_dynamics(q, still, still)
    for other in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot)):
        assert other == robot
        assert hash(other) == hash(robot)
        assert other.content_hash == robot.content_hash
        np.testing.assert_array_equal(other.inverse_dynamics(q, still, still), tau)
    kernel = pickle.loads(pickle.dumps(robot.inverse_dynamics))
    np.testing.assert_array_equal(kernel(q, still, still), tau)
    assert robot.with_gravity((0, 0, 1)).content_hash != robot.content_hash
    assert robot != robot.with_gravity((0, 0, 1))
    assert robot != by_motors(robot)


# ---- stacks --------------------------------------------------------------------------------------------------


def test_stacks_that_cannot_be():
    delta = machine("delta")
    two = [("low", delta), ("high", delta)]
    for modules, mounts, message in (
        ([("low", delta)], (), r"stack 'arm': needs two modules or more, got 1"),
        ([], (), r"stack 'arm': needs two modules or more, got 0"),
        ([("a", delta), ("a", delta)], (), r"stack 'arm': two modules are named 'a'"),
        ([("a", delta), ("", delta)], (), r"stack 'arm': a module needs a name, got ''"),
        ([("a", delta), ("b", "sr400")], (), r"stack 'arm': module 'b' must be a Robot, got str"),
        ([("a", robots.sr400()), ("b", delta)], (), r"stack 'arm': module 'a' has no link 'platform' for the next one"),
        ([delta, delta], (), r"stack 'arm': its modules must be pairs of a name and a Robot"),
        (7, (), r"stack 'arm': its modules must be pairs"),
        (two, [Transform()] * 2, r"stack 'arm': mounts must be 1 Transforms, one for each module after the first"),
        (two, [(0, 0, 1)], r"stack 'arm': mounts must be 1 Transforms"),
    ):
        with pytest.raises(RobotError, match=message):
            neuler.stack("arm", modules, mounts)
