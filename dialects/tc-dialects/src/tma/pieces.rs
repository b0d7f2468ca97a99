//! Boxes that are copied in pieces.

use super::align_of_box;

/// The most pieces that a box, or what of a buffer a warpgroup copies, goes in.
pub const MAX_PIECES: i64 = 256;

/// How many parts each dimension of a box is cut into, so that there are `n` pieces. Outer dimensions are divided first: a piece is
/// one stretch of shared memory, and begins where a box may, that has elements of `bytes` and rows of `swizzle` bytes whose pieces are
/// mixed, 0 for none. `None` where that cannot be.
pub fn cuts(extents: &[i64], n: i64, bytes: i64, swizzle: i64) -> Option<Vec<i64>> {
    let mut cuts = vec![1; extents.len()];
    let mut left = n;
    for (cut, &extent) in cuts.iter_mut().zip(&extents[..extents.len().saturating_sub(1)]) {
        if left == 1 {
            break;
        }
        // A dimension inside of one that is not cut to single elements stays whole.
        *cut = if left % extent == 0 { extent } else { left };
        if extent % *cut != 0 {
            return None;
        }
        left /= *cut;
    }
    let length = extents.iter().product::<i64>() / n * bytes;
    (left == 1 && (n == 1 || length % align_of_box(swizzle) == 0)).then_some(cuts)
}

#[cfg(test)]
mod tests {
    use super::cuts;

    #[test]
    fn outer_dimensions_are_cut_first() {
        assert_eq!(cuts(&[4, 1, 16, 8, 32], 16, 4, 128), Some(vec![4, 1, 4, 1, 1]));
        assert_eq!(cuts(&[4, 1, 16, 8, 32], 2, 4, 128), Some(vec![2, 1, 1, 1, 1]));
        assert_eq!(cuts(&[64, 64], 1, 2, 128), Some(vec![1, 1]));
        // The pieces would not begin at eight rows, a row would be cut, or a dimension inside of one that is not cut up.
        assert_eq!(cuts(&[64, 64], 16, 2, 128), None);
        assert_eq!(cuts(&[256], 2, 4, 0), None);
        assert_eq!(cuts(&[4, 6, 32], 6, 4, 0), None);
    }
}
