"""Functions on their way to other processes: pickled here, loaded there, with the reasons why that fails in words."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import io
import multiprocessing
import os
import pickle
import runpy
import sys
import types
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from neuler.errors import InputError
from neuler.extras import install

Called = Callable[[Any, Callable[[Any], None]], Any]
"""What a job does: a function of an argument and of ``report``, to be called with parts of the answer."""
GUARD = 'if __name__ == "__main__":'
_LOADING = "NEULER_LOADING_MAIN"
"""In the environment of a process that runs the user's script only to find a function in it."""


@dataclass(frozen=True)
class Job:
    """A function for other processes, and what they may use."""

    function: bytes
    """A pickle of a :data:`Called`."""
    script: str | None = None
    """Where the function is found by its name in ``__main__``: the script to run for it."""
    memory: int | None = None
    """Bytes of address space that calls may take beyond those of the loaded process."""

    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Another one for each job, also for those of the same function."""


def job_of(what: str, function: Callable[..., Any], memory: int | None = None, *, here: str) -> Job:
    """The job of a function; ``here`` is what to do where it cannot be pickled.

    With cloudpickle, functions of scripts and notebooks travel by their content; without it the processes run the
    script again, as those of ``multiprocessing`` do.
    """
    if os.environ.get(_LOADING) or _is_spawned():
        raise InputError(
            f"{what}: a worker process runs this script to find a function in it, and has come to the call that "
            f"started the worker: put {GUARD} before what the script does"
        )
    cloud = _cloudpickle()
    try:
        data = pickle.dumps(function) if cloud is None else _by_content(cloud, function)
    except Exception as error:
        told = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InputError(f"{what} cannot be sent to other processes ({told}): define it in a module, or {here}") from (
            error
        )
    if cloud is not None or b"__main__" not in data:
        return Job(data, None, memory)
    script = getattr(sys.modules["__main__"], "__file__", None)
    if script is None or not os.path.exists(script):
        raise InputError(
            f"{what} is defined in a notebook or at a prompt: other processes cannot find it without cloudpickle "
            f"({install('scale')}); install it, define the function in a module, or {here}"
        )
    return Job(data, os.path.abspath(script), memory)


def _is_spawned() -> bool:
    """Whether ``multiprocessing`` is starting this process, and runs the user's script for it."""
    return bool(getattr(multiprocessing.current_process(), "_inheriting", False))


def _by_content(cloud: Any, function: Any) -> bytes:
    """Pickled by cloudpickle; functions under ``functools.cache``, which it leaves to their names, by content too."""

    class Pickler(cloud.Pickler):  # type: ignore[misc]
        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, functools._lru_cache_wrapper) and not _is_importable(value):
                return cached, (value.__wrapped__, value.cache_parameters())
            return super().reducer_override(value)

    file = io.BytesIO()
    Pickler(file).dump(function)
    return file.getvalue()


def _is_importable(value: Any) -> bool:
    """Whether other processes find a function by its name in a module."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    return module != "__main__" and getattr(sys.modules.get(str(module)), name, None) is value


def cached(function: Callable[..., Any], parameters: Any) -> Any:
    """A function with an empty cache of its own."""
    return functools.lru_cache(**parameters)(function)


def _cloudpickle() -> Any:
    found = importlib.util.find_spec("cloudpickle")
    return None if found is None else importlib.import_module("cloudpickle")


# ---- in the other process ------------------------------------------------------------------------------------------


def load(data: bytes) -> Called:
    """The function of a pickled job, in the process that is to call it."""
    job: Job = pickle.loads(data)
    if job.script is not None:
        _run_script(job.script)
    try:
        return pickle.loads(job.function)
    except ModuleNotFoundError as error:
        raise InputError(
            f"a worker process cannot import {error.name!r}: install it where the workers run, or start them where "
            f"it is found (they search {os.pathsep.join(path or '.' for path in sys.path[:3])}, ...)"
        ) from None
    except AttributeError as error:
        raise InputError(
            f"a worker process cannot load the function ({error}): define it in a module, not inside of "
            f"{GUARD}, and see that the workers have the same version of the module"
        ) from None
    except Exception as error:  # of a module that it is in, which fails when it is imported there
        raise InputError(f"a worker process cannot load the function ({_said(error)})") from None


def _run_script(path: str) -> None:
    """Have ``__main__`` be the user's script, run as a module of another name, so that its guard holds."""
    os.environ[_LOADING] = "1"
    try:
        module = types.ModuleType("__mp_main__")
        module.__dict__.update(runpy.run_path(path, run_name="__mp_main__"))
    except SystemExit as error:
        raise InputError(f"{path!r} ends the process when it is run: put {GUARD} before what it does") from error
    finally:
        del os.environ[_LOADING]
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module


def limit_memory(memory: int | None) -> None:
    """Let this process take at most so many bytes of address space more than it has; nothing on other systems."""
    if memory is None or not can_limit_memory():
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = taken + memory if hard == resource.RLIM_INFINITY else min(taken + memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def can_limit_memory() -> bool:
    """Whether this system holds a process to a limit of its address space."""
    return sys.platform == "linux"


# ---- answers -------------------------------------------------------------------------------------------------------


def packed(message: tuple[str, Any]) -> bytes:
    """A message; classes of the user's script, which other processes cannot find by their names, by their content."""
    try:
        return pickle.dumps(message, protocol=5)
    except Exception:
        cloud = _cloudpickle()
        if cloud is None:
            raise
        return cloud.dumps(message)


def packed_error(kind: str, error: BaseException) -> bytes:
    """An exception as a message; one that cannot be pickled, or not be loaded again, as its text."""
    with contextlib.suppress(Exception):
        data = packed((kind, error))
        pickle.loads(data)
        return data
    return packed((kind, RuntimeError(_said(error))))


def _said(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # texts are made by code of the user's too
        return type(error).__name__
