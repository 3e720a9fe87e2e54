//! A hang as a lattice: how each rank stands in each of its communicators, for a picture.
use std::collections::{BTreeMap, BTreeSet};

use super::picture::{Picture, Standing};
use super::{DumpedOperation, Dumps, Work};

/// How a rank stands in a communicator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CellState {
    /// Nothing is open, and nothing that peers wait in is missing.
    Done,
    /// It left no dump, or one that is empty or cannot be relied on.
    NoDump,
    /// Its records do not tell: what it did there is lost, or of an earlier moment.
    Unclear,
    /// It holds an operation that has not ended.
    Pending,
    /// It never put on its stream what a peer waits in or has ended.
    NeverEnqueued,
}

impl CellState {
    /// All of them, the least worth a look first: where cells are joined the last of theirs is shown.
    pub const ALL: [Self; 5] = [Self::Done, Self::NoDump, Self::Unclear, Self::Pending, Self::NeverEnqueued];

    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::NoDump => "no dump",
            Self::Unclear => "not told",
            Self::Pending => "pending",
            Self::NeverEnqueued => "never enqueued",
        }
    }
}

/// What is open at a rank in a communicator, or missing there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenOperation {
    /// Its name, for people.
    pub name: String,
    /// Its number.
    pub sequence: u64,
    /// Whether its rank was seen to have begun it; none where that is not recorded, or where it is missing.
    pub started: Option<bool>,
    /// Where in the program it was asked for; of one that is missing, where a peer asked for it.
    pub frame: Option<String>,
    /// How many operations of the communicator are open there, or how many are missing of those that peers have open.
    pub count: u64,
}

/// One rank in one communicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Row of the rank in [`Lattice::ranks`].
    pub rank: u32,
    /// Row of the communicator in [`Lattice::groups`].
    pub group: u32,
    /// How it stands.
    pub state: CellState,
    /// The first operation that is open or missing.
    pub operation: Option<OpenOperation>,
    /// Numbers of the last collective enqueued and of the last one that ended, where anything tells them.
    pub last: [Option<u64>; 2],
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LatticeRank {
    /// Rank in the job.
    pub rank: u32,
    /// What it is in, in words.
    pub standing: String,
    /// Whom it waits for.
    pub waits_for: BTreeSet<u32>,
}

/// A row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LatticeGroup {
    /// Its name for people.
    pub name: String,
    /// What communicators with the same purpose are called together: the description, else its own name.
    pub kind: String,
    /// How many ranks it has.
    pub ranks: usize,
}

/// Ranks by communicators. Communicators of which nothing at all is recorded are left out.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Lattice {
    /// Columns, by rank.
    pub ranks: Vec<LatticeRank>,
    /// Rows, those of one kind after each other.
    pub groups: Vec<LatticeGroup>,
    /// Cells, by communicator and rank.
    pub cells: Vec<Cell>,
    /// Communicators of which nobody recorded anything.
    pub unused: usize,
}

impl Lattice {
    /// The lattice of some dumps.
    pub fn of(dumps: &Dumps) -> Self {
        let picture = Picture::of(dumps);
        let rows: BTreeMap<u32, u32> = (0..).zip(&picture.ranks).map(|(row, &rank)| (rank, row)).collect();
        let open = open_operations(&picture);
        let asked = asked(&picture);
        let used: BTreeSet<usize> = used(&picture);
        let mut order: Vec<usize> = used.iter().copied().collect();
        order.sort_by_key(|&group| {
            let of = &dumps.groups[group];
            (of.kind().to_owned(), of.ranks.iter().min().copied(), of.name.clone(), group)
        });
        let ranks = picture.ranks.iter().map(|&rank| LatticeRank {
            rank,
            standing: standing(&picture, rank),
            waits_for: picture.waits.get(&rank).map(|set| (**set).clone()).unwrap_or_default(),
        });
        let mut lattice =
            Self { ranks: ranks.collect(), unused: dumps.groups.len() - used.len(), ..Self::default() };
        for (row, &group) in (0..).zip(&order) {
            let of = &dumps.groups[group];
            lattice.groups.push(LatticeGroup {
                name: of.shown(),
                kind: of.kind().to_owned(),
                ranks: of.ranks.len(),
            });
            let members: BTreeSet<u32> = of.ranks.iter().copied().collect();
            for rank in members {
                let Some(&column) = rows.get(&rank) else { continue };
                let (state, operation) = cell(&picture, &open, asked.get(&group), rank, group);
                let place = picture.places.get(&(rank, group)).copied().unwrap_or_default();
                let last = [place.enqueued, place.ended];
                lattice.cells.push(Cell { rank: column, group: row, state, operation, last });
            }
        }
        lattice
    }
}

