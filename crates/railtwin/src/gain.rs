//! What one value of an axis gains over another, for every combination of the other axes.
use railtwin_scenario::GainSpec;
use railtwin_store::Figure;

/// A point of a sweep: its label and its figures.
pub type PointFigures<'a> = (&'a [(String, String)], &'a [Figure]);

/// `gain_min`, `gain_mean` and `gain_max` over the combinations, then one figure for each.
pub fn gains(spec: &GainSpec, points: &[PointFigures<'_>]) -> Vec<Figure> {
    let value = |figures: &[Figure]| figures.iter().find(|f| f.name == spec.figure).and_then(|f| f.value);
    let on_axis = |label: &[(String, String)]| {
        label.iter().find(|(key, _)| *key == spec.axis).map(|(_, value)| value.clone())
    };
    let others = |label: &[(String, String)]| -> Vec<(String, String)> {
        label.iter().filter(|(key, _)| *key != spec.axis).cloned().collect()
    };
    let mut named = Vec::new();
    for (label, figures) in points.iter().filter(|(label, _)| on_axis(label).as_deref() != Some(&spec.over)) {
        let base = points.iter().find(|(other, _)| {
            on_axis(other).as_deref() == Some(&spec.over) && others(other) == others(label)
        });
        if let (Some(ours), Some(base)) = (value(figures), base.and_then(|(_, figures)| value(figures))) {
            let words: Vec<String> = label.iter().map(|(key, value)| format!("{key}={value}")).collect();
            named.push((words.join(" "), ours / base - 1.0));
        }
    }
    if named.is_empty() {
        return Vec::new();
    }
    let all: Vec<f64> = named.iter().map(|(_, gain)| *gain).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let note = format!("{} over {} = {}, less one", spec.figure, spec.axis, spec.over);
    let figure = |name: &str, value: f64| Figure { note: note.clone(), ..Figure::new(name, value, "ratio") };
    let mut figures = vec![
        figure("gain_min", all.iter().copied().fold(f64::INFINITY, f64::min)),
        figure("gain_mean", mean),
        figure("gain_max", all.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    ];
    figures.extend(named.iter().map(|(label, gain)| figure(&format!("gain[{label}]"), *gain)));
    figures
}
