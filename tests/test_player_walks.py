"""Pages of motions on the ground: bodies, forces on feet, footprints, laps and curves are those of the motion."""

import base64
import dataclasses
import functools
import json

import numpy as np
import pytest

import neuler
import walking_motions as walking
from neuler import InputError, RobotError, gait, plan
from neuler.moments.contact import FLOOR
from neuler.motions.feet import feet_of, footing_of
from neuler.robots.humans.body import DENSITY, TAPERS, limbs
from neuler.view import Limb
from neuler.view.charts import Chart
from neuler.view.limbs import ball_centres, hull, outline
from neuler.view.player import player
from shown_robots import HOSTILE
from test_player import Page, ask, matrices, parts, swing, with_node

SINGLE = 3e-6
"""Rounding of single precision, of a few metres and body weights; corners of footprints are to 1e-4 m."""


@functools.cache
def loads(seconds=walking.STRIDE):
    """Of the synthetic walk from a heel strike, at 200 Hz."""
    found = walking.walk(seconds, 200.0)
    return gait.ground_loads(walking.human(), found.t, found.q, found.qd, found.qdd, touching=found.touching)


@functools.cache
def page():
    return loads().motion().player().content


def data():
    return parts(page())[0]


# ---- what the page shows is the motion's ----------------------------------------------------------------------------


def stored():
    """Times that the page holds."""
    return np.frombuffer(_bytes(data()["runs"][0]["times"]))


def _bytes(text):
    return base64.b64decode(text)


@with_node
def test_forces_and_pressures_are_those_of_the_motion(tmp_path):
    """Forces are sums over frames of a foot; about the centre of pressure they have no moment along the ground."""
    known, times = loads(), stored()[[3, 37, 60, 90]]
    motion, robot = known.motion(), known.robot
    shown = data()["ground"]
    assert [foot["name"] for foot in shown["feet"]] == ["right foot", "left foot"]
    assert shown["weight"] == pytest.approx(known.weight)
    for time, each in zip(times, ask(tmp_path, page(), *({"what": "ground", "time": t} for t in times)), strict=True):
        poses, wrenches = np.asarray(robot.link_poses(motion.at(time).q)), motion.contact_loads(time)
        force, moment = np.zeros((2, 3)), np.zeros((2, 3))
        for frame, wrench in wrenches.items():
            link, placed = robot.locate(frame)
            foot, origin = int(frame.startswith("l_")), (poses[link] @ placed.matrix)[:3, 3]
            force[foot] += wrench[:3]
            moment[foot] += wrench[3:] + np.cross(origin, wrench[:3])
        for foot in range(2):
            carries = force[foot, 2] > 0.02 * known.weight
            np.testing.assert_allclose(each["forces"][foot], carries * force[foot] / known.weight, atol=SINGLE)
            if carries:
                about = moment[foot] - np.cross(each["points"][foot], force[foot])
                np.testing.assert_allclose(about[:2] / known.weight, 0.0, atol=SINGLE)
        about = moment.sum(axis=0) - np.cross(each["zmp"], force.sum(axis=0))
        np.testing.assert_allclose(about[:2] / known.weight, 0.0, atol=SINGLE)


def test_footing_is_that_of_the_loads():
    known = loads()
    found = footing_of(known.robot, known.q, known.loads, FLOOR)
    np.testing.assert_allclose(found.force, known.foot_force, atol=1e-9 * known.weight)
    both = np.isfinite(found.pressure) & np.isfinite(known.center_of_pressure)
    assert both.mean() > 0.5
    np.testing.assert_allclose(found.pressure[both], known.center_of_pressure[both], atol=1e-9)
    np.testing.assert_allclose(found.zero_moment_point, known.zero_moment_point, atol=1e-9)


@with_node
def test_limbs_stand_where_the_robot_has_them(tmp_path):
    robot, time = walking.human(), stored()[51]
    (found,) = ask(tmp_path, page(), {"what": "balls", "time": time})
    poses = np.asarray(robot.link_poses(loads().motion().at(time).q))
    assert [limb["colour"] for limb in data()["limbs"]] == [limb.colour for limb in limbs(robot)]
    for limb, balls, kept in zip(limbs(robot), found, data()["limbs"], strict=True):
        np.testing.assert_allclose(balls, ball_centres(robot, poses, limb), atol=1e-5)
        np.testing.assert_allclose([ball[4] for ball in kept["balls"]], [b.radius for b in limb.balls], atol=6e-6)


