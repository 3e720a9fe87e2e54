//! Pickles that hold plain data, decoded without a way to run anything.
//!
//! A pickle is a program for a stack machine. Most of its opcodes push data; a few import a name or call it, and those are
//! what makes loading a stranger's pickle run a stranger's code. Here only the former exist: whatever would import, call
//! or build an object ends the reading with its name. What comes out is the same tree that a JSON file would give.
//!
//! Why not a crate: `serde-pickle` 1.2 copies a value each time it is taken from the memo, so a few hundred bytes can ask
//! for any amount of memory, and it says "unresolved global reference" without the name of what was to be imported.

use std::borrow::Cow;

use serde_json::Number;

use super::tree::Tree;
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "pickle";
/// Deepest nesting of what is read; dumps have five levels.
const DEPTH_MAX: usize = 64;
/// Most that a file may unfold to, per byte of it, in values and in 32 bytes of text: what is shared is written once and
/// used again, names of keys above all, at two bytes a time.
const VALUES_PER_BYTE: usize = 4;
/// Most that any file may unfold to, counted so. The largest ring that PyTorch's documents show, 20,000 operations with
/// stacks of 30 frames each, has 5 million.
const VALUES_MAX: usize = 8_000_000;
/// Most memory in bytes that a pickle may take while it is worked off; a value costs one byte in the file and some eighty
/// here. That ring takes 200 MB.
const BYTES_MAX: usize = 512 << 20;
/// What an allocation costs beside its bytes, and what a row of the memo does.
const ALLOCATED: usize = 32;
const REMEMBERED: usize = 48;

/// Whether bytes begin as a pickle of protocol 2 to 5 does.
pub(crate) fn is_pickle(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80, 2..=5, ..])
}

/// A value on the stack; containers hold rows of the arena.
#[derive(Debug)]
enum Cell<'a> {
    Plain(Tree<'a>),
    List(Vec<usize>),
    Dict(Vec<(usize, usize)>),
}

/// A decoded pickle of plain data. Tuples and sets are read as lists, number keys as text.
pub(crate) struct Pickle<'a> {
    machine: Machine<'a>,
    root: usize,
}

impl<'a> Pickle<'a> {
    /// Works a pickle off. What it holds is written out by [`Self::head`] and [`Self::each_item`].
    ///
    /// # Errors
    /// With the byte: an opcode that would import, call or build, by its name; one that is not known; a pickle that ends early
    /// or takes from an empty stack; what is nested deeper than [`DEPTH_MAX`] or in a circle, takes more than [`BYTES_MAX`],
    /// or unfolds to too much.
    pub(crate) fn read(source_name: &'a str, bytes: &'a [u8]) -> Result<Self, FormatError> {
        Self::read_within(source_name, bytes, BYTES_MAX)
    }

    /// The same within so much memory.
    fn read_within(source_name: &'a str, bytes: &'a [u8], memory: usize) -> Result<Self, FormatError> {
        let mut machine = Machine::new(source_name, bytes, memory);
        let root = machine.run()?;
        let mut left = bytes.len().saturating_mul(VALUES_PER_BYTE).min(VALUES_MAX);
        machine.measure(root, 0, &mut left)?;
        Ok(Self { machine, root })
    }

    /// The row of the list of that key.
    fn list(&self, key: &str) -> Option<&[usize]> {
        let Cell::Dict(pairs) = &self.machine.arena[self.root] else { return None };
        let is_it = |row: usize| self.machine.key(row).is_ok_and(|known| known == key);
        let (_, value) = pairs.iter().rfind(|(known, _)| is_it(*known))?;
        if let Cell::List(items) = &self.machine.arena[*value] { Some(items) } else { None }
    }

