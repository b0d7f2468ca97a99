"""TVM's module `target`: kernels are for NVIDIA GPUs."""

from ..te.errors import TeUnsupported


class Target:
    """A target, as `Target("cuda")` and `Target("cuda -arch=sm_80")`; also a `with` block, which changes nothing."""

    def __init__(self, target="cuda", host=None):
        words = str(target).split()
        if not words or words[0] != "cuda":
            raise TeUnsupported(f"the target `{target}`", 'there is "cuda", with `-arch=sm_80` where it matters')
        archs = [word.partition("=")[2] for word in words if word.startswith("-arch=")]
        self.kind, self.arch = words[0], archs[-1] if archs else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def __str__(self):
        return f"cuda -arch={self.arch}" if self.arch else "cuda"


def cuda(model="unknown", arch=None, **_):
    """The target "cuda"."""
    return Target(f"cuda -arch={arch}" if arch else "cuda")
