"""How joints, links and masses look in a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuler.robot import Joint, Robot
from neuler.view.space import HINGE, MASS, SLIDE, SPRING, STEEL

Array = NDArray[np.float64]


def bar_length(size: float, joints: int) -> float:
    """Half the length of an axis: a share of the picture, smaller where there are many."""
    return 0.055 * size * min(1.0, (6.0 / max(joints, 1)) ** 0.4)


def link_line(ax: Any, ends: Array, joint: Joint) -> None:
    """From one joint's origin to the next; a free link hangs on nothing."""
    if joint.kind == "free":
        ax.plot(*ends.T, color=STEEL, linewidth=1.0, linestyle=(0, (1, 2.5)), zorder=1)
    else:
        ax.plot(*ends.T, color=STEEL, linewidth=3.2, solid_capstyle="round", zorder=2)


def axis_bar(ax: Any, joint: Joint, pose: Array, half: float, *, size: float = 26, filled: bool = False) -> None:
    """The axis of a joint that turns or slides; ``filled``: a motor moves it. A spring has a ring of its own."""
    if joint.kind == "free":
        return
    slides = joint.kind == "prismatic"
    origin, along = pose[:3, 3], pose[:3, :3] @ np.array(joint.axis) * half * (1.7 if slides else 1.0)
    ends = np.array([origin - along, origin + along])
    colour = SLIDE if slides else HINGE
    ax.plot(*ends.T, color=colour, linewidth=3.2 if slides else 4.2, solid_capstyle="butt", zorder=4)
    style = {"s": size, "marker": "D" if slides else "o", "linewidth": 1.6, "zorder": 5.5 if filled else 5}
    if joint.stiffness:
        ring = {"s": 95, "marker": "o", "linewidth": 1.8, "zorder": 5, "linestyle": (0, (1.5, 0.8))}
        ax.scatter(*origin, color="none", edgecolor=SPRING, depthshade=False, **ring)
    ax.scatter(*origin, color=colour if filled else "white", edgecolor=colour, depthshade=False, **style)


def bodies(ax: Any, robot: Robot, origins: Array, centres: Array, largest: float = 520.0) -> None:
    """Discs at the mass centres, their area by the mass; a thin line to the frame of the link."""
    masses = np.array([max(link.mass, 0.0) for link in robot.links])
    heavy = masses > 0
    if not heavy.any():
        return
    for a, b in zip(origins[heavy], centres[heavy], strict=True):
        ax.plot(*np.array([a, b]).T, color=MASS, linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
    area = largest * (masses[heavy] / masses.max()) ** (2 / 3) + 6.0
    style = {"color": MASS, "edgecolor": MASS, "alpha": 0.45, "linewidth": 0.8, "zorder": 3}
    ax.scatter(*centres[heavy].T, s=area, depthshade=False, **style)
