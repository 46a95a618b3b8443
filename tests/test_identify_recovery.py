"""What a robot has beside its links comes back from measurements: springs of drives, motors, loops, payloads."""

import functools

import numpy as np
import pytest

import neuler
from neuler import Motor, identify
from neuler.control import ElasticPD, sines

pytest.importorskip("clarabel")

RATE = 1000.0


def inside(found, exact, most=4.0):
    """Whether all values are within so many standard deviations of the exact ones."""
    return bool((np.abs(found.values - exact) < most * found.sd).all())


# ---- elastic drives --------------------------------------------------------------------------------------------------


@functools.cache
def elastic():
    """Two drives behind springs, simulated for ten seconds: q holds joints, then motors; the motors alone have tau."""
    motors = [
        Motor("m1", "joint1", 50, inertia=2e-3, included=True, stiffness=900.0, damping=2.0),
        Motor("m2", "joint2", 50, inertia=1e-3, included=True, stiffness=400.0, damping=1.0),
    ]
    true = neuler.robots.two_link().replace(motors=motors)
    path = sines([0.6, 0.8], [0.35, 0.6])
    law = ElasticPD(true, kp=[800.0, 300.0], kd=[120.0, 40.0], reference=path)
    q0, qd0 = path(0.0)[[0, 1, 0, 1]], path(0.0)[[2, 3, 2, 3]]
    run = true.rollout(q0, qd0, law, 1e-4, steps=100_010)
    assert run.status == 0
    at = np.arange(10, 100_000, 10)
    return true, at * 1e-4, run.q[at - 1], 0.5 * (run.tau[at - 1] + run.tau[at])


def elastic_log(given, seed=0, **noise):
    """Both sides of every spring measured, in steps of 1e-6 rad."""
    _, t, q, tau = elastic()
    sd = noise.get("torque", 0.05) * np.array([0.0, 0.0, 1.0, 1.0])  # on the links nothing acts, and that is known
    tau = tau + sd * np.random.default_rng(seed).normal(size=tau.shape)
    return identify.Log(given, t, np.round(q / 1e-6) * 1e-6, tau, name=f"elastic {seed}")


def test_stiffness_and_damping_of_elastic_drives():
    """A spring's force is internal: it gives the link what it needs, and takes that of the motor's tau."""
    true = elastic()[0]
    given = true.with_parameters({"m1.stiffness": 500.0, "m2.stiffness": 700.0, "m1.damping": 0.5, "m2.damping": 3.0})
    columns = ("m1.stiffness", "m2.stiffness", "m1.damping", "m2.damping")
    found = identify.fit(elastic_log(given), columns=columns)
    assert found.base.names == columns
    np.testing.assert_allclose(found.estimate.values, [900.0, 400.0, 2.0, 1.0], rtol=0.03)
    assert (found.estimate.sd[:2] < 5.0).all()
    np.testing.assert_allclose([motor.stiffness for motor in found.robot.motors], [900.0, 400.0], rtol=0.01)
    np.testing.assert_allclose([motor.damping for motor in found.robot.motors], [2.0, 1.0], rtol=0.05)
    for motor, given_motor in zip(found.robot.motors, given.motors, strict=True):
        assert motor.inertia == given_motor.inertia  # what is no column stays


def test_springs_rotors_and_links_together():
    true = elastic()[0]
    names = ("links", "m1.inertia", "m2.inertia", "m1.stiffness", "m2.stiffness", "m1.damping", "m2.damping")
    kernel = true.compile("regressor", columns=names)
    factors = np.random.default_rng(1).uniform(0.8, 1.2, len(kernel.column_names))
    given = true.with_parameters(dict(zip(kernel.column_names, kernel.column_values * factors, strict=True)))
    found = identify.fit(elastic_log(given), columns=names)
    exact = dict(zip(found.base.names, true.base_parameters(names).values, strict=True))
    for name in ("link2.mx", "link2.zz", "m1.inertia", "m2.inertia", "m1.stiffness", "m2.stiffness"):
        assert found.estimate.values[found.estimate.index(name)] == pytest.approx(exact[name], rel=0.03), name
    _, _, q, tau = elastic()
    qd, qdd = np.gradient(q, 1e-3, axis=0), np.gradient(np.gradient(q, 1e-3, axis=0), 1e-3, axis=0)
    error, before = (
        np.sqrt(((robot.inverse_dynamics(q, qd, qdd) - tau)[100:-100, 2:] ** 2).mean(axis=0))
        for robot in (found.robot, given)
    )
    assert (error < 0.05 * before).all()


def test_a_drive_whose_motor_is_not_measured():
    """The motor's coordinate is one of q: a log without it is refused, with the name of the column."""
    true, t, q, tau = elastic()
    with pytest.raises(neuler.InputError, match=r"4"):
        identify.Log(true, t, q[:, :2], tau[:, 2:])


