"""What a task is, by its name, its source text and what it brings along; and which settings it asks for."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import inspect
import pickle
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from neuler.errors import InputError
from neuler.naming import hint
from neuler.robot import Robot


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
    if inspect.isfunction(inspect.unwrap(task)):
        bound += _around(inspect.unwrap(task))
    return {
        "task": f"{owner.__module__}.{owner.__qualname__}",
        "source": _digest(_source(owner)),
        "bound": _digest("\n".join(map(_state, bound)).encode()) if bound else "",
    }


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


_CONSTANTS = (bool, int, float, complex, str, bytes, tuple, frozenset, np.ndarray, Robot)
"""Values that a module keeps for good; lists and dicts may be filled while it is used."""


def _around(function: Any) -> list[Any]:
    """What a function brings from where it was made: defaults, variables of the functions around it, constants.

    Also what functions of its module bring that it calls.
    """
    found: list[Any] = []
    seen, pending = {function}, [function]
    while pending:
        mine = pending.pop()
        found += [*(mine.__defaults__ or ()), *sorted((mine.__kwdefaults__ or {}).items())]
        for cell in mine.__closure__ or ():
            with contextlib.suppress(ValueError):  # not yet assigned
                found.append(cell.cell_contents)
        for name in sorted(_names(mine.__code__)):
            value = inspect.unwrap(mine.__globals__.get(name))
            if inspect.isfunction(value) and value.__module__ == mine.__module__ and value not in seen:
                seen.add(value)
                pending.append(value)
                found.append(value)
            elif isinstance(value, _CONSTANTS):
                found.append((name, value))
    return found


def _names(code: Any) -> set[str]:
    """Names that a function and those inside of it look up."""
    return set(code.co_names).union(*(_names(each) for each in code.co_consts if inspect.iscode(each)))


def _source(owner: Any) -> bytes:
    """The text, of a lambda without what stands around it; of what was typed at a prompt the compiled code."""
    code = getattr(owner, "__code__", None)
    try:
        text = textwrap.dedent(inspect.getsource(owner))
        if getattr(owner, "__name__", "") == "<lambda>":
            (only,) = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Lambda))
            text = ast.unparse(only)
        return text.encode()
    except (OSError, TypeError, SyntaxError, ValueError):  # also where a line has a part of a statement, or two lambdas
        return b"" if code is None else repr(_code(code)).encode()


def _code(code: Any) -> Any:
    """What a function does, with the code of functions inside of it, in an order that is always the same."""
    constants = [_code(each) if inspect.iscode(each) else _state(each) for each in code.co_consts]
    return code.co_code, code.co_names, constants


def _state(value: Any) -> str:
    """A digest of a value that is the same in another process: sets have no order there, and objects other addresses.

    >>> _state({"a", "b"}) == _state({"b", "a"}), _state([1, 2]) == _state([2, 1])
    (True, False)
    """
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    try:
        if isinstance(value, set | frozenset):
            parts = sorted(map(_state, value))
        elif type(value) is dict:
            parts = [_state(each) for item in value.items() for each in item]
        elif type(value) in (list, tuple):
            parts = list(map(_state, value))
        elif inspect.isfunction(value):
            parts = [str(value.__module__), value.__qualname__, _digest(_source(value))]
        else:
            parts = [_digest(pickle.dumps(value, protocol=4))]
    except Exception:  # what only a process knows, such as a lock, and lists that have themselves inside
        parts = []
    return _digest(" ".join([kind, *parts]).encode())


# ---- what it takes -------------------------------------------------------------------------------------------------


def takes_generator(task: Callable[..., Any]) -> bool:
    """Whether a task takes a generator beside the settings of a row; one that cannot be called so is refused.

    >>> takes_generator(lambda setting, rng: {}), takes_generator(lambda setting, scale=2.0: {})
    (True, False)
    """
    called = task
    while isinstance(called, functools.partial):
        called = called.func
    called = called if inspect.isroutine(called) or inspect.isclass(called) else type(called).__call__
    for is_one, what in ((inspect.iscoroutinefunction, "async"), (inspect.isgeneratorfunction, "a generator")):
        if is_one(called) or inspect.isasyncgenfunction(called):
            raise InputError(
                f"study: a task is a function that returns a dict, and this one is {what}; write a plain one"
            )
    try:
        parameters = list(inspect.signature(task).parameters.values())
    except (TypeError, ValueError):
        return False
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    needed = [each for each in places if each.default is each.empty]
    named = [each for each in parameters if each.kind is each.KEYWORD_ONLY and each.default is each.empty]
    takes_any = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    if named or len(needed) > 2 or not (places or takes_any):
        names = ", ".join(each.name for each in needed + named) or "none"
        raise InputError(f"study: a task takes the settings of a row and may take a generator; it takes {names}")
    return len(needed) == 2 or (len(places) > 1 and places[1].name in ("rng", "generator"))


# ---- the settings that it asks for ---------------------------------------------------------------------------------


def check_names(task: Callable[..., Any], names: Iterable[str]) -> list[str]:
    """Refuse a task that asks for a setting there is not; return notes about settings that it never looks at.

    Seen are ``setting["name"]`` and ``setting.get("name")`` in the source text of a function, where ``setting`` is its
    first argument. A task that does more with it than to read it may find other names there, and is let through.
    """
    known = list(names)
    found = _asked(task)
    if found is None:
        return []
    asked, optional = found
    for name in asked:
        if name not in known:
            raise InputError(f"study: the task asks for a setting {name!r}, which no row has; {hint(name, known)}")
    unused = [name for name in known if name not in asked and name not in optional]
    return [f"the task does not use the setting {name!r}" for name in unused]


def _asked(task: Callable[..., Any]) -> tuple[list[str], list[str]] | None:
    """Names that are asked for, and those asked for with ``get``; None where the text does not say."""
    given = 0
    while isinstance(task, functools.partial):
        given += len(task.args)
        task = task.func
    if not inspect.isfunction(task) or hasattr(task, "__wrapped__"):  # who wraps it may give it other settings
        return None
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(task)))
    except (OSError, TypeError, SyntaxError):
        return None
    function = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), None)
    if function is None or function.name != task.__name__:
        return None
    arguments = [*function.args.posonlyargs, *function.args.args]
    if len(arguments) <= given or _is_looked_up(function, arguments[given].arg):
        return None
    setting = arguments[given].arg
    asked: list[str] = []
    optional: list[str] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and _is_name(node.value, setting) and isinstance(node.slice, ast.Constant):
            (asked if isinstance(node.ctx, ast.Load) else optional).append(str(node.slice.value))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == f"{setting}.get" and node.args:
            optional += [str(each.value) for each in node.args[:1] if isinstance(each, ast.Constant)]
    uses = sum(_is_name(node, setting) for node in ast.walk(function))
    if uses > len(asked) + len(optional):
        return None
    return [name for name in asked if name not in optional], optional


def _is_looked_up(function: ast.FunctionDef, setting: str) -> bool:
    """Whether the task finds out by itself which settings there are, by trying, or gives the name to something else."""
    inner = [node.arg for node in ast.walk(function) if isinstance(node, ast.arg)]
    return inner.count(setting) > 1 or any(isinstance(node, ast.Try) for node in ast.walk(function))


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
