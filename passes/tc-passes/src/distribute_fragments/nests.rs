//! The loops over the elements of tiles: which dimension each runs along, and what part of a lane's number it becomes.

use super::axes::{Access, Axis, axes};
use super::find::{Buffer, by_scope, no_tiles};
use super::layout::{Layout, Spread};
use crate::analysis::launch::loop_var;
use crate::analysis::tiles;
use indexmap::{IndexMap, IndexSet};
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::fragment::Family;
use tc_dialects::mixing::Mixing;
use tc_dialects::tir;
use tc_ir::walk::ancestors;
use tc_ir::{Func, Op};
use tc_support::{Diagnostic, counted};

/// What a loop over a dimension of tiles becomes.
#[derive(Clone, Copy)]
pub(super) struct Role {
    /// The dimension is that of the groups of lanes; otherwise the one that the lanes of a group divide.
    pub(super) is_group: bool,
    /// How the lanes are spread.
    spread: Spread,
    /// How far apart in the tile the elements of two iterations are.
    step: i64,
    /// The access that says so.
    by: Op,
}

impl Role {
    /// The dimension of a tile that the loop runs along, as [`Spread`] counts them.
    fn dim(self) -> usize {
        if self.is_group { self.spread.group } else { 1 - self.spread.group }
    }

    /// The iterations for neighbours that a lane holds.
    pub(super) fn width(self) -> i64 {
        if self.is_group { self.spread.width } else { self.spread.width / self.step }
    }

    /// The family of the tiles.
    pub(super) fn family(self) -> Family {
        self.spread.family
    }

    /// How many iterations all lanes do together.
    pub(super) fn covered(self) -> i64 {
        self.spread.covered(self.dim()) / self.step
    }

    /// What the elements that the loop runs over are a multiple of.
    fn unit(self) -> i64 {
        self.spread.unit(self.dim())
    }

    /// Do several warps hold the rows that the loop runs over, 16 each?
    pub(super) fn is_of_warps(self) -> bool {
        self.is_group && self.spread.warps() > 1
    }

    fn is_same(self, other: Role) -> bool {
        // Groups are numbered alike, however many neighbours their lanes hold.
        let of_groups = |role: Role| role.spread.rows.filter(|_| role.is_group);
        let told =
            |role: Role| (role.is_group, (!role.is_group).then_some(role.width()), role.spread.family, of_groups(role));
        told(self) == told(other)
    }

    /// How the groups that the loop runs over are mixed.
    pub(super) fn rows(self) -> Option<Mixing> {
        self.spread.rows.filter(|_| self.is_group)
    }
}

/// All loops over elements of tiles.
pub(super) struct Nests {
    pub(super) accesses: Vec<Access>,
    /// The loops, in the order in which they were found.
    pub(super) roles: IndexMap<Op, Role>,
    pub(super) algebra: Algebra,
}

