"""Logs for identification: filters, derivatives, cut-offs, units, files, and faulty logs by name."""

import functools
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuler
from neuler import FormatError, InputError, identify, robots
from neuler.files.series import save_series
from neuler.identify import Log
from neuler.identify.smoothing import chosen_cutoff, lowpass, noise_of, one_way, repaired, smoothed, spectrum, transient

RATE = 100.0


class Fourier:
    """Motions of five harmonics of 0.1 Hz with exact derivatives."""

    def __init__(self, joints, seed=0, base=0.1, duration=10.0, rate=RATE, size=1.0):
        random = np.random.default_rng(seed)
        self.t = np.arange(round(duration * rate)) / rate
        w = 2 * np.pi * base * np.arange(1, 6)
        a, b = random.uniform(-1, 1, (2, joints, 5)) * size / 5 / np.sqrt(np.arange(1, 6))
        s, c = np.sin(w * self.t[:, None]), np.cos(w * self.t[:, None])
        self.q = random.uniform(-0.5, 0.5, joints) + s @ a.T + c @ b.T
        self.qd = c @ (a * w).T - s @ (b * w).T
        self.qdd = -s @ (a * w**2).T - c @ (b * w**2).T


@functools.cache
def motion(name="two_link", seed=0):
    robot = getattr(robots, name)()
    found = Fourier(robot.nv, seed, base=0.2)
    found.robot = robot
    found.tau = np.asarray(robot.without_friction().inverse_dynamics(found.q, found.qd, found.qdd))
    return found


def log_of(machine="two_link", **changes):
    m = motion(machine)
    parts = {"t": m.t, "q": m.q, "tau": m.tau, "qd": None, "qdd": None} | changes
    return Log(m.robot, **parts)


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


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


# ---- files and units ---------------------------------------------------------------------------------------------


def table_of(name="two_link", **more):
    m = motion(name)
    names = m.robot.coordinates.names("q")
    found = {"t": m.t}
    for key in ("q", "qd", "tau"):
        found |= {f"{key}_{joint}": column for joint, column in zip(names, getattr(m, key).T, strict=True)}
    return found | more


def write(path, columns):
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))
    return path


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
def test_files_of_every_kind(tmp_path, kind):
    m, path = motion(), tmp_path / f"log.{kind}"
    arrays = {"t": m.t, "q": m.q, "qd": m.qd, "tau": m.tau}
    save_series(path, table_of(), arrays, {"t": "s", "q_joint1": "rad"})
    log = Log.read(path, m.robot)
    for key, values in arrays.items():
        np.testing.assert_array_equal(getattr(log, key), values)
    assert log.qdd is None
    assert (log.name, log.notes) == (f"log.{kind}", ())
    assert not log.q.flags.writeable
    with pytest.raises(FormatError, match=f"log.{kind}: columns: the file has no column 'pos'"):
        Log.read(path, m.robot, {"pos": "q1"})


@pytest.mark.parametrize("spelling", ["q_joint{}", "q{}", "q[{}]"])
def test_spellings_of_columns(tmp_path, spelling):
    m, shift = motion(), 1 - spelling.count("[")
    columns = {"time": m.t, "other": m.t}
    for key in ("q", "tau"):
        columns |= {spelling.replace("q", key).format(k + shift): getattr(m, key)[:, k] for k in range(2)}
    log = Log.read(write(tmp_path / "log.csv", columns), m.robot)
    np.testing.assert_array_equal(log.tau, m.tau)
    assert log.notes == ("columns that were not used: other",)


ANGLES = {"rad": 1.0, "deg": 180 / np.pi, "turn": 1 / (2 * np.pi)}
SPEEDS = {"rad/s": 1.0, "deg/s": 180 / np.pi, "rpm": 30 / np.pi}
TORQUES = {"N m": 1.0, "mN m": 1e3}


