"""Pictures of the catalogue's machines for machines.md, of plans for planning.md and the README,
of a timed path for path-timing.md, of studies for studies.md, of the skeleton for human.md, of a walk for gait.md and
stride.md, of a motion for identify-excitation.md: ``make pictures``."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import neuler
from neuler import gait, identify, plan, timing
from neuler.identify.diagnosis import excitation
from neuler.motions.fourier import fourier_basis
from neuler.motions.pictures import panels
from neuler.view import draw
from neuler.view.motion_figures import stroboscope
from neuler.view.poses import surroundings
from neuler.view.sample_motion import sample_motion
from neuler.view.space import drawn, plotting, png

MACHINES = (
    "four_bar", "five_bar", "slider_crank", "sr400", "gough_stewart", "delta", "orthoglide", "planar_3rrr", "eel",
)  # fmt: skip
PLAN, REACH, TIMING, BOX, PHASES = "barman_4_1", "reach", "path_timing", "plan_box", "plan_phases"
STUDY, HUMAN, WALK, STRIP, PAGE = "study", "human", "walk", "walk_strip", "walk_page"
EXCITATION = "excitation"
EXAMPLES = ("size_motors", "payload_map")
"""Those that are studies."""
FOLDER = Path(__file__).parent / "images"
DPI = 110


def poses(name: str) -> list[np.ndarray]:
    """Two positions of a robot: its reference, and another at which its loops are closed."""
    robot = neuler.robots.get(name)
    path = sample_motion(robot).q
    if name != "eel":
        return [path[0], path[-1]]
    start = robot.neutral()
    joints = np.arange(1, robot.nv - 5)
    wave = start.copy()
    wave[:3] = 0.2, 0.5, 0.2
    wave[7:] = 0.45 * np.sin(2 * np.pi * joints / len(joints))
    return [start, wave]


def picture(name: str) -> bytes:
    """Both positions side by side at one scale, as PNG."""
    from PIL import Image, ImageChops

    robot, states = neuler.robots.get(name), poses(name)
    extent = surroundings(robot, states)
    parts = []
    for q in states:
        figure = plotting()(figsize=(4.6, 4.6), dpi=DPI)
        draw(robot, q, figure.add_axes((0, 0, 1, 1), projection="3d"), extent=extent)
        parts.append(Image.open(io.BytesIO(png(figure, drawn(figure, *extent, 0.65)))).convert("RGB"))
    size = (sum(part.width for part in parts), max(part.height for part in parts))
    whole = Image.new("RGB", size, "white")
    left = 0
    for part in parts:
        whole.paste(part, (left, 0))
        left += part.width
    left, top, right, bottom = ImageChops.difference(whole, Image.new("RGB", size, "white")).getbbox()
    whole = whole.crop((max(left - 8, 0), max(top - 8, 0), min(right + 8, size[0]), min(bottom + 8, size[1])))
    buffer = io.BytesIO()
    whole.save(buffer, format="png")
    return small(buffer.getvalue())


def plan_picture() -> bytes:
    """Barman 4.1 in least time, as PNG."""
    arm = neuler.robots.two_link()
    found = plan.Plan(arm, start=[0.0, -2.0], goal=[1.0, -1.0], control_points=80).solve()
    return small(png(found.plot(figure=plotting()())))


def reach_picture() -> bytes:
    """The README's motion: the arm at several instants, torques and velocities, as PNG."""
    robot = neuler.load(Path(__file__).parent.parent / "examples" / "arm.urdf")
    quick = plan.duration() + 1e-4 * plan.acceleration_effort()
    found = plan.Plan(robot, quick, start=[-1.4, -1.3, 1.7, -0.5, -1.2, 0], goal=[1, -1.3, 0.5, 0.4, 0.9, 0.5]).solve()
    assert found.valid
    samples = found.sample(count=601)
    figure = plotting()(figsize=(12.5, 4.8), layout="constrained", dpi=110)
    grid = figure.add_gridspec(2, 3, width_ratios=[1.3, 0.02, 1.0])
    ax = figure.add_subplot(grid[:, 0], projection="3d")
    stroboscope(robot, samples.q, 12, ax, tip="tool0")
    ax.set_box_aspect(np.ptp([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()], axis=1), zoom=1.2)
    every = panels(found, samples)
    for k, measure in enumerate(("torque", "velocity")):
        ax = figure.add_subplot(grid[k, 2])
        every[measure][0].shares().draw(ax, samples.t)
        ax.xaxis.label.set_visible(k == 1)
    return small(png(figure))


