"""Recipes over the variables of a time loop: what the parts of a step read, compute and write."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neuler.compiler.program import StepPart
from neuler.rollouts import friction, pivots
from neuler.rollouts.events import limited
from neuler.rollouts.model import Model, Values
from neuler.rollouts.slides import braked, signs_of, tell_directions
from neuler.trace.graph import Scalar
from neuler.trace.recipe import Operand, Recipe

Written = dict[str, Sequence[Scalar]]
"""What a part of a step writes: numbers by the name of their variable."""
Trace = Callable[[Values], Written]


class LoopRecipes:
    """Makes recipes whose operands are the variables of one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.braked = braked(model)
        """Velocities of every slide that friction or a stop can hold."""
        self._made: dict[str, Recipe] = {}
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
        if model.bounded:
            count = len(limited(model))
            self.sizes |= {"lower": (count,), "upper": (count,)}

    def operands(self, names: Sequence[str]) -> tuple[Operand, ...]:
        """Operands of these names; those without numbers are left out."""
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
        return ["lower", "upper"] if self.model.bounded else []

    def resting(self, values: Values, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Written:
        """At the beginning of a step: the directions of slides, and how many rest."""
        return dict(friction.begun(self.model, values, q, qd)) if self.braked else {}

    def begin(self, values: Values) -> Written:
        """Accelerations at the beginning of a step, with the controller inside; directions of slides."""
        model = self.model
        values, found = self.sampled(values)
        q, qd, t = values["q"], values["qd"], time_of(values)
        begun = self.resting(values, q, qd)
        if any(len(row) > 1 for row in self.braked):  # at rest but for rounding: then its sign is zero
            signs = signs_of(model, values, q, qd, model.accelerations(values, q, qd, t))
            tell_directions(model, values, q, qd, signs, begun["dir"])
        return {"qdd": model.accelerations(values, q, qd, t), **begun, **found}

    BEGUN = ("dir", "told", "early", "rows", "push", "locked", "met", "rests", "changes")
    """The variables that the beginning of a step writes where slides may rest."""
    ROUNDS = ("mass", "right", "rows", *pivots.BOX, *pivots.STATE)
    """What rounds read, beside their number."""

    def rest(self, state: str, known: Callable[[Values], Values], weight: float = 1.0) -> list[StepPart]:
        """Accelerations with the friction of slides that rest, at positions of that name."""
        model = self.model

        def begin(values: Values) -> Written:
            return dict(friction.at_rest(model, known(values), values[state], values["dir"]))

        def end(values: Values) -> Written:
            return dict(friction.rested(model, values, weight))

        more = [] if state == "q" else ["s", "c"]
        reads = unique(state, "qdd", "dir", *more, *self.outside, *self.ends)
        writes = [name for name in self.ROUNDS if name != "rows"]
        first = self._once("rest", reads, [*writes, "changes", "turn"], begin)
        reads = ["qdd", "x", "rests", "force", "locked", "push", "dt"]
        last = self._once(f"rested {weight}", reads, ["qdd", "push"], end)
        return [StepPart(first, "rests"), self._rounds(), StepPart(last, "rests")]

    def _once(self, name: str, reads: Sequence[str], writes: Sequence[str], trace: Trace) -> Recipe:
        """One recipe of a name, compiled once however often it stands in a step."""
        if name not in self._made:
            self._made[name] = self.make(reads, writes, trace)
        return self._made[name]

    def _rounds(self) -> StepPart:
        def trace(values: Values) -> Written:
            return dict(pivots.one_round(self.model, values))

        writes = [*pivots.STATE, "x", "changes", "turn"]
        more = ["x", "changes"] if any(len(row) > 1 for row in self.braked) else []
        return StepPart(self._once("round", [*self.ROUNDS, "turn", *more], writes, trace), "changes", pivots.ROUNDS)

    def crossing(
        self, values: Values, after: Sequence[Scalar], way: Sequence[Scalar], qdd: Sequence[Scalar] | None = None
    ) -> Written:
        """At its end: how many slides stop or turn round; with accelerations at its beginning, how many are thrown."""
        if not self.braked:
            return {}
        strong: Scalar = 0.0
        if qdd is not None:
            strong = sum((far for far, _ in friction.thrown(self.model, values, qdd)), 0.0)
        return {"cross": [friction.crossed(self.model, values, after, way)], "strong": [strong]}

    def moved(self, values: Values, way: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """Positions after the way of a step that ends with these velocities."""
        model = self.model
        if not model.holds:
            return model.moved(values["q"], way)
        way = friction.aimed(model, values, way, qd)
        return friction.landed(model, values, way, model.moved(values["q"], way))

    @property
    def crosses(self) -> list[str]:
        """What that reads beside the step's velocities and way."""
        if not self.braked:
            return []
        return ["qd", "dir", "told", "push", "rows", "dt", *(["q", *self.ends] if self.model.holds else [])]

    def stopping(self) -> list[StepPart]:
        """Velocities and way of a step in which slides stop or turn round."""
        model = self.model

        def begin(values: Values) -> Written:
            return dict(friction.stopping(model, values, values["qd"], values["vn"], values["way"]))

        def end(values: Values) -> Written:
            return dict(friction.stopped(model, values, values["qd"]))

        reads = unique("q", "qd", "vn", "way", "dir", "told", "early", "push", "rows", *self.outside, *self.ends)
        writes = [name for name in self.ROUNDS if name != "rows"]
        first = self.make(reads, [*writes, "left", "met", "changes", "turn"], begin)
        reads = ["qd", "vn", "way", "x", "cross", "left", "mass", "locked", "dir", "told", "met", "dt"]
        last = self.make(reads, ["vn", "way"], end)
        return [StepPart(first, "cross"), self._rounds(), StepPart(last, "cross")]

    def sampled(self, values: Values) -> tuple[Values, Written]:
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
    """The names, each once, in the order in which they first come."""
    return list(dict.fromkeys(names))
