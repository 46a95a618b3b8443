"""Each suspected misprint of Barman's chapter III, settled by numbers.

``thesis`` below is the chapter as it stands, in its own standard DH frames, link by link and case by
case; it shares nothing with the library. An equation named in ``printed`` is taken as it was printed,
all others as corrected. Derivatives are compared with the complex step of the chapter's own values,
values with the library's.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from neuler.formats.dh import from_dh
from neuler.passes.trees import whole_tree
from neuler.recursions import barman
from neuler.recursions.hybrid import hybrid
from neuler.recursions.loads import in_link_axes
from random_robots import close, error

N = 5
SLIDES = (1, 3)
RNG = np.random.default_rng(11)
ALPHA, THETA, A, D, L, DG = RNG.uniform(0.3, 1.2, (6, N))
MASS = RNG.uniform(1, 3, N)
SPREAD = RNG.normal(size=(N, 3, 6))
INERTIA = [np.trace(s @ s.T) * np.eye(3) - s @ s.T for s in SPREAD]
Q, QD, QDD = RNG.uniform(-2, 2, (3, N))
PULL = np.array([3.0, -4.0, -8.0])  # gravity's acceleration, in the base frame
K = 3  # the loaded link, counted from 0
FORCE, MOMENT, POINT = RNG.normal(size=(3, 3)) * 10
EZ = np.array([0.0, 0.0, 1.0])
cross = np.cross


def rotation(c, s, j):
    """(2.10) from cosine and sine of theta; with (-s, c) its derivative, but for the last row."""
    ca, sa = np.cos(ALPHA[j]), np.sin(ALPHA[j])
    return np.array([[c, -ca * s, sa * s], [s, ca * c, -sa * c], [0, sa, ca]])


def thesis(q, qd, qdd, *, load=True, up=-PULL, printed=()):
    """All values, and their sensitivities S[name][j, kind, i] with kind 0, 1, 2 for q, qd, qdd."""
    val = {}
    names = ("w", "wd", "v", "acc", "accG", "FG", "tG", "F", "tau", "Fe", "te")
    sen = {name: np.zeros((N, 3, N, 3), dtype=np.result_type(q, qd, qdd)) for name in names}
    rot, dif, out = [], [], np.eye(3)
    zero = np.zeros(3)
    before = dict.fromkeys(("w", "wd", "v", "acc"), zero)
    turn = {}  # 0R_j,i^T, (3.63)
    for j in range(N):
        slide = j in SLIDES
        theta = THETA[j] + (0 if slide else q[j])
        d, d_g = D[j] + (q[j] if slide else 0), DG[j] + (q[j] if slide else 0)
        r = rotation(np.cos(theta), np.sin(theta), j)
        dr = rotation(-np.sin(theta), np.cos(theta), j)
        dr[2] = 0
        dr = dr * (not slide)
        rot.append(r)
        dif.append(dr)
        e = r.T @ EZ  # step 1 g
        dx = A[j] * np.eye(3)[0] + d * e  # (2.11)
        dx_g = L[j] * np.eye(3)[0] + d_g * e  # (3.2)
        # values, (3.5)-(3.69)
        up_w, up_wd = r.T @ before["w"], r.T @ before["wd"]
        dw = zero if slide else qd[j] * e  # (3.5)
        w = up_w + dw
        wd = up_wd + (zero if slide else qdd[j] * e + cross(up_w, dw))  # (3.17)
        push, thrust = (qd[j] * e, qdd[j] * e) if slide else (zero, zero)
        dv, dv_g = cross(w, dx) + push, cross(w, dx_g) + push  # (3.35), (3.41)
        v = r.T @ before["v"] + dv  # (3.38)
        acc = r.T @ before["acc"] + cross(wd, dx) + cross(w, dv) + cross(w, push) + thrust  # (3.50), (3.53)
        last = push if "3.56" in printed else thrust
        acc_g = r.T @ before["acc"] + cross(wd, dx_g) + cross(w, dv_g) + cross(w, push) + last  # (3.56), (3.59)
        v_g = r.T @ before["v"] + dv_g  # (3.44)
        base_turn, out = out, out @ r  # (3.62)
        h = INERTIA[j] @ w  # (3.64)
        f_g = MASS[j] * (acc_g + out.T @ up)  # (3.67)
        t_g = INERTIA[j] @ wd + cross(w, h)  # (3.69)
        # sensitivities
        for i in range(j + 1):
            own = i == j
            turn[j, i] = (base_turn @ dr).T if own else r.T @ turn[j - 1, i]  # (3.63)
            for kind in range(3):

                def carried(name, j=j, i=i, kind=kind, own=own, r=r, dr=dr, before=before):
                    """(3.9), (3.15), (3.33), (3.48)."""
                    if own:
                        return dr.T @ before[name] * (kind == 0)
                    return r.T @ sen[name][j - 1, kind, i]

                at = (j, kind, i)
                w_i = carried("w") + (e if own and kind == 1 and not slide else 0)  # (3.12), (3.13)
                if "3.13" in printed and slide and kind == 1:
                    w_i = zero
                wd_i = carried("wd")  # (3.21), (3.22)
                if not slide:
                    wd_i = wd_i + cross(carried("w"), dw)  # (3.18)
                    if own and kind == 1:
                        wd_i = wd_i + cross(up_w, dr.T @ EZ if "3.18" in printed else e)
                    if own and kind == 2:
                        wd_i = wd_i + e
                dx_i = e * (slide and own and kind == 0)  # (3.3), (3.4)
                push_i = e * (slide and own and kind == 1)
                thrust_i = e * (slide and own and kind == 2)
                dv_i = cross(w_i, dx) + cross(w, dx_i) + push_i  # (3.36), (3.37)
                v_i = carried("v") + dv_i  # (3.39), (3.40)
                if "3.40" in printed and slide and kind == 1 and not own:
                    v_i = carried("v")
                dacc_i = cross(wd_i, dx) + cross(w_i, dv) + cross(w, dv_i) + cross(w_i, push) + cross(w, push_i)
                dacc_i = dacc_i + cross(wd, dx_i) + thrust_i  # (3.51), (3.52)
                if "3.51" in printed and not slide and kind == 2:
                    dacc_i = cross(w_i, dx)
                if "3.52" in printed and slide and own and kind == 0:
                    dacc_i = cross(w, e) + cross(w, dv_i)
                dv_gi = cross(w_i, dx_g) + cross(w, dx_i) + push_i  # (3.42), (3.43)
                acc_gi = carried("acc") + cross(wd_i, dx_g) + cross(w_i, dv_g) + cross(w, dv_gi)
                acc_gi = acc_gi + cross(w_i, push) + cross(w, push_i) + cross(wd, dx_i) + thrust_i  # (3.57)-(3.61)
                if "3.61" in printed and slide and kind == 0:
                    acc_gi = carried("v") + dv_gi
                sen["w"][at], sen["wd"][at], sen["v"][at] = w_i, wd_i, v_i
                sen["acc"][at], sen["accG"][at] = carried("acc") + dacc_i, acc_gi  # (3.54), (3.55)
                sen["FG"][at] = MASS[j] * (acc_gi + turn[j, i] @ up * (kind == 0))  # (3.68)
                sen["tG"][at] = INERTIA[j] @ wd_i + cross(w_i, h) + cross(w, INERTIA[j] @ w_i)  # (3.70), (3.71)
        before = {"w": w, "wd": wd, "v": v, "acc": acc}
        here = {**before, "accG": acc_g, "vG": v_g, "FG": f_g, "tG": t_g, "dx": dx, "dxG": dx_g, "e": e, "R": out}
        for name, value in here.items():
            val.setdefault(name, []).append(value)
    _inward(val, sen, rot, dif, printed)
    if load:
        _loads(val, sen, rot, dif, turn, printed)
    # step 10
    which = ["F" if j in SLIDES else "tau" for j in range(N)]
    val["torque"] = [val[name][j] @ val["e"][j] for j, name in enumerate(which)]  # (3.92), (3.94)
    sen["torque"] = np.array([sen[name][j] @ val["e"][j] for j, name in enumerate(which)])  # (3.93), (3.95)
    return val, sen


def _inward(val, sen, rot, dif, printed):
    """Step 9 a, c: the reactions at the near end of every link, in its own frame."""
    val["F"], val["tau"] = [None] * N, [None] * N
    for j in reversed(range(N)):
        tip = j == N - 1
        dx, dx_g = val["dx"][j], val["dxG"][j]
        f_d, t_d = (0 * dx, 0 * dx) if tip else (rot[j + 1] @ val[name][j + 1] for name in ("F", "tau"))  # (3.72)
        val["F"][j] = f_d + val["FG"][j]  # (3.74)
        val["tau"][j] = t_d + val["tG"][j] - cross(f_d, dx) - cross(val["FG"][j], dx_g)  # (3.82)
        for kind in range(3):
            for i in range(N):
                f_di, t_di = np.zeros(3), np.zeros(3)
                if not tip:  # (3.73), (3.81)
                    own = (i == j + 1) * (kind == 0)
                    f_di, t_di = (
                        rot[j + 1] @ sen[name][j + 1, kind, i] + dif[j + 1] @ val[name][j + 1] * own
                        for name in ("F", "tau")
                    )
                f_gi, t_gi = sen["FG"][j, kind, i], sen["tG"][j, kind, i]
                sen["F"][j, kind, i] = f_di + f_gi  # (3.75)
                t_i = t_di + t_gi - cross(f_di, dx) - cross(f_gi, dx_g)  # (3.83)
                if i == j and j in SLIDES and kind == 0 and "3.83" not in printed:
                    t_i = t_i - cross(f_d, val["e"][j]) - cross(val["FG"][j], val["e"][j])
                sen["tau"][j, kind, i] = t_i


def _loads(val, sen, rot, dif, turn, printed):
    """Step 9 b, d, e: a force and a moment of the base frame on link K, added to the reactions.

    ``f``, ``t`` and ``m`` are F_jd^e, tau_jd^ef and tau_jd^em; a row i of ``f_i``, ``t_i``, ``m_i`` is their ,i.
    """
    back = val["R"][K].T
    for i in range(K + 1):
        back = turn[K, i] if f"3.76, i = {i}" in printed else back  # 0R_k,i^T, whichever i is meant
    f, m = back @ FORCE, val["R"][K].T @ MOMENT  # (3.76), (3.88)
    t = cross(POINT + val["dx"][K], f)  # (3.84)
    f_i, t_i, m_i = np.zeros((3, N, 3), dtype=sen["F"].dtype)
    for i in range(K + 1):
        f_i[i], m_i[i] = turn[K, i] @ FORCE, turn[K, i] @ MOMENT  # (3.77), (3.89)
        arm = val["dx"][K] if "3.85" in printed else POINT + val["dx"][K]
        t_i[i] = cross(_delta(val, K, i), f) + cross(arm, f_i[i])  # (3.85)
    val["Fe"], val["te"] = [np.zeros(3)] * N, [np.zeros(3)] * N
    for j in range(K, -1, -1):
        if j < K:
            r, dr, dx = rot[j + 1], dif[j + 1], val["dx"][j]
            own = np.eye(N)[j + 1][:, None]  # i = j + 1
            f_i, m_i, t_i = (x_i @ r.T + own * (dr @ x) for x_i, x in ((f_i, f), (m_i, m), (t_i, t)))
            f, m, t = r @ f, r @ m, r @ t + cross(dx, r @ f)  # (3.76), (3.88), (3.84)
            t_i = t_i + cross(dx, f_i) + cross([_delta(val, j, i) for i in range(N)], f)  # (3.85)
        val["F"][j] = val["F"][j] + f  # (3.78)
        val["tau"][j] = val["tau"][j] + t + m  # (3.86), (3.90)
        val["Fe"][j], val["te"][j] = f, t + m
        sen["F"][j, 0] += f_i  # (3.79)
        sen["tau"][j, 0] += t_i + m_i  # (3.87), (3.91)
        sen["Fe"][j, 0], sen["te"][j, 0] = f_i, t_i + m_i
        if "3.79" in printed:
            sen["F"][j, 1:] = 0
        if "3.87" in printed or "3.91" in printed:
            sen["tau"][j, 1:] = 0


def _delta(val, j, i):
    """Delta x_j,i: a slide lengthens its own link."""
    return val["e"][j] * (i == j and j in SLIDES)


# ---- the numbers that decide ---------------------------------------------------------------------

ROBOT = from_dh(
    [
        {
            "kind": "prismatic" if j in SLIDES else "revolute",
            "theta": THETA[j],
            "d": D[j],
            "a": A[j],
            "alpha": ALPHA[j],
            "mass": MASS[j],
            "com": (L[j] - A[j], *((DG[j] - D[j]) * np.array([np.sin(ALPHA[j]), np.cos(ALPHA[j])]))),
            "inertia": INERTIA[j],
        }
        for j in range(N)
    ],
    gravity=PULL,
)
TREE = whole_tree(ROBOT)
STATE = (Q.tolist(), QD.tolist(), QDD.tolist())


@functools.cache
def moved(kind, i):
    """The chapter's values at a state with an imaginary step."""
    state = [Q.astype(complex), QD.astype(complex), QDD.astype(complex)]
    state[kind][i] += 1e-40j
    return thesis(*state)[0]


