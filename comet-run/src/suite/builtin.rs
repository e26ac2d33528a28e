//! Suite files that are part of the program.

use crate::exit;
use crate::selection;

/// The files, each under its name.
const FILES: [(&str, &str); 13] = [
    ("thesis", include_str!("builtin/thesis.toml")),
    ("parkbench", include_str!("builtin/parkbench.toml")),
    ("skampi-1998", include_str!("builtin/skampi-1998.toml")),
    ("skampi-5", include_str!("builtin/skampi-5.toml")),
    ("imb-mpi1", include_str!("builtin/imb-mpi1.toml")),
    ("imb-nbc", include_str!("builtin/imb-nbc.toml")),
    ("imb-p2p", include_str!("builtin/imb-p2p.toml")),
    ("imb-ext", include_str!("builtin/imb-ext.toml")),
    ("imb-rma", include_str!("builtin/imb-rma.toml")),
    ("imb-io", include_str!("builtin/imb-io.toml")),
    ("osu-pt2pt", include_str!("builtin/osu-pt2pt.toml")),
    ("osu-collective", include_str!("builtin/osu-collective.toml")),
    ("osu-one-sided", include_str!("builtin/osu-one-sided.toml")),
];

/// Names of the files, in reading order.
pub(crate) fn names() -> impl Iterator<Item = &'static str> + Clone {
    FILES.iter().map(|(name, _)| *name)
}

/// The text of the file `name`.
///
/// # Errors
/// If there is none: one sentence with those that there are.
pub(crate) fn text(name: &str) -> anyhow::Result<&'static str> {
    let found = FILES.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text).ok_or_else(|| {
        let guess = selection::guess(name, names());
        let known = Vec::from_iter(names()).join(", ");
        exit::usage(format!("'{name}' is no built-in suite file{guess} (they are {known})"))
    })
}
