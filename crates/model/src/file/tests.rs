use super::*;
use crate::architecture::Architecture;
use crate::init::fresh;
use crate::tying::Tying;
use loopfit_numerics::stream::Stream;
use safetensors::SafeTensors;
use serde_json::json;

fn model(architecture: Architecture, tying: Tying) -> ModelFile {
    let network = Network::new(architecture, 3, 2, 2, 3, tying).unwrap();
    let extra =
        json!({"likelihood": {"kind": "multiclass", "classes": 2}, "a": [1, {"z": 0, "b": 1}]});
    ModelFile {
        parameters: fresh(&network, 1.0, Stream::new(4)),
        bounds: Bounds::default(),
        extra: extra.as_object().unwrap().clone(),
    }
}

pub(super) fn example() -> ModelFile {
    model(Architecture::Ffn, Tying::Untied { t: 2 })
}

/// A safetensors file taken apart, to be put together again with one lie.
struct Parts {
    header: Map<String, Value>,
    data: Vec<u8>,
}

impl Parts {
    fn new() -> Self {
        let bytes = example().to_bytes().unwrap();
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        Self {
            header: serde_json::from_slice(&bytes[8..8 + length]).unwrap(),
            data: bytes[8 + length..].to_vec(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let header = serde_json::to_vec(&self.header).unwrap();
        let length = header.len() as u64;
        [&length.to_le_bytes()[..], &header, &self.data].concat()
    }

    fn error(&self) -> FormatError {
        ModelFile::from_bytes(&self.bytes()).unwrap_err()
    }

    fn alter_sections(&mut self, alter: impl FnOnce(&mut Map<String, Value>)) {
        let text = self.header["__metadata__"][KEY].as_str().unwrap();
        let mut sections = serde_json::from_str(text).unwrap();
        alter(&mut sections);
        self.header["__metadata__"][KEY] = Value::Object(sections).to_string().into();
    }

    fn set_value(&mut self, tensor: &str, index: usize, value: f32) {
        let start = self.header[tensor]["data_offsets"][0].as_u64().unwrap() as usize + 4 * index;
        self.data[start..start + 4].copy_from_slice(&value.to_le_bytes());
    }
}

/// The sentence of an error, which must be one and must hold `part`.
fn assert_says(error: &FormatError, part: &str) {
    let text = error.to_string();
    assert!(text.contains(part) && !text.contains('\n'), "{text}");
}

#[test]
fn what_is_written_is_read() {
    for architecture in [Architecture::Ffn, Architecture::transformer(3)] {
        for tying in [Tying::Single, Tying::Loop { t: 5 }, Tying::Untied { t: 12 }] {
            let model = model(architecture.clone(), tying);
            let bytes = model.to_bytes().unwrap();
            assert_eq!(bytes, model.clone().to_bytes().unwrap());
            assert_eq!(ModelFile::from_bytes(&bytes).unwrap(), model);
        }
    }
}

#[test]
fn other_readers_understand_it() {
    let model = example();
    let bytes = model.to_bytes().unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    for view in &model.parameters.network().layout() {
        let tensor = tensors.tensor(&view.name).unwrap();
        assert_eq!(tensor.shape(), view.shape());
        let expected: Vec<u8> = model
            .parameters
            .view(&view.name)
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        assert_eq!(tensor.data(), expected);
    }
    let (length, header) = SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(length % 8, 0);
    assert_eq!(
        header.metadata().as_ref().unwrap()[KEY],
        r#"{"a":[1,{"b":1,"z":0}],"bounds":{"coefficient":128.0,"output":8.0},"format":1,"likelihood":{"classes":2,"kind":"multiclass"},"network":{"architecture":{"kind":"ffn"},"d":3,"outputs":2,"q":2,"r":3,"tying":{"method":"untied","t":2}}}"#
    );
}

#[test]
fn files_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("m.safetensors");
    let error = ModelFile::load(&path).unwrap_err();
    assert!(matches!(error, FileError::Read { .. }));
    assert!(error.to_string().contains("m.safetensors"), "{error}");
    example().save(&path).unwrap();
    assert_eq!(ModelFile::load(&path).unwrap(), example());
    std::fs::write(&path, b"x,y\n1,2\n3,4\n").unwrap();
    let error = ModelFile::load(&path).unwrap_err();
    assert!(matches!(error, FileError::Format { .. }));
    assert!(
        error.to_string().contains("m.safetensors: this is not"),
        "{error}"
    );
    let error = example().save(directory.path()).unwrap_err();
    assert!(matches!(error, FileError::Write { .. }));
}

#[test]
fn a_section_of_our_own_name_is_refused() {
    for name in OWN_SECTIONS {
        let mut model = example();
        model.extra.insert(name.to_owned(), Value::Null);
        assert_eq!(model.to_bytes(), Err(FormatError::ReservedSection { name }));
    }
}

#[test]
fn a_model_outside_its_box_is_not_written() {
    let mut model = example();
    model.bounds = Bounds::new(0.01, 8.0).unwrap();
    assert!(matches!(
        model.to_bytes(),
        Err(FormatError::OutsideBox { .. })
    ));
}

#[test]
fn not_a_safetensors_file() {
    for bytes in [&b""[..], b"PK", b"1234567"] {
        let found = bytes.len();
        assert_eq!(
            ModelFile::from_bytes(bytes),
            Err(FormatError::TooShort { found })
        );
    }
    let error = ModelFile::from_bytes(b"\x89PNG\r\n\x1a\nIHDR").unwrap_err();
    assert_says(&error, "this is not a safetensors file");
    let error = ModelFile::from_bytes(b"\x04\0\0\0\0\0\0\0PNG!").unwrap_err();
    assert!(matches!(error, FormatError::BadHeader { .. }));
}

#[test]
fn header_too_large() {
    let mut bytes = example().to_bytes().unwrap();
    bytes[..8].copy_from_slice(&(LONGEST_HEADER + 1).to_le_bytes());
    let length = LONGEST_HEADER + 1;
    assert_eq!(
        ModelFile::from_bytes(&bytes),
        Err(FormatError::HeaderTooLarge { length })
    );
}

#[test]
fn file_too_large() {
    let bytes = vec![0; LONGEST_FILE as usize + 1];
    assert_eq!(
        ModelFile::from_bytes(&bytes),
        Err(FormatError::FileTooLarge)
    );
}

#[test]
fn truncated_in_the_header() {
    let bytes = example().to_bytes().unwrap();
    let error = ModelFile::from_bytes(&bytes[..50]).unwrap_err();
    assert!(matches!(
        error,
        FormatError::HeaderTruncated { found: 42, .. }
    ));
}

#[test]
fn truncated_in_the_data() {
    let bytes = example().to_bytes().unwrap();
    let expected = 4 * example().parameters.values().len();
    assert_eq!(
        ModelFile::from_bytes(&bytes[..bytes.len() - 3]),
        Err(FormatError::DataTruncated {
            expected,
            found: expected - 3
        })
    );
}

#[test]
fn bytes_after_the_end() {
    let mut bytes = example().to_bytes().unwrap();
    bytes.push(0);
    assert_eq!(
        ModelFile::from_bytes(&bytes),
        Err(FormatError::TrailingBytes { surplus: 1 })
    );
}

#[test]
fn header_not_json() {
    let mut bytes = example().to_bytes().unwrap();
    bytes[8] = b'[';
    assert!(matches!(
        ModelFile::from_bytes(&bytes),
        Err(FormatError::BadHeader { .. })
    ));
    bytes[8] = 0xFF;
    assert!(matches!(
        ModelFile::from_bytes(&bytes),
        Err(FormatError::BadHeader { .. })
    ));
}

#[test]
fn overlapping_tensors() {
    let mut parts = Parts::new();
    parts.header["input.bias"]["data_offsets"] = json!([0, 8]);
    assert_says(&parts.error(), "header is invalid: invalid offset");
}

#[test]
fn offsets_near_the_end_of_the_integers() {
    // Eight tensors of 2^61 - 1 bytes each would make a careless sum of lengths overflow.
    let size = (1u64 << 61) - 1;
    let mut parts = Parts::new();
    parts.header.retain(|name, _| name == "__metadata__");
    for i in 0..8 {
        let tensor =
            json!({"dtype": "U8", "shape": [size], "data_offsets": [i * size, (i + 1) * size]});
        parts.header.insert(format!("t{i}"), tensor);
    }
    let rest = u64::MAX - 8 * size;
    let tensor = json!({"dtype": "U8", "shape": [rest], "data_offsets": [8 * size, u64::MAX]});
    parts.header.insert("t8".to_owned(), tensor);
    assert!(matches!(parts.error(), FormatError::DataTruncated { .. }));
}

#[test]
fn no_metadata() {
    let mut parts = Parts::new();
    parts.header["__metadata__"] = json!({"format": "pt"});
    assert_eq!(parts.error(), FormatError::NoMetadata);
    parts.header.remove("__metadata__");
    assert_eq!(parts.error(), FormatError::NoMetadata);
}

#[test]
fn metadata_not_a_json_object() {
    for text in ["", "{", "[]", "1"] {
        let mut parts = Parts::new();
        parts.header["__metadata__"][KEY] = text.into();
        assert!(
            matches!(parts.error(), FormatError::BadMetadata { .. }),
            "{text:?}"
        );
    }
}

#[test]
fn missing_section() {
    for name in OWN_SECTIONS {
        let mut parts = Parts::new();
        parts.alter_sections(|s| drop(s.remove(name)));
        assert_eq!(parts.error(), FormatError::MissingSection { name });
    }
}

#[test]
fn unknown_format() {
    let mut parts = Parts::new();
    parts.alter_sections(|s| s["format"] = 2.into());
    assert_eq!(parts.error(), FormatError::UnknownFormat { found: 2 });
    parts.alter_sections(|s| s["format"] = "one".into());
    assert!(matches!(
        parts.error(),
        FormatError::BadSection { name: "format", .. }
    ));
}

#[test]
fn impossible_network() {
    for (key, value) in [
        ("q", json!(0)),
        ("r", json!(1u64 << 60)),
        ("d", json!("three")),
        ("extra", json!(1)),
    ] {
        let mut parts = Parts::new();
        parts.alter_sections(|s| s["network"][key] = value);
        assert_says(
            &parts.error(),
            "section \"network\" of the \"loopfit\" metadata is invalid",
        );
    }
}

#[test]
fn impossible_bounds() {
    for value in [json!(0), json!(-1.0), json!(1e300), json!(null)] {
        let mut parts = Parts::new();
        parts.alter_sections(|s| s["bounds"]["coefficient"] = value);
        assert!(matches!(
            parts.error(),
            FormatError::BadSection { name: "bounds", .. }
        ));
    }
}

#[test]
fn missing_tensor() {
    let mut parts = Parts::new();
    parts.data.truncate(parts.data.len() - 8);
    parts.header.remove("output.bias");
    let name = "output.bias".to_owned();
    assert_eq!(parts.error(), FormatError::MissingTensor { name });
    // A network that claims fifteen million parameters is found out at once.
    let mut parts = Parts::new();
    parts.alter_sections(|s| s["network"]["tying"]["t"] = 900_000.into());
    let name = "block.2.w1".to_owned();
    assert_eq!(parts.error(), FormatError::MissingTensor { name });
}

#[test]
fn extra_tensor() {
    let mut parts = Parts::new();
    let end = parts.data.len();
    let tensor = json!({"dtype": "F32", "shape": [1], "data_offsets": [end, end + 4]});
    parts.header.insert("block.9.w1".to_owned(), tensor);
    parts.data.extend([0; 4]);
    let name = "block.9.w1".to_owned();
    assert_eq!(parts.error(), FormatError::ExtraTensor { name });
}

#[test]
fn wrong_shape() {
    // Transposed, or a vector written as a matrix of one column.
    for (name, expected, found) in [
        ("block.0.w1", vec![3, 2], vec![2, 3]),
        ("input.bias", vec![2], vec![2, 1]),
    ] {
        let mut parts = Parts::new();
        parts.header[name]["shape"] = json!(found);
        let name = name.to_owned();
        assert_eq!(
            parts.error(),
            FormatError::WrongShape {
                name,
                expected,
                found
            }
        );
    }
}

#[test]
fn wrong_dtype() {
    let mut parts = Parts::new();
    parts.header["output.bias"]["dtype"] = json!("I32");
    let (name, dtype) = ("output.bias".to_owned(), "I32".to_owned());
    assert_eq!(parts.error(), FormatError::WrongDtype { name, dtype });
}

#[test]
fn not_finite() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut parts = Parts::new();
        parts.set_value("block.1.w2", 4, value);
        assert_says(&parts.error(), "coefficient 4 of tensor block.1.w2 is");
    }
}

#[test]
fn outside_the_box() {
    let mut parts = Parts::new();
    parts.set_value("block.1.w2", 4, -128.0);
    assert!(ModelFile::from_bytes(&parts.bytes()).is_ok());
    parts.set_value("block.1.w2", 4, -128.5);
    let (name, index, value, bound) = ("block.1.w2".to_owned(), 4, -128.5, 128.0);
    assert_eq!(
        parts.error(),
        FormatError::OutsideBox {
            name,
            index,
            value,
            bound
        }
    );
}
