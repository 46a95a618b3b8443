"""Machines with loops, free bases and springs, as they are shown: text, JSON, pictures, test motions, reports."""

import dataclasses
import itertools
import json
import math
import re
import warnings

import numpy as np
import pytest

import neuler
from neuler import Coupling, Joint, Limits, Link, Loop, Mechanism, Robot, Transform
from neuler.cli import main
from neuler.view import draw
from neuler.view.draw_machine import Placed, machine_surroundings
from neuler.view.machine_text import findings, mechanism
from neuler.view.motions import bent_pose, independent_joints, machine_motion, quintic, start_pose
from neuler.view.report import report
from neuler.view.report_machine import motor_forces, sensitivities, tree_velocities
from neuler.view.space import on_paper, plotting
from neuler.view.springs import balance, modes
from test_report import images, self_contained

LOOPS = ("four_bar", "five_bar", "slider_crank", "sr400")
PARALLEL = ("gough_stewart", "delta", "orthoglide", "planar_3rrr")
HOSTILE = "<script>alert(1)</script>"


def at(x, y=0.0, z=0.0):
    return Transform(translation=(x, y, z))


def bar(name):
    return Link.from_com(name, mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.01, 0.01))


def geared():
    """Two hinges and a slide that one motor moves."""
    joints = [
        Joint("lead", "revolute", "base", "a", axis=(0, 1, 0)),
        Joint("half", "revolute", "a", "b", at(0.4), axis=(0, 1, 0), role="passive"),
        Joint("rod", "prismatic", "b", "c", at(0.4), axis=(1, 0, 0), role="passive"),
    ]
    tree = Robot("geared", [Link("base"), bar("a"), bar("b"), bar("c")], joints)
    return Mechanism("geared", tree, couplings=[Coupling("half", "lead", -2.0, 0.1), Coupling("rod", "lead", 0.1)])


def under_actuated():
    machine = neuler.robots.five_bar()
    return machine.replace(tree=machine.tree.with_passive("right_arm"))


def afloat():
    machine = neuler.robots.four_bar()
    return machine.replace(tree=machine.tree.with_free_base(), reference=(0, 0, 0, 0, 0, 0, 1, *machine.reference))


def too_short():
    """A four-bar whose coupler does not reach."""
    joints = [
        Joint("crank", "revolute", "ground", "crank"),
        Joint("coupler", "revolute", "crank", "coupler", at(0.2), role="passive"),
        Joint("rocker", "revolute", "ground", "rocker", at(2.0), role="passive"),
    ]
    frames = [neuler.Frame("tip", "coupler", at(0.4)), neuler.Frame("top", "rocker", at(0.5))]
    links = [Link("ground"), bar("crank"), bar("coupler"), bar("rocker")]
    return Mechanism(
        "too_short", Robot("too_short", links, joints, frames=frames), [Loop("gap", "revolute", "tip", "top")]
    )


def elastic():
    """A mass on an upright spring, on a motor's turntable."""
    joints = [
        Joint("table", "revolute", "base", "plate"),
        Joint("spring", "prismatic", "plate", "bob", stiffness=50.0, rest=0.3),
    ]
    block = Link.from_com("bob", mass=2.0, inertia=(0.01, 0.01, 0.01))
    return Robot("elastic", [Link("base"), bar("plate"), block], joints)


def shown(capsys, *arguments):
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


def data_of(capsys, name):
    return json.loads(shown(capsys, "info", name, "--json"), parse_constant=lambda x: pytest.fail(f"{x} is not JSON"))


# ---- info ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*LOOPS, *PARALLEL])
def test_info_has_the_mobility_of_every_machine(capsys, name):
    machine = neuler.robots.get(name)
    facts = mechanism(machine).mobility
    data = data_of(capsys, name)
    assert data["kind"] == ("mechanism" if name in LOOPS else "parallel_robot")
    found = data["mobility"]
    assert (found["freedoms"], found["rank"], found["constraints"]) == (facts.freedoms, facts.rank, facts.constraints)
    assert found["independent"] == list(facts.independent) == data["active_joints"]
    assert sum(loop["constraints"] for loop in data["loops"]) == facts.constraints
    gap, _ = mechanism(machine).closure(found["reference"])
    assert np.abs(gap).max() < 1e-12
    text = shown(capsys, "info", name)
    assert f"freedoms            {facts.freedoms} = {machine.nv} velocities of the tree - {facts.rank} " in text
    for joint in mechanism(machine).tree.moving_joints:
        if joint.kind != "free":
            assert re.search(rf"{re.escape(joint.name)}: {joint.kind} q\[\d+\].*, {joint.role} -> ", text)


