//! Layouts of the user's: the table `[layout]` of a suite file, and their names in the key `layout`.

use std::collections::BTreeMap;

use comet_core::layout::{Layout, parts};

use super::table::{Item, TO, Table};

/// The key of entries and defaults, an axis of every kernel.
pub(super) const KEY: &str = "layout";
/// Words before the name of a layout.
const WAYS: [&str; 2] = ["packed:", "mpi_packed:"];

/// Datatypes by their names.
pub(super) type Datatypes = BTreeMap<String, String>;

/// The datatypes of the table `own`, and those of the file that includes it, which win.
pub(super) fn read(own: Table, above: &Datatypes) -> anyhow::Result<Datatypes> {
    let mut datatypes = Datatypes::new();
    for (name, item) in own {
        let text = item.word();
        let parsed: Result<Layout, String> = format!("{name}={text}").parse();
        parsed.map_err(|reason| item.place.refuse(format_args!("{name}: {reason}")))?;
        datatypes.insert(name, text);
    }
    datatypes.extend(above.clone());
    Ok(datatypes)
}

/// Puts the datatypes that the layouts of `table` name behind their names, as the command line has them.
pub(super) fn resolve(table: &mut Table, datatypes: &Datatypes) {
    let Some(Item { values, .. }) = table.get_mut(KEY) else { return };
    let of_name = |name: &str| match datatypes.get(name) {
        Some(datatype) => format!("{name}={datatype}"),
        None => name.to_owned(),
    };
    let of_side = |text: &str| {
        let way = WAYS.into_iter().find(|way| text.starts_with(way)).unwrap_or_default();
        way.to_owned() + &of_name(&text[way.len()..])
    };
    let of_pair = |text: &str| text.split(TO).map(of_side).collect::<Vec<_>>().join(TO);
    *values = values.iter().flat_map(|value| parts(value)).map(of_pair).collect();
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn names_stand_for_datatypes_on_both_sides() {
        let text = "[layout]\ncolumn = 'vector(64,1,64,double)'\nhalf = 'vector:1:2'\n[[measure]]\nlayout = \
                    ['contiguous', ['packed:column', 'packed:struct'], 'mpi_packed:column', ['half', \
                    'vector(4,1,2,int)'], 'row=contiguous(8,int)']\n";
        let mut tables = table::read("a.toml", text).unwrap();
        let datatypes = read(tables.layout, &Datatypes::new()).unwrap();
        let entry = &mut tables.measure[0].1;
        resolve(entry, &datatypes);
        let expected = "contiguous,packed:column=vector(64,1,64,double):to:packed:struct,\
                        mpi_packed:column=vector(64,1,64,double),half=vector:1:2:to:vector(4,1,2,int),\
                        row=contiguous(8,int)";
        assert_eq!(entry["layout"].word(), expected);
        // In turn they are whole words, whatever commas they have.
        let item = &tables.measure[0].1[KEY];
        assert_eq!((item.is_several(KEY), item.first(KEY).word()), (true, "contiguous".into()));
        let wrong = table::read("a.toml", "[layout]\n\nrow = 'vector(4)'\n").unwrap();
        let error = read(wrong.layout, &Datatypes::new()).unwrap_err().to_string();
        assert!(error.starts_with("a.toml:3: row: 'vector(4)' is no datatype"), "{error}");
    }
}
