"""Arrays of any strides to vectors of states, as LLVM text; and the slow way back."""

from __future__ import annotations

from neuler.compiler.lanes import Lanes


class Loading(Lanes):
    """Functions ``@gather`` and ``@scatter`` (any strides), ``@spread`` (one state), ``@load`` (packed rows)."""

    def emit(self) -> str:
        """All of them."""
        return "\n".join([self._walk("gather"), self._walk("scatter"), self._spread(), self._load()])

    def _walk(self, way: str) -> str:
        """Elements one by one: three core axes, then the states; gathering repeats the last state."""
        s, size = self.scalar, self.bytes
        gather = way == "gather"
        top = self.lanes if gather else "%rows"
        lane = (
            "  %past = icmp ult i64 %l, %rows\n  %last = sub i64 %rows, 1\n  %row = select i1 %past, i64 %l, i64 %last"
            if gather
            else "  %row = add i64 %l, 0"
        )
        move = (
            f"  %e = load {s}, ptr %from, align 1\n  store {s} %e, ptr %to, align {size}"
            if gather
            else f"  %e = load {s}, ptr %to, align {size}\n  store {s} %e, ptr %from, align 1"
        )
        axes = ", ".join(f"i64 %n{k}, i64 %s{k}" for k in range(3))
        return f"""define internal void @{way}(ptr %base, i64 %step, i64 %rows, ptr %m, {axes}) #1 {{
  br label %i0
i0:
  %a = phi i64 [ 0, %0 ], [ %a1, %end0 ]
  %k0 = phi i64 [ 0, %0 ], [ %k2, %end0 ]
  %oa = mul i64 %a, %s0
  br label %i1
i1:
  %b = phi i64 [ 0, %i0 ], [ %b1, %end1 ]
  %k1 = phi i64 [ %k0, %i0 ], [ %k2, %end1 ]
  %ob = mul i64 %b, %s1
  %oab = add i64 %oa, %ob
  br label %i2
i2:
  %c = phi i64 [ 0, %i1 ], [ %c1, %end2 ]
  %k = phi i64 [ %k1, %i1 ], [ %k2, %end2 ]
  %oc = mul i64 %c, %s2
  %off = add i64 %oab, %oc
  %p = getelementptr i8, ptr %base, i64 %off
  %cell = getelementptr {self.vector}, ptr %m, i64 %k
  br label %lane
lane:
  %l = phi i64 [ 0, %i2 ], [ %l1, %lane ]
{lane}
  %o = mul i64 %row, %step
  %from = getelementptr i8, ptr %p, i64 %o
  %to = getelementptr {s}, ptr %cell, i64 %l
{move}
  %l1 = add i64 %l, 1
  %dl = icmp eq i64 %l1, {top}
  br i1 %dl, label %end2, label %lane
end2:
  %k2 = add i64 %k, 1
  %c1 = add i64 %c, 1
  %dc = icmp eq i64 %c1, %n2
  br i1 %dc, label %end1, label %i2
end1:
  %b1 = add i64 %b, 1
  %db = icmp eq i64 %b1, %n1
  br i1 %db, label %end0, label %i1
end0:
  %a1 = add i64 %a, 1
  %da = icmp eq i64 %a1, %n0
  br i1 %da, label %out, label %i0
out:
  ret void
}}"""

    def _spread(self) -> str:
        """One contiguous state to every lane."""
        s, v = self.scalar, self.vector
        return f"""define internal void @spread(ptr %base, ptr %m, i64 %n) #1 {{
  br label %next
next:
  %k = phi i64 [ 0, %0 ], [ %k1, %next ]
  %p = getelementptr {s}, ptr %base, i64 %k
  %e = load {s}, ptr %p, align 1
  %i = insertelement {v} poison, {s} %e, i64 0
  %w = shufflevector {v} %i, {v} poison, <{self.lanes} x i32> zeroinitializer
  %cell = getelementptr {v}, ptr %m, i64 %k
  store {v} %w, ptr %cell
  %k1 = add i64 %k, 1
  %d = icmp eq i64 %k1, %n
  br i1 %d, label %out, label %next
out:
  ret void
}}"""

    def _load(self) -> str:
        """A full block whose coordinates lie side by side: two columns at a time through registers."""
        n, s, v = self.lanes, self.scalar, self.vector
        halves = [", ".join(f"i32 {2 * (k // 2) + half + (n if k % 2 else 0)}" for k in range(n)) for half in (0, 1)]
        lines = [
            "define internal void @load(ptr %base, i64 %step, ptr %m, i64 %n) #1 {",
            "  %pairs = lshr i64 %n, 1",
            "  %single = and i64 %n, 1",
            *self.rows(),
            "  %none = icmp eq i64 %pairs, 0",
            "  br i1 %none, label %rest, label %next",
            "next:",
            "  %k = phi i64 [ 0, %0 ], [ %k1, %next ]",
            "  %j = shl i64 %k, 1",
            f"  %m0 = getelementptr {v}, ptr %m, i64 %j",
            f"  %m1 = getelementptr {v}, ptr %m0, i64 1",
        ]
        for k in range(n):
            lines.append(f"  %p{k} = getelementptr {s}, ptr %row{k}, i64 %j")
            lines.append(f"  %r{k} = load <2 x {s}>, ptr %p{k}, align 1")
        even = self._lay(lines, "e", [f"%r{k}" for k in range(0, n, 2)])
        odd = self._lay(lines, "o", [f"%r{k}" for k in range(1, n, 2)])
        for half in (0, 1):
            lines.append(f"  %c{half} = shufflevector {v} {even}, {v} {odd}, <{n} x i32> <{halves[half]}>")
            lines.append(f"  store {v} %c{half}, ptr %m{half}")
        lines += [
            "  %k1 = add i64 %k, 1",
            "  %d = icmp eq i64 %k1, %pairs",
            "  br i1 %d, label %rest, label %next",
            "rest:",
            "  %some = icmp ne i64 %single, 0",
            "  br i1 %some, label %one, label %out",
            "one:",
            "  %last = sub i64 %n, 1",
            f"  %mq = getelementptr {v}, ptr %m, i64 %last",
        ]
        previous = "poison"
        for k in range(n):
            lines.append(f"  %q{k} = getelementptr {s}, ptr %row{k}, i64 %last")
            lines.append(f"  %g{k} = load {s}, ptr %q{k}, align 1")
            lines.append(f"  %h{k} = insertelement {v} {previous}, {s} %g{k}, i64 {k}")
            previous = f"%h{k}"
        lines += [f"  store {v} {previous}, ptr %mq", "  br label %out", "out:", "  ret void", "}"]
        return "\n".join(lines)

    def _lay(self, lines: list[str], tag: str, parts: list[str]) -> str:
        """Pairs side by side in one vector: each is broadcast and kept in its own lanes only."""
        n, pair = self.lanes, f"<2 x {self.scalar}>"
        everywhere = ", ".join(f"i32 {k % 2}" for k in range(n))
        previous = ""
        for k, part in enumerate(parts):
            name = f"%{tag}{k}"
            lines.append(f"  {name} = shufflevector {pair} {part}, {pair} poison, <{n} x i32> <{everywhere}>")
            if previous:
                keep = ", ".join(f"i1 {str(j // 2 == k).lower()}" for j in range(n))
                lines.append(f"  {name}k = select <{n} x i1> <{keep}>, {self.vector} {name}, {self.vector} {previous}")
                name += "k"
            previous = name
        return previous
