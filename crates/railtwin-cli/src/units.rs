//! Values with units, for people.

/// A value with a fitting prefix: seconds as s, ms, us; bytes as MiB, GiB; rates as Gbps; ratios as they are.
pub(crate) fn shown(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else { return "–".to_owned() };
    let scaled = |steps: &[(f64, &str)], digits: usize| {
        let fits = steps.iter().find(|(scale, _)| value.abs() >= *scale).or(steps.last());
        let (scale, name) = fits.copied().unwrap_or((1.0, ""));
        format!("{:.digits$} {name}", value / scale)
    };
    match unit {
        "s" if value == 0.0 => "0 s".to_owned(),
        "s" => scaled(&[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")], 3),
        "bytes" => scaled(&[((1_u64 << 30) as f64, "GiB"), ((1_u64 << 20) as f64, "MiB"), (1.0, "B")], 2),
        "bits_per_s" => scaled(&[(1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1.0, "bps")], 2),
        "ratio" => format!("{value:.4}"),
        "count" => format!("{value}"),
        "1/s" => format!("{value:.0} /s"),
        _ => format!("{value} {unit}").trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn values_get_a_fitting_prefix() {
        assert_eq!(shown(Some(0.0125), "s"), "12.500 ms");
        assert_eq!(shown(Some(362e9), "bits_per_s"), "362.00 Gbps");
        assert_eq!(shown(Some(1.5e9), "bytes"), "1.40 GiB");
        assert_eq!(shown(None, "s"), "–");
        assert_eq!(shown(Some(15_360.0), "count"), "15360");
    }
}
