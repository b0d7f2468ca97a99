"""The native module: what `tirc` is made of. Arrays of the host are tuples of name, element type, shape and bytes."""

import os
from typing import Any

Named = tuple[str, str, list[int], bytes]
Chosen = tuple[str | None, str | None]

__version__: str

class Module:
    @property
    def name(self) -> str: ...
    @property
    def warnings(self) -> str: ...
    def items_json(self) -> str: ...
    def run(self, pipeline: str, target: str | None = None, defines: dict[str, int] | None = None) -> Module: ...
    def trace(
        self, pipeline: str, target: str | None = None, defines: dict[str, int] | None = None
    ) -> list[tuple[str, str]]: ...
    def page(self, pipeline: str, target: str | None = None, defines: dict[str, int] | None = None) -> str: ...
    def emit(self, form: str, target: str | None = None) -> tuple[str, str]: ...
    def check(
        self,
        chosen: Chosen,
        defines: dict[str, int] | None = None,
        inputs: list[Named] = ...,
        seed: int = 0,
        target: str | None = None,
    ) -> str: ...
    def evaluate(
        self,
        chosen: Chosen,
        defines: dict[str, int] | None = None,
        inputs: list[Named] = ...,
        seed: int = 0,
        target: str | None = None,
    ) -> list[Named]: ...
    def compile(
        self,
        chosen: Chosen,
        defines: dict[str, int] | None = None,
        target: str | None = None,
        symbolic: bool = False,
        tf32: bool = False,
        keep_lines: bool = False,
    ) -> Kernel: ...

class Kernel:
    """The kernels of one program, compiled once and launched on arrays of PyTorch, CuPy and others without a copy."""

    def __call__(self, *args: Any, stream: Any = None, **sizes: int) -> Any:
        """Launches on the current stream of the arrays' library, or on `stream`.

        With all arguments the results among them are filled and returned; with those that are read alone, results are made.
        `sizes` are sizes that no array's shape says.
        """
    @property
    def name(self) -> str:
        """The operator and its schedule, or the program."""
    @property
    def cuda(self) -> str:
        """The CUDA C++."""
    @property
    def target(self) -> str:
        """What it was compiled for."""
    @property
    def point(self) -> dict[str, int]:
        """The values of the schedule's parameters."""
    @property
    def is_compiled(self) -> bool:
        """Was machine code made? Else it is made when the kernel is first called: NVIDIA's compiler was not found."""
    def manifest_json(self) -> str:
        """How its kernels are launched (docs/embedding.md)."""
    def signature_json(self) -> str:
        """What it takes and gives; `tirc.shapes.signature` reads it."""
    def load(self, device: int = 0) -> None:
        """Loads it on a GPU now, and not when it is first called."""

class DeviceArray:
    """An array on a GPU that no library made; it leaves by DLPack."""

    def __init__(self, shape: list[int], dtype: str, device: int) -> None: ...
    def __dlpack__(self, **named: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

def parse(text: str, name: str = "<string>") -> Module: ...
def targets() -> list[str]:
    """The names of all targets."""

def default_target() -> str:
    """The target of the first GPU, or that which tc compiles for where there is none."""

def add_toolkit_folder(folder: str | os.PathLike[str]) -> None: ...
def cache_folder() -> str | None: ...
def cache_entries() -> list[tuple[str, str, str, int, float, bool]]: ...
def clear_cache(keys: list[str] | None = None) -> int: ...
def register_ffi(kernel: Kernel, name: str, library: str | os.PathLike[str]) -> None: ...
def synchronize(device: int) -> None: ...
