"""Names of variables as FMI's structured convention takes them: tau.shoulder, q.'joint 2/3', der(q.elbow)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = frozenset("!#$%&()*+,-./:;<>=?@[]^{}|~ _")
"""Characters beside letters and digits that may stand between quotes."""


def part(text: str) -> str:
    """One part of a name: as it is, or between quotes; characters that FMI does not take become underscores.

    >>> part("elbow"), part("joint 2/3"), part("größe"), part("a'b")
    ('elbow', "'joint 2/3'", 'grosse', "'a_b'")
    """
    if _PLAIN.fullmatch(text):
        return text
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    good = "".join(c if c.isascii() and (c.isalnum() or c in _QUOTED) else "_" for c in plain)
    return good if good == plain and _PLAIN.fullmatch(good) else f"'{good or '_'}'"


def structured(parts: Sequence[str], taken: Collection[str] = ()) -> str:
    """A name of several parts, unlike those that are taken: then its last part gets a number.

    >>> structured(["q", "elbow"]), structured(["q", "elbow"], ["q.elbow"])
    ('q.elbow', 'q.elbow_2')
    """
    *before, last = (part(each) for each in parts)
    found, number = ".".join([*before, last]), 2
    while found in taken:
        again = f"{last[:-1]}_{number}'" if last.endswith("'") else f"{last}_{number}"
        found, number = ".".join([*before, again]), number + 1
    return found


def text(said: str) -> str:
    """Text for an attribute of XML: one line, without characters that XML does not have. (Marks are escaped later.)

    >>> text("a" + chr(10) + "b" + chr(0) + "<c>")
    'a b <c>'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in said).split())


def c_string(said: str) -> str:
    """A string literal of C: other than plain letters come as octal bytes; "#" is doubled, as FMI's messages have it.

    >>> print(c_string('a"#' + chr(10)))
    "a\\042##\\012"
    """
    found = []
    for byte in said.replace("#", "##").encode("utf-8", "replace"):
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?%'
        found.append(chr(byte) if plain else f"\\{byte:03o}")
    return f'"{"".join(found)}"'