def complex_step(name):
    """d(value)/d(q, qd, qdd) of the chapter's own recursion, [j, kind, i]."""
    found = np.array([[moved(kind, i)[name] for i in range(N)] for kind in range(3)]).imag / 1e-40
    return np.moveaxis(found, 2, 0)


def settled(equation, name, kinds=(0, 1, 2)):
    """Corrected, the sensitivity is the complex step's; as printed it is not, and only for these kinds."""
    exact = complex_step(name)
    close(thesis(Q, QD, QDD)[1][name], exact, 1e-12, what="corrected")
    wrong = thesis(Q, QD, QDD, printed=(equation,))[1][name]
    for kind in range(3):
        off = error(wrong[:, kind], exact[:, kind])
        assert (off > 1e-2) == (kind in kinds), (equation, name, kind, off)


def loaded(sign):
    """The library's loads: applied TO the link; the point is Barman's, seen from the canonical frame."""
    number, frame = TREE.frames[f"dh{K + 1}"]
    base = np.array(TREE.base.rotation)
    point = np.array(frame.rotation) @ POINT + frame.translation
    force, moment = (tuple((sign * base @ x).tolist()) for x in (FORCE, MOMENT))
    return {number: [barman.GlobalLoad(force, moment, tuple(point.tolist()))]}


