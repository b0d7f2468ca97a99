//! What a search came to, for people and as JSON.

use super::{class_text, estimate_text, heading, point_text, ranked, reasons, time_text};
use crate::finals::Final;
use crate::records::{self, Time, Verdict};
use crate::task::{Identity, Values};
use crate::tune::Ended;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What a search came to.
pub(crate) struct Summary<'s> {
    pub(crate) identity: &'s Identity,
    pub(crate) device: &'s str,
    pub(crate) n_points: usize,
    pub(crate) is_sample: bool,
    pub(crate) trials: &'s [(Values, records::Result)],
    /// The results that the search started from.
    pub(crate) start: &'s [(Values, records::Result)],
    /// The best, measured again in turn, the fastest first.
    pub(crate) finals: &'s [Final],
    pub(crate) ended: Option<Ended>,
    /// Did somebody else choose the points?
    pub(crate) is_outside: bool,
}

impl Summary<'_> {
    /// The fastest point, its time, and the class of its clocks.
    pub(crate) fn best(&self) -> Option<(&Values, Time, Option<&str>)> {
        let measured = self.finals.first().map(|best| (&best.point, best.time, best.class.as_deref()));
        measured.or_else(|| {
            let ranked = ranked(self.trials);
            let (point, result) = ranked.first()?;
            Some((*point, result.time_us?, result.class()))
        })
    }

    /// The fastest point of those that the search started from.
    fn start(&self) -> Option<(&Values, Time, Option<&str>)> {
        let (point, result) = ranked(self.start).into_iter().next()?;
        Some((point, result.time_us?, result.class()))
    }

    /// The first point with a time: what the searcher chose before anything was measured. None where results were there to start from.
    fn first(&self) -> Option<(&Values, Time, Option<&str>)> {
        let with_time = |(_, result): &&(Values, records::Result)| result.median().is_some();
        let (point, result) =
            self.trials.iter().find(with_time).filter(|_| self.start.is_empty() && !self.is_outside)?;
        Some((point, result.time_us?, result.class()))
    }

    pub(crate) fn text(&self) -> String {
        let mut out = heading(self.identity, self.device);
        let of = if self.is_sample { format!("a sample of {}", self.n_points) } else { self.n_points.to_string() };
        let ok = self.trials.iter().filter(|(_, result)| result.verdict == Verdict::Ok).count();
        let _ = write!(out, "{} of {of} valid points tried: {ok} ok", self.trials.len());
        for (reason, n) in reasons(self.trials) {
            let _ = write!(out, ", {n} {reason}");
        }
        out.push('\n');
        match self.ended {
            Some(Ended::Time) => out.push_str("ended by its time\n"),
            Some(Ended::Interrupted) => out.push_str("interrupted; the same command goes on from its records\n"),
            None => {}
        }
        let is_estimated = records::is_estimated(self.device);
        let text = |time: &Time| if is_estimated { estimate_text(time) } else { time_text(time) };
        if let Some((point, time, class)) = self.start() {
            let (time, class) = (text(&time), class_text(class));
            let _ =
                writeln!(out, "\nstart  {time}{class}, the best that it started from\n       {}", point_text(point));
        }
        let Some((best, time, class)) = self.best() else {
            out.push_str("no point has a time\n");
            return out;
        };
        if let Some((point, of_first, class)) = self.first() {
            let beyond = of_first.median / time.median;
            let (time, class) = (text(&of_first), class_text(class));
            let _ =
                writeln!(out, "\nfirst  {time}{class}, before anything was measured; the best is {beyond:.2}x as fast");
            let _ = writeln!(out, "       {}", point_text(point));
        }
        let _ = writeln!(out, "\nbest   {}{}\n       {}", text(&time), class_text(class), point_text(best));
        let Some((best, others)) = self.finals.split_first() else { return out };
        for other in others {
            let beside = if is_estimated { String::new() } else { format!(", {}", other.beside(best)) };
            let (time, class) = (text(&other.time), class_text(other.class.as_deref()));
            let _ = writeln!(out, "next   {time}{class}{beside}\n       {}", point_text(&other.point));
        }
        out
    }

    pub(crate) fn json(&self) -> Value {
        let timed = |point: &Values, time: &Time, class: Option<&str>| json!({"point": point, "time_us": time, "clocks": class});
        let finals = self.finals.iter().map(|of| timed(&of.point, &of.time, of.class.as_deref()));
        let rejected: BTreeMap<String, usize> = reasons(self.trials).into_iter().collect();
        json!({
            "tc-tune": records::VERSION,
            "task": self.identity,
            "device": self.device,
            "points": self.n_points,
            "sampled": self.is_sample,
            "trials": self.trials.len(),
            "rejected": rejected,
            "ended": self.ended.map(|ended| match ended {
                Ended::Time => "time",
                Ended::Interrupted => "interrupted",
            }),
            "start": self.start().map(|(point, time, class)| timed(point, &time, class)),
            "first": self.first().map(|(point, time, class)| timed(point, &time, class)),
            "best": self.best().map(|(point, time, class)| timed(point, &time, class)),
            "finals": finals.collect::<Vec<_>>(),
        })
    }
}
