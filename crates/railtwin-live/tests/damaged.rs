//! Files that are damaged: they are read as far as they can be, and nothing panics.
use proptest::prelude::*;
use railtwin_live::reader::{merged, read};
use railtwin_live::record::{Body, Heartbeat, Record, TcpReading};
use railtwin_live::{JudgeSettings, replay};

const LINES: &str = concat!(
    "{\"k\":\"st\",\"t\":100,\"step\":0,\"data\":20092,\"comp\":99917}\n",
    "{\"k\":\"en\",\"t\":200,\"seq\":0,\"b\":1048576}\n",
    "{\"k\":\"op\",\"en\":200,\"t\":900,\"seq\":0,\"succ\":1,\"pred\":7,\"w\":[[0,0,0]]}\n",
    "{\"k\":\"hb\",\"t\":950,\"seq\":1,\"in\":1,\"rs\":8,\"ss\":8,\"s\":{\"una\":3,\"bko\":9},\"ping\":[-1,263,-1]}\n",
    "{\"k\":\"err\",\"t\":990,\"seq\":46,\"side\":\"s\",\"peer\":6,\"errno\":32}\n",
);

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..2000), rank in prop::option::of(any::<u32>())) {
        let file = read(&bytes, rank);
        replay::incidents(&merged([file]), JudgeSettings::default());
    }

    #[test]
    fn lines_that_are_cut_and_changed_are_counted(
        cut in 0_usize..500, at in 0_usize..500, byte in any::<u8>(),
    ) {
        let mut bytes = LINES.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        bytes.truncate(cut.max(1));
        let file = read(&bytes, Some(0));
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace));
        prop_assert_eq!(file.records.len() as u64 + file.damaged + file.unknown, lines.count() as u64);
    }

    #[test]
    fn any_records_are_judged(
        rows in prop::collection::vec((0_u32..5, any::<u64>(), 0_u8..4, any::<u64>(), any::<i64>()), 0..60),
    ) {
        let records = rows.into_iter().map(|(rank, time_ns, kind, number, trip)| {
            let connection = TcpReading { rtx: number, ba: number, busy: number, una: 1, bko: number, ..TcpReading::default() };
            let heartbeat = Heartbeat { seq: number, s: Some(connection), ping: vec![trip; 4], ..Heartbeat::default() };
            let body = match kind {
                0 => Body::Heartbeat(Box::new(heartbeat)),
                1 => Body::Entered(railtwin_live::record::Entered { seq: number, b: 0 }),
                2 => Body::Step(railtwin_live::record::Step { step: number, data: number, comp: number }),
                _ => Body::Broken(railtwin_live::record::Broken { seq: number, side: String::new(), peer: rank + 1, errno: trip }),
            };
            Record { rank, time_ns, body }
        });
        let mut records: Vec<Record> = records.collect();
        records.sort_by_key(|record| record.time_ns);
        replay::incidents(&records, JudgeSettings::default());
    }
}
