"""The cache: a damaged, foreign or missing entry costs a compile, never a wrong result."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

import neuler
from neuler.cli import main
from neuler.compiler import build, cache, sources
from neuler.quantities.catalogue import offered, recipe
from neuler.trace.recipe import traced
from random_robots import few

Q = np.array([0.3, -0.7])
EXPECTED = neuler.robots.two_link().inverse_dynamics(Q, Q, Q)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder, and a process that has forgotten what it compiled."""
    path = tmp_path / "cache"
    monkeypatch.setenv("NEULER_CACHE_DIR", str(path))
    monkeypatch.setattr(build, "_ready", {})
    return path


def _rewritten(path, facts=None, code=None):
    """The same entry with other facts or other code, and the digest that belongs to them."""
    old, machine_code = cache.load(path.name)
    changed = {**old, **(facts or {})}
    cache.store(path.name, {k: v for k, v in changed.items() if v is not None}, machine_code if code is None else code)


def _torque(monkeypatch):
    """Of a fresh kernel: the compiled object, after checking the numbers."""
    monkeypatch.setattr(build, "_ready", {})
    kernel = neuler.robots.two_link().inverse_dynamics
    np.testing.assert_allclose(kernel(*[Q[None]] * 3)[0], EXPECTED, rtol=1e-13)  # code for batches: one entry
    return kernel._compiled


def _entry(folder):
    (path,) = [p for p in folder.iterdir() if not p.name.startswith(".")]
    return path


def test_second_time_comes_from_the_cache(folder, monkeypatch):
    first = _torque(monkeypatch)
    second = _torque(monkeypatch)
    assert (first.cached, second.cached) == (False, True)
    assert first.operations == second.operations
    assert folder.stat().st_mode & 0o077 == 0
    assert _entry(folder).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
        lambda data: data[:-100] + bytes([data[-100] ^ 0x80]) + data[-99:],
        lambda data: b"\x7fELF" + data,
        lambda data: os.urandom(len(data)),
        lambda data: data.replace(b"neuler-kernel", b"neuler-kerneL"),
    ],
)
def test_damaged_entries_are_compiled_again(folder, monkeypatch, damage):
    _torque(monkeypatch)
    path = _entry(folder)
    path.write_bytes(damage(path.read_bytes()))
    assert not _torque(monkeypatch).cached
    assert _torque(monkeypatch).cached, "the entry was not mended"


def test_an_entry_under_another_name_is_refused(folder, monkeypatch):
    _torque(monkeypatch)
    stanford = neuler.robots.stanford()
    assert not stanford.compile("inverse_dynamics").cached
    monkeypatch.setattr(build, "_ready", {})
    files = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    contents = [p.read_bytes() for p in files]
    for path, other in zip(files, reversed(contents), strict=True):
        path.write_bytes(other)
    assert not _torque(monkeypatch).cached


def test_foreign_or_open_folders_are_not_used(folder, monkeypatch):
    folder.mkdir()
    folder.chmod(0o777)
    assert cache.folder() is None
    assert not _torque(monkeypatch).cached
    assert list(folder.iterdir()) == []
    folder.chmod(0o700)
    _torque(monkeypatch)
    _entry(folder).chmod(0o666)
    assert not _torque(monkeypatch).cached


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root to give a file away")
def test_an_entry_of_another_user_is_not_loaded(folder, monkeypatch):
    _torque(monkeypatch)
    os.chown(_entry(folder), 12345, 12345)
    assert not _torque(monkeypatch).cached
    os.chown(folder, 12345, 12345)
    assert cache.folder() is None


def test_no_cache_to_be_had(folder, monkeypatch):
    folder.write_text("a file where the folder should be")
    assert not _torque(monkeypatch).cached
    monkeypatch.setenv("NEULER_CACHE_DIR", "off")
    assert not _torque(monkeypatch).cached
    monkeypatch.setenv("NEULER_CACHE_DIR", "x" * 5000)
    assert not _torque(monkeypatch).cached


