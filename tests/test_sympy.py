"""Closed forms: Lagrange's equations derived by a computer algebra system, from hand-written geometry."""

import functools
import math

import numpy as np
import pytest
import sympy as sp

from neuler import Joint, Link, Robot, Transform, robots
from random_robots import close

TIME = sp.Symbol("t")
GRAVITY = sp.Rational(981, 100)


def lagrange(kinetic, potential, coordinates):
    """tau(q, qd, qdd) as a function of three arrays of shape (batch, n)."""
    n = len(coordinates)
    symbols = [sp.symbols(f"{name}:{n}") for name in ("q", "v", "a")]
    lagrangian = kinetic - potential
    rates = [x.diff(TIME) for x in coordinates]
    tau = []
    for x, rate in zip(coordinates, rates, strict=True):
        tau.append(lagrangian.diff(rate).diff(TIME) - lagrangian.diff(x))
    plain = []
    for order, names in ((2, symbols[2]), (1, symbols[1]), (0, symbols[0])):
        plain += [(x.diff(TIME, order) if order else x, name) for x, name in zip(coordinates, names, strict=True)]
    function = sp.lambdify([*sum(symbols, ())], [expression.subs(plain) for expression in tau], "numpy", cse=True)
    return lambda q, qd, qdd: np.stack(np.broadcast_arrays(*function(*q.T, *qd.T, *qdd.T)), axis=-1)


def body(mass, inertia, position, rotation):
    """Kinetic energy of a body by its centre of mass's position and its rotation in the world."""
    v = position.diff(TIME)
    spin = rotation.T * rotation.diff(TIME)
    w = sp.Matrix([spin[2, 1], spin[0, 2], spin[1, 0]])
    return (mass * v.dot(v) + w.dot(inertia * w)) / 2


def turn(axis, angle):
    """Rotation about x, y or z (0, 1, 2)."""
    c, s = sp.cos(angle), sp.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix = sp.eye(3)
    matrix[i, i], matrix[i, j], matrix[j, i], matrix[j, j] = c, -s, s, c
    return matrix


