//! The parameters of a schedule: what each may be, the default point, and all points in order.
//!
//! A parameter's choices may depend on those before it. Points are tried in the order of the text, the last parameter
//! running fastest; the first point that the `where` admits is the default.

use crate::operator::Define;
use crate::value::eval_attr;
use tc_ir::attrs::AttrData;
use tc_ir::{Attr, Func, Name};
use tc_support::{Diagnostic, Diagnostics, suggest};

/// How many choices one parameter may have.
const MAX_CHOICES: i64 = 1 << 20;
/// How many points in a row are tried before the search for one that is admitted ends.
const MAX_TRIED: usize = 1 << 20;

/// One value for each parameter, in order; truth values count as 0 and 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Point {
    /// The values.
    pub values: Vec<i64>,
}

/// The points of a schedule's space that its `where` admits, in order. What cannot be evaluated ends the iteration
/// with a finding.
pub struct Points<'a> {
    sched: &'a Func,
    names: Vec<Name>,
    /// For each parameter chosen so far: what it may be, and which is taken.
    stack: Vec<(Vec<i64>, usize)>,
    values: Vec<i64>,
    /// A value that the caller has fixed, by parameter.
    fixed: Vec<Option<i64>>,
    started: bool,
    failed: Option<Diagnostic>,
    tried: usize,
}

impl<'a> Points<'a> {
    /// All points of the schedule `sched`.
    pub fn new(sched: &'a Func) -> Points<'a> {
        let params = sched.params();
        let names = params.iter().filter_map(|&param| sched.value_name(param)).collect();
        Points {
            sched,
            names,
            stack: Vec::new(),
            values: Vec::new(),
            fixed: vec![None; params.len()],
            started: false,
            failed: None,
            tried: 0,
        }
    }

    /// Why the iteration ended, if not for want of points.
    pub fn failed(&self) -> Option<&Diagnostic> {
        self.failed.as_ref()
    }

    fn fail(&mut self, code: &'static str, text: String) {
        let location = self.sched.location(self.sched.header.loc);
        self.failed = Some(Diagnostic::error(code, location, text));
    }

    fn name_of(&self, nth: usize) -> &str {
        self.names.get(nth).map_or("", |&name| self.sched.text(name))
    }

    /// Opens parameter `nth`: finds its choices and takes the first. `false` if there is none, or on failure.
    fn open(&mut self, nth: usize) -> bool {
        let choices = match self.fixed[nth] {
            Some(value) => Some(vec![value]),
            None => {
                let lookup = |name: Name| {
                    let at = self.names[..nth.min(self.names.len())].iter().position(|&other| other == name)?;
                    self.values.get(at).copied()
                };
                let decl = self.sched.header.params.get(nth).and_then(|param| param.choices);
                decl.and_then(|attr| choices(self.sched, attr, &lookup))
            }
        };
        match choices {
            Some(choices) if choices.is_empty() => false,
            Some(choices) => {
                self.values.push(choices[0]);
                self.stack.push((choices, 0));
                true
            }
            None => {
                let text = format!("the choices of `{}` cannot be listed", self.name_of(nth));
                self.fail("parameter-choices", text);
                false
            }
        }
    }

    /// Takes the next choice of the last parameter that has one.
    fn advance(&mut self) -> bool {
        while let Some((choices, at)) = self.stack.last_mut() {
            self.values.pop();
            *at += 1;
            if let Some(&value) = choices.get(*at) {
                self.values.push(value);
                return true;
            }
            self.stack.pop();
        }
        false
    }

    /// Completes the point: opens the parameters that are not open yet. `false` at the end of the space.
    fn complete(&mut self) -> bool {
        while self.stack.len() < self.fixed.len() {
            if !self.open(self.stack.len()) && (self.failed.is_some() || !self.advance()) {
                return false;
            }
        }
        true
    }

    fn admitted(&mut self) -> Option<bool> {
        for &fact in &self.sched.header.facts {
            let lookup = |name: Name| {
                let at = self.names.iter().position(|&other| other == name)?;
                self.values.get(at).copied()
            };
            match eval_attr(self.sched, fact, &lookup) {
                Some(0) => return Some(false),
                Some(_) => {}
                None => {
                    let text = format!("the condition `{}` has no value", self.sched.show_attr(fact));
                    self.fail("parameter-condition", text);
                    return None;
                }
            }
        }
        Some(true)
    }
}

impl Iterator for Points<'_> {
    type Item = Point;

