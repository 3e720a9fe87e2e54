//! `railtwin watch`: incidents of running jobs, from files that a cluster writes and from live records.
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use railtwin_store::one_line;
use railtwin_units::SimTime;
use railtwin_watch::{
    IncidentEvent, LookTime, Outbox, Shown, Watch, WatchError, WatchSettings, sentence, serve,
};

use crate::{CliError, Streams, foreseen, schedule_args};

/// Time between two looks at live records.
const LIVE: Duration = Duration::from_millis(100);
/// Time between two copies of the board for metrics and pages.
const SHOWN: Duration = Duration::from_secs(1);

/// Arguments of `watch`.
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// The folder that collectors and jobs write to
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Time between two looks at the folder; live records are followed ten times a second
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = schedule_args::time)]
    every: SimTime,
    /// A job that does not move for so long hangs
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = schedule_args::time)]
    hang_limit: SimTime,
    /// Folder of the state, the journal and pages [default: a folder of this watch below ~/.local/state/railtwin]
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Files that have not changed for so long are judged no more
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = schedule_args::time)]
    keep: SimTime,
    /// Post each event as JSON to this address, until it is taken
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// Show metrics for Prometheus at /metrics of this address, and incidents as pages at /
    #[arg(long, value_name = "HOST:PORT")]
    metrics: Option<String>,
    /// A scenario whose fabric the hosts are in, so that suspects have NICs, cables and switches
    #[arg(long, value_name = "SCENARIO")]
    fabric: Option<PathBuf>,
    /// Names of hosts, NICs and GPUs as the fabric has them
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Name of the job where files do not tell it
    #[arg(long, value_name = "NAME", default_value = "job")]
    job: String,
    /// Look until all is judged, print what changed since the last time, and end; for cron and for files of the past
    #[arg(long, conflicts_with_all = ["metrics"])]
    once: bool,
    /// Print events as JSON, one a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &WatchArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    foreseen::unknown("watch")?;
    if let Some(url) = args.webhook.as_deref().filter(|url| !is_web(url)) {
        let message = format!("--webhook {url}: is no address of the web");
        return Err(CliError::input(message, "write http://HOST/PATH or https://HOST/PATH"));
    }
    let folder = args.folder.canonicalize().unwrap_or_else(|_| args.folder.clone());
    let state = args.state.clone().map_or_else(|| state_folder(&folder), Ok)?;
    let watch = Watch::open(WatchSettings {
        folder,
        state: std::path::absolute(&state)?,
        hang: args.hang_limit,
        keep_s: args.keep.ps() / 1_000_000_000_000,
        fabric: args.fabric.clone(),
        names: args.names.clone(),
        job: args.job.clone(),
    });
    let mut watch = watch.map_err(refused)?;
    let outbox = args.webhook.as_deref().map(|url| Outbox::open(watch.state_folder(), url));
    let outbox = outbox.transpose().map_err(refused)?;
    if args.once {
        return once(args, &mut watch, outbox.as_ref(), streams);
    }
    let shown: Shown = Arc::new(Mutex::new(watch.board().clone()));
    if let Some(address) = &args.metrics {
        let at = serve(address, watch.state_folder(), shown.clone()).map_err(refused)?;
        writeln!(streams.notes, "metrics at http://{at}/metrics, incidents at http://{at}/")?;
    }
    writeln!(
        streams.notes,
        "watching {}; state in {}",
        args.folder.display(),
        watch.state_folder().display()
    )?;
    follow(args, &mut watch, outbox.as_ref(), &shown, streams)
}

/// Follows for ever.
fn follow(
    args: &WatchArgs,
    watch: &mut Watch,
    outbox: Option<&Outbox>,
    shown: &Shown,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let begun = Instant::now();
    let every = Duration::from_nanos(args.every.ps() / 1_000);
    let (mut next, mut next_shown) = (begun, begun);
    loop {
        let now = Instant::now();
        let at = moment(begun);
        let events = match now >= next {
            true => {
                next = now + every;
                watch.look(at)
            }
            false => watch.look_at_live(at),
        };
        let events = events.map_err(refused)?;
        print(args, &events, outbox, streams)?;
        if let Some(problem) = outbox.and_then(Outbox::problem) {
            writeln!(streams.notes, "{}", one_line(&problem))?;
        }
        if !events.is_empty() || now >= next_shown {
            next_shown = now + SHOWN;
            let mut board = watch.board().clone();
            board.set_webhook(outbox.map_or((0, 0), Outbox::pending_and_failures));
            *shown.lock().unwrap_or_else(PoisonError::into_inner) = board;
        }
        let rest = next.saturating_duration_since(Instant::now());
        std::thread::sleep(rest.min(if watch.has_live() { LIVE } else { 5 * LIVE }));
    }
}

/// Looks until all is judged.
fn once(
    args: &WatchArgs,
    watch: &mut Watch,
    outbox: Option<&Outbox>,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let events = watch.settle(moment(Instant::now())).map_err(refused)?;
    print(args, &events, outbox, streams)?;
    if let Some(outbox) = outbox {
        // Nobody is there to try again later.
        let until = Instant::now() + Duration::from_secs(15);
        while outbox.pending_and_failures().0 > 0 && Instant::now() < until {
            std::thread::sleep(LIVE);
        }
        if let Some(problem) = outbox.problem() {
            writeln!(streams.notes, "{}", one_line(&problem))?;
        }
    }
    let accuses = |(_, standing): (u64, &railtwin_watch::IncidentState)| {
        standing.is_open() && standing.incident["accuses"] == serde_json::json!(true)
    };
    if watch.board().incidents().any(accuses) { Err(CliError::Accused) } else { Ok(()) }
}

fn print(
    args: &WatchArgs,
    events: &[IncidentEvent],
    outbox: Option<&Outbox>,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    for event in events {
        match args.json {
            true => writeln!(streams.out, "{}", event.line)?,
            false => writeln!(streams.out, "{}", one_line(&sentence(event)))?,
        }
    }
    if let Some(last) = events.last() {
        streams.out.flush()?;
        outbox.inspect(|outbox| outbox.wake(last.number));
    }
    Ok(())
}

fn moment(begun: Instant) -> LookTime {
    let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    LookTime { own_ns: nanos(begun.elapsed()), wall_ns: nanos(wall) }
}

fn is_web(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| url.len() > scheme.len() && url.starts_with(scheme))
}

/// The folder of the state of a watch of a folder.
fn state_folder(folder: &Path) -> Result<PathBuf, CliError> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")));
    let Some(base) = base else {
        return Err(CliError::input("no folder for the state: HOME is not set", "name one by --state"));
    };
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    let name = folder.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy().into_owned());
    Ok(base.join("railtwin/watch").join(format!("{name}-{:016x}", hasher.finish())))
}

fn refused(error: WatchError) -> CliError {
    match error {
        WatchError::Site(error) => crate::evidence::refused(error, ""),
        other => CliError::refused(&other.to_string()),
    }
}
