//! Tests of layouts by their words, and of what arrives in them.

use super::*;

fn layouts(text: &str) -> Arc<Layouts> {
    let mut list =
        Layouts::list(text, Layout::indx).unwrap_or_else(|error| panic!("{text}: {error}"));
    Arc::new(list.remove(0))
}

fn facts(text: &str, length_bytes: usize, element: Element) -> (usize, usize, usize) {
    let blocks = layouts(text).of(length_bytes, element);
    (blocks.n_pieces(), blocks.extent_bytes(), blocks.data_bytes())
}

#[test]
fn extents_end_with_the_last_block() {
    // As MPI_Type_vector has them: no gap behind the last block; OSU has no block in less than a stride.
    for (length, expected) in [(4, (0, 0, 0)), (8, (1, 4, 4)), (16, (2, 12, 8)), (31, (3, 20, 12))]
    {
        assert_eq!(facts("vect:8:4", length, Element::U8), expected, "{length}");
    }
    assert_eq!(facts("vect:8:4", 64, Element::I32), (2, 48, 32));
    assert_eq!(facts("vector:4:8", 64, Element::I32), (4, 112, 64));
    assert_eq!(facts("contiguous", 12, Element::I32), (1, 12, 12));
    let indx = Layout::indx("# two blocks\n1,2\n\n 5 , 1\n").unwrap();
    assert_eq!(indx.to_string(), "indx:1,2:5,1");
    let blocks = Arc::new(Layouts::both(indx)).of(1024, Element::I32);
    assert_eq!((blocks.n_pieces(), blocks.extent_bytes(), blocks.data_bytes()), (2, 24, 12));
}

#[test]
fn sides_of_one_form_are_one_layout_whatever_their_names() {
    let mut half: Layout = "vector:1:2".parse().unwrap();
    (half.word, half.definition) = ("half".into(), Some("vector:1:2".into()));
    let received = "vector:1:2".parse().unwrap();
    let both = Layouts { received, sent: half, way: Way::Datatype };
    assert!(!both.differ());
    assert_eq!(both.to_string(), "half");
    assert!(layouts("vector:1:2:to:vector:1:3").differ());
}

#[test]
fn size_and_extent_are_found_by_the_pieces() {
    crate::local::run_alone(|t| {
        for word in WORDS {
            let of = layouts(word).of(192, Element::I32);
            let mut search =
                <PieceSearch as Construction<crate::local::Local>>::of(t, of.sent()).unwrap();
            let expected = [of.sent().size_bytes(), of.sent().extent_bytes()];
            let found = Construction::found(&mut search, t).unwrap();
            assert_eq!(found, expected, "{word}");
        }
    });
}

/// The words of all layouts, of which any two may be a pair.
const WORDS: [&str; 12] = [
    "contiguous",
    "vector:2:4",
    "hvector:2:40",
    "indexed",
    "hindexed",
    "indexed_block:2",
    "struct",
    "subarray",
    "resized:2:3",
    "nested:2:3",
    "mixed",
    "column=vector(4,1,4,double)",
];

/// SK-30 to SK-32: the layouts of both sides are chosen alone, and have the same data.
#[test]
fn any_two_layouts_carry_the_same_data() {
    for sent in WORDS {
        for received in WORDS {
            let blocks = layouts(&format!("{sent}:to:{received}")).of(96 * 8, Element::F64);
            assert_eq!(blocks.admit(), Ok(()), "{sent} to {received}");
            assert_eq!(blocks.data_bytes(), 768, "{sent} to {received}");
            let arrived = blocks.arrived(7);
            let [mut place, mut message] = [blocks.extent_bytes(); 2].map(|n| vec![0; n]);
            pattern::spoil(&mut place, 7);
            pattern::fill(&mut message, 7);
            let [mut out, mut back] = [768; 2].map(|n| vec![0; n]);
            blocks.sent().runs().pack(&message, &mut out);
            blocks.received().runs().pack(&arrived, &mut back);
            assert_eq!(out, back, "{sent} to {received}");
            // Nothing but the pieces has changed.
            let n_same = arrived.iter().zip(&place).filter(|(a, b)| a == b).count();
            assert!(n_same >= blocks.extent_bytes() - 768, "{sent} to {received}");
        }
    }
}

#[test]
fn the_last_line_of_a_triangle_is_cut_off() {
    assert_eq!(triangle(0, 1), []);
    assert_eq!(triangle(1, 1), [(0, 1)]);
    assert_eq!(triangle(6, 1), [(0, 1), (3, 2), (6, 3)]);
    assert_eq!(triangle(8, 4), [(0, 1), (16, 2), (32, 3), (48, 2)]);
}

