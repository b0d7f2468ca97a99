//! Does a tile lie as an intrinsic asks: strides, alignment, whole tiles, and the facts about its symbols?

use super::matching::Matched;
use super::site::Site;
use super::tile::{self, Tile};
use crate::analysis::launch::{coordinate, loop_var};
use tc_arith::Expr;
use tc_dialects::algebra::{Algebra, attr_expr};
use tc_dialects::te::Intrinsic;
use tc_dialects::tir::Coordinate;
use tc_ir::walk::{ancestors, ops_under};
use tc_ir::{AttrData, Def, Func, Value, keys};
use tc_support::{Diagnostic, Location};

/// What the blocks of an intrinsic are told beside the tiles.
#[derive(Default)]
pub(super) struct Fit {
    /// The strides that the symbols of the header stand for, in their order.
    pub(super) symbols: Vec<Expr>,
    /// Buffers that must start at a multiple of so many bytes.
    pub(super) aligned: Vec<(Value, i64)>,
}

/// What an array that says nothing is aligned to, in bytes.
const ARGUMENT_ALIGN: i64 = 16;

/// A tile that does not lie as it must: the text, the place, the help.
pub(super) struct Misfit {
    pub(super) text: String,
    pub(super) at: Location,
    pub(super) help: String,
}

impl Misfit {
    /// As a diagnostic about the loop `name` and the intrinsic.
    pub(super) fn told(self, name: &str, intrinsic: &Intrinsic<'_>) -> Diagnostic {
        let symbol = intrinsic.func.symbol();
        let text = format!("`@{symbol}` cannot stand for the loop `{name}`: {}", self.text);
        let there = intrinsic.func.location(intrinsic.func.header.loc);
        Diagnostic::error("tensorize", self.at, text).label(there, format!("`@{symbol}`")).help(self.help)
    }
}

/// Looks at all tiles of `matched`.
pub(super) fn fit(site: &mut Site<'_>, intrinsic: &Intrinsic<'_>, matched: &Matched) -> Result<Fit, Misfit> {
    let mut state = State { site, intrinsic, symbols: Vec::new(), aligned: Vec::new() };
    state.symbols = vec![None; intrinsic.func.header.symbols.len()];
    for (&place, tile) in &matched.tiles {
        state.tile(place, tile)?;
    }
    apart(state.site.func, intrinsic, matched)?;
    alike(state.site, intrinsic, matched)?;
    // A step that leaves a parameter out leaves its symbols open; the block of such a step has no use for them.
    let one = state.site.algebra.analyzer.pool.int(1);
    let symbols: Vec<Expr> = state.symbols.iter().map(|symbol| symbol.unwrap_or(one)).collect();
    let aligned = std::mem::take(&mut state.aligned);
    if state.symbols.iter().all(Option::is_some) {
        facts(site, intrinsic, matched, &symbols)?;
    }
    Ok(Fit { symbols, aligned })
}

struct State<'a, 'f, 'i> {
    site: &'a mut Site<'f>,
    intrinsic: &'i Intrinsic<'i>,
    symbols: Vec<Option<Expr>>,
    aligned: Vec<(Value, i64)>,
}

