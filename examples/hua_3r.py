"""Hua, section V: the tracking errors beside the printed ones, and figures like 3 to 8.

    python examples/hua_3r.py             # prints the table, writes hua_3r.png

The runs are those of hua_3r.toml and hua_3r_payload.toml beside this file. Lengths, centres of mass, gear ratios, axes,
gains and theta(0) (here q3(0)) are not in the paper, so that its errors can be approached and not reproduced. The
payload's force is +3 N on the tool, as the paper's algorithm has it: docs/errata.md, Hua (20).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from neuler.files.problems import Problem
from neuler.simulation import Run
from neuler.simulation.problem import read_simulation

HERE = Path(__file__).resolve().parent
PRINTED = {"hua_3r": (0.0026819, 0.003619, 0.052678), "hua_3r_payload": (0.0026903, 0.0061066, 0.052422)}
"""Root mean squares of the errors, rad."""


def runs() -> dict[str, Run]:
    """Without and with the payload."""
    return {name: read_simulation(Problem.read(HERE / f"{name}.toml")).run() for name in PRINTED}


def picture(found: dict[str, Run]) -> None:
    """Positions of the joints, of the motor behind the spring, and torques; a column a run."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 2, figsize=(10, 8), sharex=True, sharey="row", layout="constrained")
    for column, (name, run) in zip(axes.T, found.items(), strict=True):
        column[0].set_title(name.replace("_", " "))
        for k, joint in enumerate(run.robot.joint_names[:3]):
            column[0].plot(run.t, run.q[:, k], label=joint)
        column[0].plot(run.t, 0.5 * np.sin(0.5 * np.pi * run.t), "k--", lw=0.8, label="desired")
        column[1].plot(run.t, run.q[:, 3], label="theta")
        column[1].plot(run.t, run.q[:, 2], lw=0.8, label="joint3")
        for k, motor in zip((0, 1, 3), run.robot.motors, strict=True):
            column[2].plot(run.t, run.tau[:, k], label=motor.name)
        column[2].set_ylim(-40, 40)
        column[2].set_xlabel("t / s")
    for row, label in zip(axes, ("joints, rad", "motor 3, rad", "torque, N m"), strict=True):
        row[0].set_ylabel(label)
        row[1].legend(fontsize=8, loc="upper right")
    figure.savefig("hua_3r.png", dpi=110)
    print("written: hua_3r.png (the torques of the first instants are cut off)")


def main() -> None:
    """Table and picture."""
    found = runs()
    print(f"{'':>16}{'joint 1':>12}{'joint 2':>12}{'joint 3':>12}   root mean square error, rad")
    for name, run in found.items():
        for who, row in (("here", run.rms_error), ("Hua", PRINTED[name])):
            print(f"{name if who == 'here' else '':>16}" + "".join(f"{x:12.6f}" for x in row) + f"   {who}")
    picture(found)


if __name__ == "__main__":
    main()
