"""From logs to a robot: simulated measurements with noise give back forces, parameters in their intervals, bodies."""

import functools

import numpy as np
import pytest

import neuler
from neuler import InputError, identify
from neuler.identify.physical import inconsistency
from neuler.identify.priors import prior_of

pytest.importorskip("clarabel")


def motion(robot, seed, duration=10.0, rate=200.0, period=None):
    """A Fourier series of five harmonics, with exact derivatives."""
    rng, t = np.random.default_rng(seed), np.arange(int(duration * rate)) / rate
    q, qd, qdd = np.zeros((3, len(t), robot.nv))
    for k in range(1, 6):
        w = 2.0 * np.pi * k / (period or duration)
        a, b = rng.normal(size=(2, robot.nv)) * 0.5 / np.sqrt(k)
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q, qd, qdd = q + a * s + b * c, qd + w * (a * c - b * s), qdd - w * w * (a * s + b * c)
    return t, q, qd, qdd


@functools.cache
def puma():
    """A PUMA, and one with all parameters off by up to 20 %, from which identification starts."""
    true = neuler.robots.puma560()
    kernel = true.regressor
    factors = np.random.default_rng(5).uniform(0.8, 1.2, len(kernel.column_names))
    off = dict(zip(kernel.column_names, kernel.column_values * factors, strict=True))
    return true, true.with_parameters(off)


def log(true, given, seed, noise=0.01, duration=10.0, period=None, **fields):
    """Torques with noise, positions in steps of 1e-5 rad."""
    t, q, qd, qdd = motion(true, seed, duration, period=period)
    tau = true.inverse_dynamics(q, qd, qdd)
    tau = tau + noise * np.sqrt((tau**2).mean(axis=0)) * np.random.default_rng(seed + 100).normal(size=tau.shape)
    return identify.Log(given, t, np.round(q / 1e-5) * 1e-5, tau, **fields)


def errors(found, true, seed=7):
    """Of forces along another motion, in % of each."""
    _, *state = motion(true, seed)
    tau = true.inverse_dynamics(*state)
    return 100.0 * np.sqrt(((found.inverse_dynamics(*state) - tau) ** 2).mean(axis=0) / (tau**2).mean(axis=0))


@pytest.mark.parametrize("method", ["weighted", "ordinary", "reweighted", "consistent"])
def test_forces_come_back(method):
    true, given = puma()
    found = identify.fit(log(true, given, 1, name="a"), method=method, held_out=log(true, given, 2, name="b"))
    assert errors(given, true).min() > 3.0
    assert errors(found.robot, true).max() < (5.0 if method == "ordinary" else 0.6)
    assert found.estimate.converged
    assert found.held_out["b"].nrmse.max() < (6.0 if method == "ordinary" else 1.0)
    assert found.fitted["a"].overall < 0.5
    for link in found.robot.links[1:]:
        assert not inconsistency([link.mass, *link.first_moment, *link.inertia]), link.name
    assert [note.split("'")[1] for note in found.notes if "no real body" in note] == ["link2", "link3", "link6"]
    assert any("'link1' is given without mass" in note for note in found.notes) == (method == "consistent")
    assert "held out 'b'" in str(found)


def test_what_is_no_false_body():
    """A payload that is looked for, a link without mass, a flat one and a rod; and one that contradicts itself."""
    robot = neuler.robots.two_link()
    plate, rod, wrong = (0.001, 0.001, 0.002), (0.0, 0.003, 0.003), (0.001, 0.001, 0.0025)
    for inertia in (plate, rod, wrong):
        flat = neuler.Link.from_com("link2", mass=1.5, com=(0.2, 0.1, 0.0), inertia=inertia)
        given = robot.replace(links=[*robot.links[:-1], flat])
        notes = prior_of(given.base_parameters(("links", "payload:link2")))[2]
        assert [note.split("'")[1] for note in notes] == ["link2"] * (inertia == wrong)
    (note,) = prior_of(robot.base_parameters("payload:link2"), decides=True)[2]
    assert note.startswith("'payload:link2' is given without mass")


def test_held_out_motion_that_does_not_fit():
    """One run has a payload that the other has not."""
    true, given = puma()
    fitted, words = log(true, given, 1, name="a").prepare(), "what was found does not hold for this motion"
    alike = identify.fit(fitted, held_out=log(true, given, 2, name="b"))
    assert not any(words in note for note in alike.notes)
    loaded = log(true.with_payload("link6", 3.0, (0.0, 0.0, 0.1)), given, 2, name="b")
    (note,) = (note for note in identify.fit(fitted, held_out=loaded).notes if words in note)
    assert note.startswith("b: its errors are up to ")
    assert "'joint2'" in note
    assert "neuler.identify.compare_friction" in note


def test_intervals_hold_the_truth():
    """Of 58 base parameters in three runs, about 95 %."""
    true, given = puma()
    inside = []
    for seed in (1, 3, 4):
        found = identify.fit(log(true, given, seed))
        exact = true.base_parameters(found.base.columns).values
        low, high = found.estimate.interval().T
        inside.append((low <= exact) & (exact <= high))
    assert 0.88 < np.mean(inside) < 0.99


def test_several_runs_determine_more():
    true, given = puma()
    one = identify.fit(log(true, given, 1))
    both = identify.fit([log(true, given, 1, name="a"), log(true, given, 2, name="b", weight=2.0)])
    assert np.median(both.estimate.sd / one.estimate.sd) < 0.9
    assert set(both.fitted) == {"a", "b"}