def test_a_full_disk(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "replace", full)
    assert not _torque(monkeypatch).cached
    assert list(folder.iterdir()) == [], "a temporary file was left behind"


def test_a_real_limit_on_file_size(tmp_path):
    """A write that the system cuts short leaves no entry, and the result is right."""
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
        "import neuler; q = [0.3, -0.7]; print(neuler.robots.two_link().inverse_dynamics(q, q, q).tolist())"
    )
    done = _run(code, tmp_path)
    np.testing.assert_allclose(eval(done.stdout), EXPECTED, rtol=1e-13)
    assert list((tmp_path / "shared").iterdir()) == []


@pytest.mark.slow
def test_two_processes_at_once(tmp_path):
    code = (
        "import neuler; r = neuler.robots.general_chain(8);"
        "print(float(r.forward_dynamics([0.1] * 8, [0.2] * 8, [0.3] * 8).sum()))"
    )
    environment = {**os.environ, "NEULER_CACHE_DIR": str(tmp_path / "shared")}
    workers = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    answers = {worker.communicate(timeout=120)[0] for worker in workers}
    assert len(answers) == 1
    assert all(worker.returncode == 0 for worker in workers)
    again = _run(code, tmp_path)
    assert {again.stdout} == answers


def _run(code, tmp_path):
    environment = {**os.environ, "NEULER_CACHE_DIR": str(tmp_path / "shared")}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120
    )


# ---- what decides an entry -----------------------------------------------------------------------------------------


def _all_recipes(machines):
    """All that can decide emitted code runs."""
    for machine in machines:
        for quantity in offered(machine):
            try:
                traced(recipe(machine, quantity))
            except neuler.NeulerError:
                continue


@pytest.mark.parametrize("large", few([False, True], 1))
def test_every_source_that_runs_is_in_the_key(large):
    """Found by running, not by reading: whatever file has a line that runs while code is made is in the key."""
    root = sources.root()
    machines = [neuler.robots.two_link().with_free_base().with_spring("joint2", 3.0), neuler.robots.four_bar()]
    if large:
        machines += [neuler.robots.delta(), neuler.robots.puma560().with_spring("joint2", 3.0)]
    ran = set()

    def look(frame, event, _):
        ran.add(frame.f_code.co_filename)

    sys.setprofile(look)
    try:
        _all_recipes(machines)
    finally:
        sys.setprofile(None)
    ours = {path for path in ran if path.startswith(str(root))}
    assert len(ours) > 30
    known = {str(root / name) for name in sources.files("neuler.compiler.build", "neuler.kernels")}
    assert ours - known == set()
    assert {"quantities/catalogue.py", "structure/mobility.py", "version.py", "recursions/hybrid.py"} <= set(
        sources.files("neuler.kernels")
    )


def test_imports_are_read_as_python_reads_them():
    for path in sources.root().rglob("*.py"):
        text, found = path.read_text(encoding="utf-8"), set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{path}: a relative import"
                found.add(node.module)
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
        ours = {name for name in found if name.partition(".")[0] == "neuler"}
        assert ours <= sources.imports(text), path


