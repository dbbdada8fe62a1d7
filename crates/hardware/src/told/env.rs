//! Variables that hide devices, as a report shows them.

use super::scan::after;
use super::{Text, Told};
use crate::facts::VISIBLE_DEVICES;

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    for line in &mut text.lines {
        for name in VISIBLE_DEVICES {
            let value = match after(line.text, &format!("{name}=")) {
                Some(rest) => rest.split([' ', ';', '\t']).next().unwrap_or_default(),
                None if text.key == name => line.text,
                None => continue,
            };
            let value = value.trim().trim_matches(['"', '\'', ',', '`']);
            // What shells and tools print for a variable that is not there.
            if !matches!(value, "(unset)" | "unset" | "None" | "<unset>" | "null") {
                told.variables.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}
