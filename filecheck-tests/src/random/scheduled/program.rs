//! Programs to be scheduled: nests of loops over integers, at fault nowhere by construction.
//!
//! All arrays have one extent in each dimension, and loops keep a margin from both ends, so that an index may be a loop
//! variable with a small offset.

use crate::random::rng::Rng;

/// The extent of each dimension.
const EXTENT: i64 = 12;
/// How far loops keep from the ends.
const MARGIN: i64 = 2;

struct Array {
    name: String,
    rank: usize,
}

struct Draw<'r> {
    rng: &'r mut Rng,
    text: String,
    depth: usize,
    arrays: Vec<Array>,
    /// Arrays that have values in all cells.
    filled: usize,
    loops: usize,
    budget: usize,
    /// Each made array is computed by one nest.
    in_stages: bool,
}

/// A program `@f`.
pub fn draw(rng: &mut Rng) -> String {
    let (n_made, n_inputs) = (rng.below(4), 1 + rng.below(2));
    let in_stages = rng.chance(50);
    let mut draw =
        Draw { rng, text: String::new(), depth: 1, arrays: Vec::new(), filled: 0, loops: 0, budget: 0, in_stages };
    let mut params = Vec::new();
    for nth in 0..n_inputs + 2 {
        let rank = 1 + draw.rng.below(2);
        let name = if nth < n_inputs { format!("A{nth}") } else { format!("O{}", nth - n_inputs) };
        let extents = vec![EXTENT.to_string(); rank].join(", ");
        params.push(format!("{name}: i32[{extents}]"));
        draw.arrays.push(Array { name, rank });
    }
    draw.filled = draw.arrays.len();
    let alias = if draw.rng.chance(95) { " attributes {noalias}" } else { "" };
    draw.text = format!("tir.func @f({}){alias} {{\n", params.join(", "));
    for nth in 0..n_made {
        let rank = 1 + draw.rng.below(2);
        let name = format!("T{nth}");
        let extents = vec![EXTENT.to_string(); rank].join(", ");
        draw.line(&format!("alloc {name}: i32[{extents}] in global"));
        draw.arrays.push(Array { name, rank });
        // Each is filled first, so that no read is at fault.
        draw.fill();
    }
    for _ in 0..1 + draw.rng.below(3) {
        draw.budget = 5;
        draw.nest();
    }
    draw.text.push_str("}\n");
    draw.text
}

