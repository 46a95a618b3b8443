"""Options given at the call: ``robot.jacobian(q, frame="tool0")`` is the kernel that ``robot.compile`` makes."""

import inspect

import numpy as np
import pytest

import neuler
from neuler import InputError, RobotError
from neuler.quantities.catalogue import QUANTITIES, offered

ROBOT, SMALL = neuler.robots.puma560(), neuler.robots.two_link()
Q, QD, QDD = np.random.default_rng(5).normal(size=(3, 7, 6))
WRENCH = np.array([1.0, -2.0, 3.0, 0.5, 0.1, -0.2])
CHOICES = {
    "external": ("dh6",), "loads": ("link3",), "reactions": True, "method": None, "motion": ("joint2",),
    "frame": "link2", "reference": "world", "order": 2, "sparse": True, "parameters": ("link2.mass", "gravity"),
    "columns": ("link2.mass", "friction"), "link": "link2",
    "independent": None,
}  # fmt: skip
"""A value of every option; None where its values differ from quantity to quantity."""


def _machine(quantity):
    if quantity.only == "loops":
        return neuler.robots.four_bar()
    motor = neuler.Motor("m", "joint2", 50, inertia=1e-4, stiffness=100.0)
    return SMALL.replace(motors=[motor]) if quantity.only else SMALL


def _arrays(kernel):
    rng = np.random.default_rng(3)
    closed = {"q": np.array(kernel.robot.mobility.reference)} if kernel.robot.loops else {}
    return [closed.get(operand.name, rng.normal(size=operand.shape)) for operand in kernel.inputs]


@pytest.mark.parametrize("name", QUANTITIES)
def test_every_option_of_every_quantity_at_the_call(name):
    """The same numbers, and the same kernel when it is asked for again."""
    robot = _machine(QUANTITIES[name])
    assert name in offered(robot)
    for option in QUANTITIES[name].options:
        value = CHOICES[option]
        if value is None:
            continue
        if option in ("external", "loads"):
            value = (robot.tip,)
        if option == "parameters":
            value = (f"{robot.tip}.mass", "gravity")
        compiled, verb = robot.compile(name, **{option: value}), getattr(robot, name)
        arrays = _arrays(compiled)
        with np.errstate(all="ignore"):
            expected, found = compiled(*arrays), verb(*arrays, **{option: value})
        np.testing.assert_array_equal(
            *(np.concatenate([np.ravel(y) for y in (x if isinstance(x, tuple) else (x,))]) for x in (expected, found))
        )
        before = set(verb._variants.values())
        verb(*arrays, **{option: list(value) if isinstance(value, tuple) else value})
        assert set(verb._variants.values()) == before


def test_a_repeated_option_makes_no_other_kernel():
    robot = neuler.robots.two_link()
    for _ in range(3):
        robot.jacobian([0.1, 0.2], frame="link1")
    (variant,) = set(robot.jacobian._variants.values())
    assert not variant._variants


def test_a_frame_and_its_axes():
    found = ROBOT.jacobian(Q, frame="dh6", reference="world")
    np.testing.assert_array_equal(found, ROBOT.compile("jacobian", frame="dh6", reference="world")(Q))
    np.testing.assert_array_equal(found[0], ROBOT.jacobian(reference="world", q=Q[0], frame="dh6"))
    out = np.zeros((7, 6, 6))
    assert ROBOT.jacobian(Q, frame="dh6", reference="world", out=out) is out
    np.testing.assert_array_equal(out, found)


def test_values_and_names_in_one_table():
    """A mapping says where a wrench acts and what it is, as in rollouts."""
    by_table = ROBOT.inverse_dynamics(Q, QD, QDD, external={"dh6": WRENCH}, loads={"link3": 2 * WRENCH})
    kernel = ROBOT.compile("inverse_dynamics", external=("dh6",), loads=("link3",))
    np.testing.assert_array_equal(by_table, kernel(Q, QD, QDD, WRENCH, 2 * WRENCH))
    np.testing.assert_array_equal(
        by_table, ROBOT.inverse_dynamics(Q, QD, QDD, WRENCH, external="dh6", loads={"link3": 2 * WRENCH})
    )
    changed = ROBOT.inverse_dynamics(Q, QD, QDD, parameters={"link2.mass": 3.0, "gravity": (0, 0, -1.62)})
    kernel = ROBOT.compile("inverse_dynamics", parameters=("link2.mass", "gravity"))
    np.testing.assert_array_equal(changed, kernel(Q, QD, QDD, parameters=[3.0, 0, 0, -1.62]))
    rows = np.linspace(1.0, 2.0, 7)  # another mass in every row
    both = ROBOT.gravity_force(Q, parameters={"link2.mass": rows})
    np.testing.assert_array_equal(both, ROBOT.compile("gravity_force", parameters="link2.mass")(Q, rows[:, None]))


