//! From numbers to colours, and from colours to a picture inside a figure.

/// Nine colours from low to high, evenly spaced; between them we interpolate.
///
/// # Reference
///
/// Every 1/8 of `viridis` by Smith, van der Walt and Firing (2015), whose table is in
/// the public domain (CC0): equal steps look equal, also in grey and with any colour
/// vision.
const ANCHORS: [[u8; 3]; 9] = [
    [0x44, 0x01, 0x54],
    [0x47, 0x2d, 0x7b],
    [0x3b, 0x52, 0x8b],
    [0x2c, 0x72, 0x8e],
    [0x21, 0x91, 0x8c],
    [0x28, 0xae, 0x80],
    [0x5e, 0xc9, 0x62],
    [0xad, 0xdc, 0x30],
    [0xfd, 0xe7, 0x25],
];

/// Entry 0 of a picture's palette is transparent: no value. The others are colours.
const SHADES: u8 = u8::MAX;

/// A position from 0 to 1 as an entry of the palette; nothing where it is not a number.
pub(super) fn entry(position: f64) -> u8 {
    if position.is_nan() {
        return 0;
    }
    1 + (position.clamp(0.0, 1.0) * f64::from(SHADES - 1)).round() as u8
}

/// The colour at a position from 0 to 1.
fn color(position: f64) -> [u8; 3] {
    let last = ANCHORS.len() - 1;
    let along = position.clamp(0.0, 1.0) * last as f64;
    let below = (along as usize).min(last - 1);
    let part = along - below as f64;
    std::array::from_fn(|channel| {
        let (a, b) = (ANCHORS[below][channel], ANCHORS[below + 1][channel]);
        (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8
    })
}

/// A PNG of `entries`, rows from the top, as a data address; none for an empty picture.
pub(super) fn picture(width: usize, entries: &[u8]) -> Option<String> {
    let height = entries.len().checked_div(width)?;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(
        &mut file,
        u32::try_from(width).ok()?,
        u32::try_from(height).ok()?,
    );
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    let shades = (0..SHADES).map(|n| color(f64::from(n) / f64::from(SHADES - 1)));
    let palette: Vec<[u8; 3]> = [[0; 3]].into_iter().chain(shades).collect();
    encoder.set_palette(palette.as_flattened());
    encoder.set_trns(&[0u8][..]);
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(entries).ok()?;
    writer.finish().ok()?;
    Some(format!("data:image/png;base64,{}", base64(&file)))
}

/// Base 64 with padding (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            text.push(match digit <= three.len() {
                true => char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63]),
                false => '=',
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648, section 10.
    #[test]
    fn base64_test_vectors() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let encoded = [
            "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy",
        ];
        for (text, expected) in texts.into_iter().zip(encoded) {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    #[test]
    fn ends_and_middle() {
        assert_eq!(color(0.0), ANCHORS[0]);
        assert_eq!(color(0.5), ANCHORS[4]);
        assert_eq!(color(1.0), ANCHORS[8]);
        assert_eq!((entry(f64::NAN), entry(0.0), entry(1.0)), (0, 1, 255));
        assert_eq!((entry(-1.0), entry(f64::INFINITY)), (1, 255));
    }

    /// Lighter from step to step, as a scale that is read in grey must be.
    #[test]
    fn lightness_grows() {
        let lightness = |n: u8| {
            let [r, g, b] = color(f64::from(n) / 255.0).map(f64::from);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        assert!((0..255).all(|n| lightness(n) <= lightness(n + 1)));
    }
}
