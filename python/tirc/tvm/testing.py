"""TVM's module `testing`: what its tutorials call."""


def assert_allclose(actual, desired, rtol=1e-7, atol=1e-7):
    """Fails where two arrays differ by more than `atol + rtol * abs(desired)`."""
    from numpy.testing import assert_allclose as compare

    compare(actual, desired, rtol=rtol, atol=atol)
