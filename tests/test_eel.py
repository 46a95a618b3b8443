"""The eel of the examples: joint motion told, head's motion found; energy and momentum audited."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import neuler

PATH = Path(__file__).resolve().parent.parent / "examples" / "eel.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("eel_example", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_audit_improves_with_the_fourth_power_of_the_step(example):
    eel = example.Eel()
    coarse, fine = (example.audit(eel, eel.swim(2.0, step)) for step in (0.02, 0.01))
    for what in coarse:
        assert fine[what] < 1e-5, what
        assert 8.0 < coarse[what] / fine[what] < 32.0, what


def test_it_swims_ahead_and_the_water_takes_what_the_joints_give(example):
    eel = example.Eel()
    motion = eel.swim(4.0, 0.02)
    assert motion.q[-1, 0] > 0.5
    assert abs(motion.q[-1, 2]) < 1e-12  # it stays level
    assert 0 < motion.lost[-1] < motion.work[-1]
    assert (np.diff(motion.lost) >= 0).all()  # drag never gives anything back


def test_without_water_the_mass_centre_stays(example, monkeypatch):
    monkeypatch.setattr(example, "water", lambda velocities: np.zeros_like(velocities))
    eel = example.Eel()
    motion = eel.swim(1.5, 0.01)
    momentum = np.asarray(eel.robot.momentum(motion.q, motion.qd))
    size = eel.robot.mass * np.abs(motion.qd[:, :3]).max()
    assert np.abs(momentum[:, :3]).max() < 1e-6 * size  # the error of the steps
    com = np.asarray(eel.robot.center_of_mass(motion.q))
    assert np.abs(com - com[0]).max() < 1e-6


def test_modules():
    assert neuler.robots.eel(5).nv == 6 + 4
    assert len(neuler.robots.eel().links) == 13


def test_figure(example, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    target = tmp_path / "eel.png"
    monkeypatch.setattr("sys.argv", ["eel.py", "--seconds", "1", "--step", "0.05", "--output", str(target)])
    example.main()
    assert target.read_bytes()[:4] == b"\x89PNG"
    assert "12 modules" in capsys.readouterr().out
