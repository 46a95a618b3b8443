"""Many starts: the best of a function of a seed, in this process and in others."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from neuler import InputError
from neuler.workers import best_of
from start_functions import dying, environment, made, mixed, raising, sleeping, unpicklable, waves


def test_the_same_seeds_give_the_same_answers_in_any_number_of_processes():
    one = best_of(waves, range(6), workers=1)
    two = best_of(waves, range(6), workers=2)
    assert [start.seed for start in two.starts] == list(range(6))
    np.testing.assert_array_equal(one.objectives, two.objectives)
    assert (one.seed, one.best.objective) == (two.seed, two.best.objective)
    np.testing.assert_array_equal(one.best.x, two.best.x)
    assert np.ptp(one.objectives) > 0.1  # several minima
    assert one.best.objective == one.objectives.min()
    assert not two.interrupted


def test_options_by_partial():
    found = best_of(functools.partial(waves, solver="scipy"), 2, workers=2)
    assert found.best.solver == "scipy"


@pytest.mark.parametrize("workers", [1, 2])
def test_solved_before_low_and_the_first_of_equal_ones(workers):
    found = best_of(mixed, range(8), workers)
    assert found.seed == 4  # not 7, which is lower but not at an end; not 6, which is equal
    assert "ZeroDivisionError: three" in found.starts[3].error
    np.testing.assert_array_equal(found.objectives, [5, np.nan, np.nan, np.nan, 2, np.nan, 2, -3])
    assert best_of(mixed, [1, 2], 1).seed == 2  # less infeasible
    assert best_of(mixed, [5, 1], 1).seed == 1


def test_a_process_that_dies_costs_only_its_seed():
    found = best_of(dying, 4, workers=2)
    assert found.seed == 0
    assert [bool(start.error) for start in found.starts] == [False, True, False, False]
    assert "seed 1 ended with code 7" in found.starts[1].error


def test_workers_have_one_thread_and_the_parent_keeps_its_own():
    before = dict(os.environ)
    assert best_of(environment, 2, workers=2).best.status == "optimal"
    assert dict(os.environ) == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_and_stopping(workers):
    told = []

    def progress(done, total, best):
        told.append((done, total, best.objective))
        return done < 3

    found = best_of(waves, 20, workers, progress=progress)
    assert [each[:2] for each in told] == [(1, 20), (2, 20), (3, 20)]
    assert found.interrupted
    assert len(found.starts) == 3
    assert found.best.objective == told[-1][2]


def test_an_interruption_keeps_the_best_and_ends_the_workers():
    def progress(done, total, best):
        threading.Timer(0.1, signal.raise_signal, (signal.SIGINT,)).start()

    found = best_of(sleeping, 3, workers=2, progress=progress)
    assert found.interrupted
    assert [start.seed for start in found.starts] == [0]  # what slept on was not waited for
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("workers", [1, 2])
def test_if_all_fail_the_first_error_is_raised(workers):
    with pytest.raises(LookupError, match="seed 4"):
        best_of(raising, [4, 2, 3], workers)


def test_bad_input():
    for seeds, workers, words in (
        ([], 1, "at least one"),
        ([1, 1], 1, "each one once"),
        (3, 0, "workers must be a whole number from 1 to 1000000, got 0"),
    ):
        with pytest.raises(InputError, match=words):
            best_of(mixed, seeds, workers)
    lock = threading.Lock()
    with pytest.raises(InputError, match="define it in a module, or take workers=1"):
        best_of(lambda seed: made(seed, float(lock.locked())), 2, workers=2)
    with pytest.raises(InputError, match="answer of seed 0 cannot be pickled"):
        best_of(unpicklable, 2, workers=2)


SCRIPT = """
import sys
{hide}
from types import SimpleNamespace
from neuler.workers import best_of
def make(seed):
    return SimpleNamespace(objective=float(seed), infeasibility=0.0, status="optimal")
{guard}
    print(best_of(make, 2, workers=2).seed)
"""
HIDE = "sys.modules['cloudpickle'] = None"
GUARD = 'if __name__ == "__main__":'


@pytest.mark.parametrize(
    ("hide", "guard"), [("", "if True:"), (HIDE, GUARD), pytest.param(HIDE, "if True:", marks=pytest.mark.slow)]
)
def test_scripts_with_and_without_a_guard(tmp_path, hide, guard):
    """With cloudpickle functions travel by their content; without it the script is run again, up to its guard."""
    (tmp_path / "script.py").write_text(SCRIPT.format(hide=hide, guard=guard))
    done = subprocess.run([sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True, check=False)
    if hide and guard != GUARD:
        assert f"put {GUARD} before what the script does" in done.stderr
    else:
        assert (done.stdout, done.stderr) == ("0\n", "")


CACHED = """
import functools
from types import SimpleNamespace
from neuler.workers import best_of
@functools.cache
def factorial(n):
    return 1 if n == 0 else n * factorial(n - 1)
def make(seed):
    return SimpleNamespace(objective=-float(factorial(seed)), infeasibility=0.0, status="optimal")
if __name__ == "__main__":
    print(best_of(make, 5, workers=2).seed)
"""


@pytest.mark.slow
def test_cached_functions_of_a_script_travel(tmp_path):
    """Cloudpickle alone leaves functions under ``functools.cache`` to their names, which no other process finds."""
    (tmp_path / "script.py").write_text(CACHED)
    done = subprocess.run([sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("4\n", "")
