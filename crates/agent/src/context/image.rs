use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::SizeClass;
use crate::Image;

/// Enough of a file to find its size in: a JPEG may carry a preview before it.
const HEADER_CHARS: usize = 256 << 10;

/// By the pixels that the image's header tells.
#[must_use]
pub fn size_class(image: &Image) -> SizeClass {
    // Whole groups of four, so that a cut text still decodes.
    let cut = image.data.len().min(HEADER_CHARS) / 4 * 4;
    let header = image.data.get(..cut).and_then(|text| STANDARD.decode(text).ok());
    let size = header.and_then(|bytes| imagesize::blob_size(&bytes).ok());
    match size.map(|size| size.width.saturating_mul(size.height)) {
        None => SizeClass::Unknown,
        Some(pixels) if pixels <= 512 * 512 => SizeClass::Small,
        Some(pixels) if pixels <= 1_024 * 1_024 => SizeClass::Medium,
        Some(_) => SizeClass::Large,
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::size_class;
    use crate::context::SizeClass;
    use crate::{Image, ImageFormat};

    fn png(width: u32, height: u32) -> Image {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 2, 0, 0, 0, 0, 0, 0, 0]);
        Image {
            format: ImageFormat::Png,
            data: STANDARD.encode(bytes),
        }
    }

    #[test]
    fn classes_go_by_pixels() {
        assert_eq!(size_class(&png(512, 512)), SizeClass::Small);
        assert_eq!(size_class(&png(2_000, 400)), SizeClass::Medium);
        assert_eq!(size_class(&png(1_920, 1_080)), SizeClass::Large);
        let broken = Image {
            format: ImageFormat::Jpeg,
            data: "no base64 at all!".into(),
        };
        assert_eq!(size_class(&broken), SizeClass::Unknown);
    }
}
