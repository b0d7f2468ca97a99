//! From a case to a program that a device takes.
//!
//! A schedule is lowered and goes through the pipeline `cuda`, so that what is checked is what is emitted: a host
//! function and its kernels. Two kinds of program stay as they are on the simulator: those that bind no axis, which
//! have no kernels, and those that are threaded already, whose barriers are the author's.

use super::cases::{Case, calls, is_operator};
use super::origin::Origins;
use crate::compiler::Compiler;
use crate::failure::Failure;
use crate::native::Via;
use crate::space::space;
use std::collections::BTreeSet;
use tc_dialects::{algebra, forms, te};
use tc_ir::verify::is_threaded;
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Func, Module, keys};
use tc_runtime::{Array, Code, Program};
use tc_sim::Sizes;
use tc_support::{Diagnostic, Diagnostics};

/// What a name is defined to be: a size of an operator, or a parameter of a schedule; a truth value is 0 or 1.
pub type Define = (String, i64);

/// A case that is ready to run.
#[derive(Clone, Debug)]
pub struct Built {
    /// The program with all that it calls.
    pub module: Module,
    /// The function to run.
    pub name: String,
    /// The point of the schedule's space that was taken.
    pub point: Vec<Define>,
    /// What was defined: the values of the sizes and numbers that the program still has.
    pub sizes: Sizes,
    /// Diagnostics that are no errors.
    pub remarks: Diagnostics,
    /// Passes have rewritten the program.
    pub rewritten: bool,
    /// Where a schedule made the program: which directives its lines come from.
    pub origins: Origins,
}

/// The names that `-D` may give a value for `case`.
pub fn definable(module: &Module, case: &Case) -> Vec<String> {
    let item = &module.items[case.func];
    if is_operator(item) {
        let schedule = case.schedule.map(|schedule| &module.items[schedule]);
        return tc_schedule::definable(item, schedule).into_iter().map(str::to_string).collect();
    }
    let symbols = item.header.symbols.iter().map(|symbol| item.text(symbol.name).to_string());
    let scalars = item.params().iter().filter(|&&param| item.value_scalar(param).is_some());
    let scalars = scalars.map(|&param| item.value_text(param).to_string());
    symbols.chain(scalars).chain(parameters(module, case)).collect()
}

/// The parameters of the schedule of `case`.
fn parameters(module: &Module, case: &Case) -> Vec<String> {
    let schedule = case.schedule.map(|schedule| &module.items[schedule]);
    schedule
        .map_or(Vec::new(), |sched| sched.params().iter().map(|&param| sched.value_text(param).to_string()).collect())
}

/// Those of `defines` that `case` knows.
pub fn known(module: &Module, case: &Case, defines: &[Define]) -> Vec<Define> {
    let names = definable(module, case);
    defines.iter().filter(|(name, _)| names.contains(name)).cloned().collect()
}

/// The sizes that the shapes of `inputs` give, of those that `defines` does not: an argument `A: f32[n, 4]` with an array
/// of 6 rows says that `n` is 6.
pub(super) fn sizes_of(item: &Func, inputs: &[(String, Array)], defines: &[Define]) -> Vec<Define> {
    let mut sizes: Vec<Define> = Vec::new();
    for &param in item.params() {
        let array = inputs.iter().find(|(name, _)| name == item.value_text(param));
        let (Some((_, array)), Some((_, shape, _))) = (array, item.as_shaped(item.value_type(param))) else { continue };
        for (&dim, &extent) in shape.iter().zip(array.shape()) {
            let AttrData::Word(name) = item.attr_data(dim) else { continue };
            let name = item.text(*name);
            let known = |list: &[Define]| list.iter().any(|(other, _)| other == name);
            if let Ok(extent) = i64::try_from(extent)
                && !known(defines)
                && !known(&sizes)
            {
                sizes.push((name.to_string(), extent));
            }
        }
    }
    sizes
}

impl Compiler {
    /// Builds `case` for arrays `inputs`, whose shapes give values to sizes, and tells all values that are known: the ones
    /// defined, and those of the shapes.
    pub(super) fn build_for(
        &self,
        module: &Module,
        case: &Case,
        (defines, inputs): (&[Define], &[(String, Array)]),
        gpu: bool,
    ) -> Result<(Built, Vec<Define>), Failure> {
        let item = &module.items[case.definition.unwrap_or(case.func)];
        let shapes = sizes_of(item, inputs, defines);
        // A size that stays open is given its value when the program is run.
        let is_open = |name: &str| {
            let symbol = item.header.symbols.iter().find(|symbol| item.text(symbol.name) == name);
            self.symbolic || symbol.is_some_and(|symbol| symbol.default.is_none())
        };
        let fixed = shapes.iter().filter(|(name, _)| !is_open(name)).cloned();
        let fixed: Vec<Define> = defines.iter().cloned().chain(fixed).collect();
        let mut built = self.build(module, case, &fixed, gpu)?;
        let all: Vec<Define> = defines.iter().cloned().chain(shapes).collect();
        built.sizes = all.iter().cloned().collect();
        Ok((built, all))
    }

