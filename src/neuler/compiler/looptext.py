"""``@loop`` of a time loop, as LLVM text: NumPy's inner loop around blocks of rows, steps, and vectors of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuler.compiler.program import ALARM, COUNTS, TIME, Program

if TYPE_CHECKING:
    from neuler.compiler.timeloop import TimeLoop


class LoopText:
    """Writes ``@loop``, the function that a call of a time loop runs."""

    def __init__(self, owner: TimeLoop, numbers: dict[int, int]) -> None:
        self.owner, self.program, self.numbers = owner, owner.program, numbers
        self.lines: list[str] = []
        self.operands = [*self.program.inputs, *self.program.outputs]
        self.dimensions = dimensions(self.program)
        self.long = [len(names) > len(x.shape) for names, x in zip(self.dimensions, self.operands, strict=True)]

    def emit(self) -> list[str]:
        """The lines; the last two end the function."""
        self.lines = ["define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) #0 {"]
        self._head()
        self._blocks()
        return [*self.lines, "  ret void", "}"]

    def _head(self) -> None:
        """Bases and strides of all operands, and the clock, which is one for all rows."""
        add, size = self.lines.append, len(self.operands)
        at = size
        for k, long in enumerate(self.long):
            add(f"  %ap{k} = getelementptr ptr, ptr %args, i64 {k}")
            add(f"  %base{k} = load ptr, ptr %ap{k}")
            for name, place in (("step", k), ("by", at if long else -1), ("s", at + long)):
                if place < 0 or (name == "s" and not self.operands[k].shape):
                    continue
                add(f"  %{name}p{k} = getelementptr i64, ptr %steps, i64 {place}")
                add(f"  %{name}{k} = load i64, ptr %{name}p{k}")
            at += len(self.dimensions[k])
        add("  %count = load i64, ptr %dims")
        for number, name in enumerate(COUNTS):
            add(f"  %clock{name}o = mul i64 %s0, {number}")
            add(f"  %clock{name}p = getelementptr i8, ptr %base0, i64 %clock{name}o")
            add(f"  %clock{name}d = load double, ptr %clock{name}p, align 1")
            add(f"  %clock{name} = fptosi double %clock{name}d to i64")
        add(f"  %live = alloca [{self.owner.groups} x i64], align 8")
        add("  %any = icmp sgt i64 %count, 0")
        add("  br i1 %any, label %block, label %done")

    def _group(self, name: str, row: str) -> list[str]:
        """Scratch and rows of group %g of the block: %m and %rows under the name."""
        owner = self.owner
        return [
            f"  %{name}a = mul i64 %{name}g, {owner.slots * owner.lanes * 8}",
            f"  %{name}m = getelementptr i8, ptr %m, i64 %{name}a",
            f"  %{name}o = mul i64 %{name}g, {owner.lanes}",
            f"  %{name}row = add i64 {row}, %{name}o",
            f"  %{name}left = sub i64 %count, %{name}row",
            f"  %{name}few = icmp slt i64 %{name}left, {owner.lanes}",
            f"  %{name}rows = select i1 %{name}few, i64 %{name}left, i64 {owner.lanes}",
            f"  %{name}lp = getelementptr i64, ptr %live, i64 %{name}g",
        ]

    def _fetch(self, k: int, name: str, offset: str = "") -> None:
        """An operand's rows into its variable."""
        add, operand = self.lines.append, self.operands[k]
        self._address(k, name, offset)
        add(f"  %{name}v{k} = getelementptr i8, ptr %{name}m, i64 {self.owner.at(operand.name)}")
        add(
            f"  call void @fetch(ptr %{name}p{k}, i64 %step{k}, i64 %{name}rows, ptr %{name}v{k}, "
            f"i64 {operand.size}, i64 {self._side(k)})"
        )

    def _look(self, k: int, index: str) -> None:
        """Lines of a table into its variable, by the numbers in another one."""
        add, operand = self.lines.append, self.operands[k]
        self._address(k, "w", "")
        add(f"  %wv{k} = getelementptr i8, ptr %wm, i64 {self.owner.at(operand.name)}")
        add(f"  %wi{k} = getelementptr i8, ptr %wm, i64 {self.owner.at(index)}")
        add(
            f"  call void @lookup(ptr %wp{k}, i64 %step{k}, i64 %wrows, ptr %wv{k}, i64 {operand.size}, "
            f"i64 {self._side(k)}, ptr %wi{k}, i64 %by{k})"
        )

    def _side(self, k: int) -> str:
        return f"%s{k}" if self.operands[k].shape else "8"

    def _address(self, k: int, name: str, offset: str) -> None:
        add = self.lines.append
        add(f"  %{name}d{k} = mul i64 %{name}row, %step{k}")
        if offset:
            add(f"  %{name}e{k} = add i64 %{name}d{k}, {offset}")
        add(f"  %{name}p{k} = getelementptr i8, ptr %base{k}, i64 %{name}{'e' if offset else 'd'}{k}")

    def _put(self, k: int, name: str, offset: str = "") -> None:
        """A variable to an operand's rows, with NaN for those that are gone."""
        add, operand, label = self.lines.append, self.operands[k], f"{name}{k}"
        self._address(k, name, offset)
        add(f"  %{name}v{k} = getelementptr i8, ptr %{name}m, i64 {self.owner.at(operand.name)}")
        if k == len(self.operands) - 1:  # the event itself
            add(f"  %{label}from = getelementptr i8, ptr %{name}v{k}, i64 0")
        else:
            add(f"  br i1 %{name}lost, label %{label}hide, label %{label}plain, !prof !0")
            add(f"{label}hide:")
            add(f"  call void @hidden(ptr %{name}m, ptr %{name}v{k}, i64 {operand.size})")
            add(f"  %{label}w = getelementptr i8, ptr %{name}m, i64 {self.owner.emitter.offset(self.owner.shown)}")
            add(f"  br label %{label}go")
            add(f"{label}plain:")
            add(f"  br label %{label}go")
            add(f"{label}go:")
            add(f"  %{label}from = phi ptr [ %{label}w, %{label}hide ], [ %{name}v{k}, %{label}plain ]")
        add(
            f"  call void @put(ptr %{name}p{k}, i64 %step{k}, i64 %{name}rows, ptr %{label}from, "
            f"i64 {operand.size}, i64 {self._side(k)})"
        )

    def _lost(self, name: str) -> list[str]:
        """Whether some row of the group is gone."""
        owner = self.owner
        n, v = owner.lanes, owner.vector
        return [
            f"  %{name}gp = getelementptr i8, ptr %{name}m, i64 {owner.emitter.offset(owner.gone)}",
            f"  %{name}gv = load {v}, ptr %{name}gp, align 8",
            f"  %{name}gc = fcmp one {v} %{name}gv, zeroinitializer",
            f"  %{name}gb = bitcast <{n} x i1> %{name}gc to i{n}",
            f"  %{name}lost = icmp ne i{n} %{name}gb, 0",
        ]

    def _blocks(self) -> None:
        owner, program = self.owner, self.program
        groups, lanes = owner.groups, owner.lanes
        first_stream = 2 + len(program.given)
        first_sample = first_stream + len(program.streams)
        first_kept = len(program.inputs)
        first_last = first_kept + len(program.kept)
        add = self.lines.append

        def extend(*lines: str) -> None:
            self.lines.extend(lines)

        extend(
            "block:",
            "  %i = phi i64 [ 0, %claimed0 ], [ %i1, %blocked ]",
            "  br label %begin",
            # ---- all groups: what is read once
            "begin:",
            "  %bg = phi i64 [ 0, %block ], [ %bg1, %begun ]",
            *self._group("b", "%i"),
            "  %bnone = icmp sle i64 %bleft, 0",
            "  store i64 0, ptr %blp",
            "  br i1 %bnone, label %begun, label %bread",
            "bread:",
        )
        self._fetch(1, "b")
        for k in range(2, first_stream):
            self._fetch(k, "b")
        for recipe in program.work.once:
            add(f"  call void @part{self.numbers[id(recipe)]}(ptr %bm)")
        extend(
            "  %blive = call i64 @settle(ptr %bm)",
            "  store i64 %blive, ptr %blp",
            "  br label %begun",
            "begun:",
            "  %bg1 = add i64 %bg, 1",
            f"  %bend = icmp eq i64 %bg1, {groups}",
            "  br i1 %bend, label %time, label %begin",
            # ---- all steps
            "time:",
            "  %t = phi i64 [ 0, %begun ], [ %t1, %stepped ]",
            "  %wait = phi i64 [ %clockwait, %begun ], [ %wait2, %stepped ]",
            "  %due = phi i64 [ %clockdue, %begun ], [ %due2, %stepped ]",
            "  %row = phi i64 [ 0, %begun ], [ %row1, %stepped ]",
            "  %sampled = icmp eq i64 %wait, 0",
            "  %wait0 = select i1 %sampled, i64 %clockperiod, i64 %wait",
            "  %wait2 = sub i64 %wait0, 1",
            "  %due1 = sub i64 %due, 1",
            "  %keep = icmp eq i64 %due1, 0",
            "  %due2 = select i1 %keep, i64 %clockevery, i64 %due1",
            "  %first = icmp eq i64 %t, 0",
            "  br label %group",
            "group:",
            "  %g = phi i64 [ 0, %time ], [ %g1, %grouped ]",
            "  %wg = add i64 %g, 0",
            *self._group("w", "%i"),
            "  %wnone = icmp sle i64 %wleft, 0",
            "  br i1 %wnone, label %grouped, label %there",
            "there:",
            "  %wlive = load i64, ptr %wlp",
            "  %works = icmp ne i64 %wlive, 0",
            "  br i1 %works, label %work, label %saving",
            "work:",
        )
        looked = dict(program.lookups)
        for k in range(first_stream, first_sample):
            if self.operands[k].name in looked:
                self._look(k, looked[self.operands[k].name])
                extend(f"  br label %had{k}", f"had{k}:")
                continue
            extend(
                f"  %moves{k} = icmp ne i64 %by{k}, 0",
                f"  %read{k} = or i1 %moves{k}, %first",
                f"  br i1 %read{k}, label %fetch{k}, label %had{k}",
                f"fetch{k}:",
                f"  %away{k} = mul i64 %t, %by{k}",
            )
            self._fetch(k, "w", f"%away{k}")
            extend(f"  br label %had{k}", f"had{k}:")
        self._time()
        if program.work.control:
            extend("  br i1 %sampled, label %sample, label %held", "sample:")
            for k in range(first_sample, first_kept):
                add(f"  %away{k} = mul i64 %t, %by{k}")
                self._fetch(k, "w", f"%away{k}")
            for recipe in program.work.control:
                add(f"  call void @part{self.numbers[id(recipe)]}(ptr %wm)")
            extend("  br label %held", "held:")
        before = "held" if program.work.control else f"had{first_sample - 1}" if program.streams else "work"
        targets = {k - part.back for k, part in enumerate(program.work.parts) if part.back}
        for k, part in enumerate(program.work.parts):
            if k in targets:
                extend(f"  br label %z{k}", f"z{k}:")
                before = f"z{k}"
            call = f"  call void @part{self.numbers[id(part.recipe)]}(ptr %wm)"
            if not part.unless:
                add(call)
                continue
            if part.back:
                extend(
                    *self._below_one(f"u{k}", part.unless),
                    f"  br i1 %u{k}, label %x{k}, label %y{k}, !prof !2",
                    f"y{k}:",
                    call,
                    f"  br label %z{k - part.back}",
                    f"x{k}:",
                )
                before = f"x{k}"
                continue
            extend(
                f"  br label %r{k}",
                f"r{k}:",
                f"  %n{k} = phi i64 [ 0, %{before} ], [ %m{k}, %y{k} ]",
                *self._below_one(f"u{k}", part.unless),
                f"  %d{k} = icmp eq i64 %n{k}, {part.times}",
                f"  %o{k} = or i1 %u{k}, %d{k}",
                f"  br i1 %o{k}, label %x{k}, label %y{k}, !prof !2",
                f"y{k}:",
                call,
                f"  %m{k} = add i64 %n{k}, 1",
                f"  br label %r{k}",
                f"x{k}:",
            )
            before = f"x{k}"
        extend(
            *self._below_one("well", ALARM.name),
            "  br i1 %well, label %saving, label %happens, !prof !2",
            "happens:",
            "  %done1 = add i64 %t, 1",
            "  %done2 = add i64 %done1, %clockbefore",
            "  call void @event(ptr %wm, i64 %done2)",
            "  br label %saving",
            "saving:",
            f"  %loud = phi i1 [ false, %there ], [ false, %{before} ], [ true, %happens ]",
            "  br i1 %keep, label %save, label %saved",
            "save:",
            *self._lost("w"),
        )
        for k in range(first_kept, first_last):
            add(f"  %away{k} = mul i64 %row, %by{k}")
            self._put(k, "w", f"%away{k}")
        extend(
            "  br label %saved",
            "saved:",
            "  br i1 %loud, label %settle, label %grouped, !prof !0",
            "settle:",
            "  %still = call i64 @settle(ptr %wm)",
            "  store i64 %still, ptr %wlp",
            "  br label %grouped",
            "grouped:",
            "  %g1 = add i64 %g, 1",
            f"  %gend = icmp eq i64 %g1, {groups}",
            "  br i1 %gend, label %stepped, label %group",
            "stepped:",
            "  %t1 = add i64 %t, 1",
            "  %kept1 = zext i1 %keep to i64",
            "  %row1 = add i64 %row, %kept1",
            "  %tend = icmp eq i64 %t1, %clocktotal",
            "  br i1 %tend, label %finish, label %time",
            # ---- all groups: what is written at the end
            "finish:",
            "  %fg = phi i64 [ 0, %stepped ], [ %fg1, %finished ]",
            *self._group("f", "%i"),
            "  %fnone = icmp sle i64 %fleft, 0",
            "  br i1 %fnone, label %finished, label %fwrite",
            "fwrite:",
            *self._lost("f"),
        )
        for k in range(first_last, len(self.operands)):
            self._put(k, "f")
        extend(
            "  br label %finished",
            "finished:",
            "  %fg1 = add i64 %fg, 1",
            f"  %fend = icmp eq i64 %fg1, {groups}",
            "  br i1 %fend, label %blocked, label %finish",
            "blocked:",
            f"  %i1 = add i64 %i, {groups * lanes}",
            "  %more = icmp slt i64 %i1, %count",
            "  br i1 %more, label %block, label %done",
            "done:",
        )
        entry = "claimed" if owner.emitter.loop(owner.slots * groups).pooled else "0"
        self.lines = [line.replace("%claimed0", f"%{entry}") for line in self.lines]

    def _below_one(self, name: str, variable: str) -> list[str]:
        """Whether a variable is, in all lanes."""
        owner = self.owner
        n, v = owner.lanes, owner.vector
        return [
            f"  %{name}p = getelementptr i8, ptr %wm, i64 {owner.at(variable)}",
            f"  %{name}v = load {v}, ptr %{name}p, align 8",
            f"  %{name}c = fcmp olt {v} %{name}v, {owner.emitter.constant(1.0)}",
            f"  %{name}b = bitcast <{n} x i1> %{name}c to i{n}",
            f"  %{name} = icmp eq i{n} %{name}b, -1",
        ]

    def _time(self) -> None:
        """t = (start + step) dt."""
        owner = self.owner
        if TIME not in self.program.variables:
            return
        v, n = owner.vector, owner.lanes
        self.lines += [
            "  %now = add i64 %clockstart, %t",
            "  %nowd = sitofp i64 %now to double",
            f"  %now1 = insertelement {v} poison, double %nowd, i64 0",
            f"  %nowv = shufflevector {v} %now1, {v} poison, <{n} x i32> zeroinitializer",
            f"  %dtp = getelementptr i8, ptr %wm, i64 {owner.at('dt')}",
            f"  %dtv = load {v}, ptr %dtp, align 8",
            f"  %time_v = fmul {v} %nowv, %dtv",
            f"  %tp = getelementptr i8, ptr %wm, i64 {owner.at(TIME)}",
            f"  store {v} %time_v, ptr %tp, align 8",
        ]


def dimensions(program: Program) -> list[list[str]]:
    """Of every operand of the call its core dimensions, as they stand in NumPy's signature."""
    streams, before = len(program.streams) + len(program.samples), len(program.inputs)
    long = [f"s{k}" for k in range(streams)]
    axes = [[], [], *([] for _ in program.given), *([name] for name in long)]
    axes += [*(["k"] for _ in program.kept), *([] for _ in program.last), []]
    assert len(axes) == before + len(program.outputs)
    return [
        [*axis, *map(str, operand.shape)]
        for axis, operand in zip(axes, (*program.inputs, *program.outputs), strict=True)
    ]


def signature(program: Program) -> str:
    """The call's signature as NumPy writes those of gufuncs."""
    texts = [f"({','.join(names)})" for names in dimensions(program)]
    before = len(program.inputs)
    return f"{','.join(texts[:before])}->{','.join(texts[before:])}"
