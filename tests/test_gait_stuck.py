"""Solves that lead nowhere are stopped, others are not."""

from __future__ import annotations

import pytest

from neuler.gait import stuck
from neuler.gait.stuck import Stuck
from neuler.optimize.programme import Progress


def ended(monkeypatch, seconds, infeasibility, report=None):
    """The iteration at which a solve is stopped whose iterations take ``seconds``; None where it is not."""
    clock = [0.0]
    monkeypatch.setattr(stuck.time, "process_time", lambda: clock[0])
    watch = Stuck(report)
    for k, took in enumerate(seconds):
        clock[0] += took
        if watch(Progress(k, 1.0, infeasibility, clock[0])) is False:
            return k, watch.stopped
    return None


QUICK = [0.5, 0.1, 0.04] + [0.05, 0.1, 0.06] * 15


def test_an_ordinary_solve_goes_on(monkeypatch):
    assert ended(monkeypatch, QUICK, 0.5) is None
    assert ended(monkeypatch, [10.0 * x for x in QUICK], 0.5) is None  # a slower machine


def test_a_solve_that_crawls_ends(monkeypatch):
    assert ended(monkeypatch, [*QUICK[:10], 0.3, 0.1, 0.3, 0.4, 0.5, 0.6, 0.7], 0.5) == (15, True)


def test_near_the_limits_nothing_is_stopped(monkeypatch):
    assert ended(monkeypatch, [*QUICK[:10], *[1.0] * 50], 0.01) is None
    assert ended(monkeypatch, QUICK * 4, 0.01) is None


def test_a_solve_that_is_far_for_long_ends(monkeypatch):
    assert ended(monkeypatch, QUICK * 4, 0.5) == (101, True)


@pytest.mark.parametrize("answer", [False, None])
def test_others_are_told_and_may_stop_it(monkeypatch, answer):
    told = []
    found = ended(monkeypatch, QUICK, 0.5, lambda progress: told.append(progress) or answer)
    assert found == ((0, False) if answer is False else None)
    assert told
