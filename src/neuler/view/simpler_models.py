"""A section of a report: what simpler models of motors neglect, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuler.plain import number
from neuler.robot import Link, Robot
from neuler.robot.motor import seat
from neuler.view.diagrams import share_figure
from neuler.view.html import Markup, join, pictures, table, tag
from neuler.view.motors import carrier, driven
from neuler.view.sample_motion import SampleMotion
from neuler.view.sections import key
from neuler.view.space import HINGE, ROTOR, svg

Array = NDArray[np.float64]

STATES = 2048
SPEED = {True: 2.0, False: 0.5}
"""rad/s of a turn and m/s of a slide whose joint has no velocity limit."""
BARS = 20
"""Joints that are drawn."""
RISE = 0.2
"""Seconds from rest to that speed: the acceleration looked at."""


@dataclass(frozen=True)
class Neglected:
    """Of every number of tau, over the states: root mean squares and largest differences to the full model (N, N m)."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    tau: Array
    """RMS of the full model."""
    simple: Array
    """(2, nu): RMS and largest difference of rotors that are felt along their joints alone."""
    none: Array
    """(2, nu): of motors at rest on their links, whose rotors do not turn."""


def neglected(robot: Robot, states: int = STATES, seed: int = 0) -> Neglected:
    """Inverse dynamics of three models at the same random states, friction left out of all; drives must be rigid.

    Positions within their limits; velocities up to the limit of the joint, accelerations that reach it in 0.2 s.

    >>> import neuler
    >>> motor = neuler.Motor("m2", "joint2", ratio=100, inertia=1e-4, included=True)
    >>> found = neglected(neuler.robots.two_link().replace(motors=[motor]))
    >>> bool((found.simple[0] < found.none[0])[1])
    True
    """
    full = robot.without_friction()
    models = [full.with_simple_motors(), at_rest(full)]
    q, qd, qdd = random_motion(full, states, seed)
    tau = np.asarray(full.inverse_dynamics(q, qd, qdd))
    away = [np.asarray(model.inverse_dynamics(q, qd, qdd)) - tau for model in models]
    names, units = robot.coordinates.names("tau", " "), robot.coordinates.units("tau")
    simple, none = (np.array([_rms(x), np.abs(x).max(axis=0)]) for x in away)
    return Neglected(tuple(names), tuple(units), _rms(tau), simple, none)


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def random_motion(robot: Robot, states: int, seed: int) -> tuple[Array, Array, Array]:
    """Random q, qd and qdd, a row a state, up to the velocity limits of the joints."""
    rng = np.random.default_rng(seed)
    few = robot.random_configuration(rng, min(states, 64) if robot.loops else states)
    fastest = np.array([
        entry.limits.velocity if 0.0 < entry.limits.velocity < np.inf else SPEED[turns]
        for entry in robot.coordinates
        for turns in entry.turns
    ])[list(robot.coordinates.independent)]  # fmt: skip
    qd, qdd = rng.uniform(-1.0, 1.0, (2, states, robot.nv)) * fastest
    return np.resize(few, (states, robot.nq)), qd, qdd / RISE


def at_rest(robot: Robot) -> Robot:
    """The robot with its motors as dead weight on their links."""
    links = {link.name: link for link in robot.links}
    for motor in robot.motors:
        if not motor.included:
            name, place = carrier(robot, motor), seat(motor, driven(robot, motor))
            body = Link.from_com(name, mass=motor.mass, inertia=motor.moments).seen_from(place)
            links[name] = links[name].merged(body)
    return robot.replace(links=links.values(), motors=())


def neglect(robot: Robot, motion: SampleMotion) -> Markup:
    """A table and a chart: the full model beside reflected inertia, and beside motors that only weigh."""
    found = neglected(robot)
    told = f"Forces at {STATES} random states, friction left out: each joint up to its velocity limit (2 rad/s or "
    told += "0.5 m/s where it has none), with accelerations that reach it in 0.2 s. "
    told += "Reflected inertia: every rotor is felt along its joint alone, ratio² times its inertia, and not by the "
    told += "links that carry it (of elastic drives Spong's model). No rotors: motors weigh, and do not turn. "
    told += "The table has the differences to the full model."
    head = ("joint", "rms of tau", "reflected inertia alone: rms", "largest", "no rotors: rms", "largest", "unit")
    rows = []
    for k, name in enumerate(found.names):
        numbers = (found.tau[k], *found.simple[:, k], *found.none[:, k])
        rows.append([name, *(number(x if x > 1e-9 * found.tau.max() else 0.0, 3) for x in numbers), found.units[k]])
    shares = [100 * x[0] / np.where(found.tau > 0, found.tau, np.inf) for x in (found.simple, found.none)]
    marks = [(ROTOR, "reflected inertia alone"), (HINGE, "no rotors")]
    drawn = np.sort(np.argsort(-shares[0], kind="stable")[:BARS])
    names, unit = [found.names[k] for k in drawn], "difference, rms, % of the force's rms"
    figure = share_figure(names, [part[drawn] for part in shares], [colour for colour, _ in marks], unit)
    if len(drawn) < len(found.names):
        told += f" Drawn: the {len(drawn)} of {len(found.names)} joints of which the coupling takes the largest share."
    images = [("what simpler models neglect", svg(figure))]
    return join([
        tag("h2", "What simpler models of the motors neglect"), tag("p", told), pictures(images, "poses"), key(marks),
        table(head, rows),
    ])  # fmt: skip
