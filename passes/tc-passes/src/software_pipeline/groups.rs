//! Producers that are made of asynchronous copies: which groups they make, and the loop in which these run ahead.
//!
//! A thread counts its groups, so every iteration makes one, whether or not it copies: the prologue those of the first
//! `n - 1` iterations, iteration `i` that of `i + n - 1`. At the start of iteration `i` the youngest `n - 2` groups may be
//! outstanding, and the one of `i` is there.
//!
//! Where a follower makes something of copies, an iteration before the consumer reads that, these copies run one iteration
//! further ahead, in the group of the same step: at the start of iteration `i` those of `i + 1` are there, and still the
//! youngest `n - 2` groups may be outstanding.

use super::body::under;
use super::divide::Division;
use super::emit::Pipeline;
use indexmap::IndexSet;
use tc_dialects::gpu;
use tc_dialects::threads::{CopyStep, begins_copy, copy_step, waits_for_all};
use tc_ir::{Builder, Func, Op, Value, effects, keys};
use tc_support::{Diagnostic, Diagnostics};

/// The ops of the body `ops` that make groups of the copies of `writers`, and wait for these at once.
pub(super) fn closers(func: &Func, ops: &[Op], writers: &IndexSet<Op>, found: &mut Diagnostics) -> IndexSet<Op> {
    let mut closers = IndexSet::new();
    let (mut ahead, mut other): (Option<Op>, Option<Op>) = (None, None);
    for (nth, &op) in ops.iter().enumerate() {
        let is_commit = copy_step(func, op) == Some(CopyStep::Commit);
        if let (true, Some(copy), Some(other)) = (is_commit, ahead, other) {
            found.push(mixed(func, op, copy, other));
        }
        if is_commit && ahead.is_some() {
            closers.insert(op);
            let mut rest = ops[nth + 1..].iter().copied();
            let next = rest.find(|&next| !effects::summary(func, next).is_pure());
            closers.extend(next.filter(|&next| waits_for_all(func, next)));
        }
        if is_commit {
            (ahead, other) = (None, None);
        } else if under(func, op).any(|inner| copy_step(func, inner) == Some(CopyStep::Commit)) {
            if let Some(copy) = ahead {
                found.push(unclear(func, copy, op));
            }
            (ahead, other) = (None, None);
        } else if let Some(copy) = under(func, op).find(|&inner| begins_copy(func, inner)) {
            let kind = if writers.contains(&op) { &mut ahead } else { &mut other };
            *kind = kind.or(Some(copy));
        }
    }
    if let Some(copy) = ahead {
        let text = "this copy runs ahead, and no group is made of it in the iteration";
        let help = "put `gpu.commit_group()` and `gpu.wait_group(pending = 0)` behind the copies";
        found.push(Diagnostic::error("stages", func.op_location(copy), text).help(help));
    }
    closers
}

fn mixed(func: &Func, commit: Op, ahead: Op, other: Op) -> Diagnostic {
    let text = "this group holds copies that run ahead and copies that do not";
    Diagnostic::error("stages", func.op_location(commit), text)
        .label(func.op_location(ahead), "this one runs ahead")
        .label(func.op_location(other), "this one does not")
        .help("make a group of each, or give the buffers the same number of `stages`")
}

fn unclear(func: &Func, copy: Op, at: Op) -> Diagnostic {
    let text = "this copy runs ahead, and its group ends within another statement";
    Diagnostic::error("stages", func.op_location(copy), text)
        .label(func.op_location(at), "within this one")
        .help("put `gpu.commit_group()` directly into the body of the loop, behind the copies")
}

/// The groups and waits of a division.
impl Pipeline<'_> {
    /// The groups of the first iterations, and what the follower makes of the first one.
    pub(super) fn prologue_of_groups(&self, func: &mut Func) {
        let mut b = Builder::before(func, self.division.loop_op);
        let producer = &self.division.producer;
        if self.ahead() == 1 {
            let versions = self.exactly(&mut b, 0);
            self.guarded(&mut b, self.lo, |b| self.produce(b, producer, self.lo, &versions, None));
            gpu::CommitGroup::build(&mut b, &[], &[]);
        } else {
            let bounds = b.func.const_int(self.lo).zip(b.func.const_int(self.hi));
            let all_there = bounds.is_some_and(|(lo, hi)| hi.saturating_sub(lo) >= self.ahead());
            let end = match bounds {
                Some((lo, _)) => b.int(lo.saturating_add(self.ahead()), self.elem),
                None => self.moved(&mut b, self.lo, self.ahead()),
            };
            self.serial_loop(&mut b, (self.lo, end), &[], |b, args| {
                let fill = |b: &mut Builder<'_>| {
                    let versions = self.unwrapped(b, args[0]);
                    self.produce(b, producer, args[0], &versions, None);
                };
                if all_there {
                    fill(b);
                } else {
                    self.guarded(b, args[0], fill);
                }
                gpu::CommitGroup::build(b, &[], &[]);
                Vec::new()
            });
        }
        if self.division.follower.is_empty() {
            return;
        }
        // The step before the first one: the follower is an iteration ahead.
        self.wait(&mut b);
        let later = match b.func.const_int(self.lo) {
            Some(lo) => b.int(lo.saturating_add(self.ahead()), self.elem),
            None => self.moved(&mut b, self.lo, self.ahead()),
        };
        self.guarded(&mut b, later, |b| {
            let versions = self.exactly(b, self.ahead());
            self.produce(b, &self.division.early, later, &versions, None);
        });
        gpu::CommitGroup::build(&mut b, &[], &[]);
        self.guarded(&mut b, self.lo, |b| {
            let versions = self.exactly(b, 0);
            self.produce(b, &self.division.follower, self.lo, &versions, None);
        });
    }

    /// The loop over all iterations.
    pub(super) fn steady_state_of_groups(&self, func: &mut Func, carried: &[Value]) -> Vec<Value> {
        let mut b = Builder::before(func, self.division.loop_op);
        self.serial_loop(&mut b, (self.lo, self.hi), carried, |b, args| {
            self.wait(b);
            self.ahead_of(b, args[0], self.division.stages, &self.division.early);
            self.ahead_of(b, args[0], self.ahead(), &self.division.late);
            gpu::CommitGroup::build(b, &[], &[]);
            self.ahead_of(b, args[0], 1, &self.division.follower);
            self.consume(b, args)
        })
    }

    /// `ops` for the iteration that comes `steps` after `iteration`, if there is one.
    fn ahead_of(&self, b: &mut Builder<'_>, iteration: Value, steps: i64, ops: &[Op]) {
        if ops.is_empty() {
            return;
        }
        let later = self.moved(b, iteration, steps);
        self.guarded(b, later, |b| {
            let versions = self.versions(b, later);
            self.produce(b, ops, later, &versions, None);
        });
    }

    /// Waits for the copies that the follower needs for the next iteration, and the consumer for this one.
    fn wait(&self, b: &mut Builder<'_>) {
        let pending = b.func.int_attr((self.ahead() - 1).min(gpu::MAX_PENDING));
        gpu::WaitGroup::build(b, &[(keys::PENDING, pending)], &[]);
    }
}

impl Division {
    /// Is the producer made of asynchronous copies?
    pub(super) fn is_async(&self) -> bool {
        !self.closers.is_empty()
    }
}
