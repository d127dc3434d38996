
/* The logarithm of 1 <= x < 2^32, of the same origin.
   Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved. Developed at SunSoft, a Sun Microsystems, Inc. business.
   Permission to use, copy, modify, and distribute this software is freely granted, provided that this notice is preserved. */
static double model_log64(double x) {
    union { double value; uint64_t bits; } u;
    uint32_t top;
    int k;
    double f, half, s, z, w, r;
    if (x == 1.0) return 0.0;
    u.value = x;
    top = (uint32_t)(u.bits >> 32) + (0x3ff00000u - 0x3fe6a09eu);
    k = (int)(top >> 20) - 0x3ff;
    top = (top & 0x000fffffu) + 0x3fe6a09eu;
    u.bits = (uint64_t)top << 32 | (u.bits & 0xffffffffu);
    f = u.value - 1.0;
    half = 0.5 * f * f;
    s = f / (2.0 + f);
    z = s * s;
    w = z * z;
    r = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    r = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01
        + w * 1.479819860511658591e-01))) + r;
    return s * (half + r) + k * 1.90821492927058770002e-10 - half + f + k * 6.93147180369123816490e-01;
}
