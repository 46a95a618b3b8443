"""Closed-loop identification: exact without noise, unbiased where least squares are not, and what is refused."""

import dataclasses
import functools

import numpy as np
import pytest

import neuler
from neuler import InputError, identify
from neuler import math as nm
from neuler.control import ComputedTorque, GravityPD, Reference, SlotineLi
from neuler.identify import Log, closed_loop, least_squares, loop_search
from neuler.identify.closed_loop import estimate
from neuler.identify.loop_search import LoopProblem, Search, begun
from neuler.identify.loop_setup import closed_runs

METHODS = ("didim", "input_error", "output_error")
DT = 4e-3
COLUMNS = ("links", "joint1.viscous", "joint2.viscous")


def fourier(size, seed, amplitude=0.5, base=0.2, order=5):
    """A reference with harmonics of a base frequency (Hz)."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, order, size)) * amplitude / np.sqrt(np.arange(1, order + 1))[:, None]
    w = 2 * np.pi * base * np.arange(1, order + 1)
    return Reference(
        lambda t: sum(a[k] * nm.sin(w[k] * t) + b[k] * nm.cos(w[k] * t) for k in range(order)), 2, "fourier"
    )


@functools.cache
def pair(dry=True):
    """A two-link arm with friction, and the one that is given, with other numbers."""
    robot = neuler.robots.two_link()
    own = {"joint1.viscous": 0.3, "joint2.viscous": 0.2}
    if dry:
        own |= {"joint1.coulomb": 0.5, "joint2.coulomb": 0.3}
    true = robot.with_parameters(own)
    off = {name: value * factor for (name, value), factor in zip(own.items(), (0.7, 1.2, 0.8, 1.3), strict=False)}
    return true, true.with_parameters({**off, "link2.mass": 1.3 * true.links[2].mass, "link2.mx": 0.15})


def law_of(given, seed=3, period=DT, kind=GravityPD, **more):
    gains = {"kp": 60.0, "kd": 8.0} if kind is GravityPD else {"kp": 150.0}
    return kind(given, **gains, reference=fourier(2, seed), period=period, **more)


def run_of(true, law, duration=6.0, step=DT, every=1):
    start = tuple(np.split(np.asarray(law.reference(0.0))[: 2 * true.nv], 2))
    return neuler.simulate(true, law, start, duration, step=step, every=every, audit=False)


@functools.cache
def ran(dry=True, seed=3, kind=GravityPD):
    true, given = pair(dry)
    law = law_of(given, seed, kind=kind)
    return law, run_of(true, law)


def log_of(dry=True, seed=3, kind=GravityPD, **fields):
    law, run = ran(dry, seed, kind)
    return Log(pair(dry)[1], run.t, run.q, run.tau, **fields), law


def errors(found, true):
    wanted = true.base_parameters(found.base.columns).values
    return np.abs(found.values - wanted).max() / np.abs(wanted).max()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [GravityPD, ComputedTorque])
def test_parameters_come_back_without_noise(method, kind):
    """Dry friction included: the joints turn round all the time."""
    log, law = log_of(kind=kind)
    found = getattr(closed_loop, method)(log, law, outliers=False, step=DT)
    assert errors(found, pair()[0]) < 1e-9
    assert found.estimate.converged
    assert found.estimate.method == method
    assert len(found.base) == len(found.estimate.sd) == 9
    assert found.settings["simulation"]["log"]["step"] == DT
    assert found.settings["errors"][-1] < 1e-8 < found.settings["errors"][0] or found.settings["didim_iterations"]
    again = found.robot()
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 20, 2))
    assert np.allclose(again.inverse_dynamics(q, qd, qdd), pair()[0].inverse_dynamics(q, qd, qdd), atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_several_logs_each_with_its_controller(method):
    (a, law_a), (b, law_b) = log_of(seed=3, name="a"), log_of(seed=5, name="b", weight=0.5)
    options = {"cutoff": 40.0, "decimate": 2, "outliers": False, "step": DT}
    found = getattr(closed_loop, method)([a, b], {"a": law_a, "b": law_b}, **options)
    assert errors(found, pair()[0]) < 1e-9
    assert set(found.settings["simulation"]) == {"a", "b"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("torque", ["before", "after"])
def test_a_controller_faster_than_the_log(method, torque):
    """5 samples of the controller to one of the log; a torque of the log is the one before or after its time."""
    true, given = pair()
    law = law_of(given, period=2e-3)
    run = run_of(true, law, duration=6.0, step=1e-3)
    shift = 0 if torque == "before" else 1
    at = np.arange(0, len(run.t) - 1, 10)
    log = Log(given, run.t[at], run.q[at], run.tau[at + shift])
    found = getattr(closed_loop, method)(log, law, torque=torque, outliers=False, step=1e-3, cutoff=float("inf"))
    assert found.settings["simulation"]["log"]["steps_per_sample"] == 10
    assert errors(found, true) < 1e-9
    if method == "didim":  # the other torque is that of another time
        wrong = "after" if torque == "before" else "before"
        assert errors(closed_loop.didim(log, law, torque=wrong, outliers=False, step=1e-3), true) > 1e-4


def test_rows_of_a_reference():
    """A controller without a reference of its own, as logs have it: positions, velocities, accelerations."""
    log, law = log_of()
    rows = np.asarray(law.reference(log.t))[:, : sum(law.reference_sizes)]
    bare = GravityPD(pair()[1], kp=60.0, kd=8.0, period=DT)
    one, other = closed_loop.input_error(log, law), closed_loop.input_error(log, bare, reference=rows)
    assert np.allclose(one.values, other.values, atol=1e-9)


@pytest.mark.parametrize("torque", ["before", "after"])
def test_rows_of_a_reference_for_a_controller_that_is_faster_than_the_log(torque):
    """Four of its periods to a row of the log: a row of the reference each."""
    true, given = pair(False)
    law = law_of(given, period=DT / 4)
    run = run_of(true, law, duration=2.0, step=DT / 4, every=4)
    log = Log(given, run.t, run.q, run.tau)
    each = np.asarray(law.reference(run.t[0] + DT / 4 * np.arange(4 * len(run.t))))[:, : sum(law.reference_sizes)]
    bare = GravityPD(given, kp=60.0, kd=8.0, period=DT / 4)
    options = {"columns": COLUMNS, "torque": torque, "outliers": False}
    own = closed_loop.didim(log, law, **options)
    for rows in (each, each[:-3]):  # the last row of the log is that of one period
        found = closed_loop.didim(log, bare, reference=rows, **options)
        assert np.allclose(own.values, found.values, atol=1e-9)


def test_steps_are_as_short_as_needed():
    true, given = pair(False)
    law = law_of(given, period=8e-3)
    run = run_of(true, law, step=1e-3, every=8)
    log = Log(given, run.t, run.q, run.tau)
    found = closed_loop.didim(log, law, columns=COLUMNS, outliers=False)
    chosen = found.settings["simulation"]["log"]
    assert chosen["integration_error"] < 1e-5
    assert errors(found, true) < 1e-4
    finer = closed_loop.didim(log, law, columns=COLUMNS, outliers=False, step=1e-3)
    assert errors(finer, true) < 1e-9


@pytest.mark.slow
def test_the_state_at_the_beginning():
    """Measured, given, or that of the reference: the loop forgets it, and the ends of the log are cut off."""
    log, law = log_of(False)
    q0, qd0 = np.asarray(law.reference(0.0))[:2], np.asarray(law.reference(0.0))[2:4]
    exact = closed_loop.input_error(log, law, columns=COLUMNS)
    given = closed_loop.input_error(log, law, columns=COLUMNS, start=(q0, qd0))
    measured = closed_loop.input_error(log, law, columns=COLUMNS, start="measured", trim=1.0)
    assert np.array_equal(exact.values, given.values)
    assert errors(measured, pair(False)[0]) < 1e-4
    assert [x.settings["simulation"]["log"]["start"] for x in (exact, given, measured)] == [
        "reference", "given", "measured",
    ]  # fmt: skip
    late = Log(log.robot, log.t[250:], log.q[250:], log.tau[250:], run_qd()[250:])
    found = closed_loop.input_error(late, law, columns=COLUMNS, start="measured")
    assert errors(found, pair(False)[0]) < 1e-9


def test_a_log_that_begins_a_little_aside():
    """What the simulation has to forget is said."""
    true, given = pair(False)
    law = law_of(given)
    q0, qd0 = np.asarray(law.reference(0.0))[:2] + 0.05, np.asarray(law.reference(0.0))[2:4]
    run = neuler.simulate(true, law, (q0, qd0), 6.0, step=DT, audit=False)
    log = Log(given, run.t, run.q, run.tau)
    found = closed_loop.input_error(log, law, columns=COLUMNS, outliers=False)
    assert any("beside the simulation" in note for note in found.notes)
    exact = closed_loop.input_error(log, law, columns=COLUMNS, outliers=False, start=(q0, qd0))
    assert not any("beside the simulation" in note for note in exact.notes)
    assert errors(exact, true) < 1e-9 < errors(found, true)


def run_qd():
    return ran(False)[1].qd


@pytest.mark.parametrize("method", METHODS)
def test_unbiased_where_least_squares_is_not(method):
    """Noise of positions, not filtered: it is in the regressor of measured motion, not in that of a simulated one."""
    true, given = pair(False)
    law, run = ran(False)
    base = given.base_parameters(COLUMNS)
    wanted = true.base_parameters(COLUMNS).values
    rng = np.random.default_rng(METHODS.index(method))
    found, spread, usual = [], [], []
    for _ in range(10):
        q = run.q + 1e-3 * rng.normal(size=run.q.shape)
        tau = run.tau + 0.1 * rng.normal(size=run.tau.shape)
        ready = Log(given, run.t, q, tau).prepare(float("inf"), outliers=False, dead_zone=0.0, check=False)
        result, notes, _ = estimate(method, [ready], base, law)
        assert result.converged
        assert not notes
        found.append(result.values)
        spread.append(result.sd)
        W = base.regressor()(ready.q, ready.qd, ready.qdd)
        usual.append(least_squares.weighted(W, ready.tau, base.names).values)
    bias, size = np.mean(found, axis=0) - wanted, np.std(found, axis=0, ddof=1) / np.sqrt(10)
    assert (np.abs(bias) < 4 * size).all()  # Student's t with 9 degrees: 0.3 % each
    assert (np.abs(bias[[0, 1, 3]]) < 0.01 * wanted[[0, 1, 3]]).all()
    lost = np.mean(usual, axis=0) - wanted
    assert (np.abs(lost[[0, 3]]) > 0.5 * wanted[[0, 3]]).all()
    z = (np.array(found) - wanted) / np.array(spread)
    assert 0.6 < np.sqrt((z**2).mean()) < 1.6  # the standard deviations hold


def test_noise_inside_the_loop():
    """The real controller acts on noisy measurements; the simulated one does not know of them."""
    true, given = pair(False)
    law = law_of(given)
    start = tuple(np.split(np.asarray(law.reference(0.0))[:4], 2))
    rng, base = np.random.default_rng(1), given.base_parameters(COLUMNS)
    wanted = true.base_parameters(COLUMNS).values

    def noisy(t, q, qd, memory, noise):
        return law(t, q + noise[:2], qd + noise[2:])[0], memory

    noise = np.concatenate([1e-3 * rng.normal(size=(2000, 2)), 2e-2 * rng.normal(size=(2000, 2))], axis=1)
    run = true.rollout(*start, noisy, DT, steps=2000, reference=noise, period=DT)
    log = Log(given, DT * np.arange(1, 2001), run.q + 1e-3 * rng.normal(size=run.q.shape), run.tau)
    ready = log.prepare(float("inf"), outliers=False, dead_zone=0.0, check=False, trim=1.0)
    for method in METHODS:
        found, _, _ = estimate(method, [ready], base, law, start="measured")
        assert (np.abs(found.values - wanted) < 0.01 * np.abs(wanted).max()).all()


def test_the_jacobian_is_exact_behind_the_filter():
    """Residuals of positions and torques, filtered and decimated, by central differences."""
    log, law = log_of()
    ready, base = log.prepare(30.0, decimate=5, outliers=False), pair()[1].base_parameters(closed_loop.COLUMNS)
    for method in ("input_error", "output_error"):
        runs, _, _ = closed_runs(method, [ready], base, law, base.values)
        problem = LoopProblem(method, runs)
        W = problem.data(begun(problem, base.values)).W
        for k in (0, 3, 5):
            step = 1e-6 * np.eye(len(base))[k]
            ahead, back = (problem.at(base.values + sign * step).residuals for sign in (1, -1))
            wanted = -(ahead - back) / 2e-6
            assert np.abs(W[:, :, k] - wanted).max() < 1e-5 * np.abs(wanted).max()


def test_a_step_that_makes_no_robot_is_halved():
    """From masses far too small the first step overshoots: the inertia matrix stays positive definite on the way."""
    log, law = log_of(False)
    base = pair(False)[1].base_parameters(COLUMNS)
    begin = base.values * 0.2 + np.array([0, 0, 0, 0.2, 0, 0])
    ready = log.prepare(outliers=False)
    for method in METHODS:
        found, _, settings = estimate(method, [ready], base, law, begin, warm=False)
        assert found.converged
        assert np.allclose(found.values, pair(False)[0].base_parameters(COLUMNS).values, atol=1e-8)
        assert settings["didim_iterations"] == 0
    runs, _, _ = closed_runs("didim", [ready], base, law, base.values)
    problem = LoopProblem("didim", runs)
    assert problem.at(base.values * np.array([-1, 1, 1, 1, 1, 1])) is None
    assert "positive definite" in problem.reason or "simulation ended" in problem.reason


def test_a_search_that_fails_says_so():
    """Torques of the opposite sign: no robot has them."""
    law, run = ran(False)
    base = pair(False)[1].base_parameters(COLUMNS)
    ready = Log(base.robot, run.t, run.q, -run.tau).prepare(check=False)
    found, notes, _ = estimate("didim", [ready], base, law, iterations=8)
    assert not found.converged
    assert any("did not converge" in note for note in (*notes, *found.notes))
    assert any("do not rely on the values" in note for note in notes)


@pytest.mark.parametrize("method", METHODS)
def test_friction_is_not_below_zero(method):
    """Of a robot without dry friction: noise asks for less than none in one of two cases, and the search goes on."""
    law, run = ran(False)
    rng, given = np.random.default_rng(0), pair(False)[1]
    base = given.base_parameters((*COLUMNS, "joint1.coulomb", "joint2.coulomb"))
    wanted, below = true_values(base), 0
    for _ in range(3):
        tau = run.tau + 0.2 * rng.normal(size=run.tau.shape)
        q = run.q + 1e-3 * rng.normal(size=run.q.shape)
        ready = Log(given, run.t, q, tau).prepare(float("inf"), outliers=False, dead_zone=0.0, check=False)
        found, notes, settings = estimate(method, [ready], base, law, step=DT)
        assert found.converged
        assert settings["iterations"] < 10
        assert (np.abs(found.values - wanted) < 5 * found.sd).all()
        assert all(x >= 0.0 for name, x in zip(found.names, found.values, strict=True) if "coulomb" in name)
        below += any("not below zero" in note for note in notes)
    assert below


@pytest.mark.slow
def test_columns_held_at_zero_are_not_stepped():
    """A column that was taken out has no step at all, not one of the size of rounding, and the others are solved."""
    law, run = ran(False)
    given = pair(False)[1]
    base = given.base_parameters((*COLUMNS, "joint1.coulomb", "joint2.coulomb"))
    rng = np.random.default_rng(0)
    for _ in range(20):
        tau = run.tau + 0.2 * rng.normal(size=run.tau.shape)
        ready = Log(given, run.t, run.q, tau).prepare(float("inf"), outliers=False, decimate=10)
        problem = LoopProblem("didim", closed_runs("didim", [ready], base, law, base.values, step=DT)[0])
        point = begun(problem, true_values(base))
        data = problem.data(point)
        _, sd, step = Search(problem, 1)._direction(point, data)
        dry = step.values[-2:]
        assert (dry >= 0.0).all()
        free = np.append(np.ones(len(base) - 2, dtype=bool), dry > 0.0)
        rows = data.rows_scale(sd)[..., None]
        A, y = (data.W * rows)[..., free].reshape(-1, free.sum()), (data.y[..., None] * rows).ravel()
        assert np.allclose(step.values[free], np.linalg.lstsq(A, y, rcond=None)[0], rtol=1e-6, atol=1e-9)


def test_rounding_does_not_hold_a_search_up(monkeypatch):
    """Of a column of zeros singular values may give a step of 1e-20: it is none, and what is held stays held."""
    law, run = ran(False)
    base = pair(False)[1].base_parameters((*COLUMNS, "joint1.coulomb", "joint2.coulomb"))
    ready = Log(base.robot, run.t, run.q, run.tau).prepare(outliers=False, decimate=10)
    problem = LoopProblem("didim", closed_runs("didim", [ready], base, law, base.values, step=DT)[0])
    point = begun(problem, true_values(base))
    data, calls, solved = problem.data(point), 0, loop_search.solved

    def rounded(factor):
        nonlocal calls
        calls += 1
        assert calls < 10, "the same columns are held again and again"
        found = solved(factor)
        return dataclasses.replace(found, values=np.append(found.values[:-2], [-1e-20, -1e-20]))

    monkeypatch.setattr(loop_search, "solved", rounded)
    _, _, step = Search(problem, 1)._direction(point, data)
    assert not step.values[-2:].any()
    assert calls == 2


def true_values(base):
    return pair(False)[0].base_parameters(base.columns).values


def test_a_payload_alone():
    """What the robot has beside the columns stays as it is."""
    robot = neuler.robots.two_link()
    true = robot.with_parameters({"payload:link2": [0.5, 0.3, 0, 0, 0.01, 0.25, 0.25, 0, 0, 0]})
    law = law_of(robot)
    run = run_of(true, law)
    found = closed_loop.didim(Log(robot, run.t, run.q, run.tau), law, columns="payload:link2", outliers=False)
    assert found.base.names[0].startswith("payload:link2")
    assert found.base.values.max() == 0.0
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 20, 2))
    assert np.allclose(found.robot().inverse_dynamics(q, qd, qdd), true.inverse_dynamics(q, qd, qdd), atol=1e-7)


@pytest.mark.slow
def test_loops_and_plain_functions():
    """A four-bar linkage, softly led by a plain function: exact derivatives arrive, DIDIM says that it does not."""
    robot = neuler.robots.four_bar()
    own = robot.links[1]
    true = robot.with_parameters({"crank.zz": own.inertia[2] + 0.3, "crank.mx": own.first_moment[0] + 0.2})

    def law(t, q, qd):
        return 40.0 * (0.6 * nm.sin(3.0 * t) + 0.3 * nm.sin(7.0 * t) - q[:1]) - 4.0 * qd

    law.period = 2e-3
    q0 = robot.neutral()
    run = neuler.simulate(true, law, (q0, None), 5.0, step=2e-3, audit=False, compile=True)
    log = Log(robot, run.t, run.q, run.tau, run.qd)
    options = {"columns": "links", "start": (q0, np.zeros(1)), "outliers": False}
    for method in ("input_error", "output_error"):
        found = getattr(closed_loop, method)(log, law, **options)
        assert found.estimate.converged
        assert errors(found, true) < 1e-9
    found = closed_loop.didim(log, law, **options, iterations=10)
    assert not found.estimate.converged
    assert any("method 'input_error' goes on" in note for note in found.notes)
    assert any("least error" in note for note in found.notes)


# ---- what is refused -----------------------------------------------------------------------------------------------


def test_without_a_controller():
    log, _ = log_of(False)
    for method in METHODS:
        with pytest.raises(InputError, match=f"method '{method}' simulates the closed loop: give controller"):
            estimate(method, [log.prepare()], pair(False)[1].base_parameters("links"), None)


def other_robot(log):
    return {"controller": ComputedTorque(neuler.robots.puma560(), kp=1.0, reference=np.zeros(6), period=DT)}


def late(log):
    return {"log": Log(log.robot, log.t + 1.0, log.q, log.tau)}


def between(log):
    return {"log": Log(log.robot, log.t + 0.3 * DT, log.q, log.tau)}


def uneven(log):
    t = log.t + 0.2 * DT * np.random.default_rng(0).uniform(-1, 1, len(log.t))
    return {"log": Log(log.robot, t, log.q, log.tau)}


def before(log):
    return {"log": Log(log.robot, log.t - 1.0, log.q, log.tau), "start": "measured"}


def controlled(**changes):
    def make(log):
        return {"controller": law_of(log.robot, **changes)}

    return make


def wild(log):
    return {"controller": GravityPD(log.robot, kp=6e5, kd=1.0, reference=fourier(2, 3), period=DT)}


def held(log):
    return {"controller": GravityPD(log.robot, kp=60.0, kd=8.0, period=DT)}


def option(**given):
    return lambda log: given


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (other_robot, "controller is of robot 'puma560'"),
        (option(controller=3.0), "controller must be a controller"),
        (option(controller={"other": None}), "nothing for log 'log'"),
        (held, "the controller has no reference"),
        (late, "does not begin where the reference does"),
        (between, "no sample of the controller's clock"),
        (before, "no sample of the controller's clock"),
        (uneven, "times are uneven"),
        (controlled(period=DT * np.pi), "no step divides both"),
        (controlled(period=1e-7), "no step divides both"),
        (wild, "the closed loop is unstable"),
        (controlled(seed=11), "does not begin where the reference does"),
        (option(step=3e-3), "must divide"),
        (option(step=-1.0), "step"),
        (option(step="fast"), "step"),
        (option(step=1e-9), "steps are too many"),
        (option(start="rest"), "start must be"),
        (option(start=(np.zeros(3), np.zeros(2))), "start q0"),
        (option(start=([np.nan, 0.0], [0.0, 0.0])), "finite"),
        (option(start=([3.0, 3.0], [0.0, 0.0])), "does not begin where"),
        (option(start=5), "start must be"),
        (option(torque="now"), "torque"),
        (option(start_values=[1.0, 2.0]), "start_values"),
        (option(start_values=np.full(6, np.nan)), "start_values must be 6 finite"),
        (option(start_values=-np.ones(6)), "positive definite|unstable"),
        (option(iterations=0), "iterations"),
        (option(iterations=2.5), "iterations"),
        (option(reference=np.zeros((3, 6))), "leave reference= away"),
        (option(columns="link7"), "link7"),
        (option(cutof=3.0), "'cutof'; did you mean 'cutoff'"),
        (option(iteration=3), "did you mean 'iterations'"),
        (option(covariance="none"), "covariance"),
    ],
)
def test_bad_input(change, words):
    log, law = log_of(False)
    given = {"log": log, "controller": law, "columns": COLUMNS, **change(log)}
    with pytest.raises(InputError, match=words):
        closed_loop.didim(given.pop("log"), given.pop("controller"), **given)


def test_bad_logs():
    log, law = log_of(False)
    base = pair(False)[1].base_parameters(COLUMNS)
    with pytest.raises(InputError, match="at least one log"):
        closed_loop.didim([], law)
    with pytest.raises(InputError, match="logs must be"):
        closed_loop.didim(np.zeros(3), law)
    with pytest.raises(InputError, match="another robot"):
        estimate("didim", [log.prepare()], neuler.robots.two_link().base_parameters("links"), law)
    with pytest.raises(InputError, match="two logs are called"):
        closed_loop.didim([log, log], law)
    with pytest.raises(InputError, match="method"):
        estimate("kalman", [log.prepare()], base, law)
    with pytest.raises(InputError, match="no log is called"):
        closed_loop.didim(log, {"log": law, "b": law})
    bare = GravityPD(pair(False)[1], kp=60.0, kd=8.0, period=DT)
    with pytest.raises(InputError, match="rows of"):
        closed_loop.didim(log, bare, reference=np.zeros((5, sum(bare.reference_sizes))))
    faster = GravityPD(pair(False)[1], kp=60.0, kd=8.0, period=DT / 4)
    rows = np.zeros((len(log.t), sum(faster.reference_sizes)))
    with pytest.raises(InputError, match="4 for each row of the log, as often as the controller"):
        closed_loop.didim(log, faster, reference=rows)


def test_columns_that_the_motion_does_not_tell_are_refused():
    """A reference that stands still says nothing of inertias."""
    _, given = pair(False)
    law = GravityPD(given, kp=60.0, kd=8.0, reference=[0.3, -0.2], period=DT)
    run = run_of(given, law)
    log = Log(given, run.t, run.q + 1e-6 * np.sin(run.t)[:, None], run.tau + 1e-6 * np.sin(run.t)[:, None])
    with pytest.raises(InputError, match="determines"):
        closed_loop.input_error(log, law, columns=COLUMNS, check=False)


def test_a_controller_without_a_period_is_sampled_by_the_step():
    true, given = pair(False)
    law = SlotineLi(given, lam=5.0, k=6.0, reference=fourier(2, 3))
    run = run_of(true, law)
    found = closed_loop.input_error(Log(given, run.t, run.q, run.tau), law, columns=COLUMNS, outliers=False)
    assert errors(found, true) < 1e-9
    assert any("no period" in note for note in found.notes)


def test_history_and_counts():
    log, law = log_of(False)
    base = pair(False)[1].base_parameters(COLUMNS)
    runs, _, _ = closed_runs("didim", [log.prepare(outliers=False)], base, law, base.values)
    problem = LoopProblem("didim", runs)
    search = Search(problem, 2)
    *_, passes, converged = search.run(begun(problem, base.values))
    assert (passes, converged) == (2, False)
    assert search.history[1] < search.history[0]
    assert problem.derivatives == 2


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["pd", "computed_torque"])
def test_an_arm_of_six_joints(method, kind):
    """A PUMA with friction, all its 58 base parameters off by up to 15 %: back without noise, and within noise."""
    true = neuler.robots.puma560()
    kernel, rng = true.regressor, np.random.default_rng(0)
    factors = rng.uniform(0.85, 1.15, len(kernel.column_names))
    given = true.with_parameters(dict(zip(kernel.column_names, kernel.column_values * factors, strict=True)))
    path = fourier(6, 1, 0.4, 0.1)
    if kind == "pd":
        kp, kd = np.array([4000, 4000, 3000, 500, 500, 300]), np.array([400, 400, 300, 40, 40, 20])
        law = GravityPD(given, kp=kp, kd=kd, reference=path, period=1e-3)
    else:
        law = ComputedTorque(given.without_friction(), kp=400.0, reference=path, period=1e-3)
    run = run_of(true, law, duration=10.0, step=1e-3)
    found = getattr(closed_loop, method)(
        Log(given, run.t, run.q, run.tau), law, cutoff=float("inf"), outliers=False, iterations=60
    )
    assert len(found.base) == 58
    assert errors(found, true) < 1e-8
    q = run.q + 2e-5 * rng.normal(size=run.q.shape)
    tau = run.tau + 0.05 * rng.normal(size=run.tau.shape)
    found = getattr(closed_loop, method)(Log(given, run.t, q, tau), law, cutoff=40.0, outliers=False)
    assert found.estimate.converged
    z = (found.values - true.base_parameters(found.base.columns).values) / found.estimate.sd
    assert 0.6 < np.sqrt((z**2).mean()) < 1.6


@pytest.mark.parametrize("kp", [60.0, 50.0])
def test_a_controller_with_other_gains_leaves_more_than_noise(kp):
    """It converges nevertheless, to wrong parameters, and says so; values are those that were simulated."""
    log, law = log_of(False)
    rng = np.random.default_rng(0)
    noisy = Log(log.robot, log.t, log.q, log.tau + 0.02 * rng.standard_normal(log.tau.shape))
    other = GravityPD(log.robot, kp=kp, kd=8.0, reference=law.reference, period=DT)
    found = identify.fit(noisy, method="input_error", controller=other, columns=COLUMNS, cutoff=np.inf)
    assert found.estimate.converged
    said = [note for note in found.notes if "times its noise" in note]
    assert bool(said) is (kp == 50.0)
    assert all("check the controller's gains" in note for note in said)
    assert not any("samples earlier" in note or "samples late" in note for note in found.notes)
