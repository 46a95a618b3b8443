"""``neuler identify``: what it prints, writes and refuses, how it ends; problem files and studies."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

import neuler
from cli_runs import read, refused, run, write_csv
from identify_logs import NAMES, arms, rows, write_log
from neuler import formats, studies
from neuler.cli import parser
from neuler.cli.identify import _problem
from neuler.errors import InputError
from neuler.files.problems import Problem
from neuler.identify.advice import advice
from neuler.identify.fit import METHODS
from neuler.identify.methods import CLOSED
from neuler.identify.page import page_of
from neuler.identify.pictures import envelope
from neuler.identify.problem import read_identify
from neuler.identify.series import autocorrelation
from neuler.tasks import read_task

pytest.importorskip("scipy")
pytest.importorskip("clarabel")

PROBLEM = """
title = "an arm"
[robot]
file = "arm.urdf"
[identify]
columns = ["links", "friction"]
[[log]]
file = "a.csv"
[[log]]
file = "b.csv"
held_out = true
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the given arm, two logs, one that excites badly, and a problem file."""
    folder = tmp_path_factory.mktemp("logs")
    formats.save(arms()[1], folder / "arm.urdf")
    write_log(folder / "a.csv", 1)
    write_log(folder / "b.csv", 2)
    write_log(folder / "bad.csv", 1, still=(1,))
    (folder / "p.toml").write_text(PROBLEM)
    return folder


@pytest.fixture
def here(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


@pytest.fixture(scope="module")
def found(made):
    """What the task of the problem file returns."""
    return read_task(Problem.read(made / "p.toml")).run()


# ---- what comes out ---------------------------------------------------------------------------------------------


def test_one_object_of_json_and_all_files(capsys, here, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, err = run(
        capsys, "identify", "a.csv", "arm.urdf", "--held-out", "b.csv", "--columns", "links", "friction", "-o",
        tmp_path / "out", "--json",
    )  # fmt: skip
    assert code == 0, err
    summary = json.loads(out)
    assert {
        "title", "robot", "valid", "converged", "method", "rows", "rank", "condition", "scaled_condition",
        "excites_badly", "rms", "held_out_rms", "worst_nrmse", "worst_held_out_nrmse", "fitted", "held_out",
        "parameters", "without_effect", "undetermined", "groups", "advice", "notes", "settings", "seconds", "files",
    } <= set(summary)  # fmt: skip
    assert (summary["valid"], summary["converged"], summary["method"]) == (True, True, "weighted")
    errors = summary["held_out"]["b.csv"]
    assert set(errors["rms"]) == {"joint1", "joint2"}
    assert max(errors["nrmse"].values()) < 1.0
    assert min(errors["given_rms"][name] / errors["rms"][name] for name in errors["rms"]) > 20
    assert errors["moving_rms"]["joint1"] <= errors["rms"]["joint1"] * 1.1
    names = {"identified.urdf", "identified.par", "identified.mjcf", "parameters.csv", "forces.npz", "forces.png",
             "index.html", "summary.json"}  # fmt: skip
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    assert {path.rpartition("/")[2] for path in summary["files"]} == names
    kept = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert kept == {name: value for name, value in summary.items() if name != "files"}


def test_files_say_the_same(found, tmp_path):
    """The robot of either format, the table of parameters and the forces agree with one another and with the truth."""
    files, lost = found.save_robot(tmp_path)
    assert [path.name for path in files] == ["identified.urdf", "identified.par", "identified.mjcf"]
    assert lost == []
    true, given = arms()
    _, *state = np.split(rows(5), [1, 3], axis=1)
    q, qd = state[0], np.gradient(state[0], axis=0) * 100
    wanted = true.inverse_dynamics(q, qd, 0 * qd)
    for path in files[:2]:
        robot = neuler.load(path)
        error = np.abs(robot.inverse_dynamics(q, qd, 0 * qd) - wanted).max()
        assert error < 0.03 * np.abs(given.inverse_dynamics(q, qd, 0 * qd) - wanted).max()
    found.save(tmp_path / "parameters.csv")
    with open(tmp_path / "parameters.csv", newline="") as file:
        table = {row["name"]: row for row in csv.DictReader(file)}
    assert list(table) == [each.name for each in found.parameters()]
    assert float(table["joint1.viscous"]["value"]) == pytest.approx(0.4, abs=0.02)
    assert float(table["joint1.viscous"]["given"]) == 0.1
    low, high = (float(table["joint2.coulomb"][key]) for key in ("low", "high"))
    assert low < 0.5 < high < 0.6
    assert table["link2.mx"]["determined"] == "1"
    found.save_forces(tmp_path / "forces.npz")
    found.save_forces(tmp_path / "forces.csv")
    arrays = np.load(tmp_path / "forces.npz")
    assert set(arrays) == {"run", "held_out", "t", "measured", "predicted", "given", "moving", "forces"}
    held_out = arrays["held_out"] == 1
    assert set(arrays["run"][held_out]) == {"b.csv"}
    left = np.sqrt(((arrays["measured"] - arrays["predicted"])[held_out] ** 2).mean(axis=0))
    np.testing.assert_allclose(left, found.found.held_out["b.csv"].rms, rtol=1e-6)
    with open(tmp_path / "forces.csv", newline="") as file:
        head = next(csv.reader(file))
    assert head[:5] == ["run", "held_out", "t", "measured_joint1", "measured_joint2"]


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet", "json", "urdf", "par", "mjcf"])
def test_every_suffix_is_a_file(found, tmp_path, kind):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    found.save(tmp_path / f"x.{kind}")
    assert (tmp_path / f"x.{kind}").stat().st_size > 100
    if kind == "parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
        assert set(table["run"].to_pylist()) == {"a.csv", "b.csv"}
    with pytest.raises(InputError, match=r"expected a file that ends in"):
        found.save(tmp_path / "x.xls")


def test_what_a_format_cannot_hold_is_said(capsys, here, tmp_path):
    """Friction that differs between directions: no URDF file, and one of an earlier run is gone."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "identified.urdf").write_text("old")
    uneven = arms()[1].with_friction("joint1", neuler.Coulomb(0.2, 0.1, coulomb_reverse=0.3))
    formats.save(uneven, tmp_path / "arm.par")
    code, out, err = run(
        capsys, "identify", "a.csv", tmp_path / "arm.par", "-o", tmp_path / "out", "--no-figures", "--no-page"
    )
    assert code == 0, err
    assert "identified.urdf is not written: joint 'joint1': a URDF file holds no friction" in err
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"identified.par", "parameters.csv", "forces.npz", "summary.json"}
    assert "identified.urdf" not in out


