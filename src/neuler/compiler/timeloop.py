"""A time loop as LLVM text: many steps of many rows in one call, without a return to Python.

``@loop`` has NumPy's inner-loop signature. It takes blocks of a few vectors of rows; all steps of a block are done
before the next block. Values stay in scratch, which fits in the first cache; the vectors of a block take turns, so
that one begins while the results of the other are under way. A row to which something happens is marked; from then
on its lane repeats the work of another row, and what is written for it is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuler.compiler.llvm import Emitter
from neuler.compiler.looptext import LoopText
from neuler.compiler.program import ALARM, EVENT, Program
from neuler.compiler.schedule import Schedule
from neuler.compiler.target import Target

LIMIT = 3.0
"""The status of a row that is kept as it is at the step of its event."""


class TimeLoop:
    """Writes the module of one program; double precision."""

    def __init__(self, program: Program, schedules: Sequence[Schedule], target: Target) -> None:
        self.program, self.schedules = program, schedules
        self.groups = 2 if len(program.work.parts) == 1 else 1
        """Vectors of rows that take turns: where a step is one part, the next one waits for all of it."""
        self.emitter = Emitter(schedules[0], target, "float64")
        self.lanes, self.vector = self.emitter.lanes, self.emitter.vector
        self.mask = f"<{self.lanes} x i1>"
        self.widest = max(operand.size for operand in (*program.kept, *program.last, EVENT))
        self.slots = max(schedule.slots for schedule in schedules) + self.widest + 1
        """Of one vector of rows; the last ones hold what is written for rows that are marked, and the mask of these."""
        self.shown = self.slots - self.widest - 1
        self.gone = self.slots - 1

    @property
    def pool(self) -> int:
        """Bytes of scratch that a call takes from a pool, once the module is written."""
        return self.emitter.pool

    def module(self) -> str:
        """The LLVM text of the whole module."""
        emitter, program = self.emitter, self.program
        body: list[str] = []
        for number, schedule in enumerate(self.schedules):
            functions, calls = emitter.stages(schedule, f"p{number}")
            sets = [self._store(f"%c{slot}", slot, emitter.constant(value)) for slot, value in schedule.constants]
            lines = [f"define internal void @part{number}(ptr %m) #0 {{", *calls]
            body += [*functions, "\n".join([*lines, *(line for pair in sets for line in pair), "  ret void", "}"])]
        numbers = {id(recipe): number for number, recipe in enumerate(program.recipes)}
        body += [self._event(numbers[id(program.work.diagnose)]), self._settle(), self._hidden()]
        if program.lookups:
            body.append(self._lookup())
        loop = emitter.loop(self.slots * self.groups)
        text = LoopText(self, numbers).emit()
        body.append("\n".join([*text[:1], *loop.claim(), *text[1:-2]]))
        body += [*loop.release(), *text[-2:]]
        return emitter.whole(body)

    def at(self, name: str, entry: int = 0) -> int:
        """Bytes from the start of a vector of rows' scratch to a variable."""
        return self.emitter.offset(self.program.variables[name][0] + entry)

    def _store(self, name: str, slot: int, value: str) -> tuple[str, str]:
        return (
            f"  {name} = getelementptr i8, ptr %m, i64 {self.emitter.offset(slot)}",
            f"  store {self.vector} {value}, ptr {name}, align 8",
        )

    def _load(self, name: str, offset: int) -> list[str]:
        return [
            f"  {name}p = getelementptr i8, ptr %m, i64 {offset}",
            f"  {name} = load {self.vector}, ptr {name}p, align 8",
        ]

    def _lookup(self) -> str:
        """``@lookup``: of every row of a batch the line of a table whose number is in its lane; NaN counts as zero.

        Lanes behind the last row get none: what they compute is not written.
        """
        given = "ptr %from, i64 %step, i64 %rows, ptr %to, i64 %n, i64 %side, ptr %at, i64 %by"
        return f"""define internal void @lookup({given}) #1 {{
  br label %lane
lane:
  %l = phi i64 [ 0, %0 ], [ %l1, %laned ]
  %ap = getelementptr double, ptr %at, i64 %l
  %a = load double, ptr %ap, align 8
  %number = fcmp ord double %a, 0.0
  %safe = select i1 %number, double %a, double 0.0
  %i = fptosi double %safe to i64
  %ro = mul i64 %l, %step
  %io = mul i64 %i, %by
  %o = add i64 %ro, %io
  %p = getelementptr i8, ptr %from, i64 %o
  %q = getelementptr double, ptr %to, i64 %l
  br label %next
next:
  %k = phi i64 [ 0, %lane ], [ %k1, %next ]
  %ko = mul i64 %k, %side
  %xp = getelementptr i8, ptr %p, i64 %ko
  %x = load double, ptr %xp, align 1
  %yo = mul i64 %k, {self.lanes}
  %yp = getelementptr double, ptr %q, i64 %yo
  store double %x, ptr %yp, align 8
  %k1 = add i64 %k, 1
  %end = icmp eq i64 %k1, %n
  br i1 %end, label %laned, label %next
laned:
  %l1 = add i64 %l, 1
  %all = icmp eq i64 %l1, %rows
  br i1 %all, label %out, label %lane
out:
  ret void
}}"""

    # ---- rows that are gone --------------------------------------------------------------------------

    def _hidden(self) -> str:
        """``@hidden``: a variable with NaN in the lanes that are gone, into ``shown``."""
        v, offset = self.vector, self.emitter.offset
        return f"""define internal void @hidden(ptr %m, ptr %from, i64 %n) #2 {{
  %gp = getelementptr i8, ptr %m, i64 {offset(self.gone)}
  %g = load {v}, ptr %gp, align 8
  %dead = fcmp one {v} %g, zeroinitializer
  %to = getelementptr i8, ptr %m, i64 {offset(self.shown)}
  br label %next
next:
  %k = phi i64 [ 0, %0 ], [ %k1, %next ]
  %p = getelementptr {v}, ptr %from, i64 %k
  %x = load {v}, ptr %p, align 8
  %y = select {self.mask} %dead, {v} {self.emitter.constant(float("nan"))}, {v} %x
  %q = getelementptr {v}, ptr %to, i64 %k
  store {v} %y, ptr %q, align 8
  %k1 = add i64 %k, 1
  %end = icmp eq i64 %k1, %n
  br i1 %end, label %out, label %next
out:
  ret void
}}"""

    # ---- what happens to rows -----------------------------------------------------------------------

    def _event(self, diagnose: int) -> str:
        """``@event``: rows with an alarm get a status, a step and a joint, unless they have them."""
        v, mask, constant = self.vector, self.mask, self.emitter.constant
        found = {operand.name: operand for operand in self.program.work.diagnose.outputs}
        lines = [
            "define internal void @event(ptr %m, i64 %done) #2 {",
            f"  call void @part{diagnose}(ptr %m)",
            *self._load("%alarm", self.at(ALARM.name)),
            *self._load("%status", self.at(EVENT.name, 0)),
            *self._load("%when", self.at(EVENT.name, 1)),
            *self._load("%joint", self.at(EVENT.name, 2)),
            *self._load("%why", self.at(found["status"].name)),
            *self._load("%who", self.at(found["joint"].name)),
            *self._load("%gone", self.emitter.offset(self.gone)),
            f"  %loud = fcmp uge {v} %alarm, {constant(1.0)}",
            f"  %new = fcmp oeq {v} %status, zeroinitializer",
            f"  %now = and {mask} %loud, %new",
            "  %number = sitofp i64 %done to double",
            f"  %n1 = insertelement {v} poison, double %number, i64 0",
            f"  %n = shufflevector {v} %n1, {v} poison, <{self.lanes} x i32> zeroinitializer",
            f"  %status1 = select {mask} %now, {v} %why, {v} %status",
            f"  %when1 = select {mask} %now, {v} %n, {v} %when",
            f"  %joint1 = select {mask} %now, {v} %who, {v} %joint",
            f"  store {v} %status1, ptr %statusp, align 8",
            f"  store {v} %when1, ptr %whenp, align 8",
            f"  store {v} %joint1, ptr %jointp, align 8",
            f"  %shown = fcmp oeq {v} %why, {constant(LIMIT)}",
            f"  %lost = xor {mask} %shown, splat (i1 true)",
            f"  %over = and {mask} %now, %lost",
            f"  %gone1 = select {mask} %over, {v} {constant(1.0)}, {v} %gone",
            f"  store {v} %gone1, ptr %gonep, align 8",
            "  ret void",
            "}",
        ]
        return "\n".join(lines)

    def _settle(self) -> str:
        """``@settle``: rows with a status are gone, and their lanes repeat the first row without; 0 where none is."""
        v, n = self.vector, self.lanes
        lines = [
            "define internal i64 @settle(ptr %m) #2 {",
            *self._load("%status", self.at(EVENT.name, 0)),
            f"  %dead = fcmp one {v} %status, zeroinitializer",
            f"  %gone = uitofp {self.mask} %dead to {v}",
            f"  %gonep = getelementptr i8, ptr %m, i64 {self.emitter.offset(self.gone)}",
            f"  store {v} %gone, ptr %gonep, align 8",
            f"  %live = xor {self.mask} %dead, splat (i1 true)",
            f"  %bits = bitcast {self.mask} %live to i{n}",
            f"  %none = icmp eq i{n} %bits, 0",
            "  br i1 %none, label %out, label %some",
            "some:",
            f"  %first = call i{n} @llvm.cttz.i{n}(i{n} %bits, i1 true)",
            f"  %lane = zext i{n} %first to i64",
            "  br label %next",
            "next:",
            f"  %k = phi i64 [ {EVENT.size}, %some ], [ %k1, %next ]",  # the event itself stays
            f"  %p = getelementptr {v}, ptr %m, i64 %k",
            f"  %x = load {v}, ptr %p, align 8",
            f"  %e = extractelement {v} %x, i64 %lane",
            f"  %i = insertelement {v} poison, double %e, i64 0",
            f"  %s = shufflevector {v} %i, {v} poison, <{n} x i32> zeroinitializer",
            f"  %y = select {self.mask} %dead, {v} %s, {v} %x",
            f"  store {v} %y, ptr %p, align 8",
            "  %k1 = add i64 %k, 1",
            f"  %end = icmp eq i64 %k1, {self.program.first}",
            "  br i1 %end, label %out, label %next",
            "out:",
            "  %some1 = xor i1 %none, true",
            "  %any = zext i1 %some1 to i64",
            "  ret i64 %any",
            "}",
            f"declare i{n} @llvm.cttz.i{n}(i{n}, i1)",
        ]
        return "\n".join(lines)
