//! Modules: read, copied, run through pipelines, printed, emitted.

use crate::abi::{
    OptionalOut, Out, OutStruct, TcContext, TcDiagnostics, TcEmit, TcEmitOptions, TcEmitted, TcModule, TcString,
    TcText, flag, read,
};
use crate::call::{Result, call};
use crate::diagnostics::Found;
use crate::status::TcStatus;
use crate::table::{self, ModuleCell, Object};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use tc::ir::Module;
use tc::support::{Diagnostics, Sources};
use tc::{Compiler, Failure};

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
        tell_findings(&parsed.warnings, &parsed.module.sources, owner, &mut found)?;
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
    call(|| {
        let mut found = OptionalOut::new(found, TcDiagnostics::NONE);
        let (cell, owner) = table::get::<Arc<ModuleCell>>(module.id)?;
        // SAFETY: as the caller says.
        let pipeline = unsafe { pipeline.get()? };
        let mut place = lock(&cell)?;
        let mut scratch = cell.compiler.module();
        scratch.sources = whole(&place)?.sources.clone();
        tell(cell.compiler.pipeline(pipeline, &mut scratch), owner, &mut found)?;
        let mut module = place.take().ok_or(TcStatus::Spoiled)?;
        let report = tell(cell.compiler.run(&mut module, pipeline), owner, &mut found)?;
        tell_findings(&report.diagnostics, &module.sources, owner, &mut found)?;
        *place = Some(module);
        Ok(())
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
            _ => return Err(TcStatus::BadValue),
        };
        tell_findings(&Diagnostics::new(), &module.sources, owner, &mut found)?;
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

/// The module, for this thread alone.
fn lock(cell: &ModuleCell) -> Result<MutexGuard<'_, Option<Module>>> {
    match cell.module.try_lock() {
        Ok(place) => Ok(place),
        Err(TryLockError::WouldBlock) => Err(TcStatus::Busy),
        // A call that panicked left what it was working on.
        Err(TryLockError::Poisoned(_)) => Err(TcStatus::Spoiled),
    }
}

fn whole(place: &Option<Module>) -> Result<&Module> {
    place.as_ref().ok_or(TcStatus::Spoiled)
}

/// What was made, or its failure as a status, told in `found`.
fn tell<T>(made: std::result::Result<T, Failure>, owner: u64, found: &mut OptionalOut<TcDiagnostics>) -> Result<T> {
    made.or_else(|failure| {
        tell_findings(&failure.diagnostics, &failure.sources, owner, found)?;
        Err(status_of(&failure))
    })
}

fn tell_findings(
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
    if failure.is_bug() { TcStatus::Bug } else { TcStatus::Failed }
}
