//! What a bundle asks for next, by what it got: the search for its fixed point under a dynamic split
//! ([`crate::dynamic`]).
//!
//! A bundle that asks for more than it can get takes from its own other edges where they share links, so its pace falls by
//! up to several times what it asked too much. Asking by steps swings then, or rests late. Where bundles are few and of
//! many queue pairs each, such as those of rank classes, that is nearly all that happens: each looks for the crossing
//! first, between the most that it was granted and the least that it was not, along the line through the last two that
//! it was not granted. Where many bundles of few queue pairs move each other, such brackets grow old at once, and each
//! goes by steps from the start.

/// Relative error of paces at which the search stops.
pub const SETTLED: f64 = 1e-9;

/// How much more a bundle asks for at first, relative to what it got.
const STEP_FIRST: f64 = 0.5;
/// How much less more a bundle asks for after it did not get all.
const STEP_DOWN: f64 = 0.5;
/// How much more more after it did. Slowly: bundles that each take back what the other gave would swing.
const STEP_UP: f64 = 1.2;
/// The same in a search that takes long, because a small step has far to go.
const STEP_UP_LATE: f64 = 1.5;
/// When a search by steps takes long.
const ROUNDS_LATE: usize = 150;
/// Least that a bundle asks for more, so that one that could go on does.
const STEP_LEAST: f64 = SETTLED / 4.0;

/// Bundles up to which each looks for its crossing first, whatever their queue pairs.
const FEW_BUNDLES: usize = 8;
/// Queue pairs of a bundle from which on each does, whatever their number.
const MANY_STRANDS: usize = 256;
/// Rounds after which those that look for their crossing go by steps: `classes_of_many_queue_pairs_come_to_rest_soon` needs
/// fewer in nine of ten draws.
const ROUNDS_CROSSING: usize = 64;
/// Share of the gap above the crossing at which a bundle asks next, so that it falls short again.
const CLOSER: f64 = 0.25;
/// No more above it than so many times what the crossing moved since it was last told.
const MOVED: f64 = 4.0;
/// Most by which pace falls for what is asked more.
const STEEPEST: f64 = 1e3;
/// What was granted no longer is where a bundle falls short by so many times what it asked more than that.
const STALE: f64 = 10.0;
/// Grants in a row after which what was not granted may be now.
const GRANTS: u32 = 3;

/// Whether a bundle got less than it asked for.
pub(crate) fn is_short(asked: f64, pace: f64) -> bool {
    pace < asked * (1.0 - SETTLED / 64.0)
}

/// What one bundle knows of its crossing.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    /// Most that it asked for and got.
    granted: f64,
    /// What it asked for last and did not get, and its pace then.
    short: Option<(f64, f64)>,
    /// By how much its pace changes for what it asks more, at most 0.
    slope: f64,
    /// Where the line through what it did not get crosses.
    crossing: f64,
    /// Grants since it last fell short.
    grants: u32,
    /// Whether nobody else moves, so that nothing known grows old.
    alone: bool,
}

/// The search of one bundle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seek {
    step: f64,
    bracket: Option<Bracket>,
}

impl Seek {
    /// Before the first round, of so many bundles with so many queue pairs together.
    pub(crate) fn new(bundles: usize, strands: usize) -> Self {
        let (crossing, alone) = (f64::INFINITY, bundles == 1);
        let none = Bracket { granted: 0.0, short: None, slope: 0.0, crossing, grants: 0, alone };
        let crosses = bundles <= FEW_BUNDLES || strands >= MANY_STRANDS * bundles;
        Self { step: STEP_FIRST, bracket: crosses.then_some(none) }
    }

    /// What to ask for after `round` rounds, the last of which gave `pace` of what was `asked`.
    pub(crate) fn next(&mut self, asked: f64, pace: f64, round: usize) -> f64 {
        let Some(mut bracket) = self.bracket else { return self.by_steps(asked, pace, round) };
        if round >= ROUNDS_CROSSING {
            *self = Self { step: STEP_FIRST, bracket: None };
            return self.by_steps(asked, pace, round);
        }
        let next = if is_short(asked, pace) {
            self.step = (self.step * STEP_DOWN).max(STEP_LEAST);
            bracket.fell_short(asked, pace, self.step)
        } else {
            let (next, gap) = bracket.was_granted(asked);
            self.step = self.step.max(gap / asked).min(STEP_FIRST);
            next.unwrap_or_else(|| {
                self.step = (self.step * STEP_UP).clamp(STEP_LEAST, STEP_FIRST);
                asked * (1.0 + self.step)
            })
        };
        self.bracket = Some(bracket);
        next
    }

    fn by_steps(&mut self, asked: f64, pace: f64, round: usize) -> f64 {
        let up = if round < ROUNDS_LATE { STEP_UP } else { STEP_UP_LATE };
        let factor = if is_short(asked, pace) { STEP_DOWN } else { up };
        self.step = (self.step * factor).clamp(STEP_LEAST, STEP_FIRST);
        pace * (1.0 + self.step)
    }
}

impl Bracket {
    /// What to ask for after falling short, at most `step` above the crossing.
    fn fell_short(&mut self, asked: f64, pace: f64, step: f64) -> f64 {
        self.grants = 0;
        if !asked.is_finite() {
            self.crossing = pace;
            return pace * (1.0 + step);
        }
        if !self.alone && asked - pace > STALE * (asked - self.granted) {
            self.granted = 0.0;
        }
        if let Some((before, had)) = self.short
            && (before - asked).abs() > asked * 1e-13
        {
            self.slope = ((had - pace) / (before - asked)).clamp(-STEEPEST, 0.0);
        }
        self.short = Some((asked, pace));
        let crossing = (asked - (asked - pace) / (1.0 - self.slope)).max(self.granted);
        let moved = (crossing - self.crossing).abs();
        self.crossing = crossing;
        let above = (CLOSER * (asked - crossing)).min(MOVED * moved).min(crossing * step);
        // At the least so that it falls short by what it would without a slope.
        crossing + above.max(crossing * STEP_LEAST / (1.0 - self.slope))
    }

    /// What to ask for after getting all, where something is known that was not granted; and how far that is.
    fn was_granted(&mut self, asked: f64) -> (Option<f64>, f64) {
        self.granted = asked;
        self.grants += 1;
        let Some((short, _)) = self.short else { return (None, 0.0) };
        if short <= asked * (1.0 + 8.0 * STEP_LEAST) || (!self.alone && self.grants >= GRANTS) {
            self.short = None;
            return (None, short - asked);
        }
        let above = CLOSER * (short - self.crossing);
        let next = if self.crossing > asked { self.crossing + above } else { f64::midpoint(asked, short) };
        (Some(next), next - asked)
    }
}
