//! Words of figures, pages and tables: names of parameters with their values, counts and lists.

use comet_core::kernel::AxisKind;
pub(crate) use comet_core::words::count;

use crate::record::{KernelFacts, Param, RANKS};
use crate::units::{bytes, significant};

/// The parameter `name` of the kernel `facts` with its value, as the name of a curve.
pub(crate) fn parameter(facts: &KernelFacts, name: &str, value: &Param) -> String {
    let Param::Number(number) = value else { return value.to_string() };
    let plain = || format!("{} {number}", name.replace('_', " "));
    let Some(axis) = facts.axis(name) else {
        return if name == RANKS { format!("P = {number}") } else { plain() };
    };
    match axis.kind {
        AxisKind::Distance => count(*number, "hop"),
        AxisKind::Pairs => count(*number, "pair"),
        AxisKind::Side => format!("block of {number}"),
        AxisKind::Size if axis.unit == "B" => bytes(*number),
        AxisKind::Size => count(*number, axis.unit.trim_end_matches('s')),
        _ => plain(),
    }
}

/// A time in words: `2.4 s`, `12 min`.
pub(crate) fn period(time_s: f64) -> String {
    let (value, unit) = if time_s < 600.0 { (time_s, "s") } else { (time_s / 60.0, "min") };
    format!("{} {unit}", significant(value, 2))
}

/// The parameter `name` of a model as formulas write it: `r∞`, `n½`, `t₀`.
pub(crate) fn symbol(name: &str) -> String {
    match name {
        "t0" => "t₀".into(),
        "pi0" => "π₀".into(),
        "r_inf" => "r∞".into(),
        "n_half" => "n½".into(),
        "f_half" => "f½".into(),
        "four_f_half" => "4 f½".into(),
        "r_hat" => "r̂".into(),
        _ => name.replace('_', " "),
    }
}

/// The formula `text` with the symbols of its parameters.
pub(crate) fn formula(text: &str) -> String {
    let names = ["t0", "pi0", "r_inf", "n_half", "f_half", "r_hat"];
    names.iter().fold(text.to_owned(), |text, name| text.replace(name, &symbol(name)))
}

/// Common name of a kernel and one of its series: `comet/echo`, `matrix/shift column`.
pub(crate) fn kernel(suite: &str, kernel: &str, variant: Option<&str>) -> String {
    match variant.filter(|variant| *variant != kernel) {
        Some(variant) => format!("{suite}/{kernel} {variant}"),
        None => format!("{suite}/{kernel}"),
    }
}

/// The cells of `row`, each as wide as the widest of its column in `rows`, on the right where the
/// column `is_number`.
pub(crate) fn aligned(
    row: &[String],
    rows: &[Vec<String>],
    is_number: impl Fn(usize) -> bool,
) -> String {
    let n_letters = |cell: &String| cell.chars().count();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(n_letters).max();
    let cell = |(column, cell): (usize, &String)| {
        let width = width(column).unwrap_or(0);
        if is_number(column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
    };
    row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ")
}

/// `text` with a capital letter in front.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Words with commas between them, and `and` before the last.
pub(crate) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::older::described;
    use crate::points::PointMaker;
    use crate::record::{Params, Point};

    #[test]
    fn formulas_have_the_symbols_of_pages() {
        assert_eq!(formula("t = t0 + n / r_inf"), "t = t₀ + n / r∞");
        assert_eq!([symbol("n_half"), symbol("per_hop")], ["n½", "per hop"]);
    }

    #[test]
    fn parameters_are_written_by_the_kinds_of_their_axes() {
        for (name, number, expected) in [
            ("hops", 1, "1 hop"),
            ("hops", 0, "0 hops"),
            ("pairs", 2, "2 pairs"),
            ("procs", 16, "P = 16"),
            ("length_bytes", 2048, "2 KiB"),
            ("vector_length", 1, "1 double"),
            ("local_n", 8, "block of 8"),
            ("load_bytes", 3, "load bytes 3"),
        ] {
            let mut points =
                PointMaker::new("id", &fixture::topology()).measured(&fixture::echo(8));
            let params = Params(vec![(name.to_owned(), Param::Number(number))]);
            let Point { facts, .. } = described(Point { params, ..points.remove(0) });
            assert_eq!(parameter(&facts, name, &Param::Number(number)), expected);
            assert_eq!(parameter(&facts, "direction", &Param::Label("north".into())), "north");
        }
    }
}
