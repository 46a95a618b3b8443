"""The command line as it is used: real commands, real files, real messages."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import neuler
from neuler import tables
from neuler.cli import main

HOSTILE = """<robot name="&lt;b&gt;arm"><link name="base"/><link name="&lt;script&gt;"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j&#x9b;[2J" type="continuous"><parent link="base"/><child link="&lt;script&gt;"/></joint></robot>"""


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refused(capsys, *arguments):
    code, out, err = run(capsys, *arguments)
    assert code == 2, (out, err)
    assert out == ""
    assert err.startswith("neuler: error: ")
    assert "Traceback" not in err
    return err


# ---- info ----------------------------------------------------------------------------------------


def test_info_shows_the_tree_the_parameters_and_the_findings(capsys):
    code, out, _ = run(capsys, "info", "puma560")
    assert code == 0
    assert "joint3: revolute q[2] -> link3 (4.8 kg)" in out
    assert "24.731 / 27.236" in out  # Coulomb friction, forward and reverse
    assert "warning: link 'link1'" in out
    assert "dh6" in out


def test_info_draws_branches(capsys, tmp_path):
    robot = "<robot name='y'><link name='base'/>" + "".join(f"<link name='{n}'/>" for n in "abc")
    for name, parent, child in (("one", "base", "a"), ("two", "a", "b"), ("three", "base", "c")):
        robot += f"<joint name='{name}' type='fixed'><parent link='{parent}'/><child link='{child}'/></joint>"
    path = tmp_path / "y.urdf"
    path.write_text(robot + "</robot>")
    _, out, _ = run(capsys, "info", path)
    assert "base\n├─ one: fixed -> a\n│  └─ two: fixed -> b\n└─ three: fixed -> c\n" in out


