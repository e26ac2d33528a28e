//! Command lines of IMB-P2P.

use super::*;

#[test]
fn command_lines_become_ours_or_are_refused() {
    check_rows(include_str!("p2p.txt"));
    let all = translated("IMB-P2P").unwrap();
    assert_eq!(all.words.iter().filter(|word| word.starts_with("IMB-P2P:")).count(), 8);
    assert_eq!(all.notes, [""; 0]);
    let again = translated("IMB-P2P PingPong,Corandom pingpong").unwrap();
    assert_eq!(again.words.iter().filter(|word| word.starts_with("IMB-P2P:")).count(), 2);
    assert_eq!(
        again.notes,
        ["PingPong is measured once, where IMB prints a table for each mention"]
    );
}

#[test]
fn lengths_of_a_file_have_units() {
    let path = std::env::temp_dir().join(format!("comet-p2p-{}", std::process::id()));
    std::fs::write(&path, "# bytes\n0\n3\n2k\n").unwrap();
    let line = format!("IMB-P2P Birandom -msgsz 9 -msglen {} -pause 0", path.display());
    let sizes = "--buffers touched:lines --sizes 0,3,2048";
    check(&line, &format!("run IMB-P2P:Birandom --rules imb-p2p --format imb {sizes}"));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn it_lists_its_benchmarks() {
    for line in ["IMB-P2P -list", "IMB-P2P PingPong -l"] {
        let Err(Stop::Help(listed)) = translated(line) else { panic!("{line} measures") };
        assert!(listed.starts_with("# List of Benchmarks to run:\n#\n# PingPong\n"), "{listed}");
        assert!(listed.ends_with("# Stencil3D\n# SendRecv_Replace\n#\n"), "{listed}");
    }
}
