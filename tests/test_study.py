"""Studies: the same table however rows are spread, failures row by row, folders that go on."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import neuler
import study_functions
from neuler import InputError, NeulerError, studies
from neuler.studies.folder import parts_in
from random_robots import few
from study_functions import (
    counted,
    drawn,
    drawn_batch,
    environment,
    printing,
    ragged,
    torque,
    torques,
    trouble,
    trouble_batch,
)  # fmt: skip

QUIET = {"progress": False}


def equal(one, two):
    """Two tables, bit by bit."""
    assert list(one) == list(two)
    for name in one:
        assert one[name].dtype == two[name].dtype, name
        if one[name].dtype == object:
            assert [np.asarray(x).tolist() for x in one[name]] == [np.asarray(x).tolist() for x in two[name]]
        else:
            np.testing.assert_array_equal(one[name], two[name], err_msg=name)


def grid(n=5):
    return studies.product(q1=np.linspace(0.0, 2.0, n), q2=np.linspace(-1.0, 1.0, n))


# ---- the same table -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_table_does_not_depend_on_how_rows_are_spread(tmp_path):
    here = neuler.study(torque, grid(), tmp_path / "here", workers=0, **QUIET)
    table = here.table()
    assert table["tau"].shape == (25, 2)
    assert list(table) == ["row", "q1", "q2", "tau", "largest", "sign", "high", "status", "message"]
    np.testing.assert_array_equal(table["row"], np.arange(25))
    assert here.complete
    assert here.counts["ok"] == 25
    for name, options in {
        "two": {"workers": 2}, "timeout": {"workers": 1, "chunk": 3, "timeout": 60.0},
    }.items():  # fmt: skip
        equal(table, neuler.study(torque, grid(), tmp_path / name, **options, **QUIET).table())
    equal(table, studies.load(tmp_path / "two").table())


@pytest.mark.slow
def test_random_numbers_follow_from_the_seed_and_the_row(tmp_path):
    rows = [{"x": 0.0}] * 40  # equal rows are repetitions where a task draws
    one = neuler.study(drawn, rows, tmp_path / "a", workers=0, seed=3, **QUIET).table()
    two = neuler.study(drawn, rows, tmp_path / "b", workers=2, seed=3, chunk=7, **QUIET).table()
    equal(one, two)
    assert len(set(one["y"])) == 40
    expected = [np.random.default_rng(s).normal() for s in np.random.SeedSequence(3).spawn(40)]
    np.testing.assert_array_equal(one["y"], expected)
    batch = neuler.study(drawn_batch, rows, tmp_path / "c", workers=1, seed=3, batched=True, **QUIET).table()
    np.testing.assert_array_equal(batch["y"], one["y"])
    other = neuler.study(drawn, rows, tmp_path / "d", workers=0, seed=4, **QUIET).table()
    assert not np.any(other["y"] == one["y"])


@pytest.mark.slow
def test_batches_equal_rows(tmp_path):
    settings = studies.random(3000, q1=(-3.0, 3.0), q2=(-3.0, 3.0), seed=1)
    one = neuler.study(torques, settings, tmp_path / "a", workers=0, batched=True, **QUIET).table()
    for name, chunk in (("b", 1), ("c", 1000), ("d", 777)):
        part = settings if chunk > 1 else settings.part(0, 50)
        found = neuler.study(torques, part, tmp_path / name, workers=1, batched=True, chunk=chunk, **QUIET).table()
        for key in ("q1", "tau"):
            np.testing.assert_array_equal(found[key], one[key][: len(found[key])])


@pytest.mark.parametrize(
    "make", [lambda: ThreadPoolExecutor(2), lambda: ProcessPoolExecutor(2)], ids=["threads", "processes"]
)
def test_any_executor(tmp_path, make):
    with make() as executor:
        found = neuler.study(torque, grid(3), tmp_path / "a", executor=executor, chunk=2, **QUIET).table()
    equal(found, neuler.study(torque, grid(3), tmp_path / "b", workers=0, **QUIET).table())


def test_functions_of_any_kind(tmp_path):
    factor = 3.0
    found = neuler.study(lambda s: {"y": factor * s["x"]}, {"x": [1.0, 2.0]}, tmp_path / "a", workers=2, **QUIET)
    assert found.table()["y"].tolist() == [3.0, 6.0]
    bound = functools.partial(_scaled, 2.0)
    assert neuler.study(bound, {"x": [1.0, 2.0]}, tmp_path / "b", workers=0, **QUIET).table()["y"].tolist() == [
        2.0,
        4.0,
    ]


def _scaled(factor, setting):
    return {"y": factor * setting["x"]}


def test_ragged_results(tmp_path):
    table = neuler.study(ragged, {"n": [1, 4, 2]}, tmp_path / "a", workers=1, chunk=2, **QUIET).table()
    assert [len(x) for x in table["path"]] == [1, 4, 2]
    assert table["matrix"].shape == (3, 2, 3)


@pytest.mark.slow
def test_workers_use_one_thread_and_what_tasks_print_harms_nothing(tmp_path, capfd):
    found = neuler.study(environment, {"x": np.arange(4.0)}, tmp_path / "a", workers=2, **QUIET).table()
    assert set(found["threads"]) == set(found["blas"]) == {"1"}
    assert os.getpid() not in found["pid"]
    assert neuler.study(printing, {"x": [1.0]}, tmp_path / "b", workers=1, **QUIET).table()["y"].tolist() == [True]
    assert "printed by a task" in capfd.readouterr().err


# ---- what goes wrong in rows ----------------------------------------------------------------------------------------


def kinds(*names):
    return [{"kind": name, "x": float(k)} for k, name in enumerate(names)]


@pytest.mark.slow
@pytest.mark.parametrize("task", [trouble, pytest.param(trouble_batch, marks=pytest.mark.slow)])
def test_every_failure_is_named_and_the_others_go_on(tmp_path, task):
    names = ["ok", "raise", "ok", "exit", "list", "segfault", "nan", "sys.exit", "memory", "spin", "ok"]
    if task is trouble_batch:
        names = [name for name in names if name not in ("list", "nan")]
    options = {"batched": True} if task is trouble_batch else {}
    found = neuler.study(
        task, kinds(*names), tmp_path / "a", workers=2, timeout=1.5, memory=10**9, chunk=len(names), **options, **QUIET
    )
    table = found.table()
    status = dict(zip(names, table["status"], strict=True))
    message = dict(zip(names, table["message"], strict=True))
    assert {name: status[name] for name in ("ok", "raise", "exit", "segfault", "sys.exit", "memory", "spin")} == {
        "ok": "ok", "raise": "failed", "exit": "killed", "segfault": "killed", "sys.exit": "failed",
        "memory": "failed", "spin": "timeout",
    }  # fmt: skip
    assert message["raise"].startswith("ZeroDivisionError: the load is zero (study_functions.py, line")
    assert "ended with code 3" in message["exit"]
    assert "SIGSEGV" in message["segfault"]
    assert "SystemExit: enough" in message["sys.exit"]
    assert "MemoryError" in message["memory"]
    assert "longer than 1.5 s" in message["spin"]
    good = table["status"] == "ok"
    if task is trouble:
        assert status["list"] == "failed"
        assert "the task returned [1.0]; it must return a dict" in message["list"]
        assert status["nan"] == "ok"
        assert np.isnan(table["y"][names.index("nan")])
        assert found.summary()["results"]["y"]["nan"] == 1
        good &= np.isfinite(table["y"])
    np.testing.assert_array_equal(table["y"][good], table["x"][good] ** 2)
    assert np.isnan(table["y"][table["status"] != "ok"]).all()


@pytest.mark.slow
def test_a_solver_that_never_ends_is_stopped(tmp_path):
    found = neuler.study(study_functions.ipopt, {"x": [0.0]}, tmp_path / "a", workers=1, timeout=3.0, **QUIET)
    assert found.table()["status"].tolist() == ["timeout"]


@pytest.mark.slow
def test_a_timeout_after_the_last_row_costs_nothing(tmp_path):
    found = neuler.study(study_functions.late, {"x": [1.0, 2.0]}, tmp_path, workers=1, timeout=2.0, chunk=2, **QUIET)
    assert found.table()["y"].tolist() == [1.0, 2.0]
    assert found.counts["ok"] == 2


def test_a_row_that_raises_and_one_that_ends_its_process(tmp_path):
    """The short one of every day."""
    table = neuler.study(trouble, kinds("ok", "raise", "exit", "ok"), tmp_path, workers=1, chunk=4, **QUIET).table()
    assert table["status"].tolist() == ["ok", "failed", "killed", "ok"]
    assert "ended with code 3" in table["message"][2]


def test_all_rows_fail(tmp_path):
    table = neuler.study(trouble, kinds("raise", "list", "complex", "setting"), tmp_path, workers=1, **QUIET).table()
    assert set(table["status"]) == {"failed"}
    assert "y" not in table


# ---- folders that go on ---------------------------------------------------------------------------------------------


def marks(folder):
    return {path.name: len(path.read_text()) for path in Path(folder).iterdir()}


def counted_rows(folder, n, seconds=0.0):
    folder.mkdir()
    return {"x": np.arange(float(n)), "folder": [str(folder)] * n, "seconds": np.full(n, seconds)}


def test_a_stopped_study_goes_on_and_computes_nothing_twice(tmp_path, capsys):
    settings = counted_rows(tmp_path / "marks", 30)
    with pytest.raises(studies.StudyStopped, match="run it again to go on") as stopped:
        neuler.study(counted, settings, tmp_path / "a", workers=2, chunk=3, progress=lambda told: told.done < 10)
    partly = stopped.value.study
    done = set(partly.table()["row"])
    assert 10 <= len(done) < 30
    assert not partly.complete
    before = marks(tmp_path / "marks")
    found = neuler.study(counted, settings, tmp_path / "a", workers=1)
    assert f"{len(done)} of 30 rows are in" in capsys.readouterr().err
    assert found.table()["y"].tolist() == [3.0 * k for k in range(30)]
    after = marks(tmp_path / "marks")
    assert all(after[f"{row:06d}"] == before[f"{row:06d}"] for row in done)
    again = neuler.study(counted, settings, tmp_path / "a", **QUIET)  # nothing is left to do
    assert marks(tmp_path / "marks") == after
    assert again.notes[-1].endswith("nothing is left to do")


def test_a_study_knows_how_many_rows_were_computed_now(tmp_path):
    settings = studies.product(q1=np.linspace(0.0, 2.0, 6), q2=[0.0])

    def stop(now):
        return now.done < 2

    with pytest.raises(studies.StudyStopped) as stopped:
        neuler.study(torque, settings, tmp_path / "s", workers=0, chunk=1, progress=stop)
    assert stopped.value.study.computed == 2
    found = neuler.study(torque, settings, tmp_path / "s", workers=0, **QUIET)
    assert found.computed == 4
    assert "computed now: 4 rows in" in str(found)
    again = neuler.study(torque, settings, tmp_path / "s", workers=0, **QUIET)
    assert again.computed == studies.load(tmp_path / "s").computed == 0
    assert "computed now" not in str(again)


@pytest.mark.parametrize("harm", few(["flip", "gone", "cut", "empty"], 1))
def test_damaged_parts_are_found_and_computed_again(tmp_path, harm):
    settings = counted_rows(tmp_path / "marks", 12)
    table = neuler.study(counted, settings, tmp_path / "a", workers=1, chunk=4, **QUIET).table()
    path = parts_in(tmp_path / "a")[1].path
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    {"cut": lambda: path.write_bytes(data[:-9]), "flip": lambda: path.write_bytes(data),
     "empty": lambda: path.write_bytes(b""), "gone": path.unlink}[harm]()  # fmt: skip
    if harm != "gone":
        with pytest.raises(NeulerError, match="is damaged"):
            studies.load(tmp_path / "a").table()
    found = neuler.study(counted, settings, tmp_path / "a", workers=1, chunk=5, **QUIET)
    assert any("damaged part files" in note for note in found.notes) == (harm != "gone")
    equal(found.table(), table)
    assert [count for _, count in sorted(marks(tmp_path / "marks").items())] == [1] * 4 + [2] * 4 + [1] * 4


CLIENT = """
import sys
sys.path.insert(0, {tests!r})
import neuler, study_functions, numpy as np
settings = {{"x": np.arange(40.0), "folder": [{marks!r}] * 40, "seconds": np.full(40, 0.05)}}
neuler.study(study_functions.counted, settings, {folder!r}, workers=2, chunk=2, progress=False)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_client_that_is_killed_leaves_nothing_behind_and_goes_on(tmp_path, how):
    (tmp_path / "marks").mkdir()
    code = CLIENT.format(
        tests=str(Path(__file__).parent), marks=str(tmp_path / "marks"), folder=str(tmp_path / "a")
    )  # fmt: skip
    client = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    while not (tmp_path / "a").exists() or len(parts_in(tmp_path / "a")) < 4:
        assert client.poll() is None, client.stderr.read()
        threading.Event().wait(0.02)
    client.send_signal(how)
    client.wait()
    client.stderr.close()
    done = {row for part in parts_in(tmp_path / "a") for row in range(part.first, part.last)}
    before = marks(tmp_path / "marks")
    assert len(done) < 40
    subprocess.run([sys.executable, "-c", code], check=True)
    found = studies.load(tmp_path / "a")
    assert found.table()["y"].tolist() == [3.0 * k for k in range(40)]
    after = marks(tmp_path / "marks")
    assert all(after[f"{row:06d}"] == before[f"{row:06d}"] for row in done)


