"""Simulations: against integrators and closed forms of others, the audit of energy, controllers, events."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import neuler
from neuler import Joint, Limits, Link, Robot, control
from neuler.simulation import Interrupted, simulate
from random_robots import few
from shown_robots import elastic
from simulated_robots import Integrating, pendulum, smooth_puma, top, weight

# ---- against others ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "dop853", "radau"])
def test_against_an_integrator_of_others(method):
    """The equations written out once more, and SciPy's LSODA."""
    robot = smooth_puma()
    rng = np.random.default_rng(3)
    q0, qd0, tau = rng.normal(size=6), rng.normal(size=6), 5.0 * rng.normal(size=6)

    def motion(t, y):
        qdd = np.linalg.solve(robot.mass_matrix(y[:6]), tau - robot.bias_force(y[:6], y[6:]))
        return np.concatenate([y[6:], qdd])

    options = {"rtol": 1e-11, "atol": 1e-12} if method == "dop853" else {"rtol": 1e-10, "atol": 1e-11}
    found = simulate(robot, tau, (q0, qd0), 0.4, method=method, every=10, **options)
    wanted = solve_ivp(motion, (0, 0.4), np.concatenate([q0, qd0]), "LSODA", found.t, rtol=1e-12, atol=1e-13).y.T
    np.testing.assert_allclose(found.q, wanted[:, :6], atol=2e-8)
    np.testing.assert_allclose(found.qd, wanted[:, 6:], atol=2e-7)
    np.testing.assert_array_equal(found.tau, np.broadcast_to(tau, (41, 6)))


def test_a_run_is_the_rollout():
    robot = neuler.robots.stanford()
    rng = np.random.default_rng(0)
    q0, qd0 = 0.3 * rng.normal(size=(2, 5, 6))
    tau = rng.normal(size=(5, 300, 6))
    run = simulate(robot, tau, (q0, qd0), 0.3, every=20)
    rolled = robot.rollout(q0, qd0, tau, 1e-3, every=20)
    np.testing.assert_array_equal(run.q[:, 1:], rolled.q)
    np.testing.assert_array_equal(run.qd[:, 1:], rolled.qd)
    np.testing.assert_array_equal(run.tau[:, 1:], tau[:, 19::20])
    np.testing.assert_array_equal(run.tau[:, 0], tau[:, 0])
    np.testing.assert_array_equal(run.q[:, 0], q0)
    bare = simulate(robot, tau, (q0, qd0), 0.3, every=20, audit=False)
    np.testing.assert_array_equal(bare.q, run.q)
    np.testing.assert_array_equal(bare.tau, run.tau)
    assert np.isnan(bare.work).all()


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_free_symmetric_top(method):
    """Euler's solution: the cross component of w turns at (1 - c / a) w_z in the body's axes, q at a steady rate."""
    robot = top()
    w = np.array([0.6, -0.2, 2.0])
    run = simulate(robot, None, (None, [*np.zeros(3), *w]), 5.0, method=method, every=50)
    rate = (0.5 - 0.2) / 0.2 * w[2]
    turned = (w[0] + 1j * w[1]) * np.exp(1j * rate * run.t)
    np.testing.assert_allclose(run.qd[:, 3], turned.real, atol=1e-9)
    np.testing.assert_allclose(run.qd[:, 4], turned.imag, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(run.q[:, 3:], axis=-1), 1.0, atol=1e-13)
    momentum = robot.momentum(run.q, run.qd)
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-9)


@pytest.mark.parametrize("name", few(["four_bar", "slider_crank", "five_bar", "gough_stewart"], 1))
def test_loops_stay_closed_and_both_ways_agree(name):
    robot = neuler.robots.get(name)
    qd0 = 0.2 * np.random.default_rng(1).normal(size=robot.nv)
    hold = robot.inverse_dynamics(robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv))
    by_steps = simulate(robot, hold, (None, qd0), 0.2, every=20)
    adapted = simulate(robot, hold, (None, qd0), 0.2, method="dop853", every=20)
    assert by_steps.gap.max() < 1e-9
    assert adapted.gap.max() < 1e-9
    np.testing.assert_allclose(by_steps.q, adapted.q, atol=1e-8)
    assert by_steps.relative_drift < 1e-8
    assert adapted.relative_drift < 1e-7


