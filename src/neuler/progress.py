"""A bar on the terminal or in a notebook that says how far something is, how fast, and when it will end."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def progress_bar(
    total: float | None, title: str, unit: str = "step", done: float = 0
) -> Iterator[Callable[..., Any]]:  # fmt: skip
    """A bar on standard error where that is a terminal, or in a notebook; nothing is shown without tqdm.

    ``done`` is where the bar begins. Yields a function that is called with how much was done since its last call, and
    may be told what comes next.
    """
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda *_: None
        return
    kind: Any = tqdm
    off = not sys.stderr.isatty()
    if "ipykernel" in sys.modules:
        off = False
        if importlib.util.find_spec("ipywidgets") is not None:
            kind = importlib.import_module("tqdm.notebook").tqdm
    with kind(
        total=total, desc=title, unit=unit, unit_scale=unit == "B", file=sys.stderr, disable=off, leave=False,
        initial=done,
    ) as bar:  # fmt: skip

        def step(done: float, now: str = "") -> None:
            if now:
                bar.set_postfix_str(now, refresh=not done)
            bar.update(done)

        yield step
