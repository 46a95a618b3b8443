"""Simulations that problem files and the command line ask for."""

import contextlib
import json
import re
import signal

import numpy as np
import pytest

import neuler
from cli_runs import read, refused, run
from neuler import FormatError, control, simulate
from neuler.control import CONTROLLERS
from neuler.files.problems import Problem
from neuler.simulation import problem
from neuler.simulation.problem import read_simulation

PUMA = """
title = "a puma follows sines"
[robot]
name = "puma560"
friction = false
[[robot.payload]]
frame = "link6"
mass = 2.0
known = false
[controller]
kind = "computed_torque"
kp = 400.0
period = 2e-3
[reference]
kind = "sines"
amplitude = {joint1 = 0.5, joint2 = 0.3}
frequency = 0.5
[simulate]
duration = 0.2
every = 10
q0 = {joint1 = 0.1}
qd0 = [0, 0, 0.2, 0, 0, 0]
[[load]]
frame = "link6"
force = [0, 0, -10]
begin = 0.05
end = 0.15
"""


def simulation(text):
    return read_simulation(Problem.of_text(text))


def with_simulate(text, robot="two_link"):
    return f'{text}\n[robot]\nname = "{robot}"\n[simulate]\nduration = 0.02\n'


# ---- problem files -------------------------------------------------------------------------------


def test_a_problem_is_what_it_says():
    task = simulation(PUMA)
    found = task.run()
    model = neuler.robots.puma560().without_friction()
    plant = model.with_payload("link6", 2.0)
    assert task.robot == plant
    assert task.controller.robot == model  # it does not know of the payload
    reference = control.sines([0.5, 0.3, 0, 0, 0, 0], 0.5)
    law = control.ComputedTorque(model, 400.0, reference=reference, period=2e-3)

    def load(t, q, qd):
        on = neuler.math.where(neuler.math.greater_equal(t, 0.05) & neuler.math.less(t, 0.15), 1.0, 0.0)
        return np.array([0, 0, -10.0, 0, 0, 0]) * on

    q0, qd0 = np.array([0.1, 0, 0, 0, 0, 0]), np.array([0, 0, 0.2, 0, 0, 0])
    wanted = simulate(plant, law, (q0, qd0), 0.2, every=10, loads={"link6": load})
    np.testing.assert_allclose(found.q, wanted.q, atol=1e-12)
    np.testing.assert_allclose(found.tau, wanted.tau, atol=1e-9)
    np.testing.assert_allclose(found.wanted, reference(found.t)[:, :6])
    assert found.loads["link6"][[0, 7, 18], 2].tolist() == [0.0, -10.0, 0.0]
    assert task.title == "a puma follows sines"


def test_every_controller_of_the_room_is_known_by_name():
    assert {"computed_torque", "gravity_pd", "slotine_li", "adaptive_slotine_li", "lqr"} <= set(CONTROLLERS)
    tables = {
        "gravity_pd": "kp = 50.0\nkd = [5.0, 2.0]",
        "slotine_li": "lam = 5.0\nk = {joint1 = 10.0, joint2 = 4.0}",
        "adaptive_slotine_li": 'lam = 5.0\nk = 10.0\nparameters = "payload:link2"\nrate = 0.1\nperiod = 1e-3',
        "lqr": "q = {joint1 = 0.1}\nQ = 10.0\nR = 1.0",
    }
    for kind, table in tables.items():
        task = simulation(with_simulate(f'[controller]\nkind = "{kind}"\n{table}\n'))
        assert task.controller.name == kind
        assert not task.run().events
    task = simulation(with_simulate('[controller]\nkind = "slotine_li"\nlam = 5\nk = {joint1 = 10, joint2 = 4}'))
    assert task.controller.k.tolist() == [10.0, 4.0]


def test_forces_without_a_controller():
    task = simulation(with_simulate("[controller]\ntau = {joint2 = 0.5}\n"))
    np.testing.assert_array_equal(task.run().tau, np.broadcast_to([0.0, 0.5], (21, 2)))
    assert simulation(with_simulate("")).controller is None


def test_references_of_every_kind(tmp_path):
    law = '[controller]\nkind = "gravity_pd"\nkp = 9.0\nkd = 6.0\n'
    cases = {
        "q = [0.1, 0.2]": lambda t: [0.1, 0.2],
        'kind = "constant"\nq = {joint2 = 0.2}': lambda t: [0.0, 0.2],
        'kind = "sines"\namplitude = 0.5\nfrequency = 0.25\nphase = {joint1 = 1.0}\noffset = 0.1': (
            lambda t: 0.1 + 0.5 * np.sin(0.5 * np.pi * t + np.array([1.0, 0.0]))
        ),
        'kind = "quintic"\nend = [1.0, -1.0]\nduration = 0.04': (
            lambda t: np.array([1.0, -1.0]) * (10 * (t / 0.04) ** 3 - 15 * (t / 0.04) ** 4 + 6 * (t / 0.04) ** 5)
        ),
        'kind = "table"\nt = [0.0, 0.01, 0.02]\nq = [[0.0, 0.0], [0.1, 0.2], [0.0, 0.0]]': None,
        'kind = "table"\nfile = "points.csv"\ndegree = 3': None,
    }
    (tmp_path / "points.csv").write_text("q_joint2,t,q_joint1\n0,0,0\n0.2,0.01,0.1\n0,0.02,0\n")
    for text, expected in cases.items():
        task = read_simulation(Problem.of_text(with_simulate(f"{law}[reference]\n{text}\n"), tmp_path))
        goal = task.run().wanted
        if expected is None:
            np.testing.assert_allclose(goal[[0, 10, 20]], [[0, 0], [0.1, 0.2], [0, 0]], atol=1e-12)
        else:
            np.testing.assert_allclose(goal, [expected(t) for t in np.arange(21) * 1e-3], atol=1e-12)


