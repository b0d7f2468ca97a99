//! What machine code says of its kernels: registers and local memory.
//!
//! Machine code is an ELF file. Its section `.nv.info` is a list of attributes, each a form, a kind and 16 bits, which
//! in one of the forms are the length of what follows; what is read here is of that form, and holds the number of a
//! symbol and a value. The header of a kernel's section has its registers too, but only up to CUDA 12.

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SymbolIndex};
use std::collections::BTreeMap;
use tc_support::{Diagnostic, Location};
use tc_target::Resources;

/// The form of an attribute that has a length, and something of that length behind it.
const SIZED: u8 = 0x04;
/// Registers of a thread.
const REGISTERS: u8 = 0x2f;
/// Bytes of local memory of a function itself, and with those that it calls.
const FRAME: u8 = 0x11;
const STACK: u8 = 0x12;

/// What each function of `code` takes, in the order of its symbols.
pub fn resources(code: &[u8]) -> Result<Vec<Resources>, Diagnostic> {
    let file = ElfFile64::<Endianness>::parse(code).map_err(|error| wrong(&error.to_string()))?;
    let info = file.section_by_name(".nv.info").ok_or_else(|| wrong("it has no section `.nv.info`"))?;
    let info = info.data().map_err(|error| wrong(&error.to_string()))?;
    let mut found: BTreeMap<u32, Resources> = BTreeMap::new();
    for (kind, symbol, value) in values(info) {
        if !matches!(kind, REGISTERS | FRAME | STACK) {
            continue;
        }
        let of = found.entry(symbol).or_default();
        match kind {
            REGISTERS => of.registers = value.into(),
            _ => of.local_bytes = of.local_bytes.max(value.into()),
        }
    }
    let named = |(symbol, resources): (u32, Resources)| {
        let symbol = file.symbol_by_index(SymbolIndex(symbol as usize)).ok()?;
        Some(Resources { kernel: symbol.name().ok()?.to_string(), ..resources })
    };
    Ok(found.into_iter().filter_map(named).filter(|of| of.registers > 0).collect())
}

/// The attributes that hold a symbol and a value: kind, symbol, value. What is cut off is left out.
fn values(mut info: &[u8]) -> Vec<(u8, u32, u32)> {
    let mut found = Vec::new();
    while let Some((&[form, kind, low, high], rest)) = info.split_first_chunk() {
        let length = if form == SIZED { usize::from(u16::from_le_bytes([low, high])) } else { 0 };
        let Some((held, rest)) = rest.split_at_checked(length) else { break };
        if let &[a, b, c, d, e, f, g, h] = held {
            found.push((kind, u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])));
        }
        info = rest;
    }
    found
}

fn wrong(why: &str) -> Diagnostic {
    Diagnostic::error("machine-code", Location::None, format!("what was assembled cannot be read: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_without_a_length_are_stepped_over() {
        let info = [
            [0x03, 0x1b, 0xff, 0x00].as_slice(),
            &[SIZED, REGISTERS, 8, 0, 10, 0, 0, 0, 32, 0, 0, 0],
            &[SIZED, 0x0a, 4, 0, 1, 2, 3, 4],
            &[SIZED, STACK, 8, 0, 10, 0, 0, 0, 0, 2, 0, 0],
        ]
        .concat();
        assert_eq!(values(&info), [(REGISTERS, 10, 32), (STACK, 10, 512)]);
        // Cut off anywhere, it says less, and nothing else.
        for end in 0..info.len() {
            assert!(values(&info).starts_with(&values(&info[..end])), "{end}");
        }
    }

    #[test]
    fn what_is_no_machine_code_is_refused() {
        for code in [b"".as_slice(), b"no ELF", &[0x7f, b'E', b'L', b'F', 2, 1, 1]] {
            assert_eq!(resources(code).expect_err("refused").code, "machine-code");
        }
    }
}