def library_torques(load=None):
    found = None
    if load:
        seen = in_link_axes(TREE, barman.placements(TREE, STATE[0]), load)
        found = {number: [one.wrench for one in some] for number, some in seen.items()}
    return np.array(hybrid(TREE, *STATE, [True] * N, found).coordinates)


@pytest.mark.parametrize("name", ["w", "wd", "v", "acc", "accG", "FG", "tG", "F", "tau", "torque", "Fe", "te"])
def test_corrected_chapter(name):
    """With all corrections the chapter's sensitivities are the derivatives of its values."""
    close(thesis(Q, QD, QDD)[1][name], complex_step(name), 1e-12)


def test_corrected_chapter_is_the_library():
    """The same torques and the same sensitivities as the recursion over canonical frames, loads included."""
    val, sen = thesis(Q, QD, QDD)
    close(val["torque"], library_torques(loaded(-1)), 1e-12)
    found = barman.sensitivities(TREE, *STATE, None, loaded(-1))
    for kind, table in enumerate((found.dtau_dq, found.dtau_dqd, found.dtau_dqdd)):
        close(sen["torque"][:, kind], table, 1e-12)


@pytest.mark.parametrize("name", ["w", "acc", "F", "torque"])
def test_barman_3_13(name):
    """A slide passes the sensitivity of the angular velocity to qd on."""
    settled("3.13", name, kinds=(1,))


