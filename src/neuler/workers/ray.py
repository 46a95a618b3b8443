"""Ray as an executor: the engine of a study where a Ray cluster stands."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from neuler.extras import require


class RayExecutor(Executor):
    """Runs calls as tasks of Ray, one CPU each: ``neuler.study(..., executor=RayExecutor())``.

    ``ray.init`` is called before, or here without arguments. ``options`` are those of Ray's own
    ``ray.remote(...).options``, such as ``num_cpus=2`` or ``runtime_env={...}``.
    """

    def __init__(self, **options: Any) -> None:
        require("ray", "RayExecutor needs Ray, which is not installed", "ray")
        self._ray = importlib.import_module("ray")
        if not self._ray.is_initialized():
            self._ray.init()
        self._remote = self._ray.remote(_called).options(**{"num_cpus": 1, "max_retries": 0} | options)
        self._max_workers = max(1, int(self._ray.cluster_resources().get("CPU", 1) / (options.get("num_cpus", 1) or 1)))

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """A future of the call; a worker of Ray's that is lost gives an error, and the study sends the call again."""
        found: Future[Any] = self._remote.remote(function, arguments, named).future()
        return found


def _called(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return function(*arguments, **named)
