//! Makes a schedule `@auto` by rules, for operators that have none of that name.
//!
//! # Input form
//!
//! Any. Programs and schedules are left unchanged.
//!
//! # Output form
//!
//! After each operator (or only the one that `func` names) that has no schedule `@auto` stands one. It is legal, and within the
//! limits of the target, for the sizes that `param` gives, or else the defaults.
//!
//! # Example
//!
//! ```tir
//! te.func @f(A: f32[1024, 512]) -> f32[1024] {
//!   compute B[i: 1024] = sum[k: 512](A[i, k])
//!   return B
//! }
//! ->
//! te.func @f(A: f32[1024, 512]) -> f32[1024] {
//!   compute B[i: 1024] = sum[k: 512](A[i, k])
//!   return B
//! }
//!
//! schedule @auto for @f {
//!   block, row = split(B.i, factor = 4i32)
//!   bind(block, blockIdx.x)
//!   bind(row, threadIdx.y)
//!   step, thread = split(B.k, factor = 32i32)
//!   bind(thread, threadIdx.x)
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Inline element-wise stages, except costly ones (`exp`, `tanh`, …) that are read more than once.
//! 2. Divide the rest into kernels, from the results backwards: a stage that reads a reduction at its own place alone computes
//!    it in its own loops; one that is computed of numbers of its rows computes these with the row.
//! 3. For each kernel take the first rule that fits: a product, a sum of scaled products or a convolution on tensor cores by a function
//!    of the library, or tiles of 16 x 16 by warps; rows in shared memory; tiles in shared memory and registers for reductions of what is
//!    read along two axes, such as sums of products; reductions of threads together; a thread an element.
//! 4. Lower the schedule. If it is refused, or needs more than the target has, do without tensor cores, and then with a kernel
//!    for each stage. `tc-run --schedule @auto` does the same where a later pass refuses the program.
//!
//! # Limits
//!
//! A result without axes that is no reduction is not bound to threads. The rules round factors to tf32 only where `tf32` allows it, and
//! merge no softmax with its products; sizes that stay open are taken to be large. Whether later passes take the
//! program is not asked here, but by `tc-run --schedule @auto`; `rules` does without what one of them refuses.
//!
//! # Remarks
//!
//! None.
//!
//! # References
//!
//! Zheng et al. 2020, "Ansor: Generating High-Performance Tensor Programs for Deep Learning", whose rules for sketches divide
//! stages in a similar way; Adams et al. 2019, "Learning to Optimize Halide with Tree Search and Random Programs".

use crate::analysis::defines::{Defines, param_option};
use tc_dialects::te;
use tc_ir::Module;
use tc_pass::{ModulePass, PassCx, PassInfo, PassKind};
use tc_schedule::calls::Library;
use tc_schedule::{Define, Options as Lowering, auto, definable, has_followed_bounds, with_conditions};
use tc_support::{Diagnostic, Location, suggest};
use tc_target::Target;

tc_pass::options! {
    /// What `auto-schedule` can be told.
    pub struct Options {
        /// The operator; without it, every one.
        func: String = String::new(),
        /// Values for sizes, separated by spaces: `m=64 n=128`.
        param: String = String::new(),
        /// Which rules may be used: `all`, `no-tensor-cores`, or `plain`, a kernel for each stage.
        rules: String = "all".to_string(),
        /// Products of numbers of `f32` may round their factors to tf32, 10 bits behind the point, for the sake of tensor cores.
        tf32: bool = false,
        /// Leave sizes with a default open, as those without one are.
        symbolic: bool = false,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "auto-schedule",
    page: tc_support::page!("auto_schedule.rs"),
    anchor: PassInfo::MODULE,
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| {
        let options = Options::read(raw)?;
        let defines = param_option(raw, &options.param, "m=64 n=128")?;
        let level = auto::Level::ALL.into_iter().find(|level| level.name() == options.rules);
        let level = level.ok_or_else(|| tc_pass::OptionError {
            message: format!("there are no rules `{}`", suggest::shorten(&options.rules)),
            help: Some("`rules` is `all`, `no-tensor-cores` or `plain`".to_string()),
            at: raw.iter().find(|option| option.key == "rules").map_or(0..0, |option| option.value_at.clone()),
        })?;
        Ok(PassKind::Module(Box::new(AutoSchedule { options, level, defines })))
    },
};

/// The pass.
pub struct AutoSchedule {
    /// What it was given.
    pub options: Options,
    /// The rules that may be used.
    pub level: auto::Level,
    /// The values that `param` gives.
    pub defines: Vec<Define>,
}

impl ModulePass for AutoSchedule {
    fn run(&self, module: &mut Module, cx: &mut PassCx) -> bool {
        let library = cx.get::<Library>().cloned().unwrap_or_default();
        let target = cx.get::<Target>().copied().unwrap_or_default();
        let given = cx.get::<Defines>().map(|given| given.0.clone()).unwrap_or_default();
        let wanted = self.options.func.trim_start_matches('@');
        let rules = auto::Rules { from: self.level, allow_tf32: self.options.tf32 };
        let mut made = Vec::new();
        for (idx, te) in module.items.iter().enumerate() {
            let is_wanted = te.header.opcode == te::FUNC && (wanted.is_empty() || te.symbol() == wanted);
            let has_one = || module.schedules_for(te.symbol()).any(|at| module.items[at].symbol() == auto::NAME);
            if !is_wanted || has_one() {
                continue;
            }
            let known = definable(te, None);
            let all = self.defines.iter().chain(&given);
            let defines = all.filter(|(name, _)| known.contains(&name.as_str())).cloned().collect();
            let options = Lowering { defines, symbolic: self.options.symbolic };
            // Rules read an operator as schedules do, with the same bounds for all elements.
            let fixed = match has_followed_bounds(te).then(|| with_conditions(te)).transpose() {
                Ok(fixed) => fixed,
                Err(found) => {
                    cx.diagnostics.append(found);
                    continue;
                }
            };
            match auto::schedule(fixed.as_ref().unwrap_or(te), module, library.items(), &target, rules, &options) {
                Ok(schedule) => made.push((idx, schedule)),
                Err(found) => cx.diagnostics.append(found),
            }
        }
        if made.is_empty() && !wanted.is_empty() && module.function(wanted).is_none() {
            let operators = module.items.iter().filter(|item| item.header.opcode == te::FUNC).map(|item| item.symbol());
            let text = format!("there is no operator `@{}`", suggest::shorten(wanted));
            let mut unknown = Diagnostic::assumption("unknown-operator", Location::None, text);
            unknown.help = suggest::did_you_mean(wanted, operators.collect::<Vec<_>>());
            cx.report(unknown);
        }
        let changed = !made.is_empty();
        for (idx, schedule) in made.into_iter().rev() {
            module.items.insert(idx + 1, schedule);
        }
        changed
    }
}