def test_a_contact_spring_is_a_function():
    """A weight that falls on a spring: half a swing about m g / k below the ground, then up again."""
    k, m, g = 800.0, 2.0, 9.81

    def ground(t, q, qd):
        push = neuler.math.where(neuler.math.less(q[0], 0.0), -k * q[0], 0.0)
        return np.array([0, 0, push, 0, 0, 0])

    speed = 2.0
    w, sag = math.sqrt(k / m), m * g / k
    touch = 2 * (math.pi - math.atan2(speed / w, sag)) / w
    for options in ({"step": 1e-4}, {"method": "dop853"}):
        run = simulate(weight(), None, ([0.0], [-speed]), 0.2, loads={"block": ground}, **options)
        low = -sag - math.hypot(sag, speed / w)
        assert run.q.min() == pytest.approx(low, rel=1e-4)
        assert run.t[np.argmax(run.q[:, 0] > 0)] == pytest.approx(touch, abs=1.1e-3)
        assert run.qd[-1, 0] == pytest.approx(speed - g * (run.t[-1] - touch), abs=2e-3)
        np.testing.assert_allclose(run.loads["block"][:, 2], np.where(run.q[:, 0] < 0, -k * run.q[:, 0], 0))
        assert run.relative_drift < 1e-4  # of a force with a corner


def test_wrenches_in_both_axes_are_one_wrench():
    """The same force on a tool, in the base's axes and, turned there, in the tool's."""
    robot = neuler.robots.two_link()
    force = np.array([1.0, -2.0, 0.5, 0.1, 0.2, 0.3])
    turned = robot.compile("link_poses", frame="link2")

    def own(t, q, qd):
        turn = turned(q)[:3, :3]
        return np.concatenate([turn.T @ force[:3], turn.T @ force[3:]])

    a = simulate(robot, None, ([0.3, 0.4], None), 0.5, loads={"link2": force})
    b = simulate(robot, None, ([0.3, 0.4], None), 0.5, external={"link2": own})
    np.testing.assert_allclose(a.q, b.q, atol=1e-12)
    np.testing.assert_allclose(b.loads["link2"], np.broadcast_to(force, (501, 6)), atol=1e-13)


# ---- the audit -----------------------------------------------------------------------------------


def test_energy_is_kept_and_sixteen_times_better_at_half_the_step():
    robot = smooth_puma()
    rng = np.random.default_rng(5)
    starts = rng.normal(size=(8, 6)), rng.normal(size=(8, 6))
    drifts = [np.median(simulate(robot, None, starts, 1.0, step=step).relative_drift) for step in (4e-3, 2e-3)]
    assert drifts[0] < 1e-6
    assert 10 < drifts[0] / drifts[1] < 40


