"""One state without NumPy's call machinery: emitted functions that Python calls straight away.

``@call`` has the signature of Python's vectorcall. It looks at its arguments: arrays of exactly the type, shape and
layout of one state are handed to the kernel's machine code as they are, the result into a new array or the one given
as ``out``; everything else goes to the method ``_general`` of the object that was called, also where a result is not
finite, so that NumPy warns and neuler explains as ever. ``@bound`` takes no arguments: its arrays were chosen before.
Both read what they need from a frame of machine words. Double precision, one array as the result.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from neuler.compiler import cache, jit, numpy_api
from neuler.compiler.objects import linkable
from neuler.compiler.target import host
from neuler.errors import InputError

HEADER = object.__basicsize__
"""Bytes of an object before its own fields; the last eight of them are its type."""
DATA, RANK, SHAPE, DESCR, FLAGS = HEADER, HEADER + 8, HEADER + 16, HEADER + 40, HEADER + 48
"""Of NumPy's array: bytes to its fields."""
READABLE = 0x0001 | 0x0100
"""Flags: C-contiguous, aligned."""
WRITABLE = READABLE | 0x0400
MOST = 12
"""Arguments that the emitted code takes."""

_API = ("PyArray_New", "Py_IncRef", "Py_DecRef", "PyObject_GetAttr", "PyObject_Vectorcall", "PyErr_SetString")
_REFUSED = "a bound kernel takes no arguments: write into its arrays, then call it"
_FIELDS = ("one", "pool", "takes", "array_type", "descr", "type_number", "out_name")
"""Words of a frame, before the description of each operand: rank, address of its shape, numbers in it."""