impl Draw<'_> {
    fn line(&mut self, line: &str) {
        let indent = "  ".repeat(self.depth);
        self.text.push_str(&format!("{indent}{line}\n"));
    }

    fn open(&mut self, line: &str) {
        self.line(&format!("{line} {{"));
        self.depth += 1;
    }

    fn close(&mut self, n: usize) {
        for _ in 0..n {
            self.depth -= 1;
            self.line("}");
        }
    }

    fn var(&mut self) -> String {
        self.loops += 1;
        let letter = self.rng.pick(&["i", "j", "k"]);
        // Names that come again make some names ambiguous.
        if self.rng.chance(15) { letter.to_string() } else { format!("{letter}_{}", self.loops) }
    }

    /// The newest array gets values in all cells, of arrays before it.
    fn fill(&mut self) {
        let target = self.arrays.len() - 1;
        let (name, rank) = (self.arrays[target].name.clone(), self.arrays[target].rank);
        let mut vars: Vec<String> = Vec::new();
        for _ in 0..rank {
            let var = self.fresh(&vars);
            vars.push(var);
        }
        for var in &vars {
            self.open(&format!("for {var} in 0..{EXTENT}"));
        }
        let place = format!("{name}[{}]", vars.join(", "));
        match self.rng.below(3) {
            0 => {
                self.line(&format!("{place} = 0"));
                let k = self.fresh(&vars);
                self.open(&format!("for {k} in 0..{EXTENT}"));
                let source = self.plain(&[vars.clone(), vec![k]].concat());
                self.line(&format!("{place} = {place} + {source}"));
                self.close(1);
            }
            1 => {
                let source = self.plain(&vars);
                self.line(&format!("{place} = {source} * 2"));
            }
            _ => {
                let (one, other) = (self.plain(&vars), self.plain(&vars));
                self.line(&format!("{place} = max({one}, {other}) + 1"));
            }
        }
        self.close(rank);
        self.filled = self.arrays.len();
    }

    fn fresh(&mut self, taken: &[String]) -> String {
        loop {
            let var = self.var();
            if !taken.contains(&var) {
                return var;
            }
        }
    }

    /// An element of a filled array, without offsets.
    fn plain(&mut self, vars: &[String]) -> String {
        let nth = if self.in_stages && self.rng.chance(60) { self.filled - 1 } else { self.rng.below(self.filled) };
        let Array { name, rank } = &self.arrays[nth];
        let (name, rank) = (name.clone(), *rank);
        let indices: Vec<String> = (0..rank).map(|_| self.rng.pick(vars)).collect();
        format!("{name}[{}]", indices.join(", "))
    }

    /// An element of any array, near to the variables.
    fn near(&mut self, vars: &[String]) -> String {
        let last = self.arrays.len() - 1;
        let nth = if self.in_stages && self.rng.chance(40) { last } else { self.rng.below(last + 1) };
        let Array { name, rank } = &self.arrays[nth];
        let (name, rank) = (name.clone(), *rank);
        let indices: Vec<String> = (0..rank).map(|_| self.index(vars)).collect();
        format!("{name}[{}]", indices.join(", "))
    }

    fn index(&mut self, vars: &[String]) -> String {
        let var = self.rng.pick(vars);
        match self.rng.below(8) {
            0 => format!("{var} - 1"),
            1 => format!("{var} + 1"),
            2 => format!("{var} - 2"),
            3 => format!("{} - {var}", EXTENT - 1),
            4 if self.rng.chance(30) => self.rng.below(EXTENT as usize).to_string(),
            _ => var,
        }
    }

    fn nest(&mut self) {
        let mut vars: Vec<String> = Vec::new();
        self.loops_and_statements(&mut vars);
    }

    fn loops_and_statements(&mut self, vars: &mut Vec<String>) {
        let n = if vars.is_empty() { 1 + self.rng.below(3) } else { 1 + self.rng.below(2) };
        let mut opened = 0;
        for _ in 0..n {
            if vars.len() >= 4 {
                break;
            }
            let var = self.fresh(vars);
            let hi = EXTENT - MARGIN - self.rng.pick(&[0, 0, 1, 3]);
            let lo = MARGIN + self.rng.pick(&[0, 0, 0, 1]);
            self.open(&format!("for {var} in {lo}..{hi}"));
            vars.push(var);
            opened += 1;
        }
        for _ in 0..1 + self.rng.below(2) {
            self.statement(vars);
        }
        self.close(opened);
        vars.truncate(vars.len() - opened);
    }

    fn statement(&mut self, vars: &mut Vec<String>) {
        if self.budget == 0 {
            return;
        }
        self.budget -= 1;
        match self.rng.below(10) {
            0..=3 => {
                let place = self.target(vars);
                let (one, other) = (self.near(vars), self.near(vars));
                self.line(&format!("{place} = {one} - {other}"));
            }
            4..=6 => {
                let place = self.target(vars);
                let source = self.near(vars);
                let update = match self.rng.below(4) {
                    0 => format!("max({place}, {source})"),
                    1 => format!("{source} + {place}"),
                    _ => format!("{place} + {source}"),
                };
                self.line(&format!("{place} = {update}"));
            }
            7 => {
                let var = self.rng.pick(vars);
                let bound = MARGIN + self.rng.below(8) as i64;
                let other = self.rng.pick(vars);
                let condition =
                    if self.rng.chance(50) { format!("{var} < {bound}") } else { format!("{var} <= {other}") };
                self.open(&format!("if {condition}"));
                let place = self.target(vars);
                let source = self.near(vars);
                self.line(&format!("{place} = {source} + 1"));
                self.close(1);
            }
            8 if vars.len() < 4 => {
                let (place, k) = (self.target(vars), self.fresh(vars));
                self.line(&format!("{place} = 0"));
                self.open(&format!("for {k} in 0..{}", 3 + self.rng.clone().below(EXTENT as usize - 3)));
                let mut inner = vars.clone();
                inner.push(k.clone());
                let source = self.plain(&inner);
                self.line(&format!("{place} = {place} + {source}"));
                self.close(1);
            }
            _ if vars.len() < 4 => self.loops_and_statements(vars),
            _ => {}
        }
    }

    /// An element that is stored to: mostly by the variables themselves.
    fn target(&mut self, vars: &[String]) -> String {
        let first =
            if self.rng.chance(80) { self.arrays.iter().position(|array| array.name == "O0").unwrap_or(0) } else { 0 };
        let most = if self.in_stages { (first + 2).min(self.arrays.len()) } else { self.arrays.len() };
        let nth = first + self.rng.below(most - first);
        let Array { name, rank } = &self.arrays[nth];
        let (name, rank) = (name.clone(), *rank);
        let mut indices: Vec<String> = Vec::new();
        for _ in 0..rank {
            let free: Vec<String> = vars.iter().filter(|var| !indices.contains(var)).cloned().collect();
            let index = match free.is_empty() || self.rng.chance(20) {
                true => self.index(vars),
                false => self.rng.pick(&free),
            };
            indices.push(index);
        }
        format!("{name}[{}]", indices.join(", "))
    }
}
