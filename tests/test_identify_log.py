"""Logs for identification: filters, derivatives, cut-offs, the parallel filter; logs of others."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuler
from identify_motions import RATE, Fourier, log_of, motion, rms
from neuler import InputError, identify, robots
from neuler.identify import Log
from neuler.identify.smoothing import chosen_cutoff, lowpass, noise_of, one_way, repaired, smoothed, spectrum, transient
from random_robots import few

# ---- filters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [2, 4, 6])
def test_response_of_the_filter(order):
    t, cutoff = np.arange(0.0, 20.0, 0.001), 8.0
    for f in (1.0, 4.0, 8.0, 12.0, 20.0):
        wave = np.sin(2 * np.pi * f * t)
        found = lowpass(wave, 1000.0, cutoff, order)[5000:-5000]
        inner = wave[5000:-5000]
        gain = found @ inner / (inner @ inner)
        assert gain == pytest.approx(1 / (1 + (f / cutoff) ** (2 * order)), abs=2e-3)
        assert rms(found - gain * inner) < 1e-9  # no phase
    assert lowpass(wave, 1000.0, math.inf, order) is wave


def test_transients_end_when_they_are_said_to():
    t = np.arange(0.0, 10.0, 0.001)
    for order in (2, 4):
        found = smoothed(t, t[:, None] ** 2, 3.0, order, "butterworth").acceleration[:, 0] - 2.0
        cut = math.ceil(transient(3.0, order) * 1000)
        assert np.abs(found[cut:-cut]).max() < 0.03 * np.abs(found).max()


@pytest.mark.parametrize(("method", "bound"), [("butterworth", 2e-3), ("spline", 1e-4)])
def test_derivatives_of_smooth_motion(method, bound):
    m = motion("rx90")
    ready = log_of("rx90").prepare(8.0, method=method)
    rows = ready.rows
    np.testing.assert_allclose(ready.t, m.t[rows], rtol=1e-12)
    assert rms(ready.q - m.q[rows]) < 1e-3 * bound
    assert rms(ready.qd - m.qd[rows]) < bound * rms(m.qd)
    assert rms(ready.qdd - m.qdd[rows]) < bound * rms(m.qdd)
    assert ready.tau.shape == (len(rows), 6)
    exact = log_of("rx90").prepare(math.inf)
    assert rms(exact.qdd - m.qdd[exact.rows]) < 1e-6 * rms(m.qdd)
    assert exact.settings["cutoff"] is None
    assert exact.settings["trim"] == 0.1


@pytest.mark.parametrize("noise", [1e-5, 1e-4, 1e-3])
def test_the_cutoff_comes_from_the_data(noise):
    m = motion("puma560")
    q = m.q + noise * np.random.default_rng(1).standard_normal(m.q.shape)
    ready = log_of("puma560", q=q).prepare()
    chosen = ready.settings["cutoff"]
    assert ready.settings["cutoff_chosen"]
    assert 1.0 < chosen < 10.0  # harmonics end at 1 Hz
    assert max(ready.settings["clear_frequencies"]) < 3.0
    np.testing.assert_allclose(ready.settings["position_noise"], noise, rtol=0.3)
    best = {}
    for cutoff in (chosen, 3.0 * chosen, 1.0):
        other = log_of("puma560", q=q).prepare(cutoff, trim=1.5)
        best[cutoff] = rms(other.qdd - m.qdd[other.rows])
    assert best[chosen] == min(best.values())
    assert best[chosen] < 25 * noise * rms(m.qdd) + 2e-3 * rms(m.qdd)


def test_the_cutoff_is_bounded():
    random = np.random.default_rng(0)
    still = 1e-4 * random.standard_normal((1000, 2))
    cutoff, how = chosen_cutoff(still, 100.0, 4)
    assert how == {"clear_frequencies": how["clear_frequencies"], "bounded_by": "the filter's transient"}
    assert transient(cutoff, 4) == pytest.approx(1.0)  # a tenth of 10 s
    wide = np.cumsum(random.standard_normal((1000, 2)), axis=0)
    assert chosen_cutoff(wide, 100.0, 4)[0] <= 40.0
    t = np.arange(0.0, 10.0, 0.001)[:, None]  # a hum far above the motion is no motion
    hum = np.sin(2 * np.pi * 2 * t) + 1e-3 * np.sin(2 * np.pi * 50 * t) + 1e-5 * random.standard_normal(t.shape)
    assert spectrum(hum, 1000.0).clear[0] < 4.0


def trapezoids(rate, seed):
    """Twelve moves of six joints with constant velocity and a pause after each: positions and accelerations."""
    random, dt, at = np.random.default_rng(seed), 1.0 / rate, np.zeros(6)
    parts = []
    for _ in range(12):
        step = random.uniform(-1.0, 1.0, 6) - at
        far = np.abs(step).max()
        speed = min(1.2, np.sqrt(0.8 * 4.0 * far))
        ramp, cruise, rest = (round(x * rate) for x in (speed / 4.0, far / speed - speed / 4.0, 0.4))
        one = np.concatenate([np.ones(ramp), np.zeros(cruise), -np.ones(ramp), np.zeros(rest)])
        parts.append(one[:, None] * step / (one.cumsum().sum() * dt**2))
        at = at + step
    qdd = np.concatenate(parts)
    return np.cumsum(np.cumsum(qdd, axis=0) * dt, axis=0) * dt, qdd


@pytest.mark.parametrize("rate", few([500.0, 250.0, 1000.0], 1))
@pytest.mark.parametrize("seed", few(range(5), 2))
def test_rounded_positions_of_jumping_accelerations(rate, seed):
    """Steps of 1e-5 rad at constant velocity are lines far above the median noise, up to the highest frequency."""
    q, qdd = trapezoids(rate, seed)
    rounded, t = np.round(q / 1e-5) * 1e-5, np.arange(len(q)) / rate

    def error(cutoff):
        inner = slice(round(rate), -round(rate))
        return rms((smoothed(t, rounded, cutoff, 4, "butterworth").acceleration - qdd)[inner])

    chosen = chosen_cutoff(rounded, rate, 4)[0]
    assert error(chosen) < 2.0 * min(error(cutoff) for cutoff in np.geomspace(5.0, 0.4 * rate, 12))


@pytest.mark.parametrize("step", [1e-4, 1e-5])
def test_rounded_positions_of_a_long_periodic_motion(step):
    """Its lines are far apart from each other, and so are those of the steps."""
    t, random = np.arange(0.0, 200.0, 0.002)[:, None], np.random.default_rng(1)
    q = sum(
        a * np.sin(2 * np.pi * 0.1 * k * t + b)
        for k, a, b in zip(range(1, 6), *random.normal(size=(2, 5, 3)), strict=True)
    )
    assert 0.5 < chosen_cutoff(np.round(q / step) * step, 500.0, 4)[0] < 5.0


def test_noise_and_dead_zones():
    m = motion()
    random = np.random.default_rng(2)
    q = m.q + 1e-4 * random.standard_normal(m.q.shape)
    found = noise_of(q, lowpass(q, RATE, 5.0, 4), RATE, 5.0)
    np.testing.assert_allclose(found, 1e-4, rtol=0.1)
    ready = log_of(q=q).prepare(5.0)
    error = np.std(ready.qd - m.qd[ready.rows], axis=0)
    zone = np.array(ready.settings["dead_zone"])
    assert (zone > 3 * error).all()
    assert (zone < 20 * error).all()
    np.testing.assert_array_equal(ready.moving, one_way(ready.qd, zone, 20))  # 1/5 s
    own = log_of(q=q).prepare(float("inf"), dead_zone=[0.1, 0.0])
    assert own.settings["dead_zone"] == [0.1, 0.0]
    np.testing.assert_array_equal(own.moving, np.abs(own.qd) > [0.1, 0.0])  # no filter carries anything over
    assert own.moving[:, 1].all()
    assert not own.moving[:, 0].all()


def test_rows_near_where_a_joint_turns_round_are_left_out():
    random = np.random.default_rng(0)
    qd = np.cumsum(random.normal(size=(2000, 3)), axis=0) + [0.0, 0.0, 1e3]
    zone = np.array([0.1, 2.0, 0.0])
    found, compared = one_way(qd, zone, 5), []
    for k in range(3):
        rest = [
            i for i in range(2000)
            if abs(qd[i, k]) <= zone[k] or any(qd[i, k] * qd[j, k] < 0 for j in (i - 1, i + 1) if 0 <= j < 2000)
        ]  # fmt: skip
        near = np.array([bool(rest) and min(abs(i - j) for j in rest) <= 5 for i in range(2000)])
        if near.mean() < 0.25:
            compared.append(near.any())
            np.testing.assert_array_equal(found[:, k], ~near)
    assert any(compared)
    assert found[:, 2].all()
    np.testing.assert_array_equal(one_way(qd, zone, 0), np.abs(qd) > zone)
    shaking = np.where(np.arange(400) % 10 < 5, 1.0, -1.0)[:, None] * np.ones((400, 1))
    assert 0.5 < one_way(shaking, np.array([0.1]), 50).mean() < 1.0  # three quarters at least, but for rows alike
    assert not one_way(np.zeros((50, 1)), np.array([0.1]), 5).any()


def test_outliers_are_repaired_and_counted():
    m = motion()
    q, tau = m.q.copy(), m.tau.copy()
    q[[100, 500, 501], 0] += [0.5, -2.0, -2.0]
    tau[300, 1] = 1e3
    ready = log_of(q=q, tau=tau).prepare(8.0)
    assert ready.settings["outliers"] == {"q_joint1": 3, "tau_joint2": 1}
    assert "outliers, far from the median of five samples, were interpolated: q_joint1 3, tau_joint2 1" in ready.notes
    assert rms(ready.qdd - m.qdd[ready.rows]) < 0.05 * rms(m.qdd)
    left = log_of(q=q, tau=tau).prepare(8.0, outliers=False, check=False)
    assert left.tau.max() == 1e3
    assert left.settings["outliers"] == {}


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), noise=st.sampled_from([0.0, 1e-6, 1e-3]), step=st.sampled_from([0.0, 1e-3]))
def test_good_samples_are_no_outliers(seed, noise, step):
    """Smooth, noisy, quantised and half still series are left alone, but for one in a thousand of noise."""
    random = np.random.default_rng(seed)
    values = Fourier(2, seed).q + noise * random.standard_normal((1000, 2))
    values[: seed % 700] = values[seed % 700]
    values = np.round(values / step) * step if step else values
    assert repaired(values)[1].mean() < 2e-3


def test_packages_that_are_missing_are_named(tmp_path, monkeypatch):
    log, path = log_of(), tmp_path / "log.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="filters of logs need SciPy: pip install scipy"):
        log.prepare(5.0)
    with pytest.raises(ImportError, match="Parquet files need pyarrow: pip install pyarrow"):
        Log.read(path, log.robot)


# ---- the parallel filter -----------------------------------------------------------------------------------------


def test_both_sides_are_filtered_alike():
    """tau = Y phi holds after the filter, whatever is in the columns: signs of friction, noise."""
    random = np.random.default_rng(3)
    ready = log_of().prepare(6.0, torque_cutoff=2.0, decimate=7)
    regressor = random.standard_normal((len(ready.t), 2, 3))
    regressor[..., 0] = np.sign(ready.qd)
    phi = random.standard_normal(3)
    torque = regressor @ phi
    np.testing.assert_allclose(ready.filter(torque), ready.filter(regressor) @ phi, atol=1e-12)
    assert ready.filter(torque).shape == (-(-len(ready.t) // 7), 2)
    np.testing.assert_allclose(ready.decimated(lowpass(torque, RATE, 2.0, 4)), ready.filter(torque), atol=1e-13)
    np.testing.assert_array_equal(ready.decimated(ready.rows), ready.rows[::7])
    assert any("decimation leaves" in note for note in ready.notes)
    np.testing.assert_allclose(ready.filter(np.ones(len(ready.t))), 1.0, atol=1e-12)
    plain = log_of().prepare(6.0, torque_cutoff=math.inf)
    np.testing.assert_array_equal(plain.filter(plain.tau), plain.tau)
    with pytest.raises(
        InputError, match=r"filter takes arrays with \d+ rows, as q, qd and qdd have them, got shape \(3"
    ):
        plain.filter(np.zeros((3, 2)))


def test_torques_of_the_model_after_the_filter():
    for name in ("two_link", "puma560"):
        ready = log_of(name).prepare()
        robot = ready.robot.without_friction()
        model = ready.filter(robot.inverse_dynamics(ready.q, ready.qd, ready.qdd))
        error = np.sqrt(np.mean((ready.filter(ready.tau) - model) ** 2, axis=0))
        assert (error < 2e-3 * motion(name).tau.std(axis=0)).all()


def test_settings_are_plain_and_complete():
    ready = log_of(weight=2.0, name="monday").prepare()
    assert json.loads(json.dumps(ready.settings)) == ready.settings
    assert ready.settings["weight"] == ready.weight == 2.0
    assert ready.name == "monday"
    assert ready.rate == pytest.approx(RATE)
    assert ready.settings["rows"] == len(ready.t) == len(ready.rows)
    assert f"{ready.rows[0]} rows" in " ".join(ready.notes)
    assert "1000 are left" in " ".join(ready.notes)
    assert repr(ready).startswith("<prepared 'monday' of 'two_link': ")


def test_measured_velocities_are_used_when_asked_for():
    m = motion()
    both = log_of(qd=m.qd, qdd=m.qdd)
    assert both.prepare(5.0).settings["derivatives"] == "positions"
    ready = both.prepare(math.inf, derivatives="measured", trim=0.0)
    np.testing.assert_array_equal(ready.qd, m.qd)
    np.testing.assert_array_equal(ready.qdd, m.qdd)
    assert len(ready.rows) == len(m.t)
    once = log_of(qd=m.qd).prepare(8.0, derivatives="measured")
    assert rms(once.qdd - m.qdd[once.rows]) < 2e-3 * rms(m.qdd)
    with pytest.raises(InputError, match="derivatives='measured' needs velocities, and the log has none"):
        log_of().prepare(derivatives="measured")


def test_quaternions_need_measured_velocities():
    robot = robots.two_link().with_free_base()
    t = np.arange(0.0, 5.0, 0.01)
    angle = 0.4 * np.sin(t)
    q = np.zeros((len(t), 9))
    q[:, 5], q[:, 6], q[:, 7] = np.sin(angle / 2), np.cos(angle / 2), angle
    q[250:, 3:7] *= -1.0  # the same rotations
    qd = np.zeros((len(t), 8))
    qd[:, 5] = qd[:, 6] = 0.4 * np.cos(t)
    tau = np.random.default_rng(0).standard_normal((len(t), 8))
    log = Log(robot, t, q, tau, qd)
    with pytest.raises(InputError, match=r"has quaternions, which are not differentiated; give measured velocities"):
        log.prepare(5.0)
    ready = log.prepare(5.0, derivatives="measured", outliers=False)
    np.testing.assert_allclose(np.linalg.norm(ready.q[:, 3:7], axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(ready.q[:, 5], np.sin(angle / 2)[ready.rows], atol=1e-4)


def test_loops_are_closed_after_the_filter():
    robot, t = robots.five_bar(), np.arange(0.0, 6.0, 0.01)
    reference = np.asarray(robot.assemble([2.2, 0.9]).q)
    active = reference[[0, 2]] + 0.1 * np.stack([np.sin(2 * t), np.cos(3 * t)], -1)
    q = np.asarray(robot.assemble(active, reference).q)
    noise = 1e-4 * np.random.default_rng(0).standard_normal(q.shape)
    tau = np.random.default_rng(1).standard_normal((len(t), 2))
    ready = Log(robot, t, q + noise, tau).prepare(8.0)
    assert ready.qd.shape == (len(ready.t), 2)
    assert rms(ready.q - q[ready.rows]) < 8e-5
    np.testing.assert_allclose(robot.assemble(ready.q[:, [0, 2]], ready.q).q, ready.q, atol=1e-11)
    assert any("loops are closed; they moved by at most" in note for note in ready.notes)
    with pytest.raises(InputError, match="loops of robot 'five_bar' cannot be closed in row 0 at 0 s"):
        Log(robot, t, q + [1.5, 0.0, -1.5, 0.0], tau).prepare(8.0)


def test_uneven_times_are_interpolated():
    m = motion()
    t = m.t + 0.2 / RATE * np.random.default_rng(0).uniform(-1, 1, len(m.t))
    w = 2 * np.pi * 0.3
    q = np.stack([np.sin(w * t), np.cos(2 * w * t)], -1)
    ready = log_of(t=t, q=q).prepare(8.0, check=False)
    assert any("times are uneven, by up to" in note for note in ready.notes)
    np.testing.assert_allclose(ready.q, np.stack([np.sin(w * ready.t), np.cos(2 * w * ready.t)], -1), atol=1e-3)
    assert np.ptp(np.diff(ready.t)) < 1e-12


# ---- logs of others ------------------------------------------------------------------------------------------------

SHARED = Path(__file__).resolve().parents[2] / "shared" / "reference" / "identify"


@pytest.mark.skipif(not (SHARED / "kr300").is_dir(), reason="the log of the KR300 is not there")
@pytest.mark.parametrize("run", ["A", "B"])
def test_log_of_the_kr300(run):
    model = json.loads((SHARED / "kr300" / "kr300_model.json").read_text())
    inertia = "inertia_com_xx_yy_zz_xy_xz_yz"
    rows = [
        {**row, "mass": body["mass"], "com": body["com"], "inertia": body[inertia]}
        for row, body in zip(model["dh"], model["nominal"], strict=True)
    ]
    robot = neuler.from_dh(rows, gravity=(0.0, 0.0, 9.81))
    names = {f"{run}_position": "q", f"{run}_velocity": "qd", f"{run}_motor_torque": "tau"}
    log = Log.read(SHARED / "kr300" / "kr300.npz", robot, names, ratios=model["gear_ratio"])
    assert (len(log.t), log.rate) == (2501, pytest.approx(250.0))
    ready = log.prepare()
    assert 20.0 < ready.settings["cutoff"] < 100.0
    assert ready.settings["trim"] == pytest.approx(0.1)
    assert ready.moving.mean() > 0.8
    assert any("1.1 samples" in note and "later than the derivatives of the positions" in note for note in ready.notes)
    motor = Log.read(SHARED / "kr300" / "kr300.npz", robot, names).prepare()
    assert any("at the motor instead of the joint" in note for note in motor.notes)


@pytest.mark.skipif(not (SHARED / "ur10").is_dir(), reason="the log of the UR10 is not there")
@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-4])
def test_log_of_the_ur10(noise):
    robot = neuler.load(SHARED / "ur10" / "ur10_nominal.urdf")
    names = {f"train_{key}": key for key in ("t", "q", "qd", "qdd", "tau")}
    exact = Log.read(SHARED / "ur10" / "ur10_truth.npz", robot, names)
    q = exact.q + noise * np.random.default_rng(0).standard_normal(exact.q.shape)
    ready = identify.Log(robot, exact.t, q, exact.tau).prepare()
    assert ready.settings["cutoff"] < 20.0
    error = np.sqrt(np.mean((ready.qdd - exact.qdd[ready.rows]) ** 2, axis=0))
    assert (error < 5e-3 * exact.qdd.std(axis=0)).all()
