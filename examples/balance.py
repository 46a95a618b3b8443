"""A cart balances two rods, one on the other: LQR from exact sensitivities, and how far from upright it saves them.

    python examples/balance.py            # prints the table, writes balance.png and balance.html

Near the upright position the motion is linear, dx/dt = A x + B u, A and B from ``forward_dynamics_sensitivities``; the
law that costs least is SciPy's. What a linear law saves of the nonlinear robot is found by trying: thousands of
starts are rolled out at once, each in the same compiled loop, and the rows that fall are marked.
"""

from __future__ import annotations

import argparse

import numpy as np

import neuler
from neuler import Joint, Limits, Link, Robot, Transform

ROD, MASS = 0.5, 0.3
"""m, kg: of each pendulum, a slender rod."""
UPRIGHT = np.zeros(3)


def cart() -> Robot:
    """A cart that a motor drives, within 3 m to both sides, and two rods that nobody drives; zero is upright."""
    rod = {"mass": MASS, "com": (0, 0, ROD / 2), "inertia": (MASS * ROD**2 / 12, MASS * ROD**2 / 12, 0)}
    links = [Link("rail"), Link.from_com("cart", mass=1.0), *(Link.from_com(f"rod{k}", **rod) for k in (1, 2))]
    across, top = (0.0, 1.0, 0.0), Transform.from_rpy((0, 0, ROD))
    loose = {"axis": across, "viscous": 1e-3, "role": "passive"}
    joints = [
        Joint("slide", "prismatic", "rail", "cart", axis=(1, 0, 0), viscous=0.1, limits=Limits(-3.0, 3.0)),
        Joint("hinge1", "revolute", "cart", "rod1", **loose),
        Joint("hinge2", "revolute", "rod1", "rod2", top, **loose),
    ]
    return Robot("cart with two rods", links, joints)


def saved(robot: Robot, law: neuler.control.LQR, tilts: np.ndarray, seconds: float = 6.0) -> tuple[np.ndarray, ...]:
    """From both rods at rest at every pair of tilts (rad): which are upright at the end, and the runs."""
    q0 = np.stack(np.broadcast_arrays(0.0, tilts[:, None], tilts[None, :]), axis=-1)
    run = robot.rollout(q0, np.zeros(3), law, 1e-3, steps=int(seconds * 1000), every=20, limits="stop")
    still = np.abs(run.q[..., -1, :]).max(axis=-1) < 1e-2
    return still & (run.status == 0), run


def main() -> None:
    """Table, picture, page."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--tilts", type=int, default=61, help="along each side of the map (61)")
    chosen = arguments.parse_args()
    robot = cart()
    law = neuler.control.LQR(robot, UPRIGHT, Q=[10.0, 100.0, 100.0, 1.0, 1.0, 1.0], R=0.1, period=0.005)
    print("poles of the rods alone ", np.sort(np.linalg.eigvals(law.A).real).round(2))
    print("poles with the law      ", np.sort(np.linalg.eigvals(law.A - law.B @ law.K).real).round(2))
    tilts = np.linspace(-0.6, 0.6, chosen.tilts)
    stands, run = saved(robot, law, tilts)
    reasons = {0: "upright, or not yet fallen", 1: "not finite", 2: "diverged", 3: "at the end of the rail"}
    for status, count in zip(*np.unique(run.status, return_counts=True), strict=True):
        print(f"{count:6d} of {run.status.size}: {reasons.get(int(status), int(status))}")
    print(f"saved: {stands.mean():.0%} of all starts within {np.degrees(tilts[-1]):.0f} degrees")
    try:
        picture(tilts, stands)
    except ImportError:
        print("no picture: pip install matplotlib")
    middle = np.argwhere(stands)[np.abs(np.argwhere(stands) - len(tilts) / 2).sum(axis=1).argmax()]
    states = run.q[tuple(middle)]
    neuler.view.play(robot, 0.02 * np.arange(1, len(states) + 1), states, "balance.html", title="LQR saves two rods")
    print("written: balance.html")


def picture(tilts: np.ndarray, stands: np.ndarray) -> None:
    """Which starts are saved."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
    edge = np.degrees(tilts[[0, -1]])
    ax.imshow(stands.T, origin="lower", extent=(*edge, *edge), cmap="Greys_r", vmin=-0.6, vmax=1.0)
    ax.set_xlabel("tilt of the lower rod, degrees")
    ax.set_ylabel("of the upper rod, to the lower")
    ax.set_title("starts at rest that LQR saves (light)")
    figure.savefig("balance.png", dpi=120)
    print("written: balance.png")


if __name__ == "__main__":
    main()
