//! Tasks of a host's agenda: kind in the top byte.

pub(crate) const WAKE: u64 = 1 << 56;
pub(crate) const TIMER: u64 = 2 << 56;
pub(crate) const DRAINED: u64 = 3 << 56;
pub(crate) const DELIVER: u64 = 4 << 56;
pub(crate) const CLEARED: u64 = 5 << 56;
pub(crate) const ENDED: u64 = 6 << 56;
pub(crate) const BEGIN: u64 = 7 << 56;
pub(crate) const CROSS: u64 = 8 << 56;
pub(crate) const PACED: u64 = 9 << 56;
/// The latency that hosts add to the operation of a seat is over.
pub(crate) const LATENT: u64 = 10 << 56;
/// The timer of clearances that nobody has told of having heard.
pub(crate) const UNHEARD: u64 = 11 << 56;
/// A survey begins.
pub(crate) const SURVEY: u64 = 12 << 56;
/// What was probed is answered by now or given up.
pub(crate) const GIVE_UP: u64 = 13 << 56;
/// The processes of a job are ended.
pub(crate) const QUIT: u64 = 14 << 56;
/// What crosses PCIe of a host with PCIe switches may be over.
pub(crate) const MOVED: u64 = 15 << 56;
pub(crate) const KIND: u64 = 0xFF << 56;

/// Whether a task has to do with work: neither with probes nor with ports that look whether there is anything to send.
/// What is under way has timers, beside the end of its processes.
pub(crate) const fn is_work(task: u64) -> bool {
    !matches!(task & KIND, WAKE | SURVEY | GIVE_UP | QUIT)
}
