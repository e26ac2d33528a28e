//! Colours, of the page, which may change between light and dark, or of one file; and the script that
//! makes figures of a page live.

use super::curve::MARKS;

/// Styles of lines, marks and texts, with colours as variables.
const RULES: &str = include_str!("style.css");
/// Styles that only a page needs: tools, tooltips, boxes around figures.
const PAGE_RULES: &str = include_str!("page.css");

/// Number of colours, each of which has a mark of its own.
pub(super) const N_COLOURS: usize = 10;
pub(super) const N_DASHES: usize = 4;

/// Names of variables, and their values in light and in dark.
///
/// Series have the colours of Okabe and Ito, which can be told apart by people who see fewer
/// colours than others, with two more; those that would be hard to see on their background are
/// shifted. Marks tell apart those that are near.
const VARIABLES: [(&str, [&str; 2]); 4 + N_COLOURS] = [
    ("--paper", ["#ffffff", "#15181c"]),
    ("--ink", ["#1b1f24", "#e4e7eb"]),
    ("--quiet", ["#59616b", "#9aa4b0"]),
    ("--rule", ["#e1e4e8", "#2c323a"]),
    ("--c0", ["#0072b2", "#4aa5e0"]),
    ("--c1", ["#d55e00", "#f0783c"]),
    ("--c2", ["#009e73", "#2fc095"]),
    ("--c3", ["#b0558a", "#d88ab5"]),
    ("--c4", ["#e69f00", "#e6a817"]),
    ("--c5", ["#56b4e9", "#9bd4f7"]),
    ("--c6", ["#3f454d", "#d5dae0"]),
    ("--c7", ["#a89600", "#f0e442"]),
    ("--c8", ["#6a4fb3", "#ab9cf2"]),
    ("--c9", ["#7f4a1e", "#c99a68"]),
];

/// Source of the colours of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// From the page around it, which brings [`css`].
    Page,
    /// The same, in the size of a file and without its title: for a page with one figure, whose heading
    /// it is.
    Wide,
    /// From the picture itself, on white.
    Light,
    /// From the picture itself, on a dark ground.
    Dark,
}

/// Size of a picture in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) width: f64,
    /// Height of the plot area, and of the strip with residuals.
    pub(super) heights: [f64; 2],
}

impl Frame {
    /// Size of a file.
    pub(super) const FILE: Self = Self { width: 720.0, heights: [320.0, 84.0] };
    /// Size on a page: on a phone, texts shrink by a quarter and can still be read.
    const PAGE: Self = Self { width: 440.0, heights: [260.0, 72.0] };
}

impl Style {
    pub(super) fn frame(self) -> Frame {
        match self {
            Self::Page => Frame::PAGE,
            Self::Wide | Self::Light | Self::Dark => Frame::FILE,
        }
    }

    pub(super) fn element(self) -> String {
        self.rules().map_or(String::new(), |rules| format!("<style>{rules}</style>"))
    }

    /// The rules that a picture brings along.
    pub(crate) fn rules(self) -> Option<String> {
        match self {
            Self::Page | Self::Wide => None,
            Self::Light => Some(literal_rules(0)),
            Self::Dark => Some(literal_rules(1)),
        }
    }
}

/// The rules of figures for a page that shows them: once, alone in an element `style`.
///
/// Colours follow the reader's preference, or the attribute `data-theme` (`light`, `dark`) of the
/// root element.
pub fn css() -> String {
    let [light, dark] = [0, 1].map(variables);
    format!(
        ":root{{color-scheme:light dark;{light}}}\n\
         @media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n\
         :root[data-theme=light]{{color-scheme:light;{light}}}\n\
         :root[data-theme=dark]{{color-scheme:dark;{dark}}}\n\
         {RULES}{PAGE_RULES}"
    )
}

/// Zoom, values under the pointer, curves to hide, and downloads, for each `figure.plot` of a page
/// that holds a figure in [`Style::Page`].
///
/// It stands at the end of a page, leaves no name behind, and passes over what is missing.
/// The event `zoomed` on a figure holds the ends of the horizontal axis that are shown, or null for
/// all of it.
pub fn script() -> &'static str {
    concat!(
        "\"use strict\";\n{\nconst [RULES, MARKS] = [\"\", []];\n",
        include_str!("script/axis.js"),
        include_str!("script/panel.js"),
        include_str!("script/plot.js"),
        "}\n"
    )
}

/// The [`script`] as a file of its own, with the part `own` behind it, which draws figures or loads them
/// anew: `start` makes these live, `make`, `Axis` and `Panel` draw, and `MARKS` has the shapes of marks.
/// Pages that load it bring [`css`] in a file.
pub fn script_with(own: &str) -> String {
    let [rules, marks] =
        [RULES.into(), MARKS.to_vec().into()].map(|of: serde_json::Value| of.to_string());
    let names = format!("const [RULES, MARKS] = [{rules}, {marks}];");
    let whole = script().replacen("const [RULES, MARKS] = [\"\", []];", &names, 1);
    whole.strip_suffix("}\n").map_or_else(String::new, |script| format!("{script}{own}}}\n"))
}

pub(super) fn colour(number: usize) -> &'static str {
    VARIABLES[4 + number % N_COLOURS].1[0]
}

fn variables(ground: usize) -> String {
    VARIABLES.iter().map(|(name, values)| format!("{name}:{};", values[ground])).collect()
}

/// The rules with colours in place of variables, for programs that know no variables.
fn literal_rules(ground: usize) -> String {
    let replace = |rules: String, (name, values): &(&str, [&str; 2])| {
        rules.replace(&format!("var({name})"), values[ground])
    };
    VARIABLES.iter().fold(RULES.to_owned(), replace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_no_variables() {
        for style in [Style::Light, Style::Dark] {
            let element = style.element();
            assert!(element.contains("#") && !element.contains("var("), "{element}");
        }
        assert_ne!(Style::Light.element(), Style::Dark.element());
        assert_eq!([Style::Page, Style::Wide].map(Style::element), ["", ""]);
    }

    #[test]
    fn a_script_of_its_own_file_has_rules_and_marks_and_its_own_part() {
        let script = script_with("start();\n");
        assert!(script.starts_with("\"use strict\";\n{\nconst [RULES, MARKS] = [\"svg.comet"));
        assert!(script.contains(r#""circle r=\"3\"""#) && script.ends_with("start();\n}\n"));
    }

    #[test]
    fn every_variable_of_the_rules_has_a_value() {
        let names = RULES.split("var(").chain(PAGE_RULES.split("var(")).skip(1);
        for name in names.filter_map(|rest| rest.split_once(')')).map(|(name, _)| name) {
            assert!(!name.starts_with("--") || css().contains(&format!("{name}:")), "{name}");
        }
    }
}
