//! Elements of reductions, and operators on them.

/// Type of the elements of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// 8 bits without a sign (`MPI_UINT8_T`, `MPI_BYTE`).
    U8,
    /// 8 bits with a sign (`MPI_INT8_T`, `MPI_SIGNED_CHAR`).
    I8,
    /// 32 bits with a sign (`MPI_INT`).
    I32,
    /// 64 bits with a sign (`MPI_LONG`).
    I64,
    /// Single precision (`MPI_FLOAT`).
    F32,
    /// Double precision (`MPI_DOUBLE`).
    F64,
}

named!(Element: U8 "byte", I8 "char", I32 "int", I64 "long", F32 "float", F64 "double");

impl Element {
    /// Length in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }
}

/// Operator of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Sum; integers wrap.
    Sum,
    /// Product; integers wrap.
    Product,
    /// Least value.
    Min,
    /// Greatest value.
    Max,
    /// Bits that are set in all, of integers.
    And,
    /// Bits that are set in any, of integers.
    Or,
    /// Bits that are set in an odd number, of integers.
    Xor,
}

named! {
    Operator: Sum "sum", Product "product", Min "min", Max "max", And "and", Or "or", Xor "xor"
}

/// An element type and an operator that fits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reducer {
    element: Element,
    operator: Operator,
}

/// Combines `into` with `other`, element by element.
macro_rules! combined {
    ($type:ty, $into:expr, $other:expr, $combine:expr) => {{
        let combine: fn($type, $type) -> $type = $combine;
        let others = $other.as_chunks::<{ size_of::<$type>() }>().0;
        let elements = $into.as_chunks_mut::<{ size_of::<$type>() }>().0;
        for (element, other) in elements.iter_mut().zip(others) {
            let (a, b) = (<$type>::from_ne_bytes(*element), <$type>::from_ne_bytes(*other));
            *element = combine(a, b).to_ne_bytes();
        }
    }};
}

macro_rules! combined_integers {
    ($type:ty, $operator:expr, $into:expr, $other:expr) => {
        match $operator {
            Operator::Sum => combined!($type, $into, $other, |a, b| a.wrapping_add(b)),
            Operator::Product => combined!($type, $into, $other, |a, b| a.wrapping_mul(b)),
            Operator::Min => combined!($type, $into, $other, |a, b| a.min(b)),
            Operator::Max => combined!($type, $into, $other, |a, b| a.max(b)),
            Operator::And => combined!($type, $into, $other, |a, b| a & b),
            Operator::Or => combined!($type, $into, $other, |a, b| a | b),
            Operator::Xor => combined!($type, $into, $other, |a, b| a ^ b),
        }
    };
}

macro_rules! combined_reals {
    ($type:ty, $operator:expr, $into:expr, $other:expr) => {
        match $operator {
            Operator::Sum => combined!($type, $into, $other, |a, b| a + b),
            Operator::Product => combined!($type, $into, $other, |a, b| a * b),
            Operator::Min => combined!($type, $into, $other, |a, b| a.min(b)),
            Operator::Max => combined!($type, $into, $other, |a, b| a.max(b)),
            Operator::And | Operator::Or | Operator::Xor => unreachable!("`new` refuses them"),
        }
    };
}

impl Reducer {
    /// The sum of doubles.
    pub const SUM: Self = Self { element: Element::F64, operator: Operator::Sum };

    /// `operator` on `element`; `None` for bits of floating-point numbers.
    pub fn new(element: Element, operator: Operator) -> Option<Self> {
        let is_of_bits = matches!(operator, Operator::And | Operator::Or | Operator::Xor);
        let is_real = matches!(element, Element::F32 | Element::F64);
        (!(is_of_bits && is_real)).then_some(Self { element, operator })
    }

    /// The element type.
    pub fn element(self) -> Element {
        self.element
    }

    /// The operator.
    pub fn operator(self) -> Operator {
        self.operator
    }

    /// Replaces each element of `into` by its combination with that of `other`.
    pub fn combine(self, into: &mut [u8], other: &[u8]) {
        match self.element {
            Element::U8 => combined_integers!(u8, self.operator, into, other),
            Element::I8 => combined_integers!(i8, self.operator, into, other),
            Element::I32 => combined_integers!(i32, self.operator, into, other),
            Element::I64 => combined_integers!(i64, self.operator, into, other),
            Element::F32 => combined_reals!(f32, self.operator, into, other),
            Element::F64 => combined_reals!(f64, self.operator, into, other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_combines_elements_of_every_type_that_it_fits() {
        for element in Element::ALL {
            for operator in Operator::ALL {
                let Some(by) = Reducer::new(element, operator) else {
                    assert!(matches!(element, Element::F32 | Element::F64), "{element:?}");
                    continue;
                };
                let expected = match operator {
                    Operator::Sum => 9,
                    Operator::Product => 18,
                    Operator::Min | Operator::And => [3, 2][usize::from(operator == Operator::And)],
                    Operator::Max => 6,
                    Operator::Or => 7,
                    Operator::Xor => 5,
                };
                let mut into = number(element, 3).repeat(3);
                by.combine(&mut into, &number(element, 6).repeat(2));
                let unchanged = number(element, 3);
                let expected = [number(element, expected).repeat(2), unchanged].concat();
                assert_eq!(into, expected, "{element:?} {operator:?}");
            }
        }
        let wrapping = Reducer::new(Element::U8, Operator::Sum).unwrap();
        let mut into = [200];
        wrapping.combine(&mut into, &[100]);
        assert_eq!(into, [44]);
    }

    /// `value` as an element.
    fn number(element: Element, value: u8) -> Vec<u8> {
        match element {
            Element::U8 | Element::I8 => vec![value],
            Element::I32 => i32::from(value).to_ne_bytes().to_vec(),
            Element::I64 => i64::from(value).to_ne_bytes().to_vec(),
            Element::F32 => f32::from(value).to_ne_bytes().to_vec(),
            Element::F64 => f64::from(value).to_ne_bytes().to_vec(),
        }
    }
}
