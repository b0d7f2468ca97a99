//! Functions: sizes, parameters, temporary memory, and one kernel after another.

use super::draw::{AccessibleRows, Buffer, Draw, Known, Layout, Rows};
use super::interval::Interval;
use tc::ir::Elem;

/// Threads of a block: whole warps, parts of one, more than one, none that anything divides.
const THREADS: &[i64] = &[32, 32, 64, 16, 8, 4, 7, 33, 48, 1];

/// How many threads a function launches.
#[derive(Clone, Debug)]
pub(super) enum Width {
    /// None: it runs on the host alone.
    Host,
    /// So many blocks of so many threads.
    Fixed { blocks: i64, threads: i64 },
    /// As many as a size says, in blocks of so many, which divide the size or not.
    Open { size: String, threads: i64, whole: bool },
}

/// The element types of parameters.
const PARAMETERS: &[Elem] = &[
    Elem::F32,
    Elem::F32,
    Elem::F32,
    Elem::I32,
    Elem::I32,
    Elem::F16,
    Elem::BF16,
    Elem::F64,
    Elem::I64,
    Elem::U8,
    Elem::I8,
    Elem::U16,
    Elem::I16,
    Elem::U32,
    Elem::U64,
    Elem::Bool,
];

/// What the simulator puts into an argument, and `tc-run`.
fn drawn(elem: Elem) -> Known {
    if elem.is_float() {
        return Known::float(elem, 8.0);
    }
    let low = if Interval::all(elem).low < 0 { -8 } else { 0 };
    Known::int(elem, if elem == Elem::Bool { Interval::new(0, 1) } else { Interval::new(low, 8) })
}