impl super::DumpedGroup {
    /// What communicators with the same purpose are called together.
    fn kind(&self) -> &str {
        match self.description.as_str() {
            "" | "undefined" => &self.name,
            told => told,
        }
    }
}

type Open<'a> = BTreeMap<(u32, usize), Vec<&'a DumpedOperation>>;

/// What each rank has open in each communicator, in the order of its program; sends and receives too.
fn open_operations<'a>(picture: &Picture<'a>) -> Open<'a> {
    let mut open: Open<'a> = BTreeMap::new();
    for (&rank, dump) in &picture.dumps {
        for one in dump.operations.iter().filter(|one| !one.completed) {
            open.entry((rank, one.group)).or_default().push(one);
        }
    }
    open.values_mut().for_each(|of| of.sort_by_key(|one| one.record));
    open
}

/// Collectives of each communicator that somebody has open, by number.
fn asked<'a>(picture: &Picture<'a>) -> BTreeMap<usize, BTreeMap<u64, &'a DumpedOperation>> {
    let mut asked: BTreeMap<usize, BTreeMap<u64, &DumpedOperation>> = BTreeMap::new();
    for (&(_, group), pending) in &picture.pending {
        let of = asked.entry(group).or_default();
        for (&number, &one) in pending {
            of.entry(number).or_insert(one);
        }
    }
    asked
}

/// Communicators of which anything is recorded.
fn used(picture: &Picture<'_>) -> BTreeSet<usize> {
    let counted = picture.places.iter().filter(|(_, place)| place.enqueued.is_some_and(|last| last > 0));
    let recorded = picture.of.dumps.iter().flat_map(|dump| &dump.operations).map(|one| one.group);
    counted.map(|((_, group), _)| *group).chain(recorded).collect()
}

fn cell(
    picture: &Picture<'_>,
    open: &Open<'_>,
    asked: Option<&BTreeMap<u64, &DumpedOperation>>,
    rank: u32,
    group: usize,
) -> (CellState, Option<OpenOperation>) {
    if !picture.dumps.contains_key(&rank) || picture.of.unsure.contains(&rank) {
        return (CellState::NoDump, None);
    }
    if let Some(of) = open.get(&(rank, group))
        && let Some(first) = of.first()
    {
        let told = OpenOperation {
            name: first.name.clone(),
            sequence: first.sequence,
            started: first.started,
            frame: first.frame.clone(),
            count: of.len() as u64,
        };
        return (CellState::Pending, Some(told));
    }
    if picture.torn.contains_key(&rank) {
        return (CellState::Unclear, None);
    }
    let mut missing = asked.into_iter().flatten();
    if let Some((&sequence, one)) = missing.find(|(number, _)| picture.never_came(rank, group, **number)) {
        let told = OpenOperation {
            name: one.name.clone(),
            sequence,
            started: None,
            frame: one.frame.clone(),
            count: 1 + missing.count() as u64,
        };
        return (CellState::NeverEnqueued, Some(told));
    }
    let place = picture.places.get(&(rank, group)).copied().unwrap_or_default();
    let counts = picture.dumps[&rank].status.get(&group);
    let lost = counts.is_some_and(|(enqueued, completed)| enqueued.is_some() && enqueued != completed);
    let has_peers = picture.dumps[&rank]
        .operations
        .iter()
        .any(|one| one.group == group && matches!(one.work, Work::Peers(_)));
    match place.enqueued.is_some() && !lost || has_peers {
        true => (CellState::Done, None),
        false => (CellState::Unclear, None),
    }
}

