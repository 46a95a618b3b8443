"""Stops that stop joints, and limits of effort: in rollouts and in simulations."""

import dataclasses

import numpy as np
import pytest

import neuler
from neuler import Joint, Limits, Link, Robot
from neuler.errors import InputError
from random_robots import few

METHODS = ("rk4", "euler", "implicit")


def lift(**drive):
    """2 kg that move up and down between -0.5 and 1 m."""
    links = [Link("base"), Link.from_com("block", mass=2.0, inertia=(1, 1, 1))]
    joint = Joint("lift", "prismatic", "base", "block", axis=(0, 0, 1), limits=Limits(-0.5, 1.0), **drive)
    return Robot("lift", links, [joint])


def bounded(robot, lower, upper, effort=np.inf):
    joints = [dataclasses.replace(j, limits=Limits(lower, upper, effort=effort)) for j in robot.joints]
    return robot.replace(joints=joints)


@pytest.mark.parametrize("method", METHODS)
def test_a_block_falls_on_its_stop_and_stays(method):
    found = lift().rollout([0.5], [1.0], [[0.0]], 1e-3, steps=1500, method=method, limits="hold")
    lands = (1.0 + np.sqrt(1.0 + 2 * 9.81 * 1.0)) / 9.81  # from 0.5 m at 1 m/s up, 1 m down
    still = found.qd[:, 0] == 0.0
    first = int(np.argmax(still))
    assert abs(1e-3 * (first + 1) - lands) <= 2e-3
    assert still[first:].all()
    assert (found.q[first:] == -0.5).all()
    assert found.q.min() == -0.5
    assert not found.status.any()


@pytest.mark.parametrize("method", METHODS)
def test_a_block_leaves_its_stop_when_it_is_pulled_away(method):
    tau = np.full((1000, 1), 100.0)
    tau[500:] = 0.0
    found = lift(coulomb=2.0).rollout([0.9], [3.0], tau, 1e-3, method=method, limits="hold")
    assert (found.q[100:500] == 1.0).all()
    assert (found.qd[100:500] == 0.0).all()
    fall = (9.81 - 2.0 / 2.0) * 0.1  # a tenth of a second later
    assert found.qd[599, 0] == pytest.approx(-fall, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_an_impact_is_the_one_of_least_change(method):
    """Inelastic, all joints feel it: v minimises (v - v*)^T M (v - v*) where the stopped joint may not go on."""
    robot = bounded(neuler.robots.two_link().with_gravity((0, 0, 0)), -1.0, 1.0)
    q, qd, dt = np.array([0.2, 1.0]), np.array([0.7, 2.0]), 1e-6  # the second joint is at its stop, and pushes
    found = robot.rollout(q, qd, np.zeros((1, 2)), dt, method=method, limits="hold")
    mass = robot.mass_matrix(q)
    expected = [qd[0] + mass[0, 1] / mass[0, 0] * qd[1], 0.0]
    np.testing.assert_allclose(found.qd[0], expected, atol=1e-5)
    assert found.qd[0, 1] == 0.0
    assert found.q[0, 1] == 1.0
    before, after = (robot.energy(a, b).kinetic for a, b in ((q, qd), (found.q[0], found.qd[0])))
    lost = qd[1] ** 2 / np.linalg.inv(mass)[1, 1] / 2
    assert before - after == pytest.approx(lost, rel=1e-4)


def rough_arm():
    robot = neuler.robots.two_link()
    return robot.replace(joints=[dataclasses.replace(joint, coulomb=0.5) for joint in robot.joints])


@pytest.mark.parametrize(("method", "make"), [
    *((method, rough_arm) for method in METHODS),
    *(pytest.param(method, neuler.robots.puma560, marks=pytest.mark.slow) for method in METHODS),
])  # fmt: skip
def test_joints_never_pass_their_stops_and_impacts_make_no_energy(method, make):
    robot = bounded(make(), -1.0, 1.0)
    n = robot.nv
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-1, 1, (16, n)), 4 * rng.normal(size=(16, n))
    tau = robot.gravity_force(q)[:, None]
    found = robot.rollout(q, qd, tau, 1e-3, steps=3000, method=method, limits="hold")
    assert not found.status.any()
    assert (np.abs(found.q) <= 1.0).all()
    assert (np.abs(found.q) == 1.0).any(axis=(0, 1)).all()  # every joint meets one
    held = robot.with_gravity((0, 0, 0)).rollout(q, qd, np.zeros((1, n)), 1e-3, 3000, method, limits="hold")
    energy = robot.with_gravity((0, 0, 0)).energy(held.q, held.qd).kinetic
    assert (np.diff(energy, axis=-1) <= 1e-4 * energy[:, :1]).all()
    assert (held.qd[:, -1] == 0.0).all()