@pytest.mark.parametrize("unit", [*ANGLES, *SPEEDS, *TORQUES, "s", "ms", "us", "ns"])
def test_units_of_turning_joints(tmp_path, unit):
    m = motion()
    kind = "q" if unit in ANGLES else "qd" if unit in SPEEDS else "tau" if unit in TORQUES else "t"
    factor = (ANGLES | SPEEDS | TORQUES | {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9})[unit]
    columns = {name: x * factor if name.split("_")[0] == kind else x for name, x in table_of().items()}
    log = Log.read(write(tmp_path / "log.csv", columns), m.robot, units={kind: unit})
    for key in ("t", "q", "qd", "tau"):
        np.testing.assert_allclose(getattr(log, key), getattr(m, key), rtol=1e-12, atol=1e-12)


def test_units_of_sliding_joints(tmp_path):
    m = motion("stanford")
    columns = table_of("stanford")
    columns["q_joint3"] = columns["q_joint3"] * 1e3
    columns["tau_joint3"] = columns["tau_joint3"] * 1e-3
    columns |= {f"q_joint{k}": np.degrees(columns[f"q_joint{k}"]) for k in (1, 2, 4, 5, 6)}
    path = write(tmp_path / "log.csv", columns)
    log = Log.read(path, m.robot, units={"q": "deg", "q_joint3": "mm", "tau_joint3": "kN"})
    np.testing.assert_allclose(log.q, m.q, atol=1e-12)
    np.testing.assert_allclose(log.tau, m.tau, atol=1e-12)
    with pytest.raises(
        InputError, match=r"column 'q_joint3' is measured in m or in m, cm, mm, got 'deg'; units of single"
    ):
        Log.read(path, m.robot, units={"q": "deg"})
    with pytest.raises(InputError, match=r"column 'q_joint1': unit must be one of 'rad', 'deg', 'turn', got 'degree'"):
        Log.read(path, m.robot, units={"q_joint1": "degree"})
    with pytest.raises(InputError, match=r"units: 'torque' is neither a kind nor a column"):
        Log.read(path, m.robot, units={"torque": "mA"})


@pytest.mark.parametrize(("unit", "scale"), [("A", 1.0), ("mA", 1e3)])
def test_currents_of_motors(tmp_path, unit, scale):
    m = motion()
    constants, ratios = np.array([0.1, 0.05]), np.array([100.0, -50.0])
    columns = table_of()
    for k in range(2):
        columns[f"tau_joint{k + 1}"] = scale * m.tau[:, k] / constants[k] / ratios[k]
    path = write(tmp_path / "log.csv", columns)
    given = {"units": {"tau": unit}, "torque_constants": {"joint1": 0.1, "joint2": 0.05}, "ratios": [100, -50]}
    log = Log.read(path, m.robot, **given)
    np.testing.assert_allclose(log.tau, m.tau, rtol=1e-12)
    assert "torques are made of currents" in log.notes[0]
    for left_out, message in (
        ("torque_constants", "tau of 'joint1' is a current; torque_constants= must say how many N m an ampere gives"),
        ("ratios", "tau of 'joint1' is a current; ratios= must say how many times the motor's torque"),
    ):
        with pytest.raises(InputError, match=message):
            Log.read(path, m.robot, **{key: value for key, value in given.items() if key != left_out})
    with pytest.raises(InputError, match="torque_constants are for currents"):
        Log.read(path, m.robot, torque_constants=0.1)
    with pytest.raises(InputError, match="ratios: robot 'two_link' has no torque of 'elbow'"):
        Log.read(path, m.robot, ratios={"elbow": 1})
    with pytest.raises(InputError, match="ratios: there is none for 'joint2'"):
        Log.read(path, m.robot, ratios={"joint1": 1})
    with pytest.raises(InputError, match="ratios of 'joint2' must be finite and not zero"):
        Log.read(path, m.robot, ratios=[1, 0])
    motor = Log.read(path, m.robot, ratios=2.0)  # torques of motors
    np.testing.assert_allclose(motor.tau[:, 0], 2 * columns["tau_joint1"])


