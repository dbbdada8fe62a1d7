/// One line of the router's log, taken apart. The router puts `[port] ` before what a child printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogLine<'a> {
    /// The port of the child that printed it; none for the router's own lines.
    pub child: Option<u16>,
    /// `I`, `W`, `E`, `D`, where the line says so.
    pub level: Option<char>,
    pub text: &'a str,
}

impl<'a> LogLine<'a> {
    #[must_use]
    pub(crate) fn parse(line: &'a str) -> Self {
        let (child, rest) = child_prefix(line).map_or((None, line), |(port, rest)| (Some(port), rest));
        let (level, text) = time_and_level(rest).map_or((None, rest), |(level, text)| (Some(level), text));
        Self {
            child,
            level,
            text: text.trim_end(),
        }
    }

    /// Not a message: the child's reports to the router pass through the same pipe in older builds.
    #[must_use]
    pub(crate) fn is_command(&self) -> bool {
        self.text.starts_with("cmd_child_to_router:")
    }
}

/// `[45055] text`; the port is padded to five places.
fn child_prefix(line: &str) -> Option<(u16, &str)> {
    let (port, rest) = line.strip_prefix('[')?.split_once(']')?;
    Some((
        port.trim_start().parse().ok()?,
        rest.strip_prefix(' ').unwrap_or(rest),
    ))
}

/// `0.00.169.205 E text`: minutes, seconds, milliseconds, microseconds.
fn time_and_level(line: &str) -> Option<(char, &str)> {
    let (time, rest) = line.split_once(' ')?;
    let digits_and_dots =
        time.contains('.') && time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let mut rest_chars = rest.chars();
    let level = rest_chars.next().filter(char::is_ascii_uppercase)?;
    let text = rest_chars.as_str().strip_prefix(' ')?;
    digits_and_dots.then_some((level, text))
}

/// What the child on this port printed, without its prefix.
#[must_use]
pub(crate) fn lines_of_child(log: &[String], port: u16) -> Vec<&str> {
    log.iter()
        .filter_map(|line| {
            child_prefix(line)
                .filter(|&(of, _)| of == port)
                .map(|(_, rest)| rest)
        })
        .filter(|line| !LogLine::parse(line).is_command())
        .collect()
}

/// What the router itself printed.
#[must_use]
pub(crate) fn lines_of_router(log: &[String]) -> Vec<&str> {
    log.iter()
        .map(String::as_str)
        .filter(|line| child_prefix(line).is_none())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_time_and_level_are_taken_off() {
        let line = LogLine::parse("[45055] 0.00.169.205 E gguf_init_from_file: failed to open GGUF file 'x'");
        assert_eq!(line.child, Some(45055));
        assert_eq!(line.level, Some('E'));
        assert_eq!(line.text, "gguf_init_from_file: failed to open GGUF file 'x'");
        assert_eq!(LogLine::parse("[ 1234] plain").child, Some(1234));
        assert_eq!(
            LogLine::parse("main: error: unable to load model").text,
            "main: error: unable to load model"
        );
        assert_eq!(LogLine::parse("[not a port] x").child, None);
    }

    #[test]
    fn lines_are_told_apart_by_port() {
        let log: Vec<String> = [
            "0.02.7 I srv  load: spawning",
            "[45055] 0.1.2.3 I a",
            "[45056] b",
            "[45055] cmd_child_to_router:state:{}",
            "[45055] c",
        ]
        .map(str::to_owned)
        .into();
        assert_eq!(lines_of_child(&log, 45055), ["0.1.2.3 I a", "c"]);
        assert_eq!(lines_of_router(&log), ["0.02.7 I srv  load: spawning"]);
    }
}
