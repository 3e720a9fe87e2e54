//! What the switches of a tier choose by, packed: a field for each of their hashes, side by side in words of 64 bits.
//!
//! Hashes are affine over GF(2), so a word of a packet at a source port is the exclusive or of what its plain hash and
//! what the port come to, each looked up for all the switches of the word at once. Two switches with seeds of their own
//! cost no more than two that share one, and the tables of a tier of 128 switches fit into a first cache.
use railtwin_routing::source_port::{FIRST_PORT, PORT_BITS};

use super::hash_table::{HashTable, Members};

/// Low bits of a source port that one half of the tables knows.
const LOW_PORTS: usize = 1 << (PORT_BITS / 2);
/// Words of a tier at most: beyond that its switches are looked at one by one.
pub(super) const MOST_WORDS: usize = 16;
/// Bits of a field whose ports are kept as a column, 2 KiB at most.
const COLUMN_BITS: std::ops::RangeInclusive<u32> = 1..=8;

/// Where a hash stands among the words of its tier.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Place {
    /// Number of the word.
    pub(super) word: u8,
    /// Lowest bit.
    pub(super) shift: u8,
}

/// What one word comes to.
#[derive(Clone, Debug)]
struct Word {
    /// Of the plain hash at the first port, by byte.
    plain: Box<[[u64; 256]; 4]>,
}

/// The words of a tier for one packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'f> {
    bases: &'f [u64],
    ports: &'f [[[u64; LOW_PORTS]; 2]],
}

impl Words<'_> {
    /// A field at the low end, of a port counted from the first on.
    #[inline(always)]
    pub(super) fn field(&self, place: Place, port: usize) -> u64 {
        let (word, [lows, highs]) = (usize::from(place.word), &self.ports[usize::from(place.word)]);
        (self.bases[word] ^ lows[port % LOW_PORTS] ^ highs[port / LOW_PORTS % LOW_PORTS])
            >> (place.shift & 63)
    }
}

/// The words of a tier for one packet at the ports of a block of 64; as many as are looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockWords<'f, const COUNT: usize> {
    bases: [u64; COUNT],
    ports: &'f [[[u64; LOW_PORTS]; 2]],
    low: usize,
}

impl<const COUNT: usize> BlockWords<'_, COUNT> {
    /// A field at the low end, of a port counted from the first of the block on.
    #[inline(always)]
    pub(super) fn field(&self, place: Place, port: usize) -> u64 {
        let word = if COUNT == 1 { 0 } else { usize::from(place.word) };
        let [lows, _] = &self.ports[word];
        (self.bases[word] ^ lows[(self.low + port) % LOW_PORTS]) >> (place.shift & 63)
    }
}

/// The fields of one tier's hashes.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    /// Numbers of the hashes, in the order of their fields.
    tables: Vec<u32>,
    /// Bits of a field.
    bits: u32,
    words: Vec<Word>,
    /// By word, of the low and of the high half of the bits of a port.
    ports: Vec<[[u64; LOW_PORTS]; 2]>,
    /// Of the first field and a value: which of the low 64 ports add it, the lowest bit first. Empty where there is no column.
    column: Vec<u64>,
}

/// The fields of all kinds of tiers that were asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct AllFields {
    kinds: Vec<Fields>,
}

/// Bits that decide in a group: those of the low end for a power of two, else all.
pub(super) fn width(members: Members) -> u32 {
    members.low_bits().unwrap_or(u32::BITS)
}

/// Whether the ports that lead over each member of such a group are a column.
pub(super) fn has_column(members: Members) -> bool {
    members.low_bits().is_some_and(|bits| COLUMN_BITS.contains(&bits))
}

/// All sums of `bits`, by which of them are in it.
fn spanned<const COUNT: usize>(bits: &[u64]) -> [u64; COUNT] {
    let mut all = [0; COUNT];
    for value in 1..COUNT {
        all[value] = all[value & (value - 1)] ^ bits[value.trailing_zeros() as usize];
    }
    all
}

impl Word {
    /// With what halves of ports add.
    fn of<'t>(tables: impl Iterator<Item = &'t HashTable>, bits: u32) -> (Self, [[u64; LOW_PORTS]; 2]) {
        let mask = (u64::MAX >> (64 - bits)) as u32;
        let (mut plain, mut port) = ([0; 32], [0; PORT_BITS as usize]);
        for (table, shift) in tables.zip((0..).step_by(bits as usize)) {
            for (bit, of_plain) in plain.iter_mut().enumerate() {
                *of_plain |= u64::from(table.seed.hash(1 << bit) & mask) << shift;
            }
            for (bit, of_port) in port.iter_mut().enumerate() {
                *of_port |= u64::from(table.ports.difference(FIRST_PORT | 1 << bit) & mask) << shift;
            }
        }
        let byte = |of: usize| spanned(&plain[8 * of..8 * of + 8]);
        let (low, high) = port.split_at(PORT_BITS as usize / 2);
        let plain = Box::new([byte(0), byte(1), byte(2), byte(3)]);
        (Self { plain }, [spanned(low), spanned(high)])
    }
}