def _text(triple: str) -> str:
    """The LLVM text of ``@call`` and ``@bound``."""
    at = {name: 8 * k for k, name in enumerate(_FIELDS)}
    operands = 8 * len(_FIELDS)
    api = {name: 8 * k for k, name in enumerate(_API)}
    return f"""target triple = "{triple}"
@api = global [{len(_API)} x ptr] zeroinitializer

define internal ptr @api_of(i64 %offset) alwaysinline {{
  %p = getelementptr i8, ptr @api, i64 %offset
  %f = load ptr, ptr %p
  ret ptr %f
}}

define internal i64 @word(ptr %frame, i64 %offset) alwaysinline {{
  %p = getelementptr i8, ptr %frame, i64 %offset
  %x = load i64, ptr %p
  ret i64 %x
}}

define internal i1 @fits(ptr %frame, ptr %object, i64 %operand, i32 %mask) {{
  %type_at = getelementptr i8, ptr %object, i64 {HEADER - 8}
  %type = load i64, ptr %type_at
  %array = call i64 @word(ptr %frame, i64 {at["array_type"]})
  %is_array = icmp eq i64 %type, %array
  br i1 %is_array, label %look, label %no
look:
  %descr_at = getelementptr i8, ptr %object, i64 {DESCR}
  %descr = load i64, ptr %descr_at
  %wanted = call i64 @word(ptr %frame, i64 {at["descr"]})
  %same = icmp eq i64 %descr, %wanted
  %flags_at = getelementptr i8, ptr %object, i64 {FLAGS}
  %flags = load i32, ptr %flags_at
  %masked = and i32 %flags, %mask
  %laid = icmp eq i32 %masked, %mask
  %rank_at = getelementptr i8, ptr %object, i64 {RANK}
  %rank32 = load i32, ptr %rank_at
  %rank = sext i32 %rank32 to i64
  %rank_wanted = call i64 @word(ptr %frame, i64 %operand)
  %ranked = icmp eq i64 %rank, %rank_wanted
  %a = and i1 %same, %laid
  %b = and i1 %a, %ranked
  br i1 %b, label %shape, label %no
shape:
  %shape_at = getelementptr i8, ptr %object, i64 {SHAPE}
  %dims = load ptr, ptr %shape_at
  %second = add i64 %operand, 8
  %goal_word = call i64 @word(ptr %frame, i64 %second)
  %goal = inttoptr i64 %goal_word to ptr
  %none = icmp eq i64 %rank, 0
  br i1 %none, label %yes, label %axis
axis:
  %k = phi i64 [ 0, %shape ], [ %k1, %next ]
  %dp = getelementptr i64, ptr %dims, i64 %k
  %d = load i64, ptr %dp
  %gp = getelementptr i64, ptr %goal, i64 %k
  %g = load i64, ptr %gp
  %equal = icmp eq i64 %d, %g
  br i1 %equal, label %next, label %no
next:
  %k1 = add i64 %k, 1
  %end = icmp eq i64 %k1, %rank
  br i1 %end, label %yes, label %axis
yes:
  ret i1 true
no:
  ret i1 false
}}

define ptr @call(ptr %self, ptr %args, i64 %nargsf, ptr %names) {{
  %places = alloca [{MOST + 1} x ptr], align 16
  %frame_at = getelementptr i8, ptr %self, i64 {HEADER + 8}
  %frame = load ptr, ptr %frame_at
  %unready = icmp eq ptr %frame, null
  br i1 %unready, label %general, label %count
count:
  %nargs = and i64 %nargsf, {(1 << 63) - 1}
  %takes = call i64 @word(ptr %frame, i64 {at["takes"]})
  %complete = icmp eq i64 %nargs, %takes
  br i1 %complete, label %input, label %general
input:
  %k = phi i64 [ 0, %count ], [ %k1, %taken ]
  %xp = getelementptr ptr, ptr %args, i64 %k
  %x = load ptr, ptr %xp
  %scaled = mul i64 %k, 24
  %operand = add i64 %scaled, {operands}
  %good = call i1 @fits(ptr %frame, ptr %x, i64 %operand, i32 {READABLE})
  br i1 %good, label %taken, label %general
taken:
  %data_at = getelementptr i8, ptr %x, i64 {DATA}
  %data = load ptr, ptr %data_at
  %slot = getelementptr ptr, ptr %places, i64 %k
  store ptr %data, ptr %slot
  %k1 = add i64 %k, 1
  %all = icmp eq i64 %k1, %takes
  br i1 %all, label %result, label %input
result:
  %last = mul i64 %takes, 24
  %out = add i64 %last, {operands}
  %plain = icmp eq ptr %names, null
  br i1 %plain, label %fresh, label %named
named:
  %size_at = getelementptr i8, ptr %names, i64 {HEADER}
  %size = load i64, ptr %size_at
  %single = icmp eq i64 %size, 1
  br i1 %single, label %name, label %general
name:
  %name_at = getelementptr i8, ptr %names, i64 {HEADER + 8}
  %given_name = load i64, ptr %name_at
  %out_name = call i64 @word(ptr %frame, i64 {at["out_name"]})
  %is_out = icmp eq i64 %given_name, %out_name
  br i1 %is_out, label %given, label %general
given:
  %op = getelementptr ptr, ptr %args, i64 %takes
  %o = load ptr, ptr %op
  %fine = call i1 @fits(ptr %frame, ptr %o, i64 %out, i32 {WRITABLE})
  br i1 %fine, label %whole, label %general
whole:
  %od_at = getelementptr i8, ptr %o, i64 {DATA}
  %od = load i64, ptr %od_at
  %on_at = add i64 %out, 16
  %on = call i64 @word(ptr %frame, i64 %on_at)
  %ob = shl i64 %on, 3
  %oe = add i64 %od, %ob
  br label %other
other:
  %j = phi i64 [ 0, %whole ], [ %j1, %apart ]
  %xs = getelementptr i64, ptr %places, i64 %j
  %xd = load i64, ptr %xs
  %js = mul i64 %j, 24
  %jn = add i64 %js, {operands + 16}
  %xn = call i64 @word(ptr %frame, i64 %jn)
  %xb = shl i64 %xn, 3
  %xe = add i64 %xd, %xb
  %before = icmp ule i64 %xe, %od
  %behind = icmp ule i64 %oe, %xd
  %disjoint = or i1 %before, %behind
  br i1 %disjoint, label %apart, label %general
apart:
  %j1 = add i64 %j, 1
  %compared = icmp eq i64 %j1, %takes
  br i1 %compared, label %keep, label %other
keep:
  %inc = call ptr @api_of(i64 {api["Py_IncRef"]})
  call void %inc(ptr %o)
  br label %compute
fresh:
  %new = call ptr @api_of(i64 {api["PyArray_New"]})
  %type_word = call i64 @word(ptr %frame, i64 {at["array_type"]})
  %type = inttoptr i64 %type_word to ptr
  %rank64 = call i64 @word(ptr %frame, i64 %out)
  %rank = trunc i64 %rank64 to i32
  %shape_at = add i64 %out, 8
  %shape_word = call i64 @word(ptr %frame, i64 %shape_at)
  %shape = inttoptr i64 %shape_word to ptr
  %number64 = call i64 @word(ptr %frame, i64 {at["type_number"]})
  %number = trunc i64 %number64 to i32
  %made = call ptr %new(ptr %type, i32 %rank, ptr %shape, i32 %number, ptr null, ptr null, i32 0, i32 0, ptr null)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %fail, label %compute
fail:
  ret ptr null
compute:
  %array = phi ptr [ %o, %keep ], [ %made, %fresh ]
  %ad_at = getelementptr i8, ptr %array, i64 {DATA}
  %ad = load ptr, ptr %ad_at
  %out_slot = getelementptr ptr, ptr %places, i64 %takes
  store ptr %ad, ptr %out_slot
  %one_word = call i64 @word(ptr %frame, i64 {at["one"]})
  %one = inttoptr i64 %one_word to ptr
  %pool_word = call i64 @word(ptr %frame, i64 {at["pool"]})
  %pool = inttoptr i64 %pool_word to ptr
  call void %one(ptr %places, ptr %pool)
  %numbers_at = add i64 %out, 16
  %numbers = call i64 @word(ptr %frame, i64 %numbers_at)
  br label %number_k
number_k:
  %n = phi i64 [ 0, %compute ], [ %n1, %well ]
  %vp = getelementptr double, ptr %ad, i64 %n
  %v = load i64, ptr %vp
  %size_bits = and i64 %v, {(1 << 63) - 1}
  %endless = icmp uge i64 %size_bits, {0x7FF << 52}
  br i1 %endless, label %explain, label %well
well:
  %n1 = add i64 %n, 1
  %seen = icmp eq i64 %n1, %numbers
  br i1 %seen, label %done, label %number_k
explain:
  %dec = call ptr @api_of(i64 {api["Py_DecRef"]})
  call void %dec(ptr %array)
  br label %general
done:
  ret ptr %array
general:
  %get = call ptr @api_of(i64 {api["PyObject_GetAttr"]})
  %attribute_at = getelementptr i8, ptr @general, i64 0
  %attribute = load ptr, ptr %attribute_at
  %method = call ptr %get(ptr %self, ptr %attribute)
  %missing = icmp eq ptr %method, null
  br i1 %missing, label %fail, label %ask
ask:
  %vectorcall = call ptr @api_of(i64 {api["PyObject_Vectorcall"]})
  %count2 = and i64 %nargsf, {(1 << 63) - 1}
  %answer = call ptr %vectorcall(ptr %method, ptr %args, i64 %count2, ptr %names)
  %forget = call ptr @api_of(i64 {api["Py_DecRef"]})
  call void %forget(ptr %method)
  ret ptr %answer
}}

@general = global ptr null
@kind = global ptr null
@message = internal constant [{len(_REFUSED) + 1} x i8] c"{_REFUSED}\\00"

define ptr @bound(ptr %self, ptr %args, i64 %nargsf, ptr %names) {{
  %frame_at = getelementptr i8, ptr %self, i64 {HEADER + 8}
  %frame = load ptr, ptr %frame_at
  %nargs = and i64 %nargsf, {(1 << 63) - 1}
  %none = icmp eq i64 %nargs, 0
  %unnamed = icmp eq ptr %names, null
  %alone = and i1 %none, %unnamed
  br i1 %alone, label %compute, label %refuse
refuse:
  %complain = call ptr @api_of(i64 {api["PyErr_SetString"]})
  %kind_at = load ptr, ptr @kind
  call void %complain(ptr %kind_at, ptr @message)
  ret ptr null
compute:
  %one_word = call i64 @word(ptr %frame, i64 0)
  %one = inttoptr i64 %one_word to ptr
  %pool_word = call i64 @word(ptr %frame, i64 8)
  %pool = inttoptr i64 %pool_word to ptr
  %result_word = call i64 @word(ptr %frame, i64 16)
  %result = inttoptr i64 %result_word to ptr
  %places = getelementptr i8, ptr %frame, i64 24
  call void %one(ptr %places, ptr %pool)
  %inc = call ptr @api_of(i64 {api["Py_IncRef"]})
  call void %inc(ptr %result)
  ret ptr %result
}}
"""


