//! Numbers in words: money, rates, watts, shares.

/// A whole number with commas.
pub(crate) fn number(value: f64) -> String {
    crate::intent::grouped(value.round().max(0.0) as u64)
}

/// US dollars: `$5.43 M`, `$3,400`.
pub(crate) fn money(usd: f64) -> String {
    match usd {
        usd if usd >= 1e9 => format!("${:.2} billion", usd / 1e9),
        usd if usd >= 1e6 => format!("${:.2} M", usd / 1e6),
        usd => format!("${}", number(usd)),
    }
}

/// Bits per second with a prefix.
pub(crate) fn rate(bits_per_s: f64) -> String {
    match bits_per_s {
        bits if bits >= 1e15 => format!("{:.2} Pbps", bits / 1e15),
        bits if bits >= 1e12 => format!("{:.1} Tbps", bits / 1e12),
        bits => format!("{:.0} Gbps", bits / 1e9),
    }
}

/// Watts with a prefix.
pub(crate) fn watts(watts: f64) -> String {
    match watts {
        watts if watts >= 1e6 => format!("{:.2} MW", watts / 1e6),
        watts if watts >= 1e4 => format!("{:.0} kW", watts / 1e3),
        watts => format!("{watts:.0} W"),
    }
}

/// A share as percent; one that is not whole never reads as 100 %.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match share {
        share if (0.9995..0.999_999).contains(&share) => "> 99.9 %".to_owned(),
        _ if (percent - percent.round()).abs() < 0.05 => format!("{percent:.0} %"),
        _ => format!("{percent:.1} %"),
    }
}
