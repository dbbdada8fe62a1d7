//! What single lines of an engine's log mean. Each rule knows the wordings of one kind of trouble over the years.

mod device;
mod file;
mod memory;
mod start;
mod talk;

use super::cause::Cause;

type Rule = fn(&str) -> Option<Cause>;

/// Lines that end an engine. Tried in order on each line; the first line that any rule knows decides.
const ENDS: [Rule; 11] = [
    start::missing_library,
    start::illegal_instruction,
    start::port_taken,
    start::option_refused,
    memory::exhausted,
    device::lost,
    device::no_kernel,
    device::driver_refused,
    file::cannot_be_used,
    talk::partner_mismatch,
    start::crashed,
];

/// Lines after which an engine may well go on, but not as it was meant to.
const REMARKS: [Rule; 3] = [device::not_used, talk::less_than_asked, talk::request_refused];

pub(super) fn end(text: &str) -> Option<Cause> {
    ENDS.iter().find_map(|rule| rule(text))
}

pub(super) fn remark(text: &str) -> Option<Cause> {
    REMARKS.iter().find_map(|rule| rule(text))
}

pub(super) use memory::{EXPLAINED_BY, part_said_by};

/// Lines that look fatal and are not, or that only repeat an earlier one in misleading words.
pub(super) fn is_noise(text: &str) -> bool {
    // The fit step tries settings that may fail; what fails for good is printed again by the load itself.
    contains_any(text, &["common_fit_params", "common_params_fit", "this warning is normal", "[spec] failed to measure"])
        // Without pinned memory the load goes on, only slower.
        || text.contains("pinned memory")
}

fn contains_any(text: &str, marks: &[&str]) -> bool {
    marks.iter().any(|mark| text.contains(mark))
}

/// The digits at the start.
fn leading_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let text = text.trim_start_matches([' ', ':', '=', '"']);
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

fn number_after<T: std::str::FromStr>(text: &str, mark: &str) -> Option<T> {
    leading_number(text.split_once(mark)?.1)
}
