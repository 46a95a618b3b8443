"""Studies under attack: odd tasks, odd results, processes and folders that misbehave."""

from __future__ import annotations

import asyncio
import enum
import functools
import importlib
import json
import linecache
import os
import subprocess
import sys
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import neuler
import study_functions
from neuler import InputError, NeulerError, studies
from neuler.studies.identity import check_names, identity_of, takes_generator
from neuler.studies.returned import cleaned
from neuler.workers import processes

HERE = {"workers": 0, "progress": False}
XS = {"x": [1.0, 2.0, 3.0]}
posix = pytest.mark.skipif(os.name != "posix", reason="forks and locks of POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc and limits of Linux")


# ---- what tasks raise, change and return ----------------------------------------------------------------------------


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("no text")


class Stubborn:
    def __array__(self, *_, **__):
        raise RuntimeError("not today")


class Items(dict):
    def items(self):
        raise RuntimeError("no items")


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize(
    ("made", "words"),
    [
        (Unspeakable(), "Unspeakable: a message that cannot be shown (test_study_attack.py, line"),
        (GeneratorExit(), "GeneratorExit"),
        (asyncio.CancelledError("gone"), "CancelledError: gone"),
        ({"y": Stubborn()}, "RuntimeError: not today"),
        (Items(y=1.0), "RuntimeError: no items"),
    ],
)
def test_whatever_a_task_does_is_about_its_row_alone(tmp_path, made, words, batched):
    def task(setting):
        if np.any(setting["x"] == 2.0):
            if isinstance(made, BaseException):
                raise made
            return made
        return {"y": setting["x"]}

    table = neuler.study(task, XS, tmp_path / "a", chunk=3, batched=batched, **HERE).table()
    assert table["status"].tolist() == ["ok", "failed", "ok"]
    assert table["y"].tolist()[::2] == [1.0, 3.0]
    assert table["message"][1].startswith(words)


def test_a_task_may_change_what_it_is_given_and_what_it_returned(tmp_path):
    buffer = np.zeros(1)

    def task(setting):
        setting["x"] *= 100.0
        if len(setting["x"]) > 1:
            raise ValueError
        buffer[:] = setting["x"]
        return {"y": buffer}

    table = neuler.study(task, XS, tmp_path / "a", batched=True, chunk=3, **HERE).table()
    assert table["x"].tolist() == XS["x"]
    assert table["y"].tolist() == [100.0, 200.0, 300.0]

    def double(setting):
        setting["x"] *= 2.0
        return {"y": setting["x"]}

    assert neuler.study(double, XS, tmp_path / "b", batched=True, **HERE).table()["x"].tolist() == XS["x"]


class Kind(str, enum.Enum):  # noqa: UP042 - as many write it
    ARM = "arm"


class Number(enum.IntEnum):
    THREE = 3


def test_values_of_users_classes_stay_behind():
    found = cleaned({Kind.ARM: Number.THREE, "kind": Kind.ARM, "flag": np.bool_(True), "half": np.float16(1.5)})
    assert [type(name) for name in found] == [str] * 4
    assert [type(value) for value in found.values()] == [int, str, bool, np.float16]
    assert list(found.values()) == [3, "arm", True, 1.5]


# ---- what tasks are -------------------------------------------------------------------------------------------------


async def _later(setting):
    return {}


def _one_by_one(setting):
    yield {}


def _named(setting, *, scale):
    return {}


class Later:
    async def __call__(self, setting):
        return {}


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (_later, "this one is async"),
        (functools.partial(_later), "this one is async"),
        (Later(), "this one is async"),
        (_one_by_one, "this one is a generator"),
        (_named, "it takes setting, scale"),
    ],
)
def test_tasks_that_cannot_work_are_refused(tmp_path, task, words):
    with pytest.raises(InputError, match=words):
        neuler.study(task, XS, tmp_path / "a", **HERE)
    assert not (tmp_path / "a").exists()


def test_tasks_with_any_arguments_are_taken():
    assert not takes_generator(lambda *arguments: {})
    assert not takes_generator(functools.partial(_named, scale=1.0))
    assert not takes_generator(functools.lru_cache(lambda setting, **more: {}))


def _with_mass(task):
    @functools.wraps(task)
    def wrapped(setting):
        return task({**setting, "mass": 1.0})

    return wrapped


@_with_mass
def _wrapped(setting):
    return {"y": setting["mass"]}


def _sorted(setting):
    return {"y": max([{"score": setting["x"]}], key=lambda setting: setting["score"])["score"]}


def _updated(setting):
    setting.update(mass=1.0)
    return {"y": setting["mass"]}


