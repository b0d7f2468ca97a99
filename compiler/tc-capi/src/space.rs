//! Search spaces: what a schedule with parameters spans, and points of it.

use crate::abi::{OptionalOut, Out, TcDiagnostics, TcModule, TcSpaceOptions, TcText, flag, read};
use crate::call::{Result, call};
use crate::module::{add_text, lock, tell, values, whole};
use crate::status::TcStatus;
use crate::table::{self, ModuleCell};
use std::sync::Arc;
use tc::space::Question;

/// Points that are judged where no number is given.
const LIMIT: u64 = 200_000;

/// Tells what the space of a schedule holds, as a JSON object: parameters, the number of points, how many of those judged
/// the target allows, and why it does not allow the others. docs/tc-opt.md has the fields. `options` and `found` may be
/// null.
///
/// # Safety
/// `options` is null or points to a `TcSpaceOptions` whose strings are as they say, `out` is null or points to a `TcText`,
/// `found` to a `TcDiagnostics`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_module_space(
    module: TcModule,
    options: *const TcSpaceOptions,
    out: *mut TcText,
    found: *mut TcDiagnostics,
) -> TcStatus {
    // SAFETY: as the caller says.
    unsafe {
        ask(module, options, out, found, |cell, asked| {
            cell.compiler.survey(asked.module, &asked.question).map(|survey| survey.to_string())
        })
    }
}

/// Gives valid points of the space of a schedule, one a line, as `schedule{param="..."}` and `TcRunOptions` read them.
/// `options` and `found` may be null.
///
/// # Safety
/// As of `tc_module_space`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_module_points(
    module: TcModule,
    options: *const TcSpaceOptions,
    out: *mut TcText,
    found: *mut TcDiagnostics,
) -> TcStatus {
    // SAFETY: as the caller says.
    unsafe {
        ask(module, options, out, found, |cell, asked| {
            let points = cell.compiler.points(asked.module, &asked.question, asked.n, asked.seed)?;
            Ok(points.iter().map(|point| format!("{point}\n")).collect())
        })
    }
}

/// What is asked, read.
struct Asked<'a> {
    module: &'a tc::ir::Module,
    question: Question<'a>,
    n: usize,
    seed: Option<u64>,
}

/// # Safety
/// As of `tc_module_space`.
unsafe fn ask(
    module: TcModule,
    options: *const TcSpaceOptions,
    out: *mut TcText,
    found: *mut TcDiagnostics,
    answer: impl FnOnce(&ModuleCell, &Asked<'_>) -> std::result::Result<String, tc::Failure>,
) -> TcStatus {
    call(|| {
        let mut found = OptionalOut::new(found, TcDiagnostics::NONE);
        let mut out = Out::new(out, TcText::NONE)?;
        // SAFETY: as the caller says.
        let options = unsafe { read(options)? };
        // SAFETY: as the caller says.
        let (schedule, defines) = unsafe { (options.schedule.get()?, values(options.defines)?) };
        if options.reserved != 0 {
            return Err(TcStatus::UnknownField);
        }
        let seed = flag(options.is_sample)?.then_some(options.seed);
        if seed.is_some() && options.n_points == 0 {
            return Err(TcStatus::BadValue);
        }
        let limit = if options.limit == 0 { LIMIT } else { options.limit };
        let n = if options.n_points == 0 { usize::MAX } else { number(options.n_points)? };
        let (cell, owner) = table::get::<Arc<ModuleCell>>(module.id)?;
        let place = lock(&cell)?;
        let question = Question { schedule, defines: &defines, limit };
        let asked = Asked { module: whole(&place)?, question, n, seed };
        let text = tell(answer(&cell, &asked), owner, &mut found)?;
        out.set(add_text(owner, text)?);
        Ok(())
    })
}

fn number(n: u64) -> Result<usize> {
    usize::try_from(n).map_err(|_| TcStatus::BadValue)
}