def test_names_of_ones_own(tmp_path):
    m = motion()
    path = tmp_path / "log.npz"
    np.savez(path, dt=0.01, pos=-m.q, cur=m.tau, tool=np.zeros((3, 4)), text=np.array("x"))
    log = Log.read(path, m.robot, {"pos": ("q", -1), "cur": "tau"})
    np.testing.assert_array_equal(log.q, m.q)
    assert log.notes == ("columns that were not used: tool, text",)
    assert log.rate == pytest.approx(100.0)
    assert Log.read(path, m.robot, {"pos": "q", "cur[0]": "tau1", "cur[1]": "tau2"}, rate=50).rate == pytest.approx(50)
    np.savez(path, pos=m.q, cur=m.tau[:, :1])
    with pytest.raises(FormatError, match=r"log.npz: has no column 't' or 'time'; rate= says how many samples"):
        Log.read(path, m.robot, {"pos": "q", "pos[0]": "tau1", "pos[1]": "tau2"})
    with pytest.raises(FormatError, match="'cur' has 1 columns, tau of the robot 2"):
        Log.read(path, m.robot, {"pos": "q", "cur": "tau"})
    with pytest.raises(InputError, match=r"'pos\[0\]' is mapped to 'q9', which robot 'two_link' does not have"):
        Log.read(path, m.robot, {"pos[0]": "q9"})
    with pytest.raises(FormatError, match=r"has no column 'tau_joint1' and 1 more; not used are 'cur\[0\]'"):
        Log.read(path, m.robot, {"pos": "q"}, rate=100)


def test_bad_files(tmp_path):
    m = motion()
    with pytest.raises(FormatError, match=r"log.txt': expected a file that ends in .csv, .npz, .parquet"):
        Log.read(tmp_path / "log.txt", m.robot)
    with pytest.raises(FormatError, match=r"none.csv': there is no such file"):
        Log.read(tmp_path / "none.csv", m.robot)
    np.savez(tmp_path / "evil.npz", q=np.array([{}], dtype=object))
    with pytest.raises(FormatError, match=r"array 'q' cannot be read: Object arrays cannot be loaded"):
        Log.read(tmp_path / "evil.npz", m.robot)
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(FormatError, match="cannot be read as Parquet"):
        Log.read(tmp_path / "bad.parquet", m.robot)
    (tmp_path / "text.csv").write_text("t,q1\n0,1\n1,much")
    with pytest.raises(FormatError, match=r"text.csv'.*: row 2, column 'q1': 'much' is no number"):
        Log.read(tmp_path / "text.csv", m.robot)
    (tmp_path / "empty.csv").write_text("t,q1\n")
    with pytest.raises(FormatError, match=r"empty.csv': a header with different names is needed, then rows of numbers"):
        Log.read(tmp_path / "empty.csv", m.robot)
    twice = table_of(q1=m.q[:, 0])
    with pytest.raises(FormatError, match=r"columns 'q_joint1' and 'q1' are both 'q_joint1'; keep one"):
        Log.read(write(tmp_path / "twice.csv", twice), m.robot)
    partial = table_of()
    partial["qd_jont2"] = partial.pop("qd_joint2")
    with pytest.raises(FormatError, match=r"has no column 'qd_joint2'; is it 'qd_jont2'\?"):
        Log.read(write(tmp_path / "partial.csv", partial), m.robot)
    gap = table_of()
    gap["q_joint2"] = [*gap["q_joint2"][:7], "", *gap["q_joint2"][8:]]
    with pytest.raises(InputError, match=r"gap.csv: column 'q_joint2' has no finite value in row 7 at 0.07 s"):
        Log.read(write(tmp_path / "gap.csv", gap), m.robot)


def test_parquet_states_units(tmp_path):
    m, path = motion(), tmp_path / "log.parquet"
    columns = table_of() | {"q_joint1": np.degrees(m.q[:, 0])}
    save_series(path, columns, {}, {"q_joint1": "deg"})
    np.testing.assert_allclose(Log.read(path, m.robot).q, m.q, atol=1e-12)


