"""Studies: one task over a table of settings, on every core and on many machines."""

from neuler.studies.ranges import choice, log_uniform, normal, whole
from neuler.studies.result import Study
from neuler.studies.run import StudyProgress, StudyStopped, load, study
from neuler.studies.sampling import latin_hypercube, product, random, sobol
from neuler.studies.settings import Settings, settings_of
from neuler.workers.ray import RayExecutor

__all__ = [
    "RayExecutor", "Settings", "Study", "StudyProgress", "StudyStopped", "choice", "latin_hypercube", "load",
    "log_uniform", "normal", "product", "random", "settings_of", "sobol", "study", "whole",
]  # fmt: skip
