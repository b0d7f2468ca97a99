//! Which thread holds which element of a buffer that lies spread over registers, and in which of its registers.
//!
//! A distribution is a linear map. The index of each dimension is written in digits, the fastest first; each digit, times a
//! step, is added to the number of the thread or to that of the register (compare the layouts of threads and values of CuTe).
//! Threads are counted in the group that holds a buffer together: a warp, a warpgroup or a block. Passes that divide
//! buffers among threads leave it at the alloc, as an attribute with a list of digits for each dimension:
//!
//! ```text
//! alloc S: f32[64] in local attributes {align = 16, distribution =
//!   [[[8, thread, 4], [2, register, 2], [4, thread, 32]], [[2, register, 1], [4, thread, 1], [16, register, 4]]]}
//! ```
//!
//! Digits of the kind `copy` take nothing of the index: threads that differ in them hold the same.

use smallvec::SmallVec;
use tc_ir::{Attr, AttrData, Func, Op};

/// The attribute of an alloc.
pub const KEY: &str = "distribution";

/// The threads of a block.
const MAX_THREADS: i64 = 1024;
/// More digits than this no index has.
const MAX_DIGITS: usize = 64;

/// What a digit of an index chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    /// The thread.
    Thread,
    /// One of its registers.
    Register,
    /// Nothing: threads that lie `step` apart hold the same.
    Copy,
}

impl Holder {
    const ALL: [Holder; 3] = [Holder::Thread, Holder::Register, Holder::Copy];

    /// The word in text.
    pub const fn name(self) -> &'static str {
        match self {
            Holder::Thread => "thread",
            Holder::Register => "register",
            Holder::Copy => "copy",
        }
    }
}

/// A digit of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digit {
    /// How many values it has.
    pub extent: i64,
    /// What it chooses.
    pub holder: Holder,
    /// How far apart the threads, or registers, of two neighbouring values are.
    pub step: i64,
}

impl Digit {
    /// A digit.
    pub const fn new(extent: i64, holder: Holder, step: i64) -> Digit {
        Digit { extent, holder, step }
    }
}

/// Which thread holds which element, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Distribution {
    dims: Vec<Vec<Digit>>,
}

impl Distribution {
    /// Made of the digits of each dimension, the fastest first. Digits of one value are left out, and two that count on are one.
    pub fn new(mut dims: Vec<Vec<Digit>>) -> Distribution {
        for digits in &mut dims {
            digits.retain(|digit| digit.extent != 1);
            digits.dedup_by(|next, digit| {
                let counts_on = next.holder == digit.holder && next.step == digit.step * digit.extent;
                if counts_on {
                    digit.extent *= next.extent;
                }
                counts_on
            });
        }
        Distribution { dims }
    }

    /// The extents of the whole buffer.
    pub fn extents(&self) -> SmallVec<[i64; 4]> {
        let of_index = |digit: &&Digit| digit.holder != Holder::Copy;
        self.dims.iter().map(|digits| digits.iter().filter(of_index).map(|digit| digit.extent).product()).collect()
    }