def test_a_changed_recipe_is_compiled_again(tmp_path):
    """A copy of the package with one changed line of ``quantities/`` finds nothing in the cache of the other."""
    shutil.copytree(sources.root(), tmp_path / "neuler", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import neuler; assert neuler.__file__.startswith({where!r}); robot = neuler.robots.puma560();"
        "k = robot.gravity_force; print(k.cached, float(k([0.1] * 6)[1]))"
    )

    def run(where):
        environment = {**os.environ, "NEULER_CACHE_DIR": str(tmp_path / "shared"), "PYTHONPATH": str(where)}
        command = [sys.executable, "-c", code.format(where=str(where))]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
        cached, value = done.stdout.split()
        return cached == "True", float(value)

    first, again = run(tmp_path), run(tmp_path)
    assert (first[0], again[0]) == (False, True)
    path = tmp_path / "neuler" / "quantities" / "dynamics.py"
    text = path.read_text()
    line = 'trace = lambda values: whole.trace({**values, "qd": list(still), "qdd": list(still)})'
    assert line in text
    path.write_text(
        text.replace(line, line.replace("whole.trace(", "doubled(whole.trace, "))
        + "\n\ndef doubled(trace, values):\n    return [[2.0 * x for x in row] for row in trace(values)]\n"
    )
    changed = run(tmp_path)
    assert changed == (False, pytest.approx(2 * first[1], rel=1e-12))
    version = tmp_path / "neuler" / "version.py"
    version.write_text(version.read_text().replace('__version__ = "', '__version__ = "9.'))
    assert run(tmp_path)[0] is False


def test_sources_that_change_while_a_process_runs_are_not_trusted(tmp_path):
    """An edit between import and first compile: the old code must not be stored under the new sources' key."""
    shutil.copytree(sources.root(), tmp_path / "neuler", ignore=shutil.ignore_patterns("__pycache__"))
    line = "return body.drive.stiffness * (q[body.position] - body.drive.rest)"
    path = tmp_path / "neuler" / "recursions" / "drives.py"
    assert line in path.read_text()
    run = "k = neuler.robots.two_link().with_spring('joint1', 5.0).gravity_force; print(k.cached, *k([1.0, 0.0]))"
    edit = (
        f"import pathlib; p = pathlib.Path({str(path)!r}); p.write_text(p.read_text().replace({line!r}, '2.0 *' .join("
    )
    edit += f"({line!r}[:7], {line!r}[7:]))))"
    environment = {**os.environ, "NEULER_CACHE_DIR": str(tmp_path / "shared"), "PYTHONPATH": str(tmp_path)}
    answers = []
    for code in (
        f"import neuler, time; time.sleep(0.05); {edit}; {run}",
        f"import neuler; {run}",
        f"import neuler; {run}",
    ):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
        cached, first, _ = done.stdout.split()
        answers.append((cached == "True", float(first)))
    assert answers == [(False, 5.0), (False, 10.0), (True, 10.0)]


def test_a_cache_that_can_only_be_read_is_used(folder, monkeypatch):
    _torque(monkeypatch)
    path = _entry(folder)
    os.utime(path, (time.time() - 1e6,) * 2)

    def refuse(*_):
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr(cache.os, "utime", refuse)
    assert _torque(monkeypatch).cached


@pytest.mark.parametrize(
    "facts",
    [
        {"outputs": [["tau", [3]]]},
        {"outputs": [["tau", []]]},
        {"inputs": []},
        {"dtype": "float32"},
        {"pool": "large"},
        {"pool": -1},
        {"pool": 1.5},
        {"pool": 10**30},
        {"pool": True},
        {"pool": None},
        {"operations": 3},
        {"operations": {"mul": 1}},
        {"operations": {"mul": -1, "add": 0, "div": 0, "trig": 0}},
        {"operations": {"mul": "1", "add": 0, "div": 0, "trig": 0}},
    ],
)
def test_entries_that_are_whole_but_senseless_are_compiled_again(folder, monkeypatch, facts):
    _torque(monkeypatch)
    _rewritten(_entry(folder), facts)
    assert not _torque(monkeypatch).cached
    assert _torque(monkeypatch).cached, "the entry was not mended"


