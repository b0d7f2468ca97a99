"""Tests of `tirc.te`: they need the tools in the folder `$TC_TOOLS`, and nothing but Python beside."""

import importlib.util
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "python" / "tirc"


def _importable():
    """Makes `tirc.te` importable where the native module of `tirc` is not built."""
    if any((PACKAGE / name).exists() for name in ("__init__.py",)) and list(PACKAGE.glob("_native*.so")):
        sys.path.insert(0, str(PACKAGE.parent))
    elif importlib.util.find_spec("tirc") is None:
        bare = types.ModuleType("tirc")
        bare.__path__ = [str(PACKAGE)]
        sys.modules["tirc"] = bare
    sys.path.insert(0, str(Path(__file__).parent))


_importable()
