#include "thermistor-celsius.h"
#include <stdint.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

const char *const thermistor_celsius_columns[THERMISTOR_CELSIUS_COLUMNS] = {"ratio"};

#define THERMISTOR_CELSIUS_D 1
#define THERMISTOR_CELSIUS_Q 3
#define THERMISTOR_CELSIUS_OUTPUTS 1
#define THERMISTOR_CELSIUS_R 10
#define THERMISTOR_CELSIUS_STEP 0
#define THERMISTOR_CELSIUS_CLIP 8.0f

static const float thermistor_celsius_input_weights[6] = {
    1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f,
};
static const float thermistor_celsius_block_weights[73] = {
    -1.3161448f, 0.60584104f, -1.0082561f, 0.69324493f, 0.0f, 0.02474936f, 0.41528958f, 0.0053999163f,
    -0.10514098f, -0.7508959f, 0.10458788f, 0.0f, 0.27190912f, 0.059466846f, 0.32114244f, 0.00898302f,
    2.602724f, -0.070690505f, 0.0f, 0.024432285f, -0.37725106f, -0.32390368f, -0.2624633f, -0.19099995f,
    0.017416175f, 0.0f, 0.14100672f, -0.53946376f, 0.7118987f, -1.5797303f, 0.70744795f, -0.027013142f,
    0.0f, 0.05433551f, -0.1107117f, 0.14549847f, -0.038534474f, 0.48619983f, -0.17761016f, 0.0f,
    -0.12034698f, -0.24526787f, -0.045335967f, -0.34247187f, 0.4590047f, -0.062219184f, 0.0f, -0.17863096f,
    -0.1797818f, 0.24996565f, 0.25001183f, -0.32875556f, 0.08058199f, 0.0f, 0.054559875f, 1.0102576f,
    0.32435715f, 0.16709498f, 0.34244448f, 0.15033068f, 0.0f, -0.0810128f, 0.08647537f, 0.13074645f,
    0.070600495f, 0.11849261f, 0.13001922f, 0.0f, -0.024077885f, 0.5914655f, 0.0f, 0.004640768f,
    -0.011017419f,
};
static const float thermistor_celsius_output_weights[4] = {
    -0.6498584f, 1.0f, 0.0f, 0.010736268f,
};

/* a * b + c, rounded once: by the processor, if the compiler says that it can. Otherwise the product is exact in a double, and the
   sum may be rounded again unless it lies halfway between two floats, or is small; there it is rounded to odd first. To do without, for values within about 1e-6, compile with
   -D'THERMISTOR_CELSIUS_FMA(a,b,c)=((a)*(b)+(c))'. */
