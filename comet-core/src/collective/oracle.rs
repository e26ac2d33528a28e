//! Combined elements as they are to be, in other numbers than those of [`Reducer::combine`], which is
//! verified with them.
//!
//! Integers are combined in 128 bits and cut to their width. 8-bit sums may also stay at the least or the
//! greatest integer: Open MPI 4.1 holds those there that it sums in vector registers. Reals are combined in double precision:
//! rounded to single precision, that is the sum or product in single precision.

use super::reducer::{Element, Operator, Reducer};

/// Sums that do not fit into 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// They are cut to their width, like those of any other integers.
    Wraps,
    /// They stay at the least or the greatest integer.
    Stays,
}

/// Replaces each element of `into` by its combination with that of `other`.
pub fn combine_apart(by: Reducer, excess: Excess, into: &mut [u8], other: &[u8]) {
    let n_bytes = by.element().bytes();
    let stays = excess == Excess::Stays && n_bytes == 1 && by.operator() == Operator::Sum;
    for (into, other) in into.chunks_exact_mut(n_bytes).zip(other.chunks_exact(n_bytes)) {
        if matches!(by.element(), Element::F32 | Element::F64) {
            let [a, b] = [&*into, other].map(real);
            let result = match by.operator() {
                Operator::Sum => a + b,
                Operator::Product => a * b,
                Operator::Min => {
                    if b < a {
                        b
                    } else {
                        a
                    }
                }
                _ => {
                    if b > a {
                        b
                    } else {
                        a
                    }
                }
            };
            put_real(result, into);
        } else {
            let [a, b] = [&*into, other].map(|bytes| integer(bytes, by.element() != Element::U8));
            let result = match by.operator() {
                Operator::Sum => a + b,
                Operator::Product => a * b,
                Operator::Min => a.min(b),
                Operator::Max => a.max(b),
                Operator::And => a & b,
                Operator::Or => a | b,
                Operator::Xor => a ^ b,
            };
            put_integer(if stays { held(result, by.element()) } else { result }, into);
        }
    }
}

/// The 8-bit integer nearest to `value`.
fn held(value: i128, element: Element) -> i128 {
    match element {
        Element::U8 => value.clamp(0, u8::MAX.into()),
        _ => value.clamp(i8::MIN.into(), i8::MAX.into()),
    }
}

/// The integer of `bytes`.
fn integer(bytes: &[u8], has_sign: bool) -> i128 {
    let mut wide = [0; size_of::<i128>()];
    let (own, above) = wide.split_at_mut(bytes.len());
    own.copy_from_slice(bytes);
    turn(own);
    if has_sign && own.last().is_some_and(|byte| byte & 0x80 != 0) {
        above.fill(0xff);
    }
    i128::from_le_bytes(wide)
}

/// Writes `value` to `bytes`, without what does not fit into them.
fn put_integer(value: i128, bytes: &mut [u8]) {
    bytes.copy_from_slice(&value.to_le_bytes()[..bytes.len()]);
    turn(bytes);
}

/// Turns the bytes of an integer from the order of this machine into that with the least byte first, and back.
fn turn(bytes: &mut [u8]) {
    if cfg!(target_endian = "big") {
        bytes.reverse();
    }
}

/// The real number of 4 or 8 `bytes`.
fn real(bytes: &[u8]) -> f64 {
    match <[u8; 4]>::try_from(bytes) {
        Ok(single) => f32::from_ne_bytes(single).into(),
        Err(_) => f64::from_ne_bytes(bytes.try_into().expect("reals have 4 or 8 bytes")),
    }
}

/// Writes `value` to 4 or 8 `bytes`.
fn put_real(value: f64, bytes: &mut [u8]) {
    if bytes.len() == size_of::<f64>() {
        bytes.copy_from_slice(&value.to_ne_bytes());
        return;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the rounding is the result")]
    let single = value as f32;
    bytes.copy_from_slice(&single.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of elements: 0, 1, -1, the least and the greatest, and some others.
    fn elements(of: Element) -> Vec<u8> {
        let n_bytes = of.bytes();
        match of {
            Element::F32 => [0.0, 1.0, -1.5, 1e38, 1e-38, 16_777_217.0, 0.1]
                .into_iter()
                .flat_map(f32::to_ne_bytes)
                .collect(),
            Element::F64 => [0.0, 1.0, -1.5, 1e308, 1e-308, 9e15, 0.1]
                .into_iter()
                .flat_map(f64::to_ne_bytes)
                .collect(),
            _ => [
                0,
                1,
                -1,
                i64::MIN,
                i64::MAX,
                0x5a5a_5a5a_5a5a_5a5a,
                77,
                i64::MIN >> 32,
                0x80,
                0x7f,
            ]
            .into_iter()
            .flat_map(|value: i64| {
                let mut bytes = vec![0; n_bytes];
                put_integer(value.into(), &mut bytes);
                bytes
            })
            .collect(),
        }
    }

    #[test]
    fn transports_combine_every_pair_of_elements_as_wider_numbers_do() {
        for element in Element::ALL {
            let (all, n_bytes) = (elements(element), element.bytes());
            for by in Operator::ALL.into_iter().filter_map(|by| Reducer::new(element, by)) {
                for shift in 0..all.len() / n_bytes {
                    let mut other = all.clone();
                    other.rotate_left(shift * n_bytes);
                    let [mut found, mut expected] = [all.clone(), all.clone()];
                    by.combine(&mut found, &other);
                    combine_apart(by, Excess::Wraps, &mut expected, &other);
                    assert_eq!(found, expected, "{by:?} after {shift}");
                }
            }
        }
    }

    #[test]
    fn what_is_expected_wraps_rounds_and_keeps_signs() {
        let check = |element, operator, [a, b]: [&[u8]; 2], expected: &[u8]| {
            let mut into = a.to_vec();
            let by = Reducer::new(element, operator).unwrap();
            combine_apart(by, Excess::Wraps, &mut into, b);
            assert_eq!(into, expected, "{element:?} {operator:?}");
        };
        check(Element::U8, Operator::Sum, [&[200], &[100]], &[44]);
        for (element, a, held) in
            [(Element::U8, 200, 255), (Element::I8, 100, 127), (Element::I8, 0x9c, 0x80)]
        {
            let mut into = [a];
            combine_apart(
                Reducer::new(element, Operator::Sum).unwrap(),
                Excess::Stays,
                &mut into,
                &[a],
            );
            assert_eq!(into, [held], "{element:?}");
        }
        check(Element::U8, Operator::Max, [&[200], &[100]], &[200]);
        check(Element::I8, Operator::Max, [&[200], &[100]], &[100]);
        check(Element::I8, Operator::Product, [&[0xff], &[2]], &[0xfe]);
        let int = |value: i32| value.to_ne_bytes();
        check(Element::I32, Operator::Sum, [&int(i32::MAX), &int(1)], &int(i32::MIN));
        check(Element::I32, Operator::Xor, [&int(-1), &int(5)], &int(-6));
        let single = |value: f32| value.to_ne_bytes();
        check(
            Element::F32,
            Operator::Sum,
            [&single(16_777_216.0), &single(1.0)],
            &single(16_777_216.0),
        );
        check(Element::F32, Operator::Min, [&single(-2.0), &single(1.0)], &single(-2.0));
    }
}
