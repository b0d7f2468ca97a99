"""Kernels as operators of PyTorch. Wants a GPU: `scripts/device/python`."""

import pytest
import torch

import tirc
import tirc.torch

SCALE = """
te.func @square<n, m>(A: f32[n, m], W: f32[m]) -> f32[n, m] {
  compute B[i: n, j: m] = A[i, j] * A[i, j] * W[j]
  return B
}
te.func @square_gradient<n, m>(d_B: f32[n, m], A: f32[n, m], W: f32[m]) -> (f32[n, m], f32[m]) {
  compute d_A[i: n, j: m] = d_B[i, j] * 2.0 * A[i, j] * W[j]
  compute d_W[j: m] = sum[i: n](d_B[i, j] * A[i, j] * A[i, j])
  return d_A, d_W
}
"""


@pytest.fixture(scope="module")
def square():
    module = tirc.parse(SCALE)
    forward, backward = (module.compile(name, symbolic=True, schedule="auto") for name in ("square", "square_gradient"))
    return tirc.torch.register("tirc_tests::square", forward, backward=backward)


def wanted(a, w):
    return a * a * w


def test_it_is_an_operator(square):
    a, w = torch.rand(5, 7, device="cuda"), torch.rand(7, device="cuda")
    torch.testing.assert_close(square(a, w), wanted(a, w))
    torch.testing.assert_close(torch.ops.tirc_tests.square(a.T.contiguous().T, w), wanted(a, w))
    assert torch.ops.tirc_tests.square(a.to("meta"), w.to("meta")).shape == (5, 7)


def test_opcheck(square):
    a, w = torch.rand(5, 7, device="cuda", requires_grad=True), torch.rand(7, device="cuda", requires_grad=True)
    torch.library.opcheck(torch.ops.tirc_tests.square.default, (a, w))


def test_gradients(square):
    a, w = torch.rand(5, 7, device="cuda", requires_grad=True), torch.rand(7, device="cuda", requires_grad=True)
    square(a, w).sum().backward()
    ours = a.grad.clone(), w.grad.clone()
    a.grad = w.grad = None
    wanted(a, w).sum().backward()
    torch.testing.assert_close(ours, (a.grad, w.grad))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_without_graph_breaks(square, dynamic):
    def model(a, w):
        return torch.sin(square(a + 1, w)) * 2

    compiled = torch.compile(model, fullgraph=True, dynamic=dynamic)
    for rows in (4, 9):
        a, w = torch.rand(rows, 7, device="cuda"), torch.rand(7, device="cuda")
        torch.testing.assert_close(compiled(a, w), torch.sin(wanted(a + 1, w)) * 2)


def test_compile_with_gradients(square):
    def model(a, w):
        return (square(a * 2, w) + 1).sum()

    a, w = torch.rand(6, 8, device="cuda", requires_grad=True), torch.rand(8, device="cuda", requires_grad=True)
    torch.compile(model, fullgraph=True)(a, w).backward()
    ours = a.grad.clone(), w.grad.clone()
    a.grad = w.grad = None
    (wanted(a * 2, w) + 1).sum().backward()
    torch.testing.assert_close(ours, (a.grad, w.grad))


def test_a_cuda_graph_of_a_compiled_model(square):
    model = torch.compile(lambda a, w: square(a, w) + 1, fullgraph=True, mode="reduce-overhead")
    for _ in range(4):
        a, w = torch.rand(6, 8, device="cuda"), torch.rand(8, device="cuda")
        torch.testing.assert_close(model(a, w), wanted(a, w) + 1)


def test_what_a_gradient_may_take_is_told():
    module = tirc.parse(SCALE)
    forward = module.compile("square", symbolic=True, schedule="auto")
    with pytest.raises(tirc.ArgumentError, match="is called `library::name`"):
        tirc.torch.register("square", forward)
    with pytest.raises(tirc.ArgumentError, match="gives `B`, and there are `d_A`, `d_W`"):
        tirc.torch.register("tirc_tests::wrong", forward, backward=forward)
