"""Robots with loops against closed forms: Lagrange's equations by computer algebra, textbooks, and simulations."""

import itertools
import math

import numpy as np
import pytest
import sympy as sp

from loop_machines import frames_of
from neuler import Link, robots
from random_robots import close


def four_bar_lagrange():
    """Inertia, its derivative and that of the potential, functions of the crank's angle, by computer algebra."""
    a = sp.Symbol("a", real=True)
    crank, coupler, rocker, ground = (sp.Rational(x, 1000) for x in (150, 450, 525, 675))
    masses = {"crank": sp.Rational(3, 2), "coupler": sp.Rational(9, 2), "rocker": sp.Integer(5)}
    b = crank * sp.Matrix([sp.cos(a), sp.sin(a)])
    across = sp.Matrix([ground, 0]) - b
    span = sp.sqrt(across.dot(across))
    along_it = (coupler**2 - rocker**2 + span**2) / (2 * span)
    height = sp.sqrt(coupler**2 - along_it**2)
    unit = across / span
    c = b + along_it * unit + height * sp.Matrix([-unit[1], unit[0]])  # the tip, above the diagonal
    kinetic, potential = 0, 0
    for (mass, length), start, end in zip(
        zip(masses.values(), (crank, coupler, rocker), strict=True),
        (sp.zeros(2, 1), b, sp.Matrix([ground, 0])), (b, c, c), strict=True,
    ):  # fmt: skip
        middle, arm = (start + end) / 2, end - start
        v, d = middle.diff(a), arm.diff(a)
        turning = (arm[0] * d[1] - arm[1] * d[0]) / length**2
        kinetic += mass * v.dot(v) / 2 + mass * length**2 / 12 * turning**2 / 2
        potential += mass * sp.Rational(981, 100) * middle[1]
    inertia = 2 * kinetic
    return sp.lambdify(a, [inertia, inertia.diff(a), potential.diff(a), *c], "numpy", cse=True)


def test_the_four_bar_against_lagrange():
    """Minimal coordinates, one of them: inverse and forward dynamics for a whole turn of the crank."""
    machine = robots.four_bar()
    rng = np.random.default_rng(0)
    x, v, a = rng.uniform(-math.pi, math.pi, (500, 1)), rng.uniform(-5, 5, (500, 1)), rng.uniform(-9, 9, (500, 1))
    inertia, slope, weight, *tip = four_bar_lagrange()(x)  # of the inertia its slope
    q = machine.assemble(x).q
    close(frames_of(machine, q)[0][:, :2, 3], np.concatenate(tip, axis=-1), 1e-12)
    tau = inertia * a + slope * v * v / 2 + weight
    close(machine.inverse_dynamics(q, v, a), tau, 1e-10)
    close(machine.forward_dynamics(q, v, tau), a, 1e-10)
    close(machine.mass_matrix(q)[..., 0], inertia, 1e-10)
    close(machine.bias_force(q, v), slope * v * v / 2 + weight, 1e-10)
    close(machine.gravity_force(q), weight, 1e-10)
    close(machine.coriolis_matrix(q, v)[..., 0], slope * v / 2, 1e-10)
    close(machine.energy(q, v).kinetic, (inertia * v * v / 2)[:, 0], 1e-10)
    close(machine.compile("hybrid_dynamics", motion=())(q, v, tau), a, 1e-10)


def test_the_slider_crank_against_its_textbook():
    """x = r cos a + sqrt(l^2 - r^2 sin^2 a): a slider alone, massless crank and rod, takes m x'' dx/da."""
    machine = robots.slider_crank()
    machine = machine.replace(links=[link if link.name == "slider" else Link(link.name) for link in machine.links])
    angle = sp.Function("angle")(sp.Symbol("t"))
    t = sp.Symbol("t")
    place = sp.Rational(3, 20) * sp.cos(angle) + sp.sqrt(sp.Rational(1, 16) - sp.Rational(9, 400) * sp.sin(angle) ** 2)
    x, v, a = sp.symbols("x v a")
    torque = 2 * place.diff(t, 2) * place.diff(angle)
    torque = torque.subs(angle.diff(t, 2), a).subs(angle.diff(t), v).subs(angle, x)
    function = sp.lambdify([x, v, a], torque)
    values = np.random.default_rng(0).uniform(-3, 3, (3, 100, 1))
    q = machine.assemble(values[0]).q
    close(machine.inverse_dynamics(q, *values[1:]), function(*values), 1e-11)


