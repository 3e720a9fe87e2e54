//! Chakra execution trace: the types and what attributes mean; bytes are in `chakra_wire`.
//!
//! One file holds the operations of one rank and what each waits for.
//! Source of the meanings: `et_def.proto` and the feeder of mlcommons/chakra.

use std::collections::BTreeSet;

/// One rank's trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChakraTrace {
    /// Schema version, such as `0.0.4`; empty in older files.
    pub version: String,
    /// Attributes of the trace as a whole.
    pub attributes: Vec<ChakraAttribute>,
    /// The nodes in file order.
    pub nodes: Vec<ChakraNode>,
}

/// One operation of the trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChakraNode {
    /// Unique within the trace; 0 is an ordinary id.
    pub id: u64,
    /// Name; may repeat.
    pub name: String,
    /// What the node is.
    pub kind: NodeKind,
    /// Ids of nodes that must finish first, by control flow.
    pub ctrl_deps: Vec<u64>,
    /// Ids of nodes that must finish first, because this one reads their result.
    pub data_deps: Vec<u64>,
    /// Recorded start in microseconds; 0 where absent.
    pub start_micros: u64,
    /// Recorded duration in microseconds; 0 where absent.
    pub duration_micros: u64,
    /// Recorded inputs, where present.
    pub inputs: Option<IoInfo>,
    /// Recorded outputs, where present.
    pub outputs: Option<IoInfo>,
    /// Everything else, by name.
    pub attributes: Vec<ChakraAttribute>,
}

/// Kind of a node, by the number in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeKind {
    /// 0 or absent.
    #[default]
    Invalid,
    /// 1: describes the trace, such as its communicators.
    Metadata,
    /// 2: load from memory.
    MemoryLoad,
    /// 3: store to memory.
    MemoryStore,
    /// 4: compute.
    Compute,
    /// 5: send to one rank.
    Send,
    /// 6: receive from one rank.
    Receive,
    /// 7: collective.
    Collective,
    /// Any other number: newer schemas have storage, batch and checkpoint nodes (8, 9, 10).
    Other(i32),
}

impl NodeKind {
    /// The kind for a number in the file.
    pub fn from_number(number: i32) -> Self {
        match number {
            0 => Self::Invalid,
            1 => Self::Metadata,
            2 => Self::MemoryLoad,
            3 => Self::MemoryStore,
            4 => Self::Compute,
            5 => Self::Send,
            6 => Self::Receive,
            7 => Self::Collective,
            other => Self::Other(other),
        }
    }

    /// The number in the file.
    pub fn number(self) -> i32 {
        match self {
            Self::Invalid => 0,
            Self::Metadata => 1,
            Self::MemoryLoad => 2,
            Self::MemoryStore => 3,
            Self::Compute => 4,
            Self::Send => 5,
            Self::Receive => 6,
            Self::Collective => 7,
            Self::Other(other) => other,
        }
    }

    /// Send, receive or collective.
    pub fn is_communication(self) -> bool {
        matches!(self, Self::Send | Self::Receive | Self::Collective)
    }
}

/// Kind of a collective, by the number in `comm_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommType {
    /// 0.
    AllReduce,
    /// 1.
    Reduce,
    /// 2.
    AllGather,
    /// 3.
    Gather,
    /// 4.
    Scatter,
    /// 5.
    Broadcast,
    /// 6.
    AllToAll,
    /// 7.
    ReduceScatter,
    /// 8.
    ReduceScatterBlock,
    /// 9.
    Barrier,
}

impl CommType {
    /// The kinds in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::AllReduce,
        Self::Reduce,
        Self::AllGather,
        Self::Gather,
        Self::Scatter,
        Self::Broadcast,
        Self::AllToAll,
        Self::ReduceScatter,
        Self::ReduceScatterBlock,
        Self::Barrier,
    ];

    /// The kind for a number in the file.
    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

/// Recorded tensors of a node, as the strings that the tracer wrote (Python lists).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoInfo {
    /// Values or tensor ids.
    pub values: String,
    /// Shapes.
    pub shapes: String,
    /// Types.
    pub types: String,
    /// Strides; empty before schema 1.1.
    pub strides: String,
}

/// A named value.
#[derive(Clone, Debug, PartialEq)]
pub struct ChakraAttribute {
    /// Name, such as `comm_size`.
    pub name: String,
    /// Explanation, usually empty.
    pub doc: String,
    /// The value; `None` when the file gives a name only, which means the type's zero.
    pub value: Option<AttributeValue>,
}

