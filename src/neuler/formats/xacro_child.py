"""The process that expands a xacro file, started by ``xacro.py``, with limits of its own.

What xacro evaluates are the expressions of a file, Python among them. They run here: what takes too long is ended by
the parent, what takes too much memory ends itself, and xacro's state, which is global, is that of one file.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neuler.errors import FormatError
from neuler.formats.source import clip, file_chunks, label_of
from neuler.formats.xml import MAX_BYTES, read_xml
from neuler.naming import listed

MEMORY = 2**32
"""Bytes of address space, where the system holds a process to them."""
MOST = 100_000
"""Elements that may be expanded."""
DEEPEST = 60
"""Files that may include one another."""
WARNINGS = 20
"""Warnings of xacro that are passed on."""


class Arguments(dict[str, str]):
    """Arguments of a xacro file, and which of them it asked for."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__(given)
        self.asked: dict[str, None] = {}

    def __contains__(self, name: object) -> bool:
        self.asked[str(name)] = None
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked[name] = None
        return super().__getitem__(name)


def main(asked: dict[str, Any]) -> None:
    """Expand the file that is asked for; the answer goes to standard output, as JSON."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else writes there
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(told):
            found = _expand(**asked)
        found["warnings"] = list(dict.fromkeys(_warnings(told.getvalue())))[:WARNINGS]
    except FormatError as error:
        found = {"error": str(error)}
    except MemoryError:
        found = {"error": f"{label_of(asked['path'])}: xacro: its expansion takes more than {MEMORY / 2**30:g} GiB; "
                          "is there a macro or an expression that grows without an end?"}  # fmt: skip
    json.dump(found, answer)
    answer.flush()


def _warnings(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("warning: "):
            yield line.removeprefix("warning: ").strip()


def _expand(path: str, arguments: dict[str, str], folders: list[str], packages: dict[str, str]) -> dict[str, Any]:
    import xacro
    from xacrodoc import XacroDoc
    from xacrodoc import packages as finder

    _limit_memory()
    finder.walk_up_from(path)
    shares = [os.path.join(place, "share") for place in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)]
    finder.look_in(
        [place for place in shares if os.path.isdir(place)], 99
    )  # last; where ROS 2 itself is not importable
    finder.look_in(folders)
    finder.update_package_cache(packages)
    _guard(xacro)
    values = Arguments(arguments)
    try:
        xacro.init_stacks(path)  # so that includes are found beside the file
        document = XacroDoc.from_string(xacro.parse(None, path), subargs=values, resolve_packages=False)
        text = document.dom.toprettyxml(indent="  ")
    except (FormatError, MemoryError):
        raise
    except Exception as error:
        raise _refusal(error, xacro, path) from None
    unused = [name for name in arguments if name not in values.asked]
    if unused:
        there = f"it asks for {listed(unused[0], list(values.asked))}" if values.asked else "it has none"
        raise FormatError(f"{label_of(path)}: has no xacro argument {clip(unused[0])}; {there}")
    files = [os.path.abspath(name) for name in dict.fromkeys([path, *xacro.all_includes])]
    return {"text": text, "files": files}


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        most = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


# ---- guards ---------------------------------------------------------------------------------------------


def _guard(xacro: Any) -> None:
    """Files are read by ``read_xml`` first; elements are counted; names with underscores are refused everywhere."""
    parse, eval_all, safe_eval = xacro.parse, xacro.eval_all, xacro.safe_eval
    count = 0

    def guarded_parse(inp: Any, filename: str | None = None) -> Any:
        if inp is not None or filename is None:
            return parse(inp, filename)
        stack = [os.path.realpath(name) for name in xacro.filestack]
        if len(stack) > DEEPEST:
            raise FormatError(f"{label_of(filename)}: xacro: {_circle(stack)}; leave out one of these includes")
        try:
            Path(filename).stat()
        except OSError as error:
            xacro.filestack.pop()  # so does xacro: the file that includes is the one to name
            raise xacro.XacroException(f"cannot read {label_of(filename)}", exc=error) from None
        data = b"".join(file_chunks(filename, "xacro", MAX_BYTES))
        read_xml(data, "xacro", label=label_of(filename))
        return parse(io.BytesIO(data))

    def counted(node: Any, macros: Any, symbols: Any) -> None:
        nonlocal count
        count += 1
        if count > MOST:
            raise FormatError(
                f"{label_of(str(xacro.filestack[-1]))}: xacro: more than {MOST:,} elements are expanded, and no robot "
                "needs so many; is there a macro that calls itself?"
            )
        eval_all(node, macros, symbols)

    def stricter(expression: str, symbols: Any, local: Any = None) -> Any:
        pending = [compile(expression.strip(), "<expression>", "eval")]
        while pending:  # xacro looks at the outermost alone
            code = pending.pop()
            if any(name.startswith("__") for name in (*code.co_names, *code.co_varnames)):
                raise xacro.XacroException("names that begin with two underscores are not allowed")
            pending.extend(each for each in code.co_consts if isinstance(each, types.CodeType))
        return safe_eval(expression, symbols, local)

    xacro.parse, xacro.eval_all, xacro.safe_eval = guarded_parse, counted, stricter


def _circle(stack: list[str]) -> str:
    """Files that include one another, from the first that comes again."""
    first = next((k for k, name in enumerate(stack) if name in stack[k + 1 :]), None)
    if first is None:
        return f"files include one another, {len(stack)} deep"
    circle = stack[first : stack.index(stack[first], first + 1) + 1]
    return f"{' includes '.join(label_of(os.path.basename(name)) for name in circle)}, without an end"


# ---- what went wrong, in words ---------------------------------------------------------------------------


def _refusal(error: Exception, xacro: Any, path: str) -> Exception:
    """An error of xacro with the file, the macro and a remedy."""
    from xacrodoc.packages import PackageNotFoundError

    cause: BaseException = error
    while isinstance(cause, xacro.XacroException) and isinstance(cause.exc, BaseException):
        cause = cause.exc
    if isinstance(cause, FormatError | MemoryError):
        return cause
    file = str((xacro.filestack or [path])[-1] or path)
    macros = [each.body.getAttribute("name") for each in xacro.macrostack or []]
    where = f"{label_of(file)}: xacro: " + (f"in macro {clip(macros[-1])}: " if macros else "")
    plain = cause if str(error).startswith("<class") else error
    told = " ".join(str(plain).split()) or type(error).__name__
    told = told if len(told) <= 400 else f"{told[:397]}..."
    if isinstance(cause, PackageNotFoundError):
        name = " ".join(map(str, cause.args))
        return FormatError(
            f'{where}there is no package {clip(name)}; say where it is: packages="FOLDER", a folder with packages '
            f"(package.xml) in it, or packages={{{name!r}: 'FOLDER'}}; ROS_PACKAGE_PATH and "
            "AMENT_PREFIX_PATH are searched, too"
        )
    if isinstance(cause, RecursionError):
        return FormatError(f"{where}macros or properties lead to one another without an end; does one call itself?")
    if isinstance(cause, OSError):
        missing = label_of(str(cause.filename))
        return FormatError(
            f"{where}cannot read {missing}: {cause.strerror or cause}; it is sought beside the file that "
            "names it, or in a package: $(find PACKAGE)/..."
        )
    if type(cause).__name__ == "ArgException":
        return FormatError(f"{where}the argument {cause} has no value; pass arguments={{'{cause}': ...}}")
    if isinstance(cause, NameError):
        return FormatError(f"{where}{told}; define it with <xacro:property>, or include the file that does")
    if told.startswith("unknown macro name"):
        return FormatError(f"{where}{told}; include the file that defines it")
    return FormatError(f"{where}{told}; mend it there")
