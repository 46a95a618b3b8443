"""The adaptive law beside the regressor, which it never makes; and base parameters as what it learns."""

import numpy as np
import pytest

import neuler
from neuler import InputError
from neuler.control import AdaptiveSlotineLi, SlotineLi, sines
from random_robots import close, random_robot, random_states

LAM, K = 3.0, 12.0


def flat(*parts):
    return np.concatenate(parts, axis=-1)


def regressor(robot, names, q, v, a, s):
    """Y with Y p = M a + C(q, v - s) v + g + f(v), of ``robot.regressor`` alone.

    Velocity forces h(w) are quadratic, h(w) = C(q, w) w with C linear and symmetric in both velocities, so that
    C(q, s) v = (h(s + v) - h(s) - h(v)) / 2; friction is in the first term.
    """
    Y = robot.compile("regressor", columns=names)
    zero = np.zeros_like(v)
    inertial = [name.rpartition(".")[0] in (*robot.link_names, "payload:tool") for name in Y.column_names]
    h = [Y(q, w, zero) - Y(q, zero, zero) for w in (s + v, s, v)]
    return Y(q, v, a) - 0.5 * (h[0] - h[1] - h[2]) * np.array(inertial)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("what", ["links", "base"])
def test_it_learns_along_the_regressor(seed, what):
    """dp = period rate Y^T s, with a rate for each parameter."""
    robot = random_robot(seed)
    base = robot.base_parameters(("links", "friction"))
    names = base.names if what == "base" else (robot.link_names[-2], "payload:tool")
    rates = np.random.default_rng(seed).uniform(0.1, 2.0, len(robot.compile("regressor", columns=names).column_names))
    law = AdaptiveSlotineLi(robot, LAM, K, names, rate=rates, period=0.01)
    q, qd, qdd_d = random_states(robot, 5, seed)
    q_d, qd_d, _ = random_states(robot, 5, seed + 50)
    p = law.memory0 + 0.1 * np.random.default_rng(seed + 1).normal(size=(5, law.memory))
    tau, after = law(0.0, q, qd, p, flat(q_d, qd_d, qdd_d))
    v = qd_d + LAM * (q_d - q)
    a, s = qdd_d + LAM * (qd_d - qd), v - qd
    Y = regressor(robot, names, q, v, a, s)
    assert robot.compile("regressor", columns=names).column_names == law.parameter_names
    close((after - p) / 0.01, rates * (s[:, None] @ Y)[:, 0], 1e-9)
    own, _ = SlotineLi(robot, LAM, K)(0.0, q, qd, None, flat(q_d, qd_d, qdd_d))
    close(tau - own, (Y @ (p - law.memory0)[..., None])[..., 0], 1e-8)


def test_base_parameters_stand_for_all():
    """A robot of other masses, and the law with the given robot's other parameters: base parameters make up for it."""
    robot = neuler.robots.puma560()
    base = robot.base_parameters(("links", "friction", "rotors"))
    law = AdaptiveSlotineLi(robot, LAM, K, base.names, rate=1.0, period=1e-3)
    assert law.parameter_names == base.names
    assert law.memory == len(base)
    kernel = robot.compile("regressor", columns=base.columns)
    factors = np.random.default_rng(0).uniform(0.7, 1.3, len(base.columns))
    other = robot.with_parameters(dict(zip(base.columns, kernel.column_values * factors, strict=True)))
    p = law.memory0 + base.grouping @ (base.standard * (factors - 1.0))
    rng = np.random.default_rng(1)
    q, qd, q_d, qd_d, qdd_d = rng.uniform(-1, 1, (5, 8, 6))
    tau, _ = law(0.0, q, qd, np.broadcast_to(p, (8, len(p))), flat(q_d, qd_d, qdd_d))
    exact, _ = SlotineLi(other, LAM, K)(0.0, q, qd, None, flat(q_d, qd_d, qdd_d))
    close(tau, exact, 1e-9)


def test_base_parameters_are_learnt():
    """With the wrong masses the robot is led better and better, and V = s.M s / 2 + |p - p0|^2 / (2 rate) falls."""
    robot = neuler.robots.two_link()
    base = robot.base_parameters("links")
    heavy = robot.with_parameters({"link2.mass": 2.0 * robot.links[2].mass})
    path = sines([0.8, 0.9], [0.5, 0.9])
    law = AdaptiveSlotineLi(robot, 6.0, 10.0, base.names, rate=2.0, period=1e-3, reference=path)
    exact = law.memory0 + base.grouping @ (heavy.base_parameters(base.columns).standard - base.standard)
    start = path(0.0)
    found = heavy.rollout(start[:2], start[2:4], law, 1e-3, steps=8000)
    error, p = np.abs(found.q - path(1e-3 * np.arange(1, 8001))[:, :2]).max(axis=1), found.memory
    assert error[-1000:].max() < 0.1 * error[:2000].max()
    assert np.linalg.norm(p - exact) < 0.3 * np.linalg.norm(law.memory0 - exact)


def test_odd_names_are_refused():
    robot = neuler.robots.two_link()
    for names in ((), ["link1.zz", "link1.zz"], ["link1.zzz"], [3], None, "", ["link1", "link1.mass"]):
        with pytest.raises(InputError):
            AdaptiveSlotineLi(robot, 1.0, 1.0, names, 1.0, 0.1)
