"""Loads in the axes of the base: sensitivities, rates, sparse and compiled."""

import numpy as np
import pytest

from load_cases import (
    EXACT,
    LOADED,
    RATES,
    STEP,
    agree,
    case,
    compiled,
    each,
    floats,
    many,
    numbers,
    path,
    some,
)
from neuler import Transform, robots
from neuler.algebra.screw import flat, pair
from neuler.passes.trees import fused_tree, whole_tree
from neuler.quantities.catalogue import QUANTITIES, recipe
from neuler.quantities.derivatives import related, touched
from neuler.quantities.setup import External
from neuler.recursions import barman
from neuler.recursions.frames import wrench_at
from neuler.recursions.hybrid import hybrid
from neuler.trace.graph import count
from neuler.trace.recipe import evaluate, traced
from random_robots import along, close, few

# ---- our own ---------------------------------------------------------------------------------------------


def by_complex_step(robot, names, values):
    """d/dq, d/dqd, d/dqdd of torques and of reactions in the links' frames, at constant components in the base."""
    tree, outside = whole_tree(robot), External(names, names)
    placed = [tree.frames[name] for name in tree.link_names]
    torques, reactions = [], []
    for name in ("q", "qd", "qdd"):
        columns = []
        for i in range(tree.dof):
            moved = {key: x.tolist() for key, x in values.items()}
            moved[name][i] += 1j * STEP
            state = (moved[key] for key in ("q", "qd", "qdd"))
            solved = hybrid(tree, *state, [True] * tree.dof, outside.applied(tree, moved))
            felt = [flat(wrench_at(placement, solved.reactions[number])) for number, placement in placed]
            columns.append((np.imag(solved.coordinates) / STEP, np.imag(felt) / STEP))
        torques.append(np.stack([tau for tau, _ in columns], -1))
        reactions.append(np.stack([felt for _, felt in columns], -1))
    return torques, reactions


@many
@each
def test_sensitivities_are_the_complex_step(seed, many):
    robot, names, values = case(seed, many)
    torques, reactions = by_complex_step(robot, names, values)
    agree(floats(robot, "inverse_dynamics_sensitivities", values, external=names, loads=names), torques)
    agree(floats(robot, "reaction_sensitivities", values, external=names, loads=names), reactions)


@each
def test_sensitivities_are_barmans(seed):
    robot, names, values = case(seed)
    tree = whole_tree(robot)
    base, given = np.array(tree.base.rotation), {}
    for name in names:
        number, placement = tree.frames[name]
        force, moment = (tuple(x) for x in (values[f"load_{name}"].reshape(2, 3) @ base.T).tolist())
        given.setdefault(number, []).append(barman.GlobalLoad(force, moment, placement.translation))
    theirs = barman.sensitivities(tree, *(values[name].tolist() for name in ("q", "qd", "qdd")), None, given)
    expected = [np.array(x) for x in (theirs.dtau_dq, theirs.dtau_dqd, theirs.dtau_dqdd)]
    agree(floats(robot, "inverse_dynamics_sensitivities", values, loads=names), expected)
    found = floats(robot, "reaction_sensitivities", values, loads=names)
    tables = [np.array(x) for x in (theirs.dreaction_dq, theirs.dreaction_dqd, theirs.dreaction_dqdd)]
    for mine, table in zip(found, tables, strict=True):
        for link, name in enumerate(tree.link_names):
            number, placement = tree.frames[name]
            columns = [flat(wrench_at(placement, pair(column))) for column in table[number].T.tolist()]
            close(mine[link], np.array(columns).T, EXACT, float(np.abs(table).max()), name)


@some
def test_the_recursion_is_the_pass(seed):
    robot, names, values = case(seed)
    options = {"external": ("tool",), "loads": names}
    expected = compiled(robot, "inverse_dynamics_sensitivities", values, method="pass", **options)
    for method in ("recursion", "cheapest"):
        agree(compiled(robot, "inverse_dynamics_sensitivities", values, method=method, **options), expected)


@each
def test_forward_sensitivities(seed):
    """The chain rule through M^-1, at the acceleration that the loads cause; and differences."""
    robot, names, values = case(seed)
    options = {"external": ("tool",), "loads": names}
    found = floats(robot, "forward_dynamics_sensitivities", values, **options)
    qdd = floats(robot, "forward_dynamics", values, **options)
    dq, dqd, mass = floats(robot, "inverse_dynamics_sensitivities", values | {"qdd": qdd}, **options)
    tolerance = max(EXACT, 1e-15 * float(np.linalg.cond(mass)))
    agree(found, [-np.linalg.solve(mass, dq), -np.linalg.solve(mass, dqd), np.linalg.inv(mass)], tolerance)
    moved = lambda t, unit: values | {"q": values["q"] + t * unit}  # noqa: E731
    columns = [
        along(lambda t, unit=unit: floats(robot, "forward_dynamics", moved(t, unit), **options), step=1e-3)
        for unit in np.eye(robot.nv)
    ]
    agree(found[0], np.stack(columns, -1), 1e-6)


@pytest.mark.parametrize("seed", few([0, 6], 1))
def test_hessian(seed):
    """Of weights . tau: the slope of the weighted sensitivities."""
    robot, names, values = case(seed)
    found = compiled(robot, "inverse_dynamics_hessian", values, loads=names)
    state = np.concatenate([values[name] for name in ("q", "qd", "qdd")])

    def slope(x):
        moved = values | dict(zip(("q", "qd", "qdd"), x.reshape(3, -1), strict=True))
        return values["weights"] @ np.hstack(floats(robot, "inverse_dynamics_sensitivities", moved, loads=names))

    columns = [along(lambda t, unit=unit: slope(state + t * unit)) for unit in np.eye(len(state))]
    agree(found, np.stack(columns, -1), 1e-8)


