"""XML made safe: no document types, no entities, bounded size, depth and number of elements."""

from __future__ import annotations

import codecs
import itertools
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from neuler.errors import FormatError
from neuler.formats.source import CHUNK, Source, check_size, check_source, clip, file_chunks, label_of

MAX_BYTES = 32 * 2**20
MAX_TAG_BYTES = 2**20
MAX_DEPTH = 100
MAX_ELEMENTS = 100_000
MAX_TEXT = 1000

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"([+-]?)(?:inf|infinity)", re.IGNORECASE)
_BLANK = " \t\r\n"
_CUT_OFF = (
    expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS],
    expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_TOKEN],
)
_DECLARED = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml\b[^>]{0,200}?\bencoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']")
_LATIN = (b"iso-8859-1", b"iso8859-1", b"iso_8859-1", b"latin-1", b"latin1", b"l1")
_OPENS = re.compile("\ufeff?[ \t\r\n]*<")
_FIRST = re.compile(r"<([A-Za-z_][\w:.-]*)")

Advice = Callable[[str], str]
"""What a format has to say about a text that should have been a number: the end of a sentence, or nothing."""


def no_advice(text: str) -> str:
    """The advice of a format that has none: no text."""
    return ""


@dataclass(eq=False)
class Element:
    """One XML element: names as written (``prefix:tag``), the first of its text, and the line it starts on."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: str
    advice: Advice = no_advice
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> list[Element]:
        """The children with this tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str, owner: str) -> Element | None:
        """The only child with this tag, or None; two are an error."""
        found = self.all(tag)
        if len(found) > 1:
            raise found[1].error(f"{owner}: expected one <{tag}>, got {len(found)}; remove all but one")
        return found[0] if found else None

    def need(self, tag: str, owner: str) -> Element:
        """The only child with this tag."""
        found = self.one(tag, owner)
        if found is None:
            raise self.error(f"{owner}: <{self.tag}> has no <{tag}>; add it")
        return found

    def error(self, message: str) -> FormatError:
        """An error that says where in the file it is."""
        return FormatError(f"{self.file}, line {self.line}: {message}")

    def attribute(self, name: str, owner: str) -> str:
        """A text attribute that must be there and not be empty."""
        value = self.attributes.get(name, "").strip(_BLANK)
        if not value:
            raise self.error(f"{owner}: <{self.tag}> needs the attribute {name!r}; it has {self._has()}")
        return value

    def number(self, name: str, owner: str, default: float | None = None, *, infinite: bool = False) -> float:
        """A number attribute; without a default it must be there; infinity only where it makes sense."""
        if name not in self.attributes:
            if default is None:
                raise self.error(f"{owner}: <{self.tag}> needs the attribute {name!r}; it has {self._has()}")
            return default
        return self._number(self.attributes[name], f"{owner}: {name!r} of <{self.tag}>", infinite)

    def content_number(self, owner: str) -> float:
        """The element's text as a number."""
        return self._number(self.text, f"{owner}: <{self.tag}>", infinite=False)

    def vector(self, name: str, owner: str, default: tuple[float, float, float]) -> tuple[float, float, float]:
        """Three numbers with blanks between them."""
        if name not in self.attributes:
            return default
        text = self.attributes[name]
        parts = text.split()
        what = f"{owner}: {name!r} of <{self.tag}>"
        if len(parts) != 3:
            commas = "; separate them by blanks, not commas" if "," in text else ""
            raise self.error(f"{what} must be three numbers, got {clip(text)}{commas}")
        x, y, z = (self._number(part, what, infinite=False) for part in parts)
        return x, y, z

    def _number(self, text: str, what: str, infinite: bool) -> float:
        text = text.strip(_BLANK)
        if len(text) <= MAX_TEXT and _NUMBER.fullmatch(text):
            value = float(text)
            if math.isfinite(value):
                return value
            raise self.error(f"{what} is too large for a double: {clip(text)}")
        match = _INFINITE.fullmatch(text)
        if match and infinite:
            return -math.inf if match[1] == "-" else math.inf
        hint = self.advice(text)
        if not hint and "," in text:
            hint = "; the decimal separator is a point, and blanks separate numbers"
        elif not hint and (match or text.lower().lstrip("+-") == "nan"):
            hint = "; it must be finite"
        raise self.error(f"{what} must be a number such as 0.5 or 1e-3, got {clip(text)}{hint}")

    def _has(self) -> str:
        return ", ".join(map(repr, list(self.attributes)[:12])) or "none"


def is_text(source: Source) -> bool:
    """Whether the source is the XML itself rather than a path to it."""
    return isinstance(source, bytes) or (isinstance(source, str) and _OPENS.match(source) is not None)


def root_tag(head: str) -> str:
    """The name of the first element, from the beginning of a text; empty where it does not stand there.

    >>> root_tag("<?xml version='1.0'?><!-- an arm --><robot name='arm'>")
    'robot'
    """
    head = head.lstrip("\ufeff" + _BLANK)
    while head.startswith(("<?", "<!--")):
        head = head.partition("?>" if head.startswith("<?") else "-->")[2].lstrip(_BLANK)
    found = _FIRST.match(head)
    return found[1] if found else ""


