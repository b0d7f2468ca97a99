//! Directives, made one after another.

use tc_dialects::sched;
use tc_dialects::scope::Scope;
use tc_ir::builder::OpSpec;
use tc_ir::{Attr, AttrData, Builder, Func, Name, Op, Opcode, Type, Value, keys};

/// A schedule that is being made.
pub(super) struct Writer {
    func: Func,
}

impl Writer {
    /// An empty schedule called `name` for `te`.
    pub(super) fn new(te: &Func, name: &str) -> Writer {
        let mut func = Func::new(te.registry().clone(), sched::SCHEDULE, name.to_string());
        func.header.targets.push(te.symbol().to_string());
        func.header.loc = te.header.loc;
        Writer { func }
    }

    pub(super) fn finish(self) -> Func {
        self.func
    }

    /// The stage or tensor called `name`.
    pub(super) fn stage(&mut self, name: &str) -> Value {
        let ty = sched::stage_type(&mut self.func);
        let entry = (keys::NAME, self.func.attr(AttrData::Str(name.into())));
        self.value(sched::STAGE_OP, &[], 0, &[entry], ty, "")
    }

    /// The axis `name` of `stage`.
    pub(super) fn axis(&mut self, stage: Value, name: &str) -> Value {
        let ty = sched::axis_type(&mut self.func);
        let entry = (keys::NAME, self.func.attr(AttrData::Str(name.into())));
        self.value(sched::AXIS_OP, &[stage], 0, &[entry], ty, "")
    }

    /// The axis of the data of `stage` that has number `nth`.
    pub(super) fn nth_axis(&mut self, stage: Value, nth: i64) -> Value {
        let ty = sched::axis_type(&mut self.func);
        let entry = (self.func.name("nth"), self.func.attr(AttrData::Int(i128::from(nth), None)));
        self.value(sched::DATA_AXIS, &[stage], 0, &[entry], ty, "")
    }

    /// `outer, inner = split(axis, factor = factor)`
    pub(super) fn split(&mut self, axis: Value, factor: i64, [outer, inner]: [&str; 2]) -> [Value; 2] {
        let factor = self.int(factor);
        let ty = sched::axis_type(&mut self.func);
        let op = self.op(sched::SPLIT, &[axis, factor], 1, &[], &[ty, ty]);
        let made: Vec<Value> = self.func.results(op).collect();
        self.name(made[0], outer);
        self.name(made[1], inner);
        [made[0], made[1]]
    }

    /// `name = fuse(stage)`: all its loops over data.
    pub(super) fn fuse_all(&mut self, stage: Value, name: &str) -> Value {
        let ty = sched::axis_type(&mut self.func);
        self.value(sched::FUSE, &[stage], 0, &[], ty, name)
    }

    /// `fused = fuse(axes)`; one axis is itself.
    pub(super) fn fuse(&mut self, axes: &[Value], name: &str) -> Value {
        if let [one] = axes {
            return *one;
        }
        let ty = sched::axis_type(&mut self.func);
        self.value(sched::FUSE, axes, 0, &[], ty, name)
    }

    pub(super) fn reorder(&mut self, axes: &[Value]) {
        self.op(sched::REORDER, axes, 0, &[], &[]);
    }

    pub(super) fn bind(&mut self, axis: Value, thread: &str) {
        let entry = self.word("thread", thread);
        self.op(sched::BIND, &[axis], 0, &[entry], &[]);
    }

    pub(super) fn vectorize(&mut self, axis: Value) {
        self.op(sched::VECTORIZE, &[axis], 0, &[], &[]);
    }

    pub(super) fn unroll(&mut self, axis: Value) {
        self.op(sched::UNROLL, &[axis], 0, &[], &[]);
    }

    /// `pragma(axis, loop_partition_hint = true)`
    pub(super) fn loop_partition_hint(&mut self, axis: Value) {
        let entry = (self.func.name("loop_partition_hint"), self.func.attr(AttrData::Bool(true)));
        self.op(sched::PRAGMA, &[axis], 0, &[entry], &[]);
    }

    pub(super) fn inline(&mut self, stage: Value) {
        self.op(sched::INLINE, &[stage], 0, &[], &[]);
    }

    pub(super) fn compute_at(&mut self, stage: Value, axis: Value) {
        self.op(sched::COMPUTE_AT, &[stage, axis], 0, &[], &[]);
    }

