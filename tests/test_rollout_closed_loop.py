"""Derivatives of closed loops to parameters: against differences, another algorithm, and joints that friction holds."""

import dataclasses

import numpy as np
import pytest

import neuler
from neuler import InputError
from neuler.control import AdaptiveSlotineLi, ComputedTorque, GravityPD, sines
from neuler.rollouts.closed_loop import parameter_tangents
from random_robots import close

DT = 1e-3


def differences(robot, q0, qd0, law, steps, parameters, of, share=1e-4, **options):
    """Central differences of fourth order of all parameters at once."""
    names, values = list(parameters), np.array(list(parameters.values()), dtype=float)
    step = share * np.maximum(np.abs(values), 0.1)
    rows = np.concatenate([values + k * np.diag(step) for k in (1, -1, 2, -2)])
    found = robot.rollout(q0, qd0, law, DT, steps, parameters={n: rows[:, k] for k, n in enumerate(names)}, **options)
    assert not found.status.any()
    near, back, far, behind = np.split(getattr(found, of), 4)
    columns = (8 * (near - back) - (far - behind)) / (12 * step[:, None, None])
    return np.moveaxis(columns, 0, -1)


def agree(found, wanted, tolerance):
    """As a share of the largest derivative to each parameter."""
    size = np.abs(wanted).max(axis=(0, 1))
    assert (size > 0).all()
    assert (np.abs(found - wanted).max(axis=(0, 1)) / size).max() < tolerance


def arm():
    robot = neuler.robots.puma560().without_friction()
    path = sines([0.4, 0.3, 0.5, 0.2, 0.3, 0.4], 0.5, 0.7)
    off = robot.with_parameters({"link3.mass": 1.2 * robot.links[3].mass})
    law = ComputedTorque(off, kp=400.0, reference=path, period=2e-3)
    return robot, law, np.zeros(6), {"link2.mx": 1.5, "link3.zz": 0.2, "link4.xx": 0.01, "joint5.viscous": 0.1}


def machine():
    robot = neuler.robots.four_bar().without_friction()
    name = robot.links[1].name
    return robot, (lambda t, q, qd: -3.0 * qd + np.sin(3 * t)), robot.neutral(), {f"{name}.zz": 0.3, f"{name}.mx": 0.2}


def flying():
    robot = neuler.robots.two_link().without_friction().with_payload("base", 5.0, inertia=(1, 1, 1)).with_free_base()

    def law(t, q, qd):
        return np.concatenate([np.zeros(6), 5.0 * (np.array([0.4, -0.3]) - q[-2:]) - qd[-2:]])

    return robot, law, robot.random_configuration(2), {"link1.mass": 2.0, "link2.zz": 0.4}


def adaptive():
    """A controller that learns: its memory depends on the parameters, too."""
    robot = neuler.robots.two_link()
    law = AdaptiveSlotineLi(
        robot, lam=5.0, k=4.0, parameters="link2", rate=0.1, period=2e-3, reference=sines([0.5, 0.4], [0.5, 0.7])
    )
    return robot, law, np.zeros(2), {"link2.mass": 1.3, "link2.mx": 0.2}


@pytest.mark.parametrize("make", [arm, machine, flying, adaptive])
@pytest.mark.parametrize("method", ["rk4", pytest.param("euler", marks=pytest.mark.slow)])
def test_tangents_against_differences(make, method):
    robot, law, q0, parameters = make()
    options = {"method": method, "every": 20}
    found, rates = parameter_tangents(
        robot, q0, np.zeros(robot.nv), law, DT, 200, parameters=parameters, of=("q", "qd", "tau"), **options
    )
    plain = robot.rollout(q0, np.zeros(robot.nv), law, DT, 200, parameters=parameters, **options)
    assert all(np.array_equal(a, b) for a, b in zip(found, plain, strict=True))
    for of, rate in zip(("q", "qd", "tau"), rates, strict=True):
        wanted = differences(robot, q0, np.zeros(robot.nv), law, 200, parameters, of, **options)
        assert rate.shape == (10, getattr(plain, of).shape[-1], len(parameters))
        agree(rate, wanted, 2e-7)


@pytest.mark.parametrize("method", ["rk4", "euler", "implicit"])
def test_forces_without_a_state_are_the_tangents_of_open_loops(method):
    """Another algorithm: ``rollout_sensitivities`` differentiates a step that is written as one function."""
    robot = neuler.robots.two_link()
    start, parameters = ([0.3, -0.4], [1.0, 0.5]), {"link2.mass": 1.0, "link1.zz": 0.3, "joint2.viscous": 0.2}
    _, (dq, dqd) = parameter_tangents(
        robot, *start, lambda t, q, qd: np.array([1.5, -0.5]), DT, 60, parameters=parameters, of=("q", "qd"),
        method=method, every=10,
    )  # fmt: skip
    other = robot.rollout_sensitivities(*start, [[1.5, -0.5]], DT, 60, parameters=parameters, method=method, every=10)
    close(dq, other.dq[..., 4:], 1e-11)
    close(dqd, other.dqd[..., 4:], 1e-11)


