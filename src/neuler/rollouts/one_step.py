"""One step as one function of all that it depends on, to be differentiated: q, qd, tau, dt, t and what is held.

Small changes of positions are counted along the robot's own velocities, as everywhere: d(q) has nv numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuler.errors import InputError
from neuler.recursions.positions import position_rates, velocities_of
from neuler.rollouts.implicit import advanced, slopes
from neuler.rollouts.model import Model, Values
from neuler.rollouts.rk4_stages import STAGES, last
from neuler.rollouts.slides import rough
from neuler.trace.graph import Scalar
from neuler.trace.listing import Listing, run
from neuler.trace.recipe import Operand, Recipe


def refuse_rough(called: str, model: Model) -> None:
    """Friction that holds joints at rest has no derivative there."""
    held = rough(model)
    if held:
        name = model.robot.coordinates.owners("qd")[held[0]].name
        raise InputError(
            f"{called}: joint {name!r} has Coulomb friction, which jumps at rest, where a rollout has no "
            "derivative; use a smooth law, robot.with_smooth_friction(width), or robot.without_friction()"
        )


def stepped(model: Model, method: str, values: Values, t: Scalar) -> tuple[list[Scalar], list[Scalar]]:
    """q and qd after a step, over any scalar."""
    (dt,) = values["dt"]
    q, qd = values["q"], values["qd"]
    qdd = model.accelerations(values, q, qd, t)
    if method == "euler":
        after = [v + dt * a for v, a in zip(qd, qdd, strict=True)]
        return model.moved(q, after, dt), after
    if method == "implicit":
        way, after = advanced(model, {**values, "qdd": qdd, "t": [t]}, *_slopes(model, values, qdd, t))
        return model.moved(q, way), after
    known: dict[str, list[Scalar]] = {**values, "r2": [], "r3": []}
    for late, stage in zip((0.5, 0.5, 1.0), STAGES[:3], strict=True):
        known |= {name: list(x) for name, x in stage(model, known, qdd).items()}
        qdd = model.accelerations(values, known["qs"], known["vs"], t + late * dt)
    end = last(model, known, qdd)
    return model.moved(q, end["way"]), list(end["vn"])


def _slopes(
    model: Model, values: Values, qdd: Sequence[Scalar], t: Scalar
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Of the implicit scheme, as functions of values that may be anything."""
    n = model.robot.nv
    sizes = {"q": model.robot.nq, "qd": n, "qdd": n, "tau": model.robot.nu, "when": 1}
    inputs = tuple(Operand(name, (size,)) for name, size in sizes.items()) + model.held
    outputs = tuple(Operand(name, (n, n)) for name in ("stiffness", "damping"))

    def trace(given: Values) -> list[list[Scalar]]:
        return [[x for row in matrix for x in row] for matrix in slopes(model, given, given["when"][0])]

    listing = Listing.of(Recipe(inputs, outputs, trace))
    whole = {**values, "qdd": list(qdd), "when": [t]}
    found = listing.split(run(listing.body, [x for operand in inputs for x in whole[operand.name]]))
    stiffness, damping = ([list(flat[n * k : n * k + n]) for k in range(n)] for flat in found)
    return stiffness, damping


# ---- small changes of positions ----------------------------------------------------------------------


def rates_along(model: Model, q: Sequence[Scalar], way: Sequence[Scalar]) -> list[Scalar]:
    """dq of the numbers of q, along the robot's own velocities."""
    return position_rates(model.machine.moving_joints, q, model.chart(q).rates(way))


def own_rates(model: Model, q: Sequence[Scalar], rates: Sequence[Scalar]) -> list[Scalar]:
    """The way along the robot's own velocities, of dq."""
    found = velocities_of(model.machine.moving_joints, q, rates)
    return [found[k] for k in model.machine.coordinates.independent]


def pulled(model: Model, q: Sequence[Scalar], weights: Sequence[Scalar]) -> list[Scalar]:
    """Weights of the numbers of q that pull like weights of its changes along velocities: ``own_rates``, transposed."""
    found: list[Scalar] = []
    for k in range(len(q)):
        unit: list[Scalar] = [float(i == k) for i in range(len(q))]
        total: Scalar = 0.0
        for weight, x in zip(weights, own_rates(model, q, unit), strict=True):
            total = total + weight * x
        found.append(total)
    return found


def along_velocities(model: Model, q: Sequence[Scalar], gradient: Sequence[Scalar]) -> list[Scalar]:
    """A gradient to the numbers of q, as one along the robot's own velocities: ``rates_along``, transposed."""
    found: list[Scalar] = []
    chart = model.chart(q)
    for k in range(model.robot.nv):
        total: Scalar = 0.0
        for x, rate in zip(gradient, chart.direction(k), strict=True):
            total = total + x * rate
        found.append(total)
    return found
