#include "wet-bulb-wet_bulb.h"
#include <stdint.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

const char *const wet_bulb_wet_bulb_columns[WET_BULB_WET_BULB_COLUMNS] = {"temperature", "humidity"};

#define WET_BULB_WET_BULB_D 2
#define WET_BULB_WET_BULB_Q 3
#define WET_BULB_WET_BULB_OUTPUTS 1
#define WET_BULB_WET_BULB_R 6
#define WET_BULB_WET_BULB_STEP 45
#define WET_BULB_WET_BULB_CLIP 8.0f

static const float wet_bulb_wet_bulb_input_weights[9] = {
    1.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f,
    0.0f,
};
static const float wet_bulb_wet_bulb_block_weights[90] = {
    -0.41659802f, -0.6429499f, 0.0f, -0.5994418f, 0.0f, 0.0f, 3.608043f, -6.741706f,
    -9.054683f, 0.0f, -22.100437f, 0.0f, 0.0f, 1.4072196f, -2.9936166f, -4.126865f,
    0.0f, -9.01267f, 0.0f, 0.0f, 0.81338596f, 0.3997263f, -1.981505f, 0.0f,
    -2.2815976f, 0.0f, 0.0f, 0.20483159f, -0.48237988f, 0.86272067f, 0.0f, 0.8709743f,
    0.0f, 0.0f, -0.41318733f, -0.84122795f, -1.1850283f, 0.0f, 0.1697831f, 0.0f,
    0.0f, -0.38286173f, 0.0f, 0.0f, -0.24722096f, 0.17976946f, -0.7579339f, -0.09237186f,
    -2.5457377f, 0.0f, 0.0f, -7.575364f, 0.3190185f, -0.8813233f, 0.16111833f, 1.531197f,
    0.0f, 0.0f, -0.31255546f, -0.57612383f, 0.94989604f, 1.4880837f, 0.7038062f, 0.0f,
    0.0f, -0.43109542f, 1.4163196f, 0.55168694f, -1.8755345f, 0.480192f, 0.0f, 0.0f,
    0.115086146f, -0.10774924f, -0.36945513f, 0.3418538f, -0.18238817f, 0.0f, 0.0f, -0.5432773f,
    -0.0023837206f, -3.674895f, -4.104275f, 0.75060165f, 0.0f, 0.0f, 0.033206843f, 0.0f,
    0.0f, 0.0f,
};
static const float wet_bulb_wet_bulb_output_weights[4] = {
    0.76616293f, 0.723129f, 1.0f, -0.5902553f,
};

/* a * b + c, rounded once: by the processor, if the compiler says that it can. Otherwise the product is exact in a double, and the
   sum may be rounded again unless it lies halfway between two floats, or is small; there it is rounded to odd first. To do without, for values within about 1e-6, compile with
   -D'WET_BULB_WET_BULB_FMA(a,b,c)=((a)*(b)+(c))'. */
#ifndef WET_BULB_WET_BULB_FMA
#ifdef __FP_FAST_FMAF
#define WET_BULB_WET_BULB_FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define WET_BULB_WET_BULB_FMA(a, b, c) wet_bulb_wet_bulb_fma((a), (b), (c))
static float wet_bulb_wet_bulb_fma(float a, float b, float c) {
    const double product = (double)a * (double)b, sum = product + (double)c;
    union { double value; uint64_t bits; } odd;
    odd.value = sum;
    if ((odd.bits & 0x1fffffff) == 0x10000000 || (odd.bits >> 52 & 0x7ff) <= 896) {
        const double of_c = sum - product, error = (product - (sum - of_c)) + ((double)c - of_c);
        if (!(odd.bits & 1) && (error > 0.0 || error < 0.0)) odd.bits += (error > 0.0) == (sum > 0.0) ? 1 : -1;
    }
    return (float)odd.value;
}
#endif
#endif

/* A row of n weights and its bias: the bias first, then terms in order. */
static float wet_bulb_wet_bulb_affine(const float *row, const float *x, int n) {
    float sum = row[n];
    int i;
    for (i = 0; i < n; i++) sum = WET_BULB_WET_BULB_FMA(row[i], x[i], sum);
    return sum;
}

static float wet_bulb_wet_bulb_clip(float u) {
    return u > WET_BULB_WET_BULB_CLIP ? WET_BULB_WET_BULB_CLIP : u < -WET_BULB_WET_BULB_CLIP ? -WET_BULB_WET_BULB_CLIP : u;
}

static float wet_bulb_wet_bulb_between(float low, float x, float high) {
    x = low > x ? low : x;
    return high < x ? high : x;
}

static float wet_bulb_wet_bulb_polynomial(const float *coefficients, int n, float x) {
    float y = coefficients[n - 1];
    for (n -= 2; n >= 0; n--) y = WET_BULB_WET_BULB_FMA(y, x, coefficients[n]);
    return y;
}

typedef union { float value; uint32_t bits; } wet_bulb_wet_bulb_bits;

/* 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits of the sum. */
#define WET_BULB_WET_BULB_MAGIC 12582912.0f

