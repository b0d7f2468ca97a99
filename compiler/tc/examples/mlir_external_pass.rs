//! A pass of MLIR that is written in Rust and compiles tensor programs: how a compiler that is built on MLIR uses ours.
//!
//! The pass `tc-programs` runs on a `builtin.module`. A function that is declared with the text of an operator,
//!
//! ```mlir
//! func.func private @blur(memref<1024xf32>, memref<1022xf32>)
//!   attributes {tir = "te.func @blur … schedule @threads for @blur …", pipeline = "cuda{schedule=threads}"}
//! ```
//!
//! gets a body that launches kernels, and a `gpu.module` with the kernels beside it. What is wrong with the operator is an
//! error of MLIR's at the function, and fails the pass. Everything after that is the other compiler's own pipeline.
//!
//! `cargo run -p tirc --features mlir --example mlir_external_pass`

#![allow(unsafe_code, reason = "ops are moved from one module to another, which melior has no safe words for")]

use melior::Context;
use melior::dialect::DialectRegistry;
use melior::ir::attribute::StringAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, OperationMutLike};
use melior::ir::r#type::TypeId;
use melior::ir::{BlockRef, Module, Operation, OperationRef, RegionLike};
use melior::pass::{ExternalPass, Pass, PassManager, create_external, transform};
use std::ffi::CString;
use std::fmt::Write;
use tc::Compiler;
use tc::target::{DType, KernelManifest, Param};

/// What MLIR tells passes apart by: the address of something that lives as long as the program.
#[repr(align(8))]
struct PassId;

static PASS: PassId = PassId;

/// The pass, for a pass manager of `builtin.module`.
pub fn tensor_programs(compiler: &Compiler) -> Pass {
    let compiler = compiler.clone();
    let run = move |module: OperationRef<'_, '_>, pass: ExternalPass<'_>| {
        let Some(body) = module.region(0).ok().and_then(|region| region.first_block()) else { return };
        for function in functions(body) {
            if let Err(why) = replace(&compiler, body, function) {
                tell(function, &why);
                pass.signal_failure();
            }
        }
    };
    create_external(
        run,
        TypeId::create(&PASS),
        "tensor programs",
        "tc-programs",
        "compiles functions whose body is a tensor program",
        "builtin.module",
        &[],
    )
}

/// The functions that are declared by a tensor program.
fn functions<'c, 'a>(body: BlockRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    let ops = std::iter::successors(body.first_operation(), |op| op.next_in_block());
    ops.filter(|op| op.has_attribute("tir")).collect()
}

/// Puts kernels and a function that launches them in the place of `function`.
fn replace(compiler: &Compiler, body: BlockRef<'_, '_>, function: OperationRef<'_, '_>) -> Result<(), String> {
    let text = |name: &str| {
        let attribute = function.attribute(name).map_err(|_| format!("`{name}` is missing"))?;
        StringAttribute::try_from(attribute).map(|text| text.value()).map_err(|_| format!("`{name}` is no string"))
    };
    let (name, tir, pipeline) = (text("sym_name")?, text("tir")?, text("pipeline")?);
    // Ours: text in, text out. Diagnostics come back as data.
    let compiled = compiler.parse(name, tir).and_then(|mut parsed| {
        compiler.run(&mut parsed.module, pipeline)?;
        compiler.emit_mlir(&parsed.module, &tc::mlir::EmitOptions::default())
    });
    let emitted = compiled.map_err(|failure| failure.text())?;
    let manifest = emitted.manifests.first().filter(|manifest| manifest.function == name);
    let manifest = manifest.ok_or_else(|| format!("the text holds no `@{name}`"))?;
    let kernels = emitted.text.replace("gpu.module @kernels", &format!("gpu.module @{name}_kernels"));
    let inside = kernels.trim_end().strip_suffix('}').ok_or("the text of the kernels is no module")?;
    let text = format!("{inside}{}}}\n", host(name, manifest)?);
    // MLIR's again: the text becomes ops of the user's context.
    let context = function.context();
    // SAFETY: the context outlives the pass that runs in it.
    let context = unsafe { context.to_ref() };
    let parsed = Module::parse(context, &text).ok_or("MLIR does not read the text")?;
    let mut next = parsed.body().first_operation_mut();
    while let Some(mut op) = next {
        next = op.next_in_block_mut();
        op.remove_from_parent();
        // SAFETY: the op belongs to no block any more, and nothing else frees it.
        body.insert_operation_before(function, unsafe { Operation::from_raw(op.to_raw()) });
    }
    // SAFETY: the op is in the body that the pass may change, and nothing uses it after this.
    unsafe { mlir_sys::mlirOperationDestroy(function.to_raw()) };
    Ok(())
}

