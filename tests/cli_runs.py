"""Commands run as they are typed, and tables for them."""

import csv

import numpy as np

from neuler.cli import main


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, without_bars(captured.err)


def without_bars(text):
    """What is left on the screen: bars, which slow machines show, wipe themselves off with carriage returns."""
    if isinstance(text, bytes):
        text = text.decode()
    return "\n".join(line.rpartition("\r")[2] for line in text.split("\n"))


def refused(capsys, *arguments):
    code, out, err = run(capsys, *arguments)
    assert code == 2, (out, err)
    assert out == ""
    assert err.startswith("neuler: error: ")
    assert "Traceback" not in err
    return err


def write_csv(path, names, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return rows[0], np.array(rows[1:], dtype=float)


def evaluate(capsys, tmp_path, quantity, machine, names, rows, *more):
    write_csv(tmp_path / "in.csv", names, rows)
    arguments = ("eval", quantity, machine, "--in", tmp_path / "in.csv", "--out", tmp_path / "out.csv", *more)
    code, _, err = run(capsys, *arguments)
    assert code == 0, err
    return (*read(tmp_path / "out.csv"), err)