    fn of(&self, holder: Holder) -> impl Iterator<Item = Digit> + '_ {
        self.dims.iter().flatten().copied().filter(move |digit| digit.holder == holder)
    }

    /// How many registers each thread has for it.
    pub fn n_registers(&self) -> i64 {
        1 + self.of(Holder::Register).map(|digit| (digit.extent - 1) * digit.step).sum::<i64>()
    }

    /// One more than the number of the last thread that holds a part.
    pub fn n_threads(&self) -> i64 {
        let of_threads = self.of(Holder::Thread).chain(self.of(Holder::Copy));
        1 + of_threads.map(|digit| (digit.extent - 1) * digit.step).sum::<i64>()
    }

    /// The first thread that holds the element at `index`, and in which of its registers.
    pub fn place(&self, index: &[i64]) -> (i64, i64) {
        let (mut thread, mut register) = (0, 0);
        for (digits, &at) in self.dims.iter().zip(index) {
            let mut rest = at;
            for digit in digits.iter().filter(|digit| digit.holder != Holder::Copy) {
                let value = rest % digit.extent * digit.step;
                rest /= digit.extent;
                match digit.holder {
                    Holder::Thread => thread += value,
                    Holder::Register => register += value,
                    Holder::Copy => {}
                }
            }
        }
        (thread, register)
    }

    /// Numbers of threads that hold what thread 0 holds, which each thread adds to its own.
    pub fn copies(&self) -> Vec<i64> {
        let mut copies = vec![0];
        for digit in self.of(Holder::Copy) {
            copies = (0..digit.extent).flat_map(|nth| copies.iter().map(move |at| at + nth * digit.step)).collect();
        }
        copies
    }

    /// How many threads hold each element.
    pub fn n_copies(&self) -> i64 {
        self.of(Holder::Copy).map(|digit| digit.extent).product()
    }

    /// Does no register of a thread hold two elements, and no thread hold an element twice but as a copy? Otherwise what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let n_digits = self.dims.iter().map(Vec::len).sum::<usize>();
        if self.dims.is_empty() || n_digits > MAX_DIGITS {
            return Err(format!("it has {} dimensions and {n_digits} digits", self.dims.len()));
        }
        let small = |digit: &Digit| (1..=1 << 20).contains(&digit.extent) && (0..=1 << 20).contains(&digit.step);
        if let Some(digit) = self.dims.iter().flatten().find(|digit| !small(digit)) {
            return Err(format!("a digit of {} values, {} apart, is out of range", digit.extent, digit.step));
        }
        if self.n_threads() > MAX_THREADS {
            return Err(format!("it is over {} threads, and a block has {MAX_THREADS} at most", self.n_threads()));
        }
        let of_index = |digit: &&Digit| digit.holder != Holder::Copy;
        let n_elements = self
            .dims
            .iter()
            .flatten()
            .filter(of_index)
            .try_fold(1i64, |n, digit| n.checked_mul(digit.extent).filter(|&n| n <= 1 << 30));
        if n_elements.is_none() {
            return Err("it has over 2^30 elements".to_string());
        }
        let threads = self.of(Holder::Thread).chain(self.of(Holder::Copy)).collect();
        let registers = self.of(Holder::Register).collect();
        for (what, mut digits) in [("threads", threads), ("registers", registers)] as [(&str, Vec<Digit>); 2] {
            digits.sort_by_key(|digit| digit.step);
            let mut covered = 0;
            for digit in digits.into_iter().filter(|digit| digit.extent > 1) {
                if digit.step <= covered {
                    let Digit { extent, step, .. } = digit;
                    return Err(format!("{extent} {what}, {step} apart, are those of other digits too"));
                }
                covered += (digit.extent - 1) * digit.step;
            }
        }
        Ok(())
    }

    /// As an attribute of `func`.
    pub fn attr(&self, func: &mut Func) -> Attr {
        let mut dims = Vec::new();
        for digits in &self.dims {
            let mut list = Vec::new();
            for digit in digits {
                let digit =
                    [func.int_attr(digit.extent), func.word_attr(digit.holder.name()), func.int_attr(digit.step)];
                list.push(func.attr(AttrData::List(digit.into())));
            }
            dims.push(func.attr(AttrData::List(list.into())));
        }
        func.attr(AttrData::List(dims.into()))
    }

    /// What `attr` says, if it is one.
    pub fn parse(func: &Func, attr: Attr) -> Option<Distribution> {
        let list = |attr: Attr| if let AttrData::List(parts) = func.attr_data(attr) { Some(&parts[..]) } else { None };
        let digit = |attr: &Attr| {
            let &[extent, holder, step] = list(*attr)? else { return None };
            let word = func.as_word(holder)?;
            let holder = Holder::ALL.into_iter().find(|holder| holder.name() == word)?;
            Some(Digit { extent: func.as_int(extent)?, holder, step: func.as_int(step)? })
        };
        let dims = list(attr)?.iter().map(|&dim| list(dim)?.iter().map(digit).collect::<Option<Vec<Digit>>>());
        Some(Distribution { dims: dims.collect::<Option<_>>()? })
    }

    /// What the alloc `op` says of its buffer.
    pub fn of_alloc(func: &Func, op: Op) -> Option<Distribution> {
        Distribution::parse(func, func.attr_named(op, KEY)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment::{Use, warpgroup_element};

    fn sums() -> Distribution {
        let [thread, register] = [Holder::Thread, Holder::Register];
        Distribution::new(vec![
            vec![Digit::new(8, thread, 4), Digit::new(2, register, 2), Digit::new(4, thread, 32)],
            vec![Digit::new(2, register, 1), Digit::new(4, thread, 1), Digit::new(16, register, 4)],
        ])
    }

    #[test]
    fn the_sums_of_a_warpgroup_are_a_distribution() {
        let sums = sums();
        assert_eq!((&sums.extents()[..], sums.n_threads(), sums.n_registers()), (&[64, 128][..], 128, 64));
        assert_eq!(sums.check(), Ok(()));
        for thread in 0..128 {
            for nth in 0..64 {
                let (row, column) = warpgroup_element(Use::Accumulator, 4, thread, nth);
                assert_eq!(sums.place(&[row, column]), (thread, nth));
            }
        }
    }

    #[test]
    fn what_lies_twice_or_nowhere_is_told() {
        let twice = Distribution::new(vec![vec![Digit::new(8, Holder::Thread, 1), Digit::new(4, Holder::Thread, 4)]]);
        assert!(twice.check().is_err_and(|text| text.contains("threads")));
        let one = Distribution::new(vec![vec![Digit::new(8, Holder::Register, 0)]]);
        assert!(one.check().is_err_and(|text| text.contains("registers")));
        let copies = Distribution::new(vec![vec![Digit::new(8, Holder::Thread, 4), Digit::new(4, Holder::Copy, 1)]]);
        assert_eq!((copies.check(), copies.n_copies(), copies.n_threads()), (Ok(()), 4, 32));
        assert_eq!(copies.copies(), [0, 1, 2, 3]);
    }

    #[test]
    fn the_attribute_is_read_as_it_was_written() {
        let mut func = Func::new(crate::shared_registry(), crate::tir::FUNC, "f");
        let attr = sums().attr(&mut func);
        assert_eq!(Distribution::parse(&func, attr), Some(sums()));
        let other = func.int_attr(3);
        assert_eq!(Distribution::parse(&func, other), None);
    }
}
