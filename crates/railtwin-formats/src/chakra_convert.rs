//! Between the messages of a Chakra file and our types.

use crate::chakra::{AttributeValue, ChakraAttribute, ChakraNode, IoInfo, NodeKind};
use crate::chakra_proto as proto;

pub(crate) fn node_in(node: proto::Node) -> ChakraNode {
    ChakraNode {
        id: node.id,
        name: node.name,
        kind: NodeKind::from_number(node.kind),
        ctrl_deps: node.ctrl_deps,
        data_deps: node.data_deps,
        start_micros: node.start_time_micros,
        duration_micros: node.duration_micros,
        inputs: node.inputs.map(io_in),
        outputs: node.outputs.map(io_in),
        attributes: node.attr.into_iter().map(attribute_in).collect(),
    }
}

pub(crate) fn node_out(node: &ChakraNode) -> proto::Node {
    proto::Node {
        id: node.id,
        name: node.name.clone(),
        kind: node.kind.number(),
        ctrl_deps: node.ctrl_deps.clone(),
        data_deps: node.data_deps.clone(),
        start_time_micros: node.start_micros,
        duration_micros: node.duration_micros,
        inputs: node.inputs.as_ref().map(io_out),
        outputs: node.outputs.as_ref().map(io_out),
        attr: node.attributes.iter().map(attribute_out).collect(),
    }
}

fn io_in(io: proto::IoInfo) -> IoInfo {
    IoInfo { values: io.values, shapes: io.shapes, types: io.types, strides: io.strides }
}

fn io_out(io: &IoInfo) -> proto::IoInfo {
    proto::IoInfo {
        values: io.values.clone(),
        shapes: io.shapes.clone(),
        types: io.types.clone(),
        strides: io.strides.clone(),
    }
}

pub(crate) fn attribute_in(attribute: proto::Attribute) -> ChakraAttribute {
    ChakraAttribute { name: attribute.name, doc: attribute.doc_string, value: attribute.value.map(value_in) }
}

pub(crate) fn attribute_out(attribute: &ChakraAttribute) -> proto::Attribute {
    proto::Attribute {
        name: attribute.name.clone(),
        doc_string: attribute.doc.clone(),
        value: attribute.value.as_ref().map(value_out),
    }
}

/// Folds the 15 scalar and 15 list types of the file into ours, without loss.
fn value_in(value: proto::Value) -> AttributeValue {
    use AttributeValue as Ours;
    use proto::Value as File;
    fn wide<A, B: From<A>>(values: Vec<A>) -> Vec<B> {
        values.into_iter().map(B::from).collect()
    }
    match value {
        File::Double(value) => Ours::Double(value),
        File::Float(value) => Ours::Double(value.into()),
        File::Int32(value) | File::Sint32(value) | File::Sfixed32(value) => Ours::Int(value.into()),
        File::Int64(value) | File::Sint64(value) | File::Sfixed64(value) => Ours::Int(value),
        File::Uint32(value) | File::Fixed32(value) => Ours::Uint(value.into()),
        File::Uint64(value) | File::Fixed64(value) => Ours::Uint(value),
        File::Bool(value) => Ours::Bool(value),
        File::Text(value) => Ours::Text(value),
        File::Bytes(value) => Ours::Bytes(value),
        File::DoubleList(list) => Ours::Doubles(list.values),
        File::FloatList(list) => Ours::Doubles(wide(list.values)),
        File::Int32List(list) => Ours::Ints(wide(list.values)),
        File::Sint32List(list) => Ours::Ints(wide(list.values)),
        File::Sfixed32List(list) => Ours::Ints(wide(list.values)),
        File::Int64List(list) => Ours::Ints(list.values),
        File::Sint64List(list) => Ours::Ints(list.values),
        File::Sfixed64List(list) => Ours::Ints(list.values),
        File::Uint32List(list) => Ours::Uints(wide(list.values)),
        File::Fixed32List(list) => Ours::Uints(wide(list.values)),
        File::Uint64List(list) => Ours::Uints(list.values),
        File::Fixed64List(list) => Ours::Uints(list.values),
        File::BoolList(list) => Ours::Bools(list.values),
        File::TextList(list) => Ours::Texts(list.values),
        File::BytesList(list) => Ours::BytesList(list.values),
    }
}

fn value_out(value: &AttributeValue) -> proto::Value {
    use AttributeValue as Ours;
    use proto::Value as File;
    match value.clone() {
        Ours::Double(value) => File::Double(value),
        Ours::Int(value) => File::Int64(value),
        Ours::Uint(value) => File::Uint64(value),
        Ours::Bool(value) => File::Bool(value),
        Ours::Text(value) => File::Text(value),
        Ours::Bytes(value) => File::Bytes(value),
        Ours::Doubles(values) => File::DoubleList(proto::DoubleList { values }),
        Ours::Ints(values) => File::Int64List(proto::Int64List { values }),
        Ours::Uints(values) => File::Uint64List(proto::Uint64List { values }),
        Ours::Bools(values) => File::BoolList(proto::BoolList { values }),
        Ours::Texts(values) => File::TextList(proto::TextList { values }),
        Ours::BytesList(values) => File::BytesList(proto::BytesList { values }),
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    #[test]
    fn every_width_of_the_file_folds_into_ours() {
        use AttributeValue as Ours;
        use proto::Value as File;
        for (file, ours) in [
            (File::Float(1.5), Ours::Double(1.5)),
            (File::Int32(-2), Ours::Int(-2)),
            (File::Sint32(-3), Ours::Int(-3)),
            (File::Sint64(i64::MIN), Ours::Int(i64::MIN)),
            (File::Fixed32(u32::MAX), Ours::Uint(u64::from(u32::MAX))),
            (File::Sfixed64(-4), Ours::Int(-4)),
            (File::Sint32List(proto::Sint32List { values: vec![-1, 7] }), Ours::Ints(vec![-1, 7])),
            (File::Fixed64List(proto::Fixed64List { values: vec![u64::MAX] }), Ours::Uints(vec![u64::MAX])),
        ] {
            let attribute =
                proto::Attribute { name: "x".to_owned(), doc_string: String::new(), value: Some(file) };
            let bytes = attribute.encode_to_vec();
            let read = proto::Attribute::decode(&bytes[..]).expect("just encoded");
            assert_eq!(attribute_in(read).value, Some(ours));
        }
    }
}
