"""Follows the links of the site: `links.py FOLDER` ends with status 1 where one within it leads nowhere."""

import html.parser
import pathlib
import sys
import urllib.parse


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
    check(pathlib.Path(sys.argv[1]))
