//! The one place that prints. Colours follow the terminal and `NO_COLOR`; a pipe gets plain text.

use std::io::{IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_os::environment::Environment;
use plimsoll_wire::Params;
use serde::Serialize;

use crate::gauge::Charset;
use crate::lang::Lang;

pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const QUIET: Style = Style::new().dimmed();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();

/// Text in a style; nothing but the text where there is no colour.
pub(crate) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Where answers go: to a person or to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Person,
    Json,
}

/// How much is told of what goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    Short,
    Full,
}

#[derive(Debug)]
pub(crate) struct Out {
    pub(crate) lang: Lang,
    pub(crate) form: Form,
    pub(crate) detail: Detail,
    pub(crate) charset: Charset,
    width: usize,
    colour: Colour,
}

/// Whether the two streams take colours: decided once, by the terminal, `NO_COLOR` and their kin.
#[derive(Debug, Clone, Copy)]
struct Colour {
    answer: ColorChoice,
    beside: ColorChoice,
}

/// Wider lines are hard to read.
const WIDTH_MAX: usize = 110;
/// What a pipe gets: the same text on every machine.
const WIDTH_PIPED: usize = 100;

impl Out {
    pub(crate) fn new(environment: &Environment, form: Form, detail: Detail) -> Self {
        let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        Self {
            lang: Lang::of(environment),
            form,
            detail,
            charset: charset(environment),
            colour: Colour {
                answer: AutoStream::choice(&std::io::stdout()),
                beside: AutoStream::choice(&std::io::stderr()),
            },
            width: width
                .filter(|_| std::io::stdout().is_terminal())
                .unwrap_or(WIDTH_PIPED)
                .clamp(40, WIDTH_MAX),
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn say(&self, key: &str, params: &Params) -> String {
        self.lang.say(key, params)
    }

    /// A line for a person, on standard output.
    pub(crate) fn line(&self, text: &str) {
        put(
            AutoStream::new(std::io::stdout().lock(), self.colour.answer),
            text,
            "\n",
        );
    }

    /// A piece of a line, shown at once.
    pub(crate) fn piece(&self, text: &str) {
        put(
            AutoStream::new(std::io::stdout().lock(), self.colour.answer),
            text,
            "",
        );
    }

    /// Something beside the answer: on standard error, so that a pipe holds the answer only.
    pub(crate) fn note(&self, text: &str) {
        put(
            AutoStream::new(std::io::stderr().lock(), self.colour.beside),
            text,
            "\n",
        );
    }

    pub(crate) fn bad(&self, text: &str) {
        self.note(&styled(BAD, text));
    }

    /// One JSON value a line.
    pub(crate) fn json<T: Serialize>(&self, value: &T) {
        self.line(&serde_json::to_string(value).unwrap_or_default());
    }

    pub(crate) fn json_error<T: Serialize>(&self, value: &T) {
        self.note(&serde_json::to_string(value).unwrap_or_default());
    }

    /// An answer in the form that was asked for.
    pub(crate) fn answer<T: Serialize>(&self, reply: &T, shown: impl FnOnce(&Self, &T) -> String) {
        match self.form {
            Form::Json => self.json(reply),
            Form::Person => self.line(&shown(self, reply)),
        }
    }

    /// Rows under a header. The first column holds what people copy, so it is never broken.
    pub(crate) fn table(&self, header: &[&str]) -> Table {
        let line = if self.charset == Charset::Unicode {
            '─'
        } else {
            '-'
        };
        let style = TableStyle::new().header_separator(LineStyle::none().fill(line).junction(line));
        let mut table = Table::new();
        table
            .load_style(style)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(self.width).unwrap_or(u16::MAX))
            .set_header(header.iter().copied())
            .set_constraints([ColumnConstraint::ContentWidth]);
        table
    }

    /// Names and values below each other, without lines.
    pub(crate) fn pairs(&self, pairs: &[(String, String)]) -> String {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(self.width).unwrap_or(u16::MAX));
        for (name, value) in pairs {
            table.add_row([name, value]);
        }
        table.trim_fmt()
    }

    /// A bar on standard error; invisible where nobody looks.
    pub(crate) fn bar(&self, total: u64) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(total), self.draw_target());
        let template = "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            let chars = if self.charset == Charset::Unicode {
                "━╸ "
            } else {
                "=> "
            };
            bar.set_style(style.progress_chars(chars));
        }
        bar
    }

    /// For work without a measure.
    pub(crate) fn spinner(&self) -> ProgressBar {
        let spinner = ProgressBar::with_draw_target(None, self.draw_target());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            spinner.set_style(if self.charset == Charset::Unicode {
                style
            } else {
                style.tick_chars("-\\|/ ")
            });
        }
        spinner.enable_steady_tick(std::time::Duration::from_millis(120));
        spinner
    }

    fn draw_target(&self) -> ProgressDrawTarget {
        match self.form {
            Form::Person => ProgressDrawTarget::stderr(),
            Form::Json => ProgressDrawTarget::hidden(),
        }
    }
}

/// Whoever reads us may have left (`| head`): nothing to do about it, and no reason to fail.
fn put(mut stream: impl Write, text: &str, end: &str) {
    let _ = stream.write_all(text.as_bytes());
    let _ = stream.write_all(end.as_bytes());
    let _ = stream.flush();
}

fn charset(environment: &Environment) -> Charset {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| environment.filled(name));
    let spoken = locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    // Windows and macOS terminals speak UTF-8 without saying so.
    let plain = environment.get("TERM") == Some("dumb") || (cfg!(target_os = "linux") && !spoken);
    if plain { Charset::Ascii } else { Charset::Unicode }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_only_where_the_terminal_can_draw_them() {
        let of = |pairs: &[(&str, &str)]| charset(&Environment::from_pairs(pairs.iter().copied()));
        assert_eq!(of(&[("LANG", "en_GB.UTF-8")]), Charset::Unicode);
        assert_eq!(of(&[("LANG", "C.utf8")]), Charset::Unicode);
        assert_eq!(of(&[("LANG", "en_GB.UTF-8"), ("TERM", "dumb")]), Charset::Ascii);
        #[cfg(target_os = "linux")]
        assert_eq!(of(&[("LANG", "en_GB.UTF-8"), ("LC_ALL", "C")]), Charset::Ascii);
    }
}
