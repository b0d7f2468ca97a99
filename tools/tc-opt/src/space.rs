//! `--list-space`, `--list-space-points` and `--member-of`: what a schedule with parameters spans.

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use tc::ir::{Func, Module};
use tc::schedule::Space;
use tc::schedule::space::{Differs, Directive, Member};
use tc::space::{Judge, Survey, facts, point_json, spaces, survey_json, type_of};
use tc::support::{Diagnostic, Diagnostics, Location, Sources, counted, suggest};
use tc::target::Target;

/// What is asked of a space.
pub(crate) struct Ask<'a> {
    pub(crate) module: &'a Module,
    pub(crate) defines: &'a [(String, i64)],
    pub(crate) target: &'a Target,
    pub(crate) threads: usize,
    /// How many points are judged or compared at most.
    pub(crate) limit: u64,
    pub(crate) json: bool,
}

/// What is reported, and what is wrong with some of what was asked about.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) found: Diagnostics,
}

/// Why there is no answer.
pub(crate) enum Refused {
    /// The caller asked for what is not there.
    Call(String),
    /// The file is at fault.
    Input(Diagnostics),
}

impl From<Diagnostics> for Refused {
    fn from(found: Diagnostics) -> Refused {
        Refused::Input(found)
    }
}

impl From<Diagnostic> for Refused {
    fn from(found: Diagnostic) -> Refused {
        Refused::Input(found.into())
    }
}

impl Ask<'_> {
    /// The spaces called `name`, or all: operator and schedule.
    fn chosen(&self, name: &str) -> Result<Vec<(&Func, &Func)>, Refused> {
        let name = name.strip_prefix('@').unwrap_or(name);
        let all: Vec<(&Func, &Func)> = spaces(self.module)
            .into_iter()
            .map(|(func, schedule)| (&self.module.items[func], &self.module.items[schedule]))
            .collect();
        let chosen: Vec<(&Func, &Func)> =
            all.iter().copied().filter(|(_, schedule)| name.is_empty() || schedule.symbol() == name).collect();
        if chosen.is_empty() {
            let names = all.iter().map(|(_, schedule)| schedule.symbol());
            return Err(Refused::Call(match name {
                "" => "no schedule of the file has parameters".to_string(),
                _ => {
                    let help = suggest::did_you_mean(name, names).map_or(String::new(), |help| format!("; {help}"));
                    format!("no schedule `@{}` has parameters{help}", suggest::shorten(name))
                }
            }));
        }
        Ok(chosen)
    }

    fn space<'s>(&self, te: &'s Func, schedule: &'s Func) -> Result<Space<'s>, Diagnostics> {
        tc::space::space(te, schedule, &self.known(te, schedule))
    }

    /// What of the defines `te` and `schedule` know.
    fn known(&self, te: &Func, schedule: &Func) -> Vec<(String, i64)> {
        let names = tc::schedule::definable(te, Some(schedule));
        self.defines.iter().filter(|(name, _)| names.contains(&name.as_str())).cloned().collect()
    }

    /// Every name that is defined must be known to one of `chosen`.
    fn check_defines(&self, chosen: &[(&Func, &Func)]) -> Result<(), Refused> {
        let names: Vec<&str> =
            chosen.iter().flat_map(|(te, schedule)| tc::schedule::definable(te, Some(schedule))).collect();
        for (name, _) in self.defines {
            if !names.contains(&name.as_str()) {
                let help = suggest::did_you_mean(name, names.iter().copied());
                let help = help.map_or(String::new(), |help| format!("; {help}"));
                return Err(Refused::Call(format!(
                    "there is no size and no parameter `{}`{help}",
                    suggest::shorten(name)
                )));
            }
        }
        Ok(())
    }

    /// Tells what the spaces called `name` hold. What is wrong with one does not keep the others from being told.
    pub(crate) fn list(&self, name: &str) -> Result<Answer, Refused> {
        let chosen = self.chosen(name)?;
        self.check_defines(&chosen)?;
        let mut answer = Answer::default();
        for (te, schedule) in chosen {
            match self.surveyed(te, schedule) {
                Ok(text) => answer.text.push_str(&text),
                Err(found) => answer.found.append(found),
            }
        }
        Ok(answer)
    }

    fn surveyed(&self, te: &Func, schedule: &Func) -> Result<String, Diagnostics> {
        let space = self.space(te, schedule)?;
        let survey = Judge::new(&space, *self.target, self.threads).survey(self.limit)?;
        let mut out = String::new();
        if self.json {
            let _ = writeln!(out, "{}", survey_json(&space, te, &survey));
        } else {
            survey_text(&mut out, &space, te, &survey, self.target);
        }
        Ok(out)
    }

    /// The valid points of the space called `name`, one a line, as long as `print` wants more.
    pub(crate) fn points(&self, name: &str, print: &mut dyn FnMut(&str) -> ControlFlow<()>) -> Result<Answer, Refused> {
        let chosen = self.chosen(name)?;
        let [(te, schedule)] = chosen[..] else {
            let names: Vec<String> = chosen.iter().map(|(_, schedule)| format!("`@{}`", schedule.symbol())).collect();
            return Err(Refused::Call(format!(
                "choose the space whose points are wanted, `--list-space-points=…`: there is {}",
                names.join(", ")
            )));
        };
        self.check_defines(&chosen)?;
        let space = self.space(te, schedule)?;
        let is_cut = Judge::new(&space, *self.target, self.threads).valid(self.limit, |point| {
            let line = if self.json { point_json(&space, point).to_string() } else { space.show(point) };
            print(&(line + "\n"))
        })?;
        let mut answer = Answer::default();
        if is_cut {
            let text = format!("there may be more points of `@{}`: finding them takes too long", schedule.symbol());
            let help = "put conditions into choices, `q: i32 in divisors(p)`, or give parameters values with `-D`";
            let at = schedule.location(schedule.header.loc);
            answer.found.push(Diagnostic::warning("parameter-space", at, text).help(help));
        }
        Ok(answer)
    }

    /// Tells which point of the space `name` each schedule without parameters is, or the one called `of`; and whether
    /// all are one. What is wrong with one schedule does not keep the others from being told.
    pub(crate) fn members(&self, name: &str, of: Option<&str>) -> Result<(Answer, bool), Refused> {
        let (mut answer, mut all, mut asked) = (Answer::default(), true, false);
        let chosen = self.chosen(name)?;
        self.check_defines(&chosen)?;
        for (te, schedule) in chosen {
            let space = self.space(te, schedule)?;
            for at in self.module.schedules_for(te.symbol()) {
                let concrete = &self.module.items[at];
                // What chooses among schedules is no point itself.
                let is_point = || concrete.params().is_empty() && !tc::schedule::dispatch::is_dispatch(concrete);
                let wanted = of.map_or_else(is_point, |of| concrete.symbol() == of.strip_prefix('@').unwrap_or(of));
                if !wanted {
                    continue;
                }
                asked = true;
                match self.compared(&space, te, concrete) {
                    Ok((text, is_one)) => {
                        answer.text.push_str(&text);
                        all &= is_one;
                    }
                    Err(found) => answer.found.append(found),
                }
            }
        }
        if !asked {
            let what = of.map_or("without parameters".to_string(), |of| format!("`{}`", suggest::shorten(of)));
            return Err(Refused::Call(format!("the operator of `{}` has no schedule {what}", suggest::shorten(name))));
        }
        Ok((answer, all))
    }

    /// Tells which point of `space` the schedule `concrete` is, and whether it is one.
    fn compared(&self, space: &Space<'_>, te: &Func, concrete: &Func) -> Result<(String, bool), Diagnostics> {
        let one = self.space(te, concrete)?;
        let member = space.member(&one, self.limit)?;
        let mut out = String::new();
        if self.json {
            let _ = writeln!(out, "{}", member_json(space, &one, &member, &self.module.sources));
        } else {
            member_text(&mut out, space, &one, &member, &self.module.sources);
        }
        Ok((out, matches!(member, Member::Is(_))))
    }
}