def test_loops_start_closed_from_their_own_positions():
    text = '[robot]\nname = "four_bar"\n[simulate]\nduration = 0.01\nq0 = {crank = 1.2}\n'
    q0, _ = simulation(text).x0
    assert q0[0] == pytest.approx(1.2)
    np.testing.assert_allclose(neuler.robots.four_bar().closure(q0).open_by, 0.0, atol=1e-11)
    whole = simulation(text.replace("{crank = 1.2}", str(q0.tolist()))).x0[0]
    np.testing.assert_array_equal(whole, q0)


def test_random_starts_are_a_batch_and_the_same_again():
    text = with_simulate("") + "[simulate.random]\nrows = 5\nseed = 3\nq = 0.1\nqd = 0.2\n"
    one, two = simulation(text).run(), simulation(text).run()
    assert one.batch == (5,)
    np.testing.assert_array_equal(one.q, two.q)
    assert 0.01 < np.std(one.q[:, 0]) < 0.3


def test_motors_of_a_problem():
    task = simulation(
        """
        [robot]
        name = "two_link"
        [[robot.motor]]
        joint = "joint2"
        ratio = 100
        inertia = 1e-4
        stiffness = 500.0
        carrier = "link1"
        axis = [0, 0, 1]
        [[robot.motor]]
        name = "first"
        joint = "joint1"
        ratio = {joint1 = 50}
        inertia = [1e-4, 1e-4, 2e-4]
        included = true
        [simulate]
        duration = 0.01
        q0 = {"joint2.motor" = 0.1}
        """
    )
    second, first = task.robot.motors
    assert (first.name, first.ratios, first.inertia) == ("first", {"joint1": 50.0}, (1e-4, 1e-4, 2e-4))
    assert (second.carrier, second.stiffness, second.elastic) == ("link1", 500.0, True)
    assert task.x0[0].tolist() == [0.0, 0.0, 0.1]
    assert not task.run().events


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[robot]\nname = "two_link"\n', "[simulate]: expected a key 'duration'"),
        (with_simulate("[controler]\nkind = 1"), "controler: unknown key; did you mean 'controller'?"),
        (with_simulate('[controller]\nkind = "pd"'), "[controller] kind: there is no 'pd'"),
        (with_simulate('[controller]\nkind = "gravity_pd"\nkp = 1.0'), "[controller]: gravity_pd needs a key 'kd'"),
        (with_simulate('[controller]\nkind = "gravity_pd"\nkp = 1.0\nkd = 1.0\nki = 1.0'), "[controller] ki: unknown"),
        (
            with_simulate('[controller]\nkind = "gravity_pd"\nkp = [1.0, 2.0, 3.0]\nkd = 1.0'),
            "[controller]: gravity_pd",
        ),
        (with_simulate('[controller]\nkind = "gravity_pd"\nkp = {joint9 = 1.0}\nkd = 1.0'), "there is no such name"),
        (with_simulate("[reference]\nq = 0.1"), "there is no table [controller]"),
        (with_simulate('[controller]\nkind = "gravity_pd"\nkp = 1\nkd = 1\n[reference]\nkind = "sin"'), "did you mean"),
        (with_simulate("[[load]]\nframe = 'lnk2'\nforce = [0, 0, 1]"), "[load] 1 frame: there is no 'lnk2'"),
        (with_simulate("[[load]]\nframe = 'link2'\nforce = [0, 1]"), "expected a list of 3 numbers, got 2"),
        (
            with_simulate("[[load]]\nframe = 'link2'\n[[load]]\nframe = 'link2'"),
            "[load] 2 frame: there is another",
        ),
        (with_simulate("[output]\ntables = ['xls']"), "there is no 'xls'"),
        (with_simulate("") + "method = 'rk5'", "[simulate] method: there is no 'rk5'; did you mean 'rk4'?"),
        (with_simulate("") + "step = -1.0", "[simulate] step: expected a positive number, got -1.0"),
        (with_simulate("") + "q0 = [0.1]", "[simulate] q0: expected a list of 2 (joint1, joint2)"),
        (with_simulate("", "four_bar") + "q0 = {rocker = 1.0}", "[simulate.q0] rocker: there is no such name"),
        (with_simulate("", "five_bar") + "q0 = {left_arm = 3.0, right_arm = 0.0}", "[simulate] q0: "),
    ],
)
def test_problems_that_are_refused(text, told):
    with pytest.raises(FormatError) as error:
        simulation(text)
    assert told in str(error.value)


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_writes_all_of_it(capsys, tmp_path):
    out = tmp_path / "out"
    law = ["--controller", "computed_torque", "--gain", "kp=100", "--goal", "0.3,-0.2"]
    code, told, err = run(
        capsys, "simulate", "two_link", *law, "--duration", "0.5", "--every", "10", "-o", out, "--tables", "csv", "npz"
    )
    assert code == 0, err
    assert sorted(path.name for path in out.iterdir()) == ["run.csv", "run.html", "run.npz", "run.png"]
    assert (out / "run.png").read_bytes().startswith(b"\x89PNG")
    names, rows = read(out / "run.csv")
    assert names[:3] == ["t", "q_joint1", "q_joint2"]
    np.testing.assert_allclose(rows[:, 0], np.arange(51) * 0.01)
    robot = neuler.robots.two_link()
    wanted = simulate(robot, control.ComputedTorque(robot, 100.0, reference=[0.3, -0.2]), None, 0.5, every=10)
    np.testing.assert_array_equal(rows[:, 1:3], wanted.q)
    assert "rms error" in told
    assert re.search(r"joint1 +[\d.]+ +[\d.]+ +[\d.]+", told)
    assert "drift" in told
    assert f"wrote {out}" in told or "wrote" in told


