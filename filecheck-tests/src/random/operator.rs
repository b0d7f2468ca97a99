//! Operators as data, and their text.

use super::expr::Expr;

/// An operator.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Operator {
    /// The sizes.
    pub sizes: Vec<i64>,
    /// Which sizes are symbols with a default; the others are written as numbers.
    pub symbolic: Vec<bool>,
    /// Named index expressions.
    pub lets: Vec<(String, Expr)>,
    /// The arguments.
    pub params: Vec<Param>,
    /// The stages, producers first.
    pub stages: Vec<Stage>,
    /// The results.
    pub outputs: Vec<String>,
    /// What was made of what, for the histogram.
    pub shapes: Vec<&'static str>,
}

/// An argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub elem: &'static str,
    /// Its extents.
    pub shape: Vec<Expr>,
}

/// What one `compute` makes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    /// The names of its results, with their element types.
    pub results: Vec<(String, &'static str)>,
    /// The axes over data.
    pub axes: Vec<Axis>,
    /// What is reduced.
    pub reduce: Option<Reduce>,
    /// The element of each result, or the terms of the reduction.
    pub body: Vec<Expr>,
}

/// An axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Where it starts.
    pub low: i64,
    /// Where it ends.
    pub high: Expr,
}

/// A reduction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reduce {
    /// The combiner.
    pub by: &'static str,
    /// The axes.
    pub axes: Vec<Axis>,
    /// Which terms count.
    pub condition: Option<Expr>,
    /// Where it starts from.
    pub init: Option<Expr>,
    /// How far the first axis runs for an element, where that is less than all of it.
    pub until: Option<String>,
}

/// The combiner of pairs: the greatest value, and the first place where it is.
const ARGMAX: &str = "te.combiner @argmax(v: f32, i: i32, w: f32, j: i32) {
  identity {
    yield -inf, 1000i32
  }
  let first = v > w || v == w && i < j
  yield select(first, v, w), select(first, i, j)
}

";

impl Operator {
    /// The value of an expression over sizes.
    pub fn value(&self, expr: &Expr) -> Option<i64> {
        match expr {
            Expr::Name(name) => {
                let (_, value) = self.lets.iter().find(|(known, _)| known == name)?;
                value.value(&self.sizes)
            }
            expr => expr.value(&self.sizes),
        }
    }

    /// How many steps computing it takes.
    pub fn work(&self) -> i64 {
        let product = |axes: &[Axis]| {
            axes.iter().fold(1i64, |n, axis| {
                n.saturating_mul(self.value(&axis.high).map_or(1 << 40, |high| (high - axis.low).max(0)))
            })
        };
        let of = |stage: &Stage| {
            product(&stage.axes).saturating_mul(stage.reduce.as_ref().map_or(1, |reduce| product(&reduce.axes)))
        };
        self.stages.iter().map(of).fold(0, i64::saturating_add)
    }

    /// The text, with the combiner that it uses.
    pub fn text(&self) -> String {
        let size = |nth: usize| self.size_text(nth);
        let mut out = String::new();
        if self.stages.iter().any(|stage| stage.reduce.as_ref().is_some_and(|reduce| reduce.by == "argmax")) {
            out.push_str(ARGMAX);
        }
        out.push_str("te.func @op");
        let symbols: Vec<String> = (0..self.sizes.len())
            .filter(|&nth| self.symbolic[nth])
            .map(|nth| format!("n{nth} = {}", self.sizes[nth]))
            .collect();
        if !symbols.is_empty() {
            out.push_str(&format!("<{}>", symbols.join(", ")));
        }
        let tensor = |elem: &str, shape: &[Expr]| {
            let shape: Vec<String> = shape.iter().map(|extent| extent.text(&size)).collect();
            if shape.is_empty() { elem.to_string() } else { format!("{elem}[{}]", shape.join(", ")) }
        };
        let params: Vec<String> =
            self.params.iter().map(|param| format!("{}: {}", param.name, tensor(param.elem, &param.shape))).collect();
        let results: Vec<String> = self.outputs.iter().map(|name| self.type_of(name, &tensor)).collect();
        let results = if results.len() == 1 { results[0].clone() } else { format!("({})", results.join(", ")) };
        out.push_str(&format!("({}) -> {results} {{\n", params.join(", ")));
        for (name, value) in &self.lets {
            out.push_str(&format!("  let {name} = {}\n", value.text(&size)));
        }
        for stage in &self.stages {
            out.push_str(&format!("  {}\n", stage.text(&size)));
        }
        out.push_str(&format!("  return {}\n}}\n", self.outputs.join(", ")));
        out
    }

