"""Studies on a cluster: a scheduler of Dask and its workers, real processes that talk over TCP; loky, Ray."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import neuler
from neuler import InputError, NeulerError, plan, studies
from neuler.compiler.target import host
from neuler.studies.folder import parts_in
from neuler.workers import engines, processes
from study_functions import counted, torque, torques, trouble
from test_study import QUIET, counted_rows, equal, grid, kinds, marks

distributed = pytest.importorskip("distributed")
TESTS = str(Path(__file__).parent)


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Cluster:
    """A scheduler and workers, each in a process of its own, started as users start them."""

    def __init__(self, folder, **workers):
        self.folder, self.processes = folder, []
        self.address = f"tcp://127.0.0.1:{_free_port()}"
        port = self.address.rpartition(":")[2]
        self._start(["scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"], {})
        for name, environment in workers.items():
            self.worker(name, environment)
        self.client = distributed.Client(self.address, timeout=60, set_as_default=False)
        self.client.wait_for_workers(len(workers), timeout=60)

    def worker(self, name, environment):
        self._start(
            ["worker", "--nthreads", "1", self.address, "--name", name, "--no-dashboard", "--local-directory",
             str(self.folder)], environment,
        )  # fmt: skip

    def _start(self, arguments, environment):
        paths = os.pathsep.join([TESTS, *filter(None, [os.environ.get("PYTHONPATH")])])
        self.processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments], start_new_session=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": paths} | environment, cwd=self.folder,
            )
        )  # fmt: skip

    def close(self):
        with contextlib.suppress(Exception):
            self.client.close()
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("dask"), one={}, two={}, narrow={"NEULER_CPU": "sse2"})
    yield made
    made.close()


def on(cluster, *names):
    """An executor on some of the workers."""
    return cluster.client.get_executor(pure=False, workers=list(names))


@pytest.mark.slow
def test_a_scheduler_gives_the_same_table_bit_by_bit(cluster, tmp_path):
    here = neuler.study(torque, grid(), tmp_path / "a", workers=0, **QUIET).table()
    equal(here, neuler.study(torque, grid(), tmp_path / "c", executor=on(cluster, "one", "two"), **QUIET).table())
    found = neuler.study(torque, grid(), tmp_path / "d", scheduler=cluster.address, **QUIET)
    assert found.complete
    np.testing.assert_allclose(found.table()["tau"], here["tau"], rtol=1e-13, atol=1e-14)


@pytest.mark.slow
def test_workers_of_different_width_agree_to_rounding(cluster, tmp_path):
    settings = studies.random(512, q1=(-3.0, 3.0), q2=(-3.0, 3.0))
    one, two = (
        neuler.study(torques, settings, tmp_path / name, executor=on(cluster, name), batched=True, **QUIET).table()
        for name in ("narrow", "one")
    )
    np.testing.assert_allclose(one["tau"], two["tau"], rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(one["q1"], two["q1"])
    if host().fma:
        assert np.any(one["tau"] != two["tau"])  # else both had the same code
    widths = cluster.client.run(lambda: os.environ.get("NEULER_CPU"))
    assert sorted(map(str, widths.values())) == ["None", "None", "sse2"]


@pytest.mark.slow
def test_timeouts_and_deaths_inside_of_daemonic_workers(cluster, tmp_path):
    daemonic = cluster.client.run(lambda: __import__("multiprocessing").current_process().daemon)
    assert all(daemonic.values())
    names = ["ok", "raise", "spin", "exit", "memory", "ok"]
    found = neuler.study(
        trouble, kinds(*names), tmp_path / "a", scheduler=cluster.address, timeout=1.5, memory=10**9, chunk=3, **QUIET
    ).table()
    assert found["status"].tolist() == ["ok", "failed", "timeout", "killed", "failed", "ok"]


@pytest.mark.slow
def test_a_plan_starts_on_a_cluster(cluster):
    def planned(**options):
        robot = neuler.robots.two_link()
        asked = plan.Plan(robot, start=[0.0, -2.0], goal=[1.0, -1.0], control_points=8)
        return asked.solve(starts=3, seed=1, **options)

    here, there = planned(workers=1), planned(executor=on(cluster, "one", "two"))
    assert here.objective == there.objective
    assert here.notes[-1] == there.notes[-1]


@pytest.mark.slow
def test_errors_of_a_cluster_come_before_work_begins(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "PATIENCE", 1.0)
    with pytest.raises(InputError, match=r"does not answer .*dask worker --nthreads 1 tcp://127.0.0.1"):
        neuler.study(torque, grid(2), tmp_path / "a", scheduler=f"tcp://127.0.0.1:{_free_port()}", **QUIET)
    with pytest.raises(InputError, match="scheduler"):
        neuler.study(torque, grid(2), tmp_path / "a", scheduler="nonsense://", **QUIET)
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "only_here.py").write_text("def task(setting):\n    return {'y': setting['q1'] + setting['q2']}\n")
    sys.path.insert(0, str(folder))
    try:
        from only_here import task

        with pytest.raises(InputError, match="cannot import 'only_here'"):
            neuler.study(task, grid(2), tmp_path / "b", scheduler=cluster.address, **QUIET)
        assert not parts_in(tmp_path / "b")
    finally:
        sys.path.remove(str(folder))


# ---- killed workers -------------------------------------------------------------------------------------------------


def killing(kill, times, pause, done):
    """Call ``kill`` at random moments, in a thread of its own; how often it killed something."""
    chance, hits = random.Random(5), []

    def run():
        while len(hits) < times and not done.wait(chance.uniform(0.2, 1.8) * pause):
            if kill(chance):
                hits.append(time.monotonic())

    thread = threading.Thread(target=run)
    thread.start()
    return thread, hits


def _kill_child(chance):
    found = [process for each in list(processes._busy.values()) for process in each]
    if found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(chance.choice(found).pid, signal.SIGKILL)
            return True
    return False


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_processes_killed_twenty_times_cost_no_row(tmp_path):
    settings = counted_rows(tmp_path / "marks", 300, 0.03)
    done = threading.Event()
    thread, hits = killing(_kill_child, 20, 0.2, done)
    try:
        found = neuler.study(counted, settings, tmp_path / "a", workers=2, chunk=10, **QUIET)
    finally:
        done.set()
        thread.join()
    table = found.table()
    assert len(hits) == 20
    assert table["y"].tolist() == [3.0 * k for k in range(300)]
    assert set(table["status"]) == {"ok"}
    assert sum(marks(tmp_path / "marks").values()) < 300 + 20 * 10  # what a killed chunk had computed is kept


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_workers_of_dask_killed_twenty_times_cost_no_row(tmp_path):
    made = Cluster(tmp_path, one={}, two={})
    settings = counted_rows(tmp_path / "marks", 400, 0.1)
    done = threading.Event()

    def kill(chance):
        with contextlib.suppress(Exception):
            pids = list(made.client.run(os.getpid).values())
            os.kill(chance.choice(pids), signal.SIGKILL)
            return True
        return False

    thread, hits = killing(kill, 20, 2.0, done)
    try:
        found = neuler.study(counted, settings, tmp_path / "a", scheduler=made.address, chunk=4, **QUIET)
    finally:
        done.set()
        thread.join()
        made.close()
    table = found.table()
    assert len(hits) >= 10
    assert table["y"].tolist() == [3.0 * k for k in range(400)]
    assert set(table["status"]) == {"ok"}


@pytest.mark.slow
def test_a_scheduler_that_dies_stops_the_study_and_another_goes_on(tmp_path):
    settings = counted_rows(tmp_path / "marks", 60, 0.1)
    made = Cluster(tmp_path, one={}, two={})

    def progress(told):
        if told.done >= 10:
            made.processes[0].kill()

    try:
        with pytest.raises(NeulerError, match="connection to the scheduler"):
            neuler.study(counted, settings, tmp_path / "a", scheduler=made.address, chunk=2, progress=progress)
    finally:
        made.close()
    written = {row for part in parts_in(tmp_path / "a") for row in range(part.first, part.last)}
    assert 10 <= len(written) < 60
    before = marks(tmp_path / "marks")
    made = Cluster(tmp_path, one={})
    try:
        found = neuler.study(counted, settings, tmp_path / "a", scheduler=made.address, **QUIET)
    finally:
        made.close()
    assert found.table()["y"].tolist() == [3.0 * k for k in range(60)]
    after = marks(tmp_path / "marks")
    assert all(after[f"{row:06d}"] == before[f"{row:06d}"] for row in written)


# ---- other engines --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_loky(tmp_path):
    loky = pytest.importorskip("loky")
    killed = []

    def progress(told):
        if not killed:
            killed.extend(loky.get_reusable_executor()._processes)
            os.kill(killed[0], signal.SIGKILL)

    found = neuler.study(
        torque, grid(), tmp_path / "a", executor=lambda: loky.get_reusable_executor(max_workers=2), chunk=1,
        progress=progress,
    )  # fmt: skip
    loky.get_reusable_executor().shutdown(kill_workers=True)
    equal(found.table(), neuler.study(torque, grid(), tmp_path / "b", workers=0, **QUIET).table())


@pytest.mark.slow
def test_ray(tmp_path):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": TESTS}})
    try:
        executor = studies.RayExecutor()
        names = ["ok", "raise", "exit", "ok", "spin"]
        found = neuler.study(trouble, kinds(*names), tmp_path / "a", executor=executor, timeout=2.0, chunk=2, **QUIET)
        assert found.table()["status"].tolist() == ["ok", "failed", "killed", "ok", "timeout"]
        equal(
            neuler.study(torque, grid(), tmp_path / "b", executor=executor, **QUIET).table(),
            neuler.study(torque, grid(), tmp_path / "c", workers=0, **QUIET).table(),
        )
    finally:
        ray.shutdown()


@pytest.mark.slow
def test_a_user_s_thread_pool_is_left_open(tmp_path):
    with ThreadPoolExecutor(2) as executor:
        assert neuler.study(torque, grid(2), tmp_path / "a", executor=executor, **QUIET).complete
        assert executor.submit(abs, -1).result() == 1
