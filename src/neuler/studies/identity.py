"""What a task is: known by its module, name, source text and bound arguments; and which settings it asks for."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import pickle
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from neuler.errors import InputError
from neuler.naming import hint


def identity_of(task: Callable[..., Any]) -> dict[str, str]:
    """What tells this task from others and from other versions of itself.

    >>> identity_of(functools.partial(max, default=0))["task"]
    'builtins.max'
    """
    bound: list[Any] = []
    while isinstance(task, functools.partial):
        bound.append((task.args, sorted(task.keywords.items())))
        task = task.func
    owner = task if hasattr(task, "__qualname__") else type(task)
    if owner is not task:
        bound.append(task)
    elif getattr(task, "__self__", None) is not None and not inspect.isbuiltin(task):
        bound.append(task.__self__)  # type: ignore[attr-defined]
    return {
        "task": f"{owner.__module__}.{owner.__qualname__}",
        "source": _digest(_source(owner)),
        "bound": _digest(_state(bound)) if bound else "",
    }


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _source(owner: Any) -> bytes:
    """The text; of what was typed at a prompt the compiled code."""
    try:
        return textwrap.dedent(inspect.getsource(owner)).encode()
    except (OSError, TypeError):
        code = getattr(owner, "__code__", None)
        return b"" if code is None else code.co_code + repr(code.co_names).encode() + repr(_constants(code)).encode()


def _constants(code: Any) -> list[Any]:
    """Those of a function, with the code of functions inside of it."""
    return [
        (each.co_code, _constants(each)) if inspect.iscode(each) else each for each in code.co_consts
    ]  # fmt: skip


def _state(bound: Any) -> bytes:
    """Bound arguments as bytes."""
    try:
        return pickle.dumps(bound, protocol=4)
    except Exception:
        return repr(bound).encode()


# ---- the settings that it asks for ---------------------------------------------------------------------------------


def check_names(task: Callable[..., Any], names: Iterable[str]) -> list[str]:
    """Refuse a task that asks for a setting there is not; return notes about settings that it never looks at.

    Seen are ``setting["name"]`` and ``setting.get("name")`` in the source text of a function, where ``setting`` is its
    first argument.
    """
    known = list(names)
    found = _asked(task)
    if found is None:
        return []
    asked, optional, other = found
    for name in asked:
        if name not in known:
            raise InputError(f"study: the task asks for a setting {name!r}, which no row has; {hint(name, known)}")
    if other:
        return []
    unused = [name for name in known if name not in asked and name not in optional]
    return [f"the task does not use the setting {name!r}" for name in unused]


def _asked(task: Callable[..., Any]) -> tuple[list[str], list[str], bool] | None:
    """Names that are asked for, those asked for with ``get``, and whether the settings are used in other ways."""
    given = 0
    while isinstance(task, functools.partial):
        given += len(task.args)
        task = task.func
    if not inspect.isfunction(task):
        return None
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(task)))
    except (OSError, TypeError, SyntaxError):
        return None
    function = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), None)
    if function is None or function.name != task.__name__:
        return None
    arguments = [*function.args.posonlyargs, *function.args.args]
    if len(arguments) <= given:
        return None
    setting = arguments[given].arg
    uses = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == setting]
    asked: list[str] = []
    optional: list[str] = []
    seen = 0
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and _is_name(node.value, setting) and isinstance(node.slice, ast.Constant):
            seen += 1
            (asked if isinstance(node.ctx, ast.Load) else optional).append(str(node.slice.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_name(node.func.value, setting):
            first = node.args[0] if node.args else None
            if node.func.attr == "get" and isinstance(first, ast.Constant):
                seen += 1
                optional.append(str(first.value))
    if _is_looked_up(function, setting) or any(isinstance(node.ctx, ast.Store) for node in uses):
        return [], [], True
    return [name for name in asked if name not in optional], optional, seen < len(uses)


def _is_looked_up(function: ast.FunctionDef, setting: str) -> bool:
    """Whether the task finds out by itself which settings there are: by ``"name" in setting``, or by trying."""
    compared = [node for node in ast.walk(function) if isinstance(node, ast.Compare)]
    tried = any(isinstance(node, ast.Try) for node in ast.walk(function))
    return tried or any(_is_name(part, setting) for node in compared for part in node.comparators)


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
