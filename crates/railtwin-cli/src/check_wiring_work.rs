//! The work on wrong cables by the device at which it is done.
use railtwin_diagnosis::wiring::{Audit, CableFault, CableMove, MoveAction};
use railtwin_fabric::cable_list::natural;

/// A move at a device.
pub(crate) struct Work {
    /// Rack of the device, where the blueprint has it.
    pub(crate) rack: Option<String>,
    /// The device.
    pub(crate) device: String,
    /// Number of the repair and of the move in it, each from 1.
    pub(crate) label: [usize; 2],
    /// What is to be done, without the label.
    pub(crate) what: String,
    /// Whether a port of it was not seen.
    pub(crate) presumed: bool,
}

/// All moves by rack, device and port.
pub(crate) fn work_of(audit: &Audit<'_>) -> Vec<Work> {
    let mut all = Vec::new();
    for (number, repair) in (1..).zip(&audit.repairs) {
        for (step, one) in (1..).zip(&repair.moves) {
            let device = audit.device_of(one.from);
            let work = Work {
                rack: audit.rack(device).map(str::to_owned),
                device: audit.device_name(device).to_owned(),
                label: [number, step],
                what: sentence(audit, one),
                presumed: one.presumed,
            };
            let key = (
                work.rack.as_deref().map(natural),
                natural(&work.device),
                natural(&audit.port_name(one.from)),
            );
            all.push((key, work));
        }
    }
    all.sort_by(|(a, first), (b, second)| a.cmp(b).then(first.label.cmp(&second.label)));
    all.into_iter().map(|(_, work)| work).collect()
}

/// A move in words.
fn sentence(audit: &Audit<'_>, one: &CableMove) -> String {
    let [stays, from, to] = [one.stays, one.from, one.to].map(|port| audit.port_name(port));
    match one.action {
        MoveAction::Move => format!("move the end at {from} to {to} (the other end stays at {stays})"),
        MoveAction::TakeOut => format!("take out the cable between {from} and {stays}"),
        MoveAction::Lay => format!("lay a cable between {from} and {stays}"),
    }
}

/// A wrong cable in words: its kinds, its ends as seen, and as planned.
pub(crate) fn fault_rows(audit: &Audit<'_>, fault: &CableFault) -> (String, Vec<String>) {
    let kinds: Vec<&str> = fault.kinds.iter().map(|kind| kind.name()).collect();
    let planned = |end: Option<u32>| end.map_or("free".to_owned(), |port| audit.port_name(port));
    let rows = match fault.seen {
        Some(seen) => {
            let ends = seen.iter().zip(fault.planned).zip([seen[1], seen[0]]);
            let row = |((&port, plan), far): ((&u32, Option<u32>), u32)| {
                format!("{}: seen {}, planned {}", audit.port_name(port), audit.port_name(far), planned(plan))
            };
            ends.map(row).collect()
        }
        None => vec![format!(
            "planned {} and {}: not there",
            planned(fault.planned[0]),
            planned(fault.planned[1])
        )],
    };
    (kinds.join(", "), rows)
}

/// The answer in one sentence.
pub(crate) fn answer(audit: &Audit<'_>) -> String {
    let (right, unseen) = (audit.right, audit.not_observed.len());
    let count =
        |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let tail = match unseen {
        0 => format!("{} as planned", count(right, "cable is", "cables are")),
        _ => format!("{} as planned, {unseen} not observed", count(right, "cable is", "cables are")),
    };
    match audit.faults.len() {
        0 => format!("well: {tail}"),
        wrong => {
            let moves = count(audit.moves(), "move repairs", "moves repair");
            let them = if wrong == 1 { "it" } else { "them" };
            format!("wrong: {}, {moves} {them}; {tail}", count(wrong, "cable", "cables"))
        }
    }
}
