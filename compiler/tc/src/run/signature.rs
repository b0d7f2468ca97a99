//! The shapes of a program's parameters as its author declared them: passes make buffers flat, and callers need not know.

use super::build::Built;
use super::cases::Case;
use std::collections::BTreeMap;
use tc_dialects::algebra::eval_attr;
use tc_ir::{Func, Module, Name, Type};
use tc_runtime::shapes::{Declared, Signature};
use tc_target::{Formula, KernelManifest};

impl Built {
    /// What the arguments of `manifest`, which this program was emitted with, look like to a caller. `case` is the case of
    /// `module` that it was built of.
    pub fn signature(&self, module: &Module, case: &Case, manifest: &KernelManifest) -> Signature {
        let item = &module.items[case.func];
        let params = item.params().iter().map(|&param| item.value_type(param));
        let results = item.header.results.iter().map(|result| result.ty);
        let fixed = self.fixed_sizes(item, manifest);
        let of = |ty, is_result| Declared { extents: extents(item, ty, &fixed), is_result };
        let declared: Vec<Declared> = params.map(|ty| of(ty, false)).chain(results.map(|ty| of(ty, true))).collect();
        Signature::new(manifest, &declared)
    }

    /// The values of sizes that are not open: those given, or their defaults.
    fn fixed_sizes(&self, item: &Func, manifest: &KernelManifest) -> BTreeMap<String, i64> {
        let mut fixed: BTreeMap<String, i64> = BTreeMap::new();
        for symbol in &item.header.symbols {
            let name = item.text(symbol.name);
            if manifest.size(name).is_some() {
                continue;
            }
            let known = |of: Name| fixed.get(item.text(of)).copied();
            let default = || eval_attr(item, symbol.default?, &known).ok();
            if let Some(value) = self.sizes.get(name).copied().or_else(default) {
                fixed.insert(name.to_string(), value);
            }
        }
        fixed
    }
}

fn extents(item: &Func, ty: Type, fixed: &BTreeMap<String, i64>) -> Option<Vec<Formula>> {
    let (_, shape, _) = item.as_shaped(ty)?;
    shape.iter().map(|&extent| Some(with(tc_kernel::sizes::of_attr(item, extent)?, fixed))).collect()
}

/// `formula` with numbers for sizes that are fixed.
fn with(formula: Formula, fixed: &BTreeMap<String, i64>) -> Formula {
    match formula {
        Formula::Size(name) => match fixed.get(&name) {
            Some(&value) => Formula::Int(value),
            None => Formula::Size(name),
        },
        Formula::Op(op, args) => Formula::op(op, with(args.0, fixed), with(args.1, fixed)),
        formula @ Formula::Int(_) => formula,
    }
}
