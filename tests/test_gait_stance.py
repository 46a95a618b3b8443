"""Measured motion: which foot stands when, and filters."""

import numpy as np
import pytest

from gait_walk import RATE, human, known, times
from neuler import InputError, gait
from neuler.gait.filtering import CLEAR, gains, smoothed
from neuler.gait.stance import _closed, _opened
from neuler.motions.differentiated import differentiated
from random_robots import close

# ---- contact --------------------------------------------------------------------------------------------------------


def test_contact_is_found_where_it_is():
    walk, _ = known()
    found = gait.ground_loads(human(), *walk[:4])
    wrong = found.touching != walk.touching
    assert wrong.mean() < 0.03
    # at most two samples before a foot lands or behind where it leaves
    starts = np.diff(walk.touching.astype(int), axis=0) != 0
    near = np.zeros_like(wrong)
    for k in range(-2, 3):
        near[1:] |= np.roll(starts, k, axis=0)
    assert not (wrong & ~near)[3:-3].any()


def test_short_gaps_and_contacts_are_not_believed():
    flags = np.array([0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1], bool)[:, None]
    closed = _closed(flags, 2)[:, 0].astype(int).tolist()
    assert closed == [0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    opened = _opened(flags, 2)[:, 0].astype(int).tolist()
    assert opened == [0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]  # what reaches an end stays


def test_contact_may_be_given():
    walk, exact = known()
    named = gait.ground_loads(human(), *walk[:4], touching={"left": walk.touching[:, 1], "right": walk.touching[:, 0]})
    close(named.foot_force, exact.foot_force, 1e-15)
    with pytest.raises(InputError, match="touching must have the feet right, left, got left"):
        gait.ground_loads(human(), *walk[:4], touching={"left": walk.touching[:, 1]})
    with pytest.raises(InputError, match="touching must be true or false"):
        gait.ground_loads(human(), *walk[:4], touching=walk.touching.astype(float))
    with pytest.raises(InputError, match=r"a value for each sample and foot, \(331, 2\), got \(5, 2\)"):
        gait.ground_loads(human(), *walk[:4], touching=walk.touching[:5])


def test_loads_that_no_foot_carries_are_told():
    walk, _ = known()
    found = gait.ground_loads(human(), *walk[:4], touching=np.zeros((len(walk.t), 2), bool))
    assert "no foot stands in 331 samples in which the motion asks for up to 1." in found.notes[0]
    close(found.residual[:, :3], found.force, 1e-9)
    lost = gait.ground_loads(human(), *walk[:4], touching=np.tile([True, False], (len(walk.t), 1)))
    assert "more than 5 cm outside the soles" in lost.notes[0]


# ---- filtering ------------------------------------------------------------------------------------------------------


def test_both_passes_together_halve_the_power_at_the_cutoff_and_delay_nothing():
    t = times(20.0)
    for order in (2, 4, 8):
        for cutoff in (3.0, 6.0, 12.0):
            wave = np.sin(2 * np.pi * cutoff * t)[:, None]
            found = smoothed(wave, RATE, cutoff, order)
            middle = slice(500, 1500)
            gain = (found[middle] * wave[middle]).sum() / (wave[middle] ** 2).sum()
            assert gain == pytest.approx(np.sqrt(0.5), abs=2e-3)
            late = (found[middle] * np.cos(2 * np.pi * cutoff * t)[middle, None]).sum() / (wave[middle] ** 2).sum()
            assert abs(late) < 1e-3


def test_frequencies_with_hardly_more_than_noise_are_weakened():
    """Of a slow series, of one with a fast part and of noise alone: accelerations beside those of the plain filter."""
    t, random = times(5.0), np.random.default_rng(2)
    slow, fast = np.sin(2 * np.pi * 0.5 * t), 0.05 * np.sin(2 * np.pi * 5.0 * t)
    columns = np.stack([slow, slow + fast, np.zeros_like(t)], axis=-1) + 1e-3 * random.normal(size=(len(t), 3))
    found, kept = smoothed(columns, RATE, 8.0, clear=CLEAR), smoothed(columns, RATE, 8.0)
    exact = np.stack([-((np.pi) ** 2) * slow, -((np.pi) ** 2) * slow - (10 * np.pi) ** 2 * fast, 0 * t], axis=-1)
    error, other = (np.sqrt(((differentiated(t, x)[1] - exact)[50:-50] ** 2).mean(axis=0)) for x in (found, kept))
    assert error[0] < 0.2 * other[0]
    assert error[2] < 0.2 * other[2]
    assert error[1] < 1.1 * other[1]


def test_what_is_clear_of_noise_passes():
    """Gains are one far above the noise and below 1.5 Hz, and zero where there is no more than it."""
    f = np.linspace(0.25, 50.0, 200)
    power = np.where(np.arange(200) % 3, 2.0, 0.001)  # the median above 30 Hz is 2, the noise 2 / 0.4549
    power[20], power[40] = 1e9, 40.0
    found = gains(power, f, 5.0)
    assert found[20] > 0.999
    assert found[40] == pytest.approx(1.0 - 5.0 * 2.0 / 0.4549 / 40.0, rel=1e-12)
    assert (found[f < 1.5] == 1.0).all()
    assert not np.delete(found[f >= 1.5], [20 - 5, 40 - 5]).any()


def test_faulty_filters_are_named():
    trial = gait.Measured(human(), times(1.0), np.zeros((101, 55)))
    for options, message in (
        ({"cutoff": 0.0}, r"cutoff must be above zero \(Hz\)"),
        ({"cutoff": 45.0}, "cutoff is 45 Hz and the rate 100 Hz"),
        ({"order": 3}, "order must be even"),
        ({"limbs": -1.0}, "limbs must be above zero"),
        ({"split": "half"}, "split must be one of 'pivot', 'line'"),
        ({"floor": "under"}, "floor must be a number"),
        ({"thresholds": 0.1}, r"thresholds must be gait.Thresholds\(...\)"),
        ({"feet": {"left": gait.FEET["left"]}}, "feet must map two names"),
        ({"feet": {"a": gait.Foot("r_heal", "r_ball", "r_tip"), "b": gait.FEET["left"]}}, "did you mean 'r_heel'"),
    ):
        with pytest.raises(InputError, match=message):
            trial.loads(**options)
