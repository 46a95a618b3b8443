"""Names in messages: what was meant stands first, and nothing likely is cut off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

MOST = 12
"""Names that a message lists."""


def closest(given: object, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that is most like the given one, whatever its case; None where none is.

    >>> closest("Shoulder_lift", ["elbow", "shoulder_lift_joint", "wrist"])
    'shoulder_lift_joint'
    """
    import difflib

    folded = {name.lower()[:80]: name for name in reversed(list(known))}
    found = difflib.get_close_matches(str(given).lower()[:80], folded, n=1, cutoff=cutoff)
    return folded[found[0]] if found else None


def listed(given: object, known: Iterable[str], most: int = MOST) -> str:
    """Known names for a message: those most like the given one first where not all are shown.

    >>> listed("elbw", ["hip", "knee", "elbow"], most=2)
    "'elbow', 'hip' and 1 more"
    >>> listed("elbw", ["hip", "elbow"])
    "'hip', 'elbow'"
    """
    names = list(known)
    if len(names) > most:
        text = str(given).lower()[:80]
        ranked = sorted(names, key=lambda name: -_likeness(text, name.lower()[:80]))
        likely = [name for name in ranked[:most] if _likeness(text, name.lower()[:80]) > 0.5]
        names = likely + [name for name in names if name not in likely]
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _likeness(a: str, b: str) -> float:
    import difflib

    whole = difflib.SequenceMatcher(None, a, b).ratio()
    return max(whole, 0.9 if a and (a in b or b in a) else 0.0)


def hint(given: object, known: Iterable[str]) -> str:
    """What to say after an unknown name: the likely one, or all there are.

    >>> hint("inverse_dynamic", ["inverse_dynamics", "energy"])
    "did you mean 'inverse_dynamics'?"
    >>> hint("x", ["inverse_dynamics", "energy"])
    "there are 'inverse_dynamics', 'energy'"
    """
    names = list(known)
    likely = closest(given, names)
    return f"did you mean {likely!r}?" if likely else f"there are {listed(given, names)}"


def fresh(name: str, taken: Iterable[str]) -> str:
    """The name, with underscores behind it where it is taken.

    >>> fresh("world", ["base", "world"])
    'world_'
    """
    known = taken if isinstance(taken, Set | Mapping) else set(taken)
    while name in known:
        name += "_"
    return name
