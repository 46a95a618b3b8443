"""How long test files take and how many kernels they compile: the table in tests/DURATIONS.md (``make durations``)."""

from __future__ import annotations

import os
import platform
import time
from collections import Counter
from pathlib import Path

import pytest

from neuler.compiler import build

SLOWEST = 25
"""Tests that are listed one by one."""
HEAD = """# Durations of the tests

Written by `make durations`, with an empty kernel cache; not by hand. Seconds are of one worker of {jobs}, waiting
included; a kernel that several files need is counted where it was compiled, which differs a little from run to run.
{date}, {machine}, {cores} cores, Python {python}.
"""


class Recorder:
    """A plugin of pytest: what every test took, collected from all workers, written when they have ended."""

    def __init__(self, config):
        self.config = config
        self.compiled = self.before = 0
        self.seconds, self.kernels, self.tests = Counter(), Counter(), {}
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
        self.tests[report.nodeid] = "slow" in report.keywords

    def pytest_unconfigure(self):
        build._compile = self.genuine
        if not hasattr(self.config, "workerinput"):
            jobs = getattr(self.config.option, "numprocesses", None) or 1
            Path(self.config.getoption("record_durations")).write_text(self.table(jobs))

    def table(self, jobs):
        """Markdown: totals, then a row a file and a row for each of the slowest tests, the longest first."""
        about = {"machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
        lines = [HEAD.format(jobs=jobs, date=time.strftime("%Y-%m-%d", time.gmtime(self.began)), **about)]
        lines += ["| run | tests | seconds | kernels compiled |", "|---|--:|--:|--:|"]
        for name, slow in (("`make test`", False), ("`make test-slow`", True)):
            lines.append(f"| {name} | {self._sums([test for test in self.tests if self.tests[test] == slow])} |")
        lines += ["", "| file | tests | seconds | kernels | slow tests | seconds | kernels |", "|---|" + "--:|" * 6]
        files = {}
        for test in self.tests:
            files.setdefault(test.partition("::")[0], []).append(test)
        for file in sorted(files, key=lambda file: (-sum(self.seconds[test] for test in files[file]), file)):
            parts = [[test for test in files[file] if self.tests[test] == slow] for slow in (False, True)]
            lines.append(f"| {file.removeprefix('tests/')} | {' | '.join(map(self._sums, parts))} |")
        lines += ["", "| the slowest tests of `make test` | seconds | kernels |", "|---|--:|--:|"]
        daily = sorted((test for test in self.tests if not self.tests[test]), key=lambda test: -self.seconds[test])
        for test in daily[:SLOWEST]:
            name = test.removeprefix("tests/").replace("|", "\\|")
            lines.append(f"| {name} | {self.seconds[test]:.1f} | {self.kernels[test]} |")
        return "\n".join(lines) + "\n"

    def _sums(self, tests):
        seconds, kernels = (sum(counts[test] for test in tests) for counts in (self.seconds, self.kernels))
        return f"{len(tests)} | {seconds:.1f} | {kernels}" if tests else " | | "
