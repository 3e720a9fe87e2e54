//! `railtwin downtime --plan`: what to expect of a job, from flags and a TOML file.
use std::path::Path;

use clap::Args;
use railtwin_reliability::downtime::{Expected, Plan, Simulated, simulate};
use railtwin_reliability::failure_rates::{Cause, FailureRates, MONTH_H};
use railtwin_store::input;
use railtwin_units::probability::{binomial_above, poisson_above};
use serde_json::{Value, json};

use crate::CliError;
use crate::downtime_lines::LINES;
use crate::downtime_settings::Settings;
use crate::downtime_text::{duration, hours_of, percent};
use crate::table::{TextTable, grouped};

/// Most crashes that are drawn: some seconds.
const MOST_CRASHES: f64 = 2e7;
/// Active and spare hosts of an HPN segment (C4, section III-A).
const SEGMENT: (u32, u32) = (128, 8);

/// Flags of a plan; each is a key of the file and wins over it.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options of a plan")]
pub struct PlanFlags {
    /// Failure rates: c4, llama3, hpn (network alone, one leaf to a NIC) or hpn-dual; own ones stand in a file
    #[arg(long, value_name = "NAME")]
    rates: Option<String>,
    /// A factor on all rates
    #[arg(long, value_name = "NUMBER")]
    rate_factor: Option<String>,
    /// GPUs of the job
    #[arg(long, value_name = "COUNT")]
    gpus: Option<String>,
    /// Work between two checkpoints, such as "10 min"
    #[arg(long, value_name = "TIME")]
    interval: Option<String>,
    /// How long a checkpoint holds the job up
    #[arg(long, value_name = "TIME")]
    checkpoint_cost: Option<String>,
    /// From a failure until somebody knows
    #[arg(long, value_name = "TIME")]
    detection: Option<String>,
    /// From then until the culprit is known
    #[arg(long, value_name = "TIME")]
    diagnosis: Option<String>,
    /// Taking the culprit out
    #[arg(long, value_name = "TIME")]
    isolation: Option<String>,
    /// From the restart until steps run
    #[arg(long, value_name = "TIME")]
    restart: Option<String>,
    /// Spare hosts, or any
    #[arg(long, value_name = "COUNT")]
    spares: Option<String>,
    /// How long a broken host is away
    #[arg(long, value_name = "TIME")]
    repair: Option<String>,
    /// Price of a GPU for an hour
    #[arg(long, value_name = "MONEY")]
    price: Option<String>,
    /// Stretches of the plan's hours that are played by lot
    #[arg(long, value_name = "COUNT")]
    windows: Option<String>,
    /// Seed of the lots
    #[arg(long, value_name = "NUMBER")]
    seed: Option<String>,
}

impl PlanFlags {
    /// The flags that are given, by their key.
    pub(crate) fn given(&self) -> Vec<(&'static str, &str)> {
        let all = [
            ("rates", &self.rates),
            ("rate_factor", &self.rate_factor),
            ("gpus", &self.gpus),
            ("interval", &self.interval),
            ("checkpoint_cost", &self.checkpoint_cost),
            ("detection", &self.detection),
            ("diagnosis", &self.diagnosis),
            ("isolation", &self.isolation),
            ("restart", &self.restart),
            ("spares", &self.spares),
            ("repair", &self.repair),
            ("price", &self.price),
            ("windows", &self.windows),
            ("seed", &self.seed),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?))).collect()
    }
}

