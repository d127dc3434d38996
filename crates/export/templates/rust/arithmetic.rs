/// `a b + c`, rounded once: in 64 bits the product is exact, and the sum may be rounded again unless it lies halfway between two
/// floats, or is small; there it is rounded to odd first.
fn fma(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let bits = sum.to_bits();
    if bits & 0x1fff_ffff != 0x1000_0000 && bits >> 52 & 0x7ff > 896 {
        return sum as f32;
    }
    let of_c = sum - product;
    let error = (product - (sum - of_c)) + (c - of_c);
    if bits & 1 == 0 && (error > 0.0 || error < 0.0) {
        let away = (error > 0.0) == (sum > 0.0);
        return f64::from_bits(if away { bits + 1 } else { bits - 1 }) as f32;
    }
    sum as f32
}

/// A row of weights and its bias: the bias first, then terms in order.
fn affine(row: &[f32], x: &[f32]) -> f32 {
    let terms = row.iter().zip(x);
    terms.fold(row[x.len()], |sum, (w, x)| fma(*w, *x, sum))
}

fn clip(u: f32) -> f32 {
    if u > CLIP {
        CLIP
    } else if u < -CLIP {
        -CLIP
    } else {
        u
    }
}
