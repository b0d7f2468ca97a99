//! Near-name suggestions: the nearest of the names that would have been right.

/// The candidate nearest to `name`, if one is near enough to have been meant.
///
/// Nearness is the Damerau-Levenshtein distance (Damerau 1964, Levenshtein 1966); a third of the name's length
/// may differ. Of equally near candidates the first wins.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A hostile name of a megabyte has no near neighbour, and the distance is quadratic.
    if name.len() > 128 {
        return None;
    }
    let limit = (name.chars().count() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let distance = strsim::osa_distance(name, candidate);
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// `` did you mean `x`? `` for the nearest candidate, or a list of all of them if none is near.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Option<String> {
    if let Some(near) = nearest(name, candidates.clone()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let all: Vec<String> = candidates.into_iter().map(|candidate| format!("`{candidate}`")).collect();
    (!all.is_empty() && all.len() <= 24).then(|| format!("there is {}", all.join(", ")))
}

/// `name`, cut to a length that a message can carry.
pub fn shorten(name: &str) -> String {
    const MAX: usize = 60;
    if name.chars().count() <= MAX {
        return name.to_string();
    }
    let head: String = name.chars().take(MAX).collect();
    format!("{head}… ({} characters)", name.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_neighbour_and_a_stranger_finds_none() {
        assert_eq!(nearest("simplfy", ["cse", "simplify", "dce"]), Some("simplify"));
        assert_eq!(nearest("banana", ["cse", "simplify", "dce"]), None);
        assert_eq!(nearest(&"x".repeat(1 << 20), ["x"]), None);
    }
}
