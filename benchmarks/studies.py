"""Studies: what they cost beside the plain call, how well two workers share, memory, engines, and a thousand workers.

The last is a model: the times that it uses are measured here, and it is checked with sleeping tasks on 2, 4 and 8
workers of this machine.
"""

from __future__ import annotations

import concurrent.futures as cf
import contextlib
import functools
import heapq
import importlib.metadata
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import neuler
from neuler.robot import Robot
from neuler.studies import Settings, random
from neuler.studies.chunks import HANDED_OUT
from neuler.workers.engines import Engine, engine_of, spread
from neuler.workers.jobs import job_of
from neuler.workers.processes import dismiss
from neuler.workers.starts import Made, called

QUIET: dict[str, Any] = {"progress": False}
DASK = "Dask, 2 workers over TCP"


# ---- tasks ----------------------------------------------------------------------------------------------------------


@functools.cache
def ur5() -> Robot:
    """The file of the package example-robot-data."""
    package = importlib.metadata.distribution("example-robot-data")
    folder = Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))
    return neuler.load(folder / "ur_description/urdf/ur5_robot.urdf").without_friction()


def torque(setting: dict[str, Any]) -> dict[str, Any]:
    """A batch of torques."""
    return {"tau": ur5().inverse_dynamics(setting["q"], setting["qd"], setting["qdd"])}


def spin(seconds: float) -> float:
    """Compute for so long on one core."""
    end, total = time.process_time() + seconds, 0.0
    while time.process_time() < end:
        total += float(np.sin(np.arange(100.0)).sum())
    return total


def computing(setting: dict[str, Any]) -> dict[str, Any]:
    """A row that computes for a while."""
    return {"y": spin(setting["seconds"])}


def states(rows: int) -> Settings:
    """Random states of a UR5."""
    one = np.ones(6)
    return random(rows, q=(-3 * one, 3 * one), qd=(-one, one), qdd=(-one, one))


# ---- short rows -----------------------------------------------------------------------------------------------------


