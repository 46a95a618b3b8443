"""Recipes over the variables of a time loop: what the parts of a step read, compute and write."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neuler.compiler.program import Phase
from neuler.rollouts import friction
from neuler.rollouts.events import limited
from neuler.rollouts.model import Model, Values
from neuler.trace.graph import Scalar
from neuler.trace.recipe import Operand, Recipe
from neuler.trace.scalars import less, where

Found = dict[str, Sequence[Scalar]]
Trace = Callable[[Values], Found]


class Phases:
    """Makes recipes whose operands are the variables of one model."""

    def __init__(self, model: Model, *, stepped: bool = True) -> None:
        """``stepped``: the way of a step is the velocity at its end, times dt."""
        self.model, self.stepped = model, stepped
        self.braked = friction.braked(model)
        """Velocities that friction can hold."""
        self._round: Recipe | None = None
        robot, control = model.robot, model.control
        self.sizes: dict[str, tuple[int, ...]] = {
            "q": (robot.nq,), "qd": (robot.nv,), "tau": (robot.nu,), "dt": (), "t": (), "alarm": (1,),
            "qdd": (robot.nv,), "qs": (robot.nq,), "vs": (robot.nv,),
            **dict.fromkeys(("k1", "k2", "k3"), (robot.nv,)),
            **{name: (len(model.bent),) for name in ("r2", "r3")}, "ts": (), "reach": (1,),
            "vn": (robot.nv,), "way": (robot.nv,), **friction.sizes(model),
        }  # fmt: skip
        if control is not None:
            self.sizes |= {"memory": (control.memory,), "reference": (control.reference,)}
        for operand in model.held:
            self.sizes[operand.name] = operand.shape
        if model.limits:
            count = len(limited(model))
            self.sizes |= {"lower": (count,), "upper": (count,)}

    def operands(self, names: Sequence[str]) -> tuple[Operand, ...]:
        """Those that have numbers."""
        return tuple(Operand(name, self.sizes[name]) for name in names if self.sizes[name] != (0,))

    def make(self, reads: Sequence[str], writes: Sequence[str], trace: Trace) -> Recipe:
        """A recipe; what has no numbers is left away."""
        outputs = self.operands(writes)

        def traced(values: Values) -> list[list[Scalar]]:
            whole = {name: values.get(name, []) for name in self.sizes}
            found = trace(whole)
            return [list(found[operand.name]) for operand in outputs]

        return Recipe(self.operands(reads), outputs, traced)

    @property
    def outside(self) -> list[str]:
        """What the accelerations read beside the state."""
        return ["tau", "dt", *(["t"] if self.model.timed else []), *(operand.name for operand in self.model.held)]

    @property
    def ends(self) -> list[str]:
        """What the alarm reads beside the state."""
        return ["lower", "upper"] if self.model.limits else []

    def resting(self, qd: Sequence[Scalar]) -> Found:
        """At the beginning of a step: how many of them rest."""
        if not self.braked:
            return {}
        return {"rests": [sum(friction.rests(qd, self.braked).values(), 0.0)], "changes": [0.0]}

    def rest(
        self, state: str, known: Callable[[Values], Values], still: Callable[[Values], list[Scalar]]
    ) -> list[Phase]:
        """Accelerations with the friction of joints that rest, at positions of that name; ``still``: which do."""
        model = self.model

        def begin(values: Values) -> Found:
            may = dict(zip(self.braked, still(values), strict=True))
            return dict(friction.at_rest(model, known(values), values[state], may))

        def end(values: Values) -> Found:
            (count,) = values["rests"]
            return {"qdd": [where(less(count, 1.0), a, b) for a, b in zip(values["qdd"], values["x"], strict=True)]}

        more = [] if state == "q" else ["s", "c", "dir"]
        reads = unique(state, "qd", "qdd", *more, *self.outside)
        writes = ["mass", "right", "target", "may", *friction.STATE, *friction.EDGES, "changes", "turn"]
        first = Phase(self.make(reads, writes, begin), "rests")
        last = Phase(self.make(["qdd", "x", "rests"], ["qdd"], end), "rests")
        return [first, *self._rounds(state, known), last]

    def _rounds(self, state: str, known: Callable[[Values], Values]) -> list[Phase]:
        model = self.model
        loaded = friction.loaded(model) and bool(state)
        reads = ["mass", "right", "target", "may", *friction.STATE, *friction.EDGES, "turn"]
        if loaded:
            reads += [state, *([] if state == "q" else ["s", "c"]), *self.outside]

        def trace(values: Values) -> Found:
            return dict(
                friction.one_round(model, known(values) if loaded else values, values[state] if loaded else None)
            )

        if loaded or self._round is None:
            recipe = self.make(unique(*reads), [*friction.STATE, "x", "changes", "turn"], trace)
            if not loaded:
                self._round = recipe
        else:
            recipe = self._round
        return [Phase(recipe, "changes", friction.ROUNDS)]

    def turned(self) -> list[Phase]:
        """Velocities that have turned round, after the impulses of friction; the way of the step follows."""
        model = self.model

        def begin(values: Values) -> Found:
            return dict(friction.turned_round(model, values, values["q"], values["qd"], values["vn"]))

        def end(values: Values) -> Found:
            half = 0.5 * values["dt"][0]
            vn = [a + b for a, b in zip(values["vn"], values["x"], strict=True)]
            return {"vn": vn, "way": [a + half * b for a, b in zip(values["way"], values["x"], strict=False)]}

        both = ["vn"] if self.stepped else ["vn", "way"]
        writes = ["mass", "right", "target", "may", *friction.STATE, *friction.EDGES, "changes", "turn"]
        first = Phase(self.make(unique("q", "qd", "vn", *self.outside), writes, begin), "cross")
        last = Phase(self.make(unique(*both, "x", "dt"), both, end), "cross")
        return [first, *self._rounds("", lambda values: values), last]

    def sampled(self, values: Values) -> tuple[Values, Found]:
        """With the controller inside: values with its tau, and what it leaves."""
        control = self.model.control
        if control is None or not self.model.fused:
            return values, {}
        tau, memory = control.at(values, time_of(values))
        return {**values, "tau": tau}, {"tau": tau, "memory": memory}

    @property
    def before(self) -> tuple[list[str], list[str]]:
        """What a controller inside a step reads and writes more."""
        if self.model.control is None or not self.model.fused:
            return [], []
        return ["t", "memory", "reference"], ["tau", "memory"]


def time_of(values: Values) -> Scalar:
    """At the beginning of the step; zero where nothing depends on it."""
    return values["t"][0] if values["t"] else 0.0


def unique(*names: str) -> list[str]:
    """Each once, in order."""
    return list(dict.fromkeys(names))
