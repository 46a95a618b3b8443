"""Closed-loop methods and simulated instruments through fit: a consistent robot without bias from noisy positions."""

import functools

import numpy as np
import pytest

import neuler
from neuler import InputError, identify
from neuler.control import GravityPD, sines
from neuler.identify.physical import inconsistency

pytest.importorskip("clarabel")
OPTIONS = {"columns": ("links", "friction")}
RAW = {"cutoff": float("inf"), "outliers": False, "check": False}


@functools.cache
def measured():
    """What is true, what is given, its controller, and one noisy run, hardly to be differentiated."""
    given = neuler.robots.two_link().with_parameters({"joint1.viscous": 0.1, "joint2.viscous": 0.1})
    changed = {"link2.mass": 1.5, "link2.mx": 0.3, "joint1.viscous": 0.3, "joint2.viscous": 0.25}
    true = given.with_parameters(changed)
    law = GravityPD(given, kp=60.0, kd=8.0, reference=sines([0.9, 0.7], [0.6, 0.9], 1.0), period=2e-3)
    run = neuler.simulate(true, law, tuple(np.split(law.reference(0.0)[:4], 2)), 10.0, step=2e-3)
    rng = np.random.default_rng(0)
    q = run.q + 1e-3 * rng.standard_normal(run.q.shape)
    tau = run.tau + 0.1 * rng.standard_normal(run.tau.shape)
    return true, given, law, identify.Log(given, run.t, q, tau).prepare(**RAW)


@pytest.mark.parametrize("method", ["didim", "input_error", "output_error", "instrumental"])
def test_no_bias_where_least_squares_has_one(method):
    true, _, law, ready = measured()
    if method == "instrumental":  # the regressor itself is of measured motion
        ready = ready.log.prepare(**RAW | {"cutoff": 12.0, "dead_zone": 0.1})
    found = identify.fit(ready, method=method, controller=law, **OPTIONS)
    exact = true.base_parameters(found.base.columns).values
    assert found.estimate.converged
    most = 8 if method == "didim" else 5  # its Jacobian leaves out that the motion depends on the parameters
    assert (np.abs(found.estimate.values - exact) < most * found.estimate.sd).all()
    for link in found.robot.links[1:]:
        assert not inconsistency([link.mass, *link.first_moment, *link.inertia]), link.name
    again = found.robot.base_parameters(found.base.columns).values
    assert (np.abs(again - exact) < (most + 1) * found.estimate.sd + 0.02 * np.abs(exact)).all()
    plain = identify.fit(measured()[3], **OPTIONS)
    k = found.base.names.index("link1.zz")
    assert abs(plain.estimate.values[k] - exact[k]) > 0.5 * exact[k]
    assert "simulation" in found.settings
    if method == "instrumental":
        assert 0.0 <= found.settings["hausman"]["p_value"] <= 1.0


def test_bad_input():
    _, given, law, ready = measured()
    with pytest.raises(InputError, match="method 'didim' simulates the closed loop: give controller="):
        identify.fit(ready, method="didim", **OPTIONS)
    with pytest.raises(InputError, match="controller= belongs to methods that simulate"):
        identify.fit(ready, method="weighted", controller=law, **OPTIONS)
    other = identify.Log(given, ready.log.t, ready.log.q, ready.log.tau, name="again").prepare(**RAW)
    with pytest.raises(InputError, match="give instruments= or controller=, not both"):
        identify.fit(ready, method="instrumental", instruments=other, controller=law, **OPTIONS)
    for more in ({"own": {"a": lambda q, qd, qdd: q}}, {"loads": {"log": {"payload:link2.mass": 1.0}}}):
        with pytest.raises(InputError, match="is not part of the simulated closed loop"):
            identify.fit(ready, method="input_error", controller=law, **more, **OPTIONS)
    with pytest.raises(InputError, match="friction='load' is not part"):
        identify.fit(ready, method="didim", controller=law, friction="load", **OPTIONS)