@pytest.mark.skipif(sys.platform != "linux", reason="file-size limits")
def test_a_full_disk_stops_the_study_and_with_room_it_goes_on(tmp_path):
    import resource

    settings = {"q1": np.linspace(0, 1, 40), "q2": np.zeros(40)}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    neuler.study(torque, settings, tmp_path / "b", workers=0, chunk=10, **QUIET)
    size = max(part.path.stat().st_size for part in parts_in(tmp_path / "b"))
    calls = []

    def progress(told):
        calls.append(told.done)
        if len(calls) == 2:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, limits[1]))

    try:
        with pytest.raises(NeulerError, match="What was written before is kept"):
            neuler.study(torque, settings, tmp_path / "a", workers=0, chunk=10, progress=progress)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(parts_in(tmp_path / "a")) == 2
    assert not list((tmp_path / "a").glob(".writing*"))
    found = neuler.study(torque, settings, tmp_path / "a", workers=0, **QUIET)
    equal(found.table(), studies.load(tmp_path / "b").table())


# ---- NPZ parts, without pyarrow -------------------------------------------------------------------------------------


def test_without_pyarrow_parts_are_npz(tmp_path, monkeypatch):
    table = neuler.study(torque, grid(3), tmp_path / "a", workers=0, **QUIET).table()
    find = neuler.studies.run.importlib.util.find_spec
    monkeypatch.setattr(
        neuler.studies.run.importlib.util, "find_spec", lambda name: None if name == "pyarrow" else find(name)
    )
    found = neuler.study(torque, grid(3), tmp_path / "b", workers=0, **QUIET)
    assert {part.kind for part in parts_in(tmp_path / "b")} == {"npz"}
    equal(found.table(), table)


