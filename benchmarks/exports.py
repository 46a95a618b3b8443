"""Exported C beside CasADi's C of the same operations and of Pinocchio's, in one C program, on one core.

    python benchmarks/exports.py [--robots UR5,Panda,G1]

Each candidate has its best flags: CasADi's C is compiled with fused operations allowed, which our -std=c99 forbids and
the explicit fma() gives back. Rounds take turns, the least time of a state counts, and results are compared.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neuler import Robot
from neuler.export.objects import machine_bytes

HERE = Path(__file__).resolve().parent
STATES, ROUNDS, COUNT = 256, 30, 40
OURS = ["-std=c99", "-O3", "-march=native", "-ffp-contract=off"]
THEIRS = ["-O3", "-march=native", "-w"]
QUANTITIES = {"inverse_dynamics": "pin_inverse", "forward_dynamics": "pin_forward"}
DRIVER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
extern void ours(const double *, const double *, const double *, double *);
typedef int casadi_function(const double **, double **, long long *, double *, int);
extern casadi_function same_operations;
%(declared)s
static double in[3][%(states)d][%(n)d], out[%(candidates)d][%(states)d][%(n)d], w[200000];
static long long iw[10000];
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static void run(int who, int k)
{
    if (who == 0) { ours(in[0][k], in[1][k], in[2][k], out[0][k]); return; }
    const double *arg[16] = {in[0][k], in[1][k], in[2][k]};
    double *res[16] = {out[who][k]};
    if (who == 1) { same_operations(arg, res, iw, w, 0); }
    %(called)s
}
int main(int count, char **arguments)
{
    double best[3] = {1e9, 1e9, 1e9};
    FILE *file = fopen(arguments[1], "rb");
    if (count != 2 || !file || fread(in, sizeof in, 1, file) != 1) { return 1; }
    for (int round = 0; round < %(rounds)d; round++) {
        for (int who = 0; who < %(candidates)d; who++) {
            double start = seconds();
            for (int j = 0; j < %(count)d; j++) { for (int k = 0; k < %(states)d; k++) { run(who, k); } }
            double each = (seconds() - start) / (%(count)d * %(states)d);
            best[who] = each < best[who] ? each : best[who];
        }
    }
    double worst = 0, scale = 1e-300;
    for (int who = 1; who < %(candidates)d; who++) {
        for (int k = 0; k < %(states)d; k++) { for (int j = 0; j < %(n)d; j++) {
            double error = out[who][k][j] - out[0][k][j], size = out[0][k][j];
            error = error < 0 ? -error : error; size = size < 0 ? -size : size;
            worst = error > worst ? error : worst; scale = size > scale ? size : scale;
        } }
    }
    for (int who = 0; who < %(candidates)d; who++) { printf("%%.4g ", 1e9 * best[who]); }
    printf("%%.2g\\n", worst / scale);
    return 0;
}
"""


@dataclass(frozen=True)
class Timed:
    """Nanoseconds for a state: ours, CasADi's C of our operations, CasADi's C of Pinocchio's; and the agreement."""

    ours: float
    same: float
    pinocchio: float
    error: float


