//! Which instructions are in which loop.
//!
//! A loop is what can come back to itself: a strongly connected component of the graph of jumps, and within it, once the
//! jumps to its head are left out, components again (Steensgaard 1993, for the order of components Tarjan 1972). A range
//! from a jump back to its target would not do: an assembler moves rare code behind the rest, and jumps back from there.
//!
//! Called functions are in the loop that calls them. A return goes nowhere here, for it would tie all callers together.

use super::listing::{Instruction, Listing};

/// Loops in loops up to this depth are told apart.
const MAX_DEPTH: usize = 32;

#[derive(Debug)]
pub(crate) struct Loop {
    /// The loop around it.
    pub(crate) parent: Option<usize>,
    /// Its first and its last instruction in the order of the text.
    pub(crate) first: usize,
    pub(crate) last: usize,
}

#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) loops: Vec<Loop>,
    /// For each instruction the innermost loop that it is in.
    pub(crate) inner: Vec<Option<usize>>,
    /// Why loops are not all known.
    pub(crate) unclear: Option<String>,
}

impl Flow {
    /// The loop `of` and those around it, from the inside.
    pub(crate) fn around(&self, of: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(of, |&inner| self.loops[inner].parent).take(self.loops.len())
    }

    pub(crate) fn of(listing: &Listing) -> Flow {
        let graph = Graph::of(listing);
        let n = listing.instructions.len();
        let unclear = graph.unclear.iter().find(|&&nth| graph.reached[nth]).map(|&nth| {
            let one = &listing.instructions[nth];
            format!("where `{}` at {:#x} goes is not known", one.opcode, one.address)
        });
        let mut flow = Flow { loops: Vec::new(), inner: vec![None; n], unclear };
        let mut scratch = Scratch { seen: vec![0; n], low: vec![0; n], is_open: vec![false; n] };
        let mut is_head = vec![false; n];
        // Of which set each instruction is: 0 for none, 1 for all that is reached, a loop's number and 2 for its own.
        let mut set: Vec<usize> = graph.reached.iter().map(|&reached| usize::from(reached)).collect();
        let all: Vec<usize> = (0..n).filter(|&nth| graph.reached[nth]).collect();
        let mut work = vec![(all, None, 0)];
        while let Some((nodes, parent, depth)) = work.pop() {
            for part in graph.components(&nodes, &set, &is_head, &mut scratch) {
                let own = flow.loops.len();
                let (Some(&first), Some(&last)) = (part.iter().min(), part.iter().max()) else { continue };
                flow.loops.push(Loop { parent, first, last });
                part.iter().for_each(|&nth| (set[nth], flow.inner[nth]) = (own + 2, Some(own)));
                // Entered from outside at its head; code that can be entered in two places has either as its head.
                let is_entry = |&nth: &usize| graph.before[nth].iter().any(|&from| set[from] != own + 2);
                is_head[part.iter().copied().filter(is_entry).min().unwrap_or(first)] = true;
                if depth < MAX_DEPTH {
                    work.push((part, Some(own), depth + 1));
                }
            }
        }
        flow.inherit(&graph);
        flow
    }

