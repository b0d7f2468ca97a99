//! Heads of kernels: parameters, sizes, workgroup buffers.

use super::launch::{Launch, Launched};
use super::module::{symbol, texts};
use super::state::{Known, Reader, integer};
use super::text::Text;
use super::types::{self, BufferType, Known as KnownType};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Value as MlirValue, ValueLike};
use std::sync::Arc;
use tc_dialects::{arith as ops, tir};
use tc_ir::func::{ParamDecl, SymbolDecl};
use tc_ir::{Attrs, Builder, Elem, Func, Registry, Scalar, Type, TypeData, Value, keys};
use tc_support::{Diagnostic, Diagnostics};

/// The program that the kernel `op` is, and what was found.
pub(crate) fn read(
    text: &Text<'_>,
    registry: &Arc<Registry>,
    op: OperationRef<'_, '_>,
    skeleton: Option<Func>,
    launched: Launched,
) -> (Option<Func>, Diagnostics) {
    let is_ours = skeleton.is_some();
    let func = skeleton.unwrap_or_else(|| Func::new(registry.clone(), tir::FUNC, symbol(op)));
    let region = func.body();
    let mut reader = Reader::new(text, func, region);
    let at = text.at_op(op);
    reader.func.header.loc = text.loc(&at, &mut reader.func);
    let Some(block) = op.region(0).ok().and_then(|region| region.first_block()) else {
        reader.refuse(op, "a kernel without a body", "give it one");
        return (None, reader.found);
    };
    reader.is_ours = is_ours;
    if is_ours {
        reader.own_head(op, block);
    } else {
        reader.foreign_head(op, block, launched);
    }
    if !reader.found.has_errors() {
        reader.workgroup_buffers(op, block);
        reader.block(op, block);
    }
    reader.func.shrink();
    let keep = !reader.found.has_errors();
    (keep.then_some(reader.func), reader.found)
}

/// Does the dictionary `of` have the unit `key`?
fn has_key(of: melior::ir::Attribute<'_>, key: &str) -> bool {
    let text = of.to_string();
    let entries = text.trim_start_matches('{').trim_end_matches('}');
    // A string may hold anything.
    !text.contains('"') && entries.split(", ").any(|entry| entry == key)
}

/// How many parameters the function `op` has.
fn n_params(op: OperationRef<'_, '_>, block: BlockRef<'_, '_>) -> usize {
    let n_workgroup = integer(op, "workgroup_attributions").and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let (_, n_private) = n_attributions(op, block, n_workgroup);
    block.argument_count().saturating_sub(n_workgroup + n_private)
}

