"""What a function that is exported is called, what its numbers are called, and what is said of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from neuler.errors import InputError
from neuler.export.names import identifier
from neuler.naming import fresh, hint
from neuler.trace.recipe import Operand, Recipe

_INSIDE = ("count", "first", "end", "far", "i", "k", "m", "n", "state")
"""What functions in C call values of their own."""
_ALONG = (
    "above", "batch", "begin", "bits", "leq", "less", "mask", "max", "min", "near", "part", "pow", "read", "sign",
    "signed", "sincos", "state",
)  # fmt: skip
"""What names of functions in C that come along end with."""
MOST = 80
"""Letters of a name."""
_SHOWN = 40
"""Places of sparse results that are described."""
Label = tuple[str, str]
"""What a number is called, and its unit; either may be empty."""


@dataclass(frozen=True)
class Interface:
    """A recipe, and names of all that it takes and gives."""

    name: str
    """Of the function: a name that C and Python take."""
    recipe: Recipe
    about: tuple[str, ...] = ()
    """Lines that say what it computes."""
    labels: Mapping[str, Sequence[Label]] = field(default_factory=dict)
    """By operand, of each number; operands without are not mentioned."""
    axes: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    """By operand, what each of its axes runs over."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"name must be a text, got {self.name!r:.60}")
        if len(self.name) > MOST:
            raise InputError(f"name must have at most {MOST} letters, got {len(self.name)}: {self.name[:40]!r}...")
        will_do = identifier(self.name, longest=MOST)
        if will_do != self.name:
            raise InputError(
                f"name must be letters, digits and single underscores, and no word of C or Python, got {self.name!r}; "
                f"{will_do!r} will do"
            )

    def arguments(self, inside: Collection[str] = _INSIDE) -> dict[str, str]:
        """By operand, inputs first, a name that other languages take.

        Different operands have different names, and none is that of the function, of what comes along with it, or of
        what it calls values of its own (``inside``).
        """
        found: dict[str, str] = {}
        taken = {self.name, f"NEULER_{self.name}_H", *inside, *(f"{self.name}_{each}" for each in _ALONG)}
        for operand in (*self.recipe.inputs, *self.recipe.outputs):
            found[operand.name] = identifier(operand.name, taken)
            taken.add(found[operand.name])
        return found

    def structure(self) -> dict[str, Sequence[int]]:
        """Of sparse outputs, by the name of a constant in C, the index of every entry along one axis."""
        found: dict[str, Sequence[int]] = {}
        for output, axes in self.recipe.structure.items():
            ends = ["row", "column"] if len(axes) == 2 else [f"axis{k}" for k in range(len(axes))]
            for end, places in zip(ends, axes, strict=True):
                if places:
                    found[f"{self.name}_{self.arguments()[output]}_{end}"] = places
        return found

    def renamed(self, names: Mapping[str, str] | None, called: str) -> dict[tuple[str, int], str]:
        """By operand and place, the names that numbers are given, by their labels; and those that parameters have."""
        known: dict[str, list[tuple[str, int]]] = {}
        found: dict[tuple[str, int], str] = {}
        for operand in self.recipe.inputs:
            for k, (label, _) in enumerate(self.labels.get(operand.name, ())):
                known.setdefault(label, []).append((operand.name, k))
                if operand.name == "parameters" and label:
                    found[operand.name, k] = label
        if names is not None and not isinstance(names, Mapping):
            raise InputError(f"{called}: names= must map parameters to names, got {names!r:.60}")
        given = list((names or {}).values())
        for label, name in (names or {}).items():
            if not isinstance(name, str) or not name:
                raise InputError(f"{called}: names= {label!r} must be given a name, got {name!r:.60}")
            if given.count(name) > 1:
                raise InputError(f"{called}: names= gives the name {name!r} twice")
            if label not in known:
                raise InputError(f"{called}: names=: unknown parameter {label!r}; {hint(label, known)}")
            if len(known[label]) > 1:
                places = ", ".join(operand for operand, _ in known[label])
                raise InputError(f"{called}: names= {label!r} is a number of {places}; name parameters alone")
            found[known[label][0]] = name
        return found

    def described(self, operand: Operand, renamed: Mapping[tuple[str, int], str] | None = None) -> list[str]:
        """Lines about the numbers of an operand: places, names (or what they are renamed to), units."""
        labels = self.labels.get(operand.name, ())
        if renamed:
            labels = [(renamed.get((operand.name, k), label), unit) for k, (label, unit) in enumerate(labels)]
        units = {unit for _, unit in labels}
        places = list(zip(*self.recipe.structure.get(operand.name, ()), strict=True))
        if places:
            said = ", ".join("".join(f"[{k}]" for k in place) for place in places[:_SHOWN])
            return [f"entries of a larger array that may differ from zero: {said}{', ...' * (len(places) > _SHOWN)}"]
        if not labels:
            axes = self.axes.get(operand.name, ())
            counts = ["".join("[.]" * k) + "[i]" + "[.]" * (len(operand.shape) - k - 1) for k in range(len(axes))]
            return [f"{index} {', '.join(names)}" for index, names in zip(counts, axes, strict=True) if names]
        if units == {""} or len(units) > 1:
            return [f"{k}: {name}{f' ({unit})' if unit else ''}" for k, (name, unit) in enumerate(labels)]
        names = ", ".join(name for name, _ in labels if name)
        return [f"{names} ({units.pop()})" if names else units.pop()]


def distinct(recipe: Recipe) -> Recipe:
    """The same recipe, in which no output is called as an input is: what comes of ``q`` is ``q_next``."""
    taken = [x.name for x in recipe.inputs]
    renamed = {x.name: fresh(f"{x.name}_next", taken) for x in recipe.outputs if x.name in taken}
    if not renamed:
        return recipe
    outputs = tuple(Operand(renamed.get(x.name, x.name), x.shape) for x in recipe.outputs)
    structure = {renamed.get(name, name): axes for name, axes in recipe.structure.items()}
    return Recipe(recipe.inputs, outputs, recipe.trace, structure)


def shape(operand: Operand) -> str:
    """As it is written behind a name.

    >>> shape(Operand("A", (2, 3))), shape(Operand("t", ()))
    ('[2][3]', '')
    """
    return "".join(f"[{n}]" for n in operand.shape)
