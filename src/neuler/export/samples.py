"""States at which exported code is compared with the kernel, finite ones where there are any."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

SAMPLES = 6
"""States whose results stand beside exported code."""
_TRIED = 20
"""Times as many are tried."""
_LAST_DIGITS = {"float64": 1e-15, "float32": 5e-7}
"""How far inputs are moved to see what rounding does, relative to them."""

States = Mapping[str, np.ndarray]
Results = Callable[[States], Sequence[np.ndarray]]


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs by name and results in the order of the outputs, states first."""

    states: States
    results: Sequence[np.ndarray]
    noise: Sequence[float]
    """Of every output, how much it moves when inputs move in their last digits."""

    @property
    def finite(self) -> int:
        """States of which at least one result is no NaN."""
        seen = [~np.isnan(np.asarray(x, dtype=float).reshape(len(x), -1)).all(axis=1) for x in self.results]
        return int(np.any(seen, axis=0).sum()) if seen else 0


def sampled(states: Callable[[int], States], results: Results, dtype: str) -> Samples:
    """So many states of those that a function draws; those without NaN first, as random positions open loops."""
    drawn = states(_TRIED * SAMPLES)
    found = [np.asarray(x, dtype=float) for x in results(drawn)]
    bad = [np.isnan(x.reshape(len(x), -1)).any(axis=1) for x in found]
    order = np.argsort(np.any(bad, axis=0), kind="stable")[:SAMPLES] if found else np.arange(SAMPLES)
    chosen = {name: np.asarray(values)[order] for name, values in drawn.items()}
    wanted = results(chosen)
    random, size = np.random.default_rng(1), _LAST_DIGITS[dtype]
    noise = [0.0] * len(wanted)
    for _ in range(2):
        moved = {name: x * (1.0 + size * random.choice([-1.0, 1.0], x.shape)) for name, x in chosen.items()}
        for k, (ours, theirs) in enumerate(zip(results(moved), wanted, strict=True)):
            with np.errstate(invalid="ignore"):
                apart = np.abs(np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float))
            noise[k] = max(noise[k], float(np.max(apart, where=np.isfinite(apart), initial=0.0)))
    return Samples(chosen, wanted, noise)
