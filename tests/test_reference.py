"""Compiled code against the same recursion on plain floats, for every quantity, CPU level and precision."""

import dataclasses
import functools
from math import prod

import numpy as np
import pytest

from neuler import CompileError, Coupling, InputError, Polynomial, robots
from neuler.compiler.build import compile_recipe
from neuler.compiler.target import available_levels, host, level
from neuler.kernels import Kernel
from neuler.passes.fuse import fuse
from neuler.passes.trees import fused_tree, grouped_tree, whole_tree
from neuler.quantities.catalogue import QUANTITIES, offered, recipe
from neuler.recursions import composite, coriolis, hybrid, nasser, walker_orin
from neuler.trace import graph
from neuler.trace import scalars as f
from neuler.trace.recipe import Operand, Recipe, evaluate, traced
from random_robots import close, few, random_robot, random_states

pytestmark = pytest.mark.usefixtures("shipped")
VARIANTS = {
    "inverse_dynamics": [{}, {"external": ("tool",), "reactions": True}],
    "forward_dynamics": [
        {},
        {"external": ("tool",), "reactions": True},
        {"method": "nasser", "external": ("tool",), "reactions": True},
        {"method": "walker_orin"},
    ],
    "hybrid_dynamics": [{}, {"motion": "half", "external": ("tool",), "reactions": True}],
    "link_poses": [{}, {"frame": "tool"}],
    "link_velocities": [{}, {"frame": "tool"}],
    "jacobian": [{}, {"frame": "tool", "reference": "world"}],
}
COMPILED_ONLY = ("inverse_dynamics_hessian",)
"""Made by differentiating a graph: tests/test_hessian.py compares it with differences."""
CASES = [
    (name, options)
    for name in offered(robots.two_link())
    if name not in COMPILED_ONLY
    for options in VARIANTS.get(name, [{}])
]
COVERING = [
    ("inverse_dynamics", VARIANTS["inverse_dynamics"][1]),
    ("forward_dynamics", {}),
    ("mass_matrix", {}),
    ("link_poses", {}),
    ("energy", {}),
    ("integrate", {}),
]
"""With ``MADE`` they use every operation and every way of moving data: CPU levels and single precision in every run.
The others wait for the slow tests."""


def cases(later=()):
    """All, some of them with the slow tests."""
    return pytest.mark.parametrize(
        ("quantity", "options"),
        [
            pytest.param(
                name, options, id=f"{name}-{'-'.join(map(str, options)) or 'plain'}",
                marks=pytest.mark.slow if (name, options) in later else (),
            )
            for name, options in CASES
        ],
    )  # fmt: skip


every_case = cases()
covering = cases(later=[case for case in CASES if case not in COVERING])
ROBOTS = {
    "puma560": lambda: robots.puma560().with_frame("tool", "link6"),
    "stanford": lambda: robots.stanford().with_frame("tool", "link6"),
    "random12": lambda: random_robot(12),
    "random2": lambda: random_robot(2),
    "random22": lambda: random_robot(22),
}
LATER = ("puma560", "stanford", "random2", "random22")
"""A tree with branches, slides and fixed joints and three machines with loops stand for the others in every run."""


@functools.cache
def robot_of(name):
    return ROBOTS[name]()


def kernel_of(robot, quantity, options, **more):
    return robot.compile(quantity, **_filled(robot, options), **more)


def _filled(robot, options):
    return {k: robot.joint_names[::2] if v == "half" else v for k, v in options.items()}


def arguments(robot, kernel, count=17):
    """Random states in the order of the kernel's inputs; 17 is no multiple of any vector width."""
    q, qd, qdd = random_states(robot, count, 5)
    qd[0] = 0.0  # sign(0) = 0
    wrench = np.random.default_rng(6).uniform(-10, 10, (count, 6))
    values = {"q": q, "qd": qd, "dt": np.linspace(-1, 1, count)}
    return [values.get(operand.name, wrench if operand.name.startswith("wrench") else qdd) for operand in kernel.inputs]


def on_floats(kernel, arrays):
    """Every output for every state, without the compiler."""
    names = [operand.name for operand in kernel.inputs]
    rows = [evaluate(kernel.recipe, dict(zip(names, state, strict=True))) for state in zip(*arrays, strict=True)]
    return [np.array(column) for column in zip(*rows, strict=True)]


def outputs(result):
    return list(result) if isinstance(result, tuple) else [result]