def test_friction_that_slides_holds_and_lets_go():
    """Joints stop, rest and break away: derivatives are those of the numbers, and none of what is held."""
    robot = neuler.robots.two_link().with_parameters({"joint1.coulomb": 3.0, "joint2.coulomb": 1.0})
    law = GravityPD(robot.without_friction(), kp=30.0, kd=3.0, reference=sines([0.3, 0.2], [1.0, 1.3]), period=2e-3)
    start = np.zeros(2), np.zeros(2)
    parameters = {"joint1.coulomb": 3.1, "joint2.coulomb": 1.1, "link2.zz": 0.15, "joint1.viscous": 0.05}
    found, (dq, dqd, dtau) = parameter_tangents(
        robot, *start, law, DT, 3000, parameters=parameters, of=("q", "qd", "tau"), every=5
    )
    held = found.qd == 0.0
    stops, goes = (np.count_nonzero(np.diff(held.astype(int), axis=0) == sign, axis=0) for sign in (1, -1))
    assert held.sum() > 50
    assert (stops >= 2).all()
    assert (goes >= 2).all()
    assert not dqd[held].any()
    for of, rate in (("q", dq), ("tau", dtau)):
        wanted = differences(robot, *start, law, 3000, parameters, of, share=1e-7, every=5)
        agree(rate, wanted, 2e-5)


def test_a_held_joint_beneath_its_limit_does_not_move():
    robot = neuler.robots.two_link().with_parameters({"joint1.coulomb": 5.0, "joint2.coulomb": 5.0})
    law = GravityPD(robot.without_friction(), kp=10.0, kd=1.0, reference=[0.1, 0.1])
    parameters = {"joint1.coulomb": 5.0, "link2.mass": 1.0}
    found, (dq, dqd) = parameter_tangents(robot, [0, 0], [0, 0], law, DT, 100, parameters=parameters, of=("q", "qd"))
    assert not any(x.any() for x in (found.qd, dq, dqd))


def test_memory_is_carried():
    robot = neuler.robots.two_link()

    def law(t, q, qd, memory, reference):
        error = np.array([0.4, -0.2]) - q
        return 40.0 * error - 6.0 * qd + 30.0 * memory, memory + 2e-3 * error

    law.memory0, law.period = np.zeros(2), 2e-3
    parameters = {"link2.mass": 1.4, "link2.mx": 0.3}
    _, (dtau,) = parameter_tangents(robot, [0, 0], [0, 0], law, DT, 400, parameters=parameters, of="tau", every=40)
    agree(dtau, differences(robot, [0, 0], [0, 0], law, 400, parameters, "tau", every=40), 1e-7)


def test_stops_are_differentiated():
    """Behind an inelastic impact the joint lies on its stop, whatever the parameters."""
    limits = neuler.Limits(-1.0, 0.2)
    robot = neuler.robots.two_link()
    joints = [robot.joints[0], dataclasses.replace(robot.joints[1], limits=limits)]
    robot = robot.replace(joints=joints)
    law = GravityPD(robot, kp=40.0, kd=4.0, reference=[0.3, 0.6])
    parameters = {"link2.mass": 1.4, "link2.zz": 0.3}
    found, (dq,) = parameter_tangents(
        robot, [0, 0], [0, 0], law, DT, 800, parameters=parameters, of="q", every=40, limits="hold"
    )
    lies = found.q[:, 1] == 0.2
    assert lies.sum() > 3
    assert not dq[lies, 1].any()
    wanted = differences(robot, [0, 0], [0, 0], law, 800, parameters, "q", share=1e-6, every=40, limits="hold")
    agree(dq, wanted, 1e-5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"of": "energy"}, "not of 'energy'"),
        ({"parameters": {}}, "at least one"),
        ({"controller": np.zeros(2)}, "rollout_sensitivities"),
        ({"controller": None}, "a controller is needed"),
        ({"parameters": {"link9.mass": 1.0}}, "link9"),
        ({"parameters": {"link2.mass": [1.0, 2.0]}}, "one rollout at a time"),
        ({"q0": np.zeros((3, 2))}, "one rollout at a time"),
        ({"steps": 0}, "steps"),
        ({"every": 7}, "divide"),
    ],
)
def test_bad_input(change, words):
    robot = neuler.robots.two_link()
    given = {
        "q0": [0, 0], "qd0": [0, 0], "controller": GravityPD(robot, kp=1.0, kd=1.0, reference=[0, 0]), "dt": DT,
        "steps": 20, "parameters": {"link2.mass": 1.0},
    }  # fmt: skip
    with pytest.raises(InputError, match=words):
        parameter_tangents(robot, **{**given, **change})


def test_a_run_that_ends_has_no_derivatives_after_it():
    robot = neuler.robots.two_link()
    found, (dq,) = parameter_tangents(
        robot, [0, 0], [0, 0], lambda t, q, qd: 1e5 * qd + 1.0, DT, 500, parameters={"link2.mass": 1.0}, of="q"
    )
    assert found.status == 2
    assert np.isnan(dq[int(found.step) + 1 :]).all()