def test_work_and_losses_are_told_apart():
    """Viscous friction and a steady torque: works by quadrature of the closed form, on a hinge with an upright axis."""
    link = Link.from_com("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.0, 0.0, 0.05))
    hinge = Joint("hinge", "revolute", "base", "rod", viscous=0.3)
    robot = Robot("rotor", [Link("base"), link], [hinge])
    inertia, d, tau = 0.3, 0.3, 2.0
    for options in ({}, {"method": "dop853"}):
        run = simulate(robot, [tau], None, 2.0, step=1e-3, every=100, **options)
        rate = d / inertia
        speed = tau / d * (1 - np.exp(-rate * run.t))
        angle = tau / d * (run.t - (1 - np.exp(-rate * run.t)) / rate)
        np.testing.assert_allclose(run.qd[:, 0], speed, atol=1e-9)
        np.testing.assert_allclose(run.work, tau * angle, atol=1e-8)
        np.testing.assert_allclose(run.work_of_losses, 0.5 * inertia * speed**2 - tau * angle, atol=1e-8)
        assert run.relative_drift < 1e-9


@pytest.mark.parametrize(
    "robot", few([elastic(), smooth_puma(), neuler.robots.eel()], 1), ids=["elastic", "puma560", "eel"]
)
def test_the_audit_knows_every_force(robot):
    """Friction, springs, loads and a controller at once: what is left is the integrator's, and of its fourth order."""
    joints = [
        joint if "viscous" not in joint.type.drives else type(joint)(**{**vars(joint), "viscous": 0.4})
        for joint in robot.joints
    ]
    robot = robot.replace(joints=joints)
    push = np.array([1.0, -0.5, 2.0, 0.1, 0.0, -0.2])

    def law(t, q, qd, memory, reference):
        return 0.5 * np.cos(3 * t) - 0.2 * qd, memory

    found = []
    for step in (4e-3, 2e-3):
        run = simulate(robot, law, (None, 0.3 * np.ones(robot.nv)), 0.8, step=step, external={robot.tip: push})
        assert run.work_of_losses[-1] != 0
        assert np.abs(run.work).max() > 1e-3
        found.append(run.relative_drift)
    assert found[1] < 1e-7
    assert found[0] / found[1] > 8 or found[1] < 1e-13


# ---- controllers ---------------------------------------------------------------------------------


def test_called_and_compiled_controllers_do_the_same():
    robot = neuler.robots.two_link()
    law = Integrating(robot, [0.4, -0.3])
    starts = 0.2 * np.random.default_rng(2).normal(size=(2, 3, 2, 2))
    compiled = simulate(robot, law, tuple(starts), 0.6, every=5, step=1e-3)
    called = simulate(robot, law, tuple(starts), 0.6, every=5, step=1e-3, compile=False)
    assert compiled.batch == called.batch == (3, 2)
    for name in ("q", "qd", "tau", "work", "work_of_losses"):
        np.testing.assert_allclose(getattr(called, name), getattr(compiled, name), atol=1e-11, err_msg=name)
    single = simulate(robot, law, (starts[0, 1, 0], starts[1, 1, 0]), 0.6, every=5, compile=False)
    np.testing.assert_allclose(single.q, called.q[1, 0], atol=1e-12)
    sampled = simulate(robot, law, (starts[0, 1, 0], starts[1, 1, 0]), 0.6, every=5, method="dop853")
    np.testing.assert_allclose(sampled.q, called.q[1, 0], atol=1e-9)  # sampled as often
    np.testing.assert_allclose(sampled.tau[1:], called.tau[1, 0, 1:], atol=1e-6)


def test_a_plain_function_is_called_at_every_step_with_numbers():
    robot = pendulum()
    seen = []

    def law(t, q, qd, memory, reference):
        assert q.dtype == float
        seen.append((t, q.shape))
        return -qd, memory

    simulate(robot, law, ([0.1], None), 0.01)
    assert seen == [(pytest.approx(k * 1e-3), (1,)) for k in range(10)]
    seen.clear()
    simulate(robot, law, (0.1 * np.ones((4, 1)), None), 0.003)
    assert [shape for _, shape in seen] == [(4, 1)] * 3


def test_a_controller_is_part_of_the_right_hand_side_without_a_period():
    """Critically damped by computed torque: e = (1 + w t) exp(-w t) e0."""
    robot = smooth_puma()
    goal = 0.3 * np.ones(6)
    law = control.ComputedTorque(robot, kp=25.0, reference=goal)
    run = simulate(robot, law, None, 1.0, method="dop853", step=0.05)
    expected = goal * (1 - ((1 + 5 * run.t) * np.exp(-5 * run.t))[:, None])
    np.testing.assert_allclose(run.q, expected, atol=1e-8)
    np.testing.assert_allclose(run.error, expected - goal, atol=1e-8)
    rms = np.sqrt(np.mean((expected - goal) ** 2, axis=0))
    np.testing.assert_allclose(run.rms_error, rms, rtol=1e-6)
    held = simulate(robot, law, None, 1.0, every=50)
    np.testing.assert_allclose(held.q, expected, atol=2e-2)


def test_errors_of_loops_and_rotations_are_along_velocities():
    robot = neuler.robots.four_bar()
    law = control.ComputedTorque(robot, kp=100.0, reference=robot.neutral()[:1] + 0.1)
    run = simulate(robot, law, None, 0.5, every=50)
    assert run.error.shape == (11, 1)
    np.testing.assert_allclose(run.error[0], [-0.1], atol=1e-12)
    assert abs(run.error[-1, 0]) < 0.05


# ---- events --------------------------------------------------------------------------------------


def test_limits_stop_where_they_are_reached():
    robot = weight(limits=Limits(-1.0, 1.0))
    fall = math.sqrt(2 / 9.81)
    run = simulate(robot, None, None, 1.0, method="dop853", limits="stop", step=0.01)
    (event,) = run.events
    assert (event.joint, event.reason) == ("slide", "beyond its limit")
    assert event.time == pytest.approx(fall, abs=1e-9)
    stepped = simulate(robot, None, ([[0.0], [0.5]], [[0.0], [3.0]]), 1.0, limits="stop")
    assert [e.row for e in stepped.events] == [(0,), (1,)]
    assert stepped.time[0] == pytest.approx(fall, abs=2e-3)
    assert np.isnan(stepped.q[0, -1]).all()
    assert simulate(robot, None, None, 1.0).q[-1, 0] == pytest.approx(-9.81 / 2)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("compile", [True, False])
def test_a_row_whose_controller_gives_nan_ends_and_the_others_go_on(compile):
    robot = neuler.robots.two_link()

    def law(t, q, qd, memory, reference):
        return np.stack([np.zeros_like(q[..., 0]), np.sqrt(0.5 - q[..., 1])], axis=-1) - 0.1 * qd, memory

    run = simulate(robot, law, ([[0.0, 0.3], [0.0, -1.0]], [[0.0, 2.0], [0.0, 0.0]]), 0.4, compile=compile)
    (event,) = run.events
    assert (event.row, event.joint, event.reason) == ((0,), "joint2", "the controller gave NaN or infinity")
    assert 0.05 < event.time < 0.3
    last = round(event.time / 1e-3)
    assert np.isfinite(run.q[0, : last - 1]).all()
    assert np.isnan(run.q[0, last + 2 :]).all()
    assert np.isfinite(run.q[1]).all()
    alone = simulate(robot, law, ([0.0, -1.0], [0.0, 0.0]), 0.4, compile=compile)
    np.testing.assert_array_equal(alone.q, run.q[1])


@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_controller_that_gives_nan_within_a_step_is_told():
    run = simulate(pendulum(), lambda t, q, qd, m, r: (np.sqrt(0.35 - q), m), ([0.3], [0.1]), 1.0, method="dop853")
    (event,) = run.events
    assert event.reason == "the controller gave NaN or infinity"
    assert event.time == pytest.approx(0.073, abs=1e-3)


@pytest.mark.parametrize("method", few(["rk4", "dop853"], 1))
def test_a_run_that_diverges_is_told(method):
    robot = pendulum()

    def law(t, q, qd, memory, reference):
        return 200.0 * qd, memory

    run = simulate(robot, law, ([0.3], [0.1]), 1.0, method=method, step=1e-3)
    (event,) = run.events
    assert event.joint == "hinge"
    assert event.reason == "diverged"
    assert 0 < event.time < 0.2
    assert "diverged" in repr(run)


@pytest.mark.slow
def test_a_step_too_long_for_a_spring_is_said():
    robot = weight(stiffness=2e7, role="driven")  # 3162 rad/s: rk4 takes steps up to 0.89 ms
    with pytest.warns(RuntimeWarning, match="simulate: method 'rk4' is unstable at step = 0.001 s"):
        run = simulate(robot, None, None, 0.1)
    assert "joint 'slide'" in run.notes[0]
    assert run.events
    assert simulate(robot, None, None, 0.1, method="implicit").notes == ()
    assert simulate(robot, None, None, 0.1, step=5e-4).notes == ()
    assert simulate(pendulum(coulomb=2.0, viscous=0.1), None, None, 0.1).notes == ()  # friction that jumps is no damper


@pytest.mark.slow
def test_steps_that_become_too_small_are_told():
    robot = pendulum(coulomb=8.0)
    run = simulate(robot, None, ([0.0], [0.5]), 1.0, method="dop853", step=0.1)
    (event,) = run.events
    assert "too small" in event.reason


@pytest.mark.parametrize("fault", [lambda: 1 / 0, lambda: np.zeros(3)])
def test_a_controller_that_fails_on_its_way_keeps_the_way(fault):
    """Its own error, or a wrong shape; the run until then is in the exception."""
    robot = neuler.robots.two_link()

    def control(t, q, qd, memory, reference):
        return (np.zeros(2) if t < 0.5 else fault()), memory

    with pytest.raises((ZeroDivisionError, neuler.InputError)) as caught:
        simulate(robot, control, ([0.3, 0.2], [1.0, 0.0]), 1.0)
    run = caught.value.run
    assert 0.1 < run.t[-1] <= 0.5
    assert np.isfinite(run.q).all()
    assert "is in the exception's .run" in caught.value.__notes__[0]


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_functions_are_controllers(method):
    """With the inputs they have; as the same law in Python."""
    pytest.importorskip("scipy")
    robot, start = neuler.robots.two_link(), ([0.3, 0.2], [0.0, 0.0])
    law = neuler.function(lambda q, qd: -10.0 * q - 3.0 * qd, {"q": 2, "qd": 2}, "tau")
    found = simulate(robot, law, start, 0.5, method=method)
    plain = lambda t, q, qd, memory, reference: (-10.0 * q - 3.0 * qd, memory)  # noqa: E731
    called = simulate(robot, plain, start, 0.5, method=method)
    np.testing.assert_allclose(found.q, called.q, atol=1e-12)


def test_events_have_the_value_of_the_joint():
    limited = [dataclasses.replace(joint, limits=neuler.Limits(-0.5, 0.5)) for joint in neuler.robots.two_link().joints]
    robot = neuler.robots.two_link().replace(joints=limited)
    (event,) = simulate(robot, None, ([0.0, 0.0], [0.0, 1.0]), 1.0, limits="stop").events
    assert event.joint == "joint2"
    assert 0.5 < event.value < 0.502
    assert "last at 0.50" in str(event)


@pytest.mark.parametrize("method", few(["rk4", "dop853"], 1))
def test_an_interruption_keeps_what_was_computed(method):
    robot = pendulum()
    told = []

    def progress(seconds):
        told.append(seconds)
        if sum(told) > 0.5:
            raise KeyboardInterrupt

    law = control.GravityPD(robot, kp=5.0, kd=0.1, reference=[0.0])
    with pytest.raises(Interrupted) as stop:
        simulate(robot, law, ([0.5], None), 5.0, method=method, progress=progress)
    run = stop.value.run
    whole = simulate(robot, law, ([0.5], None), 5.0, method=method)
    assert 0.3 < run.t[-1] < 4.5
    np.testing.assert_array_equal(run.q, whole.q[: len(run.t)])
    assert [event.reason for event in run.events] == ["interrupted"]
    assert isinstance(stop.value, KeyboardInterrupt)


def test_progress_adds_up_to_the_duration():
    for method in ("rk4", "dop853"):
        told = []
        simulate(pendulum(), None, ([0.5], None), 3.0, method=method, progress=told.append)
        assert sum(told) == pytest.approx(3.0)