# ---- bad input ------------------------------------------------------------------------------------------------------


def _misspelt(setting):
    return {"y": setting["paylod"]}


def _three(setting, rng, more):
    return {}


@pytest.mark.parametrize(
    ("task", "settings", "options", "words"),
    [
        ("not a file", {"x": [1.0]}, {}, "not a file"),
        (3, {"x": [1.0]}, {}, "task must be a function"),
        (torque, [], {}, "row"),
        (torque, [{"q1": 0.0, "q2": 1.0}, {"q1": 0.0}], {}, "row 1 has no 'q2'"),
        (torque, {"q1": [0.0, 0.0], "q2": [1.0, 1.0]}, {}, "rows 0 and 1 have the same settings"),
        (torque, {"q1": [0.0], "q": [1.0]}, {}, "asks for a setting 'q2'"),
        (_misspelt, {"payload": [1.0]}, {}, "did you mean 'payload'"),
        (_three, {"x": [1.0]}, {}, "it takes setting, rng, more"),
        (torque, {"q1": [0.0], "q2": [1.0]}, {"workers": -1}, "workers must be a whole number"),
        (torque, {"q1": [0.0], "q2": [1.0]}, {"workers": 1.5}, "workers must be a whole number"),
        (torque, {"q1": [0.0], "q2": [1.0]}, {"timeout": 0.0}, "timeout must be above zero"),
        (torque, {"q1": [0.0], "q2": [1.0]}, {"chunk": 0}, "chunk must be a whole number"),
        (torque, {"q1": [0.0], "q2": [1.0]}, {"seed": -1}, "seed must be a whole number"),
        (torque, {"q1": [0.0], "q2": [1.0]}, {"memory": 10}, "memory must be"),
        (torque, {"q1": [0.0], "q2": [1.0]}, {"workers": 0, "timeout": 1.0}, "timeout needs rows in other processes"),
        (torque, {"q1": [0.0], "q2": [1.0]}, {"executor": 7}, "executor must be a concurrent.futures.Executor"),
        (torque, {"q1": [0.0], "q2": [1.0]}, {"scheduler": 8786}, "scheduler must be an address"),
        (torque, {"q1": [0.0], "q2": [1.0]}, {"executor": ThreadPoolExecutor(1), "scheduler": "tcp://a:1"}, "got both"),
    ],
)
def test_bad_input_is_named_before_work_begins(tmp_path, task, settings, options, words):
    with pytest.raises((NeulerError, OSError), match=words):
        neuler.study(task, settings, tmp_path / "a", **options, **QUIET)
    assert not (tmp_path / "a").exists() or not parts_in(tmp_path / "a")


