"""Friction laws: closed forms and heat; as values, parameters and in files; what is refused and suspicious."""

import dataclasses
import pickle

import numpy as np
import pytest
import sympy

import neuler
from friction_laws import LAWS, each_law
from neuler import Coulomb, Coupling, InputError, Joint, LoadDependent, Motor, RobotError, Stribeck
from neuler.diagnose.doctor import examine
from neuler.formats import save
from neuler.robot.friction import friction_law
from neuler.trace.graph import Graph
from neuler.view.as_json import as_dict
from neuler.view.text import summary
from random_robots import close

STEP = 1e-30
SPEEDS = np.random.default_rng(1).uniform(-1.5, 1.5, 40)
LOADS = np.random.default_rng(2).uniform(-20, 20, 40)


# ---- closed forms --------------------------------------------------------------------------------------


def formula(law, v, t):
    """What the law takes, in SymPy: written from the definition."""
    s = sympy.tanh(v / law.width) if law.width else sympy.sign(v)
    match law:
        case Coulomb():
            back = law.coulomb if law.coulomb_reverse is None else law.coulomb_reverse
            if law.width:
                return law.viscous * v + (law.coulomb + back) / 2 * s + (law.coulomb - back) / 2 * s**2
            return law.viscous * v + sympy.Piecewise((law.coulomb, v > 0), (-back, v < 0), (0, True))
        case Stribeck():
            level = law.coulomb + (law.static - law.coulomb) * sympy.exp(-(sympy.Abs(v / law.speed) ** law.exponent))
            return level * s + law.viscous * v
        case LoadDependent():
            size = sympy.sqrt(t**2 + law.load_width**2)
            return (law.coulomb + law.load * size) * s + law.viscous * v
    raise AssertionError(law)


@each_law
@pytest.mark.parametrize("jump", [False, True], ids=["as it is", "with a jump"])
def test_forces_and_slopes_are_the_closed_forms(law, jump):
    law = dataclasses.replace(law, width=0.0) if jump else law
    v, t = sympy.symbols("v t", real=True)
    expected = formula(law, v, t)
    force = sympy.lambdify((v, t), expected)
    side = sympy.Symbol("side", positive=True)  # a slope beside the jump: v = side, or v = -side
    slopes = [sympy.lambdify((side, t), sympy.diff(expected.subs(v, sign * side), side) * sign) for sign in (1, -1)]
    loads = sympy.lambdify((v, t), sympy.diff(expected, t))
    for speed, load in zip(SPEEDS.tolist(), LOADS.tolist(), strict=True):
        slope = slopes[0 if speed > 0 else 1](abs(speed), load)
        if law.loaded:
            close(law.needed(load, speed), load + force(speed, load), 1e-14, scale=20.0)
            found = law.needed_slopes(load, speed)
            close(found, [1 + loads(speed, load), slope], 1e-12)
        else:
            close(law.force(speed), force(speed, load), 1e-14)
            close(law.slope(speed), slope, 1e-12)


@each_law
def test_nothing_moves_without_friction_at_rest(law):
    """sign(0) = 0: a law takes nothing at rest, however it is written, and a NaN stays one."""
    for one in (law, dataclasses.replace(law, width=0.0)):
        assert one.force(0.0) == 0.0
        assert np.isnan(one.force(np.nan))
        assert not np.isnan(one.slope(0.0))
        if one.loaded:
            assert one.needed(7.0, 0.0) == one.delivered(7.0, 0.0) == 7.0


@each_law
def test_friction_makes_heat(law):
    for speed, load in zip(SPEEDS, LOADS, strict=True):
        taken = law.needed(load, speed) - load if law.loaded else law.force(speed)
        assert speed * taken > 0.0


@each_law
def test_a_narrow_law_is_the_one_that_jumps(law):
    sharp, narrow = law.smooth(0.0), law.smooth(1e-4)
    for speed, load in zip(SPEEDS, LOADS, strict=True):
        if law.loaded:
            narrow = law.smooth(1e-4, 1e-8)
            close(narrow.needed(load, speed), sharp.needed(load, speed), 1e-12)
        close(narrow.force(speed), sharp.force(speed), 1e-12)


