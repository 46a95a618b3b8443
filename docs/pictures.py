"""Pictures of the catalogue's machines for machines.md, and of a plan for planning.md: ``make pictures``."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np

import neuler
from neuler.view import draw
from neuler.view.motions import sample_motion
from neuler.view.placed import surroundings
from neuler.view.space import drawn, plotting, png

MACHINES = (
    "four_bar", "five_bar", "slider_crank", "sr400", "gough_stewart", "delta", "orthoglide", "planar_3rrr", "eel",
)  # fmt: skip
PLAN = "barman_4_1"
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
    whole.quantize(64, dither=Image.Dither.NONE).save(buffer, format="png", optimize=True)
    return buffer.getvalue()


def plan_picture() -> bytes:
    """Barman 4.1 in least time, as PNG."""
    from PIL import Image

    from neuler import plan

    arm = neuler.robots.two_link()
    found = plan.Plan(arm, start=[0.0, -2.0], goal=[1.0, -1.0], control_points=80).solve()
    whole = Image.open(io.BytesIO(png(found.drawn(plotting())))).convert("RGB")
    buffer = io.BytesIO()
    whole.quantize(64, dither=Image.Dither.NONE).save(buffer, format="png", optimize=True)
    return buffer.getvalue()


def main(names: list[str]) -> None:
    """Write them, or those that are named."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or (*MACHINES, PLAN):
        data = plan_picture() if name == PLAN else picture(name)
        (FOLDER / f"{name}.png").write_bytes(data)
        print(f"{name}.png: {len(data) / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