#ifndef THERMISTOR_CELSIUS_FMA
#ifdef __FP_FAST_FMAF
#define THERMISTOR_CELSIUS_FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define THERMISTOR_CELSIUS_FMA(a, b, c) thermistor_celsius_fma((a), (b), (c))
static float thermistor_celsius_fma(float a, float b, float c) {
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
static float thermistor_celsius_affine(const float *row, const float *x, int n) {
    float sum = row[n];
    int i;
    for (i = 0; i < n; i++) sum = THERMISTOR_CELSIUS_FMA(row[i], x[i], sum);
    return sum;
}

static float thermistor_celsius_clip(float u) {
    return u > THERMISTOR_CELSIUS_CLIP ? THERMISTOR_CELSIUS_CLIP : u < -THERMISTOR_CELSIUS_CLIP ? -THERMISTOR_CELSIUS_CLIP : u;
}

static float thermistor_celsius_between(float low, float x, float high) {
    x = low > x ? low : x;
    return high < x ? high : x;
}

static float thermistor_celsius_polynomial(const float *coefficients, int n, float x) {
    float y = coefficients[n - 1];
    for (n -= 2; n >= 0; n--) y = THERMISTOR_CELSIUS_FMA(y, x, coefficients[n]);
    return y;
}

typedef union { float value; uint32_t bits; } thermistor_celsius_bits;

/* 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits of the sum. */
#define THERMISTOR_CELSIUS_MAGIC 12582912.0f

static float thermistor_celsius_activation(float u) {
    static const float p[5] = {
        -0.16666667f, 0.008333351f, -0.00019843104f, 2.7628325e-6f, -2.5539649e-8f
    };
    thermistor_celsius_bits t;
    float n, r, square, cube, y;
    t.value = THERMISTOR_CELSIUS_FMA(u, 0.31830987f, THERMISTOR_CELSIUS_MAGIC);
    n = THERMISTOR_CELSIUS_MAGIC - t.value;
    r = THERMISTOR_CELSIUS_FMA(n, 3.1415927f, u);
    r = THERMISTOR_CELSIUS_FMA(n, -8.742278e-8f, r);
    r = THERMISTOR_CELSIUS_FMA(n, -3.430249e-15f, r);
    r = thermistor_celsius_between(-1.6f, r, 1.6f);
    square = r * r;
    cube = r * square;
    y = THERMISTOR_CELSIUS_FMA(thermistor_celsius_polynomial(p, 5, square), cube, r);
    return t.bits & 1u ? -y : y;
}

/* Model inputs to outputs after some iterations: z becomes z + W2 s(W1 z + b1) + b2. */
static void thermistor_celsius_network(const float *x, int iterations, float *f) {
    float z[THERMISTOR_CELSIUS_Q], next[THERMISTOR_CELSIUS_Q];
    int t, j, k;
    for (k = 0; k < THERMISTOR_CELSIUS_Q; k++) z[k] = thermistor_celsius_affine(thermistor_celsius_input_weights + k * (THERMISTOR_CELSIUS_D + 1), x, THERMISTOR_CELSIUS_D);
    for (t = 0; t < iterations; t++) {
        const float *unit = thermistor_celsius_block_weights + t * THERMISTOR_CELSIUS_STEP;
        const float *b2 = unit + THERMISTOR_CELSIUS_R * (2 * THERMISTOR_CELSIUS_Q + 1);
        for (k = 0; k < THERMISTOR_CELSIUS_Q; k++) next[k] = z[k] + b2[k];
        for (j = 0; j < THERMISTOR_CELSIUS_R; j++, unit += 2 * THERMISTOR_CELSIUS_Q + 1) {
            const float h = thermistor_celsius_activation(thermistor_celsius_affine(unit, z, THERMISTOR_CELSIUS_Q));
            for (k = 0; k < THERMISTOR_CELSIUS_Q; k++) next[k] = THERMISTOR_CELSIUS_FMA(unit[THERMISTOR_CELSIUS_Q + 1 + k], h, next[k]);
        }
        for (k = 0; k < THERMISTOR_CELSIUS_Q; k++) z[k] = next[k];
    }
    for (k = 0; k < THERMISTOR_CELSIUS_OUTPUTS; k++) {
        f[k] = thermistor_celsius_clip(thermistor_celsius_affine(thermistor_celsius_output_weights + k * (THERMISTOR_CELSIUS_Q + 1), z, THERMISTOR_CELSIUS_Q));
    }
}

/* A number in model units from its shift, scale and median; 1 if it is too extreme to be one. */
static int thermistor_celsius_number(double v, const double *number, float *to) {
    v = ((v != v ? number[2] : v) - number[0]) / number[1];
    if (!(v > -3.4028235677973366e38 && v < 3.4028235677973366e38)) return 1;
    *to = (float)v;
    return 0;
}

static const double thermistor_celsius_scales[1][3] = {
    {0.5000000000000001, 0.2717616245903752, 0.5},
};

/* Model inputs of a row; 2 if a number is too extreme, 1 if it lies outside the box of a density. */
static int thermistor_celsius_read(const thermistor_celsius_input *input, float *x) {
    int status = 0;
    status |= 2 * thermistor_celsius_number(input->ratio, thermistor_celsius_scales[0], x + 0);
    return status;
}

/* Not a number, and infinity. */
static const union { uint64_t bits; double value; } thermistor_celsius_special[2] = {{(uint64_t)0x7ff8 << 48}, {(uint64_t)0x7ff0 << 48}};
#define THERMISTOR_CELSIUS_NO_NUMBER (thermistor_celsius_special[0].value)
#define THERMISTOR_CELSIUS_INFINITY (thermistor_celsius_special[1].value)

static double thermistor_celsius_after(const thermistor_celsius_input *input, int iterations) {
    float x[THERMISTOR_CELSIUS_D], f[THERMISTOR_CELSIUS_OUTPUTS];
    double y;
    if (thermistor_celsius_read(input, x)) return THERMISTOR_CELSIUS_NO_NUMBER;
    thermistor_celsius_network(x, iterations, f);
    y = 28.49558429627974 + 39.0344379789947 * (double)f[0];
    return y < -47.86823161340885 ? -47.86823161340885 : y > 141.58867121948782 ? 141.58867121948782 : y;
}

double thermistor_celsius_evaluate(const thermistor_celsius_input *input) { return thermistor_celsius_after(input, THERMISTOR_CELSIUS_ITERATIONS); }

float thermistor_celsius_predict(const float *x) {
    thermistor_celsius_input input;
    input.ratio = x[0];
    return (float)thermistor_celsius_evaluate(&input);
}