def test_info_of_loops_names_the_frames_and_what_is_redundant(capsys):
    text = shown(capsys, "info", "four_bar")
    assert "four_bar: mechanism, 4 links, 3 joints, 1 loop, 11 kg" in text
    assert re.search(r"cut +revolute +coupler_tip +coupler +rocker_tip +rocker +5", text)
    assert "5, 3 redundant: cut (3)" in text
    assert "rocker: revolute q[2], passive -> rocker (5 kg)" in text


def test_info_of_a_parallel_robot_has_its_legs_and_motors(capsys):
    data = data_of(capsys, "gough_stewart")
    assert data["platform"] == "platform"
    assert [leg["motors"] for leg in data["legs"]] == [[f"leg{k}.slide"] for k in range(1, 7)]
    assert data["legs"][2]["translation"] == [0.5, 0.0, 0.0]
    assert re.search(r"leg3 +slide +tilt, swing +spherical +0.5 0 0", shown(capsys, "info", "gough_stewart"))


def test_info_of_a_free_base_counts_positions_and_velocities_apart(capsys):
    text = shown(capsys, "info", "eel")
    assert "13 links, 18 positions, 17 velocities" in text
    assert "root_joint: free q[0:7] qd[0:6] -> head" in text
    assert "yaw11: revolute q[17] qd[16] -> module12" in text
    assert re.search(r"root_joint +free +0:7 +0:6 ", text)
    joints = {joint["name"]: joint for joint in data_of(capsys, "eel")["joints"]}
    assert (joints["root_joint"]["q"], joints["root_joint"]["qd"]) == ([0, 7], [0, 6])
    assert joints["root_joint"]["axis"] is None
    assert (joints["yaw11"]["q"], joints["yaw11"]["qd"], joints["yaw11"]["coordinate"]) == ([17, 18], [16, 17], 17)


def test_springs_and_couplings_are_told(capsys, tmp_path):
    from neuler.formats import par

    (tmp_path / "spring.par").write_text(par.write(elastic()))
    text = shown(capsys, "info", tmp_path / "spring.par")
    assert "elastic, spring 50 from 0.3 -> " in text
    spring = json.loads(shown(capsys, "info", tmp_path / "spring.par", "--json"))["joints"][1]
    assert (spring["role"], spring["stiffness"], spring["rest"]) == ("elastic", 50.0, 0.3)
    urdf = "<robot name='hand'>" + "".join(f"<link name='{x}'/>" for x in "abc")
    for child, parent, mimic in (("b", "a", ""), ("c", "b", "<mimic joint='jb' multiplier='0.5' offset='0.1'/>")):
        urdf += (
            f"<joint name='j{child}' type='continuous'><parent link='{parent}'/><child link='{child}'/>{mimic}</joint>"
        )
    (tmp_path / "hand.urdf").write_text(urdf + "</robot>")
    text = shown(capsys, "info", tmp_path / "hand.urdf", "--mimic", "couple")
    assert re.search(r"jc +jb +0.5 +0.1", text)
    assert "freedoms            1 = 2 velocities of the tree - 1 " in text


def test_symbols_of_a_file_get_values_from_the_command_line(capsys, tmp_path):
    path = tmp_path / "arm.par"
    path.write_text(
        "NL = 1\nNJ = 1\nAnt = {0} Sigma = {0} d = {L} R = {0} Alpha = {0} Theta = {t1}\nM = {M1} G = {0,0,-9.81}\n"
    )
    told = json.loads(shown(capsys, "info", path, "--value", "L=0.3", "--missing", "zero", "--json"))
    assert told["joints"][0]["translation"] == [0.3, 0.0, 0.0]
    assert main(["info", str(path), "--value", "L"]) == 2
    assert "SYMBOL=NUMBER" in capsys.readouterr().err
    assert main(["info", "four_bar", "--value", "L=1"]) == 2
    assert "--value or --values is for robot files" in capsys.readouterr().err