# ---- the page ---------------------------------------------------------------------------------------------------


def test_the_page_loads_nothing_and_says_everything(found, tmp_path):
    pytest.importorskip("matplotlib")
    found.page(tmp_path / "index.html", title="<ours>")
    text = (tmp_path / "index.html").read_text()
    assert "default-src 'none'" in text
    assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!data:)", text)
    assert not re.search(r"url\((?!data:)|@import", re.sub(r"data:[^\"]*", "", text))
    assert not re.search(r"https?:|//[a-z]", re.sub(r"data:[^\"]*", "", text))
    assert "<h1>&lt;ours&gt;</h1>" in text
    for heading in ("What to know", "Errors", "Forces", "Parameters", "What could not be identified", "Settings"):
        assert f"<h2>{heading}</h2>" in text
    assert text.count("<figure>") == 4  # two runs of two forces
    assert text.count('<svg class="bar"') == len(found.parameters())
    assert "link1.mass" in text.partition("What could not be identified")[2]


def test_the_page_without_matplotlib(found, monkeypatch):
    """It has all but the pictures, and says what they need."""
    import neuler.identify.page as page

    def absent(*_):
        raise neuler.NeulerError("drawing needs matplotlib")

    monkeypatch.setattr(page, "force_picture", absent)
    text = page_of(found, "an arm")
    assert "No pictures: drawing needs matplotlib" in text
    assert "<figure>" not in text
    assert "<h2>Parameters</h2>" in text


