"""Regressors: what is linear in the robot's parameters, as a matrix times them.

Forces, reactions, energy and power are linear in masses, first moments, inertias, viscous and Coulomb friction, rotor
inertias and stiffnesses. Their derivative to these numbers is the regressor, by the differentiation pass on the
recursions as they are: identification and adaptive control need no other model than the robot's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neuler.errors import InputError
from neuler.passes.parameters import Parameter, own_columns, parse
from neuler.quantities.declare import Names, quantity
from neuler.quantities.dynamics import generalized_force, inverse_dynamics, reaction_wrenches
from neuler.quantities.setup import PARAMETERS, RobotRecipe, Values, choosing, chosen_by, with_parameters
from neuler.quantities.whole_body import energy
from neuler.robot import Robot
from neuler.robot.value import kept
from neuler.trace.dependence import dependence
from neuler.trace.differentiate import Sparse, dense, jacobian
from neuler.trace.graph import Graph, Node, Scalar, count
from neuler.trace.recipe import Operand, traced

_FORWARD_PAYS = 24
"""Columns up to which differentiating column by column is tried, too."""
Combined = Callable[[Values, Sequence[Scalar]], list[Scalar]]
Pattern = tuple[tuple[int, int], ...]


@quantity("q, qd, qdd -> regressor")
def regressor(robot: Robot, *, columns: Names = (), sparse: bool = False) -> RobotRecipe:
    """Regressor Y(q, qd, qdd) of the joint forces, (nu, columns): tau = Y phi with phi = ``kernel.column_values``.

    ``columns`` names parameters as ``parameters=`` does (docs/parameters.md): "links", "link3", "joint2.viscous",
    "friction", "rotors", "springs", "payload:tool", "gravity". By default they are all links and all numbers of
    friction, rotors and springs that are not zero, so that Y phi is ``inverse_dynamics``; of other columns Y is the
    derivative of tau. ``kernel.column_names`` names them. Numbers in which tau is not linear are refused.
    ``robot.base_parameters().names`` are columns that motion can tell apart.

    ``sparse=True`` returns the entries alone that are not zero at every state, (entries,), with their rows and columns
    in ``kernel.structure``.

    >>> import neuler, numpy as np
    >>> arm, q, qd, qdd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4], [0.5, 0.6]
    >>> Y, phi = arm.regressor(q, qd, qdd), arm.regressor.column_values
    >>> np.allclose(Y @ phi, arm.inverse_dynamics(q, qd, qdd))
    True
    """
    return _linear(robot, "regressor", inverse_dynamics.make(robot), columns, sparse=sparse)


@quantity("q, qd, qdd -> reaction_regressor")
def reaction_regressor(robot: Robot, *, columns: Names = (), link: str | None = None) -> RobotRecipe:
    """Regressor of the reaction wrenches, (links, 6, columns); with ``link`` of that link's alone, (6, columns).

    Wrenches as ``reaction_wrenches`` has them: of the parent on the link, in the link's frame. That of the base is
    what a force plate under the robot measures, that of the last link a sensor in the wrist. ``columns`` as of
    ``regressor``: masses and moments that joint forces do not show are seen here.

    >>> import neuler, numpy as np
    >>> arm, q, qd, qdd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4], [0.5, 0.6]
    >>> kernel = arm.compile("reaction_regressor", link="link2")
    >>> np.allclose(kernel(q, qd, qdd) @ kernel.column_values, arm.reaction_wrenches(q, qd, qdd)[2])
    True
    """
    whole = reaction_wrenches.make(robot)
    if link is None:
        return _linear(robot, "reaction_regressor", whole, columns, (len(robot.shown_names), 6))
    if link not in robot.shown_names:
        raise InputError(f"reaction_regressor: link must be one of {', '.join(robot.shown_names)}, got {link!r}")
    first = 6 * robot.shown_names.index(link)
    rows: Combined = lambda values, found: list(found[first : first + 6])  # noqa: E731
    return _linear(robot, "reaction_regressor", whole, columns, (6,), rows)


@quantity("q, qd -> energy_regressor")
def energy_regressor(robot: Robot, *, columns: Names = ()) -> RobotRecipe:
    """Regressor of kinetic and potential energy, (2, columns), in their order. ``columns`` as of ``regressor``.

    Energy needs no accelerations: between two times it changes by the work of the joint forces and of friction.

    >>> import neuler, numpy as np
    >>> arm, q, qd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4]
    >>> Y, phi = arm.energy_regressor(q, qd), arm.energy_regressor.column_values
    >>> np.allclose(Y @ phi, arm.energy(q, qd))
    True
    """
    return _linear(robot, "energy_regressor", energy.make(robot), columns, (2,))


@quantity("q, qd, qdd -> power_regressor")
def power_regressor(robot: Robot, *, columns: Names = ()) -> RobotRecipe:
    """Regressor of the power of all joint forces, (columns): tau . v = Y phi, v the velocities of the joints in tau.

    ``columns`` as of ``regressor``. One row a state, in which forces of constraints have no part.

    >>> import neuler, numpy as np
    >>> arm, q, qd, qdd = neuler.robots.two_link(), [0.1, 0.2], [0.3, 0.4], [0.5, 0.6]
    >>> Y, phi = arm.power_regressor(q, qd, qdd), arm.power_regressor.column_values
    >>> np.allclose(Y @ phi, arm.inverse_dynamics(q, qd, qdd) @ qd)
    True
    """

    def power(values: Values, force: Sequence[Scalar]) -> list[Scalar]:
        total: Scalar = 0.0
        for rate, x in zip(values["qd"], force, strict=True):
            total = rate * x + total
        return [total]

    loaded = next((joint.name for joint in robot.joints if joint.friction is not None and joint.friction.loaded), None)
    if loaded is not None:  # which generalized forces leave out
        raise InputError(
            f"power_regressor: joint {loaded!r} has load-dependent friction, in which power is not linear; leave "
            "load-dependent friction off: robot.without_friction()"
        )
    return _linear(robot, "power_regressor", generalized_force.make(robot), columns, (), power)


# ---- how ----------------------------------------------------------------------------------------------------------


def _linear(
    robot: Robot,
    name: str,
    recipe: RobotRecipe,
    columns: Names,
    shape: tuple[int, ...] | None = None,
    combined: Combined | None = None,
    *,
    sparse: bool = False,
) -> RobotRecipe:
    """The derivative of a recipe's results, put together by ``combined``, to columns, which must be linear."""
    chosen = parse(robot, columns or own_columns(robot), option="columns")
    rows = shape if shape is not None else recipe.outputs[0].shape
    size = 1
    for each in rows:
        size *= each
    with_parameters(robot, recipe, chosen)  # what cannot be a parameter is refused

    def entries(values: Values) -> Sparse:
        return _derivatives(name, recipe, chosen, values, combined)

    def trace(values: Values) -> list[list[Scalar]]:
        found = entries(values)
        if sparse:
            return [[found.get(place, 0.0) for place in pattern]]
        return [dense(found, size, len(chosen))]

    if not sparse:
        output = Operand(name, (*rows, len(chosen)))
        return RobotRecipe(recipe.inputs, (output,), trace, columns=chosen, may_vanish=recipe.may_vanish)
    pattern = _pattern(robot, name, chosen, recipe, entries)
    structure = {name: tuple(zip(*pattern, strict=True)) or ((), ())}
    output = Operand(name, (len(pattern),))
    return RobotRecipe(recipe.inputs, (output,), trace, structure, columns=chosen, may_vanish=recipe.may_vanish)


