"""Arrays of any strides to vectors of states, as LLVM text; and the slow way back."""

from __future__ import annotations

from dataclasses import dataclass

from neuler.compiler.lanes import Lanes


@dataclass(frozen=True)
class Loading(Lanes):
    """``@gather1`` and ``@scatter1`` (any strides), ``@spread`` and ``@pick`` (one state), ``@load`` (packed rows)."""

    def single(self) -> str:
        """The functions that move one state in and out: ``@spread`` and ``@pick``."""
        return "\n".join([self._spread(), self._pick()])

    def walks(self, axes: int) -> str:
        """``@gather2`` and ``@scatter2`` along two core axes, and so on."""
        return "\n".join([self._walk("gather", axes), self._walk("scatter", axes)])

    def _walk(self, way: str, along: int) -> str:
        """Elements one by one: all core axes, then the states; gathering repeats the last state."""
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
        axes = ", ".join(f"i64 %n{k}, i64 %s{k}" for k in range(along))
        inner = along - 1
        lines = [f"define internal void @{way}{along}(ptr %base, i64 %step, i64 %rows, ptr %m, {axes}) #1 {{"]
        for k in range(along):  # %a: index along the axis, %k: elements so far, %f: bytes from the base
            before, offset, count = (f"%i{k - 1}", f"%f{k - 1}", f"%k{k - 1}") if k else ("%0", "0", "0")
            lines += [
                f"  br label %i{k}",
                f"i{k}:",
                f"  %a{k} = phi i64 [ 0, {before} ], [ %b{k}, %end{k} ]",
                f"  %k{k} = phi i64 [ {count}, {before} ], [ %next, %end{k} ]",
                f"  %o{k} = mul i64 %a{k}, %s{k}",
                f"  %f{k} = add i64 {offset}, %o{k}",
            ]
        lines.append(f"""  %p = getelementptr i8, ptr %base, i64 %f{inner}
  %cell = getelementptr {self.vector}, ptr %m, i64 %k{inner}
  br label %lane
lane:
  %l = phi i64 [ 0, %i{inner} ], [ %l1, %lane ]
{lane}
  %o = mul i64 %row, %step
  %from = getelementptr i8, ptr %p, i64 %o
  %to = getelementptr {s}, ptr %cell, i64 %l
{move}
  %l1 = add i64 %l, 1
  %dl = icmp eq i64 %l1, {top}
  br i1 %dl, label %end{inner}, label %lane""")
        for k in reversed(range(along)):
            lines.append(f"end{k}:")
            if k == inner:
                lines.append(f"  %next = add i64 %k{inner}, 1")
            lines += [
                f"  %b{k} = add i64 %a{k}, 1",
                f"  %d{k} = icmp eq i64 %b{k}, %n{k}",
                f"  br i1 %d{k}, label %{f'end{k - 1}' if k else 'out'}, label %i{k}",
            ]
        return "\n".join([*lines, "out:", "  ret void", "}"])

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

    def _pick(self) -> str:
        """One contiguous state from the first lane."""
        s, v = self.scalar, self.vector
        return f"""define internal void @pick(ptr %base, ptr %m, i64 %n) #1 {{
  br label %next
next:
  %k = phi i64 [ 0, %0 ], [ %k1, %next ]
  %cell = getelementptr {v}, ptr %m, i64 %k
  %e = load {s}, ptr %cell
  %p = getelementptr {s}, ptr %base, i64 %k
  store {s} %e, ptr %p, align 1
  %k1 = add i64 %k, 1
  %d = icmp eq i64 %k1, %n
  br i1 %d, label %out, label %next
out:
  ret void
}}"""

    def packed(self) -> str:
        """``@load``: a full block whose coordinates lie side by side: two columns at a time through registers."""
        n, s, v = self.lanes, self.scalar, self.vector
        if n == 1:
            return self._spread().replace("@spread(ptr %base, ptr", "@load(ptr %base, i64 %step, ptr")
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
