"""Studies: one task over a table of settings."""

from neuler.studies.ranges import choice, log_uniform, normal, whole
from neuler.studies.sampling import latin_hypercube, product, random, sobol
from neuler.studies.settings import Settings, settings_of

__all__ = [
    "Settings",
    "choice",
    "latin_hypercube",
    "log_uniform",
    "normal",
    "product",
    "random",
    "settings_of",
    "sobol",
    "whole",
]
