//! `einsum-embed 'ij,jk->ik' 128x64 64x32`: prints the CUDA C++ of a sum, and how it is launched.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let shape = |text: &String| text.split('x').map(str::parse).collect::<Result<Vec<u64>, _>>();
    let (Some(text), Ok(shapes)) = (args.first(), args.iter().skip(1).map(shape).collect::<Result<Vec<_>, _>>()) else {
        let _ = writeln!(std::io::stderr(), "usage: einsum-embed 'ij,jk->ik' 128x64 64x32");
        return ExitCode::from(2);
    };
    let made = einsum_embed::compile(&einsum_embed::compiler(), text, &shapes);
    let _ = match &made {
        Ok(cuda) => writeln!(std::io::stdout(), "{}\n{}", cuda.source, tc::manifest_json(&cuda.manifests)),
        Err(failure) => writeln!(std::io::stderr(), "{failure}"),
    };
    if made.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