_ENTRIES = ("call", "bound", "api", "general", "kind")


@functools.cache
def _functions() -> tuple[dict[str, int], Any]:
    """Addresses of ``@call`` and ``@bound``, and the owner of their code; compiled once, or from the cache."""
    target = host()
    key = cache.key("direct calls", HEADER, target, origin=__name__)
    entry = cache.load(key)
    code = entry[1] if entry is not None and linkable(entry[1], target.triple, _ENTRIES) else None
    if code is None:
        code = jit.object_code(_text(target.triple), target)
        cache.store(key, {"name": "direct calls"}, code)
    found, owner = jit.load(code, target, _ENTRIES)
    api = (ctypes.c_void_p * len(_API)).from_address(found["api"])
    for k, name in enumerate(_API):
        api[k] = numpy_api.address(name) if name.startswith("PyArray") else _address(name)
    ctypes.c_void_p.from_address(found["general"]).value = id(_GENERAL)
    ctypes.c_void_p.from_address(found["kind"]).value = id(InputError)
    return found, owner


_GENERAL = "_general"
_OUT = "out"


def _address(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


@functools.cache
def _known_layout() -> bool:
    """Whether arrays of this NumPy look as the emitted code expects: probed on one."""
    probe = np.arange(6.0).reshape(2, 3)
    at = id(probe)
    shape = ctypes.c_void_p.from_address(at + SHAPE).value
    return bool(
        ctypes.c_void_p.from_address(at + DATA).value == probe.ctypes.data
        and ctypes.c_int.from_address(at + RANK).value == 2
        and shape is not None
        and (ctypes.c_int64 * 2).from_address(shape)[:] == [2, 3]
        and ctypes.c_void_p.from_address(at + DESCR).value == id(probe.dtype)
        and ctypes.c_int.from_address(at + FLAGS).value & WRITABLE == WRITABLE
        and ctypes.c_void_p.from_address(at + HEADER - 8).value == id(np.ndarray)
    )


# ---- the type whose instances are called so ----------------------------------------------------------------


class _Slot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("function", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint), ("slots", ctypes.POINTER(_Slot)),
    )  # fmt: skip


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("type", ctypes.c_int), ("offset", ctypes.c_ssize_t), ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )  # fmt: skip


