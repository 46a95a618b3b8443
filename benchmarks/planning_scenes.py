"""Obstacles about a known motion, which it clears by 1.1 times the margin; distances by plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuler import plan
from planning_torques import Torques

Array = np.ndarray
BALLS: dict[str, tuple[tuple[str, float], ...]] = {
    "two_link": (("link2", 0.04), ("tool", 0.04)),
    "UR5": (("forearm_link", 0.06), ("wrist_1_link", 0.06), ("wrist_3_link", 0.05), ("tool0", 0.05)),
    "Panda": (("panda_link4", 0.07), ("panda_link5", 0.06), ("panda_link7", 0.06), ("panda_hand", 0.06)),
    "PUMA": (("link3", 0.08), ("link4", 0.06), ("link6", 0.05)),
}
"""Of an arm: frames and radii (m)."""


def sphere(at: Array, center: Array, radius: float) -> Array:
    """Distances of points (n, 3) from a sphere's surface."""
    return np.linalg.norm(at - center, axis=1) - radius


def capsule(at: Array, a: Array, b: Array, radius: float) -> Array:
    """Distances from all within ``radius`` of a line."""
    share = np.clip((at - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
    return np.linalg.norm(at - a - share[:, None] * (b - a), axis=1) - radius


def box(at: Array, center: Array, size: Array, rotation: Array) -> Array:
    """Distances from a box; inside, to the nearest face, below zero."""
    outside = np.abs((at - center) @ rotation) - 0.5 * size
    return np.linalg.norm(np.maximum(outside, 0.0), axis=1) + np.minimum(outside.max(axis=1), 0.0)


def half_space(at: Array, point: Array, normal: Array) -> Array:
    """Distances from a plane."""
    return (at - point) @ normal


SHAPES = {"sphere": sphere, "capsule": capsule, "box": box, "half_space": half_space}
Obstacle = tuple[str, dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Scene:
    """Balls of a robot, obstacles, and the margin between them (m)."""

    balls: tuple[tuple[str, float], ...]
    obstacles: list[Obstacle]
    margin: float

    def limit(self) -> plan.Limit:
        """What the planner is told."""
        make = {"sphere": plan.Sphere, "capsule": plan.Capsule, "box": plan.Box, "half_space": plan.HalfSpace}
        found = [make[kind](**_plain(given)) for kind, given in self.obstacles]
        return plan.clear_of([plan.Ball(frame, radius) for frame, radius in self.balls], found, margin=self.margin)

    def clearances(self, referee: Torques, q: Array) -> Array:
        """Distances of all balls from all obstacles along a motion, (n, pairs)."""
        rows = []
        for frame, radius in self.balls:
            at = referee.poses(frame, q)[:, :3, 3]
            rows += [SHAPES[kind](at, **given) - radius for kind, given in self.obstacles]
        return np.array(rows).T


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in given.items()}


def scene(rng: np.random.Generator, arm: str, referee: Torques, q: Array, more: float) -> Scene:
    """One to five obstacles near the way of a known motion; each is as large as lets it clear by ``more`` margins."""
    balls = BALLS[arm.removesuffix(" with friction")]
    margin = float(rng.uniform(0.005, 0.02))
    places = [(referee.poses(frame, q)[:, :3, 3], radius) for frame, radius in balls]
    count, found = int(rng.integers(1, 6)), []
    flat = arm == "two_link"
    while len(found) < count:
        kind = str(rng.choice(["sphere", "sphere", "capsule", "box", "half_space"]))
        at, _ = places[rng.integers(len(places))]
        away = rng.normal(size=3)
        away[2] *= 0.0 if flat else 1.0
        away /= np.linalg.norm(away)
        center = at[rng.integers(len(at))] + rng.uniform(0.08, 0.35) * away
        given = _shape(rng, kind, center, away)
        room = min(float((SHAPES[kind](path, **given) - radius).min()) for path, radius in places) - more * margin
        if kind == "half_space":
            given["point"] = given["point"] + room * given["normal"]
        elif kind == "box":
            if not 0.0 <= room <= 0.1:
                continue
        elif 0.02 <= given["radius"] + room <= 0.3:
            given["radius"] += room
        else:
            continue
        found.append((kind, given))
    return Scene(balls, found, margin)


def _shape(rng: np.random.Generator, kind: str, center: Array, away: Array) -> dict[str, Any]:
    if kind == "sphere":
        return {"center": center, "radius": 0.02}
    if kind == "capsule":
        half = rng.uniform(-0.15, 0.15, 3)
        return {"a": center - half, "b": center + half, "radius": 0.02}
    if kind == "box":
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        turn[:, 0] *= np.linalg.det(turn)
        return {"center": center, "size": rng.uniform(0.05, 0.25, 3), "rotation": turn}
    return {"point": center, "normal": -away}