@pytest.mark.parametrize("name", ["wd", "acc", "F", "torque"])
def test_barman_3_18(name):
    """i = j, velocity: R_j,i^T e_z is zero, R_j^T e_z is not."""
    settled("3.18", name, kinds=(1,))


def test_barman_3_40():
    """A slide's velocity: i < j lacks w_j,i' x delta x_j. No force is computed from it."""
    settled("3.40", "v", kinds=(1,))
    np.testing.assert_array_equal(thesis(Q, QD, QDD, printed=("3.40",))[1]["torque"], thesis(Q, QD, QDD)[1]["torque"])


@pytest.mark.parametrize("name", ["acc", "F", "torque"])
def test_barman_3_51(name):
    """The last line needs wd_j,i''; w_j,i'' is zero."""
    settled("3.51", name, kinds=(2,))


@pytest.mark.parametrize("name", ["acc", "F", "torque"])
def test_barman_3_52(name):
    """i = j, position: wd_j x R_j^T e_z."""
    settled("3.52", name, kinds=(0,))


def test_barman_3_56():
    """The slide's second derivative: with the first the force of a slide does not feel its acceleration."""
    right, wrong = (np.array(thesis(Q, QD, QDD, load=False, printed=p)[0]["torque"]) for p in ((), ("3.56",)))
    close(right, library_torques(), 1e-12)
    assert error(wrong, library_torques()) > 1e-2
    exact = complex_step("accG")
    close(thesis(Q, QD, QDD)[1]["accG"], exact, 1e-12)  # (3.58) has it right


