//! Figures of the lifetimes of a job.
use railtwin_reliability::downtime::{Account, Part};
use railtwin_reliability::lifetime::progress::hours;
use railtwin_reliability::lifetime::{Finder, Lifetime, Lifetimes, Spread, Standstill};
use railtwin_store::Figure;
use railtwin_units::SimTime;

use crate::figures::declared::{Declared, life as declared};

/// A share of the time of a lifetime.
pub(super) type Share = fn(&Account) -> f64;

/// The parts of the time of a lifetime, which sum up to all of it, each with its figure.
pub(super) static PARTS: [(Declared, Share); 8] = [
    (declared::POST_CHECKPOINT, |a| a[Part::PostCheckpoint]),
    (declared::DETECTION, |a| a[Part::Detection]),
    (declared::DIAGNOSIS, Account::diagnosis),
    (declared::REINITIALISATION, |a| a[Part::Reinitialisation]),
    (declared::WAITING, |a| a[Part::Waiting]),
    (declared::CHECKPOINTING, |a| a[Part::Checkpointing]),
    (declared::SLOW, |a| a[Part::SlowCommunication] + a[Part::SlowOther]),
    (declared::PRODUCTIVE, |a| a[Part::Productive]),
];

/// A count of a lifetime.
type Counted<'a> = &'a dyn Fn(&Lifetime) -> f64;

/// Returns the figures of a job's lifetimes: medians over them.
pub fn figures(life: &Lifetimes) -> Vec<Figure> {
    let note = match &life.lives[..] {
        [_] if life.is_followed => format!("of the run, {}", crate::stops::moment(life.span)),
        [first, .., last] => format!(
            "median of {} lives of {:.0} h, seeds {} to {}",
            life.lives.len(),
            hours(life.span),
            first.seed,
            last.seed,
        ),
        lives => format!("one life of {:.0} h, seed {}", hours(life.span), lives[0].seed),
    };
    let downtime = life.share(Account::downtime);
    let mut all = vec![
        banded(declared::DOWNTIME, downtime, &note),
        declared::DOWNTIME_LEAST.figure(downtime.least, &note),
        declared::DOWNTIME_MOST.figure(downtime.most, &note),
    ];
    all.push(declared::LIVES.figure(life.lives.len() as f64, &note));
    all.extend(PARTS.iter().map(|(of, part)| banded(*of, life.share(part), &note)));
    let crashes = |lived: &Lifetime| f64::from(lived.crashes());
    let swaps = |lived: &Lifetime| lived.done.iter().filter(|row| row.action.name() == "swap").count() as f64;
    let counts: [(Declared, Counted<'_>); 4] = [
        (declared::CRASHES, &crashes),
        (declared::SWAPS, &swaps),
        (declared::ACCUSED, &|lived| f64::from(lived.accused)),
        (declared::STEPS, &|lived| lived.steps as f64),
    ];
    all.extend(counts.map(|(of, count)| banded(of, life.spread(count), &note)));
    let out = life.spread(|lived| f64::from(lived.out_most)).most;
    all.push(declared::OUT_MOST.figure(out, "in any of the lives"));
    let rows = || life.lives.iter().flat_map(|lived| &lived.standstills);
    let seen = || rows().filter(|row| matches!(row.finder, Finder::Detectors | Finder::Watchdog));
    let after =
        |row: &Standstill, until: Option<SimTime>| until.map(|until| until.since(row.failed).seconds());
    let times = |of: Declared, most: bool, spread: Option<Spread>| {
        let value = spread.map(|spread| if most { spread.most } else { spread.median });
        let none = match rows().next() {
            None => "the job never stood still",
            Some(_) => "nobody had to find out, or not before the end",
        };
        let note = if life.is_followed { "all crashes" } else { "all crashes of all lives" };
        of.given(value.ok_or_else(|| none.to_owned()), note)
    };
    let detected = Spread::of(seen().filter_map(|row| after(row, row.detected)));
    let again = Spread::of(rows().filter_map(|row| after(row, row.restarted)));
    all.push(times(declared::DETECTED_AFTER, false, detected));
    all.push(times(declared::DETECTED_AFTER_MOST, true, detected));
    all.push(times(declared::AGAIN_AFTER, false, again));
    let ratio = life.step_with_spares.seconds() / life.step.seconds();
    let note = match life.is_followed {
        true => "steps after the last restart",
        false => "one run on the hosts that the shown life ends with",
    };
    all.push(declared::SPARE_STEP_RATIO.figure(ratio, note));
    all
}

/// The median over lives, with the least and the most as its bounds where there are several values.
fn banded(of: Declared, spread: Spread, note: &str) -> Figure {
    let [low, high] = [spread.least, spread.most].map(|bound| (spread.least < spread.most).then_some(bound));
    Figure { low, high, ..of.figure(spread.median, note) }
}
