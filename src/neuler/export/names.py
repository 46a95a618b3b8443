"""Names that other languages take, made of any text: no name can end a comment, a string or a formula."""

from __future__ import annotations

import hashlib
import keyword
import re
import unicodedata
from collections.abc import Collection, Sequence

from neuler.export.reserved import RESERVED

LONGEST = 60


def identifier(text: str, taken: Collection[str] = (), otherwise: str = "x", longest: int = LONGEST) -> str:
    """A name that C and Python take, as near to the text as may be: letters, digits and single underscores.

    >>> identifier("joint 2/3"), identifier("2nd"), identifier("double"), identifier("größe"), identifier("*/")
    ('joint_2_3', 'x_2nd', 'double_', 'grosse', 'x')
    """
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss").replace("θ", "theta"))
    plain = plain.encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")[:longest].strip("_")
    if not name or name[0].isdigit():
        name = f"{otherwise}_{name}".rstrip("_")
    if name in RESERVED or keyword.iskeyword(name):
        name += "_"
    found, number = name, 2
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found


def joined(parts: Sequence[str]) -> str:
    """One name of several; where it is too long, the first part and the end are cut, and a mark tells which it is.

    >>> joined(["two link", "inverse_dynamics", ""]), joined(["double", "mass_matrix"]), joined(["double"])
    ('two_link_inverse_dynamics', 'double_mass_matrix', 'double_')
    >>> joined(["arm", "regressor", "link1.mass " * 6])
    'arm_regressor_link1_mass_link1_mass_link1_mass_link1_987653'
    """
    found = [identifier(part, otherwise="function").rstrip("_") for part in parts if part]
    whole = "_".join(found)
    if len(whole) <= LONGEST:
        return identifier(whole)
    mark = hashlib.blake2s("\0".join(parts).encode(), digest_size=3).hexdigest()
    room = LONGEST - len(mark) - 1
    first = found[0][: max(room - sum(len(part) + 1 for part in found[1:]), 8)].rstrip("_")
    return f"{'_'.join([first, *found[1:]])[:room].rstrip('_')}_{mark}"


def comment(text: str) -> str:
    """Text that may stand in a comment of C or Python: one line, printable, without the marks of comments.

    >>> comment("a */ b" + chr(10) + "c??/"), comment("// d")
    ('a * / b c? ?/', '/ / d')
    """
    line = "".join(c if c.isprintable() else " " for c in text)
    line = line.replace("*/", "* /").replace("/*", "/ *").replace("//", "/ /")
    line = line.replace("??", "? ?")  # of trigraphs
    return f"{line} " if line.endswith("\\") else line


def latex(text: str) -> str:
    """Text that may stand in a formula, upright.

    >>> print(latex("a_b%$"))
    \\mathrm{a\\_b\\%\\$}
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    letters = [_LATEX.get(c, c) if c.isalnum() or c in _LATEX else " " for c in plain]
    return f"\\mathrm{{{''.join(letters).strip() or 'x'}}}"


_LATEX = {
    "_": r"\_", "%": r"\%", "$": r"\$", "#": r"\#", "&": r"\&", "-": "-", ".": ".", "+": "+", "'": "'", "(": "(",
    ")": ")", ",": ",", "[": "[", "]": "]",
}  # fmt: skip
