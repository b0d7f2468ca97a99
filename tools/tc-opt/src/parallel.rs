//! Work done side by side, whose results come in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use tc::support::workers::STACK;

/// How many workers `n` pieces of work have, and how many threads each may use, of `threads` in all.
pub(crate) fn shares(n: usize, threads: usize) -> (usize, usize) {
    let workers = threads.min(n).max(1);
    (workers, (threads / workers).max(1))
}

/// Does `work` for `0..n`, with so many workers, and hands each result to `done`, in order and as soon as it may.
pub(crate) fn in_order<T: Send>(n: usize, workers: usize, work: impl Fn(usize) -> T + Sync, mut done: impl FnMut(T)) {
    let next = AtomicUsize::new(0);
    let run = |send: mpsc::Sender<(usize, T)>| {
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            // The receiver is gone only if this thread's parent panicked.
            if nth >= n || send.send((nth, work(nth))).is_err() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        let mut spawned = 0;
        for _ in 0..workers.min(n) {
            let (run, send) = (&run, send.clone());
            let worker = std::thread::Builder::new().name("tc-opt".to_string()).stack_size(STACK);
            spawned += usize::from(worker.spawn_scoped(scope, move || run(send)).is_ok());
        }
        if spawned == 0 {
            run(send.clone());
        }
        drop(send);
        let (mut waiting, mut turn) = (BTreeMap::new(), 0);
        for (nth, result) in receive {
            waiting.insert(nth, result);
            while let Some(result) = waiting.remove(&turn) {
                done(result);
                turn += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        for workers in [1, 2, 8] {
            let mut seen = Vec::new();
            let work = |nth: usize| {
                std::thread::sleep(std::time::Duration::from_micros((nth as u64 * 37) % 100));
                nth
            };
            in_order(200, workers, work, |nth| seen.push(nth));
            assert!(seen.iter().copied().eq(0..200), "{workers}: {seen:?}");
        }
        in_order(0, 4, |nth| nth, |_| panic!("there is no work"));
    }

    #[test]
    fn threads_are_shared_out() {
        assert_eq!([shares(1, 8), shares(3, 8), shares(100, 8), shares(5, 1)], [(1, 8), (3, 2), (8, 1), (1, 1)]);
    }
}