/// The text of a function of the host that launches the kernels as `manifest` says.
fn host(name: &str, manifest: &KernelManifest) -> Result<String, String> {
    if !manifest.temporaries.is_empty() || !manifest.sizes.is_empty() {
        return Err("this demonstration allocates nothing, and takes no sizes".to_string());
    }
    let (mut params, mut body) = (Vec::new(), String::new());
    for param in &manifest.params {
        let Param::Buffer(buffer) = param else { return Err("this demonstration passes buffers only".to_string()) };
        let (name, number) = (&buffer.name, number(buffer.dtype)?);
        let n: u64 = buffer.shape.iter().product();
        let shape: String = buffer.shape.iter().map(|extent| format!("{extent}x")).collect();
        params.push(format!("%{name}: memref<{shape}{number}>"));
        // Kernels take buffers of one dimension, in global memory.
        let dims: Vec<String> = (0..buffer.shape.len()).map(|dim| dim.to_string()).collect();
        let flat = if dims.len() == 1 { format!("%{name}") } else { format!("%{name}_flat") };
        if dims.len() != 1 {
            let dims = dims.join(", ");
            let _ = writeln!(
                body,
                "{flat} = memref.collapse_shape %{name} [[{dims}]] : memref<{shape}{number}> into memref<{n}x{number}>"
            );
        }
        let _ = writeln!(
            body,
            "%{name}_global = memref.memory_space_cast {flat} : memref<{n}x{number}> to memref<{n}x{number}, {GLOBAL}>"
        );
    }
    for (nth, kernel) in manifest.kernels.iter().enumerate() {
        let mut sizes = Vec::new();
        for (of, extents) in [("grid", kernel.grid), ("block", kernel.block)] {
            for (dim, extent) in ["x", "y", "z"].iter().zip(extents) {
                let _ = writeln!(body, "%{of}_{dim}_{nth} = arith.constant {extent} : index");
                sizes.push(format!("%{of}_{dim}_{nth}"));
            }
        }
        let _ = writeln!(body, "%shared_{nth} = arith.constant {} : i32", kernel.dynamic_shared);
        let mut args = Vec::new();
        for arg in &kernel.args {
            let buffer = manifest.buffer(arg).ok_or_else(|| format!("`{arg}` is no buffer"))?;
            let n: u64 = buffer.shape.iter().product();
            args.push(format!("%{arg}_global : memref<{n}x{}, {GLOBAL}>", number(buffer.dtype)?));
        }
        let _ = writeln!(
            body,
            "gpu.launch_func @{name}_kernels::@{} blocks in ({}) threads in ({}) dynamic_shared_memory_size %shared_{nth} \
             args({})",
            kernel.name,
            sizes[..3].join(", "),
            sizes[3..].join(", "),
            args.join(", ")
        );
    }
    Ok(format!("func.func @{name}({}) {{\n{body}return\n}}\n", params.join(", ")))
}

const GLOBAL: &str = "#gpu.address_space<global>";

fn number(dtype: DType) -> Result<&'static str, String> {
    match dtype {
        DType::F16 => Ok("f16"),
        DType::F32 => Ok("f32"),
        DType::F64 => Ok("f64"),
        DType::I32 => Ok("i32"),
        _ => Err(format!("this demonstration does not pass `{}`", dtype.name())),
    }
}

/// Tells what is wrong at `op`, by MLIR's own diagnostics.
fn tell(op: OperationRef<'_, '_>, why: &str) {
    let why = CString::new(why.replace('\0', "")).unwrap_or_default();
    // SAFETY: the location is that of an op that is alive, and the text ends in zero.
    unsafe { mlir_sys::mlirEmitError(op.location().to_raw(), why.as_ptr()) };
}

/// A module of somebody else's: what it does with its functions is its own affair.
const MODULE: &str = r#"
module attributes {gpu.container_module} {
  func.func private @blur(memref<1024xf32>, memref<1022xf32>) attributes {
    tir = "te.func @blur(A: f32[1024]) -> f32[1022] {\0A compute B[i: 1022] = sum[r: 3](A[i + r])\0A return B\0A}\0Aschedule @threads for @blur {\0A bx, tx = split(B.i, factor = 128)\0A bind(bx, blockIdx.x)\0A bind(tx, threadIdx.x)\0A}\0A",
    pipeline = "cuda{schedule=threads}"
  }
  func.func @main(%a: memref<1024xf32>, %b: memref<1022xf32>) {
    call @blur(%a, %b) : (memref<1024xf32>, memref<1022xf32>) -> ()
    return
  }
}
"#;

/// Runs the pass on a text, and MLIR's own on what comes of it; gives the module that results, or what MLIR said.
pub fn compile(text: &str) -> Result<String, Vec<String>> {
    let registry = DialectRegistry::new();
    tc::mlir::lower::add_dialects(&registry);
    tc::mlir::lower::register_passes();
    let context = Context::new_with_registry(&registry, false);
    let said = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let list = said.clone();
    context.attach_diagnostic_handler(move |diagnostic| {
        list.borrow_mut().push(format!("{}: {diagnostic}", diagnostic.location()));
        true
    });
    let mut module = Module::parse(&context, text).ok_or_else(|| said.take())?;
    let manager = PassManager::new(&context);
    manager.add_pass(tensor_programs(&Compiler::new()));
    // Pipelines as strings go into managers of their own: reading one drops what is in a manager already.
    manager.add_pass(transform::create_canonicalizer());
    manager.add_pass(transform::create_cse());
    if manager.run(&mut module).is_err() {
        return Err(said.take());
    }
    Ok(module.as_operation().to_string())
}

#[allow(clippy::print_stdout, reason = "an example shows what it does")]
fn main() {
    match compile(MODULE) {
        Ok(module) => println!("{module}"),
        Err(said) => {
            println!("{}", said.join("\n"));
            std::process::exit(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_function_becomes_kernels_and_their_launch() {
        let module = compile(MODULE).unwrap_or_else(|said| panic!("{said:?}"));
        assert!(module.contains("gpu.module @blur_kernels") && module.contains("gpu.func @blur"), "{module}");
        assert!(module.contains("gpu.launch_func  @blur_kernels::@blur"), "{module}");
        assert!(!module.contains("tir = "), "{module}");
    }

    #[test]
    fn what_is_wrong_with_an_operator_is_an_error_of_mlir() {
        let wrong = MODULE.replace("A[i + r]", "C[i + r]");
        let said = compile(&wrong).expect_err("there is no `C`");
        assert!(said.iter().any(|one| one.contains('C') && one.contains("loc(")), "{said:?}");
    }
}
