//! A pass for MLIR's pass managers: the kernels of each `gpu.module` become programs, and what comes of these takes their
//! place.
//!
//! What is between is the caller's: a function from a module of programs to one of MLIR text ([`pass`]). Errors become
//! MLIR's own diagnostics, at the op that they are about. Kernels keep their names. Where the types of their parameters
//! change (a buffer of one dimension in global memory for one of several), their launches in the same module are changed
//! with them.

use crate::import::import_operation;
use crate::{MlirModule, import};
use melior::Context;
use melior::ir::attribute::{Attribute, StringAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationRefMut;
use melior::ir::operation::{OperationBuilder, OperationLike, OperationMutLike};
use melior::ir::r#type::{FunctionType, MemRefType, TypeId};
use melior::ir::{
    Identifier, Location as Place, Module as Ops, Operation, OperationRef, ShapedTypeLike, Value, ValueLike,
};
pub use melior::pass::Pass;
use melior::pass::{ExternalPass, create_external};
use std::ffi::CString;
use std::sync::Arc;
use tc_ir::{Module, Registry};
use tc_support::{Diagnostic, Diagnostics, Location};

/// What MLIR tells passes apart by: the address of something that lives as long as the program.
#[repr(align(8))]
struct PassId;

static PASS: PassId = PassId;

/// The name of the pass, as pipeline strings and messages have it.
pub const NAME: &str = "tc";

/// The pass, for a pass manager of `builtin.module`. `compile` runs passes on the programs and emits them.
pub fn pass<F>(registry: Arc<Registry>, compile: F) -> Pass
where
    // MLIR may run copies of a pass on several threads.
    F: Fn(Module) -> Result<MlirModule, Diagnostics> + Clone + Send + Sync + 'static,
{
    let run = move |module: OperationRef<'_, '_>, pass: ExternalPass<'_>| {
        let kernels: Vec<OperationRef<'_, '_>> =
            import::ops_of(module).filter(|op| import::name_of(*op) == "gpu.module").collect();
        for of in kernels {
            if let Err(found) = replace(&registry, &compile, module, of) {
                found.iter().for_each(|one| tell(of, one));
                pass.signal_failure();
            }
        }
    };
    let about = "runs tc's passes on the kernels of GPU modules";
    create_external(run, TypeId::create(&PASS), "tc", NAME, about, "builtin.module", &[])
}

/// A failure that is about all of the kernels.
fn failed(text: impl Into<String>, help: &str) -> Diagnostics {
    Diagnostic::error("plug", Location::None, text).help(help).into()
}

/// Puts what `compile` makes of the kernels `of` in their place.
fn replace(
    registry: &Arc<Registry>,
    compile: &impl Fn(Module) -> Result<MlirModule, Diagnostics>,
    top: OperationRef<'_, '_>,
    of: OperationRef<'_, '_>,
) -> Result<(), Diagnostics> {
    let (programs, found) = import_operation(top, of, registry);
    if found.has_errors() {
        return Err(found);
    }
    let names: Vec<String> = programs.items.iter().map(|item| item.symbol().to_string()).collect();
    let made = compile(programs)?;
    let context = of.context();
    // SAFETY: the context outlives the pass that runs in it.
    let context = unsafe { context.to_ref() };
    let parsed = Ops::parse(context, &made.text).ok_or_else(|| failed("MLIR does not read what tc wrote", BUG))?;
    let kernels = import::ops_of(parsed.as_operation()).find(|op| import::name_of(*op) == "gpu.module");
    let kernels = kernels.ok_or_else(|| failed("tc wrote no kernels", BUG))?;
    keep_names(context, kernels, of, &names, &made)?;
    adapt_launches(top, of, kernels, &made)?;
    let Some(block) = of.block() else { return Err(failed("the kernels are in no module", BUG)) };
    // SAFETY: `kernels` is taken out of the module that was parsed, and belongs to nothing else when it is put in; `of` is in
    // the body that the pass may change, and nothing uses it after this.
    unsafe {
        let mut taken = OperationRefMut::from_raw(kernels.to_raw());
        taken.remove_from_parent();
        block.insert_operation_before(of, Operation::from_raw(taken.to_raw()));
        mlir_sys::mlirOperationDestroy(of.to_raw());
    }
    Ok(())
}