@pytest.mark.parametrize("length", [1, 7, 1400, 1401, 5000, 50_000, 50_001])
def test_long_curves_keep_their_peaks(length):
    rng = np.random.default_rng(length)
    t, y = np.arange(length) * 0.001, rng.normal(size=length)
    few, kept = envelope(t, y)
    assert len(few) <= 1403
    assert (kept.min(), kept.max()) == (y.min(), y.max())
    assert (few[0], few[-1]) == (t[0], t[-1])
    assert (np.diff(few) > 0).all()


def test_the_autocorrelation_is_that_of_numpy():
    values = np.random.default_rng(0).normal(size=300).cumsum()
    e = values - values.mean()
    full = np.correlate(e, e, "full")[299:]
    np.testing.assert_allclose(autocorrelation(values, 40), full[:41] / full[0], atol=1e-12)
    assert autocorrelation(np.ones(50), 3).tolist() == [0.0] * 4


# ---- excitation -------------------------------------------------------------------------------------------------


def test_a_motion_that_excites_badly_is_said_to(capsys, here, tmp_path):
    code, out, err = run(capsys, "identify", "bad.csv", "arm.urdf", "--held-out", "b.csv", "-o", tmp_path, "--json")
    summary = json.loads(out)
    assert (code, summary["excites_badly"], summary["valid"], summary["converged"]) == (0, True, False, True)
    assert err.startswith("neuler: note: 'bad.csv' excites badly: the scaled condition number is ")
    assert sum("excites badly" in note for note in summary["notes"]) == 1
    assert "move joint2 farther" in summary["advice"][0]
    text = (tmp_path / "index.html").read_text()
    assert "<b>warning</b> · &#x27;bad.csv&#x27; excites badly" in text
    assert "move joint2 farther" in text.partition("What to excite next")[2]
    code, _, _ = run(capsys, "identify", "bad.csv", "arm.urdf", "--strict")
    assert code == 1


def test_advice_is_right(made):
    """The joint that hardly moves is the one to move; with such a run beside it the worst direction is shown."""
    task = read_identify(Problem.of_text(PROBLEM.replace("a.csv", "bad.csv"), made))
    (ready,) = [log.prepare() for log in task.logs[0].read(task.robot)]
    base = task.robot.base_parameters(("links", "friction"))
    worst = advice(base, [ready])[0]
    first = worst.remedies[0]
    assert (first.joint, first.way) == ("joint2", "farther")
    assert first.then > 20 * first.now
    assert first.gain > 10
    t = ready.t  # a run like the one that is asked for, made by hand
    q = np.stack([ready.q[:, 0], first.then * np.sin(3.0 * t)], axis=1)
    qd = np.stack([ready.qd[:, 0], 3.0 * first.then * np.cos(3.0 * t)], axis=1)
    qdd = np.stack([ready.qdd[:, 0], -9.0 * first.then * np.sin(3.0 * t)], axis=1)
    kernel = base.regressor()
    before = kernel(ready.q, ready.qd, ready.qdd).reshape(-1, len(base))
    after = np.vstack([before, kernel(q, qd, qdd).reshape(-1, len(base))])
    scales = np.linalg.norm(before, axis=0)
    least = [np.linalg.svd(rows_ / scales, compute_uv=False)[-1] for rows_ in (before, after)]
    assert least[1] > 5 * least[0]


def test_no_advice_where_it_excites_well(found):
    assert found.advice == ()
    assert not found.badly


# ---- problem files ----------------------------------------------------------------------------------------------


def test_a_problem_file(capsys, here, tmp_path):
    code, out, err = run(capsys, "identify", "p.toml", "-o", tmp_path, "--no-figures", "--no-page")
    assert code == 0, err
    assert out.startswith("an arm\nweighted: ")
    assert "b.csv (held out)" in out
    assert f"wrote {tmp_path / 'identified.urdf'}" in out