def _derivatives(
    name: str, recipe: RobotRecipe, chosen: Sequence[Parameter], values: Values, combined: Combined | None
) -> Sparse:
    """Entries (row, column) that are not structurally zero."""
    graph = next((x.graph for some in values.values() for x in some if isinstance(x, Node)), None) or Graph()
    numbers = graph.inputs("columns", len(chosen))
    own = {each.name for each in chosen}
    given = [(each, x) for each, x in zip(chosen_by(values), values.get(PARAMETERS, ()), strict=True)]
    given = [(each, x) for each, x in given if each.name not in own]  # inputs of the kernel that are no columns
    every = [*(each for each, _ in given), *chosen]
    state = {**values, PARAMETERS: [*(x for _, x in given), *numbers]}
    results = [x for part in recipe.trace(choosing(state, every)) for x in part]
    if combined is not None:
        results = combined(values, results)
    found = jacobian(results, numbers, backward=True)
    if len(chosen) <= _FORWARD_PAYS:
        found = min(found, jacobian(results, numbers), key=_work)
    places = list(found)
    for place, bent in zip(places, dependence(numbers, [found[place] for place in places]), strict=True):
        if bent:
            column = chosen[place[1]].name
            raise InputError(
                f"{name}: it is not linear in {column!r}: the slope depends on {chosen[min(bent)].name!r}. Columns are "
                "inertial parameters, payloads, gravity, viscous and Coulomb friction, rotor inertia and stiffness; "
                "leave others out of columns=, and load-dependent friction off: robot.without_friction()"
            )
    return found


def _work(entries: Sparse) -> int:
    total = count(list(entries.values()))
    return total["mul"] + total["add"]


@kept
def _patterns(robot: Robot) -> dict[tuple[str, tuple[str, ...]], Pattern]:
    """By quantity and columns; it lives as long as the robot."""
    return {}


def _pattern(
    robot: Robot, name: str, chosen: Sequence[Parameter], recipe: RobotRecipe, entries: Callable[[Values], Sparse]
) -> Pattern:
    """Rows and columns of the entries that are not structurally zero, found by tracing once."""
    key = name, tuple(each.name for each in chosen)
    known = _patterns(robot)
    if key not in known:
        places: list[tuple[int, int]] = []

        def look(values: Values) -> list[list[Scalar]]:
            places.extend(sorted(entries(values)))
            return []

        traced(RobotRecipe(recipe.inputs, (), look))
        known[key] = tuple(places)
    return known[key]
