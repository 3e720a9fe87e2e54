//! Evidence from logs of processes and kernels.
use super::{counted_list, cut_list, seen};

seen! {
    /// Logs of processes and kernels.
    LogSeen in "logs":
    Quoted { text: String } [""] text.clone();
    Unexplained { text: String } [""] text.clone();
    SwitchXid { number: u32, text: String } [""] text.clone();
    PcieLink { device: String, speed: String, at: Option<String>, possible: String } ["Gb/s"] {
        let at = at.as_ref().map_or(String::new(), |at| format!(" at {at}"));
        let possible = if possible.is_empty() { String::new() } else { format!(", {possible} possible") };
        format!("PCIe bandwidth of {device}, limited by {speed}{at}{possible}")
    };
    FatalNvlink { gpu: String, link: u32, number: u32 } [""] format!("NVLink {link} of {gpu} failed, Xid {number}");
    LostChannels { gpus: Vec<String> } ["GPUs"]
        format!("GPUs whose processes lost their channels because of it, victims: {}", cut_list(gpus));
    NotStarted { device: String, driver: String } [""] format!("{driver} gave {device} up at its start");
    RegistrationFailed { device: String, error: i32 } ["lines"]
        format!("memory registrations of {device} that failed with error {error}");
    Ended { how: String } [""] format!("ended with {how}");
    EndedByOthers { ranks: Vec<u32>, first: String } ["ranks"]
        format!("ranks that ended because of others: {}; the first: {first}", cut_list(ranks));
    UnreachableFrom { host: String } [""] format!("hosts that cannot reach {host}, which reports nobody");
    ClosedBy { host: String } [""]
        format!("hosts whose connections to {host} were closed by it, which reports nobody");
    CutOff { host: String } [""] format!("hosts that {host} cannot reach, and that report nobody else");
    MutualReports { hosts: usize } [""]
        format!("hosts of {hosts} that report each other, so that either end or what is between may be it");
    OneReports { host: String, peer: String, rails: usize } ["ports"] {
        let ports = if *rails > 1 { format!(" on {rails} of its ports") } else { String::new() };
        format!("{host} alone reports that transfers with {peer} fail{ports}; {peer} reports nothing")
    };
    LostTransfers { hosts: Vec<String> } [""] if hosts.is_empty() {
        "hosts whose transfers did not arrive, to whom is not told: nothing tells the hosts".to_owned()
    } else {
        format!("hosts whose transfers did not arrive, to whom is not told: {}", cut_list(hosts))
    };
    TimedOut { operation: String, size: String, group: String, after_s: Option<u64>, frame: Option<String>, ranks: Vec<u32> }
        ["ranks"]
    {
        let after = after_s.map_or(String::new(), |seconds| format!(" of {seconds} s"));
        let frame = frame.as_ref().map_or(String::new(), |frame| format!(", asked for at {frame}"));
        let names = if ranks.is_empty() { "not told".to_owned() } else { counted_list(ranks) };
        format!("ranks that waited in {operation}{size}{group} until its time{after} was over{frame}: {names}")
    };
    NoTimeoutLine { below: u32, ranks: Vec<u32> } ["ranks"] format!(
        "ranks below {below} of which no such line is given: they had not come to it or are gone, or their logs are not \
         given: {}",
        counted_list(ranks)
    );
}