/// What a rank is in, in words.
fn standing(picture: &Picture<'_>, rank: u32) -> String {
    if let Some(Standing::In(front)) = picture.standing.get(&rank) {
        let group = picture.of.groups[front.group].shown();
        return format!("in {} {} of {group}", front.name, front.sequence);
    }
    if picture.is_idle(rank) {
        return "has nothing pending".into();
    }
    let told = if picture.of.empty.contains(&rank) {
        "its dump is empty"
    } else if !picture.dumps.contains_key(&rank) {
        "left no dump"
    } else if picture.of.unsure.contains(&rank) {
        "what it did last cannot be read in its dump"
    } else if picture.torn.contains_key(&rank) {
        "its dump is, or may be, of an earlier moment"
    } else {
        "its counts say that something is open of which no record is left"
    };
    told.into()
}

#[cfg(test)]
mod tests {
    use super::super::{DumpedGroup, RankDump};
    use super::*;

    fn operation(group: usize, sequence: u64, completed: bool) -> DumpedOperation {
        DumpedOperation {
            group,
            sequence,
            record: sequence,
            work: Work::Whole,
            name: "all-reduce".into(),
            call: None,
            started: None,
            completed,
            given_up: false,
            created_ns: sequence,
            last_ns: sequence,
            timeout_ns: None,
            frame: Some("train.py:7 step".into()),
        }
    }

    fn group(name: &str, description: &str, ranks: &[u32]) -> DumpedGroup {
        DumpedGroup { name: name.into(), description: description.into(), ranks: ranks.into() }
    }

    fn dumps() -> Dumps {
        let rank = |rank: u32, operations: Vec<DumpedOperation>, status: &[(usize, u64, u64)]| RankDump {
            rank,
            operations,
            status: status.iter().map(|&(group, last, ended)| (group, (Some(last), Some(ended)))).collect(),
            ..RankDump::default()
        };
        Dumps {
            groups: vec![
                group("9", "undefined", &[0, 1, 2, 3]),
                group("2", "TP", &[2, 3]),
                group("1", "TP", &[0, 1]),
                group("8", "never used", &[0, 1]),
            ],
            dumps: vec![
                rank(0, vec![operation(0, 8, false), operation(0, 9, false)], &[(0, 9, 7), (2, 4, 4)]),
                rank(1, Vec::new(), &[(0, 7, 7), (2, 4, 4)]),
                rank(2, vec![operation(0, 8, false)], &[(0, 8, 7), (1, 5, 4)]),
            ],
            ..Dumps::default()
        }
    }

    #[test]
    fn a_cell_says_what_is_open_and_what_is_missing() {
        let lattice = Lattice::of(&dumps());
        let names: Vec<&str> = lattice.groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["communicator 9", "TP 1", "TP 2"]);
        assert_eq!(
            lattice.groups.iter().map(|group| group.kind.as_str()).collect::<Vec<_>>(),
            ["9", "TP", "TP"]
        );
        assert_eq!(lattice.unused, 1);
        use CellState::{Done, NeverEnqueued, NoDump, Pending, Unclear};
        let states: Vec<(u32, u32, CellState)> =
            lattice.cells.iter().map(|cell| (cell.group, cell.rank, cell.state)).collect();
        let expected = [
            (0, 0, Pending),
            (0, 1, NeverEnqueued),
            (0, 2, Pending),
            (0, 3, NoDump),
            (1, 0, Done),
            (1, 1, Done),
            // Its counts say that number 5 is open, and no record of it is left.
            (2, 2, Unclear),
            (2, 3, NoDump),
        ];
        assert_eq!(states, expected);
        let missing = lattice.cells[1].operation.as_ref().unwrap();
        assert_eq!(
            (missing.sequence, missing.count, missing.frame.as_deref()),
            (8, 2, Some("train.py:7 step"))
        );
        assert_eq!(lattice.cells[1].last, [Some(7), Some(7)]);
        let open = lattice.cells[0].operation.as_ref().unwrap();
        assert_eq!((open.sequence, open.count), (8, 2));
        let standing: Vec<&str> = lattice.ranks.iter().map(|rank| rank.standing.as_str()).collect();
        let waiting = "in all-reduce 8 of communicator 9";
        assert_eq!(standing, [waiting, "has nothing pending", waiting, "left no dump"]);
        assert_eq!(lattice.ranks[0].waits_for, [1, 3].into());
    }
}
