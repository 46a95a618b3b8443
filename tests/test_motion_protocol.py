"""One protocol for every motion, planned, timed, simulated or recorded: files, replay, tracking, pictures, measures."""

import functools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuler
from neuler import motions, plan, timing
from neuler.errors import FormatError, InputError
from neuler.motions import Motion, Recorded
from random_robots import later
from shown_robots import all_kinds

ARM = neuler.robots.two_link()
LIMITS = [plan.within(plan.torque, 25.0), plan.within(plan.velocity, 6.0)]


@functools.cache
def made(kind):
    if kind == "planned":
        return plan.Plan(ARM, start=[0.0, -2.0], goal=[1.0, -1.0], limits=LIMITS, control_points=10).solve()
    if kind == "timed":
        return timing.time_path(ARM, [[0.0, -2.0], [0.4, -1.2], [1.0, -1.0]], torque=25.0, velocity=6.0, grid=300)
    if kind == "run":
        return neuler.simulate(ARM, [0.5, 0.2], ([0.0, -2.0], [0.3, 0.0]), 0.5)
    t = np.linspace(1.0, 2.0, 101)
    return Recorded(ARM, t, np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1))


KINDS = ("planned", "timed", "run", "recorded")


@pytest.mark.parametrize("kind", KINDS)
def test_velocities_are_the_rates_of_positions(kind):
    """By differences of its own positions, and forces by inverse dynamics."""
    motion = made(kind)
    assert isinstance(motion, Motion)
    t = np.linspace(0.07, 0.93, 40) * motion.duration
    h = 1e-6 * motion.duration
    q, qd, qdd, qddd = motion.evaluate(t, 3)
    ahead, behind = motion.evaluate(t + h, 2), motion.evaluate(t - h, 2)
    near = np.abs(t[:, None] - motion.knots).min(axis=1) > 2 * h
    for k, rate in enumerate((qd, qdd)):
        numeric = (ahead[k] - behind[k]) / (2 * h)
        scale = 1.0 + np.abs(rate).max()
        np.testing.assert_allclose(numeric[near], rate[near], atol=1e-5 * scale)
    assert q.shape == (40, ARM.nq)
    assert qddd.shape == (40, ARM.nv)
    if kind != "run":  # whose forces are held over steps
        np.testing.assert_allclose(motion.torques(t), ARM.inverse_dynamics(q, qd, qdd), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["npz", "csv"])
def test_saved_and_loaded(kind, suffix, tmp_path):
    motion = made(kind)
    path = tmp_path / f"motion.{suffix}"
    motion.save(path, count=501)
    again = motions.load(path, ARM)
    assert again.duration == pytest.approx(motion.duration)
    t = np.linspace(0.0, motion.duration, 333)
    np.testing.assert_allclose(again.evaluate(t, 0)[0], motion.evaluate(t, 0)[0], atol=2e-4)
    at = motion.sample(count=501).t
    np.testing.assert_allclose(again.torques(at), motion.torques(at), atol=1e-9)
    motion.save(tmp_path / "motion.json")


def test_a_run_is_loaded_with_all_its_states(tmp_path):
    run = made("run")
    for suffix in ("npz", "csv"):
        path = tmp_path / f"run.{suffix}"
        run.save(path)
        again = motions.load(path, ARM)
        np.testing.assert_array_equal(again.q, run.q)
        assert again.duration == pytest.approx(run.duration)


@pytest.mark.parametrize("kind", later(KINDS, "timed", "run", "recorded"))
def test_replayed_tracked_shown(kind, tmp_path):
    motion = made(kind)
    replayed = motion.replay(step=5e-4)
    assert np.abs(replayed.error).max() < (0.02 if kind == "recorded" else 5e-3)
    tracked = motion.track("computed_torque", step=1e-3, kp=900.0)
    assert np.abs(tracked.error).max() < 0.02
    motion.page(tmp_path / "page.html")
    assert "<canvas" in (tmp_path / "page.html").read_text()
    assert len(motion.plot().axes) >= 3
    html = motion._repr_html_()
    assert "data:image/png" in html
    assert "iframe" in html
    assert "iframe" in motion.player()._repr_html_()


