// Functions of numbers with the bits of the processor's: those of 32 bits are our lanes', those of 64 bits musl's, as
// in the crate libm. Nothing is contracted; what is fused says fmaf or fma.

#define MAGIC 12582912.0f

__device__ __forceinline__ float greater(float a, float b) { return a > b ? a : b; }
__device__ __forceinline__ float lesser(float a, float b) { return a < b ? a : b; }

__device__ __forceinline__ float exp_lane(float x) {
    x = lesser(88.0f, greater(-87.0f, x));
    float t = fmaf(x, 1.44269504088896340736f, MAGIC);
    float n = t - MAGIC;
    float r = fmaf(n, -0.6933594f, x);
    r = fmaf(n, 2.1219444e-4f, r);
    float y = 1.9875692e-4f;
    y = fmaf(y, r, 1.3982e-3f);
    y = fmaf(y, r, 8.333452e-3f);
    y = fmaf(y, r, 4.1665796e-2f);
    y = fmaf(y, r, 1.6666665e-1f);
    y = fmaf(y, r, 0.5f);
    y = fmaf(y, r * r, r) + 1.0f;
    return __uint_as_float(__float_as_uint(y) + (__float_as_uint(t) << 23));
}

__device__ __forceinline__ float tanh_lane(float x) {
    x = lesser(9.02f, greater(-9.02f, x));
    float square = x * x;
    float p = 1.3318608e-8f;
    p = fmaf(p, square, 2.058313e-5f);
    p = fmaf(p, square, 0.0034940126f);
    p = fmaf(p, square, 0.13379699f);
    p = fmaf(p, square, 1.0f);
    float q = 7.761824e-7f;
    q = fmaf(q, square, 0.00032830573f);
    q = fmaf(q, square, 0.02587099f);
    q = fmaf(q, square, 0.46713015f);
    q = fmaf(q, square, 1.0f);
    float y = x * p / q;
    return lesser(1.0f, greater(-1.0f, y));
}

__device__ __forceinline__ float sigmoid_lane(float x) { return 1.0f / (1.0f + exp_lane(0.0f - x)); }

__device__ __forceinline__ float negate_if_odd(float v, float t) {
    return __uint_as_float(__float_as_uint(v) ^ (__float_as_uint(t) << 31));
}

__device__ __forceinline__ void sin_cos_lane(float x, float *sine, float *cosine) {
    float t = fmaf(x, 0.318309886183790671538f, MAGIC);
    float n = MAGIC - t;
    float r = fmaf(n, 3.14159265358979323846f, x);
    r = fmaf(n, -8.742278e-8f, r);
    r = fmaf(n, -3.430249e-15f, r);
    r = lesser(1.6f, greater(-1.6f, r));
    float square = r * r;
    float p = -2.620911e-7f;
    p = fmaf(p, square, 2.4770181e-5f);
    p = fmaf(p, square, -0.0013888585f);
    p = fmaf(p, square, 0.041666657f);
    p = fmaf(p, square, -0.5f);
    *cosine = negate_if_odd(fmaf(p, square, 1.0f), t);
    float cube = r * square;
    float s = -2.5539649e-8f;
    s = fmaf(s, square, 2.7628325e-6f);
    s = fmaf(s, square, -0.00019843104f);
    s = fmaf(s, square, 0.008333351f);
    s = fmaf(s, square, -0.16666667f);
    *sine = negate_if_odd(fmaf(s, cube, r), t);
}

// Hidden units: the value, and what a gradient is multiplied by. Of the ReLU the latter is seen in the value.
__device__ __forceinline__ float activate(float u, float *slope) {
#if ACTIVATION == 0
    *slope = 0.0f;
    return greater(0.0f, u);
#elif ACTIVATION == 1
    float y = tanh_lane(u);
    *slope = fmaf(0.0f - y, y, 1.0f);
    return y;
#elif ACTIVATION == 2
    float sigmoid = sigmoid_lane(u);
    float y = greater(-88.0f, u) * sigmoid;
    *slope = fmaf(lesser(88.0f, y), 1.0f - sigmoid, sigmoid);
    return y;
#else
    float sine;
    sin_cos_lane(u, &sine, slope);
    return sine;
#endif
}

// The gradient of a preactivation from that of the value.
__device__ __forceinline__ float through_activation(float g, float value, float slope) {
#if ACTIVATION == 0
    return value > 0.0f ? g : 0.0f;
#else
    return g * slope;
#endif
}

// The value of a hidden unit, and the gradient of its preactivation from that of the value, on the way back. A ReLU that
// is not a number is taken for zero there: its fit ends, since its outputs are no numbers either.
__device__ __forceinline__ float activate_back(float u, float g, float *value) {
#if ACTIVATION == 0
    bool on = u > 0.0f;
    *value = on ? u : 0.0f;
    return on ? g : 0.0f;
#else
    float slope;
    *value = activate(u, &slope);
    return through_activation(g, *value, slope);
#endif
}

__device__ double scale_double(double x, int n) {
    if (n > 1023) {
        x *= __longlong_as_double(0x7fe0000000000000LL);
        n -= 1023;
    } else if (n < -1022) {
        x *= __longlong_as_double((1023LL - 969) << 52);
        n += 969;
    }
    return x * __longlong_as_double((long long)(1023 + n) << 52);
}

