//! Hints for a file that the command at hand does not read: they name the command that does.
use railtwin::question::is_scenario;
use railtwin_formats::telemetry::detect_format;

/// The hint for a file that `import` does not read; none if no command reads it.
pub(crate) fn hint_beside_imports(bytes: &[u8]) -> Option<String> {
    let evidence = || detect_format(bytes).map(|format| hint(format.name(), "diagnose"));
    scenario_hint(bytes).or_else(evidence)
}

/// The hint for a scenario; none for any other file.
pub(crate) fn scenario_hint(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    is_scenario(text).then(|| hint("scenario", "run"))
}

/// A hint that names a format and the command that reads it.
pub(crate) fn hint(format: &str, command: &str) -> String {
    format!("`railtwin {command}` reads files of this format ({format})")
}
