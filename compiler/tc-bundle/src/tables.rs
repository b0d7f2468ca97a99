//! Tables in C: the machine code, the kernels of each target, the tensor maps.

use crate::{Link, Options, TargetCode, cubin_name, spell, types, wrong};
use std::fmt::Write;
use tc_support::Diagnostic;
use tc_target::{Kernel, TensorMap};

/// Words of machine code on a line.
const WORDS_A_LINE: usize = 5;

/// The machine code, kernels and names of all targets.
pub(crate) fn text(codes: &[&TargetCode], options: &Options) -> Result<String, Diagnostic> {
    let mut out = String::new();
    for code in codes {
        if options.link == Link::Embedded {
            image(&mut out, code);
        }
        kernels(&mut out, code)?;
    }
    let targets: Vec<&str> = codes.iter().map(|code| code.target.name).collect();
    let _ = writeln!(out, "\n#define $$_TC_N_CODES {}", codes.len());
    let _ = writeln!(out, "#define $$_TC_TARGETS {}", spell::string(&targets.join(", ")));
    out.push_str("\n/* The best code for a device comes last. */\n");
    let _ = writeln!(out, "static const $_tc_code $_tc_codes[$$_TC_N_CODES] = {{");
    for code in codes {
        let target = &code.target;
        let image = match options.link {
            Link::Embedded => format!("$_tc_image_{target}"),
            Link::Files => spell::string(&cubin_name(options, target)),
        };
        let (name, (major, minor)) = (spell::string(target.name), target.capability);
        let (is_exact, bytes) = (i32::from(target.arch_specific), code.cubin.len());
        let n_kernels: usize = code.manifests.iter().map(|manifest| manifest.kernels.len()).sum();
        let kernels = format!("$_tc_kernels_{target}");
        let _ =
            writeln!(out, "    {{{name}, {major}, {minor}, {is_exact}, {bytes}, {image}, {kernels}, {n_kernels}}},");
    }
    out.push_str("};\n");
    Ok(out)
}

/// Machine code as words, in the order of bytes that every host of a GPU has: shorter than bytes, and aligned.
fn image(out: &mut String, code: &TargetCode) {
    let n_words = code.cubin.len().div_ceil(8).max(1);
    let _ = writeln!(out, "\nstatic const uint64_t $_tc_image_{}[{n_words}] = {{", code.target);
    for line in code.cubin.chunks(8 * WORDS_A_LINE) {
        out.push_str("   ");
        for chunk in line.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            let _ = write!(out, " 0x{:x}u,", u64::from_le_bytes(bytes));
        }
        out.push('\n');
    }
    if code.cubin.is_empty() {
        out.push_str("    0,\n");
    }
    out.push_str("};\n");
}

fn kernels(out: &mut String, code: &TargetCode) -> Result<(), Diagnostic> {
    let kernels: Vec<&Kernel> = code.manifests.iter().flat_map(|manifest| &manifest.kernels).collect();
    let n_rows = kernels.len().max(1);
    let _ = writeln!(out, "\nstatic const $_tc_kernel $_tc_kernels_{}[{n_rows}] = {{", code.target);
    for kernel in &kernels {
        let three = |list: [u64; 3]| format!("{{{}, {}, {}}}", list[0], list[1], list[2]);
        let (name, overlaps) = (spell::string(&kernel.name), i32::from(kernel.overlaps));
        if kernel.block.iter().chain(&kernel.cluster).any(|&extent| i32::try_from(extent).is_err()) {
            return Err(wrong(format!("the block of the kernel `{}` does not fit", kernel.name)));
        }
        let (block, cluster) = (three(kernel.block), three(kernel.cluster));
        let _ = writeln!(out, "    {{{name}, {block}, {cluster}, {}, {overlaps}}},", kernel.dynamic_shared);
    }
    if kernels.is_empty() {
        out.push_str("    {NULL, {1, 1, 1}, {1, 1, 1}, 0, 0},\n");
    }
    out.push_str("};\n");
    Ok(())
}

/// The tensor maps of a function for one target, as the table `name`.
pub(crate) fn maps(name: &str, maps: &[TensorMap]) -> Result<String, Diagnostic> {
    let mut out = format!("\nstatic const $_tc_map {name}[{}] = {{\n", maps.len());
    for map in maps {
        let (own, buffer) = (spell::string(&map.name), spell::string(&map.buffer));
        let list = |numbers: &[u64]| {
            let numbers: Vec<String> = numbers.iter().rev().map(u64::to_string).collect();
            format!("{{{}}}", numbers.join(", "))
        };
        let (sides, steps, rank) = (list(&map.spans()), list(&map.steps), map.extents.len());
        let (kind, bytes) = (types::tensor_map_type(map.dtype), map.dtype.bytes());
        let swizzle = code(&[0, 32, 64, 128], map.swizzle).ok_or_else(|| unknown(map))?;
        let promotion = code(&[0, 64, 128, 256], map.promotion).ok_or_else(|| unknown(map))?;
        let _ = writeln!(
            out,
            "    {{{own}, {buffer}, {kind}, {bytes}, {rank}, {sides}, {steps}, {swizzle}, {promotion}}},"
        );
    }
    out.push_str("};\n");
    Ok(out)
}

/// The driver's number for `bytes`: its place in the list.
fn code(list: &[u64], bytes: u64) -> Option<usize> {
    list.iter().position(|&known| known == bytes)
}

fn unknown(map: &TensorMap) -> Diagnostic {
    wrong(format!("the swizzle or the promotion of the map `{}` is none of the driver's", map.name))
}
