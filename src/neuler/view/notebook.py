"""How robots, kernels and motions show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numpy.typing import ArrayLike

from neuler.errors import NeulerError
from neuler.kernels import Kernel
from neuler.plain import count, number, vector
from neuler.quantities.catalogue import QUANTITIES
from neuler.robot import Robot
from neuler.view import motors, text
from neuler.view.draw import pose_pictures
from neuler.view.html import Markup, escape, join, picture, tag
from neuler.view.motion_figures import stroboscope
from neuler.view.player import Inline
from neuler.view.space import png

MOST = 24
"""Joints that are listed."""
_CELL = "text-align:left;padding-right:1em"


def robot_html(robot: Robot) -> str:
    """Small tables of the joints and motors, and a picture where matplotlib is there."""
    facts = f"{', '.join(text.size(robot))}, {number(robot.mass)} kg, gravity ({vector(robot.gravity)}) m/s²"
    both = text.apart(robot)
    head = ("joint", "kind", "q", *(("qd",) if both else ()), "link", "mass, kg")
    mass = {link.name: link.mass for link in robot.links}
    where = text.coordinates(robot)
    rows = []
    for joint in [joint for joint in robot.joints if joint.moves][:MOST]:
        q, qd = where.get(joint.name, ("", ""))
        row = (joint.name, joint.kind, q, *((qd,) if both else ()), joint.child, number(mass[joint.child]))
        rows.append(row)
    parts = [tag("p", tag("b", robot.name), f": {facts}"), _table(head, rows)]
    left = sum(joint.moves for joint in robot.joints) - len(rows)
    if left:
        parts.append(tag("p", f"and {count(left, 'joint')} more"))
    if robot.motors:
        every = [motors.motor_head(robot), *motors.motor_rows(robot)[:MOST]]
        top, *cells = [line[:3] + line[5:8] for line in every]  # motor, joints, link; ratio and inertia on both sides
        parts.append(_table(top, cells))
        if len(robot.motors) > MOST:
            parts.append(tag("p", f"and {count(len(robot.motors) - MOST, 'motor')} more"))
    return tag("div", tag("div", *parts), *_drawn(robot), style="display:flex;flex-wrap:wrap;gap:1em")


def _drawn(robot: Robot) -> list[Markup]:
    try:
        (image,) = pose_pictures(robot, [robot.neutral()], png)
    except NeulerError:  # matplotlib is not installed
        return []
    shown = picture(image, f"{robot.name} at its neutral position", "png")
    return [tag("div", shown, style="width:22em;background:white")]


def kernel_html(kernel: Kernel) -> str:
    """What it takes and gives, and how many operations that are."""
    sides = (("takes", kernel.inputs), ("gives", kernel.outputs))
    rows = [(side, operand.name, str(operand.shape)) for side, operands in sides for operand in operands]
    head = tag("p", tag("b", kernel.quantity), f" of {kernel.robot.name}: {kernel.operations} for one state")
    told = QUANTITIES[kernel.quantity].text.partition("\n")[0]
    return tag("div", head, tag("p", told), _table(("", "name", "shape"), rows))


def motion_html(
    robot: Robot,
    q: ArrayLike,
    facts: str,
    told: Sequence[str],
    table: Sequence[Sequence[str]],
    player: Inline | None,
    scenery: Sequence[object] = (),
) -> str:
    """A motion q (n, nq): what is known of it, a picture of the robot at several instants, and the player below.

    ``facts`` is one line, ``told`` more of them; ``table`` has names at its head; ``scenery`` are obstacles.
    """
    head, *rows = table
    parts = [
        tag("p", tag("b", robot.name), f": {facts}"),
        *(tag("p", line) for line in told),
        _table(head, rows[:MOST]),
    ]
    if len(rows) > MOST:
        parts.append(tag("p", f"and {len(rows) - MOST} more"))
    top = tag("div", tag("div", *parts), *_strobe(robot, q, scenery), style="display:flex;flex-wrap:wrap;gap:1em")
    return tag("div", top, *(() if player is None else (Markup(player._repr_html_()),)))


def _strobe(robot: Robot, q: ArrayLike, scenery: Sequence[object]) -> list[Markup]:
    try:
        image = png(stroboscope(robot, q, scenery=scenery).figure, "tight")
    except NeulerError:  # matplotlib is not installed
        return []
    shown = picture(image, f"{robot.name} along its motion", "png")
    return [tag("div", shown, style="width:26em;background:white")]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    top = tag("tr", *(tag("th", cell, style=_CELL) for cell in head))
    body = [tag("tr", *(tag("td", escape(cell), style=_CELL) for cell in row)) for row in rows]
    return tag("table", tag("thead", top), tag("tbody", join(body)))