impl Draw<'_> {
    /// A function called `name`.
    pub(super) fn function(&mut self, name: &str) {
        let width = self.width();
        let mut params = Vec::new();
        self.sized(&width);
        let rows = match &width {
            Width::Host => Rows::Fixed(self.choices.between(1, 6)),
            Width::Fixed { blocks, threads } => Rows::Fixed(blocks * threads),
            Width::Open { size, .. } => Rows::Open(size.clone()),
        };
        for _ in 0..1 + self.choices.below(4) {
            let buffer = self.input(&rows);
            params.push(self.declared(&buffer));
            self.buffers.push(buffer);
        }
        let first = self.buffers.len();
        for _ in 0..1 + self.choices.below(3) {
            let buffer = self.output(&rows, "B");
            params.push(self.declared(&buffer));
            self.buffers.push(buffer);
        }
        for _ in 0..self.choices.pick(&[0, 0, 0, 1, 2]) {
            let elem = self.choices.pick(&[Elem::I32, Elem::I32, Elem::F32, Elem::I64, Elem::U8, Elem::Bool]);
            let name = self.name("s");
            params.push(format!("{name}: {}", elem.name()));
            self.var(&name, drawn(elem));
            self.made("number as argument");
        }
        let sizes = self.sizes(&width);
        let noalias = if self.choices.chance(88) { " attributes {noalias}" } else { "" };
        let (sizes, fact) = sizes;
        let head = format!("tir.func @{name}{sizes}({}){fact}{noalias}", params.join(", "));
        self.block(&head, |draw| {
            if matches!(width, Width::Host) {
                return draw.host(first);
            }
            if draw.choices.chance(20) {
                let buffer = draw.output(&rows, "G");
                draw.made("temporary global memory");
                draw.line(format!(
                    "alloc {}: {}[{}] in global",
                    buffer.name,
                    buffer.holds.elem.name(),
                    buffer.extents()
                ));
                draw.buffers.push(buffer);
            }
            let n = draw.choices.pick(&[1, 1, 1, 1, 2, 2, 3]);
            if n > 1 {
                draw.made("several kernels");
            }
            let mut full = vec![false; draw.buffers.len()];
            full[..first].fill(true);
            for _ in 0..n {
                let width = draw.relaunched(&width);
                draw.kernel(&width, &mut full);
            }
        });
        self.vars.clear();
        self.buffers.clear();
    }

    fn width(&mut self) -> Width {
        match self.choices.below(10) {
            0..=1 if !self.style.exact => Width::Host,
            2..=4 => {
                let threads = self.choices.pick(&[32i64, 16, 8, 4, 48]);
                self.made("open sizes");
                Width::Open { size: self.name("n"), threads, whole: self.choices.chance(30) }
            }
            _ => {
                let threads = self.choices.pick(THREADS);
                Width::Fixed { blocks: self.choices.between(1, 3), threads }
            }
        }
    }

    /// The same rows, perhaps launched in other blocks.
    fn relaunched(&mut self, width: &Width) -> Width {
        let Width::Fixed { blocks, threads } = width else { return width.clone() };
        let rows = blocks * threads;
        let divides = |threads: &i64| rows % threads == 0 && *threads <= 64 && rows / threads <= 8;
        let mut others: Vec<i64> = (1..=64).filter(divides).collect();
        others.push(*threads);
        others.push(*threads);
        let threads = self.choices.pick(&others);
        Width::Fixed { blocks: rows / threads, threads }
    }

    /// The size is a name in the function.
    fn sized(&mut self, width: &Width) {
        if let Width::Open { size, .. } = width {
            self.var(&size.clone(), Known::int(Elem::Index, Interval::new(1, 4096)));
        }
    }

    fn sizes(&mut self, width: &Width) -> (String, String) {
        let Width::Open { size, threads, whole } = width else { return (String::new(), String::new()) };
        let high = self.choices.pick(&[100i64, 200, 4097]);
        let default = if self.choices.chance(70) { format!(" = {}", threads * 2) } else { String::new() };
        let low = if *whole { *threads } else { 1 };
        let fact = if *whole { format!(" where {size} % {threads} == 0") } else { String::new() };
        (format!("<{size}: {low}..{high}{default}>"), fact)
    }

    fn input(&mut self, rows: &Rows) -> Buffer {
        let elem = self.choices.pick(PARAMETERS);
        let fixed = Rows::Fixed(self.choices.pick(&[1i64, 5, 16, 32, 64, 100]));
        let rows = if self.choices.chance(60) { rows.clone() } else { fixed };
        let cols = self.choices.pick(&[1i64, 2, 3, 4, 8]);
        let layout = match self.choices.below(6) {
            0 => Layout::Rows,
            1 => Layout::Columns,
            _ => Layout::Flat,
        };
        // One row alone is addressed by its columns.
        let layout = if rows == Rows::Fixed(1) { Layout::Flat } else { layout };
        let (reads, writes) = (AccessibleRows::All, AccessibleRows::Nothing);
        Buffer { name: self.name("A"), scope: "global", layout, rows, cols, holds: drawn(elem), reads, writes }
    }

    fn output(&mut self, rows: &Rows, stem: &str) -> Buffer {
        let elem = self.choices.pick(PARAMETERS);
        let holds = self.holding_of(elem);
        let layout = match self.choices.below(6) {
            0 => Layout::Rows,
            1 => Layout::Columns,
            2 => Layout::FlatColumns,
            _ => Layout::Flat,
        };
        let layout = if *rows == Rows::Fixed(1) { Layout::Flat } else { layout };
        let cols = self.choices.pick(&[1i64, 1, 2, 3, 4, 8]);
        let (reads, writes) = (AccessibleRows::Nothing, AccessibleRows::Nothing);
        Buffer { name: self.name(stem), scope: "global", layout, rows: rows.clone(), cols, holds, reads, writes }
    }

    fn declared(&mut self, buffer: &Buffer) -> String {
        let strides = match (&buffer.rows, buffer.layout) {
            // The space between rows is left of a flat result, and no thread writes it.
            (Rows::Fixed(_), Layout::Rows) if !self.style.exact && self.choices.chance(25) => {
                self.made("strides");
                format!(" attributes {{strides = [{}, 1]}}", buffer.cols + self.choices.between(1, 2))
            }
            _ => String::new(),
        };
        format!("{}: {}[{}]{strides}", buffer.name, buffer.holds.elem.name(), buffer.extents())
    }

    /// A body without threads.
    fn host(&mut self, first: usize) {
        self.made("host");
        for at in first..self.buffers.len() {
            let buffer = self.buffers[at].clone();
            let Rows::Fixed(rows) = buffer.rows else { continue };
            let row = self.name("r");
            self.block(&format!("for {row} in 0..{rows}"), |draw| {
                draw.var(&row, Known::int(Elem::Index, Interval::new(0, i128::from(rows) - 1)));
                draw.fill(&buffer, &row, false);
            });
            (self.buffers[at].reads, self.buffers[at].writes) = (AccessibleRows::All, AccessibleRows::All);
        }
        self.budget = 4 + self.choices.below(10);
        self.statements(12);
    }
}
