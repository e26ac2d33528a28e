//! Published results of the thesis beside those of its kernels on the simulated machine.
//!
//! ```text
//!   point_to_point   collectives   overlap   matrix    a group of figures each
//!                    │ cases          ▲ times
//!                    ▼                │ fitted as the thesis did
//!                  bench: kernels and driver on the ranks of a machine file
//! ```
//!
//! Nothing is computed from the machine file: all of it goes through kernels, driver and fits.

mod bench;
mod claim;
mod collectives;
mod matrix;
mod overlap;
mod point_to_point;

use comet_core::topology::Topology;
use comet_core::transport::Rank;
use comet_sim::machine::{self, MachineFile};

use bench::Bench;
use claim::Claim;
pub use claim::Curves;
use point_to_point::{Echo, Law};

const FIT: &str = "ipsc860-fit";
const MARKS: &str = "ipsc860-marks";

const NOTES: &str = "\
5.1: the jumps at 2048 and 4096 B, for which the thesis gives no values, are not modelled.
5.5: the loads are those of the thesis; times vary by a tenth, or echo and load fall into step.
";

#[derive(Default)]
struct Findings {
    claims: Vec<Claim>,
    curves: Vec<Curves>,
}

impl Findings {
    fn extend(&mut self, more: Self) {
        self.claims.extend(more.claims);
        self.curves.extend(more.curves);
    }
}

/// The regenerated figures of the thesis.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// A table of published and regenerated values, with notes and a verdict.
    pub text: String,
    /// Number of values beyond their tolerance.
    pub n_off: usize,
    /// The curves of each figure.
    pub curves: Vec<Curves>,
}

/// Regenerates the figures of the thesis on `machine`; on the iPSC/860 with the fitted times by
/// default, and figures 5.1 and 5.2 also on that with the marks.
///
/// # Errors
/// [`crate::Refusal`] if a figure cannot be measured on `machine`, or if a simulation fails.
pub fn reproduce(machine: Option<&MachineFile>) -> anyhow::Result<Reproduction> {
    let file = machine.map_or_else(|| machine::find(FIT), |file| Ok(file.clone()))?;
    let bench = Bench::new(&file)?;
    let echo = Echo::measure(&bench)?;
    let Findings { mut claims, curves } = all_figures(&bench, &echo)?;
    let mut text = section(&file, &claims) + NOTES + "\n";
    if machine.is_none() {
        let (more, of_marks) = by_the_marks(&echo)?;
        claims.extend(of_marks);
        text += &more;
    }
    let n_off = claims.iter().filter(|claim| !claim.holds).count();
    text += &verdict(n_off, claims.len());
    Ok(Reproduction { text, n_off, curves })
}

/// Figures 4.1 and 5.1 to 5.16, in their order.
fn all_figures(bench: &Bench, echo: &Echo) -> anyhow::Result<Findings> {
    let mut findings = Findings { claims: vec![mesh()], curves: echo.curves() };
    findings.claims.extend(echo.claims(Law::Fit));
    findings.extend(point_to_point::exchange(bench, echo)?);
    findings.extend(collectives::findings(bench)?);
    findings.extend(point_to_point::contention(bench)?);
    findings.extend(overlap::findings(bench)?);
    findings.extend(matrix::findings(bench)?);
    findings.claims.sort_by_key(|claim| number(claim.figure));
    Ok(findings)
}

/// Figure 4.1: the mesh on which all neighbours are one hop apart.
fn mesh() -> Claim {
    let cubes = || (1..).map(|dims| 1 << dims).take_while(|n_ranks| *n_ranks <= 1024);
    let farthest = cubes().map(|n_ranks| farthest(&Topology::hypercube(n_ranks))).max();
    let found = farthest.unwrap_or(0);
    Claim::statement(
        "4.1",
        "hops to the neighbours on the mesh, P = 2 to 1024",
        "1",
        found.to_string(),
        ("exact", found == 1),
    )
}

/// The most hops between neighbours; a rank may be its own.
fn farthest(topology: &Topology) -> usize {
    let hops = |rank: Rank| {
        let near = topology.mesh().neighbours(rank);
        [near.top, near.bottom, near.pred, near.succ].map(|other| topology.hops(rank, other))
    };
    (0..topology.n_ranks()).flat_map(hops).max().unwrap_or(0)
}

/// Figures 5.1 and 5.2 on the machine with the marks of the thesis, and how the two machines
/// contradict each other, given the echo by the fit.
fn by_the_marks(by_fit: &Echo) -> anyhow::Result<(String, Vec<Claim>)> {
    let file = machine::find(MARKS)?;
    let echo = Echo::measure(&Bench::new(&file)?)?;
    let claims = echo.claims(Law::Marks);
    let text = section(&file, &claims) + &point_to_point::contradiction(by_fit, &echo) + "\n";
    Ok((text, claims))
}

fn number(figure: &str) -> (u32, u32) {
    let (chapter, number) = figure.split_once('.').unwrap_or((figure, "0"));
    (chapter.parse().unwrap_or(0), number.parse().unwrap_or(0))
}

/// The name of a machine, and a line for each claim.
fn section(file: &MachineFile, claims: &[Claim]) -> String {
    let head = ["figure", "quantity", "thesis", "regenerated", "tolerance", ""].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(claims.iter().cloned().map(cells)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let line = |row: &[String; 6]| {
        let padded = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}  "));
        padded.collect::<String>().trim_end().to_owned() + "\n"
    };
    let lines: String = rows.iter().map(line).collect();
    format!("{}: {}\n\n{lines}\n", file.name, file.summary)
}

fn cells(claim: Claim) -> [String; 6] {
    let verdict = if claim.holds { "ok" } else { "OFF" };
    let Claim { figure, quantity, published, regenerated, tolerance, .. } = claim;
    [figure.into(), quantity, published, regenerated, tolerance, verdict.into()]
}

fn verdict(n_off: usize, n_claims: usize) -> String {
    match n_off {
        0 => format!("All {n_claims} values are within their tolerance.\n"),
        _ => format!("Beyond their tolerance: {n_off} of {n_claims} values, marked OFF.\n"),
    }
}
