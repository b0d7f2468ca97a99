//! Compiles the kernels, for several targets, into the program.

fn main() -> Result<(), tc_build::Error> {
    tc_build::Bundle::new("../aot/kernels.tir").pipeline("cuda{schedule=threads}").targets(["sm_80", "sm_90"]).compile()
}
