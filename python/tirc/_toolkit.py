"""NVIDIA's run-time compiler, where Python's packages bring it (`nvidia-cuda-nvrtc`, which PyTorch installs too)."""

import importlib.util
import pathlib

from . import _native


def find() -> None:
    """Adds the folders of the packages to the places that are looked into."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return
    for folder in (spec.submodule_search_locations or []) if spec else []:
        # What is looked for lies in `nvidia/cu13` and `nvidia/cuda_nvrtc` below it.
        _native.add_toolkit_folder(pathlib.Path(folder).parent)
