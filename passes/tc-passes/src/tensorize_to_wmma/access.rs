//! An element of a buffer and one of an intrinsic's tensors: by their indices an axis is taken for a loop, and where the
//! tile lies is determined.

use super::attempt::{Attempt, Compared};
use super::show;
use super::tile::{self, Tile};
use tc_ir::{Op, Value};
use tc_support::counted;

impl Attempt<'_, '_, '_> {
    /// Compares an element of `tensor` with one of `buffer`; where the tensor's tile lies in the buffer is noted.
    pub(super) fn place(
        &mut self,
        tensor: Value,
        their_op: Op,
        their_indices: &[Value],
        our_op: Op,
        buffer: Value,
        our_indices: &[Value],
    ) -> Compared {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        self.steps += 1;
        let here = show::place(func, buffer, our_indices);
        let there = show::place(intrinsic.func, tensor, their_indices);
        let differs = |this: &Self, text: String| {
            let mut found = this.differ(text, our_op, here.clone(), their_op);
            found.theirs.1 = there.clone();
            found
        };
        if let Err(text) = tile::same_kind(func, buffer, intrinsic, tensor, self.scopes) {
            return Err(differs(self, text));
        }
        let mut ours = Vec::with_capacity(our_indices.len());
        for &index in our_indices {
            match self.site.index(index, &self.loops) {
                Ok(index) => ours.push(index),
                Err(why) => {
                    let text =
                        format!("the index `{}` of `{}` {why}", show::value(func, index), func.value_text(buffer));
                    return Err(differs(self, text));
                }
            }
        }
        let mut theirs = Vec::with_capacity(their_indices.len());
        for &index in their_indices {
            match self.theirs.index(index, &self.axes) {
                Some(index) => theirs.push(index),
                None => {
                    let text =
                        format!("the index `{}` is no sum of multiples of axes", show::value(intrinsic.func, index));
                    return Err(differs(self, text));
                }
            }
        }
        let moves = |coeffs: &[i64]| coeffs.iter().any(|&coeff| coeff != 0);
        let ours_move: Vec<bool> = ours.iter().map(|index| moves(&index.coeffs)).collect();
        let theirs_move: Vec<bool> = theirs.iter().map(|(coeffs, _)| moves(coeffs)).collect();
        let Some(dims) = tile::dims(&ours_move, &theirs_move) else {
            return Err(differs(
                self,
                format!("the loops do not run through `{here}` as the axes do through `{there}`"),
            ));
        };
        let mut base: Vec<_> = ours.iter().map(|index| index.base).collect();
        for (nth, &dim) in dims.iter().enumerate() {
            let (coeffs, start) = &theirs[nth];
            let start = self.site.algebra.analyzer.pool.int(*start);
            let at = self.site.algebra.analyzer.pool.sub(base[dim], start);
            base[dim] = self.site.algebra.analyzer.simplify(at);
            self.index(coeffs, &ours[dim].coeffs, our_op, their_op).map_err(|text| differs(self, text))?;
        }
        let tile = Tile { buffer, dims, base, at: our_op };
        match self.tiles.get(&tensor) {
            Some(known) if !known.is_same(&tile, &mut self.site.algebra) => {
                let name = intrinsic.func.value_text(tensor);
                Err(differs(
                    self,
                    format!("`{name}` was taken for other elements of `{}`", func.value_text(known.buffer)),
                ))
            }
            Some(_) => Ok(()),
            None => {
                self.tiles.insert(tensor, tile);
                Ok(())
            }
        }
    }

    /// Binds the axis and the loop of an index, where there is one each; other indices wait.
    fn index(&mut self, axes: &[i64], loops: &[i64], ours: Op, theirs: Op) -> Result<(), String> {
        let one = |coeffs: &[i64]| {
            let mut moving = coeffs.iter().enumerate().filter(|(_, coeff)| **coeff != 0);
            match (moving.next(), moving.next()) {
                (Some((nth, &coeff)), None) => Some((nth, coeff)),
                _ => None,
            }
        };
        match (one(axes), one(loops)) {
            (Some((axis, a)), Some((nth, b))) if a == b => self.bind(axis, nth),
            (Some((_, a)), Some((nth, b))) => {
                let var = self.site.func.value_text(self.loops[nth].var);
                Err(format!("`{var}` goes by steps of {b}, and the axis by steps of {a}"))
            }
            _ => {
                self.later.push((axes.to_vec(), loops.to_vec(), ours, theirs));
                Ok(())
            }
        }
    }

    pub(super) fn bind(&mut self, axis: usize, nth: usize) -> Result<(), String> {
        if self.bound.contains(&(axis, nth)) {
            return Ok(());
        }
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        let axis_name = |axis: usize| intrinsic.func.value_text(self.axes[axis].value);
        let loop_name = |nth: usize| func.value_text(self.loops[nth].var);
        if let Some(&(other, _)) = self.bound.iter().find(|&&(_, of)| of == nth) {
            let (want, have) = (axis_name(axis), axis_name(other));
            return Err(format!("the loop `{}` would be the axis `{want}`, and is `{have}` already", loop_name(nth)));
        }
        if let Some(&(_, other)) = self.bound.iter().find(|&&(of, _)| of == axis) {
            let (want, have) = (loop_name(nth), loop_name(other));
            return Err(format!("the axis `{}` would be the loop `{want}`, and is `{have}` already", axis_name(axis)));
        }
        let (ours, theirs) = (self.loops[nth].extent, self.axes[axis].extent);
        if ours != theirs {
            let (here, there) = (loop_name(nth), axis_name(axis));
            let shorter = if ours < theirs { "; a `split` by more than an axis has gives no longer loop" } else { "" };
            return Err(format!(
                "the loop `{here}` has {}, and the axis `{there}` has {theirs}{shorter}",
                counted(ours, "iteration")
            ));
        }
        self.bound.push((axis, nth));
        Ok(())
    }

    /// An index of several axes: each has the coefficient of its loop.
    pub(super) fn equation(&mut self, axes: &[i64], loops: &[i64], ours: Op, theirs: Op) -> Compared {
        let mut wanted = vec![0; loops.len()];
        for &(axis, nth) in &self.bound {
            wanted[nth] = axes[axis];
        }
        if wanted == loops {
            return Ok(());
        }
        let text = format!("the loops take steps of {loops:?} here, and of {wanted:?} there");
        let here = self
            .site
            .func
            .result(ours)
            .map_or_else(|| show::store(self.site.func, ours), |value| show::value(self.site.func, value));
        Err(self.differ(text, ours, here, theirs))
    }
}
