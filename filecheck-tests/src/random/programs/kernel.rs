//! Launch nests: blocks, threads of one or two coordinates, statements in one nest or in several.

use super::draw::{AccessibleRows, Draw, Known, Launch, Rows, Sharing};
use super::function::Width;
use super::interval::Interval;
use tc::ir::Elem;

impl Draw<'_> {
    /// A kernel, which writes all of what is not `full` yet.
    pub(super) fn kernel(&mut self, width: &Width, full: &mut [bool]) {
        let (threads, blocks) = match width {
            Width::Host => return,
            Width::Fixed { blocks, threads } => (*threads, blocks.to_string()),
            Width::Open { size, threads, whole: true } => (*threads, format!("{size} / {threads}")),
            Width::Open { size, threads, whole: false } => {
                (*threads, format!("({size} + {}) / {threads}", threads - 1))
            }
        };
        let guard = match width {
            Width::Open { size, whole: false, .. } => Some(size.clone()),
            _ => None,
        };
        let axes = match self.choices.below(4) {
            0 if threads % 4 == 0 => vec![("threadIdx.y", 4), ("threadIdx.x", threads / 4)],
            1 if threads % 2 == 0 => vec![("threadIdx.y", 2), ("threadIdx.x", threads / 2)],
            _ => vec![("threadIdx.x", threads)],
        };
        if axes.len() > 1 {
            self.made("two coordinates of threads");
        }
        let bx = self.name("bx");
        let reversed = matches!(width, Width::Fixed { .. }) && self.choices.chance(10);
        let block = if reversed { format!("({blocks} - 1 - {bx})") } else { bx.clone() };
        let rows = match width {
            Width::Fixed { blocks, threads } => blocks * threads,
            _ => 1 << 13,
        };
        let launch = Launch { threads, rows, axes, thread: String::new(), block, own: String::new(), guard };
        let n_blocks = blocks.parse::<i128>().unwrap_or(4096);
        let outputs: Vec<usize> =
            (0..full.len()).filter(|&at| self.buffers[at].reads != AccessibleRows::All || !full[at]).collect();
        // What an earlier kernel wrote, another one may write again.
        let again: Vec<usize> = (0..full.len())
            .filter(|&at| full[at] && self.buffers[at].name.starts_with(['B', 'G']) && self.choices.chance(60))
            .collect();
        for &at in &again {
            (self.buffers[at].reads, self.buffers[at].writes) = (AccessibleRows::Block, AccessibleRows::Own);
        }
        for &at in &outputs {
            self.buffers[at].writes = AccessibleRows::Own;
        }
        let buffers = self.buffers.len();
        self.block(&format!("for {bx} in 0..{blocks} bind(blockIdx.x)"), |draw| {
            draw.var(&bx, Known::int(Elem::Index, Interval::new(0, n_blocks - 1)));
            draw.nests(&launch, &outputs);
        });
        self.buffers.truncate(buffers);
        for at in outputs.into_iter().chain(again) {
            (self.buffers[at].reads, self.buffers[at].writes) = (AccessibleRows::All, AccessibleRows::Nothing);
            full[at] = true;
        }
    }

    /// The nests of threads inside the loop over blocks.
    fn nests(&mut self, launch: &Launch, outputs: &[usize]) {
        let n = self.choices.pick(&[1, 1, 1, 2, 3]);
        if n > 1 {
            self.made("several nests of threads");
        }
        // What all nests of the block share, made outside of them.
        let mut shared = Vec::new();
        for _ in 0..self.choices.pick(&[0, 0, 1, 2]) {
            let holds = self.holding();
            let mut buffer = self.shared_of(launch, holds);
            self.allocate(&buffer, "");
            (buffer.reads, buffer.writes) = (AccessibleRows::Nothing, AccessibleRows::Nothing);
            shared.push(self.buffers.len());
            self.buffers.push(buffer);
        }
        let early: Vec<usize> = outputs.iter().copied().filter(|_| self.choices.chance(50)).collect();
        for nth in 0..n {
            let mut launch = launch.clone();
            let names: Vec<String> =
                launch.axes.iter().map(|(axis, _)| self.name(&format!("t{}", &axis[10..]))).collect();
            for (name, (axis, extent)) in names.iter().zip(&launch.axes) {
                let known = Known::int(Elem::Index, Interval::new(0, i128::from(*extent) - 1)).varying(true);
                self.var(name, known);
                self.line(format!("for {name} in 0..{extent} bind({axis}) {{"));
            }
            let vars = self.vars.len() - names.len();
            self.inside(|draw| {
                draw.numbered(&mut launch, &names);
                draw.launch = Some(launch);
                if nth == 0 {
                    for &at in &shared {
                        let buffer = draw.buffers[at].clone();
                        let launch = draw.launch.clone();
                        let row = launch.map(|launch| draw.permuted(&launch)).unwrap_or_default();
                        draw.fill(&buffer, &row, false);
                        (draw.buffers[at].reads, draw.buffers[at].writes) = (AccessibleRows::All, AccessibleRows::All);
                    }
                    early.iter().for_each(|&at| draw.complete(at));
                }
                draw.budget = 3 + draw.choices.below(10);
                draw.statements(8);
                if nth + 1 == n {
                    let late = outputs.iter().filter(|at| !early.contains(at));
                    late.for_each(|&at| draw.complete(at));
                }
                draw.launch = None;
                draw.sharing = Sharing::Free;
            });
            self.vars.truncate(vars);
            names.iter().for_each(|_| self.line("}"));
        }
    }

    /// Names the number of the thread and its row.
    fn numbered(&mut self, launch: &mut Launch, names: &[String]) {
        let threads = i128::from(launch.threads);
        let number = match (names, &launch.axes[..]) {
            ([y, x], [_, (_, extent)]) => format!("({y} * {extent} + {x})"),
            _ => names[0].clone(),
        };
        let (thread, own) = (self.name("t"), self.name("g"));
        let named = names.len() > 1 && self.choices.chance(50);
        launch.thread = if named { thread.clone() } else { number.clone() };
        if named {
            self.line(format!("let {thread} = {number}"));
            self.var(&thread, Known::int(Elem::Index, Interval::new(0, threads - 1)).varying(true));
        }
        let row = format!("({} * {threads} + {})", launch.block, launch.thread);
        // A row that has a name is known by another expression than one that is written out.
        if self.choices.chance(60) {
            self.line(format!("let {own} = {row}"));
            self.var(&own, Known::int(Elem::Index, Interval::new(0, i128::from(launch.rows) - 1)).varying(true));
            launch.own = own;
        } else {
            launch.own = row;
        }
    }

    /// Writes all of output `at` that is the thread's; it can be read then.
    fn complete(&mut self, at: usize) {
        let buffer = self.buffers[at].clone();
        let Some(launch) = self.launch.clone() else { return };
        let guarded = launch.guard.is_some() && matches!(buffer.rows, Rows::Open(_));
        self.fill(&buffer, &launch.own, guarded);
        self.buffers[at].reads = if guarded {
            AccessibleRows::Own
        } else {
            self.choices.pick(&[AccessibleRows::Own, AccessibleRows::Block])
        };
    }
}
