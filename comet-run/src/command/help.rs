//! `help`: the pages of kernels. The help of a subcommand is that of its option `--help`.

use crate::catalogue;
use crate::cli::HelpArgs;
use crate::exit;
use crate::page;
use crate::selection;
use crate::terminal;

/// Prints the page of each kernel that the topics name.
pub(crate) fn help(args: &HelpArgs) -> anyhow::Result<u8> {
    let catalogue = catalogue::infos();
    let mut pages = Vec::new();
    for name in &args.topics {
        for info in selection::find(name, &catalogue)? {
            pages.push(page::plain(&page::markdown(info, &catalogue)));
        }
    }
    terminal::print(&pages.join("\n\n"))?;
    Ok(exit::OK)
}
