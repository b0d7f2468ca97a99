"""The documentation as a book: `collect FOLDER` gathers pages, `check FOLDER` follows the links of the site."""

import html.parser
import pathlib
import re
import shutil
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
BOOK = """[book]
title = "tc"
description = "A tensor compiler with text at every level"
language = "en"
src = "src"

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
smart-punctuation = false

[output.html.search]
use-boolean-and = true

[output.html.fold]
enable = true
level = 0
"""


def collect(folder: pathlib.Path) -> None:
    """Puts the pages, and what they link to, where they lie in the repository, so that their links hold."""
    source = folder / "src"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for page in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]:
        shutil.copy(ROOT / page, source / page)
    for tree in ["docs", "examples", "tools/editor"]:
        shutil.copytree(ROOT / tree, source / tree, ignore=shutil.ignore_patterns("target", "node_modules", "*.lock"))
    playground = folder.parent / "playground"
    if playground.is_dir():
        shutil.copytree(playground, source / "playground")
    decisions = [f"- [{title(f'docs/adr/{page.name}')}]({page.name})" for page in sorted((ROOT / "docs/adr").glob("[0-9]*"))]
    (source / "docs/adr/README.md").write_text("\n".join(["# Decisions", "", *decisions]) + "\n")
    (source / "SUMMARY.md").write_text(summary())
    (folder / "book.toml").write_text(BOOK)


def summary() -> str:
    """The table of contents: the README's list of pages, in its order, and the pages that no list has."""
    readme = (ROOT / "README.md").read_text()
    rows = "\n".join(line for line in readme.splitlines() if line.startswith("| ["))
    pages = list(dict.fromkeys(re.findall(r"\]\(((?:docs/)?[\w-]+\.md)\)", rows)))
    missing = {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} - set(pages)
    if missing:
        sys.exit(f"error: the README's list lacks {', '.join(sorted(missing))}")
    lines = ["# Summary", "", "[tc](README.md)", ""]
    lines += [f"- [{title(page)}]({page})" for page in pages]
    lines += [f"- [{title(page)}]({page})" for page in ["tools/editor/README.md"] if page not in pages]
    lines += ["- [Decisions](docs/adr/README.md)"]
    decisions = sorted((ROOT / "docs/adr").glob("[0-9]*.md"))
    lines += [f"  - [{title(f'docs/adr/{page.name}')}](docs/adr/{page.name})" for page in decisions]
    return "\n".join(lines) + "\n"


def title(page: str) -> str:
    """The heading of a page."""
    found = re.search(r"^# (.+)$", (ROOT / page).read_text(), re.MULTILINE)
    return found[1].replace("`", "") if found else page


class Links(html.parser.HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if named.get("id"):
            self.ids.add(named["id"] or "")
        target = named.get("href" if tag in ("a", "link") else "src")
        if target:
            self.targets.append(target)


def check(folder: pathlib.Path) -> None:
    """Ends with status 1 where a link within the site leads nowhere."""
    pages: dict[pathlib.Path, Links] = {}
    for page in folder.rglob("*.html"):
        if "playground" not in page.parts:
            pages[page.resolve()] = links = Links()
            links.feed(page.read_text())
    broken = [wrong for page, links in sorted(pages.items()) for target in links.targets for wrong in follow(page, target, pages)]
    for wrong in broken:
        print(f"error: {wrong}", file=sys.stderr)
    print(f"{len(pages)} pages, {sum(len(links.targets) for links in pages.values())} links, {len(broken)} broken")
    sys.exit(bool(broken))


def follow(page: pathlib.Path, target: str, pages: dict[pathlib.Path, Links]) -> list[str]:
    """What is wrong with a link."""
    parts = urllib.parse.urlsplit(target)
    if parts.scheme or parts.netloc:
        return []
    path = urllib.parse.unquote(parts.path)
    found = (page.parent / path).resolve() if path else page
    found = found / "index.html" if found.is_dir() and (found / "index.html").exists() else found
    if not found.exists():
        return [f"{page.name}: there is no `{target}`"]
    if parts.fragment and found in pages and urllib.parse.unquote(parts.fragment) not in pages[found].ids:
        return [f"{page.name}: `{path or page.name}` has no heading `{parts.fragment}`"]
    return []


if __name__ == "__main__":
    {"collect": collect, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
