"""Friction laws, columns of the user's own and known loads in identification."""

import dataclasses

import numpy as np
import pytest

import neuler
from neuler import InputError, NeulerError, identify
from neuler.identify.friction_laws import with_law, with_loads
from neuler.robot.friction import Coulomb, LoadDependent, Stribeck

pytest.importorskip("clarabel")
LINKS = {"columns": ("links", "friction")}


def arm(**law):
    """A two-link arm with friction in both joints."""
    given = {"viscous": 0.3, "coulomb": 0.8} | law
    return neuler.robots.two_link().with_parameters(
        {f"joint{k}.{part}": x * (1.0 if k == 1 else 0.5) for k in (1, 2) for part, x in given.items()}
    )


def motion(seed, duration=20.0, rate=100.0):
    rng, t = np.random.default_rng(seed), np.arange(int(duration * rate)) / rate
    q, qd, qdd = np.zeros((3, len(t), 2))
    for k in range(1, 8):
        w = 2.0 * np.pi * k / duration
        a, b = rng.normal(size=(2, 2)) * 0.6 / np.sqrt(k)
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q, qd, qdd = q + a * s + b * c, qd + w * (a * c - b * s), qdd - w * w * (a * s + b * c)
    return t, q, qd, qdd


def log(true, given, seed, noise=0.01, more=None, **fields):
    t, q, qd, qdd = motion(seed)
    tau = true.inverse_dynamics(q, qd, qdd)
    if more is not None:
        tau = tau + more(q, qd, qdd)
    tau = tau + noise * tau.std(axis=0) * np.random.default_rng(seed + 50).normal(size=tau.shape)
    return identify.Log(given, t, q, tau, **fields)


LAWS = {
    "viscous": lambda robot: robot.with_parameters({"joint1.coulomb": 0.0, "joint2.coulomb": 0.0}),
    "coulomb": lambda robot: robot,
    "stribeck": lambda robot: _given(robot, [Stribeck(0.8, 2.0, 0.2, viscous=0.3), Stribeck(0.4, 1.0, 0.2)]),
    "load": lambda robot: with_loads(robot, {"joint1": 0.15, "joint2": 0.1}),
    "smooth": lambda robot: _given(robot, [Coulomb(1.5, 0.3, width=0.3), Coulomb(1.0, 0.1, width=0.3)]),
}


def _given(robot, laws):
    joints = [
        dataclasses.replace(joint, viscous=0.0, coulomb=0.0, friction=law)
        for joint, law in zip(robot.joints, laws, strict=True)
    ]
    return robot.replace(joints=joints)


@pytest.mark.parametrize("law", ["viscous", "coulomb", "stribeck", "load", "smooth"])
def test_the_law_that_a_robot_has_comes_back(law):
    """Its own law predicts other motion to within the noise, and simpler ones do not."""
    true, given = LAWS[law](arm()), arm()
    speeds = {"stribeck": 0.2, "smooth": 0.3}.get(law)
    found = identify.fit(log(true, given, 1), friction=law, friction_speeds=speeds, **LINKS)
    _, q, qd, qdd = motion(7)
    away = np.abs(qd) > 0.02  # a filter blurs the jump of dry friction
    exact, own = true.inverse_dynamics(q, qd, qdd), found.robot.inverse_dynamics(q, qd, qdd)
    assert np.abs(own - exact)[away].max() < 0.02 * exact.std()
    if law == "stribeck":
        assert isinstance(found.robot.joints[0].friction, Stribeck)
        assert found.robot.joints[0].friction.static == pytest.approx(2.0, rel=0.1)
    if law == "load":
        assert isinstance(found.robot.joints[0].friction, LoadDependent)
        assert found.robot.joints[0].friction.load == pytest.approx(0.15, abs=0.02)
        low, high = found.estimate.interval(0.999)[found.estimate.index("joint1.load")]
        assert low < 0.15 < high


