//! What holds of every run of the corpus that fails in a pass or an emitter: its reproducer reads back and fails in the
//! same way, to the word.

use crate::Outcome;
use tc::Compiler;
use tc::debug::{Reproducer, Signature, Stage};
use tc_opt::{Args, Emit};

/// Checks it for `text`, run as `args` say.
pub fn check(compiler: &Compiler, args: &Args, text: &str) -> Outcome {
    let Some(pipeline) = &args.run.pass_pipeline else { return Ok(()) };
    let run = Reproducer {
        emit: (args.run.emit == Emit::Cuda).then(|| "cuda".to_string()),
        allow_unknown_ops: args.input.allow_unknown_ops,
        ..compiler.attempt(text, pipeline)
    };
    let first = compiler.rerun(&run);
    let (Some(want), Some(stage)) = (first.signature, first.failed) else { return Ok(()) };
    if stage == Stage::Start {
        return Ok(());
    }
    let made = compiler.narrowed(&run).ok_or_else(|| format!("no reproducer was made of the failure `{want}`"))?;
    let written = made.to_string();
    let failed = |why: &str| Err(format!("{why}\n{written}"));
    let read = match Reproducer::parse("reproducer.tir", &written) {
        Ok(read) => read,
        Err((wrong, _)) => return failed(&format!("the reproducer does not read: {}", wrong.message)),
    };
    if read != made {
        return failed("the reproducer reads as another one");
    }
    let shown = |one: Option<&Signature>| one.map_or("nothing".to_string(), Signature::to_string);
    let got = compiler.rerun(&read).signature;
    if got.as_ref() == Some(&want) {
        return Ok(());
    }
    failed(&format!("the reproducer fails otherwise: `{}` instead of `{want}`", shown(got.as_ref())))
}