def test_what_flags_mean(here):
    """Each changes one value of the problem file."""
    given = (
        "identify a.csv arm.urdf --held-out b.csv --method reweighted --columns links --cutoff 6 --torque-cutoff none"
    )
    given += (
        " --smoothing spline --decimate 4 --trim 0.5 --dead-zone 0.01,0.02 --derivatives positions --units q=deg t=ms"
    )
    given += " --map pos=q1 arm=q2,-1 --torque-constant 0.2 --ratio 50,100 --rate 250 --no-check --tables csv --no-page"
    problem, robot = _problem(parser().parse_args(given.split()))
    task = read_identify(problem, robot)
    assert task.options == {"method": "reweighted", "columns": ("links",)}
    zone = task.preparation.pop("dead_zone")
    assert zone.tolist() == [0.01, 0.02]
    assert task.preparation == {
        "cutoff": 6.0, "torque_cutoff": float("inf"), "method": "spline", "decimate": 4, "trim": 0.5,
        "derivatives": "positions", "check": False,
    }  # fmt: skip
    assert [(log.name, log.held_out) for log in task.logs] == [("a.csv", False), ("b.csv", True)]
    assert task.logs[1].reading == {
        "map": {"pos": "q1", "arm": ("q2", -1.0)}, "units": {"q": "deg", "t": "ms"}, "torque_constants": 0.2,
        "ratios": [50.0, 100.0], "rate": 250.0,
    }  # fmt: skip
    assert (task.output.tables, task.output.page) == (("csv",), False)


def test_names_units_and_currents(capsys, tmp_path):
    """A log with names and units of its own gives what the log in SI gives."""
    formats.save(arms()[1], tmp_path / "arm.urdf")
    write_log(tmp_path / "si.csv", 1)
    scale = np.array([1e3, *[-np.degrees(1.0)] * 2, *[1e3 / 0.2 / 50] * 2])
    write_csv(tmp_path / "own.csv", ("ms", "pos1", "pos2", "cur1", "cur2"), (rows(1) * scale).tolist())
    one = json.loads(run(capsys, "identify", tmp_path / "si.csv", tmp_path / "arm.urdf", "--json")[1])
    code, out, err = run(
        capsys, "identify", tmp_path / "own.csv", tmp_path / "arm.urdf", "--json", "--map", "ms=t", "pos1=q1,-1",
        "pos2=q2,-1", "cur1=tau1", "cur2=tau2", "--units", "t=ms", "q=deg", "tau=mA", "--torque-constant", 0.2,
        "--ratio", 50,
    )  # fmt: skip
    assert code == 0, err
    other = json.loads(out)
    for name, each in one["parameters"].items():
        assert other["parameters"][name]["value"] == pytest.approx(each["value"], rel=1e-6, abs=1e-8)


