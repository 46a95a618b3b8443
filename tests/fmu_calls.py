"""A small importer: the library of a unit, called through ctypes as the standard says, with its messages kept."""

import ctypes
import subprocess
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint, c_void_p
from xml.etree import ElementTree

import numpy as np

from c_code import STRICT, compilers

OK, WARNING, DISCARD, ERROR = range(4)
MODEL_EXCHANGE, CO_SIMULATION = 0, 1
LOGGER = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_int, c_char_p, c_char_p, c_char_p)
ALLOCATE = ctypes.CFUNCTYPE(c_void_p, c_size_t, c_size_t)
RELEASE = ctypes.CFUNCTYPE(None, c_void_p)
LIBC = ctypes.CDLL(None)
LIBC.calloc.restype, LIBC.calloc.argtypes, LIBC.free.argtypes = c_void_p, [c_size_t, c_size_t], [c_void_p]


class Callbacks(ctypes.Structure):
    _fields_ = (
        ("logger", LOGGER),
        ("allocate", ALLOCATE),
        ("release", RELEASE),
        ("finished", c_void_p),
        ("environment", c_void_p),
    )


def built(unit, folder, *flags):
    """The library, by strict flags, compiled fast."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in unit.sources.items():
        (folder / name).write_text(text)
    target = folder / f"{unit.name}_{len(list(folder.iterdir()))}.so"
    files = sorted(folder / name for name in unit.sources if name.endswith(".c"))
    command = [*next(iter(compilers().values())), *STRICT, "-O0", "-ffp-contract=off", "-shared", "-fPIC", *flags]
    done = subprocess.run([*command, "-o", target, *files, "-lm"], capture_output=True, text=True)
    assert not done.returncode, done.stderr[:3000]
    return ctypes.CDLL(str(target))


class Importer:
    """Makes instances."""

    def __init__(self, unit, library):
        self.root = ElementTree.fromstring(unit.description)
        self.library, self.said = library, []
        self.references = {x.get("name"): int(x.get("valueReference")) for x in self.root.iter("ScalarVariable")}
        self.alive = 0
        library.fmi2Instantiate.restype = c_void_p
        self.callbacks = Callbacks(LOGGER(self._log), ALLOCATE(self._allocate), RELEASE(self._release), None, None)

    def _log(self, environment, instance, status, category, form, text):
        self.said.append((status, category.decode(), (form if form != b"%s" else text).decode()))

    def _allocate(self, count, size):
        self.alive += 1
        return LIBC.calloc(count, size)

    def _release(self, place):
        self.alive -= place is not None
        LIBC.free(place)

    def instance(self, kind=CO_SIMULATION, guid=None, name="one"):
        guid = self.root.get("guid") if guid is None else guid
        found = self.library.fmi2Instantiate(
            name.encode(), kind, guid.encode(), b"", ctypes.byref(self.callbacks), 0, 1
        )
        return Instance(self, found) if found else None


class Instance:
    """One of them; ``call`` returns the status, other methods insist on fmi2OK."""

    def __init__(self, importer, place):
        self.importer, self.place = importer, c_void_p(place)

    def call(self, name, *arguments):
        return getattr(self.importer.library, f"fmi2{name}")(self.place, *arguments)

    def do(self, name, *arguments):
        assert self.call(name, *arguments) == OK, self.importer.said[-1:]

    def references(self, names):
        found = [self.importer.references[name] for name in names]
        return (c_uint * len(found))(*found), c_size_t(len(found))

    def set(self, **groups):
        for names, values in [(self.names(group), values) for group, values in groups.items()]:
            self.put(dict(zip(names, np.ravel(values), strict=True)))

    def put(self, values):
        self.do("SetReal", *self.references(values), (c_double * len(values))(*values.values()))

    def get(self, group):
        names = self.names(group)
        found = np.empty(len(names))
        self.do("GetReal", *self.references(names), found.ctypes.data_as(POINTER(c_double)))
        return found

    def names(self, group):
        return [
            name for name in self.importer.references if name == group or name.startswith((f"{group}.", f"{group}("))
        ]

    def begin(self, time=0.0, **groups):
        self.do("SetupExperiment", 0, c_double(0), c_double(time), 0, c_double(0))
        self.set(**groups)
        self.do("EnterInitializationMode")
        self.do("ExitInitializationMode")
        return self

    def step(self, time, size):
        return self.call("DoStep", c_double(time), c_double(size), 1)

    def continuous(self, x):
        """Model exchange, at these states: their derivatives."""
        x = np.ascontiguousarray(x, float)
        rates = np.empty_like(x)
        self.do("SetContinuousStates", x.ctypes.data_as(c_void_p), c_size_t(len(x)))
        self.do("GetDerivatives", rates.ctypes.data_as(c_void_p), c_size_t(len(x)))
        return rates

    def slope(self, unknown, along):
        """The change of unknowns along changes of knowns, by name."""
        found = np.empty(len(unknown))
        known, dv = list(along), (c_double * len(along))(*along.values())
        self.do(
            "GetDirectionalDerivative",
            *self.references(unknown),
            *self.references(known),
            dv,
            found.ctypes.data_as(c_void_p),
        )
        return found
