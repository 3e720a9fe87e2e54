//! The forms of `railtwin export` that are configuration of switches and hosts.
use clap::Args;
use railtwin_formats::switch_config::{BgpTimers, ConfigFile, FabricPlan, PlanOptions, core_hash};
use railtwin_routing::{EcmpConfig, HashSpec, LinkMask, Seeds};
use railtwin_units::SimTime;

use crate::CliError;
use crate::export_site::Site;

/// Options of configuration.
#[derive(Args, Default, Debug)]
pub struct ConfigArgs {
    /// Pin paths by static routes: uplinks of leaves by the slice of the destination
    #[arg(long)]
    pinned: bool,
    /// BFD with this interval, three of which may be missed, such as "100 ms"
    #[arg(long, value_name = "TIME", value_parser = |text: &str| text.parse::<SimTime>())]
    bfd: Option<SimTime>,
    /// Switches that share a hash seed; default as the scenario says, else per-switch
    #[arg(long, value_name = "WHICH", value_parser = clap::builder::PossibleValuesParser::new(Seeds::NAMES))]
    seeds: Option<String>,
    /// A cable that is down, for core-hash, such as spine-3:uplink-0
    #[arg(long, value_name = "CABLE")]
    down: Vec<String>,
}

impl ConfigArgs {
    /// Them as words of a call, for [`ConfigArgs::of_words`].
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.pinned {
            words.push("pinned".to_owned());
        }
        words.extend(self.bfd.map(|time| format!("bfd={time}")));
        words.extend(self.seeds.as_ref().map(|seeds| format!("seeds={seeds}")));
        words
    }

    /// Them by such words; unknown ones are left alone.
    pub(crate) fn of_words(words: &[String]) -> Self {
        let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        Self {
            pinned: words.iter().any(|word| word == "pinned"),
            bfd: value("bfd").and_then(|text| text.parse().ok()),
            seeds: value("seeds").map(str::to_owned),
            down: Vec::new(),
        }
    }
}

/// The per-port hash of cores, as a file.
///
/// # Errors
/// An input error for an unknown cable, and a fabric without cores.
pub(crate) fn core_hash(site: &Site, args: &ConfigArgs) -> Result<Vec<ConfigFile>, CliError> {
    let mut mask = LinkMask::none(&site.fabric);
    for name in &args.down {
        let cable = site.fabric.cable_named(name).ok_or_else(|| {
            let help = "name a port with a cable, such as spine-3:uplink-0 or core-0:downlink-2";
            CliError::input(format!("--down {name}: there is no such cable"), help)
        })?;
        mask.set_cable(cable, true);
    }
    let files = core_hash::files(&site.fabric, &mask);
    files.map_err(|error| CliError::refused(&error.to_string()))
}

/// The plan of a fabric under the options of a call, else of its scenario.
///
/// # Errors
/// An input error for an interval of BFD that switches do not take, cables that are down, and a fabric that cannot be
/// planned.
pub(crate) fn planned(site: &Site, args: &ConfigArgs) -> Result<FabricPlan, CliError> {
    if !args.down.is_empty() {
        let message = "--down: only core-hash knows cables that are down";
        return Err(CliError::input(message, "leave --down out"));
    }
    let bfd = args.bfd.or(site.scenario.as_ref().and_then(|scenario| scenario.reaction.bfd).map(|time| {
        // A scenario says the detection time, three intervals.
        SimTime::from_ps(time.ps() / 3)
    }));
    let bfd = bfd.map(milliseconds).transpose()?.map(|interval| (interval, 3));
    let named = args.seeds.as_deref().and_then(Seeds::named);
    let mut options = options(site, named);
    options.timers = BgpTimers { bfd, ..BgpTimers::default() };
    options.pinned = args.pinned;
    FabricPlan::new(&site.fabric, &options).map_err(|error| CliError::refused(&error.to_string()))
}

/// The choices that a scenario makes, or those of a preset.
fn options(site: &Site, seeds: Option<Seeds>) -> PlanOptions {
    let usual = PlanOptions::default();
    let ecmp = match &site.scenario {
        Some(scenario) => {
            let routing = &scenario.routing;
            let spec = HashSpec::new(routing.hash).with_fields(routing.fields);
            EcmpConfig::new(spec, seeds.unwrap_or(routing.seeds))
        }
        None => EcmpConfig::new(usual.ecmp.spec, seeds.unwrap_or(usual.ecmp.seeds)),
    };
    PlanOptions { ecmp, ..usual }
}

/// A whole number of milliseconds from 1 to 60,000, as FRR takes 10 to 60,000 and the linter judges the rest.
fn milliseconds(time: SimTime) -> Result<u32, CliError> {
    let (whole, rest) = (time.ps() / 1_000_000_000, time.ps() % 1_000_000_000);
    u32::try_from(whole).ok().filter(|ms| rest == 0 && (10..=60_000).contains(ms)).ok_or_else(|| {
        let message = format!("an interval of BFD of {time} is none that switches take");
        CliError::input(message, "write whole milliseconds from 10 to 60000, such as --bfd \"100 ms\"")
    })
}