def test_info_shows_what_does_not_close_and_the_report_refuses_it(capsys, monkeypatch, tmp_path):
    from neuler.formats import par

    monkeypatch.setattr("neuler.recipes.mobility._TRIES", 3)  # it never closes; three guesses tell as much as forty

    path, target = tmp_path / "short.par", tmp_path / "r.html"
    path.write_text(par.write(too_short()))
    text = shown(capsys, "info", path)
    assert "unknown: its loops cannot be closed" in text
    assert "error: mechanism" in text
    assert data_of(capsys, path)["mobility"] is None
    assert main(["info", str(path), "--strict"]) == 1
    assert capsys.readouterr().out == text
    for command in (("report", path, "-o", target), ("bench", path)):
        assert main([*map(str, command)]) == 2
        error = capsys.readouterr().err
        assert "loops cannot be closed" in error
        assert "stays open by" in error
    assert not target.exists()
    ax = draw(too_short(), [0.0, 0.1, 3.0])  # a given position is drawn as it is
    assert dashed_gaps(ax) == 1


def test_findings_of_machines():
    assert [f.message for f in findings(neuler.robots.gough_stewart())] == []
    told = findings(under_actuated())
    assert told[0].severity == "warning"
    assert "under-actuated: it has 2 freedoms" in told[0].message
    assert "redundant constraints: cut (3)" in told[1].message


def test_a_floating_mechanism_from_the_command_line(capsys):
    text = shown(capsys, "info", "four_bar", "--floating")
    assert "crank: revolute q[7] qd[6], driven -> crank" in text
    assert "7 = 9 velocities of the tree - 2 " in text
    told = json.loads(shown(capsys, "info", "four_bar", "--floating", "--json"))
    np.testing.assert_allclose(told["mobility"]["reference"][:7], [0, 0, 0, 0, 0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(told["mobility"]["reference"][7:], neuler.robots.four_bar().reference, atol=1e-12)
    assert main(["info", "delta", "--floating"]) == 2
    assert "stand on the ground" in capsys.readouterr().err


# ---- pictures ------------------------------------------------------------------------------------


def strokes(ax):
    """Ends of all lines of two points."""
    return [np.array(line.get_data_3d()).T for line in ax.lines if len(line.get_data_3d()[0]) == 2]


def joined(ax, a, b):
    return any(min(np.abs(s - [a, b]).max(), np.abs(s - [b, a]).max()) < 1e-9 for s in strokes(ax))


def dashed_gaps(ax):
    from neuler.view.space import CUT

    return sum(line.get_color() == CUT for line in ax.lines)


def crosses(ax):
    """Places of the marks of cut joints."""
    found = [c for c in ax.collections if hasattr(c, "_offsets3d") and c.get_zorder() == 7]
    return [np.array([float(x[0]) for x in c._offsets3d]) for c in found]


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "delta", "sr400"])
def test_loops_are_drawn_closed_with_the_cuts_marked(name):
    machine = neuler.robots.get(name)
    path = machine_motion(machine).q
    for q in (path[0], path[-1]):
        ax = draw(machine, q)
        placed = Placed.of(machine, q)
        assert dashed_gaps(ax) == 0
        assert len(crosses(ax)) == len(placed.cuts)
        for cut, mark in zip(placed.cuts, crosses(ax), strict=True):
            np.testing.assert_allclose(cut[0], cut[1], atol=1e-11)
            np.testing.assert_allclose(mark, cut[0], atol=1e-9)


def test_the_links_of_a_loop_meet_at_its_cut():
    machine = neuler.robots.four_bar()
    ax = draw(machine)
    corner, crank_end, foot = [0.36, 0.42, 0], [0, 0.15, 0], [0.675, 0, 0]
    for a, b in (([0, 0, 0], crank_end), (crank_end, corner), (foot, corner), ([0, 0, 0], foot)):
        assert joined(ax, a, b), (a, b)


def test_an_open_loop_is_drawn_open():
    machine = neuler.robots.four_bar()
    ax = draw(machine, [math.pi / 2, 0.0, 2.0])
    assert dashed_gaps(ax) == 1
    assert len(crosses(ax)) == 2


def test_a_platform_is_a_polygon_through_the_attachments():
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    machine = neuler.robots.gough_stewart()
    ax = draw(machine)
    plates = [c for c in ax.collections if isinstance(c, Poly3DCollection)]
    assert len(plates) == 2  # the platform and the base
    ring = [np.array(leg.attachment.translation) + [0.25, 0.433, 1.0] for leg in machine.legs]
    for a, b in itertools.pairwise([*ring, ring[0]]):  # given in their order around it
        edges = [np.array(line.get_data_3d()).T for line in ax.lines if len(line.get_data_3d()[0]) == 7]
        sides = [pair for edge in edges for pair in itertools.pairwise(edge)]
        assert any(min(np.abs(np.array(s) - [a, b]).max(), np.abs(np.array(s) - [b, a]).max()) < 1e-6 for s in sides)
    assert not any(joined(ax, [0, 0, 0], foot) for foot in Placed.of(machine, None).origins[2::3])