    /// Builds `case` of `module` for the simulator, or for a GPU.
    pub fn build(&self, module: &Module, case: &Case, defines: &[Define], gpu: bool) -> Result<Built, Failure> {
        let module = &*self.without_calls(module)?;
        let failed = |diagnostics| Failure { diagnostics, sources: module.sources.clone() };
        let item = &module.items[case.func];
        let defines = known(module, case, defines);
        let mut built = Built {
            module: Module { sources: module.sources.clone(), ..Module::new(module.registry.clone()) },
            name: item.symbol().to_string(),
            point: Vec::new(),
            sizes: defines.iter().cloned().collect(),
            remarks: Diagnostics::new(),
            rewritten: false,
            origins: Origins::default(),
        };
        if is_operator(item) {
            let schedule = case.schedule.map(|schedule| &module.items[schedule]);
            built.point = point(item, schedule, &defines).map_err(failed)?;
            let options = tc_schedule::Options { defines, symbolic: self.symbolic };
            let programs = tc_schedule::programs(item, schedule, module, &options, &mut BTreeSet::new());
            built.module.items = programs.map_err(failed)?;
        } else if let Some(schedule) = case.schedule.map(|schedule| &module.items[schedule]) {
            let names = parameters(module, case);
            let (given, sizes): (Vec<Define>, Vec<Define>) =
                defines.into_iter().partition(|(name, _)| names.contains(name));
            built.point = point(item, Some(schedule), &given).map_err(failed)?;
            built.sizes = sizes.into_iter().collect();
            let program = space(item, schedule, &given).and_then(|space| space.lower(&space.first()?, None));
            let program = program.map_err(|found| tc_schedule::calls::with_calls(Some(schedule), found));
            built.module.items.push(program.map_err(failed)?);
        } else {
            built.module.items.push(item.clone());
        }
        add_callees(module, &mut built.module);
        let is_intrinsic = |item: &&Func| item.header.opcode == te::INTRIN;
        let pipeline = self.rest(&built.module, gpu)?;
        if pipeline.is_none() && is_marked(&built.module) {
            // Nothing takes the marks of a program without kernels: that they fit is asked of a copy.
            let mut copy = built.module.clone();
            copy.items.extend(module.items.iter().filter(is_intrinsic).cloned());
            self.run(&mut copy, "module(tir.func(simplify),tensorize-to-wmma)")?;
        }
        if let Some(pipeline) = pipeline {
            built.module.items.extend(module.items.iter().filter(is_intrinsic).cloned());
            let report = self.run(&mut built.module, &pipeline)?;
            built.remarks = report.diagnostics;
            built.rewritten = true;
            // What an intrinsic stands for is in the program now.
            built.module.items.retain(|item| !is_intrinsic(&item));
        }
        if (is_operator(item) || case.schedule.is_some())
            && let Some(module) = self.read_back(&built.module, &format!("<{}>", case.name(module)))
        {
            built.origins = Origins::of(&built.module, &module);
            built.module = module;
        }
        Ok(built)
    }

    /// The program of `module` as it reads back from its own text, so that diagnostics point at its lines: in the text
    /// of the operator, all accesses of a stage and of its caches stand in one line.
    fn read_back(&self, module: &Module, name: &str) -> Option<Module> {
        let mut sources = module.sources.clone();
        let file = sources.add(name, self.print(module).ok()?).ok()?;
        let mut read = Module { sources, ..Module::new(module.registry.clone()) };
        let found = tc_syntax::parse_file(&mut read, file, &tc_syntax::ParseOptions::default());
        (!found.has_errors() && read.items.len() == module.items.len()).then_some(read)
    }

    /// The passes that are still to run before the program of `module` can be launched.
    fn rest(&self, module: &Module, gpu: bool) -> Result<Option<String>, Failure> {
        let program = &module.items[0];
        let has_kernels = module.items.iter().any(forms::is_device);
        let has_launch = module.items.iter().any(|item| all_ops(item).any(|op| algebra::is_launch(item, op)));
        if has_kernels || (!gpu && (is_threaded(program) || !has_launch)) {
            return Ok(None);
        }
        if !is_threaded(program) {
            return Ok(Some("module(cuda)".to_string()));
        }
        // The barriers are the author's: `thread-sync` would put in those that were left out.
        let steps = tc_passes::table::cuda(&[]).unwrap_or_default();
        let steps = steps.iter().filter(|step| !step.text.contains("thread-sync"));
        let texts: Vec<&str> = steps.flat_map(|step| self.passes.texts(&tc_passes::table::CUDA, step)).collect();
        Ok(Some(format!("module({})", texts.join(","))))
    }

