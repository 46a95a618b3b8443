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
from neuler.cli import main
from neuler.files import tables

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


# ---- eval: machines with loops, free bases --------------------------------------------------------------


def evaluate(capsys, tmp_path, quantity, machine, names, rows, *more):
    write_csv(tmp_path / "in.csv", names, rows)
    arguments = ("eval", quantity, machine, "--in", tmp_path / "in.csv", "--out", tmp_path / "out.csv", *more)
    code, _, err = run(capsys, *arguments)
    assert code == 0, err
    return (*read(tmp_path / "out.csv"), err)


def test_eval_of_a_mechanism_takes_closed_positions_and_independent_velocities(capsys, tmp_path):
    machine = neuler.robots.five_bar()
    q = machine.assemble([[2.2, 0.9], [2.4, 1.0], [2.0, 0.8]]).q
    rng = np.random.default_rng(0)
    qd, qdd = rng.normal(size=(2, 3, 2))
    names = [f"q_{x}" for x in machine.joint_names]
    names += [f"{x}_{arm}" for x in ("qd", "qdd") for arm in ("left_arm", "right_arm")]
    rows = np.concatenate([q, qd, qdd], axis=1)
    head, found, _ = evaluate(capsys, tmp_path, "inverse_dynamics", "five_bar", names, rows.tolist())
    assert head == ["tau_left_arm", "tau_right_arm"]
    np.testing.assert_array_equal(found, machine.inverse_dynamics(q, qd, qdd))
    # the chosen independent joints name the columns, in their order
    option = ("--option", "independent=right_arm,left_forearm")
    names = [f"q_{x}" for x in machine.joint_names] + ["qd_left_forearm", "qd_right_arm"]
    head, found, _ = evaluate(capsys, tmp_path, "bias_force", "five_bar", names, rows[:, :6].tolist(), *option)
    kernel = machine.compile("bias_force", independent=("right_arm", "left_forearm"))
    np.testing.assert_array_equal(found, kernel(q, qd[:, ::-1]))
    assert head == ["bias_right_arm", "bias_left_forearm"]


def test_eval_can_close_the_loops_itself(capsys, tmp_path):
    machine = neuler.robots.four_bar()
    rows = [[1.0, 0.5, 0.1], [2.0, -0.5, 0.2]]
    head, found, _ = evaluate(
        capsys, tmp_path, "inverse_dynamics", "four_bar", ["q_crank", "qd_crank", "qdd_crank"], rows, "--assemble"
    )
    q = machine.assemble([[1.0], [2.0]]).q
    np.testing.assert_allclose(found, machine.inverse_dynamics(q, *np.array(rows).T[1:, :, None]), rtol=1e-12)
    assert head == ["tau_crank"]
    # what the file says of the others is a guess: here that of the other branch
    across = np.array([0.675 - 0.15 * np.cos(1.0), -0.15 * np.sin(1.0)])  # from the crank's end to the rocker's foot
    tilt = np.arctan2(across[1], across[0])
    mirrored = [1.0, 2 * (tilt - 1.0) - q[0, 1], 2 * tilt - q[0, 2]]
    other = machine.assemble([1.0], guess=mirrored).q
    assert np.abs(other - q[0]).max() > 0.5
    head, found, _ = evaluate(capsys, tmp_path, "mass_matrix", "four_bar", ["q1", "q2", "q3"], [mirrored], "--assemble")
    np.testing.assert_allclose(found[0], machine.mass_matrix(other).ravel(), rtol=1e-10)
    np.savez(tmp_path / "in.npz", q=[[1.0], [2.0]])
    code, _, err = run(
        capsys,
        "eval",
        "mass_matrix",
        "four_bar",
        "--in",
        tmp_path / "in.npz",
        "--out",
        tmp_path / "m.npz",
        "--assemble",
    )
    assert code == 0, err
    with np.load(tmp_path / "m.npz") as found:
        np.testing.assert_allclose(found["mass_matrix"], machine.mass_matrix(q), rtol=1e-12)


