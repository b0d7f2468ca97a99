//! The parameters of a schedule: what each may be, and the conditions on them.
//!
//! Choices may be expressions over earlier parameters and the operator's sizes. A condition is looked at as soon as all of
//! its parameters have a value, and never before the conditions that stand before it, so that
//! `where p != 0, q % p == 0` divides by no zero.

use crate::choices::{Choices, Divisors, NoChoices, choices};
use crate::partial::{Partial, condition, range_of_choices};
use crate::value::{NoValue, eval_or_why};
use tc_arith::Interval;
use tc_ir::attrs::AttrData;
use tc_ir::{Attr, Elem, Func, Name};
use tc_support::{Diagnostic, suggest};

/// One value for each parameter, in order; truth values count as 0 and 1.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Point {
    /// The values.
    pub values: Vec<i64>,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// The name.
    pub name: String,
    /// The type: an integer or `bool`.
    pub elem: Elem,
    choices: Option<Attr>,
    /// How many of the parameters before it its choices need.
    needs: usize,
}

impl Param {
    /// Is `value` one of the type?
    pub(crate) fn fits(&self, value: i64) -> bool {
        match self.elem {
            Elem::Bool => matches!(value, 0 | 1),
            elem => elem.wrap(value.into()) == i128::from(value),
        }
    }

    /// `value` as it is written.
    pub fn show(&self, value: i64) -> String {
        match (self.elem, value) {
            (Elem::Bool, 0) => "false".to_string(),
            (Elem::Bool, 1) => "true".to_string(),
            _ => value.to_string(),
        }
    }
}

/// What a name in the header of a schedule stands for.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Param(usize),
    Size(i64),
}

/// The parameters of a schedule and its conditions.
#[derive(Clone, Debug)]
pub(crate) struct Params<'a> {
    sched: &'a Func,
    pub(crate) list: Vec<Param>,
    slots: Vec<(Name, Slot)>,
    /// The conditions, each with the number of parameters that must have a value before it is looked at.
    facts: Vec<(Attr, usize)>,
    /// The range of what each parameter may be, where no other parameter decides.
    ranges: Vec<Option<Interval>>,
    /// From this parameter on nothing depends on what the others are: the rest of the space is a product.
    pub(crate) free: usize,
}

