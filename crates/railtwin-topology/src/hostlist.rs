//! Host lists of Slurm: `node[001-008,010]` stands for nine names.
//!
//! Grammar as Slurm's hostlist documentation has it: names and bracketed ranges, joined by commas; a name may have several
//! brackets, which multiply; a range keeps the zeros of its lower end. Compression is that of topograph's `cluset`: only
//! the last number of a name is bracketed.
use std::collections::{BTreeMap, BTreeSet};

/// Most names that the lists of one file may stand for (assumed): a list that stands for more is refused unread.
pub const NAMES_MAX: usize = 1 << 20;

/// Longest number in a bracket or at the end of a name, in digits: what 64 bits hold.
const DIGITS_MAX: usize = 18;

/// Most characters that the names of one bracketed term may have together (assumed).
const CHARACTERS_MAX: usize = 1 << 26;

/// A host list that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostlistError {
    /// The part of the list.
    pub found: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// Names of a list, in its order, duplicates included; at most `limit`.
///
/// # Errors
/// [`HostlistError`] for brackets that do not close or nest, ranges that are no numbers or run backwards, and lists of more
/// than `limit` names, before memory is taken for them.
pub fn expand(list: &str, limit: usize) -> Result<Vec<String>, HostlistError> {
    let mut names = Vec::new();
    for term in terms(list)? {
        expand_term(term, limit.saturating_sub(names.len()), &mut names)?;
    }
    Ok(names)
}

/// Terms of a list: what stands between commas that are in no bracket.
fn terms(list: &str) -> Result<Vec<&str>, HostlistError> {
    let (mut terms, mut start, mut open) = (Vec::new(), 0, false);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' if open => return Err(error(list, "nests a bracket in a bracket")),
            '[' => open = true,
            ']' if !open => return Err(error(list, "closes a bracket that is not open")),
            ']' => open = false,
            ',' if !open => {
                terms.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if open {
        return Err(error(list, "leaves a bracket open"));
    }
    terms.push(list[start..].trim());
    terms.retain(|term| !term.is_empty());
    Ok(terms)
}

/// A range of a bracket: bounds, and the width to which numbers are filled with zeros.
#[derive(Clone, Copy)]
struct Span {
    low: u64,
    high: u64,
    width: usize,
}

/// A part of a term.
enum Part<'a> {
    Text(&'a str),
    Spans(Vec<Span>),
}

fn expand_term(term: &str, limit: usize, names: &mut Vec<String>) -> Result<(), HostlistError> {
    let parts = parts(term)?;
    let counts = parts.iter().map(|part| match part {
        Part::Text(_) => 1,
        Part::Spans(spans) => {
            spans.iter().fold(0, |sum: u64, span| sum.saturating_add(span.high - span.low + 1))
        }
    });
    let total = counts.fold(1_u64, u64::saturating_mul);
    let characters = total.saturating_mul(term.len().max(1) as u64);
    if total > limit as u64 || characters > CHARACTERS_MAX as u64 {
        return Err(error(term, "stands for too many names"));
    }
    let mut made = vec![String::new()];
    for part in parts {
        match part {
            Part::Text(text) => made.iter_mut().for_each(|name| name.push_str(text)),
            Part::Spans(spans) => {
                let numbers = || {
                    spans.iter().flat_map(|span| (span.low..=span.high).map(|number| (number, span.width)))
                };
                let all = made
                    .iter()
                    .flat_map(|name| numbers().map(move |(number, width)| format!("{name}{number:0width$}")));
                made = all.collect();
            }
        }
    }
    names.append(&mut made);
    Ok(())
}

fn parts(term: &str) -> Result<Vec<Part<'_>>, HostlistError> {
    let (mut parts, mut rest) = (Vec::new(), term);
    while let Some((text, behind)) = rest.split_once('[') {
        let Some((inside, after)) = behind.split_once(']') else { break };
        parts.push(Part::Text(text));
        let spans = inside.split(',').map(|range| span(range.trim())).collect::<Result<_, _>>()?;
        parts.push(Part::Spans(spans));
        rest = after;
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

fn span(range: &str) -> Result<Span, HostlistError> {
    let (low, high) = range.split_once('-').unwrap_or((range, range));
    let number = |digits: &str| {
        let fits = !digits.is_empty()
            && digits.len() <= DIGITS_MAX
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits
            .parse::<u64>()
            .ok()
            .filter(|_| fits)
            .ok_or_else(|| error(range, "is no number and no range of numbers"))
    };
    let found = Span { low: number(low)?, high: number(high)?, width: low.len() };
    if found.high < found.low {
        return Err(error(range, "runs backwards"));
    }
    Ok(found)
}

fn error(found: &str, problem: &'static str) -> HostlistError {
    HostlistError { found: found.chars().take(80).collect(), problem }
}

/// The shortest list of names, each once, sorted by what stands before their last number, then by that number.
///
/// Names with commas or brackets come back as other names; [`is_name`] tells them.
pub fn compress<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut plain = BTreeSet::new();
    let mut numbered: BTreeMap<&str, BTreeSet<(u64, usize)>> = BTreeMap::new();
    for name in names {
        let (stem, digits) = split(name);
        match digits.parse() {
            Ok(number) => {
                numbered.entry(stem).or_default().insert((number, digits.len()));
            }
            Err(_) => {
                plain.insert(name);
            }
        }
    }
    let mut terms: Vec<(&str, String)> = plain.into_iter().map(|name| (name, name.to_owned())).collect();
    terms.extend(numbered.iter().map(|(stem, numbers)| (*stem, format!("{stem}{}", bracket(numbers)))));
    terms.sort_by_key(|&(stem, _)| stem);
    terms.into_iter().map(|(_, term)| term).collect::<Vec<_>>().join(",")
}

/// Whether a list can hold a name as it is.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|letter: char| "[],#=\"\\".contains(letter) || letter.is_whitespace())
}

