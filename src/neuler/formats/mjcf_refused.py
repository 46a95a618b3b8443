"""What an MJCF file says that neuler cannot compute: refused by name, or left out where the reader is told to."""

from __future__ import annotations

from collections.abc import Iterable

from neuler.errors import FormatError
from neuler.naming import hint

FEATURES = {
    "armature": "rotor inertia of ball and free joints, and of actuators that drive no joint directly",
    "damping": "damping of actuators that drive no joint directly",
    "equality": "equality constraints that are neither a loop nor a coupling",
    "frictionloss": "dry friction of ball and free joints",
    "gravcomp": "gravity compensation of bodies",
    "plugins": "plugins",
    "polynomials": "springs and dampers that are not linear, of joints and of actuators",
    "springs": "springs of ball and free joints",
    "tendons": "springs, dampers, dry friction and inertia of tendons",
    "yield": "springs that yield",
}
"""By name, what may be left out of a model although it changes the motion."""
_SHOWN = 6


class Refusals:
    """Collects what is not supported, so that one error names all of it."""

    def __init__(self, label: str, without: Iterable[str]) -> None:
        self.label = label
        self.without = frozenset(_known(without))
        self.found: dict[str, list[str]] = {}

    def add(self, feature: str, where: str) -> None:
        """Something of a feature, and where it stands."""
        self.found.setdefault(feature, []).append(where)

    def notes(self) -> list[str]:
        """What was left out; an error where something was not to be."""
        refused = [feature for feature in self.found if feature not in self.without]
        if refused:
            said = "; ".join(few(self.found[feature]) for feature in refused)
            names = ", ".join(repr(x) for x in sorted({*refused, *self.without}))
            raise FormatError(
                f"{self.label}: changes the motion and is not supported: {said}; without=[{names}] leaves it out"
            )
        return [f"left out, though it changes the motion: {few(where)}" for where in self.found.values()]


def few(texts: list[str]) -> str:
    """The first of many.

    >>> few(["a", "b"])
    'a, b'
    """
    more = len(texts) - _SHOWN
    return ", ".join(texts[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _known(without: Iterable[str]) -> list[str]:
    names = [without] if isinstance(without, str) else without
    if not isinstance(names, Iterable):
        raise FormatError(f"load: without must be a list of names, got {without!r:.60}")
    found = list(names)
    for name in found:
        if name not in FEATURES:
            raise FormatError(f"load: without: there is no {name!r:.60}; {hint(name, FEATURES)}")
    return found