def box_picture() -> bytes:
    """One motion without and with a box in its way, and the distance from the box, as PNG."""
    robot = neuler.load(Path(__file__).parent.parent / "examples" / "arm.urdf")
    crate = plan.Box((0.55, 0.1, 0.1), (0.3, 0.2, 0.2), name="crate")
    balls = [plan.Ball("tool0", 0.05), plan.Ball("wrist_2", 0.06), plan.Ball("forearm", 0.06)]
    clear = plan.clear_of(balls, [crate], margin=0.02)
    quick = plan.duration() + 1e-4 * plan.acceleration_effort()
    free = plan.Plan(robot, quick, start=[-0.9, -0.9, 1.5, -0.6, 0, 0], goal=[0.9, -0.9, 1.5, -0.6, 0, 0])
    figure = plotting()(figsize=(12.5, 4.4), layout="constrained", dpi=DPI)
    grid = figure.add_gridspec(1, 4, width_ratios=[1.0, 1.0, 0.02, 0.7])
    curves = figure.add_subplot(grid[0, 3])
    for k, (title, limits) in enumerate((("without the box", []), ("clear of the box", [clear]))):
        found = free.replace(limits=limits).solve()
        assert found.valid
        ax = figure.add_subplot(grid[0, k], projection="3d")
        stroboscope(robot, found.sample(count=601).q, 9, ax, tip="tool0", scenery=[crate])
        ax.view_init(elev=28, azim=-20)
        ax.set_box_aspect(np.ptp([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()], axis=1), zoom=1.35)
        ax.set(title=f"{title}: {found.duration:.2f} s", zlabel="")
        t = np.linspace(0.0, found.duration, 601)
        curves.plot(t, found.measure(clear.measure, t).min(axis=1), label=title)
    curves.axhline(0.02, color="0.5", lw=0.8, ls="--")
    curves.axhline(0.0, color="0.5", lw=0.8)
    curves.set(title="distance from the box", xlabel="t (s)", ylabel="nearest ball (m)")
    curves.legend(frameon=False)
    return small(png(figure))


def phases_picture() -> bytes:
    """Three phases, the second with a payload: positions, velocities and torques, as PNG."""
    arm = neuler.robots.two_link()
    phases = [
        plan.Phase(end=[1.0, -1.0], name="reach"),
        plan.Phase(end=[-0.4, 1.2], payload=plan.Payload("tool", 0.5), name="carry"),
        plan.Phase(end=[0.0, -2.0], name="return"),
    ]
    quick = plan.duration() + 1e-3 * plan.effort()
    found = plan.Plan(arm, quick, start=[0.0, -2.0], limits=[plan.within(plan.torque, 10.0)], phases=phases).solve()
    assert found.valid
    samples = found.sample(count=1201)
    figure = plotting()(figsize=(12.5, 3.4), layout="constrained", dpi=DPI)
    every = panels(found, samples)
    for k, measure in enumerate(("position", "velocity", "torque")):
        ax = figure.add_subplot(1, 3, k + 1)
        every[measure][0].draw(ax, samples.t, found.breaks[1:-1], legend=k == 0)
        ax.axvspan(*found.breaks[1:3], color="0.93", zorder=0)
        for phase, middle in zip(phases, (found.breaks[1:] + found.breaks[:-1]) / 2, strict=True):
            ax.text(middle, 1.02, phase.name, ha="center", transform=ax.get_xaxis_transform())
    return small(png(figure))


def timing_picture() -> bytes:
    """One path timed with bounds on torques, and on torque rates as well: speed along the path and torques, as PNG."""
    arm = neuler.robots.two_link()
    points = [[0.0, 0.0], [0.6, 0.9], [1.4, 0.2]]
    figure = plotting()(figsize=(11.0, 3.2), layout="constrained", dpi=DPI)
    axes = figure.subplots(1, 3)
    for number, (label, bounds) in enumerate((("torques", {}), ("torques and their rates", {"torque_rate": 400.0}))):
        timed = timing.time_path(arm, points, velocity=4.0, **bounds)
        t = np.linspace(0.0, timed.duration, 1000)
        s, sdot, *_ = timed.law(t)
        axes[0].plot(s, sdot, label=label)
        axes[number + 1].plot(t, timed.torques(t), label=["joint1", "joint2"])
        axes[number + 1].axhline(10.0, color="0.6", lw=0.8)
        axes[number + 1].axhline(-10.0, color="0.6", lw=0.8)
        axes[number + 1].set(title=f"bounds on {label}", xlabel="t (s)", ylabel="torque (N m)")
    axes[0].set(title="speed along the path", xlabel="s", ylabel="ds/dt (1/s)")
    axes[0].legend(frameon=False)
    axes[1].legend(frameon=False)
    return small(png(figure))


