//! `railtwin export`: a fabric in the words of other programs, as a folder of files.
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use railtwin::Question;
use railtwin::cost::Cost;
use railtwin_fabric::Fabric;
use railtwin_formats::switch_config::ConfigFile;
use railtwin_scenario::{FabricSpec, Preset, Scenario, SettingsText};
use railtwin_store::write_whole;

use crate::export_config::{self, ConfigArgs};
use crate::foreseen::goes_on;
use crate::{CliError, Streams};

/// Arguments of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    // The help lists the presets that there are.
    #[arg(value_name = "PRESET|SCENARIO", help = format!("A preset ({}) or a scenario file (*.toml)", Preset::NAMES.join(", ")))]
    what: String,
    /// The form to write
    #[arg(long = "to", value_name = "FORM")]
    form: Form,
    /// The folder to write, which is made
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Sets any key of [fabric] of a preset, such as segments=2
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Write into a folder that holds files already
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// A form of export.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Form {
    /// Switches under Linux with FRR: a folder for each
    Frr,
    /// Switches under SONiC: a folder for each
    Sonic,
    /// Hosts under Linux: bonds, addresses, RoCE, NCCL; a folder for each
    Hosts,
    /// The per-port hash of cores as a table
    CoreHash,
}

/// A fabric, and the scenario that it is of.
pub(crate) struct Site {
    pub fabric: Fabric,
    pub scenario: Option<Scenario>,
}

pub(crate) fn run(args: &ExportArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !goes_on(&Cost::least("files of a fabric"), streams)? {
        return Ok(());
    }
    let site = site_of(&args.what, &args.settings)?;
    let files = export_config::files(&site, args.form, &args.config)?;
    write_all(&args.folder, &files, args.force)?;
    let (count, folder) = (files.len(), args.folder.display());
    Ok(writeln!(streams.out, "{count} {} in {folder}", if count == 1 { "file" } else { "files" })?)
}

/// The fabric of a preset with settings, or of a scenario file.
///
/// # Errors
/// An input error for a name that is neither, settings of a scenario, and a sweep over fabrics.
pub(crate) fn site_of(what: &str, settings: &[String]) -> Result<Site, CliError> {
    if Preset::NAMES.contains(&what) {
        return of_preset(what, settings);
    }
    if !what.ends_with(".toml") {
        let message = format!("there is no preset called {what:?}");
        let help = format!("presets are {}; a scenario file ends in .toml", Preset::NAMES.join(", "));
        return Err(CliError::input(message, help));
    }
    if let Some(setting) = settings.first() {
        let message = format!("--set {setting}: {what} says the fabric");
        return Err(CliError::input(message, "change the key in [fabric] of the file"));
    }
    let question = Question::read(Path::new(what)).map_err(|error| CliError::of(error, ""))?;
    let wrong = |error| CliError::of(error, &question.text);
    let mut fabrics: Vec<Site> = Vec::new();
    for point in question.points().map_err(wrong)? {
        let fabric = question.fabric(&point.scenario).map_err(wrong)?;
        if fabrics.iter().any(|known| known.fabric != fabric) {
            let message = format!("{what}: its points have several fabrics");
            return Err(CliError::input(message, "write one value for each key of [fabric]"));
        }
        if fabrics.is_empty() {
            fabrics.push(Site { fabric, scenario: Some(point.scenario) });
        }
    }
    fabrics.pop().ok_or_else(|| CliError::input(format!("{what}: has no point"), "write a scenario"))
}

fn of_preset(name: &str, settings: &[String]) -> Result<Site, CliError> {
    let mut text = SettingsText::new(name);
    for setting in settings {
        let (key, value) = setting.split_once('=').ok_or_else(|| {
            let help = "write a key of [fabric] and its value, such as --set segments=2";
            CliError::input(format!("--set {setting} is no pair of key and value"), help)
        })?;
        text.set(key.trim(), value.trim());
    }
    let file = "settings";
    let refuse = |error| CliError::Scenario { error, text: text.as_str().to_owned() };
    match text.fabric(file).map_err(refuse)? {
        FabricSpec::Preset(preset) => {
            let refused = |error| refuse(crate::design::at_field(&error, "", file, text.as_str()));
            Ok(Site { fabric: preset.build().map_err(refused)?, scenario: None })
        }
        FabricSpec::Lingjun(_) | FabricSpec::Htsim(_) => {
            Err(CliError::input(format!("{name} is no preset"), "name a preset"))
        }
    }
}

/// Writes files below a folder, all or none where the folder is new.
fn write_all(folder: &Path, files: &[ConfigFile], force: bool) -> Result<(), CliError> {
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) if folder.symlink_metadata().is_ok() => {
            let message = format!("{} is no folder that can be read", folder.display());
            return Err(CliError::input(message, "name a folder, or one that is not there yet"));
        }
        Err(_) => true,
    };
    if !is_empty && !force {
        let message = format!("{} holds files already", folder.display());
        return Err(CliError::input(message, "name another folder, or write into it with --force"));
    }
    let failed = |path: &Path, error| CliError::Folder(format!("cannot write {}: {error}", path.display()));
    if !is_empty {
        // What stands there is replaced file by file, never followed.
        return write_below(folder, files, write_whole);
    }
    // Beside the place, and renamed when all is there: nobody sees half of it.
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    if name.is_empty() {
        return write_below(folder, files, write_whole);
    }
    name.push(".railtwin-writing");
    let hidden = folder.with_file_name(name);
    let _ = fs::remove_dir_all(&hidden);
    let written = write_below(&hidden, files, |path, bytes| fs::write(path, bytes)).and_then(|()| {
        // A folder that is empty gives way; one that is not there needs none.
        let _ = fs::remove_dir(folder);
        fs::rename(&hidden, folder).map_err(|error| failed(folder, error))
    });
    if written.is_err() {
        let _ = fs::remove_dir_all(&hidden);
    }
    written
}

fn write_below(
    folder: &Path,
    files: &[ConfigFile],
    write: impl Fn(&Path, &[u8]) -> std::io::Result<()>,
) -> Result<(), CliError> {
    let failed = |path: &Path, error| CliError::Folder(format!("cannot write {}: {error}", path.display()));
    let mut made = PathBuf::new();
    for file in files {
        let path = folder.join(&file.path);
        let parent = path.parent().unwrap_or(folder);
        if made != parent {
            fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
            parent.clone_into(&mut made);
        }
        write(&path, file.text.as_bytes()).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}