def test_info_as_json(capsys, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(HOSTILE)
    _, out, _ = run(capsys, "info", path, "--json")
    data = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert data["name"] == "<b>arm"
    assert data["joints"][0]["limits"]["lower"] is None
    assert data["joints"][0]["coordinate"] == 0
    assert data["links"][1]["mass"] == 1.0


def test_names_cannot_steer_the_terminal(capsys, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(HOSTILE, encoding="utf-8")
    _, out, _ = run(capsys, "info", path)
    assert "\x9b" not in out
    assert "j\\x9b[2J" in out


# ---- which robot -----------------------------------------------------------------------------------


def test_unknown_robots_are_named_with_the_catalogue(capsys):
    assert "'pumma'" in refused(capsys, "info", "pumma")
    assert "no file 'arm.urdf'" in refused(capsys, "info", "arm.urdf")
    assert "stanford" in refused(capsys, "info", "pumma")


def test_load_options_reach_the_reader(capsys, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(HOSTILE.replace("<child", "<mimic joint='x'/><child"))
    assert "mimic" in refused(capsys, "info", path)
    code, _, _ = run(capsys, "info", path, "--mimic", "independent")
    assert code == 0
    assert "--mimic is for robot files" in refused(capsys, "info", "puma560", "--mimic", "independent")


def test_a_broken_file_is_refused_without_a_traceback(capsys, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text("<robot name='x'><link")
    assert "arm.urdf" in refused(capsys, "info", path)
    assert refused(capsys, "info", tmp_path)


def test_version_and_usage(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert neuler.__version__ in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 2


def test_module_runs_and_survives_a_closed_pipe():
    source = str(Path(neuler.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "neuler", "info", "stanford"]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=60)
    assert done.returncode == 0
    assert b"`- joint1: revolute q[0]" in done.stdout  # no box characters in ASCII
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(60)
    assert b"Traceback" not in errors
    assert b"Exception" not in errors


# ---- eval: good files --------------------------------------------------------------------------------


def write_csv(path, names, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return rows[0], np.array(rows[1:], dtype=float)


@pytest.fixture
def states():
    rng = np.random.default_rng(3)
    return rng.uniform(-1, 1, (7, 18))


SPELLINGS = {
    "names": [f"{x}_joint{k + 1}" for x in ("q", "qd", "qdd") for k in range(6)],
    "numbers": [f"{x}{k + 1}" for x in ("q", "qd", "qdd") for k in range(6)],
    "indices": [f"{x}[{k}]" for x in ("q", "qd", "qdd") for k in range(6)],
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_csv_to_csv(capsys, tmp_path, states, spelling):
    order = np.random.default_rng(1).permutation(18)  # columns come in any order
    names = [SPELLINGS[spelling][k] for k in order]
    write_csv(tmp_path / "in.csv", names, states[:, order].tolist())
    code, out, _ = run(
        capsys, "eval", "inverse_dynamics", "puma560", "--in", tmp_path / "in.csv", "--out", tmp_path / "out.csv"
    )
    assert code == 0
    assert "7 states" in out
    head, found = read(tmp_path / "out.csv")
    assert head == [f"tau_joint{k + 1}" for k in range(6)]
    robot = neuler.robots.puma560()
    np.testing.assert_array_equal(found, robot.inverse_dynamics(*np.split(states, 3, axis=1)))


def test_matrices_are_flattened_and_other_columns_ignored_on_request(capsys, tmp_path):
    write_csv(tmp_path / "in.csv", ["t", "q1", "q2"], [[0, 0.1, 0.2], [1, 0.3, 0.4]])
    arguments = ["eval", "mass_matrix", "two_link", "--in", tmp_path / "in.csv", "--out", tmp_path / "out.csv"]
    assert "column 1, 't'" in refused(capsys, *arguments)
    assert run(capsys, *arguments, "--ignore", "t")[0] == 0
    head, found = read(tmp_path / "out.csv")
    assert head == [f"mass_matrix[{i},{j}]" for i in range(2) for j in range(2)]
    expected = neuler.robots.two_link().mass_matrix([[0.1, 0.2], [0.3, 0.4]])
    np.testing.assert_array_equal(found, expected.reshape(2, 4))


def test_npz_both_ways(capsys, tmp_path, states):
    q, qd, qdd = np.split(states, 3, axis=1)
    np.savez(tmp_path / "in.npz", q=q, qd=qd, qdd=qdd[0])  # qdd broadcasts
    code, _, err = run(
        capsys, "eval", "inverse_dynamics", "puma560", "--in", tmp_path / "in.npz", "--out", tmp_path / "out.npz",
        "--option", "reactions=true",
    )  # fmt: skip
    assert code == 0, err
    kernel = neuler.robots.puma560().compile("inverse_dynamics", reactions=True)
    tau, reactions = kernel(q, qd, qdd[0])
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_array_equal(found["tau"], tau)
        np.testing.assert_array_equal(found["reactions"], reactions)


def test_scalars_options_and_wrenches(capsys, tmp_path):
    write_csv(tmp_path / "in.csv", ["q1", "q2", "qd1", "qd2"], [[0.1, 0.2, 0.3, 0.4]])
    assert run(capsys, "eval", "energy", "two_link", "--in", tmp_path / "in.csv", "--out", tmp_path / "e.csv")[0] == 0
    assert read(tmp_path / "e.csv")[0] == ["kinetic", "potential"]
    link = neuler.robots.two_link().link_names[-1]
    names = ["q1", "q2", "qd1", "qd2", "tau1", "tau2", *(f"wrench_{link}[{k}]" for k in range(6))]
    write_csv(tmp_path / "w.csv", names, [np.linspace(0, 1, 12).tolist()])
    arguments = ("eval", "forward_dynamics", "two_link", "--in", tmp_path / "w.csv", "--out", tmp_path / "w.npz")
    code, _, err = run(capsys, *arguments, "--option", f"external={link}", "--option", "method=nasser")
    assert code == 0, err
    assert "unknown option 'fast'" in refused(capsys, *arguments, "--option", "fast=1")
    assert "K=V" in refused(capsys, *arguments, "--option", "fast")


def test_large_files_go_in_chunks(tmp_path):
    values = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
    write_csv(tmp_path / "in.csv", ["q1", "q2"], values.tolist())
    kernel = neuler.robots.two_link().gravity_force
    seen = []
    chunks = list(tables.read_csv(str(tmp_path / "in.csv"), kernel, report=seen.append, chunk=300))
    assert [len(q) for (q,) in chunks] == [300, 300, 300, 100]
    np.testing.assert_array_equal(np.concatenate([q for (q,) in chunks]), values)
    assert sum(seen) == (tmp_path / "in.csv").stat().st_size


# ---- eval: bad files ---------------------------------------------------------------------------------

BAD = {
    "empty": ("", "is empty"),
    "no states": ("q1,q2\n", "no states"),
    "missing column": ("q1\n0.1\n", "no column for 'q_joint2'"),
    "unknown column": ("q1,q_joint3\n0,0\n", "did you mean 'q_joint"),
    "twice": ("q1,q2,q[0]\n0,0,0\n", "'q1' and 'q[0]' are the same input"),
    "semicolons": ("q1;q2\n0;0\n", "columns must be separated by commas"),
    "ragged": ("q1,q2\n0,0\n0\n", "line 3 has 1 cells, the header has 2"),
    "too long": ("q1,q2\n0,0\n0,0,0\n", "line 3 has 3 cells"),
    "not a number": ("q1,q2\n0,0\n0,zero\n", "line 3, column 'q2': expected a finite number, got 'zero'"),
    "nan": ("q1,q2\n0,0\nnan,1\n", "line 3, column 'q1': expected a finite number, got 'nan'"),
    "infinite": ("q1,q2\n0,-inf\n", "line 2, column 'q2'"),
    "empty cell": ("q1,q2\n0,\n", "line 2, column 'q2': expected a finite number, got ''"),
    "empty line": ("q1,q2\n0,0\n\n0,0\n", "line 3 is empty"),
    "open quote": ('q1,q2\n"0,0\n', "is not CSV"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_csv_is_refused_by_row_and_column(capsys, tmp_path, case):
    content, message = BAD[case]
    (tmp_path / "in.csv").write_text(content)
    (tmp_path / "out.csv").write_text("what was there")
    arguments = ("eval", "gravity_force", "two_link", "--in", tmp_path / "in.csv", "--out", tmp_path / "out.csv")
    assert message in refused(capsys, *arguments)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.csv", "out.csv"]
    assert (tmp_path / "out.csv").read_text() == "what was there"


def test_bytes_that_are_no_text_are_refused(capsys, tmp_path):
    (tmp_path / "in.csv").write_bytes(b"q1,q2\n0,\xff\n")
    assert "UTF-8" in refused(
        capsys, "eval", "gravity_force", "two_link", "--in", tmp_path / "in.csv", "--out", tmp_path / "o.csv"
    )
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": [0.0]}, "array 'x' is no input"),
        ({}, "has no array 'q'"),
        ({"q": [[0.0, np.nan]]}, "'q' is not finite at [0, 1]"),
        ({"q": [[0.0, 0.0, 0.0]]}, "expected q with last axis 2"),
        ({"q": np.empty((0, 2))}, "no states"),
        ({"q": np.array([["a", "b"]])}, "must be real numbers"),
    ],
)
def test_bad_npz_is_refused(capsys, tmp_path, arrays, message):
    np.savez(tmp_path / "in.npz", **arrays)
    arguments = ("eval", "gravity_force", "two_link", "--in", tmp_path / "in.npz", "--out", tmp_path / "o.csv")
    assert message in refused(capsys, *arguments)
    assert not (tmp_path / "o.csv").exists()


def test_pickles_and_wrong_names_are_refused(capsys, tmp_path):
    np.savez(tmp_path / "in.npz", q=np.array([object()]))
    base = ("eval", "gravity_force", "two_link")
    assert "cannot be read" in refused(capsys, *base, "--in", tmp_path / "in.npz", "--out", tmp_path / "o.csv")
    (tmp_path / "no.npz").write_text("hello")
    assert refused(capsys, *base, "--in", tmp_path / "no.npz", "--out", tmp_path / "o.csv")
    assert "No such file" in refused(capsys, *base, "--in", tmp_path / "x.csv", "--out", tmp_path / "o.csv")
    write_csv(tmp_path / "in.csv", ["q1", "q2"], [[0, 0]])
    assert ".csv or .npz" in refused(capsys, *base, "--in", tmp_path / "in.csv", "--out", tmp_path / "o.xlsx")
    missing = refused(capsys, *base, "--in", tmp_path / "in.csv", "--out", tmp_path / "no" / "o.csv")
    assert "does not exist" in missing
    assert "no quantity 'gravity'" in refused(
        capsys, "eval", "gravity", "two_link", "--in", tmp_path / "in.csv", "--out", tmp_path / "o.csv"
    )


def test_a_batch_of_many_axes_does_not_fit_csv(capsys, tmp_path):
    np.savez(tmp_path / "in.npz", q=np.zeros((2, 3, 2)))
    arguments = ("eval", "gravity_force", "two_link", "--in", tmp_path / "in.npz")
    assert "write .npz" in refused(capsys, *arguments, "--out", tmp_path / "o.csv")
    assert run(capsys, *arguments, "--out", tmp_path / "o.npz")[0] == 0