__device__ __noinline__ double exp_double(double x) {
    const double LN2HI = 6.93147180369123816490e-01, LN2LO = 1.90821492927058770002e-10;
    unsigned hx = (unsigned)((uint64_t)__double_as_longlong(x) >> 32);
    int sign = (int)(hx >> 31);
    hx &= 0x7fffffff;
    if (hx >= 0x4086232b) {
        if (x != x) return x;
        if (x > 709.782712893383973096) return x * __longlong_as_double(0x7fe0000000000000LL);
        if (x < -745.13321910194110842) return 0.0;
    }
    double hi, lo;
    int k;
    if (hx > 0x3fd62e42) {
        if (hx >= 0x3ff0a2b2) {
            k = (int)(1.44269504088896338700e+00 * x + (sign ? -0.5 : 0.5));
        } else {
            k = 1 - sign - sign;
        }
        hi = x - k * LN2HI;
        lo = k * LN2LO;
        x = hi - lo;
    } else if (hx > 0x3e300000) {
        k = 0;
        hi = x;
        lo = 0.0;
    } else {
        return 1.0 + x;
    }
    double xx = x * x;
    double c = x
        - xx * (1.66666666666666019037e-01
                + xx * (-2.77777777770155933842e-03
                        + xx * (6.61375632143793436117e-05
                                + xx * (-1.65339022054652515390e-06 + xx * 4.13813679705723846039e-08))));
    double y = 1.0 + (x * c / (2.0 - c) - lo + hi);
    return k == 0 ? y : scale_double(y, k);
}

__device__ double log_series(double z) {
    double w = z * z;
    double t1 = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double t2 = z
        * (6.666666666666735130e-01
           + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    return t2 + t1;
}

__device__ __noinline__ double log_double(double x) {
    uint64_t bits = (uint64_t)__double_as_longlong(x);
    unsigned hx = (unsigned)(bits >> 32);
    int k = 0;
    if (hx < 0x00100000 || (hx >> 31) != 0) {
        if (bits << 1 == 0) return -1.0 / (x * x);
        if (hx >> 31 != 0) return NAN;
        k -= 54;
        x *= __longlong_as_double(0x4350000000000000LL);
        bits = (uint64_t)__double_as_longlong(x);
        hx = (unsigned)(bits >> 32);
    } else if (hx >= 0x7ff00000) {
        return x;
    } else if (hx == 0x3ff00000 && bits << 32 == 0) {
        return 0.0;
    }
    hx += 0x3ff00000 - 0x3fe6a09e;
    k += (int)(hx >> 20) - 0x3ff;
    hx = (hx & 0x000fffff) + 0x3fe6a09e;
    x = __longlong_as_double((long long)(((uint64_t)hx << 32) | (bits & 0xffffffffu)));
    double f = x - 1.0, hfsq = 0.5 * f * f, s = f / (2.0 + f), dk = k;
    return s * (hfsq + log_series(s * s)) + dk * 1.90821492927058770002e-10 - hfsq + f
        + dk * 6.93147180369123816490e-01;
}

__device__ __noinline__ double log1p_double(double x) {
    uint64_t bits = (uint64_t)__double_as_longlong(x);
    unsigned hx = (unsigned)(bits >> 32);
    double f = 0.0, c = 0.0;
    int k = 1;
    if (hx < 0x3fda827a || (hx >> 31) > 0) {
        if (hx >= 0xbff00000) return x == -1.0 ? -INFINITY : NAN;
        if (hx << 1 < 0x3ca00000u << 1) return x;
        if (hx <= 0xbfd2bec4) {
            k = 0;
            f = x;
        }
    } else if (hx >= 0x7ff00000) {
        return x;
    }
    if (k > 0) {
        double u = 1.0 + x;
        bits = (uint64_t)__double_as_longlong(u);
        unsigned hu = (unsigned)(bits >> 32);
        hu += 0x3ff00000 - 0x3fe6a09e;
        k = (int)(hu >> 20) - 0x3ff;
        if (k < 54) {
            c = k >= 2 ? 1.0 - (u - x) : x - (u - 1.0);
            c /= u;
        }
        hu = (hu & 0x000fffff) + 0x3fe6a09e;
        f = __longlong_as_double((long long)(((uint64_t)hu << 32) | (bits & 0xffffffffu))) - 1.0;
    }
    double hfsq = 0.5 * f * f, s = f / (2.0 + f), dk = k;
    return s * (hfsq + log_series(s * s)) + (dk * 1.90821492927058770002e-10 + c) - hfsq + f
        + dk * 6.93147180369123816490e-01;
}

__device__ __noinline__ double softplus(double x) {
    return x > 0.0 ? x + log1p_double(exp_double(-x)) : log1p_double(exp_double(x));
}

__device__ __noinline__ double sigmoid_double(double x) {
    if (x >= 0.0) return 1.0 / (1.0 + exp_double(-x));
    double e = exp_double(x);
    return e / (1.0 + e);
}

// The counter-based stream of random bits.
__device__ __forceinline__ uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
__device__ __forceinline__ uint64_t nth(uint64_t key, uint64_t index) {
    return mix(mix(key ^ 0xD1B54A32D192ED03ull) + index);
}
__device__ __forceinline__ uint64_t bits_of(uint64_t key, uint64_t index) {
    return mix(key + (index + 1) * 0x9E3779B97F4A7C15ull);
}
