"""TVM's module `nvcc`: what a GPU can do."""


def parse_compute_version(compute_version):
    """The two numbers of a compute capability."""
    major, _, minor = str(compute_version).partition(".")
    return int(major), int(minor or 0)


def have_tensorcore(compute_version=None, target=None):
    """Does a GPU of this compute capability have tensor cores?"""
    if compute_version is None:
        arch = getattr(target, "arch", None)
        if arch is None:
            return False
        return int("".join(filter(str.isdigit, arch))) >= 70
    return parse_compute_version(compute_version)[0] >= 7