@pytest.mark.parametrize("name", ["accG", "FG", "torque"])
def test_barman_3_61(name):
    """First line: accelerations; as printed it repeats (3.46)."""
    settled("3.61", name, kinds=(0,))


def test_barman_3_67():
    """g_j is minus the gravity acceleration."""
    right, wrong = (np.array(thesis(Q, QD, QDD, load=False, up=up)[0]["torque"]) for up in (-PULL, PULL))
    close(right, library_torques(), 1e-12)
    assert error(wrong, library_torques()) > 1e-1


def test_barman_3_76():
    """The force itself is turned by 0R_k^T, not by a derivative of it, whichever i would be meant."""
    exact = library_torques(loaded(-1))
    close(thesis(Q, QD, QDD)[0]["torque"], exact, 1e-12)
    for i in range(K + 1):
        assert error(thesis(Q, QD, QDD, printed=(f"3.76, i = {i}",))[0]["torque"], exact) > 1e-2


def test_barman_3_78():
    """Loads are added to the reactions, so they are those of the link ON the environment, not "acting on the link"."""
    val, _ = thesis(Q, QD, QDD)
    close(val["torque"], library_torques(loaded(-1)), 1e-12)
    assert error(val["torque"], library_torques(loaded(1))) > 1e-1


@pytest.mark.parametrize(("equation", "name"), [("3.79", "F"), ("3.87", "tau"), ("3.91", "tau")])
def test_barman_3_79_87_91(equation, name):
    """A load adds nothing to the sensitivities to qd and qdd; it does not take them away."""
    settled(equation, name, kinds=(1, 2))


@pytest.mark.parametrize("name", ["tau", "torque"])
def test_barman_3_83(name):
    """A slide moves the lever arms of its own link: - F_jd x delta x_j,i - F_Gj x delta x_Gj,i."""
    settled("3.83", name, kinds=(0,))


@pytest.mark.parametrize("name", ["te", "tau", "torque"])
def test_barman_3_85(name):
    """j = k: the whole arm r_k + delta x_j."""
    settled("3.85", name, kinds=(0,))
