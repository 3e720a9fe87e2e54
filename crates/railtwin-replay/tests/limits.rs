//! Jobs that live records have no words for are refused in words.
use std::path::Path;

use railtwin::Question;
use railtwin_replay::{ReplaySettings, replay};

fn refusal(host: &str, job: &str, more: &str) -> String {
    let text = format!(
        "schema = 1\nname = \"limits\"\n{more}\n[fabric]\npreset = \"leaf-spine\"\nleaves = 1\nhosts_per_leaf = 4\n\
         uplinks = 1\nhost = {{ model = \"plain\"{host} }}\n[[job]]\n{job}\n"
    );
    let question = Question::of_text("limits.toml", &text, Path::new("."));
    let point = question.points().expect("the scenario is right").remove(0);
    let resolved = question.resolve(&point.scenario).expect("the scenario resolves");
    let refused = replay(&resolved, &ReplaySettings::default());
    refused.expect_err("such a job is refused").to_string()
}

#[test]
fn what_has_no_words_is_refused() {
    let ring = "hosts = 4\ncollective = { kind = \"all-reduce\", bytes = \"1 MB\", compute = \"1 ms\" }";
    let several = refusal(", gpus = 2, nics = 2", ring, "");
    assert!(several.contains("a host of its own"), "{several}");
    let direct = "hosts = 4\ncollective = { kind = \"all-to-all\", bytes = \"1 MB\" }";
    assert!(refusal("", direct, "").contains("one ring over all ranks"));
    assert!(refusal("", ring, "engine = \"packet\"").contains("engine = \"flow\""));
}