/// The arguments of a kernel that are parameters, and those that are private buffers.
fn n_attributions(op: OperationRef<'_, '_>, block: BlockRef<'_, '_>, n_workgroup: usize) -> (usize, usize) {
    let inputs = op.attribute("function_type").ok().and_then(|ty| {
        let ty = melior::ir::attribute::TypeAttribute::try_from(ty).ok()?.value();
        Some(melior::ir::r#type::FunctionType::try_from(ty).ok()?.input_count())
    });
    let n_inputs = inputs.unwrap_or(block.argument_count());
    (n_inputs, block.argument_count().saturating_sub(n_inputs + n_workgroup))
}

impl Reader<'_> {
    /// The head of a kernel of our own: its parameters are those of the function that it carries.
    fn own_head(&mut self, op: OperationRef<'_, '_>, block: BlockRef<'_, '_>) {
        let Some((launch, region)) = Launch::of(&self.func) else {
            let text = "`tc.kernel` has no single nest of loops over blocks and threads";
            return self.refuse(op, text, "leave the attribute out");
        };
        (self.launch, self.region) = (launch, region);
        if self.func.ops(region).next().is_some() {
            return self.refuse(
                op,
                "`tc.kernel` holds more than loops over blocks and threads",
                "leave the attribute out",
            );
        }
        if !self.is_launched_so(op) {
            let text = "`known_grid_size` or `known_block_size` are others than in `tc.kernel`";
            return self.refuse(op, text, "leave `tc.kernel` out");
        }
        let params = self.func.params().to_vec();
        let sizes = texts(op, "tc.sizes");
        if params.len() + sizes.len() != n_params(op, block) {
            let text = "the kernel has other parameters than the function that `tc.kernel` is";
            return self.refuse(op, text, "leave the attribute out");
        }
        for (nth, &param) in params.iter().enumerate() {
            let Ok(argument) = block.argument(nth) else { continue };
            let is_buffer = self.func.as_shaped(self.func.value_type(param)).is_some();
            if !self.is_param(param, argument.into()) {
                let text = format!("a parameter of type `{}` is another in `tc.kernel`", argument.r#type());
                return self.refuse(op, text, "leave the attribute out");
            }
            self.bind(argument.into(), if is_buffer { Known::Buffer(param) } else { Known::Value(param) });
        }
        for (nth, size) in sizes.iter().enumerate() {
            let Ok(argument) = block.argument(params.len() + nth) else { continue };
            match self.own_size(size, argument.into()) {
                Some(value) => self.bind(argument.into(), Known::Value(value)),
                None => {
                    let text = format!(
                        "`{}` is no size of the function that `tc.kernel` is",
                        tc_support::suggest::shorten(size)
                    );
                    return self.refuse(op, text, "leave the attributes out");
                }
            }
        }
    }

    /// May `argument` be the parameter `param`? Buffers of the emitter are flat, and of one element where extents are open.
    fn is_param(&self, param: Value, argument: MlirValue<'_, '_>) -> bool {
        match types::known(argument.r#type()) {
            KnownType::Scalar(Scalar { elem, .. }) => self.func.value_scalar(param).is_some_and(|param| {
                let number = crate::types::number(elem);
                param.lanes == 1
                    && [crate::types::number(param.elem), crate::types::stored(param.elem)].contains(&number)
            }),
            KnownType::Buffer(ty) => {
                let open = BufferType { shape: vec![None], ..ty.clone() };
                self.is_alike(param, if ty.shape == [Some(1)] { &open } else { &ty })
            }
            KnownType::Other => false,
        }
    }

    /// The size `name` as a number of the type of `argument`.
    fn own_size(&mut self, name: &str, argument: MlirValue<'_, '_>) -> Option<Value> {
        let KnownType::Scalar(scalar) = types::known(argument.r#type()) else { return None };
        let body = self.func.body();
        let nth = self.func.header.symbols.iter().position(|symbol| self.func.text(symbol.name) == name)?;
        let size = *self.func.region_args(body).get(nth)?;
        let is_taken = |op: &tc_ir::Op| {
            let func = &self.func;
            func.opcode(*op) == ops::CAST
                && func.operand(*op, 0) == size
                && func.result(*op).and_then(|value| func.value_scalar(value)) == Some(scalar)
        };
        if let Some(taken) = self.func.ops(body).find(is_taken) {
            return self.func.result(taken);
        }
        let ty = self.func.scalar_ty(scalar);
        let spec = tc_ir::builder::OpSpec {
            opcode: ops::CAST,
            operands: &[size],
            keyed: 0,
            attrs: Attrs::EMPTY,
            results: &[ty],
            n_regions: 0,
        };
        let cast = Builder::at_start(&mut self.func, body).op(spec);
        self.func.result(cast)
    }

    /// The head of a kernel of somebody else's.
    fn foreign_head(&mut self, op: OperationRef<'_, '_>, block: BlockRef<'_, '_>, launched: Launched) {
        let arguments: Vec<MlirValue<'_, '_>> =
            (0..n_params(op, block)).filter_map(|nth| block.argument(nth).ok().map(Into::into)).collect();
        let names: Vec<String> = (0..arguments.len())
            .map(|nth| {
                self.text
                    .name_of_argument(arguments[nth])
                    .map_or(format!("arg{nth}"), |name| name.replace(['.', '-'], "_"))
            })
            .collect();
        let mut declared = Vec::new();
        for (&argument, name) in arguments.iter().zip(&names) {
            declared.push(self.param_type(op, argument, name));
        }
        for ((&argument, name), ty) in arguments.iter().zip(&names).zip(declared) {
            let Some(ty) = ty else {
                self.bind(argument, Known::Missing);
                continue;
            };
            self.func.header.params.push(ParamDecl { attrs: Attrs::EMPTY, choices: None, default: None });
            let body = self.func.body();
            let value = self.func.push_arg(body, ty, Some(name));
            let is_buffer = self.func.as_shaped(ty).is_some();
            self.bind(argument, if is_buffer { Known::Buffer(value) } else { Known::Value(value) });
        }
        let is_buffer = |argument: &MlirValue<'_, '_>| matches!(types::known(argument.r#type()), KnownType::Buffer(_));
        let buffers: Vec<usize> = (0..arguments.len()).filter(|&nth| is_buffer(&arguments[nth])).collect();
        let facts = op.attribute("arg_attrs").ok();
        let facts = facts.and_then(|list| melior::ir::attribute::ArrayAttribute::try_from(list).ok());
        let is_apart = |nth: usize| {
            let of = facts.as_ref().filter(|list| nth < list.len()).and_then(|list| list.element(nth).ok());
            of.is_some_and(|of| has_key(of, "llvm.noalias"))
        };
        if !buffers.is_empty() && buffers.into_iter().all(is_apart) {
            self.flag(keys::NOALIAS);
        }
        if !self.found.has_errors() {
            self.open_launch(op, launched);
            self.is_threaded();
        }
    }

    /// The type of a parameter. Extents that are open become sizes, which stand before the parameters.
    fn param_type(&mut self, op: OperationRef<'_, '_>, argument: MlirValue<'_, '_>, name: &str) -> Option<Type> {
        let location = self.text.location(&self.text.at(argument.location()));
        let refuse = |reader: &mut Self, text: String, help: &str| {
            reader.found.push(Diagnostic::error("no-counterpart", location.clone(), text).help(help));
        };
        match types::known(argument.r#type()) {
            KnownType::Scalar(Scalar { elem: Elem::Index, lanes: 1 }) => Some(self.func.elem_ty(Elem::I64)),
            KnownType::Scalar(scalar @ Scalar { lanes: 1, .. }) => Some(self.func.scalar_ty(scalar)),
            KnownType::Buffer(BufferType { has_layout: true, .. }) => {
                let help = "pass a buffer that lies row after row, and add the offsets to the indices";
                refuse(self, "a parameter with strides or an offset has no counterpart".to_string(), help);
                None
            }
            KnownType::Buffer(buffer) if buffer.scope == "global" => {
                let elem = self.func.scalar_ty(buffer.elem);
                let mut shape = Vec::new();
                for (dim, extent) in buffer.shape.iter().enumerate() {
                    shape.push(match extent {
                        Some(extent) => self.func.int_attr(*extent),
                        None => self.open_extent(&format!("{name}_{dim}")),
                    });
                }
                if shape.is_empty() {
                    shape.push(self.func.int_attr(1));
                }
                Some(self.func.ty(TypeData::Shaped { elem, shape: shape.into(), scope: None }))
            }
            KnownType::Buffer(_) => {
                let help = "leave the memory space out, or make it `#gpu.address_space<global>`";
                refuse(self, format!("the parameter `{name}` is in no global memory"), help);
                None
            }
            _ => {
                let text = format!("a parameter of type `{}` has no counterpart", argument.r#type());
                refuse(self, text, "parameters are numbers and buffers: `f32`, `memref<64x64xf32>`");
                let _ = op;
                None
            }
        }
    }

    /// A size of the function, as the extent of a dimension.
    fn open_extent(&mut self, name: &str) -> tc_ir::Attr {
        let symbol = self.func.name(name);
        self.func.header.symbols.push(SymbolDecl { name: symbol, range: None, default: None });
        let (body, index) = (self.func.body(), self.func.index_ty());
        let value = self.func.push_arg(body, index, None);
        self.func.set_value_name(value, Some(symbol));
        self.func.attr(tc_ir::AttrData::Word(symbol))
    }

    /// Buffers that the head of the kernel makes.
    fn workgroup_buffers(&mut self, op: OperationRef<'_, '_>, block: BlockRef<'_, '_>) {
        let n_workgroup = integer(op, "workgroup_attributions").and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let facts = op.attribute("workgroup_attrib_attrs").ok();
        let facts = facts.and_then(|list| melior::ir::attribute::ArrayAttribute::try_from(list).ok());
        for nth in n_params(op, block)..block.argument_count() {
            let Ok(argument) = block.argument(nth) else { continue };
            let own = nth - n_params(op, block);
            let scope = if own < n_workgroup { "shared" } else { "local" };
            let align = facts.as_ref().filter(|list| own < list.len()).and_then(|list| list.element(own).ok());
            let align = align.and_then(|align| {
                align.to_string().split("llvm.align = ").nth(1)?.split(' ').next()?.parse::<i64>().ok()
            });
            let argument: MlirValue<'_, '_> = argument.into();
            let name = self.text.name_of_argument(argument).map(str::to_string);
            let known = match types::known(argument.r#type()) {
                KnownType::Buffer(buffer) => self.alloc(op, &BufferType { scope, ..buffer }, align),
                _ => None,
            };
            if let (Some(value), Some(name)) = (known, name) {
                self.name(value, &name);
            }
            self.bind(argument, known.map_or(Known::Missing, Known::Buffer));
        }
    }
}
