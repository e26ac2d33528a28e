//! Reads a user's own mesh and hop table, in place of the Gray mesh over a hypercube.
//!
//! ```json
//! {"mesh": [[0, 1], [3, 2]], "hops": [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]}
//! ```
//!
//! `mesh[i][j]` is the rank in row i and column j; `hops[a][b]`, which may be left out, is the
//! number of links between the ranks a and b (thesis section 3.4.1).

use std::io;
use std::path::{Path, PathBuf};

use comet_core::topology::{Mesh, Topology};
use serde::Deserialize;

/// A topology file that cannot be used; displays as one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyFileError {
    /// The system refused.
    #[error("cannot read the topology {} (does it exist, and may you read it?)", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The text does not describe a topology.
    #[error("{}{message}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The error, after a comma and the number of the line or after a colon.
        message: String,
    },
}

/// The text of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    mesh: Vec<Vec<usize>>,
    hops: Option<Vec<Vec<usize>>>,
}

/// Reads the topology in the file `path`.
///
/// # Errors
/// If the file cannot be read, or does not hold a mesh of all ranks and distances between them.
pub fn read_topology(path: &Path) -> Result<Topology, TopologyFileError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| TopologyFileError::Io { path: path.into(), source })?;
    let wrong = |message| TopologyFileError::Text { path: path.into(), message };
    let tables: Tables = serde_json::from_str(&text).map_err(|error| {
        let (line, message) = (error.line(), error.to_string());
        let message = message.split(" at line ").next().unwrap_or(&message);
        let example = "write {\"mesh\": [[0, 1], [3, 2]]}, with \"hops\" if you like";
        wrong(format!(", line {line}: {message} ({example})"))
    })?;
    Mesh::from_table(&tables.mesh)
        .and_then(|mesh| Topology::new(mesh, tables.hops))
        .map_err(|message| wrong(format!(": {message}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Folder;

    #[test]
    fn a_file_gives_mesh_and_hops() {
        let folder = Folder::new();
        let path = folder.write("a.json", r#"{"mesh": [[1, 0]], "hops": [[0, 3], [3, 0]]}"#);
        let topology = read_topology(&path).unwrap();
        assert_eq!((topology.mesh().ranks(), topology.hops(0, 1)), (&[1, 0][..], 3));
        let path = folder.write("b.json", r#"{"mesh": [[0, 1], [3, 2]]}"#);
        assert_eq!(read_topology(&path).unwrap().metric(), "hypercube");
    }

    #[test]
    fn what_is_wrong_is_one_sentence_with_file_and_line() {
        let folder = Folder::new();
        let check = |text: &str, expected: &str| {
            let path = folder.write("t.json", text);
            let error = read_topology(&path).unwrap_err().to_string();
            let name = path.display().to_string();
            assert!(error.starts_with(&format!("{name}{expected}")), "{error}");
        };
        check("{\n\"mesh\": [[0, -1]]}", ", line 2: invalid value: integer `-1`, expected usize (");
        check("{\n\n\"mash\": []}", ", line 3: unknown field `mash`, expected `mesh` or `hops` (");
        check("{\"mesh\": [[0], [0]]}", ": the mesh of 2 ranks names rank 0 2 times, not once");
        check("{\"mesh\": [[0, 1]], \"hops\": []}", ": the hop table has 0 rows, the mesh has 2");
    }
}