def test_options_are_added_to_those_a_kernel_has():
    kernel = ROBOT.compile("jacobian", frame="dh6")
    np.testing.assert_array_equal(kernel(Q, reference="world"), ROBOT.jacobian(Q, frame="dh6", reference="world"))


def test_precision_at_the_call():
    found = ROBOT.inverse_dynamics(Q, QD, QDD, dtype="float32")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, ROBOT.compile("inverse_dynamics", dtype="float32")(Q, QD, QDD))


@pytest.mark.parametrize("dtype", [float, "f8", np.float64, np.dtype("d"), "float64"])
def test_other_spellings_of_a_precision(dtype):
    np.testing.assert_array_equal(ROBOT.gravity_force(Q, dtype=dtype), ROBOT.gravity_force(Q))


def test_a_wrench_of_a_wrong_length():
    with pytest.raises(InputError, match=r"wrench_dh6 with last axis 6 \(force; moment\), got shape \(3,\)"):
        ROBOT.bias_force(Q, QD, external={"dh6": [0.0, 0.0, 1.0]})


def test_threads_go_along():
    robot = neuler.robots.two_link()
    robot.jacobian.threads = 1
    robot.jacobian([0.0, 0.0], frame="link1")
    (variant,) = set(robot.jacobian._variants.values())
    assert variant.threads == 1
    robot.jacobian.threads = 2  # also where the kernel with these options is there already
    robot.jacobian([0.0, 0.0], frame="link1")
    assert variant.threads == 2


def test_what_an_option_may_be_does_not_depend_on_earlier_calls():
    still = [0.0] * 2
    robot = neuler.robots.two_link()
    robot.inverse_dynamics_rate(still, still, still, still, order=1)
    robot.inverse_dynamics(still, still, still, reactions=True)
    for bad in (True, 1.0):
        with pytest.raises(InputError, match="order"):
            robot.inverse_dynamics_rate(still, still, still, still, order=bad)
    with pytest.raises(InputError, match="'reactions' must be True or False, got 1"):
        robot.inverse_dynamics(still, still, still, reactions=1)


def test_the_order_of_options_makes_no_other_kernel():
    robot = neuler.robots.two_link()
    robot.jacobian([0.0, 0.0], frame="link1", reference="world")
    robot.jacobian([0.0, 0.0], reference="world", frame="link1")
    assert len(set(robot.jacobian._variants.values())) == 1


def test_a_kernel_with_parameters_takes_them_by_name():
    kernel = ROBOT.compile("inverse_dynamics", parameters=("link2.mass", "gravity"))
    by_name = kernel(Q, QD, QDD, parameters={"gravity": (0, 0, -1.62), "link2.mass": 3.0})
    np.testing.assert_array_equal(by_name, kernel(Q, QD, QDD, [3.0, 0, 0, -1.62]))
    with pytest.raises(InputError, match=r"this kernel has the parameters 'link2.mass', 'gravity'; got 'gravity'"):
        kernel(Q, QD, QDD, parameters={"gravity": (0, 0, -1.62)})


def test_a_kernel_with_groups_of_parameters_takes_their_numbers_by_name():
    kernel = ROBOT.compile("inverse_dynamics", parameters=("link2", "gravity"))
    values = kernel.parameter_values + 0.5
    single = dict(zip(kernel.parameter_names, values, strict=True))
    parts = {"link2.inertia": values[4:10], "gravity": values[10:], "link2.first_moment": values[1:4],
             "link2.mass": np.full(len(Q), values[0])}  # fmt: skip
    for given in (single, parts):
        np.testing.assert_array_equal(kernel(Q, QD, QDD, parameters=given), kernel(Q, QD, QDD, values))
    has = r"this kernel has the parameters 'link2', 'gravity'; got .*"
    for given, said in [
        ({**parts, "gravity.x": 0.0}, "'gravity.x' is given twice"),
        ({name: x for name, x in single.items() if name != "link2.yy"}, "'link2.yy' is not given"),
        ({**single, "link9.mass": 1.0}, "'link9.mass'$"),
        ({**single, "link1.mass": 1.0}, "'link1.mass'$"),
    ]:
        with pytest.raises(InputError, match=has + said):
            kernel(Q, QD, QDD, parameters=given)
    mixed = ROBOT.compile("gravity_force", parameters=("link2.mz", "link2.my", "link2.mx"))
    moment = np.arange(1.0, 4.0)
    np.testing.assert_array_equal(mixed(Q, parameters={"link2.first_moment": moment}), mixed(Q, moment[::-1]))


