//! Which loops are unrolled, and how.

use super::{Options, local};
use crate::analysis::launch::nest_of;
use crate::analysis::uniform::Uniforms;
use rustc_hash::FxHashSet;
use tc_dialects::algebra::const_extent;
use tc_dialects::tir::{self, LoopKind};
use tc_ir::opdef::Role;
use tc_ir::{AttrData, Func, Op, Region, Value, effects};
use tc_support::{Diagnostic, Diagnostics, counted};

/// An unrolled function has at most this many ops.
const MAX_OPS: u64 = 1_000_000;

/// What is done to a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// Its body is copied this many times, or once for each value.
    Copy(Option<i64>),
    /// It gets the kind `unroll`.
    Mark,
    /// It gets the kind `serial`.
    Serial,
    /// Only its attributes for this pass are taken off.
    Clean,
}

/// One loop, and what is done to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnrolledLoop {
    pub(super) op: Op,
    pub(super) action: Action,
}

/// What is known of a piece of the program.
#[derive(Clone, Copy, Default)]
struct Size {
    /// Stores and other effects, unrolled.
    steps: u64,
    /// How deep unrolled loops are nested in it.
    depth: u64,
    /// Is a loop left in it?
    has_loop: bool,
    /// Ops, unrolled.
    ops: u64,
}

/// What is to be done.
pub(super) struct Unrolling {
    /// The steps, inner loops first.
    pub(super) steps: Vec<UnrolledLoop>,
    /// What is reported of loops that were to be unrolled and are not.
    pub(super) remarks: Diagnostics,
}

/// Decides; `asks` is true where somebody wants to know of every loop that stays.
pub(super) fn decide(func: &Func, options: &Options, asks: bool) -> Result<Unrolling, Diagnostics> {
    let local = if options.unroll_local_access { local::vars(func) } else { FxHashSet::default() };
    let mut state = Decide {
        func,
        local,
        uniforms: Uniforms::default(),
        steps: Vec::new(),
        found: Diagnostics::new(),
        asks,
        remarks: Diagnostics::new(),
    };
    let settings = Settings { max_step: options.auto_max_step, explicit: options.explicit_unroll };
    state.walk(options, settings);
    let Decide { steps, remarks, found, .. } = state;
    if found.is_empty() { Ok(Unrolling { steps, remarks }) } else { Err(found) }
}

/// What holds within a loop.
#[derive(Clone, Copy)]
struct Settings {
    max_step: i64,
    explicit: bool,
}

struct Decide<'f> {
    func: &'f Func,
    /// The loop variables that index what each thread has of its own, where that counts.
    local: FxHashSet<Value>,
    uniforms: Uniforms,
    steps: Vec<UnrolledLoop>,
    found: Diagnostics,
    /// Does anybody want to know of every loop that stays?
    asks: bool,
    remarks: Diagnostics,
}

/// A region whose ops are being counted.
struct Frame {
    next: Option<Op>,
    size: Size,
    /// The op whose region it is, with its regions still to come and what those before came to.
    owner: Option<(Op, Vec<Region>, Size)>,
    settings: Settings,
}

