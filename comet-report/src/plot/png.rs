//! A figure as a picture in PNG.

use super::figure::Figure;
use super::style::Style;

/// Width of every picture in pixels.
#[cfg(feature = "png")]
const WIDTH_PX: u32 = 1440;

/// True if the program was built with the feature `png`.
pub const HAS_PNG: bool = cfg!(feature = "png");

/// Reason that there is no picture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// The program was built without the feature `png`.
    #[error("this program was built without PNG (take SVG, or build it with the feature png)")]
    NotBuilt,
    /// The figure is too high for a picture.
    #[error("a PNG picture of this figure would be too large (take SVG)")]
    Size,
}

/// `figure` as PNG, 1440 pixels wide, with the colours of `style` (those of the page are light here)
/// and a font of its own: equal figures give equal bytes on all machines.
///
/// # Errors
///
/// If the figure is too high, or if the program was built without the feature `png`.
#[cfg(feature = "png")]
pub fn png(figure: &Figure, style: Style) -> Result<Vec<u8>, PngError> {
    drawn(figure, style, WIDTH_PX)
}

#[cfg(feature = "png")]
fn drawn(figure: &Figure, style: Style, width_px: u32) -> Result<Vec<u8>, PngError> {
    use resvg::tiny_skia::{Pixmap, Transform};

    let tree = tree(figure, style);
    let scale = f64::from(width_px) / f64::from(tree.size().width());
    let height_px = height_px(f64::from(tree.size().height()) * scale);
    let mut picture = Pixmap::new(width_px, height_px).ok_or(PngError::Size)?;
    #[expect(clippy::cast_possible_truncation, reason = "the renderer has single precision")]
    let transform = Transform::from_scale(scale as f32, scale as f32);
    resvg::render(&tree, transform, &mut picture.as_mut());
    picture.encode_png().map_err(|_| PngError::Size)
}

/// Without the feature `png` there is no picture.
///
/// # Errors
///
/// Always.
#[cfg(not(feature = "png"))]
pub fn png(_: &Figure, _: Style) -> Result<Vec<u8>, PngError> {
    Err(PngError::NotBuilt)
}

#[cfg(feature = "png")]
fn tree(figure: &Figure, style: Style) -> resvg::usvg::Tree {
    let style = if style.rules().is_none() { Style::Light } else { style };
    let options = resvg::usvg::Options { fontdb: fonts().into(), ..Default::default() };
    let svg = super::svg(figure, style);
    resvg::usvg::Tree::from_str(&svg, &options).expect("our own SVG is valid")
}

/// The one font of pictures, which stands for whatever is asked for.
#[cfg(feature = "png")]
fn fonts() -> resvg::usvg::fontdb::Database {
    let mut fonts = resvg::usvg::fontdb::Database::new();
    fonts.load_font_data(dejavu::sans_condensed::regular().to_vec());
    let face = fonts.faces().next().expect("the font that is built in is valid");
    let family = face.families[0].0.clone();
    fonts.set_sans_serif_family(&family);
    fonts.set_serif_family(family);
    fonts
}

#[cfg(feature = "png")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
fn height_px(height: f64) -> u32 {
    height.round() as u32
}

#[cfg(all(test, feature = "png"))]
mod tests {
    use super::*;
    use crate::plot::example;

    #[test]
    fn pictures_are_1440_wide_and_follow_their_style() {
        let bytes = drawn(&example::latency(), Style::Page, 360).unwrap();
        assert_eq!(&bytes[1..4], b"PNG");
        assert_eq!(bytes[16..20], 360_u32.to_be_bytes());
        assert_eq!(bytes, drawn(&example::latency(), Style::Light, 360).unwrap());
        assert_ne!(bytes, drawn(&example::latency(), Style::Dark, 360).unwrap());
        assert_eq!(png(&example::latency(), Style::Light).unwrap()[16..20], 1440_u32.to_be_bytes());
    }

    #[test]
    fn pictures_show_text() {
        let mut figure = example::latency();
        let with_title = drawn(&figure, Style::Light, 360).unwrap();
        figure.title.clear();
        assert_ne!(drawn(&figure, Style::Light, 360).unwrap(), with_title);
    }
}
