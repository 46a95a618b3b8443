"""Forces of contacts at one moment: against Newton's and Euler's laws of the whole, Pinocchio, our own recursion."""

import numpy as np
import pytest

from legged_robots import (
    ANKLE,
    SHANK,
    SIDES,
    SOLE,
    THIGH,
    biped,
    hopper,
    sole,
    spatial_biped,
    standing,
    tip,
)
from neuler import plan
from neuler.moments.contact import FREE, LINE, Contact
from neuler.moments.moving_robot import MovingRobot
from neuler.moments.support import random_positions, support_of
from neuler.moments.tracing import function_of

COUNT = 5


def feet(*sides):
    return [Contact(f"{side}_foot", SOLE, name=side) for side in sides]


CASES = {
    "one foot": lambda: (biped(), [sole("right")], LINE),
    "two feet": lambda: (biped(wide=0.1), [sole("right"), sole("left")], LINE),
    "by time": lambda: (biped(), [sole("right"), sole("left")], lambda moment: [1.0 - moment.share, moment.share]),
    "by profiles": lambda: (biped(), [sole("right"), sole("left")], FREE),
    "a point": lambda: (hopper(), [tip()], LINE),
    "a point that turns": lambda: (hopper(turns=True), [tip()], LINE),
    "in space": lambda: (spatial_biped(), feet("right", "left"), LINE),
    "in space, by profiles": lambda: (spatial_biped(), feet("right", "left"), FREE),
}


