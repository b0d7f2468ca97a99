//! The server as clients meet it: every test speaks the protocol.

mod client;
mod examples;
mod features;
mod robust;
mod speed;

pub(crate) const BLUR: &str = "\
te.func @blur(A: f32[1024]) -> f32[1022] {
  compute B[i: 1022] = sum[r: 3](A[i + r])
  return B
}
schedule @threads for @blur {
  bx, tx = split(B.i, factor = 128)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
}
";