def read_xml(source: Source, what: str, advice: Advice = no_advice, *, label: str | None = None) -> Element:
    """The root element of a file or text; FormatError, naming the file and the remedy, for anything else.

    ``what`` is the format's name in messages, ``label`` that of a text. Refused: document types and entities, files
    over 32 MiB, more than 100 levels or 100,000 elements, and text that is neither UTF-8 nor declared as Latin-1.

    >>> read_xml("<robot name='arm'/>", "URDF").attributes
    {'name': 'arm'}
    """
    check_source(source, what)
    if not is_text(source):
        path = os.fsdecode(source)
        return _parse(label_of(path), _as_utf8(file_chunks(path, what, MAX_BYTES)), advice)
    label = label or f"{what} text"
    check_size(label, len(os.fspath(source)), MAX_BYTES)
    if isinstance(source, str):
        data = source.lstrip("\ufeff \t\r\n").encode("utf-8", "replace")
    else:
        assert isinstance(source, bytes)
        data = b"".join(_as_utf8(iter([source])))
    check_size(label, len(data), MAX_BYTES)
    return _parse(label, (data[k : k + CHUNK] for k in range(0, len(data), CHUNK)), advice)


class _Builder:
    """Collects elements from expat's events; refuses what is unsafe as soon as it is seen."""

    def __init__(self, label: str, parser: expat.XMLParserType, advice: Advice) -> None:
        self.label = label
        self.parser = parser
        self.advice = advice
        self.stack: list[Element] = []
        self.root: Element | None = None
        self.count = 0
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.entity
        parser.ExternalEntityRefHandler = self.entity

    def refuse(self, message: str) -> FormatError:
        return FormatError(f"{self.label}, line {self.parser.CurrentLineNumber}: {message}")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise self.refuse(f"more than {MAX_ELEMENTS:,} elements; no robot needs so many")
        if len(self.stack) >= MAX_DEPTH:
            raise self.refuse(f"elements nested more than {MAX_DEPTH} deep; no robot needs so many levels")
        element = Element(tag, attributes, self.parser.CurrentLineNumber, self.label, self.advice)
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)

    def end(self, tag: str) -> None:
        self.stack.pop()

    def characters(self, text: str) -> None:
        element = self.stack[-1]
        if len(element.text) < MAX_TEXT and not text.isspace():
            element.text += text[: MAX_TEXT - len(element.text)]

    def doctype(self, name: str, *rest: object) -> None:
        raise self.refuse("a document type (DOCTYPE) is not accepted, for safety; remove it")

    def entity(self, *rest: object) -> int:
        raise self.refuse("entity declarations are not accepted, for safety; write the value itself")


def _as_utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same, from Latin-1 where the file declares it: of each byte its character."""
    first = next(chunks, b"")
    declared = _DECLARED.match(first)
    if declared is None or declared[1].lower() not in _LATIN:
        yield first
        yield from chunks
        return
    for chunk in itertools.chain([first], chunks):
        yield chunk.decode("latin-1").encode("utf-8")


def _parse(label: str, chunks: Iterator[bytes], advice: Advice) -> Element:
    # But for Latin-1 the encoding is fixed, whatever the file declares: no codec is looked up by a name from a file.
    parser = expat.ParserCreate("utf-8")
    builder = _Builder(label, parser, advice)
    decoder = codecs.getincrementaldecoder("utf-8")()
    fed = 0
    try:
        for chunk in chunks:
            fed += len(chunk)
            check_size(label, fed, MAX_BYTES)
            if b"\0" in chunk:  # UTF-16 and UTF-32, which expat would guess, or no text at all
                raise FormatError(f"{label}: is not UTF-8 text: it has zero bytes; save it as UTF-8")
            decoder.decode(chunk)
            parser.Parse(chunk, False)
            if fed - max(parser.CurrentByteIndex, 0) > MAX_TAG_BYTES:
                raise builder.refuse(f"a single tag or comment of more than {MAX_TAG_BYTES:,} bytes; shorten it")
        decoder.decode(b"", True)
        if not fed:
            raise FormatError(f"{label}: is empty; expected XML")
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code) or "not well-formed"
        hint = "; is it XML?" if builder.root is None else ""
        if error.code in _CUT_OFF and builder.root is not None:
            hint = "; the file may be cut off"
        raise FormatError(f"{label}, line {error.lineno}, column {error.offset + 1}: {reason}{hint}") from None
    except UnicodeDecodeError as error:
        where = fed - len(error.object) + error.start + 1
        bad = error.object[error.start]
        raise FormatError(f"{label}: is not UTF-8 text: byte {where:,} is 0x{bad:02x}; save it as UTF-8") from None
    if builder.root is None:
        raise FormatError(f"{label}: holds no XML element")
    return builder.root
