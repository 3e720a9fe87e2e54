//! Circles of modules: files of one crate that import each other, directly or over others.
//!
//! A file imports another where its live code names a path into it that begins with `crate::` or `super::`, in a `use` or
//! inside an expression. The path is followed through re-exports to the file that declares the item, so a `mod.rs` that
//! only lists (`mod`, `pub use`) closes no circle. Paths to a module's own children (`child::item`, `self::child::item`)
//! do not count: a module is made of its children. Names that macros or methods bring in are not seen.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::sources::Source;

/// Files of a circle beyond which it is a large one.
pub const LARGE: usize = 4;
/// Steps over which re-exports are followed.
const DEPTH: usize = 8;

/// Returns the circles of all crates, the largest first; each lists its files.
pub fn circles(sources: &[Source]) -> Vec<Vec<String>> {
    let mut by_crate: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        by_crate.entry(&source.crate_name).or_default().push(source);
    }
    let mut found: Vec<Vec<String>> = Vec::new();
    for sources in by_crate.values() {
        let house = House::of(sources);
        let edges: Vec<BTreeSet<usize>> = (0..sources.len()).map(|file| house.imports(file)).collect();
        for circle in components(&edges).into_iter().filter(|circle| circle.len() > 1) {
            found.push(circle.into_iter().map(|file| sources[file].name.clone()).collect());
        }
    }
    found.iter_mut().for_each(|circle| circle.sort());
    found.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    found
}

/// Returns the imports between the files of one circle, as `from -> to: names`, each with the files of the largest
/// circle that is left without it; the best cuts come first.
pub fn edges_within(sources: &[Source], circle: &[String]) -> Vec<String> {
    let crate_name = sources.iter().find(|source| source.name == circle[0]).map(|source| &source.crate_name);
    let own: Vec<&Source> = sources.iter().filter(|source| Some(&source.crate_name) == crate_name).collect();
    let house = House::of(&own);
    let inside = |file: usize| circle.contains(&own[file].name);
    let mut names: BTreeMap<(usize, usize), BTreeSet<String>> = BTreeMap::new();
    for from in (0..own.len()).filter(|&file| inside(file)) {
        for path in &house.files[from].paths {
            if let Some(to) = house.target(from, path, DEPTH).filter(|&to| to != from && inside(to)) {
                names.entry((from, to)).or_default().extend(path.last().cloned());
            }
        }
    }
    let left = |cut: (usize, usize)| {
        let mut edges = vec![BTreeSet::new(); own.len()];
        for &(from, to) in names.keys().filter(|&&edge| edge != cut) {
            edges[from].insert(to);
        }
        components(&edges).iter().map(Vec::len).max().unwrap_or_default()
    };
    let mut lines: Vec<(usize, String)> = names
        .iter()
        .map(|(&(from, to), names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let left = left((from, to));
            let (from, to) = (&own[from].name, &own[to].name);
            (left, format!("  {left:>3} left without {from} -> {to}: {}", names.join(", ")))
        })
        .collect();
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

/// One file: its items, the names that it imports, and the paths that its code names.
#[derive(Default)]
struct File {
    module: Vec<String>,
    items: BTreeSet<String>,
    /// Name in this file and the path that it stands for.
    imported: HashMap<String, Vec<String>>,
    /// Paths of which everything is imported.
    globs: Vec<Vec<String>>,
    /// Paths that count as imports: from `crate` or `super` on.
    paths: Vec<Vec<String>>,
}

impl File {
    fn note(&mut self, path: Vec<String>) {
        if matches!(path[0].as_str(), "crate" | "super") {
            self.paths.push(path);
        }
    }

    /// Notes that `path` is known here by `name` (`*`: all that is in it).
    fn import(&mut self, path: Vec<String>, name: String, is_shown: bool) {
        if !is_shown {
            self.note(path.clone());
        }
        match name.as_str() {
            "*" => self.globs.push(path),
            _ => drop(self.imported.insert(name, path)),
        }
    }
}

/// The files of a crate by their modules.
struct House {
    files: Vec<File>,
    modules: HashMap<Vec<String>, usize>,
}

impl House {
    fn of(sources: &[&Source]) -> Self {
        let mut modules = HashMap::new();
        for (at, source) in sources.iter().enumerate() {
            modules.entry(source.module.clone()).or_insert(at);
        }
        let files = sources.iter().map(|source| read(source)).collect();
        Self { files, modules }
    }

    fn imports(&self, from: usize) -> BTreeSet<usize> {
        let paths = self.files[from].paths.iter();
        paths.filter_map(|path| self.target(from, path, DEPTH)).filter(|&to| to != from).collect()
    }

    /// The file that declares what `path` names as seen from `from`; none outside of the crate.
    fn target(&self, from: usize, path: &[String], depth: usize) -> Option<usize> {
        let own = &self.files[from].module;
        let (mut module, rest): (Vec<String>, &[String]) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (own.clone(), &path[1..]),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                (own[..own.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            first => {
                let is_child = self.modules.contains_key(&below(own, first));
                (is_child || self.files[from].imported.contains_key(first)).then_some(())?;
                (own.clone(), path)
            }
        };
        for (at, part) in rest.iter().enumerate() {
            let child = below(&module, part);
            if self.modules.contains_key(&child) {
                module = child;
                continue;
            }
            return self.declared(*self.modules.get(&module)?, &rest[at..], depth);
        }
        self.modules.get(&module).copied()
    }

    /// The file that declares the first of `rest`, which the module of `file` names.
    fn declared(&self, file: usize, rest: &[String], depth: usize) -> Option<usize> {
        let here = &self.files[file];
        if depth == 0 || here.items.contains(&rest[0]) {
            return Some(file);
        }
        if let Some(path) = here.imported.get(&rest[0]) {
            let path: Vec<String> = path.iter().chain(&rest[1..]).cloned().collect();
            // A path into another crate ends here: the name is passed on, and its file is no part of this crate.
            return self.target(file, &path, depth - 1);
        }
        let over_globs = here.globs.iter().filter_map(|glob| {
            let glob: Vec<String> = glob.iter().chain(rest).cloned().collect();
            self.target(file, &glob, depth - 1)
        });
        let declares = |&to: &usize| self.files[to].items.contains(&rest[0]);
        over_globs.into_iter().find(declares).or(Some(file))
    }
}

fn below(module: &[String], name: &str) -> Vec<String> {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

fn read(source: &Source) -> File {
    let mut file = File { module: source.module.clone(), ..File::default() };
    let tokens = tokens_of(&source.code);
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at] == "use" {
            let is_shown = shown_before(&tokens, at);
            let end =
                tokens[at..].iter().position(|token| *token == ";").map_or(tokens.len(), |one| at + one);
            let mut leaves = Vec::new();
            tree(&tokens[at + 1..end], &mut Vec::new(), &mut leaves);
            for (path, name) in leaves {
                file.import(path, name, is_shown);
            }
            at = end + 1;
            continue;
        }
        if matches!(tokens[at], "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union") {
            file.items
                .extend(tokens.get(at + 1).filter(|name| **name != "fn").map(|name| (*name).to_owned()));
        }
        if let Some(name) = tokens.get(at + 2).filter(|_| tokens[at] == "macro_rules") {
            file.items.insert((*name).to_owned());
        }
        let begins = at == 0 || tokens[at - 1] != "::";
        if begins && tokens.get(at + 1) == Some(&"::") && is_name(tokens[at]) {
            let mut path = vec![tokens[at].to_owned()];
            while tokens.get(at + 1) == Some(&"::") && tokens.get(at + 2).is_some_and(|name| is_name(name)) {
                path.push(tokens[at + 2].to_owned());
                at += 2;
            }
            file.note(path);
        }
        at += 1;
    }
    file
}

/// Whether `pub` or `pub(…)` stands before the token at `at`.
fn shown_before(tokens: &[&str], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    match tokens[before] {
        "pub" => true,
        ")" => tokens[..before].iter().rev().take(4).any(|token| *token == "pub"),
        _ => false,
    }
}

/// Leaves of a `use` tree: the path and the name that it gets here (`*` for all).
fn tree(tokens: &[&str], path: &mut Vec<String>, leaves: &mut Vec<(Vec<String>, String)>) {
    let outer = path.len();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at] {
            "{" => {
                let mut depth = 0_usize;
                let close = tokens[at..].iter().position(|token| {
                    depth = match *token {
                        "{" => depth + 1,
                        "}" => depth.saturating_sub(1),
                        _ => depth,
                    };
                    depth == 0
                });
                let close = close.map_or(tokens.len(), |one| at + one);
                for branch in branches(&tokens[at + 1..close.min(tokens.len())]) {
                    tree(branch, path, leaves);
                }
                path.truncate(outer);
                return;
            }
            "*" => leaves.push((path.clone(), "*".to_owned())),
            "as" => {
                if let (Some((_, name)), Some(new)) = (leaves.last_mut(), tokens.get(at + 1)) {
                    *name = (*new).to_owned();
                }
                break;
            }
            "::" => {}
            name => {
                if name != "self" || path.is_empty() {
                    path.push(name.to_owned());
                }
                if tokens.get(at + 1) != Some(&"::") {
                    leaves.push((path.clone(), path.last().cloned().unwrap_or_default()));
                }
            }
        }
        at += 1;
    }
    path.truncate(outer);
}

