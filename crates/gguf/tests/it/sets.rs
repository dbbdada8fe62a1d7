use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use plimsoll_gguf::{FileSet, HeaderError, Limits, TensorType, part_names};
use plimsoll_units::Bytes;

use crate::build::{Meta, Model};

fn write(path: &Path, model: &Model) {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .unwrap();
    file.write_all(&model.header()).unwrap();
    file.set_len(model.file_bytes()).unwrap();
}

/// Three parts, the first without tensors, as llama-gguf-split writes them.
fn split(folder: &Path) -> Vec<PathBuf> {
    let part = |number: u32, tensors: &[(&str, u64)]| Model {
        metadata: vec![
            ("general.architecture".into(), Meta::Text("llama".into())),
            ("split.no".into(), Meta::U32(number)),
            ("split.count".into(), Meta::U32(3)),
            ("split.tensors.count".into(), Meta::U32(3)),
        ],
        tensors: tensors
            .iter()
            .map(|(name, rows)| ((*name).to_owned(), vec![256, *rows], TensorType::Q4_K))
            .collect(),
        ..Model::small()
    };
    let models = [
        part(0, &[]),
        part(1, &[("token_embd.weight", 8), ("blk.0.attn_q.weight", 4)]),
        part(2, &[("output.weight", 8)]),
    ];
    let paths: Vec<PathBuf> = (1..=3)
        .map(|n| folder.join(format!("Große Datei-{n:05}-of-00003.gguf")))
        .collect();
    for (path, model) in paths.iter().zip(&models) {
        write(path, model);
    }
    paths
}

#[test]
fn a_split_model_is_one_model() {
    let folder = tempfile::tempdir().unwrap();
    let paths = split(folder.path());
    for given in &paths {
        let set = FileSet::read(given, &Limits::default()).unwrap();
        assert_eq!(
            set.parts.iter().map(|part| part.path.clone()).collect::<Vec<_>>(),
            paths
        );
        assert_eq!(
            set.header.file_bytes,
            set.parts.iter().map(|part| part.bytes).sum()
        );
        let tensors: Vec<_> = set
            .header
            .tensors
            .iter()
            .map(|tensor| (tensor.name.as_str(), tensor.part))
            .collect();
        assert_eq!(
            tensors,
            [
                ("token_embd.weight", 1),
                ("blk.0.attn_q.weight", 1),
                ("output.weight", 2)
            ]
        );
    }
}

#[test]
fn a_missing_part_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let paths = split(folder.path());
    std::fs::remove_file(&paths[1]).unwrap();
    let error = FileSet::read(&paths[0], &Limits::default()).unwrap_err();
    let HeaderError::MissingParts { count: 3, missing } = error else {
        panic!("{error}")
    };
    assert_eq!(missing, ["Große Datei-00002-of-00003.gguf"]);
}

#[test]
fn a_part_of_another_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let paths = split(folder.path());
    std::fs::copy(&paths[2], &paths[1]).unwrap();
    let error = FileSet::read(&paths[0], &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "split.no: 2 is out of range");
}

#[test]
fn a_cut_part_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let paths = split(folder.path());
    let file = OpenOptions::new().write(true).open(&paths[2]).unwrap();
    let whole = file.metadata().unwrap().len();
    file.set_len(whole - 10).unwrap();
    let error = FileSet::read(&paths[0], &Limits::default()).unwrap_err();
    assert!(
        matches!(error, HeaderError::Cut { needed, have } if needed.less(have) == Bytes(10)),
        "{error}"
    );
}

#[test]
fn a_renamed_part_has_no_brothers() {
    let folder = tempfile::tempdir().unwrap();
    let paths = split(folder.path());
    let renamed = folder.path().join("model.gguf");
    std::fs::copy(&paths[0], &renamed).unwrap();
    let error = FileSet::read(&renamed, &Limits::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "split.count: the file name does not end in -00001-of-0000N.gguf"
    );
}

#[test]
fn a_folder_or_nothing_is_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("nothing.gguf")] {
        let error = FileSet::read(&path, &Limits::default()).unwrap_err();
        assert!(matches!(error, HeaderError::Open { .. }), "{error}");
    }
}

#[test]
fn part_names_are_strict() {
    assert_eq!(
        part_names("m-of-x-00002-of-00003.gguf").unwrap(),
        [
            "m-of-x-00001-of-00003.gguf",
            "m-of-x-00002-of-00003.gguf",
            "m-of-x-00003-of-00003.gguf"
        ]
    );
    for name in [
        "model.gguf",
        "m-00000-of-00003.gguf",
        "m-00004-of-00003.gguf",
        "m-1-of-3.gguf",
        "m-00001-of-99999.gguf",
    ] {
        assert_eq!(part_names(name), None, "{name}");
    }
}
