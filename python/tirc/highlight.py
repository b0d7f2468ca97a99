"""Colours for a program in a notebook. The scopes are those of the editors' grammar (tools/editor)."""

from __future__ import annotations

import html
import re

_TOKENS = re.compile(
    r"""
    (?P<comment>//[^\n]*)
  | (?P<name>@\w+)
  | (?P<string>"[^"\n]*")
  | (?P<item>\b(?:te\.func|te\.combiner|te\.intrin|tir\.func|gpu\.func|schedule)\b)
  | (?P<keyword>\b(?:for|if|else|in|return|where|while|yield|bind|vectorize|unroll|attributes|carry)\b)
  | (?P<declaration>\b(?:compute|let|alloc|arg)\b)
  | (?P<type>\b(?:(?:bf|f|i|u|tf)\d+(?:e\dm\d)?(?:x\d+)?|index|bool)\b)
  | (?P<thread>\b(?:threadIdx|blockIdx)\.[xyz]\b)
  | (?P<number>\b\d[\w.]*)
  | (?P<call>\b[a-z_]\w*(?:\.\w+)?(?=[\(\[\{]))
    """,
    re.VERBOSE,
)

_COLOURS = {
    "comment": "#6a737d",
    "name": "#6f42c1",
    "string": "#032f62",
    "item": "#d73a49",
    "keyword": "#d73a49",
    "declaration": "#d73a49",
    "type": "#22863a",
    "thread": "#e36209",
    "number": "#005cc5",
    "call": "#005cc5",
}


def highlighted(text: str) -> str:
    """`text`, a program, as HTML."""
    out: list[str] = []
    at = 0
    for token in _TOKENS.finditer(text):
        out.append(html.escape(text[at : token.start()]))
        colour = _COLOURS[token.lastgroup or "comment"]
        out.append(f'<span style="color:{colour}">{html.escape(token.group())}</span>')
        at = token.end()
    out.append(html.escape(text[at:]))
    return f'<pre style="line-height:1.3">{"".join(out)}</pre>'
