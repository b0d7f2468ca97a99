"""The page of the codes of diagnostics, from the places in the source that make them."""

import pathlib
import re

# What makes a diagnostic, with its code: `Diagnostic::error("code", …)`, or a function of a module that does so for it.
MADE = re.compile(
    r"\b(error|error_with|warning|remark|assumption|bug|wrong|refuse|refusal|refused|input|told)"
    r'\(\s*(?:[\w.]+,\s*)?"([a-z0-9]+(?:-[a-z0-9]+)*)",'
)
# The kinds of the simulator's: their comments, and their codes.
KIND = re.compile(r"((?:    /// .*\n)+)    (\w+),")
KIND_CODE = re.compile(r'DiagnosticKind::(\w+) => "([a-z-]+)"')
# A code that has a name of its own, or stands in a table.
NAMED = re.compile(r'((?:/// .*\n)+)pub const \w+: &str = "([a-z-]+)";|()\bcode: "([a-z-]+)",')
# A text in the source, which may go on in the next line.
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
SEVERITIES = {"warning": "warning", "remark": "remark", "bug": "a bug of tc"}
# Of several messages the longest is shown that is no longer than this.
LONGEST = 110


class Codes:
    """What the source says of each code: severities, messages, crates."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[set[str], list[str], set[str]]] = {}

    def add(self, code: str, severity: str, messages: list[str], place: str) -> None:
        severities, known, places = self.rows.setdefault(code, (set(), [], set()))
        severities.add(severity)
        known += messages
        places.add(place)

    def row(self, code: str) -> str:
        severities, messages, places = self.rows[code]
        short = [one for one in messages if len(one) <= LONGEST] or sorted(messages, key=len)[:1]
        shown = max(short, key=len, default="")
        return f'| <a id="{code}"></a>`{code}` | {", ".join(sorted(severities))} | {shown} | {", ".join(sorted(places))} |'


def lines(root: pathlib.Path) -> list[str]:
    """The page below its heading."""
    codes = Codes()
    for file in sorted(path for tree in ["compiler", "dialects", "passes", "runtime", "tools"] for path in (root / tree).rglob("src/**/*.rs")):
        place = file.relative_to(root).parts[1]
        read(codes, file.read_text().split("#[cfg(test)]")[0], place, file.name)
    head = [
        "Each message of tc has a code that does not change: `error[step-limit]: …`, and `code` in the output of `--json`. This page is made",
        "from the places in the source that name them; `…` stands for what a message is about. [embedding.md](embedding.md#diagnostics) tells",
        "how a program reads them.",
        "",
        "| code | | what it says, or one of its messages | in |",
        "|---|---|---|---|",
    ]
    return head + [codes.row(code) for code in sorted(codes.rows)]


def read(codes: Codes, text: str, place: str, name: str) -> None:
    """Adds the codes of one file."""
    for made in MADE.finditer(text):
        codes.add(made[2], SEVERITIES.get(made[1], "error"), message(text, made), place)
    if "enum DiagnosticKind" in text:
        about = {kind: comment for comment, kind in KIND.findall(text)}
        for kind, code in KIND_CODE.findall(text):
            codes.add(code, "simulator", [sentence(about.get(kind, ""))], place)
    if name in ("limits.rs", "memory.rs"):
        for comment, named, _, code in NAMED.findall(text):
            codes.add(named or code, "error", [sentence(comment)] if comment else [], place)


def sentence(comment: str) -> str:
    return plain(" ".join(line.strip(" /") for line in comment.splitlines()))


def message(text: str, made: re.Match[str]) -> list[str]:
    """The text of a message: an argument of the call, or what is put into the variable that it names, just before."""
    after = re.split(r";|\.(?:help|label|note)\(", text[made.end() : made.end() + 400])[0]
    before = text[max(0, made.start() - 500) : made.start()]
    named = re.findall(r"let (?:text|message) =(.*?);\n", before, re.DOTALL)
    found = TEXT.search(after) or (TEXT.search(named[-1]) if named else None)
    return [plain(found[1])] if found and found[1].count(" ") > 1 else []


def plain(text: str) -> str:
    """A text of the source as a page shows it: what it is formatted with is left open."""
    text = re.sub(r"\\\n\s*", "", text).replace('\\"', '"').replace("{{", "\1").replace("}}", "\2")
    text = re.sub(r"\{[^{}]*\}", "…", text).replace("\1", "{").replace("\2", "}")
    text = re.sub(r"\[(.+?)\]\([^)]*\)", r"\1", text)
    return text.replace("|", "\\|").replace("<", "&lt;")