def test_laws_are_compared_on_motion_that_was_not_fitted():
    true, given = LAWS["stribeck"](arm()), arm()
    logs = log(true, given, 1), log(true, given, 2, name="other")
    found = identify.compare_friction(
        logs[0], held_out=logs[1], laws=["viscous", "coulomb", "stribeck"], dead_zone=0.02, **LINKS
    )
    assert found.best.name == "stribeck"
    assert [law.name for law in found.laws] == ["stribeck", "coulomb", "viscous"]
    assert found.best.share in (0.1, 0.3)
    assert found.best.cross_validated < found.laws[1].cross_validated
    assert str(found).splitlines()[0].split()[:4] == ["law", "speed", "numbers", "fitted"]
    without = identify.compare_friction(logs[0], laws=["viscous", "coulomb"], **LINKS)
    assert without.best.name == "coulomb"
    assert np.isnan(without.best.held_out())


def sampled(robot, q, qd, qdd):
    """A log with 1 % of noise, 100 Hz."""
    tau = robot.inverse_dynamics(q, qd, qdd)
    tau = tau + 0.01 * tau.std(axis=0) * np.random.default_rng(9).normal(size=tau.shape)
    return identify.Log(robot, np.arange(len(q)) / 100.0, q, tau)


def test_friction_by_direction_of_a_vertical_slide():
    """With a rotor, its constant part acts like weight: they are one base parameter, and no law is lost."""
    drive = {"joint1.coulomb": 4.0, "joint1.viscous": 2.0, "joint1.rotor_inertia": 0.5}
    lift = neuler.from_dh([{"kind": "prismatic", "mass": 3.0}], gravity=(0.0, 0.0, -9.81)).with_parameters(drive)
    _, q, qd, qdd = motion(4)
    made = sampled(lift, *(0.2 * x[:, :1] for x in (q, qd, qdd)))
    found = identify.compare_friction(made, laws=["coulomb", "offset"])
    assert {law.name for law in found.laws} == {"coulomb", "offset"}
    assert not found.not_fitted
    offset = next(law.identified for law in found.laws if law.name == "offset")
    assert offset.robot.joints[0].coulomb == pytest.approx(4.0, rel=0.05)
    assert not any("drive one way" in note for note in offset.notes)


def test_a_law_that_cannot_be_fitted_does_not_stop_the_others():
    """A joint that moves one way only says nothing of friction the other way."""
    t, q, qd, qdd = motion(4)
    one = t * 0.3 + 0.02 * np.sin(3 * t), 0.3 + 0.06 * np.cos(3 * t), -0.18 * np.sin(3 * t)
    made = sampled(arm(), *(np.stack([x[:, 0], y], axis=-1) for x, y in zip((q, qd, qdd), one, strict=True)))
    found = identify.compare_friction(made, laws=["viscous", "coulomb", "offset"], **LINKS)
    assert [law.name for law in found.laws] == ["coulomb", "viscous"]
    assert "without any effect: 'joint2.coulomb_reverse'" in found.not_fitted["offset"]
    assert str(found).splitlines()[-1].startswith("not fitted with 'offset': fit: the data determines 9 of 10")
    with pytest.raises(InputError, match=r"^fit: the data determines 9 of 10"):
        identify.compare_friction(made, laws="offset", **LINKS)
    with pytest.raises(InputError, match=r"^columns: robot 'two_link' has none called 'lnks'"):
        identify.compare_friction(made, columns="lnks")


def test_an_offset_is_friction_that_differs_by_direction():
    true = arm()
    found = identify.fit(log(true, true, 1, more=lambda q, qd, qdd: np.array([0.2, 0.0])), friction="offset", **LINKS)
    joint = found.robot.joints[0]
    assert joint.coulomb == pytest.approx(1.0, abs=0.02)
    assert joint.coulomb_reverse == pytest.approx(0.6, abs=0.02)


def spring(q, qd, qdd):
    return np.array([np.sin(2.0 * q[0] + 0.3), 0.0])