    pub(super) fn set_scope(&mut self, stage: Value, scope: Scope) {
        let entry = self.word("scope", scope.name());
        self.op(sched::SET_SCOPE, &[stage], 0, &[entry], &[]);
    }

    /// `name = cache_write(stage, scope)`
    pub(super) fn cache_write(&mut self, stage: Value, scope: Scope, name: &str) -> Value {
        let ty = sched::stage_type(&mut self.func);
        let entry = self.word("scope", scope.name());
        self.value(sched::CACHE_WRITE, &[stage], 0, &[entry], ty, name)
    }

    /// `name = cache_read(tensor, scope, readers)`
    pub(super) fn cache_read(&mut self, tensor: Value, scope: Scope, readers: &[Value], name: &str) -> Value {
        let ty = sched::stage_type(&mut self.func);
        let entry = self.word("scope", scope.name());
        self.value(sched::CACHE_READ, &[&[tensor], readers].concat(), 1, &[entry], ty, name)
    }

    pub(super) fn tensorize(&mut self, axis: Value, intrinsic: &str) {
        let entry = (self.func.name("intrin"), self.func.attr(AttrData::Symbol(intrinsic.into())));
        self.op(sched::TENSORIZE, &[axis], 0, &[entry], &[]);
    }

    /// `pipeline(axis, stages = stages, async_copies = [copies])`
    pub(super) fn pipeline(&mut self, axis: Value, stages: i64, copies: &[Value]) {
        let stages = self.int(stages);
        self.op(sched::PIPELINE, &[&[axis, stages], copies].concat(), 0b11, &[], &[]);
    }

    /// `swizzle(stage, bits = bits, base = base, shift = shift)`
    pub(super) fn swizzle(&mut self, stage: Value, numbers: [i64; 3]) {
        let numbers = numbers.map(|number| self.int(number));
        self.op(sched::SWIZZLE, &[&[stage], &numbers[..]].concat(), 0b111, &[], &[]);
    }

    /// `@callee(stages, name = number)`
    pub(super) fn call(&mut self, callee: &str, stages: &[Value], numbers: &[(&str, i64)]) {
        self.call_flagged(callee, stages, numbers, &[]);
    }

    /// The same with more arguments that are true or false.
    pub(super) fn call_flagged(
        &mut self,
        callee: &str,
        stages: &[Value],
        numbers: &[(&str, i64)],
        flags: &[(&str, bool)],
    ) {
        let mut operands = stages.to_vec();
        let mut named: Vec<Attr> = Vec::new();
        for &(name, value) in numbers {
            operands.push(self.int(value));
            named.push(self.func.attr(AttrData::Str(name.into())));
        }
        for &(flag, value) in flags {
            let body = self.func.body();
            operands.push(Builder::at_end(&mut self.func, body).bool(value));
            named.push(self.func.attr(AttrData::Str(flag.into())));
        }
        let symbol = self.func.attr(AttrData::Symbol(callee.into()));
        let mut entries = vec![(keys::CALLEE, symbol)];
        if !named.is_empty() {
            entries.push((keys::NAMED, self.func.attr(AttrData::List(named.into()))));
        }
        self.op(sched::CALL, &operands, 0, &entries, &[]);
    }

    fn int(&mut self, value: i64) -> Value {
        let body = self.func.body();
        Builder::at_end(&mut self.func, body).index(value)
    }

    fn word(&mut self, key: &str, word: &str) -> (Name, Attr) {
        (self.func.name(key), self.func.word_attr(word))
    }

    fn name(&mut self, value: Value, name: &str) {
        if !name.is_empty() {
            let name = self.func.name(name);
            self.func.set_value_name(value, Some(name));
        }
    }

    fn value(
        &mut self,
        opcode: Opcode,
        operands: &[Value],
        keyed: u16,
        attrs: &[(Name, Attr)],
        ty: Type,
        name: &str,
    ) -> Value {
        let op = self.op(opcode, operands, keyed, attrs, &[ty]);
        let value = self.func.results(op).next().expect("it was made with one result");
        self.name(value, name);
        value
    }

    fn op(&mut self, opcode: Opcode, operands: &[Value], keyed: u16, attrs: &[(Name, Attr)], results: &[Type]) -> Op {
        let attrs = self.func.dict(attrs);
        let body = self.func.body();
        Builder::at_end(&mut self.func, body).op(OpSpec { opcode, operands, keyed, attrs, results, n_regions: 0 })
    }
}
