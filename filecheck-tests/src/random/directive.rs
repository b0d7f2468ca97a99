//! Schedules as lists of directives, and their text.

/// How many numbers an intrinsic copies: `@copy4` copies four.
pub const COPIED: [i64; 3] = [1, 2, 4];

/// A line of a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directive {
    /// The primitive, with what distinguishes its forms for the histogram.
    pub kind: String,
    /// The line.
    pub text: String,
    /// The names that it binds.
    pub defines: Vec<String>,
}

/// A schedule of `@op`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// Its parameters.
    pub params: Vec<String>,
    /// Its lines.
    pub directives: Vec<Directive>,
}

impl Directive {
    /// Does it speak of one of `names`?
    pub fn names(&self, names: &[String]) -> bool {
        words(&self.text).any(|word| names.iter().any(|name| name == word))
    }
}

impl Schedule {
    /// Adds `results = NAME(args)`.
    pub fn add(&mut self, kind: &str, results: &[&str], args: String) {
        let name = kind.split(' ').next().unwrap_or(kind);
        let bound = if results.is_empty() { String::new() } else { format!("{} = ", results.join(", ")) };
        self.directives.push(Directive {
            kind: kind.to_string(),
            text: format!("{bound}{name}{args}"),
            defines: results.iter().map(|result| result.to_string()).collect(),
        });
    }

    /// The text.
    pub fn text(&self) -> String {
        let params = if self.params.is_empty() { String::new() } else { format!(" ({})", self.params.join(", ")) };
        let mut out = format!("schedule @s for @op{params} {{\n");
        for directive in &self.directives {
            out.push_str("  ");
            out.push_str(&directive.text);
            out.push('\n');
        }
        out.push_str("}\n");
        out
    }

    /// The intrinsics that it names.
    pub fn intrinsics(&self) -> String {
        let named = |n: &i64| self.directives.iter().any(|directive| directive.text.ends_with(&format!(", @copy{n})")));
        COPIED.iter().filter(|n| named(n)).map(copy).collect()
    }

    /// The schedule without directive `at`, and without those that use what it binds.
    pub fn without(&self, at: usize) -> Schedule {
        let mut gone: Vec<&str> = Vec::new();
        let mut kept = Vec::new();
        for (nth, directive) in self.directives.iter().enumerate() {
            if nth == at || (nth > at && words(&directive.text).any(|word| gone.contains(&word))) {
                gone.extend(directive.defines.iter().map(|name| &**name));
            } else {
                kept.push(directive.clone());
            }
        }
        Schedule { params: self.params.clone(), directives: kept }
    }

    /// The schedule without directive `at`, which was refused. A cache that cannot stand where it should is none.
    pub fn refuse(&self, at: usize) -> Schedule {
        let refused = &self.directives[at];
        let stage = words(&refused.text).nth(1).unwrap_or("");
        let makes = |directive: &Directive| {
            directive.kind.starts_with("cache_") && directive.defines.iter().any(|name| name == stage)
        };
        let maker = self.directives.iter().position(makes).filter(|_| refused.kind == "compute_at");
        self.without(maker.unwrap_or(at)).without_unused_params()
    }

    /// The schedule without parameters that nothing names.
    pub fn without_unused_params(mut self) -> Schedule {
        let used = |param: &String| {
            let name = param.split(':').next().unwrap_or(param);
            self.directives.iter().any(|directive| words(&directive.text).any(|word| word == name))
        };
        let params = self.params.iter().filter(|param| used(param)).cloned().collect();
        self.params = params;
        self
    }
}

/// The intrinsic that copies `n` numbers.
fn copy(n: &i64) -> String {
    format!(
        "\nte.intrin @copy{n}(From: f32[{n}]) -> (To: f32[{n}]) {{\n  compute To[i: {n}] = From[i]\n  body {{\n    \
         for i in 0..{n} {{\n      To[i] = From[i]\n    }}\n  }}\n}}\n"
    )
}

/// The names in a text; of `A.i` it is `A`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    text.split(move |c| !is_part(c)).map(|word| word.split('.').next().unwrap_or(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_uses_a_name_goes_with_it() {
        let mut schedule = Schedule::default();
        schedule.add("cache_read", &["AS"], "(A, shared)".into());
        schedule.add("split", &["a", "b"], "(AS.ax0, factor = 4)".into());
        schedule.add("bind", &[], "(b, threadIdx.x)".into());
        schedule.add("unroll", &[], "(B.i)".into());
        let lines: Vec<_> = schedule.without(0).directives.iter().map(|directive| directive.text.clone()).collect();
        assert_eq!(lines, ["unroll(B.i)"]);
        assert_eq!(schedule.without(1).directives.len(), 2);
        schedule.add("compute_at", &[], "(AS, B.i)".into());
        assert_eq!(schedule.refuse(4).directives.len(), 1);
    }
}
