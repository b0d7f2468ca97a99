//! What NVIDIA's assembler says while it works, by `ptxas -v` or in the log of NVRTC.
//!
//! Messages that tell of lost speed have a number from C7500 on. Which number a message has depends on the version, so
//! that its words decide what it is.

use super::FindingKind;
use std::collections::BTreeMap;

/// A message about lost speed.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Message<'t> {
    pub(crate) kind: FindingKind,
    /// `C7510`.
    pub(crate) number: &'t str,
    /// The function that it is about, where it says one.
    pub(crate) kernel: Option<&'t str>,
    /// All of it behind the number.
    pub(crate) text: &'t str,
    pub(crate) help: &'static str,
}

#[derive(Default, Debug)]
pub(crate) struct Messages<'t> {
    pub(crate) all: Vec<Message<'t>>,
    /// Bytes that a function stores and loads because registers did not last.
    pub(crate) spilled: BTreeMap<&'t str, (u64, u64)>,
}

/// A kind of message: words of it, and what helps. The first that fits holds.
const KINDS: &[(&str, FindingKind, &str)] = &[
    (
        "serialized due to insufficient register",
        FindingKind::SerialisedProducts,
        "let a warpgroup hold fewer sums: a smaller tile, or more warpgroups in a block",
    ),
    (
        "serialized due to non wgmma instructions defining input",
        FindingKind::SerialisedProducts,
        "a left factor in registers is written while products may read it: write it before `wgmma.fence`, or wait for the products first",
    ),
    (
        "serialized due to non wgmma instructions",
        FindingKind::SerialisedProducts,
        "sums are read or written while products may still add to them: let that stand after `wgmma.wait_group`",
    ),
    (
        "serialized due to ill formed pipeline",
        FindingKind::SerialisedProducts,
        "on every way `wgmma.fence` comes before the products, and `wgmma.commit_group` and `wgmma.wait_group` after them",
    ),
    (
        "divergent path",
        FindingKind::SerialisedProducts,
        "let no condition around the products differ between threads of a warpgroup",
    ),
    ("serialized due to", FindingKind::SerialisedProducts, "let no call stand between the products and their wait"),
    (
        "warpgroup.wait is injected",
        FindingKind::InjectedSync,
        "sums are read while products may still add to them: let that stand after `wgmma.wait_group`",
    ),
    (
        "warpgroup.arrive is injected",
        FindingKind::InjectedSync,
        "a register of a product is written after `wgmma.fence`: let that stand before it",
    ),
    (
        "'setmaxnreg' ignored",
        FindingKind::RegistersNotHandedOver,
        "give the number of threads of a block, and let no function be called",
    ),
    ("Performance Loss", FindingKind::Message, "the assembler's documentation tells of the message"),
];

/// What `log` says.
pub(crate) fn read(log: &str) -> Messages<'_> {
    let mut found = Messages::default();
    let mut function = "";
    for line in log.lines() {
        if let Some(message) = message(line) {
            // A message that comes twice says no more than once.
            if !found.all.contains(&message) {
                found.all.push(message);
            }
        } else if let Some((_, name)) = line.split_once("Function properties for ") {
            function = name.trim();
        } else if let (Some(stores), Some(loads)) =
            (number_before(line, " bytes spill stores"), number_before(line, " bytes spill loads"))
        {
            found.spilled.insert(function, (stores, loads));
        }
    }
    found
}

fn message(line: &str) -> Option<Message<'_>> {
    let (_, rest) = line.split_once("(C7")?;
    let (digits, text) = rest.split_once(") ")?;
    let &(_, kind, help) = KINDS.iter().find(|(words, ..)| text.contains(words))?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let from = line.len() - rest.len() - 2;
    let number = &line[from..line.len() - text.len() - 2];
    let kernel = text.rsplit_once("function '").and_then(|(_, name)| name.split('\'').next());
    Some(Message { kind, number, kernel, text: text.trim(), help })
}

fn number_before(line: &str, unit: &str) -> Option<u64> {
    line.split_once(unit)?.0.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_spills_of_both_versions_are_read() {
        let log = include_str!("../../tests/machine_code/messages.log");
        let found = read(log);
        let shown: Vec<_> = found.all.iter().map(|one| (one.number, one.kernel, one.kind)).collect();
        let expected = [
            ("C7508", None, FindingKind::RegistersNotHandedOver),
            ("C7519", Some("product_kernel"), FindingKind::InjectedSync),
            ("C7517", Some("product_kernel"), FindingKind::InjectedSync),
            ("C7510", Some("product_kernel"), FindingKind::SerialisedProducts),
            ("C7512", Some("other_kernel"), FindingKind::SerialisedProducts),
            ("C7530", None, FindingKind::Message),
        ];
        assert_eq!(shown, expected);
        assert!(found.all[4].help.contains("fewer sums") && found.all[3].help.contains("wait_group"), "{found:?}");
        assert_eq!(found.spilled.get("product_kernel"), Some(&(0, 0)));
        assert_eq!(found.spilled.get("other_kernel"), Some(&(24, 32)));
    }

    #[test]
    fn any_text_is_a_log() {
        for text in ["", "(C7", "(C7) ", "(C7x) Performance Loss", "\u{2028}(C75) function '", "0 bytes spill stores"] {
            let found = read(text);
            assert!(found.all.is_empty() && found.spilled.is_empty(), "{text}: {found:?}");
        }
    }
}
