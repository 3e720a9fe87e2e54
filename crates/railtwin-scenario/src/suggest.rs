//! The nearest name to one that is not known.

/// Edits up to which a name counts as meant.
const NEAR: usize = 3;

/// The nearest of `names` within [`NEAR`] edits, but never one that shares no more than it lacks.
pub(crate) fn nearest<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(given, name);
    let nearest = names.iter().min_by_key(|name| distance(name))?;
    let far = distance(nearest);
    (far <= NEAR && far * 2 <= nearest.chars().count()).then_some(nearest)
}

/// A hint: the nearest name, or else all of them.
pub(crate) fn accepted_or_nearest(lead: &str, given: &str, names: &[&str]) -> String {
    match nearest(given, names) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("{lead} {}", names.join(", ")),
    }
}

/// Names in back quotes.
pub(crate) fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        let names = ["balancer", "hash", "k", "seeds"];
        assert_eq!(nearest("blancer", &names), Some("balancer"));
        assert_eq!(nearest("seed", &names), Some("seeds"));
        assert_eq!(nearest("xyz", &names), None, "k is three edits away and means nothing");
        assert_eq!(nearest("", &[]), None);
    }
}
