//! The packet-level engine: every packet on every link, with queues, pauses, marks and retransmissions.
//!
//! * `places`: which devices there are, and which thread has them; `network`: lines and routes, which do not change;
//!   `program`: the work of each host.
//! * `switch`: routing, queues, `buffer`s with PFC, `credit`s; `host`: `nic`, `sender` with `recovery` of losses, `receiver`, `connection`,
//!   and `worker`, which follows operations; `congestion`: what slows senders down.
//! * `inside`: links of hosts with PCIe switches and ways over them; `pcie`: who has which share of them.
//! * `prober`: packets that probe paths and their answers; `surveys`: a run whose controllers ask for them.
//! * `world`: what a kind of devices is to the machine of windows (`window`, `meeting`, `post`); `roce`: all of the above
//!   as such; [`intranode`]: the other, GPUs inside hosts and switches with credits.
//! * `run`: devices by windows of time, on any number of threads; `log`: what is left behind, `cut_off` of
//!   what came to no end; [`footprint`]: what a run
//!   takes, before it runs.
//!
//! A device acts on its own state alone and sends packets to others, which arrive no sooner than the least time over
//! any link. So all devices can be worked off one after the other, or side by side, for that long: a window. Within
//! a device events are ordered by time, tasks before arrivals, arrivals by port: nothing depends on the order in
//! which devices are worked off.
mod account;
mod agenda;
mod buffer;
mod changes;
mod clearing;
mod closing;
mod congestion;
mod connection;
mod counters;
mod credit;
mod cut_off;
mod departures;
mod device;
mod due;
mod engine;
pub mod footprint;
mod freight;
mod histogram;
mod host;
mod host_task;
mod inbox;
mod inside;
pub mod intranode;
mod levels;
mod live;
mod log;
mod meeting;
mod network;
mod nic;
mod packet;
mod pcie;
mod places;
mod ports;
mod post;
mod prober;
mod program;
mod readings;
mod receiver;
mod recovery;
mod roce;
mod run;
mod sender;
mod slots;
mod surveys;
mod switch;
mod tally;
mod told;
mod weights;
mod window;
mod worker;
mod world;

pub use engine::PacketEngine;
