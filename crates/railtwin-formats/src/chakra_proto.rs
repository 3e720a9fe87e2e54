//! Protocol-buffer messages of the Chakra execution trace, written by hand to keep protoc out.
//!
//! Field numbers follow `schema/protobuf/et_def.proto` of mlcommons/chakra (schema 0.0.4 and
//! later) and were checked against the bytes of real traces. Fields that no reader here needs
//! (storage details of newer versions) are skipped as unknown.

use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub(crate) struct GlobalMetadata {
    #[prost(string, tag = "1")]
    pub version: String,
    #[prost(message, repeated, tag = "2")]
    pub attr: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Node {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int32, tag = "3")]
    pub kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    pub ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub data_deps: Vec<u64>,
    #[prost(uint64, tag = "6")]
    pub start_time_micros: u64,
    #[prost(uint64, tag = "7")]
    pub duration_micros: u64,
    #[prost(message, optional, tag = "8")]
    pub inputs: Option<IoInfo>,
    #[prost(message, optional, tag = "9")]
    pub outputs: Option<IoInfo>,
    #[prost(message, repeated, tag = "10")]
    pub attr: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct IoInfo {
    #[prost(string, tag = "1")]
    pub values: String,
    #[prost(string, tag = "2")]
    pub shapes: String,
    #[prost(string, tag = "3")]
    pub types: String,
    #[prost(string, tag = "4")]
    pub strides: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Attribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub doc_string: String,
    #[prost(
        oneof = "Value",
        tags = "3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32"
    )]
    pub value: Option<Value>,
}

/// The typed value of an attribute; inside a oneof, zero values are present on the wire.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Value {
    #[prost(double, tag = "3")]
    Double(f64),
    #[prost(message, tag = "4")]
    DoubleList(DoubleList),
    #[prost(float, tag = "5")]
    Float(f32),
    #[prost(message, tag = "6")]
    FloatList(FloatList),
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(message, tag = "8")]
    Int32List(Int32List),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(message, tag = "10")]
    Int64List(Int64List),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(message, tag = "12")]
    Uint32List(Uint32List),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(message, tag = "14")]
    Uint64List(Uint64List),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(message, tag = "16")]
    Sint32List(Sint32List),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(message, tag = "18")]
    Sint64List(Sint64List),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(message, tag = "20")]
    Fixed32List(Fixed32List),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(message, tag = "22")]
    Fixed64List(Fixed64List),
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    #[prost(message, tag = "24")]
    Sfixed32List(Sfixed32List),
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    #[prost(message, tag = "26")]
    Sfixed64List(Sfixed64List),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(message, tag = "28")]
    BoolList(BoolList),
    #[prost(string, tag = "29")]
    Text(String),
    #[prost(message, tag = "30")]
    TextList(TextList),
    #[prost(bytes = "vec", tag = "31")]
    Bytes(Vec<u8>),
    #[prost(message, tag = "32")]
    BytesList(BytesList),
}

macro_rules! lists {
    ($($name:ident: $wire:tt => $item:ty;)+) => { $(
        #[derive(Clone, PartialEq, Message)]
        pub(crate) struct $name {
            #[prost($wire, repeated, tag = "1")]
            pub values: Vec<$item>,
        }
    )+ };
}

lists! {
    DoubleList: double => f64;
    FloatList: float => f32;
    Int32List: int32 => i32;
    Int64List: int64 => i64;
    Uint32List: uint32 => u32;
    Uint64List: uint64 => u64;
    Sint32List: sint32 => i32;
    Sint64List: sint64 => i64;
    Fixed32List: fixed32 => u32;
    Fixed64List: fixed64 => u64;
    Sfixed32List: sfixed32 => i32;
    Sfixed64List: sfixed64 => i64;
    BoolList: bool => bool;
    TextList: string => String;
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BytesList {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub values: Vec<Vec<u8>>,
}