@every_case
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LATER else ()) for name in ROBOTS]
)
def test_compiled_equals_floats(name, quantity, options):
    robot = robot_of(name)
    kernel = kernel_of(robot, quantity, options)
    arrays = arguments(robot, kernel)
    expected = on_floats(kernel, arrays)
    found = outputs(kernel(*arrays))
    assert len(found) == len(expected) == len(kernel.outputs)
    for mine, theirs, operand in zip(found, expected, kernel.outputs, strict=True):
        close(mine, theirs, 1e-12, what=operand.name)
    for k in (0, 5):  # one state at a time
        for mine, theirs in zip(outputs(kernel(*(x[k] for x in arrays))), expected, strict=True):
            close(mine, theirs[k], 1e-12, scale=max(1e-6, float(np.abs(theirs).max())))


FROM_A_GRAPH = (
    "coriolis_matrix", "link_motions", "inverse_dynamics_rate", "inverse_dynamics_sensitivities",
    "forward_dynamics_sensitivities", "reaction_sensitivities",
)  # fmt: skip
"""With loops or couplings a graph is differentiated, and plain numbers have none."""
MACHINES = {
    "four_bar": robots.four_bar,
    "sr400": robots.sr400,
    "delta": robots.delta,
    "geared": lambda: robots.puma560().replace(
        couplings=[
            Coupling("joint3", "joint2", -0.5, 0.1),
            Coupling("joint6", "joint5", function=Polynomial((0.1, 0.4, -0.2))),
        ]
    ),
}


@functools.cache
def machine_of(name):
    return MACHINES[name]()


LARGE = ("sr400", "delta")
"""What is differentiated compiles for long there, and has no plain numbers to compare: with the slow tests."""
REGRESSORS = ("reaction_regressor", "power_regressor", "energy_regressor", "regressor")
"""They compile for long as well; four_bar has them in every run."""


def waits(name, quantity):
    """For the slow tests."""
    return (
        name == "delta"
        or (name in LARGE and quantity in FROM_A_GRAPH)
        or (name != "four_bar" and quantity in REGRESSORS)
    )


@pytest.mark.parametrize(
    ("name", "quantity"),
    [
        pytest.param(name, quantity, marks=pytest.mark.slow if waits(name, quantity) else ())
        for name in MACHINES
        for quantity in QUANTITIES
        if quantity not in COMPILED_ONLY
    ],
)
def test_compiled_equals_floats_with_loops_and_couplings(name, quantity):
    machine = machine_of(name)
    if quantity not in offered(machine):
        with pytest.raises(InputError, match=f"{quantity}: robot '.*' has no {QUANTITIES[quantity].whose}"):
            machine.compile(quantity)
        return
    if quantity == "platform_jacobian" and "platform" not in machine.joint_names:
        pytest.skip("it has no platform")
    kernel, rng = machine.compile(quantity), np.random.default_rng(3)
    arrays = [
        machine.random_configuration(rng, 7) if operand.name == "q" else rng.uniform(-0.3, 0.3, (7, *operand.shape))
        for operand in kernel.inputs
    ]
    found = outputs(kernel(*arrays))
    assert all(np.isfinite(x).all() for x in found)
    if quantity in FROM_A_GRAPH:
        with pytest.raises(InputError, match="compiled only"):
            on_floats(kernel, arrays)
        return
    expected = on_floats(kernel, arrays)
    for mine, theirs, operand in zip(found, expected, kernel.outputs, strict=True):
        close(mine, theirs, 1e-11, scale=max(1.0, float(np.abs(theirs).max())), what=operand.name)


# ---- CPU levels, single precision, ways of moving data -------------------------------------------------------


def every_function(values):
    """Each operation that a graph has, on numbers that no rounding brings to another side."""
    x, y, z = values["x"]
    square = 0.5 + x * x
    compared = [f.less(x, y), f.less_equal(x, y), f.mask(f.less(x, y), z), f.minimum(x, z), f.maximum(x, z)]
    smooth = [f.exp(x), f.log(square), f.tanh(z), f.atan2(y, x), f.power(square, 0.7), graph.sqrt(square), x / square]
    marks = [graph.one_if_above(square, 0.1), graph.one_if_felt(square, 0.1), graph.sign(y), f.absolute(z)]
    return [[*compared, *smooth, *marks, graph.sin(x), graph.cos(y), -(x - y), y + z, 0.0, 2.5]]


MADE = {
    "every_function": Recipe((Operand("x", (3,)),), (Operand("y", (22,)),), every_function),
    "wide": Recipe(
        (Operand("x", (40,)), Operand("y", (30,))),
        (Operand("z", (40, 30)),),
        lambda values: [[x * y for x in values["x"] for y in values["y"]]],
    ),
}
TOLERANCES = {"float64": 1e-12, "float32": 1e-4}


