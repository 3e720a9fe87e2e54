//! Values with units, for people.
use railtwin_store::Figure;
use railtwin_store::compare::NOT_IN_RUN;

/// Time counts in whole picoseconds: what is nearer to 0 than half of one is what floats leave behind.
const NO_TIME: f64 = 0.5e-12;

/// A value with a fitting prefix: seconds as s, ms, us, ns, ps; bytes as MiB, GiB; rates as Gbps; ratios as they are.
pub(crate) fn shown(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else { return "–".to_owned() };
    let scaled = |steps: &[(f64, &str)], digits: usize| {
        let fits = steps.iter().find(|(scale, _)| value.abs() >= *scale).or(steps.last());
        let (scale, name) = fits.copied().unwrap_or((1.0, ""));
        format!("{:.digits$} {name}", value / scale)
    };
    let text = match unit {
        "s" if value.abs() < NO_TIME => "0 s".to_owned(),
        "s" => scaled(&[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps")], 3),
        "bytes" => scaled(&[((1_u64 << 30) as f64, "GiB"), ((1_u64 << 20) as f64, "MiB"), (1.0, "B")], 2),
        "bits_per_s" => scaled(&[(1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1.0, "bps")], 2),
        "ratio" => format!("{value:.4}"),
        "count" => format!("{value}"),
        "1/s" => format!("{value:.0} /s"),
        _ => format!("{value} {unit}").trim_end().to_owned(),
    };
    unsigned_zero(text)
}

/// A change in percent with its sign: `+4.24 %`; `–` of none.
pub(crate) fn change(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| unsigned_zero(format!("{:+.2} %", 100.0 * share)))
}

/// Without the sign of what rounding made 0: `-0.0000` is `0.0000`.
pub(crate) fn unsigned_zero(text: String) -> String {
    let number = text.split(' ').next().unwrap_or_default();
    match number.strip_prefix(['-', '+']) {
        Some(digits) if digits.chars().all(|c| matches!(c, '0' | '.')) => text[1..].to_owned(),
        _ => text,
    }
}

/// A figure in a narrow place: its value, or `–` and the first words of why there is none; none = not of this run.
pub(crate) fn brief(figure: Option<&Figure>) -> String {
    match figure {
        Some(figure) if figure.value.is_some() => shown(figure.value, &figure.unit),
        Some(figure) => missing(short(&figure.reason)),
        None => missing(NOT_IN_RUN),
    }
}

/// A figure without a value.
pub(crate) fn missing(reason: &str) -> String {
    format!("– {reason}").trim_end().to_owned()
}

/// The first words of a reason, without where and when: `halted` of `halted at 12.5 s`.
pub(crate) fn short(reason: &str) -> &str {
    if reason == NOT_IN_RUN {
        return reason;
    }
    let ends = [" at ", " in ", " from ", " between ", ", ", ":"].map(|word| reason.find(word));
    reason[..ends.into_iter().flatten().min().unwrap_or(reason.len())].trim_end()
}

/// Lines for the reasons that [`short`] cut off, each with the names that it is of: `A  step_time, mfu: halted at 12.5 s`.
pub(crate) fn reasons<'a>(of: &str, figures: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut lines: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, reason) in figures.filter(|(_, reason)| short(reason) != *reason) {
        match lines.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => lines.push((reason, vec![name])),
        }
    }
    lines.iter().map(|(reason, names)| format!("{of}  {}: {reason}\n", names.join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_get_a_fitting_prefix() {
        assert_eq!(shown(Some(0.0125), "s"), "12.500 ms");
        assert_eq!(shown(Some(7e-12), "s"), "7.000 ps");
        assert_eq!(shown(Some(362e9), "bits_per_s"), "362.00 Gbps");
        assert_eq!(shown(Some(1.5e9), "bytes"), "1.40 GiB");
        assert_eq!(shown(None, "s"), "–");
        assert_eq!(shown(Some(15_360.0), "count"), "15360");
    }

    #[test]
    fn what_rounding_leaves_is_zero_without_a_sign() {
        assert_eq!(shown(Some(-1e-9), "ratio"), "0.0000");
        assert_eq!(shown(Some(-0.0), "count"), "0");
        assert_eq!(shown(Some(3.553e-14), "s"), "0 s");
        assert_eq!(shown(Some(-3.553e-14), "s"), "0 s");
        assert_eq!(shown(Some(-0.2), "1/s"), "0 /s");
        assert_eq!(shown(Some(-0.001), "bytes"), "0.00 B");
        assert_eq!(shown(Some(-0.25), "ratio"), "-0.2500");
        assert_eq!(unsigned_zero("+0.00".to_owned()), "0.00");
    }

    #[test]
    fn a_missing_figure_says_why_in_short() {
        let halted = Figure::missing("step_time", "s", "halted in 3 of 20 draws, first at 12.5 s");
        assert_eq!(brief(Some(&halted)), "– halted");
        assert_eq!(brief(None), "– not in this run");
        assert_eq!(brief(Some(&Figure::new("halted", 1.0, "count"))), "1");
        let words = ["hung from 15 ms on", "no route left at 1 s", "not ended at the end of simulated time"];
        assert_eq!(words.map(short), ["hung", "no route left", "not ended"]);
    }
}
