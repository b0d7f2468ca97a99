//! Threads: how many work side by side, and the stack that each has.

use std::sync::OnceLock;

/// Threads for each core, at the most: more of them only wait for one another.
const PER_CORE: usize = 4;

/// The stack of a thread that parses, compiles or runs programs, in bytes: nesting is limited, and what is within the
/// limits fits even where nothing is optimised.
pub const STACK: usize = 64 << 20;

/// How many threads `pieces` of work get where `asked` were asked for; 0 stands for as many as there are cores. There are
/// at most as many as there is work, at most four a core, and at least one.
pub fn workers(asked: usize, pieces: usize) -> usize {
    // The system reads files to answer, which takes as long as a small pass: it is asked once.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
    workers_on(cores, asked, pieces)
}

/// [`workers`] of a machine with so many cores.
fn workers_on(cores: usize, asked: usize, pieces: usize) -> usize {
    let wanted = if asked == 0 { cores } else { asked.min(cores.saturating_mul(PER_CORE)) };
    wanted.min(pieces).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_as_many_as_there_is_work_and_a_few_a_core() {
        let on_two = |asked, pieces| workers_on(2, asked, pieces);
        assert_eq!([on_two(0, 100), on_two(3, 100), on_two(8, 100), on_two(10_000, 100)], [2, 3, 8, 8]);
        assert_eq!([on_two(10_000, 3), on_two(0, 1), on_two(4, 0), on_two(usize::MAX, usize::MAX)], [3, 1, 1, 8]);
        assert_eq!(workers_on(0, 0, 5), 1);
    }
}