def short_rows(rows: int) -> dict[str, float]:
    """Seconds of a study of torques, of the plain call, and of pyarrow's writing of the same table."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    settings = states(rows)
    with tempfile.TemporaryDirectory() as folder:
        torque(settings.part(0, 8).columns())  # compiled
        begin = time.perf_counter()
        neuler.study(torque, settings, Path(folder) / "study", batched=True, **QUIET)
        found = {"study": time.perf_counter() - begin}
        columns = settings.columns()
        begin = time.perf_counter()
        tau = torque(columns)["tau"]
        found["call"] = time.perf_counter() - begin
        made = {"row": np.arange(rows), **columns, "tau": tau, "status": ["ok"] * rows, "message": [""] * rows}
        lists = {
            name: arrow.FixedSizeListArray.from_arrays(arrow.array(values.ravel()), values.shape[1])
            if isinstance(values, np.ndarray) and values.ndim == 2
            else arrow.array(values)
            for name, values in made.items()
        }
        table = arrow.table(lists)
        begin = time.perf_counter()
        with open(Path(folder) / "plain.parquet", "wb") as file:
            parquet.write_table(table, file)
            file.flush()
            os.fsync(file.fileno())
        found["writing"] = time.perf_counter() - begin
    return found


_MEMORY = """
import sys, tempfile, resource
sys.path.insert(0, {here!r})
import neuler, studies
with tempfile.TemporaryDirectory() as folder:
    neuler.study(studies.torque, studies.states({rows}), folder + "/a", batched=True, progress=False, workers=2)
    own, others = studies.peak(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    summary = neuler.studies.load(folder + "/a").summary()
    print(own, others, studies.peak(), summary["rows"])
"""


def peak() -> float:
    """Resident memory of this process at most (MB); getrusage counts that of the process it was forked from too."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def memory(rows: int) -> tuple[float, float, float]:
    """Peak resident memory (MB): of the client, of the largest worker process, and of the client after a summary."""
    code = _MEMORY.format(here=str(Path(__file__).parent), rows=rows)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    own, others, later, _ = map(float, done.stdout.split())
    return own, others, later


# ---- longer rows ----------------------------------------------------------------------------------------------------


def _bare(rows: int, seconds: float) -> float:
    for _ in range(rows):
        spin(seconds)
    return 0.0


def sharing(rows: int, seconds: float) -> dict[str, float]:
    """Seconds of a study on two workers, of two bare processes, and of one that does everything."""
    settings = {"x": np.arange(float(rows)), "seconds": np.full(rows, seconds)}
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import studies; studies._bare"
    found = {}
    for name, count in (("one process", 1), ("two processes", 2)):
        begin = time.perf_counter()
        each = [subprocess.Popen([sys.executable, "-c", f"{code}({rows // count}, {seconds})"]) for _ in range(count)]
        for process in each:
            process.wait()
        found[name] = time.perf_counter() - begin
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        neuler.study(computing, settings, Path(folder) / "a", workers=2, **QUIET)
        found["study"] = time.perf_counter() - begin
    return found


# ---- engines --------------------------------------------------------------------------------------------------------


def _nothing(seed: int) -> None:
    """What is called where only the way there and back counts."""


def _sleep(common: float, item: int, attempt: int) -> bytes:
    time.sleep(common)
    return b""


@contextlib.contextmanager
def dask(workers: int) -> Iterator[Engine]:
    """A scheduler and workers of Dask, each a process of its own that is reached over TCP, as on other machines."""
    import distributed

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "dask"]
    here = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    options: dict[str, Any] = {
        "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True, "env": here,
    }  # fmt: skip
    started = [subprocess.Popen(
        [*command, "scheduler", "--host", "127.0.0.1", "--port", address.rpartition(":")[2], "--no-dashboard"],
        **options,
    )]  # fmt: skip
    started += [
        subprocess.Popen([*command, "worker", "--nthreads", "1", address, "--no-dashboard"], **options)
        for _ in range(workers)
    ]
    try:
        with distributed.Client(address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(workers)
        engine = engine_of("study", None, None, address)
        yield engine
        engine.close()
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def handed_out(engine: Engine, calls: int) -> tuple[float, float]:
    """Seconds until the first answer of an engine, and those that a call takes which does nothing in its process."""
    job = job_of("nothing", Made(_nothing), here="")
    begin = time.perf_counter()
    for _ in spread(engine, called, job, iter(range(1))):
        pass
    first = time.perf_counter() - begin
    for _ in spread(engine, called, job, iter(range(50))):
        pass
    begin = time.perf_counter()
    for _ in spread(engine, called, job, iter(range(calls))):
        pass
    each = (time.perf_counter() - begin) / calls
    dismiss(job)
    return first, each


def engines(calls: int) -> dict[str, tuple[float, float]]:
    """By engine with two workers: seconds until its first answer, and of a call that does nothing."""
    import loky

    found = {}
    for name, make in (
        ("threads, each with a process of its own", None),
        ("concurrent.futures.ProcessPoolExecutor", lambda: cf.ProcessPoolExecutor(2)),
        ("loky", lambda: loky.ProcessPoolExecutor(2)),
    ):
        engine = engine_of("study", 2, make)
        found[name] = handed_out(engine, calls)
        engine.close()
    with dask(2) as engine:
        found[DASK] = handed_out(engine, calls // 4)
    return found


def rate_of_dask(calls: int) -> tuple[float, float]:
    """Seconds that a call takes on two workers of Dask with 4 under way, and with 64: latency, and what it can do."""
    found = []
    with dask(2) as engine:
        for count in (2, 32):
            engine.workers = lambda count=count: count  # type: ignore[misc]
            for turn in (50, calls):
                begin = time.perf_counter()
                for _ in spread(engine, _sleep, 0.0, iter(range(turn))):
                    pass
            found.append((time.perf_counter() - begin) / calls)
    return 4 * found[0], found[1]


# ---- a thousand workers ---------------------------------------------------------------------------------------------


def simulated(workers: int, chunks: int, seconds: float, handing: float, latency: float, start: float) -> float:
    """Seconds of a study in the model: a scheduler that takes ``handing`` a chunk, workers that take ``seconds``.

    Each worker has two chunks at a time, one that runs and one that waits; it begins after ``start`` seconds. The
    scheduler hands out one chunk after the other, when the one before the last is done, and a chunk is there, and back,
    after ``latency``.
    """
    free = [(start, start - seconds, worker) for worker in range(workers)]  # when it has run what it has, and but one
    heapq.heapify(free)
    clock = end = 0.0
    for _ in range(chunks):
        ready, before, worker = heapq.heappop(free)
        clock = max(clock, before) + handing
        done = max(clock + latency, ready) + seconds
        end = max(end, done)
        heapq.heappush(free, (done, ready, worker))
    return end


def checked(seconds: float, each: int, handing: float, latency: float) -> list[tuple[int, float, float, float]]:
    """On 2, 4 and 8 workers of Dask: seconds of sleeping tasks, those of the model, and of workers that never wait."""
    found = []
    for workers in (2, 4, 8):
        with dask(workers) as engine:
            for _ in spread(engine, _sleep, 0.0, iter(range(4 * workers))):
                pass
            begin = time.perf_counter()
            for _ in spread(engine, _sleep, seconds, iter(range(each * workers))):
                pass
            took = time.perf_counter() - begin
        model = simulated(workers, each * workers, seconds, handing, latency, 0.0)
        found.append((workers, took, model, each * seconds))
    return found


def start_of_worker() -> float:
    """Seconds until a process has loaded a task and a kernel from its cache, and returned a first row."""
    settings = states(8)
    torque(settings.columns())
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        neuler.study(torque, settings, Path(folder) / "a", workers=1, batched=True, **QUIET)
        return time.perf_counter() - begin


# ---- the report -----------------------------------------------------------------------------------------------------


def report(quick: bool = False) -> list[str]:
    """The tables of RESULTS.md."""
    rows, many = (100_000, 10**6) if quick else (1_000_000, 10**7)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("distributed", "loky", "pyarrow"))
    lines = ["", "## Studies, two cores", "", f"With {versions}.", ""]
    short = short_rows(rows)
    bound = 1.5 * (short["call"] + short["writing"]) + 2.0
    lines += [
        f"{rows:,} rows of a UR5 torque, batched, settings drawn in the workers: {short['study']:.2f} s. The plain "
        f"call takes {short['call']:.3f} s on all cores and pyarrow's writing of the same table "
        f"{short['writing']:.2f} s; 1.5 times both plus 2 s are {bound:.2f} s.", "",
    ]  # fmt: skip
    own, worker, later = memory(many)
    lines += [
        f"{many:,} such rows: {own:.0f} MB at most in the client, {worker:.0f} MB in the largest of two workers; "
        f"{later:.0f} MB in the client after `summary()`.", "",
    ]  # fmt: skip
    shared = sharing(100 if quick else 1000, 0.1)
    bare = shared["one process"] / shared["two processes"]
    ours = shared["one process"] / shared["study"]
    lines += [
        f"{100 if quick else 1000:,} rows of 0.1 s of computing: one process {shared['one process']:.1f} s, two bare "
        f"processes {shared['two processes']:.1f} s (speed-up {bare:.3f}), a study on two workers "
        f"{shared['study']:.1f} s ({ours:.3f}, {ours / bare:.3f} of theirs).", "",
    ]  # fmt: skip
    found = engines(400 if quick else 4000)
    lines += ["| engine, two workers | first answer | a call that does nothing |", "|---|---|---|"]
    lines += [f"| {name} | {first:.2f} s | {each * 1e3:.2f} ms |" for name, (first, each) in found.items()]
    latency, handing = rate_of_dask(300 if quick else 1500)
    begin = start_of_worker()
    lines += [
        "", "Each call goes through the engine to a process that can be killed, and back, as the chunks of a study do.",
        f"A process that loads a task, finds its kernel in the cache and returns a first row: {begin:.2f} s.", "",
        "### A thousand workers, in a model", "",
        f"A scheduler of Dask that takes {handing * 1e3:.1f} ms a chunk when 64 are under way, and "
        f"{latency * 1e3:.0f} ms for the way to a worker and back (both measured here, where client, scheduler and "
        "workers share two cores); "
        f"workers that each have one chunk running and one waiting, and begin after {begin:.1f} s. Checked with tasks "
        "that sleep, on this machine:", "",
        "| workers | chunk | measured | model | no scheduler |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for seconds, each in ((0.002, 400), (0.02, 200), (0.2, 20)):
        for workers, took, model, ideal in checked(seconds, each // (4 if quick else 1), handing, latency):
            lines.append(f"| {workers} | {seconds * 1e3:g} ms | {took:.2f} s | {model:.2f} s | {ideal:.2f} s |")
    lines += ["", "Efficiency in the model, 100 chunks a worker:", ""]
    sizes = (0.1, 0.3, 1.0, 3.0, 10.0)
    lines += [f"| workers | {' | '.join(f'{seconds:g} s' for seconds in sizes)} |", "|---" * (len(sizes) + 1) + "|"]
    for workers in (10, 100, 1000):
        took = [simulated(workers, 100 * workers, seconds, handing, latency, begin) for seconds in sizes]
        shares = [(begin + 100 * seconds) / total for seconds, total in zip(sizes, took, strict=True)]
        lines.append(f"| {workers:,} | {' | '.join(f'{share:.2f}' for share in shares)} |")
    target = max(1.0, 2 * HANDED_OUT * 1000)
    share = simulated(1000, 100_000, target, handing, latency, begin)
    lines += [
        "", f"The scheduler is no bottleneck where a chunk takes longer than workers x {handing * 1e3:.1f} ms: "
        f"{1000 * handing:.1f} s for 1,000 workers. The chunks that studies cut by themselves take {target:g} s there: "
        f"efficiency {(begin + 100 * target) / share:.2f}.", "",
    ]  # fmt: skip
    return lines


if __name__ == "__main__":
    print("\n".join(report("--quick" in sys.argv)))
