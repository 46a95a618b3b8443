"""The text of a SYMORO+ file: comments, lists of expressions, and what an expression is worth."""

from __future__ import annotations

import bisect
import itertools
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from neuler.errors import FormatError
from neuler.formats.source import Source, check_size, check_source, clip, file_chunks, label_of
from neuler.naming import closest

MAX_BYTES = 4 * 2**20
MAX_ENTRIES = 10_000
MAX_EXPRESSION = 500
MAX_DEPTH = 40
MAX_EXPONENT = 64.0

_BLANK = re.compile(r"[ \t\n;,]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)[ \t]*=[ \t]*", re.ASCII)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>\*\*|[-+*/^(),]))"
)
_FUNCTIONS: dict[str, tuple[int, Callable[..., float]]] = {
    "sqrt": (1, math.sqrt), "sin": (1, math.sin), "cos": (1, math.cos), "tan": (1, math.tan),
    "asin": (1, math.asin), "acos": (1, math.acos), "atan": (1, math.atan), "atan2": (2, math.atan2),
    "abs": (1, abs),
}  # fmt: skip
RESERVED = {"pi", *_FUNCTIONS}
"""Names that are no symbols, in any case of their letters."""

Affine = tuple[float, float]
"""A constant, and how many times the joint variable is added to it."""


@dataclass(frozen=True)
class Expression:
    """One expression, and where it stands."""

    text: str
    owner: str
    line: int
    file: str

    def error(self, message: str) -> FormatError:
        """An error that says where in the file it is."""
        return FormatError(f"{self.file}, line {self.line}: {self.owner}: {message}")

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names in it that need a value."""
        tokens = [*_tokens(self), ("end", "")]
        found = {}
        for (kind, name), (_, after) in itertools.pairwise(tokens):
            if kind == "name" and name.lower() not in RESERVED:
                if after == "(":
                    raise self.error(f"unknown function {clip(name)}; known are {', '.join(_FUNCTIONS)}")
                found[name] = True
        return tuple(found)

    def value(self, known: Mapping[str, float], variable: str | None = None) -> Affine:
        """What it is worth; the variable may be added to it, nothing else."""
        value, slope = _Evaluation(self, known, variable).run()
        if not (math.isfinite(value) and math.isfinite(slope)):
            raise self.error(f"is not finite: {clip(self.text)}; give numbers that a double can hold")
        return value + 0.0, slope


@dataclass
class Sheet:
    """A file taken apart: lists and single values by their names in lower case, and its comments with their lines."""

    file: str
    lists: dict[str, list[Expression]] = field(default_factory=dict)
    singles: dict[str, Expression] = field(default_factory=dict)
    comments: list[tuple[int, str]] = field(default_factory=list)


# ---- from a source to text -----------------------------------------------------------------------------


def is_text(source: Source) -> bool:
    """Whether the source is the file's content rather than a path to it."""
    if isinstance(source, bytes):
        return True
    if not isinstance(source, str):
        return False
    return "\n" in source or ("{" in source and "=" in source) or source.lstrip("\ufeff \t").startswith("(*")


def decode(source: Source) -> tuple[str, str]:
    """The label of a source and its text: UTF-8, or Latin-1, in which many SYMORO+ files are written."""
    check_source(source, "SYMORO+")
    if isinstance(source, str) and is_text(source):
        label, text = "PAR text", source
        check_size(label, len(source), MAX_BYTES)
    else:
        if isinstance(source, bytes):
            label, data = "PAR text", source
            check_size(label, len(data), MAX_BYTES)
        else:
            path = os.fsdecode(source)
            label, data = label_of(path), b"".join(file_chunks(path, "SYMORO+", MAX_BYTES))
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
    if "\0" in text:
        raise FormatError(f"{label}: is no SYMORO+ file: it has zero bytes; save it as plain text, UTF-8 or Latin-1")
    if not text.strip("\ufeff \t\r\n"):
        raise FormatError(f"{label}: is empty; a SYMORO+ file begins with NL, NJ and NF")
    return label, text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


# ---- from text to entries -------------------------------------------------------------------------------


