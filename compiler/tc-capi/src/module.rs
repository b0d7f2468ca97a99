//! Modules: read, copied, run through pipelines, printed, emitted.

use crate::abi::{
    OptionalOut, Out, OutStruct, TcCancel, TcContext, TcDiagnostics, TcEmit, TcEmitOptions, TcEmitted, TcModule,
    TcRunOptions, TcString, TcText, TcVia, flag, read,
};
use crate::call::{Result, call};
use crate::diagnostics::Found;
use crate::status::TcStatus;
use crate::table::{self, ModuleCell, Object};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use tc::ir::Module;
use tc::pass::Limits;
use tc::support::{Cancel, Diagnostics, Sources};
use tc::{Compiler, Failure, Via};

/// Reads `text`, which messages call `name`. `found`, which may be null, is given what was found.
///
/// # Safety
/// Strings are as they say, `out` is null or points to a `TcModule`, `found` to a `TcDiagnostics`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_module_parse(
    context: TcContext,
    name: TcString,
    text: TcString,
    out: *mut TcModule,
    found: *mut TcDiagnostics,
) -> TcStatus {
    call(|| {
        let mut found = OptionalOut::new(found, TcDiagnostics::NONE);
        let mut out = Out::new(out, TcModule::NONE)?;
        let (compiler, owner) = table::get::<Arc<Compiler>>(context.id)?;
        // SAFETY: as the caller says.
        let (name, text) = unsafe { (name.get()?, text.get()?) };
        let parsed = tell(compiler.parse(name, text), owner, &mut found)?;
        tell_diagnostics(&parsed.warnings, &parsed.module.sources, owner, &mut found)?;
        out.set(add_module(owner, &compiler, parsed.module)?);
        Ok(())
    })
}

/// Makes a copy of `module`, so that several pipelines can be run on what it is now.
///
/// # Safety
/// `out` is null or points to a `TcModule`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_module_clone(module: TcModule, out: *mut TcModule) -> TcStatus {
    call(|| {
        let mut out = Out::new(out, TcModule::NONE)?;
        let (cell, owner) = table::get::<Arc<ModuleCell>>(module.id)?;
        let place = lock(&cell)?;
        let copy = whole(&place)?.clone();
        out.set(add_module(owner, &cell.compiler, copy)?);
        Ok(())
    })
}

/// Runs the passes that `pipeline` names on `module`. A pipeline that cannot be read leaves the module as it is; where a
/// pass fails the module can only be freed. `found`, which may be null, is given what was found.
///
/// # Safety
/// `pipeline` is as it says, `found` is null or points to a `TcDiagnostics`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_module_run(module: TcModule, pipeline: TcString, found: *mut TcDiagnostics) -> TcStatus {
    // SAFETY: as the caller says.
    unsafe { tc_module_run_with(module, pipeline, std::ptr::null(), found) }
}

/// The same, told how. A run that is ended, by its limit of steps or a request to cancel, is `TC_STATUS_ENDED` and leaves the
/// module as it is. `options` and `found` may be null.
///
/// # Safety
/// `pipeline` is as it says, `options` is null or points to a `TcRunOptions` whose strings are as they say, `found` is null
/// or points to a `TcDiagnostics`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_module_run_with(
    module: TcModule,
    pipeline: TcString,
    options: *const TcRunOptions,
    found: *mut TcDiagnostics,
) -> TcStatus {
    call(|| {
        let mut found = OptionalOut::new(found, TcDiagnostics::NONE);
        let (cell, owner) = table::get::<Arc<ModuleCell>>(module.id)?;
        // SAFETY: as the caller says.
        let (pipeline, options) = unsafe { (pipeline.get()?, read(options)?) };
        // SAFETY: as the caller says.
        let defines = unsafe { values(options.defines)? };
        let cancel = match options.cancel {
            TcCancel::NONE => None,
            cancel => Some(table::get::<Cancel>(cancel.id)?.0),
        };
        let limits = Limits { steps: (options.max_steps != 0).then_some(options.max_steps), cancel };
        let compiler = Compiler { limits, defines, ..Compiler::clone(&cell.compiler) };
        let mut place = lock(&cell)?;
        // What panics leaves nothing behind.
        let mut module = place.take().ok_or(TcStatus::Spoiled)?;
        let made = compiler.run(&mut module, pipeline);
        let sources = module.sources.clone();
        if module.spoiled_by.is_none() && !made.as_ref().is_err_and(Failure::is_bug) {
            *place = Some(module);
        }
        let report = tell(made, owner, &mut found)?;
        tell_diagnostics(&report.diagnostics, &sources, owner, &mut found)
    })
}

/// Gives the text of `module`.
///
/// # Safety
/// `out` is null or points to a `TcText`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_module_print(module: TcModule, out: *mut TcText) -> TcStatus {
    call(|| {
        let mut out = Out::new(out, TcText::NONE)?;
        let (cell, owner) = table::get::<Arc<ModuleCell>>(module.id)?;
        let place = lock(&cell)?;
        let text = cell.compiler.print(whole(&place)?).map_err(|failure| status_of(&failure))?;
        out.set(add_text(owner, text)?);
        Ok(())
    })
}

