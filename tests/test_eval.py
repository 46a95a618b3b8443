"""``neuler eval``: tables in and out, and tables that are refused."""

import numpy as np
import pytest

import neuler
from cli_runs import read, refused, run, write_csv
from neuler.files.match import Chosen
from neuler.files.read import read_csv


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


def test_matrices_are_flattened(capsys, tmp_path):
    write_csv(tmp_path / "in.csv", ["q1", "q2"], [[0.1, 0.2], [0.3, 0.4]])
    arguments = ["eval", "mass_matrix", "two_link", "--in", tmp_path / "in.csv", "--out", tmp_path / "out.csv"]
    assert run(capsys, *arguments)[0] == 0
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
    chunks = [part.inputs for part in read_csv(str(tmp_path / "in.csv"), kernel, Chosen(), seen.append, chunk=300)]
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
        ({"x": [0.0]}, "has no array 'q' of gravity_force(q); it has 'x'"),
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
