"""Reports on robots with loops, couplings, free bases, springs and joints of every kind; and notebooks."""

import json
import re
import sys
import warnings

import numpy as np
import pytest

import neuler
from cli_runs import refused, run
from neuler import Loop, speed
from neuler.cli import main
from neuler.view.report import report
from shown_robots import HOSTILE, afloat, all_kinds, elastic, geared, under_actuated
from test_report import alone, images, self_contained

pytestmark = pytest.mark.usefixtures("brief")


def page_of(robot, **options):
    page = report(robot, batch=16, **{"verbs": [], **options})
    self_contained(page)
    assert "Not computed" not in page
    assert "nan" not in re.sub(r'src="[^"]*"', "", page)
    return page


def test_report_on_a_loop():
    page = page_of(neuler.robots.five_bar(), verbs=["inverse_dynamics"])
    for expected in (
        "Robot report", "another closed pose", "Mobility", "2 = 4 joint velocities - 2 independent",
        "Loops", "left_forearm: revolute q[1], passive", "Test motion", "Forces of the motors", "Reactions",
        "Sensitivities", "Operations and speed",
    ):  # fmt: skip
        assert expected in page, expected
    assert len(images(page)) == 2 + 1 + 2 + 1  # poses, margin, motors, sensitivities
    operations = neuler.robots.five_bar().inverse_dynamics.operations
    assert f'<td class="r">{operations.mul}</td>' in page


@pytest.mark.slow
def test_report_on_a_parallel_robot_from_the_command_line(capsys, tmp_path):
    target = tmp_path / "delta.html"
    assert main(["report", "delta", "-o", str(target), "--verbs", "jacobian", "--batch", "16"]) == 0
    page = target.read_text(encoding="utf-8")
    self_contained(page)
    for expected in ("Loops", "universal", "platform: translation q[0:3] qd[0:3]", "leg2.motor", "jacobian"):
        assert expected in page, expected
    assert len(images(page)) == 2 + 1 + 3 + 1
    assert [p.name for p in tmp_path.iterdir()] == ["delta.html"]


@pytest.mark.slow
def test_report_on_a_platform_that_turns():
    page = page_of(neuler.robots.gough_stewart())
    assert "platform turned by" in page
    assert re.search("slide to the position of platform [vw][xyz]", page)


@pytest.mark.slow
def test_report_on_a_free_base():
    page = page_of(neuler.robots.two_link().with_free_base().with_gravity((0, 0, -9.81)))
    for expected in ("9, 8", "root_joint fx", "root_joint mz", "No motor moves root_joint", "free / revolute"):
        assert expected in page, expected
    assert "symmetric" not in page  # along the velocities of a free link it is not


@pytest.mark.slow
def test_report_on_joints_of_every_kind():
    page = page_of(all_kinds())
    for expected in (
        "planar / spherical / helical / revolute / prismatic / translation", "helical axis", "spherical joint",
        "planar joint", "translation joint", "hip mx", "cart angle", "No motor moves rod, gantry",
    ):  # fmt: skip
        assert expected in page, expected


@pytest.mark.slow
def test_report_on_springs():
    page = page_of(elastic())
    for expected in ("Springs", "hangs at", "-0.0924", "frequency, Hz", "0.7958", "standing still"):
        assert expected in page, expected
    bob = neuler.Link.from_com("bob", mass=1.0, com=(0, 0, 1.0), inertia=(0.01, 0.01, 0.01))
    hinge = neuler.Joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0), stiffness=1.0)
    assert "falls" in page_of(neuler.Robot("soft", [neuler.Link("base"), bob], [hinge]))


@pytest.mark.slow
def test_report_on_couplings():
    page = page_of(geared())
    for expected in ("coupling, dotted", "Couplings", "-2 q + 0.1", "half: revolute, follows lead", "N m/rad"):
        assert expected in page, expected
    assert "Mobility" not in page


