//! Evidence from counters.
use serde::Serialize;

use super::ports::PortClass;
use super::seen;

/// The readings that a count is taken over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Period {
    /// Its last two windows.
    TwoWindows,
    /// The readings around the end of a process.
    Lately,
}

impl Period {
    const fn words(self) -> &'static str {
        match self {
            Self::TwoWindows => "over its last two windows",
            Self::Lately => "lately",
        }
    }
}

/// The end of a connection whose transport errors are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransportSide {
    /// The receiving NIC: packets out of sequence.
    Receiver,
    /// The sending NIC: acknowledgements that time out.
    Sender,
}

impl TransportSide {
    const fn words(self) -> &'static str {
        match self {
            Self::Receiver => "out-of-sequence packets",
            Self::Sender => "local ACK timeouts",
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Receiver => "packets",
            Self::Sender => "timeouts",
        }
    }
}

seen! {
    /// Counters of NICs, switches, GPUs and hosts.
    CounterSeen in "counters":
    ProcessAlive { process: String } [""] format!("process of rank {process} alive");
    EccErrors { gpu: String, period: Period } ["errors"]
        format!("uncorrectable ECC errors of {gpu} {}", period.words());
    NvlinkErrors { gpu: String, period: Period } ["errors"] format!("NVLink errors of {gpu} {}", period.words());
    NewXid { gpu: String, number: u32, meaning: &'static str } [""] format!("Xid of {gpu}, new: {meaning}");
    Xid { gpu: String, number: u32, meaning: &'static str } [""] format!("Xid of {gpu}: {meaning}");
    OutOfMemoryKills { host: String } ["processes"]
        format!("processes of {host} killed for want of memory lately");
    PortsLost { nic: String } [""] format!("ports of {nic} that lost their link lately");
    PortLost { nic: String } [""] format!("link of a port of {nic} lost lately");
    SendersTimedOut { nic: String, senders: usize } [""]
        format!("share of the {senders} NICs that send to {nic} and time out");
    Clock { gpu: String } ["MHz"] format!("clock of {gpu}, beside the median of all GPUs");
    ClockReasons { gpu: String, reasons: String } [""] format!("clock of {gpu} held down by {reasons} (bits)");
    Temperature { gpu: String } ["°C"] format!("temperature of {gpu}");
    LinkUp { port: String } [""] format!("link of the port at {port} up");
    FarLinkUp { port: String } [""] format!("link up at the far end of {port}");
    LinkDownFarUp { port: String } [""] format!("link up at {port}, while its far end says up");
    LinkLosses { port: String } ["losses"]
        format!("losses of link of the port at {port} over its last two windows");
    DamagedPackets { port: String } ["packets"]
        format!("damaged packets that {port} received over its last two windows");
    PausedRun { port: String } ["ns"] format!("time without a break that the port at {port} stood paused");
    PausedShare { port: String } [""] format!("share of time that the port at {port} stood paused");
    PauseFrames { port: String } ["frames"] format!("pause frames that {port} sent over its last two windows");
    ImpairedCables { device: String } ["cables"] format!("cables of {device} in trouble, of those read");
    BufferShare { device: String } [""] format!("share of the buffer of {device} in use at most");
    Drops { device: String, peers: usize } ["packets"]
        format!("packets that {device} dropped over its last two windows, beside {peers} peers");
    SentMeanwhile { device: String } ["B"]
        format!("bytes that {device} sent meanwhile, and the least of a peer that counts");
    TransportErrors { nic: String, side: TransportSide } [side.unit()]
        format!("{} at {nic} over its last two windows", side.words());
    PortGrowth { port: String, counter: String, class: PortClass } ["a minute"]
        format!("growth of {counter} at {port}: {}", class.words());
    PortTotal { port: String, counter: String, class: PortClass } [""]
        format!("{counter} of {port} since its start: {}", class.words());
    NoOtherTraffic {} ["B"]
        "bytes that ports of the suspects sent beyond those of messages: too few to slow them".to_owned();
    OtherTraffic { port: String } ["B"]
        format!("bytes that the port {port} sent beyond those of messages; so many explain the slowness");
}

impl CounterSeen {
    /// The GPU and the number of an Xid.
    pub fn xid(&self) -> Option<(&str, u32, &'static str)> {
        match self {
            Self::Xid { gpu, number, meaning } | Self::NewXid { gpu, number, meaning } => {
                Some((gpu, *number, meaning))
            }
            _ => None,
        }
    }
}
