//! `[packet]`: what only the packet engine asks; the flow engine ignores it.
use railtwin_engine::packet::{self, PacketCase};
use railtwin_units::{Bytes, Rate, SimTime};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// What only packets ask. The fields mean what they mean in [`PacketCase`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PacketSpec {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Bytes on the wire beside the payload of each data packet.
    pub header: Bytes,
    /// Bytes on the wire of a packet without payload.
    pub control: Bytes,
    /// Packets for one acknowledgement.
    pub acknowledge_every: u32,
    /// Most bytes of a queue pair in flight.
    pub window: Bytes,
    /// Idle time after which a leaf may move a queue pair, for the balancer `flowlet`.
    pub flowlet: SimTime,
    /// Pause without break after which a port is reported.
    pub watchdog: SimTime,
    /// Share of a switch's buffer from which it is reported.
    pub buffer_alarm: f64,
    /// Width of the samples of queues and pauses; none = no samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<SimTime>,
    /// Packets without payload that go before data, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub priority: Vec<PriorityClass>,
    /// Who slows a sender down before switches pause it.
    #[serde(deserialize_with = "name_or_table")]
    pub congestion_control: CongestionControlSpec,
    /// Receiver-driven admission.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "none_or_table")]
    pub admission: Option<AdmissionSpec>,
    /// A NIC's own limits.
    pub nic: NicLimitsSpec,
}

impl Default for PacketSpec {
    fn default() -> Self {
        let PacketCase { wire, acknowledge_every, window, flowlet, watchdog, buffer_alarm, .. } =
            PacketCase::default();
        Self {
            payload: Bytes(wire.payload.into()),
            header: Bytes(wire.header.into()),
            control: Bytes(wire.control.into()),
            acknowledge_every,
            window: Bytes(window.unwrap_or(u64::MAX)),
            flowlet,
            watchdog,
            buffer_alarm,
            samples: None,
            priority: Vec::new(),
            congestion_control: CongestionControlSpec::None,
            admission: None,
            nic: NicLimitsSpec::default(),
        }
    }
}

impl PacketSpec {
    /// Whether nothing is changed.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Bytes on the wire of a full packet.
    pub(crate) fn packet(&self) -> u64 {
        self.payload.0.saturating_add(self.header.0)
    }
}

railtwin_units::choice! {
    /// Packets without payload that may go before data.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PriorityClass {
        /// Acknowledgements.
        Acknowledgements = "acknowledgements",
        /// Clear-to-send of [`AdmissionSpec`].
        ClearToSend = "clear-to-send",
    }
}

/// Receiver-driven admission (Meta RoCE section 5.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmissionSpec {
    /// Buffers of a connection.
    pub channels: u32,
    /// Bytes of each.
    pub buffer: Bytes,
    /// Rate at which the receiver copies a buffer out.
    pub copy: Rate,
}

/// A NIC's own limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NicLimitsSpec {
    /// Bytes that wait for PCIe before the NIC pauses its leaf.
    pub receive_buffer: Bytes,
    /// Time between two CNPs for one queue pair.
    pub cnp_interval: SimTime,
}

impl Default for NicLimitsSpec {
    fn default() -> Self {
        let packet::NicModel { receive_buffer, cnp_interval } = packet::NicModel::default();
        Self { receive_buffer: Bytes(receive_buffer), cnp_interval }
    }
}

/// Who slows a sender down before switches pause it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CongestionControlSpec {
    /// Nobody.
    None,
    /// DCQCN.
    Dcqcn(DcqcnSpec),
    /// HPCC.
    Hpcc(HpccSpec),
    /// Windows over sprayed packets and switches that trim.
    Trimmed(TrimmedSpec),
}

impl CongestionControlSpec {
    /// The names in scenarios.
    pub const NAMES: [&'static str; 4] = ["none", "dcqcn", "hpcc", "trimmed"];
}

/// DCQCN's reaction point; the fields mean what they mean in [`packet::Dcqcn`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // the fields of `Dcqcn`, one to one
pub struct DcqcnSpec {
    pub gain: f64,
    pub alpha_timer: SimTime,
    pub increase_timer: SimTime,
    pub byte_counter: Bytes,
    pub recovery_rounds: u32,
    pub additive: Rate,
    pub hyper: Rate,
    pub minimum: Rate,
}

impl Default for DcqcnSpec {
    fn default() -> Self {
        let packet::Dcqcn {
            gain,
            alpha_timer,
            increase_timer,
            byte_counter,
            recovery_rounds,
            additive,
            hyper,
            minimum,
        } = packet::Dcqcn::default();
        let byte_counter = Bytes(byte_counter);
        Self { gain, alpha_timer, increase_timer, byte_counter, recovery_rounds, additive, hyper, minimum }
    }
}

/// HPCC; the fields mean what they mean in [`packet::Hpcc`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // the fields of `Hpcc`, one to one
pub struct HpccSpec {
    pub target: f64,
    pub stages: u32,
    pub additive: Rate,
}

impl Default for HpccSpec {
    fn default() -> Self {
        let packet::Hpcc { target, stages, additive } = packet::Hpcc::default();
        Self { target, stages, additive }
    }
}

/// Windows over switches that trim; the fields mean what they mean in [`packet::Trimmed`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)] // the fields of `Trimmed`, one to one
pub struct TrimmedSpec {
    pub window: f64,
    pub additive: f64,
    pub decrease: f64,
}

impl Default for TrimmedSpec {
    fn default() -> Self {
        let packet::Trimmed { window, additive, decrease } = packet::Trimmed::default();
        Self { window, additive, decrease }
    }
}

/// A table, or the `kind` alone for one with all defaults.
fn name_or_table<'de, D: Deserializer<'de>>(input: D) -> Result<CongestionControlSpec, D::Error> {
    let value = match toml::Value::deserialize(input)? {
        toml::Value::String(kind) => toml::Table::from_iter([("kind".to_owned(), kind.into())]).into(),
        table => table,
    };
    value.try_into().map_err(D::Error::custom)
}

/// A table, or the text `none`.
pub(crate) fn none_or_table<'de, D, T>(input: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    match toml::Value::deserialize(input)? {
        toml::Value::String(_) => Ok(None),
        table => table.try_into().map(Some).map_err(D::Error::custom),
    }
}
