"""Names that other languages take, made of any text: no name can end a comment, a string or a formula."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Collection

C_WORDS = frozenset((
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "_Bool",
    "_Complex", "_Imaginary", "asm", "typeof", "alignas", "alignof", "bool", "catch", "class", "concept",
    "constexpr", "decltype", "delete", "explicit", "export", "false", "friend", "mutable", "namespace", "new",
    "noexcept", "nullptr", "operator", "private", "protected", "public", "requires", "static_assert", "template",
    "this", "thread_local", "throw", "true", "try", "typeid", "typename", "using", "virtual", "wchar_t", "and",
    "and_eq", "bitand", "bitor", "compl", "not", "not_eq", "or", "or_eq", "xor", "xor_eq", "sin", "cos", "tan",
    "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log", "log2", "log10",
    "log1p", "pow", "sqrt", "cbrt", "fabs", "fma", "fmax", "fmin", "fmod", "floor", "ceil", "round", "trunc",
    "copysign", "hypot", "isnan", "isinf", "isfinite", "signbit", "erf", "gamma", "lgamma", "tgamma", "j0", "j1",
    "jn", "y0", "y1", "yn", "abs", "labs", "div", "ldiv", "time", "clock", "signal", "remove", "rename", "main",
    "printf", "memcpy", "memset", "size_t", "uint64_t", "uint32_t", "int32_t", "NAN", "INFINITY", "NULL", "EOF",
    "M_PI", "I", "errno", "stdin", "stdout", "stderr", "linux", "unix", "index", "FMA", "HAS_FMA", "FAR_ANGLE",
    "NEULER_RESTRICT", "NEULER_NO_FMA", "HUGE_VAL", "HUGE_VALF", "HUGE_VALL", "FP_NAN", "FP_INFINITE", "FP_ZERO",
    "FP_NORMAL", "FP_SUBNORMAL", "FP_FAST_FMA", "FP_FAST_FMAF", "MATH_ERRNO", "MATH_ERREXCEPT", "SIZE_MAX",
    "BUFSIZ", "RAND_MAX", "DBL_MAX", "FLT_MAX", "np", "neuler", "test", "all", "install", "clean", "help",
    "package", "features", "math", "string", "stdio", "stdlib", "stdint", "stddef", "assert", "limits", "locale",
    "ctype", "complex", "fenv", "inttypes", "tgmath", "wchar", "malloc", "calloc", "realloc", "free",
))  # fmt: skip
"""Words of C and C++, names of the C library, its headers and of build tools that a name must not hide."""
LONGEST = 60


def identifier(text: str, taken: Collection[str] = (), otherwise: str = "x") -> str:
    """A name that C and Python take, as near to the text as may be: letters, digits and single underscores.

    >>> identifier("joint 2/3"), identifier("2nd"), identifier("double"), identifier("größe"), identifier("*/")
    ('joint_2_3', 'x_2nd', 'double_', 'grosse', 'x')
    """
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss").replace("θ", "theta"))
    plain = plain.encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")[:LONGEST].strip("_")
    if not name or name[0].isdigit():
        name = f"{otherwise}_{name}".rstrip("_")
    if name in C_WORDS or keyword.iskeyword(name):
        name += "_"
    found, number = name, 2
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found


def comment(text: str) -> str:
    """Text that may stand in a comment of C or Python: one line, printable, without the marks of comments.

    >>> comment("a */ b" + chr(10) + "c??/"), comment("// d")
    ('a * / b c??/ ', '/ / d')
    """
    line = "".join(c if c.isprintable() else " " for c in text)
    line = line.replace("*/", "* /").replace("/*", "/ *").replace("//", "/ /")
    return f"{line} " if line.endswith(("\\", "??/")) else line


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
