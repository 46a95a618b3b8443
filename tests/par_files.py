"""SYMORO+ files for the tests: the RX90, the SR400, one joint; and the symbols that they hold."""

import re

BODY = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M", "IA", "FV", "FS")


def symbols(name, count, start=1):
    return f"{name} = {{{','.join(f'{name}{k}' for k in range(start, count + 1))}}}\n"


def dynamics(count, start=1, **given):
    """Lists of symbols, but for those given."""
    return "".join(f"{name} = {{{given[name]}}}\n" if name in given else symbols(name, count, start) for name in BODY)


RX90 = """(*******************************************)
(*     SYMORO+ : Parameters of a robot     *)
(*       1 rue de la No\xeb, BP 92101         *)
(*******************************************)

(* General parameters *)
(* Robotname = 'RX90' *)
NF = 6
NL = 6
NJ = 6
Type = 0 (* Simple *)

(* Geometric parameters *)
Ant = {
        0,1,2,3,4,5}
Sigma  = {
        0,0,0,0,0,0}
B  = {
        0,0,0,0,0,0}
d  = {
        0,0,D3,0,0,0}
R  = {
        0,0,0,RL4,0,0}
gamma  = {
        0,0,0,0,0,0}
Alpha  = {
        0,Pi/2,0,-Pi/2,Pi/2,-Pi/2}
Mu  = {
        1,1,1,1,1,1}
Theta  = {
        t1,t2,t3,t4,t5,t6}
"""
REST = """
FX = {0,0,0,0,0,FX6}
QP = {QP1,QP2,QP3,QP4,QP5,QP6}
W0 = {0,0,0}
VP0 = {0,0,0}
Z = {1,0,0,0,0,1,0,0,0,0,
     1,0,0,0,0,1}
G = {0,0,G3}
(* End of definition *)
"""


def values_of(robot):
    """Khalil's names of all parameters of links 1, 2 ... and their numbers."""
    found = {}
    for k, (link, joint) in enumerate(zip(robot.links[1:], robot.joints, strict=True), start=1):
        xx, yy, zz, xy, xz, yz = link.inertia
        numbers = (xx, xy, xz, yy, yz, zz, *link.first_moment, link.mass)
        numbers += (joint.rotor_inertia, joint.viscous, joint.coulomb)
        found |= {f"{name}{k}": number for name, number in zip(BODY, numbers, strict=True)}
    return found


def one(geometry="", rest="M = {1}", **changes):
    """A file with one joint."""
    lists = {"Ant": "0", "Sigma": "0", "d": "0", "R": "0", "Alpha": "0", "Theta": "th1", "G": "0,0,0", **changes}
    text = "\n".join(f"{name} = {{{value}}}" for name, value in lists.items() if value is not None)
    return f"NL = 1\nNJ = 1\n{text}\n{geometry}\n{rest}\n"


SR400 = """(* Robotname = 'sr400' *)
NL = 8
NJ = 9
NF = 10
Type = 2
is_mobile = 0
ant = {0,1,2,3,4,5,1,7,8,3}
sigma = {0,0,0,0,0,0,0,0,0,2}
b = {0,0,0,0,0,0,0,0,0,0}
d = {0,d2,d3,d4,0,0,d2,d8,d3,-d8}
r = {0,0,0,RL4,0,0,0,0,0,0}
gamma = {0,0,0,0,0,0,0,0,0,pi/2}
alpha = {0,-pi/2,0,-pi/2,pi/2,-pi/2,-pi/2,0,0,0}
mu = {1,1,0,1,1,1,1,0,0,0}
theta = {th1,th2,th3,th4,th5,th6,th7,th8,th9,0}
G = {0,0,G3}
"""
SR400_VALUES = {"d2": 0.35, "d3": 0.9, "d4": 0.15, "d8": 0.4, "RL4": 1.1, "G3": -9.81}


def table(text):
    """The lists of a file as written, and its remarks taken away."""
    return re.sub(r"\(\* neuler .*\*\)\n", "", text)
