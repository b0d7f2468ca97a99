"""Gathers the pages of the documentation as a book: `book.py FOLDER` fills FOLDER with what mdBook reads."""

import pathlib
import re
import shutil
import sys

import diagnostics
import runnable

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CONFIG = """[book]
title = "tc"
description = "A tensor compiler with text at every level"
language = "en"
src = "src"

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
smart-punctuation = false
additional-css = ["site.css"]
additional-js = ["colours.js", "site.js"]

[output.html.search]
use-boolean-and = true

# The text of an example is found by its name; its lines would stand before the pages that explain them.
[output.html.search.chapter]
"examples" = { enable = false }

[output.html.fold]
enable = true
level = 0
"""
# Where pages say that the playground is, at the root of the repository.
PLAYGROUND = "target/playground/index.html"
# Pages of the reference, and the folders of the corpus that have a first case of each thing there.
CASES = {"passes.md": "passes", "schedule.md": "schedule"}
# An example in the first cell of a row of the README, and where its page is.
EXAMPLE = re.compile(r"`((?:hopper/)?\w+\.tir)`")


def collect(folder: pathlib.Path) -> None:
    """Puts the pages, and what they link to, where they lie in the repository, so that their links hold."""
    source = folder / "src"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for page in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]:
        shutil.copy(ROOT / page, source / page)
    for tree in ["docs", "examples", "tools/editor"]:
        shutil.copytree(ROOT / tree, source / tree, ignore=shutil.ignore_patterns("target", "node_modules", "*.lock"))
    for part in [HERE / "site.css", HERE / "site.js", ROOT / "tools/playground/page/colours.js"]:
        shutil.copy(part, folder / part.name)
    playground = ROOT / PLAYGROUND
    has_playground = playground.exists()
    if has_playground:
        (source / "playground").mkdir()
        shutil.copy(playground, source / "playground" / "index.html")
    write(source / "docs/adr/README.md", "Decisions", [f"- [{title(page)}]({pathlib.Path(page).name})" for page in decisions()])
    write(source / "docs/diagnostics.md", "Codes of diagnostics", diagnostics.lines(ROOT))
    for example in examples():
        write_example(source, example)
    table = (ROOT / "README.md").read_text().split("## Examples\n")[1].split("\n## ")[0]
    write(source / "examples/README.md", "Examples", [linked(table, "")])
    for page in source.rglob("*.md"):
        page.write_text(with_playground(page, source, has_playground))
    (source / "SUMMARY.md").write_text(summary())
    (folder / "book.toml").write_text(CONFIG)


def write(page: pathlib.Path, heading: str, lines: list[str]) -> None:
    page.write_text("\n".join([f"# {heading}", "", *lines]) + "\n")


def write_example(source: pathlib.Path, example: str) -> None:
    """The page of one example, whose name is below `examples/`."""
    text = (ROOT / "examples" / example).read_text()
    link = f'<p class="run"><a href="{up(example)}../{PLAYGROUND}#example={example}">open in the playground</a></p>'
    write(source / "examples" / f"{example}.md", example, [link, "", f"```tir\n{text}```"])


def up(page: str) -> str:
    """From the folder of a page to that which its path begins at."""
    return "../" * page.count("/")


def with_playground(page: pathlib.Path, source: pathlib.Path, has_playground: bool) -> str:
    """The text of a page, its links to the playground as they hold in the book; without a playground they lead to the page about it."""
    text = page.read_text()
    root = up(page.relative_to(source).as_posix())
    if page.name == "README.md" and page.parent == source:
        head, rest = text.split("## Examples\n")
        table, rest = rest.split("\n## ", 1)
        text = f"{head}## Examples\n{linked(table, 'examples/')}\n## {rest}"
    # mdBook takes `.md` within an address for the name of a page.
    asked = re.compile(rf"{re.escape(root + PLAYGROUND)}([^)\"\s]*)")
    there = lambda link: f"{root}playground/index.html{link[1].replace('.md', '%2Emd')}"
    text = asked.sub(there if has_playground else f"{root}docs/playground.md", text)
    # It calls the page of a folder so.
    text = re.sub(r"(\]\([^)\s]*\b)README\.md", r"\1index.md", text)
    if not has_playground:
        return text
    if page.name in CASES:
        text = runnable.with_cases(text, f"{root}playground/index.html", ROOT / "filecheck-tests" / CASES[page.name])
    return text if "examples" in page.parts else runnable.with_links(text, f"{root}playground/index.html")


def linked(table: str, folder: str) -> str:
    """The README's tables of examples, with links to their pages."""
    known = set(examples())
    rows = []
    prefix = ""
    for line in table.splitlines():
        # The second table is of the files below `hopper/`.
        prefix = "hopper/" if line.startswith("Below `examples/hopper/`") else prefix
        first, bar, rest = line[2:].partition(" | ") if line.startswith("| `") else ("", "", "")
        name = lambda match: f"[{match[0]}]({folder}{prefix}{match[1]}.md)" if prefix + match[1] in known else match[0]
        rows.append(f"| {EXAMPLE.sub(name, first)}{bar}{rest}" if first else line)
    return "\n".join(rows)


def examples() -> list[str]:
    """The names of the examples below `examples/`, those for Hopper GPUs last."""
    folder = ROOT / "examples"
    return [path.relative_to(folder).as_posix() for part in ["*.tir", "hopper/*.tir"] for path in sorted(folder.glob(part))]


def decisions() -> list[str]:
    return [f"docs/adr/{page.name}" for page in sorted((ROOT / "docs/adr").glob("[0-9]*.md"))]


def summary() -> str:
    """The table of contents: the README's list of pages, in its order, the pages that no list has, and the examples."""
    readme = (ROOT / "README.md").read_text()
    rows = "\n".join(line for line in readme.splitlines() if line.startswith("| ["))
    pages = list(dict.fromkeys(re.findall(r"\]\(((?:docs/)?[\w-]+\.md)\)", rows)))
    missing = {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} - set(pages)
    if missing:
        sys.exit(f"error: the README's list lacks {', '.join(sorted(missing))}")
    lines = ["# Summary", "", "[tc](README.md)", ""]
    for page in pages:
        lines.append(f"- [{title(page)}]({page})")
        lines += [f"  - [{title(part)}]({part})" for part in parts(page)]
    lines += ["- [Codes of diagnostics](docs/diagnostics.md)"]
    lines += [f"- [{title(page)}]({page})" for page in ["tools/editor/README.md"] if page not in pages]
    lines += ["- [Decisions](docs/adr/README.md)", *(f"  - [{title(page)}]({page})" for page in decisions())]
    lines += ["- [Examples](examples/README.md)", *(f"  - [{name}](examples/{name}.md)" for name in examples())]
    return "\n".join(lines) + "\n"


def parts(page: str) -> list[str]:
    """The pages in the folder of a page, in the order in which it links them."""
    folder = (ROOT / page).with_suffix("")
    if not folder.is_dir():
        return []
    found = re.findall(rf"\(({folder.name}/[\w-]+\.md)[)#]", (ROOT / page).read_text())
    missing = {f"{folder.name}/{part.name}" for part in folder.glob("*.md")} - set(found)
    if missing:
        sys.exit(f"error: {page} does not link {', '.join(sorted(missing))}")
    return [f"{pathlib.Path(page).parent}/{part}" for part in dict.fromkeys(found)]


def title(page: str) -> str:
    """The heading of a page."""
    found = re.search(r"^# (.+)$", (ROOT / page).read_text(), re.MULTILINE)
    return found[1].replace("`", "") if found else page


if __name__ == "__main__":
    collect(pathlib.Path(sys.argv[1]))
