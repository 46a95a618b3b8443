"""The same functions elsewhere: C99, object files, SymPy, LaTeX, Python, CasADi.

Everything here starts from a recipe that is lowered (C99, object files) or listed (all others), and knows nothing of
robots: names, units and texts come with an ``Interface``.
"""
