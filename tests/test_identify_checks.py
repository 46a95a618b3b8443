"""Logs that cannot be meant, and columns that do not belong together, are named."""

from dataclasses import replace

import numpy as np
import pytest

import neuler
from identify_motions import log_of, motion
from neuler import InputError, robots
from neuler.identify import Log
from neuler.identify.consistency import check_torques, friction_columns

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


def test_torques_that_cannot_be_taken_for_another_one():
    """Of a joint that slides, in N, and of one that rests; any other torque that resembles the first is doubted."""
    robot, random = robots.stanford(), np.random.default_rng(0)
    model, qd = np.cumsum(random.normal(size=(2, 4000, 6)), axis=1) * 0.1
    model -= model.mean(axis=0)
    for k, moves, said in ((1, True, True), (2, True, False), (1, False, False)):
        tau, friction = model.copy(), friction_columns(qd, np.zeros(6))
        tau[:, k] = model[:, 0]
        if not moves:
            friction[:, k, 1:] = 0.0
        found = check_torques(robot, 100.0, friction, model, tau)
        assert any("columns look swapped" in note for note in found.swaps) is said


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