/// The help where something that should not be is.
const BUG: &str = "this is a defect of tc: please report the text";

/// A program with one kernel gives it its name, and the module keeps its own.
fn keep_names(
    context: &Context,
    kernels: OperationRef<'_, '_>,
    of: OperationRef<'_, '_>,
    names: &[String],
    made: &MlirModule,
) -> Result<(), Diagnostics> {
    let rename = |op: OperationRef<'_, '_>, name: &str| {
        // SAFETY: the op belongs to the module that was parsed here, and to nothing else.
        let mut op = unsafe { OperationRefMut::from_raw(op.to_raw()) };
        op.set_attribute("sym_name", StringAttribute::new(context, name).into());
    };
    rename(kernels, &import::symbol_of(of));
    for manifest in &made.manifests {
        let [kernel] = &manifest.kernels[..] else {
            let text = format!("`@{}` became {} kernels, where it was one", manifest.function, manifest.kernels.len());
            return Err(failed(text, "leave out passes that divide a kernel"));
        };
        // Kernels of our own have the names that their hosts call them by.
        if !manifest.temporaries.is_empty() || !names.contains(&manifest.function) || names.contains(&kernel.name) {
            continue;
        }
        if let Some(op) = import::ops_of(kernels).find(|op| import::symbol_of(*op) == kernel.name) {
            rename(op, &manifest.function);
        }
    }
    Ok(())
}

/// Gives launches of kernels of the module `of` the operands that the new ones take.
fn adapt_launches(
    top: OperationRef<'_, '_>,
    of: OperationRef<'_, '_>,
    kernels: OperationRef<'_, '_>,
    made: &MlirModule,
) -> Result<(), Diagnostics> {
    let module = import::symbol_of(of);
    let mut changes = Vec::new();
    for launch in import::launches_of(top, &module) {
        let Some(kernel) = import::ops_of(kernels).find(|op| import::symbol_of(*op) == launch.kernel) else { continue };
        let inputs = inputs(kernel);
        fits(&launch, inputs.len(), made)?;
        for ((nth, value), wanted) in launch.operands.iter().zip(inputs) {
            if value.r#type() != wanted {
                changes.push((launch.op, *nth, Conversion::of(*value, wanted)?));
            }
        }
    }
    // All of them can be made: no launch is changed before.
    for (launch, nth, conversion) in changes {
        let value = conversion.built(launch)?;
        // SAFETY: the launch is an op of the module that the pass may change.
        let mut op = unsafe { OperationRefMut::from_raw(launch.to_raw()) };
        op.set_operand(nth, value);
    }
    Ok(())
}

/// Refuses a launch that the new kernel, which takes `n_inputs` operands, would need in another way.
fn fits(launch: &import::LaunchOp<'_, '_>, n_inputs: usize, made: &MlirModule) -> Result<(), Diagnostics> {
    if launch.operands.len() != n_inputs {
        let n = launch.operands.len();
        let text = format!("`@{}` takes {n_inputs} operands now, and its launch has {n}", launch.kernel);
        return Err(failed(text, "give open extents as numbers: sizes become operands of a launch"));
    }
    let manifest = made.manifests.iter().find(|manifest| {
        manifest.kernels.iter().any(|of| of.name == launch.kernel || manifest.function == launch.kernel)
    });
    let kept = manifest.and_then(|manifest| manifest.kernels.first()).is_none_or(|kernel| {
        launch.extents.is_none_or(|[grid, block]| (kernel.grid, kernel.block) == (grid, block))
            && kernel.dynamic_shared == 0
    });
    if !kept {
        let text = format!("`@{}` is launched in another way after these passes", launch.kernel);
        return Err(failed(text, "leave out passes that change how threads are used"));
    }
    Ok(())
}

/// The types of the parameters of a kernel.
fn inputs<'c>(kernel: OperationRef<'c, '_>) -> Vec<melior::ir::Type<'c>> {
    let ty =
        kernel.attribute("function_type").ok().and_then(|ty| melior::ir::attribute::TypeAttribute::try_from(ty).ok());
    let ty = ty.and_then(|ty| FunctionType::try_from(ty.value()).ok());
    ty.map_or_else(Vec::new, |ty| (0..ty.input_count()).filter_map(|nth| ty.input(nth).ok()).collect())
}