@pytest.mark.parametrize("method", METHODS)
def test_an_impact_moves_the_others_from_its_moment_on(method):
    """Two sliders in a row: when the first meets its stop, the second goes on."""
    links = [Link("base"), *(Link.from_com(name, mass=1.0, inertia=(1, 1, 1)) for name in "ab")]
    joints = [
        Joint("one", "prismatic", "base", "a", axis=(1, 0, 0), limits=Limits(-10, 0.3337)),
        Joint("two", "prismatic", "a", "b", axis=(1, 0, 0)),
    ]
    robot = Robot("sliders", links, joints, gravity=(0, 0, 0))
    found = robot.rollout([0.0, 0.0], [1.0, 0.0], np.zeros((1, 2)), 1e-2, steps=100, method=method, limits="hold")
    assert found.q[-1] == pytest.approx([0.3337, 1.0 - 0.3337], abs=1e-12 if method != "euler" else 1e-2)


@pytest.mark.parametrize("method", METHODS)
def test_a_machine_with_a_loop_meets_its_stop(method):
    crank = neuler.robots.four_bar()
    joints = [dataclasses.replace(j, limits=Limits(1.0, 2.0)) if j.name == "crank" else j for j in crank.joints]
    robot = crank.replace(joints=joints)
    found = robot.rollout(
        robot.assemble([1.5]).q, [20.0], np.zeros((1, 1)), 1e-3, steps=60, method=method, limits="hold"
    )
    assert not found.status.any()
    assert found.q[-1, 0] == 2.0
    assert found.qd[-1, 0] == 0.0
    assert np.linalg.norm(robot.closure(found.q[-1]).open_by) < 1e-9


def test_what_has_no_stops_says_so():
    crank = neuler.robots.four_bar()
    limited = bounded(crank, -3.0, 3.0)
    with pytest.raises(InputError, match=r"cannot stop joint '\w+': .*with_independent.*limits='stop'"):
        limited.rollout(crank.neutral(), [1.0], np.zeros((1, 1)), 1e-3, steps=3, limits="hold")
    free = crank.rollout(crank.neutral(), [1.0], np.zeros((1, 1)), 1e-3, steps=3, limits="hold")
    assert not free.status.any()
    with pytest.raises(InputError, match=r"limits must be one of 'ignore', 'stop', 'hold'"):
        lift().rollout([0.0], [0.0], [[0.0]], 1e-3, steps=3, limits="bounce")
    ball = Robot("ball", lift().links, [Joint("turn", "spherical", "base", "block", limits=Limits(-1, 1))])
    with pytest.raises(InputError, match=r"cannot stop joint 'turn'"):
        ball.rollout([0, 0, 0, 1.0], [1.0, 0, 0], np.zeros((1, 3)), 1e-3, steps=3, limits="hold")
    assert not ball.rollout([0, 0, 0, 1.0], [1.0, 0, 0], np.zeros((1, 3)), 1e-3, steps=3, limits="stop").status
    with pytest.raises(InputError, match=r"no stops for joints"):
        neuler.simulate(lift(), None, None, 0.1, limits="hold", method="dop853")
    beyond = lift().rollout([2.0], [0.0], [[0.0]], 1e-3, steps=3, limits="hold")
    assert beyond.status == 3


# ---- effort ----------------------------------------------------------------------------------------------


def arm():
    robot = neuler.robots.puma560()
    joints = [
        dataclasses.replace(j, limits=Limits(effort=e))
        for j, e in zip(robot.joints, (150.0, 150.0, 80.0, 20.0, np.inf, 0.0), strict=True)
    ]
    return robot.replace(joints=joints)


class Pull:
    """Asks for 200 N m of every joint, later for 500; counts its samples."""

    period = 1e-3
    memory0 = np.zeros(1)

    def __call__(self, t, q, qd, memory, reference):
        size = neuler.math.where(neuler.math.less(t, 0.0195), 200.0, 500.0)
        return size + 0.0 * q, memory + 1.0


def untraced(t, q, qd, memory, reference):
    return np.full(6, 200.0 if t < 0.0195 else 500.0), memory


