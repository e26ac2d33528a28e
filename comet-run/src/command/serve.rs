//! `serve`: the pages of a database; `db publish`: the same as files.

use comet_core::kernel::KernelInfo;
use comet_db::web::kernels::{Kernel, Suite};
use comet_db::web::publish::publish as publish_to;

use super::db::{must_exist, refused};
use crate::catalogue;
use crate::cli::{PublishArgs, ServeArgs};
use crate::exit;
use crate::page;
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
    let proxies = args.proxy.clone();
    comet_db::web::serve(&args.folder, args.listen, proxies, kernels(), ready).map_err(refused)?;
    Ok(exit::OK)
}

/// Writes the published runs of a database as a site.
pub(super) fn publish(args: &PublishArgs) -> anyhow::Result<u8> {
    must_exist(&args.folder)?;
    let done = publish_to(&args.folder, &args.to, kernels(), args.size).map_err(refused)?;
    let [n_results, n_all] = done.n_results;
    let (to, of) = (terminal::one_line(args.to.display()), done.n_runs);
    terminal::print(&format!(
        "{to}: {of} runs, {} files, {:.1} MB\n",
        done.n_files,
        done.n_bytes as f64 / 1e6
    ))?;
    if done.n_reports < of || n_results < n_all {
        terminal::note(&format!(
            "note: {} of {of} reports and {n_results} of {n_all} result files are in it, the latest first \
             (--size admits more)",
            done.n_reports
        ));
    }
    Ok(exit::OK)
}

/// The suites of all kernels, with their pages.
fn kernels() -> Vec<Suite> {
    let catalogue = catalogue::infos();
    let kernel = |info: &&'static KernelInfo| Kernel {
        name: info.name.to_owned(),
        summary: info.summary.to_owned(),
        page: page::markdown(info, &catalogue),
    };
    let suite = |name: &str| Suite {
        name: name.to_owned(),
        about: catalogue::about(name).to_owned(),
        kernels: catalogue.iter().filter(|info| info.suite == name).map(kernel).collect(),
    };
    catalogue::suites(&catalogue).into_iter().map(suite).collect()
}
