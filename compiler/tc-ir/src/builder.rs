//! The builder: makes ops at a place, with their locations and names.

use crate::attrs::{AttrData, BinOp};
use crate::entity::{Attr, Attrs, Name, Op, Region, Type, Value};
use crate::func::{Func, Locs, OpData, Place, RegionData};
use crate::names::keys;
use crate::opdef::{Context, Infer, Opcode, Results, Role};
use crate::types::Elem;
use cranelift_entity::EntityList;

/// The operands for one parameter of a row.
#[derive(Clone, Copy)]
pub enum OperandSegment<'a> {
    /// One operand.
    One(Value),
    /// The operands of a variadic parameter.
    Many(&'a [Value]),
}

/// An op in the making, for those who need more than a typed view's `build`.
#[derive(Clone, Copy)]
pub struct OpSpec<'a> {
    /// The row.
    pub opcode: Opcode,
    /// All operands, in the order of the row: by position, then by key.
    pub operands: &'a [Value],
    /// Which optional or keyed operand parameters are given; see [`Func::keyed_mask`].
    pub keyed: u16,
    /// The attributes.
    pub attrs: Attrs,
    /// The types of the results.
    pub results: &'a [Type],
    /// How many regions it gets; each is empty, without arguments.
    pub n_regions: usize,
}

/// Makes ops at a place in a function.
pub struct Builder<'f> {
    /// The function.
    pub func: &'f mut Func,
    /// The locations that ops made here carry.
    pub locs: Locs,
    region: Region,
    before: Option<Op>,
}