def test_a_payload_alone():
    true = neuler.robots.puma560()
    loaded = true.with_payload("link6", 2.0, (0.05, 0.0, 0.1), (0.01, 0.01, 0.01))
    found = identify.fit(log(loaded, true, 1), columns="payload:link6", method="ordinary", cutoff=5.0)
    # forces of the arm itself are no columns here: they are subtracted as what the model has without them
    assert found.estimate.values[found.estimate.index("payload:link6.mass")] == pytest.approx(2.0, abs=0.05)


def test_errors_are_those_of_what_was_measured():
    """Of a light payload alone, too: what the arm needs is known, and measured with it."""
    true = neuler.robots.puma560()
    loaded = true.with_payload("link6", 0.2, (0.05, 0.0, 0.1), (0.001, 0.001, 0.001))
    ready = log(loaded, true, 1).prepare()
    found = identify.fit(ready, columns="payload:link6")
    level = np.sqrt((ready.filter(ready.tau) ** 2).mean(axis=0))
    np.testing.assert_allclose(found.fitted["log"].nrmse, 100.0 * found.fitted["log"].rms / level)
    assert found.fitted["log"].nrmse.max() < 5.0
    assert not any("explains little" in note for note in found.notes)


def test_a_four_bar():
    """A machine with a loop: eight base parameters of four links."""
    true = neuler.robots.four_bar()
    t = np.arange(2000) / 200.0
    crank = 0.5 * np.sin(1.3 * t) + 0.3 * np.sin(3.7 * t)
    start = float(true.neutral()[0])
    q = true.assemble((start + crank)[:, None], continuous=True).q
    qd = (0.65 * np.cos(1.3 * t) + 1.11 * np.cos(3.7 * t))[:, None]
    qdd = (-0.845 * np.sin(1.3 * t) - 4.107 * np.sin(3.7 * t))[:, None]
    tau = true.inverse_dynamics(q, qd, qdd)
    found = identify.fit(identify.Log(true, t, q, tau), columns="links", cutoff=10.0, method="consistent")
    again = found.robot.inverse_dynamics(q, qd, qdd)
    assert np.sqrt(((again - tau) ** 2).mean() / (tau**2).mean()) < 0.01


def test_bad_input():
    true, given = puma()
    one = log(true, given, 1)
    with pytest.raises(InputError, match="fit: method must be one of"):
        identify.fit(one, method="best")
    with pytest.raises(InputError, match="fit: at least one log is needed"):
        identify.fit([])
    with pytest.raises(InputError, match="two logs are called 'log'; give names"):
        identify.fit([one, one])
    with pytest.raises(InputError, match=r"fit: logs must be neuler\.identify\.Log"):
        identify.fit(3.0)
    with pytest.raises(InputError, match="is of another robot"):
        identify.fit([one, log(true, true, 2, name="other")])
    with pytest.raises(InputError, match="columns: robot 'puma560' has none called 'linkz'"):
        identify.fit(one, columns="linkz")
    noise = identify.Log(given, one.t, one.q, np.random.default_rng(0).normal(size=one.tau.shape), name="noise")
    assert any("the model explains little of 'joint1'" in note for note in identify.fit(noise).notes)
    still = identify.Log(given, one.t, np.tile(one.q[:1], (2000, 1)) + 1e-6 * one.q, one.tau, name="still")
    with pytest.raises(InputError):
        identify.fit(still)


@pytest.mark.filterwarnings("error")
def test_joints_at_rest():
    """Three of six joints: what their motion shows cannot be found, which is said, and the rest is found."""
    true, given = puma()
    t, q, qd, qdd = motion(true, 1)
    q[:, [0, 2, 5]], qd[:, [0, 2, 5]], qdd[:, [0, 2, 5]] = 0.3, 0.0, 0.0
    tau = true.inverse_dynamics(q, qd, qdd)
    tau = tau + 0.01 * np.sqrt((tau**2).mean(axis=0)) * np.random.default_rng(2).normal(size=tau.shape)
    still = identify.Log(given, t, np.round(q / 1e-5) * 1e-5, tau)
    for method in ("weighted", "bootstrap"):
        with pytest.raises(InputError, match=r"^fit: the data determines \d+ of \d+ columns") as error:
            identify.fit(still, method=method)
        assert "Move 'joint1', 'joint3', 'joint6', too, which rest in all rows" in str(error.value)
        assert "use method='consistent'" in str(error.value)
        assert "undetermined=" not in str(error.value)
    found = identify.fit(still, method="consistent")
    assert not np.isnan(found.estimate.sd).any()
    again = found.robot.inverse_dynamics(q, qd, qdd)
    assert (np.sqrt(((again - tau) ** 2).mean(axis=0)) < 0.02 * np.sqrt((tau**2).mean(axis=0)))[[1, 3, 4]].all()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("cutof", "'cutof'; did you mean 'cutoff'"),
        ("frction", "did you mean 'friction'"),
        ("undetermined", "there are "),
    ],
)
def test_options_that_are_none(option, message):
    with pytest.raises(InputError, match="fit: there is no option") as error:
        identify.fit(log(*puma(), 1), **{option: 5.0})
    assert message in str(error.value)


def test_frames_stay_without_mass():
    """Links without mass that are fixed to others, as URDF files have them for tools, are not made bodies."""
    bare = neuler.robots.two_link()
    links = [*bare.links, neuler.Link("flange")]
    robot = bare.replace(links=links, joints=[*bare.joints, neuler.Joint("mount", "fixed", "link2", "flange")])
    t, q, qd, qdd = motion(robot, 1)
    found = identify.fit(identify.Log(robot, t, q, robot.inverse_dynamics(q, qd, qdd)), columns="links")
    assert next(link for link in found.robot.links if link.name == "flange").mass == 0.0
    assert not any("flange" in note for note in found.notes)
    np.testing.assert_allclose(found.estimate.values, found.base.values, atol=1e-3)