impl Decide<'_> {
    /// Walks without recursion: programs may be nested deeply.
    fn walk(&mut self, options: &Options, settings: Settings) {
        let func = self.func;
        let mut stack = vec![Frame { next: func.first_op(func.body()), size: Size::default(), owner: None, settings }];
        while let Some(frame) = stack.last_mut() {
            let Some(op) = frame.next else {
                let Some(done) = stack.pop() else { return };
                let Some((op, mut rest, so_far)) = done.owner else { return };
                let sum = so_far.and(done.size);
                let Some(outer) = stack.last_mut() else { return };
                if let Some(region) = rest.pop() {
                    let next = func.first_op(region);
                    let owner = Some((op, rest, sum));
                    stack.push(Frame { next, size: Size::default(), owner, settings: done.settings });
                } else {
                    let settings = done.settings;
                    let size = self.leave(op, sum, options, settings);
                    outer.size = outer.size.and(size);
                }
                continue;
            };
            frame.next = func.next_op(op);
            let mut regions = func.op_regions(op).to_vec();
            regions.reverse();
            match regions.pop() {
                None => frame.size = frame.size.and(leaf(func, op)),
                Some(first) => {
                    let settings = within(func, op, frame.settings);
                    let owner = Some((op, regions, Size::default()));
                    stack.push(Frame { next: func.first_op(first), size: Size::default(), owner, settings });
                }
            }
        }
    }

    /// What `op` comes to, whose regions came to `body`.
    fn leave(&mut self, op: Op, body: Size, options: &Options, settings: Settings) -> Size {
        let func = self.func;
        if func.opcode(op) != tir::FOR {
            return Size { ops: body.ops.saturating_add(1), ..body };
        }
        let extent = const_extent(func, op).and_then(|extent| u64::try_from(extent).ok());
        let kept = Size { has_loop: true, ops: body.ops.saturating_add(3), ..body };
        match tir::loop_kind(func, op) {
            Some(LoopKind::Unroll(Some(_)))
                if settings.explicit && extent.is_none() && !is_uniform(func, &mut self.uniforms, op) =>
            {
                self.steps.push(UnrolledLoop { op, action: Action::Serial });
                let reason = "threads of a block begin or end it at different values";
                let help = "let its bounds be the same for all threads, with a condition inside";
                self.remarks.push(not_unrolled(func, op, reason).help(help));
                kept
            }
            Some(LoopKind::Unroll(factor)) => self.unroll(op, body, extent, factor, settings).unwrap_or(kept),
            Some(LoopKind::Serial) => match extent {
                Some(extent) if self.qualifies(op, body, extent, options, settings) => {
                    self.unroll(op, body, Some(extent), None, settings).unwrap_or(kept)
                }
                _ => {
                    if self.asks {
                        let left = self.left(op, body, extent, options, settings);
                        left.into_iter().for_each(|found| self.remarks.push(found));
                    }
                    self.clean(op);
                    kept
                }
            },
            // A launch loop is no loop of the thread.
            Some(LoopKind::Launch(_)) => {
                self.clean(op);
                Size { ops: body.ops.saturating_add(3), ..body }
            }
            _ => {
                self.clean(op);
                kept
            }
        }
    }

    /// Is a serial loop of this extent to be unrolled though it does not say so?
    fn qualifies(&self, op: Op, body: Size, extent: u64, options: &Options, settings: Settings) -> bool {
        let limit = |value: i64| u64::try_from(value).unwrap_or(0);
        let few_steps = settings.max_step > 0
            && body.steps.checked_mul(extent).is_some_and(|steps| steps <= limit(settings.max_step));
        let few_times = extent <= limit(options.auto_max_extent);
        let small = !body.has_loop && body.depth <= limit(options.auto_max_depth) && (few_steps || few_times);
        extent > 0 && (small || self.local.contains(&super::copy::var(self.func, op)))
    }

    /// What is reported of a serial loop that stays one, where there are limits up to which it would not.
    fn left(
        &self,
        op: Op,
        body: Size,
        extent: Option<u64>,
        options: &Options,
        settings: Settings,
    ) -> Option<Diagnostic> {
        if settings.max_step <= 0 && options.auto_max_extent <= 0 {
            return None;
        }
        let (func, max_step) = (self.func, settings.max_step);
        let Some(extent) = extent else {
            return Some(not_unrolled(func, op, "its bounds are not constant").help("unroll it by a factor"));
        };
        if body.has_loop {
            return Some(not_unrolled(func, op, "a loop is left inside of it").help("unroll that one first"));
        }
        if body.depth > u64::try_from(options.auto_max_depth).unwrap_or(0) {
            let reason = format!("{} in it are unrolled already, one inside the other", counted(body.depth, "loop"));
            return Some(not_unrolled(func, op, &reason).help("raise `auto-max-depth`"));
        }
        let steps = body.steps.saturating_mul(extent);
        let mut reason = format!("its {} come to {}", counted(extent, "iteration"), counted(steps, "store"));
        if max_step > 0 {
            reason += &format!(", more than the {max_step} of `auto-max-step`");
        }
        if options.auto_max_extent > 0 {
            reason += &format!(
                ", and {} more than the {} of `auto-max-extent`",
                counted(extent, "iteration"),
                options.auto_max_extent
            );
        }
        Some(not_unrolled(func, op, &reason).help("raise the limit, or mark the loop: `unroll(…)`"))
    }

    fn clean(&mut self, op: Op) {
        if pragmas(self.func, op) {
            self.steps.push(UnrolledLoop { op, action: Action::Clean });
        }
    }

    fn unroll(
        &mut self,
        op: Op,
        body: Size,
        extent: Option<u64>,
        factor: Option<i64>,
        settings: Settings,
    ) -> Option<Size> {
        let func = self.func;
        let size = |n: u64| Size {
            steps: body.steps.saturating_mul(n),
            depth: body.depth + 1,
            has_loop: body.has_loop,
            // Making a copy costs something even where there is nothing in it.
            ops: body.ops.max(1).saturating_mul(n),
        };
        if !settings.explicit {
            let marked = matches!(tir::loop_kind(func, op), Some(LoopKind::Unroll(_)));
            self.steps.push(UnrolledLoop { op, action: if marked { Action::Clean } else { Action::Mark } });
            // It stays one loop in the text, but counts as unrolled.
            return Some(Size { ops: body.ops.saturating_add(3), ..size(extent.unwrap_or(1)) });
        }
        let Some(copies) = (match factor {
            Some(factor) => {
                u64::try_from(factor).ok().map(|factor| extent.map_or(factor, |extent| extent.min(2 * factor)))
            }
            None => extent,
        }) else {
            let var = func.value_text(super::copy::var(func, op));
            let text = format!("the bounds of the loop `{var}` are not constant, so it cannot be unrolled");
            let help = format!("unroll it by a factor: `for {var} in … unroll(factor = 4)`");
            self.found.push(Diagnostic::error("unroll-bounds", func.asked_location(op), text).help(help));
            return None;
        };
        let grown = size(copies);
        if grown.ops > MAX_OPS {
            if tir::loop_kind(func, op) == Some(LoopKind::Serial) {
                // The program did not ask for this one.
                if self.asks {
                    let reason =
                        format!("it would make more than {MAX_OPS} ops, {} of {}", counted(copies, "copy"), body.ops);
                    self.remarks.push(not_unrolled(func, op, &reason));
                }
                self.clean(op);
                return None;
            }
            let var = func.value_text(super::copy::var(func, op));
            let text =
                format!("unrolling the loop `{var}` makes more than {MAX_OPS} ops: {copies} copies of {}", body.ops);
            let help = "unroll an inner loop only, or by a factor";
            self.found.push(Diagnostic::error("unroll-size", func.asked_location(op), text).help(help));
            return None;
        }
        self.steps.push(UnrolledLoop { op, action: Action::Copy(factor) });
        Some(Size { has_loop: body.has_loop || factor.is_some(), ..grown })
    }
}

