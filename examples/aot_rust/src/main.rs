//! Calls kernels that `build.rs` compiled, checks what comes out, prints `ok`.
//!
//! It ends with status 0 where all is right, with 1 where something is wrong, with 77 where there is no CUDA driver.

mod driver;
mod kernels {
    #![allow(dead_code)]
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

use kernels::{Input, Output, Status, Stream};
use std::process::ExitCode;

/// What is exited with where there is no GPU to run on.
const NO_GPU: u8 = 77;

fn main() -> ExitCode {
    match run() {
        Ok(()) => {
            println!("ok");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error}");
            let is_no_driver =
                error.downcast_ref::<kernels::Error>().is_some_and(|error| error.status == Status::NoDriver);
            if is_no_driver { NO_GPU.into() } else { ExitCode::FAILURE }
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let driver = driver::Driver::open();
    kernels::load()?;
    let driver = driver?;
    let (m, n, k) = (100, 75, 50);
    let a: Vec<f32> = (0..m * k).map(|nth| (nth * 7 % 13) as f32).collect();
    let b: Vec<f32> = (0..k * n).map(|nth| (nth * 5 % 11) as f32).collect();
    let mut c = vec![0.0; m * n];
    let on_device = [driver.copy(&a)?, driver.copy(&b)?, driver.copy(&c)?];
    // SAFETY: so many elements were copied there, and stay until the end of this function, which waits for the kernel.
    let (a_there, b_there, mut c_there) = unsafe {
        let input = |nth: usize, len| Input::new(on_device[nth], len);
        (input(0, a.len()), input(1, b.len()), Output::new(on_device[2], c.len()))
    };
    kernels::matmul(Stream::DEFAULT, a_there, b_there, &mut c_there, m as i64, n as i64, k as i64)?;
    driver.read(&mut c, on_device[2])?;
    for i in 0..m {
        for j in 0..n {
            let want: f32 = (0..k).map(|r| a[i * k + r] * b[r * n + j]).sum();
            if c[i * n + j] != want {
                return Err(format!("element {i}, {j} is {}, not {want}", c[i * n + j]).into());
            }
        }
    }
    // What does not fit is an error, and launches nothing.
    let refused = kernels::matmul(Stream::DEFAULT, a_there, b_there, &mut c_there, m as i64, n as i64, 51);
    match refused {
        Err(error) if error.status == Status::BadArgument => Ok(()),
        other => Err(format!("too few elements were taken: {other:?}").into()),
    }
}
