//! `railtwin tune`: algorithm, protocol, channels and buffer for a network's round trip.
use std::path::{Path, PathBuf};

use clap::Args;
use railtwin::cost::Cost;
use railtwin::host_model::model_of_fabric;
use railtwin_calibration::tune::{ASSUMED, BUFFER, Range, Tuning, ranges};
use railtwin_fabric::HostModel;
use railtwin_scenario::{CapSpec, CapsFile, host_caps};
use railtwin_store::input;
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::{Collective, Group};

use crate::foreseen::goes_on;
use crate::table::TextTable;
use crate::{CliError, Streams};

/// Arguments of `tune`.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// The collective, such as all-reduce
    #[arg(value_name = "COLLECTIVE")]
    collective: String,
    /// Hosts of the communicator
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    hosts: u32,
    /// Its GPUs on each host [default: all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1024))]
    gpus: Option<u32>,
    /// What the hosts are: a host model, a preset by name, or a scenario file
    #[arg(long, value_name = "HOST|PRESET|SCENARIO", default_value = "hgx-h100")]
    fabric: String,
    /// Round trip of the network while nothing queues, such as "22 us"
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10 us")]
    round_trip: SimTime,
    /// Costs of collectives to hosts: `measured` for what is known of the model, `none` for NCCL's model alone, or a file that
    /// `railtwin calibrate` wrote
    #[arg(long, value_name = "FILE", default_value = "measured")]
    caps: PathBuf,
    /// Print all as JSON
    #[arg(long)]
    json: bool,
}

/// Sizes that are looked at.
const SIZES: [Bytes; 2] = [Bytes(1 << 10), Bytes(16 << 30)];

fn time(text: &str) -> Result<SimTime, String> {
    text.parse::<SimTime>().map_err(|error| error.to_string())
}

pub(crate) fn run(args: &TuneArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !goes_on(&Cost::least("the sizes of a collective"), streams)? {
        return Ok(());
    }
    let collective = Collective::named(&args.collective).ok_or_else(|| {
        let names = Collective::NAMES.join(", ");
        CliError::refused(&format!("COLLECTIVE: {:?} is none; write one of {names}", args.collective))
    })?;
    let host = match HostModel::named(&args.fabric) {
        Some(host) => host,
        None => model_of_fabric(&args.fabric).map_err(|error| match error {
            error @ railtwin::Error::Argument(_) => {
                let names = HostModel::NAMES.join(", ");
                CliError::refused(&format!("--fabric: {error}; or a host model: {names}"))
            }
            other => CliError::of(other, ""),
        })?,
    };
    let gpus = args.gpus.unwrap_or(host.gpus);
    if gpus > host.gpus {
        let text = format!("--gpus: a {} has {} GPUs, not {gpus}", host.name, host.gpus);
        return Err(CliError::refused(&text));
    }
    let caps = caps_of(&args.caps, &host)?;
    let group = Group::of(args.hosts, gpus);
    let tuning = Tuning { collective, group, host, round_trip: args.round_trip, caps };
    let near = Tuning { round_trip: ASSUMED.min(args.round_trip), ..tuning.clone() };
    let of = |tuning: &Tuning| {
        ranges(tuning, SIZES[0], SIZES[1]).map_err(|error| CliError::refused(&format!("tune: {error}")))
    };
    let (best, usual) = (of(&tuning)?, of(&near)?);
    match args.json {
        true => writeln!(streams.out, "{:#}", data(&tuning, &best))?,
        false => write!(streams.out, "{}", shown(&tuning, &best, &usual))?,
    }
    Ok(streams.out.flush()?)
}