def seen(ax, text):
    """The box of a label where it is seen: matplotlib's own is that of (x, y), without perspective."""
    place = text.get_position_3d()
    here, there = ax.transData.transform(place[:2]), on_paper(ax, np.array(place))
    return text.get_window_extent().translated(*(there - here))


@pytest.mark.parametrize("name", [*LOOPS, *PARALLEL])
def test_labels_do_not_overlap_and_scales_are_equal(name):
    machine = neuler.robots.get(name)
    path = machine_motion(machine).q
    states = [path[0], path[-1]]
    extent = machine_surroundings(machine, states)
    for q in states:
        figure = plotting()(figsize=(6.0, 6.0))
        ax = draw(machine, q, figure.add_axes((0, 0, 1, 1), projection="3d"), extent=extent)
        spans = [np.diff(getattr(ax, f"get_{x}lim")())[0] for x in "xyz"]
        np.testing.assert_allclose(ax._box_aspect / ax._box_aspect[0], np.array(spans) / spans[0], rtol=1e-9)
        figure.draw_without_rendering()
        boxes = [seen(ax, text) for text in ax.texts]
        assert len(boxes) >= min(3, len(machine.joint_names))
        for a, b in itertools.combinations(boxes, 2):
            assert not a.overlaps(b), name


def test_drawing_refuses_what_it_cannot_draw():
    machine = neuler.robots.four_bar()
    with pytest.raises(neuler.InputError, match="expected q with 3 numbers"):
        draw(machine, [0.0])
    with pytest.raises(neuler.InputError, match="3-D axes"):
        draw(machine, None, plotting()().add_subplot())
    with pytest.raises(neuler.RobotError, match="cannot be closed"):
        draw(too_short())
    with pytest.raises(neuler.InputError, match="quaternion"), np.errstate(all="ignore"):
        draw(neuler.robots.eel(), np.zeros(18))
    assert draw(neuler.robots.eel()).texts[0].get_text() == "head"


# ---- test motions --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*LOOPS, *PARALLEL])
def test_the_motion_of_a_machine_is_closed_and_continuous(name):
    machine = neuler.robots.get(name)
    own = mechanism(machine)
    motion = machine_motion(machine)
    assert motion.gap < 1e-11
    assert np.abs(own.closure(motion.q)[0]).max() < 1e-11
    assert motion.margin.min() > 0
    assert not np.allclose(motion.q[0], motion.q[-1], atol=0.02)
    assert not motion.qd[[0, -1]].any()
    qd, qdd = tree_velocities(machine, motion)
    step = motion.times[1]
    away = np.array([own.tree.difference(a, b) for a, b in itertools.pairwise(motion.q)]) / step
    np.testing.assert_allclose(away, (qd[1:] + qd[:-1]) / 2, atol=3e-3 * np.abs(qd).max())  # no jump, right speed
    np.testing.assert_allclose(np.gradient(qd, step, axis=0)[2:-2], qdd[2:-2], atol=5e-3 * np.abs(qdd).max())


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "sr400", "delta", "planar_3rrr"])
def test_the_motors_give_the_power_that_the_machine_takes(name):
    machine = neuler.robots.get(name)
    own = mechanism(machine)
    motion = machine_motion(machine)
    forces, still = motor_forces(machine, motion)
    qd, _ = tree_velocities(machine, motion)
    active = [name in own.active_names for name in own.joint_names]
    numbers = [5 + k if name in PARALLEL else k for k, on in enumerate(active) if on]  # the platform has six
    power = (forces * qd[:, numbers]).sum(axis=1)
    kinetic, potential = own.tree.energy(motion.q, qd)
    rate = np.gradient(np.asarray(kinetic) + np.asarray(potential), motion.times)
    np.testing.assert_allclose(rate[2:-2], power[2:-2], atol=2e-3 * np.abs(power).max())
    np.testing.assert_allclose(still[0], forces[0], rtol=1e-6, atol=1e-9)  # at rest both are the same


@pytest.mark.parametrize("name", ["five_bar", "sr400"])
def test_sensitivities_by_differences_are_those_of_the_kernel(name):
    machine = neuler.robots.get(name)
    q = machine_motion(machine).q[-1]
    still = np.zeros(machine.mobility.freedoms)
    exact, _, _ = machine.inverse_dynamics_sensitivities(q, still, still)
    np.testing.assert_allclose(sensitivities(machine, q), exact, atol=1e-6 * np.abs(exact).max())


