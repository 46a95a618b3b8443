"""How long test files take and how many kernels they compile: the table in tests/DURATIONS.md (``make durations``)."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from neuler.compiler import build

SLOWEST = 25
"""Tests that are listed one by one."""
HEAD = """# Durations of the tests

Written by `make durations`, each run with an empty kernel cache; not by hand. Seconds of files and tests are of one
worker, waiting included. A kernel that several files need counts where it was compiled, which differs a little from
run to run. {machine}, {cores} cores, Python {python}, {date}.
"""


class Recorder:
    """A plugin of pytest: what every test took, collected from all workers, kept as JSON when they have ended."""

    def __init__(self, config):
        self.config = config
        self.compiled = self.before = 0
        self.seconds, self.kernels = Counter(), Counter()
        self.began = time.time()
        self.genuine = build._compile
        build._compile = self._compile

    def _compile(self, *arguments):
        made = self.genuine(*arguments)
        self.compiled += not made.cached
        return made

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self):
        """In the process that ran the test: a report has the kernels compiled since the one before it."""
        outcome = yield
        outcome.get_result().kernels = self.compiled - self.before
        self.before = self.compiled

    def pytest_runtest_logreport(self, report):
        """In the process that writes: setting up, the test itself and tearing down are a report each."""
        self.seconds[report.nodeid] += report.duration
        self.kernels[report.nodeid] += report.kernels

    def pytest_unconfigure(self):
        build._compile = self.genuine
        if not hasattr(self.config, "workerinput"):
            jobs = getattr(self.config.option, "numprocesses", None) or 1
            tests = {name: (self.seconds[name], self.kernels[name]) for name in self.seconds}
            kept = {"seconds": time.time() - self.began, "workers": jobs, "tests": tests}
            Path(self.config.getoption("record_durations")).write_text(json.dumps(kept))


def table(daily, slow):
    """Markdown of two records: both runs, a row a file, and a row for each of the slowest tests."""
    about = {"machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
    lines = [HEAD.format(date=time.strftime("%Y-%m-%d"), **about)]
    lines += ["| run | minutes | workers | tests | seconds | kernels compiled |", "|---|" + "--:|" * 5]
    for name, run in (("`make tests`", daily), ("`make test-slow`", slow)):
        lines.append(f"| {name} | {run['seconds'] / 60:.1f} | {run['workers']} | {_sums(run['tests'].values())} |")
    lines += ["", "| file | tests | seconds | kernels | slow tests | seconds | kernels |", "|---|" + "--:|" * 6]
    files = {}
    for which, run in enumerate((daily, slow)):
        for test, took in run["tests"].items():
            files.setdefault(test.partition("::")[0], ([], []))[which].append(took)
    for file, parts in sorted(files.items(), key=lambda item: -sum(took[0] for part in item[1] for took in part)):
        lines.append(f"| {file.removeprefix('tests/')} | {' | '.join(map(_sums, parts))} |")
    lines += ["", "| the slowest tests of `make tests` | seconds | kernels |", "|---|--:|--:|"]
    for test, (seconds, kernels) in sorted(daily["tests"].items(), key=lambda item: -item[1][0])[:SLOWEST]:
        name = test.removeprefix("tests/").replace("|", "\\|")
        lines.append(f"| {name} | {seconds:.1f} | {kernels} |")
    return "\n".join(lines) + "\n"


def _sums(took):
    took = list(took)
    seconds, kernels = sum(each[0] for each in took), sum(each[1] for each in took)
    return f"{len(took)} | {seconds:.1f} | {kernels}" if took else " | | "


if __name__ == "__main__":
    sys.stdout.write(table(*(json.loads(Path(name).read_text()) for name in sys.argv[1:])))
