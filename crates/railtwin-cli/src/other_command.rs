//! Files that another command reads: who gives one is told which.
use railtwin::question::is_scenario;
use railtwin_formats::telemetry::detect_format;

/// What a file that cannot be imported is, and the command that reads it.
pub(crate) fn beside_imports(bytes: &[u8]) -> Option<String> {
    let evidence = || detect_format(bytes).map(|format| pointer(format.name(), "diagnose"));
    scenario(bytes).or_else(evidence)
}

/// The command for a scenario, if a file is one.
pub(crate) fn scenario(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    is_scenario(text).then(|| pointer("a scenario", "run"))
}

/// What a file looks like, and the command that reads such files.
pub(crate) fn pointer(what: &str, command: &str) -> String {
    format!("it looks like {what}: `railtwin {command}` reads such files")
}
