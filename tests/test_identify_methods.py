"""Methods of fit beside least squares: bootstrap, instruments from a second run, a Bayesian prior, gains of drives."""

import dataclasses

import numpy as np
import pytest

from neuler import InputError, identify
from test_identify_friction import arm, motion

pytest.importorskip("clarabel")
OPTIONS = {"columns": ("links", "friction")}


def log(true, given, seed, motion_seed=1, position=0.0, torque=0.01, **fields):
    t, q, qd, qdd = motion(motion_seed)
    rng, tau = np.random.default_rng(seed), true.inverse_dynamics(q, qd, qdd)
    tau = tau + torque * tau.std(axis=0) * rng.normal(size=tau.shape)
    return identify.Log(given, t, q + position * rng.normal(size=q.shape), tau, **fields)


def test_the_bootstrap_has_the_spread_of_weighted_least_squares():
    true = arm()
    one = log(true, true, 1)
    plain, found = (identify.fit(one, method=method, **OPTIONS) for method in ("weighted", "bootstrap"))
    np.testing.assert_array_equal(found.estimate.values, plain.estimate.values)
    ratio = found.estimate.sd / plain.estimate.sd
    assert 0.6 < ratio.min() < ratio.max() < 1.6
    assert found.estimate.resamples.shape == (1000, len(plain.estimate.names))
    low, high = found.estimate.interval().T
    assert ((low < found.estimate.values) & (found.estimate.values < high)).all()
    assert found.estimate.method == "bootstrap"


def test_instruments_from_a_second_run_take_the_bias_away():
    """Positions with so much noise, hardly filtered, that accelerations are noise for the most part."""
    true = arm()
    noisy = {"position": 2e-4, "torque": 0.001}
    options = OPTIONS | {"cutoff": 25.0, "check": False, "dead_zone": 0.3}
    errors = {"weighted": [], "instrumental": []}
    biased = []
    for seed in range(8):
        one, two = log(true, true, seed, **noisy), log(true, true, seed + 100, name="again", **noisy)
        for method, found in errors.items():
            more = {"instruments": two} if method == "instrumental" else {}
            answer = identify.fit(one, method=method, **more, **options)
            found.append(answer.estimate.values - answer.base.values)
            if more:
                biased.append(answer.settings["hausman"]["p_value"] < 0.05)
                assert any("Durbin-Wu-Hausman" in note for note in answer.notes)
    k = list(answer.base.names).index("link2.zz")
    t = {name: np.mean(e, axis=0)[k] / (np.std(e, axis=0, ddof=1)[k] / np.sqrt(8)) for name, e in errors.items()}
    assert abs(t["weighted"]) > 10
    assert abs(t["instrumental"]) < 4
    assert np.mean(biased) > 0.8


def test_a_prior_counts_where_data_does_not():
    """Little motion: weighted least squares is far off, the posterior is near prior and truth, and covers the truth."""
    true = arm()
    factors = np.random.default_rng(3).normal(1.0, 0.05, 2)
    given = true.with_parameters(
        {f"link{k}.{part}": x * factors[k - 1] for k in (1, 2) for part, x in _ten(true.links[k]).items()}
    )
    t, q, qd, qdd = motion(1, duration=4.0)
    q, qd, qdd = 0.02 * q, 0.02 * qd, 0.02 * qdd
    tau = true.inverse_dynamics(q, qd, qdd)
    tau = tau + 0.05 * np.random.default_rng(0).normal(size=tau.shape)
    poor = identify.Log(given, t, q, tau)
    options = OPTIONS | {"cutoff": 10.0, "check": False}
    plain, found = (identify.fit(poor, method=method, prior_sd=0.1, **options) for method in ("weighted", "bayesian"))
    exact = true.base_parameters("links").values
    near = np.abs(found.robot.base_parameters("links").values - exact).max() / np.abs(exact).max()
    far = np.abs(plain.estimate.values[: len(exact)] - exact).max() / np.abs(exact).max()
    assert near < 0.2 < far
    low, high = found.estimate.interval(0.999).T
    truth = [_ten(true.links[int(name[4])])[name[6:]] for name in found.estimate.names if name.startswith("link")]
    links = slice(0, len(truth))
    assert np.mean((low[links] <= truth) & (truth <= high[links])) > 0.8
    assert found.settings["prior_sd"] == 0.1
    wide = identify.fit(poor, method="bayesian", prior_sd=1.0, **options)
    assert wide.settings["weight"] < found.settings["weight"]
    assert np.median(wide.estimate.sd / found.estimate.sd) > 1.5


