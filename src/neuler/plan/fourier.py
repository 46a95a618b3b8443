"""Plans whose profiles are Fourier series: the same phases and rows, on another basis."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from neuler.motions import splines
from neuler.motions.fourier import SMOOTH, FourierProfiles
from neuler.motions.profiles import Profiles
from neuler.optimize.programme import Array
from neuler.plan.phases import Phase
from neuler.plan.transcribe import Transcription

SPANS = 4
"""Spans of the grid for every harmonic: with five points in each, torques of three times the frequency are seen."""


@dataclass(eq=False)
class FourierTranscription(Transcription):
    """Phases as a nonlinear programme whose variables are coefficients of Fourier series.

    Ranges of positions must be limits of a measure with rows: bounds of coefficients say nothing of positions.
    """

    harmonics: int = 1

    @classmethod
    def of(cls, given: Transcription, harmonics: int) -> FourierTranscription:
        """The phases of a transcription with splines, on series with so many harmonics."""
        same = {each.name: getattr(given, each.name) for each in fields(Transcription) if each.init}
        same |= {"degree": SMOOTH, "breaks": None, "_eliminations": {}}
        return cls(**same, harmonics=harmonics)

    def phase_profiles(
        self,
        phase: Phase,
        count: int,
        quadrature: int | None = None,
        grid: int | None = None,
        breaks: Array | None = None,
    ) -> Profiles:
        """Series and grid of one phase."""
        edges = np.linspace(0.0, 1.0, SPANS * self.harmonics + 1)
        points, weights = splines.lobatto(edges, grid or self.grid)
        model = phase.model
        return FourierProfiles(
            model.profile_count, SMOOTH, edges, points, weights, 0, len(model.dependent), model.payload_numbers,
            harmonics=self.harmonics,
        )  # fmt: skip
