
// The logarithm of 1 <= x < 2^32, of the same origin.
// Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved. Developed at SunSoft, a Sun Microsystems, Inc. business.
// Permission to use, copy, modify, and distribute this software is freely granted, provided that this notice is preserved.
fn log64(x: f64) -> f64 {
    if x == 1.0 {
        return 0.0;
    }
    let bits = x.to_bits();
    let top = (bits >> 32) as u32 + (0x3ff0_0000 - 0x3fe6_a09e);
    let k = f64::from((top >> 20) as i32 - 0x3ff);
    let top = (top & 0x000f_ffff) + 0x3fe6_a09e;
    let f = f64::from_bits((u64::from(top) << 32) | (bits & 0xffff_ffff)) - 1.0;
    let half = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (3.999_999_999_940_942e-1 + w * (2.222_219_843_214_978_4e-1 + w * 1.531_383_769_920_937_3e-1));
    let odd = z
        * (6.666_666_666_666_735e-1
            + w * (2.857_142_874_366_239e-1
                + w * (1.818_357_216_161_805e-1 + w * 1.479_819_860_511_658_6e-1)));
    s * (half + (odd + even)) + k * 1.908_214_929_270_587_7e-10 - half + f + k * 6.931_471_803_691_238e-1
}
