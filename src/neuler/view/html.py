"""HTML that is safe by construction: whatever is not already markup is escaped."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence

from neuler.plain import shown


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(x: object) -> Markup:
    """HTML of anything: markup as it is, all else escaped.

    >>> escape("<script>")
    '&lt;script&gt;'
    """
    return x if isinstance(x, Markup) else Markup(html.escape(shown(str(x)), quote=True))


def tag(name: str, *children: object, **attributes: str) -> Markup:
    """An element with escaped children and attributes; ``cls`` is its class.

    >>> tag("p", "a < b", cls="note")
    '<p class="note">a &lt; b</p>'
    """
    pairs = "".join(f' {"class" if key == "cls" else key}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{pairs}>{''.join(escape(child) for child in children)}</{name}>")


def join(parts: Iterable[object], separator: str = "\n") -> Markup:
    """The parts one after another as markup; text among them is escaped."""
    return Markup(separator.join(escape(part) for part in parts))


def table(head: Sequence[object], rows: Iterable[Sequence[object]], left: int = 1) -> Markup:
    """A table that scrolls sideways under its first column; the first ``left`` columns to the left.

    On paper, where nothing scrolls, one of many columns has smaller letters and may break its cells.
    """
    top = tag("tr", *(tag("th", cell, cls="l" if k < left else "r", scope="col") for k, cell in enumerate(head)))
    body = [tag("tr", *(tag("td", cell, cls="l" if k < left else "r") for k, cell in enumerate(row))) for row in rows]
    kind = "scroll wide" if len(head) > WIDE else "scroll"
    return tag("div", tag("table", tag("thead", top), tag("tbody", join(body))), cls=kind, tabindex="0")


WIDE = 8
"""Columns beyond which a table is wide."""


def picture(image: bytes, description: str, kind: str = "svg+xml") -> Markup:
    """An image (SVG or "png") held in the page; as an image it can neither run anything nor clash with another."""
    data = base64.b64encode(image).decode("ascii")
    text = escape(description)
    return Markup(f'<img src="data:image/{kind};base64,{data}" alt="{text}">')


def pictures(images: Iterable[tuple[str, bytes]], kind: str) -> Markup:
    """Pictures with captions, as many side by side as there is room for; ``kind`` sets their size."""
    figures = [tag("figure", tag("figcaption", caption), picture(svg, caption)) for caption, svg in images]
    return tag("div", join(figures), cls=kind)


def page(title: str, body: object, *, script: str = "", style: str = "", wide: bool = False, wasm: bool = False) -> str:
    """A whole page with its style inside; it refuses to load anything, and to run anything but ``script``.

    ``style`` goes on top of that of all pages; ``wide``: it takes the whole width of the window; ``wasm``: its script
    may run WebAssembly that it holds.
    """
    run, tail = "", ""
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
        own = f"'sha256-{digest}'" + " 'wasm-unsafe-eval'" * wasm
        run, tail = f"; script-src {own}", f"<script>{script}</script>\n"
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'{run}"
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n"
        f"<body>\n<main{' class=wide' * wide}>\n{escape(body)}\n</main>\n{tail}</body>\n</html>\n"
    )


STYLE = """
:root { color-scheme: light; --ink: #1d2733; --soft: #5b6876; --line: #dfe4ea; --accent: #c2410c; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: #fff; color: var(--ink); font: 16px/1.55 Charter, "Bitstream Charter", "Sitka Text",
  Cambria, Georgia, serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
main.wide { max-width: 96rem; padding-top: 1.2rem; }
h1 { font-size: 2.1rem; line-height: 1.15; margin: 0 0 .35rem; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .7rem; padding-top: .9rem; border-top: 1px solid var(--line); }
p { margin: .5rem 0; max-width: 44rem; overflow-wrap: anywhere; }
.lead, .note { color: var(--soft); }
.note { font-size: .9rem; }
figure { margin: 0; }
figcaption { font: 600 .84rem/1.35 ui-sans-serif, system-ui, "Segoe UI", Roboto, Arial, sans-serif;
  overflow-wrap: anywhere; }
img { display: block; width: 100%; height: auto; }
.poses { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 1rem; }
.poses figure { max-width: 36rem; }
.poses img { max-height: 34rem; object-fit: contain; object-position: left; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)); gap: 1rem 1.4rem; }
dl.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .4rem 1.5rem;
  margin: 1.2rem 0 0; }
dl.facts div { border-left: 3px solid var(--line); padding-left: .7rem; }
dt { color: var(--soft); font-size: .82rem; }
dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; -webkit-overflow-scrolling: touch; margin: .7rem 0; }
table { border-collapse: collapse; width: 100%; font: .84rem/1.4 ui-sans-serif, system-ui, "Segoe UI", Roboto,
  "Helvetica Neue", Arial, sans-serif; font-variant-numeric: tabular-nums; }
th { font-weight: 600; color: var(--soft); vertical-align: bottom; border-bottom: 1.5px solid var(--ink); }
th, td { padding: .28rem .6rem; white-space: nowrap; }
th:first-child, td:first-child { padding-left: 0; position: sticky; left: 0; background: #fff; }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
tbody tr { border-bottom: 1px solid var(--line); }
.l { text-align: left; } .r { text-align: right; }
pre { overflow-x: auto; font: .8rem/1.3 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  margin: .7rem 0; }
ul.findings { list-style: none; padding: 0; margin: .6rem 0; }
ul.findings li { padding: .3rem 0 .3rem .8rem; border-left: 4px solid var(--line); margin: .35rem 0;
  overflow-wrap: anywhere; }
ul.findings li.error { border-color: #b91c1c; } ul.findings li.warning { border-color: #d97706; }
ul.findings b { font-weight: 600; }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.3rem; font-size: .88rem; color: var(--soft); margin: .3rem 0; }
.key i { display: inline-block; width: .85em; height: .85em; margin-right: .4em; vertical-align: -.08em; }
footer { margin-top: 3rem; padding-top: .9rem; border-top: 1px solid var(--line); color: var(--soft);
  font-size: .85rem; }
@media (max-width: 40rem) { body { font-size: 15px; } main { padding: 1.5rem .9rem 3rem; } h1 { font-size: 1.6rem; } }
@media print { @page { margin: 15mm; } body { font-size: 10.5pt; } main { max-width: none; padding: 0; }
  h2 { break-after: avoid; } figure, tr, li { break-inside: avoid; } .scroll, pre { overflow: visible; }
  pre { white-space: pre-wrap; } table { font-size: 7.5pt; } th, td { padding: .15rem .3rem; }
  thead { display: table-header-group; } th:first-child, td:first-child { position: static; }
  .wide table { font-size: 6pt; } .wide th, .wide td { white-space: normal; overflow-wrap: anywhere;
  padding: .1rem .2rem; } }
"""