SERIES = np.repeat([[200.0], [500.0]], 20, axis=0) * np.ones(6)
MOST = np.array([150.0, 150.0, 80.0, 20.0, np.inf, np.inf])


@pytest.mark.parametrize("asks", [Pull(), untraced, SERIES], ids=["compiled", "called", "series"])
@pytest.mark.parametrize("method", few(["rk4", "euler"], 1))
def test_forces_are_cut_off_and_notes_say_what_was_asked(asks, method):
    robot = arm()
    cut = neuler.simulate(robot, asks, None, 0.04, method=method, effort="clip")
    np.testing.assert_array_equal(cut.tau[1:21], np.tile(np.minimum(200.0, MOST), (20, 1)))
    np.testing.assert_array_equal(cut.tau[21:], np.tile(np.minimum(500.0, MOST), (20, 1)))
    expected = robot.rollout(np.zeros(6), np.zeros(6), np.clip(SERIES, -MOST, MOST), 1e-3, method=method)
    np.testing.assert_allclose(cut.q[1:], expected.q, rtol=0, atol=1e-12)
    told = [note for note in cut.notes if "effort limit" in note]
    assert len(told) == 4
    assert told[2] == (
        "joint 'joint3' was asked for 500 N m at 0.02 s, 6.25 times its effort limit of 80 N m; it was given its limit"
    )
    whole = neuler.simulate(robot, asks, None, 0.04, method=method)
    assert np.abs(whole.tau[-1]).max() == 500.0
    assert "given all of it (effort='clip' cuts it off)" in next(n for n in whole.notes if "'joint4'" in n)


def test_integrators_that_choose_their_steps_clip_too():
    robot = arm()
    cut = neuler.simulate(robot, SERIES[0], None, 0.02, method="dop853", effort="clip")
    np.testing.assert_array_equal(cut.tau[-1], np.minimum(200.0, MOST))
    assert "joint 'joint1' was asked for 200 N m" in cut.notes[0]


@pytest.mark.slow
def test_rollouts_clip_arrays_and_controllers():
    robot = arm()
    for asks in (Pull(), SERIES):
        found = robot.rollout(np.zeros(6), np.zeros(6), asks, 1e-3, steps=40, effort="clip")
        expected = robot.rollout(np.zeros(6), np.zeros(6), np.clip(SERIES, -MOST, MOST), 1e-3)
        np.testing.assert_allclose(found.q, expected.q, rtol=0, atol=1e-12)
    controlled = robot.rollout(np.zeros(6), np.zeros(6), Pull(), 1e-3, steps=40, effort="clip")
    assert controlled.memory == [40.0]
    function = neuler.function(lambda t, q, qd: 200.0 + 0.0 * q, {"t": (), "q": 6, "qd": 6})
    np.testing.assert_array_equal(
        robot.rollout(np.zeros(6), np.zeros(6), function, 1e-3, steps=3, effort="clip").tau,
        np.tile(np.minimum(200.0, MOST), (3, 1)),
    )
    with pytest.raises(InputError, match="effort must be one of 'ignore', 'clip'"):
        robot.rollout(np.zeros(6), np.zeros(6), SERIES, 1e-3, effort="saturate")
    with pytest.raises(InputError, match="effort must be one of 'ignore', 'clip'"):
        neuler.simulate(robot, None, None, 0.1, effort=None)


def test_a_run_within_its_limits_says_nothing():
    run = neuler.simulate(arm(), np.full(6, 10.0), None, 0.01, effort="clip")
    assert not run.notes


def test_a_batch_names_the_row_that_asked_most():
    tau = np.array([[10.0] * 6, [300.0] * 6])[:, None]
    run = neuler.simulate(arm(), np.repeat(tau, 10, axis=1), (np.zeros((2, 6)), np.zeros((2, 6))), 0.01, effort="clip")
    assert "asked for 300 N m at 0 s" in run.notes[0]


@pytest.mark.parametrize("method", few(["dop853", "radau"], 1))
def test_integrators_that_dry_friction_stops_say_so(method):
    """They do not hold: their steps end where a joint stops, and that is no divergence."""
    robot = neuler.robots.puma560().with_gravity((0, 0, 0))
    run = neuler.simulate(robot, None, (np.full(6, 0.1), np.ones(6)), 2.0, method=method)
    (event,) = run.events
    assert "steps became too small" in event.reason
    assert np.nanmax(np.abs(run.qd)) < 3.0
