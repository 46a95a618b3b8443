"""A cache of this run alone: shared by its workers, empty at the start, gone at the end. Ctrl-C as on a terminal."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background: tests of Ctrl-C need it
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        config.neuler_cache = os.environ["NEULER_CACHE_DIR"] = tempfile.mkdtemp(prefix="neuler-test-")


def pytest_unconfigure(config):
    if hasattr(config, "neuler_cache"):
        shutil.rmtree(config.neuler_cache, ignore_errors=True)