    fn size_text(&self, nth: usize) -> String {
        if self.symbolic[nth] { format!("n{nth}") } else { self.sizes[nth].to_string() }
    }

    /// The type of a result; a `let` of the body is not known in the signature.
    fn type_of(&self, name: &str, tensor: &dyn Fn(&str, &[Expr]) -> String) -> String {
        let of = |stage: &Stage| {
            let (_, elem) = stage.results.iter().find(|(result, _)| result == name)?;
            let shape: Vec<Expr> = stage.axes.iter().map(|axis| self.without_lets(&axis.high)).collect();
            Some(tensor(elem, &shape))
        };
        self.stages.iter().find_map(of).unwrap_or_default()
    }

    /// An extent without names of `let`s.
    pub fn without_lets(&self, extent: &Expr) -> Expr {
        let known = |name: &String| self.lets.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        match extent {
            Expr::Name(name) => known(name).unwrap_or_else(|| extent.clone()),
            _ => extent.clone(),
        }
    }
}

impl Stage {
    fn text(&self, size: &dyn Fn(usize) -> String) -> String {
        let axes = |axes: &[Axis]| {
            let of = |axis: &Axis| match axis.low {
                0 => format!("{}: {}", axis.name, axis.high.text(size)),
                low => format!("{}: {low}..{}", axis.name, axis.high.text(size)),
            };
            axes.iter().map(of).collect::<Vec<_>>().join(", ")
        };
        let names: Vec<&str> = self.results.iter().map(|(name, _)| &**name).collect();
        let body: Vec<String> = self.body.iter().map(|expr| expr.text(size)).collect();
        let value = match &self.reduce {
            None => body.join(", "),
            Some(reduce) => {
                let mut ranges = axes(&reduce.axes);
                if let (Some(until), Some(first)) = (&reduce.until, reduce.axes.first()) {
                    let rest = ranges.split_once(", ").map_or(String::new(), |(_, rest)| format!(", {rest}"));
                    let (name, low, high) = (&first.name, first.low, first.high.text(size));
                    ranges = format!("{name}: {low}..min({until}, {high}){rest}");
                }
                let mut value = format!("{}[{ranges}]({}", reduce.by, body.join(", "));
                if let Some(condition) = &reduce.condition {
                    value += &format!(", where = {}", condition.text(size));
                }
                if let Some(init) = &reduce.init {
                    value += &format!(", init = {}", init.text(size));
                }
                value + ")"
            }
        };
        format!("compute {}[{}] = {value}", names.join(", "), axes(&self.axes))
    }

    /// All expressions: of the body, then the condition and the start of the reduction.
    pub fn exprs(&self) -> Vec<&Expr> {
        let reduce = self.reduce.iter().flat_map(|reduce| reduce.condition.iter().chain(&reduce.init));
        self.body.iter().chain(reduce).collect()
    }

    /// The same, to be replaced.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        let reduce = self.reduce.iter_mut().flat_map(|reduce| reduce.condition.iter_mut().chain(&mut reduce.init));
        self.body.iter_mut().chain(reduce).collect()
    }

    /// The tensors that it reads, each once.
    pub fn reads(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for expr in self.exprs() {
            expr.each_read(&mut |name| {
                if !found.iter().any(|known| known == name) {
                    found.push(name.to_string());
                }
            });
        }
        found
    }
}
