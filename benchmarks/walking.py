"""Prediction of walking: how long it takes from an upright person to a valid walk, and what comes out.

The thesis (Barman 5.3) reports 34.1 s of CPU time for its own setting: 330 variables, 1,726 constraints, 244 active.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from neuler import gait
from neuler.robots.humans import Person

PAIRS = ((0.8, 0.5), (0.9, 0.54), (1.0, 0.56), (1.1, 0.58), (1.2, 0.6), (1.2, 0.7), (1.33, 0.69), (1.4, 0.7),
         (1.5, 0.74), (1.6, 0.78))  # fmt: skip


def report(quick: bool = False) -> list[str]:
    """Walks of one person at several speeds, then with loads, on slopes and with sides that differ."""
    person = Person(1.75, 75.0)
    lines = [
        "## Prediction of walking, one core",
        "",
        "38 degrees of freedom, from an upright person; valid on 1,000 or more points of a step. RMS: distances of "
        "hip, knee and ankle to one measured adult at 1.33 m/s. The thesis takes 34.1 s for its own setting.",
        "",
        "| walk | first solve, s | valid after, CPU s | functions, s | iterations | variables, constraints, active "
        "| objective | vertical peaks, valley | stance, swing knee | RMS, degrees |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    walks = {f"{speed} m/s, {step} m": gait.Walk(person, speed, step) for speed, step in PAIRS}
    if quick:
        walks = {"1.2 m/s, 0.6 m": gait.Walk(person, 1.2, 0.6)}
    else:
        walks |= {
            "1.2, 0.6, backpack of 15 kg": gait.Walk(person, 1.2, 0.6, loads=(gait.Load.backpack(15.0),)),
            "1.2, 0.6, 5 degrees uphill": gait.Walk(person, 1.2, 0.6, slope=5.0),
            "1.2, 0.6, 5 degrees downhill": gait.Walk(person, 1.2, 0.6, slope=-5.0),
            "1.2, 0.6, woman of 1.62 m, 58 kg": gait.Walk(Person(1.62, 58.0, sex="female"), 1.2, 0.6),
            "1.2, 0.6, stride of two steps": gait.Walk(person, 1.2, 0.6, symmetric=False),
            "1.33, 0.69, 21 control points": gait.Walk(person, 1.33, 0.69, control_points=21),
        }
    lines += [row(name, walk, quick) for name, walk in walks.items()]
    if quick:
        return [*lines, ""]
    return [*lines, "", f"Compiling, apart, with an empty cache: {compile_seconds():.1f} s.", ""]


def compile_seconds() -> float:
    """Of the code of a walk, in a process with an empty cache."""
    script = (
        "from neuler import gait; walk = gait.Walk(); walk.statement.transcription.compile(); "
        "print(walk.statement.transcription.compile_seconds)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NEULER_CACHE_DIR": folder}
        found = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
    return float(found.stdout)


def row(name: str, walk: gait.Walk, quick: bool) -> str:
    """Solve a walk and say how it went."""
    walk.statement.transcription.compile()
    began = time.process_time()
    found = walk.solve(**({"iterations": 5, "refine": False} if quick else {}))
    spent = time.process_time() - began
    facts = gait.Stride.of(found, symmetric=walk.symmetric).summary()
    peaks = ", ".join(f"{peak:.2f}" for peak in facts["grf_peaks"]) if walk.symmetric else "-"
    valley = f"; {facts['grf_valley']:.2f}" if walk.symmetric and facts["grf_valley"] is not None else ""
    return (
        f"| {name} | {found.first_solve_seconds:.1f} | {spent:.1f}{'' if found.valid else ' (not valid)'} "
        f"| {found.function_seconds:.1f} | {found.iterations} | {found.variables}, {found.constraints}, {found.active} "
        f"| {found.objective:.4f} | {peaks}{valley} | {facts['stance_knee_deg']:.0f}, {facts['swing_knee_deg']:.0f} "
        f"| {facts['rms_hip_deg']:.1f}, {facts['rms_knee_deg']:.1f}, {facts['rms_ankle_deg']:.1f} |"
    )


if __name__ == "__main__":
    print("\n".join(report()))
