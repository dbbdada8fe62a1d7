//! The load gauge for a terminal: the hull is a memory pool, the line is what may be used, the water is what
//! the plan uses, in layers that are told apart without colour.

use anstyle::{AnsiColor, Style};

/// What the terminal can draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    Unicode,
    Ascii,
}

/// A kind of memory, from the keel up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    Weights,
    /// Copies of weights in the processor's own order.
    Rearranged,
    Context,
    Compute,
    Other,
}

impl Layer {
    pub(crate) const ALL: [Self; 5] = [
        Self::Weights,
        Self::Rearranged,
        Self::Context,
        Self::Compute,
        Self::Other,
    ];

    pub(crate) fn mark(self, charset: Charset) -> char {
        match (charset, self) {
            (Charset::Unicode, Self::Weights) => '█',
            (Charset::Unicode, Self::Rearranged) => '▚',
            (Charset::Unicode, Self::Context) => '▓',
            (Charset::Unicode, Self::Compute) => '▒',
            (Charset::Unicode, Self::Other) => '░',
            (Charset::Ascii, Self::Weights) => '#',
            (Charset::Ascii, Self::Rearranged) => '%',
            (Charset::Ascii, Self::Context) => '=',
            (Charset::Ascii, Self::Compute) => '+',
            (Charset::Ascii, Self::Other) => '-',
        }
    }
}

/// A load in bytes and the line it must stay under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) layers: [u64; Layer::ALL.len()],
    pub(crate) line: u64,
}

impl Load {
    pub(crate) fn total(&self) -> u64 {
        self.layers
            .iter()
            .fold(0, |sum, layer| sum.saturating_add(*layer))
    }

    pub(crate) fn over(&self) -> u64 {
        self.total().saturating_sub(self.line)
    }
}

const WATER: Style = AnsiColor::Blue.on_default();
const OVER: Style = AnsiColor::Red.on_default().bold();
const LINE: Style = AnsiColor::Yellow.on_default().bold();

/// One row of `width` cells. A hull that is not overloaded ends a tenth above its line; one that is, ends
/// with its load.
pub(crate) fn row(load: &Load, width: usize, charset: Charset) -> String {
    let width = width.max(12);
    let inner = width - 2;
    let whole = load.total().max(load.line.saturating_add(load.line / 10)).max(1);
    let line_at = cell(load.line, whole, inner).min(inner - 1);
    let (empty, mark, left, right) = match charset {
        Charset::Unicode => ('·', '┃', '╺', '╸'),
        Charset::Ascii => ('.', '|', '[', ']'),
    };
    let mut out = String::with_capacity(width * 4);
    out.push(left);
    let mut now = Style::new();
    for at in 0..inner {
        let (style, shown) = if at == line_at {
            (LINE, mark)
        } else {
            match layer_at(load, at, whole, inner) {
                Some(layer) => (if at > line_at { OVER } else { WATER }, layer.mark(charset)),
                None => (Style::new().dimmed(), empty),
            }
        };
        if style != now {
            out.extend([now.render_reset().to_string(), style.render().to_string()]);
            now = style;
        }
        out.push(shown);
    }
    out.push_str(&now.render_reset().to_string());
    out.push(right);
    out
}

/// The layer that most of a cell lies in; a layer that is there at all is seen where it fits.
fn layer_at(load: &Load, at: usize, whole: u64, inner: usize) -> Option<Layer> {
    let mut start = 0_u64;
    for (layer, bytes) in Layer::ALL.into_iter().zip(load.layers) {
        let end = start.saturating_add(bytes);
        let (from, mut to) = (cell(start, whole, inner), cell(end, whole, inner));
        if bytes > 0 && to == from && layer == Layer::Weights {
            to = from + 1;
        }
        if (from..to).contains(&at) {
            return Some(layer);
        }
        start = end;
    }
    None
}

/// The cell a byte lies in, rounded.
fn cell(byte: u64, whole: u64, inner: usize) -> usize {
    let scaled = (u128::from(byte) * inner as u128 + u128::from(whole) / 2) / u128::from(whole);
    usize::try_from(scaled).unwrap_or(usize::MAX).min(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(layers: [u64; 5], line: u64, width: usize) -> String {
        anstream::adapter::strip_str(&row(&Load { layers, line }, width, Charset::Ascii)).to_string()
    }

    #[test]
    fn the_water_stays_under_the_line() {
        assert_eq!(drawn([30, 20, 20, 10, 5], 100, 24), "[######%%%%====++-...|.]");
    }

    #[test]
    fn the_water_is_above_the_line() {
        assert_eq!(drawn([150, 0, 40, 8, 2], 100, 22), "[##########|####====+]");
    }

    #[test]
    fn small_or_absurd_loads_draw_something_of_the_right_width() {
        for (layers, line) in [
            ([0; 5], 0),
            ([1, 0, 0, 0, 0], 1 << 40),
            ([0; 5], 100),
            ([u64::MAX; 5], u64::MAX),
            ([5; 5], 0),
        ] {
            for width in [0, 12, 13, 80, 200] {
                assert_eq!(
                    drawn(layers, line, width).chars().count(),
                    width.max(12),
                    "{layers:?} {line} {width}"
                );
            }
        }
        assert!(
            drawn([1, 0, 0, 0, 0], 1 << 40, 40).contains('#'),
            "a little water is still water"
        );
    }
}
