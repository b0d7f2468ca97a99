"""Tests of `tirc.te`: they need the tools in the folder `$TC_TOOLS`."""

import sys
from pathlib import Path

# What the tests share.
sys.path.insert(0, str(Path(__file__).parent))