/// The plan's answer as JSON and for people.
pub(crate) fn answer(
    file: Option<&str>,
    hours: Option<&str>,
    flags: &[(&'static str, &str)],
) -> Result<(Value, String), CliError> {
    let mut settings = Settings::default();
    if let Some(file) = file {
        let text = input::read_text(Path::new(file)).map_err(|error| {
            CliError::input(format!("cannot read {file}: {error}"), "name a .toml file with a [downtime]")
        })?;
        settings.read(file, &text)?;
    }
    for (key, value) in flags {
        settings.set_flag(key, value)?;
    }
    if let Some(hours) = hours {
        settings.hours = Some(hours_of(hours)?);
    }
    let (windows, seed) = (settings.windows, settings.seed);
    let plan = settings.plan();
    let expected = plan.expected();
    let crashes = plan.hours / expected.mtbf * f64::from(windows + 1);
    if crashes > MOST_CRASHES {
        let message = format!("{windows} windows of this plan see {crashes:.0} crashes");
        return Err(CliError::input(
            message,
            format!("write fewer --windows or --hours: up to {MOST_CRASHES:.0}"),
        ));
    }
    let simulated = simulate(&plan, windows, seed);
    let segment = Segment::of(&plan, &expected);
    let json = json!({
        "plan": plan,
        "expected": expected,
        "simulated": simulated,
        "seed": seed,
        "sensitivity": plan.sensitivity(),
        "segment": {
            "hosts": SEGMENT.0,
            "spares": SEGMENT.1,
            "host_away": segment.away,
            "more_away_than_spares": { "poisson": segment.poisson, "binomial": segment.binomial },
        },
    });
    Ok((json, text_of(&plan, &expected, &simulated, &segment)))
}

/// Whether the spares of a segment of HPN suffice, with hosts that fail like those of the plan.
struct Segment {
    /// Share of the time that a host is away.
    away: f64,
    poisson: f64,
    binomial: f64,
}

impl Segment {
    fn of(plan: &Plan, expected: &Expected) -> Self {
        let (active, spares) = SEGMENT;
        let away = (expected.hosts_away / f64::from(plan.hosts().max(1))).min(1.0);
        // Spares do not run the job and do not fail.
        let mean = away * f64::from(active);
        let out = mean / f64::from(active + spares);
        Self {
            away,
            poisson: poisson_above(mean, spares),
            binomial: binomial_above(active + spares, out, spares),
        }
    }
}

fn text_of(plan: &Plan, expected: &Expected, simulated: &Simulated, segment: &Segment) -> String {
    let parts = [
        inputs(plan, expected).text(),
        shares(plan, expected, simulated).text(),
        answers(plan, expected, simulated, segment).text(),
        sensitivity(plan, expected).text(),
    ];
    parts.join("\n")
}

fn inputs(plan: &Plan, expected: &Expected) -> TextTable {
    let mut table = TextTable::default();
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    let by_cause = |times: &[f64; 5]| match times.iter().all(|time| *time == times[0]) {
        true => duration(times[0]),
        false => {
            let each = Cause::ALL.iter().zip(times);
            each.map(|(cause, time)| format!("{} {}", cause.name(), duration(*time)))
                .collect::<Vec<_>>()
                .join(", ")
        }
    };
    row("job", format!("{} GPUs on {} hosts", grouped(plan.gpus), grouped(plan.hosts())));
    let monthly = plan.rates.per_hour(f64::from(plan.gpus)) * MONTH_H;
    let mtbf = duration(expected.mtbf);
    let rates = format!("{}: {monthly:.3} in a running month, one every {mtbf}", plan.rates.name);
    row("failures", rates);
    row("checkpoint", format!("every {} for {}", duration(plan.interval), duration(plan.checkpoint_cost)));
    row("detection", by_cause(&plan.detection));
    row("diagnosis", by_cause(&plan.diagnosis));
    row("isolation, restart", format!("{}, {}", duration(plan.isolation), duration(plan.restart)));
    let spares = plan.spares.map_or("any number".to_owned(), grouped);
    row("spare hosts", format!("{spares}; repair {}", duration(plan.repair)));
    row("watched", duration(plan.hours));
    table
}

fn shares(plan: &Plan, expected: &Expected, simulated: &Simulated) -> TextTable {
    let mut table = TextTable::default();
    let head = ["", "expected", "hours", "by lot", "standard error"];
    table.row(head.map(str::to_owned));
    for (name, of) in LINES.iter().filter(|(name, _)| !name.starts_with("slow")) {
        let share = of(&expected.shares);
        // The error of a sum is not the sum of errors.
        let is_sum = ["downtime", "diagnosis and isolation"].contains(name);
        table.row([
            (*name).to_owned(),
            percent(share),
            format!("{:.2}", share * plan.hours),
            percent(of(&simulated.shares)),
            if is_sum { String::new() } else { percent(of(&simulated.error)) },
        ]);
    }
    table
}

fn answers(plan: &Plan, expected: &Expected, simulated: &Simulated, segment: &Segment) -> TextTable {
    let mut table = TextTable::default();
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row("crashes", format!("{:.2}; by lot {:.2}", expected.crashes, simulated.crashes));
    let [low, median, high] = simulated.downtime.map(percent);
    row("downtime of a window", format!("{median}; nine of ten from {low} to {high}"));
    row("money lost", format!("{:.0} of {:.0}", expected.money_lost, expected.money));
    row("money of a crash", format!("{:.0}", expected.money_per_crash));
    let [best, daly, young] = expected.best_interval.map(duration);
    row("best checkpoint interval", format!("{best} (Daly {daly}, Young {young})"));
    let now = percent(plan.lost());
    row("lost with it", format!("{} rather than {now}", percent(expected.lost_at_best)));
    row("hosts away on average", format!("{:.3}", expected.hosts_away));
    if let (Some([poisson, binomial]), Some(spares)) = (expected.spares_run_out, plan.spares) {
        let chances = format!("{poisson:.3e} (Poisson), {binomial:.3e} (binomial)");
        row(&format!("more than {spares} away"), chances);
    }
    let (active, spares) = SEGMENT;
    let chances = format!("{:.3e} (Poisson), {:.3e} (binomial)", segment.poisson, segment.binomial);
    row(&format!("more than {spares} of {} away", active + spares), chances);
    table
}

fn sensitivity(plan: &Plan, expected: &Expected) -> TextTable {
    let mut table = TextTable::default();
    let now = 1.0 - expected.shares[railtwin_reliability::downtime::Part::Productive];
    table.row(["lost with".to_owned(), "half".to_owned(), percent(now), "twice".to_owned()]);
    for input in plan.sensitivity() {
        let change = |lost: f64| format!("{:+.2}", (lost - now) * 100.0);
        let name = input.input.to_owned();
        table.row([
            name,
            percent(input.half),
            format!("{} {}", change(input.half), change(input.twice)),
            percent(input.twice),
        ]);
    }
    table
}

impl Settings {
    /// The plan that they make.
    fn plan(self) -> Plan {
        let rates = match self.own_rates.is_empty() {
            true => self.rates.unwrap_or_else(FailureRates::c4),
            false => FailureRates { name: "own".to_owned(), rates: self.own_rates },
        };
        let mut plan = Plan::new(rates.scaled(self.rate_factor), self.gpus);
        plan.gpus_per_host = self.gpus_per_host;
        plan.spares = self.spares.unwrap_or(Some(plan.hosts().div_ceil(16)));
        let fill = |to: &mut f64, from: Option<f64>| *to = from.unwrap_or(*to);
        fill(&mut plan.hours, self.hours);
        fill(&mut plan.interval, self.interval);
        fill(&mut plan.checkpoint_cost, self.checkpoint_cost);
        fill(&mut plan.isolation, self.isolation);
        fill(&mut plan.restart, self.restart);
        fill(&mut plan.repair, self.repair);
        fill(&mut plan.price, self.price);
        for c in Cause::ALL.map(Cause::index) {
            fill(&mut plan.detection[c], self.detection[c]);
            fill(&mut plan.diagnosis[c], self.diagnosis[c]);
        }
        plan
    }
}