    fn next(&mut self) -> Option<Point> {
        loop {
            if self.failed.is_some() {
                return None;
            }
            let first = !std::mem::replace(&mut self.started, true);
            if !first && !self.advance() {
                return None;
            }
            if !self.complete() {
                return None;
            }
            if self.admitted()? {
                self.tried = 0;
                return Some(Point { values: self.values.clone() });
            }
            self.tried += 1;
            if self.tried > MAX_TRIED {
                self.fail("parameter-none", format!("{MAX_TRIED} points in a row do not satisfy the condition"));
            }
        }
    }
}

/// The values that `attr` lists: `[8, 16]`, `divisors(n)`, `range(low, high)`.
fn choices(sched: &Func, attr: Attr, names: &dyn Fn(Name) -> Option<i64>) -> Option<Vec<i64>> {
    match sched.attr_data(attr) {
        AttrData::List(list) => list.iter().map(|&choice| eval_attr(sched, choice, names)).collect(),
        AttrData::Call(name, args) => {
            let args: Option<Vec<i64>> = args.iter().map(|&arg| eval_attr(sched, arg, names)).collect();
            match (sched.text(*name), &args?[..]) {
                ("divisors", &[n]) if (1..=MAX_CHOICES * MAX_CHOICES).contains(&n) => Some(divisors(n)),
                ("range", &[low, high]) if high.checked_sub(low)? <= MAX_CHOICES => Some((low..high).collect()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The divisors of `n`, ascending.
fn divisors(n: i64) -> Vec<i64> {
    let small: Vec<i64> = (1..).take_while(|d| d * d <= n).filter(|d| n % d == 0).collect();
    let large = small.iter().rev().map(|d| n / d).filter(|d| d * d > n);
    small.iter().copied().chain(large).collect()
}

/// The point that `defines` ask for: the first admitted one that has the values they give.
pub fn point(sched: &Func, defines: &[Define]) -> Result<Point, Diagnostics> {
    let mut points = Points::new(sched);
    for (nth, &param) in sched.params().iter().enumerate() {
        let name = sched.value_text(param);
        if let Some(&(_, value)) = defines.iter().find(|(of, _)| of == name) {
            check_choice(sched, nth, name, value)?;
            points.fixed[nth] = Some(value);
        }
    }
    let found = points.next();
    if let Some(failed) = points.failed {
        return Err(failed.into());
    }
    found.ok_or_else(|| {
        let facts: Vec<String> =
            sched.header.facts.iter().map(|&fact| format!("`{}`", sched.show_attr(fact))).collect();
        let text = format!("no values of the parameters of `@{}` satisfy {}", sched.symbol(), facts.join(", "));
        Diagnostic::error("parameter-none", sched.location(sched.header.loc), text).into()
    })
}

/// Refuses a value that is no choice of its parameter, where that can be told without the other parameters.
fn check_choice(sched: &Func, nth: usize, name: &str, value: i64) -> Result<(), Diagnostics> {
    let decl = sched.header.params.get(nth).and_then(|param| param.choices);
    let Some(choices) = decl.and_then(|attr| choices(sched, attr, &|_| None)) else { return Ok(()) };
    if choices.contains(&value) {
        return Ok(());
    }
    let listed: Vec<String> = choices.iter().take(24).map(i64::to_string).collect();
    let text = format!("`{}` cannot be {value}", suggest::shorten(name));
    let diagnostic = Diagnostic::error("parameter-value", sched.location(sched.header.loc), text);
    Err(diagnostic.help(format!("its choices are {}", listed.join(", "))).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_ascend_and_are_all_there() {
        assert_eq!(divisors(1), [1]);
        assert_eq!(divisors(12), [1, 2, 3, 4, 6, 12]);
        assert_eq!(divisors(36), [1, 2, 3, 4, 6, 9, 12, 18, 36]);
        assert_eq!(divisors(97), [1, 97]);
    }
}