# ---- loops, motors, payloads -----------------------------------------------------------------------------------------


def fourier(n, seed, size=0.5, seconds=10.0, rate=RATE):
    rng, t = np.random.default_rng(seed), np.arange(round(seconds * rate)) / rate
    q, qd, qdd = np.zeros((3, len(t), n))
    for k in range(1, 6):
        w = 2.0 * np.pi * k / seconds
        a, b = rng.normal(size=(2, n)) * size / np.sqrt(k)
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q, qd, qdd = q + a * s + b * c, qd + w * (a * c - b * s), qdd - w * w * (a * s + b * c)
    return t, q, qd, qdd


def noisy(robot, t, q, tau, seed, name="log"):
    tau = tau + 0.01 * np.sqrt((tau**2).mean(axis=0)) * np.random.default_rng(seed).normal(size=tau.shape)
    return identify.Log(robot, t, np.round(q / 1e-5) * 1e-5, tau, name=name)


@pytest.mark.slow
def test_parameters_of_a_four_bar():
    """A loop: the base parameters of three moving links, from the crank's torque alone."""
    true = neuler.robots.four_bar()
    t, crank, qd, qdd = fourier(1, 3, size=0.25, rate=200.0)
    q = true.assemble(true.neutral()[:1] + crank, continuous=True).q
    tau = true.inverse_dynamics(q, qd, qdd)
    heavy = {f"{link.name}.mass": 1.3 * link.mass for link in true.links[1:] if link.mass}
    given = true.with_parameters(heavy)
    found = identify.fit(noisy(given, t, q, tau, 0), columns="links")
    exact = found.base.grouping @ true.base_parameters("links").standard
    assert inside(found.estimate, exact)
    error, before = (robot.inverse_dynamics(q, qd, qdd) - tau for robot in (found.robot, given))
    assert np.sqrt((error**2).mean()) < 0.02 * np.sqrt((tau**2).mean()) < np.sqrt((before**2).mean())


def test_motors_on_any_link():
    """Rotors that sit on other links than their joint's parent, and bodies of motors that links do not contain."""
    arm = neuler.robots.puma560().without_motors().without_friction()
    motors = [
        Motor("m2", "joint2", 107.8, carrier="link1", axis=(0, 0.6, 0.8), inertia=(2e-4, 2e-4, 3e-4), mass=2.0,
              position=(0.1, 0.0, 0.05)),
        Motor("m3", "joint3", 53.7, carrier="link1", axis=(0, 0, 1), inertia=4e-4, included=True),
        Motor("m5", "joint5", 72.0, carrier="link3", axis=(0, 1, 0), inertia=1e-4, included=True),
    ]  # fmt: skip
    true = arm.replace(motors=motors)
    t, *state = fourier(6, 5)
    tau = true.inverse_dynamics(*state)
    given = true.with_parameters({"m2.inertia": 1e-4, "m3.inertia": 1e-4, "m5.inertia": 3e-4, "m2.mass": 1.0})
    log = noisy(given, t, state[0], tau, 1)
    found = identify.fit(log, columns=("links", "m2.inertia", "m3.inertia", "m5.inertia"))
    names = [name for name in ("m2.inertia", "m3.inertia", "m5.inertia") if name in found.base.names]
    assert len(names) >= 2
    exact = found.base.grouping @ true.base_parameters(found.base.columns).standard
    assert np.mean(np.abs(found.estimate.values - exact) < 3.0 * found.estimate.sd) > 0.9
    for name in names:
        k = found.estimate.index(name)
        assert abs(found.estimate.values[k] - exact[k]) < 4.0 * found.estimate.sd[k]
        assert found.estimate.sd[k] < 0.1 * abs(exact[k])
    alone = identify.fit(log, columns="motors")  # the bodies, where links do not contain them; the rest is known
    assert all(name.startswith("m2.") for name in alone.base.columns)


def test_a_payload_with_all_ten_parameters():
    arm = neuler.robots.puma560()
    loaded = arm.with_payload("link6", 2.0, (0.05, -0.03, 0.1), (0.012, 0.010, 0.008))
    t, *state = fourier(6, 2)
    found = identify.fit(noisy(arm, t, state[0], loaded.inverse_dynamics(*state), 2), columns="payload:link6")
    exact = loaded.compile("regressor", columns="link6").column_values
    exact = exact - arm.compile("regressor", columns="link6").column_values
    assert len(found.base.names) == 10
    assert inside(found.estimate, exact)
    assert found.estimate.values[0] == pytest.approx(2.0, abs=0.02)
    np.testing.assert_allclose(found.estimate.values[1:4], 2.0 * np.array([0.05, -0.03, 0.1]), atol=0.01)
