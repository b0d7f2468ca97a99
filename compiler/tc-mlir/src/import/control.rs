//! Loops, conditionals, and what their regions hand on.

use super::state::{Known, Reader, attribute};
use super::types;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, ValueLike};
use tc_dialects::{arith as ops, tir};
use tc_ir::{Attr, Elem, Name, Op, Type, Value, keys};

impl Reader<'_> {
    /// An op with regions, if `name` is one.
    pub(crate) fn control(&mut self, op: OperationRef<'_, '_>, name: &str) -> bool {
        match name {
            "scf.for" => self.for_loop(op),
            "scf.if" => self.branch(op),
            _ => return false,
        }
        true
    }

    fn body<'c, 'a>(&mut self, op: OperationRef<'c, 'a>, nth: usize) -> Option<BlockRef<'c, 'a>> {
        op.region(nth).ok().and_then(|region| region.first_block())
    }

    /// A loop. Steps are 1 in a program, so that one in other steps counts its iterations.
    fn for_loop(&mut self, op: OperationRef<'_, '_>) {
        let Some(block) = self.body(op, 0) else { return };
        let numbers: Vec<Option<Value>> = (0..op.operand_count()).map(|nth| self.number(op, nth)).collect();
        let Some(numbers) = numbers.into_iter().collect::<Option<Vec<Value>>>() else { return self.missing(op) };
        let [low, high, step, ref inits @ ..] = numbers[..] else { return self.missing(op) };
        let Some(step) = self.func.const_int(step).filter(|&step| step > 0) else {
            self.refuse(op, "the step of a loop is a positive literal", "count by 1, and multiply the variable");
            return self.missing(op);
        };
        let Some(elem) = self.counter(op) else { return self.missing(op) };
        let is_unsigned = op.has_attribute("unsignedCmp");
        let [low, high] = [low, high].map(|bound| {
            let bound = if is_unsigned { self.as_unsigned(op, bound) } else { bound };
            self.as_elem(op, bound, elem)
        });
        let counted = if step == 1 { Some((low, high)) } else { self.trips(op, low, high, step) };
        let Some((from, to)) = counted else { return self.missing(op) };
        let attrs = self.unrolling(op);
        let mut operands = vec![from, to];
        for (nth, &init) in inits.iter().enumerate() {
            operands.push(self.handed_on(op, nth + 3, init));
        }
        let types: Vec<Type> = operands[2..].iter().map(|&init| self.func.value_type(init)).collect();
        let made = self.make(op, tir::FOR, &operands, &attrs, &types, 1);
        let region = self.func.op_regions(made)[0];
        let var = self.loop_var(block, region, elem, step == 1);
        for (nth, &ty) in types.iter().enumerate() {
            let Ok(argument) = block.argument(nth + 1) else { continue };
            let name = self.text.name_of_argument(argument.into()).map(|name| name.replace(['.', '-'], "_"));
            let value = self.func.push_arg(region, ty, name.as_deref());
            self.bind(argument.into(), Known::Value(value));
        }
        self.deeper(op, region, |reader| {
            reader.counted(op, block, (var, low, step));
            reader.block(op, block);
            if !types.is_empty() {
                reader.yielded(op, block, &types);
            }
        });
        self.results(op, made);
    }

    /// The type that a loop counts in: indices, as narrower numbers may have no room for a step beyond the end. Kernels of our
    /// own may count in numbers without a sign.
    fn counter(&mut self, op: OperationRef<'_, '_>) -> Option<Elem> {
        let is_wide = match op.operand(0).map(|low| types::known(low.r#type())) {
            Ok(types::Known::Scalar(scalar)) => matches!(scalar.elem, Elem::Index | Elem::I64 | Elem::U64),
            _ => true,
        };
        match (op.has_attribute("unsignedCmp"), self.is_ours) {
            (false, _) => Some(Elem::Index),
            (true, true) => Some(if is_wide { Elem::U64 } else { Elem::U32 }),
            (true, false) if !is_wide => Some(Elem::Index),
            (true, false) => {
                let help = "compare with a sign";
                self.refuse(op, "a loop over 64 bits without a sign has no counterpart", help);
                None
            }
        }
    }

    /// `value`, operand `nth` of `op`, as a loop hands it on: an index from elsewhere may become one of any number.
    fn handed_on(&mut self, op: OperationRef<'_, '_>, nth: usize, value: Value) -> Value {
        let is_index = op.operand(nth).is_ok_and(|operand| {
            matches!(types::known(operand.r#type()), types::Known::Scalar(scalar) if scalar.elem == Elem::Index && scalar.lanes == 1)
        });
        if is_index && !self.is_ours { self.as_elem(op, value, Elem::Index) } else { value }
    }

    /// 0 and the number of iterations from `low` to `high` by `step`.
    fn trips(&mut self, op: OperationRef<'_, '_>, low: Value, high: Value, step: i64) -> Option<(Value, Value)> {
        let elem = self.scalar(low).elem;
        let zero = self.builder(op).int(0, elem);
        if let (Some(low), Some(high)) = (self.func.const_int(low), self.func.const_int(high)) {
            let trips = (i128::from(high) - i128::from(low) + i128::from(step) - 1).div_euclid(step.into());
            let trips = self.builder(op).int(i64::try_from(trips.max(0)).ok()?, elem);
            return Some((zero, trips));
        }
        let length = self.infer(op, ops::SUB, &[high, low], &[])?;
        let more = self.builder(op).int(step - 1, elem);
        let sum = self.infer(op, ops::ADD, &[length, more], &[])?;
        let step = self.builder(op).int(step, elem);
        // An empty range gives a number of iterations that is not positive.
        Some((zero, self.infer(op, ops::DIV, &[sum, step], &[])?))
    }

    fn loop_var(&mut self, block: BlockRef<'_, '_>, region: tc_ir::Region, elem: Elem, is_whole: bool) -> Value {
        let ty = self.func.elem_ty(elem);
        let argument = block.argument(0).ok();
        let name = argument.and_then(|argument| self.text.name_of_argument(argument.into()));
        let name = name.map(|name| name.replace(['.', '-'], "_"));
        let name = name.map(|name| if is_whole { name } else { format!("{name}_nth") });
        self.func.push_arg(region, ty, name.as_deref())
    }

    /// The variable of a loop from `low` by `step`, of which `var` counts the iterations, as a number of its type.
    fn counted(&mut self, op: OperationRef<'_, '_>, block: BlockRef<'_, '_>, (var, low, step): (Value, Value, i64)) {
        let value = if step == 1 { Some(var) } else { self.stepped(op, var, low, step) };
        let Ok(argument) = block.argument(0) else { return };
        let known = match types::known(argument.r#type()) {
            // A number without a sign stays one, as far as nothing asks for another.
            _ if self.scalar(var).elem != Elem::Index => value,
            types::Known::Scalar(scalar) => value.map(|value| self.as_elem(op, value, scalar.elem)),
            _ => None,
        };
        if let (Some(value), Some(name)) = (known, self.text.name_of_argument(argument.into())) {
            self.name(value, name);
        }
        self.bind(argument.into(), known.map_or(Known::Missing, Known::Value));
    }

    /// `low + var * step`
    fn stepped(&mut self, op: OperationRef<'_, '_>, var: Value, low: Value, step: i64) -> Option<Value> {
        let elem = self.scalar(var).elem;
        let by = self.builder(op).int(step, elem);
        let value = self.infer(op, ops::MUL, &[var, by], &[])?;
        match self.func.const_int(low) {
            Some(0) => Some(value),
            _ => self.infer(op, ops::ADD, &[low, value], &[]),
        }
    }

    /// How a loop is unrolled.
    fn unrolling(&mut self, op: OperationRef<'_, '_>) -> Vec<(Name, Attr)> {
        let Some(text) = attribute(op, "llvm.loop_annotation") else { return Vec::new() };
        let count = text.split("count = ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<i64>().ok());
        let count = if text.contains("unroll = <disable = true>") { Some(1) } else { count };
        let mut attrs = Vec::new();
        if count.is_some() || text.contains("full = true") {
            attrs.push(self.word(keys::KIND, "unroll"));
        }
        if let Some(count) = count {
            attrs.push((keys::FACTOR, self.func.int_attr(count)));
        }
        attrs
    }

    /// Ends a region that hands on numbers of `types`.
    fn yielded(&mut self, op: OperationRef<'_, '_>, block: BlockRef<'_, '_>, types: &[Type]) {
        let Some(end) = last(block) else { return };
        let mut values = Vec::new();
        for (nth, &ty) in types.iter().enumerate() {
            let Some(value) = self.number(end, nth) else { return self.no_longer(op) };
            let value = match self.func.as_scalar(ty) {
                Some(scalar) if self.func.value_type(value) != ty => self.as_elem(end, value, scalar.elem),
                _ => value,
            };
            values.push(value);
        }
        self.make(end, tir::YIELD, &values, &[], &[], 0);
    }

    /// What a region hands on is not there; that has been told, if it was not the region's own fault.
    fn no_longer(&mut self, op: OperationRef<'_, '_>) {
        if !self.found.has_errors() {
            self.refuse(op, "what this region hands on has no counterpart", "hand on numbers");
        }
    }

    fn missing(&mut self, op: OperationRef<'_, '_>) {
        self.lost(op);
        for nth in 0..op.result_count() {
            if let Ok(result) = op.result(nth) {
                self.bind(result.into(), Known::Missing);
            }
        }
    }

    /// The results of `op` are those of `made`.
    fn results(&mut self, op: OperationRef<'_, '_>, made: Op) {
        let values: Vec<Value> = self.func.results(made).collect();
        if let (Some(&first), Some(name)) = (values.first(), self.text.name_of(op)) {
            self.name(first, name);
        }
        for (nth, value) in values.into_iter().enumerate() {
            if let Ok(result) = op.result(nth) {
                self.bind(result.into(), Known::Value(value));
            }
        }
    }

    fn branch(&mut self, op: OperationRef<'_, '_>) {
        let types: Option<Vec<Type>> = (0..op.result_count())
            .map(|nth| {
                let scalar = self.result_type(op, nth)?;
                Some(self.func.scalar_ty(scalar))
            })
            .collect();
        let (Some(condition), Some(types)) = (self.number(op, 0), types) else { return self.missing(op) };
        let blocks = [self.body(op, 0), self.body(op, 1)];
        let n_regions = if blocks[1].is_some() { 2 } else { 1 };
        let made = self.make(op, tir::IF, &[condition], &[], &types, n_regions);
        for (nth, block) in blocks.into_iter().enumerate() {
            let Some(block) = block else { continue };
            let region = self.func.op_regions(made)[nth];
            self.deeper(op, region, |reader| {
                reader.block(op, block);
                if !types.is_empty() {
                    reader.yielded(op, block, &types);
                }
            });
        }
        self.results(op, made);
    }
}

/// The last op of a block.
fn last<'c, 'a>(block: BlockRef<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    std::iter::successors(block.first_operation(), |op| op.next_in_block()).last()
}