@pytest.mark.parametrize("labels", [("1", "2"), ("up", "down")])
def test_several_runs(tmp_path, labels):
    m = motion()
    columns = {name: np.concatenate([x, x[:500]]) for name, x in table_of().items()}
    columns["run"] = [labels[0]] * 1000 + [labels[1]] * 500
    path = write(tmp_path / "log.csv", columns)
    first, second = Log.read_all(path, m.robot, weights={labels[1]: 0.5})
    assert (len(first.t), first.weight, second.weight) == (1000, 1.0, 0.5)
    assert second.name == f"log.csv, run {labels[1]}"
    np.testing.assert_array_equal(second.q, m.q[:500])
    np.testing.assert_array_equal(Log.read(path, m.robot, run=labels[1]).q, second.q)
    with pytest.raises(FormatError, match=r"log.csv: has 2 runs, .*; Log.read_all reads all, run= one"):
        Log.read(path, m.robot)
    with pytest.raises(FormatError, match="has no run '3'; runs are"):
        Log.read(path, m.robot, run=3)
    with pytest.raises(InputError, match="weights: has no run '7'"):
        Log.read_all(path, m.robot, weights={7: 1.0})
    assert len(Log.read_all(write(tmp_path / "one.csv", table_of()), m.robot)) == 1


# ---- logs that cannot be meant -------------------------------------------------------------------------------------


def test_arrays_that_are_no_logs():
    m = motion()
    with pytest.raises(InputError, match="log: a robot is needed, got 'arm'"):
        Log("arm", m.t, m.q, m.tau)
    with pytest.raises(InputError, match=r"expected q with last axis 2 \(q_joint1, q_joint2, ...\), got shape"):
        log_of(q=m.q[:, :1])
    with pytest.raises(InputError, match="tau must have a row for each of 1000 times, got shape"):
        log_of(tau=m.tau[1:])
    with pytest.raises(InputError, match="weight must be above zero"):
        log_of(weight=0.0)
    tau = m.tau.copy()
    tau[3:5, 1] = np.nan
    with pytest.raises(
        InputError, match=r"^monday: column 'tau_joint2' has no finite value in row 3 at 0.03 s \(2 rows in this column"
    ):
        log_of(tau=tau, name="monday")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: np.where(np.arange(len(t)) == 5, np.nan, t), "column 't' has no value in row 5"),
        (
            lambda t: np.concatenate([t[:10], t[10:] - 0.05]),
            r"time goes backwards in row 10: 0.09 s is followed by 0.05",
        ),
        (
            lambda t: np.concatenate([t[:10], t[9:-1]]),
            r"time is repeated in row 10: 0.09 s is followed by 0.09 s \(1 row\)",
        ),
        (lambda t: np.concatenate([t[:10], t[10:] + 0.03]), r"samples are missing after row 9: 0.04 s from 0.09 s on"),
        (lambda t: t[:, None], r"t must be a list of times"),
    ],
)
def test_times_that_cannot_be(change, message):
    with pytest.raises(InputError, match=message):
        log_of(t=change(motion().t))


def test_logs_that_are_too_short():
    m = motion()
    with pytest.raises(InputError, match="is too short: 10 rows, and 20 are needed"):
        Log(m.robot, m.t[:10], m.q[:10], m.tau[:10])
    short = Log(m.robot, m.t[:40], m.q[:40], m.tau[:40])
    with pytest.raises(InputError, match=r"is too short: 40 rows of 0.39 s, of which .* s are cut off at each end"):
        short.prepare(5.0)
    assert any("shorter than the filter's transient" in note for note in short.prepare(5.0, trim=0.0).notes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cutoff": 45.0}, "cutoff is 45 Hz and the sampling rate 100 Hz; it must be at most 0.4 of the rate"),
        ({"cutoff": -1.0}, r"cutoff must be above zero \(Hz\)"),
        ({"torque_cutoff": 0.0}, r"torque_cutoff must be above zero"),
        ({"method": "fourier"}, "method must be one of 'butterworth', 'spline', got 'fourier'"),
        ({"order": 0}, "order must be a whole number from 1 to 8"),
        ({"decimate": 0}, "decimate must be a whole number, 1 or more"),
        ({"trim": -1}, "trim must not be negative"),
        ({"dead_zone": [1, 2, 3]}, "dead_zone must be a velocity, or 2 of them"),
        ({"derivatives": "given"}, "derivatives must be one of 'positions', 'measured'"),
    ],
)
def test_bad_settings(given, message):
    with pytest.raises(InputError, match=message):
        log_of().prepare(**given)