/// A typed value. The file's integer widths fold into [`Self::Int`] and [`Self::Uint`].
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// Floating point.
    Double(f64),
    /// Signed integer.
    Int(i64),
    /// Unsigned integer.
    Uint(u64),
    /// True or false.
    Bool(bool),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// List of floating point.
    Doubles(Vec<f64>),
    /// List of signed integers.
    Ints(Vec<i64>),
    /// List of unsigned integers.
    Uints(Vec<u64>),
    /// List of true or false.
    Bools(Vec<bool>),
    /// List of texts.
    Texts(Vec<String>),
    /// List of bytes.
    BytesList(Vec<Vec<u8>>),
}

impl AttributeValue {
    /// A whole number that is not negative, whatever its stored width.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::Int(number) => u64::try_from(number).ok(),
            Self::Uint(number) => Some(number),
            _ => None,
        }
    }
}

impl ChakraTrace {
    /// Pairs (node, dependency) whose dependency is not a node of this trace, in file order.
    ///
    /// Tracers that keep a part of a run leave such references; they cannot be waited for.
    pub fn dangling_dependencies(&self) -> Vec<(u64, u64)> {
        let ids: BTreeSet<u64> = self.nodes.iter().map(|node| node.id).collect();
        self.nodes
            .iter()
            .flat_map(|node| {
                let dependencies = node.ctrl_deps.iter().chain(&node.data_deps);
                dependencies.map(|&dependency| (node.id, dependency))
            })
            .filter(|(_, dependency)| !ids.contains(dependency))
            .collect()
    }
}

/// Attributes of communication nodes that the decoder checks to be whole numbers, not negative.
pub(crate) const NUMBERS: [&str; 6] =
    ["comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag", "comm_priority"];

impl ChakraNode {
    /// The first attribute of this name.
    pub fn attribute(&self, name: &str) -> Option<&ChakraAttribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// A whole number: `Some(0)` for a name without value, `None` for no such attribute.
    fn number(&self, name: &str) -> Option<u64> {
        match &self.attribute(name)?.value {
            None => Some(0),
            Some(value) => value.as_u64(),
        }
    }

    /// Kind of the collective; `None` for a node that moves nothing by itself.
    ///
    /// Writers may drop zero values, so a collective without `comm_type` is an all-reduce.
    /// Exception: a node marked `is_cpu_op` only launches a collective, the GPU's node carries
    /// type and size; without a `comm_type` of its own it gives `None`.
    pub fn comm_type(&self) -> Option<CommType> {
        if self.kind != NodeKind::Collective {
            return None;
        }
        match self.number("comm_type") {
            Some(number) => CommType::from_number(number),
            None if self.is_cpu_op() == Some(true) => None,
            None => Some(CommType::AllReduce),
        }
    }

    /// Bytes of the collective or message, where given.
    pub fn comm_size(&self) -> Option<u64> {
        self.number("comm_size")
    }

    /// Sending rank; absent means 0 on a send or receive node.
    pub fn comm_src(&self) -> Option<u64> {
        self.end_point("comm_src")
    }

    /// Receiving rank; absent means 0 on a send or receive node.
    pub fn comm_dst(&self) -> Option<u64> {
        self.end_point("comm_dst")
    }

    /// Tag that pairs a send with its receive; absent means 0 on a send or receive node.
    pub fn comm_tag(&self) -> Option<u64> {
        self.end_point("comm_tag")
    }

    fn end_point(&self, name: &str) -> Option<u64> {
        let point_to_point = matches!(self.kind, NodeKind::Send | NodeKind::Receive);
        self.number(name).or(point_to_point.then_some(0))
    }

    /// Name of the communicator, a key of the communicator file; `None` means all ranks.
    pub fn pg_name(&self) -> Option<&str> {
        match self.attribute("pg_name")?.value.as_ref()? {
            AttributeValue::Text(name) => Some(name),
            _ => None,
        }
    }

    /// Whether the node ran on the CPU, where the trace says so.
    pub fn is_cpu_op(&self) -> Option<bool> {
        match &self.attribute("is_cpu_op")?.value {
            None => Some(false),
            Some(AttributeValue::Bool(flag)) => Some(*flag),
            Some(other) => other.as_u64().map(|number| number != 0),
        }
    }
}
