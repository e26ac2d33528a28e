//! `serve`: the pages of a database.

use super::db::{must_exist, refused};
use crate::cli::ServeArgs;
use crate::exit;
use crate::terminal;

/// Serves the database until a signal ends it.
pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<u8> {
    must_exist(&args.folder)?;
    let ready = |address: std::net::SocketAddr, problems: &[String]| {
        problems.iter().for_each(|problem| terminal::note(&format!("note: {problem}")));
        if !address.ip().is_loopback() {
            terminal::note(
                "note: other hosts can connect, without TLS (put a proxy with TLS in front)",
            );
        }
        // A pipe that nobody reads is no reason to stop.
        drop(terminal::print(&format!("serving http://{address}/\n")));
    };
    comet_db::web::serve(&args.folder, args.listen, ready).map_err(refused)?;
    Ok(exit::OK)
}