def test_constant_signals():
    m = motion("rx90")
    with pytest.raises(InputError, match="all positions are constant: nothing moves"):
        log_of("rx90", q=np.ones_like(m.q)).prepare()
    with pytest.raises(InputError, match="all torques are constant: nothing was measured"):
        log_of("rx90", tau=np.zeros_like(m.tau)).prepare()
    q, tau = m.q.copy(), m.tau.copy()
    q[:, 2], tau[:, 4] = 0.3, 0.0
    notes = " ".join(log_of("rx90", q=q, tau=tau).prepare(5.0).notes)
    assert "constant columns: q_joint3; inertias" in notes
    assert "constant columns: tau_joint5; is the sensor connected" in notes
    assert "'qd_joint3' moves in 0% of the rows only" in notes


def limited():
    """The arm with limits of its joints."""
    robot, limits = motion().robot, neuler.Limits(-3.0, 3.0, 5.0)
    return robot.replace(joints=[replace(joint, limits=limits) if joint.moves else joint for joint in robot.joints])


def test_degrees_taken_for_radians():
    m = motion()
    q = np.degrees(m.q)
    with pytest.raises(
        InputError, match=r"column 'q_joint1' goes from .* and its limits are -3 and 3: it looks like degrees"
    ):
        Log(limited(), m.t, q + 60.0, m.tau).prepare()
    with pytest.raises(InputError, match=r"q_joint\d' moves at .* rad/s, and its limit is 5: it looks like degrees"):
        Log(limited(), m.t / 10, (q - q.mean(axis=0)) / 10, m.tau).prepare()
    with pytest.raises(
        InputError, match=r"column 'q_joint1' goes from .* rad, .* turns, at up to .*: it looks like degrees"
    ):
        log_of(q=4.0 * q).prepare()
    with pytest.raises(
        InputError, match=r"column 'qd_joint1' is 0.01745 times the derivative of 'q_joint1': positions are"
    ):
        log_of(q=q / 5, qd=m.qd / 5).prepare()
    with pytest.raises(
        InputError, match=r"column 'qd_joint1' is 57.3 times .*: it is in degrees: units=\{'qd': 'deg/s'\}"
    ):
        log_of(qd=np.degrees(m.qd)).prepare()
    with pytest.raises(InputError, match=r"column 'qd_joint1' is 9.549 times .*: it is in revolutions per minute"):
        log_of(qd=30 / np.pi * m.qd).prepare()
    notes = " ".join(log_of(qd=np.degrees(m.qd)).prepare(check=False).notes)
    assert "it is in degrees" in notes
    shifted = " ".join(Log(limited(), m.t, m.q + 3.5, m.tau).prepare().notes)
    assert "beyond its limits -3 and 3: is its zero that of the robot?" in shifted


def test_jumps_by_a_turn():
    m = motion()
    q = m.q.copy()
    q[400:, 1] -= 2 * np.pi
    with pytest.raises(InputError, match=r"column 'q_joint2' jumps by a turn in row 400 at 4 s \(1 row\); unwrap it"):
        log_of(q=q).prepare()


# ---- columns that do not belong together ---------------------------------------------------------------------------


def noisy(name, seed=0, noise=1e-5, torque=0.01):
    m, random = motion(name), np.random.default_rng(seed)
    q = m.q + noise * random.standard_normal(m.q.shape)
    friction = 0.1 * m.tau.std(axis=0) * np.sign(m.qd)
    return q, m.tau + friction + torque * m.tau.std(axis=0) * random.standard_normal(m.tau.shape)


@pytest.mark.parametrize("name", ["two_link", "rx90", "puma560"])
def test_good_logs_have_no_findings(name):
    q, tau = noisy(name)
    notes = log_of(name, q=q, tau=tau, qd=motion(name).qd).prepare().notes
    assert [note for note in notes if "were cut off at each end" not in note] == []


