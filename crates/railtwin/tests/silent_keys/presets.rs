//! Keys of presets, held against the fabric that they make.
use super::*;

/// A preset: its name, small counts, keys of cables that it does not have and that nothing can tell of, since it does not run.
type PresetBase = (&'static str, &'static str, &'static [&'static str]);

/// Presets whose keys are held against the fabric that they make.
pub(super) const PRESETS: [PresetBase; 9] = [
    ("superpod", "su = 2\nhosts = 2\n", &[]),
    ("rail-optimised", "pods = 2\nsegments = 1\nradix = 32\n", &[]),
    ("rail-only", "domains = 2\nsegments = 2\nspines = 2\n", &[]),
    ("single-tor", "pods = 2\nracks = 2\nhosts = 2\ncore_ports = 16\n", &[]),
    ("generation-0", "hosts = 2\n", &[]),
    ("jupiter", "blocks = 2\nracks = 2\nmiddle_blocks = 2\nuplinks = 2\nspine_blocks = 2\n", &[]),
    ("collapsed", "hosts = 2\njoined = 2\n", &["spine_core_delay"]),
    ("mesh", "leaves = 3\nhosts_per_leaf = 2\n", &["spine_core_delay"]),
    ("torus", "x = 4\ny = 4\nz = 2\n", &[]),
];

#[test]
fn keys_of_presets_change_the_fabric() {
    let fabric_of = |text: &str| {
        let question = Question::of_text("key.toml", text, Path::new("."));
        let point = question.points().map_err(|error| error.to_string())?.remove(0);
        question
            .fabric(&point.scenario)
            .map(|fabric| format!("{fabric:?}"))
            .map_err(|error| error.to_string())
    };
    // A warning that names the key.
    let is_told = |text: &str, key: &str| {
        let question = Question::of_text("key.toml", text, Path::new("."));
        let case = question.points().and_then(|points| question.resolve(&points[0].scenario));
        case.is_ok_and(|told| told.case.warnings.iter().any(|one| one.contains(key)))
    };
    let mut all = BTreeSet::new();
    declared_in("fabric", &mut all);
    let mut wrong = Vec::new();
    for (preset, counts, without) in PRESETS {
        let base = format!(
            "schema = 1\nname = \"base\"\n[fabric]\npreset = \"{preset}\"\n{counts}[[job]]\nhosts = 2\n\
             collective = {{ kind = \"all-reduce\", bytes = \"1 MB\" }}\n"
        );
        let before = fabric_of(&base).unwrap_or_else(|error| panic!("{preset}: {error}"));
        let base: toml::Table = base.parse().unwrap();
        let (mut keys, prefix) = (Vec::new(), format!("[fabric] {preset} "));
        places(railtwin_scenario::keys(), &base, &[], &mut keys);
        for (name, path, key) in keys.into_iter().filter(|(name, ..)| name.starts_with(&prefix)) {
            assert!(all.remove(&name), "{name} is declared");
            let is_heard = others(&key.kind, now(&base, &path).as_ref()).into_iter().any(|value| {
                let mut changed = base.clone();
                set(&mut changed, &path, Some(value));
                let changed = changed.to_string();
                fabric_of(&changed).map_or(true, |after| after != before) || is_told(&changed, key.name)
            });
            if !is_heard && !without.contains(&key.name) {
                wrong.push(name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?} change nothing");
    let left: Vec<&String> = all
        .iter()
        .filter(|name| PRESETS.iter().any(|(preset, ..)| name.starts_with(&format!("[fabric] {preset} "))))
        .collect();
    assert!(left.is_empty(), "{left:?} are not tried");
}

/// Names of the keys of a section.
fn declared_in(section: &str, found: &mut BTreeSet<String>) {
    for key in railtwin_scenario::keys().keys.iter().filter(|key| key.name == section) {
        if let Kind::Section(inner) | Kind::Sections(inner) = &key.kind {
            declared(inner, found);
        }
    }
}