impl<'f> Builder<'f> {
    /// Builds at the end of `region`.
    pub fn at_end(func: &'f mut Func, region: Region) -> Builder<'f> {
        Builder { func, locs: Locs::default(), region, before: None }
    }

    /// Builds at the start of `region`.
    pub fn at_start(func: &'f mut Func, region: Region) -> Builder<'f> {
        let before = func.first_op(region);
        Builder { func, locs: Locs::default(), region, before }
    }

    /// Builds before `op`, with its locations.
    pub fn before(func: &'f mut Func, op: Op) -> Builder<'f> {
        let region = func.region_of(op).expect("an op that was taken out is no place to build at");
        let locs = func.op_locs(op);
        Builder { func, locs, region, before: Some(op) }
    }

    /// Builds after `op`, with its locations.
    pub fn after(func: &'f mut Func, op: Op) -> Builder<'f> {
        let region = func.region_of(op).expect("an op that was taken out is no place to build at");
        let (locs, before) = (func.op_locs(op), func.next_op(op));
        Builder { func, locs, region, before }
    }

    /// The region that ops are made in.
    pub fn region(&self) -> Region {
        self.region
    }

    /// Runs `build` at the end of `region`, then goes on where this builder was.
    pub fn within<T>(&mut self, region: Region, build: impl FnOnce(&mut Builder<'_>) -> T) -> T {
        let mut inner = Builder { func: self.func, locs: self.locs, region, before: None };
        build(&mut inner)
    }

    /// Makes an op.
    pub fn op(&mut self, spec: OpSpec<'_>) -> Op {
        let func = &mut *self.func;
        let op = func.ops.next_key();
        let mut first_result = None;
        for &ty in spec.results {
            let value = func.push_result(ty, op);
            first_result.get_or_insert(value);
        }
        for &operand in spec.operands {
            func.values[operand].n_uses += 1;
        }
        let mut regions = EntityList::new();
        for _ in 0..spec.n_regions {
            let region = func.regions.push(RegionData { parent: Some(op).into(), ..RegionData::default() });
            regions.push(region, &mut func.region_lists);
        }
        func.ops.push(OpData {
            n_results: spec.results.len() as u16,
            keyed: spec.keyed,
            regions,
            first_result: first_result.into(),
            attrs: spec.attrs,
            ..OpData::new(spec.opcode, self.locs)
        });
        func.put_operands(op, spec.operands);
        func.places.push(Place::default());
        func.link(op, self.region, self.before);
        op
    }

    /// Makes an op from the operands of each parameter. Types that the row infers need not be given.
    ///
    /// # Panics
    /// Where the row refuses the operands' types: the caller is a pass, and it has a bug.
    pub fn build_segments(
        &mut self,
        opcode: Opcode,
        parts: &[OperandSegment<'_>],
        attrs: &[(Name, Attr)],
        results: &[Type],
    ) -> Op {
        let row = self.func.registry().row(opcode);
        let attrs = self.func.dict(attrs);
        let (mut operands, mut keyed, mut bit) = (Vec::with_capacity(4), 0u16, 0);
        let params = row.params.iter().filter(|param| param.kind.is_operand());
        for (param, part) in params.clone().zip(parts) {
            let given = !matches!(part, OperandSegment::Many([]));
            if param.keyed || param.optional {
                keyed |= u16::from(given) << bit;
                bit += 1;
            }
        }
        for want_keyed in [false, true] {
            for (param, part) in params.clone().zip(parts) {
                match part {
                    _ if param.keyed != want_keyed => {}
                    OperandSegment::One(value) => operands.push(*value),
                    OperandSegment::Many(values) => operands.extend_from_slice(values),
                }
            }
        }
        let inferred;
        let results = if results.is_empty() && row.results != Results::Count(0) && !matches!(row.infer, Infer::Written)
        {
            inferred = self
                .func
                .infer_types(opcode, &operands, attrs)
                .unwrap_or_else(|reason| panic!("built an ill-typed `{}`: {reason}", row.name));
            &inferred[..]
        } else {
            results
        };
        self.op(OpSpec { opcode, operands: &operands, keyed, attrs, results, n_regions: row.regions.len() })
    }

    /// Makes an op whose operands are all by position and whose result is inferred; gives that result.
    pub fn value(&mut self, opcode: Opcode, operands: &[Value], attrs: &[(Name, Attr)]) -> Value {
        let attrs = self.func.dict(attrs);
        let ty = self.func.infer_type(opcode, operands, attrs).unwrap_or_else(|reason| {
            panic!("built an ill-typed `{}`: {reason}", self.func.registry().row(opcode).name)
        });
        let op = self.op(OpSpec { opcode, operands, keyed: 0, attrs, results: &[ty], n_regions: 0 });
        self.func.result(op).expect("the row has one result")
    }

    /// What the operator `sign` makes of two values; comparisons have no op of their own.
    pub fn infix(&mut self, sign: BinOp, operands: &[Value]) -> Value {
        let opcode = self.func.registry().by_role(Context::Any, Role::Binary(sign)).expect("a dialect has operators");
        self.value(opcode, operands, &[])
    }

    /// A literal of type `ty`.
    pub fn constant(&mut self, value: Attr, ty: Type) -> Value {
        let opcode = self.func.registry().by_role(Context::Any, Role::Constant).expect("a dialect has literals");
        let attrs = self.func.dict(&[(keys::VALUE, value)]);
        let op = self.op(OpSpec { opcode, operands: &[], keyed: 0, attrs, results: &[ty], n_regions: 0 });
        self.func.result(op).expect("a literal has one result")
    }

    /// The `index` literal `value`.
    pub fn index(&mut self, value: i64) -> Value {
        self.int(value, Elem::Index)
    }

    /// The integer literal `value` of type `elem`.
    pub fn int(&mut self, value: i64, elem: Elem) -> Value {
        let attr = self.func.int_attr(value);
        let ty = self.func.elem_ty(elem);
        self.constant(attr, ty)
    }

    /// The float literal `value` of type `elem`.
    pub fn float(&mut self, value: f64, elem: Elem) -> Value {
        let attr = self.func.attr(AttrData::float(value));
        let ty = self.func.elem_ty(elem);
        self.constant(attr, ty)
    }

    /// `true` or `false`.
    pub fn bool(&mut self, value: bool) -> Value {
        let attr = self.func.attr(AttrData::Bool(value));
        let ty = self.func.bool_ty();
        self.constant(attr, ty)
    }

    /// Names `value`.
    pub fn name(&mut self, value: Value, name: &str) -> Value {
        let name = self.func.name(name);
        self.func.set_value_name(value, Some(name));
        value
    }

    /// Adds an argument to `region`.
    pub fn arg(&mut self, region: Region, ty: Type, name: Option<&str>) -> Value {
        self.func.push_arg(region, ty, name)
    }
}

impl Func {
    /// Adds an argument to `region`.
    pub fn push_arg(&mut self, region: Region, ty: Type, name: Option<&str>) -> Value {
        let value = self.push_argument(ty, region);
        if let Some(name) = name {
            let name = self.name(name);
            self.set_value_name(value, Some(name));
        }
        value
    }

    /// Sets where `op` comes from in the operator's text.
    pub fn set_source_loc(&mut self, op: Op, loc: crate::Loc) {
        self.step();
        self.ops[op].locs.source = loc;
    }

    /// The types that the row `opcode` gives its results.
    pub fn infer_types(&mut self, opcode: Opcode, operands: &[Value], attrs: Attrs) -> Result<Vec<Type>, String> {
        let row = self.registry().row(opcode);
        match row.infer {
            _ if row.results == Results::Count(0) => Ok(Vec::new()),
            Infer::All(infer) => infer(self, operands, attrs),
            _ => self.infer_type(opcode, operands, attrs).map(|ty| vec![ty]),
        }
    }

    /// The type that the row `opcode` gives its one result.
    pub fn infer_type(&mut self, opcode: Opcode, operands: &[Value], attrs: Attrs) -> Result<Type, String> {
        let row = self.registry().row(opcode);
        let operand = |idx: usize| operands.get(idx).copied().ok_or_else(|| format!("`{}` lacks an operand", row.name));
        match row.infer {
            Infer::Written => Err(format!("the types of the results of `{}` must be written", row.name)),
            Infer::Same(idx) => Ok(self.value_type(operand(idx)?)),
            Infer::Predicate => {
                let lanes = self.value_scalar(operand(0)?).map_or(1, |scalar| scalar.lanes);
                Ok(self.scalar_ty(crate::Scalar { elem: Elem::Bool, lanes }))
            }
            Infer::By(infer) => infer(self, operands, attrs),
            Infer::All(_) => Err(format!("`{}` has several results", row.name)),
        }
    }

    pub(crate) fn link(&mut self, op: Op, region: Region, before: Option<Op>) {
        self.step();
        let prev = match before {
            Some(next) => self.places[next].prev.expand(),
            None => self.regions[region].last.expand(),
        };
        self.places[op] = Place { parent: Some(region).into(), prev: prev.into(), next: before.into() };
        match prev {
            Some(prev) => self.places[prev].next = Some(op).into(),
            None => self.regions[region].first = Some(op).into(),
        }
        match before {
            Some(next) => self.places[next].prev = Some(op).into(),
            None => self.regions[region].last = Some(op).into(),
        }
    }

    pub(crate) fn unlink(&mut self, op: Op) {
        self.step();
        let Place { parent, prev, next } = std::mem::take(&mut self.places[op]);
        let Some(region) = parent.expand() else { return };
        match prev.expand() {
            Some(prev) => self.places[prev].next = next,
            None => self.regions[region].first = next,
        }
        match next.expand() {
            Some(next) => self.places[next].prev = prev,
            None => self.regions[region].last = prev,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Registry, Rewriter};
    use std::sync::Arc;

    #[test]
    fn an_op_may_have_more_operands_than_a_short_number_counts() {
        let mut func = Func::new(Arc::new(Registry::new()), Opcode::UNKNOWN, "f");
        let (body, ty) = (func.body(), func.index_ty());
        let args: Vec<Value> = (0..70_000).map(|_| func.push_arg(body, ty, None)).collect();
        let spec = OpSpec {
            opcode: Opcode::UNKNOWN,
            operands: &args,
            keyed: 0,
            attrs: Attrs::EMPTY,
            results: &[],
            n_regions: 0,
        };
        let op = Builder::at_end(&mut func, body).op(spec);
        assert_eq!(func.operands(op), args);
        assert_eq!(func.def(args[69_999]), crate::Def::Arg(body, 69_999));
        let mut rw = Rewriter::new(&mut func);
        rw.set_operand(op, 65_535, args[0]);
        assert_eq!(rw.func().n_uses(args[0]), 2);
        for n in [3, 2, 65_535, 65_536, 1] {
            rw.set_operands(op, &args[..n]);
            assert_eq!(rw.func().operands(op), &args[..n]);
        }
        rw.erase(op);
        drop(rw);
        assert!(args.iter().all(|&arg| func.n_uses(arg) == 0));
    }
}
