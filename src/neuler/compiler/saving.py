"""Vectors of states to packed rows, as LLVM text: square tiles are transposed in registers."""

from __future__ import annotations

from neuler.compiler.lanes import Lanes


class Saving(Lanes):
    """Function ``@save``: a full block whose coordinates lie side by side."""

    def emit(self) -> str:
        """The function, with what it needs."""
        return self._save()

    def _save(self) -> str:
        """A full block back: square tiles are transposed in registers, so that rows are stored whole.

        The last tile stores only the columns that exist; what it reads beyond them is never written.
        A last column by itself goes number by number.
        """
        n, s, v = self.lanes, self.scalar, self.vector
        head = "@save_anywhere(ptr %base, i64 %step, ptr %m, i64 %n)"
        if not self._by_lines:
            head = "@save(ptr %base, i64 %step, ptr %m, i64 %n, i1 %stream)"
        lines = [
            f"define internal void {head} #1 {{",
            *self.rows(),
            "  %alone = icmp eq i64 %n, 1",
            "  br i1 %alone, label %single, label %tile",
            "tile:",
            "  %j = phi i64 [ 0, %0 ], [ %j1, %kept ]",
        ]
        for k in range(n):
            lines.append(f"  %at{k} = add i64 %j, {k}")
            lines.append(f"  %m{k} = getelementptr {v}, ptr %m, i64 %at{k}")
            lines.append(f"  %c{k} = load {v}, ptr %m{k}")
            lines.append(f"  %p{k} = getelementptr {s}, ptr %row{k}, i64 %j")
        rows = self._transposed(lines, [f"%c{k}" for k in range(n)])
        lines += [
            f"  %j1 = add i64 %j, {n}",
            "  %whole = icmp ule i64 %j1, %n",
            "  br i1 %whole, label %full, label %part",
            "full:",
            *(f"  store {v} {row}, ptr %p{k}, align 1" for k, row in enumerate(rows)),
            "  br label %kept",
            "part:",
            "  %left = sub i64 %n, %j",
            *(self._two_or_three(rows) if n == 4 else self._some(rows)),
            "  br label %kept",
            "kept:",
            "  %after = sub i64 %n, %j1",
            "  %more = icmp sgt i64 %after, 1",
            "  br i1 %more, label %tile, label %end",
            "end:",
            "  %some = icmp eq i64 %after, 1",
            "  br i1 %some, label %single, label %out",
            "single:",
            "  %last = sub i64 %n, 1",
            f"  %mq = getelementptr {v}, ptr %m, i64 %last",
            f"  %h = load {v}, ptr %mq",
            *(
                f"  %q{k} = getelementptr {s}, ptr %row{k}, i64 %last\n"
                f"  %g{k} = extractelement {v} %h, i64 {k}\n"
                f"  store {s} %g{k}, ptr %q{k}, align 1"
                for k in range(n)
            ),
            "  br label %out",
            "out:",
            "  ret void",
            "}",
            f"declare void {self._masked}({v}, ptr, i32, <{n} x i1>)",
        ]
        return "\n".join([*lines, *(self._save_by_lines() if self._by_lines else [])])

    def _some(self, rows: list[str]) -> list[str]:
        """The first %left columns of a tile, by a mask."""
        n, v = self.lanes, self.vector
        count = ", ".join(f"i64 {k}" for k in range(n))
        return [
            f"  %i = insertelement <{n} x i64> poison, i64 %left, i64 0",
            f"  %b = shufflevector <{n} x i64> %i, <{n} x i64> poison, <{n} x i32> zeroinitializer",
            f"  %mask = icmp ult <{n} x i64> <{count}>, %b",
            *(
                f"  call void {self._masked}({v} {row}, ptr %p{k}, i32 1, <{n} x i1> %mask)"
                for k, row in enumerate(rows)
            ),
        ]

    def _two_or_three(self, rows: list[str]) -> list[str]:
        """The same of a tile of four, without a mask: machines with vectors of 32 bytes are slow at masked stores."""
        s, v = self.scalar, self.vector
        lines = []
        for k, row in enumerate(rows):
            lines.append(f"  %two{k} = shufflevector {v} {row}, {v} poison, <2 x i32> <i32 0, i32 1>")
            lines.append(f"  store <2 x {s}> %two{k}, ptr %p{k}, align 1")
        lines += ["  %odd = icmp eq i64 %left, 3", "  br i1 %odd, label %third, label %kept", "third:"]
        for k, row in enumerate(rows):
            lines.append(f"  %third{k} = extractelement {v} {row}, i64 2")
            lines.append(f"  %q2_{k} = getelementptr {s}, ptr %p{k}, i64 2")
            lines.append(f"  store {s} %third{k}, ptr %q2_{k}, align 1")
        return lines

    @property
    def _by_lines(self) -> bool:
        """Whether a vector is a cache line and can be shifted across two."""
        return self.lanes == 8 and self.scalar == "double"

    def _save_by_lines(self) -> list[str]:
        """The same with every store on whole cache lines, for rows that begin anywhere on a number.

        A row's line s takes the end of tile s - 1 and the beginning of tile s; how much of each depends on
        where the row begins. Lanes outside the row are masked. It pays for long rows that cross lines, and
        for results larger than the caches: whole lines can go to memory without being read first.
        """
        n, v, w = self.lanes, self.vector, f"<{self.lanes} x i64>"
        lane = ", ".join(f"i64 {k}" for k in range(n))
        same = ", ".join(f"i32 {k}" for k in range(n))
        lines = [
            "define internal void @save(ptr %base, i64 %step, ptr %m, i64 %n, i1 %stream) #1 {",
            "  %place = ptrtoint ptr %base to i64",
            "  %mixed = or i64 %place, %step",
            "  %odd = and i64 %mixed, 7",
            "  %even = icmp eq i64 %odd, 0",
            "  %shift = and i64 %mixed, 63",
            "  %crosses = icmp ne i64 %shift, 0",
            f"  %long = icmp uge i64 %n, {3 * n}",
            "  %gains = or i1 %crosses, %stream",
            "  %pays = and i1 %gains, %long",
            "  %fit = and i1 %even, %pays",
            "  br i1 %fit, label %go, label %fall",
            "fall:",
            "  call void @save_anywhere(ptr %base, i64 %step, ptr %m, i64 %n)",
            "  ret void",
            "go:",
            *self.rows(),
            *self._spread_number("top", "%n"),
        ]
        for k in range(n):
            lines += [
                f"  %w{k} = ptrtoint ptr %row{k} to i64",
                f"  %in{k} = and i64 %w{k}, 63",
                f"  %a{k} = lshr i64 %in{k}, 3",
                f"  %back{k} = sub i64 0, %in{k}",
                f"  %line{k} = getelementptr i8, ptr %row{k}, i64 %back{k}",
                f"  %less{k} = sub i64 0, %a{k}",
                *self._spread_number(f"first{k}", f"%less{k}"),
                f"  %col{k} = add {w} %first{k}, <{lane}>",
                f"  %pick{k} = add {w} %col{k}, splat (i64 {n})",
            ]
        lines += ["  br label %tile", "tile:", "  %j = phi i64 [ 0, %go ], [ %j1, %kept ]"]
        for k in range(n):
            lines.append(f"  %old{k} = phi {v} [ zeroinitializer, %go ], [ %R{k}, %kept ]")
        lines += self._spread_number("jj", "%j")
        for k in range(n):
            lines.append(f"  %at{k} = add i64 %j, {k}")
            lines.append(f"  %m{k} = getelementptr {v}, ptr %m, i64 %at{k}")
            lines.append(f"  %c{k} = load {v}, ptr %m{k}")
        rows = self._transposed(lines, [f"%c{k}" for k in range(n)])
        for k, row in enumerate(rows):
            lines += [
                f"  %R{k} = shufflevector {v} {row}, {v} poison, <{n} x i32> <{same}>",
                f"  %d{k} = call {v} @llvm.x86.avx512.vpermi2var.pd.512({v} %old{k}, {w} %pick{k}, {v} %R{k})",
                f"  %p{k} = getelementptr {self.scalar}, ptr %line{k}, i64 %j",
            ]
        lines += [
            f"  %j1 = add i64 %j, {n}",
            "  %begun = icmp ne i64 %j, 0",
            "  %inside = icmp ule i64 %j1, %n",
            "  %middle = and i1 %begun, %inside",
            "  %past_caches = and i1 %middle, %stream",
            "  br i1 %past_caches, label %whole, label %part",
            "whole:",
            *(f"  store {v} %d{k}, ptr %p{k}, align 64, !nontemporal !1" for k in range(n)),
            "  br label %kept",
            "part:",
        ]
        for k in range(n):
            lines += [
                f"  %here{k} = add {w} %col{k}, %jj",
                f"  %mask{k} = icmp ult {w} %here{k}, %top",
                f"  call void {self._masked}({v} %d{k}, ptr %p{k}, i32 64, <{n} x i1> %mask{k})",
            ]
        return [
            *lines,
            "  br label %kept",
            "kept:",
            f"  %past = add i64 %n, {n - 1}",  # the last row may begin at the end of a line
            "  %more = icmp ule i64 %j1, %past",
            "  br i1 %more, label %tile, label %out",
            "out:",
            "  ret void",
            "}",
            f"declare {v} @llvm.x86.avx512.vpermi2var.pd.512({v}, {w}, {v})",
        ]

    def _spread_number(self, name: str, number: str) -> list[str]:
        """One integer in every lane."""
        n = self.lanes
        return [
            f"  %{name}_1 = insertelement <{n} x i64> poison, i64 {number}, i64 0",
            f"  %{name} = shufflevector <{n} x i64> %{name}_1, <{n} x i64> poison, <{n} x i32> zeroinitializer",
        ]

    @property
    def _masked(self) -> str:
        return f"@llvm.masked.store.v{self.lanes}f{8 * self.bytes}.p0"

    def _transposed(self, lines: list[str], names: list[str]) -> list[str]:
        """A square of vectors, rows for columns: log2 steps of exchanges between pairs of vectors."""
        n, v = self.lanes, self.vector
        half = 1
        while half < n:
            after = list(names)
            for i in (k for k in range(n) if not k & half):
                for upper in (0, 1):
                    pick = [(c | half if upper else c & ~half) + (n if c & half else 0) for c in range(n)]
                    name = f"%x{half}_{i + upper * half}"
                    index = ", ".join(f"i32 {p}" for p in pick)
                    a, b = names[i], names[i + half]
                    lines.append(f"  {name} = shufflevector {v} {a}, {v} {b}, <{n} x i32> <{index}>")
                    after[i + upper * half] = name
            names = after
            half *= 2
        return names