# ---- simulation ---------------------------------------------------------------------------------------------


def simulate(machine, q, qd, steps, duration, damping):
    """All joints free, by Runge and Kutta's method; q, qd, and the largest gap on the way."""
    h, tau = duration / steps, np.zeros(machine.tree.nv)
    largest = 0.0

    def rate(q, qd):
        return qd, machine.constrained_dynamics(q, qd, tau, damping)[0]

    for _ in range(steps):
        a = rate(q, qd)
        b = rate(q + h / 2 * a[0], qd + h / 2 * a[1])
        c = rate(q + h / 2 * b[0], qd + h / 2 * b[1])
        d = rate(q + h * c[0], qd + h * c[1])
        q, qd = (x + h / 6 * (k + 2 * l + 2 * m + n) for x, k, l, m, n in zip((q, qd), a, b, c, d, strict=True))
        largest = max(largest, float(np.abs(machine.closure(q)[0]).max()))
    return q, qd, largest


def test_a_free_four_bar_keeps_its_energy_and_its_loop():
    """Swinging for a second: the loop stays closed to 1e-8, the energy's error falls with the fourth power of h."""
    machine = robots.four_bar()
    q = machine.assemble([1.0]).q
    qd, _ = machine.tree_motion(q, [3.0], [0.0])
    start = sum(machine.energy(q, [3.0]))
    close(start, sum(machine.tree.energy(q, qd)), 1e-14)
    errors = []
    for steps in (250, 500, 1000):
        end, rate, gap = simulate(machine, q, qd, steps, 1.0, damping=10.0)
        errors.append(abs(sum(machine.energy(end, rate[:1])) - start))
        assert np.abs(end - q).max() > 0.5
    assert gap < 1e-8
    assert errors[-1] < 1e-7 * abs(start)
    for coarse, fine in itertools.pairwise(errors):
        assert 10 < coarse / fine < 40


def test_a_loop_that_has_opened_closes_again():
    """c'' + 2 a c' + a^2 c = 0: after one second at a = 12, e^-12 (1 + 12) of it is left."""
    machine = robots.four_bar().with_gravity((0, 0, 0))
    q = machine.assemble([1.0]).q + np.array([0.0, 1e-4, 0.0])
    gap = np.abs(machine.closure(q)[0]).max()
    end, _, _ = simulate(machine, q, np.zeros(3), 200, 1.0, damping=12.0)
    left = np.abs(machine.closure(end)[0]).max() / gap
    assert 0.8 < left / (13 * math.exp(-12)) < 1.25
    stays, _, _ = simulate(machine, q, np.zeros(3), 50, 0.2, damping=0.0)
    close(np.abs(machine.closure(stays)[0]).max() / gap, 1.0, 1e-6)


@pytest.mark.slow
def test_a_free_four_bar_swings_on_by_its_own_coordinate():
    """The crank alone, by Runge and Kutta's method on (q, qd): the same place as with all joints free."""
    machine = robots.four_bar()
    q = machine.assemble([1.0]).q
    qd, _ = machine.tree_motion(q, [3.0], [0.0])
    there, _, _ = simulate(machine, q, qd, 500, 0.5, damping=10.0)
    crank, speed, h = np.array([1.0]), np.array([3.0]), 0.5 / 500

    def push(crank, speed):
        return machine.forward_dynamics(machine.assemble(crank, q).q, speed, [0.0])

    for _ in range(500):
        q = machine.assemble(crank, q).q
        a = push(crank, speed)
        b = push(crank + h / 2 * speed, speed + h / 2 * a)
        c = push(crank + h / 2 * speed + h * h / 4 * a, speed + h / 2 * b)
        d = push(crank + h * speed + h * h / 2 * b, speed + h * c)
        crank, speed = crank + h * speed + h * h / 6 * (a + b + c), speed + h / 6 * (a + 2 * b + 2 * c + d)
    close(machine.assemble(crank, q).q, there, 1e-8)