impl State<'_, '_, '_> {
    fn tile(&mut self, place: Value, tile: &Tile) -> Result<(), Misfit> {
        if tile::is_tiles(self.site.func, tile.buffer) {
            return self.whole_tile(place, tile);
        }
        let func = self.site.func;
        let name = func.value_text(tile.buffer).to_string();
        let misfit = |text: String, help: &str| Misfit { text, at: func.op_location(tile.at), help: help.to_string() };
        let Some(strides) = tile::strides(func, &mut self.site.algebra, tile.buffer) else {
            let text = format!("how far the elements of `{name}` lie apart is not known");
            return Err(misfit(text, "give the buffer `strides` that are numbers or sizes"));
        };
        self.strides(place, tile, &strides)?;
        let mut offset = self.site.algebra.analyzer.pool.int(0);
        for (&base, &stride) in tile.base.iter().zip(&strides) {
            let step = self.site.algebra.analyzer.pool.mul(base, stride);
            offset = self.site.algebra.analyzer.pool.add(offset, step);
        }
        let offset = self.site.algebra.analyzer.simplify(offset);
        let number = |key| self.intrinsic.attr(place, key).and_then(|attr| self.intrinsic.func.as_int(attr));
        let (align, factor) = (number(keys::ALIGN), number(keys::OFFSET_FACTOR));
        if let Some(factor) = factor
            && !self.is_multiple(offset, factor)
        {
            let at = self.site.algebra.text(offset);
            let text = format!("the tile of `{name}` starts at element {at}, not provably a multiple of {factor}");
            return Err(misfit(
                text,
                "let the tiles start at multiples of their size, or use an intrinsic that asks for less",
            ));
        }
        let bytes = func.as_shaped(func.value_type(tile.buffer)).and_then(|(elem, ..)| func.as_scalar(elem));
        let (Some(align), Some(bytes)) = (align, bytes.map(|elem| i64::from(elem.bytes()))) else { return Ok(()) };
        if align > bytes && !self.is_multiple(offset, align / bytes) {
            let at = self.site.algebra.text(offset);
            let text = format!(
                "the tile of `{name}` starts at element {at}, which is not provably a multiple of {align} bytes"
            );
            return Err(misfit(
                text,
                "let rows and tiles start at such multiples: pad the rows by `storage_align`, or choose other factors",
            ));
        }
        self.align(tile, &name, align)
    }

    /// A buffer of tiles has one where the tile lies.
    fn whole_tile(&mut self, place: Value, tile: &Tile) -> Result<(), Misfit> {
        let func = self.site.func;
        let want = self.intrinsic.extents(place).unwrap_or_default();
        let shape = func.as_shaped(func.value_type(tile.buffer)).map_or(&[][..], |(_, shape, _)| shape);
        let (rank, n) = (shape.len(), want.len());
        let extents: Vec<Option<i64>> = shape[rank.saturating_sub(n)..].iter().map(|&dim| func.as_int(dim)).collect();
        let last = tile.dims.iter().copied().eq(rank.saturating_sub(n)..rank);
        let whole = last
            && want.iter().zip(&extents).all(|(&want, have)| have.is_some_and(|have| have % want.max(1) == 0))
            && (0..n).all(|nth| {
                let base = tile.base[tile.dims[nth]];
                self.is_multiple(base, want[nth])
            });
        let strided = func.buffer_attr(tile.buffer, keys::STRIDES).is_some();
        if whole && !strided {
            return Ok(());
        }
        let name = func.value_text(tile.buffer);
        let show = want.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ");
        Err(Misfit {
            text: format!(
                "`{name}`, which is `{}`, is no array of tiles of {show}",
                func.show_type(func.value_type(tile.buffer))
            ),
            at: func.op_location(tile.at),
            help: format!(
                "let tiles start at multiples of their extents: `transform_layout` divides `{name}` into them"
            ),
        })
    }

    /// Strides that are written bind symbols or must be equal; where none are written the tile is compact.
    fn strides(&mut self, place: Value, tile: &Tile, strides: &[Expr]) -> Result<(), Misfit> {
        let (func, intrinsic) = (self.site.func, self.intrinsic);
        let extents = intrinsic.extents(place).unwrap_or_default();
        let written = match intrinsic.attr(place, keys::STRIDES).map(|attr| intrinsic.func.attr_data(attr)) {
            Some(AttrData::List(list)) => Some(list),
            _ => None,
        };
        let mut compact = 1i64;
        for nth in (0..tile.dims.len()).rev() {
            let have = strides[tile.dims[nth]];
            let fixed = match written.map(|list| intrinsic.func.attr_data(list[nth])) {
                None => Some(compact),
                Some(AttrData::Word(word)) => {
                    let symbol = intrinsic.func.header.symbols.iter().position(|symbol| symbol.name == *word);
                    self.bind(symbol, have, tile)?;
                    None
                }
                Some(AttrData::Int(value, _)) => i64::try_from(*value).ok(),
                Some(_) => None,
            };
            compact = compact.saturating_mul(extents.get(nth).copied().unwrap_or(1));
            // Where there is one element, how far the next one is does not matter.
            let Some(want) = fixed.filter(|_| extents.get(nth) != Some(&1)) else { continue };
            let wanted = self.site.algebra.analyzer.pool.int(want);
            if !self.site.algebra.analyzer.can_prove_equal(have, wanted) {
                let (name, have) = (func.value_text(tile.buffer), self.site.algebra.text(have));
                return Err(Misfit {
                    text: format!("elements of `{name}` lie {have} apart in dimension {}, not {want}", tile.dims[nth]),
                    at: func.op_location(tile.at),
                    help: "use an intrinsic that takes rows at any distance: `attributes {strides = [s, 1]}`"
                        .to_string(),
                });
            }
        }
        Ok(())
    }

    fn bind(&mut self, symbol: Option<usize>, stride: Expr, tile: &Tile) -> Result<(), Misfit> {
        let Some(slot) = symbol.and_then(|nth| self.symbols.get_mut(nth)) else { return Ok(()) };
        let stride = self.site.algebra.analyzer.simplify(stride);
        match *slot {
            Some(known) if !self.site.algebra.analyzer.can_prove_equal(known, stride) => {
                let (a, b) = (self.site.algebra.text(known), self.site.algebra.text(stride));
                Err(Misfit {
                    text: format!("one symbol stands for two distances, {a} and {b}"),
                    at: self.site.func.op_location(tile.at),
                    help: "give each of the two a symbol of its own".to_string(),
                })
            }
            _ => {
                *slot = Some(stride);
                Ok(())
            }
        }
    }

    fn is_multiple(&mut self, offset: Expr, factor: i64) -> bool {
        factor <= 1 || self.site.algebra.analyzer.modular(offset).residue(factor) == Some(0)
    }

    /// A buffer that is made is aligned as asked; what is given must be declared so, or say nothing.
    fn align(&mut self, tile: &Tile, name: &str, align: i64) -> Result<(), Misfit> {
        let func = self.site.func;
        let declared = func.buffer_attr(tile.buffer, keys::ALIGN).and_then(|attr| func.as_int(attr));
        if declared.is_some_and(|declared| declared >= align) {
            return Ok(());
        }
        let is_argument = matches!(func.def(tile.buffer), Def::Arg(..));
        if is_argument && declared.is_none() && align <= ARGUMENT_ALIGN {
            return Ok(());
        }
        if let (true, Some(declared)) = (is_argument, declared) {
            return Err(Misfit {
                text: format!("`{name}` is declared to start at a multiple of {declared} bytes, not of {align}"),
                at: func.op_location(tile.at),
                help: format!("declare `{name}` with `align = {align}`"),
            });
        }
        self.aligned.push((tile.buffer, align));
        Ok(())
    }
}