_TP_CALL, _TP_DOC, _TP_MEMBERS = 50, 56, 72
_WHOLE_NUMBER, _READ_ONLY = 19, 1
_TP_FLAGS = HEADER + 152
"""Bytes to the flags of a type."""
_DEFAULT, _BASETYPE, _VECTORCALL = 1 << 18, 1 << 10, 1 << 11
_FUNCTION = HEADER
"""Bytes to the function that is called; its frame lies behind it."""
_alive: list[Any] = []
"""What the type points to."""


def _made_type(name: str, doc: str) -> Any:
    """A type whose instances are called through an emitted function. It has no attributes and no garbage collection.

    Classes derived from it have both: Python gives them a dictionary, and traverses and frees what is in it.
    """
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", _WHOLE_NUMBER, _FUNCTION, _READ_ONLY, None))
    text = ctypes.create_string_buffer(doc.encode())
    slots = (_Slot * 4)(
        _Slot(_TP_CALL, _address("PyVectorcall_Call")), _Slot(_TP_DOC, ctypes.addressof(text)),
        _Slot(_TP_MEMBERS, ctypes.addressof(members)), _Slot(0, None),
    )  # fmt: skip
    spec = _Spec(name.encode(), HEADER + 16, 0, _DEFAULT | _VECTORCALL | _BASETYPE, slots)
    _alive.append((members, text, slots, spec))
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(_address("PyType_FromSpec"))
    return make(ctypes.addressof(spec))