def peer_program(folder: Path) -> Path | None:
    """The program that writes Pinocchio's recursions as C, or None where it cannot be built."""
    if shutil.which("g++") is None:
        return None
    site = Path(str(importlib.metadata.distribution("casadi").locate_file("")))
    prefix = Path(str(importlib.metadata.distribution("pin").locate_file("cmeel.prefix")))
    limits = ["LIST_SIZE=30", "VECTOR_SIZE=30"]
    defines = [f"-DBOOST_MPL_LIMIT_{each}" for each in limits]
    defines += ["-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "-DBOOST_FUSION_INVOKE_MAX_ARITY=12"]
    includes = [f"-I{path}" for path in (prefix / "include", site / "casadi/include", site / "casadi/include/eigen3")]
    libraries = [f"-L{prefix / 'lib'}", f"-L{site / 'casadi'}", f"-Wl,-rpath,{prefix / 'lib'}:{site / 'casadi'}"]
    libraries += ["-lpinocchio_default", "-lboost_serialization", "-lcasadi"]
    program = folder / "peer"
    command = [
        "g++",
        "-std=c++17",
        "-O1",
        "-w",
        *defines,
        *includes,
        HERE / "exports_peer.cpp",
        "-o",
        program,
        *libraries,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return program if done.returncode == 0 else None


def timed(robot: Robot, quantity: str, folder: Path, peer: Path | None) -> Timed:
    """All candidates in one program."""
    import casadi

    kernel = robot.compile(quantity)
    kernel.c("ours").save(folder)
    same = kernel.casadi("same_operations")
    same.generate("same.c", {"with_header": False})
    Path("same.c").replace(folder / "same.c")
    objects = [compiled(folder / "ours.c", OURS), compiled(folder / "same.c", THEIRS)]
    name = QUANTITIES[quantity]
    if peer is not None:
        import pinocchio as pin

        from neuler.peers import peer as other

        pin_model: pin.Model = other("pinocchio", robot).model
        pin_model.saveToText(str(folder / "model.txt"))
        subprocess.run([peer, folder / "model.txt", folder], check=True)
        objects.append(compiled(folder / f"{name}.c", THEIRS))
    del casadi
    text = DRIVER % {
        "states": STATES, "n": robot.nv, "rounds": ROUNDS, "count": COUNT, "candidates": len(objects),
        "declared": f"extern casadi_function {name};" if peer else "",
        "called": f"if (who == 2) {{ {name}(arg, res, iw, w, 0); }}" if peer else "",
    }  # fmt: skip
    (folder / "driver.c").write_text(text)
    subprocess.run(["gcc", "-O2", "-w", "-o", folder / "driver", folder / "driver.c", *objects, "-lm"], check=True)
    values = np.random.default_rng(0).uniform(-1.0, 1.0, (3, STATES, robot.nv))
    (folder / "states").write_bytes(values.tobytes())
    done = subprocess.run([folder / "driver", folder / "states"], capture_output=True, text=True, check=True)
    *times, error = map(float, done.stdout.split())
    return Timed(times[0], times[1], times[2] if len(times) > 2 else float("nan"), error)


def compiled(source: Path, flags: list[str]) -> Path:
    """An object file of one C source."""
    target = source.with_suffix(".o")
    subprocess.run(["gcc", *flags, "-c", "-o", target, source], check=True)
    return target


def report(robots: dict[str, Robot]) -> list[str]:
    """The section of RESULTS.md."""
    lines = [
        "## Exported C, one state, one core",
        "",
        "gcc, `-std=c99 -O3 -march=native -ffp-contract=off`; CasADi's C with `-O3 -march=native`, which fuses.",
        "*Same*: CasADi's C of our operations; *Pinocchio*: CasADi's C of Pinocchio's recursions over symbols, with",
        "common subexpressions eliminated. Friction and rotors left out.",
        "",
        "| robot, joints | quantity | ours, ns | CasADi, same | ratio | CasADi, Pinocchio | ratio | agreement "
        "| Cortex-M4 float, bytes | Cortex-M7 double, bytes |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        peer = peer_program(folder)
        for name, given in robots.items():
            robot = given.without_friction().without_motors()
            for quantity in QUANTITIES:
                found = timed(robot, quantity, folder, peer)
                small = machine_bytes(robot.compile(quantity, dtype="float32").object_file("cortex-m4"))
                double = machine_bytes(robot.compile(quantity).object_file("cortex-m7"))
                lines.append(
                    f"| {name}, {robot.nv} | {quantity} | {found.ours:.1f} | {found.same:.1f} "
                    f"| {found.same / found.ours:.2f} | {found.pinocchio:.1f} | {found.pinocchio / found.ours:.2f} "
                    f"| {found.error:.0e} | {small} | {double} |"
                )
        lines += ["", *_large(robots, folder)]
    return lines


def _large(robots: dict[str, Robot], folder: Path) -> list[str]:
    """How long gcc takes for the sensitivities of the largest robot."""
    name, robot = max(robots.items(), key=lambda item: item[1].nv)
    code = robot.without_friction().without_motors().inverse_dynamics_sensitivities.c("large")
    code.save(folder)
    begin = time.perf_counter()
    compiled(folder / "large.c", ["-std=c99", "-O2", "-march=native", "-ffp-contract=off"])
    seconds = time.perf_counter() - begin
    return [f"Sensitivities of inverse dynamics of {name} ({code.operations}): gcc -O2 takes {seconds:.1f} s.", ""]


def main(written: Callable[[dict[str, Robot]], list[str]], about: str | None) -> None:
    """Print the table of some robots; also that of exports_wasm.py."""
    import run
    from rollouts import without_fingers

    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", default="UR5,Panda,G1")
    names = parser.parse_args().robots.split(",")
    made = {name: run.robot_of(name) for name in names}
    print("\n".join(written({name: without_fingers(x) if name == "Panda" else x for name, x in made.items()})))


if __name__ == "__main__":
    main(report, __doc__)
