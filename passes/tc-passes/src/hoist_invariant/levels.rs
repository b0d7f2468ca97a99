//! Where a value could be computed: the region that it is bound to, and how many loops that are run stand around that.

use crate::analysis::invariant::runs_anywhere;
use rustc_hash::FxHashMap;
use tc_dialects::algebra::is_launch;
use tc_dialects::tir;
use tc_ir::opdef::Role;
use tc_ir::walk::all_ops;
use tc_ir::{Def, Func, Op, Region, Value};

#[derive(Clone, Copy, Default)]
struct Around {
    depth: u32,
    loops: u32,
}

/// The homes of all values of a function.
pub(super) struct Levels {
    /// How many ops stand around each region, and how many of them are loops that are run.
    around: FxHashMap<Region, Around>,
    /// The innermost region that a value needs, by the number of the value.
    homes: Vec<Option<Region>>,
}

impl Levels {
    /// Finds them in one walk: what a value is computed from stands before it.
    pub(super) fn of(func: &Func) -> Levels {
        let mut levels = Levels { around: FxHashMap::default(), homes: vec![None; func.n_value_ids()] };
        for op in all_ops(func) {
            let Some(region) = func.region_of(op) else { continue };
            let Around { depth, loops } = levels.around(region);
            for &inner in func.op_regions(op) {
                levels.around.insert(inner, Around { depth: depth + 1, loops: loops + u32::from(is_run(func, op)) });
            }
            // A literal goes where what it is for goes.
            let is_free = func.role(op) == Role::Constant || may_move(func, op);
            let home = if is_free { levels.innermost(func, op) } else { region };
            for value in func.results(op) {
                levels.homes[value.as_u32() as usize] = Some(home);
            }
        }
        levels
    }

    fn around(&self, region: Region) -> Around {
        self.around.get(&region).copied().unwrap_or_default()
    }

    /// The innermost of the regions that the operands of `op` are bound to.
    fn innermost(&self, func: &Func, op: Op) -> Region {
        let homes = func.operands(op).iter().map(|&value| self.home(func, value));
        homes.max_by_key(|&region| self.around(region).depth).unwrap_or(func.body())
    }

    /// The innermost region that `value` needs.
    pub(super) fn home(&self, func: &Func, value: Value) -> Region {
        match func.def(value) {
            Def::Arg(region, _) => region,
            Def::Result(..) => self.homes.get(value.as_u32() as usize).copied().flatten().unwrap_or(func.body()),
        }
    }

    /// How many loops that are run change `value`.
    pub(super) fn level(&self, func: &Func, value: Value) -> u32 {
        self.around(self.home(func, value)).loops
    }
}

/// Is `op` a loop that is run, and not the name of a launch coordinate?
pub(super) fn is_run(func: &Func, op: Op) -> bool {
    func.opcode(op) == tir::FOR && !is_launch(func, op)
}

/// May `op` stand anywhere where its operands are known: integer arithmetic that has no effect and cannot fail?
pub(super) fn may_move(func: &Func, op: Op) -> bool {
    let Some(result) = func.result(op) else { return false };
    func.op_regions(op).is_empty()
        && func.value_scalar(result).is_some_and(|scalar| scalar.lanes == 1 && !scalar.elem.is_float())
        && runs_anywhere(func, op)
}