_MEANT = "Base of objects that are called through @call or @bound; see the module."

if TYPE_CHECKING:

    class DirectCall:
        """Base of objects that are called through ``@call`` or ``@bound``.

        A subclass has a method ``_general`` for all that the emitted code does not take.
        """
else:
    DirectCall = _made_type("neuler.compiler.one_state.DirectCall", _MEANT)

Kind = TypeVar("Kind", bound=type)


def vectorcalled(kind: Kind) -> Kind:
    """Let a class derived from ``DirectCall`` be called as quickly as that type, once its instances are ``ready``.

    Python does not hand the flag down to a class with a ``__call__`` of its own. That one takes the calls of instances
    that are not ready: their function is null, and Python then looks for ``__call__``.
    """
    if not kind.__flags__ & _VECTORCALL:
        flags = ctypes.c_ulong.from_address(id(kind) + _TP_FLAGS)
        if flags.value == kind.__flags__:  # else the type is laid out in another way, and stays as it is
            flags.value |= _VECTORCALL
            ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
    return kind


def ready(instance: Any, words: np.ndarray | None, function: str, *held: Any) -> None:
    """Let an instance be called, by its frame; without one always the general way.

    The frame and what it points to (``held``) live as long as the instance does, whatever becomes of its attributes.
    Nothing held may refer to the instance: it would never be freed.
    """
    cells = (ctypes.c_void_p * 2).from_address(id(instance) + _FUNCTION)
    weakref.finalize(instance, _let_go, words, held).atexit = False
    seen = function != "call" or _known_layout()  # a bound call looks at no array
    cells[1] = words.ctypes.data if words is not None and seen else None
    cells[0] = _functions()[0][function]


def _let_go(*held: Any) -> None:
    """The instance is gone, and with this call the last references to what it was called on."""


def frame(one: int, pool: int, inputs: Sequence[tuple[int, ...]], output: tuple[int, ...]) -> tuple[np.ndarray, Any]:
    """The words that ``@call`` reads, and what must live as long as they do."""
    double = np.dtype(np.float64)
    shapes = [np.array(shape or (0,), dtype=np.int64) for shape in (*inputs, output)]
    words = [one, pool, len(inputs), id(np.ndarray), id(double), double.num, id(_OUT)]
    for shape, array in zip((*inputs, output), shapes, strict=True):
        words += [len(shape), array.ctypes.data, int(np.prod(shape, dtype=np.int64))]
    return np.array(words, dtype=np.uint64).view(np.int64), (shapes, double)


# ---- calls without arguments -------------------------------------------------------------------------------


def bound_frame(one: int, pool: int, arrays: Sequence[np.ndarray], result: Any) -> np.ndarray:
    """The words that ``@bound`` reads: it computes on these arrays and returns ``result``."""
    return np.array([one, pool, id(result), *(x.ctypes.data for x in arrays)], dtype=np.uint64).view(np.int64)
