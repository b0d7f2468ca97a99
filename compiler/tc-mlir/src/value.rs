//! Values: what stands where one is used, as it is or lane by lane. As an `index`, it is [`index`](crate::index)'s.

use crate::kernel::Kernel;
use crate::{arith, constants, types};
use std::rc::Rc;
use tc_dialects::arith as ops;
use tc_ir::{AttrData, Elem, Op, Scalar, Value};

impl Kernel<'_> {
    /// The integer `value` of the type `ty`, an integer's or `index`.
    pub(crate) fn int(&mut self, value: i128, ty: &str) -> Rc<str> {
        self.constants.int(value, ty)
    }

    /// A constant with such a text, its type included.
    pub(crate) fn constant(&mut self, text: String) -> Rc<str> {
        self.constants.other(text)
    }

    /// The literal `value` of type `elem`.
    pub(crate) fn literal(&mut self, value: &AttrData, elem: Elem) -> Rc<str> {
        match value {
            AttrData::Bool(value) => self.constants.truth(*value),
            AttrData::Int(value, _) => self.int(constants::signless(*value, elem), types::number(elem)),
            AttrData::Float(bits, _) => self.constant(constants::float(f64::from_bits(*bits), elem)),
            _ => self.stray("a literal of an unknown kind"),
        }
    }

    /// The number or vector `value`.
    pub(crate) fn value(&mut self, value: Value) -> Rc<str> {
        if let Some(name) = self.name_of(value) {
            return name;
        }
        let func = self.func;
        let (Some(op), Some(scalar)) = (func.def_op(value), func.value_scalar(value)) else {
            return self.stray("an argument that was not declared");
        };
        let made = match func.opcode(op) {
            ops::CONSTANT => match func.constant(value) {
                Some(attr) => return self.literal(func.attr_data(attr), scalar.elem),
                None => return self.stray("a literal without a value"),
            },
            ops::BROADCAST => {
                let from = self.value(func.operand(op, 0));
                self.broadcast(&from, scalar)
            }
            ops::RAMP => self.ramp(op, scalar),
            _ => return self.stray("a value that was not declared"),
        };
        self.bind(value, made.clone());
        self.note(value);
        made
    }

    /// The vector of type `scalar` that holds `value` in every lane.
    pub(crate) fn broadcast(&mut self, value: &str, scalar: Scalar) -> Rc<str> {
        let (number, ty) = (types::number(scalar.elem), types::value(scalar));
        if scalar.lanes == 1 {
            return value.into();
        }
        self.temp(format!("vector.broadcast {value} : {number} to {ty}"))
    }

    fn ramp(&mut self, op: Op, scalar: Scalar) -> Rc<str> {
        let lanes: Vec<Rc<str>> = (0..usize::from(scalar.lanes)).map(|lane| self.ramp_lane(op, lane)).collect();
        self.vector_of(scalar, &lanes)
    }

    /// Lane `lane` of the vector that the ramp `op` is.
    fn ramp_lane(&mut self, op: Op, lane: usize) -> Rc<str> {
        let func = self.func;
        let base = func.operand(op, 0);
        let elem = func.value_scalar(base).map_or(Elem::I32, |scalar| scalar.elem);
        let ty = types::number(elem);
        let start = self.value(base);
        let step = match (lane, func.const_int(func.operand(op, 1))) {
            (0, _) | (_, Some(0)) => return start,
            (_, Some(stride)) => {
                let step = i128::from(stride) * lane as i128;
                if let Some(base) = func.const_int(base) {
                    return self.int(constants::signless(i128::from(base) + step, elem), ty);
                }
                self.int(constants::signless(step, elem), ty)
            }
            (_, None) => {
                let (stride, times) = (self.value(func.operand(op, 1)), self.int(lane as i128, ty));
                self.temp(format!("arith.muli {stride}, {times}{} : {ty}", arith::flags(elem)))
            }
        };
        self.temp(format!("arith.addi {start}, {step}{} : {ty}", arith::flags(elem)))
    }

    /// Lane `lane` of `value`; a number stands for every lane.
    pub(crate) fn lane(&mut self, value: Value, lane: usize) -> Rc<str> {
        let func = self.func;
        let Some(scalar) = func.value_scalar(value) else { return self.stray("a value that is no number") };
        if scalar.lanes == 1 {
            return self.value(value);
        }
        match func.def_op(value).map(|op| (op, func.opcode(op))) {
            Some((op, ops::BROADCAST)) => self.value(func.operand(op, 0)),
            Some((op, ops::RAMP)) => self.ramp_lane(op, lane),
            _ => {
                let vector = self.value(value);
                self.extract(&vector, scalar, lane)
            }
        }
    }

    /// Lane `lane` of the vector `vector` of type `scalar`.
    pub(crate) fn extract(&mut self, vector: &str, scalar: Scalar, lane: usize) -> Rc<str> {
        if scalar.lanes == 1 {
            return vector.into();
        }
        let (number, ty) = (types::number(scalar.elem), types::value(scalar));
        self.temp(format!("vector.extract {vector}[{lane}] : {number} from {ty}"))
    }

    /// The lanes `lanes` of a vector type `scalar`, put together.
    pub(crate) fn vector_of(&mut self, scalar: Scalar, lanes: &[Rc<str>]) -> Rc<str> {
        if let [lane] = lanes {
            return lane.clone();
        }
        self.temp(format!("vector.from_elements {} : {}", lanes.join(", "), types::value(scalar)))
    }
}
