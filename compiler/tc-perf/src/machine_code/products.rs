//! How many products of matrices a program has in its text, by shape, once loops are unrolled as it asks.

use crate::unroll::trips;
use std::collections::BTreeMap;
use tc_dialects::fragment::mma_k;
use tc_dialects::tir::{self, LoopKind, loop_kind};
use tc_dialects::{mma, wgmma, wmma};
use tc_ir::walk::{all_ops, ancestors};
use tc_ir::{Func, Op};
use tc_target::Target;

/// Products of one shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProductCount {
    /// `MxNxK`.
    pub shape: String,
    /// Instructions in the machine code, where that was read.
    pub machine: Option<u64>,
    /// Instructions that the text of the program asks for.
    pub program: Option<u64>,
    /// Are they as many?
    pub agreement: Agreement,
}

/// Do two numbers agree?
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Agreement {
    /// They are equal.
    Equal,
    /// They are not, and should be.
    Unequal,
    /// Nothing follows from them, and why.
    Unknown(String),
}

impl Agreement {
    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Agreement::Equal => "equal",
            Agreement::Unequal => "unequal",
            Agreement::Unknown(_) => "unknown",
        }
    }
}

/// Products of one shape in a program.
#[derive(Default)]
struct Counted {
    n: u64,
    /// The same where all loops of a known number of iterations are unrolled.
    all: u64,
    /// Are there loops around that a compiler may unroll, or may leave, though the program does not say so?
    may_grow: bool,
    may_shrink: bool,
    /// Why the number of instructions is not known.
    unknown: Option<String>,
}

/// The products of `func` beside those of its machine code, `machine`, where that was read.
pub(crate) fn compare(func: &Func, target: &Target, machine: Option<&BTreeMap<String, u64>>) -> Vec<ProductCount> {
    let program = count(func, target);
    // Instructions of what is not known may be of any shape.
    let unknown = program.values().find_map(|counted| counted.unknown.clone());
    let mut shapes: Vec<&String> = program.keys().chain(machine.into_iter().flat_map(BTreeMap::keys)).collect();
    shapes.sort();
    shapes.dedup();
    let one = |shape: &String| {
        let counted = program.get(shape);
        let (n, all) = counted.map_or((0, 0), |counted| (counted.n, counted.all));
        let found = machine.map(|machine| machine.get(shape).copied().unwrap_or(0));
        let is_loop = |may: fn(&Counted) -> bool| counted.is_some_and(may);
        let agreement = match (found, &unknown) {
            (None, _) => Agreement::Unknown("the machine code was not looked at".into()),
            (_, Some(why)) => Agreement::Unknown(why.clone()),
            (Some(found), None) if found == n || found == all => Agreement::Equal,
            (Some(found), None) if found > n && is_loop(|counted| counted.may_grow) => {
                Agreement::Unknown("a loop around them may have been unrolled".into())
            }
            (Some(found), None) if found < n && found > 0 && is_loop(|counted| counted.may_shrink) => {
                Agreement::Unknown("a loop around them may not have been unrolled".into())
            }
            _ => Agreement::Unequal,
        };
        ProductCount {
            shape: shape.clone(),
            machine: found,
            program: Some(if found == Some(all) { all } else { n }),
            agreement,
        }
    };
    shapes.into_iter().map(one).collect()
}

fn count(func: &Func, target: &Target) -> BTreeMap<String, Counted> {
    let mut all: BTreeMap<String, Counted> = BTreeMap::new();
    for op in all_ops(func) {
        let Some((shape, n, unknown)) = instructions(func, op, target) else { continue };
        let counted = all.entry(shape).or_default();
        let (mut copies, mut all_copies) = (n, n);
        for around in ancestors(func, op).filter(|&around| func.opcode(around) == tir::FOR) {
            let trips = trips(func, around);
            let unrolled = match loop_kind(func, around) {
                Some(LoopKind::Launch(_)) => continue,
                Some(LoopKind::Unroll(factor)) => factor.map_or(trips, |factor| u64::try_from(factor).ok()),
                _ => None,
            };
            let unrolled = unrolled.unwrap_or(1).min(trips.unwrap_or(u64::MAX));
            copies = copies.saturating_mul(unrolled);
            all_copies = all_copies.saturating_mul(trips.unwrap_or(1));
            counted.may_shrink |= unrolled > 1;
            counted.may_grow |= trips != Some(unrolled);
        }
        counted.n = counted.n.saturating_add(copies);
        counted.all = counted.all.saturating_add(all_copies);
        counted.unknown = counted.unknown.take().or(unknown);
    }
    all
}

/// The shape of the product `op`, how many instructions it is, and why that is not known.
fn instructions(func: &Func, op: Op, target: &Target) -> Option<(String, u64, Option<String>)> {
    let text = |[m, n, k]: [i64; 3]| format!("{m}x{n}x{k}");
    match func.opcode(op) {
        wgmma::MMA => Some(match wgmma::shape(func, op) {
            Some(shape) => (text(shape.extents()), 1, None),
            None => ("wgmma".into(), 1, Some("the shape of a product is not known".into())),
        }),
        mma::SYNC => {
            // 16 columns are two of 8; a lane holds four sums of 8 columns.
            let [sums, factors] = [0, 1].map(|nth| mma::held(func, func.operand(op, nth)));
            let (Some((_, sums)), Some((factors, _))) = (sums, factors) else {
                return Some(("mma".into(), 1, Some("the shape of a product is not known".into())));
            };
            let n = if sums == 8 { 2 } else { 1 };
            let old = (target.capability.0 < 8)
                .then(|| format!("`{target}` has other products than `mma.sync`, which become several"));
            Some((text([16, 8, mma_k(factors.bytes())]), n, old))
        }
        wmma::MMA => {
            Some(("wmma".into(), 1, Some("a product of `wmma` is as many instructions as the target has it".into())))
        }
        _ => None,
    }
}