def test_options_inside_a_traced_function():
    function = neuler.function(lambda q: ROBOT.link_poses(q, frame="dh6")[:3, 3], {"q": 6}, "place")
    np.testing.assert_allclose(function(Q), ROBOT.link_poses(Q, frame="dh6")[:, :3, 3], rtol=0, atol=1e-14)
    place = function.jacobian("q")(Q)
    np.testing.assert_allclose(place, ROBOT.jacobian(Q, frame="dh6", reference="world")[:, :3], rtol=0, atol=1e-14)
    pushed = neuler.function(lambda q, w: ROBOT.gravity_force(q) - ROBOT.bias_force(q, 0 * q, external={"dh6": w}),
                             {"q": 6, "w": 6})  # fmt: skip
    work = np.einsum("nij,ni->nj", ROBOT.jacobian(Q, frame="dh6"), np.broadcast_to(WRENCH, (7, 6)))
    np.testing.assert_allclose(pushed(Q, WRENCH), work, rtol=0, atol=1e-12)


def test_the_signature_shows_the_options():
    found = inspect.signature(ROBOT.jacobian)
    assert list(found.parameters) == ["q", "more", "frame", "reference", "parameters", "dtype", "out"]
    assert found.parameters["reference"].default == "link"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fram": "dh6"}, r"jacobian: there is no input or option 'fram'; did you mean 'frame'\? Its options are "
                          "frame, reference, parameters, dtype"),
        ({"wrench": 1}, "no input or option 'wrench'; its options are frame, reference, parameters, dtype"),
        ({"gravity": (0, 0, -1)}, r"no input or option 'gravity'; .*robot\.with_gravity\("),
        ({"frame": "tool"}, "has no link or frame 'tool'"),
        ({"frame": {"dh6": 1}}, "'frame' is no table of values"),
        ({"frame": np.zeros(3)}, "'frame' must be a name"),
        ({"reference": "LOCAL"}, "reference must be 'link' or 'world', got 'LOCAL'"),
        ({"dtype": "int8"}, "dtype must be float64 or float32"),
        ({"dtype": None}, "dtype must be float64 or float32"),
        ({"parameters": {1: 2.0}}, "parameters maps names to values"),
        ({"parameters": {"gravity"}}, "or in a call a mapping from names to values"),
        ({"parameters": {"gravity": [1, 2]}}, r"parameters\['gravity'\] with last axis 3, got shape \(2,\)"),
        ({"parameters": {"gravity": [[1], [2, 3]]}}, r"parameters\['gravity'\] is not a regular array"),
        ({"parameters": {"links": np.zeros((2, 70)), "gravity": np.zeros((3, 3))}}, "parameters do not broadcast"),
        ({"parameters": {"gravty": 1}}, "did you mean 'gravity'"),
    ],
)  # fmt: skip
def test_what_is_no_option_is_named(options, message):
    with pytest.raises((InputError, RobotError), match=message):
        ROBOT.jacobian(Q, **options)


def test_a_wrench_given_twice_or_not_at_all():
    with pytest.raises(InputError, match="wrench_dh6 is given twice, by its name and in external="):
        ROBOT.inverse_dynamics(Q, QD, QDD, external={"dh6": WRENCH}, wrench_dh6=WRENCH)
    with pytest.raises(InputError, match=r"takes 4 arrays \(q, qd, qdd, wrench_dh6\), got 3"):
        ROBOT.inverse_dynamics(Q, QD, QDD, external="dh6")
    with pytest.raises(InputError, match="'wrench_dh6' is given twice"):
        ROBOT.inverse_dynamics(Q, QD, QDD, WRENCH, external={"dh6": WRENCH})
