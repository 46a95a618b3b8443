"""Messages in the command line's words: where a remedy names an argument in Python, its flag."""

from __future__ import annotations

import re

_FLAGS: tuple[tuple[str, str], ...] = (
    (r'\b(mimic|floating|missing)="(\w+)"', r"--\1 \2"),
    (r"\bfloating_base=True\b", "--floating"),
    (r"\bpass values=\{.*?\}", "give --value SYMBOL=NUMBER for each, or --values FILE"),
    (r"\bvalues=\{'(\w+)': \.\.\.\}", r"--value \1=NUMBER"),
    (r"\bvalues: ", "--value: "),
    (r"\bby robot\.with_fixed\b", "by --fixed"),
    (r"\b(?:by )?own=identify\.offsets\(robot\)", "by --offsets"),
    (r"\bfriction='offset'", "--set identify.friction=offset"),
    (r"\bmethod='(weighted|ordinary|reweighted|bootstrap|instrumental|consistent|bayesian)'", r"--method \1"),
    (r"\b(external|loads|motion|method)=", r"--option \1="),
    (r"\brobot\.with_independent\(names\) is", "--independent names gives"),
    (r"\bprepare\(check=False\)", "--no-check"),
    (r"\bcolumns=\{'name in the file': 'q1'\}", "--map NAME=q1"),
    (r"\brate= says(.*), columns= what", r"--rate says\1, --map NAME=t what"),
    (r"\bderivatives='(measured|positions)'", r"--derivatives \1"),
    (r"\btorque_constants= must", "--torque-constant must"),
    (r"\bratios= must", "--ratio must"),
    (r"\(ratios=1 where", "(--ratio 1 where"),
    (r"\bunits=\{'tau': 'A'\}", "--units tau=A"),
    (r"\bunits=\{'q': 'deg', 'q_slide': 'mm'\}", "--units q=deg q_slide=mm"),
    (r"\bunits=\{'(t|q|qd|tau)': '([\w/]+)'\}", r"--units \1=\2"),
    (r"\bor say which with columns=", "or say which with --map NAME=COLUMN"),
    (r"\bor pass gravity=\.\.\.", "to the file"),
    (r"\bload: unknown option 'values'", "unknown option --value"),
    (r"\bpass arguments=\{'([^']+)': \.\.\.\}", r"give --argument \1=VALUE"),
    (r"\bpackages=\"FOLDER\", a folder", "--packages FOLDER, a folder"),
    (r"\bor packages=\{'([^']+)': 'FOLDER'\}", r"or --packages \1=FOLDER"),
    (r"\bload: unknown option 'arguments'", "unknown option --argument"),
    (r"\bload: unknown option 'packages'", "unknown option --packages"),
    (r"\boption 'packages'", "--packages"),
    (r"\boption '(mimic|floating|missing)'", r"--\1"),
)


def in_flags(text: str) -> str:
    """A message or a note for somebody who types commands.

    >>> in_flags('joint 2 mimics joint 1: mimic="couple" couples them')
    'joint 2 mimics joint 1: --mimic couple couples them'
    """
    for pattern, flag in _FLAGS:
        text = re.sub(rf"(?<!--option )(?<!--){pattern}", flag, text)
    return text
