//! `report`: result files become pages that need nothing else.

use crate::support::Folder;

#[test]
fn runs_become_a_page() {
    let folder = Folder::new();
    folder.run("echo -t sim -n 2..4*2 --profile quick --out run.jsonl --quiet").success();
    folder.run("report run.jsonl --title Title").success().prints("report: report.html (");
    let page = folder.read("report.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("<h1>Title</h1>"), "{page}");
    let n_figures = page.matches("<figure class=\"plot\"").count();
    assert!(n_figures > 0, "the page has no figure");
    folder.run("report run.jsonl run.jsonl -o two.html").success().prints("4 runs)");
    folder.run("report run.jsonl --title Title -o equal.html").success();
    assert_eq!(folder.read("equal.html"), page);
}

#[test]
fn what_cannot_become_a_page_is_refused_in_a_sentence() {
    let folder = Folder::new();
    folder.write("empty.jsonl", "");
    folder.write("text.jsonl", "text\n");
    folder.run("barrier -t sim -n 2 --out run.jsonl --quiet").success();
    let missing = "cannot read nowhere.jsonl (does it exist, and may you read it?)";
    let empty = "there is no run in empty.jsonl (name a file that comet-run wrote)";
    folder.refuses(&[
        ("report nowhere.jsonl", missing),
        ("report empty.jsonl", empty),
        ("report text.jsonl", "text.jsonl, line 1: expected"),
        ("report run.jsonl -o run.jsonl", "run.jsonl is one of the result files"),
    ]);
    folder.run("report run.jsonl -o -").success().prints("<!doctype html>");
    assert!(!folder.names().contains(&"-".to_owned()));
    folder.run("report run.jsonl -o no/page.html").code(1).notes("cannot write no/page.html (");
}
