//! Files that are empty, damaged or of another form, through the registry: each is refused with its name.
use railtwin_topology::{FORMS, Form, SourceFile, named, read_as};

const LLDP: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/wiring/lldp/compute-001.json"));

fn readers() -> impl Iterator<Item = &'static Form> {
    FORMS.iter().filter(|form| form.read.is_some())
}

const CONFIG_DB: &str = r#"{"DEVICE_METADATA": {"localhost": {"hostname": "leaf-1", "type": "ToRRouter"}},
    "PORT": {"Ethernet0": {"alias": "etp1", "speed": "400000", "admin_status": "up"}},
    "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "server-1", "port": "eth0"}}}"#;

#[test]
fn empty_files_are_refused_by_every_form() {
    for form in readers() {
        for bytes in [&b""[..], b" ", b"\n", b" \t\r\n\x0c\n ", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n", b"\0\0"]
        {
            let error = read_as(Some(form), &[SourceFile { name: "dir/empty.file", bytes }]);
            let error = error.expect_err(form.name).to_string();
            assert!(error.starts_with("dir/empty.file"), "{}: {error}", form.name);
            assert!(error.contains("is empty") && error.contains(form.title), "{}: {error}", form.name);
        }
        let error = read_as(Some(form), &[]).expect_err(form.name).to_string();
        assert!(error.contains("no file is given"), "{}: {error}", form.name);
    }
    let error = read_as(None, &[SourceFile { name: "x", bytes: b"\n" }]).expect_err("no form").to_string();
    assert!(error.contains("is empty") && error.contains("ibnetdiscover"), "{error}");
}

#[test]
fn words_and_numbers_are_refused_by_every_form() {
    let texts =
        ["hello\n", "{}", "[]", "null", "0", "a,b,c\n1,2,3\n", "# a comment\n", "---\n", "<a/>", "\"x\""];
    let mut bad = Vec::new();
    for form in readers() {
        for text in texts {
            match read_as(Some(form), &[SourceFile { name: "dir/other.file", bytes: text.as_bytes() }]) {
                Ok(topology) => bad.push(format!("{text:?} as {}: {:?}", form.name, topology.counts())),
                Err(error) if !error.to_string().starts_with("dir/other.file") => {
                    bad.push(format!("{text:?} as {}: {error}", form.name));
                }
                Err(_) => {}
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn one_damaged_file_of_a_folder_leaves_the_others() {
    let other = CONFIG_DB.replace("leaf-1", "leaf-2").replace("server-1", "server-2");
    let cut = &CONFIG_DB[..60];
    for (form, good, more) in [("lldp", LLDP, LLDP), ("sonic-config-db", CONFIG_DB, &other)] {
        for damaged in [&b""[..], cut.as_bytes(), b"\0\x01\xff", b"\n", b"Connection to leaf-9 refused\n"] {
            let sources = [
                SourceFile { name: "f/leaf-1.json", bytes: good.as_bytes() },
                SourceFile { name: "f/leaf-9.json", bytes: damaged },
                SourceFile { name: "f/leaf-2.json", bytes: more.as_bytes() },
            ];
            let form = named(form).expect("a form");
            let topology = read_as(Some(form), &sources).expect("two files are whole");
            let whole = read_as(Some(form), &[sources[0], sources[2]]).expect("both files are whole");
            assert_eq!(topology.counts(), whole.counts(), "{}: {damaged:?}", form.name);
            let found: Vec<&str> = topology
                .findings
                .iter()
                .filter(|finding| finding.kind == "unreadable-file")
                .map(|finding| finding.device.as_str())
                .collect();
            assert_eq!(found, ["f/leaf-9.json"], "{}: {damaged:?}", form.name);
            let error = read_as(Some(form), &[sources[1]]).expect_err("none is whole").to_string();
            assert!(error.starts_with("f/leaf-9.json"), "{error}");
        }
    }
}