@pytest.mark.parametrize("task", [_wrapped, _sorted, _updated])
def test_names_that_are_no_settings_are_not_asked_for(task):
    assert check_names(task, ["x"]) == []
    assert task({"x": 1.0}) == {"y": 1.0}


# ---- what tells tasks apart -----------------------------------------------------------------------------------------


def _scaled(factor):
    return lambda setting: {"y": factor * setting["x"]}


def _defaulted(factor):
    def task(setting, scale=factor):
        return {"y": scale * setting["x"]}

    return task


@pytest.mark.parametrize("make", [_scaled, _defaulted])
def test_a_task_is_known_by_the_values_it_was_made_with(tmp_path, make):
    neuler.study(make(2.0), XS, tmp_path / "a", **HERE)
    assert neuler.study(make(2.0), XS, tmp_path / "a", **HERE).complete
    with pytest.raises(InputError, match="other arguments, constants or helper functions"):
        neuler.study(make(3.0), XS, tmp_path / "a", **HERE)


def test_a_lambda_is_known_without_the_line_that_it_stands_in():
    one = identity_of(lambda setting: {"y": setting["x"]})
    two = identity_of((lambda setting: {"y": setting["x"]}) if one else print)
    assert one == two
    assert identity_of(lambda setting: {"y": setting["z"]}) != one


def test_bound_values_are_the_same_in_every_process_where_they_can_be():
    endless = []
    endless.append(endless)
    names = [{f"{k}" for k in order} for order in (range(99), reversed(range(99)))]
    assert identity_of(functools.partial(_named, names[0])) == identity_of(functools.partial(_named, names[1]))
    identity_of(functools.partial(_named, scale=[object(), endless, print, lambda: 0]))


def test_how_a_task_was_called_belongs_to_the_study(tmp_path):
    neuler.study(_sorted, XS, tmp_path / "a", **HERE)
    with pytest.raises(InputError, match="called with batched the other way"):
        neuler.study(_sorted, XS, tmp_path / "a", batched=True, **HERE)


# ---- processes ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@posix
def test_forks_of_a_task_neither_answer_nor_hide_that_it_died(tmp_path):
    found = neuler.study(study_functions.forking, XS, tmp_path / "a", workers=1, chunk=3, progress=False).table()
    assert found["status"].tolist() == ["ok", "killed", "ok"]
    assert found["y"].tolist()[::2] == [1.0, 3.0]
    assert found["message"][1] == "the process ended with code 3, 3 times"


@pytest.mark.slow
@linux
def test_rows_that_fit_into_memory_one_by_one_need_not_fit_together(tmp_path):
    found = neuler.study(
        study_functions.wide, XS, tmp_path / "a", workers=1, chunk=3, memory=150_000_000, progress=False
    )
    assert found.counts["ok"] == 3
    assert found.table()["y"][:, -1].tolist() == XS["x"]


@pytest.mark.slow
@linux
def test_small_studies_leave_nothing_behind(tmp_path):
    def left():
        return threading.active_count(), len(os.listdir("/proc/self/fd")), len(processes._idle), len(processes._busy)

    neuler.study(_sorted, XS, tmp_path / "first", workers=2, progress=False)
    before = left()
    for k in range(5):
        neuler.study(_sorted, XS, tmp_path / f"{k}", workers=2, progress=False)
    assert left() == before


@pytest.mark.slow
@linux
def test_processes_that_ended_while_they_waited_are_cleared_away():
    jobs = [processes.Job(b"cbuiltins\nprint\n.") for _ in range(2)]
    with processes.borrowed(jobs[0]) as process:
        pass
    os.kill(process.pid, 9)
    while process.alive:
        threading.Event().wait(0.01)
    with processes.borrowed(jobs[1]):
        assert jobs[0].key not in processes._idle
    for job in jobs:
        processes.dismiss(job)


FAILING = """
import os
if "NEULER_THREADS" in os.environ:
    raise ValueError("not in a worker")
def task(setting):
    return {"y": setting["x"]}
"""


def test_a_module_that_fails_in_the_workers_is_named_at_once(tmp_path, monkeypatch):
    (tmp_path / "failing_there.py").write_text(FAILING)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("NEULER_THREADS", raising=False)
    import failing_there

    with pytest.raises(InputError, match=r"cannot load the function \(ValueError: not in a worker\)"):
        neuler.study(failing_there.task, XS, tmp_path / "a", workers=1, progress=False)


