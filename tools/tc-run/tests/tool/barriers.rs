//! Without a barrier that is needed the check fails and tells both accesses, in what the pipeline makes of a schedule.

use tc::Compiler;

/// The last schedule of the 1-D convolution at a small size, and one whose threads load the shared copy together.
const CONV: &str = "
te.func @conv(A: f32[128], W: f32[16]) -> f32[143] {
  compute B[i: 143] = sum[r: 16](if_then_else(0 <= i - r && i - r < 128, A[i - r], 0.0) * W[r])
  return B
}

schedule @all for @conv {
  BL = cache_write(B, local)
  WS = cache_read(W, shared, [BL])
  bx, t = split(B.i, factor = 64)
  ty, tx = split(t, factor = 4)
  bind(bx, blockIdx.x)
  bind(ty, threadIdx.y)
  bind(tx, threadIdx.x)
  compute_at(BL, tx)
  ro, ri = split(BL.r, factor = 8)
  compute_at(WS, ro)
}

schedule @together for @conv {
  BL = cache_write(B, local)
  WS = cache_read(W, shared, [BL])
  bx, tx = split(B.i, factor = 64)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
  compute_at(BL, tx)
  ro, ri = split(BL.r, factor = 8)
  compute_at(WS, ro)
  bind(WS.ax0, threadIdx.x)
}
";

fn check(text: &str) -> (u8, String) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let args = ["tc-run", "-", "--check"].map(Into::into);
    let mut input = text.as_bytes();
    let io = tc_run::Io::plain(&mut input, &mut stdout, &mut stderr);
    let status = tc_run::run(args, io);
    stdout.extend(stderr);
    (status, String::from_utf8(stdout).expect("the tool writes UTF-8"))
}

/// The file with the program that the pipeline makes of `schedule` in place of the schedules.
fn emitted(schedule: &str) -> String {
    let compiler = Compiler::new();
    let mut module = compiler.parse("conv.tir", CONV).expect("a good file").module;
    compiler.run(&mut module, &format!("module(cuda{{schedule={schedule} keep}})")).expect("a good schedule");
    module.items.retain(|item| item.header.targets.is_empty());
    compiler.print(&module).expect("it prints")
}

fn without_line(text: &str, nth: usize) -> String {
    let lines = text.lines().enumerate().filter(|(idx, _)| *idx != nth);
    lines.map(|(_, line)| format!("{line}\n")).collect()
}

/// What `check-races` says of `text`, which follows the threads and does not ask where barriers belong.
fn race_by_following(text: &str, options: &str) -> Result<(), String> {
    let compiler = Compiler::new();
    let mut module = compiler.parse("conv.tir", text).expect("a good file").module;
    let outcome = compiler.run(&mut module, &format!("module(check-races{options})"));
    outcome.map(drop).map_err(|failure| failure.diagnostics.into_iter().map(|found| found.message).collect())
}

/// How many barriers `schedule` gets, and how many of them cannot be taken out.
fn needed(schedule: &str) -> (usize, usize) {
    let text = emitted(schedule);
    let (status, shown) = check(&text);
    assert_eq!(status, 0, "{text}\n{shown}");
    assert_eq!(race_by_following(&text, "{strict}"), Ok(()), "{text}");
    let is_barrier = |(_, line): &(usize, &str)| line.contains("gpu.barrier");
    let barriers: Vec<usize> = text.lines().enumerate().filter(is_barrier).map(|(nth, _)| nth).collect();
    let mut n_needed = 0;
    for &nth in &barriers {
        let text = without_line(&text, nth);
        let (status, shown) = check(&text);
        let followed = race_by_following(&text, "");
        let is_found = followed.as_ref().is_err_and(|found| found.contains("no barrier keeps two threads"));
        assert_eq!(is_found, status != 0, "{text}\n{followed:?}");
        if status == 0 {
            assert!(shown.contains("harmless race on `WS["), "{shown}");
            continue;
        }
        let race = shown.split("\n\n").find(|part| part.contains("error[race]: race on `WS[")).unwrap_or_default();
        let (write, read) = (race.contains("] = W["), race.contains(" = fma("));
        assert!(status == 1 && write && read, "status {status}, and both lines are told: {shown}");
        n_needed += 1;
    }
    (barriers.len(), n_needed)
}

#[test]
fn the_threads_of_a_common_copy_need_every_barrier() {
    let (n_barriers, n_needed) = needed("together");
    assert!(n_barriers >= 2 && n_needed == n_barriers, "{n_needed} of {n_barriers}");
}

#[test]
fn threads_that_all_make_the_whole_copy_must_wait_before_the_next_only() {
    // What a thread reads it has written itself, the same as all others.
    assert_eq!(needed("all"), (2, 1));
}