/// Writes the kernels of `module`, which went through the pipeline `cuda`, and how they are launched. `options` and
/// `found` may be null.
///
/// # Safety
/// `options` is null or points to a `TcEmitOptions`, `out` to a `TcEmitted` with its size, `found` to a `TcDiagnostics`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_module_emit(
    module: TcModule,
    options: *const TcEmitOptions,
    out: *mut TcEmitted,
    found: *mut TcDiagnostics,
) -> TcStatus {
    call(|| {
        let mut found = OptionalOut::new(found, TcDiagnostics::NONE);
        // SAFETY: as the caller says.
        let (mut out, options) = unsafe { (OutStruct::new(out)?, read(options)?) };
        let (cell, owner) = table::get::<Arc<ModuleCell>>(module.id)?;
        let locations = flag(options.locations)?;
        let is_ptx = options.kind == TcEmit::Ptx as u32;
        if options.reserved != 0 {
            return Err(TcStatus::UnknownField);
        }
        let via = match options.via {
            via if via == TcVia::Cuda as u32 => Via::Cuda,
            via if via == TcVia::Mlir as u32 && is_ptx => Via::Mlir,
            _ => return Err(TcStatus::BadValue),
        };
        let place = lock(&cell)?;
        let module = whole(&place)?;
        let (source, manifests) = match options.kind {
            kind if kind == TcEmit::Cuda as u32 => {
                let options = tc::cuda::EmitOptions { line_directives: locations };
                let emitted = tell(cell.compiler.emit_cuda_with(module, &options), owner, &mut found)?;
                (emitted.source, emitted.manifests)
            }
            kind if kind == TcEmit::Mlir as u32 => {
                let options = tc::mlir::EmitOptions { locations };
                let emitted = tell(cell.compiler.emit_mlir(module, &options), owner, &mut found)?;
                (emitted.text, emitted.manifests)
            }
            _ if is_ptx && !locations => {
                let emitted = tell(cell.compiler.emit_ptx(module, via), owner, &mut found)?;
                (emitted.text, emitted.manifests)
            }
            _ => return Err(TcStatus::BadValue),
        };
        tell_diagnostics(&Diagnostics::new(), &module.sources, owner, &mut found)?;
        let source = add_text(owner, source)?;
        let manifest = add_text(owner, tc::manifest_json(&manifests))?;
        out.set(TcEmitted { struct_size: 0, source, manifest });
        Ok(())
    })
}

/// Frees `module`. Freeing 0 does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn tc_module_free(module: TcModule) -> TcStatus {
    call(|| table::free::<Arc<ModuleCell>>(module.id))
}

fn add_module(owner: u64, compiler: &Arc<Compiler>, module: Module) -> Result<TcModule> {
    let cell = ModuleCell { compiler: compiler.clone(), module: Mutex::new(Some(module)) };
    Ok(TcModule { id: table::add(owner, Object::Module(Arc::new(cell)))? })
}

pub(crate) fn add_text(owner: u64, text: String) -> Result<TcText> {
    Ok(TcText { id: table::add(owner, Object::Text(text.into()))? })
}

/// Reads values of parameters and sizes.
///
/// # Safety
/// `text` is as it says.
pub(crate) unsafe fn values(text: TcString) -> Result<Vec<(String, i64)>> {
    // SAFETY: as the caller says.
    let text = unsafe { text.get()? };
    tc::passes::schedule::read_defines(text).map_err(|_| TcStatus::BadValue)
}

/// The module, for this thread alone.
pub(crate) fn lock(cell: &ModuleCell) -> Result<MutexGuard<'_, Option<Module>>> {
    match cell.module.try_lock() {
        Ok(place) => Ok(place),
        Err(TryLockError::WouldBlock) => Err(TcStatus::Busy),
        // A call that panicked left what it was working on.
        Err(TryLockError::Poisoned(_)) => Err(TcStatus::Spoiled),
    }
}

pub(crate) fn whole(place: &Option<Module>) -> Result<&Module> {
    place.as_ref().ok_or(TcStatus::Spoiled)
}

/// What was made, or its failure as a status, told in `found`.
pub(crate) fn tell<T>(
    made: std::result::Result<T, Failure>,
    owner: u64,
    found: &mut OptionalOut<TcDiagnostics>,
) -> Result<T> {
    made.or_else(|failure| {
        tell_diagnostics(&failure.diagnostics, &failure.sources, owner, found)?;
        Err(status_of(&failure))
    })
}

fn tell_diagnostics(
    diagnostics: &Diagnostics,
    sources: &Sources,
    owner: u64,
    found: &mut OptionalOut<TcDiagnostics>,
) -> Result<()> {
    if found.is_wanted() {
        let list = Object::Diagnostics(Arc::new(Found::new(diagnostics, sources)));
        found.set(TcDiagnostics { id: table::add(owner, list)? });
    }
    Ok(())
}

fn status_of(failure: &Failure) -> TcStatus {
    match () {
        _ if failure.is_bug() => TcStatus::Bug,
        _ if failure.is_ended() => TcStatus::Ended,
        _ => TcStatus::Failed,
    }
}