@pytest.mark.parametrize("width", [0.0, 0.4])
@pytest.mark.parametrize("load_width", [0.0, 0.6])
@pytest.mark.parametrize("mu", [0.0, 0.3, 0.95])
def test_what_is_needed_is_delivered(mu, width, load_width):
    """Closed forms both ways; and the slopes by the complex step."""
    law = LoadDependent(mu, coulomb=0.7, viscous=0.2, width=width, load_width=load_width)
    for speed, load in zip(SPEEDS.tolist(), LOADS.tolist(), strict=True):
        close(law.delivered(law.needed(load, speed), speed), load, 1e-13, scale=20.0)
        close(law.needed(law.delivered(load, speed), speed), load, 1e-13, scale=20.0)
        to_load, to_speed = law.needed_slopes(load, speed)
        close(np.imag(law.needed(load + 1j * STEP, speed)) / STEP, to_load, 1e-14)
        close(np.imag(law.needed(load, speed + 1j * STEP)) / STEP, to_speed, 1e-13, scale=20.0)
        tau = law.needed(load, speed)
        close(np.imag(law.delivered(tau + 1j * STEP, speed)) / STEP, 1 / to_load, 1e-12)


def test_efficiency_of_a_gear():
    """Of a gear that drives a load 1 / (1 + mu), of one that a load drives 1 - mu."""
    law = LoadDependent(0.2)
    assert 10.0 / law.needed(10.0, 1.0) == pytest.approx(1 / 1.2)
    assert law.needed(-10.0, 1.0) / -10.0 == pytest.approx(0.8)


@each_law
def test_over_a_graph_it_is_the_same(law):
    graph = Graph()
    v, t = graph.inputs("x", 2)
    node = law.needed(t, v) if law.loaded else law.force(v)
    assert node.graph is graph
    rub = neuler.function(lambda v, t: law.needed(t, v) if law.loaded else law.force(v), {"v": (), "t": ()})
    expected = [law.needed(t, v) if law.loaded else law.force(v) for v, t in zip(SPEEDS, LOADS, strict=True)]
    close(rub(SPEEDS, LOADS), expected, 1e-14)


# ---- parameters ----------------------------------------------------------------------------------------


@each_law
def test_numbers_of_a_law_as_parameters(law):
    robot = neuler.robots.two_link().with_friction("joint2", law)
    kernel = robot.compile("inverse_dynamics", parameters=("joint2.friction",))
    assert kernel.parameter_names == tuple(f"joint2.friction.{part}" for part in law.parameters)
    rng = np.random.default_rng(7)
    q, qd, qdd = rng.uniform(-1, 1, (3, 5, 2))
    close(kernel(q, qd, qdd, kernel.parameter_values), robot.inverse_dynamics(q, qd, qdd), 1e-13)
    given = rng.uniform(0.1, 0.9, (5, len(law.parameters)))
    direct = robot.compile("forward_dynamics", parameters=("joint2.friction",))
    for row in range(5):
        other = dataclasses.replace(law, **dict(zip(law.parameters, given[row].tolist(), strict=True)))
        tau = robot.with_friction("joint2", other).inverse_dynamics(q[row], qd[row], qdd[row])
        close(kernel(q[row], qd[row], qdd[row], given[row]), tau, 1e-13)
        close(direct(q[row], qd[row], tau, given[row]), qdd[row], 1e-11)


def test_parameters_of_laws_and_their_errors():
    robot = neuler.robots.two_link().with_friction("joint2", LAWS["load"])
    kernel = robot.compile("forward_dynamics", parameters=("joint2.friction.load",))
    assert np.isfinite(kernel([0.1, 0.2], [0.3, 0.4], [1.0, 2.0], [0.9])).all()
    assert np.isnan(kernel([0.1, 0.2], [0.3, 0.4], [1.0, 2.0], [1.0])).any()  # such a gear locks itself
    even = neuler.robots.two_link().with_friction("joint2", Coulomb(1.0))
    both = even.compile("inverse_dynamics", parameters=("joint2.friction.coulomb",))
    tau = [both([0, 0], [0, v], [0, 0], [3.0])[1] - even.inverse_dynamics([0, 0], [0, v], [0, 0])[1] for v in (1, -1)]
    close(tau, [2.0, -2.0], 1e-12)
    for name in ("joint1.friction", "joint2.friction.static", "joint2.friction.width"):
        with pytest.raises(InputError, match=f"has none called '{name}'"):
            robot.compile("inverse_dynamics", parameters=(name,))


# ---- as values, in files -------------------------------------------------------------------------------


def test_laws_are_values():
    plain = neuler.robots.two_link()
    robots = [plain.with_friction("joint1", law) for law in LAWS.values()]
    assert len({robot.content_hash for robot in [plain, *robots]}) == len(LAWS) + 1
    assert len(set(map(hash, robots))) == len(LAWS)
    for robot in robots:
        assert robot != plain
        assert pickle.loads(pickle.dumps(robot)) == robot
        assert robot.without_friction() == plain.without_friction()
        assert robot.with_friction("joint1", None) == plain
        assert robot.moving_joints[0].friction == LAWS[list(LAWS)[robots.index(robot)]]
    assert Coulomb(1, width=-0.0) == Coulomb(1.0)