@pytest.mark.slow
@posix
def test_a_client_without_standard_streams(tmp_path):
    code = f"""
import neuler
neuler.study(lambda s: print("lost") or {{"y": s["x"]}}, {XS!r}, {str(tmp_path / "a")!r}, workers=1, progress=False)
"""
    command = ["sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, code]
    subprocess.run(command, check=True, timeout=120)
    assert studies.load(tmp_path / "a").counts["ok"] == 3


# ---- executors ------------------------------------------------------------------------------------------------------


class Full(Executor):
    def submit(self, function, /, *arguments, **named):
        raise ValueError("no room")


class Silent(Executor):
    def submit(self, function, /, *arguments, **named):
        return None


class Twice(ThreadPoolExecutor):
    def submit(self, function, /, *arguments, **named):
        future = super().submit(function, *arguments, **named)
        tell = future.add_done_callback
        future.add_done_callback = lambda told: (tell(told), tell(told))
        return future


@pytest.mark.parametrize(
    ("executor", "words"),
    [(Full(), r"the executor is broken \(ValueError: no room\)"), (Silent(), "that of Silent returned None")],
)
def test_executors_that_cannot_work_are_named(tmp_path, executor, words):
    with pytest.raises(NeulerError, match=words):
        neuler.study(_sorted, XS, tmp_path / "a", executor=executor, progress=False)


def test_an_executor_that_says_things_twice(tmp_path):
    with Twice(1) as executor:
        found = neuler.study(_sorted, XS, tmp_path / "a", executor=executor, chunk=1, progress=False)
    assert found.table()["y"].tolist() == XS["x"]


# ---- folders --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", [None, 3, b"a", "a\0b", "x" * 3000])
def test_names_that_no_folder_can_have_are_refused(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"study: (folder must be the path|the folder .* cannot be made)"):
        neuler.study(_sorted, XS, folder, **HERE)


def test_the_folder_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    found = neuler.study(
        _sorted, XS, "a b\N{GREEK SMALL LETTER ALPHA}", workers=0, chunk=1,
        progress=lambda _: os.chdir(tmp_path / "elsewhere"),
    )  # fmt: skip
    assert found.table()["y"].tolist() == XS["x"]
    assert found.folder.parent == tmp_path


def test_a_client_that_died_while_it_took_the_folder_does_not_spoil_it(tmp_path):
    (tmp_path / "study.lock").touch()
    (tmp_path / ".writing-study.json").write_text("{")
    assert neuler.study(_sorted, XS, tmp_path, **HERE).complete


@pytest.mark.slow
@posix
def test_forks_that_live_on_do_not_keep_the_folder(tmp_path):
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as executor:
        for _ in range(2):
            found = neuler.study(_sorted, XS, tmp_path / "a", executor=executor, progress=False)
            assert found.complete


def test_a_folder_that_another_study_took_meanwhile_is_refused(tmp_path, monkeypatch):
    from neuler.studies.folder import Folder

    take = Folder._take

    def late(self):
        monkeypatch.setattr(Folder, "_take", take)
        neuler.study(_updated, XS, tmp_path / "a", **HERE)
        take(self)

    monkeypatch.setattr(Folder, "_take", late)
    with pytest.raises(InputError, match="another task"):
        neuler.study(_sorted, XS, tmp_path / "a", **HERE)
    assert "_updated" in json.loads((tmp_path / "a" / "study.json").read_text())["task"]


def test_equal_rows_of_long_vectors_are_found():
    rows = np.zeros((4, 500))
    rows[0, 0], rows[1, 499], rows[3, 0], rows[2, 3] = 1.0, 2.0, 1.0, np.nan
    assert studies.settings_of({"q": rows}).duplicate() == (0, 3)
    rows[3, 1] = 5.0
    assert studies.settings_of({"q": rows}).duplicate() is None
    rows[3] = rows[2]
    rows[3, 5] = -0.0
    assert studies.settings_of({"q": rows}).duplicate() == (2, 3)


MODULE = """
import functools
import neuler

ARM = neuler.robots.two_link()
GAIN = 3.0


@functools.cache
def helper():
    return GAIN * ARM.nv


def task(setting):
    return {"y": helper() * setting["x"]}
"""


@pytest.mark.parametrize(
    "change", [("3.0", "4.0"), ("GAIN * ARM", "2 * GAIN * ARM"), ("two_link()", "puma560()"), ("ARM.nv", "ARM.nq")]
)
def test_constants_robots_and_helpers_of_its_module_belong_to_a_task(tmp_path, monkeypatch, change):
    monkeypatch.syspath_prepend(tmp_path)

    def identity(text):
        (tmp_path / "some_task.py").write_text(text)
        linecache.clearcache()
        importlib.invalidate_caches()
        sys.modules.pop("some_task", None)
        task = importlib.import_module("some_task").task
        found = identity_of(task)
        assert task({"x": 1.0})
        assert identity_of(task) == found  # also once it has run
        return found

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = identity(MODULE)
    assert change[0] in MODULE
    assert identity(MODULE.replace(*change)) != before
    assert identity(MODULE + "\nOTHER = 1\n") == before