def scan(label: str, text: str, known: Mapping[str, str], repeatable: frozenset[str]) -> Sheet:
    """Take a file apart. ``known``: by name in lower case, the name as it is written; others are refused."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def line(at: int) -> int:
        return bisect.bisect_right(starts, at)

    def error(at: int, message: str) -> FormatError:
        return FormatError(f"{label}, line {line(at)}: {message}")

    sheet = Sheet(label)
    text = _without_comments(text, line, error, sheet)
    at = 0
    while True:
        at = _BLANK.match(text, at).end()  # type: ignore[union-attr]
        if at == len(text):
            return sheet
        found = _ASSIGNMENT.match(text, at)
        if found is None:
            rest = text[at : at + 80].partition("\n")[0]
            hint = "; a brace is closed that was not opened" if rest.startswith("}") else ""
            raise error(at, f"expected a name and '=', such as NL = 6 or Ant = {{0,1,2}}, got {clip(rest)}{hint}")
        name = found[1].lower()
        if name not in known:
            raise error(at, f"unknown name {clip(found[1])}; {_closest(found[1], known)}")
        if (name in sheet.lists or name in sheet.singles) and name not in repeatable:
            raise error(at, f"{known[name]} is given a second time; remove one of them")
        where, at = at, found.end()
        while at < len(text) and text[at] == "\n":  # the list may begin on the next line
            at += 1
        if at < len(text) and text[at] == "{":
            end = text.find("}", at)
            if end < 0 or "=" in text[at:end] or "{" in text[at + 1 : end]:
                raise error(where, f"the list {known[name]} is not closed; end it with '}}'")
            if text.count(",", at, end) > MAX_ENTRIES:
                raise error(where, f"the list {known[name]} has more than {MAX_ENTRIES:,} entries")
            sheet.lists[name] = _entries(text[at + 1 : end], known[name], at + 1, line, label)
            at = end + 1
        else:
            at = found.end()
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            value = text[at:end].strip(" \t;,")
            if not value or "{" in value or "}" in value or "=" in value:
                raise error(where, f"{known[name]} needs a value or a list in braces, got {clip(value)}")
            sheet.singles[name] = Expression(value, known[name], line(where), label)
            at = end


def _without_comments(
    text: str, line: Callable[[int], int], error: Callable[[int, str], FormatError], sheet: Sheet
) -> str:
    """The text with blanks in the place of comments, so that every place stays what it is."""
    kept: list[str] = []
    at = 0
    while True:
        opened = text.find("(*", at)
        stray = text.find("*)", at, opened if opened >= 0 else len(text))
        if stray >= 0:
            raise error(stray, "a comment is closed by '*)' that was not opened; remove it or open it with '(*'")
        if opened < 0:
            kept.append(text[at:])
            return "".join(kept)
        closed = text.find("*)", opened + 2)
        if closed < 0:
            raise error(opened, "a comment is not closed; end it with '*)'")
        inside = text[opened + 2 : closed]
        sheet.comments.append((line(opened), inside.strip()))
        kept.append(text[at:opened])
        kept.append(re.sub(r"[^\n]", " ", text[opened : closed + 2]))
        at = closed + 2


def _entries(body: str, name: str, start: int, line: Callable[[int], int], label: str) -> list[Expression]:
    if not body.strip():
        return []
    found, depth, begin = [], 0, 0
    cuts = []
    if "(" in body:  # atan2(y,x) has a comma of its own
        for k, character in enumerate(body):
            depth += (character == "(") - (character == ")")
            if character == "," and depth <= 0:
                cuts.append(k)
    else:
        cuts = [match.start() for match in re.finditer(",", body)]
    for number, cut in enumerate([*cuts, len(body)], start=1):
        piece = body[begin:cut]
        at = start + begin + (len(piece) - len(piece.lstrip()))
        found.append(Expression(piece.strip(), f"{name}, number {number}", line(at), label))
        begin = cut + 1
    return found


def _closest(given: str, known: Mapping[str, str]) -> str:
    likely = closest(given, known)
    return f"did you mean {known[likely]!r}?" if likely else f"known are {', '.join(dict.fromkeys(known.values()))}"


# ---- from an entry to a number --------------------------------------------------------------------------


def _tokens(entry: Expression) -> list[tuple[str, str]]:
    text = entry.text
    if not text:
        raise entry.error("is empty; write 0 where there is nothing")
    if len(text) > MAX_EXPRESSION:
        raise entry.error(f"has {len(text):,} characters, the limit is {MAX_EXPRESSION}; give its value")
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise entry.error(f"expected an expression such as 0.45, -pi/2 or 2*L1, got {clip(text)}")
        kind = match.lastgroup or ""
        found.append((kind, match[kind]))
        at = match.end()
    return found


class _Evaluation:
    """Sums, products and powers with Python's precedence, by descent; every value is affine in the joint variable."""

    def __init__(self, entry: Expression, known: Mapping[str, float], variable: str | None) -> None:
        self.entry = entry
        self.known = known
        self.variable = variable
        self.tokens = [*_tokens(entry), ("end", "")]
        self.at = 0
        self.depth = 0

    def run(self) -> Affine:
        try:
            value = self.total()
        except ZeroDivisionError:
            raise self.entry.error(f"divides by zero: {clip(self.entry.text)}") from None
        except (OverflowError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise self.entry.error(f"has no value: {clip(self.entry.text)}: {error}") from None
        if self.tokens[self.at][0] != "end":
            raise self.wrong()
        return value

    def wrong(self) -> FormatError:
        kind, token = self.tokens[self.at]
        got = "its end" if kind == "end" else repr(token)
        return self.entry.error(f"cannot be read at {got}: {clip(self.entry.text)}; write products with *")

    def take(self, *signs: str) -> str:
        kind, token = self.tokens[self.at]
        if kind == "sign" and token in signs:
            self.at += 1
            return token
        return ""

    def total(self) -> Affine:
        value, slope = self.product()
        while sign := self.take("+", "-"):
            other, climb = self.product()
            value, slope = (value + other, slope + climb) if sign == "+" else (value - other, slope - climb)
        return value, slope

    def product(self) -> Affine:
        value, slope = self.signed()
        while sign := self.take("*", "/"):
            other, climb = self.signed()
            if sign == "/":
                self.constant(climb)
                value, slope = value / other, slope / other
            elif climb == 0.0:
                value, slope = value * other, slope * other
            else:
                self.constant(slope)
                value, slope = value * other, value * climb
        return value, slope

    def signed(self) -> Affine:
        self.deeper()
        if sign := self.take("+", "-"):
            value, slope = self.signed()
            if sign == "-":
                value, slope = -value, -slope
        else:
            value, slope = self.power()
        self.depth -= 1
        return value, slope

    def power(self) -> Affine:
        value, slope = self.atom()
        if self.take("**", "^"):
            exponent, climb = self.signed()
            self.constant(slope)
            self.constant(climb)
            if abs(exponent) > MAX_EXPONENT:
                raise self.entry.error(f"an exponent is at most {MAX_EXPONENT:g}, got {exponent:g}")
            return math.pow(value, exponent) if value or exponent >= 0 else 1.0 / value, 0.0
        return value, slope

    def atom(self) -> Affine:
        kind, token = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return float(token), 0.0
        if kind == "sign" and token == "(":
            value = self.total()
            self.expect(")")
            return value
        if kind != "name":
            self.at -= 1
            raise self.wrong()
        lower = token.lower()
        if lower == "pi":
            return math.pi, 0.0
        if lower in _FUNCTIONS:
            return self.call(lower), 0.0
        if token == self.variable:
            return 0.0, 1.0
        return float(self.known[token]), 0.0

    def call(self, name: str) -> float:
        self.expect("(")
        count, function = _FUNCTIONS[name]
        arguments = []
        while True:
            value, slope = self.total()
            self.constant(slope)
            arguments.append(value)
            if not self.take(","):
                break
        self.expect(")")
        if len(arguments) != count:
            raise self.entry.error(f"{name} takes {count} number{'s' * (count > 1)}, got {len(arguments)}")
        return float(function(*arguments))

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise self.wrong()

    def constant(self, slope: float) -> None:
        if slope:
            raise self.entry.error(
                f"the joint variable {self.variable!r} may only be added to a constant, got {clip(self.entry.text)}"
            )

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.entry.error(f"is nested more than {MAX_DEPTH} deep: {clip(self.entry.text)}; give its value")
