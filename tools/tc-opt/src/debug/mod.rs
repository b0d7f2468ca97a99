//! Failing runs: reproducers, reduction, bisection.

mod best;
pub(crate) mod bisect;
mod head;
pub(crate) mod reduce;
pub(crate) mod refuse;
pub(crate) mod reproduce;
mod work_dir;

use crate::args::{Args, Emit, VerifyEach};
use crate::inputs;
use bisect::Bisection;
use clap::ValueEnum;
use tc::Compiler;
use tc::debug::{Reproducer, Verify};
use tc::ir::Module;
use tc::pass::Pipeline;
use tc::support::Sources;
use tc::syntax::ParseOptions;
use tc_cli::{Session, status_of};

/// The command line as the head of a reproducer fills it in, if it asks for that. The error is the status, and was
/// told.
pub(crate) fn recorded(args: &Args, name: &str, text: &str, session: &Session<'_>) -> Result<Args, u8> {
    let found = head::read_and_check(name, text, &Compiler::new(), session)?;
    let mut args = args.clone();
    (args.run.emit, args.run.via) = head::emitted(&found);
    args.run.pass_pipeline = Some(found.pipeline);
    if !found.target.is_empty() {
        args.run.target = found.target;
    }
    args.run.verify_each = match found.verify {
        Verify::None => VerifyEach::None,
        Verify::Structure => VerifyEach::Structure,
        Verify::Semantics => VerifyEach::Semantics,
    };
    args.input.allow_unknown_ops |= found.allow_unknown_ops;
    args.run.step_limit = args.run.step_limit.or(found.step_limit);
    Ok(args)
}

/// The status, if `args` ask for one of the modes of this folder instead of a run.
pub(crate) fn mode(
    args: &Args,
    compiler: &Compiler,
    session: &Session<'_>,
    (pipeline, sources): (&Pipeline, &Sources),
    text: &str,
) -> Option<Result<u8, u8>> {
    if args.debug.reduce.is_some() {
        return Some(reduce::run(args, compiler, session, text));
    }
    args.debug.bisect.as_ref()?;
    let mut module = Module::new(compiler.registry.clone());
    module.sources = sources.clone();
    let Ok(file) = module.sources.add(args.file_name(), text) else {
        return Some(Err(session.refuse(&format!("`{}` is too large: a file may have 2 GiB", args.file_name()))));
    };
    let options = ParseOptions { allow_unknown_ops: args.input.allow_unknown_ops };
    let mut found = inputs::parse(&mut module, file, &options);
    if !found.has_errors() {
        found.append(tc::ir::symbols::verify_module(&module));
    }
    session.tell(&found, &module.sources);
    if found.has_errors() {
        return Some(Err(status_of(&found)));
    }
    Some(Bisection { args, compiler, session, pipeline, module: &module }.run())
}

/// The run that `args` ask for over `text`, as data.
fn attempt(args: &Args, compiler: &Compiler, text: &str) -> Reproducer {
    let pipeline = args.run.pass_pipeline.clone().unwrap_or_else(|| "module()".to_string());
    let emit = (args.run.emit != Emit::Tir).then(|| args.run.emit.to_possible_value()).flatten();
    let via = args.run.via.and_then(|via| via.to_possible_value());
    // The head of a reproducer that is run in another way is not the program's.
    let headless = Reproducer::is_one(text).then(|| Reproducer::parse("", text).ok()).flatten();
    let program = headless.map_or_else(|| text.to_string(), |found| found.program);
    Reproducer {
        verify: match args.run.verify_each {
            VerifyEach::None => Verify::None,
            VerifyEach::Structure => Verify::Structure,
            VerifyEach::Semantics => Verify::Semantics,
        },
        emit: emit.map(|emit| emit.get_name().to_string()),
        via: via.map(|via| via.get_name().to_string()),
        allow_unknown_ops: args.input.allow_unknown_ops,
        ..compiler.attempt(&program, &pipeline)
    }
}
