"""How loops and couplings tie a robot's tree: what is free, and how the robot's own coordinates move all joints."""

from neuler.robot import Robot
from neuler.structure.mobility import analysed

Robot._analyse = staticmethod(analysed)
