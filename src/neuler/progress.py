"""A bar on the terminal that says how far something is."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def progress_bar(total: float | None, title: str, unit: str = "step") -> Iterator[Callable[..., Any]]:
    """A bar on standard error where that is a terminal and tqdm is installed; else nothing is shown.

    Yields a function that is called with how much was done since its last call, and may be told what comes next.
    """
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda *_: None
        return
    scale = unit == "B"
    off = not sys.stderr.isatty()
    with tqdm(total=total, desc=title, unit=unit, unit_scale=scale, file=sys.stderr, disable=off, leave=False) as bar:

        def step(done: float, now: str = "") -> None:
            if now:
                bar.set_postfix_str(now, refresh=not done)
            bar.update(done)

        yield step
