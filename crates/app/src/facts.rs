//! What a machine said, kept in a file or judged from one that was recorded elsewhere.

use plimsoll_hardware::facts::Private;
use plimsoll_hardware::{Facts, FactsError, judge};
use plimsoll_wire::{Fault, FaultCode, Machine};
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::fault::{ToFault, Told, fault, told};
use crate::to_wire;

/// One recorded machine, or those of a list in its order.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Judged {
    One(Box<Machine>),
    Many(Vec<Machine>),
}

impl App {
    /// Asks this machine and gives its answers as a file holds them, for a report: without the names of people and
    /// machines, serial numbers and the like. What is asked of the machine next, and not anew, follows from the
    /// same answers.
    pub async fn record_facts(&self) -> Result<Vec<u8>, Fault> {
        let facts = self.machine.recorded().await.map_err(|error| error.to_fault())?;
        let facts = facts.without_personal_details(&Private::of(&self.config().environment));
        // A record is texts and whole numbers: there is nothing in it that JSON could not hold.
        Ok(serde_json::to_vec_pretty(&facts).unwrap_or_default())
    }
}

/// What recorded facts say: one record or report, or a list of them. What it holds besides is passed over.
pub fn judge_facts(bytes: &[u8]) -> Result<Judged, Fault> {
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| FactsError::NotJson(error).to_fault())?;
    if let Value::Array(records) = &value {
        return records
            .iter()
            .map(judged)
            .collect::<Result<_, _>>()
            .map(Judged::Many);
    }
    judged(&value).map(|machine| Judged::One(Box::new(machine)))
}

/// The form that [`App::record_facts`] writes.
const SCHEMA: u64 = 1;

fn judged(record: &Value) -> Result<Machine, Fault> {
    // Any JSON object would pass for a record that says nothing, and a machine without devices would come out. Our
    // records tell their version; what people report has lines under keys of their own.
    let known = match record.get("schema") {
        Some(schema) => schema.as_u64() == Some(SCHEMA),
        None => record["facts"].is_object(),
    };
    if !known {
        return Err(fault(FaultCode::MachineFileBad, [("schema", SCHEMA.into())]));
    }
    let facts = Facts::from_json(record.to_string().as_bytes()).map_err(|error| error.to_fault())?;
    Ok(to_wire::machine(&judge(&facts)))
}

impl ToFault for FactsError {
    fn code(&self) -> Told {
        match self {
            Self::TooLarge { bytes, limit } => told(
                FaultCode::MachineFileBad,
                [("claimed", bytes.0.into()), ("limit", limit.0.into())],
            ),
            Self::NotJson(_) => told(FaultCode::MachineFileBad, []),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = r#"{
        "schema": 1, "id": "one", "title": "said elsewhere", "os": "linux", "expect": { "class": "cpu" },
        "facts": { "/proc/meminfo": ["MemTotal: 16384000 kB", "MemAvailable: 8192000 kB"] }
    }"#;

    #[test]
    fn one_record_or_a_list_with_whatever_else_stands_there() {
        let Ok(Judged::One(one)) = judge_facts(CASE.as_bytes()) else {
            panic!("one machine")
        };
        assert_eq!(one.memory.total_bytes, 16_384_000 * 1024);
        let Ok(Judged::Many(many)) = judge_facts(format!("[{CASE},{CASE}]").as_bytes()) else {
            panic!("two")
        };
        assert_eq!(many, [(*one).clone(), *one]);
    }

    #[test]
    fn a_report_is_read_as_it_came() {
        let report = r#"{ "id": "two", "os": "linux", "expect": { "class": "cuda-discrete" }, "facts": { "log": [
            "  Device 0: NVIDIA GeForce RTX 3060, compute capability 8.6, VMM: yes, VRAM: 11907 MiB"] } }"#;
        let Ok(Judged::One(machine)) = judge_facts(report.as_bytes()) else {
            panic!("one machine")
        };
        let [card] = machine.devices.as_slice() else {
            panic!("one card: {machine:?}")
        };
        assert_eq!(
            (card.name.as_str(), card.total_bytes),
            ("NVIDIA GeForce RTX 3060", 11907 << 20)
        );
    }

    #[test]
    fn what_is_no_record_is_said() {
        for bytes in [
            &b"no JSON"[..],
            b"3",
            b"[3]",
            b"\"text\"",
            br#"{"schema":1,"facts":3}"#,
            b"{}",
            br#"{"schema":2}"#,
        ] {
            let code = judge_facts(bytes).map_err(|fault| fault.code);
            assert_eq!(
                code,
                Err(FaultCode::MachineFileBad),
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}
