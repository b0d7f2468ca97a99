"""Tests of `tirc.te`: they need the tools in the folder `$TC_TOOLS`, and nothing but Python beside."""

import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "python" / "tirc"


def _importable():
    """Makes `tirc.te` importable where the native module of `tirc` is not built."""
    if (PACKAGE / "__init__.py").exists() and any(PACKAGE.glob("_native*.so")):
        sys.path.insert(0, str(PACKAGE.parent))
    else:
        bare = types.ModuleType("tirc")
        bare.__path__ = [str(PACKAGE)]
        sys.modules["tirc"] = bare
    sys.path.insert(0, str(Path(__file__).parent))


_importable()
