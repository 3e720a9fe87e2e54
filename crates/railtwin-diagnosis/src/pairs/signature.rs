//! How a pair is slow, in words: what its bandwidth does with size, kind of test and direction tells what to look for.
use crate::robust;

/// A share of the usual bandwidth that counts as exactly half: healthy pairs differ by a few hundredths.
const HALF: f64 = 0.05;
/// Bandwidth falls with size where the largest sizes keep less than this share of what the smallest have.
const FALLS: f64 = 0.7;

/// What to do about what falls with size.
pub(super) const FALLING: &str = "loss or pauses, which long transfers meet more often: read drops, pauses, out-of-sequence packets \
                       and retransmissions of both NICs, and of the switches between, before and after a large test, and \
                       whether both ports of each carry";

/// Where tests begin that do not begin at the host.
const OTHERS: &str = "the others";

/// One result of a pair beside what is usual.
#[derive(Clone, Debug)]
pub(super) struct Beside<'a> {
    /// Kind of test.
    pub kind: &'a str,
    /// Size of its messages.
    pub bytes: u64,
    /// Host of its first rank.
    pub first: &'a str,
    /// Where in the two hosts of the pair, in their order, the GPUs are; empty where that is not told.
    pub slots: [&'a str; 2],
    /// Its bandwidth as a share of what is usual.
    pub share: f64,
    /// Whether that is too little.
    pub slow: bool,
}

/// What the results of a pair, or of all pairs of a host, have in common.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Signature {
    /// In words, without figures.
    pub words: String,
    /// What to do about it.
    pub advice: &'static str,
    /// Median share of the results that are slow.
    pub share: f64,
    /// How many are slow.
    pub slow: usize,
}

/// Looks at all results of a pair, or of pairs that share a `host`: then tests that begin at it are one direction and those
/// that begin at the others are the other. `back` are results that tell of directions only.
pub(super) fn signature(rows: &[Beside<'_>], host: Option<&str>, back: &[&Beside<'_>]) -> Signature {
    let ways = || rows.iter().chain(back.iter().copied());
    let first_of = |row: &Beside<'_>| match host {
        Some(host) if row.first != host => OTHERS.to_owned(),
        _ => row.first.to_owned(),
    };
    let kinds = |slow: bool| {
        let mut kinds: Vec<&str> = rows.iter().map(|row| row.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.retain(|kind| rows.iter().any(|row| row.kind == *kind && row.slow) == slow);
        kinds
    };
    let firsts = |slow: bool| {
        let mut firsts: Vec<String> = ways().map(first_of).collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts.retain(|first| ways().any(|row| first_of(row) == *first && row.slow) == slow);
        firsts
    };
    let slow: Vec<&Beside<'_>> = rows.iter().filter(|row| row.slow).collect();
    let share = robust::median(&mut slow.iter().map(|row| row.share).collect::<Vec<_>>()).unwrap_or(1.0);
    let of_slow_kinds: Vec<&Beside<'_>> =
        rows.iter().filter(|row| rows.iter().any(|other| other.kind == row.kind && other.slow)).collect();
    let mut sizes: Vec<u64> = of_slow_kinds.iter().map(|row| row.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let at = |of: &[u64]| {
        let all = of_slow_kinds.iter().filter(|row| of.contains(&row.bytes));
        robust::median(&mut all.map(|row| row.share).collect::<Vec<_>>())
    };
    // A third of the sizes at either end; fewer than four say nothing of size.
    let third = (sizes.len() / 3).max(1);
    let ends =
        (sizes.len() >= 4).then(|| at(&sizes[..third]).zip(at(&sizes[sizes.len() - third..]))).flatten();
    let falls = ends.is_some_and(|(small, large)| large < FALLS * small);
    let rises = ends.is_some_and(|(small, large)| small < FALLS * large);
    let is_half = |row: &&&Beside<'_>| (row.share - 0.5).abs() <= HALF;
    // Where it falls, what it is before it does.
    let before: Vec<&&Beside<'_>> = match falls {
        true => of_slow_kinds.iter().filter(|row| sizes[..sizes.len() / 2].contains(&row.bytes)).collect(),
        false => slow.iter().collect(),
    };
    let half = !before.is_empty() && 2 * before.iter().filter(|row| is_half(row)).count() >= before.len();
    let (words, advice) = match (half, falls, rises) {
        (true, true, _) => ("half of what is usual, and falling with size", FALLING),
        (true, false, _) => (
            "half of what is usual",
            "two flows on one link, or one of two ports unused: compare what the ports of both NICs carry during the test",
        ),
        (false, true, _) => ("falling with size", FALLING),
        (false, false, true) => (
            "little at small sizes only",
            "the way is longer or a host answers late: compare latency tests of both hosts with others",
        ),
        (false, false, false) => (
            "the same part of what is usual at all sizes",
            "test both hosts with others and over other source ports: what stays with a path is the path's",
        ),
    };
    let mut whole = words.to_owned();
    if let (false, [kind]) = (kinds(false).is_empty(), &kinds(true)[..]) {
        whole = format!("{words}, in one kind of test only ({kind})");
    }
    if let ([_], [first]) = (&firsts(false)[..], &firsts(true)[..]) {
        whole = match host {
            Some(_) => format!("{whole}, in one direction only (tests that begin at {first})"),
            None => format!("{whole}, in one direction only (first rank at {first})"),
        };
    }
    Signature { words: whole, advice, share, slow: slow.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(share: impl Fn(&str, u32) -> f64) -> Vec<Beside<'static>> {
        let row = |kind: &'static str, size: u32| {
            let share = share(kind, size);
            Beside { kind, bytes: 1 << (20 + size), first: "a", slots: ["", ""], share, slow: share < 0.9 }
        };
        ["all-to-all", "send"].into_iter().flat_map(|kind| (0..9).map(move |size| row(kind, size))).collect()
    }

    #[test]
    fn words_follow_from_size_kind_and_direction() {
        let words = |share: &dyn Fn(&str, u32) -> f64| signature(&rows(share), None, &[]).words;
        assert_eq!(words(&|_, _| 0.51), "half of what is usual");
        assert_eq!(
            words(&|_, size| if size < 5 { 0.5 } else { 0.5 / f64::from(1 << (size - 4)) }),
            "half of what is usual, and falling with size"
        );
        assert_eq!(words(&|_, size| 0.85 * 0.8_f64.powi(size as i32)), "falling with size");
        assert_eq!(words(&|_, size| if size < 2 { 0.4 } else { 1.0 }), "little at small sizes only");
        assert_eq!(words(&|_, _| 0.8), "the same part of what is usual at all sizes");
        assert_eq!(
            words(&|kind, _| if kind == "send" { 0.5 } else { 1.0 }),
            "half of what is usual, in one kind of test only (send)"
        );
        let mut both = rows(|_, _| 0.5);
        both.extend(rows(|_, _| 1.0).into_iter().map(|row| Beside { first: "b", ..row }));
        let told = |host: Option<&str>| signature(&both, host, &[]).words;
        assert_eq!(told(None), "half of what is usual, in one direction only (first rank at a)");
        let begins =
            |at: &str| format!("half of what is usual, in one direction only (tests that begin at {at})");
        assert_eq!(told(Some("a")), begins("a"));
        let more = rows(|_, _| 1.0).into_iter().map(|row| Beside { first: "c", ..row });
        let many: Vec<Beside<'_>> = both.iter().cloned().chain(more).collect();
        assert_eq!(signature(&many, Some("a"), &[]).words, begins("a"), "of a host among many");
        assert_eq!(signature(&both, Some("b"), &[]).words, begins("the others"));
    }
}
