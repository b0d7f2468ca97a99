//! Loops: bounds of all kinds and types, carried values, lanes, virtual threads.

use super::draw::{AccessibleRows, Draw, Known, Sharing, Value};
use super::interval::{Interval, wraps};
use tc::ir::Elem;

/// The bounds of a loop, and what is known of its variable.
struct Bounds {
    low: String,
    high: String,
    known: Known,
    /// How often it runs at most.
    trips: i64,
    /// Both bounds are literals.
    constant: bool,
}

impl Draw<'_> {
    fn bounds(&mut self, most: i64) -> Bounds {
        let elem = self.choices.pick(&[
            Elem::Index,
            Elem::Index,
            Elem::Index,
            Elem::I32,
            Elem::I32,
            Elem::I64,
            Elem::U8,
            Elem::I16,
        ]);
        let all = Interval::all(elem);
        // Where it starts: 0, next to it, and now and then at the end of the type.
        let start = match self.choices.below(10) {
            0..=4 => 0,
            5..=6 => self.choices.between(1, 5).into(),
            7..=8 => self.choices.between(-4, -1).into(),
            _ => all.high - i128::from(most) - 1,
        };
        let start = start.clamp(all.low, all.high - i128::from(most) - 1);
        let trips = self.choices.between(0, most);
        let (low, high) = (self.int_literal(elem, start), self.int_literal(elem, start + i128::from(trips)));
        let mut bounds = Bounds {
            low: low.text.clone(),
            high: high.text.clone(),
            known: Known::int(elem, Interval::new(start, start + i128::from(trips.max(1)) - 1)),
            trips,
            constant: true,
        };
        if self.choices.chance(35) {
            // An end that a run knows.
            let span = Interval::new(0, most.into());
            let count = self.int(elem, 1);
            let count = self.fit(count, span.cast(elem));
            if let Some(end) = self.join(&low, "+", &count).filter(|end| end.known.range.high <= all.high) {
                self.made("loop of a computed extent");
                bounds.high = end.text;
                bounds.known.range = Interval::new(start, (end.known.range.high - 1).max(start));
                bounds.known.varies = count.known.varies;
                bounds.trips = i64::try_from(count.known.range.high).unwrap_or(most);
                bounds.constant = count.literal;
            }
        }
        bounds
    }

    /// `for i in low..high { … }`.
    pub(super) fn serial_loop(&mut self) {
        let bounds = self.bounds(5);
        self.made("loop");
        if bounds.known.elem != Elem::Index {
            self.made("loop of a narrow type");
        }
        let kind = match self.choices.below(12) {
            0..=1 if bounds.constant => " unroll",
            _ => "",
        };
        let var = self.name("i");
        let head = format!("for {var} in {}..{}{kind}", bounds.low, bounds.high);
        let divergent = Value::new("", Known::int(Elem::Bool, Interval::new(0, 1)).varying(bounds.known.varies));
        self.loops += 1;
        self.guarded(&divergent, |draw| {
            draw.block(&head, |draw| {
                draw.var(&var, bounds.known);
                draw.statements(3);
            });
        });
        self.loops -= 1;
    }

    /// `a, b = for i in low..high carry(a = …, b = …) { … yield … }`.
    pub(super) fn carrying_loop(&mut self) {
        let bounds = self.bounds(5);
        self.made("carried values");
        let n = 1 + self.choices.below(2);
        let mut carried = Vec::new();
        for _ in 0..n {
            let elem = self.some_elem();
            let init = self.value(elem, 1);
            let (name, result) = (self.name("c"), self.name("v"));
            let mut known = init.known.varying(true);
            // What it may be in any iteration: what it starts from, and a range to come back to.
            if elem.is_int() {
                let wide = if wraps(elem) { Interval::all(elem) } else { Interval::new(-1000, 1000).cast(elem) };
                known.range = known.range.or(wide);
            }
            known.mag = known.mag.max(16.0);
            known.exact = false;
            carried.push((name, result, init, known));
        }
        let var = self.name("i");
        let results: Vec<&str> = carried.iter().map(|one| &*one.1).collect();
        let inits: Vec<String> = carried.iter().map(|(name, _, init, _)| format!("{name} = {}", init.text)).collect();
        let head = format!(
            "{} = for {var} in {}..{} carry({})",
            results.join(", "),
            bounds.low,
            bounds.high,
            inits.join(", ")
        );
        let divergent = Value::new("", Known::int(Elem::Bool, Interval::new(0, 1)).varying(bounds.known.varies));
        self.loops += 1;
        self.guarded(&divergent, |draw| {
            draw.block(&head, |draw| {
                draw.var(&var, bounds.known);
                carried.iter().for_each(|(name, _, _, known)| draw.var(name, *known));
                if draw.choices.chance(50) {
                    draw.statements(2);
                }
                let nexts: Vec<String> = carried.iter().map(|one| draw.next_of(&one.0, one.3)).collect();
                draw.line(format!("yield {}", nexts.join(", ")));
            });
        });
        self.loops -= 1;
        carried.iter().for_each(|(_, result, _, known)| self.var(result, *known));
    }

    /// What the carried value `name` becomes.
    fn next_of(&mut self, name: &str, known: Known) -> String {
        let own = Value::new(name, known);
        if known.elem.is_int() && self.choices.chance(60) {
            let step = self.int(known.elem, 2);
            let op = self.choices.pick(&["+", "-", "^", "max", "min"]);
            if let Some(next) = self.join(&own, op, &step) {
                return self.fit(next, known.range).text;
            }
            let small = self.fit(step, Interval::new(0, 50));
            let near = self.fit(own, Interval::new(0, 900));
            if let Some(next) = self.join(&near, "+", &small) {
                return self.fit(next, known.range).text;
            }
        }
        if known.elem.is_float() && self.choices.chance(60) {
            let op = self.choices.pick(&["max", "min"]);
            let other = self.value_for(known, 2);
            return format!("{op}({name}, {})", other.text);
        }
        self.value_for(known, 2).text
    }

    /// `for i in 0..4 vectorize { … }`.
    pub(super) fn lane_loop(&mut self) {
        let extent = self.choices.pick(&[2i64, 4, 4, 4, 8, 3, 6]);
        let start = self.choices.pick(&[0i64, 0, 0, 1]);
        self.made("lanes");
        let var = self.name("l");
        self.in_lanes = true;
        self.block(&format!("for {var} in {start}..{} vectorize", start + extent), |draw| {
            let range = Interval::new(start.into(), (start + extent - 1).into());
            draw.var(&var, Known::int(Elem::Index, range));
            draw.statements(2);
        });
        self.in_lanes = false;
    }

    /// `for v in 0..2 bind(vthread) { … }`.
    pub(super) fn virtual_threads(&mut self) {
        let Some(launch) = self.launch.as_ref() else { return self.serial_loop() };
        if self.loops > 0 || launch.guard.is_some() {
            return self.serial_loop();
        }
        self.made("virtual threads");
        let extent = self.choices.pick(&[2i64, 3, 4]);
        let var = self.name("w");
        self.loops += 1;
        self.block(&format!("for {var} in 0..{extent} bind(vthread)"), |draw| {
            draw.var(&var, Known::int(Elem::Index, Interval::new(0, (extent - 1).into())));
            draw.statements(3);
        });
        self.loops -= 1;
    }

    /// Columns of the thread's row, written by lanes that lie side by side or with a stride.
    pub(super) fn vector(&mut self) {
        let Some(launch) = self.launch.clone() else { return };
        let fits = |at: &usize| {
            let buffer = &self.buffers[*at];
            let place = launch.rows_of(buffer) && buffer.cols >= 4 && buffer.holds.elem != Elem::Bool;
            let whole = buffer.writes != AccessibleRows::Nothing && buffer.layout == super::draw::Layout::Flat;
            let open = launch.guard.is_some() && matches!(buffer.rows, super::draw::Rows::Open(_));
            place && whole && !open && (self.sharing != Sharing::Reads || buffer.scope == "global")
        };
        let found: Vec<usize> = (0..self.buffers.len()).filter(fits).collect();
        if found.is_empty() {
            self.store(2);
            return;
        }
        let buffer = self.buffers[self.choices.pick(&found)].clone();
        self.made("vectors");
        let stride = if buffer.cols >= 8 && self.choices.chance(30) { 2 } else { 1 };
        let lanes = self.choices.pick(&[2i64, 4]);
        let first = self.choices.between(0, buffer.cols - (lanes - 1) * stride - 1);
        let row = if buffer.scope == "global" { &launch.own } else { &launch.thread };
        let place = format!("{}[ramp({row} * {} + {first}, {stride}, {lanes})]", buffer.name, buffer.cols);
        let value = self.value_for(buffer.holds, 1);
        let text = match self.choices.below(3) {
            0 if buffer.reads != AccessibleRows::Nothing && self.choices.chance(60) => {
                format!("max({place}, broadcast({}, {lanes}))", value.text)
            }
            1 if buffer.reads != AccessibleRows::Nothing => {
                format!(
                    "select({place} < broadcast({}, {lanes}), {place}, broadcast({}, {lanes}))",
                    value.text, value.text
                )
            }
            _ => format!("broadcast({}, {lanes})", value.text),
        };
        self.line(format!("{place} = {text}"));
    }
}