#[test]
fn messages_without_an_equal_are_refused() {
    let refusal = |text: &str, length| layouts(text).of(length, Element::U8).admit().unwrap_err();
    assert_eq!(
        refusal("vector:8:16:to:contiguous", 12),
        "vector:8:16 sends 8 bytes of 12, and contiguous receives 12 (use a length of whole blocks of both)"
    );
    assert_eq!(
        refusal("packed:vector:8:16", 4),
        "4 bytes are no block of packed:vector:8:16 (use longer messages)"
    );
    let wide = layouts("hvector:2:8").of(64, Element::F64).admit().unwrap_err();
    assert_eq!(
        wide,
        "the blocks of hvector:2:8 overlap in 64 bytes of elements of 8 (take a longer stride or extent)"
    );
    let near = refusal("near=resized(8,vector(4,1,4,double))", 5 * 32);
    assert!(near.starts_with("the blocks of near overlap in 160 bytes"), "{near}");
    assert_eq!(
        layouts("near=resized(8,vector(4,1,4,double))").of(4 * 32, Element::U8).admit(),
        Ok(())
    );
    assert!(refusal("contiguous", 1 << 31).starts_with("a layout has at most 2147483647 elements"));
    assert_eq!(layouts("vector:8:16").of(0, Element::U8).admit(), Ok(()));
}

#[test]
fn names_stand_for_datatypes_and_for_other_layouts() {
    let text =
        "half=vector:1:2:to:columns=resized(128, vector(4,1,4,double)),vector(2,1,2,int),struct";
    let list = Layouts::list(text, Layout::indx).unwrap();
    let names: Vec<String> = list.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["half:to:columns", "vector(2,1,2,int)", "struct"]);
    let definitions: Vec<_> = list.iter().flat_map(Layouts::definitions).collect();
    assert_eq!(
        definitions,
        [("half", "vector:1:2"), ("columns", "resized(128, vector(4,1,4,double))")]
    );
    let of = |text| layouts(text).of(64, Element::F64);
    assert_eq!(of("half=vector:1:2").sent(), of("vector:1:2").sent());
    for (text, expected) in [
        ("half=vector:2:1", "layouts are contiguous, vector:BLOCK:STRIDE"),
        ("struct=vector:1:2", "struct is a layout already"),
        ("half=word", "'word' is no datatype"),
    ] {
        let error = text.parse::<Layout>().unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn layouts_that_are_none_are_refused() {
    for text in [
        "vector",
        "vector:4",
        "vector:5:4",
        "vector:0:4",
        "vector:0:0",
        "vector:1:2:3",
        "vect:4:8",
        "vector:-1:4",
        "indexed:FILE",
        "struct:1",
        "",
        "packed:",
        "vector:4:8:to:",
        "indexed_block:0",
    ] {
        assert!(Layouts::list(text, Layout::indx).is_err(), "{text}");
    }
    for (text, expected) in [
        ("", "it has fewer than 2 elements (write lines START,LENGTH)"),
        ("0,1\n3", "line 2: '3' is no block (write START,LENGTH)"),
        ("0,4\n3,1", "line 2: '3,1' begins before the end of the block before (sort the lines)"),
    ] {
        assert_eq!(Layout::indx(text), Err(expected.to_owned()));
    }
    let error = "row=vector(0,1,2,int)".parse::<Layout>().unwrap_err();
    assert_eq!(error, "row has no element (give it a block)");
}

#[test]
fn a_list_names_its_layouts() {
    let text =
        "contiguous, packed:vector:1:2:to:contiguous,row=vector(4,1,2,int),mpi_packed:struct";
    let names: Vec<String> =
        Layouts::list(text, Layout::indx).unwrap().iter().map(Layouts::to_string).collect();
    assert_eq!(
        names,
        ["contiguous", "packed:vector:1:2:to:contiguous", "row", "mpi_packed:struct"]
    );
}

#[test]
fn what_arrived_has_gaps_of_what_was_there() {
    let arrived = layouts("vector:2:4").of(8, Element::U8).arrived(7);
    let [mut data, mut gaps] = [[0; 14]; 2];
    pattern::fill(&mut data, 7);
    pattern::spoil(&mut gaps, 7);
    for (index, byte) in arrived.iter().enumerate() {
        let expected = if index % 4 < 2 { data[index] } else { gaps[index] };
        assert_eq!(*byte, expected, "{index}");
    }
}