@with_node
def test_curves_are_those_of_the_motion(tmp_path):
    known, time = loads(), stored()[33]
    (found,) = ask(tmp_path, page(), {"what": "curves", "time": time})
    q, wrenches = known.motion().at(time).q, known.motion().contact_loads(time)
    names = [f"{side}_{joint}_flexion" for joint in ("hip", "knee", "ankle") for side in "rl"]
    angles = [np.degrees(q[known.robot.coordinates[name].q.start]) for name in names]
    up = [sum(x[2] for frame, x in wrenches.items() if frame.startswith(side)) / known.weight for side in "rl"]
    np.testing.assert_allclose(found, [*up, *angles], rtol=1e-6, atol=1e-5)


def test_footprints_lie_under_the_centres_of_pressure():
    """On the ground; a foot that stands at the end of a stride goes on standing in the next one: one print each."""
    known, shown = loads(), data()["runs"][0]
    assert len(shown["prints"]) == 2
    for one in shown["prints"]:
        corners = np.array(one["corners"])
        np.testing.assert_allclose(corners[:, 2], 0.0, atol=1e-9)
        length = np.ptp(corners[:, 0])
        assert length == pytest.approx(walking.person().lengths["foot"], abs=0.01)
        now = (known.t >= one["from"]) & (known.t <= one["to"]) & known.touching[:, one["foot"]]
        middle = np.nanmean(known.center_of_pressure[now, one["foot"]], axis=0)
        assert (corners[:, :2].min(axis=0) < middle[:2] + 0.01).all()  # a heel still glides where its contact begins
        assert (corners[:, :2].max(axis=0) > middle[:2] - 0.01).all()
    right, left = sorted(shown["prints"], key=lambda one: one["foot"])
    assert right["to"] < left["to"]
    assert left["to"] > known.t[-1]


# ---- laps -----------------------------------------------------------------------------------------------------------


@with_node
def test_a_stride_goes_on_ahead(tmp_path):
    shown = data()["runs"][0]
    np.testing.assert_allclose(shown["shift"], [2 * walking.STEP, 0.0, 0.0], atol=2e-6)
    end = loads().t[-1]
    first, third, before, after, ground, later = ask(
        tmp_path, page(), {"what": "poses", "time": 0.2}, {"what": "poses", "time": 0.2 + 2 * end},
        {"what": "poses", "time": end - 1e-9}, {"what": "poses", "time": end + 1e-9},
        {"what": "ground", "time": 0.2}, {"what": "ground", "time": 0.2 + 2 * end},
    )  # fmt: skip
    moved = 2 * np.array(shown["shift"])
    way = matrices(third)[:, :, 3] - matrices(first)[:, :, 3]
    np.testing.assert_allclose(way, np.broadcast_to(moved, way.shape), atol=1e-12)
    np.testing.assert_allclose(matrices(third)[:, :, :3], matrices(first)[:, :, :3], atol=1e-9)
    heavy = slice(1, None)  # the first body is the world, which is not drawn
    np.testing.assert_allclose(matrices(before)[heavy], matrices(after)[heavy], atol=1e-5)
    np.testing.assert_allclose(np.subtract(later["zmp"], ground["zmp"]), moved, atol=1e-9)
    np.testing.assert_allclose(later["forces"], ground["forces"], atol=1e-9)


def test_a_step_is_followed_by_its_mirror_image():
    """The synthetic walk is symmetric: what follows a step is what the walk itself does."""
    known = loads()
    step = loads(walking.PERIOD).motion()
    shown, _ = parts(step.player().content)
    whole, _ = parts(page())
    run, other = shown["runs"][0], whole["runs"][0]
    np.testing.assert_allclose(run["shift"], other["shift"], atol=1e-5)
    angles = {name: k for k, (name, _) in enumerate(shown["coordinates"])}
    q = np.frombuffer(_bytes(run["q"]), "<f4").reshape(-1, len(angles))
    times = np.frombuffer(_bytes(run["times"]))
    assert times[-1] == pytest.approx(walking.STRIDE)
    for name in ("pelvis_x", "r_knee_flexion", "l_hip_flexion"):
        np.testing.assert_allclose(q[:, angles[name]], np.interp(times, known.t, known.q[:, angles[name]]), atol=2e-3)


def test_what_does_not_end_as_it_began_has_no_laps():
    part = loads(0.7 * walking.PERIOD).motion()
    shown, _ = parts(part.player().content)
    assert shown["runs"][0]["shift"] is None
    assert shown["ground"] is not None