    /// The tree without the items of the list of that key, which is there and empty.
    ///
    /// # Errors
    /// None: what is wrong [`Self::read`] says.
    pub(crate) fn head(&self, key: &str) -> Result<Tree<'a>, FormatError> {
        let Cell::Dict(pairs) = &self.machine.arena[self.root] else { return self.machine.unfold(self.root) };
        let mut dict = Vec::with_capacity(pairs.len());
        for &(known, value) in pairs {
            let known = self.machine.key(known)?;
            let tree = match &self.machine.arena[value] {
                Cell::List(_) if known == key => Tree::List(Vec::new()),
                _ => self.machine.unfold(value)?,
            };
            dict.push((known, tree));
        }
        Ok(Tree::Dict(dict))
    }

    /// Hands out the items of that list, one at a time with its number.
    ///
    /// # Errors
    /// None: what is wrong [`Self::read`] says.
    pub(crate) fn each_item(
        &self,
        key: &str,
        take: &mut dyn FnMut(usize, &Tree<'a>),
    ) -> Result<(), FormatError> {
        for (at, &item) in self.list(key).unwrap_or_default().iter().enumerate() {
            take(at, &self.machine.unfold(item)?);
        }
        Ok(())
    }
}

/// The error for a pickle that would import, call or build something, with the name of what; none for one that does not, or
/// that is wrong before it does.
pub(crate) fn runs_something(source_name: &str, bytes: &[u8]) -> Option<FormatError> {
    let mut machine = Machine::new(source_name, bytes, BYTES_MAX);
    let error = machine.run().err()?;
    machine.would_run.then_some(error)
}

struct Machine<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    arena: Vec<Cell<'a>>,
    stack: Vec<usize>,
    marks: Vec<usize>,
    memo: std::collections::BTreeMap<u64, usize>,
    /// Bytes that may still be taken. What is given up on the way is not given back: the bound is on all that is made.
    left: usize,
    /// Whether it came to an opcode that would import, call or build something.
    would_run: bool,
}

impl<'a> Machine<'a> {
    fn new(source: &'a str, bytes: &'a [u8], memory: usize) -> Self {
        Self {
            source,
            bytes,
            at: 0,
            arena: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: std::collections::BTreeMap::new(),
            left: memory,
            would_run: false,
        }
    }

    fn error(&self, at: usize, problem: impl Into<String>, accepted: &str) -> FormatError {
        FormatError::new(FORMAT, self.source, problem, accepted).at_byte(at as u64)
    }

    fn short(&self) -> FormatError {
        self.error(self.bytes.len(), "the pickle ends early", "give the whole file: it may be cut short")
    }