def test_runs_of_one_file_and_names_in_folders(capsys, tmp_path):
    formats.save(arms()[1], tmp_path / "arm.urdf")
    both = [[k + 1, *row] for k in range(2) for row in rows(k + 1).tolist()]
    write_csv(tmp_path / "runs.csv", ("run", *NAMES), both)
    found = json.loads(run(capsys, "identify", tmp_path / "runs.csv", tmp_path / "arm.urdf", "--json")[1])
    assert list(found["fitted"]) == ["runs.csv, run 1", "runs.csv, run 2"]
    text = PROBLEM.replace('file = "a.csv"', 'file = "runs.csv"\nrun = 1\nname = "first"\nweight = 0.5')
    text = text.replace('file = "b.csv"', 'file = "runs.csv"\nrun = 2')
    task = read_identify(Problem.of_text(text, tmp_path))
    assert [(log.name, log.run, log.weight) for log in task.logs] == [("first", "1", 0.5), ("runs.csv", "2", 1.0)]
    found = task.run()
    assert [run.name for run in found.runs] == ["first, run 1", "runs.csv, run 2"]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_log(tmp_path / name / "log.csv", len(name) if name == "one" else 4)
    text = PROBLEM.replace("a.csv", "one/log.csv").replace("b.csv", "two/log.csv")
    task = read_identify(Problem.of_text(text, tmp_path))
    assert [log.name for log in task.logs] == ["one/log.csv", "two/log.csv"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_one_of_the_command(capsys, here, method):
    more = []
    if method in CLOSED:
        assert "simulates the closed loop" in refused(capsys, "identify", "p.toml", "--method", method)
        return
    if method == "instrumental":  # the same motion again, with other noise
        assert "needs instruments" in refused(capsys, "identify", "p.toml", "--method", method)
        again = rows(1)
        again[:, 1:] += [1e-5, 1e-5, 0.01, 0.01] * np.random.default_rng(9).normal(size=(len(again), 4))
        write_csv("again.csv", NAMES, again.tolist())
        more = ["--instrument", "again.csv", "--cutoff", "8"]
    code, out, err = run(capsys, "identify", "p.toml", "--method", method, *more, "--json")
    assert code == 0, err
    summary = json.loads(out)
    assert summary["worst_held_out_nrmse"] < 3.0
    assert not summary["excites_badly"]  # of base parameters, also where all are looked for


def test_a_robot_of_the_catalogue(capsys, here):
    """Without friction and rotors of its own: columns that it lacks have no given values, or are zero."""
    code, out, err = run(capsys, "identify", "a.csv", "two_link", "--json")
    assert code == 0, err
    assert json.loads(out)["parameters"]["joint1.viscous"]["given"] == 0.0


def test_progress_is_told(made):
    task = read_task(Problem.read(made / "p.toml"))
    seen = []
    task.run(progress=seen.append)
    assert seen == [1, 1, 1, 1]
    words = []
    task.run(progress=lambda done, now="": words.append((done, now)))
    assert (0, "a.csv: reading and filtering") in words
    assert sum(done for done, _ in words) == 4


# ---- studies ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_study_of_methods_cutoffs_and_columns(capsys, here, tmp_path):
    text = (
        PROBLEM
        + """
[study]
workers = 0
[study.settings]
identify.method = ["weighted", "reweighted"]
identify.cutoff = [4.0, 8.0]
identify.columns = ["links", "links,friction"]
"""
    )
    (here / "study.toml").write_text(text)
    code, out, err = run(capsys, "study", "study.toml", "-o", tmp_path / "out", "--no-figures", "--json")
    assert code == 0, err
    assert json.loads(out)["counts"]["ok"] == 8
    table = studies.load(tmp_path / "out").table()
    assert {"rms", "held_out_rms", "scaled_condition", "worst_nrmse", "parameters.link2.mx.value"} <= set(table)
    friction = table["identify.columns"] == "links,friction"
    assert table["held_out_rms"][friction].max() < 0.3 * table["held_out_rms"][~friction].min()
    assert not any(name.startswith("settings") for name in table)


def test_a_study_of_logs(here, tmp_path):
    """Which log is fitted is a setting, too; a row whose log is not there fails alone."""
    settings = [{"log.0.file": name} for name in ("a.csv", "bad.csv", "none.csv")]
    found = neuler.study(here / "p.toml", settings, tmp_path / "out", workers=0, progress=False)
    table = found.table()
    assert table["status"].tolist() == ["ok", "ok", "failed"]
    assert "there is no file" in table["message"][2]
    assert [str(x) for x in table["excites_badly"][:2]] == ["False", "True"]
    assert table["held_out_rms"][0] < table["held_out_rms"][1]


# ---- what is refused --------------------------------------------------------------------------------------------


def nan(values):
    values[17, 3] = np.nan
    return values


def backwards(values):
    values[40, 0] = values[39, 0] - 0.5
    return values


def degrees(values):
    values[:, 1:3] = np.degrees(values[:, 1:3])
    return values


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (nan, "odd.csv: column 'tau_joint1' has no finite value in row 17 at 0.17 s"),
        (backwards, "odd.csv: time goes back"),
        (degrees, "odd.csv: "),
        (lambda values: values[:6], "odd.csv: "),
        (lambda values: values * [1, 1, 1, 1, -1], "odd.csv: column 'tau_joint2' has the sign opposite"),
        (lambda values: values[:, [0, 1, 2, 4, 3]], "odd.csv: "),
    ],
    ids=["nan", "backwards", "degrees", "short", "sign", "swapped"],
)
def test_logs_that_cannot_be_right(capsys, here, tmp_path, change, words):
    write_log(tmp_path / "odd.csv", 1, change=change)
    told = refused(capsys, "identify", tmp_path / "odd.csv", "arm.urdf", "-o", tmp_path / "out")
    assert words in told
    assert "prepare(" not in told
    assert not list((tmp_path / "out").iterdir())  # nothing is half written


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("junk.csv", bytes(range(256)) * 20, "cannot be read as a table of numbers"),
        ("junk.npz", bytes(range(256)) * 20, "junk.npz"),
        ("empty.csv", b"", "a header with different names is needed"),
        ("head.csv", b"t,q1,q2,tau1,tau2\n", "a header with different names is needed"),
        ("text.csv", b"t,q1,q2,tau1,tau2\n0,a,b,c,d\n", "is no number"),
        ("ragged.csv", b"t,q1,q2,tau1,tau2\n0,1,2\n", "row 0 has 3 cells"),
        ("other.csv", b"t,pos1,pos2,tau1,tau2\n0,1,2,3,4\n", "--map NAME=q1 says what yours are called"),
        ("timeless.csv", b"q1,q2,tau1,tau2\n" + b"1,2,3,4\n" * 50, "--rate says how many samples"),
        ("double.csv", b"t,time,q1,q2,tau1,tau2\n0,0,1,2,3,4\n", "keep one"),
    ],
)
def test_files_that_are_no_logs(capsys, here, tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    told = refused(capsys, "identify", tmp_path / name, "arm.urdf", "-o", tmp_path / "out")
    assert words in told
    assert name in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.csv", "arm.urdf"], "[log] 1 file: there is no file"),
        (["a.csv", "none.urdf"], "there is no file 'none.urdf'"),
        (["a.csv", "arm"], "there is neither a file nor a robot of the catalogue named 'arm'"),
        (["a.csv"], "'a.csv' is a log, and the robot comes last"),
        (["arm.urdf", "a.csv"], "'a.csv' is a log, and the robot comes last"),
        (["arm.urdf"], "name a log before the robot"),
        (["arm.urdf", "arm.urdf"], "expected a file that ends in .csv, .npz, .parquet"),
        (["a.csv", "p.toml"], "is a problem file, with its logs in tables [[log]]"),
        (["p.toml", "--mimic", "couple"], "--mimic is for robot files"),
        (["none.toml"], "none.toml: there is no such file"),
        (["a.csv", "puma560"], "a.csv: has no column 'q_joint3'"),
        (["a.csv", "arm.urdf", "--held-out", "a.csv"], "is fitted and held out"),
        (["a.csv", "a.csv", "arm.urdf"], "is named twice; to count more, give it a weight"),
        (["a.csv", "arm.urdf", "--held-out", "none.csv"], "there is no file"),
        (["a.csv", "arm.urdf", "--method", "wieghted"], "did you mean 'weighted'?"),
        (["a.csv", "arm.urdf", "--columns", "linsk"], "linsk"),
        (["a.csv", "arm.urdf", "--cutoff", "-3"], "[identify] cutoff: expected a positive number"),
        (["a.csv", "arm.urdf", "--cutoff", "high"], "[identify] cutoff: expected a positive number, got 'high'"),
        (["a.csv", "arm.urdf", "--cutoff", "90"], "must be at most 0.4 of the rate"),
        (["a.csv", "arm.urdf", "--decimate", "0"], "[identify] decimate: expected a whole number"),
        (["a.csv", "arm.urdf", "--decimate", "1.5"], "[identify] decimate: expected a whole number"),
        (["a.csv", "arm.urdf", "--decimate", "500"], " rows (samples times forces with a weight above zero) cannot"),
        (["a.csv", "arm.urdf", "--trim", "9"], "is too short"),
        (["a.csv", "arm.urdf", "--dead-zone", "1,2,3"], "[identify] dead_zone: expected a number, a list of 2"),
        (["a.csv", "arm.urdf", "--smoothing", "kalman"], "[identify] smoothing: there is no 'kalman'"),
        (["a.csv", "arm.urdf", "--derivatives", "measured"], "--derivatives measured needs velocities"),
        (["a.csv", "arm.urdf", "--units", "deg"], "--units expects NAME=VALUE, as q=deg"),
        (["a.csv", "arm.urdf", "--units", "q=furlong"], "furlong"),
        (["a.csv", "arm.urdf", "--units", "tau=mA"], "--torque-constant must say"),
        (["a.csv", "arm.urdf", "--torque-constant", "0.2"], "are for currents; say --units tau=A"),
        (["a.csv", "arm.urdf", "--map", "pos=q1"], "the file has no column 'pos'"),
        (["a.csv", "arm.urdf", "--rate", "100"], "times are in the column 't'"),
        (["a.csv", "arm.urdf", "--set", "identify.cutof=3"], "did you mean 'cutoff'?"),
        (["a.csv", "arm.urdf", "--set", "reading.unit=3"], "did you mean 'units'?"),
        (["p.toml", "--set", "log.0.heldout=true"], "did you mean 'held_out'?"),
        (["p.toml", "--set", "log.0.held_out=true"], "all are held out"),
        (["p.toml", "--set", "log.0.weight=0"], "[log] 1 weight: expected a positive number"),
        (["p.toml", "--set", "log.0.run=2"], "has no run '2'"),
        (["p.toml", "--set", "simulate.step=1"], "simulate: unknown key"),
        (["a.csv", "arm.urdf", "--tables", "xls"], "there is no 'xls'"),
    ],
)
def test_what_is_refused(capsys, here, arguments, words):
    assert words in refused(capsys, "identify", *arguments)


