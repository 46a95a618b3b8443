"""Logs whose columns were sampled too seldom, were not measured for a while, or have times in another unit."""

import numpy as np
import pytest

import neuler
from identify_motions import Fourier, log_of, motion
from neuler import InputError, identify
from neuler.identify import Log
from neuler.identify.flats import flats
from neuler.identify.held import held, interpolated
from neuler.identify.lapses import lapses
from neuler.identify.problem import LogFile
from neuler.identify.stamps import clock, gaps

STEP = 1e-5
"""rad, of the encoders."""


def noisy(name="two_link", seed=0):
    """Positions in steps, torques with 1 % of noise and Coulomb friction."""
    m, random = motion(name), np.random.default_rng(seed)
    friction = 0.1 * m.tau.std(axis=0) * np.sign(m.qd)
    return np.round(m.q / STEP) * STEP, m.tau + friction + 0.01 * m.tau.std(axis=0) * random.normal(size=m.tau.shape)


def notes_of(**changes):
    q, tau = noisy()
    given = {"q": q, "tau": tau} | changes
    ready = log_of(**given).prepare()
    return ready, [note for note in ready.notes if "were cut off at each end" not in note]


# ---- columns that change in every k-th row --------------------------------------------------------------------------


def fresh(count, every, jitter=0, seed=0):
    """For every row the last one in which a slow bus delivered, which is late by up to ``jitter`` rows."""
    random = np.random.default_rng(seed)
    rows = np.round(np.arange(0, count, every) + random.integers(-jitter, jitter + 1, len(np.arange(0, count, every))))
    rows = np.unique(np.clip(rows, 0, count - 1).astype(int))
    return np.maximum.accumulate(np.where(np.isin(np.arange(count), [0, *rows]), np.arange(count), 0))


@pytest.mark.parametrize(("every", "jitter"), [(2, 0), (4, 0), (5, 1), (8, 0), (3.3, 0)])
def test_positions_of_a_slow_bus_are_interpolated(every, jitter):
    q, _ = noisy()
    at = fresh(len(q), every, jitter)
    ready, notes = notes_of(q=q[at])
    (note,) = notes
    assert note.startswith("columns 'q_joint1', 'q_joint2' change in every ")
    assert "row only, at " in note
    assert held(q[at]) == pytest.approx([every, every], rel=0.02)
    m = motion()
    assert np.sqrt(np.mean((ready.qdd - m.qdd[ready.rows]) ** 2)) < 0.03 * m.qdd.std()
    assert ready.moving.mean() > 0.7


def test_the_rate_is_that_of_the_bus():
    q, _ = noisy()
    q = q + 1e-3 * np.random.default_rng(1).normal(size=q.shape)
    ready, _ = notes_of(q=q[fresh(len(q), 5)])
    assert ready.settings["cutoff"] <= 0.4 * 20.0
    assert np.mean(ready.settings["position_noise"]) == pytest.approx(1e-3, rel=0.4)


def test_a_slow_joint_beside_others_is_interpolated_too():
    q, _ = noisy()
    q[:, 1] = np.round(q[:, 1] / 100.0 / 1e-4) * 1e-4
    at = fresh(len(q), 4)
    assert held(q[at]).tolist() == pytest.approx([4.0, 4.0], rel=0.02)
    t = np.arange(len(q)) / 100.0
    assert np.abs(interpolated(t, q[at][:, 0], 4.0) - q[:, 0]).max() < 2e-4


def test_a_bus_that_is_too_slow_is_refused():
    m = Fourier(2, duration=2.0)
    with pytest.raises(
        InputError, match=r"positions change in every 12th row only, at 8.33 Hz: 17 samples are too few"
    ):
        Log(motion().robot, m.t, m.q[fresh(len(m.t), 12)], motion().tau[: len(m.t)]).prepare()


@pytest.mark.parametrize("size", [0.0, 1e-4, 1e-3, 5e-3])
@pytest.mark.parametrize("noise", [0.0, 2e-4])
def test_coarse_encoders_are_no_slow_bus(size, noise):
    q, tau = motion().q + noise * np.random.default_rng(0).normal(size=motion().q.shape), noisy()[1]
    q = np.round(q / size) * size if size else q
    coarse = 0.02 * np.abs(tau).max(axis=0)
    for torques in (tau, np.round(tau / coarse) * coarse, motion().tau):
        _, notes = notes_of(q=q, tau=torques)
        assert notes == []


