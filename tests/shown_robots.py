"""Robots for the tests of what is shown: with gears, with too few motors, on a free base, on springs, of all kinds."""

from neuler import Coupling, Joint, Link, Robot, Transform, robots

LOOPS = ("four_bar", "five_bar", "slider_crank", "sr400")
PARALLEL = ("gough_stewart", "delta", "orthoglide", "planar_3rrr")
HOSTILE = "<script>alert(1)</script>"


def at(x, y=0.0, z=0.0):
    return Transform(translation=(x, y, z))


def bar(name):
    return Link.from_com(name, mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.01, 0.01))


def geared(**lead):
    """Two hinges and a slide that one motor moves."""
    joints = [
        Joint("lead", "revolute", "base", "a", axis=(0, 1, 0), **lead),
        Joint("half", "revolute", "a", "b", at(0.4), axis=(0, 1, 0), role="passive"),
        Joint("rod", "prismatic", "b", "c", at(0.4), axis=(1, 0, 0), role="passive"),
    ]
    couplings = [Coupling("half", "lead", -2.0, 0.1), Coupling("rod", "lead", 0.1)]
    return Robot("geared", [Link("base"), bar("a"), bar("b"), bar("c")], joints, couplings=couplings)


def all_kinds():
    """A tree with every kind of joint that has a mark of its own."""
    joints = [
        Joint("cart", "planar", "base", "a", at(0, 0, 0.2)),
        Joint("hip", "spherical", "a", "b", at(0.3, 0.3, 0.1)),
        Joint("bolt", "helical", "b", "c", at(0.4), axis=(1, 0, 0), pitch=0.05),
        Joint("elbow", "revolute", "a", "d", at(0.3, -0.3, 0.1), axis=(0, 1, 0)),
        Joint("rod", "prismatic", "d", "e", at(0.4, 0, 0.1), axis=(1, 0, 0), role="passive"),
        Joint("gantry", "translation", "e", "f", at(0.3, 0, 0.1), role="passive"),
    ]
    return Robot("kinds", [Link("base"), *(bar(name) for name in "abcdef")], joints)


def under_actuated():
    return robots.five_bar().with_passive("right_arm")


def afloat():
    return robots.four_bar().with_free_base()


def elastic():
    """A mass on an upright spring, on a motor's turntable."""
    joints = [
        Joint("table", "revolute", "base", "plate"),
        Joint("spring", "prismatic", "plate", "bob", stiffness=50.0, rest=0.3),
    ]
    block = Link.from_com("bob", mass=2.0, inertia=(0.01, 0.01, 0.01))
    return Robot("elastic", [Link("base"), bar("plate"), block], joints)