impl Fields {
    /// Number of words.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Where the hash of that number stands.
    pub(super) fn place(&self, table: u32) -> Place {
        let Some(field) = self.tables.iter().position(|&of| of == table) else { return Place::default() };
        let of_word = (u64::BITS / self.bits) as usize;
        Place { word: (field / of_word) as u8, shift: (field % of_word) as u8 * self.bits as u8 }
    }

    /// What a packet of that plain hash has in each word at the first source port.
    #[inline]
    pub(super) fn bases(&self, plain: u32) -> impl Iterator<Item = u64> + '_ {
        let [a, b, c, d] = plain.to_le_bytes().map(usize::from);
        let of = move |word: &Word| {
            let bytes = &word.plain;
            bytes[0][a] ^ bytes[1][b] ^ bytes[2][c] ^ bytes[3][d]
        };
        self.words.iter().map(of)
    }

    /// The words of a packet with `bases` at the first port.
    #[inline(always)]
    pub(super) fn words<'f>(&'f self, bases: &'f [u64]) -> Words<'f> {
        Words { bases, ports: &self.ports }
    }

    /// The same at the ports of a block.
    #[inline(always)]
    pub(super) fn block<const COUNT: usize>(&self, bases: &[u64], block: usize) -> BlockWords<'_, COUNT> {
        let (low, high) = (64 * block % LOW_PORTS, 64 * block / LOW_PORTS % LOW_PORTS);
        let mut of_block = [0; COUNT];
        for ((of, base), [_, highs]) in of_block.iter_mut().zip(bases).zip(&self.ports) {
            *of = base ^ highs[high];
        }
        BlockWords { bases: of_block, ports: &self.ports, low }
    }

    /// The ports of a block of 64 over any of `members`, of a packet with `base` in the first word, the lowest bit first;
    /// all, whether over these or not, where there is no column ([`has_column`]).
    #[inline]
    pub(super) fn ports(&self, block: usize, base: u64, members: impl Iterator<Item = u32>) -> u64 {
        if self.column.is_empty() {
            return u64::MAX;
        }
        let (low, high) = (64 * block % LOW_PORTS, 64 * block / LOW_PORTS);
        let [lows, highs] = &self.ports[0];
        let first = (base ^ lows[low % LOW_PORTS] ^ highs[high % LOW_PORTS]) as u32;
        let mask = self.column.len() - 1;
        members.fold(0, |ports, member| ports | self.column[(member ^ first) as usize & mask])
    }
}

impl AllFields {
    #[inline]
    pub(super) fn get(&self, kind: usize) -> &Fields {
        &self.kinds[kind]
    }

    /// The number of the kind for a tier that chooses by `tables`, as many bits of each; none if it has too many.
    pub(super) fn number<'t>(
        &mut self,
        tables: Vec<u32>,
        bits: u32,
        table: impl Fn(u32) -> &'t HashTable,
    ) -> Option<usize> {
        if let Some(known) = self.kinds.iter().position(|of| of.tables == tables && of.bits == bits) {
            return Some(known);
        }
        let of_word = u64::BITS.checked_div(bits).unwrap_or(1) as usize;
        if tables.len() > MOST_WORDS * of_word {
            return None;
        }
        // Who has no choice reads a word of nothing.
        let nothing = (Word { plain: Box::new([[0; 256]; 4]) }, [[0; LOW_PORTS]; 2]);
        let of_some = |some: &[u32]| Word::of(some.iter().map(|&one| table(one)), bits);
        let (words, ports): (Vec<Word>, Vec<[[u64; LOW_PORTS]; 2]>) = match bits {
            0 => [nothing].into_iter().unzip(),
            _ => tables.chunks(of_word).map(of_some).unzip(),
        };
        let mut column = Vec::new();
        if COLUMN_BITS.contains(&bits) {
            column.resize(1 << bits, 0);
            (0..64).for_each(|port| column[ports[0][0][port] as usize & ((1 << bits) - 1)] |= 1 << port);
        }
        self.kinds.push(Fields { tables, bits, words, ports, column });
        Some(self.kinds.len() - 1)
    }
}