@pytest.mark.parametrize("kind", KINDS)
def test_measures_along_any_motion(kind):
    motion = made(kind)
    t = np.linspace(0.1, 0.9, 5) * motion.duration
    q, qd, qdd = motion.evaluate(t, 2)
    tau = ARM.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(motion.measure(plan.power, t), tau * qd, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(motion.measure("velocity", t[0]), qd[0])
    own = plan.measure(lambda moment: [moment.t, moment.qd @ moment.qd], "own")
    np.testing.assert_allclose(motion.measure(own, t), np.stack([t, (qd**2).sum(axis=1)], axis=1), rtol=1e-12)
    with pytest.raises(InputError, match="there is no 'torqe'"):
        motion.measure("torqe", t)
    with pytest.raises(InputError, match="measures or its name"):
        motion.measure(3, t)


@pytest.mark.parametrize("kind", KINDS)
def test_pickled(kind):
    motion = made(kind)
    motion.sample()
    again = pickle.loads(pickle.dumps(motion))
    t = np.array([0.3 * motion.duration])
    np.testing.assert_array_equal(again.evaluate(t, 2)[1], motion.evaluate(t, 2)[1])
    assert "_samples" not in again.__dict__


@pytest.mark.parametrize("kind", KINDS)
def test_times_that_are_none(kind):
    motion = made(kind)
    for bad in (-1.0, 99.0, np.nan, "now", [[0.1]], [], None):
        with pytest.raises((InputError, TypeError)):
            motion.measure("velocity", bad)
    for bad in ({"step": 0.0}, {"step": np.nan}, {"count": 1}, {"count": 2.5}, {"step": 1e-9}):
        with pytest.raises(InputError):
            motion.sample(**bad)


# ---- recorded motions ----------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 40))
def test_samples_are_met_exactly(seed, count):
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.uniform(0.01, 0.2, count))
    q, qd, qdd = rng.normal(size=(3, count, 2))
    motion = Recorded(ARM, t, q, qd, qdd)
    found = motion.evaluate(t - t[0], 2)
    for got, wanted in zip(found, (q, qd, qdd), strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-8 * max(1.0, np.abs(wanted).max() / np.diff(t).min() ** 2))


@pytest.mark.parametrize("robot", [all_kinds(), neuler.robots.five_bar(), ARM.with_free_base()], ids=lambda r: r.name)
def test_quaternions_and_loops_stay_positions(robot):
    """Between samples positions are positions of the robot, and near those of the motion itself."""
    rng = np.random.default_rng(2)
    q0, v = np.asarray(robot.neutral(), dtype=float), 0.5 * rng.normal(size=robot.nv)
    t = np.linspace(0.0, 0.5, 26)
    q = np.stack([np.asarray(robot.integrate(q0, v, x)) for x in t])
    motion = Recorded(robot, t, q)
    at = np.linspace(0.0, 0.5, 77)
    found = motion.evaluate(at, 2)
    wanted = np.stack([np.asarray(robot.integrate(q0, v, x)) for x in at])
    assert np.abs(np.asarray(robot.difference(found[0], wanted))).max() < 1e-4
    np.testing.assert_allclose(found[1][5:-5], np.broadcast_to(v, found[1].shape)[5:-5], atol=0.05)
    if robot.loops:
        assert np.abs(np.asarray(robot.closure(found[0]).open_by)).max() < 1e-8


def test_bad_records():
    t, q = np.linspace(0, 1, 5), np.zeros((5, 2))
    for bad in (
        lambda: Recorded(ARM, t[::-1], q),
        lambda: Recorded(ARM, t, q[:4]),
        lambda: Recorded(ARM, t, q[:, :1]),
        lambda: Recorded(ARM, t, np.full((5, 2), np.nan)),
        lambda: Recorded(ARM, [0.0], q[:1]),
        lambda: Recorded(ARM, t, q, qd=np.zeros((5, 3))),
        lambda: Recorded("arm", t, q),
        lambda: Recorded(ARM, "now", q),
        lambda: motions.load("motion.npz", "arm"),
    ):
        with pytest.raises(InputError):
            bad()


def test_bad_files(tmp_path):
    (tmp_path / "a.csv").write_text("t,q_joint1\n0,1\n1,2\n")
    (tmp_path / "b.csv").write_text("t,q_joint1,q_joint2\n1,1,1\n0,2,2\n")
    (tmp_path / "c.npz").write_bytes(b"nothing")
    np.savez(tmp_path / "d.npz", t=np.arange(3.0), q=np.zeros((2, 2)))
    for name, word in (
        ("a.csv", "q_joint2"),
        ("b.csv", "increase"),
        ("c.npz", "npz"),
        ("d.npz", "shape"),
        ("e.txt", "csv"),
    ):
        with pytest.raises(FormatError, match=word):
            motions.load(tmp_path / name, ARM)


def test_a_batch_is_taken_apart_first():
    run = neuler.simulate(ARM, None, (np.zeros((3, 2)), None), 0.1)
    with pytest.raises(InputError, match=r"run\[0\]"):
        run.sample()
    assert run[1].sample(count=11).q.shape == (11, 2)
    timed = timing.time_path(ARM, [[[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [0.5, -1.0]]], velocity=2.0, torque=30.0)
    with pytest.raises(InputError, match=r"timed\[0\]"):
        timed.evaluate(np.zeros(1), 0)
    assert timed[1].sample(count=11).q.shape == (11, 2)