/// What the blocks write is not what they read: an intrinsic says nothing of the order in which it does the two.
fn apart(func: &Func, intrinsic: &Intrinsic<'_>, matched: &Matched) -> Result<(), Misfit> {
    let Some(result) = matched.tiles.get(&intrinsic.result) else { return Ok(()) };
    let noalias = func.entry(func.header.attrs, keys::NOALIAS).is_some();
    let is_argument = |buffer| matches!(func.def(buffer), Def::Arg(..));
    for (&place, tile) in matched.tiles.iter().filter(|(place, _)| **place != intrinsic.result) {
        let (name, read) = (func.value_text(result.buffer), func.value_text(tile.buffer));
        let text = if tile.buffer == result.buffer {
            format!("`{name}` is both read and written")
        } else if !noalias && is_argument(tile.buffer) && is_argument(result.buffer) {
            format!("`{read}` and `{name}` may be one array")
        } else {
            continue;
        };
        let param = intrinsic.func.value_text(place);
        let help =
            format!("let `{param}` be another buffer than the result; `attributes {{noalias}}` tells of arguments");
        return Err(Misfit { text, at: func.op_location(tile.at), help });
    }
    Ok(())
}

/// What a warp does as a whole all of its threads ask for alike: the place of a tile is the same for the 32 of them.
fn alike(site: &mut Site<'_>, intrinsic: &Intrinsic<'_>, matched: &Matched) -> Result<(), Misfit> {
    let func = site.func;
    let blocks = [intrinsic.body, intrinsic.init, intrinsic.update].into_iter().flatten();
    let of_warps = blocks.flat_map(|block| ops_under(intrinsic.func, block));
    if !of_warps.into_iter().any(|op| intrinsic.func.row(op).effect.convergent) {
        return Ok(());
    }
    let lanes: Vec<Value> = ancestors(func, site.nest.root)
        .filter(|&outer| coordinate(func, outer) == Some(Coordinate::ThreadX))
        .map(|outer| loop_var(func, outer))
        .collect();
    let pool = &mut site.algebra.analyzer.pool;
    let warp = pool.int(32);
    let mut first_lane = Vec::new();
    for &lane in &lanes {
        let var = pool.var(Algebra::var(lane));
        let number = pool.floor_div(var, warp);
        first_lane.push((Algebra::var(lane), pool.mul(number, warp)));
    }
    for tile in matched.tiles.values() {
        for &base in &tile.base {
            let same = site.algebra.analyzer.pool.subst(base, &first_lane);
            if !site.algebra.analyzer.can_prove_equal(base, same) {
                let (name, at) = (func.value_text(tile.buffer), site.algebra.text(base));
                return Err(Misfit {
                    text: format!("the threads of a warp name different tiles of `{name}`, at {at}"),
                    at: func.op_location(tile.at),
                    help: "bind what chooses a tile to threadIdx.y or .z, or to threadIdx.x / 32".to_string(),
                });
            }
        }
    }
    Ok(())
}

/// What the header says of its symbols must follow from the strides.
fn facts(site: &mut Site<'_>, intrinsic: &Intrinsic<'_>, matched: &Matched, symbols: &[Expr]) -> Result<(), Misfit> {
    let func = intrinsic.func;
    for &fact in &func.header.facts {
        let of_name = |name| Some(symbols[func.header.symbols.iter().position(|symbol| symbol.name == name)?]);
        let condition = attr_expr(func, fact, &mut site.algebra.analyzer.pool, &of_name);
        // What cannot be read does not hold for certain.
        if !condition.is_ok_and(|condition| site.algebra.analyzer.can_prove(condition)) {
            let values = func.header.symbols.iter().zip(symbols);
            let values: Vec<String> = values
                .map(|(symbol, &value)| format!("{} = {}", func.text(symbol.name), site.algebra.text(value)))
                .collect();
            let at = matched.tiles.values().next_back().map_or(site.nest.root, |tile| tile.at);
            return Err(Misfit {
                text: format!("it asks for `{}`, and {}", func.show_attr(fact), values.join(", ")),
                at: site.func.op_location(at),
                help: "choose extents or a padding (`storage_align`) for which that holds".to_string(),
            });
        }
    }
    Ok(())
}
