//! The search: which parts are tried in which order, and whom to ask.

use super::state::{Frame, State};
use super::text::split_passes;
use super::{Ask, NotReduced, Options, Progress, Reduced, Reduction, reductions};
use crate::reproducer::Reproducer;
use rustc_hash::FxHashSet;
use std::hash::{BuildHasher, BuildHasherDefault};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;
use tc_ir::print::PrintOptions;
use tc_support::workers::STACK;

pub(super) fn reduce(text: &str, options: Options<'_>, ask: &Ask<'_>) -> Result<Reduced, NotReduced> {
    let start = Instant::now();
    let first = first_state(text, &options)?;
    if !ask(text).map_err(NotReduced::Ask)? {
        return Err(NotReduced::NotInteresting);
    }
    let mut search = Search {
        best_text: text.to_string(),
        best: first.clone(),
        refused: FxHashSet::default(),
        asked: 1,
        options,
        ask,
    };
    let ended = search.run();
    Ok(Reduced {
        text: search.best_text,
        before: first.size(),
        after: search.best.size(),
        asked: search.asked,
        time: start.elapsed(),
        stopped: ended.err(),
    })
}

fn first_state(text: &str, options: &Options<'_>) -> Result<State, NotReduced> {
    let mut frame =
        Frame { head: None, registry: options.registry.clone(), allow_unknown_ops: options.allow_unknown_ops };
    if !Reproducer::is_one(text) {
        return Ok(State::first(frame, Vec::new(), text.to_string()));
    }
    let wrong = |(found, sources): (Box<_>, _)| NotReduced::Head(tc_support::render::one(&found, &sources, false));
    let head = Reproducer::parse("the reproducer", text).map_err(wrong)?;
    frame.allow_unknown_ops |= head.allow_unknown_ops;
    let passes = split_passes(&head.pipeline);
    let program = head.program.clone();
    frame.head = Some(head);
    Ok(State::first(frame, passes, program))
}

struct Search<'s, 'o> {
    best: State,
    /// The text of the best; at first the input as it came.
    best_text: String,
    /// What was found to be boring, by hash: the predicate is not asked twice. Two texts with one hash cost a reduction at most.
    refused: FxHashSet<u64>,
    asked: u64,
    options: Options<'o>,
    ask: &'s Ask<'s>,
}

impl Search<'_, '_> {
    fn run(&mut self) -> Result<(), String> {
        self.normalise()?;
        let reductions = reductions();
        loop {
            let before = self.best.measure();
            for (what, reduction) in &reductions {
                if reduction.wants(&self.best) {
                    self.apply(what, &**reduction)?;
                }
            }
            if self.best.measure() >= before {
                return Ok(());
            }
        }
    }

    /// Brings the text into the form that the printer gives it, which all later candidates have: without locations if
    /// it is interesting without, in the generic form if only that is.
    fn normalise(&mut self) -> Result<(), String> {
        let plain = PrintOptions::default();
        let ways = [plain, PrintOptions { locations: true, ..plain }, PrintOptions { generic: true, ..plain }];
        for way in ways {
            let Some(candidate) = self.best.printed(way) else { continue };
            // The form counts here, not the size: it is the one place where the text may grow.
            if self.first_interesting("form", vec![candidate.clone()])?.is_some() {
                return self.take("form", candidate);
            }
        }
        // Only the text as it was written will do.
        self.best.module = None;
        Ok(())
    }

    /// Takes out as many sites of `reduction` as can be, the last ones first, in pieces that get smaller.
    fn apply(&mut self, what: &'static str, reduction: &dyn Reduction) -> Result<(), String> {
        let mut piece = reduction.n_sites(&self.best);
        while piece > 0 {
            let mut end = reduction.n_sites(&self.best);
            while end > 0 {
                // With several threads the next pieces are tried ahead, as if this one were refused.
                let mut ranges: Vec<Range<usize>> = Vec::new();
                while ranges.len() < self.options.threads.max(1) && end > 0 {
                    let start = end.saturating_sub(piece);
                    ranges.push(start..end);
                    end = start;
                }
                let candidates = ranges.iter().map(|range| attempt(reduction, &self.best, range.clone())).collect();
                let smaller = self.smaller(candidates);
                if let Some((nth, state)) = self.first_of(what, smaller)? {
                    self.take(what, state)?;
                    end = ranges[nth].start.min(reduction.n_sites(&self.best));
                }
            }
            piece = (piece / 2).min(reduction.n_sites(&self.best));
        }
        Ok(())
    }

    /// The candidates that are smaller than the best and were not refused before, each with its number.
    fn smaller(&self, candidates: Vec<Option<State>>) -> Vec<(usize, State)> {
        let measure = self.best.measure();
        let found = candidates.into_iter().enumerate().filter_map(|(nth, state)| Some((nth, state?)));
        let found = found.filter(|(_, state)| state.measure() < measure);
        found.filter(|(_, state)| !self.refused.contains(&hash(&state.file()))).collect()
    }

    fn first_of(&mut self, what: &'static str, found: Vec<(usize, State)>) -> Result<Option<(usize, State)>, String> {
        let (numbers, states): (Vec<usize>, Vec<State>) = found.into_iter().unzip();
        let first = self.first_interesting(what, states.clone())?;
        Ok(first.and_then(|nth| Some((*numbers.get(nth)?, states.into_iter().nth(nth)?))))
    }

    /// Asks about all candidates at a time; the number of the first that is interesting.
    fn first_interesting(&mut self, what: &'static str, candidates: Vec<State>) -> Result<Option<usize>, String> {
        let files: Vec<String> = candidates.iter().map(State::file).collect();
        let answers = ask_all(self.ask, &files);
        self.asked += files.len() as u64;
        let mut first = None;
        for (nth, (file, answer)) in files.iter().zip(answers).enumerate() {
            match answer? {
                true => first = first.or(Some(nth)),
                false => {
                    self.refused.insert(hash(file));
                }
            }
        }
        if !files.is_empty() {
            self.tell(what, false)?;
        }
        Ok(first)
    }

    fn take(&mut self, what: &'static str, state: State) -> Result<(), String> {
        self.best_text = state.file();
        self.best = state;
        self.tell(what, true)
    }

    fn tell(&mut self, what: &'static str, better: bool) -> Result<(), String> {
        let progress = Progress { what, size: self.best.size(), asked: self.asked, better };
        (self.options.watch)(&progress, &self.best_text)
    }
}

/// A candidate, or none: what an edit left may be nothing that the printer or a verifier is ready for.
fn attempt(reduction: &dyn Reduction, state: &State, range: Range<usize>) -> Option<State> {
    catch_unwind(AssertUnwindSafe(|| reduction.without(state, range))).unwrap_or(None)
}

fn ask_all(ask: &Ask<'_>, files: &[String]) -> Vec<Result<bool, String>> {
    let one = |file: &String| {
        let answer = catch_unwind(AssertUnwindSafe(|| ask(file)));
        answer.unwrap_or_else(|_| Err("the one who is asked panicked".to_string()))
    };
    match files {
        [] => Vec::new(),
        [file] => vec![one(file)],
        files => std::thread::scope(|scope| {
            let start = |file| std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || one(file));
            let threads: Vec<_> = files.iter().map(start).collect();
            let gone = || Err("a thread that asks cannot run".to_string());
            let ended = threads.into_iter().map(|thread| thread.ok().and_then(|thread| thread.join().ok()));
            ended.map(|answer| answer.unwrap_or_else(gone)).collect()
        }),
    }
}

fn hash(text: &str) -> u64 {
    BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one(text)
}
