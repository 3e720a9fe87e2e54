//! Lines of UCX: transfers that do not arrive, and memory that cannot be registered. They are told in the words of NCCL's lines.
//!
//! `[node7:12345:0:12345] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)`,
//! `[1700000000.1] [node7:12345:0]  ib_md.c:309  UCX  ERROR ibv_reg_mr(address=0x7, length=8, access=0xf) failed: Cannot allocate
//! memory : Please set max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)` (openucx/ucx, `src/uct/ib`).

use super::nccl_log::NcclEvent;

/// Signs of such lines.
pub(crate) const SIGNS: [&str; 2] = ["Transport retry count exceeded on ", "UCX  ERROR "];
/// Status of a completion without an answer, as in `enum ibv_wc_status`.
const RETRY_EXCEEDED: u32 = 12;

/// The host of a line, and what it reports.
pub(crate) fn read(line: &str) -> Option<(Option<&str>, NcclEvent)> {
    let event = retry(line).or_else(|| refused(line))?;
    Some((host(line), event))
}

/// The host in `[host:pid:…]`.
fn host(line: &str) -> Option<&str> {
    line.split('[').skip(1).find_map(|part| {
        let (inner, _) = part.split_once(']')?;
        let (name, rest) = inner.split_once(':')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_name = name.chars().all(|sign| sign.is_alphanumeric() || "-._".contains(sign));
        let is_host = !name.is_empty() && is_name && name.chars().any(|sign| sign.is_ascii_alphabetic());
        (is_host && rest.split(':').all(is_number)).then_some(name)
    })
}

fn retry(line: &str) -> Option<NcclEvent> {
    let (_, rest) = line.split_once(SIGNS[0])?;
    let device = rest.split([':', ' ', '/']).next().filter(|name| !name.is_empty() && name.len() < 80)?;
    Some(NcclEvent::Completion {
        status: RETRY_EXCEEDED,
        peer: String::new(),
        local_gid: String::new(),
        remote_gid: String::new(),
        device: device.to_owned(),
    })
}

fn refused(line: &str) -> Option<NcclEvent> {
    let (_, rest) = line.split_once("UCX  ERROR ").or_else(|| line.split_once("UCX ERROR "))?;
    let rest = rest.trim_start();
    let call = rest.split(['(', ' ']).next().filter(|call| call.starts_with("ibv_"))?;
    let (_, error) = rest.split_once("failed: ")?;
    let error = error.split(" :").next().unwrap_or(error);
    Some(NcclEvent::Verbs {
        call: call.chars().take(80).collect(),
        error: error.trim().chars().take(80).collect(),
        device: String::new(),
        gids: Default::default(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_kinds_of_lines_are_read_with_their_host() {
        let lost = "[node7:12345:0:12345] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15)";
        let Some((Some("node7"), NcclEvent::Completion { status: 12, device, .. })) = read(lost) else {
            panic!("{lost}")
        };
        assert_eq!(device, "mlx5_0");
        let refused = "[1700000000.1] [node7:12345:0]  ib_md.c:309  UCX  ERROR ibv_reg_mr(address=0x7, length=8) failed: Cannot \
                       allocate memory : Please set max locked memory (ulimit -l) to 'unlimited'";
        let Some((Some("node7"), NcclEvent::Verbs { call, error, .. })) = read(refused) else {
            panic!("{refused}")
        };
        assert_eq!((call.as_str(), error.as_str()), ("ibv_reg_mr", "Cannot allocate memory"));
        assert_eq!(read("UCX  INFO all is well"), None);
    }

    proptest! {
        #[test]
        fn no_line_panics(before in "\\PC{0,30}", rest in "\\PC{0,40}") {
            for sign in ["Transport retry count exceeded on ", "UCX  ERROR ibv_reg_mr(", "["] {
                let _ = read(&format!("{before}{sign}{rest} failed: {rest}"));
            }
        }
    }
}