class AtMoments:
    """A robot with contacts at random states, and functions of a moment there."""

    def __init__(self, name):
        robot, contacts, split = CASES[name]()
        self.robot = robot
        self.support = support_of(robot, contacts, split)
        neutral = np.asarray(robot.neutral(), dtype=float)
        self.model = MovingRobot(robot, robot, neutral, support=self.support)
        random = np.random.default_rng(2)
        size = (COUNT, self.model.profile_count)
        profiles = np.array([self.model.profiles_at(q) for q in random_positions(robot, COUNT, 7)])
        self.given = {"c0": profiles, "c1": random.normal(size=size), "c2": 4.0 * random.normal(size=size)}
        self.given |= {"c3": random.normal(size=size), "T": np.ones(COUNT), "share": np.full(COUNT, 0.3)}
        forces = self.model.force_count
        self.given |= {f"f{k}": random.normal(size=(COUNT, forces)) for k in range(3)}
        self.q, self.qd, self.qdd = self.of(lambda moment: moment.q), self.of(lambda m: m.qd), self.of(lambda m: m.qdd)

    def of(self, rows):
        function = function_of(self.model, "rows", rows)
        return np.asarray(function(**{each.name: self.given[each.name] for each in function.inputs}))

    @property
    def loads(self):
        flat = self.of(lambda moment: np.concatenate(moment.contact_loads))
        return dict(zip(self.support.frames, np.split(flat, len(self.support.frames), axis=1), strict=True))

    @property
    def origins(self):
        return {
            frame: np.asarray(self.robot.compile("link_poses", frame=frame)(self.q))[:, :3, 3]
            for frame in self.support.frames
        }


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_asked_of_the_base(name):
    case = AtMoments(name)
    tau = case.of(lambda moment: moment.all_tau)
    assert np.abs(tau[:, list(case.support.root.forces)]).max() < 1e-9
    again = case.robot.inverse_dynamics(case.q, case.qd, case.qdd, loads=case.loads)
    np.testing.assert_allclose(tau, again, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_sum_is_the_rate_of_momentum_of_the_whole(name):
    """Newton and Euler for all links together, about the centre of mass; what guides carry is left out."""
    case = AtMoments(name)
    robot, root = case.robot, case.support.root
    wrench = np.asarray(robot.centroidal_momentum_rate(case.q, case.qd, case.qdd))
    center = np.asarray(robot.center_of_mass(case.q))
    weight = robot.mass * np.array(robot.gravity)
    force = sum(case.loads[frame][:, :3] for frame in case.support.frames)
    moment = sum(
        case.loads[frame][:, 3:] + np.cross(case.origins[frame] - center, case.loads[frame][:, :3])
        for frame in case.support.frames
    )
    linear, angular = wrench[:, :3], wrench[:, 3:]
    np.testing.assert_allclose(force @ root.translations, (linear - weight) @ root.translations, rtol=1e-9, atol=1e-8)
    if root.turns:
        np.testing.assert_allclose(moment @ root.rotations, angular @ root.rotations, rtol=1e-9, atol=1e-8)


def test_pinocchio_has_the_same_torques():
    pin = pytest.importorskip("pinocchio")
    from pinocchio_model import columns, from_robot, positions

    for name in ("one foot", "two feet", "by profiles"):
        case = AtMoments(name)
        model = from_robot(case.robot)
        data, order = model.createData(), columns(case.robot, model)
        theirs_q = positions(case.robot, model, case.q)
        ours = case.of(lambda moment: moment.all_tau)
        for k in range(COUNT):
            v, a = np.zeros(model.nv), np.zeros(model.nv)
            v[order], a[order] = case.qd[k], case.qdd[k]
            pin.forwardKinematics(model, data, theirs_q[k])
            pin.updateFramePlacements(model, data)
            outside = [pin.Force.Zero() for _ in range(model.njoints)]
            for frame, load in case.loads.items():
                number = model.getFrameId(frame)
                joint, pose = model.frames[number].parentJoint, data.oMf[number]
                world = pin.Force(load[k, :3], load[k, 3:] + np.cross(pose.translation, load[k, :3]))
                outside[joint] += data.oMi[joint].actInv(world)
            tau = pin.rnea(model, data, theirs_q[k], v, a, pin.StdVec_Force(outside))[order]
            np.testing.assert_allclose(ours[k], tau, rtol=1e-9, atol=1e-9)


def test_what_a_robot_carries_is_carried_by_the_ground():
    robot = biped()
    carried = plan.Payload("trunk", 7.0, (0.1, 0.0, 0.4), (0.1, 0.1, 0.1))
    support = support_of(robot, [sole("right"), sole("left")], LINE)
    model = MovingRobot(robot, robot, standing(robot), payloads=(carried,), support=support)
    random = np.random.default_rng(3)
    q, qd, qdd = standing(robot) + 0.1 * random.normal(size=9), random.normal(size=9), random.normal(size=9)
    function = function_of(model, "rows", lambda m: np.concatenate([m.all_tau, *m.contact_loads]))
    given = {"c0": q, "c1": qd, "c2": qdd, "T": 1.0, "share": 0.0, "payload": model.payload_numbers}
    flat = np.asarray(function(**{each.name: given[each.name] for each in function.inputs}))
    assert np.abs(flat[:3]).max() < 1e-9
    heavy = robot.with_payload("trunk", 7.0, (0.1, 0.0, 0.4), (0.1, 0.1, 0.1))
    loads = {"right_foot": flat[9:15], "left_foot": flat[15:]}
    np.testing.assert_allclose(flat[:9], heavy.inverse_dynamics(q, qd, qdd, loads=loads), atol=1e-9)


def test_zero_moment_point_of_a_robot_that_stands_is_below_its_centre_of_mass():
    robot = biped()
    model = MovingRobot(robot, robot, standing(robot), support=support_of(robot, [sole("right")], LINE))
    function = function_of(model, "zmp", lambda m: np.concatenate([m.ground.zero_moment_point, m.ground.force]))
    still = np.zeros(robot.nv)
    given = {"c0": standing(robot), "c1": still, "c2": still, "T": 1.0, "share": 0.0}
    found = function(**{each.name: given[each.name] for each in function.inputs})
    center = np.asarray(robot.center_of_mass(standing(robot)))
    np.testing.assert_allclose(found, [center[0], 0, 0, 0, 0, robot.mass * 9.81], atol=1e-9)


def test_two_feet_share_by_the_line_between_their_centres():
    """On the ground each foot's centre of pressure is its own centre, and the levers cancel by themselves."""
    robot = biped(wide=0.1)
    q = dict.fromkeys(robot.joint_names, 0.0) | {"z": ANKLE + (THIGH + SHANK) * np.cos(0.25)}
    q |= {"right_hip": -0.25, "right_ankle": 0.25, "left_hip": 0.25, "left_ankle": -0.25}
    support = support_of(robot, [sole("right"), sole("left")], LINE)
    model = MovingRobot(robot, robot, np.asarray(robot.neutral()), support=support)
    function = function_of(
        model,
        "feet",
        lambda m: np.concatenate(
            [*(np.concatenate(w) for w in m.contact_wrenches.values()), m.ground.zero_moment_point, m.ground.force]
        ),
    )
    random = np.random.default_rng(4)
    for _ in range(3):
        given = {"c0": np.array([q[name] for name in robot.joint_names]), "c1": random.normal(size=robot.nv) * 0.3}
        given |= {"c2": random.normal(size=robot.nv), "T": 1.0, "share": 0.0}
        flat = function(**{each.name: given[each.name] for each in function.inputs})
        one, other, zmp, force = flat[:9], flat[9:18], flat[18:21], flat[21:]
        share = one[2] / force[2]
        np.testing.assert_allclose(one[:3], share * force, atol=1e-9)
        np.testing.assert_allclose(one[:3] + other[:3], force, atol=1e-9)
        np.testing.assert_allclose([one[3:6], other[3:6]], 0.0, atol=1e-9)  # no moments about the centres
        np.testing.assert_allclose(share * one[6] + (1.0 - share) * other[6], zmp[0], atol=1e-12)


def test_limits_of_a_contact_in_space_are_those_of_its_polygon_and_cone():
    """Rows of limits are above zero exactly for forces inside the cone and centres of pressure inside the sole."""
    from neuler.plan.contact import contact_limits

    case = AtMoments("in space, by profiles")
    limits = [each for each in contact_limits(case.model) if "left" in each.measure.name]
    names = [each.measure.name.removesuffix(" of left") for each in limits]
    assert names == ["pressure", "friction", "centre of pressure"]
    rows = {name: case.of(each.measure.rows) for name, each in zip(names, limits, strict=True)}
    flat = case.of(lambda m: np.concatenate([m.contact_wrenches["left"].force, m.contact_wrenches["left"].moment]))
    force, moment = flat[:, :3], flat[:, 3:]
    weight = case.support.weight
    np.testing.assert_allclose(rows["pressure"][:, 0] * weight, force[:, 2], rtol=1e-12)
    sideways = np.linalg.norm(force[:, :2], axis=1)
    gripping = (rows["friction"] >= 0).all(axis=1)
    assert np.all(sideways[gripping] <= 0.8 * force[gripping, 2] + 1e-9)  # inside the cone
    surely = sideways <= 0.8 * np.cos(np.pi / 8) * force[:, 2]
    assert gripping[surely].all()
    # about the sole's middle, in the foot's axes: where the moment along the ground vanishes
    poses = np.asarray(case.robot.compile("link_poses", frame="left_foot")(case.q))
    points = np.array(SOLE)
    for k in range(COUNT):
        R = poses[k, :3, :3]
        for row, (point, inwards) in zip(rows["centre of pressure"][k], limits[2].measure.rows.edges, strict=True):
            arm = R @ (points.mean(axis=0) - points[point])
            about = moment[k] + np.cross(arm, force[k])
            np.testing.assert_allclose(row * weight, np.cross([0, 0, 1], about) @ (R @ np.array(inwards)), rtol=1e-9)


def test_torsion_is_the_moment_about_the_normal():
    from neuler.plan.contact import Twisting, contact_limits

    case = AtMoments("in space, by profiles")
    contacts = [Contact("left_foot", SOLE, name="left", torsion=0.05), *feet("right")]
    model = MovingRobot(case.robot, case.robot, case.q[0], support=support_of(case.robot, contacts, FREE))
    (limit,) = [each for each in contact_limits(model) if each.measure.name == "torsion of left"]
    assert limit.measure.rows == Twisting("left", 0.05)
    rows = case.of(limit.measure.rows) * case.support.weight
    wrench = case.of(plan.contact_force("left").rows)
    np.testing.assert_allclose(rows[:, 0] - rows[:, 1], -2.0 * wrench[:, 5], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(rows.sum(axis=1), 0.1 * wrench[:, 2], rtol=1e-9, atol=1e-9)


def test_edges_point_inwards():
    from neuler.moments.support import edges_of

    for name, count in (("one foot", 2), ("in space", 4), ("a point", 0), ("a point that turns", 0)):
        case = AtMoments(name)
        contact = case.support.contacts[0]
        edges = edges_of(case.robot, case.support.root, contact)
        assert len(edges) == count
        for point, inwards in edges:
            assert ((contact.points - contact.points[point]) @ np.array(inwards) >= -1e-12).all()


def test_forces_of_profiles_are_what_the_profiles_say():
    case = AtMoments("by profiles")
    assert case.model.force_count == 3  # x, z and the moment of the left foot; the right one carries the rest
    found = case.of(lambda m: np.concatenate([m.contact_wrenches["left"].force, m.contact_wrenches["left"].moment]))
    np.testing.assert_allclose(found[:, [0, 2, 4]], case.given["f0"] * case.support.weight, rtol=1e-12)


def test_measures_of_the_ground():
    case = AtMoments("two feet")
    force = case.of(plan.ground_force.rows)
    both = sum(case.of(plan.contact_force(side).rows)[:, :3] for side in SIDES)
    np.testing.assert_allclose(force, both, atol=1e-9)
    assert not case.of(lambda m: np.concatenate([plan.contact_force("tail").rows(m), m.q]))[:, :6].any()
