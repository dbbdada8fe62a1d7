use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What the router says of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Standing {
    #[default]
    Unloaded,
    Loading,
    Loaded,
    /// Loaded, its memory given back after a long idle time; the next request wakes it.
    Sleeping,
}

impl Standing {
    /// A word that is new to us is no standing: the old one stays.
    fn of(word: &str) -> Option<Self> {
        match word {
            "unloaded" => Some(Self::Unloaded),
            "loading" => Some(Self::Loading),
            "loaded" => Some(Self::Loaded),
            "sleeping" => Some(Self::Sleeping),
            _ => None,
        }
    }
}

/// A stage of a load; `value` from 0 to 1.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progress {
    pub stage: String,
    pub value: f64,
}

/// One model as last seen.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Sighting {
    pub standing: Standing,
    /// Set when it came down by itself.
    pub exit_code: Option<i32>,
    pub progress: Option<Progress>,
    /// The port of its child, once a list was read.
    pub port: Option<u16>,
    /// How often anything was heard of it: a load that counts up is alive.
    pub moves: u64,
}

/// All models by the router's names.
pub(super) type Sightings = BTreeMap<String, Sighting>;

/// No router of ours knows more models.
const MODELS_MAX: usize = 1_024;

#[derive(Deserialize)]
struct Message {
    model: String,
    event: String,
    #[serde(default)]
    data: Value,
}

/// Takes one message of `/models/sse` in. Returns whether anything changed. Both names of the event occur
/// across builds; a message we do not know changes nothing.
pub(super) fn hear(seen: &mut Sightings, message: &str) -> bool {
    let Ok(Message { model, event, data }) = serde_json::from_str(message) else {
        return false;
    };
    if event != "status_change" && event != "model_status" {
        return false;
    }
    let Some(standing) = data["status"].as_str().and_then(Standing::of) else {
        return false;
    };
    if seen.len() >= MODELS_MAX && !seen.contains_key(&model) {
        return false;
    }
    let sighting = seen.entry(model).or_default();
    sighting.moves += 1;
    sighting.standing = standing;
    sighting.progress = (standing == Standing::Loading)
        .then(|| progress(&data["progress"]))
        .flatten();
    sighting.exit_code = failure(standing, data["exit_code"].as_i64());
    true
}

/// Takes a whole list (`GET /models`) in: what is not in it is unknown to the router.
pub(super) fn read_list(seen: &mut Sightings, list: &Value) {
    let models = list["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut now = Sightings::new();
    for model in models.iter().take(MODELS_MAX) {
        let Some(id) = model["id"].as_str() else { continue };
        let mut sighting = seen.remove(id).unwrap_or_default();
        let status = &model["status"];
        if let Some(standing) = status["value"].as_str().and_then(Standing::of) {
            if standing != sighting.standing {
                sighting.moves += 1;
            }
            sighting.standing = standing;
            if standing != Standing::Loading {
                sighting.progress = None;
            }
            let failed = status["failed"].as_bool().unwrap_or(false);
            sighting.exit_code = failure(standing, status["exit_code"].as_i64().filter(|_| failed));
        }
        sighting.port = port(&status["args"]);
        now.insert(id.to_owned(), sighting);
    }
    *seen = now;
}

fn failure(standing: Standing, code: Option<i64>) -> Option<i32> {
    code.filter(|&code| standing == Standing::Unloaded && code != 0)
        .and_then(|code| i32::try_from(code).ok())
}

fn progress(value: &Value) -> Option<Progress> {
    let stage = value["current"].as_str()?;
    let part = value["value"].as_f64().filter(|part| part.is_finite())?;
    Some(Progress {
        stage: stage.chars().take(64).collect(),
        value: part.clamp(0.0, 1.0),
    })
}

/// The value after `--port` among the child's arguments; 0 before it was ever started.
fn port(arguments: &Value) -> Option<u16> {
    let words = arguments.as_array()?;
    let at = words.iter().position(|word| word == "--port")?;
    words
        .get(at + 1)?
        .as_str()?
        .parse()
        .ok()
        .filter(|&port| port != 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_real_load_is_followed_to_its_end() {
        let mut seen = Sightings::new();
        let told = [
            r#"{"model":"smol q4","event":"model_status","data":{"status":"loading"}}"#,
            r#"{"model":"smol q4","event":"status_change","data":{"status":"loading","progress":{"stages":["text_model"],"current":"text_model","value":0.46015316247940063}}}"#,
        ];
        for message in told {
            assert!(hear(&mut seen, message));
        }
        let half = &seen["smol q4"];
        assert_eq!(half.standing, Standing::Loading);
        assert_eq!(half.moves, 2);
        assert!(
            half.progress
                .as_ref()
                .is_some_and(|p| p.stage == "text_model" && p.value > 0.46)
        );
        let done =
            r#"{"model":"smol q4","event":"status_change","data":{"status":"loaded","info":{"id":"x"}}}"#;
        assert!(hear(&mut seen, done));
        assert_eq!(
            (seen["smol q4"].standing, seen["smol q4"].progress.clone()),
            (Standing::Loaded, None)
        );
        let dead =
            r#"{"model":"smol q4","event":"status_change","data":{"status":"unloaded","exit_code":1}}"#;
        assert!(hear(&mut seen, dead));
        assert_eq!(seen["smol q4"].exit_code, Some(1));
        let fine =
            r#"{"model":"smol q4","event":"status_change","data":{"status":"unloaded","exit_code":0}}"#;
        assert!(hear(&mut seen, fine));
        assert_eq!(seen["smol q4"].exit_code, None, "an orderly end is no failure");
    }

    #[test]
    fn rubbish_and_news_of_other_kinds_change_nothing() {
        let mut seen = Sightings::new();
        for message in [
            "",
            "{",
            "[]",
            r#"{"model":"*","event":"models_reload"}"#,
            r#"{"model":"x","event":"status_change","data":{"status":"dancing"}}"#,
            r#"{"model":"x","event":"status_change"}"#,
        ] {
            assert!(!hear(&mut seen, message), "{message}");
        }
        assert!(seen.is_empty());
        let wild = r#"{"model":"x","event":"status_change","data":{"status":"loading","progress":{"current":"t","value":7e9}}}"#;
        assert!(hear(&mut seen, wild));
        assert_eq!(seen["x"].progress.as_ref().map(|p| p.value), Some(1.0));
    }

    #[test]
    fn a_list_tells_ports_and_failures_and_forgets_what_is_gone() {
        let mut seen = Sightings::new();
        hear(
            &mut seen,
            r#"{"model":"gone","event":"model_status","data":{"status":"loading"}}"#,
        );
        read_list(
            &mut seen,
            &json!({"data": [
                {"id": "a", "status": {"value": "loaded", "args": ["x", "--port", "45055"]}},
                {"id": "b", "status": {"value": "unloaded", "args": ["--port", "0"], "failed": true, "exit_code": 1}},
            ]}),
        );
        assert_eq!(seen.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(
            (seen["a"].standing, seen["a"].port),
            (Standing::Loaded, Some(45055))
        );
        assert_eq!((seen["b"].port, seen["b"].exit_code), (None, Some(1)));
    }
}
