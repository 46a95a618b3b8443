"""Measure neuler beside Pinocchio and MuJoCo and write benchmarks/RESULTS.md.

    make bench                       # or: python benchmarks/run.py [--quick]

One harness for all figures: one core and one thread unless told otherwise, double precision,
batches of 4,096 states in C-contiguous arrays of shape (N, n), the least of several repeats (and of
rounds, for the tables beside a peer), the peer measured in the same run, compile time apart from run time.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import functools
import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import calls
import excitation
import exports
import exports_wasm
import friction
import identification
import neuler
import operations
import parallel
import planning
import planning_hard
import planning_random
import reaching
import regressors
import rollouts
import studies
import timing
import walking
import watched
from loops import closed_loops
from neuler import Kernel, Robot, bench
from neuler.peers import peer

HERE = Path(__file__).resolve().parent
ROBOTS = {
    "UR5": "ur_description/urdf/ur5_robot.urdf",
    "Panda": "panda_description/urdf/panda.urdf",
    "human": "human_description/robots/human.urdf",
    "G1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "Talos": "talos_data/robots/talos_reduced.urdf",
}
ROUNDS = 4
DYNAMICS = ("inverse_dynamics", "forward_dynamics")
OTHERS = ("mass_matrix", "bias_force", "gravity_force", "jacobian", "link_poses")
WHOLE = ("center_of_mass", "center_of_mass_jacobian", "centroidal_momentum", "centroidal_momentum_rate")


def urdf(name: str) -> Path:
    """A file of the package example-robot-data."""
    package = importlib.metadata.distribution("example-robot-data")
    return Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots"))) / ROBOTS[name]


def robot_of(name: str) -> Robot:
    """Fixed base; mimic joints free to move, as Pinocchio reads them."""
    return neuler.load(urdf(name), mimic="independent", floating="fixed")


def speed(quick: bool) -> list[str]:
    """Every robot, inverse and direct dynamics, beside Pinocchio's C++ batch call."""
    lines = [
        "## Speed beside Pinocchio, one core",
        "",
        "| robot, joints | quantity | mul/add/div/trig | batch, ns per state | Pinocchio | ratio "
        "| one call, us | Pinocchio | ratio | agreement |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    cases = []
    for name in ROBOTS:
        verbs = DYNAMICS if quick or name != "UR5" else DYNAMICS + OTHERS
        cases.append((name, robot_of(name), verbs, str(urdf(name)) if name != "G1" else None))
    lines += _rounds(cases, quick)
    note = "*: Pinocchio has no batch call for it; its states are looped over in Python."
    return [*lines, "", note, ""]


def _rounds(cases, quick: bool) -> list[str]:
    """A row a quantity: everything measured in rounds some time apart, and the least of each time is kept, both sides'.

    A busy neighbour on a shared machine slows seconds at a time; it seldom hits the same row in every round.
    """
    rows: dict[tuple[int, int], list[bench.Measurement]] = {}
    for _ in range(1 if quick else ROUNDS):
        for i, (_, robot, verbs, source) in enumerate(cases):
            result = bench.run(robot, verbs=verbs, against="pinocchio", urdf=source, repeats=5 if quick else 9)
            for k, one in enumerate(result.measurements):
                rows.setdefault((i, k), []).append(one)
    return [_row(cases[i][0], cases[i][1], _least(found)) for (i, _), found in sorted(rows.items())]


def _least(found: list[bench.Measurement]) -> bench.Measurement:
    if any(one.peer is None for one in found):
        return found[0]
    call, batch = min(one.call_us for one in found), min(one.batch_ns for one in found)
    theirs = dataclasses.replace(
        found[0].peer,
        call_us=min(one.peer.call_us for one in found),
        batch_ns=min(one.peer.batch_ns for one in found),
    )
    return dataclasses.replace(found[0], call_us=call, batch_ns=batch, peer=theirs)


def _row(name: str, robot: Robot, one: bench.Measurement) -> str:
    if one.operations is None or one.peer is None:
        return f"| {name}, {robot.nv} | {one.quantity} | {one.failure or 'no peer'} |"
    counts, peer = one.operations, one.peer
    star = "" if peer.batched else "*"
    return (
        f"| {name}, {robot.nv} | {one.quantity} | {counts.mul}/{counts.add}/{counts.div}/{counts.trig} "
        f"| {one.batch_ns:.1f} | {peer.batch_ns:.0f}{star} | {peer.batch_ns / one.batch_ns:.1f}{star} "
        f"| {one.call_us:.2f} | {peer.call_us:.2f} | {peer.call_us / one.call_us:.1f} | {peer.error:.0e} |"
    )


def floating(quick: bool) -> list[str]:
    """The same on a free base, with six more coordinates, beside Pinocchio's free-flyer."""
    lines = [
        "## Free base, beside Pinocchio's free-flyer, one core",
        "",
        "| robot, velocities | quantity | mul/add/div/trig | batch, ns per state | Pinocchio | ratio "
        "| one call, us | Pinocchio | ratio | agreement |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    cases = []
    for name in ("human", "Talos", "UR5"):
        robot = robot_of(name)
        robot = robot.with_free_base(world="ground" if "world" in robot.link_names else "world")
        verbs = DYNAMICS if quick or name != "human" else DYNAMICS + OTHERS + WHOLE
        cases.append((name, robot, verbs, str(urdf(name))))
    lines += _rounds(cases, quick)
    note = "*: Pinocchio has no batch call for it; its states are looped over in Python."
    return [*lines, "", note, ""]


def threads() -> list[str]:
    """Two threads beside one, on a batch of 262,144."""
    lines = ["## Two threads beside one, batch of 262,144", "", "| robot | quantity | speed-up |", "|---|---|---|"]
    for name in ("UR5", "human"):
        robot = robot_of(name)
        states = np.random.default_rng(0).normal(size=(3, 262_144, robot.nv))
        for quantity in DYNAMICS:
            kernel = Kernel(robot, quantity)
            call = functools.partial(kernel, *states, out=np.empty_like(states[0]))
            times = []
            for count in (1, 2):
                kernel.threads = count
                times.append(bench.best_seconds(call, repeats=15))
            lines.append(f"| {name} | {quantity} | {times[0] / times[1]:.2f} |")
    return [*lines, ""]


def sensitivities() -> list[str]:
    """Inverse and forward dynamics sensitivities beside Pinocchio's, dense and, where it has a structure, sparse."""
    lines = [
        "## Sensitivities beside Pinocchio, one core, batch of 4,096",
        "",
        "Pinocchio's computeRNEADerivatives and computeABADerivatives are looped over from Python; what the same call",
        "costs for a robot of one joint is taken off, as `neuler bench` does. Pinocchio overwrites its results with",
        "every state; neuler writes all of them, and the last column is what writing so many zeros alone costs.",
        "",
        "| robot, joints | quantity | mul/add | compile, s | ns per state | Pinocchio | ratio | agreement | writing |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    cases = []
    for name in ("UR5", "Panda", "human"):
        robot = robot_of(name).without_friction()
        other = peer("pinocchio", robot)
        for quantity in ("inverse_dynamics_sensitivities", "forward_dynamics_sensitivities"):
            inputs = ("q", "qd", "qdd" if quantity.startswith("inverse") else "tau")
            states = bench.random_states(robot, inputs, 4096)
            task = other.task(quantity, states)
            for options in [{}, {"sparse": True}] if quantity.startswith("inverse") else [{}]:
                os.environ["NEULER_CACHE_DIR"] = "off"
                kernel = Kernel(robot, quantity, **options)
                _ = kernel.ufunc  # made here and now
                del os.environ["NEULER_CACHE_DIR"]
                kernel.threads = 1
                cases.append((name, kernel, states, task, []))
    for _ in range(ROUNDS):
        for _, kernel, states, task, found in cases:
            out = tuple(np.zeros((4096, *operand.shape)) for operand in kernel.outputs)
            ours = bench.best_seconds(functools.partial(kernel, *states.values(), out=out), repeats=5)
            writing = bench.best_seconds(lambda out=out: [x.fill(0.0) for x in out], repeats=3)
            theirs = None
            if not kernel.options:
                kernel(*states.values(), out=out)
                theirs = bench.beside(task, out, repeats=5)
            found.append((1e9 * ours / 4096, 1e9 * writing / 4096, theirs))
    for k, (name, kernel, _, _, found) in enumerate(cases):
        ours, writing = (min(one[i] for one in found) for i in (0, 1))
        dense = found if not kernel.options else cases[k - 1][-1]  # the peer has no sparse result
        theirs = min(one[2].batch_ns for one in dense)
        error = "" if kernel.options else f"{found[0][2].error:.0e}"
        label = kernel.quantity + (", sparse" if kernel.options else "")
        lines.append(
            f"| {name}, {kernel.robot.nv} | {label} | {kernel.operations.mul}/{kernel.operations.add} "
            f"| {kernel.compile_seconds:.1f} | {ours:.0f} | {theirs:.0f} | {theirs / ours:.1f} | {error} "
            f"| {writing:.0f} |"
        )
    return [*lines, ""]


START = """
import time; a = time.perf_counter()
import neuler; b = time.perf_counter()
robot = neuler.load({path!r}, mimic="independent"); n = robot.nv
robot.inverse_dynamics([0.1] * n, [0.2] * n, [0.3] * n); c = time.perf_counter()
print(b - a, c - b)
"""


def start_up() -> list[str]:
    """A fresh process: import, then from the URDF to the first torque; cold and from the cache."""
    lines = [
        "## Start-up, fresh process, seconds (median of 5)",
        "",
        "| robot | import neuler | URDF to first torque, cold | from the cache |",
        "|---|---|---|---|",
    ]
    for name in ("UR5", "human"):
        code = START.format(path=str(urdf(name)))
        cold, warm, imports = [], [], []
        for _ in range(5):
            with tempfile.TemporaryDirectory() as folder:
                environment = {**os.environ, "NEULER_CACHE_DIR": folder}
                for found in (cold, warm):
                    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
                    first, second = map(float, run.stdout.split())
                    imports.append(first)
                    found.append(second)
        row = [float(np.median(x)) for x in (imports, cold, warm)]
        lines.append(f"| {name} | {row[0]:.2f} | {row[1]:.3f} | {row[2]:.3f} |")
    return [*lines, ""]


def compile_time() -> list[str]:
    """General chains: seconds from the recursion to machine code."""
    lines = [
        "## Compile time of general chains, seconds",
        "",
        "| joints | inverse dynamics | direct dynamics | operations of direct dynamics |",
        "|---|---|---|---|",
    ]
    os.environ["NEULER_CACHE_DIR"] = "off"
    for n in (20, 40, 80, 160):
        robot = neuler.robots.general_chain(n)
        inverse, direct = (Kernel(robot, quantity) for quantity in DYNAMICS)
        lines.append(f"| {n} | {inverse.compile_seconds:.2f} | {direct.compile_seconds:.2f} | {direct.operations} |")
    del os.environ["NEULER_CACHE_DIR"]
    return [*lines, ""]


def elsewhere() -> list[str]:
    """JAX and PyTorch where they are installed, each in a process of its own."""
    lines: list[str] = []
    for package in ("jax", "torch"):
        if importlib.util.find_spec(package) is not None:
            command = [sys.executable, str(HERE / f"{package}_calls.py")]
            lines += [subprocess.run(command, capture_output=True, text=True, check=True).stdout.rstrip(), ""]
    return lines


def versions() -> list[str]:
    """When, where and with what."""
    version = importlib.metadata.version
    facts = bench.machine()
    return [
        "# Results",
        "",
        "Written by `make bench`. Ratios are the peer's time over neuler's, measured in one run.",
        "",
        f"{datetime.date.today().isoformat()}, {facts['cpu']} ({os.cpu_count()} cores), code for {facts['code_for']}; "
        f"Python {platform.python_version()}, NumPy {facts['numpy']}, llvmlite {version('llvmlite')}, "
        f"Pinocchio {version('pin')}, MuJoCo {version('mujoco')}, CasADi {version('casadi')}, "
        f"neuler {facts['neuler']}.",
        "",
    ]


def main() -> None:
    """All tables, to the file and to the screen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats and quantities; prints, writes nothing")
    quick = parser.parse_args().quick
    if hasattr(os, "sched_setaffinity"):
        everywhere = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {max(everywhere)})
    lines = versions() + speed(quick) + floating(quick)
    if not quick:
        lines += calls.one_call("UR5", robot_of("UR5").without_friction())
        lines += ["", *calls.lanes({name: urdf(name) for name in ("UR5", "Panda", "G1")})]
        lines += [
            "",
            *sensitivities(),
            *regressors.report({name: robot_of(name) for name in ("UR5", "Panda", "human")}),
            *exports.report({name: robot_of(name) for name in ("UR5", "G1")}),
            *exports_wasm.report({name: robot_of(name) for name in ("UR5", "G1")}),
        ]
        lines += [*closed_loops(), parallel.report()]
        lines += watched.report({"human": robot_of("human"), "PUMA, free": neuler.robots.puma560().with_free_base()})
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, everywhere)
    if not quick:
        lines += elsewhere() + identification.report(robot_of)
        lines += reaching.report(urdf) + timing.report(robot_of) + planning.report()
        lines += planning_hard.report() + planning_random.report() + walking.report()
        lines += excitation.report()
        lines += (
            rollouts.report(robot_of)
            + friction.report(lambda: robot_of("UR5"))
            + studies.report()
            + threads()
            + start_up()
            + compile_time()
            + ["## Operations", "", operations.report()]
        )
    text = "\n".join(lines).rstrip() + "\n"
    print(text)
    if not quick:
        (HERE / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
