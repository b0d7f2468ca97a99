//! What only schedules have: stages and axes by name, and branches that open no scope.

use super::state::Lower;
use crate::tree::{Block, Else, Id, If, List, TextRange};
use tc_ir::attrs::AttrData;
use tc_ir::builder::OpSpec;
use tc_ir::opdef::{Context, Role};
use tc_ir::{Attrs, Loc, Name, Op, Region, Rewriter, Type, Value, keys};

/// A name that a branch bound, and what to.
type Export = (Name, TextRange, Value);

impl<'a> Lower<'a> {
    /// A path that is no name in scope: in a schedule a stage (`B`), or an axis (`B.i`, `BL.r`).
    pub(super) fn schedule_path(&mut self, range: TextRange) -> Option<Value> {
        let text = self.text(range);
        if self.context != Context::Sched {
            self.unknown_name(range, text.split('.').next().unwrap_or(text));
            return None;
        }
        let loc = self.loc(range);
        match text.split_once('.') {
            None => self.stage_named(range, text, loc),
            Some((stage, axis)) => {
                let head = TextRange::new(range.start, range.start + stage.len() as u32);
                let stage = match self.lookup(stage) {
                    Some(value) => value,
                    None => self.stage_named(head, stage, loc)?,
                };
                let opcode = self.opcode_for(Role::Axis, range)?;
                self.named_op(opcode, &[stage], axis, loc, range)
            }
        }
    }

    fn stage_named(&mut self, range: TextRange, name: &'a str, loc: Loc) -> Option<Value> {
        if self.missing.contains(name) {
            return None;
        }
        let opcode = self.opcode_for(Role::Stage, range)?;
        self.named_op(opcode, &[], name, loc, range)
    }

    fn named_op(
        &mut self,
        opcode: tc_ir::Opcode,
        operands: &[Value],
        name: &str,
        loc: Loc,
        range: TextRange,
    ) -> Option<Value> {
        let attr = self.func.attr(AttrData::Str(name.into()));
        let attrs = self.func.dict(&[(keys::NAME, attr)]);
        match self.func.infer_type(opcode, operands, attrs) {
            Ok(ty) => Some(self.emit_value(loc, opcode, operands, attrs, ty)),
            Err(reason) => {
                self.error(range, "type", reason);
                None
            }
        }
    }

    /// `if c { … } else { … }` over parameters. What either branch names can be used afterwards.
    pub(super) fn schedule_if(&mut self, names: List<TextRange>, id: Id<If>) {
        if let Some(&name) = self.tree[names].first() {
            return self.error(name, "branch", "an `if` of a schedule has no results; bind the name in its branches");
        }
        self.schedule_branch(id);
    }

    fn schedule_branch(&mut self, id: Id<If>) {
        let node = self.tree[id];
        let Some(condition) = self.condition(node.condition) else { return };
        let loc = self.loc(node.range);
        let draft = self.branch_op(loc, condition, &[]);
        let &[then, otherwise] = self.func.op_regions(draft) else { return };
        let first = self.branch(then, |lower| lower.directives(node.then));
        let second = self.branch(otherwise, |lower| match node.otherwise {
            Else::None => {}
            Else::Block(block) => lower.directives(block),
            Else::If(inner) => lower.schedule_branch(inner),
        });
        self.export(loc, condition, draft, first, second);
    }

    fn directives(&mut self, block: Id<Block>) {
        self.block(block, &[]);
    }

    fn branch_op(&mut self, loc: Loc, condition: Value, results: &[Type]) -> Op {
        let opcode = self.sugar.branch;
        self.emit(loc, OpSpec { opcode, operands: &[condition], keyed: 0, attrs: Attrs::EMPTY, results, n_regions: 2 })
    }

    fn branch(&mut self, region: Region, body: impl FnOnce(&mut Lower<'a>)) -> Vec<Export> {
        let outer = std::mem::replace(&mut self.region, region);
        self.scopes.open();
        body(self);
        let bound = self.scopes.close();
        self.region = outer;
        bound.into_iter().map(|(name, binding)| (name, binding.at, binding.value)).collect()
    }

    /// Puts in place of `draft` a conditional whose results are what its branches bound.
    fn export(&mut self, loc: Loc, condition: Value, draft: Op, first: Vec<Export>, second: Vec<Export>) {
        let mut all: Vec<(Export, Option<Value>, Option<Value>)> =
            first.into_iter().map(|export| (export, Some(export.2), None)).collect();
        for export in second {
            match all.iter_mut().find(|((name, _, _), _, _)| *name == export.0) {
                Some((_, _, slot)) => *slot = Some(export.2),
                None => all.push((export, None, Some(export.2))),
            }
        }
        if all.is_empty() {
            // A branch without directives is not worth a region of its own.
            return;
        }
        let types: Vec<Type> = all.iter().map(|((_, _, value), _, _)| self.func.value_type(*value)).collect();
        let op = self.branch_op(loc, condition, &types);
        for nth in 0..2 {
            let (from, to) = (self.func.op_regions(draft)[nth], self.func.op_regions(op)[nth]);
            let mut rw = Rewriter::new(&mut self.func);
            while let Some(inner) = rw.func().first_op(from) {
                rw.move_to_end(inner, to);
            }
            drop(rw);
            let outer = std::mem::replace(&mut self.region, to);
            let values: Vec<Value> = all
                .iter()
                .zip(&types)
                .map(|((_, on_true, on_false), &ty)| match if nth == 0 { *on_true } else { *on_false } {
                    Some(value) => value,
                    None => self.undefined(loc, ty),
                })
                .collect();
            self.emit_yield(loc, &values);
            self.region = outer;
        }
        Rewriter::new(&mut self.func).erase(draft);
        let results: Vec<Value> = self.func.results(op).collect();
        for (((_, at, _), _, _), value) in all.into_iter().zip(results) {
            self.bind(at, value);
        }
    }

    fn undefined(&mut self, loc: Loc, ty: Type) -> Value {
        let opcode =
            self.func.registry().by_role(Context::Sched, Role::Undefined).expect("a dialect of schedules has one");
        self.emit_value(loc, opcode, &[], Attrs::EMPTY, ty)
    }
}