def test_a_folder_that_cannot_be_written_is_refused_before_the_fit(capsys, here, tmp_path):
    (tmp_path / "file").write_text("")
    told = refused(capsys, "identify", "a.csv", "arm.urdf", "-o", tmp_path / "file")
    assert "cannot write into the folder" in told


def test_a_folder_that_is_there_keeps_what_else_is_in_it(capsys, here, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for _ in range(2):
        code, _, err = run(capsys, "identify", "a.csv", "arm.urdf", "-o", tmp_path, "--no-figures", "--no-page")
        assert code == 0, err
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_held_out_log_with_the_same_measurements_is_noted(capsys, here, tmp_path):
    (tmp_path / "copy.csv").write_bytes((here / "a.csv").read_bytes())
    code, out, err = run(capsys, "identify", "a.csv", "arm.urdf", "--held-out", tmp_path / "copy.csv", "--json")
    assert code == 0
    assert "'copy.csv' is held out, and has the measurements of 'a.csv'" in err
    assert any("say nothing of other motions" in note for note in json.loads(out)["notes"])


def test_joints_that_the_log_does_not_have_are_held(capsys, here, tmp_path):
    """A finger at the end of the arm, and a log of the arm alone, with an offset of a torque."""
    finger = neuler.Joint("finger", "prismatic", "link2", "tip", axis=(1.0, 0.0, 0.0), limits=neuler.Limits(0.0, 0.04))
    arm = arms()[1]
    robot = arm.replace(links=[*arm.links, neuler.Link("tip", mass=0.1)], joints=[*arm.joints, finger])
    formats.save(robot, tmp_path / "hand.urdf")
    write_log(tmp_path / "off.csv", 1, change=lambda values: values + [0, 0, 0, 2.0, 0])
    words = ("identify", tmp_path / "off.csv", tmp_path / "hand.urdf")
    assert "a joint that the log does not have is held, by --fixed" in refused(capsys, *words)
    code, out, err = run(capsys, *words, "--fixed", "finger=0.02", "--offsets", "--json")
    assert code == 0, err
    summary = json.loads(out)
    assert summary["parameters"]["joint1.offset"]["value"] == pytest.approx(2.0, abs=0.1)
    assert summary["parameters"]["joint1.offset"]["given"] == 0.0
    assert summary["parameters"]["link2.mx"]["given"] is not None
    assert summary["rank"] == len(summary["parameters"])
    text = PROBLEM.replace("a.csv", str(tmp_path / "off.csv")).replace("b.csv", str(here / "b.csv"))
    text = text.replace("arm.urdf", str(tmp_path / "hand.urdf"))
    text = text.replace("[identify]", 'fixed = ["finger"]\n[identify]\noffsets = ["joint1"]')
    task = read_identify(Problem.of_text(text, tmp_path))
    assert task.robot.joint_names == ("joint1", "joint2")
    assert task.offsets == ("joint1",)
    (tmp_path / "hand.toml").write_text(text.replace('fixed = ["finger"]\n', "").replace('["joint1"]', "false"))
    flags = ["identify", str(tmp_path / "hand.toml"), "--fixed", "finger", "--offsets", "joint2"]
    task = read_identify(*_problem(parser().parse_args(flags)))
    assert (task.robot.joint_names, task.offsets) == (("joint1", "joint2"), ("joint2",))
    assert "--fixed expects JOINT or JOINT=NUMBER" in refused(capsys, *words, "--fixed", "finger=up")
    assert "has no joint 'fingr'" in refused(capsys, *words, "--fixed", "fingr")
    assert "offsets: there is no 'joint9'" in refused(capsys, *words, "--fixed", "finger", "--offsets", "joint9")


def test_other_arguments_of_fit_are_keys(here):
    keys = "friction = 'stribeck'\nfriction_speeds = [0.1, 0.2]\nprior_sd = 0.3\n"
    keys += "loads = { 'a.csv' = { 'payload:link2.mass' = 0.5 } }\n"
    found = read_identify(Problem.of_text(PROBLEM.replace("[identify]\n", f"[identify]\n{keys}"), here)).run().found
    assert found.settings["friction_speeds"] == [0.1, 0.2]
    assert found.settings["loads"] == {"a.csv": {"payload:link2.mass": 0.5}}


def test_friction_that_grows_with_the_load_has_ranks_and_given_values(capsys, here):
    code, out, err = run(capsys, "identify", "p.toml", "--set", "identify.friction=load", "--no-page")
    assert code == 0, err
    assert "rank 10 of 10" in out
    assert "nan" not in out


def test_a_robot_that_does_not_move(capsys, here, tmp_path):
    """No joint moves: there is no force to fit."""
    (tmp_path / "rock.urdf").write_text("<robot name='rock'><link name='base'/></robot>")
    assert "robot 'rock' has no driven joint" in refused(capsys, "identify", "a.csv", tmp_path / "rock.urdf")


def test_without_checks_a_wrong_sign_is_a_note(capsys, here, tmp_path):
    write_log(tmp_path / "odd.csv", 1, change=lambda values: values * [1, 1, 1, 1, -1])
    code, out, err = run(capsys, "identify", tmp_path / "odd.csv", "arm.urdf", "--no-check", "--json")
    assert code in (0, 1), err
    assert any("has the sign opposite" in note for note in json.loads(out)["notes"])


def test_names_that_are_hostile(capsys, tmp_path):
    """A run called like markup or like a terminal's command is shown as text."""
    pytest.importorskip("matplotlib")
    formats.save(arms()[1], tmp_path / "arm.urdf")
    name = "<b>$x_1^2$ &\x1b[2J.csv"
    write_log(tmp_path / name, 1)
    code, out, err = run(capsys, "identify", tmp_path / name, tmp_path / "arm.urdf", "-o", tmp_path / "out")
    assert code == 0, err
    assert "\x1b" not in out + err
    text = (tmp_path / "out" / "index.html").read_text()
    assert "\x1b" not in text
    assert "&lt;b&gt;$x_1^2$ &amp;" in text
    assert "<b>$x" not in text


def test_the_table_of_parameters_is_read_back(found, tmp_path):
    found.save(tmp_path / "p.csv")
    text = (tmp_path / "p.csv").read_text().splitlines()
    write_csv(tmp_path / "n.csv", text[0].split(",")[1:], [line.split(",")[1:] for line in text[1:]])
    head, numbers = read(tmp_path / "n.csv")
    assert head == ["value", "sd", "relative_sd", "low", "high", "given", "determined"]
    assert ((numbers[:, 3] < numbers[:, 0]) & (numbers[:, 0] < numbers[:, 4])).all()
