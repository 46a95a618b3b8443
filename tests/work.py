"""Work that is counted: what must be quick is known by what it does, not by a clock that others slow down."""

import sys


def calls(function, *arguments, **options):
    """How many functions of Python and C this call calls until it returns or raises, and what it raises."""
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        function(*arguments, **options)
    except Exception as error:
        return count, error
    finally:
        sys.setprofile(before)
    return count, None
