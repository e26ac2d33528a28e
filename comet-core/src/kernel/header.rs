//! Header of a kernel's file: the comment at its head, read as sections.
//!
//! The documentation of the module and the page of `comet-run help` are this one text. A title stands
//! above the first heading. A heading is in bold face at the start of a line:
//!
//! ```text
//!   //! Echo: time of one message to another rank, half of a round trip.
//!   //!
//!   //! **Source**: thesis section 3.3.1, figure 3.2.
//! ```

use super::info::KernelInfo;

/// Headings of every header, in their order.
pub const HEADINGS: [&str; 8] =
    ["Source", "Pattern", "Timed", "Reports", "Rate", "Parameters", "Verified by", "Caution"];

/// One section of a header.
#[derive(Debug, PartialEq, Eq)]
pub struct Section {
    /// One of [`HEADINGS`].
    pub heading: &'static str,
    /// Markdown from behind the heading to the next one, with its colon or comma.
    pub text: String,
}

impl Section {
    /// The first sentence on one line, without its full stop.
    pub fn sentence(&self) -> String {
        let line =
            self.text.trim_start_matches(':').split_whitespace().collect::<Vec<_>>().join(" ");
        let first = line.split(". ").next().unwrap_or_default();
        first.trim_end_matches('.').to_owned()
    }
}

impl KernelInfo {
    /// Sections of the header of the kernel's file, in their order; none without a file.
    pub fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        for line in self.file.lines().map_while(|line| line.strip_prefix("//!")) {
            let line = line.strip_prefix(' ').unwrap_or(line);
            let title = line.strip_prefix("**").and_then(|line| line.split_once("**"));
            match (title, sections.last_mut()) {
                (Some((heading, text)), _) => {
                    sections.push(Section { heading, text: format!("{text}\n") });
                }
                (None, Some(section)) => section.text += &format!("{line}\n"),
                (None, None) => {}
            }
        }
        sections
    }

    /// First sentence below `heading` in the header of the kernel's file; empty without one.
    pub fn sentence(&self, heading: &str) -> String {
        let sections = self.sections();
        let found = sections.iter().find(|section| section.heading == heading);
        found.map(Section::sentence).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_sections_up_to_the_code() {
        let file = "//! A title.\n//!\n//! **Pattern**, as drawn\n//! ```text\n//!   0 --> 1\n//! ```\n\
                    //! **Rate**: `length_bytes` / time,\n//! one way. Not more.\n\nuse x; // **No**\n";
        const BLANK: KernelInfo = KernelInfo::pair("test");
        let info = KernelInfo { file, ..BLANK };
        let pattern = Section {
            heading: "Pattern",
            text: ", as drawn\n```text\n  0 --> 1\n```\n".to_owned(),
        };
        let sections = info.sections();
        assert_eq!((sections.len(), &sections[0]), (2, &pattern));
        assert_eq!(info.sentence("Rate"), "`length_bytes` / time, one way");
        assert_eq!(info.sentence("Caution"), "");
        assert!(BLANK.sections().is_empty());
    }
}