/* e^x within two units in the last place, x held to [-87, 88]. */
static float wet_bulb_wet_bulb_exp(float x) {
    static const float p[6] = {
        0.5f, 1.6666665e-1f, 4.1665796e-2f, 8.333452e-3f, 1.3982e-3f, 1.9875692e-4f
    };
    wet_bulb_wet_bulb_bits t, y;
    float n, r;
    x = wet_bulb_wet_bulb_between(-87.0f, x, 88.0f);
    t.value = WET_BULB_WET_BULB_FMA(x, 1.442695f, WET_BULB_WET_BULB_MAGIC);
    n = t.value - WET_BULB_WET_BULB_MAGIC;
    r = WET_BULB_WET_BULB_FMA(n, -0.6933594f, x);
    r = WET_BULB_WET_BULB_FMA(n, 2.1219444e-4f, r);
    y.value = WET_BULB_WET_BULB_FMA(wet_bulb_wet_bulb_polynomial(p, 6, r), r * r, r) + 1.0f;
    y.bits += t.bits << 23;
    return y.value;
}

static float wet_bulb_wet_bulb_activation(float u) {
    const float sigmoid = 1.0f / (1.0f + wet_bulb_wet_bulb_exp(0.0f - u));
    return (-88.0f > u ? -88.0f : u) * sigmoid;
}

/* Model inputs to outputs after some iterations: z becomes z + W2 s(W1 z + b1) + b2. */
static void wet_bulb_wet_bulb_network(const float *x, int iterations, float *f) {
    float z[WET_BULB_WET_BULB_Q], next[WET_BULB_WET_BULB_Q];
    int t, j, k;
    for (k = 0; k < WET_BULB_WET_BULB_Q; k++) z[k] = wet_bulb_wet_bulb_affine(wet_bulb_wet_bulb_input_weights + k * (WET_BULB_WET_BULB_D + 1), x, WET_BULB_WET_BULB_D);
    for (t = 0; t < iterations; t++) {
        const float *unit = wet_bulb_wet_bulb_block_weights + t * WET_BULB_WET_BULB_STEP;
        const float *b2 = unit + WET_BULB_WET_BULB_R * (2 * WET_BULB_WET_BULB_Q + 1);
        for (k = 0; k < WET_BULB_WET_BULB_Q; k++) next[k] = z[k] + b2[k];
        for (j = 0; j < WET_BULB_WET_BULB_R; j++, unit += 2 * WET_BULB_WET_BULB_Q + 1) {
            const float h = wet_bulb_wet_bulb_activation(wet_bulb_wet_bulb_affine(unit, z, WET_BULB_WET_BULB_Q));
            for (k = 0; k < WET_BULB_WET_BULB_Q; k++) next[k] = WET_BULB_WET_BULB_FMA(unit[WET_BULB_WET_BULB_Q + 1 + k], h, next[k]);
        }
        for (k = 0; k < WET_BULB_WET_BULB_Q; k++) z[k] = next[k];
    }
    for (k = 0; k < WET_BULB_WET_BULB_OUTPUTS; k++) {
        f[k] = wet_bulb_wet_bulb_clip(wet_bulb_wet_bulb_affine(wet_bulb_wet_bulb_output_weights + k * (WET_BULB_WET_BULB_Q + 1), z, WET_BULB_WET_BULB_Q));
    }
}

/* A number in model units from its shift, scale and median; 1 if it is too extreme to be one. */
static int wet_bulb_wet_bulb_number(double v, const double *number, float *to) {
    v = ((v != v ? number[2] : v) - number[0]) / number[1];
    if (!(v > -3.4028235677973366e38 && v < 3.4028235677973366e38)) return 1;
    *to = (float)v;
    return 0;
}

static const double wet_bulb_wet_bulb_scales[2][3] = {
    {14.999999999999998, 20.666515317583194, 15.0},
    {52.0, 27.752177712183148, 52.0},
};

/* Model inputs of a row; 2 if a number is too extreme, 1 if it lies outside the box of a density. */
static int wet_bulb_wet_bulb_read(const wet_bulb_wet_bulb_input *input, float *x) {
    int status = 0;
    status |= 2 * wet_bulb_wet_bulb_number(input->temperature, wet_bulb_wet_bulb_scales[0], x + 0);
    status |= 2 * wet_bulb_wet_bulb_number(input->humidity, wet_bulb_wet_bulb_scales[1], x + 1);
    return status;
}

/* Not a number, and infinity. */
static const union { uint64_t bits; double value; } wet_bulb_wet_bulb_special[2] = {{(uint64_t)0x7ff8 << 48}, {(uint64_t)0x7ff0 << 48}};
#define WET_BULB_WET_BULB_NO_NUMBER (wet_bulb_wet_bulb_special[0].value)
#define WET_BULB_WET_BULB_INFINITY (wet_bulb_wet_bulb_special[1].value)

static double wet_bulb_wet_bulb_after(const wet_bulb_wet_bulb_input *input, int iterations) {
    float x[WET_BULB_WET_BULB_D], f[WET_BULB_WET_BULB_OUTPUTS];
    double y;
    if (wet_bulb_wet_bulb_read(input, x)) return WET_BULB_WET_BULB_NO_NUMBER;
    wet_bulb_wet_bulb_network(x, iterations, f);
    y = 9.390036337489645 + 17.865064170613028 * (double)f[0];
    return y < -20.99043480149832 ? -20.99043480149832 : y > 50.035021593271324 ? 50.035021593271324 : y;
}

double wet_bulb_wet_bulb_evaluate(const wet_bulb_wet_bulb_input *input) { return wet_bulb_wet_bulb_after(input, WET_BULB_WET_BULB_ITERATIONS); }

float wet_bulb_wet_bulb_predict(const float *x) {
    wet_bulb_wet_bulb_input input;
    input.temperature = x[0];
    input.humidity = x[1];
    return (float)wet_bulb_wet_bulb_evaluate(&input);
}