/// Says that the loop `op` is not unrolled.
fn not_unrolled(func: &Func, op: Op, reason: &str) -> Diagnostic {
    let var = func.value_text(super::copy::var(func, op));
    Diagnostic::remark("not-unrolled", func.asked_location(op), format!("the loop `{var}` is not unrolled: {reason}"))
}

impl Size {
    fn and(self, other: Size) -> Size {
        Size {
            steps: self.steps.saturating_add(other.steps),
            depth: self.depth.max(other.depth),
            has_loop: self.has_loop || other.has_loop,
            ops: self.ops.saturating_add(other.ops),
        }
    }
}

/// Do all threads of a block run the loop from one value to one value? Otherwise some would be in its rounds while others
/// are in what is left over.
fn is_uniform(func: &Func, uniforms: &mut Uniforms, op: Op) -> bool {
    let Some(nest) = nest_of(func, op) else { return true };
    let uniform = uniforms.of(func, nest);
    func.operands(op)[..2].iter().all(|&bound| uniform.is(bound))
}

fn leaf(func: &Func, op: Op) -> Size {
    let writes = effects::accesses(func, op).iter().any(|(_, access)| access.writes());
    let effect = func.row(op).effect;
    let step = writes || effect.unknown || effect.synchronises;
    Size { steps: u64::from(step), ops: u64::from(func.role(op) != Role::Constant), ..Size::default() }
}

/// The settings inside `op`, by its attributes.
fn within(func: &Func, op: Op, outer: Settings) -> Settings {
    let max_step = func.attr_named(op, "auto_unroll_max_step").and_then(|attr| func.as_int(attr));
    let explicit = func.attr_named(op, "unroll_explicit").map(|attr| match func.attr_data(attr) {
        AttrData::Bool(value) => *value,
        AttrData::Int(value, _) => *value != 0,
        _ => true,
    });
    Settings { max_step: max_step.unwrap_or(outer.max_step), explicit: explicit.unwrap_or(outer.explicit) }
}

/// Does the loop carry attributes for this pass?
fn pragmas(func: &Func, op: Op) -> bool {
    ["auto_unroll_max_step", "unroll_explicit"].iter().any(|key| func.attr_named(op, key).is_some())
}
