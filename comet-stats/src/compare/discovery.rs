//! Many points at once: of a thousand points that did not change, fifty have a p below 5 %.

/// The p values adjusted so that of the points below 5 % no more than 5 % are there by chance, on
/// average (Benjamini and Hochberg, Journal of the Royal Statistical Society B 57, 1995).
///
/// The k-th least of n is multiplied by n / k, and none is above a later one.
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut descending: Vec<usize> = (0..p.len()).collect();
    descending.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    let (mut adjusted, mut least) = (vec![1.0; p.len()], 1.0f64);
    for (n_above, index) in descending.into_iter().enumerate() {
        let place = p.len() - n_above;
        least = least.min(p[index] * p.len() as f64 / place as f64);
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusted_values_agree_with_a_hand_computation() {
        let found = adjusted(&[0.01, 0.04, 0.03, 0.005, 0.9]);
        let expected = [0.025, 0.05, 0.05, 0.025, 0.9];
        let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
        assert!(found.iter().zip(&expected).all(is_near), "{found:?}");
    }

    #[test]
    fn one_point_alone_keeps_its_p_and_none_have_none() {
        assert_eq!(adjusted(&[0.04]), [0.04]);
        assert_eq!(adjusted(&[]), []);
    }
}
