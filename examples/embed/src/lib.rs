//! A compiler of someone else's: Einstein sums as strings, `ij,jk->ik`, compiled by tc for a GPU.
//!
//! `spec` reads the string, `dialect` declares an op and a pass, `schedule` chooses one by the shapes; [`compile`] runs.

mod dialect;
mod schedule;
mod spec;

use std::ops::Range;
use tc::cuda::CudaModule;
use tc::ir::func::{ParamDecl, ResultDecl};
use tc::ir::{AttrData, Attrs, Builder, Func, Loc, Module};
use tc::support::{Diagnostic, Location, Pos, Span};
use tc::{Compiler, Failure};

/// From the op of the front end to kernels: its own pass, then those of tc.
pub const PIPELINE: &str = "te.func(lower-einsum),cuda";

/// tc, with the dialect and the pass of this crate.
pub fn compiler() -> Compiler {
    let mut compiler = Compiler::new();
    compiler.add_dialect(dialect::DIALECT).expect("no other dialect has its name");
    compiler.passes.add_pass(&dialect::LOWER_EINSUM).expect("no other pass has its name");
    compiler
}

/// The module that `text` stands for. Diagnostics of all later steps point into the string, a file of the module.
pub fn module(compiler: &Compiler, text: &str, shapes: &[Vec<u64>]) -> Result<Module, Failure> {
    let mut module = compiler.module();
    let Ok(file) = module.sources.add("einsum", text) else {
        let found = Diagnostic::error("einsum", Location::None, "the string has more than 2 GiB");
        return Err(Failure { diagnostics: found.into(), sources: module.sources });
    };
    let start = module.sources.file(file).start();
    let sum = spec::Sum::read(text, shapes).map_err(|(at, message, other)| {
        let span = |at: Range<usize>| Span::new(Pos(start.0 + at.start as u32), Pos(start.0 + at.end as u32));
        let found = Diagnostic::error("einsum", span(at), message);
        let found = other.into_iter().fold(found, |found, (at, text)| found.label(span(at), text));
        Failure { diagnostics: found.into(), sources: module.sources.clone() }
    })?;
    let mut func = Func::new(module.registry.clone(), tc::dialects::te::FUNC, "einsum");
    let (body, loc) = (func.body(), Loc::pos(start));
    func.header.loc = loc;
    let mut tensors = Vec::new();
    for (nth, shape) in shapes.iter().enumerate() {
        let ty = dialect::tensor(&mut func, shape);
        func.header.params.push(ParamDecl { attrs: Attrs::EMPTY, choices: None, default: None });
        tensors.push(func.push_arg(body, ty, Some(&format!("T{nth}"))));
    }
    let (key, string) = (func.name("spec"), func.attr(AttrData::Str(text.into())));
    let mut b = Builder::at_end(&mut func, body);
    b.locs.source = loc;
    let op = dialect::Contract::build(&mut b, &tensors, &[(key, string)], &[]);
    let result = b.func.result(op).expect("its row has one");
    b.name(result, "R");
    tc::dialects::te::Return::build(&mut b, &[result], &[], &[]);
    func.header.results.push(ResultDecl { name: None, ty: func.value_type(result), attrs: Attrs::EMPTY });
    module.items = vec![func, schedule::choose(compiler, &sum, loc)?];
    compiler.verify(&module)?;
    Ok(module)
}

/// The CUDA C++ for `text`, and how it is launched.
pub fn compile(compiler: &Compiler, text: &str, shapes: &[Vec<u64>]) -> Result<CudaModule, Failure> {
    let mut module = module(compiler, text, shapes)?;
    compiler.run(&mut module, PIPELINE)?;
    compiler.emit_cuda(&module)
}