def test_other_laws_are_other_code():
    """Two robots that differ in the law alone share no kernel."""
    one, other = (neuler.robots.two_link().with_friction("joint1", Coulomb(2.0, width=w)) for w in (0.0, 0.5))
    state = [0.1, 0.2], [0.05, 0.0], [0.0, 0.0]
    assert one.inverse_dynamics(*state)[0] - other.inverse_dynamics(*state)[0] > 1.5


@each_law
def test_files_keep_laws(law, tmp_path):
    robot = neuler.robots.two_link().with_friction("joint2", law)
    save(robot, tmp_path / "arm.par")
    assert neuler.load(tmp_path / "arm.par").moving_joints[1].friction == law
    assert friction_law(law.data) == law
    assert as_dict(robot, [])["joints"][1]["friction"] == law.data
    assert law.data["law"] + ":" in summary(robot, [])


def test_a_file_with_a_wrong_law_is_refused(tmp_path):
    robot = neuler.robots.two_link().with_friction("joint2", LAWS["stribeck"])
    save(robot, tmp_path / "arm.par")
    text = (tmp_path / "arm.par").read_text()
    for old, new, message in (
        ('"law": "stribeck"', '"law": "stick"', "law must be one of coulomb, stribeck, load_dependent, got 'stick'"),
        ('"speed": 0.5', '"speed": 0.0', "speed must be greater than zero"),
        ('"speed": 0.5, ', "", "law 'stribeck' needs 'speed'"),
        ('"speed"', '"sped"', "law 'stribeck' has no 'sped'"),
        ('"speed": 0.5', '"speed": "fast"', "speed must be a number"),
    ):
        assert old in text
        (tmp_path / "bad.par").write_text(text.replace(old, new))
        with pytest.raises(neuler.FormatError, match=rf"the remark on joint 2 cannot be used: .*{message}"):
            neuler.load(tmp_path / "bad.par")


# ---- refused, and suspicious -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Coulomb("much"), "Coulomb friction: coulomb must be a number, got 'much'"),
        (lambda: Coulomb(np.inf), "coulomb must be finite"),
        (lambda: Coulomb(1.0, width=-1.0), "width must not be negative"),
        (lambda: Stribeck(1.0, 2.0, 0.0), "speed must be greater than zero"),
        (lambda: Stribeck(1.0, 2.0, 0.1, exponent=0.5), "exponent must be 1 or more"),
        (lambda: Stribeck(1.0, None, 0.1), "static must be a number, got None"),
        (lambda: LoadDependent(1.0), "load must be less than 1, got 1.0"),
        (lambda: LoadDependent(0.1, load_width=-1.0), "load_width must not be negative"),
        (lambda: Joint("j", "revolute", "a", "b", friction=0.3), "joint 'j': friction must be a law"),
        (lambda: Joint("j", "spherical", "a", "b", friction=Coulomb(1)), "spherical joint has no friction"),
        (
            lambda: Joint("j", "revolute", "a", "b", role="passive", friction=LoadDependent(0.1)),
            "load-dependent friction is that of a drive, and the joint is passive",
        ),
        (
            lambda: (
                neuler.robots.two_link()
                .with_friction("joint2", LoadDependent(0.1))
                .replace(couplings=[Coupling("joint2", "joint1")])
            ),
            "joint 'joint2' follows others and has no force of its own",
        ),
        (lambda: neuler.robots.two_link().with_friction("elbow", Coulomb(1)), "no moving joint 'elbow'"),
        (lambda: Motor("m", "j", friction="grease"), "motor 'm': friction must be a law"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(RobotError, match=message):
        make()


def test_the_doctor_sees_laws():
    plain = neuler.robots.two_link()

    def told(law):
        found = examine(plain.with_friction("joint1", law))
        return [str(finding) for finding in found if "joint1" in finding.subject]

    assert told(LAWS["stribeck"]) == told(LAWS["load, smooth"]) == []
    assert told(Coulomb(1.0, viscous=-0.1)) == [
        "error: joint 'joint1': its friction law makes energy: viscous is negative, -0.1"
    ]
    assert "load is negative" in told(LoadDependent(-0.2))[0]
    assert "are they exchanged?" in told(Stribeck(2.0, 1.0, 0.1))[0]
    assert "static level is never reached" in told(Stribeck(1.0, 2.0, 0.1, width=0.2))[0]
    motor = Motor("m", "joint2", inertia=1e-3, friction=Coulomb(-1.0))
    assert any("motor 'm'" in str(finding) for finding in examine(plain.replace(motors=[motor])))