impl<'a> Params<'a> {
    /// The parameters of `sched` for an operator with these sizes.
    pub(crate) fn of(sched: &'a Func, sizes: &[(&str, i64)]) -> Result<Params<'a>, Diagnostic> {
        let (list, slots, facts, ranges) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut params = Params { sched, list, slots, facts, ranges, free: 0 };
        for (nth, &value) in sched.params().iter().enumerate() {
            let name = sched.value_text(value).to_string();
            let Some(elem) = sched.value_scalar(value).filter(|scalar| scalar.lanes == 1).map(|scalar| scalar.elem)
            else {
                return Err(params.wrong("parameter-type", format!("`{name}` is no integer and no `bool`")));
            };
            if !elem.is_int() && elem != Elem::Bool {
                return Err(params.wrong("parameter-type", format!("`{name}` is no integer and no `bool`")));
            }
            if let Some(name) = sched.value_name(value) {
                params.slots.push((name, Slot::Param(nth)));
            }
            let choices = sched.header.params.get(nth).and_then(|param| param.choices);
            params.list.push(Param { name, elem, choices, needs: 0 });
        }
        params.resolve(sizes);
        Ok(params)
    }

    /// Finds what names stand for, and what needs which parameters.
    fn resolve(&mut self, sizes: &[(&str, i64)]) {
        let mut level = 0;
        for &fact in &self.sched.header.facts {
            level = level.max(self.needs(fact, sizes));
            self.facts.push((fact, level));
        }
        for nth in 0..self.list.len() {
            self.list[nth].needs = self.list[nth].choices.map_or(0, |choices| self.needs(choices, sizes));
        }
        self.ranges = vec![None; self.list.len()];
        for nth in 0..self.list.len() {
            self.ranges[nth] = if self.list[nth].needs == 0 { self.range_of(nth, &[]) } else { None };
        }
        self.free = level;
        // What the rest needs must lie before it.
        while let Some(needs) = self.list[self.free..].iter().map(|param| param.needs).find(|&needs| needs > self.free)
        {
            self.free = needs;
        }
    }

    /// How many parameters must have a value before `attr` has one.
    fn needs(&mut self, attr: Attr, sizes: &[(&str, i64)]) -> usize {
        let (sched, mut needs, mut pending) = (self.sched, 0, vec![attr]);
        while let Some(attr) = pending.pop() {
            match sched.attr_data(attr) {
                AttrData::Word(name) => {
                    let slot = self.slots.iter().find(|(other, _)| other == name).map(|&(_, slot)| slot);
                    match slot {
                        Some(Slot::Param(nth)) => needs = needs.max(nth + 1),
                        Some(Slot::Size(_)) => {}
                        None => {
                            let size = sizes.iter().find(|(size, _)| *size == sched.text(*name));
                            self.slots.extend(size.map(|&(_, value)| (*name, Slot::Size(value))));
                        }
                    }
                }
                AttrData::Unary(_, arg) => pending.push(*arg),
                AttrData::Binary(_, lhs, rhs) => pending.extend([*lhs, *rhs]),
                AttrData::Call(_, args) | AttrData::List(args) => pending.extend(args.iter().copied()),
                _ => {}
            }
        }
        needs
    }

    fn lookup(&self, name: Name, values: &[i64]) -> Option<i64> {
        let (_, slot) = self.slots.iter().find(|(other, _)| *other == name)?;
        match *slot {
            Slot::Param(nth) => values.get(nth).copied(),
            Slot::Size(value) => Some(value),
        }
    }

    pub(crate) fn wrong(&self, code: &'static str, text: String) -> Diagnostic {
        Diagnostic::error(code, self.sched.location(self.sched.header.loc), text)
    }

    /// `p = 8, q = 4`
    pub(crate) fn show(&self, values: &[i64]) -> String {
        let shown = self.list.iter().zip(values);
        let shown: Vec<String> =
            shown.map(|(param, &value)| format!("{} = {}", param.name, param.show(value))).collect();
        shown.join(", ")
    }

    /// ` with p = 8, q = 4`; nothing where there are no values.
    pub(crate) fn with(&self, values: &[i64]) -> String {
        if values.is_empty() { String::new() } else { format!(" with {}", self.show(values)) }
    }

    /// Do the choices of parameter `nth` depend on others?
    pub(crate) fn needs_others(&self, nth: usize) -> bool {
        self.list[nth].needs > 0
    }

    /// The choices of parameter `nth` as they are written.
    pub(crate) fn choices_text(&self, nth: usize) -> String {
        self.list[nth].choices.map_or("any".to_string(), |attr| self.sched.show_attr(attr))
    }

    /// The text of condition `nth`.
    pub(crate) fn fact(&self, nth: usize) -> String {
        self.facts.get(nth).map_or(String::new(), |&(fact, _)| self.sched.show_attr(fact))
    }

    pub(crate) fn n_facts(&self) -> usize {
        self.facts.len()
    }

    /// How many parameters must have a value before condition `nth` is looked at.
    pub(crate) fn fact_level(&self, nth: usize) -> usize {
        self.facts.get(nth).map_or(0, |&(_, level)| level)
    }

    /// How many parameters must have a value before no condition is left.
    pub(crate) fn n_conditioned(&self) -> usize {
        self.facts.last().map_or(0, |&(_, level)| level)
    }

    /// The first condition that fails for all points that begin with `values` and go on with one of `next`. None where no
    /// condition is known to: one that may have no value hides those that stand after it.
    pub(crate) fn failing(&self, values: &[i64], next: Interval) -> Option<usize> {
        let mut ranges: Vec<Interval> = values.iter().copied().map(Interval::point).collect();
        ranges.push(next);
        let open = self.facts.iter().enumerate().filter(|(_, (_, level))| *level > values.len());
        for (nth, &(fact, level)) in open {
            while ranges.len() < level {
                ranges.push(self.range_of(ranges.len(), &ranges)?);
            }
            match condition(self.sched, fact, &|name| self.range_named(name, &ranges)) {
                Partial::Fails => return Some(nth),
                Partial::MayHold => {}
                Partial::Unknown => return None,
            }
        }
        None
    }

    /// The range of all values that parameter `nth` may have after parameters with these ranges.
    fn range_of(&self, nth: usize, before: &[Interval]) -> Option<Interval> {
        if let Some(range) = self.ranges[nth] {
            return Some(range);
        }
        range_of_choices(self.sched, self.list[nth].choices?, &|name| self.range_named(name, before))
    }

    fn range_named(&self, name: Name, ranges: &[Interval]) -> Option<Interval> {
        let (_, slot) = self.slots.iter().find(|(other, _)| *other == name)?;
        match *slot {
            Slot::Param(nth) => ranges.get(nth).copied(),
            Slot::Size(value) => Some(Interval::point(value)),
        }
    }

    /// Why an expression of the header has no value.
    fn no_value(&self, code: &'static str, of: &str, why: NoValue, values: &[i64]) -> Diagnostic {
        let show = |attr: Attr| self.sched.show_attr(attr);
        match why {
            NoValue::Name(name) => {
                let name = self.sched.text(name);
                let shown = suggest::shorten(name);
                if self.list.iter().any(|param| param.name == name) {
                    let text = format!("{of}: `{shown}` has no value there; it does not stand before");
                    return self.wrong(code, text).help(format!("declare `{shown}` first"));
                }
                let text = format!("{of}: there is no parameter `{shown}`, and no size of that name has a value");
                let diagnostic = self.wrong(code, text);
                let near = suggest::did_you_mean(name, self.list.iter().map(|param| param.name.as_str()));
                // Every letter is near to every other.
                let near = near.filter(|_| name.len() > 1);
                diagnostic.help(near.unwrap_or_else(|| format!("give the size one, if it is open: `-D {shown}=…`")))
            }
            NoValue::Zero(attr) => {
                let text = format!("{of}: `{}` divides by zero{}", show(attr), self.with(values));
                self.wrong(code, text).help("rule that out before it: `b != 0 && a % b == 0`")
            }
            NoValue::Overflow(attr) => {
                self.wrong(code, format!("{of}: `{}` overflows{}", show(attr), self.with(values)))
            }
            NoValue::Other(attr) => self.wrong(code, format!("{of}: `{}` is no number", show(attr))),
        }
    }

    /// What parameter `values.len()` may be after `values`, and the steps that finding it took.
    pub(crate) fn choices(
        &self,
        values: &[i64],
        divisors: &mut Divisors,
    ) -> Result<Option<(Choices, u64)>, Diagnostic> {
        let param = &self.list[values.len()];
        let Some(attr) = param.choices else { return Ok(None) };
        let found =
            choices(self.sched, attr, &|name| self.lookup(name, values), divisors).map_err(|why| match why {
                NoChoices::Value(why) => {
                    let of = format!("the choices of `{}` cannot be listed", param.name);
                    self.no_value("parameter-choices", &of, why, values)
                }
                NoChoices::List(text) => {
                    self.wrong("parameter-choices", format!("the choices of `{}` cannot be listed: {text}", param.name))
                }
            })?;
        let outside = |value: &i64| !param.fits(*value);
        let outside = match &found.0 {
            Choices::List(list) => list.iter().copied().find(outside),
            range => [0, range.len().saturating_sub(1)].into_iter().filter_map(|at| range.get(at)).find(outside),
        };
        match outside {
            None => Ok(Some(found)),
            Some(value) => {
                let text = format!("`{}` is a `{}`, which cannot be {value}", param.name, param.elem.name());
                Err(self.wrong("parameter-choices", text))
            }
        }
    }

    /// The first condition that `values` break, of those that are looked at when so many have a value.
    pub(crate) fn broken(&self, values: &[i64]) -> Result<Option<usize>, Diagnostic> {
        for (nth, &(fact, level)) in self.facts.iter().enumerate() {
            if level != values.len() {
                continue;
            }
            match eval_or_why(self.sched, fact, &|name| self.lookup(name, values)) {
                Ok(0) => return Ok(Some(nth)),
                Ok(_) => {}
                Err(why) => {
                    let of = format!("the condition `{}` has no value", self.sched.show_attr(fact));
                    return Err(self.no_value("parameter-condition", &of, why, values));
                }
            }
        }
        Ok(None)
    }
}
