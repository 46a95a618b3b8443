"""The walk whose forces are known, for tests of measured motion."""

import functools

import numpy as np

import walking_motions as walking
from neuler import gait

RATE = 100.0


@functools.cache
def human():
    return walking.human()


def index(*names):
    return [human().coordinates[name].v.start for name in names]


def times(duration):
    return np.arange(round(duration * RATE) + 1) / RATE


@functools.cache
def known():
    walk = walking.walk()
    return walk, gait.ground_loads(human(), walk.t, walk.q, walk.qd, walk.qdd, touching=walk.touching)
