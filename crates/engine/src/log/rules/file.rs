use super::{contains_any, number_after};
use crate::log::cause::{Cause, FileProblem};

fn file(problem: FileProblem, text: &str) -> Cause {
    Cause::ModelFileBroken {
        problem,
        what: text.to_owned(),
    }
}

/// All that can be wrong with a model's file.
pub(super) fn cannot_be_used(text: &str) -> Option<Cause> {
    // "failed to load model from X" only repeats the line before it.
    if text.contains("failed to load model from ") {
        return None;
    }
    split(text)
        .or_else(|| missing(text))
        .or_else(|| architecture(text))
        .or_else(|| tensor_type(text))
        .or_else(|| content(text))
}

fn split(text: &str) -> Option<Cause> {
    if let Some((_, part)) = text.split_once("failed to load GGUF split from ") {
        let file = part.trim().to_owned();
        return Some(Cause::ModelFileMissing { file });
    }
    if text.contains("must be loaded with the first split") {
        return Some(file(FileProblem::NotTheFirstPart, text));
    }
    contains_any(text, &["invalid split file", "illegal split file"])
        .then(|| file(FileProblem::BadSplit, text))
}

fn missing(text: &str) -> Option<Cause> {
    let at = ["failed to open GGUF file ", "failed to open "]
        .iter()
        .find_map(|mark| text.split_once(mark))?
        .1;
    let name = match at.split(['\'', '"']).nth(1) {
        Some(quoted) => quoted,
        // The weights are opened after the header, and then the name stands bare before the system's reason.
        None => at.rsplit_once(": ")?.0,
    };
    let about_a_model = contains_any(text, &["gguf", "GGUF", "llama"]);
    // Without a reason the usual one is meant: older engines print none.
    let gone = !text.contains("Permission denied");
    match (about_a_model, gone) {
        (false, _) => None,
        (true, true) => Some(Cause::ModelFileMissing {
            file: name.to_owned(),
        }),
        (true, false) => Some(file(FileProblem::Unreadable, text)),
    }
}

fn architecture(text: &str) -> Option<Cause> {
    let (_, rest) = text.split_once("unknown model architecture: ")?;
    let name = rest.trim().trim_matches(['\'', '"']);
    // A projector has an architecture as well, which no text model has.
    Some(if name.is_empty() || name == "clip" {
        Cause::NotATextModel
    } else {
        Cause::UnknownArchitecture {
            name: name.to_owned(),
        }
    })
}

/// Number of the newest type that this was written with: MXFP4 in ggml.h. Higher ones are newer than the engine.
const TYPE_FIRST_OF_ITS_TIME: u32 = 39;

fn tensor_type(text: &str) -> Option<Cause> {
    if let Some(number) = number_after::<u32>(text, "has invalid ggml type ") {
        // Types are only ever added: an engine that does not know a current one is older than the file. Numbers
        // that ggml gave up (4, 5, 31 to 33, 36 to 38) come from forks or from old files.
        let given_up = matches!(number, 4 | 5 | 31..=33 | 36..=38);
        return Some(if given_up || number > TYPE_FIRST_OF_ITS_TIME + 100 {
            Cause::UnknownTensorType {
                what: text.to_owned(),
            }
        } else {
            Cause::EngineTooOld {
                what: text.to_owned(),
            }
        });
    }
    let removed = text.contains(" of type ") && text.contains("not a multiple of block size");
    let hit = removed || text.contains("unrecognized tensor type");
    hit.then(|| Cause::UnknownTensorType {
        what: text.to_owned(),
    })
}

fn content(text: &str) -> Option<Cause> {
    const FOREIGN: [&str; 4] = [
        "invalid magic character",
        "bad magic",
        "unknown (magic, version) combination",
        "is no longer supported",
    ];
    const CUT: [&str; 4] = [
        "not within the file bounds",
        "corrupted or incomplete",
        "unexpectedly reached end of file",
        "tensor data is not within",
    ];
    const CONVERSION: [&str; 6] = [
        "cannot find tokenizer",
        "key not found in model",
        "error loading model vocabulary",
        "failed to read key-value",
        "failed to read tensor",
        "duplicated tensor name",
    ];
    if contains_any(text, &FOREIGN) {
        return Some(Cause::NotGguf);
    }
    if contains_any(text, &CUT) {
        return Some(Cause::ModelFileCut);
    }
    if text.contains("unknown pre-tokenizer type") {
        return Some(Cause::EngineTooOld {
            what: text.to_owned(),
        });
    }
    if text.contains("wrong number of tensors") {
        return Some(tensor_count(text));
    }
    if text.contains("tensor '") && text.contains("' not found") {
        return Some(Cause::EngineTooOld {
            what: text.to_owned(),
        });
    }
    if contains_any(text, &CONVERSION) {
        return Some(file(FileProblem::BadConversion, text));
    }
    text.contains("error loading model: ")
        .then(|| file(FileProblem::Unsaid, text))
}

/// `wrong number of tensors; expected 292, got 291`: the file holds 292, and the engine used 291 of them.
fn tensor_count(text: &str) -> Cause {
    let in_file: Option<u64> = number_after(text, "expected ");
    let used: Option<u64> = number_after(text, "got ");
    match (in_file, used) {
        // A handful more is something new in the architecture; far more is another model packed in with it.
        (Some(in_file), Some(used)) if in_file > used.saturating_add(used / 5) => {
            file(FileProblem::ForeignLayout, text)
        }
        (Some(_) | None, _) => Cause::EngineTooOld {
            what: text.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_gone_is_named_quoted_or_bare() {
        for line in [
            "gguf_init_from_file: failed to open GGUF file '/a b/c.gguf' (No such file or directory)",
            "llama_model_load: error loading model: failed to open /a b/c.gguf: No such file or directory",
        ] {
            let file = "/a b/c.gguf".to_owned();
            assert_eq!(
                cannot_be_used(line),
                Some(Cause::ModelFileMissing { file }),
                "{line}"
            );
        }
        let closed = "llama_model_load: error loading model: failed to open /c.gguf: Permission denied";
        assert_eq!(
            cannot_be_used(closed),
            Some(file(FileProblem::Unreadable, closed))
        );
    }
}
