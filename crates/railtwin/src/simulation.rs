//! Replicates of a case, simulated.
use railtwin_engine::RunLog;
use railtwin_units::SimTime;

use crate::fault_states::Span;
use crate::nic_ports::NicPorts;
use crate::stops::Stop;

/// One replicate in short.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Replicate {
    /// Start and duration of every step of every job: job, step, start, duration.
    pub steps: Vec<(usize, u32, SimTime, SimTime)>,
    /// By row of `steps`: where the step lies among the faults.
    pub spans: Vec<Span>,
    /// Bus bandwidth of every operation of jobs that run one collective: job, bits per second, where the operation lies.
    pub busbw: Vec<(usize, f64, Span)>,
    /// When the state of the run changes first after its start; none where no fault begins or ends before its last end.
    pub first_change: Option<SimTime>,
    /// Operations that never ended.
    pub unfinished: u64,
    /// Whether simulated time came to its end while something still moved.
    pub time_up: bool,
    /// By job: why it did not end; none where it did.
    pub stops: Vec<Option<Stop>>,
    /// Bytes over what it could have carried, of the most used network link.
    pub worst_link_utilization: f64,
    /// Utilization of the uplinks of leaves that carried anything; none where none did.
    pub uplinks: Option<crate::links::UplinkUse>,
    /// By job: time of a step of its leading span that each axis alone kept lanes waiting, see [`crate::exposed`].
    pub exposed: Vec<Vec<crate::exposed::AxisTime>>,
    /// How evenly bytes arrived at the ports of NICs; none where NICs have one port.
    pub nic_ports: Option<NicPorts>,
}

/// All replicates of a case.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// In order of their numbers.
    pub replicates: Vec<Replicate>,
    /// The replicate whose first job's step time is the median (the lower one of two); those in which a job did not
    /// end count as longer than all others.
    pub chosen: u32,
    /// Its log.
    pub log: RunLog,
}
