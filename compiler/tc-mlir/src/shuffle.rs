//! Shuffles: what lanes of a warp read from one another.
//!
//! The lanes that take part are told by a mask: all 32 where the block is made of whole warps, else those of the last warp
//! that there are. What a lane that is not there would give is undefined to the machine and the own value in a program, so
//! that in such a block the result is chosen. Lanes exchange words of 32 bits: smaller numbers are widened, larger ones go
//! in two halves.

use crate::arith::{Made, is_unsigned};
use crate::kernel::Kernel;
use crate::types;
use std::rc::Rc;
use tc_ir::{Elem, Op, Scalar, keys};

/// Lanes of a warp.
const WARP: i64 = 32;

impl Kernel<'_> {
    /// What the shuffle `op` gives.
    pub(crate) fn shuffle(&mut self, op: Op) -> Made {
        let func = self.func;
        let [value, lane] = *func.operands(op) else { return Made::Is(self.stray("a shuffle without operands")) };
        let (Some(Scalar { elem, .. }), Some(of_lane)) = (func.value_scalar(value), func.value_scalar(lane)) else {
            return Made::Is(self.stray("a shuffle of something that is no number"));
        };
        let kind = match func.word_of(op, keys::MODE) {
            Some("down") => "down",
            Some("up") => "up",
            Some("xor") => "bfly",
            Some("idx") => "idx",
            _ => return Made::Is(self.stray("a shuffle of an unknown kind")),
        };
        let width = func.int_of(op, keys::WIDTH).unwrap_or(WARP);
        let own = self.lane(value, 0);
        let lane = self.lane(lane, 0);
        let lane = self.as_word(&lane, of_lane.elem);
        let (mask, is_partial) = self.lanes();
        let clamp = (WARP - width) << 8 | if kind == "up" { 0 } else { WARP - 1 };
        let clamp = self.int(clamp.into(), "i32");
        let words = self.words(&own, elem);
        let word = if elem == Elem::F32 { "f32" } else { "i32" };
        let received: Vec<Rc<str>> = words
            .iter()
            .map(|sent| self.temp(format!("nvvm.shfl.sync {kind} {mask}, {sent}, {lane}, {clamp} : {word} -> {word}")))
            .collect();
        let other = self.of_words(&received, elem);
        // Lanes further down are always there.
        if !is_partial || kind == "up" {
            return other;
        }
        let other = self.made(other);
        let from = self.source(kind, &lane, width);
        let (bits, last, unit) = (self.int((WARP - 1).into(), "i32"), self.int(WARP.into(), "i32"), self.int(1, "i32"));
        let is_lane = self.temp(format!("arith.cmpi slt, {from}, {last} : i32"));
        let by = self.temp(format!("arith.andi {from}, {bits} : i32"));
        let bit = self.temp(format!("arith.shrui {mask}, {by} : i32"));
        let bit = self.temp(format!("arith.andi {bit}, {unit} : i32"));
        let is_set = self.temp(format!("arith.cmpi eq, {bit}, {unit} : i32"));
        let is_there = self.temp(format!("arith.andi {is_lane}, {is_set} : i1"));
        Made::Op(format!("arith.select {is_there}, {other}, {own} : {}", types::number(elem)))
    }

    /// The lane that is read.
    fn source(&mut self, kind: &str, lane: &str, width: i64) -> Rc<str> {
        let own = self.temp("nvvm.read.ptx.sreg.laneid : i32");
        match kind {
            "down" => self.temp(format!("arith.addi {own}, {lane} : i32")),
            "bfly" => self.temp(format!("arith.xori {own}, {lane} : i32")),
            _ => {
                let mask = self.int((-width).into(), "i32");
                let first = self.temp(format!("arith.andi {own}, {mask} : i32"));
                self.temp(format!("arith.addi {first}, {lane} : i32"))
            }
        }
    }

    /// The lanes of the warp that there are, as a mask, and whether some may be missing.
    fn lanes(&mut self) -> (Rc<str>, bool) {
        let n = i64::try_from(self.facts.n_threads()).unwrap_or(i64::MAX);
        if n % WARP == 0 {
            return (self.int(-1, "i32"), false);
        }
        if n < WARP {
            return (self.int((1 << n) - 1, "i32"), true);
        }
        // Only the last warp lacks some.
        let thread = self.thread();
        let first = self.int((n / WARP * WARP).into(), "i32");
        let is_last = self.temp(format!("arith.cmpi sge, {thread}, {first} : i32"));
        let (some, all) = (self.int((1i128 << (n % WARP)) - 1, "i32"), self.int(-1, "i32"));
        (self.temp(format!("arith.select {is_last}, {some}, {all} : i32")), true)
    }

    /// The number of the thread in its block.
    pub(crate) fn thread(&mut self) -> Rc<str> {
        let [x, y, _] = self.facts.block.map(i128::from);
        let mut thread: Option<Rc<str>> = None;
        for ((dim, times), extent) in ["x", "y", "z"].into_iter().zip([1, x, x * y]).zip(self.facts.block) {
            if extent == 1 {
                continue;
            }
            let id = self.temp(format!("gpu.thread_id {dim}"));
            let mut part = self.temp(format!("arith.index_cast {id} : index to i32"));
            if times > 1 {
                let times = self.int(times, "i32");
                part = self.temp(format!("arith.muli {part}, {times} : i32"));
            }
            thread = Some(match thread {
                Some(sum) => self.temp(format!("arith.addi {sum}, {part} : i32")),
                None => part,
            });
        }
        match thread {
            Some(thread) => thread,
            None => self.int(0, "i32"),
        }
    }

    /// The integer `value` of type `elem` as a word.
    pub(crate) fn as_word(&mut self, value: &Rc<str>, elem: Elem) -> Rc<str> {
        let ty = types::number(elem);
        match ty {
            "i32" => value.clone(),
            "i64" => self.temp(format!("arith.trunci {value} : i64 to i32")),
            _ if is_unsigned(elem) => self.temp(format!("arith.extui {value} : {ty} to i32")),
            _ => self.temp(format!("arith.extsi {value} : {ty} to i32")),
        }
    }

    /// `value`, a number of type `elem`, in words.
    fn words(&mut self, value: &Rc<str>, elem: Elem) -> Vec<Rc<str>> {
        match elem {
            Elem::F32 => vec![value.clone()],
            _ if elem.is_half() => {
                let bits = self.temp(format!("arith.bitcast {value} : {} to i16", types::number(elem)));
                vec![self.temp(format!("arith.extui {bits} : i16 to i32"))]
            }
            Elem::F64 | Elem::I64 | Elem::U64 => {
                let bits = match elem {
                    Elem::F64 => self.temp(format!("arith.bitcast {value} : f64 to i64")),
                    _ => value.clone(),
                };
                let by = self.int(32, "i64");
                let low = self.temp(format!("arith.trunci {bits} : i64 to i32"));
                let high = self.temp(format!("arith.shrui {bits}, {by} : i64"));
                vec![low, self.temp(format!("arith.trunci {high} : i64 to i32"))]
            }
            _ => vec![self.as_word(value, elem)],
        }
    }

    /// What [`Kernel::words`] made, as a number of its type again.
    fn of_words(&mut self, words: &[Rc<str>], elem: Elem) -> Made {
        let ty = types::number(elem);
        match (elem, words) {
            (_, [word]) if elem.is_half() => {
                let bits = self.temp(format!("arith.trunci {word} : i32 to i16"));
                Made::Op(format!("arith.bitcast {bits} : i16 to {ty}"))
            }
            (_, [low, high]) => {
                let by = self.int(32, "i64");
                let low = self.temp(format!("arith.extui {low} : i32 to i64"));
                let high = self.temp(format!("arith.extui {high} : i32 to i64"));
                let high = self.temp(format!("arith.shli {high}, {by} : i64"));
                let bits = format!("arith.ori {high}, {low} : i64");
                if elem != Elem::F64 {
                    return Made::Op(bits);
                }
                let bits = self.temp(bits);
                Made::Op(format!("arith.bitcast {bits} : i64 to f64"))
            }
            (_, [word]) if matches!(ty, "i32" | "f32") => Made::Is(word.clone()),
            (_, [word]) => Made::Op(format!("arith.trunci {word} : i32 to {ty}")),
            _ => Made::Is(self.stray("a shuffle of nothing")),
        }
    }
}