def test_json_is_all_that_is_printed(capsys, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(PUMA + '[output]\nfolder = "made"\nfigures = false\n')
    code, out, _ = run(capsys, "simulate", path, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["title"] == "a puma follows sines"
    assert found["events"] == []
    assert set(found["rms_error"]) == {f"joint{k}" for k in range(1, 7)}
    assert [name.rpartition("/")[2] for name in found["files"]] == ["run.csv", "run.html"]
    assert sorted(p.name for p in (tmp_path / "made").iterdir()) == ["run.csv", "run.html"]


def test_flags_change_a_problem(capsys, tmp_path):
    (tmp_path / "inner").mkdir()
    path = tmp_path / "inner" / "p.toml"
    path.write_text(PUMA)
    change = [
        "--duration",
        "0.1",
        "--gain",
        "kp=9",
        "--set",
        "load.force=[0,0,-20]",
        "--set",
        "reference.frequency=1.0",
    ]
    code, out, err = run(capsys, "simulate", path, *change, "--json", "-o", tmp_path / "o", "--no-page", "--no-figures")
    assert code == 0, err
    assert err == ""
    assert json.loads(out)["end"] == pytest.approx(0.1)
    _, rows = read(tmp_path / "o" / "run.csv")
    assert rows[:, 19:].min() == -20.0
    assert [p.name for p in (tmp_path / "o").iterdir()] == ["run.csv"]


def test_events_are_told_and_strict_counts_them(capsys):
    arguments = ("simulate", "two_link", "--duration", "0.2", "--set", "controller.tau=[0,1e9]")
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert re.search(r"at [\d.]+ s: joint '.*': diverged|infinite", out)
    code, out, _ = run(capsys, *arguments, "--strict", "--json")
    assert code == 1
    assert json.loads(out)["events"][0]["reason"]


def test_what_the_command_refuses(capsys, tmp_path):
    for arguments, told in (
        (("two_link",), "command line: [simulate]: expected a key 'duration'"),
        (("two_link", "--duration", "x"), "[simulate] duration: expected a positive number, got 'x'"),
        (("two_link", "--duration", "1", "--gain", "kp"), "--gain expects K=V, as kp=100, got 'kp'"),
        (("two_link", "--duration", "1", "--set", "step=1"), "--set expects TABLE.KEY=VALUE"),
        (("two_link", "--duration", "1", "--set", "simulate.stp=1"), "did you mean 'step'?"),
        (("two_lnk", "--duration", "1"), "neither a file nor a robot of the catalogue"),
        (("two_link", "--duration", "1", "--method", "dop"), "did you mean 'dop853'?"),
        (("two_link", "--duration", "0.0123"), "no whole number of steps"),
        ((tmp_path / "none.toml",), "there is no such file"),
    ):
        assert told in refused(capsys, "simulate", *arguments), arguments
    (tmp_path / "p.toml").write_text(PUMA)
    assert "--floating is for robot files" in refused(capsys, "simulate", tmp_path / "p.toml", "--floating")


def test_an_interruption_writes_what_was_computed(capsys, monkeypatch, tmp_path):
    """Ctrl-C as soon as a first part of it was computed, however long that takes."""

    @contextlib.contextmanager
    def bar(*_):
        yield lambda seconds: signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(problem, "progress_bar", bar)
    arguments = ["two_link", "--duration", "100000", "--qd0", "0.1,0.1", "-o", tmp_path / "o", "--json"]
    code, out, err = run(capsys, "simulate", *arguments, "--no-figures", "--no-page")
    assert code == 130, err
    assert "what was computed is kept" in err
    assert json.loads(out)["events"][0]["reason"] == "interrupted"
    _, rows = read(tmp_path / "o" / "run.csv")
    assert np.isfinite(rows[:, :5]).all()
    assert 0.0 < rows[-1, 0] < 100_000
