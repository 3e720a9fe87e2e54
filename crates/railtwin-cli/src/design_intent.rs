//! `railtwin design STYLE --gpus …`: the fabrics that meet an intent, side by side, and the cheapest that survives.
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use railtwin_catalog::Catalog;
use railtwin_fabric::HostModel;
use railtwin_planning::intent::{Intent, Plan, Style};
use railtwin_planning::loss::Goals;
use railtwin_planning::page;
use railtwin_planning::search::{FabricGrowth, SearchResult, search};
use railtwin_planning::text::core_curve_text;
use railtwin_store::{input, write_whole};
use serde_json::{Value, json};

use crate::overwritten::refuse_input;
use crate::{CliError, Streams};

/// Most GPUs of an intent: more have more ports than ids.
const MOST_GPUS: u32 = 4_000_000;

/// Options of an intent.
#[derive(Args, Default, Debug)]
pub struct IntentArgs {
    /// GPUs that the fabric carries: plans the fabrics of a style (rail-optimised, clos) that do
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_GPUS)))]
    pub(crate) gpus: Option<u32>,
    // The help lists the models that there are.
    #[arg(
        long,
        value_name = "MODEL",
        requires = "gpus",
        help = format!("What a host is ({}); default dgx-h100", HostModel::NAMES.join(", "))
    )]
    host: Option<String>,
    /// Switches, as parts of the price table or as ports and rate; default 64x400G; of search all of the table
    #[arg(long, value_name = "64x400G", value_delimiter = ',', requires = "gpus")]
    switch: Vec<String>,
    /// Tiers of switches; default 2,3
    #[arg(long, value_name = "2,3", value_delimiter = ',', requires = "gpus", value_parser = clap::value_parser!(u32).range(1..=3))]
    tiers: Vec<u32>,
    /// Most that the down capacity of a leaf may be of its uplinks; default 1
    #[arg(long, value_name = "1,2", value_delimiter = ',', requires = "gpus", value_parser = ratio)]
    oversubscription: Vec<f64>,
    /// The same of a spine towards cores; default 1
    #[arg(long, value_name = "1,2", value_delimiter = ',', requires = "gpus", value_parser = ratio)]
    core_oversubscription: Vec<f64>,
    /// Planes over which NICs are split, 1, 2, 4 or 8; default 1
    #[arg(long, value_name = "1,2", value_delimiter = ',', requires = "gpus", value_parser = clap::value_parser!(u32).range(1..=8))]
    planes: Vec<u32>,
    /// Leaves that a NIC reaches where there is one plane, 1 or 2; default 1
    #[arg(long, value_name = "1,2", value_delimiter = ',', requires = "gpus", value_parser = clap::value_parser!(u32).range(1..=2))]
    tors: Vec<u32>,
    /// Prices and power of parts, over those of `railtwin design parts`
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) parts: Option<PathBuf>,
    /// Write the answer as a page
    #[arg(long, value_name = "FILE.html")]
    pub(crate) page: Option<PathBuf>,
}

/// A ratio from 1 up.
fn ratio(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches(":1").parse::<f64>().ok();
    number
        .filter(|ratio| (1.0..=1000.0).contains(ratio))
        .ok_or_else(|| "write a ratio from 1 to 1000, such as 2".to_owned())
}

/// The price table, with the user's lines over it.
pub(crate) fn catalog(path: Option<&Path>) -> Result<Catalog, CliError> {
    let Some(path) = path else { return Ok(Catalog::builtin()) };
    let text = input::read_text(path).map_err(|error| {
        let help = "name a table of parts; `railtwin design parts` prints ours";
        CliError::input(format!("cannot read {}: {error}", path.display()), help)
    })?;
    Catalog::builtin().with(&text).map_err(|error| CliError::refused(&format!("{}:{error}", path.display())))
}

impl IntentArgs {
    /// The intent of a style.
    fn intent(&self, style: Style) -> Result<Intent, CliError> {
        let usual = Intent::default();
        let or = |given: &[f64]| if given.is_empty() { vec![1.0] } else { given.to_vec() };
        let name = self.host.as_deref().unwrap_or("dgx-h100");
        let host = HostModel::named(name).ok_or_else(|| {
            let help = format!("write one of {}", HostModel::NAMES.join(", "));
            CliError::input(format!("there is no host model called {name:?}"), help)
        })?;
        if let Some(&planes) = self.planes.iter().find(|planes| !planes.is_power_of_two()) {
            return Err(CliError::input(
                format!("--planes {planes}: NICs split evenly"),
                "write 1, 2, 4 or 8",
            ));
        }
        Ok(Intent {
            style,
            gpus: self.gpus.unwrap_or(usual.gpus),
            host,
            switches: if self.switch.is_empty() { usual.switches } else { self.switch.clone() },
            tiers: if self.tiers.is_empty() { vec![2, 3] } else { self.tiers.clone() },
            oversubscription: or(&self.oversubscription),
            core_oversubscription: or(&self.core_oversubscription),
            planes: if self.planes.is_empty() { vec![1] } else { self.planes.clone() },
            tors: if self.tors.is_empty() { vec![1] } else { self.tors.clone() },
            uplink: None,
            lengths: None,
        })
    }
}