    /// Puts what calls reach into the loops of the calls. A function that calls another one may come after it.
    fn inherit(&mut self, graph: &Graph) {
        for _ in 0..graph.calls.len().min(MAX_DEPTH) {
            let mut changed = false;
            for &(from, to) in &graph.calls {
                let Some(caller) = self.inner[from] else { continue };
                let outermost = |flow: &Flow, of| flow.around(Some(of)).last().unwrap_or(of);
                for nth in graph.reachable(&[to], &graph.next) {
                    match self.inner[nth] {
                        None => (self.inner[nth], changed) = (Some(caller), true),
                        Some(own) => {
                            let top = outermost(self, own);
                            if top != outermost(self, caller) {
                                (self.loops[top].parent, changed) = (Some(caller), true);
                            }
                        }
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }
}

/// Which instruction may come after which.
struct Graph {
    next: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    /// Calls, and what is called.
    calls: Vec<(usize, usize)>,
    /// Can it be come to from the start?
    reached: Vec<bool>,
    /// Jumps and calls of which it is not known where they go.
    unclear: Vec<usize>,
}

impl Graph {
    fn of(listing: &Listing) -> Graph {
        let n = listing.instructions.len();
        let mut graph = Graph {
            next: vec![Vec::new(); n],
            before: vec![Vec::new(); n],
            calls: Vec::new(),
            reached: vec![false; n],
            unclear: Vec::new(),
        };
        for nth in 0..n {
            graph.add(listing, nth);
        }
        let starts: Vec<usize> = (0..n.min(1)).chain(graph.calls.iter().map(|&(_, to)| to)).collect();
        graph.reachable(&starts, &graph.next).into_iter().for_each(|nth| graph.reached[nth] = true);
        for (nth, next) in graph.next.iter().enumerate().filter(|&(nth, _)| graph.reached[nth]) {
            next.iter().for_each(|&to| graph.before[to].push(nth));
        }
        graph
    }

    fn add(&mut self, listing: &Listing, nth: usize) {
        let one = &listing.instructions[nth];
        let after = Some(nth + 1).filter(|&after| after < listing.instructions.len());
        let targets = targets(one);
        let known: Vec<usize> = targets.iter().filter_map(|target| listing.at(target)).collect();
        let is_known = !targets.is_empty() && known.len() == targets.len();
        if !is_known && ["BRA", "JMP", "BRX", "BRXU", "JMX", "JMXU", "CALL"].contains(&one.base()) {
            self.unclear.push(nth);
        }
        match one.base() {
            "EXIT" | "RET" => self.next[nth].extend(after.filter(|_| one.guarded)),
            "BRA" | "JMP" | "BRX" | "BRXU" | "JMX" | "JMXU" => {
                // With a condition beside its target it may not jump.
                let is_certain = !one.guarded && (one.operands.starts_with(['`', '0']) || one.base().contains('X'));
                self.next[nth] = known;
                self.next[nth].extend(after.filter(|_| !is_certain));
            }
            "CALL" => {
                self.calls.extend(known.into_iter().map(|to| (nth, to)));
                self.next[nth].extend(after);
            }
            "WARPSYNC" => {
                self.next[nth] = known;
                self.next[nth].extend(after);
            }
            // Threads meet where the `BSSY` of the same register said, which as a rule is the next instruction.
            "BSYNC" => {
                let meets = |other: &&Instruction| other.base() == "BSSY" && first(other) == first(one);
                let places = listing.instructions.iter().filter(meets).flat_map(self::targets);
                let places: Vec<usize> = places.filter_map(|target| listing.at(target)).collect();
                self.next[nth].extend(after);
                if !after.is_some_and(|after| places.contains(&after)) {
                    self.next[nth].extend(places);
                }
            }
            _ => self.next[nth].extend(after),
        }
    }

    /// All that is come to from `starts`.
    fn reachable(&self, starts: &[usize], next: &[Vec<usize>]) -> Vec<usize> {
        let mut seen = vec![false; next.len()];
        let mut work = starts.to_vec();
        let mut found = Vec::new();
        while let Some(nth) = work.pop() {
            if !std::mem::replace(&mut seen[nth], true) {
                found.push(nth);
                work.extend(&next[nth]);
            }
        }
        found
    }

    /// The components of `nodes`, a set of their own in `set`, that can come back to themselves other than by a head.
    fn components(&self, nodes: &[usize], set: &[usize], is_head: &[bool], of: &mut Scratch) -> Vec<Vec<usize>> {
        let own = nodes.first().map_or(0, |&first| set[first]);
        let goes_on = |to: usize| set[to] == own && !is_head[to];
        let Scratch { seen, low, is_open } = of;
        nodes.iter().for_each(|&node| seen[node] = 0);
        let (mut open, mut clock, mut found) = (Vec::new(), 0, Vec::new());
        for &start in nodes {
            let mut path: Vec<(usize, usize)> = if seen[start] == 0 { vec![(start, 0)] } else { Vec::new() };
            while let Some((node, nth)) = path.pop() {
                if nth == 0 {
                    clock += 1;
                    (seen[node], low[node]) = (clock, clock);
                    open.push(node);
                    is_open[node] = true;
                }
                if let Some(&to) = self.next[node].get(nth) {
                    path.push((node, nth + 1));
                    if goes_on(to) && seen[to] == 0 {
                        path.push((to, 0));
                    } else if goes_on(to) && is_open[to] {
                        low[node] = low[node].min(seen[to]);
                    }
                    continue;
                }
                if let Some(&(above, _)) = path.last() {
                    low[above] = low[above].min(low[node]);
                }
                if low[node] == seen[node] {
                    let from = open.iter().rposition(|&one| one == node).unwrap_or(0);
                    let part = open.split_off(from);
                    part.iter().for_each(|&one| is_open[one] = false);
                    if part.len() > 1 || (self.next[node].contains(&node) && goes_on(node)) {
                        found.push(part);
                    }
                }
            }
        }
        found
    }
}

/// Tarjan's numbers of each node, in the place of new ones for each set: when it was seen, from 1, the first node that it
/// comes back to, and whether its component is still open.
struct Scratch {
    seen: Vec<usize>,
    low: Vec<usize>,
    is_open: Vec<bool>,
}

fn first(one: &Instruction) -> &str {
    one.operands.split(',').next().unwrap_or_default().trim()
}

/// What a jump names as its targets: labels or addresses.
fn targets(one: &Instruction) -> Vec<&str> {
    if let Some((_, list)) = one.operands.split_once("BRANCH_TARGETS ") {
        return list.split('"').next().unwrap_or_default().split(',').map(str::trim).collect();
    }
    if let Some((_, target)) = one.operands.split_once("`(") {
        return target.split(')').next().into_iter().collect();
    }
    let last = one.operands.rsplit([',', ' ']).next().unwrap_or_default().trim();
    Some(last).filter(|last| last.starts_with("0x")).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine_code::listing::read;

    /// The addresses of the first and the last instruction of a loop, and of the first of the loop around it.
    type Shown = (u64, u64, Option<u64>);

    /// The loops of code, and why they are not all known.
    fn loops(body: &str) -> (Vec<Shown>, Option<String>) {
        let mut text = "\t.section\t.text.k\nk:\n".to_string();
        for (nth, line) in body.split(';').map(str::trim).enumerate() {
            let (label, line) = line.split_once(": ").map_or((None, line), |(label, line)| (Some(label), line));
            text.extend(label.map(|label| format!("{label}:\n")));
            text += &format!("  /*{nth:04x}*/  {line} ;\n");
        }
        let all = read(&text);
        let flow = Flow::of(&all[0]);
        let at = |nth: usize| all[0].instructions[nth].address;
        let mut found: Vec<_> = flow
            .loops
            .iter()
            .map(|one| (at(one.first), at(one.last), one.parent.map(|of| at(flow.loops[of].first))))
            .collect();
        found.sort();
        (found, flow.unclear)
    }

    #[test]
    fn loops_in_loops_are_found_and_code_moved_behind_makes_none() {
        // A jump back from code that was moved behind the loop is in it; one to code before it is no loop.
        let (found, unclear) =
            loops("NOP; a: NOP; b: @P0 BRA `(c); d: NOP; @P1 BRA `(b); @P2 BRA `(a); e: EXIT; c: NOP; BRA `(d)");
        assert_eq!((found, unclear), (vec![(1, 8, None), (2, 8, Some(1))], None));
        let (found, _) = loops("@P0 BRA `(c); d: NOP; EXIT; c: NOP; BRA `(d)");
        assert_eq!(found, []);
        // What nothing comes to is padding.
        assert_eq!(loops("EXIT; a: BRA `(a)").0, []);
        assert_eq!(loops("a: BRA P0, `(a); EXIT").0, [(0, 0, None)]);
        // Entered in two places.
        assert_eq!(loops("@P0 BRA `(b); a: NOP; b: NOP; @P1 BRA `(a); EXIT").0, [(1, 3, None)]);
    }

    #[test]
    fn what_a_loop_calls_is_in_it() {
        let body = "a: CALL.REL.NOINC `(f); @P0 BRA `(a); CALL.REL.NOINC `(g); EXIT; f: LDL R1, [R1]; RET.REL.NODEC R2 `(k); \
                    g: NOP; h: @P0 BRA `(h); RET R2";
        let (found, unclear) = loops(body);
        assert_eq!((found, unclear), (vec![(0, 1, None), (7, 7, None)], None));
        let text = "\t.section\t.text.k\nk:\na:\n/*0*/ CALL `(f);\n/*1*/ @P0 BRA `(a);\n/*2*/ EXIT;\nf:\n/*3*/ STL R1;\n/*4*/ RET;";
        let flow = Flow::of(&read(text)[0]);
        assert_eq!(flow.inner, [Some(0), Some(0), None, Some(0), Some(0)]);
    }

    #[test]
    fn a_table_of_jumps_is_followed_and_a_jump_to_somewhere_is_unclear() {
        let table = "a: BRX R4 -0xf0 (*\"BRANCH_TARGETS b,c\"*); b: BRA `(a); c: EXIT";
        assert_eq!(loops(table), (vec![(0, 1, None)], None));
        let (_, unclear) = loops("NOP; BRX R4; EXIT");
        assert_eq!(unclear.as_deref(), Some("where `BRX` at 0x1 goes is not known"));
        assert!(loops("CALL.ABS R2; EXIT").1.is_some());
        assert_eq!(loops("BSSY B0, `(b); a: @P0 BRA `(a); BSYNC B0; NOP; b: EXIT"), (vec![(1, 1, None)], None));
    }

    #[test]
    fn deep_nests_and_long_code_take_no_stack() {
        let heads: String = (0..100).map(|nth| format!("l{nth}: NOP; ")).collect();
        let tails: String = (0..100).rev().map(|nth| format!("@P0 BRA `(l{nth}); ")).collect();
        assert_eq!(loops(&format!("{heads}{tails}EXIT")).0.len(), MAX_DEPTH + 1);
        assert_eq!(loops(&format!("a: {}@P0 BRA `(a); EXIT", "NOP; ".repeat(100_000))).0, [(0, 100_000, None)]);
    }
}