/// The caps of a file, or those known of the host model where it has no more GPUs and the NVLink that was measured.
fn caps_of(path: &Path, host: &HostModel) -> Result<Vec<CapSpec>, CliError> {
    match path.to_str() {
        Some("none") => return Ok(Vec::new()),
        Some("measured") => {
            let usual = HostModel::named(&host.name);
            let same = usual.is_some_and(|usual| usual.nvlink == host.nvlink && host.gpus <= usual.gpus);
            return Ok(if same { host_caps::of_model(&host.name) } else { Vec::new() });
        }
        _ => {}
    }
    let name = path.display().to_string();
    let text = input::read_text(path).map_err(|error| {
        CliError::input(format!("cannot read {name}: {error}"), "write measured, none or a file of caps")
    })?;
    let caps = CapsFile::parse(&name, &text).map_err(|error| CliError::of(error.into(), &text))?;
    Ok(caps.caps)
}

fn shown(tuning: &Tuning, best: &[Range], usual: &[Range]) -> String {
    let Group { hosts, local, .. } = tuning.group;
    let mut text = format!(
        "{} over {hosts} x {local} {}, round trip {:.1} us\n\n",
        tuning.collective,
        tuning.host.name,
        tuning.round_trip.seconds() * 1e6
    );
    let mut table = TextTable::default();
    let heads = ["sizes", "algorithm", "protocol", "channels", "buffer", "latency us", "time us", "GB/s bus"];
    table.row(heads.map(str::to_owned));
    for range in best {
        let one = &range.choice;
        let until = range.until.0;
        let note = if one.in_flight { "bytes in flight are the limit" } else { "" };
        table.noted_row(
            [
                format!("{} to {}", range.from.shortest(), range.until.shortest()),
                one.algorithm.name().to_owned(),
                one.protocol.name().to_owned(),
                one.channels.to_string(),
                Bytes(one.buffer).shortest(),
                format!("{:.1}", one.latency * 1e6),
                format!("{:.1}", one.time * 1e6),
                format!("{:.1}", one.busbw(tuning, until) / 1e9),
            ],
            note,
        );
    }
    text.push_str(&table.text());
    text.push_str("time and bandwidth are of the last size of a row\n");
    if tuning.round_trip > ASSUMED {
        text.push_str(&format!("\nat {:.0} us, which NCCL assumes, it would be\n", ASSUMED.seconds() * 1e6));
        let mut table = TextTable::default();
        for range in usual {
            let one = &range.choice;
            let words = format!(
                "{} {}, {} x {}",
                one.algorithm,
                one.protocol,
                one.channels,
                Bytes(one.buffer).shortest()
            );
            table.row([format!("{} to {}", range.from.shortest(), range.until.shortest()), words]);
        }
        text.push_str(&table.text());
    }
    let most = best.iter().map(|range| range.choice.buffer).max().unwrap_or(BUFFER);
    let channels = best.iter().map(|range| range.choice.channels).max().unwrap_or(1);
    text.push_str(&format!(
        "\nNCCL_BUFFSIZE={most} NCCL_MIN_NCHANNELS={channels} serve all of it; NCCL_ALGO and NCCL_PROTO hold for all sizes at \
         once\n"
    ));
    text
}

fn data(tuning: &Tuning, best: &[Range]) -> serde_json::Value {
    let row = |range: &Range| {
        let one = &range.choice;
        serde_json::json!({
            "from_bytes": range.from.0,
            "until_bytes": range.until.0,
            "algorithm": one.algorithm.name(),
            "protocol": one.protocol.name(),
            "channels": one.channels,
            "buffer_bytes": one.buffer,
            "latency_us": one.latency * 1e6,
            "time_us": one.time * 1e6,
            "bus_gb_per_s": one.busbw(tuning, range.until.0) / 1e9,
            "in_flight_limits": one.in_flight,
        })
    };
    serde_json::json!({
        "collective": tuning.collective.name(),
        "hosts": tuning.group.hosts,
        "gpus": tuning.group.local,
        "host_model": tuning.host.name,
        "round_trip_us": tuning.round_trip.seconds() * 1e6,
        "ranges": best.iter().map(row).collect::<Vec<_>>(),
    })
}
