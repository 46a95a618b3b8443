"""A cache of this run alone: shared by its workers, empty at the start, gone at the end."""

from __future__ import annotations

import os
import shutil
import tempfile


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.neuler_cache = os.environ["NEULER_CACHE_DIR"] = tempfile.mkdtemp(prefix="neuler-test-")


def pytest_unconfigure(config):
    if hasattr(config, "neuler_cache"):
        shutil.rmtree(config.neuler_cache, ignore_errors=True)
