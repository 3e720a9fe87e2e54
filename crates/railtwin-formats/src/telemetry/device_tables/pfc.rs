//! SONiC's `show pfcwd stats` (PFC watchdog) and `show pfc counters`.

/// The state of a queue, as the watchdog reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PfcQueue {
    /// The port, such as `Ethernet6`.
    pub port: String,
    /// The queue.
    pub queue: u32,
    /// Whether a storm lasts.
    pub is_stormed: bool,
    /// Storms that were detected.
    pub detected: u64,
    /// Storms that are over.
    pub restored: u64,
    /// Packets that were dropped while stormed: sent and received.
    pub dropped: u64,
    /// Line of the text, from 1 on.
    pub line: u64,
}

/// Pause frames of a port and a priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PfcPauses {
    /// The port.
    pub port: String,
    /// The priority.
    pub priority: u32,
    /// Whether the switch sent them; else it received them.
    pub is_sent: bool,
    /// Frames since the counters were cleared.
    pub frames: u64,
}

/// Both tables of a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PfcTables {
    /// The switch.
    pub switch: String,
    /// Queues by the watchdog.
    pub queues: Vec<PfcQueue>,
    /// Counters that are not 0.
    pub pauses: Vec<PfcPauses>,
}

fn is_watchdog_head(line: &str) -> bool {
    line.contains("STORM DETECTED/RESTORED") && line.trim_start().starts_with("QUEUE")
}

/// Whether a line heads a table of counters: of frames that were sent, or received.
fn counters_head(line: &str) -> Option<bool> {
    let line = line.trim_start();
    line.contains("PFC0").then_some(())?;
    let is_sent = line.starts_with("Port Tx");
    (is_sent || line.starts_with("Port Rx")).then_some(is_sent)
}

pub(super) fn is_pfc(text: &str) -> bool {
    text.lines().any(|line| is_watchdog_head(line) || counters_head(line).is_some())
}

fn number(text: &str) -> Option<u64> {
    text.replace(',', "").parse().ok()
}

pub(super) fn read(text: &str, switch: String) -> Option<PfcTables> {
    let mut found = PfcTables { switch, ..PfcTables::default() };
    let (mut is_watchdog, mut is_sent, mut rows) = (false, None, 0_usize);
    for (line, at) in text.lines().zip(1_u64..) {
        if is_watchdog_head(line) {
            (is_watchdog, is_sent) = (true, None);
        } else if let Some(sent) = counters_head(line) {
            (is_watchdog, is_sent) = (false, Some(sent));
        } else if is_watchdog && let Some(queue) = queue_row(line, at) {
            found.queues.push(queue);
            rows += 1;
        } else if let Some(pauses) = is_sent.and_then(|is_sent| pause_row(line, is_sent)) {
            found.pauses.extend(pauses);
            rows += 1;
        }
    }
    (rows > 0).then_some(found)
}

/// `Ethernet6:3  stormed   2/1   0/46416  11240/361565   0/69   8499/316169`.
fn queue_row(line: &str, at: u64) -> Option<PfcQueue> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [place, state, counts, sent, received, ..] = words[..] else { return None };
    let (port, queue) = place.rsplit_once(':')?;
    let pair = |text: &str| {
        let (first, second) = text.split_once('/')?;
        Some((number(first)?, number(second)?))
    };
    let (detected, restored) = pair(counts)?;
    let (_, sent) = pair(sent)?;
    let (_, received) = pair(received)?;
    Some(PfcQueue {
        port: port.to_owned(),
        queue: queue.parse().ok()?,
        is_stormed: state.eq_ignore_ascii_case("stormed"),
        detected,
        restored,
        dropped: sent.saturating_add(received),
        line: at,
    })
}

/// `Ethernet6       0       0       0  15,437 …`: counters that are not 0.
fn pause_row(line: &str, is_sent: bool) -> Option<Vec<PfcPauses>> {
    let mut words = line.split_whitespace();
    let port = words.next().filter(|word| word.starts_with(|letter: char| letter.is_ascii_alphabetic()))?;
    let frames: Vec<u64> = words.map(number).collect::<Option<_>>()?;
    (frames.len() == 8).then_some(())?;
    let counted = (0_u32..).zip(frames).filter(|(_, frames)| *frames > 0);
    Some(
        counted
            .map(|(priority, frames)| PfcPauses { port: port.to_owned(), priority, is_sent, frames })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_and_pauses_are_read() {
        let text = "      QUEUE       STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP\n-----------  -----------\n\
                    Ethernet6:3  \
                    stormed  2/1  0/46416  11240/361565  0/69  8499/316169\n    Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    \
                    PFC6    PFC7\n  Ethernet6  0  0  0  15,437  0  0  0  0\n";
        assert!(is_pfc(text));
        let found = read(text, "leaf1".into()).expect("tables");
        assert_eq!((found.queues[0].is_stormed, found.queues[0].dropped), (true, 46_416 + 361_565));
        let pauses = PfcPauses { port: "Ethernet6".into(), priority: 3, is_sent: false, frames: 15_437 };
        assert_eq!(found.pauses, [pauses]);
    }
}