impl Nests {
    /// The outermost loops over elements, in the order of the text of what they hold.
    pub(super) fn roots(&self, func: &Func) -> Vec<Op> {
        let mut roots: Vec<Op> = Vec::new();
        for &op in self.roles.keys() {
            let outer = ancestors(func, op).filter(|outer| self.roles.contains_key(outer)).last();
            let root = outer.unwrap_or(op);
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        roots
    }
}

/// What keeps loops from being divided among lanes.
pub(super) struct Contradictions {
    pub(super) found: Vec<Diagnostic>,
    /// The loads, with the numbers of their buffers, of elements that other lanes hold; empty where that is not all.
    pub(super) loads: IndexSet<(Op, usize)>,
}

impl From<Vec<Diagnostic>> for Contradictions {
    fn from(found: Vec<Diagnostic>) -> Contradictions {
        Contradictions { found, loads: IndexSet::new() }
    }
}

/// Finds the loops, and gives every buffer a layout; or says which element a lane cannot reach.
pub(super) fn find(func: &Func, buffers: &mut [Buffer]) -> Result<Nests, Contradictions> {
    let mut algebra = tiles::algebra(func);
    // What the elements say of buffers that no matrix op takes needs their loops; and which loops lanes divide is told by the
    // layout that follows.
    let accesses = accesses(func, &mut algebra, buffers).unwrap_or_else(|(accesses, _)| accesses);
    settle_layouts(func, buffers, &accesses).map_err(|diagnostic| Contradictions::from(vec![diagnostic]))?;
    let accesses = self::accesses(func, &mut algebra, buffers).map_err(|(_, found)| Contradictions::from(found))?;
    let (mut found, mut loads) = (Vec::new(), Vec::new());
    let mut nests = Nests { accesses, roles: IndexMap::new(), algebra };
    for nth in 0..nests.accesses.len() {
        if let Err((diagnostic, load)) = assign(func, buffers, &mut nests, nth) {
            found.push(diagnostic);
            loads.push(load);
        }
    }
    // One diagnostic a loop is enough: what follows from it is reported with it.
    found.truncate(8);
    let loads: Option<IndexSet<(Op, usize)>> = loads.into_iter().collect();
    if found.is_empty() { Ok(nests) } else { Err(Contradictions { found, loads: loads.unwrap_or_default() }) }
}

/// All accesses; or those whose loops were found, and what is wrong with the others.
fn accesses(
    func: &Func,
    algebra: &mut Algebra,
    buffers: &[Buffer],
) -> Result<Vec<Access>, (Vec<Access>, Vec<Diagnostic>)> {
    let (mut accesses, mut found) = (Vec::new(), Vec::new());
    for (nth, buffer) in buffers.iter().enumerate() {
        let spread = buffer.layout.map(|layout| layout.spread);
        for &op in &buffer.tiles.elements {
            match axes(func, algebra, buffer, spread, op) {
                Ok(axes) => accesses.push(Access { op, buffer: nth, axes }),
                Err(diagnostic) => found.push(diagnostic),
            }
        }
    }
    if found.is_empty() { Ok(accesses) } else { Err((accesses, found)) }
}

/// Buffers that no matrix op takes lie as those do that they exchange elements with, or as their scope wants it.
fn settle_layouts(func: &Func, buffers: &mut [Buffer], accesses: &[Access]) -> Result<(), Diagnostic> {
    loop {
        let next = accesses.iter().filter(|access| buffers[access.buffer].layout.is_none()).find_map(|access| {
            let loops = access.loops();
            let like = accesses.iter().find_map(|other| alike(buffers, other, &loops))?;
            Some((access.buffer, like.0, like.1))
        });
        let Some((nth, spread, told)) = next else { break };
        let last = buffers[nth].tiles.last_two();
        // Which pieces follow each other is of no matter where no matrix op looks.
        let tile = [0, 1].map(|dim| if last[dim] % 16 == 0 { 16.max(spread.unit(dim)) } else { spread.unit(dim) });
        let layout = Layout::made_of(spread, tile, spread.group);
        let fits = |layout: &Layout| last[0] % layout.tile[0] == 0 && last[1] % layout.tile[1] == 0;
        let Some(layout) = layout.filter(fits).or_else(|| Layout::made_of(spread, last, spread.group)) else {
            return Err(no_tiles(func, &buffers[nth].tiles));
        };
        (buffers[nth].layout, buffers[nth].told) = (Some(layout), told);
    }
    for buffer in buffers.iter_mut().filter(|buffer| buffer.layout.is_none()) {
        buffer.layout = Some(by_scope(&buffer.tiles).ok_or_else(|| no_tiles(func, &buffer.tiles))?);
    }
    Ok(())
}

/// How a buffer lies that `loops` run over, if `other` tells it.
fn alike(buffers: &[Buffer], other: &Access, loops: &[Op]) -> Option<(Spread, Op)> {
    let spread = buffers[other.buffer].layout?.spread;
    if other.axes.iter().any(|axis| axis.step != 1) {
        return None;
    }
    match (&other.loops()[..], loops) {
        (theirs @ [_, _], loops) if *theirs == *loops => Some((spread, other.op)),
        (&[row, col], loops) if *loops == [col, row] => Some((Spread { group: 1 - spread.group, ..spread }, other.op)),
        _ => None,
    }
}

/// Gives the loops of an access their roles; or says what contradicts them, and which load of the two has to give way, if one does.
fn assign(
    func: &Func,
    buffers: &[Buffer],
    nests: &mut Nests,
    nth: usize,
) -> Result<(), (Diagnostic, Option<(Op, usize)>)> {
    let access = &nests.accesses[nth];
    let (op, axes, buffer) = (access.op, access.axes.clone(), &buffers[access.buffer]);
    let Some(layout) = buffer.layout else { return Ok(()) };
    for (dim, axis) in axes.into_iter().enumerate() {
        let role = Role { is_group: dim == layout.spread.group, spread: layout.spread, step: axis.step, by: op };
        match nests.roles.get(&axis.loop_op) {
            Some(known) if !known.is_same(role) => {
                let of = |by: Op| nests.accesses.iter().find(|other| other.op == by).map(|other| (by, other.buffer));
                let load = [op, known.by].into_iter().find(|&by| func.opcode(by) == tir::LOAD).and_then(of);
                return Err((other_lanes(func, buffer, op, role, *known), load));
            }
            Some(_) => {}
            None => drop(nests.roles.insert(axis.loop_op, role)),
        }
        starts_at_a_piece(func, &mut nests.algebra, buffer, op, axis, role).map_err(|found| (found, None))?;
    }
    Ok(())
}

fn other_lanes(func: &Func, buffer: &Buffer, op: Op, role: Role, known: Role) -> Diagnostic {
    let by = known.by;
    let name = func.value_text(buffer.tiles.buffer);
    let other = func.value_text(func.operand(by, 0));
    let text = if name == other {
        format!("two elements of `{name}` are combined here, and thread t does not hold that element for every t")
    } else {
        format!("elements of `{name}` and `{other}` are combined here, and thread t does not hold that element of both")
    };
    let mut found = Diagnostic::error("element", func.op_location(op), text);
    if by != op {
        found = found.label(func.op_location(by), format!("here thread t holds its element of `{other}`"));
    }
    // Sums and a factor of 8-bit numbers: the order of columns in which one thread holds both.
    let permuted = match [(name, role), (other, known)] {
        [(two, a), (four, b)] | [(four, b), (two, a)]
            if !a.is_group && !b.is_group && (a.width(), b.width()) == (2, 4) =>
        {
            Some((two, four))
        }
        _ => None,
    };
    if role.rows() != known.rows() {
        let help = "sums are held in the order in which rows of a left factor are read that is swizzled in longer rows than its own: \
                    leave out `swizzle`, or bring the tile to shared memory";
        return found.help(help);
    }
    found.help(match permuted {
        Some((two, four)) => format!(
            "a thread holds column 16 h + 8 p + 2 t + e of `{two}` and column 16 h + 4 t + 2 p + e of `{four}`, for p < 2, \
             t < 4, e < 2: let loops over `h`, `p`, `t` and `e` permute the columns so, and rows of the other factor follow; \
             or bring the tile to shared memory"
        ),
        None => "bring the tile to shared memory, and take it from there in the other order; or let a product do it".into(),
    })
}

/// The loop covers whole pieces, from where one begins.
fn starts_at_a_piece(
    func: &Func,
    algebra: &mut Algebra,
    buffer: &Buffer,
    op: Op,
    axis: Axis,
    role: Role,
) -> Result<(), Diagnostic> {
    let (name, var) = (func.value_text(buffer.tiles.buffer), func.value_text(loop_var(func, axis.loop_op)));
    let piece = role.unit().max(role.rows().map_or(1, Mixing::period));
    let extent = const_extent(func, axis.loop_op).unwrap_or(0);
    if extent * axis.step % piece != 0 {
        let text = format!(
            "the loop `{var}` runs over {} of tiles of `{name}`, and not over whole pieces of {piece}",
            counted(extent, "element")
        );
        return Err(Diagnostic::error("extent", func.op_location(axis.loop_op), text)
            .label(func.op_location(op), "the element is accessed here")
            .help("let one loop run over the whole dimension of a tile; it is divided by threads here"));
    }
    let start = algebra.expr(func, func.operand(axis.loop_op, 0));
    let start = axis.index(&mut algebra.analyzer.pool, start);
    let is_start = if axis.step == 1 {
        tiles::in_units(algebra, start, piece).is_some()
    } else {
        // What other loops run over within a step stays there.
        let unit = algebra.analyzer.pool.int(piece);
        let within = algebra.analyzer.pool.floor_mod(start, unit);
        let within = algebra.analyzer.bounds(within);
        within.all_at_most(axis.step - 1)
    };
    if !is_start {
        let text = format!("the loop `{var}` starts within a tile of `{name}`: at no multiple of {piece}");
        return Err(Diagnostic::error("extent", func.op_location(op), text)
            .label(func.op_location(axis.loop_op), "the loop")
            .help("let the loop begin where a tile does"));
    }
    Ok(())
}
