
/* From FreeBSD's msun, by way of musl and of Rust's libm, for the bits of the latter.
   Copyright (C) 2004 by Sun Microsystems, Inc. All rights reserved. Permission to use, copy, modify, and distribute this
   software is freely granted, provided that this notice is preserved. */

static double model_power_of_two(int n) {
    union { double value; uint64_t bits; } power;
    power.bits = (uint64_t)(1023 + n) << 52;
    return power.value;
}

static double model_exp64(double x) {
    const double size = x < 0.0 ? -x : x;
    double high = x, low = 0.0, square, c, y;
    int k = 0;
    if (x != x) return x;
    if (x > 709.782712893383973096) return MODEL_INFINITY;
    if (x < -745.13321910194110842) return 0.0;
    if (size < 3.725293851175593e-09) return 1.0 + x;
    if (size >= 0.3465735912322998) {
        if (size >= 1.0397205352783203) {
            k = (int)(1.44269504088896338700e+00 * x + (x < 0.0 ? -0.5 : 0.5));
        } else {
            k = x < 0.0 ? -1 : 1;
        }
        high = x - k * 6.93147180369123816490e-01;
        low = k * 1.90821492927058770002e-10;
        x = high - low;
    }
    square = x * x;
    c = x - square * (1.66666666666666019037e-01 + square * (-2.77777777770155933842e-03
        + square * (6.61375632143793436117e-05 + square * (-1.65339022054652515390e-06
        + square * 4.13813679705723846039e-08))));
    y = 1.0 + (x * c / (2.0 - c) - low + high);
    if (k > 1023) {
        y *= model_power_of_two(1023);
        k -= 1023;
    } else if (k < -1022) {
        y *= model_power_of_two(-969);
        k += 969;
    }
    return y * model_power_of_two(k);
}
