//! `railtwin upgrade`: in which order the switches of a fabric get new software, and what hosts keep meanwhile.
use clap::Args;
use railtwin::Question;
use railtwin::cost::Cost;
use railtwin_fabric::Fabric;
use railtwin_fabric::name::tier_name;
use railtwin_routing::protocol::set::{DualTor, SetKind};
use railtwin_routing::protocol::stack::{Service, UpgradeStep, Version, upgrade};
use railtwin_routing::protocol::upgrade::{Wave, waves};
use railtwin_scenario::Preset;
use railtwin_units::SimTime;
use serde_json::{Value, json};

use crate::foreseen::goes_on;
use crate::one_point::one_point;
use crate::table::TextTable;
use crate::units::shown;
use crate::{CliError, Streams};

/// Arguments of `upgrade`.
#[derive(Args, Debug)]
pub struct UpgradeArgs {
    /// A preset by its name, or a scenario (*.toml) with one point
    #[arg(value_name = "PRESET|SCENARIO")]
    what: String,
    /// The software that leaves have [default: that of [dual_tor]]
    #[arg(long, value_name = "VERSION")]
    from: Option<Version>,
    /// The software that they get [default: that of [dual_tor]]
    #[arg(long, value_name = "VERSION")]
    to: Option<Version>,
    /// Leaves of a set are stacked [default: as [dual_tor] says]
    #[arg(long)]
    stacked: bool,
    /// Share of the spines of a pod and plane, and of the cores, that are down at once
    #[arg(long, value_name = "SHARE", default_value_t = 0.25, value_parser = share)]
    at_once: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let refused = || format!("{text} is no share above 0 and below 1; write one such as 0.25");
    text.parse().ok().filter(|share: &f64| *share > 0.0 && *share < 1.0).ok_or_else(refused)
}

/// An upgrade of a fabric, in words of it.
struct Plan {
    fabric: Fabric,
    set: DualTor,
    /// Time from the loss of one leaf to the first frame by the other, where both are down at once.
    rejoin: SimTime,
    waves: Vec<Wave>,
    /// Steps of the upgrade of one set of leaves.
    steps: Vec<UpgradeStep>,
}

pub(crate) fn run(args: &UpgradeArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !goes_on(&Cost::least("a fabric"), streams)? {
        return Ok(());
    }
    let plan = plan_of(args)?;
    match args.json {
        true => writeln!(streams.out, "{:#}", data(&plan))?,
        false => write!(streams.out, "{}", text(&plan))?,
    }
    streams.out.flush()?;
    if plan.waves.iter().all(Wave::is_reachable) && gaps(&plan.steps) == 0 {
        Ok(())
    } else {
        Err(CliError::Accused)
    }
}

fn plan_of(args: &UpgradeArgs) -> Result<Plan, CliError> {
    let (question, scenario) = match Preset::NAMES.contains(&args.what.as_str()) {
        // A scenario needs no job to have a fabric.
        true => {
            let text = format!("schema = 1\nname = \"upgrade\"\n[fabric]\npreset = \"{}\"\n", args.what);
            let question = Question::of_text(&args.what, &text, std::path::Path::new("."));
            let mut points = question.points().map_err(|error| CliError::of(error, &text))?;
            let scenario = points.remove(0).scenario;
            (question, scenario)
        }
        false => one_point(&args.what, "upgrade")?,
    };
    let fabric = question.fabric(&scenario).map_err(|error| CliError::of(error, &question.text))?;
    let mut set = scenario.dual_tor;
    set.version = args.from.unwrap_or(set.version);
    set.next_version = args.to.unwrap_or(set.next_version);
    if args.stacked {
        set.kind = SetKind::Stacked;
    }
    let mut waves = waves(&fabric, args.at_once);
    if set.kind == SetKind::Stacked && set.version.in_service(set.next_version) {
        // Leaves forward on while they are upgraded.
        let of_leaves =
            |wave: &&mut Wave| fabric.place(wave.switches[0]).is_some_and(|place| place.tier == 1);
        for wave in waves.iter_mut().filter(of_leaves) {
            (wave.weaker, wave.cut, wave.apart) = (0, 0, None);
        }
    }
    Ok(Plan {
        waves,
        steps: upgrade(set.kind == SetKind::Stacked, set.version, set.next_version),
        rejoin: scenario.reaction.lacp.saturating_add(scenario.reaction.arp),
        fabric,
        set,
    })
}