def test_sensitivities_of_more_motors_than_freedoms():
    machine = neuler.robots.five_bar()
    joints = [dataclasses.replace(joint, role="driven") for joint in machine.tree.joints]
    machine = machine.replace(tree=machine.tree.replace(joints=joints))
    assert "4 motors for 2 freedoms" in findings(machine)[0].message
    q = machine_motion(machine).q[-1]
    exact, _, _ = machine.inverse_dynamics_sensitivities(q, np.zeros(2), np.zeros(2))
    assert exact.shape == (4, 2)
    np.testing.assert_allclose(sensitivities(machine, q), exact, atol=1e-6 * np.abs(exact).max())


def test_sensitivities_of_a_parallel_robot_are_symmetric():
    machine = neuler.robots.delta()
    matrix = sensitivities(machine, machine_motion(machine).q[-1])
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-6 * np.abs(matrix).max())


def test_the_motion_keeps_limits_of_places_and_speeds():
    machine = neuler.robots.four_bar()
    joints = list(machine.tree.joints)
    lower, upper = machine.reference[2] - 0.05, machine.reference[2] + 0.02
    joints[2] = Joint(
        "rocker", "revolute", "ground", "rocker", at(0.675), role="passive", limits=Limits(lower, upper, 0.01, 5.0)
    )
    held = machine.replace(tree=machine.tree.replace(joints=joints))
    motion = machine_motion(held)
    assert lower <= motion.q[:, 2].min() < motion.q[:, 2].max() <= upper
    qd, _ = tree_velocities(held, motion)
    assert np.abs(qd[:, 2]).max() <= 0.01 * (1 + 1e-9)
    assert motion.times[-1] > 1.5
    joints[2] = dataclasses.replace(joints[2], limits=Limits(lower, upper, 100.0, 5.0))
    assert machine_motion(machine.replace(tree=machine.tree.replace(joints=joints))).times[-1] == 1.5


def test_a_reference_at_its_limits_is_left_inwards():
    machine = geared()
    joints = [dataclasses.replace(j, limits=Limits(-0.3, 0.0)) if j.name == "lead" else j for j in machine.tree.joints]
    held = machine.replace(tree=machine.tree.replace(joints=joints), reference=(0.0, 0.1, 0.0))
    motion = machine_motion(held)
    assert motion.q[0, 0] == pytest.approx(0.0, abs=1e-12)
    assert -0.3 <= motion.q[-1, 0] < -0.1


def test_machines_that_motors_do_not_decide_move_all_the_same():
    assert independent_joints(under_actuated()) == ("left_arm", "left_forearm")
    assert independent_joints(afloat()) == ("root_joint", "crank")
    for machine in (under_actuated(), afloat(), geared()):
        motion = machine_motion(machine)
        assert motion.gap < 1e-11
        assert motion.qd.any()


def test_a_free_base_goes_along_a_screw():
    robot = neuler.robots.two_link().with_free_base()
    start, bent = start_pose(robot), bent_pose(robot)
    assert np.linalg.norm(bent[3:7]) == pytest.approx(1.0, abs=1e-12)
    motion = quintic(robot, start, bent, count=401)
    np.testing.assert_allclose(robot.difference(motion.q[-1], bent), 0.0, atol=1e-12)
    step = motion.times[1]
    away = np.array([robot.difference(a, b) for a, b in itertools.pairwise(motion.q)]) / step
    np.testing.assert_allclose(away, (motion.qd[1:] + motion.qd[:-1]) / 2, atol=1e-4)
    np.testing.assert_allclose(np.gradient(motion.qd, step, axis=0)[2:-2], motion.qdd[2:-2], atol=1e-3)


# ---- springs -------------------------------------------------------------------------------------


def test_springs_hang_and_swing_as_in_the_textbook():
    robot = elastic()
    hanging = balance(robot, np.array([0.4, 0.0]))
    np.testing.assert_allclose(hanging, [0.4, 0.3 - 2.0 * 9.81 / 50.0], rtol=1e-12)
    squares, shapes = modes(robot, hanging)
    assert squares == pytest.approx([50.0 / 2.0])
    assert shapes.shape == (1, 1)


