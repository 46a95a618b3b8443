"""The kernel cache of the tests, kept between runs; Ctrl-C as on a terminal; the table of durations."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from durations import Recorder
from neuler import speed
from neuler.compiler import build, cache, sources
from neuler.compiler.target import host

TESTS = Path(__file__).parent
KEPT = TESTS.parent / "build" / "test-cache"
"""Shared by all runs and their workers, bounded like every cache, removed by ``make clean``."""


def pytest_addoption(parser):
    group = parser.getgroup("neuler")
    group.addoption("--cold", action="store_true", help="compile everything: an empty cache, of this run alone")
    group.addoption("--record-durations", metavar="FILE", help="write what each test takes and compiles, as JSON")


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background: tests of Ctrl-C need it
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGINT, signal.default_int_handler)
    cache.key = _key
    if config.getoption("record_durations"):
        config.pluginmanager.register(Recorder(config))
    if hasattr(config, "workerinput"):
        return  # it has the environment of the process that started it
    os.environ["NEULER_CACHE_DIR"] = str(KEPT)
    if config.getoption("cold") or cache.folder() is None:
        config.neuler_cache = os.environ["NEULER_CACHE_DIR"] = tempfile.mkdtemp(prefix="neuler-test-")


def pytest_unconfigure(config):
    if hasattr(config, "neuler_cache"):
        shutil.rmtree(config.neuler_cache, ignore_errors=True)


_plain_key = cache.key


def _key(*parts, origin=build.__name__):
    """The same name, but what tests compile under names of their own is decided by any line of theirs, too.

    neuler itself always says which of its modules makes a recipe; a test that calls the compiler does not.
    """
    return _plain_key(*parts, *([_every_source()] if origin == build.__name__ else []), origin=origin)


@functools.cache
def _every_source():
    total = hashlib.sha256()
    for folder in (sources.root(), TESTS):
        for path in sorted(folder.rglob("*.py")):
            total.update(path.read_bytes() + b"\0")
    return total.hexdigest()


@pytest.fixture(autouse=True)
def _no_open_figures():
    """What tests draw does not pile up in pyplot."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="module")
def shipped():
    """Code as users get it: the everyday run optimises kernels less, which takes half of the time to compile them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NEULER_OPTIMIZE", raising=False)
        host.cache_clear()
        yield
    host.cache_clear()


@pytest.fixture
def brief(monkeypatch):
    """Measurements call what they measure once, and compile nothing that is there."""

    def once(call, repeats, shortest):
        call()
        return 1e-6

    monkeypatch.setattr(speed, "best_seconds", once)
    monkeypatch.setattr(speed, "_compile_seconds", lambda kernel: kernel.compile_seconds)


@pytest.fixture(scope="module")
def browser():
    """The system's Chromium; tests that need it are skipped where there is none."""
    from shown_pages import launched

    yield from launched()