def test_what_cannot_be_sent_is_refused(tmp_path):
    lock = threading.Lock()
    with pytest.raises(InputError, match=r"cannot be sent to other processes .* workers=0"):
        neuler.study(lambda s: {"y": float(lock.locked())}, {"x": [1.0]}, tmp_path / "a", workers=2, **QUIET)
    found = neuler.study(lambda s: {"y": lock.locked()}, {"x": [1.0]}, tmp_path / "b", workers=0, **QUIET)
    assert found.counts["ok"] == 1


def test_folders_of_other_studies_are_refused(tmp_path):
    settings = {"x": [1.0, 2.0]}
    neuler.study(_scaled_by_two, settings, tmp_path / "a", workers=0, **QUIET)

    def refused(words, task=_scaled_by_two, settings=settings, **options):
        with pytest.raises(InputError, match=words):
            neuler.study(task, settings, tmp_path / "a", workers=0, **options, **QUIET)

    refused("another task", _scaled_by_three)
    refused("other settings", settings={"x": [1.0, 3.0]})
    refused("another number of rows", settings={"x": [1.0]})
    refused("another seed .*0 there, 1 here", seed=1)
    refused("resume is False", resume=False)
    told = json.loads((tmp_path / "a" / "study.json").read_text())
    for key, words in (("source", "another version of the task"), ("neuler", "another version of neuler")):
        (tmp_path / "a" / "study.json").write_text(json.dumps(told | {key: "0"}))
        refused(words)
    (tmp_path / "a" / "study.json").write_text("{")
    with pytest.raises(NeulerError, match="cannot be read"):
        neuler.study(_scaled_by_two, settings, tmp_path / "a", workers=0, **QUIET)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "precious.txt").write_text("mine")
    with pytest.raises(InputError, match="has other files and no study"):
        neuler.study(_scaled_by_two, settings, tmp_path / "b", workers=0, **QUIET)
    with pytest.raises(InputError, match="is a file"):
        neuler.study(_scaled_by_two, settings, tmp_path / "b" / "precious.txt", workers=0, **QUIET)
    with pytest.raises(InputError, match="has no study"):
        studies.load(tmp_path / "b")


def _scaled_by_two(setting):
    return {"y": 2 * setting["x"]}


def _scaled_by_three(setting):
    return {"y": 3 * setting["x"]}


def test_a_folder_in_use_is_refused(tmp_path):
    def progress(told):
        with pytest.raises(InputError, match="another process is writing"):
            neuler.study(_scaled_by_two, {"x": [1.0]}, tmp_path / "a", workers=0, **QUIET)

    assert neuler.study(_scaled_by_two, {"x": [1.0]}, tmp_path / "a", workers=0, progress=progress).complete


@pytest.mark.slow
def test_an_executor_that_breaks_is_named_or_made_again(tmp_path):
    def broken():
        executor = ProcessPoolExecutor(1)
        with pytest.raises(Exception, match="terminated abruptly"):
            executor.submit(os._exit, 1).result()
        return executor

    with pytest.raises(NeulerError, match=r"the executor is broken .* executor=lambda"):
        neuler.study(torque, grid(2), tmp_path / "a", executor=broken(), **QUIET)
    first = [broken()]
    found = neuler.study(
        torque, grid(2), tmp_path / "a", executor=lambda: first.pop() if first else ThreadPoolExecutor(1), **QUIET
    )
    assert found.complete
