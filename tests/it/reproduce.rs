//! `comet-run reproduce`: the thesis's results come out of the simulated machine, to the last digit
//! at each run, and a machine on which they do not is told.

use std::fs;
use std::path::Path;

use crate::support::Folder;

/// The machine file of the thesis's fit.
fn ipsc860() -> String {
    let path = "../comet-sim/machines/ipsc860-fit.toml";
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("it is there")
}

/// The whole output, with `COMET_BLESS=1` written to the golden file first.
#[test]
fn the_thesis_is_regenerated_as_it_was() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/reproduce-thesis.txt");
    let folder = Folder::new();
    let text = folder.run("reproduce thesis --csv curves").success().stdout;
    if std::env::var_os("COMET_BLESS").is_some() {
        fs::write(&path, &text).expect("the golden file can be written");
    }
    let golden = fs::read_to_string(&path).expect("there is a golden file");
    assert_eq!(golden, text, "the output differs: look, then COMET_BLESS=1 cargo test");
    for figure in 1..=16 {
        let curves = folder.read(&format!("curves/figure-5.{figure}.csv"));
        assert!(curves.lines().count() > 3, "figure 5.{figure}: {curves}");
    }
}

#[test]
fn a_machine_with_another_startup_time_is_off() {
    let folder = Folder::new();
    let slower = ipsc860().replace("t0 = { value = \"79 us\"", "t0 = { value = \"89 us\"");
    folder.write("slower.toml", &slower);
    let text = folder.run("reproduce thesis --machine ./slower.toml").code(10).stdout;
    let line = text.lines().find(|line| line.contains("startup time up to 100 B"));
    let line = line.expect("the line is there whether it holds or not");
    assert!(line.contains("79 us") && line.contains("89.00 us") && line.ends_with("OFF"), "{line}");
    assert!(text.contains("startup time above 100 B") && text.contains("marked OFF"), "{text}");
}

#[test]
fn a_machine_that_the_thesis_could_not_be_on_is_refused() {
    Folder::new().refuses(&[
        (
            "reproduce thesis --machine cm5",
            "error: the figures of the thesis need a hypercube of 16 ranks without noise",
        ),
        ("reproduce thesis --machine cray", "error: there is no machine \"cray\""),
    ]);
}
