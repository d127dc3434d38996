
// From FreeBSD's msun, by way of musl and of Rust's libm, for the bits of the latter.
// Copyright (C) 2004 by Sun Microsystems, Inc. All rights reserved. Permission to use, copy, modify, and distribute this
// software is freely granted, provided that this notice is preserved.
fn exp64(x: f64) -> f64 {
    let power_of_two = |n: i32| f64::from_bits(((1023 + n) as u64) << 52);
    let (mut x, mut high, mut low, mut k) = (x, x, 0.0, 0);
    let size = if x < 0.0 { -x } else { x };
    if x.is_nan() {
        return x;
    } else if x > 709.782712893384 {
        return f64::INFINITY;
    } else if x < -745.1332191019411 {
        return 0.0;
    } else if size < 3.725293851175593e-9 {
        return 1.0 + x;
    } else if size >= 0.3465735912322998 {
        k = if size >= 1.0397205352783203 {
            (core::f64::consts::LOG2_E * x + if x < 0.0 { -0.5 } else { 0.5 }) as i32
        } else if x < 0.0 {
            -1
        } else {
            1
        };
        high = x - f64::from(k) * 6.931_471_803_691_238e-1;
        low = f64::from(k) * 1.908_214_929_270_587_7e-10;
        x = high - low;
    }
    let square = x * x;
    let series = -2.777_777_777_701_559_3e-3
        + square
            * (6.613_756_321_437_934e-5
                + square * (-1.653_390_220_546_525_2e-6 + square * 4.138_136_797_057_238_5e-8));
    let c = x - square * (1.666_666_666_666_660_2e-1 + square * series);
    let mut y = 1.0 + (x * c / (2.0 - c) - low + high);
    if k > 1023 {
        y *= power_of_two(1023);
        k -= 1023;
    } else if k < -1022 {
        y *= power_of_two(-969);
        k += 969;
    }
    y * power_of_two(k)
}