def symmetric(xx, yy, zz, xy=0, xz=0, yz=0):
    return sp.Matrix([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).applyfunc(sp.Rational)


def states(n, seed=0, count=200):
    rng = np.random.default_rng(seed)
    return rng.uniform(-3, 3, (count, n)), rng.uniform(-3, 3, (count, n)), rng.uniform(-5, 5, (count, n))


def agrees(robot, closed, seed):
    q, qd, qdd = states(robot.nv, seed)
    expected = closed(q, qd, qdd)
    close(robot.inverse_dynamics(q, qd, qdd), expected, 1e-12, what="inverse")
    close(robot.forward_dynamics(q, qd, expected), qdd, 1e-12, what="forward")
    still = np.zeros_like(q)
    close(robot.gravity_force(q), closed(q, still, still), 1e-12, what="gravity")
    for k, unit in enumerate(np.eye(robot.nv)):
        column = closed(q, still, still + unit) - closed(q, still, still)
        close(robot.mass_matrix(q)[..., k], column, 1e-12, what="mass matrix")


@functools.cache
def coordinates(n):
    return tuple(sp.Function(f"x{k}")(TIME) for k in range(n))


@pytest.mark.parametrize("pull", [(0, 0, 0), (0, "-9.81", 0), ("3", "-9.81", "0.5")])
def test_two_link_planar_arm(pull):
    """Barman 4.1: L = 0.4, centre of mass at 0.2, m = 0.5, I = 0.1; also hung in a gravity it does not have."""
    x, y = coordinates(2)
    m, i, length, half = sp.Rational(1, 2), sp.Rational(1, 10), sp.Rational(2, 5), sp.Rational(1, 5)
    first = half * sp.Matrix([sp.cos(x), sp.sin(x), 0])
    second = 2 * first + half * sp.Matrix([sp.cos(x + y), sp.sin(x + y), 0])
    assert length == 2 * half
    kinetic = sum(m * p.diff(TIME).dot(p.diff(TIME)) / 2 for p in (first, second))
    kinetic += i * (x.diff(TIME) ** 2 + (x + y).diff(TIME) ** 2) / 2
    potential = -m * sp.Matrix([sp.Rational(g) for g in pull]).dot(first + second)
    robot = robots.two_link().with_gravity([float(g) for g in pull])
    agrees(robot, lagrange(kinetic, potential, (x, y)), seed=1)


@pytest.mark.parametrize("theta2", [0.0, math.pi / 2])
def test_prismatic_revolute_arm(theta2):
    """Barman 4.2: the slide moves along z, the arm turns about x at the angle theta2 from y."""
    x, y = coordinates(2)
    angle = y + (sp.pi / 2 if theta2 else 0)
    m, i, half = sp.Rational(1, 2), sp.Rational(1, 10), sp.Rational(1, 5)
    tip = sp.Matrix([0, half * sp.cos(angle), x + half * sp.sin(angle)])
    kinetic = m * x.diff(TIME) ** 2 / 2 + m * tip.diff(TIME).dot(tip.diff(TIME)) / 2 + i * y.diff(TIME) ** 2 / 2
    agrees(robots.prismatic_revolute(theta2), lagrange(kinetic, sp.Integer(0), (x, y)), seed=2)


def test_spherical_pendulum():
    """A point mass on a rod of 0.7 m: azimuth about z, then elevation about -y, written in full."""
    m, length, g = 1.3, 0.7, 9.81
    links = [Link("base"), Link("fork"), Link.from_com("bob", mass=m, com=(length, 0, 0))]
    joints = [
        Joint("azimuth", "revolute", "base", "fork", axis=(0, 0, 1)),
        Joint("elevation", "revolute", "fork", "bob", axis=(0, -1, 0)),
    ]
    robot = Robot("pendulum", links, joints)
    q, qd, qdd = states(2, 3)
    s, c = np.sin(q[:, 1]), np.cos(q[:, 1])
    expected = np.stack(
        [
            m * length**2 * (c**2 * qdd[:, 0] - 2 * s * c * qd[:, 0] * qd[:, 1]),
            m * length**2 * (qdd[:, 1] + s * c * qd[:, 0] ** 2) + m * g * length * c,
        ],
        axis=-1,
    )
    close(robot.inverse_dynamics(q, qd, qdd), expected, 1e-12)
    x, y = coordinates(2)
    place = sp.Rational("0.7") * sp.Matrix([sp.cos(x) * sp.cos(y), sp.sin(x) * sp.cos(y), sp.sin(y)])
    mass = sp.Rational("1.3")
    kinetic = mass * place.diff(TIME).dot(place.diff(TIME)) / 2
    closed = lagrange(kinetic, mass * GRAVITY * place[2], (x, y))
    close(closed(q, qd, qdd), expected, 1e-12)
    close(robot.inverse_dynamics(q, qd, qdd), closed(q, qd, qdd), 1e-12)


@pytest.mark.slow
def test_three_link_arm_with_a_slide():
    """Revolute z, prismatic along x of the first link, revolute y: full inertia tensors, offsets, drives."""
    data = [
        ("1.5", ("0.1", "-0.05", "0.2"), ("0.05", "0.06", "0.03", "0.004", "-0.002", "0.003")),
        ("0.8", ("-0.1", "0.02", "0.03"), ("0.02", "0.03", "0.025", "-0.001", "0.002", "0.001")),
        ("1.1", ("0.2", "0.03", "-0.04"), ("0.03", "0.04", "0.035", "0.002", "0.003", "-0.001")),
    ]
    links = [Link("base", mass=3.0)]
    for k, (mass, com, inertia) in enumerate(data):
        values = {"com": [float(c) for c in com], "inertia": [float(i) for i in inertia]}
        links.append(Link.from_com(f"link{k}", mass=float(mass), **values))
    joints = [
        Joint("turn", "revolute", "base", "link0", Transform.from_rpy((0, 0, 0.3)), rotor_inertia=0.2, viscous=0.7),
        Joint("slide", "prismatic", "link0", "link1", Transform.from_rpy((0.1, 0, 0.2)), (1, 0, 0), rotor_inertia=0.3),
        Joint("tilt", "revolute", "link1", "link2", Transform.from_rpy((0.3, 0.05, 0)), (0, 1, 0), viscous=0.4),
    ]
    robot = Robot("mixed", links, joints)
    x, y, z = coordinates(3)
    first = turn(2, x)
    last = first * turn(1, z)
    foot = sp.Matrix([0, 0, sp.Rational("0.3")])
    second = foot + first * (sp.Matrix([sp.Rational("0.1") + y, 0, sp.Rational("0.2")]))
    third = second + first * sp.Matrix([sp.Rational("0.3"), sp.Rational("0.05"), 0])
    kinetic = sp.Rational("0.2") * x.diff(TIME) ** 2 / 2 + sp.Rational("0.3") * y.diff(TIME) ** 2 / 2
    potential = sp.Integer(0)
    for (mass, com, inertia), origin, rotation in zip(data, (foot, second, third), (first, first, last), strict=True):
        centre = origin + rotation * sp.Matrix([sp.Rational(c) for c in com])
        kinetic += body(sp.Rational(mass), symmetric(*inertia), centre, rotation)
        potential += sp.Rational(mass) * GRAVITY * centre[2]
    closed = lagrange(kinetic, potential, (x, y, z))
    agrees(robot, lambda q, qd, qdd: closed(q, qd, qdd) + np.array([0.7, 0.0, 0.4]) * qd, seed=4)