/// Plans the fabrics of a style.
pub(crate) fn plan(
    style: &str,
    args: &IntentArgs,
    as_json: bool,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let style = style_of(style)?;
    let (intent, catalog) = (args.intent(style)?, catalog(args.parts.as_deref())?);
    intent.check(&catalog).map_err(|error| CliError::refused(&error))?;
    refuse_page(args)?;
    let plan = intent.plan(&catalog);
    let growth: Vec<Option<FabricGrowth>> = plan
        .candidates
        .iter()
        .map(|candidate| FabricGrowth::doubled(&intent, &candidate.combination, &catalog).ok())
        .collect();
    write_page(args, &page::render(&plan, None), streams)?;
    match as_json {
        true => print_json(&plan_json(&plan, &growth), streams.out),
        false => print_plan(&plan, &growth, streams.out),
    }
}

/// The style of a word.
fn style_of(word: &str) -> Result<Style, CliError> {
    let style = match word {
        "single-tor" | "leaf-spine" => Some(Style::Clos),
        other => Style::named(other),
    };
    style.ok_or_else(|| {
        let help = "with --gpus write rail-optimised, clos (also single-tor, leaf-spine) or search";
        CliError::input(format!("--gpus: {word:?} is no style of fabric"), help)
    })
}

fn plan_json(plan: &Plan, growth: &[Option<FabricGrowth>]) -> Value {
    let mut value = json!(plan);
    for (row, (candidate, growth)) in plan.candidates.iter().zip(growth).enumerate() {
        let entry = &mut value["candidates"][row];
        entry["label"] = json!(candidate.combination.label());
        entry["price"] = json!(candidate.price());
        entry["power"] = json!(candidate.power());
        entry["usd_per_gpu"] = json!(candidate.usd_per_gpu());
        entry["watts_per_gpu"] = json!(candidate.watts_per_gpu());
        entry["goals"] = json!(Goals::of(&candidate.spec));
        entry["growth"] = growth.as_ref().map_or(Value::Null, |growth| {
            json!({
                "to": growth.to.combination.label(), "access": growth.access, "leaf_spine": growth.leaf_spine,
                "spine_core": growth.spine_core,
            })
        });
    }
    value["cheapest"] = json!(plan.cheapest().map(|candidate| candidate.combination.label()));
    value
}

fn print_plan(plan: &Plan, growth: &[Option<FabricGrowth>], out: &mut dyn Write) -> Result<(), CliError> {
    write!(out, "{}", plan.to_text())?;
    for (candidate, growth) in plan.candidates.iter().zip(growth) {
        writeln!(out, "\n{}", candidate.combination.label())?;
        write!(out, "{}", candidate.loss.to_text())?;
        write!(out, "{}", candidate.bill_text())?;
        for note in &candidate.notes {
            writeln!(out, "note: {note}")?;
        }
        if let Some(growth) = growth {
            writeln!(out, "twice the GPUs:\n{}", growth.to_text().trim_end())?;
        }
    }
    Ok(())
}

/// `design search`: the cheapest fabric that survives a lost leaf, and two curves.
pub(crate) fn find(args: &IntentArgs, as_json: bool, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if args.gpus.is_none() {
        return Err(CliError::input("design search: nobody says for how many GPUs", "write --gpus 2048"));
    }
    refuse_page(args)?;
    for (option, is_given) in [
        ("--switch", !args.switch.is_empty()),
        ("--tiers", !args.tiers.is_empty()),
        ("--planes", !args.planes.is_empty()),
        ("--tors", !args.tors.is_empty()),
    ] {
        if is_given {
            let help = "leave it out; `railtwin design rail-optimised --gpus …` plans what you name";
            return Err(CliError::input(format!("design search tries all values of {option}"), help));
        }
    }
    let catalog = catalog(args.parts.as_deref())?;
    let intent = args.intent(Style::RailOptimised)?;
    let found = search(&intent, &catalog);
    // The page shows the cheapest beside its kin: the same switch and tiers, other planes and leaves of a NIC.
    let kin = found.best.as_ref().map_or_else(
        || intent.clone(),
        |best| Intent {
            style: best.combination.style,
            switches: vec![best.combination.switch.clone()],
            tiers: vec![best.combination.tiers],
            planes: vec![1, 2, 4],
            tors: vec![1, 2],
            ..intent.clone()
        },
    );
    write_page(args, &page::render(&kin.plan(&catalog), Some(&found)), streams)?;
    if as_json {
        return print_json(&json!(found), streams.out);
    }
    print_found(&found, streams.out)?;
    let curve = &found.core_curve;
    if !curve.is_empty() {
        writeln!(streams.out, "\nlargest pod by oversubscription of the core:")?;
        write!(streams.out, "{}", core_curve_text(curve))?;
    }
    Ok(())
}

fn print_found(found: &SearchResult, out: &mut dyn Write) -> Result<(), CliError> {
    write!(out, "{}", found.to_text())?;
    if let Some(best) = &found.best {
        writeln!(out, "\nwhat a lost part of the cheapest takes:")?;
        write!(out, "{}\n{}", best.loss.to_text(), best.bill_text())?;
    }
    Ok(())
}

/// Refuses a page in the place of the price table.
fn refuse_page(args: &IntentArgs) -> Result<(), CliError> {
    match (&args.page, &args.parts) {
        (Some(page), Some(parts)) => refuse_input("--page", page, &[parts.as_path()]),
        _ => Ok(()),
    }
}

/// Writes the page where one is asked for.
fn write_page(args: &IntentArgs, html: &str, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let Some(path) = &args.page else { return Ok(()) };
    write_whole(path, html.as_bytes()).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        CliError::input(message, "name a file in a folder that is there")
    })?;
    Ok(writeln!(streams.notes, "written to {}", path.display())?)
}

pub(crate) fn print_json(value: &Value, out: &mut dyn Write) -> Result<(), CliError> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(std::io::Error::from)?;
    Ok(writeln!(out)?)
}