/// A name before its last number, and that number; empty where it ends otherwise.
fn split(name: &str) -> (&str, &str) {
    let digits = name.bytes().rev().take(DIGITS_MAX).take_while(u8::is_ascii_digit).count();
    name.split_at(name.len() - digits)
}

/// Numbers with their widths as a bracket; one number stands alone.
fn bracket(numbers: &BTreeSet<(u64, usize)>) -> String {
    let mut runs: Vec<(u64, u64, usize)> = Vec::new();
    for &(number, width) in numbers {
        match runs.last_mut() {
            Some((_, last, from)) if number == *last + 1 && width == digits_of(number).max(*from) => {
                *last = number
            }
            _ => runs.push((number, number, width)),
        }
    }
    let terms: Vec<String> = runs
        .iter()
        .map(|&(low, high, width)| match low == high {
            true => format!("{low:0width$}"),
            false => format!("{low:0width$}-{high:0width$}"),
        })
        .collect();
    match &terms[..] {
        [only] if numbers.len() == 1 => only.clone(),
        _ => format!("[{}]", terms.join(",")),
    }
}

fn digits_of(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Vec<String> {
        expand(list, NAMES_MAX).unwrap()
    }

    #[test]
    fn brackets_keep_zeros_and_multiply() {
        assert_eq!(names("node[008-010,12],x"), ["node008", "node009", "node010", "node12", "x"]);
        assert_eq!(names("r[1-2]n[09-10]"), ["r1n09", "r1n10", "r2n09", "r2n10"]);
        assert_eq!(names("[1101-1102]"), ["1101", "1102"]);
        assert_eq!(names(" a , b,"), ["a", "b"]);
    }

    #[test]
    fn a_list_of_too_many_names_is_refused() {
        for list in ["n[0-999999999]", "n[0-9999]m[0-9999]", "n[0-999999999999999999]"] {
            assert_eq!(expand(list, NAMES_MAX).unwrap_err().problem, "stands for too many names");
        }
        assert_eq!(expand("a,b,c", 2).unwrap_err().found, "c");
    }

    #[test]
    fn broken_lists_say_what_is_wrong() {
        for (list, problem) in [
            ("n[1-2", "leaves a bracket open"),
            ("n1-2]", "closes a bracket that is not open"),
            ("n[1[2]]", "nests a bracket in a bracket"),
            ("n[2-1]", "runs backwards"),
            ("n[a-b]", "is no number and no range of numbers"),
            ("n[]", "is no number and no range of numbers"),
        ] {
            assert_eq!(expand(list, 9).unwrap_err().problem, problem, "{list}");
        }
    }

    #[test]
    fn numbers_of_one_width_are_one_range() {
        assert_eq!(compress(["n9", "n10", "n11"]), "n[9-11]");
        assert_eq!(compress(["n09", "n10", "n8"]), "n[8,09-10]");
        assert_eq!(compress(["s1", "b", "s1", "a1"]), "a1,b,s1");
        assert_eq!(compress(["eos0507", "eos0509", "abc", "eos0508", "eos0482"]), "abc,eos[0482,0507-0509]");
        assert_eq!(compress(["n1", "n01"]), "n[1,01]");
    }
}