def test_a_plan_with_contacts_shows_its_forces(tmp_path):
    """Of a robot that is no human: arrows on the links that stand, no limbs, no angles."""
    links = [
        neuler.Link("world"),
        *(neuler.Link.from_com(name, mass=2.0, com=(0, 0, 0.2)) for name in ("foot", "body")),
    ]
    up = {"axis": (0, 0, 1), "placement": neuler.Transform()}
    joints = [
        neuler.Joint("lift", "prismatic", "world", "foot", role="passive", **up),
        neuler.Joint("leg", "prismatic", "foot", "body", **up),
    ]
    hopper = neuler.Robot("hopper", links, joints)
    sole = [plan.Contact("foot", [(0.0, 0.0, 0.0)])]
    still = plan.Plan(
        hopper, plan.acceleration_effort(), start=[0.0, 0.0], goal=[0.0, 0.1], duration=0.5, contacts=sole
    )
    found = still.solve(guesses=1)
    found.page(tmp_path / "plan.html")
    shown, _ = parts((tmp_path / "plan.html").read_text(encoding="utf-8"))
    assert [foot["name"] for foot in shown["ground"]["feet"]] == ["foot"]
    assert shown["limbs"] == []
    assert [chart["title"] for chart in shown["charts"]] == ["vertical force"]


def test_frames_of_one_foot_belong_together():
    assert feet_of(walking.human(), ("r_toes", "l_heel", "r_ball", "l_tip")) == {
        "r_foot": ("r_toes", "r_ball"), "l_foot": ("l_heel", "l_tip"),
    }  # fmt: skip


# ---- painting -------------------------------------------------------------------------------------------------------


@with_node
@pytest.mark.parametrize("bones", [False, True])
def test_every_moment_is_painted_with_numbers(tmp_path, bones):
    shows = {"follow": True, "pushes": True, "steps": True, "bones": bones, "names": True, "masses": True}
    asked = [{"what": "paint", "time": x, "shows": shows} for x in (0.0, 0.31, 1.1, 4.7)]
    for calls in ask(tmp_path, page(), *asked, {"what": "chart", "time": 0.4, "width": 300, "height": 100}):
        assert len(calls) > 50
        numbers = [x for call in calls for x in call[1:] if not isinstance(x, str)]
        assert all(isinstance(x, int | float) for x in numbers)  # JSON has null for what is not finite


@with_node
def test_arrows_end_where_the_force_points_to(tmp_path):
    """From the centre of pressure, as seen, to the force times the scale that the page states."""
    time = float(loads().t[40])
    (ground,) = ask(tmp_path, page(), {"what": "ground", "time": time})
    scale = data()["ground"]["scale"]
    assert scale == 1.0
    assert "1 m for one body weight (735.8 N)" in page()
    start = np.array(ground["points"][0])
    ends = [start.tolist(), (start + scale * np.array(ground["forces"][0])).tolist()]
    calls, seen = ask(
        tmp_path, page(), {"what": "paint", "time": time, "shows": {"pushes": True}}, {"what": "see", "points": ends}
    )
    lines = np.array([call[1:3] for call in calls if call[0] in ("moveTo", "lineTo")])
    for point in seen:
        assert np.abs(lines - [point["x"], point["y"]]).max(axis=1).min() < 0.01


@with_node
def test_both_hulls_are_the_same(tmp_path):
    points = np.random.default_rng(3).normal(size=(60, 2))
    (found,) = ask(tmp_path, page(), {"what": "hull", "points": points.tolist()})
    np.testing.assert_allclose(found, hull(points))
    edges = np.roll(hull(points), -1, axis=0) - hull(points)
    for point in points:
        away = point - hull(points)
        assert (edges[:, 0] * away[:, 1] - edges[:, 1] * away[:, 0] > -1e-12).all()


def test_outline_of_a_capsule():
    found = outline(np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([1.0, 0.5]))
    assert found[:, 0].min() == pytest.approx(-1.0)
    assert found[:, 0].max() == pytest.approx(3.5)
    assert found[:, 1].max() == pytest.approx(1.0)


# ---- bodies ---------------------------------------------------------------------------------------------------------


def test_limbs_have_the_volume_of_their_mass():
    person = walking.person()
    by_frame = {limb.balls[0].frame: limb for limb in limbs(walking.human())}
    for name in TAPERS:
        a, b = (ball.radius for ball in by_frame[f"r_{name}"].balls)
        volume = np.pi / 3 * person.lengths[name] * (a * a + a * b + b * b)
        assert volume == pytest.approx(person.masses[name] / DENSITY, rel=1e-9)
    heavy = limbs(neuler.robots.human(1.75, 110.0))
    assert all(
        new.balls[0].radius >= old.balls[0].radius for new, old in zip(heavy, limbs(walking.human()), strict=True)
    )


