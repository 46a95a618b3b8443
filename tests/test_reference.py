"""Compiled code against the same recursion on plain floats, for every quantity, CPU level and precision."""

import functools

import numpy as np
import pytest

from neuler import Coupling, InputError, Polynomial, robots
from neuler.compiler.build import compile_recipe
from neuler.compiler.target import available_levels, host, level
from neuler.kernels import Kernel
from neuler.passes.fuse import fuse
from neuler.passes.trees import fused_tree, grouped_tree, whole_tree
from neuler.quantities.catalogue import QUANTITIES, offered, recipe
from neuler.recursions import composite, coriolis, hybrid, nasser, walker_orin
from neuler.trace.recipe import evaluate
from random_robots import close, random_robot, random_states

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
every_case = pytest.mark.parametrize(
    ("quantity", "options"), CASES, ids=[f"{name}-{'-'.join(map(str, options)) or 'plain'}" for name, options in CASES]
)
ROBOTS = {
    "puma560": lambda: robots.puma560().with_frame("tool", "link6"),
    "stanford": lambda: robots.stanford().with_frame("tool", "link6"),
    "random2": lambda: random_robot(2),
    "random22": lambda: random_robot(22),
}


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
@pytest.mark.parametrize("name", ROBOTS)
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


@pytest.mark.parametrize("quantity", [name for name in QUANTITIES if name not in COMPILED_ONLY])
@pytest.mark.parametrize("name", MACHINES)
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


@every_case
def test_every_cpu_level_agrees(quantity, options):
    """The levels have other vector widths, and SSE2 has no fused multiply-add."""
    robot = robot_of("random2")
    kernel = kernel_of(robot, quantity, options)
    arrays = arguments(robot, kernel)
    expected = outputs(kernel(*arrays))
    levels = available_levels()
    assert levels or not host().triple.startswith("x86_64")
    for name in levels:
        identity = (robot.content_hash, quantity, repr(options))
        compiled = compile_recipe(kernel.recipe, quantity, "", "float64", identity, target=level(name))
        assert compiled.operations == kernel.operations
        for mine, theirs in zip(outputs(compiled.ufunc(*arrays)), expected, strict=True):
            close(mine, theirs, 1e-12, what=name)


@every_case
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


@pytest.mark.parametrize("name", ["sse2", "avx2", "avx512"])
def test_single_precision_at_every_cpu_level(name):
    if name not in available_levels():
        pytest.skip(f"this CPU cannot run {name}")
    robot = robot_of("random2")
    kernel = robot.forward_dynamics
    arrays = arguments(robot, kernel)
    identity = (robot.content_hash, "forward_dynamics")
    compiled = compile_recipe(kernel.recipe, "forward_dynamics", "", "float32", identity, target=level(name))
    close(compiled.ufunc(*(x.astype(np.float32) for x in arrays)), kernel(*arrays), 1e-4)


@pytest.mark.parametrize("seed", range(30, 50))
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
