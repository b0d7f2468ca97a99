"""Tensor intrinsics: which ones of the library are recognised, and what is refused."""

import pytest
import tools

import tirc.tvm as tvm
from tirc import te

CALL = tvm.tir.call_intrin


def load(scope, extents, mnk, dtype="float16", layout="row_major", row=None, strides=None):
    A = te.placeholder(extents, name="A", dtype=dtype)
    C = te.compute(extents, lambda i, j: A[i, j], name="C")
    BA = tvm.tir.decl_buffer(A.shape, A.dtype, scope="shared", strides=strides)
    BC = tvm.tir.decl_buffer(C.shape, C.dtype, scope=scope)

    def function(ins, outs):
        ib = tvm.tir.ir_builder.create()
        row_of = extents[1] if row is None else row
        at = outs[0].elem_offset // (extents[0] * extents[1])
        ib.emit(
            CALL("handle", "tir.tvm_load_matrix_sync", outs[0].data, *mnk, at, ins[0].access_ptr("r"), row_of, layout)
        )
        return ib.get()

    return te.decl_tensor_intrin(C.op, function, binds={A: BA, C: BC})


def store(extents, mnk, dtype="float32", strides=None, row=None, layout="row_major"):
    A = te.placeholder(extents, name="A", dtype=dtype)
    C = te.compute(extents, lambda i, j: A[i, j], name="C")
    BA = tvm.tir.decl_buffer(A.shape, A.dtype, scope="wmma.accumulator")
    BC = tvm.tir.decl_buffer(C.shape, C.dtype, scope="global", strides=strides)

    def function(ins, outs):
        ib = tvm.tir.ir_builder.create()
        at = ins[0].elem_offset // 256
        row_of = extents[1] if row is None else row
        ib.emit(CALL("handle", "tvm_store_matrix_sync", ins[0].data, *mnk, at, outs[0].access_ptr("w"), row_of, layout))
        return ib.get()

    return te.decl_tensor_intrin(C.op, function, binds={A: BA, C: BC})


