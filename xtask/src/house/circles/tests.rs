//! Imports between files, and the circles that they close.

use super::{circles, tokens_of, tree};
use crate::sources::Source;

fn sources(files: &[(&str, &str)]) -> Vec<Source> {
    let of = |(module, code): &(&str, &str)| Source {
        name: (*module).to_owned(),
        crate_name: "a".to_owned(),
        module: module.split('/').filter(|part| *part != "lib").map(str::to_owned).collect(),
        code: (*code).to_owned(),
        text: (*code).to_owned(),
    };
    files.iter().map(of).collect()
}

#[test]
fn trees_have_leaves() {
    let mut leaves = Vec::new();
    let tokens = tokens_of("crate::a::{self, b::{C, D as E}, f::*}");
    tree(&tokens, &mut Vec::new(), &mut leaves);
    let shown: Vec<String> =
        leaves.iter().map(|(path, name)| format!("{} {name}", path.join("::"))).collect();
    assert_eq!(shown, ["crate::a a", "crate::a::b::C C", "crate::a::b::D E", "crate::a::f *"]);
}

#[test]
fn files_that_import_each_other_are_a_circle() {
    let found = circles(&sources(&[
        ("lib", "mod a;\nmod b;\nmod c;\n"),
        ("a", "use crate::b::B;\npub struct A;\n"),
        ("b", "pub struct B;\nfn f() { super::c::c() }\n"),
        ("c", "pub fn c() -> crate::a::A {}\n"),
    ]));
    assert_eq!(found, [vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]]);
}

#[test]
fn neither_re_exports_nor_uses_of_children_close_a_circle() {
    let child = ("m/a", "use super::B;\npub struct A;\n");
    let other = ("m/b", "pub struct B;\n");
    let list = "mod a;\nmod b;\npub use a::A;\npub use self::b::B;\n";
    assert!(circles(&sources(&[("lib", "mod m;\n"), ("m", list), child, other])).is_empty());
    let owner = "mod a;\npub use a::A;\npub struct B(A);\nfn f() { a::g() }\n";
    assert!(circles(&sources(&[("lib", "mod m;\n"), ("m", owner), child])).is_empty());
    let back = "use super::a::A;\npub struct B;\n";
    let crossed = circles(&sources(&[("lib", "mod m;\n"), ("m", list), child, ("m/b", back)]));
    assert_eq!(crossed.len(), 1);
}
