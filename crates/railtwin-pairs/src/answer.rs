//! The answer: causes with bits, alternatives, members and the next test.
use crate::flows::Exit;
use crate::input::Port;
use crate::shape::FaultShape;

/// Change of bandwidth with the size of messages, beside healthy results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trend {
    /// The same part is lost at all sizes: a link, a NIC or a slow path.
    Constant,
    /// Large sizes lose much more: congestion, loss or pauses.
    FallsWithSize,
    /// Small sizes lose much more: a longer way.
    SmallOnly,
}

/// Another cause that explains the results as well.
#[derive(Clone, PartialEq, Debug)]
pub struct Alternative {
    /// Place of the fault.
    pub shape: FaultShape,
    /// Bits that it saves beyond its price.
    pub bits: f64,
    /// Whether it touches exactly the same tests.
    pub is_same: bool,
    /// Part of the weight of all alternatives, from 0 to 1.
    pub share: f64,
}

/// Evidence that a host belongs to a group, or does not.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Membership {
    /// Index of the host.
    pub host: usize,
    /// Whether it is in the group.
    pub is_member: bool,
    /// Bits that say so.
    pub bits: f64,
}

impl Membership {
    /// Whether the tests tell where the host belongs.
    pub fn is_tested(&self) -> bool {
        self.bits >= crate::TOLD_BITS
    }
}

/// A test between two ports that parts alternatives best.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NextTest {
    /// Both ends.
    pub ports: [Port; 2],
    /// Number of alternatives of which the test would be slow, and number of all.
    pub parts: [usize; 2],
}

/// One cause.
#[derive(Clone, PartialEq, Debug)]
pub struct PairCause {
    /// Place of the fault.
    pub shape: FaultShape,
    /// Bits that it saves beyond its price.
    pub bits: f64,
    /// Confidence from 0 to 1 that the truth is among the alternatives.
    pub confidence: f64,
    /// Bandwidth that is left, by class of tests in which the cause shows.
    pub left: Vec<(String, f64)>,
    /// Change with size.
    pub trend: Trend,
    /// Results of touched tests in these classes, and how many of them are slow.
    pub slow: [usize; 2],
    /// Tests that died in the cause's ways, by way; and number of touched tests of all outcomes.
    pub deaths: Vec<(String, usize)>,
    /// Tests that the cause touches.
    pub touched: usize,
    /// Indices of the tests that it slows or kills.
    pub trials: Vec<usize>,
    /// All causes that explain the same, this one first.
    pub alternatives: Vec<Alternative>,
    /// For a group: evidence for each host.
    pub members: Vec<Membership>,
    /// The test that parts the alternatives best; none where there is one alternative.
    pub next: Option<NextTest>,
}

/// Causes of all slow results and deaths.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// Causes, that with the most bits first.
    pub causes: Vec<PairCause>,
    /// Hosts of each leaf, where bandwidth tells leaves; else empty.
    pub leaves: Vec<Vec<usize>>,
    /// Way of flows out of hosts that explains the results best.
    pub exit: Exit,
    /// Results that were compared.
    pub results: usize,
    /// Slow results and deaths that no cause explains, and number of all.
    pub slow_left: [usize; 2],
    /// Deaths that no cause explains, and number of all.
    pub deaths_left: [usize; 2],
    /// Tests that died and that no cause explains, as indices of the input.
    pub unexplained_deaths: Vec<usize>,
}