@pytest.mark.slow
def test_report_on_too_few_motors_and_on_a_loop_afloat():
    page = page_of(under_actuated())
    assert "is under-actuated: it has 2 degrees of freedom, and left_arm moves fewer" in page
    assert "Reactions" not in page
    assert "its motors do not decide all of its 2 degrees of freedom" in page
    page = page_of(afloat())
    assert "No motor moves root_joint" in page
    assert "N m/rad" in page_of(neuler.robots.four_bar())  # one number is not drawn as a map


@pytest.mark.slow
def test_hostile_names_of_loops_are_text():
    robot = neuler.robots.four_bar()
    loop = Loop(HOSTILE, "revolute", "coupler_tip", "rocker_tip")
    notes = ("--><img src=x onerror=alert(1)>",)
    page = page_of(robot.replace(name="</title>" + HOSTILE + "\x1b[2J", loops=[loop], notes=notes))
    assert HOSTILE not in page
    assert "<img src=x" not in page
    assert "\x1b" not in page


# ---- what is measured ----------------------------------------------------------------------------


def test_unknown_quantities_are_refused_and_nothing_is_written(capsys, tmp_path):
    for command in (["report", "four_bar", "-o", tmp_path / "r.html"], ["bench", "four_bar"]):
        error = refused(capsys, *command, "--verbs", "coriolis_matrx")
        assert "did you mean 'coriolis_matrix'?" in error
        assert "coupling_matrix" in error
    for command in (["report", "two_link", "-o", tmp_path / "r.html"], ["bench", "two_link"]):
        assert "has no loops" in refused(capsys, *command, "--verbs", "coupling_matrix")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_bench_of_loops_measures_closed_states(capsys, brief):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # open loops would give NaN, and a warning would say so
        code, out, _ = run(capsys, "bench", "delta", "--json", "--batch", "32")
    assert code == 0
    told = json.loads(out)
    robot = neuler.robots.delta()
    assert [one["quantity"] for one in told["measurements"]] == list(speed.default_verbs(robot))
    assert all(not one["failure"] for one in told["measurements"])
    states = speed.random_states(robot, ("q", "qd", "tau"), 200)
    assert [x.shape for x in states.values()] == [(200, 12), (200, 3), (200, 3)]
    assert np.abs(robot.closure(states["q"])[0]).max() < 1e-11
    assert "only trees" in refused(capsys, "bench", "delta", "--peer", "mujoco")


# ---- notebooks -----------------------------------------------------------------------------------


def test_a_robot_is_one_line():
    assert repr(neuler.robots.puma560()) == "<robot 'puma560': 6 joints, 7 links, nq 6, nv 6>"
    assert repr(neuler.robots.four_bar()) == "<robot 'four_bar': 3 joints, 4 links, 1 loop, nq 3, nv 1>"
    assert repr(under_actuated()) == "<robot 'five_bar': 4 joints, 5 links, 1 loop, nq 4, nv 2, nu 1>"
    assert repr(geared()) == "<robot 'geared': 3 joints, 4 links, 2 couplings, nq 1, nv 1>"


@pytest.mark.parametrize("robot", [neuler.robots.delta(), all_kinds(), geared()], ids=lambda robot: robot.name)
def test_notebooks_show_a_table_and_a_picture(robot):
    shown = robot._repr_html_()
    assert shown.count("data:image/png;base64,") == 1
    for joint in robot.joints:
        assert f">{joint.name}</td>" in shown
    assert HOSTILE not in robot.replace(name=HOSTILE)._repr_html_()


def test_notebooks_show_a_table_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "neuler.view.picture", None)  # which imports it
    shown = neuler.robots.puma560()._repr_html_()
    assert "data:image" not in shown
    assert ">joint6</td>" in shown


def test_notebooks_show_the_shapes_of_a_kernel():
    kernel = neuler.robots.four_bar().closure
    shown = kernel._repr_html_()
    assert "<b>closure</b> of four_bar" in shown
    assert str(kernel.operations) in shown
    assert ">(5, 3)</td>" in shown


def test_how_notebooks_show_things_costs_nothing_before():
    found = alone("import neuler, sys\nprint(hasattr(neuler.Robot, '_repr_html_'), 'neuler.view' in sys.modules)")
    assert found.split() == ["True", "False"]
