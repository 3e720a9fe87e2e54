//! Whom sentences of evidence name: read by the forms in which they are written, and by nothing else, as names of hosts, tests
//! and groups may be any words.
use std::collections::BTreeSet;

/// What a sentence on dumps names.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct OfDumps<'a> {
    /// Ranks of which it speaks.
    pub(super) ranks: BTreeSet<u32>,
    /// Its operation with the communicator; empty where it is about none.
    pub(super) operation: &'a str,
}

impl<'a> OfDumps<'a> {
    pub(super) fn of(what: &'a str) -> Self {
        Self::of_rank(what).or_else(|| Self::of_list(what)).unwrap_or_default()
    }

    /// `rank 12 holds … pending, and rank 13 reports …` and the like.
    fn of_rank(what: &'a str) -> Option<Self> {
        let (rank, rest) = number(what.strip_prefix("rank ")?)?;
        let (operation, peer) = if let Some(rest) = rest.strip_prefix(" holds ") {
            let (operation, rest) = rest.rsplit_once(" pending, and rank ")?;
            (operation, Some(number(rest)?.0))
        } else if let Some(rest) = rest.strip_prefix(" has nothing pending and never began ") {
            let (operation, rest) = rest.rsplit_once(", in which rank ")?;
            (operation, Some(number(rest)?.0))
        } else {
            (rest.strip_prefix(" has not begun ")?.rsplit_once(", which ")?.0, None)
        };
        Some(Self { ranks: peer.into_iter().chain([rank]).collect(), operation })
    }

    /// `ranks …: 3, 4, and 2 more`.
    fn of_list(what: &str) -> Option<Self> {
        let (_, list) = what.strip_prefix("ranks ")?.rsplit_once(": ")?;
        let ranks = list.split(", ").filter_map(|word| word.parse().ok()).collect();
        Some(Self { ranks, operation: "" })
    }
}

/// A number at the beginning of a text, and what follows.
pub(super) fn number<T: std::str::FromStr>(text: &str) -> Option<(T, &str)> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

/// How sentences begin that speak of results of the suspect, and of a list of hosts.
const OF_SUSPECT: [&str; 2] = ["bandwidth within the host in ", "bandwidth of all its pairs in "];
const LISTS: [&str; 2] = ["hosts of these pairs: ", "the other hosts of these pairs: "];

/// What a sentence on results of tests names.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct OfTests<'a> {
    /// Hosts; none where it speaks of those of the suspects.
    pub(super) hosts: BTreeSet<&'a str>,
    /// Whether of tests over these and nobody else; else of those in which any of them takes part.
    pub(super) alone: bool,
    /// The test, and the bytes of its buffer.
    pub(super) test: Option<&'a str>,
    pub(super) bytes: Option<u64>,
}

impl<'a> OfTests<'a> {
    pub(super) fn of(what: &'a str) -> Self {
        let read = if let Some(rest) = what.strip_prefix("bandwidth between ") {
            rest.split_once(" and ").and_then(|(one, rest)| {
                let (other, kind) = rest.split_once(" in ")?;
                Some(Self { hosts: BTreeSet::from([one, other]), alone: true, ..Self::of_kind(kind) })
            })
        } else if let Some(kind) = OF_SUSPECT.iter().find_map(|form| what.strip_prefix(form)) {
            Some(Self::of_kind(kind))
        } else if let Some(list) = LISTS.iter().find_map(|form| what.strip_prefix(form)) {
            Some(Self { hosts: list.split(", ").collect(), ..Self::default() })
        } else if let Some(rest) = what.strip_prefix("wrong elements in ") {
            let list = rest.split_once(" over ");
            list.map(|(test, hosts)| {
                let hosts = hosts.split(", ").collect();
                Self { hosts, alone: true, test: Some(test), bytes: None }
            })
        } else {
            let host = what.strip_prefix("host ").and_then(|rest| rest.split_once(": "));
            host.map(|(host, _)| Self { hosts: BTreeSet::from([host]), ..Self::default() })
        };
        read.unwrap_or_default()
    }

    /// Of `all_reduce_perf, 8 GPUs a host, 4096 bytes, as a share of what is usual`.
    fn of_kind(kind: &'a str) -> Self {
        let bytes = kind.split(", ").find_map(|part| part.strip_suffix(" bytes")?.parse().ok());
        Self { test: kind.split(", ").next(), bytes, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_dumps(what: &str) -> (Vec<u32>, &str) {
        let OfDumps { ranks, operation } = OfDumps::of(what);
        (ranks.into_iter().collect(), operation)
    }

    #[test]
    fn ranks_are_read_where_they_are_named() {
        let proof = "rank 12 holds all-gather of TP 41 pending, and rank 13 reports operation 9 as ended";
        assert_eq!(of_dumps(proof), (vec![12, 13], "all-gather of TP 41"));
        let list = "ranks without a dump, for which the others wait: 3, 40, and 2 more";
        assert_eq!(of_dumps(list), (vec![3, 40], ""));
        assert_eq!(of_dumps("ranks that are within an operation, of 16 in 48 communicators"), (vec![], ""));
        let begun = "rank 3 has not begun all-reduce of DP 5, which 7 others have";
        assert_eq!(of_dumps(begun), (vec![3], "all-reduce of DP 5"));
        let asks =
            "rank 3 has nothing pending and never began all-reduce of DP 5, in which rank 8 waits at a.py:7";
        assert_eq!(of_dumps(asks), (vec![3, 8], "all-reduce of DP 5"));
    }

    #[test]
    fn names_that_read_as_sentences_name_nobody() {
        let group = "rank 12 holds all-gather of beside rank 7 pending, and rank 6 41 pending, and rank 13 reports operation 9";
        assert_eq!(of_dumps(group), (vec![12, 13], "all-gather of beside rank 7 pending, and rank 6 41"));
        let told = OfTests::of(
            "bandwidth between usual and host in all_reduce_perf, 8 GPUs a host, 4096 bytes, as a share",
        );
        assert_eq!(told.hosts, BTreeSet::from(["usual", "host"]));
        assert_eq!((told.test, told.bytes), (Some("all_reduce_perf"), Some(4096)));
        let told = OfTests::of(
            "bandwidth within the host in all_reduce_perf, 8 GPUs a host, 4096 bytes, as a share",
        );
        assert_eq!((told.hosts.len(), told.bytes), (0, Some(4096)));
        let told =
            OfTests::of("bandwidth of all its pairs in all_reduce_perf, 8 GPUs a host, 8 bytes, as a share");
        assert_eq!((told.hosts.len(), told.bytes), (0, Some(8)));
        let told = OfTests::of("the other hosts of these pairs: a, b");
        assert_eq!((told.hosts, told.alone), (BTreeSet::from(["a", "b"]), false));
        let told = OfTests::of("wrong elements in sendrecv_perf over a, b");
        assert_eq!((told.hosts, told.test), (BTreeSet::from(["a", "b"]), Some("sendrecv_perf")));
        let told = OfTests::of(
            "host fe80::1: in 3 of 4 logs of tests that hung; of 5 logs with it, those of tests that failed",
        );
        assert_eq!(told.hosts, BTreeSet::from(["fe80::1"]));
    }
}
