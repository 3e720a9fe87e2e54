//! The reference page of the run folder, made from the code so that it cannot lag behind.
use railtwin_records::SCHEMA;
use railtwin_records::run::TABLES;

/// Files of a run folder and what each one is.
const FILES: &[(&str, &str)] = &[
    ("run.json", "facts of the run: which case, how far, what came out (see below)"),
    ("scenario.toml", "the scenario as its author wrote it"),
    ("fabric.toml", "the fabric that the case resolved to"),
    ("NAME.parquet", "a finished table (see below)"),
    ("NAME.part-0000.parquet, NAME.part-0001.parquet, …", "rows so far of a table of a run that goes on"),
    ("trace.json.gz", "the operations as a Perfetto trace, on request"),
    ("report.html", "the page that shows the run; opens from disk"),
    (".railtwin.lock", "locked by the process that writes the folder, and gone when the run has ended"),
];

/// Keys of `run.json`: name, type, meaning.
pub(crate) const RUN_KEYS: &[(&str, &str, &str)] = &[
    ("schema", "integer", "version of the run folder and its tables"),
    ("run_id", "text", "16 hexadecimal digits: SHA-256 over case text, engine and engine version, cut short"),
    ("case_hash", "text", "hash of the resolved case"),
    ("name", "text", "name of the scenario"),
    ("engine", "text", "engine that executed the case: `flow`, `packet`, or `cluster` for weeks of jobs"),
    ("seed", "integer", "64 bits; every random stream is derived from it"),
    ("version", "text", "version of railtwin that wrote the run"),
    ("status", "text", "`running`, `complete` or `interrupted`"),
    (
        "headline",
        "text",
        "the answer in at most thirty words; empty while the run goes on, and where nothing was simulated",
    ),
    ("evidence", "list of text", "what supports the headline, one sentence each, the most important first"),
    ("warnings", "list of text", "what the reader of the results ought to know"),
    ("counters", "object of integers", "how the engine worked, such as `events`"),
    ("figures", "list of objects", "numbers that sum up the run (see below)"),
    ("facts", "object of text", "words about the case"),
];

/// Keys of a figure in `run.json`.
pub(crate) const FIGURE_KEYS: &[(&str, &str, &str)] = &[
    ("name", "text", "name, unique in the run"),
    ("value", "number or null", "the value; null when there is none, or none that is finite"),
    ("unit", "text", "unit of value, low and high; empty for ratios"),
    ("note", "text", "what it means or how it was made; may be empty"),
    ("low", "number or null", "lowest over what the figure sums up, such as replicates"),
    ("high", "number or null", "highest over what the figure sums up"),
    (
        "reason",
        "text, or absent",
        "why there is no value, such as `halted at 12.5 s`; absent where there is one",
    ),
];

/// Keys of `sweep.json`, those of a case after a dot.
pub(crate) const SWEEP_KEYS: &[(&str, &str, &str)] = &[
    ("schema", "integer", "version of the file"),
    ("name", "text", "name of the scenario"),
    ("cases", "list of objects", "the cases in the scenario's order"),
    ("cases.label", "list of objects", "`axis` and `value` of each axis of the sweep"),
    ("cases.run_id", "text", "the case's run, and the name of its folder beside `sweep.json`"),
    ("cases.status", "text", "`waiting`, `running`, `complete` or `interrupted`"),
];

const READING: &str = "\
A file appears whole or not at all: it is written under a hidden name and renamed.
So a folder can be read at any moment, also while its run goes on.
Readers take `NAME.parquet` if it is there, else the parts in the order of their numbers.
A run that was interrupted keeps its parts; its `run.json` says `running` and nobody holds the lock.
";

const PARQUET: &str = "\
`u64` is INT64 and `u32` is INT32, both with the unsigned integer type; `f64` is DOUBLE.
`text` is BYTE_ARRAY with the string type, coded by a dictionary.
No value is null.
Pages are compressed by Snappy.
The metadata of each file has the keys `railtwin.schema`, `railtwin.table` and `railtwin.sha256`.
The last one is the SHA-256 of the file with these 64 digits replaced by zeros; railtwin refuses a file that does not match it.
The same table, written at once, gives the same bytes; after a merge of parts the row groups depend on when the parts were written.
To compare results, compare logical content (`railtwin compare`), not files.
";

/// The page `docs/reference/run-folder.md`: every file, every key and every column.
pub fn run_folder_markdown() -> String {
    let mut page = String::from("# The run folder\n\n");
    page.push_str("<!-- Generated: UPDATE_DOCS=1 cargo test -p railtwin-store -->\n\n");
    page.push_str("What a run leaves behind; its evidence.\n");
    page.push_str(&format!("This page describes schema {SCHEMA}.\n"));
    page.push_str("Readers accept older schemas and refuse newer ones.\n");
    page.push_str("\n## Files\n\n| file | what it is |\n| --- | --- |\n");
    for (file, meaning) in FILES {
        let names: Vec<_> = file.split(", ").map(code_unless_dots).collect();
        page.push_str(&format!("| {} | {meaning} |\n", names.join(", ")));
    }
    page.push('\n');
    page.push_str(READING);
    page.push_str("\n## run.json\n\n");
    push_rows(&mut page, "key", RUN_KEYS);
    page.push_str("\n### Figures\n\n");
    push_rows(&mut page, "key", FIGURE_KEYS);
    page.push_str("\n## Tables\n\n");
    page.push_str(PARQUET);
    page.push('\n');
    page.push_str(&tables_markdown());
    page.push_str("\n## The sweep folder\n\n");
    page.push_str("`sweep.json` and one run folder per case.\n");
    page.push_str("Resuming a sweep looks into the run folders and runs what is not complete.\n\n");
    push_rows(&mut page, "key", SWEEP_KEYS);
    page
}

/// A section for each documented table, with its columns.
pub fn tables_markdown() -> String {
    let mut text = String::new();
    for (index, table) in TABLES.iter().enumerate() {
        let gap = if index == 0 { "" } else { "\n" };
        text.push_str(&format!("{gap}### {}\n\nOne row is {}.\n\n", table.name, table.row));
        push_rows(&mut text, "column", table.columns);
    }
    text
}

fn push_rows(page: &mut String, what: &str, rows: &[(&str, &str, &str)]) {
    page.push_str(&format!("| {what} | type | meaning |\n| --- | --- | --- |\n"));
    for (name, kind, meaning) in rows {
        page.push_str(&format!("| `{name}` | {kind} | {} |\n", meaning.replace('|', "\\|")));
    }
}

fn code_unless_dots(name: &str) -> String {
    if name == "…" { name.to_owned() } else { format!("`{name}`") }
}
