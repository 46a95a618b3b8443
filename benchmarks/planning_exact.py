"""Hard planning tasks whose least time is known exactly: rows of benchmarks/planning_hard.py."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from math import pi
from typing import Any

import numpy as np

import neuler
import planning_truths
from neuler import plan
from planning_rows import Row, beside, pendulum, row, slides, solved


def four_bar(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """A crank-rocker with a weak motor, in the plane of its crank's position and velocity bang-bang."""
    robot = neuler.robots.four_bar()
    for k, task in enumerate(case["tasks"][:1] if quick else case["tasks"]):
        begin, end, torque = task["start"], task["goal"], task["torque"]
        exact = planning_truths.bang_bang(begin, end, *planning_truths.one_joint(robot, begin, end), torque)
        make = functools.partial(
            plan.Plan, robot, start=[begin], goal=[end], limits=[plan.within(plan.torque, torque)],
            control_points=case["control_points"],
        )  # fmt: skip
        found = solved(make)
        yield row(
            f"four_bar {k + 1}, least time, {torque:g} N m", found, beside(found, exact), f"{exact:.5f} s, bang-bang"
        )


def ruckig(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """Bounds on velocity, acceleration and jerk, from rest to rest, without acceleration at both ends."""
    rng = np.random.default_rng(case["seed"])
    points = case["control_points"]
    for n in case["joints"]:
        start, goal = rng.uniform(-2.0, 2.0, (2, n))
        bounds = rng.uniform(0.5, 2.0, (3, n)) * np.array([[1.0], [4.0], [30.0]])
        if quick and n > 2:
            continue
        exact = planning_truths.together(start, goal, *bounds)
        theirs = planning_truths.ruckig_duration(start, goal, *bounds)
        assert theirs is None or abs(theirs - exact) < 1e-9 * exact, (theirs, exact)
        measures = (plan.velocity, plan.acceleration, plan.jerk)
        limits = [plan.within(measure, bound) for measure, bound in zip(measures, bounds, strict=True)]
        still = [plan.Boundary(q=q, qd=0.0, qdd=0.0) for q in (start, goal)]
        make = functools.partial(
            plan.Plan, slides(n), start=still[0], goal=still[1], limits=limits, control_points=points
        )
        found = solved(make)
        label = f"rest to rest, jerk bounded, {n} joint{'s' if n > 1 else ''}"
        yield row(label, found, beside(found, exact), f"{exact:.5f} s, closed form")


def cops(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """Dolan, More and Munson's robot arm: rho, theta, phi, each with an inertia and a force of its own.

    L rho'' = u_1, I_theta theta'' = u_2, I_phi phi'' = u_3, |u| <= 1; I_phi = ((L - rho)^3 + rho^3) / 3, I_theta =
    I_phi sin^2 phi. No robot has these equations (there is nothing but inertia): u is a measure.
    """
    L = case["length"]

    def controls(moment: Any) -> Any:
        (rho, _, phi), (a, b, c) = moment.q, moment.qdd
        inertia = ((L - rho) ** 3 + rho**3) / 3.0
        return [L * a, inertia * neuler.math.sin(phi) ** 2 * b, inertia * c]

    u = plan.measure(controls, "u", labels=["rho", "theta", "phi"])
    limits = [plan.within(u, 1.0), plan.limit(plan.position, [0.0, -pi, 0.0], [L, pi, pi])]
    for points in case["control_points"][:1] if quick else case["control_points"]:
        make = functools.partial(
            plan.Plan, slides(3), start=[4.5, 0.0, pi / 4], goal=[4.5, 2 * pi / 3, pi / 4], limits=limits,
            control_points=points,
        )  # fmt: skip
        found = solved(make)
        yield row(f"COPS robot arm, {points} points", found, beside(found, case["duration"]), f"{case['duration']:g} s")


def swing(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """A motor that holds its pendulum everywhere, just so."""
    weight = case["mass"] * case["gravity"] * case["length"]
    exact = planning_truths.bang_bang(
        case["start"], case["goal"], lambda q: np.full_like(q, case["mass"] * case["length"] ** 2), np.zeros_like,
        lambda q: weight * np.sin(q), case["torque"],
    )  # fmt: skip
    limits = [plan.within(plan.torque, case["torque"])]
    make = functools.partial(plan.Plan, pendulum(case), start=[case["start"]], goal=[case["goal"]], limits=limits)
    found = solved(make)
    yield row(f"pendulum, {case['torque']:g} N m", found, beside(found, exact), f"{exact:.5f} s, bang-bang")


def slider(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """One mass, one force."""
    exact = planning_truths.double_integrator(case["distance"], case["mass"], case["force"])
    limits = [plan.within(plan.torque, case["force"])]
    make = functools.partial(
        plan.Plan, slides(1, case["mass"]), start=[0.0], goal=[case["distance"]], limits=limits,
        control_points=case["control_points"],
    )  # fmt: skip
    found = solved(make)
    yield row("slider, 2 kg, 10 N, 1.7 m", found, beside(found, exact), f"{exact:.5f} s, bang-bang")


def barman(case: dict[str, Any], quick: bool) -> Iterator[Row]:
    """Barman 4.1."""
    limits = [plan.within(plan.torque, case["torque"])]
    make = functools.partial(
        plan.Plan, neuler.robots.two_link(), start=case["start"], goal=case["goal"], limits=limits,
        control_points=case["control_points"], degree=case["degree"],
    )  # fmt: skip
    found = solved(make)
    yield row("Barman 4.1, at most 30 points", found, beside(found, case["duration"]), f"{case['duration']:.8f} s")