def study_picture() -> bytes:
    """The figure of the first block of studies.md, as PNG."""
    page = Path(__file__).parent / "studies.md"
    block = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[0]
    scope: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(compile(block, page.name, "exec"), scope)
        return small(png(scope["figure"]))


def example_picture(name: str) -> bytes:
    """The picture of an example that is a study, run in a folder that is removed afterwards, as PNG."""
    path = Path(__file__).parent.parent / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    with tempfile.TemporaryDirectory() as folder:
        figure = example.picture(example.study(folder))
        figure.set_dpi(DPI)
        return small(png(figure), 256)


def human_picture() -> bytes:
    """Two persons, one of them in a step, as PNG."""
    import human_picture as people

    return small(people.picture(DPI), 48)


def small(data: bytes, colours: int = 64) -> bytes:
    """A PNG of few colours."""
    from PIL import Image

    buffer = io.BytesIO()
    whole = Image.open(io.BytesIO(data)).convert("RGB")
    whole.quantize(colours, dither=Image.Dither.NONE).save(buffer, format="png", optimize=True)
    return buffer.getvalue()


@functools.cache
def _stride() -> gait.Stride:
    """The walk of gait.md."""
    return gait.Stride.of(gait.Walk(speed=1.33, step=0.69).solve())


def walk_picture() -> bytes:
    """Curves of a stride beside those of a measured adult."""
    return small(png(_stride().plot()))


def strip_picture() -> bytes:
    """The same stride from the side."""
    return small(png(_stride().strip()), 96)


def page_picture() -> bytes:
    """The page that plays it, as a browser shows it."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    assert browser is not None, "the picture of a page needs Chromium"
    with tempfile.TemporaryDirectory() as folder:
        page, image = Path(folder, "walk.html"), Path(folder, "walk.png")
        _stride().motion().page(page, title="A walk of 1.33 m/s")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
        options += ["--disable-sync", "--hide-scrollbars", "--virtual-time-budget=1500", "--window-size=1260,770"]
        options += [f"--user-data-dir={folder}/profile", f"--screenshot={image}"]
        subprocess.run([browser, *options, f"{page.as_uri()}#t=0.62"], check=True, capture_output=True, timeout=120)
        return small(image.read_bytes(), 128)


def excitation_picture() -> bytes:
    """The motion of identify-excitation.md, and its singular values beside those of random motions, as PNG."""
    arm = neuler.robots.puma560()
    found = identify.excite(arm, 8.0, columns="links", reach=1.0, limits=[plan.within(plan.velocity, 2.0)], starts=1)
    t, kernel = np.linspace(0.0, found.duration, 801), found.base.regressor()
    state = found.at(t)
    figure = plotting()(figsize=(11.0, 3.2), dpi=DPI, layout="constrained")
    figure.subplots(1, 3)
    for axes, values, label in zip(figure.axes, state[:2], ("position (rad)", "velocity (rad/s)"), strict=False):
        axes.plot(t, values, linewidth=1.2, label=arm.joint_names)
        axes.set(xlabel="time (s)", ylabel=label)
    figure.axes[0].legend(fontsize=7, ncols=2)
    last, number = figure.axes[2], np.arange(1, len(found.base) + 1)
    shares = t[:-1] / found.duration
    for seed in range(10):
        c = np.random.default_rng(seed).normal(size=(11, arm.nv))
        c[0] = 0.0
        q, qd, qdd = (fourier_basis(5, shares, k) @ c / found.duration**k for k in range(3))
        size = np.minimum(1.0 / np.abs(q).max(axis=0), 2.0 / np.abs(qd).max(axis=0))
        random = excitation(kernel(q * size, qd * size, qdd * size))
        last.semilogy(number, random.singular_values, color="0.7", linewidth=1.0, label="random" if not seed else None)
    last.semilogy(number, excitation(kernel(*state[:3])).singular_values, linewidth=2.0, label="designed")
    last.set(xlabel="number", ylabel="relative singular value")
    last.legend(fontsize=8)
    return small(png(figure))


def main(names: list[str]) -> None:
    """Write them, or those that are named."""
    FOLDER.mkdir(exist_ok=True)
    special = {
        PLAN: plan_picture, REACH: reach_picture, TIMING: timing_picture, BOX: box_picture, PHASES: phases_picture,
        STUDY: study_picture, HUMAN: human_picture, WALK: walk_picture, STRIP: strip_picture,
        PAGE: page_picture, EXCITATION: excitation_picture,
    }  # fmt: skip
    special |= {name: functools.partial(example_picture, name) for name in EXAMPLES}
    for name in names or (*MACHINES, *special):
        data = special[name]() if name in special else picture(name)
        (FOLDER / f"{name}.png").write_bytes(data)
        print(f"{name}.png: {len(data) / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
