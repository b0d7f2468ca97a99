//! Machine code as text: what `nvdisasm` and `cuobjdump -sass` print, taken apart.
//!
//! A line is an instruction if it begins with its address, `/*0a40*/`. `nvdisasm` names the targets of jumps by labels,
//! `cuobjdump` by addresses. What is neither is passed over, so that any text is a listing, if of nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The code of a kernel, with the functions that it calls.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) kernel: String,
    pub(crate) instructions: Vec<Instruction>,
    /// The instruction that a label stands before.
    labels: BTreeMap<String, usize>,
}

#[derive(Debug)]
pub(crate) struct Instruction {
    pub(crate) address: u64,
    /// Does it have a predicate, without which it is not done?
    pub(crate) guarded: bool,
    /// With its modifiers: `HGMMA.64x128x16.F32`.
    pub(crate) opcode: String,
    pub(crate) operands: String,
    /// The file and the line that it was made of, seen from outside of functions that were inlined.
    pub(crate) line: Option<(Arc<str>, u32)>,
}

impl Instruction {
    /// The opcode without its modifiers.
    pub(crate) fn base(&self) -> &str {
        self.opcode.split('.').next().unwrap_or_default()
    }

    /// What it multiplies, `MxNxK`, if it is a product of matrices; its opcode where that does not say.
    pub(crate) fn product(&self) -> Option<&str> {
        // Ptxas makes a group of no products by one that has no operands.
        if !self.base().ends_with("MMA") || self.operands.starts_with("RZ, gdesc[URZ]") {
            return None;
        }
        let shape = self.opcode.split('.').find(|part| part.starts_with(|first: char| first.is_ascii_digit()));
        Some(match shape {
            Some("1688") => "16x8x8",
            Some("16816") => "16x8x16",
            Some("16832") => "16x8x32",
            Some("884") => "8x8x4",
            Some(shape) => shape,
            None => &self.opcode,
        })
    }

    /// Does it access memory of its thread alone, where the registers did not last, or an array lies?
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.base(), "LDL" | "STL")
    }
}

impl Listing {
    /// The instruction that a jump to `target`, a label or an address, goes to.
    pub(crate) fn at(&self, target: &str) -> Option<usize> {
        let found = match target.strip_prefix("0x") {
            Some(address) => {
                let address = u64::from_str_radix(address, 16).ok()?;
                self.instructions.binary_search_by_key(&address, |one| one.address).ok()
            }
            None => self.labels.get(target).copied(),
        };
        found.filter(|&nth| nth < self.instructions.len())
    }
}

/// The code of each kernel that `text` has.
pub(crate) fn read(text: &str) -> Vec<Listing> {
    let mut all: Vec<Listing> = Vec::new();
    let mut line_of_source = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = kernel_of(trimmed) {
            all.push(Listing { kernel: name.to_string(), ..Listing::default() });
            line_of_source = None;
        } else if let Some(listing) = all.last_mut() {
            if let Some(place) = trimmed.strip_prefix("//## File ") {
                line_of_source = place_of(place);
            } else if let Some(instruction) = instruction(trimmed) {
                // Addresses grow; where they do not, something else begins.
                if listing.instructions.last().is_none_or(|last| last.address < instruction.address) {
                    listing.instructions.push(Instruction { line: line_of_source.clone(), ..instruction });
                }
            } else if let Some(label) = line.strip_suffix(':').filter(|label| !label.contains(char::is_whitespace)) {
                listing.labels.insert(label.to_string(), listing.instructions.len());
            }
        }
    }
    all
}

/// The kernel whose code begins with a line.
fn kernel_of(line: &str) -> Option<&str> {
    let name = match line.strip_prefix(".section") {
        Some(section) => section.trim().trim_start_matches('"').strip_prefix(".text.")?,
        None => line.strip_prefix("Function : ")?,
    };
    name.split(['"', ',', ' ', '\t']).next().filter(|name| !name.is_empty())
}

/// `"f.tir", line 9`, or where that was inlined, in the end.
fn place_of(text: &str) -> Option<(Arc<str>, u32)> {
    let outer = text.rsplit(" inlined at ").next()?;
    let (file, line) = outer.trim().strip_prefix('"')?.rsplit_once("\", line ")?;
    Some((file.into(), line.trim().parse().ok()?))
}

fn instruction(line: &str) -> Option<Instruction> {
    let (address, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let text = rest.split(';').next()?.trim();
    let (guarded, text) = match text.strip_prefix('@') {
        Some(text) => (true, text.split_once(char::is_whitespace)?.1.trim()),
        None => (false, text),
    };
    let (opcode, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if !opcode.starts_with(|first: char| first.is_ascii_uppercase()) {
        return None;
    }
    Some(Instruction { address, guarded, opcode: opcode.into(), operands: operands.trim().into(), line: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_print_the_same_code() {
        let [by_label, by_address] = [
            include_str!("../../tests/machine_code/wait.nvdisasm"),
            include_str!("../../tests/machine_code/wait.cuobjdump"),
        ]
        .map(read);
        let shown = |all: &[Listing]| -> Vec<(u64, bool, String)> {
            all.iter()
                .flat_map(|one| &one.instructions)
                .map(|one| (one.address, one.guarded, one.opcode.clone()))
                .collect()
        };
        assert_eq!(by_label[0].kernel, "k");
        assert_eq!(by_address[0].kernel, "k");
        assert_eq!(shown(&by_label), shown(&by_address));
        assert!(by_label[0].instructions.len() > 10);
    }

    #[test]
    fn a_line_of_an_inlined_function_is_the_line_of_its_call() {
        let text = "\t.section\t.text.k,\"ax\",@progbits\nk:\n\
            \t//## File \"/x/k.cu\", line 16 inlined at \"/x/f \\\"a.tir\", line 9\n        /*0000*/  @!P0 HMMA.16816.F32 R4, R8 ;\n\
            \t//## File \"/x/b.tir\", line 7\n        /*0010*/   EXIT ;\n        /*0000*/   NOP ;\n";
        let read = read(text);
        let [first, second] = &read[0].instructions[..] else { panic!("{read:?}") };
        assert_eq!(first.line, Some(("/x/f \\\"a.tir".into(), 9)));
        assert_eq!((first.product(), first.guarded), (Some("16x8x16"), true));
        assert_eq!(second.line, Some(("/x/b.tir".into(), 7)));
    }

    #[test]
    fn any_text_is_a_listing() {
        for text in
            ["", ";", "/*", "/*0*/", "/*zz*/ A ;", ".section", "Function : \n/*0*/ @ ;\n/*8*/ @P0\n:", "//## File \""]
        {
            assert!(read(text).iter().all(|one| one.instructions.is_empty()), "{text}");
        }
    }
}