fn survey_text(out: &mut String, space: &Space<'_>, te: &Func, survey: &Survey, target: &Target) {
    let name = space.schedule().symbol();
    let _ = writeln!(out, "@{name} for @{}: {}", te.symbol(), counted(survey.count, "point"));
    for (nth, param) in space.params().iter().enumerate() {
        let _ = writeln!(out, "  {}: {} in {}", param.name, type_of(param), space.choices(nth));
    }
    for fact in facts(space) {
        let _ = writeln!(out, "  where {fact}");
    }
    let first = if survey.is_complete() { String::new() } else { format!(" of the first {}", survey.judged) };
    let _ = writeln!(out, "  valid on {}{first}: {}", target.name, survey.valid);
    for (reason, why) in survey.rejections.iter() {
        let _ =
            writeln!(out, "  rejected, {reason}: {}, such as {}: {}", why.count, space.show(&why.example), why.message);
    }
}

fn member_text(out: &mut String, space: &Space<'_>, one: &Space<'_>, member: &Member, sources: &Sources) {
    let (name, of) = (one.schedule().symbol(), space.schedule().symbol());
    match member {
        Member::Is(point) => drop(writeln!(out, "@{name} is the point {} of @{of}", space.show(point))),
        Member::Not { nearest, compared, all } => {
            let points = match (*all, compared) {
                (true, 1) => "its only point differs".to_string(),
                (true, n) => format!("all {n} points differ"),
                (false, 1) => "the first point differs".to_string(),
                (false, n) => format!("the first {n} points differ"),
            };
            let _ = writeln!(out, "@{name} is no point of @{of}: {points}");
            let Some((point, Differs { here, there })) = nearest else { return };
            let _ = writeln!(out, "  nearest is {}", space.show(point));
            for (directive, whose) in [(here, name), (there, of)] {
                if let Some(directive) = directive {
                    let line = line(directive, sources).map_or(String::new(), |line| format!(" (line {line})"));
                    let _ = writeln!(out, "  only @{whose} has `{}`{line}", directive.text);
                }
            }
            if here.is_none() && there.is_none() {
                let _ = writeln!(out, "  they have the same directives, in an order that matters");
            }
        }
    }
}

fn line(directive: &Directive, sources: &Sources) -> Option<u32> {
    match &directive.location {
        Location::None => None,
        Location::Point { at, .. } => Some(at.line),
        Location::Span(span) => sources.line_col(span.start).map(|(_, at)| at.line),
    }
}

fn member_json(space: &Space<'_>, one: &Space<'_>, member: &Member, sources: &Sources) -> Value {
    let directive = |directive: &Option<Directive>| {
        directive.as_ref().map(|one| json!({"text": one.text, "line": line(one, sources)}))
    };
    let mut value = json!({"schedule": one.schedule().symbol(), "space": space.schedule().symbol()});
    match member {
        Member::Is(point) => value["point"] = point_json(space, point),
        Member::Not { nearest, compared, all } => {
            value["point"] = Value::Null;
            value["compared"] = json!(compared);
            value["all"] = json!(all);
            if let Some((point, differs)) = nearest {
                value["nearest"] = json!({
                    "point": point_json(space, point),
                    "only_here": directive(&differs.here),
                    "only_there": directive(&differs.there),
                });
            }
        }
    }
    value
}
