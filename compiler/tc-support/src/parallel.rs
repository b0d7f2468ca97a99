//! Work on several cores: the one place where libraries of the compiler start threads for it.
//!
//! With the feature `threads` the functions run on the threads of rayon; without it, and on targets that have no threads,
//! they run in place, one piece after another. Results are in the order of the work and the same either way.

#[cfg(feature = "threads")]
use rayon::prelude::*;

/// `run` of each of `items`.
pub fn map<T: Sync, R: Send>(items: &[T], run: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    #[cfg(feature = "threads")]
    return items.par_iter().map(run).collect();
    #[cfg(not(feature = "threads"))]
    return items.iter().map(run).collect();
}

/// `run` of each number below `count`.
pub fn map_range<R: Send>(count: u64, run: impl Fn(u64) -> R + Sync + Send) -> Vec<R> {
    #[cfg(feature = "threads")]
    return (0..count).into_par_iter().map(run).collect();
    #[cfg(not(feature = "threads"))]
    return (0..count).map(run).collect();
}

/// Calls `run` for each number below `count`, at least `at_a_time` of them on one core.
pub fn for_each(count: usize, at_a_time: usize, run: impl Fn(usize) + Sync + Send) {
    #[cfg(feature = "threads")]
    (0..count).into_par_iter().with_min_len(at_a_time).for_each(run);
    #[cfg(not(feature = "threads"))]
    {
        let _ = at_a_time;
        (0..count).for_each(run);
    }
}

/// Calls `run` with each chunk of `size` elements, the last of which may be shorter, and its number.
pub fn for_each_chunk<T: Send>(items: &mut [T], size: usize, run: impl Fn(usize, &mut [T]) + Sync + Send) {
    #[cfg(feature = "threads")]
    items.par_chunks_mut(size).enumerate().for_each(|(nth, chunk)| run(nth, chunk));
    #[cfg(not(feature = "threads"))]
    items.chunks_mut(size).enumerate().for_each(|(nth, chunk)| run(nth, chunk));
}

/// How many pieces of work run at a time.
pub fn width() -> usize {
    #[cfg(feature = "threads")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "threads"))]
    return 1;
}

/// Threads of a caller's own, each with the stack that the compiler needs ([`STACK`](crate::workers::STACK)).
#[derive(Debug)]
pub struct Pool {
    #[cfg(feature = "threads")]
    pool: rayon::ThreadPool,
}

impl Pool {
    /// So many threads called `name`, each of which calls `begin` first; `None` where there are no threads to be had.
    #[cfg(feature = "threads")]
    pub fn new(threads: usize, name: &'static str, begin: impl Fn() + Send + Sync + 'static) -> Option<Pool> {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(crate::workers::STACK);
        let pool = builder.thread_name(|_| name.to_string()).start_handler(move |_| begin()).build().ok()?;
        Some(Pool { pool })
    }

    /// `None`: without the feature `threads` there are none.
    #[cfg(not(feature = "threads"))]
    pub fn new(_: usize, _: &'static str, _: impl Fn() + Send + Sync + 'static) -> Option<Pool> {
        None
    }

    /// `run` of each of `items`, on the threads of the pool.
    pub fn map<T: Send, R: Send>(&self, items: Vec<T>, run: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
        #[cfg(feature = "threads")]
        return self.pool.install(|| items.into_par_iter().map(run).collect());
        #[cfg(not(feature = "threads"))]
        return items.into_iter().map(run).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_piece_is_done_once_and_told_in_order() {
        let squares: Vec<u64> = (0..1000).map(|number| number * number).collect();
        assert_eq!(map_range(1000, |number| number * number), squares);
        assert_eq!(map(&(0..1000).collect::<Vec<u64>>(), |number| number * number), squares);
        let sum = AtomicUsize::new(0);
        for_each(1000, 16, |number| {
            sum.fetch_add(number, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 499_500);
        let mut cells = vec![0; 10];
        for_each_chunk(&mut cells, 4, |nth, chunk| chunk.fill(nth));
        assert_eq!(cells, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
    }

    #[test]
    fn a_pool_is_there_exactly_where_threads_are() {
        let pool = Pool::new(2, "test", || {});
        assert_eq!(pool.is_some(), cfg!(feature = "threads"));
        let doubled = |number: i32| number * 2;
        assert!(pool.is_none_or(|pool| pool.map(vec![1, 2, 3], doubled) == [2, 4, 6]));
        assert!(width() > 0);
    }
}