def test_eval_of_a_parallel_robot_by_pose_or_by_motors(capsys, tmp_path):
    machine = neuler.robots.delta()
    q = machine.inverse_kinematics([0.02, 0.01, -0.5, 0, 0, 0, 1]).q
    screw = [f"{x}_{part}" for x in ("v", "vd") for part in ("vx", "vy", "vz", "wx", "wy", "wz")]
    motion = [0.1, 0.2, 0.3, 0, 0, 0, 1.0, 0, 0, 0, 0, 0]
    pose = [f"q_platform_{part}" for part in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    expected = machine.inverse_dynamics(q, motion[:6], motion[6:])
    for names, given in ((pose, q[:7]), ([f"q_leg{k}.motor" for k in (1, 2, 3)], q[[7, 10, 13]])):
        head, found, err = evaluate(
            capsys, tmp_path, "inverse_dynamics", "delta", [*names, *screw], [[*given, *motion]], "--assemble"
        )
        assert head == [f"tau_leg{k}.motor" for k in (1, 2, 3)]
        np.testing.assert_allclose(found[0], expected, rtol=1e-8)
        assert err == ""
    turning = [0.1, 0.2, 0.3, 1.0, 0, 0, *[0.0] * 6]  # a Delta's platform cannot turn
    rows = [[*q[:7], *motion], [*q[:7], *turning]]
    _, found, err = evaluate(capsys, tmp_path, "inverse_dynamics", "delta", [*pose, *screw], rows, "--assemble")
    np.testing.assert_allclose(found[0], expected, rtol=1e-8)
    assert np.isnan(found[1]).all()
    assert "note: 1 of 2 states have no result" in err
    assert "Warning" not in err


def test_eval_of_a_free_base_names_every_number(capsys, tmp_path):
    robot = neuler.robots.two_link().with_free_base()
    path = tmp_path / "arm.par"
    from neuler.formats import par

    path.write_text(par.write(robot))
    again = neuler.load(path)
    names = [f"q_root_joint_{part}" for part in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    names += [f"q_{joint}" for joint in again.joint_names[1:]]
    for x in ("qd", "qdd"):
        names += [f"{x}_root_joint_{part}" for part in ("vx", "vy", "vz", "wx", "wy", "wz")]
        names += [f"{x}_{joint}" for joint in again.joint_names[1:]]
    q = again.random_configuration(1, 4)
    qd, qdd = np.random.default_rng(2).normal(size=(2, 4, 8))
    rows = np.concatenate([q, qd, qdd], axis=1).tolist()
    head, found, _ = evaluate(capsys, tmp_path, "inverse_dynamics", path, names, rows)
    wrench = [f"tau_root_joint_{part}" for part in ("fx", "fy", "fz", "mx", "my", "mz")]
    assert head == [*wrench, *(f"tau_{joint}" for joint in again.joint_names[1:])]
    np.testing.assert_array_equal(found, again.inverse_dynamics(q, qd, qdd))


REFUSED = {
    "open": (["q_crank", "q_coupler", "q_rocker"], [[1.5708, -0.9273, 2.2143], [1, 1, 1]], [], "line 3: the loops of"),
    "hint": (["q_crank", "q_coupler", "q_rocker"], [[1, 1, 1]], [], "let --assemble close them"),
    "unknown": (["q_crank", "q_couple", "q_rocker"], [[1, 1, 1]], [], "did you mean 'q_coupler'?"),
    "missing": (["q_crank"], [[1.0]], [], "has no column for 'q_coupler', 'q_rocker'"),
    "no crank": (["q_rocker"], [[1.0]], ["--assemble"], "has no column for 'q_crank'"),
    "no joint": (["q_crank"], [[1.0]], ["--option", "independent=handle"], "'handle'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_states_of_a_mechanism_are_refused(capsys, tmp_path, case):
    names, rows, more, message = REFUSED[case]
    write_csv(tmp_path / "in.csv", names, rows)
    arguments = ("eval", "mass_matrix", "four_bar", "--in", tmp_path / "in.csv", "--out", tmp_path / "o.csv", *more)
    assert message in refused(capsys, *arguments)
    assert [p.name for p in tmp_path.iterdir()] == ["in.csv"]


def test_states_out_of_reach_and_wrong_quaternions_are_refused_by_line(capsys, tmp_path):
    pose = [f"q_platform_{part}" for part in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    base = ("eval", "jacobian", "delta", "--in", tmp_path / "in.csv", "--out", tmp_path / "o.csv", "--assemble")
    good = [0, 0, -0.52, 0, 0, 0, 1]
    write_csv(tmp_path / "in.csv", pose, [good, good, [0, 0, -5.0, 0, 0, 0, 1]])
    error = refused(capsys, *base)
    assert "line 4: the loops of 'delta' cannot be closed" in error
    write_csv(tmp_path / "in.csv", pose, [[0, 0, -5.0, 0, 0, 0, 1]])
    assert "line 2: " in refused(capsys, *base)
    write_csv(tmp_path / "in.csv", pose, [good, [*good[:6], 2]])
    error = refused(capsys, *base)
    assert "line 3: the quaternion of joint 'platform' has the length 2 instead of 1" in error
    np.savez(tmp_path / "in.npz", q=np.array([good, [0, 0, -5.0, 0, 0, 0, 1]]))
    arguments = [tmp_path / "in.npz" if str(x).endswith("in.csv") else x for x in base]
    assert "state [1]: the loops" in refused(capsys, *arguments)
    write_csv(tmp_path / "in.csv", ["q1", "q2"], [[0, 0]])
    assert "robot 'two_link' has none" in refused(
        capsys,
        "eval",
        "gravity_force",
        "two_link",
        "--in",
        tmp_path / "in.csv",
        "--out",
        tmp_path / "o.csv",
        "--assemble",
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.csv", "in.npz"]


def test_quantities_of_another_structure_are_refused_by_name(capsys, tmp_path):
    write_csv(tmp_path / "in.csv", ["q1"], [[0]])
    error = refused(
        capsys, "eval", "coriolis_matrix", "four_bar", "--in", tmp_path / "in.csv", "--out", tmp_path / "o.csv"
    )
    assert "no quantity 'coriolis_matrix'" in error
    assert "coupling_matrix" in error


# ---- words of the command line --------------------------------------------------------------------------------------


PAR = """NL = 1
NJ = 1
Ant = {0} Sigma = {0} d = {D1} R = {0} Alpha = {0} Theta = {th1}
M = {M1}  ZZ = {0.1} G = {0,0,-9.81}
"""


def test_messages_name_flags(capsys, tmp_path):
    path = tmp_path / "two.urdf"
    path.write_text(
        "<robot name='r'><link name='a'/><link name='b'/><link name='c'/>"
        "<joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint>"
        "<joint name='k' type='continuous'><parent link='b'/><child link='c'/><mimic joint='j'/></joint></robot>"
    )
    text = refused(capsys, "info", path)
    assert "--mimic couple gives" in text
    assert "--mimic independent gives" in text
    assert 'mimic="' not in text
    arm = tmp_path / "arm.par"
    arm.write_text(PAR)
    text = refused(capsys, "info", arm)
    assert "give --value SYMBOL=NUMBER for each, or --values FILE" in text
    assert "--missing zero takes" in text
    text = refused(capsys, "info", arm, "--value", "D1=1", "--value", "MM1=2", "--missing", "zero")
    assert "--value: 'MM1' is no symbol of this file; did you mean 'M1'?" in text


def test_values_from_a_file(capsys, tmp_path):
    arm, values = tmp_path / "arm.par", tmp_path / "values.toml"
    arm.write_text(PAR)
    values.write_text("# of the arm\nD1 = 0.5\nM1 = 2\n")
    found = json.loads(run(capsys, "info", arm, "--values", values, "--missing", "zero", "--json")[1])
    assert "2" in json.dumps(found)
    again = json.loads(
        run(capsys, "info", arm, "--values", values, "--value", "M1=3", "--missing", "zero", "--json")[1]
    )
    assert found != again, "a single value goes before the file's"
    values.write_text('{"D1": 0.5, "M1": 2}')
    assert json.loads(run(capsys, "info", arm, "--values", values, "--missing", "zero", "--json")[1]) == found
    for text, message in (
        ("D1 = ", "expected lines such as"),
        ("D1 = 'a'", "'D1' must be a finite number"),
        ("{", "expected"),
    ):
        values.write_text(text)
        assert message in refused(capsys, "info", arm, "--values", values)
    assert "No such file" in refused(capsys, "info", arm, "--values", tmp_path / "none")