def test_velocities_that_do_not_belong():
    m = motion("rx90")
    order = [0, 2, 1, 3, 4, 5]
    with pytest.raises(
        InputError, match=r"column 'qd_joint2' follows the position 'q_joint3', not 'q_joint2' .*columns look swapped"
    ):
        log_of("rx90", qd=m.qd[:, order]).prepare()
    with pytest.raises(InputError, match=r"'qd_joint1' follows the position 'q_joint2'.* 5 more"):
        log_of("rx90", qd=m.qd[:, [1, 2, 3, 4, 5, 0]]).prepare()
    with pytest.raises(InputError, match=r"column 'qd_joint4' has the sign opposite to the derivative of 'q_joint4'"):
        log_of("rx90", qd=m.qd * [1, 1, 1, -1, 1, 1]).prepare()
    with pytest.raises(InputError, match=r"column 'qd_joint5' is 1.3 times the derivative of 'q_joint5': its unit is"):
        log_of("rx90", qd=m.qd * [1, 1, 1, 1, 1.3, 1]).prepare()
    late = np.concatenate([np.repeat(m.qd[:1], 4, axis=0), m.qd[:-4]])
    notes = log_of("rx90", qd=late).prepare(5.0).notes
    assert any("'qd_joint6': 4.0 samples (40 ms) later than the derivatives" in note for note in notes)
    early = np.concatenate([m.qd[3:], np.repeat(m.qd[-1:], 3, axis=0)])
    notes = log_of("rx90", qd=early).prepare(5.0).notes
    assert any("3.0 samples (30 ms) earlier than the derivatives" in note for note in notes)
    other = m.qd.copy()
    other[:, 1] = np.random.default_rng(0).standard_normal(len(m.t))
    notes = log_of("rx90", qd=other).prepare(5.0).notes
    assert any("column 'qd_joint2' is not the derivative of 'q_joint2'" in note for note in notes)


@pytest.mark.parametrize("name", ["two_link", "puma560"])
def test_torques_of_the_wrong_sign(name):
    q, tau = noisy(name)
    for k in range(2):
        signs = np.ones(tau.shape[1])
        signs[k] = -1.0
        with pytest.raises(InputError, match=rf"column 'tau_joint{k + 1}' has the sign opposite to the model's torque"):
            log_of(name, q=q, tau=tau * signs).prepare()


@pytest.mark.parametrize(("name", "pair"), [("two_link", (0, 1)), ("puma560", (1, 2)), ("puma560", (0, 1))])
def test_torques_in_the_wrong_order(name, pair):
    q, tau = noisy(name)
    order = list(range(tau.shape[1]))
    order[pair[0]], order[pair[1]] = pair[1], pair[0]
    log = log_of(name, q=q, tau=tau[:, order])
    message = f"column 'tau_joint{pair[0] + 1}' resembles the model's 'tau_joint{pair[1] + 1}', not its own"
    assert any(note.startswith(message) for note in log.prepare(check=False).notes)


@pytest.mark.parametrize("samples", [-6, -2, 3, 8])
def test_torques_that_are_late(samples):
    q, tau = noisy("puma560")
    count = len(q) - abs(samples)
    first = max(samples, 0)
    log = log_of("puma560", t=motion().t[:count], q=q[first : first + count], tau=tau[first - samples :][:count])
    way = "later" if samples > 0 else "earlier"
    notes = [note for note in log.prepare().notes if "than the model's torques" in note]
    assert len(notes) == 1
    assert f"{way} than the model's torques" in notes[0]
    assert f"({10 * abs(samples)}" in notes[0] or f"{abs(samples)}." in notes[0]


def test_torques_of_motors():
    q, tau = noisy("puma560")
    notes = " ".join(log_of("puma560", q=q, tau=tau / 80.0).prepare().notes)
    assert "column 'tau_joint2' is 0.0125 times the model's torque" in notes
    assert "at the motor instead of the joint (ratios=)?" in notes


def test_positions_of_the_wrong_sign_or_order():
    q, tau = noisy("puma560")
    notes = " ".join(log_of("puma560", q=q * [1, -1, 1, 1, 1, 1], tau=tau).prepare(check=False).notes)
    assert "with the sign of 'q_joint2' reversed the model explains" in notes
    notes = " ".join(log_of("puma560", q=q[:, [0, 2, 1, 3, 4, 5]], tau=tau).prepare(check=False).notes)
    assert "with 'q_joint2' and 'q_joint3' interchanged the model explains" in notes


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