/// Parts of a list, cut at the commas of the outermost braces.
fn branches<'t, 'a>(tokens: &'t [&'a str]) -> Vec<&'t [&'a str]> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                parts.push(&tokens[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[from..]);
    parts.retain(|part| !part.is_empty());
    parts
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Identifiers, `::` and single signs.
fn tokens_of(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            one if one.is_whitespace() => 0,
            one if one.is_alphanumeric() || one == '_' => {
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
            }
            ':' if rest.starts_with("::") => 2,
            one => one.len_utf8(),
        };
        if length > 0 {
            tokens.push(&rest[..length]);
        }
        rest = &rest[length.max(first.len_utf8())..];
    }
    tokens
}

/// Strongly connected components (Tarjan).
fn components(edges: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut search =
        Search { edges, index: vec![None; edges.len()], low: vec![0; edges.len()], ..Search::default() };
    for node in 0..edges.len() {
        if search.index[node].is_none() {
            search.visit(node);
        }
    }
    search.found
}

#[derive(Default)]
struct Search<'a> {
    edges: &'a [BTreeSet<usize>],
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, node: usize) {
        let index = self.next;
        self.next += 1;
        self.index[node] = Some(index);
        self.low[node] = index;
        self.stack.push(node);
        for &to in &self.edges[node] {
            match self.index[to] {
                None => {
                    self.visit(to);
                    self.low[node] = self.low[node].min(self.low[to]);
                }
                Some(of) if self.stack.contains(&to) => self.low[node] = self.low[node].min(of),
                Some(_) => {}
            }
        }
        if self.low[node] == index {
            let from = self.stack.iter().position(|&one| one == node).unwrap_or_default();
            self.found.push(self.stack.split_off(from));
        }
    }
}

#[cfg(test)]
mod tests;
