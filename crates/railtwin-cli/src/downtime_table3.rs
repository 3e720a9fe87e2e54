//! `railtwin downtime --table3`: C4's Table III beside what rates and times come to.
use railtwin_reliability::downtime::table3::{Stated, Table3};
use railtwin_reliability::downtime::{Account, Part};
use serde_json::{Value, json};

use crate::downtime_lines::LINES;
use crate::downtime_text::{duration, percent};
use crate::table::TextTable;

/// The table as JSON and for people.
pub(crate) fn answer() -> (Value, String) {
    let table = Table3::of(Stated::default());
    let [fitted, stated] = table.ratios();
    let json = json!({
        "table": table,
        "implied_june_interval_h": table.implied_june_interval(),
        "june_over_december": { "paper": table.paper[0].downtime() / table.paper[1].downtime(),
                                "paper_june": fitted, "stated_june": stated },
    });
    (json, text_of(&table))
}

fn text_of(table: &Table3) -> String {
    let mut text = TextTable::default();
    let head = [
        "",
        "June paper",
        "fit: per crash",
        "June stated",
        "December paper",
        "fit: per crash",
        "December predicted",
    ];
    text.row(head.map(str::to_owned));
    let added = [
        "waiting for spares",
        "checkpointing",
        "slow communication",
        "slow computing or loading",
        "productive",
    ];
    for (name, of) in LINES.iter().filter(|(name, _)| !added.contains(name)) {
        // Causes have crashes of their own, so that their hours per crash do not add up.
        let is_sum = ["diagnosis and isolation", "downtime"].contains(name);
        let fit = |month: usize| match is_sum {
            true => duration(
                of(&table.paper[month]) * railtwin_reliability::failure_rates::MONTH_H
                    / crashes(table, month),
            ),
            false => duration(of(&table.implied[month])),
        };
        text.row([
            (*name).to_owned(),
            percent(of(&table.paper[0])),
            fit(0),
            percent(of(&table.june)),
            percent(of(&table.paper[1])),
            fit(1),
            percent(of(&table.december)),
        ]);
    }
    format!("{}\n{}", text.text(), notes(table))
}

/// Notes below the table: sources, and parts that were fitted.
fn notes(table: &Table3) -> String {
    let [fitted, stated] = table.ratios();
    let paper = table.paper[0].downtime() / table.paper[1].downtime();
    let implied = |month: usize, part: Part| -> String {
        let account: &Account = &table.implied[month];
        duration(account[part])
    };
    format!(
        "Crashes of a month: {:.2} in June (Table I's rate on 2,400 GPUs, a stand-in), {:.2} in December (GPUs {} \
         times, others {} times fewer).\n\
         June over December: {paper:.1} in the paper; {fitted:.1} with its June and our December, {stated:.1} with \
         June as stated.\n\n\
         Put in: June checkpoints every {}, detects in {}; December checkpoints every {}, detects in {}, isolates \
         local crashes in {}.\n\
         Fitted: June's diagnosis and re-initialisation; December uses them for crashes that are not local, and for \
         each restart.\n\
         Implied: June's checkpoints {} apart if crashes fall evenly; June's detection takes {}, beyond the 30 min \
         of the elastic agent;\n\
         December loses {} to a crash where checkpoints 10 min apart lose 5. More crashes than Table I's rate would \
         explain most of it.\n",
        crashes(table, 0),
        crashes(table, 1),
        table.stated.gpu_fewer,
        table.stated.others_fewer,
        duration(table.stated.june_interval),
        duration(table.stated.june_detection),
        duration(table.stated.december_interval),
        duration(table.stated.december_detection),
        duration(table.stated.december_isolation),
        duration(table.implied_june_interval()),
        implied(0, Part::Detection),
        implied(1, Part::PostCheckpoint),
    )
}

fn crashes(table: &Table3, month: usize) -> f64 {
    table.crashes[month].iter().sum()
}
