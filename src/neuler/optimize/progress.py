"""How far a solve is: a bar on the terminal, or a function of the user's."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any

from neuler.errors import InputError
from neuler.optimize.programme import Progress, Report
from neuler.plain import number, shown


@contextlib.contextmanager
def reporting(progress: Any, title: str) -> Iterator[Report | None]:
    """A bar with iterations, objective and infeasibility for True, nothing for None or False, or the function given."""
    if progress is None or progress is False:
        yield None
        return
    if progress is not True:
        if not callable(progress):
            raise InputError(f"solve: progress must be True, False or a function, got {progress!r:.60}")
        try:
            inspect.signature(progress).bind(None)
        except TypeError:
            raise InputError("solve: progress must be a function of one argument: iteration, objective, ...") from None
        except ValueError:  # not all that can be called can tell
            pass
        yield progress
        return
    try:
        from tqdm import tqdm
    except ImportError:
        raise InputError("solve: progress=True shows a bar by tqdm: pip install tqdm") from None
    with tqdm(desc=shown(title), unit=" iterations", file=sys.stderr, leave=False) as bar:

        def step(now: Progress) -> None:
            bar.n = now.iteration
            bar.set_postfix_str(f"objective {number(now.objective, 6)}, infeasible by {number(now.infeasibility, 2)}")

        yield step
