//! The string, `ij,jk->ik`, with the shapes of its operands.

use tc::support::counted;

/// What is wrong with a string: where, what, and a second place with what is to be seen there.
pub(crate) type Wrong = (std::ops::Range<usize>, String, Option<(std::ops::Range<usize>, String)>);

/// A sum: the letters of each operand, of the result, and those that are summed over. A result that is a single number
/// has a letter of its own, with the extent 1.
pub(crate) struct Sum {
    pub(crate) inputs: Vec<Vec<char>>,
    pub(crate) output: Vec<char>,
    pub(crate) summed: Vec<char>,
    extents: Vec<(char, u64, usize)>,
}

impl Sum {
    /// Reads a sum over tensors of these shapes.
    pub(crate) fn read(text: &str, shapes: &[Vec<u64>]) -> Result<Sum, Wrong> {
        let wrong = |at, message: String| Err((at, message, None));
        let Some((operands, result)) = text.split_once("->") else {
            return wrong(0..text.len(), "this sum has no `->` with the letters of its result".to_string());
        };
        let flat = text.replacen("->", ",,", 1);
        if let Some((at, c)) = flat.char_indices().find(|&(_, c)| !c.is_ascii_alphabetic() && c != ',') {
            return wrong(at..at + c.len_utf8(), format!("`{}` is no letter", c.escape_debug()));
        }
        let inputs: Vec<Vec<char>> = operands.split(',').map(|term| term.chars().collect()).collect();
        if inputs.len() != shapes.len() {
            return wrong(0..operands.len(), format!("{} operands have {} shapes", inputs.len(), shapes.len()));
        }
        let (mut extents, mut at): (Vec<(char, u64, usize)>, usize) = (Vec::new(), 0);
        for (letters, shape) in inputs.iter().zip(shapes) {
            if letters.len() != shape.len() {
                let (n, rank) = (counted(letters.len(), "letter"), counted(shape.len(), "dimension"));
                return wrong(at..at + letters.len(), format!("a tensor of {rank} has {n}"));
            }
            for (&letter, &extent) in letters.iter().zip(shape) {
                match extents.iter().find(|known| known.0 == letter) {
                    _ if extent == 0 || extent >> 40 != 0 => {
                        return wrong(at..at + 1, format!("the extent is {extent}"));
                    }
                    None => extents.push((letter, extent, at)),
                    Some(&(_, before, first)) if before != extent => {
                        let other = Some((first..first + 1, format!("and {before} here")));
                        return Err((at..at + 1, format!("the extent of `{letter}` is {extent} here"), other));
                    }
                    Some(_) => {}
                }
                at += 1;
            }
            at += 1;
        }
        let mut output = Vec::new();
        for (at, letter) in (operands.len() + 2..).zip(result.chars()) {
            if output.contains(&letter) || !extents.iter().any(|known| known.0 == letter) {
                let why = if output.contains(&letter) { "the result already has" } else { "no operand has" };
                return wrong(at..at + 1, format!("{why} the index `{letter}`"));
            }
            output.push(letter);
        }
        let summed = extents.iter().map(|known| known.0).filter(|letter| !output.contains(letter)).collect();
        if output.is_empty() {
            output.extend(('a'..='z').chain('A'..='Z').find(|&letter| !text.contains(letter)));
        }
        Ok(Sum { inputs, output, summed, extents })
    }

    pub(crate) fn extent(&self, letter: char) -> u64 {
        self.extents.iter().find(|known| known.0 == letter).map_or(1, |known| known.1)
    }
}
