"""Lines of the table of hard planning tasks: how a task is solved and what of it is told."""

from __future__ import annotations

import functools
import importlib.metadata
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import neuler
from neuler import Joint, Link, Robot, plan

OPTIONS: dict[str, Any] = {"seconds": 300.0}
"""Options of every ``solve`` of these tasks; a solve that takes longer than ``seconds`` is stopped."""


@dataclass
class Row:
    """One line of the table."""

    task: str
    valid: str
    value: str
    truth: str
    cpu: float
    iterations: int
    points: str
    note: str = ""

    def __str__(self) -> str:
        cells = (
            self.task,
            self.valid,
            self.value,
            self.truth,
            f"{self.cpu:.2f}",
            self.iterations,
            self.points,
            self.note,
        )
        return "| " + " | ".join(map(str, cells)) + " |"


@dataclass(frozen=True)
class Solved:
    """A plan that was solved and what that took."""

    planned: plan.Planned
    cpu: float

    @property
    def points(self) -> str:
        """Control points of the phases in the end."""
        return "+".join(str(mine.control_point_count) for mine in self.planned.motion.profiles)


def solved(make: Callable[[], plan.Plan], **options: Any) -> Solved:
    """State and solve a plan."""
    begin = time.process_time()
    found = make().solve(**{**OPTIONS, **options})
    return Solved(found, time.process_time() - begin)


def row(task: str, found: Solved, value: str, truth: str = "-", note: str = "") -> Row:
    """A line about one plan."""
    said = found.planned
    word = "yes" if said.valid else "no"
    told = [] if said.optimal else [said.status]
    told += [] if said.valid else [f"worst violation {said.worst_violation:.1e}"]
    note = "; ".join([note, *told] if note else told)
    return Row(task, word, value, truth, found.cpu, said.iterations, found.points, note)


def several(task: str, every: list[Solved], value: str, truth: str, note: str = "") -> Row:
    """A line about many plans."""
    valid = sum(each.planned.valid for each in every)
    cpu, iterations = sum(each.cpu for each in every), sum(each.planned.iterations for each in every)
    points = sorted({each.points for each in every}, key=len)
    return Row(task, f"{valid} of {len(every)}", value, truth, cpu, iterations, ", ".join(points), note)


def beside(found: Solved, exact: float) -> str:
    """A duration, and by how much it is longer than the exact one."""
    T = found.planned.duration
    return f"{T:.6g} s ({100.0 * (T / exact - 1.0):+.3f} %)"


# ---- robots ------------------------------------------------------------------------------


@functools.cache
def from_urdf(path: str) -> Robot:
    """A robot of example-robot-data, on a fixed base."""
    package = importlib.metadata.distribution("example-robot-data")
    folder = Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))
    return neuler.load(folder / path, mimic="independent", floating="fixed")


def ur5() -> Robot:
    """The arm of its URDF."""
    return from_urdf("ur_description/urdf/ur5_robot.urdf")


def point_mass(name: str, mass: float, at: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Link:
    """A link whose mass is in one point."""
    return Link.from_com(name, mass=mass, com=at, inertia=(0.0, 0.0, 0.0))


def pendulum(case: dict[str, Any]) -> Robot:
    """A point mass that hangs down at zero."""
    bob = point_mass("bob", case["mass"], (0.0, -case["length"], 0.0))
    joint = Joint("hinge", "revolute", "base", "bob", axis=(0, 0, 1))
    return Robot("pendulum", [Link("base"), bob], [joint], gravity=(0.0, -case["gravity"], 0.0))


def slides(count: int, mass: float = 1.0) -> Robot:
    """Masses on rails that do not know of each other."""
    links = [Link("base"), *(point_mass(f"mass{k + 1}", mass) for k in range(count))]
    joints = [Joint(f"rail{k + 1}", "prismatic", "base", f"mass{k + 1}", axis=(1, 0, 0)) for k in range(count)]
    return Robot("slides", links, joints, gravity=(0.0, 0.0, 0.0))


def cart_pole(case: dict[str, Any]) -> Robot:
    """A driven cart with a pole that nothing drives, a point mass at its end; it hangs down at zero."""
    links = [Link("base"), point_mass("cart", case["cart"]), point_mass("pole", case["pole"], (0, -case["length"], 0))]
    joints = [
        Joint("rail", "prismatic", "base", "cart", axis=(1, 0, 0)),
        Joint("hinge", "revolute", "cart", "pole", axis=(0, 0, 1), role="passive"),
    ]
    return Robot("cart_pole", links, joints, gravity=(0.0, -case["gravity"], 0.0))
