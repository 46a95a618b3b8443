"""Messages in the command line's words: where a remedy names an argument in Python, its flag."""

from __future__ import annotations

import re

_FLAGS: tuple[tuple[str, str], ...] = (
    (r'\b(mimic|floating|missing)="(\w+)"', r"--\1 \2"),
    (r"\bfloating_base=True\b", "--floating"),
    (r"\bpass values=\{.*?\}", "give --value SYMBOL=NUMBER for each, or --values FILE"),
    (r"\bvalues=\{'(\w+)': \.\.\.\}", r"--value \1=NUMBER"),
    (r"\bvalues: ", "--value: "),
    (r"\b(external|loads|motion|method)=", r"--option \1="),
    (r"\brobot\.with_independent\(names\) is", "--independent names gives"),
    (r"\bor pass gravity=\.\.\.", "to the file"),
    (r"\bload: unknown option 'values'", "unknown option --value"),
    (r"\boption '(mimic|floating|missing)'", r"--\1"),
)


def in_flags(text: str) -> str:
    """A message for somebody who types commands.

    >>> in_flags('joint 2 mimics joint 1: mimic="couple" couples them')
    'joint 2 mimics joint 1: --mimic couple couples them'
    """
    for pattern, flag in _FLAGS:
        text = re.sub(rf"(?<!--option )(?<!--){pattern}", flag, text)
    return text