def test_nothing_moves():
    q, _ = noisy()
    loud = 1e-3 * q + 0.1 * np.random.default_rng(0).normal(size=q.shape)
    with pytest.raises(
        InputError, match=r"no joint moves faster than its dead zone: 'qd_joint\d' reaches .* rad/s, .* at a cut-off of"
    ):
        log_of(q=loud).prepare()
    assert any("no joint moves faster" in note for note in log_of(q=loud).prepare(check=False).notes)


# ---- positions that were not measured -------------------------------------------------------------------------------


def test_positions_that_are_lost_for_some_rows():
    q, _ = noisy()
    q[400:403] = 0.0
    ready, notes = notes_of(q=q)
    assert notes[0] == (
        "positions that jump away and back were interpolated: 3 of 'q_joint1', 'q_joint2' from 4 s on (row 400)"
    )
    m = motion()
    assert np.sqrt(np.mean((ready.qdd - m.qdd[ready.rows]) ** 2)) < 0.02 * m.qdd.std()


def test_positions_that_freeze_are_left_out():
    q, _ = noisy()
    q[400:600, 0] = q[400, 0]
    ready, notes = notes_of(q=q)
    assert (
        "positions that repeat an old value while the joint moves on were interpolated: 199 of 'q_joint1'" in notes[0]
    )
    assert "were not measured, with as many as filters carry that over to, are not fitted: tau_joint1" in notes[1]
    rows = ready.rows[ready.moving.any(axis=1)]
    assert not np.isin(np.arange(395, 605), rows).any()
    q, _ = noisy()
    q[700:, 0] = q[700, 0]
    assert "299 of 'q_joint1'" in notes_of(q=q)[1][0]


def test_positions_that_jump_and_stay_are_refused():
    q, _ = noisy()
    q[500:, 1] += 0.5
    with pytest.raises(
        InputError, match=r"column 'q_joint2' jumps from .* rad in row 500 at 5 s, as no joint moves, and"
    ):
        notes_of(q=q)


def test_rests_are_no_lapses():
    """A move that begins and ends at rest, again and again, with and without encoder steps."""
    s = np.clip((np.arange(1000) % 200 - 50) / 100.0, 0.0, 1.0)
    for move in (s**3 * (10 - 15 * s + 6 * s**2), np.where(s < 0.5, 2 * s**2, 1 - 2 * (1 - s) ** 2)):
        way = np.where(np.arange(1000) // 200 % 2, 1 - move, move)
        for size in (1e-12, 1e-5, 1e-3):
            _, where = lapses(np.round(way / size) * size, True)
            assert not where.rows.any()
            assert not where.jumps


# ---- torques that were not measured ---------------------------------------------------------------------------------


def test_torques_at_the_limit_of_a_drive():
    _, tau = noisy()
    most = 0.8 * np.abs(tau).max(axis=0)
    ready, notes = notes_of(tau=np.clip(tau, -most, most))
    assert notes[0].startswith("torques stay at a limit while their joints move: 'tau_joint1' at ")
    assert notes[1].startswith("rows that were not measured")
    at = (np.abs(tau) >= most)[ready.rows]
    assert not (ready.moving & at).any()
    assert ready.moving.mean() > 0.3


def test_torques_that_are_stuck_or_lost():
    _, tau = noisy()
    tau[300:500, 1] = tau[300, 1]
    ready, notes = notes_of(tau=tau)
    assert "torques stay at one number while their joints move: 'tau_joint2' in 200 rows" in notes[0]
    assert not ready.moving[np.isin(ready.rows, np.arange(300, 500)), 1].any()
    _, tau = noisy()
    tau[300:400] = 0.0
    assert "'tau_joint1' in 100 rows, at 0 N m from row 300 on, 'tau_joint2' in 100 rows" in notes_of(tau=tau)[1][0]


def test_the_dead_zone_of_a_drive():
    _, tau = noisy()
    zone = np.abs(tau) < 0.05 * np.abs(tau).max(axis=0)
    ready, notes = notes_of(tau=np.where(zone, 0.0, tau))
    assert notes[0].startswith("torques are zero where they are small, in a dead zone: 'tau_joint")
    assert not any("outliers" in note for note in notes)
    assert not (ready.moving & zone[ready.rows])[:, 1].any()


def test_torques_of_a_joint_that_rests_may_be_constant():
    quiet = flats(np.where(np.arange(400) < 200, 1.0, np.random.default_rng(0).normal(size=400)), np.arange(400) >= 200)
    assert not quiet.rows.any()


# ---- times ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("factor", "unit"), [(1e3, "ms"), (1e6, "us"), (1e9, "ns")])
def test_times_that_are_not_seconds(factor, unit):
    m = motion()
    with pytest.raises(
        InputError, match=rf"times look like {unit}, 100 rows a second.*units=\{{'t': '{unit}'\}}, or say"
    ):
        log_of(t=factor * m.t).prepare()
    assert any(f"look like {unit}" in note for note in log_of(t=factor * m.t).prepare(check=False).notes)
    said = Log(m.robot, factor * m.t, m.q, m.tau, in_seconds=True).prepare()
    assert not any("look like" in note for note in said.notes)


def test_the_unit_of_times_in_a_file(tmp_path):
    m = motion()
    table = np.column_stack([1e3 * m.t, m.q, m.tau])
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header="t,q1,q2,tau1,tau2", comments="")
    with pytest.raises(InputError, match=r"read them with units=\{'t': 'ms'\}, or say units=\{'t': 's'\}"):
        Log.read(tmp_path / "log.csv", m.robot).prepare()
    assert Log.read(tmp_path / "log.csv", m.robot, units={"t": "s"}).prepare().rate == pytest.approx(0.1)
    assert Log.read(tmp_path / "log.csv", m.robot, units={"t": "ms"}).prepare().rate == pytest.approx(100.0)
    (said,) = LogFile(tmp_path / "log.csv", "log", False, {"units": {"t": "s"}}).read(m.robot)
    assert said.in_seconds


