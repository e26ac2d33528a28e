//! Numbers for people: with their unit, with as many digits as they are worth, and a dash where
//! there is none.

pub(super) const NONE: &str = "—";

pub(super) fn or_none(text: Option<String>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or_else(|| NONE.into())
}

/// `count` and the noun that goes with it.
pub(super) fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// The least and the largest of `values` (`3 to 20`), or one if they are equal.
pub(super) fn range<T: Ord + ToString>(values: impl IntoIterator<Item = T>) -> Option<String> {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort();
    let (least, largest) = (values.first()?, values.last()?);
    let (from, to) = (least.to_string(), largest.to_string());
    Some(if from == to { from } else { format!("{from} to {to}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_equal_values_are_one_value() {
        assert_eq!(range([3, 10, 20]).as_deref(), Some("3 to 20"));
        assert_eq!(range([3, 3]).as_deref(), Some("3"));
        assert_eq!(range::<u32>([]), None);
        assert_eq!(
            (counted(1, "run", "runs"), counted(0, "run", "runs")),
            ("1 run".into(), "0 runs".into())
        );
    }
}