def product(mnk=(16, 16, 16), dtype="float16", out="float32", a_col=False, b_col=False, value=0.0, steps=3, body=None):
    m, n, depth = mnk
    A = te.placeholder((depth, m) if a_col else (m, depth), name="A", dtype=dtype)
    B = te.placeholder((n, depth) if b_col else (depth, n), name="B", dtype=dtype)
    k = te.reduce_axis((0, depth), name="k")

    def element(i, j):
        a, b = A[k, i] if a_col else A[i, k], B[j, k] if b_col else B[k, j]
        return te.sum((body or (lambda x, y: x * y))(a.astype(out), b.astype(out)), axis=k)

    C = te.compute((m, n), element, name="C")
    buffers = [
        tvm.tir.decl_buffer(tensor.shape, tensor.dtype, scope=f"wmma.{scope}")
        for tensor, scope in ((A, "matrix_a"), (B, "matrix_b"), (C, "accumulator"))
    ]

    def function(ins, outs):
        (a, b), (c,) = ins, outs
        at = [one.elem_offset // 256 for one in (c, a, b)]
        fill = CALL("handle", "tir.tvm_fill_fragment", c.data, *mnk, at[0], value)
        update = CALL("handle", "tir.tvm_mma_sync", c.data, at[0], a.data, at[1], b.data, at[2], c.data, at[0])
        return (update, fill, update) if steps == 3 else update

    return te.decl_tensor_intrin(C.op, function, binds=dict(zip((A, B, C), buffers)))


@pytest.mark.parametrize(
    ("intrinsic", "name"),
    [
        (lambda: load("wmma.matrix_a", (16, 16), (16, 16, 16)), "wmma_load_a_16x16x16_f16"),
        (lambda: load("wmma.matrix_b", (16, 16), (16, 16, 16), layout="col_major"), "wmma_load_b_16x16x16_f16_col"),
        (lambda: load("wmma.matrix_a", (32, 16), (32, 8, 16), "bfloat16"), "wmma_load_a_32x8x16_bf16"),
        (lambda: load("wmma.matrix_b", (8, 16), (32, 8, 16), "int8", "col_major"), "wmma_load_b_32x8x16_i8_col"),
        (lambda: load("wmma.matrix_b", (8, 16), (16, 16, 8), "float32"), "wmma_load_b_16x16x8_tf32"),
        (lambda: load("wmma.matrix_a", (16, 16), (16, 16, 16), strides=[40, 1], row=40), "wmma_load_a_16x16x16_f16"),
        (lambda: store((16, 16), (16, 16, 16)), "wmma_store_16x16x16_f32"),
        (lambda: store((8, 32), (8, 32, 16), "int32"), "wmma_store_8x32x16_i32"),
        (lambda: product(), "wmma_16x16x16_f16_f32"),
        (lambda: product(out="float16"), "wmma_16x16x16_f16_f16"),
        (lambda: product(b_col=True), "wmma_16x16x16_f16_f32_row_col"),
        (lambda: product(a_col=True), "wmma_16x16x16_f16_f32_col_row"),
        (lambda: product((32, 8, 16), "uint8", "int32", value=0), "wmma_32x8x16_u8_i32"),
        (lambda: product((16, 16, 8), "float32"), "wmma_16x16x8_tf32_f32"),
    ],
)
def test_the_library_has_it(intrinsic, name):
    assert intrinsic().library_name == name
    # The page of the library is generated from it.
    assert f"`@{name}`" in (tools.ROOT / "docs" / "intrinsics.md").read_text()


@pytest.mark.parametrize(
    ("intrinsic", "text"),
    [
        (lambda: load("local", (16, 16), (16, 16, 16)), "a load of a tile into `local`"),
        (lambda: load("wmma.matrix_a", (16, 8), (16, 8, 8)), "`wmma` has no tiles of 16x8x8"),
        (lambda: load("wmma.matrix_a", (8, 16), (16, 16, 16)), "the tile `buffer` is 16 x 16"),
        (lambda: load("wmma.matrix_a", (16, 16), (16, 16, 16), row=17), "rows lie as far apart"),
        (lambda: load("wmma.matrix_a", (16, 16), (16, 16, 16), layout="diagonal"), "no layout `diagonal`"),
        (lambda: store((16, 16), (16, 16, 16), layout="col_major"), "a store of columns"),
        (lambda: store((16, 16), (16, 16, 16), "float64"), "no sums of 16x16x16 of `float64`"),
        (lambda: product(value=1.0), "the first step sets the sums to 0"),
        (lambda: product(steps=1), "an intrinsic that writes `tvm_mma_sync`"),
        (lambda: product(out="float64"), "no products of `float16` and `float16` to `float64`"),
        (lambda: product(body=lambda x, y: x + y), "a product computes"),
    ],
)
def test_others_are_refused(intrinsic, text):
    with pytest.raises(te.TeError, match=text) as refused:
        intrinsic()
    assert "docs/" in str(refused.value) or "help: " in str(refused.value)


def test_other_bodies_are_refused():
    A = te.placeholder((16,), name="A")
    C = te.compute((16,), lambda i: A[i] + 1, name="C")

    def loops(ins, outs):
        ib = tvm.tir.ir_builder.create()
        with ib.for_range(0, 16):
            pass

    def external(ins, outs):
        return CALL("int32", "tir.call_extern", "vadd", outs[0].access_ptr("w"))

    with pytest.raises(te.TeUnsupported, match="`for_range` of `ir_builder`"):
        te.decl_tensor_intrin(C.op, loops)
    with pytest.raises(te.TeUnsupported, match="writes `call_extern`"):
        te.decl_tensor_intrin(C.op, external)


def test_a_transposed_factor():
    """`C = A B^T` by `col_major` loads of B."""
    A = te.placeholder((64, 32), name="A", dtype="float16")
    B = te.placeholder((32, 32), name="B", dtype="float16")
    k = te.reduce_axis((0, 32), "k")
    C = te.compute(
        (64, 32), lambda i, j: te.sum(A[i, k].astype("float32") * B[j, k].astype("float32"), axis=k), name="C"
    )
    s = te.create_schedule(C.op)
    AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    AF, BF = s.cache_read(AS, "wmma.matrix_a", [C]), s.cache_read(BS, "wmma.matrix_b", [C])
    CF = s.cache_write(C, "wmma.accumulator")
    io, jo, ii, ji = s[C].tile(*C.op.axis, 16, 16)
    s[C].bind(io, te.thread_axis("blockIdx.x"))
    s[C].bind(jo, te.thread_axis("threadIdx.y"))
    s[CF].compute_at(s[C], jo)
    ko, ki = s[CF].split(k, factor=16)
    s[CF].reorder(ko, *CF.op.axis, ki)
    for fragment in (AF, BF):
        s[fragment].compute_at(s[CF], ko)
    for staged in (AS, BS):
        s[staged].compute_at(s[CF], ko)
        fused = s[staged].fuse(*staged.op.axis)
        _, tx = s[staged].split(fused, factor=32)
        s[staged].bind(tx, te.thread_axis("threadIdx.x"))
    s[AF].tensorize(AF.op.axis[0], load("wmma.matrix_a", (16, 16), (16, 16, 16)))
    s[BF].tensorize(BF.op.axis[0], load("wmma.matrix_b", (16, 16), (16, 16, 16), layout="col_major"))
    s[CF].tensorize(CF.op.axis[0], product(b_col=True))
    s[C].tensorize(ii, store((16, 16), (16, 16, 16)))
    text = te.lower(s, [A, B, C]).text
    assert "@wmma_16x16x16_f16_f32_row_col" in text
    tools.check(text)
    assert "wmma::mma_sync" in tools.cuda(text, "te", "main")
