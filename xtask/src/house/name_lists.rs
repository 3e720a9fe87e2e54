//! Lists of names in documents against the declaration that has them all.

use std::fs;
use std::path::Path;

use crate::settings::NameList;

/// Returns a message for each list that lacks a name of its declaration, or that is not where the settings say.
///
/// # Errors
/// When a file cannot be read.
pub fn stale(root: &Path, lists: &[NameList]) -> Result<Vec<String>, String> {
    let read = |file: &str| fs::read_to_string(root.join(file)).map_err(|e| format!("{file}: {e}"));
    let mut found = Vec::new();
    for list in lists {
        let declaration = read(&list.declared_in)?;
        let names = declared_names(&declaration, &list.declaration);
        if names.is_empty() {
            found.push(format!("{}: declares no names in `{}`", list.declared_in, list.declaration));
        }
        let text = read(&list.file)?;
        let Some((number, line)) = (1..).zip(text.lines()).find(|(_, line)| line.contains(&list.line)) else {
            found.push(format!("{}: has no line with `{}`", list.file, list.line));
            continue;
        };
        let missing: Vec<&str> =
            names.into_iter().filter(|name| !line.contains(&format!("`{name}`"))).collect();
        if !missing.is_empty() {
            found.push(format!("{}:{number}: the list lacks {}", list.file, missing.join(", ")));
        }
    }
    Ok(found)
}

/// Names that an `enum` of `choice!` or `variants!` gives its variants: `Variant = "name",`.
fn declared_names<'a>(code: &'a str, declaration: &str) -> Vec<&'a str> {
    let body = code.split_once(declaration).map_or("", |(_, rest)| rest);
    let body = body.split_once('{').map_or("", |(_, rest)| rest);
    let variants = body.lines().take_while(|line| line.trim() != "}");
    variants.filter_map(|line| line.split_once(" = \"")?.1.split_once('"')).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::declared_names;

    #[test]
    fn names_stand_behind_the_variants() {
        let code = "choice! {\n    pub enum Post \"x\" {\n        /// A.\n        A = \"by-a\",\n        B(B) = \"b\",\n    }\n}\n\
                    let c = \"d\";\n";
        assert_eq!(declared_names(code, "pub enum Post"), ["by-a", "b"]);
        assert!(declared_names(code, "pub enum Gone").is_empty());
    }
}