def _ten(link):
    parts = ("mass", "mx", "my", "mz", "xx", "yy", "zz", "xy", "xz", "yz")
    return dict(zip(parts, (link.mass, *link.first_moment, *link.inertia), strict=True))


def test_gains_of_drives():
    true = arm()
    heavy = true.with_payload("link2", 2.0, (0.1, 0.0, 0.0))
    gain = np.array([1.08, 0.93])
    logs = []
    for name, robot, seed in (("empty", true, 1), ("loaded", heavy, 2)):
        t, q, qd, qdd = motion(seed)
        tau = robot.inverse_dynamics(q, qd, qdd) / gain
        tau = tau + 0.01 * tau.std(axis=0) * np.random.default_rng(seed).normal(size=tau.shape)
        logs.append(identify.Log(true, t, q, tau, name=name))
    load = {"payload:link2.mass": 2.0, "payload:link2.mx": 0.2, "payload:link2.yy": 0.02, "payload:link2.zz": 0.02}
    found = identify.drive_gains(logs, {"loaded": load}, **OPTIONS)
    for joint, exact in zip(("joint1", "joint2"), gain, strict=True):
        assert found.gains[joint] == pytest.approx(exact, abs=4 * found.sd[joint])
        assert found.sd[joint] < 0.01
    assert "joint2: 0.929" in str(found)
    with pytest.raises(InputError, match="no run has a known load"):
        identify.drive_gains(logs, {}, **OPTIONS)
    with pytest.raises(InputError, match="has no run 'monday'"):
        identify.drive_gains(logs, {"monday": load}, **OPTIONS)


def test_a_log_does_not_judge_itself():
    """Some rows of the fitted log, under another name."""
    true = arm()
    one, other = log(true, true, 1, name="a"), log(true, true, 2, motion_seed=2, name="b")
    q, tau = (np.concatenate([x[:1200], y[:800]]) for x, y in ((one.q, other.q), (one.tau, other.tau)))
    part = identify.Log(true, one.t, q, tau, name="c")
    words = "say nothing of other motions"
    assert not any(words in note for note in identify.fit(one, held_out=other, **OPTIONS).notes)
    (note,) = (note for note in identify.fit(one, held_out=part, check=False, **OPTIONS).notes if words in note)
    assert "'c' is held out, and in 1200 of 2000 rows that move has the measurements of 'a', which is fitted" in note
    again = dataclasses.replace(one, name="again")
    (note,) = (note for note in identify.fit([one, other], held_out=again, **OPTIONS).notes if words in note)
    assert note.startswith("'again' is held out, and has the measurements of 'a', which is fitted")


def test_bad_input():
    true = arm()
    one = log(true, true, 1, name="a")
    with pytest.raises(InputError, match="method 'instrumental' needs instruments"):
        identify.fit(one, method="instrumental", **OPTIONS)
    with pytest.raises(InputError, match="instruments belong to method 'instrumental', not to 'weighted'"):
        identify.fit(one, instruments=log(true, true, 2, name="again"), **OPTIONS)
    t, q, _, _ = motion(1, duration=10.0)
    short = identify.Log(true, t, q, one.tau[: len(t)], name="short")
    with pytest.raises(InputError, match="with as many rows"):
        identify.fit(one, method="instrumental", instruments=short, check=False, **OPTIONS)
    copy = dataclasses.replace(one, name="copy")
    with pytest.raises(InputError, match="log 'copy' has the positions of 'a', which is fitted, to the last digit"):
        identify.fit(one, method="instrumental", instruments=copy, **OPTIONS)
    noisy = dataclasses.replace(one, name="copy", q=np.where(np.arange(len(one.t))[:, None] < 200, one.q + 1e-4, one.q))
    with pytest.raises(InputError, match=r"log 'copy' has \d+ rows of 'a'"):
        identify.fit(one, method="instrumental", instruments=noisy, cutoff=10.0, **OPTIONS)
    with pytest.raises(InputError, match="instruments for load-dependent friction"):
        identify.fit(one, method="instrumental", instruments=log(true, true, 2, name="x"), friction="load", **OPTIONS)
    with pytest.raises(InputError, match="prior_sd"):
        identify.fit(one, method="bayesian", prior_sd=-1.0, **OPTIONS)