@pytest.mark.parametrize(
    "damage",
    [
        lambda code: b"",
        lambda code: b"no object file at all, but long enough to be one" * 50,
        lambda code: code[: len(code) // 2],
        lambda code: code[:70],
        lambda code: code[:16] + b"\x02" + code[17:],
        lambda code: code[:18] + b"\x28" + code[19:],
        lambda code: code.replace(b"\0loop\0", b"\0pool\0"),
        lambda code: b"\xcf\xfa\xed\xfe" + code[4:],
        lambda code: re.sub(rb"neuler_[0-9a-f]{24}_", b"neuler_" + b"0" * 24 + b"_", code),  # other support code
    ],
)
def test_code_that_is_no_object_file_is_compiled_again(folder, monkeypatch, damage):
    """LLVM does not survive such files: they must not reach it."""
    _torque(monkeypatch)
    path = _entry(folder)
    _rewritten(path, code=damage(cache.load(path.name)[1]))
    assert not _torque(monkeypatch).cached
    assert _torque(monkeypatch).cached, "the entry was not mended"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_in_the_place_of_an_entry_does_not_keep_anybody_waiting(folder, monkeypatch):
    _torque(monkeypatch)
    path = _entry(folder)
    path.unlink()
    os.mkfifo(path, 0o600)
    assert not _torque(monkeypatch).cached
    path.unlink(missing_ok=True)
    path.mkdir()
    assert not _torque(monkeypatch).cached


# ---- the folder as a whole ----------------------------------------------------------------------------------------


def _fill(folder, sizes, ages):
    folder.mkdir(mode=0o700, exist_ok=True)
    now = time.time()
    paths = []
    for k, (size, age) in enumerate(zip(sizes, ages, strict=True)):
        path = folder / f"{k:064x}"
        path.write_bytes(b"x" * size)
        os.utime(path, (now - age, now - age))
        paths.append(path)
    return paths


def test_the_least_recently_used_entries_go_first(folder):
    paths = _fill(folder, [100] * 5, [50, 10, 40, 20, 30])
    (folder / "notes.txt").write_text("not ours")
    gone = cache.prune(folder, most_bytes=250, most_seconds=1e6)
    assert [entry.path for entry in gone] == [paths[0], paths[2], paths[4]]
    assert sorted(p.name for p in folder.iterdir()) == sorted([paths[1].name, paths[3].name, "notes.txt"])
    assert [entry.path for entry in cache.prune(folder, most_bytes=10**9, most_seconds=15)] == [paths[3]]
    assert len(cache.clear(folder)) == 1
    assert (folder / "notes.txt").exists()


def test_a_store_prunes_and_a_load_keeps(folder, monkeypatch):
    """What was not used for long goes when something new is written; what is loaded counts as used now."""
    _torque(monkeypatch)
    old, kept = _fill(folder, [10], [2 * cache.MOST_SECONDS])[0], _entry_of_now(folder)
    long_ago = time.time() - 1e6
    os.utime(kept, (long_ago,) * 2)
    assert _torque(monkeypatch).cached
    assert kept.stat().st_mtime > long_ago + 9e5
    monkeypatch.setattr(cache, "_written", 0)
    assert not neuler.robots.stanford().compile("inverse_dynamics").cached
    assert not old.exists()
    assert kept.exists()


def _entry_of_now(folder):
    return max((p for p in folder.iterdir() if p.stat().st_size > 100), key=lambda p: p.stat().st_mtime)


def test_the_command_shows_and_clears(folder, monkeypatch, capsys):
    _torque(monkeypatch)
    assert main(["cache", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["folder"], facts["entries"], facts["bytes"]) == (str(folder), 1, _entry(folder).stat().st_size)
    assert main(["cache", "--clear"]) == 0
    assert "removed 1 of 1 kernels" in capsys.readouterr().out
    assert list(folder.iterdir()) == []
    monkeypatch.setenv("NEULER_CACHE_DIR", "off")
    assert main(["cache"]) == 0
    assert "there is no cache" in capsys.readouterr().out


def test_the_key_knows_what_matters():
    robot = neuler.robots.two_link()
    base = cache.key(robot.content_hash, "inverse_dynamics")
    assert base == cache.key(neuler.robots.two_link().content_hash, "inverse_dynamics")
    assert base != cache.key(robot.with_gravity((0, 0, -1.62)).content_hash, "inverse_dynamics")
    assert base != cache.key(robot.content_hash, "forward_dynamics")