    fn wrong(&self, problem: &str) -> FormatError {
        self.error(self.at, format!("is no pickle: {problem}"), "write the dump anew")
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], FormatError> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let part = &self.bytes[self.at..end.ok_or_else(|| self.short())?];
        self.at += count;
        Ok(part)
    }

    /// A number without sign, the least byte first.
    fn unsigned(&mut self, width: usize) -> Result<u64, FormatError> {
        Ok(self.take(width)?.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    /// Bytes behind their count.
    fn counted(&mut self, width: usize) -> Result<&'a [u8], FormatError> {
        let count = self.unsigned(width)?;
        self.take(usize::try_from(count).map_err(|_| self.short())?)
    }

    fn line(&mut self) -> Result<String, FormatError> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| self.short())?;
        let line = String::from_utf8_lossy(&rest[..end]).trim_end().to_owned();
        self.at += end + 1;
        Ok(line)
    }

    /// Takes memory before it is used.
    fn charge(&mut self, bytes: usize) -> Result<(), FormatError> {
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or_else(|| self.wrong("what it builds takes more memory than any dump"))?;
        Ok(())
    }

    fn push(&mut self, cell: Cell<'a>) -> Result<(), FormatError> {
        self.charge(size_of::<Cell>())?;
        self.arena.push(cell);
        self.point(self.arena.len() - 1)
    }

    /// Puts a row on the stack; from there it may move into one list or dict.
    fn point(&mut self, row: usize) -> Result<(), FormatError> {
        self.charge(3 * size_of::<usize>())?;
        self.stack.push(row);
        Ok(())
    }

    fn text(&mut self, bytes: &'a [u8]) -> Result<(), FormatError> {
        // What is no UTF-8 becomes three bytes.
        self.charge(bytes.len().saturating_mul(3) + ALLOCATED)?;
        self.push(Cell::Plain(Tree::Text(String::from_utf8_lossy(bytes))))
    }

    fn pop(&mut self) -> Result<usize, FormatError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err(self.wrong("it takes from an empty stack"));
        }
        self.stack.pop().ok_or_else(|| self.wrong("it takes from an empty stack"))
    }

    /// What stands above the last mark.
    fn above_mark(&mut self) -> Result<Vec<usize>, FormatError> {
        let mark = self.marks.pop().ok_or_else(|| self.wrong("it has no mark"))?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn tuple(&mut self, count: usize) -> Result<(), FormatError> {
        let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<_>, _>>()?;
        items.reverse();
        self.charge(ALLOCATED)?;
        self.push(Cell::List(items))
    }

    fn extend_list(&mut self, items: Vec<usize>) -> Result<(), FormatError> {
        let list = self.stack.last().copied().ok_or_else(|| self.wrong("it takes from an empty stack"))?;
        match &mut self.arena[list] {
            Cell::List(all) => all.extend(items),
            _ => return Err(self.wrong("it appends to what is no list")),
        }
        Ok(())
    }

    fn extend_dict(&mut self, items: &[usize]) -> Result<(), FormatError> {
        let dict = self.stack.last().copied().ok_or_else(|| self.wrong("it takes from an empty stack"))?;
        let pairs = pairs(items).ok_or_else(|| self.wrong("a key has no value"))?;
        match &mut self.arena[dict] {
            Cell::Dict(all) => all.extend(pairs),
            _ => return Err(self.wrong("it sets a key of what is no dict")),
        }
        Ok(())
    }

    fn remember(&mut self, key: u64) -> Result<(), FormatError> {
        let top = self.stack.last().copied().ok_or_else(|| self.wrong("it remembers nothing"))?;
        self.charge(REMEMBERED)?;
        self.memo.insert(key, top);
        Ok(())
    }

    fn recall(&mut self, key: u64) -> Result<(), FormatError> {
        let row =
            self.memo.get(&key).copied().ok_or_else(|| self.wrong("it recalls what it never put away"))?;
        self.point(row)
    }

    /// Works opcodes off until the end; gives the row of the result.
    fn run(&mut self) -> Result<usize, FormatError> {
        loop {
            let at = self.at;
            let code = self.take(1)?[0];
            if code == b'.' {
                return self.pop();
            }
            let is_data = self.makes_value(at, code)?
                || self.uses_memo(code)?
                || self.gathers(code)?
                || self.moves_stack(code)?;
            if !is_data {
                return Err(self.refused(at, code));
            }
        }
    }

    /// Works an opcode off that makes a single value; false where it is none of these.
    fn makes_value(&mut self, at: usize, code: u8) -> Result<bool, FormatError> {
        match code {
            b'N' => self.push(Cell::Plain(Tree::Null))?,
            0x88 => self.push(Cell::Plain(Tree::Bool(true)))?,
            0x89 => self.push(Cell::Plain(Tree::Bool(false)))?,
            b'K' | b'M' => {
                let number = self.unsigned(if code == b'K' { 1 } else { 2 })?;
                self.push(Cell::Plain(Tree::Number(number.into())))?;
            }
            b'J' => {
                let number = self.unsigned(4)? as u32 as i32;
                self.push(Cell::Plain(Tree::Number(number.into())))?;
            }
            0x8a | 0x8b => {
                let number = self.counted(if code == 0x8a { 1 } else { 4 })?;
                let number = whole(number).ok_or_else(|| {
                    self.error(at, "a number has more than 16 bytes", "dumps have numbers of 8 bytes")
                })?;
                self.push(Cell::Plain(number))?;
            }
            b'G' => {
                let bytes = self.take(8)?;
                let number = f64::from_be_bytes(bytes.try_into().map_err(|_| self.short())?);
                self.push(Cell::Plain(Number::from_f64(number).map_or(Tree::Null, Tree::Number)))?;
            }
            // Texts, and bytes, which dumps do not have, as text.
            b'X' | b'T' | b'B' | b'U' | b'C' | 0x8c | 0x8d | 0x8e | 0x96 => {
                let width = match code {
                    b'U' | b'C' | 0x8c => 1,
                    b'X' | b'T' | b'B' => 4,
                    _ => 8,
                };
                let bytes = self.counted(width)?;
                self.text(bytes)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Works an opcode off that makes a list, tuple or dict, or fills one; false where it is none of these.
    fn gathers(&mut self, code: u8) -> Result<bool, FormatError> {
        match code {
            b')' | b']' | 0x8f => self.push(Cell::List(Vec::new()))?,
            b'}' => self.push(Cell::Dict(Vec::new()))?,
            b't' | b'l' | 0x91 => {
                let items = self.above_mark()?;
                self.charge(ALLOCATED)?;
                self.push(Cell::List(items))?;
            }
            b'd' => {
                let items = self.above_mark()?;
                let pairs = pairs(&items).ok_or_else(|| self.wrong("a key has no value"))?;
                self.push(Cell::Dict(pairs))?;
            }
            0x85..=0x87 => self.tuple(usize::from(code - 0x84))?,
            b'a' => {
                let item = self.pop()?;
                self.extend_list(vec![item])?;
            }
            b'e' | 0x90 => {
                let items = self.above_mark()?;
                self.extend_list(items)?;
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.extend_dict(&[key, value])?;
            }
            b'u' => {
                let items = self.above_mark()?;
                self.extend_dict(&items)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Works an opcode off that puts the top of the stack away or takes it up again; false where it is none of these.
    fn uses_memo(&mut self, code: u8) -> Result<bool, FormatError> {
        match code {
            b'q' | b'r' => {
                let key = self.unsigned(if code == b'q' { 1 } else { 4 })?;
                self.remember(key)?;
            }
            0x94 => self.remember(self.memo.len() as u64)?,
            b'h' | b'j' => {
                let key = self.unsigned(if code == b'h' { 1 } else { 4 })?;
                self.recall(key)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Works an opcode off that changes only the stack and its marks, or nothing, as those of protocol and frames; false where
    /// it is none of these.
    fn moves_stack(&mut self, code: u8) -> Result<bool, FormatError> {
        match code {
            0x80 => drop(self.take(1)?),
            0x95 => drop(self.take(8)?),
            b'(' => {
                self.charge(size_of::<usize>())?;
                self.marks.push(self.stack.len());
            }
            b'0' => drop(self.pop()?),
            b'1' => drop(self.above_mark()?),
            b'2' => {
                let top = self.pop()?;
                self.point(top)?;
                self.point(top)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The error for an opcode that is no data: what it would do, and with what.
    fn refused(&mut self, at: usize, code: u8) -> FormatError {
        let name = match code {
            b'c' | b'i' => {
                let (module, name) = (self.line().unwrap_or_default(), self.line().unwrap_or_default());
                let opcode = if code == b'c' { "GLOBAL" } else { "INST" };
                let found = format!("{module}.{name}");
                return self.would_run(at, opcode, Some(&found));
            }
            0x93 => {
                let names: Vec<String> =
                    self.stack.iter().rev().take(2).filter_map(|&row| self.name(row)).collect();
                let found = names.into_iter().rev().collect::<Vec<_>>().join(".");
                return self.would_run(at, "STACK_GLOBAL", Some(&found));
            }
            b'R' => "REDUCE",
            b'b' => "BUILD",
            b'o' => "OBJ",
            0x81 => "NEWOBJ",
            0x92 => "NEWOBJ_EX",
            b'P' => "PERSID",
            b'Q' => "BINPERSID",
            0x82 => "EXT1",
            0x83 => "EXT2",
            0x84 => "EXT4",
            0x97 => "NEXT_BUFFER",
            0x98 => "READONLY_BUFFER",
            _ => {
                let problem = format!("opcode 0x{code:02x} is none that plain data has");
                return self.error(at, problem, "write the dump anew, with protocol 2 to 5");
            }
        };
        self.would_run(at, name, None)
    }

    fn would_run(&mut self, at: usize, opcode: &str, what: Option<&str>) -> FormatError {
        self.would_run = true;
        let accepted =
            "give a dump of plain data, or JSON: torch._C._distributed_c10d._dump_nccl_trace_json()";
        match what.filter(|what| !what.is_empty()) {
            Some(what) => {
                let problem = format!("would be imported by opcode {opcode}, which is never done");
                self.error(at, problem, accepted).found(what)
            }
            None => {
                let problem = format!("opcode {opcode} would import or call something, which is never done");
                self.error(at, problem, accepted)
            }
        }
    }

    fn name(&self, row: usize) -> Option<String> {
        match &self.arena[row] {
            Cell::Plain(Tree::Text(text)) => Some(text.clone().into_owned()),
            _ => None,
        }
    }

    /// Takes a value or a key with so much text from what may still be written out.
    fn weigh(&self, text: usize, left: &mut usize) -> Result<(), FormatError> {
        *left = left.checked_sub(1 + text / 32).ok_or_else(|| self.wrong("it unfolds to too many values"))?;
        Ok(())
    }

    /// A key as text.
    fn key(&self, row: usize) -> Result<Cow<'a, str>, FormatError> {
        match &self.arena[row] {
            Cell::Plain(Tree::Text(text)) => Ok(text.clone()),
            Cell::Plain(Tree::Number(number)) => Ok(Cow::Owned(number.to_string())),
            _ => Err(self.wrong("a key is neither text nor a number")),
        }
    }

    /// Takes all below a row from what may still be written out: what is shared counts each time.
    fn measure(&self, row: usize, depth: usize, left: &mut usize) -> Result<(), FormatError> {
        if depth > DEPTH_MAX {
            return Err(self.wrong("it is nested too deeply, or in a circle"));
        }
        let text = if let Cell::Plain(Tree::Text(text)) = &self.arena[row] { text.len() } else { 0 };
        self.weigh(text, left)?;
        match &self.arena[row] {
            Cell::Plain(_) => {}
            Cell::List(items) => {
                for &item in items {
                    self.measure(item, depth + 1, left)?;
                }
            }
            Cell::Dict(pairs) => {
                for &(key, value) in pairs {
                    self.weigh(self.key(key)?.len(), left)?;
                    self.measure(value, depth + 1, left)?;
                }
            }
        }
        Ok(())
    }

    /// The tree below a row that was measured. What is shared is written out each time, as JSON would.
    fn unfold(&self, row: usize) -> Result<Tree<'a>, FormatError> {
        Ok(match &self.arena[row] {
            Cell::Plain(value) => value.clone(),
            Cell::List(items) => {
                Tree::List(items.iter().map(|&item| self.unfold(item)).collect::<Result<_, _>>()?)
            }
            Cell::Dict(pairs) => {
                let member = |&(key, value): &(usize, usize)| Ok((self.key(key)?, self.unfold(value)?));
                Tree::Dict(pairs.iter().map(member).collect::<Result<_, FormatError>>()?)
            }
        })
    }
}

/// Items as keys and values; none where the last key has no value.
fn pairs(items: &[usize]) -> Option<Vec<(usize, usize)>> {
    let (pairs, rest) = items.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[key, value]| (*key, *value)).collect())
}

/// A whole number of any width, in two's complement, the least byte first; none beyond 16 bytes. What 64 bits cannot hold
/// is a float.
fn whole<'a>(bytes: &[u8]) -> Option<Tree<'a>> {
    if bytes.len() > 16 {
        return None;
    }
    let fill = if bytes.last().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
    let mut all = [fill; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    let number = i128::from_le_bytes(all);
    let small = i64::try_from(number).map(Number::from).or_else(|_| u64::try_from(number).map(Number::from));
    Some(match small {
        Ok(number) => Tree::Number(number),
        Err(_) => Number::from_f64(number as f64).map_or(Tree::Null, Tree::Number),
    })
}

#[cfg(test)]
mod tests;
