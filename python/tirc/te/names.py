"""Names of the text: legal, unique, and as close as can be to those that the program gave."""

import re

# Words that the grammar reserves, and what it reads as a type or a number.
_RESERVED = {
    "for",
    "in",
    "if",
    "else",
    "let",
    "alloc",
    "return",
    "yield",
    "where",
    "attributes",
    "cast",
    "compute",
    "true",
    "false",
    "inf",
    "nan",
    "bool",
    "index",
}
_TYPE = re.compile(r"(inf|nan)?([iu](8|16|32|64)|f16|bf16|f32|f64|f8e4m3|f8e5m2|tf32|bool|index)(x[0-9]+)?$")


def legal(name):
    """A name of the text that is `name` where that is legal."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", str(name)) or "x"
    if name[0].isdigit() or name == "_":
        name = "x" + name
    return name + "_" if name in _RESERVED or _TYPE.match(name) else name


class Names:
    """Names that are taken, and who has them."""

    def __init__(self, taken=()):
        self._taken = set(taken)
        self._of = {}

    def take(self, *wishes):
        """The first of `wishes` that is free, or the last one with a number."""
        for wish in map(legal, wishes):
            if wish not in self._taken:
                self._taken.add(wish)
                return wish
        base, nth = legal(wishes[-1]), 1
        while f"{base}_{nth}" in self._taken:
            nth += 1
        self._taken.add(f"{base}_{nth}")
        return f"{base}_{nth}"

    def give(self, owner, *wishes):
        """Names `owner`, once."""
        if id(owner) not in self._of:
            # The object is kept, so that no other one gets its number.
            self._of[id(owner)] = (self.take(*wishes), owner)
        return self._of[id(owner)][0]

    def set(self, owner, name):
        """Lets `owner` be called `name`, which is taken."""
        self._of[id(owner)] = (name, owner)

    def of(self, owner):
        """The name of `owner`, or `None`."""
        found = self._of.get(id(owner))
        return found[0] if found else None

    def taken(self):
        return set(self._taken)

    def inside(self):
        """A scope inside this one: all that is taken here is taken there."""
        inner = Names(self._taken)
        inner._of = dict(self._of)
        return inner
