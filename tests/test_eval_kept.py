"""``neuler eval``: columns that are no inputs, standard input and output."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import neuler
from cli_runs import refused, run, write_csv

Q = np.array([[0.1, 0.2], [0.3, 0.4]])
GRAVITY = neuler.robots.two_link().gravity_force(Q)
TABLE = [["0.00", "0.1", "x, y", "0.2"], ["0.10", "0.3", "", "0.4"]]
HEAD = ["t", "q1", "label", "q2"]


@pytest.fixture
def files(tmp_path):
    write_csv(tmp_path / "in.csv", HEAD, TABLE)
    np.savez(tmp_path / "in.npz", q=Q, t=[0.0, 0.1], marks=[[1, 2], [3, 4]], dt=0.1)
    return tmp_path


def gravity(folder, source="in.csv", target="out.csv"):
    source, target = (x if x == "-" else folder / x for x in (source, target))
    return ["eval", "gravity_force", "two_link", "--in", source, "--out", target]


def lines(path):
    return path.read_text().splitlines()


# ---- what is kept --------------------------------------------------------------------------------


def test_other_columns_are_kept_letter_by_letter(capsys, files):
    code, out, err = run(capsys, *gravity(files))
    assert (code, err) == (0, "")
    assert out == f"wrote 2 states to {files / 'out.csv'}; kept t, label\n"
    head, first, second = lines(files / "out.csv")
    assert head == "t,label,gravity_joint1,gravity_joint2"
    numbers = ",".join(map(repr, GRAVITY[0].tolist()))
    assert first == f'0.00,"x, y",{numbers}'
    assert second.startswith("0.10,,")


def test_kept_columns_of_csv_become_arrays(capsys, files):
    assert run(capsys, *gravity(files, target="out.npz"))[0] == 0
    with np.load(files / "out.npz") as found:
        assert found["t"].tolist() == [0.0, 0.1]
        assert found["label"].tolist() == ["x, y", ""]
        np.testing.assert_array_equal(found["gravity"], GRAVITY)


def test_kept_arrays(capsys, files):
    assert run(capsys, *gravity(files, "in.npz", "out.npz"))[0] == 0
    with np.load(files / "out.npz") as found:
        assert found.files == ["t", "marks", "dt", "gravity"]
        assert found["dt"] == 0.1
        assert found["marks"].tolist() == [[1, 2], [3, 4]]
    assert "array 'dt' is no input and would be kept, but its shape ()" in refused(capsys, *gravity(files, "in.npz"))
    assert run(capsys, *gravity(files, "in.npz"), "--ignore", "d?")[0] == 0
    head, first, _ = lines(files / "out.csv")
    assert head == "t,marks[0],marks[1],gravity_joint1,gravity_joint2"
    assert first.startswith("0.0,1,2,")


def test_names_that_numpy_would_take_for_its_own(capsys, tmp_path):
    write_csv(tmp_path / "in.csv", ["file", "allow_pickle", "q1", "q2"], [[1, 2, 0.1, 0.2]])
    assert run(capsys, *gravity(tmp_path, target="out.npz"))[0] == 0
    with np.load(tmp_path / "out.npz") as found:
        assert found.files == ["file", "allow_pickle", "gravity"]


def test_drop_and_ignore(capsys, files):
    assert run(capsys, *gravity(files), "--drop")[0] == 0
    assert lines(files / "out.csv")[0] == "gravity_joint1,gravity_joint2"
    assert run(capsys, *gravity(files), "--ignore", "l*")[0] == 0
    assert lines(files / "out.csv")[0] == "t,gravity_joint1,gravity_joint2"
    assert run(capsys, *gravity(files, "in.npz"), "--drop")[0] == 0
    assert lines(files / "out.csv")[0] == "gravity_joint1,gravity_joint2"
    code, _, err = run(capsys, *gravity(files), "--ignore", "tau_*")
    assert code == 0
    assert "note: --ignore 'tau_*': " in err
    assert "has nothing of that name" in err
    error = refused(capsys, *gravity(files), "--ignore", "q?")
    assert "no column for 'q_joint1', 'q_joint2' of gravity_force(q); --ignore leaves out its column 'q1'" in error


def test_brackets_of_a_pattern_stand_for_themselves(capsys, tmp_path):
    write_csv(tmp_path / "in.csv", ["q[0]", "q[1]", "x[0]", "x[1]", "x0"], [[0.1, 0.2, 3, 4, 5]])
    assert run(capsys, *gravity(tmp_path), "--ignore", "x[*]")[0] == 0
    assert lines(tmp_path / "out.csv")[0] == "x0,gravity_joint1,gravity_joint2"


def test_clashes_are_refused(capsys, tmp_path):
    write_csv(tmp_path / "in.csv", ["gravity_joint2", "q1", "q2"], [[1, 0.1, 0.2]])
    error = refused(capsys, *gravity(tmp_path))
    assert "'gravity_joint2' is no input of gravity_force(q) and would be kept, but a result has that name" in error
    assert "--ignore 'gravity_joint2'" in error
    assert not (tmp_path / "out.csv").exists()
    assert run(capsys, *gravity(tmp_path), "--drop")[0] == 0
    np.savez(tmp_path / "in.npz", q=Q, gravity=Q)
    assert "'gravity' is no input" in refused(capsys, *gravity(tmp_path, "in.npz", "out.npz"))
    write_csv(tmp_path / "in.csv", ["t", "q1", "t", "q2"], [[1, 0.1, 2, 0.2]])
    assert "columns 1 and 3 are both named 't'; rename one" in refused(capsys, *gravity(tmp_path))
    assert run(capsys, *gravity(tmp_path), "--ignore", "t")[0] == 0


def test_a_guess_that_is_misspelled_is_noted(capsys, tmp_path):
    write_csv(tmp_path / "in.csv", ["q_crank", "q_couple"], [[1.0, 0.2]])
    arguments = ("eval", "mass_matrix", "four_bar", "--in", tmp_path / "in.csv", "--out", tmp_path / "out.csv")
    code, _, err = run(capsys, *arguments, "--assemble")
    assert code == 0
    assert "column 'q_couple'" in err
    assert "did you mean 'q_coupler'?" in err


# ---- standard input and output -------------------------------------------------------------------


def stdin(monkeypatch, data):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))


def test_a_pipe(capsys, monkeypatch, files):
    run(capsys, *gravity(files))
    stdin(monkeypatch, (files / "in.csv").read_bytes())
    code, out, err = run(capsys, *gravity(files, "-", "-"))
    assert code == 0
    assert out == (files / "out.csv").read_text()
    assert err == "wrote 2 states to standard output; kept t, label\n"
    assert not sys.stdin.buffer.closed


def test_a_pipe_of_arrays(capsysbinary, monkeypatch, files):
    stdin(monkeypatch, (files / "in.npz").read_bytes())
    arguments = gravity(files, "-", "-") + ["--in-format", "npz", "--out-format", "npz"]
    code, out, _ = run(capsysbinary, *arguments)
    assert code == 0
    with np.load(io.BytesIO(out)) as found:
        np.testing.assert_array_equal(found["gravity"], GRAVITY)


def test_pipes_that_are_refused(capsys, monkeypatch, files):
    stdin(monkeypatch, (files / "in.npz").read_bytes())
    assert "standard input: is a ZIP archive, not CSV; give --in-format npz" in refused(capsys, *gravity(files, "-"))
    stdin(monkeypatch, b"q1,q2\n0,zero\n")
    assert "standard input: line 2, column 'q2'" in refused(capsys, *gravity(files, "-", "-"))
    stdin(monkeypatch, b"")
    assert "standard input: is empty" in refused(capsys, *gravity(files, "-", "-"))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "is a terminal" in refused(capsys, *gravity(files, target="-"), "--out-format", "npz")


def test_other_suffixes_need_a_format(capsys, files):
    (files / "in.txt").write_bytes((files / "in.csv").read_bytes())
    assert "for another name give --in-format" in refused(capsys, *gravity(files, "in.txt"))
    assert run(capsys, *gravity(files, "in.txt"), "--in-format", "csv")[0] == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a closed pipe is no broken one there")
def test_real_pipes_and_one_that_closes_early(files):
    write_csv(files / "many.csv", ["q1", "q2"], np.zeros((200_000, 2)).tolist())
    source = str(Path(neuler.__file__).parents[1])
    command = [sys.executable, "-m", "neuler", *map(str, gravity(files, "-", "-"))]
    with (files / "many.csv").open("rb") as table:
        process = subprocess.Popen(
            command,
            stdin=table,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": source},
        )
    with process:
        assert process.stdout.readline().strip() == b"gravity_joint1,gravity_joint2"
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(60) == 1
    assert errors == b""
