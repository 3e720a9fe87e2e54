//! The reproduction table as a page has it, from what was agreed on.
use super::agreed::AgreedTable;
use super::{Reproduced, RowKind, frames};

/// Between these the page has what is made here.
const MARKS: [&str; 2] = ["<!-- table: made by `make reproduce` -->\n", "<!-- end of the table -->\n"];

/// A number as the table has it: up to four digits after the point; large numbers, those beside a small one of the paper,
/// and small ones with their exponent.
pub fn number(value: f64, paper: f64) -> String {
    let small = paper != 0.0 && paper.abs() < 0.02;
    match value.abs() {
        large if small || large >= 1e6 => format!("{value:.4e}"),
        tiny if tiny > 0.0 && tiny < 1e-3 => format!("{value:.4e}"),
        // Zero has one sign.
        _ => format!("{:.4}", value + 0.0).trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

/// What counts as met, as the table has it.
pub fn accepted(row: &Reproduced) -> String {
    let bound = |bound: Option<f64>| bound.map_or("…".to_owned(), |value| number(value, row.paper));
    format!("{} – {}", bound(row.low), bound(row.high))
}

/// How many figures are met, missed, put in, held against README alone and skipped.
pub fn totals(outcomes: &[&str]) -> String {
    let count = |word: &str| outcomes.iter().filter(|outcome| **outcome == word).count();
    let mut text = format!("{} met, {} missed, {} put in", count("met"), count("MISSED"), count("put in"));
    if count("own") > 0 {
        text.push_str(&format!(", {} our own", count("own")));
    }
    format!("{text}, {} skipped", count("skipped"))
}

/// The table of these figures in Markdown, with what stands below it.
pub fn markdown(rows: &[Reproduced], agreed: &AgreedTable) -> String {
    let mut text = String::from(
        "| id | figure | paper | ours | accepted | | stays met | kind |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let (mut outcomes, mut not_yet) = (Vec::new(), Vec::new());
    let (mut swept, mut always, mut seldom) = (0, 0, 0);
    let (mut unrun, mut unrun_met) = (Vec::new(), 0);
    for row in rows {
        let Some(of) = agreed.of(row) else {
            if !not_yet.contains(&row.id) {
                not_yet.push(row.id.clone());
            }
            continue;
        };
        outcomes.push(of.outcome.as_str());
        let robust = if of.robust.is_empty() { "–" } else { &of.robust };
        if let (Some((met, all)), "met") = (counted(&of.robust), of.outcome.as_str()) {
            swept += 1;
            always += u32::from(met == all);
            seldom += u32::from(2 * met <= all);
        }
        if row.swept && of.robust.is_empty() {
            unrun_met += u32::from(of.outcome == "met");
            if !unrun.contains(&row.id) {
                unrun.push(row.id.clone());
            }
        }
        let kind = format!("{:?}", row.kind).to_lowercase();
        let outcome = if of.outcome == "MISSED" { "**missed**" } else { &of.outcome };
        text.push_str(&format!(
            "| {} | `{}` | {} | {} | {} | {outcome} | {robust} | {kind} |\n",
            row.id,
            row.figure,
            if row.kind == RowKind::Own { "–".to_owned() } else { number(row.paper, row.paper) },
            of.ours,
            accepted(row),
        ));
    }
    text.push_str(&format!("\n{}.\n", totals(&outcomes)));
    if swept > 0 {
        text.push_str(&format!(
            "Of {swept} met figures whose row was swept {always} stay met in every choice, {seldom} in half of them or fewer.\n"
        ));
    }
    if !unrun.is_empty() {
        text.push_str(&format!(
            "Choices of {unrun_met} more met figures are written down and were not run, so nothing says how robust they are: {}.\n",
            unrun.join(", ")
        ));
    }
    if !not_yet.is_empty() {
        text.push_str(&format!("\nNot agreed on yet, and left out: {}.\n", not_yet.join(", ")));
    }
    let notes = |head: &str, of: &dyn Fn(&Reproduced) -> Option<String>| {
        let mut known: Vec<(String, Vec<String>)> = Vec::new();
        for row in rows {
            let Some(why) = of(row) else { continue };
            match known.iter_mut().find(|(told, _)| *told == why) {
                Some((_, ids)) if ids.contains(&row.id) => {}
                Some((_, ids)) => ids.push(row.id.clone()),
                None => known.push((why, vec![row.id.clone()])),
            }
        }
        if known.is_empty() {
            return String::new();
        }
        let lines = known.iter().map(|(why, ids)| format!("- {}: {why}\n", ids.join(", ")));
        format!("\n{head}\n\n{}", lines.collect::<String>())
    };
    text.push_str(&notes("Bounds that are open, and why:", &|row| row.open.clone()));
    text.push_str(&notes("Fitted and not swept:", &|row| row.unswept.clone()));
    text.push_str(&notes("Skipped:", &|row| {
        row.skipped.as_ref().map(|why| format!("`{}`: {why}", row.figure))
    }));
    text
}

/// Of `5 of 8 (…)` both numbers.
fn counted(robust: &str) -> Option<(u32, u32)> {
    let mut words = robust.split(' ');
    let (met, _, all) = (words.next()?, words.next()?, words.next()?);
    Some((met.parse().ok()?, all.parse().ok()?))
}

/// A page with the whole table between its marks; none of a page without them.
pub fn with_table(page: &str, agreed: &AgreedTable) -> Option<String> {
    let (before, rest) = page.split_once(MARKS[0])?;
    let (_, behind) = rest.split_once(MARKS[1])?;
    Some(format!("{before}{}\n{}\n{}{behind}", MARKS[0], markdown(&frames(), agreed), MARKS[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_what_they_say() {
        for (value, paper, text) in [
            (0.0, 0.0, "0"),
            (-0.0, 0.0, "0"),
            (0.1234567, 0.2, "0.1235"),
            (15360.0, 15360.0, "15360"),
            (5.8e-6, 0.0, "5.8000e-6"),
            (2.249e11, 2.12e11, "2.2490e11"),
            (0.5, 0.01, "5.0000e-1"),
            (-0.5, 1.0, "-0.5"),
        ] {
            assert_eq!(number(value, paper), text);
        }
        assert_eq!(counted("5 of 8 (1 to 2)"), Some((5, 8)));
        assert_eq!(counted(""), None);
    }

    #[test]
    fn sweeps_that_were_not_run_are_named_and_not_counted() {
        let mut row = frames().into_iter().find(|row| row.id == "QC06").unwrap();
        (row.ours, row.met) = (Some(row.paper), Some(true));
        let mut now = AgreedTable::default();
        now.take(&[row.clone()]);
        let text = markdown(&[row.clone()], &now);
        assert!(!text.contains("was swept"), "{text}");
        assert!(text.contains("Choices of 1 more met figures are written down and were not run"), "{text}");
        assert!(text.contains("how robust they are: QC06.\n"), "{text}");
        row.robust = Some(crate::reproduce::Robust { met: 3, of: 8, least: None, most: None });
        now.take(&[row.clone()]);
        let text = markdown(&[row], &now);
        assert!(text.contains("Of 1 met figures whose row was swept 0 stay met"), "{text}");
        assert!(!text.contains("were not run"), "{text}");
    }

    #[test]
    fn a_page_without_marks_is_none() {
        assert_eq!(with_table("no marks", &AgreedTable::default()), None);
        let page = format!("a\n{}row of before\n{}b\n", MARKS[0], MARKS[1]);
        let text = with_table(&page, &AgreedTable::default()).unwrap();
        assert!(
            text.starts_with("a\n") && text.ends_with("b\n") && !text.contains("row of before"),
            "{text}"
        );
    }
}