def test_soles_stand_on_the_ground():
    robot = walking.human()
    poses = np.asarray(robot.link_poses(robot.neutral()))
    for limb in limbs(robot):
        lowest = (ball_centres(robot, poses, limb)[:, 2] - [ball.radius for ball in limb.balls]).min()
        assert lowest == pytest.approx(0.0, abs=1e-9) if limb.sole else lowest > 0.0


def test_limbs_of_a_human_with_fixed_joints_are_the_same():
    robot = walking.human()
    bent = robot.with_fixed({"r_elbow_flexion": 1.0, "l_toe_extension": 0.3})
    for one, other in zip(limbs(robot), limbs(bent), strict=True):
        assert [ball.radius for ball in one.balls] == pytest.approx([ball.radius for ball in other.balls])


def test_limbs_that_are_given():
    robot = neuler.robots.two_link()
    t, q = swing(robot)
    shown, _ = parts(player(robot, t, q, limbs=[Limb([("link1", 0.1), ("link2", 0.05)], "#aa0000")]))
    assert shown["limbs"][0]["colour"] == "#aa0000"
    assert [ball[4] for ball in shown["limbs"][0]["balls"]] == [0.1, 0.05]
    for made, expected in (
        (lambda: Limb([]), "one ball or more"),
        (lambda: Limb([("a", -1.0)]), "radius"),
        (lambda: Limb([("a", 1.0)], "red;}"), "colour"),
        (lambda: Limb([3]), "tuples"),
        (lambda: Limb([("", 1.0)]), "name of a link"),
    ):
        with pytest.raises(RobotError, match=expected):
            made()
    with pytest.raises(RobotError, match="no link or frame 'lnk'"):
        player(robot, t, q, limbs=[Limb([("lnk", 0.1)])])
    with pytest.raises(InputError, match=r"view\.Limb"):
        player(robot, t, q, limbs=["link1"])


# ---- without contacts -----------------------------------------------------------------------------------------------


@with_node
def test_a_motion_without_contacts_plays_as_before(tmp_path):
    robot = neuler.robots.puma560()
    content = player(robot, *swing(robot))
    shown, _ = parts(content)
    assert (shown["limbs"], shown["ground"], shown["charts"]) == ([], None, [])
    assert shown["runs"][0]["shift"] is None
    for word in ('id="pushes"', 'id="bones"', "body weight", 'class="chart"'):
        assert word not in content
    (calls,) = ask(tmp_path, content, {"what": "paint", "time": 1.0})
    assert sum(call[0] == "stop" for call in calls) > 6  # gradients of rods


def test_a_human_without_contacts_has_limbs_and_no_ground():
    robot = walking.human()
    t, q = np.linspace(0.0, 1.0, 5), np.zeros((5, robot.nq))
    shown, _ = parts(player(robot, t, q))
    assert len(shown["limbs"]) == len(limbs(robot))
    assert shown["ground"] is None
    rods, _ = parts(player(robot, t, q, limbs=()))
    assert rods["limbs"] == []


# ---- what comes in --------------------------------------------------------------------------------------------------


def test_hostile_names_are_text():
    names = ["</script><script>alert(1)</script>", '" onload="alert(1)']
    robot = neuler.robots.two_link()
    t, q = swing(robot)
    known = footing_of(robot, q, {"link1": np.ones((len(t), 6)), "link2": np.ones((len(t), 6))}, FLOOR)
    footing = dataclasses.replace(known, labels=(names[0],) * len(known.feet))
    chart = Chart(names[0], names[1], {HOSTILE: np.zeros(len(t))})
    found = Page(player(robot, t, q, footing=footing, charts=[chart], title=HOSTILE))
    assert found.tags.count("script") == 2
    assert "alert(1)" not in found.scripts[1]
    assert not any(name.startswith("on") or name in ("src", "href") for _, name, _ in found.attributes)
    assert json.loads(found.scripts[0])["charts"][0]["title"] == names[0]


def test_what_is_refused():
    robot = neuler.robots.two_link()
    t, q = swing(robot)
    with pytest.raises(InputError, match="one run"):
        player(robot, t, np.stack([q, q]), shift=(1.0, 0.0, 0.0))
    with pytest.raises(InputError, match="101 rows"):
        player(robot, t, q, charts=[Chart("a", "", {"b": np.zeros(3)})])
    with pytest.raises(InputError, match="shift"):
        player(robot, t, q, shift=(1.0, 0.0))


@pytest.mark.slow
def test_a_page_stays_small(tmp_path):
    pytest.importorskip("matplotlib")
    loads().motion().page(tmp_path / "walk.html")
    assert (tmp_path / "walk.html").stat().st_size < 1_000_000
