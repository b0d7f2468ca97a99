"""TVM's module `transform`: options of passes."""

from ..te.errors import missing_names
from ..te.lowering import PassContext

__all__ = ["PassContext"]

__getattr__ = missing_names("transform", {"Sequential": "`tc-opt --pass-pipeline` runs passes (docs/passes.md)"})
