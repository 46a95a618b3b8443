"""The stages of Runge and Kutta's classical scheme, over any scalar: each from the accelerations that come before it.

Beside q and qd at the step's beginning ``values`` has what earlier stages left: the state (qs, vs) at which
accelerations were wanted, k1 ... k3, and r2, r3, rates of the way where these are not velocities.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuler.rollouts.loop_recipes import Written
from neuler.rollouts.model import Model, Values
from neuler.trace.graph import Scalar


def ahead(x: Sequence[Scalar], dt: Scalar, rate: Sequence[Scalar]) -> list[Scalar]:
    """The numbers x + dt rate."""
    return [a + dt * b for a, b in zip(x, rate, strict=True)]


def times(dt: Scalar, x: Sequence[Scalar]) -> list[Scalar]:
    """The numbers x, each times dt."""
    return [dt * a for a in x]


def stage(model: Model, values: Values, k: Sequence[Scalar], rates: Sequence[Scalar], lasting: Scalar) -> Written:
    """The state at which the next accelerations are wanted."""
    way = times(lasting, rates)
    state: Written = {"qs": model.moved(values["q"], way), "vs": ahead(values["qd"], lasting, k)}
    return {**state, "way": way, "rates": rates, "lasting": [lasting]}


def first(model: Model, values: Values, k: Sequence[Scalar]) -> Written:
    """k1, and the state half a step on."""
    return {"k1": k, **stage(model, values, k, values["qd"], 0.5 * values["dt"][0])}


def second(model: Model, values: Values, k: Sequence[Scalar]) -> Written:
    """k2, r2, and a better state half a step on."""
    half = 0.5 * values["dt"][0]
    rates = model.way_rates(times(half, values["qd"]), values["vs"])
    return {"k2": k, "r2": [rates[i] for i in model.bent], **stage(model, values, k, rates, half)}


def third(model: Model, values: Values, k: Sequence[Scalar]) -> Written:
    """k3, r3, and the state a step on."""
    (dt,) = values["dt"]
    before = _spread(model, values["r2"], values["qd"])
    rates = model.way_rates(times(0.5 * dt, before), values["vs"])
    return {"k3": k, "r3": [rates[i] for i in model.bent], **stage(model, values, k, rates, dt)}


def last(model: Model, values: Values, k: Sequence[Scalar]) -> Written:
    """The way of the step, and the velocities at its end."""
    (dt,) = values["dt"]
    qd, vs = values["qd"], values["vs"]
    k1, k2, k3 = (values[name] for name in ("k1", "k2", "k3"))
    r2, r3 = (_spread(model, values[name], qd) for name in ("r2", "r3"))
    r4 = model.way_rates(times(dt, r3), vs)
    way: list[Scalar] = []
    for i, v in enumerate(qd):
        if i in model.bent:
            way.append(dt / 6.0 * (v + 2.0 * (r2[i] + r3[i]) + r4[i]))
        else:  # the rates are velocities: v, v + dt k1 / 2, v + dt k2 / 2, v + dt k3
            way.append(dt * (v + dt / 6.0 * (k1[i] + k2[i] + k3[i])))
    after = [v + dt / 6.0 * (a + 2.0 * (b + c) + d) for v, a, b, c, d in zip(qd, k1, k2, k3, k, strict=True)]
    return {"way": way, "vn": after}


def _spread(model: Model, bent: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
    """Rates of the way where they are kept; others are not needed, for there they have no effect on later ones."""
    found = list(qd)
    for i, x in zip(model.bent, bent, strict=True):
        found[i] = x
    return found


STAGES = (first, second, third, last)