/// How a buffer becomes one of another type: flat, and in global memory.
struct Conversion<'c, 'a> {
    value: Value<'c, 'a>,
    /// The type without dimensions, and which dimensions become one, where there are several.
    flat: Option<(String, String)>,
    to: String,
}

impl<'c, 'a> Conversion<'c, 'a> {
    /// How `value` becomes a buffer of the type `wanted`, if it can.
    fn of(value: Value<'c, 'a>, wanted: melior::ir::Type<'c>) -> Result<Conversion<'c, 'a>, Diagnostics> {
        let (from, to) = (value.r#type().to_string(), wanted.to_string());
        let rank = MemRefType::try_from(value.r#type()).map_or(0, |ty| ty.rank());
        let flat = (rank > 1 && !from.contains(['?', ','])).then(|| {
            let flat = to.split_once(", ").map_or(to.clone(), |(start, _)| format!("{start}>"));
            let dims: Vec<String> = (0..rank).map(|dim| format!("{dim} : i64")).collect();
            (flat, format!("[[{}]]", dims.join(", ")))
        });
        let have = flat.as_ref().map_or(&from, |(flat, _)| flat);
        let bare = |text: &str| text.split([',', '>']).next().map(str::to_string);
        if bare(have) != bare(&to) || !have.starts_with("memref<") {
            let text = format!("a launch gives `{from}`, and the kernel takes `{to}` now");
            let help = "pass buffers with literal extents that lie row after row, and numbers of their own type";
            return Err(failed(text, help));
        }
        Ok(Conversion { value, flat, to })
    }

    /// The buffer, by ops before the launch `at`.
    fn built(&self, at: OperationRef<'c, 'a>) -> Result<Value<'c, 'a>, Diagnostics> {
        let wrong = || failed(format!("no buffer of type `{}` can be made for a launch", self.to), BUG);
        let mut value = self.value;
        if let Some((flat, grouped)) = &self.flat {
            let reassociation = [("reassociation", grouped.as_str())];
            value = built(at, "memref.collapse_shape", value, flat, &reassociation).ok_or_else(wrong)?;
        }
        built(at, "memref.memory_space_cast", value, &self.to, &[]).ok_or_else(wrong)
    }
}

/// The op `name` of `value`, with a result of the type `ty`, before `at`.
fn built<'c, 'a>(
    at: OperationRef<'c, 'a>,
    name: &str,
    value: Value<'c, 'a>,
    ty: &str,
    attributes: &[(&str, &str)],
) -> Option<Value<'c, 'a>> {
    // What this gives refers to the handle, which has to stay.
    let context = at.context();
    // SAFETY: the context outlives the pass that runs in it.
    let context = unsafe { context.to_ref() };
    let ty = melior::ir::Type::parse(context, ty)?;
    let mut list = Vec::new();
    for (name, text) in attributes {
        list.push((Identifier::new(context, name), Attribute::parse(context, text)?));
    }
    let op = OperationBuilder::new(name, at.location())
        .add_operands(&[value])
        .add_attributes(&list)
        .add_results(&[ty])
        .build()
        .ok()?;
    let placed = at.block()?.insert_operation_before(at, op);
    // SAFETY: the result lives as long as the module that the op is put into.
    placed.result(0).ok().map(|result| unsafe { Value::from_raw(result.to_raw()) })
}

/// Tells `diagnostic` by MLIR's own diagnostics: at its place, or at `of` where it has none.
fn tell(of: OperationRef<'_, '_>, diagnostic: &Diagnostic) {
    let help = diagnostic.help.as_ref().map_or(String::new(), |help| format!(" (help: {help})"));
    let text = format!("{}{help}", diagnostic.message).replace('\0', "");
    let text = CString::new(text).unwrap_or_default();
    let context = of.context();
    // SAFETY: the context outlives the pass that runs in it.
    let context = unsafe { context.to_ref() };
    let place = match &diagnostic.location {
        Location::Point { file, at } => Place::new(context, file, at.line as usize, at.col as usize),
        _ => of.location(),
    };
    // SAFETY: the place belongs to a context that is alive, and the text ends in zero.
    unsafe { mlir_sys::mlirEmitError(place.to_raw(), text.as_ptr()) };
}