@pytest.mark.parametrize("optimize", [0, 1, 3])
def test_optimisation_changes_no_bit(optimize):
    """The machine code is another, the results are the same: sums and products are as they were emitted."""
    robot = random_robot(3)
    states = random_states(robot, 37, 0)
    kernel = robot.compile("inverse_dynamics_sensitivities")
    target = dataclasses.replace(host(), optimize=optimize)
    identity = robot.content_hash, "optimisation"
    other = compile_recipe(kernel.recipe, "inverse_dynamics_sensitivities", "", "float64", identity, target)
    for found, expected in zip(other.ufunc(*states), kernel(*states), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_optimisation_is_a_number(monkeypatch):
    try:
        for text, optimize in (("0", 0), (" 3 ", 3), ("", 2)):
            monkeypatch.setenv("NEULER_OPTIMIZE", text)
            host.cache_clear()
            assert host().optimize == optimize
        for text in ("4", "-1", "fast"):
            monkeypatch.setenv("NEULER_OPTIMIZE", text)
            host.cache_clear()
            with pytest.raises(CompileError, match=f"NEULER_OPTIMIZE: expected a number from 0 to 3, got '{text}'"):
                host()
    finally:
        monkeypatch.undo()
        host.cache_clear()


LEVELS = available_levels() or (None,)
"""Of x86-64; elsewhere the machine as it is."""


def at_level(recipe, name, options, dtype, at):
    identity = (name, repr(options))
    return compile_recipe(recipe, name, "", dtype, identity, target=None if at is None else level(at))


def agrees(ufunc, arrays, expected, dtype):
    """In blocks and what is left of them, one state at a time, and with any strides in and out."""
    arrays = [x.astype(dtype) for x in arrays]
    shapes = [x.shape[1:] for x in expected]

    def compare(found, rows):
        for mine, theirs in zip(outputs(found), expected, strict=True):
            assert mine.dtype == dtype
            close(mine, theirs[rows], TOLERANCES[dtype], scale=max(1e-6, float(np.abs(theirs).max())))

    for rows in (slice(0, 17), slice(0, 19), 3):  # neither is a multiple of any vector width
        compare(ufunc(*(x[rows] for x in arrays)), rows)
    apart = [np.repeat(x[..., None], 3, axis=-1)[..., 1] for x in arrays]
    into = tuple(np.full((19, *shape, 2), 7.0, dtype)[..., 1] for shape in shapes)
    compare(ufunc(*apart, out=into), slice(0, 19))
    assert all((x.base[..., 0] == 7.0).all() for x in into), "it wrote between its outputs"


@covering
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_every_cpu_level_agrees(dtype, quantity, options):
    """The levels have other vector widths, and SSE2 has no fused multiply-add."""
    robot = robot_of("random2")
    kernel = kernel_of(robot, quantity, options)
    arrays = arguments(robot, kernel, 19)
    if dtype == "float32":
        arrays = [x.astype(np.float32).astype(np.float64) for x in arrays]
    expected = outputs(kernel(*arrays))
    for name in LEVELS:
        compiled = at_level(kernel.recipe, quantity, (robot.content_hash, options), dtype, name)
        assert compiled.operations == kernel.operations
        agrees(compiled.ufunc, arrays, expected, dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", MADE)
def test_every_operation_at_every_cpu_level(name, dtype):
    recipe, rng = MADE[name], np.random.default_rng(9)
    arrays = [rng.uniform(-2, 2, (19, *x.shape)).astype(np.float32).astype(np.float64) for x in recipe.inputs]
    rows = [evaluate(recipe, {x.name: a[k] for x, a in zip(recipe.inputs, arrays, strict=True)}) for k in range(19)]
    expected = [np.array(column) for column in zip(*rows, strict=True)]
    for at in LEVELS:
        agrees(at_level(recipe, name, (), dtype, at).ufunc, arrays, expected, dtype)


def ways(recipe, compiled, lanes):
    """How a kernel of vectors with so many lanes moves its data, by the shapes of what it reads and writes."""
    found = {"scratch from a pool" if compiled.code.pool else "scratch on the stack"}
    for operand in recipe.inputs:
        size = prod(operand.shape)
        found |= {"columns in pairs"} if size > 1 else set()
        found |= {"a last column in"} if size % 2 else set()
    for operand in recipe.outputs:
        size = prod(operand.shape)
        found |= {f"{len(operand.shape)} axes"}
        found |= {"tiles"} if size >= lanes else set()
        found |= {"whole lines"} if size >= 3 * lanes else set()
        found |= {"a last column out"} if size % lanes == 1 else {f"{size % lanes} of a tile"}
    constants = [x for x in traced(recipe)[1] if not isinstance(x, graph.Node)]
    found |= {"zeros"} if 0.0 in constants else set()
    return found | ({"constants"} if any(constants) else set())


WAYS = {
    "scratch from a pool", "scratch on the stack", "columns in pairs", "a last column in", "0 axes", "1 axes", "2 axes",
    "3 axes", "tiles", "whole lines", "a last column out", "zeros", "constants", "0 of a tile",
}  # fmt: skip
PARTS = {2: set(), 4: {"2 of a tile", "3 of a tile"}, 8: {"6 of a tile"}, 16: {"6 of a tile"}}
"""Of tiles of four all parts have code of their own, larger ones are masked."""


def test_every_operation_and_every_way_of_moving_data_is_covered():
    robot = robot_of("random2")
    recipes = {name: (made, ()) for name, made in MADE.items()}
    for quantity, options in COVERING:
        made = kernel_of(robot, quantity, options).recipe
        recipes[f"{quantity} {list(options)}"] = made, (robot.content_hash, options)
    every = {value for name, value in vars(graph).items() if name.isupper() and isinstance(value, str)}
    used = set()
    for made, _ in recipes.values():
        nodes, found = traced(made)
        used |= {node.op for node in nodes[0].graph.live(found)}
    assert used == every
    for at in LEVELS:
        for dtype in TOLERANCES:
            lanes = (host() if at is None else level(at)).lanes(dtype)
            moved = set()
            for name, (made, options) in recipes.items():
                compiled = at_level(made, name.partition(" ")[0], options, dtype, at)
                moved |= ways(made, compiled, lanes)
            assert moved >= WAYS | PARTS[lanes], f"{at}, {dtype}: not covered: {(WAYS | PARTS[lanes]) - moved}"


@covering
@pytest.mark.parametrize("name", ["puma560", "random22"])
def test_single_precision(name, quantity, options):
    robot = robot_of(name)
    kernel = kernel_of(robot, quantity, options)
    single = kernel_of(robot, quantity, options, dtype="float32")
    arrays = [x.astype(np.float32) for x in arguments(robot, kernel)]
    found, expected = outputs(single(*arrays)), outputs(kernel(*(x.astype(np.float64) for x in arrays)))
    for mine, theirs, operand in zip(found, expected, kernel.outputs, strict=True):
        assert mine.dtype == np.float32
        close(mine, theirs, 1e-4, what=operand.name)


@pytest.mark.parametrize("seed", few(range(30, 50), 8))
def test_regrouped_parameters_change_no_joint_force(seed):
    """The trees with every link, with fused links and with regrouped parameters, on plain floats."""
    robot = random_robot(seed)
    q, qd, qdd = (x[0].tolist() for x in random_states(robot, 1, seed))
    whole, fused, grouped = whole_tree(robot), fused_tree(robot), grouped_tree(robot)
    tau = hybrid.inverse_dynamics(whole, q, qd, qdd)
    for tree in (fused, grouped):
        close(hybrid.inverse_dynamics(tree, q, qd, qdd), tau, 1e-12)
        close(hybrid.forward_dynamics(tree, q, qd, tau), qdd, 1e-12)
        close(nasser.nasser(tree, q, qd, tau).coordinates, qdd, 1e-12)
        close(walker_orin.forward_dynamics(tree, q, qd, tau), qdd, 1e-12)
        close(composite.mass_matrix(tree, q), composite.mass_matrix(whole, q), 1e-12)
        c = coriolis.coriolis_matrix(whole, q, qd)
        close(coriolis.coriolis_matrix(tree, q, qd), c, 1e-12, scale=max(1.0, float(np.abs(c).max())))
    assert whole_tree(fuse(robot)).bodies == fused.bodies


def test_regrouping_saves_operations():
    robot = robots.puma560()
    plain = recipe(robot, "inverse_dynamics", reactions=True)

    def torque(values):
        return plain.trace(values)[:1]

    whole = compile_recipe(type(plain)(plain.inputs, plain.outputs[:1], torque), "plain", "", "float64", "plain torque")
    grouped = Kernel(robot, "inverse_dynamics")
    q, qd, qdd = random_states(robot, 40)
    close(grouped(q, qd, qdd), whole.ufunc(q, qd, qdd), 1e-12)
    assert grouped.operations.mul < whole.operations.mul
    assert grouped.operations.add < whole.operations.add
