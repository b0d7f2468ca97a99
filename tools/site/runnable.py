"""Programs in pages that stand alone, and links to the playground that hold them."""

import base64
import json
import re
import zlib

# A block between fences, with its language.
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# How a line outside of all items begins: an item, what closes one, a comment, or the rest of a head, which is indented.
OUTSIDE = re.compile(r"te\.(func|intrin|combiner) |tir\.func |schedule(\.func)? |tir 1$|//|[})]|\s|$")
DEFINED = re.compile(r"^(?:te\.func|tir\.func) @(\w+)", re.MULTILINE)
CALLED = re.compile(r"^ +@(\w+)\(", re.MULTILINE)
SCHEDULED = re.compile(r"^schedule @\w+ for ([^({]+)", re.MULTILINE)
# The heading of a pass or a primitive, and the paragraph about it.
SECTION = re.compile(r"^(## ([\w-]+)\n\n(?:.+\n)+\n)", re.MULTILINE)
# What only Hopper GPUs have.
HOPPER = re.compile(r"wgmma|bulk_copy|\btma\.|\bmbarrier\.")


def stands_alone(language, text):
    """Is a block a whole file? A part of one lacks the operator of a schedule, or has dots in the place of something."""
    if language not in ("", "tir") or "…" in text or "..." in text.replace("...)", ""):
        return False
    names = set(DEFINED.findall(text))
    # Items that have to be there: operators of schedules, and programs that programs call; schedules call the library's functions.
    wanted = {name for heads in SCHEDULED.findall(text) for name in re.findall(r"@(\w+)", heads)} or set(CALLED.findall(text))
    lines = text.splitlines()
    whole = all(OUTSIDE.match(line) for line in lines) and text.count("{") == text.count("}")
    return bool(names) and wanted <= names and whole and "expected-error" not in text


def link(text, **more):
    """The fragment of the playground's address that holds a text, and what else the page is told of it."""
    held = {"text": text, **more}
    if HOPPER.search(text):
        held.setdefault("target", "sm_90a")
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(json.dumps(held).encode()) + packer.flush()
    return "#text=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def case(text):
    """The link for a file of the corpus, with the pipeline and the target of its first line; none where it is about an error."""
    run, _, rest = text.partition("\n")
    pipeline = re.search(r"--pass-pipeline='?([^' ]+|(?<=')[^']+)", run)
    if not pipeline or run.startswith("// RUN: not") or "expected-error" in rest:
        return None
    target = re.search(r"--target[= ](\w+)", run)
    lines = [line for line in rest.split("// -----")[0].splitlines() if not re.match(r"\s*// CHECK", line)]
    return link("\n".join(lines).strip() + "\n", pipeline=pipeline[1], **({"target": target[1]} if target else {}))


def with_cases(page, playground, corpus):
    """A page of the reference: behind the first paragraph about each pass or primitive stands a link to its first case in the corpus."""

    def one(section):
        file = corpus / section[2] / "basic.tir"
        fragment = case(file.read_text()) if file.exists() else None
        return section[0] + (f'<p class="run"><a href="{playground}{fragment}">a first case in the playground</a></p>\n\n' if fragment else "")

    return SECTION.sub(one, page)


def with_links(page, playground):
    """A page whose runnable blocks are followed by links to the playground, whose address it is given."""

    def one(block):
        language, text = block.groups()
        if not stands_alone(language, text):
            return block[0]
        anchor = f'<p class="run"><a href="{playground}{link(text)}">open in the playground</a></p>'
        return f"```tir\n{text}```\n\n{anchor}\n"

    return FENCE.sub(one, page)