    /// `built` as what a GPU takes, made as [`Compiler::via`] says.
    pub fn program(&self, built: &Built) -> Result<Program, Failure> {
        let mut program = match self.via {
            Via::Cuda => self.cuda_program(built)?,
            Via::Mlir => self.mlir_program(built)?,
        };
        let manifest = &mut program.manifest;
        let sizes = built.sizes.iter().filter(|(name, _)| manifest.size(name).is_some());
        let sizes: Vec<Define> = sizes.map(|(name, &value)| (name.clone(), value)).collect();
        manifest.set_sizes(&sizes).map_err(|wrong| {
            let item = built.module.items.iter().find(|item| item.symbol() == built.name);
            let location = item.map_or(wrong.location.clone(), |item| item.location(item.header.loc));
            Failure { diagnostics: Diagnostic { location, ..wrong }.into(), sources: built.module.sources.clone() }
        })?;
        Ok(program)
    }

    /// `built` as CUDA C++, which a GPU compiles when it loads it.
    fn cuda_program(&self, built: &Built) -> Result<Program, Failure> {
        let options = tc_cuda::EmitOptions { line_directives: self.line_directives };
        let failed = |diagnostics| Failure { diagnostics, sources: built.module.sources.clone() };
        let emitted = tc_cuda::emit(&self.legal(&built.module), &built.name, &self.target, &options).map_err(failed)?;
        Ok(Program { manifest: emitted.manifest, target: self.target, code: Code::Cuda(emitted.source) })
    }
}

/// `n` valid points of the space of `case` that the seed chooses, each as values of all its parameters; none where it
/// has no parameters. That no point is valid is an error.
pub fn points(
    compiler: &Compiler,
    module: &Module,
    case: &Case,
    options: &super::CheckOptions,
    n: usize,
) -> Result<Vec<Vec<Define>>, Failure> {
    let module = &*compiler.without_calls(module)?;
    let failed = |diagnostics| Failure { diagnostics, sources: module.sources.clone() };
    let (te, Some(schedule)) = (&module.items[case.func], case.schedule) else { return Ok(Vec::new()) };
    let schedule = &module.items[schedule];
    if schedule.params().is_empty() {
        return Ok(Vec::new());
    }
    let mut defines = known(module, case, &options.defines);
    let names = tc_schedule::definable(te, Some(schedule));
    defines.retain(|(name, _)| names.contains(&name.as_str()));
    let space = space(te, schedule, &defines).map_err(failed)?;
    let judge = crate::space::Judge::new(&space, compiler.target, compiler.threads);
    let points = judge.sample(n, options.seed).map_err(|found| failed(found.into()))?;
    if points.is_empty() {
        let first = space.first().map_err(|found| failed(found.into()))?;
        let why = space.judge(&first, &compiler.target).err().map_or(String::new(), |why| why.message());
        let text = format!("no point of `@{}` that was drawn is valid on {}", schedule.symbol(), compiler.target.name);
        let location = schedule.location(schedule.header.loc);
        let found = Diagnostic::error("parameter-none", location, text);
        return Err(failed(found.note(format!("`{}`: {why}", space.show(&first))).into()));
    }
    let names =
        |point: tc_schedule::Point| space.params().iter().map(|param| param.name.clone()).zip(point.values).collect();
    Ok(points.into_iter().map(names).collect())
}

/// The values that the parameters of `schedule` have.
fn point(te: &Func, schedule: Option<&Func>, defines: &[Define]) -> Result<Vec<Define>, Diagnostics> {
    let Some(schedule) = schedule else { return Ok(Vec::new()) };
    let space = space(te, schedule, defines)?;
    let point = space.first()?;
    Ok(space.params().iter().map(|param| param.name.clone()).zip(point.values).collect())
}

/// Does any loop of `module` say that a tensor intrinsic stands for it?
fn is_marked(module: &Module) -> bool {
    module.items.iter().any(|item| all_ops(item).any(|op| item.attr_of(op, keys::TENSORIZE).is_some()))
}

/// Adds the programs that those in `built` call.
fn add_callees(module: &Module, built: &mut Module) {
    let mut at = 0;
    while at < built.items.len() {
        let callees: Vec<String> = calls(&built.items[at]).map(str::to_string).collect();
        for callee in callees {
            if built.function(&callee).is_none()
                && let Some(func) = module.function(&callee)
            {
                built.items.push(func.clone());
            }
        }
        at += 1;
    }
}
