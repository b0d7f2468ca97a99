#!/usr/bin/env python3
"""Puts the page of the playground together: `build.py MODULE.wasm OUT.html`.

The page is one file without outside resources: markup, style, script, the module compressed, the examples, and the programs of the
documentation that name their file in the first line.
"""

import base64
import gzip
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# The target of texts for Hopper GPUs.
HOPPER = "sm_90a"
# The scripts, in the order in which they run.
SCRIPTS = ["colours.js", "base.js", "compiler.js", "state.js", "editor.js", "views.js", "block.js", "links.js", "main.js"]
# A block of a document that holds a whole file, by its first line.
BLOCK = re.compile(r"^```(?:tir)?\n(// ([a-z_0-9]+\.tir): .*?)^```$", re.DOTALL | re.MULTILINE)


def examples():
    """The groups of the menu, each with its texts."""
    own = sorted((HERE.parent / "examples").glob("*.tir"))
    general = sorted((ROOT / "examples").glob("*.tir"))
    hopper = sorted((ROOT / "examples" / "hopper").glob("*.tir"))
    # The first of all is what the page opens with.
    first = {"name": "conv1d.tir", "case": "conv1d @v5"}
    groups = [
        ("To begin with", [{**first, "text": read(ROOT / "examples" / first["name"])}] + [of_file(path, "") for path in own]),
        ("Documentation", documents()),
        ("Examples", [of_file(path, "") for path in general if path.name != first["name"]]),
        ("Hopper GPUs", [{**of_file(path, "hopper/"), "target": HOPPER} for path in hopper]),
    ]
    return [{"group": group, "list": texts} for group, texts in groups]


def of_file(path, folder):
    return {"name": folder + path.name, "text": read(path)}


def documents():
    found = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for block in BLOCK.finditer(read(path)):
            target = {"target": HOPPER} if re.search(r"wgmma|bulk_copy|\btma\.", block[1]) else {}
            found.append({"name": f"{path.relative_to(ROOT)}/{block[2]}", "text": block[1], **target})
    return found


def read(path):
    return path.read_text(encoding="utf-8")


def script():
    """The scripts of the page as one, in a scope of its own."""
    return "'use strict';\n(() => {\n" + "\n".join(read(HERE / name) for name in SCRIPTS) + "})();"


def in_script(text):
    """JSON that cannot end the element it stands in."""
    return text.replace("<", "\\u003c")


def main():
    module, out = Path(sys.argv[1]), Path(sys.argv[2])
    # The module without a time stamp: the same module gives the same page.
    packed = gzip.compress(module.read_bytes(), compresslevel=9, mtime=0)
    colours = read(ROOT / "compiler" / "tc-report" / "src" / "html" / "colours.css")
    parts = {
        "style": colours + read(HERE / "page.css"),
        "module": base64.b64encode(packed).decode("ascii"),
        "examples": in_script(json.dumps(examples(), ensure_ascii=False)),
        "worker": read(HERE / "worker.js"),
        "script": script(),
    }
    page = re.sub(r"/\*\{\{(\w+)\}\}\*/", lambda hole: parts[hole[1]], read(HERE / "page.html"))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page, encoding="utf-8")
    print(f"{out}: {len(page) / 1e6:.1f} MB, of which the module {len(packed) / 1e6:.1f} MB ({module.stat().st_size / 1e6:.1f} MB unpacked)")


if __name__ == "__main__":
    main()
