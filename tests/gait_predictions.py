"""A prediction that takes seconds: the solver is stopped before it begins, and what it has is the start."""

import functools

from neuler import gait
from neuler.robots.humans import Person

SHORT = {"seconds": 1e-3, "refine": False}


@functools.cache
def walk():
    return gait.Walk(Person(1.75, 75.0), speed=1.2, step=0.6)


@functools.cache
def rough():
    return gait.predict(walk(), **SHORT)