def test_late_stamps_are_no_missing_samples():
    m, random = motion(), np.random.default_rng(0)
    t = m.t + 0.4 * random.uniform(-0.01, 0.01, len(m.t))
    assert np.diff(t).max() > 0.015
    assert not gaps(t).any()
    w = 2 * np.pi * 0.3
    ready = log_of(t=t, q=np.stack([np.sin(w * t), np.cos(2 * w * t)], -1)).prepare(8.0, check=False)
    np.testing.assert_allclose(ready.q, np.stack([np.sin(w * ready.t), np.cos(2 * w * ready.t)], -1), atol=1e-3)
    lost = np.delete(t, 500)
    assert gaps(lost).sum() >= 1
    assert abs(int(np.argmax(gaps(lost))) - 499) <= 16


@pytest.mark.parametrize("rate", [300.0, 333.0, 700.0])
def test_stamps_that_a_clock_rounded(rate):
    t = np.arange(3000) / rate
    for rounded in (np.round(t, 3), np.floor(1e3 * t + 1e-9) / 1e3):
        assert clock(rounded) == pytest.approx(1e-3)
    m = Fourier(2, duration=5.0, rate=300.0, base=0.2)
    tau = motion().robot.inverse_dynamics(m.q, m.qd, m.qdd)
    ready = Log(motion().robot, np.round(m.t, 3), m.q, tau).prepare()
    assert any("rounded to 0.001 s: they were taken to be even" in note for note in ready.notes)
    np.testing.assert_allclose(ready.q, m.q[ready.rows], atol=1e-4)


# ---- the fit --------------------------------------------------------------------------------------------------------


def test_fits_of_mended_logs_are_as_good():
    """A slow bus, and a torque that is cut off: the robot is found as from a clean log."""
    true, m = neuler.robots.two_link(), Fourier(2, base=0.2, size=2.0)
    tau = true.inverse_dynamics(m.q, m.qd, m.qdd)
    tau += 0.01 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    q, cut = np.round(m.q / STEP) * STEP, 0.8 * np.abs(tau).max(axis=0)
    held_out = Fourier(2, base=0.2, size=2.0, seed=5)
    exact = true.inverse_dynamics(held_out.q, held_out.qd, held_out.qdd)
    for changed in ({"q": q[fresh(len(q), 5)]}, {"tau": np.clip(tau, -cut, cut)}):
        found = identify.fit(Log(true, **({"t": m.t, "q": q, "tau": tau} | changed)), columns="links")
        error = found.robot.inverse_dynamics(held_out.q, held_out.qd, held_out.qdd) - exact
        assert (error.std(axis=0) < 0.01 * exact.std(axis=0)).all()
        assert not any("bursts" in note for note in found.notes)


def test_a_short_run_is_no_burst():
    """Its filter leaves more noise than that of a long one."""
    true = neuler.robots.two_link()
    logs = []
    for name, seed, duration in (("long", 1, 10.0), ("short", 2, 0.3)):
        m = Fourier(2, seed=seed, duration=duration, rate=250.0)
        tau = true.inverse_dynamics(m.q, m.qd, m.qdd)
        tau += 0.01 * np.random.default_rng(seed).normal(size=tau.shape)
        logs.append(Log(true, m.t, np.round(m.q / STEP) * STEP, tau, name=name))
    assert not any("bursts" in note for note in identify.fit(logs, columns="links").notes)