def test_a_spring_that_gravity_overcomes_has_no_balance_or_falls():
    bob = Link.from_com("bob", mass=1.0, com=(0, 0, 1.0), inertia=(0.01, 0.01, 0.01))
    robot = Robot(
        "soft", [Link("base"), bob], [Joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0), stiffness=1.0)]
    )
    hanging = balance(robot, np.zeros(1))
    assert hanging is not None
    squares, _ = modes(robot, hanging)
    assert squares[0] < 0  # upright: gravity is stronger than the spring
    assert "falls" in report(robot, verbs=[])


# ---- reports -------------------------------------------------------------------------------------


def page_of(machine, **options):
    page = report(machine, batch=16, **{"verbs": [], **options})
    self_contained(page)
    return page


def test_report_on_a_mechanism():
    page = page_of(neuler.robots.five_bar(), verbs=["inverse_dynamics"])
    for expected in (
        "Report on a mechanism", "another closed pose", "Mobility", "2 = 4 velocities of the tree - 2 independent",
        "Loops", "left_forearm: revolute q[1], passive", "Test motion", "Forces of the motors", "Reactions",
        "Sensitivities", "Operations and speed",
    ):  # fmt: skip
        assert expected in page, expected
    assert len(images(page)) == 2 + 1 + 2 + 1  # poses, margin, motors, sensitivities
    operations = neuler.robots.five_bar().inverse_dynamics.operations
    assert f'<td class="r">{operations.mul}</td>' in page


def test_report_on_a_parallel_robot_from_the_command_line(capsys, tmp_path):
    target = tmp_path / "delta.html"
    assert main(["report", "delta", "-o", str(target), "--verbs", "jacobian", "--batch", "16"]) == 0
    page = target.read_text(encoding="utf-8")
    self_contained(page)
    for expected in ("Report on a parallel robot", "Legs", "universal", "platform turned by", "leg2.motor", "jacobian"):
        assert expected in page, expected
    assert len(images(page)) == 2 + 1 + 3 + 1
    assert "nan" not in re.sub(r'src="[^"]*"', "", page)
    assert [p.name for p in tmp_path.iterdir()] == ["delta.html"]


def test_report_on_a_free_base():
    page = page_of(neuler.robots.two_link().with_free_base().with_gravity((0, 0, -9.81)))
    for expected in ("9, 8", "root_joint fx", "root_joint mz", "No motor moves root_joint", "free / revolute"):
        assert expected in page, expected
    assert "symmetric" not in page  # along the velocities of a free link it is not


def test_report_on_springs():
    page = page_of(elastic())
    for expected in ("Springs", "hangs at", "-0.0924", "frequency, Hz", "0.7958", "standing still"):
        assert expected in page, expected


def test_reports_on_odd_machines():
    page = page_of(under_actuated())
    assert "is under-actuated" in page
    assert "Reactions" not in page
    assert "coupling, dotted" in page_of(geared())
    assert "N m/rad" in page_of(neuler.robots.four_bar())  # one number is not drawn as a map


def test_hostile_names_of_machines_are_text():
    machine = neuler.robots.four_bar()
    loop = Loop(HOSTILE, "revolute", "coupler_tip", "rocker_tip")
    tree = machine.tree.replace(notes=("--><img src=x onerror=alert(1)>",))
    page = page_of(Mechanism("</title>" + HOSTILE + "\x1b[2J", tree, [loop], reference=machine.reference))
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "\x1b" not in page


def test_unknown_quantities_of_machines_are_refused_and_nothing_is_written(capsys, tmp_path):
    for command in (["report", "four_bar", "-o", str(tmp_path / "r.html")], ["bench", "four_bar"]):
        assert main([*command, "--verbs", "coriolis_matrix"]) == 2
        error = capsys.readouterr().err
        assert "'coriolis_matrix'" in error
        assert "coupling_matrix" in error
    assert list(tmp_path.iterdir()) == []


def test_bench_of_a_machine_measures_closed_states(capsys, monkeypatch):
    from neuler import bench

    monkeypatch.setattr(bench, "best_seconds", lambda call, repeats, shortest: call() is None or 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # states that the legs do not allow would give NaN, and NumPy would say so
        told = json.loads(shown(capsys, "bench", "delta", "--json", "--batch", "32"))
    assert {one["quantity"] for one in told["measurements"]} == set(neuler.recipes.quantities.PARALLEL)
    assert all(not one["failure"] for one in told["measurements"])
    assert main(["bench", "delta", "--peer", "mujoco"]) == 2
    assert "only trees" in capsys.readouterr().err
