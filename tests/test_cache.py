"""The cache: a damaged, foreign or missing entry costs a compile, never a wrong result."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import neuler
from neuler.compiler import build, cache

Q = np.array([0.3, -0.7])
EXPECTED = neuler.robots.two_link().inverse_dynamics(Q, Q, Q)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder, and a process that has forgotten what it compiled."""
    path = tmp_path / "cache"
    monkeypatch.setenv("NEULER_CACHE_DIR", str(path))
    monkeypatch.setattr(build, "_ready", {})
    return path


def _torque(monkeypatch):
    """Of a fresh kernel: the compiled object, after checking the numbers."""
    monkeypatch.setattr(build, "_ready", {})
    kernel = neuler.robots.two_link().inverse_dynamics
    np.testing.assert_allclose(kernel(Q, Q, Q), EXPECTED, rtol=1e-13)
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
    _ = stanford.inverse_dynamics
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


def test_the_key_knows_what_matters():
    robot = neuler.robots.two_link()
    base = cache.key(robot.content_hash, "inverse_dynamics")
    assert base == cache.key(neuler.robots.two_link().content_hash, "inverse_dynamics")
    assert base != cache.key(robot.with_gravity((0, 0, -1.62)).content_hash, "inverse_dynamics")
    assert base != cache.key(robot.content_hash, "forward_dynamics")