# ---- rates -----------------------------------------------------------------------------------------------


@many
@each
def test_rate_along_a_path(seed, many):
    robot, names, values = case(seed, many)
    at = path(robot, values, names, seed)
    tau, rate = floats(robot, "inverse_dynamics_rate", at(0.0), loads=names)
    agree(tau, floats(robot, "inverse_dynamics", at(0.0), loads=names))
    expected = along(lambda t: floats(robot, "inverse_dynamics", at(t), loads=names))
    close(rate, expected, 1e-9)


@some
def test_rates_are_the_pass_along_the_motion(seed):
    """tau is linear in the loads; the rest is the Jacobian that the pass made. Wrenches on the same frames too."""
    robot, names, values = case(seed)
    options = {"external": ("tool",), "loads": names}
    dq, dqd, dqdd = compiled(robot, "inverse_dynamics_sensitivities", values, method="pass", **options)
    expected = dq @ values["qd"] + dqd @ values["qdd"] + dqdd @ values["qddd"]
    given = ["wrench_tool", *(f"load_{name}" for name in names)]
    push = [
        floats(robot, "inverse_dynamics", values | {name: values[f"{name}_rate"] * scale for name in given}, **options)
        for scale in (1.0, 0.0)
    ]
    _, rate = floats(robot, "inverse_dynamics_rate", values, **options)
    close(rate, expected + push[0] - push[1], EXACT, max(np.abs(x).max() for x in (expected, *push)))


@pytest.mark.parametrize("seed", few([6, 0], 1))
def test_second_rate(seed):
    robot, names, values = case(seed)
    at = path(robot, values, names, seed)
    kernel = robot.compile("inverse_dynamics_rate", loads=names, order=2)
    asked = ["q", "qd", "qdd", "qddd", "qdddd", *(f"load_{name}{suffix}" for suffix in RATES for name in names)]
    assert [operand.name for operand in kernel.inputs] == asked
    now = at(0.0)
    tau, rate, rate2 = kernel(*(now[name] for name in asked))
    agree([tau, rate], floats(robot, "inverse_dynamics_rate", now, loads=names))
    close(rate2, along(lambda t: floats(robot, "inverse_dynamics_rate", at(t), loads=names)[1]), 1e-9)


# ---- sparse, compiled, counted ---------------------------------------------------------------------------


@each
@pytest.mark.parametrize("quantity", ["inverse_dynamics_sensitivities", "reaction_sensitivities"])
def test_sparse(seed, quantity):
    """Loads act on no pair of joints, and no link, that nothing else acts on."""
    robot, names, values = case(seed)
    made = recipe(robot, quantity, loads=names, sparse=True)
    torque = quantity.startswith("inverse")
    pattern = related(fused_tree(robot)) if torque else touched(whole_tree(robot))
    dense = floats(robot, quantity, values, loads=names)
    for operand, entries, whole in zip(made.outputs, evaluate(made, values), dense, strict=True):
        assert list(zip(*made.structure[operand.name], strict=True)) == pattern
        places = whole if torque else np.swapaxes(whole, 1, 2)
        spread = np.zeros_like(places)
        for place, entry in zip(pattern, entries, strict=True):
            spread[place] = entry
        np.testing.assert_array_equal(spread, places)


def test_whatever_takes_wrenches_takes_loads():
    every = {*LOADED, "loop_wrenches", "elastic_inverse_dynamics"}
    for option in ("external", "loads"):
        assert every == {name for name, each in QUANTITIES.items() if option in each.options}


@pytest.mark.parametrize(
    "quantity",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "forward_dynamics_sensitivities" else ())
        for name in LOADED
        if name != "inverse_dynamics_hessian"
    ],
)
def test_compiled_is_floats(quantity):
    """A batch, on the robot whose wrist slides."""
    robot = robots.stanford().with_frame("tool", "link6", Transform.from_rpy((0.1, 0.2, 0.3), (1.0, 0.5, 0.2)))
    kernel = robot.compile(quantity, external="tool", loads=("link3", "tool"))
    assert [x.name for x in kernel.inputs if "_rate" not in x.name][-3:] == ["wrench_tool", "load_link3", "load_tool"]
    arrays = [numbers((5, *operand.shape), k) / 10 for k, operand in enumerate(kernel.inputs)]
    found = kernel(*arrays)
    found = found if isinstance(found, tuple) else (found,)
    for k, row in enumerate(zip(*arrays, strict=True)):
        named = dict(zip((operand.name for operand in kernel.inputs), row, strict=True))
        agree([x[k] for x in found], evaluate(kernel.recipe, named))


def work(robot, quantity, **options):
    counted = count(traced(recipe(robot, quantity, **options))[1])
    return counted["mul"] + counted["add"]


def test_operations():
    """A load costs two vectors carried outward; many share the base's axes. Of eight general joints."""
    robot = robots.general_chain(8)
    plain, wrench = work(robot, "inverse_dynamics"), work(robot, "inverse_dynamics", external="link8")
    one = work(robot, "inverse_dynamics", loads="link8")
    all_links = work(robot, "inverse_dynamics", loads=robot.link_names[1:])
    assert one - wrench <= 24 * 8
    assert all_links - plain <= 588
    sensitivities = {"method": "recursion", "external": "link8"}
    plain = work(robot, "inverse_dynamics_sensitivities", **sensitivities)
    loaded = work(robot, "inverse_dynamics_sensitivities", **sensitivities, loads="link8")
    assert loaded - plain <= 1031
