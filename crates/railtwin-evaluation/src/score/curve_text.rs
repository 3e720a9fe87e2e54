//! The curve of sensitivity against false alarms as Markdown.
use std::fmt::Write;

use super::curve::{Curve, SHARES, Setting};
use super::inject::Injected;

/// A share of hundredths as people write it.
fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

fn marked(setting: Setting, text: String) -> String {
    if setting.is_default() { format!("**{text}**") } else { text }
}

/// Three tables: what each setting finds and how often it is wrong, then kinds of faults by setting, then severities at
/// the default number of deviations.
pub fn markdown(curve: &Curve) -> String {
    let mut text = String::new();
    let mut line = |words: String| writeln!(text, "{words}").expect("text grows");
    let hours = curve.alarms.first().map_or(0.0, |row| row.hours);
    let trials: u32 = curve.found.iter().map(|row| row.trials).sum();
    line(format!("## Sensitivity against false alarms at {} ranks\n", curve.ranks));
    line(format!(
        "{trials} faults at each setting, and {hours} hours without a fault for each jitter; the default is bold.\n"
    ));
    let times: Vec<String> =
        curve.alarms.iter().map(|row| format!("false alarms a day, jitter × {}", row.times)).collect();
    line(format!("| slow share | deviations | found | others named | {} |", times.join(" | ")));
    line(format!("| ---: | ---: | ---: | ---: |{}", " ---: |".repeat(times.len())));
    for (row, &setting) in curve.settings.iter().enumerate() {
        let alarms: Vec<String> = curve.alarms.iter().map(|one| format!("{:.1}", one.a_day(row))).collect();
        line(format!(
            "| {} | {} | {} | {} | {} |",
            marked(setting, percent(setting.slow_share)),
            marked(setting, setting.deviations.to_string()),
            percent(curve.share(None, row)),
            curve.others(row),
            alarms.join(" | ")
        ));
    }
    let swept: Vec<(usize, Setting)> = default_deviations(curve);
    line("\n### By severity, at the default deviations\n".into());
    let head: Vec<String> =
        swept.iter().map(|&(_, setting)| marked(setting, percent(setting.slow_share))).collect();
    line(format!("| fault | severity | {} |", head.join(" | ")));
    line(format!("| --- | --- |{}", " ---: |".repeat(head.len())));
    for found in &curve.found {
        let cells: Vec<String> = swept
            .iter()
            .map(|&(row, _)| percent(f64::from(found.found[row]) / f64::from(found.trials.max(1))))
            .collect();
        let (name, severity) = (found.grade.what.name(), found.grade.severity_text());
        line(format!("| {name} | {severity} | {} |", cells.join(" | ")));
    }
    let mut kinds: Vec<Injected> = curve.found.iter().map(|row| row.grade.what).collect();
    kinds.dedup();
    for kind in kinds {
        let cells: Vec<String> =
            swept.iter().map(|&(row, _)| percent(curve.share(Some(kind), row))).collect();
        line(format!("| {} | all | {} |", kind.name(), cells.join(" | ")));
    }
    text
}

/// Rows of the settings that have the default's number of deviations, by share.
fn default_deviations(curve: &Curve) -> Vec<(usize, Setting)> {
    let wanted = curve.settings.iter().find(|setting| setting.is_default()).map(|setting| setting.deviations);
    let rows = curve.settings.iter().copied().enumerate();
    let rows: Vec<_> = rows.filter(|(_, setting)| Some(setting.deviations) == wanted).collect();
    debug_assert_eq!(rows.len(), SHARES.len());
    rows
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::super::curve::{Alarms, Found, Grade, curve};
    use super::*;

    fn small() -> Curve {
        let settings = Setting::all();
        let found = |grade| Found {
            grade,
            trials: 4,
            found: (0..settings.len() as u32).map(|row| row % 5).collect(),
            others: vec![1; settings.len()],
        };
        let found = Grade::all().into_iter().map(found).collect();
        let alarms = vec![Alarms { times: 1.0, hours: 48.0, alarms: (0..settings.len()).collect() }];
        Curve { ranks: 128, settings, found, alarms }
    }

    #[test]
    fn the_default_is_one_of_the_settings_and_marked_once_in_each_table() {
        let text = markdown(&small());
        assert_eq!(text.lines().filter(|line| line.contains("**")).count(), 2, "{text}");
        assert!(text.contains("| **5 %** | **6** |"), "{text}");
        // Row 20 of the settings: 20 alarms in two days; 20 % 5 of four, none, were found.
        assert!(text.contains("| **5 %** | **6** | 0 % | 20 | 10.0 |"), "{text}");
        assert!(text.contains("| lossy access link, one direction | loses 1e-3 |"), "{text}");
    }

    #[test]
    fn what_is_plain_is_found_at_the_default_and_nothing_at_a_share_beyond_it() {
        let bench = Bench::of(128).unwrap().unwrap();
        let curve = curve(&bench, 1, 0.4, &|_| {}).unwrap();
        let row = |wanted: fn(&Setting) -> bool| curve.settings.iter().position(wanted).unwrap();
        let usual = row(|setting| setting.is_default());
        let blunt = row(|setting| setting.slow_share == 0.4 && setting.deviations == 6.0);
        let of = |what, severity, setting: usize| {
            let graded = |one: &&Found| one.grade == Grade { what, severity };
            curve.found.iter().find(graded).unwrap().found[setting]
        };
        for (what, severity) in [
            (Injected::SlowGpu, 0.5),
            (Injected::SlowData, 0.5),
            (Injected::SlowCable, 0.7),
            (Injected::LossyLink, 1e-2),
        ] {
            assert_eq!(of(what, severity, usual), 1, "{what:?}");
        }
        assert_eq!(of(Injected::SlowGpu, 0.02, blunt), 0);
        assert_eq!(of(Injected::SlowCable, 0.05, blunt), 0);
        assert!(curve.share(None, usual) > curve.share(None, blunt));
        assert_eq!(curve.alarms[0].alarms[usual], 0, "{:?}", curve.alarms);
    }
}