/// Steps at whose beginning no leaf of a set goes on forwarding that did before.
fn gaps(steps: &[UpgradeStep]) -> usize {
    let both = |step: &UpgradeStep| step.services.map(|service| service == Service::Forwards);
    let goes_on = |pair: &[UpgradeStep]| {
        let (before, after) = (both(&pair[0]), both(&pair[1]));
        before.iter().zip(after).any(|(&before, after)| before && after)
    };
    steps.windows(2).filter(|pair| !goes_on(pair)).count()
}

fn leaf_word(service: Service) -> String {
    match service {
        Service::Forwards => "forwards".to_owned(),
        Service::Dead => "reboots".to_owned(),
        Service::ShutDown(reason) => format!("host ports down: {reason}"),
    }
}

fn text(plan: &Plan) -> String {
    let DualTor { version, next_version, kind, .. } = plan.set;
    let mut table = TextTable::default();
    table.row(["wave", "switches", "NICs weaker", "NICs cut", "uplinks left", ""].map(str::to_owned));
    for (row, wave) in plan.waves.iter().enumerate() {
        let first = plan.fabric.device_name(wave.switches[0]);
        let tier = plan.fabric.place(wave.switches[0]).map_or("", |place| tier_name(place.tier));
        let last = plan.fabric.device_name(wave.switches[wave.switches.len() - 1]);
        let apart = wave.apart.map(|pair| pair.map(|nic| plan.fabric.device_name(nic)));
        let note = match apart {
            Some([one, other]) => format!("{one} and {other} have no way to each other"),
            None => format!("{first} to {last}"),
        };
        let cells = [
            format!("{} {tier}", row + 1),
            wave.switches.len().to_string(),
            wave.weaker.to_string(),
            wave.cut.to_string(),
            format!("{:.0} %", wave.uplinks_left * 100.0),
        ];
        table.noted_row(cells, &format!(" {note}"));
    }
    let mut sets = TextTable::default();
    sets.row(["a set of leaves", "first leaf", "second leaf"].map(str::to_owned));
    for step in &plan.steps {
        let what = match step.leaf {
            Some(leaf) => format!("{} leaf is upgraded", ["first", "second"][leaf]),
            None => "between".to_owned(),
        };
        sets.row([what, leaf_word(step.services[0]), leaf_word(step.services[1])]);
    }
    let gaps = gaps(&plan.steps);
    let end = match (plan.waves.iter().all(Wave::is_reachable), gaps) {
        (false, _) => "hosts are cut or apart: see the waves above".to_owned(),
        (true, 0) => "all hosts reach each other all along".to_owned(),
        (true, _) => format!(
            "when the first leaf goes the second is still joining: each host is without both for {}; \
             leaves that are not stacked have no such moment",
            shown(Some(plan.rejoin.seconds()), "s")
        ),
    };
    format!("{kind} leaves, {version} to {next_version}\n{}\n{}\n{end}\n", table.text(), sets.text())
}

fn data(plan: &Plan) -> Value {
    let names = |switches: &[railtwin_fabric::DeviceId]| -> Vec<String> {
        switches.iter().map(|&device| plan.fabric.device_name(device)).collect()
    };
    let waves: Vec<Value> = plan
        .waves
        .iter()
        .map(|wave| {
            json!({
                "switches": names(&wave.switches),
                "nics_weaker": wave.weaker,
                "nics_cut": wave.cut,
                "apart": wave.apart.map(|pair| names(&pair)),
                "uplinks_left": wave.uplinks_left,
            })
        })
        .collect();
    let steps: Vec<Value> = plan
        .steps
        .iter()
        .map(|step| json!({ "upgraded": step.leaf, "leaves": step.services.map(leaf_word) }))
        .collect();
    json!({
        "kind": plan.set.kind.name(),
        "from": plan.set.version.to_string(),
        "to": plan.set.next_version.to_string(),
        "waves": waves,
        "set": steps,
        "moments_without_both_leaves": gaps(&plan.steps),
        "each_s": plan.rejoin.seconds(),
        "reachable": plan.waves.iter().all(Wave::is_reachable) && gaps(&plan.steps) == 0,
    })
}