@pytest.mark.parametrize("method", ["weighted", "consistent"])
def test_columns_of_the_users_own(method):
    """A counterbalance, and a coupling between two joints' friction."""
    true = arm()

    def more(q, qd, qdd):
        return np.stack([7.0 * np.sin(2.0 * q[:, 0] + 0.3), 0.4 * qd[:, 0]], axis=-1)

    own = {"spring": spring, "coupling": lambda q, qd, qdd: np.array([0.0, qd[0]])}
    found = identify.fit(
        log(true, true, 1, more=more), held_out=log(true, true, 2, more=more, name="b"), own=own, method=method, **LINKS
    )
    assert found.own == pytest.approx({"spring": 7.0, "coupling": 0.4}, rel=0.02)
    assert found.estimate.names[-2:] == ("spring", "coupling")
    assert found.held_out["b"].nrmse.max() < 2.0
    without = identify.fit(log(true, true, 1, more=more), method=method, **LINKS)
    assert without.fitted["log"].nrmse.max() > 2 * found.fitted["log"].nrmse.max()


def test_a_known_load_is_taken_off():
    true = arm()
    loaded = true.with_payload("link2", 1.5, (0.1, 0.0, 0.0))
    load = {"payload:link2.mass": 1.5, "payload:link2.mx": 0.15, "payload:link2.zz": 0.015, "payload:link2.yy": 0.015}
    logs = log(true, true, 1, name="empty"), log(loaded, true, 2, name="loaded")
    found = identify.fit(logs, loads={"loaded": load}, **LINKS)
    np.testing.assert_allclose(found.estimate.values, found.base.values, atol=5 * found.estimate.sd.max())
    assert identify.fit(logs, **LINKS).fitted["loaded"].nrmse.max() > 5.0
    assert found.fitted["loaded"].nrmse.max() < 2.0


def test_bad_input():
    true = arm()
    one = log(true, true, 1)
    for options, message in (
        ({"friction": "best"}, "fit: friction must be one of"),
        ({"friction": "stribeck", "friction_speeds": [0.1, -1.0]}, "must be 2 speeds above zero"),
        ({"friction": "stribeck", "friction_speeds": "fast"}, "must be 2 speeds above zero"),
        ({"friction": "coulomb", "friction_speeds": 0.1}, "friction_speeds belong to smooth and stribeck"),
        ({"friction_speeds": 0.1}, "friction_speeds belong to friction='smooth' or 'stribeck'"),
        ({"friction": "load", "columns": "links"}, "needs columns with Coulomb friction"),
        ({"own": [spring]}, "columns of your own are given by name"),
        ({"own": {"spring": 3.0}}, "column 'spring' must be a function of q, qd and qdd"),
        ({"own": {"spring": lambda q, qd, qdd: q[0]}}, "must return 2 forces of joint1, joint2"),
        ({"own": {"joint1.viscous": spring}}, "'joint1.viscous' is a parameter of the robot"),
        ({"own": {"odd": lambda q, qd, qdd: np.array([np.sqrt(-1.0 - q[0] ** 2), 0.0])}}, "'odd' is not finite along"),
        ({"own": {"speed": lambda q, qd, qdd: np.array([qd[0], 0.0])}}, "only in combination with others: "),
        ({"loads": {"monday": {"payload:link2.mass": 1.0}}}, "loads has no run 'monday'"),
        ({"loads": {"log": {"payload:link2.mass": "heavy"}}}, "must be a finite number"),
        ({"loads": {"log": {"payload:link9.mass": 1.0}}}, "link9"),
        ({"loads": 2.0}, "loads must map the name of a run"),
        ({"prior_sd": 0.0}, "prior_sd must be above zero"),
    ):
        with pytest.raises(NeulerError, match=message.replace("(", r"\(")):
            identify.fit(one, **(LINKS | options))
    with pytest.raises(InputError, match="compare_friction: laws must be one of"):
        identify.compare_friction(one, laws=["best"])
    with pytest.raises(InputError, match="laws must be a name or names"):
        identify.compare_friction(one, laws=[])
    with pytest.raises(InputError, match="whose friction is theirs"):
        with_law(neuler.robots.hua_3r(), "coulomb")
