#include "pendulum-angle_after.h"
#include <stdint.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

const char *const pendulum_angle_after_columns[PENDULUM_ANGLE_AFTER_COLUMNS] = {"angle", "speed"};

#define PENDULUM_ANGLE_AFTER_D 2
#define PENDULUM_ANGLE_AFTER_Q 3
#define PENDULUM_ANGLE_AFTER_OUTPUTS 1
#define PENDULUM_ANGLE_AFTER_R 8
#define PENDULUM_ANGLE_AFTER_STEP 59
#define PENDULUM_ANGLE_AFTER_CLIP 8.0f

static const float pendulum_angle_after_input_weights[9] = {
    0.0f, 1.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f, 0.0f,
    0.0f,
};
static const float pendulum_angle_after_block_weights[177] = {
    0.2759231f, 1.311902f, 0.0f, 0.0016961897f, 0.0f, 0.0f, -0.2749369f, -1.6319863f,
    -2.9532547f, 0.0f, -0.006699444f, 0.0f, 0.0f, -0.016277866f, 0.140961f, -1.3557919f,
    0.0f, -0.0012831225f, 0.0f, 0.0f, -0.31034347f, 0.9120204f, 0.952348f, 0.0f,
    -9.421127f, 0.0f, 0.0f, -0.39252615f, 1.4113083f, 1.948572f, 0.0f, -0.006816717f,
    0.0f, 0.0f, -0.03537385f, -0.6403272f, 0.020225849f, 0.0f, -0.2775449f, 0.0f,
    0.0f, 0.06076696f, 0.7432788f, -0.02927149f, 0.0f, -0.16578788f, 0.0f, 0.0f,
    -0.08530463f, -0.20096935f, 2.856991f, 0.0f, -0.0065884907f, 0.0f, 0.0f, 0.012206047f,
    0.0f, 0.0f, -0.0017513313f, -0.21286683f, 0.7161546f, -3.4914098f, -0.017683463f, 0.0f,
    0.0f, 0.18910588f, -1.3854953f, -0.049631137f, -4.1272306f, -0.031861715f, 0.0f, 0.0f,
    -0.014189258f, 0.16818526f, 2.1989f, -0.89297056f, -0.0036213098f, 0.0f, 0.0f, 0.84175146f,
    0.21559684f, 2.748942f, -0.8725533f, 3.1393657f, 0.0f, 0.0f, 0.42898437f, 0.90347767f,
    0.36870757f, -1.4163474f, -0.009497702f, 0.0f, 0.0f, 0.078664556f, -1.6589464f, 0.5253747f,
    0.061119847f, 0.15862489f, 0.0f, 0.0f, 0.0012591352f, -0.123000056f, -0.62871313f, -0.4602129f,
    -0.7449976f, 0.0f, 0.0f, 0.0051365993f, 0.63957417f, -1.0828851f, -0.4065337f, 0.012406768f,
    0.0f, 0.0f, 0.049673937f, 0.0f, 0.0f, -0.005134435f, 0.3778131f, 0.78629094f,
    -1.5445836f, -0.010211849f, 0.0f, 0.0f, -2.2513742f, -0.5120771f, -2.4159296f, 0.23726676f,
    3.1316645f, 0.0f, 0.0f, 0.35182428f, -0.39948943f, 9.877344f, -0.8212506f, 0.04134932f,
    0.0f, 0.0f, -4.760072e-5f, -0.62677234f, -0.9816695f, 2.617992f, 0.036640067f, 0.0f,
    0.0f, -0.4326812f, 0.090793036f, 0.6556721f, 1.5820116f, -0.116292596f, 0.0f, 0.0f,
    0.05317572f, -0.032422837f, -0.47093448f, -1.7946743f, -0.12192561f, 0.0f, 0.0f, -0.06590431f,
    -0.41669598f, -0.80020684f, 1.6494601f, 0.1689901f, 0.0f, 0.0f, 0.16869628f, 1.0052005f,
    -0.12529662f, -0.2596836f, 0.7897171f, 0.0f, 0.0f, -0.0046150344f, 0.0f, 0.0f,
    0.0f,
};
static const float pendulum_angle_after_output_weights[4] = {
    0.006727868f, -0.4509024f, 1.0f, 0.011862692f,
};

/* a * b + c, rounded once: by the processor, if the compiler says that it can. Otherwise the product is exact in a double, and the
   sum may be rounded again unless it lies halfway between two floats, or is small; there it is rounded to odd first. To do without, for values within about 1e-6, compile with
   -D'PENDULUM_ANGLE_AFTER_FMA(a,b,c)=((a)*(b)+(c))'. */
#ifndef PENDULUM_ANGLE_AFTER_FMA
#ifdef __FP_FAST_FMAF
#define PENDULUM_ANGLE_AFTER_FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define PENDULUM_ANGLE_AFTER_FMA(a, b, c) pendulum_angle_after_fma((a), (b), (c))
static float pendulum_angle_after_fma(float a, float b, float c) {
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
static float pendulum_angle_after_affine(const float *row, const float *x, int n) {
    float sum = row[n];
    int i;
    for (i = 0; i < n; i++) sum = PENDULUM_ANGLE_AFTER_FMA(row[i], x[i], sum);
    return sum;
}

static float pendulum_angle_after_clip(float u) {
    return u > PENDULUM_ANGLE_AFTER_CLIP ? PENDULUM_ANGLE_AFTER_CLIP : u < -PENDULUM_ANGLE_AFTER_CLIP ? -PENDULUM_ANGLE_AFTER_CLIP : u;
}

static float pendulum_angle_after_between(float low, float x, float high) {
    x = low > x ? low : x;
    return high < x ? high : x;
}

static float pendulum_angle_after_polynomial(const float *coefficients, int n, float x) {
    float y = coefficients[n - 1];
    for (n -= 2; n >= 0; n--) y = PENDULUM_ANGLE_AFTER_FMA(y, x, coefficients[n]);
    return y;
}

typedef union { float value; uint32_t bits; } pendulum_angle_after_bits;

/* 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits of the sum. */
#define PENDULUM_ANGLE_AFTER_MAGIC 12582912.0f

static float pendulum_angle_after_activation(float u) {
    static const float p[5] = {
        -0.16666667f, 0.008333351f, -0.00019843104f, 2.7628325e-6f, -2.5539649e-8f
    };
    pendulum_angle_after_bits t;
    float n, r, square, cube, y;
    t.value = PENDULUM_ANGLE_AFTER_FMA(u, 0.31830987f, PENDULUM_ANGLE_AFTER_MAGIC);
    n = PENDULUM_ANGLE_AFTER_MAGIC - t.value;
    r = PENDULUM_ANGLE_AFTER_FMA(n, 3.1415927f, u);
    r = PENDULUM_ANGLE_AFTER_FMA(n, -8.742278e-8f, r);
    r = PENDULUM_ANGLE_AFTER_FMA(n, -3.430249e-15f, r);
    r = pendulum_angle_after_between(-1.6f, r, 1.6f);
    square = r * r;
    cube = r * square;
    y = PENDULUM_ANGLE_AFTER_FMA(pendulum_angle_after_polynomial(p, 5, square), cube, r);
    return t.bits & 1u ? -y : y;
}

/* Model inputs to outputs after some iterations: z becomes z + W2 s(W1 z + b1) + b2. */
static void pendulum_angle_after_network(const float *x, int iterations, float *f) {
    float z[PENDULUM_ANGLE_AFTER_Q], next[PENDULUM_ANGLE_AFTER_Q];
    int t, j, k;
    for (k = 0; k < PENDULUM_ANGLE_AFTER_Q; k++) z[k] = pendulum_angle_after_affine(pendulum_angle_after_input_weights + k * (PENDULUM_ANGLE_AFTER_D + 1), x, PENDULUM_ANGLE_AFTER_D);
    for (t = 0; t < iterations; t++) {
        const float *unit = pendulum_angle_after_block_weights + t * PENDULUM_ANGLE_AFTER_STEP;
        const float *b2 = unit + PENDULUM_ANGLE_AFTER_R * (2 * PENDULUM_ANGLE_AFTER_Q + 1);
        for (k = 0; k < PENDULUM_ANGLE_AFTER_Q; k++) next[k] = z[k] + b2[k];
        for (j = 0; j < PENDULUM_ANGLE_AFTER_R; j++, unit += 2 * PENDULUM_ANGLE_AFTER_Q + 1) {
            const float h = pendulum_angle_after_activation(pendulum_angle_after_affine(unit, z, PENDULUM_ANGLE_AFTER_Q));
            for (k = 0; k < PENDULUM_ANGLE_AFTER_Q; k++) next[k] = PENDULUM_ANGLE_AFTER_FMA(unit[PENDULUM_ANGLE_AFTER_Q + 1 + k], h, next[k]);
        }
        for (k = 0; k < PENDULUM_ANGLE_AFTER_Q; k++) z[k] = next[k];
    }
    for (k = 0; k < PENDULUM_ANGLE_AFTER_OUTPUTS; k++) {
        f[k] = pendulum_angle_after_clip(pendulum_angle_after_affine(pendulum_angle_after_output_weights + k * (PENDULUM_ANGLE_AFTER_Q + 1), z, PENDULUM_ANGLE_AFTER_Q));
    }
}

/* A number in model units from its shift, scale and median; 1 if it is too extreme to be one. */
static int pendulum_angle_after_number(double v, const double *number, float *to) {
    v = ((v != v ? number[2] : v) - number[0]) / number[1];
    if (!(v > -3.4028235677973366e38 && v < 3.4028235677973366e38)) return 1;
    *to = (float)v;
    return 0;
}

static const double pendulum_angle_after_scales[2][3] = {
    {1.1228329651517633e-16, 1.1809437324333254, 0.0},
    {6.315935428978668e-17, 1.1809437324333254, 0.0},
};

/* Model inputs of a row; 2 if a number is too extreme, 1 if it lies outside the box of a density. */
static int pendulum_angle_after_read(const pendulum_angle_after_input *input, float *x) {
    int status = 0;
    status |= 2 * pendulum_angle_after_number(input->angle, pendulum_angle_after_scales[0], x + 0);
    status |= 2 * pendulum_angle_after_number(input->speed, pendulum_angle_after_scales[1], x + 1);
    return status;
}

/* Not a number, and infinity. */
static const union { uint64_t bits; double value; } pendulum_angle_after_special[2] = {{(uint64_t)0x7ff8 << 48}, {(uint64_t)0x7ff0 << 48}};
#define PENDULUM_ANGLE_AFTER_NO_NUMBER (pendulum_angle_after_special[0].value)
#define PENDULUM_ANGLE_AFTER_INFINITY (pendulum_angle_after_special[1].value)

static double pendulum_angle_after_after(const pendulum_angle_after_input *input, int iterations) {
    float x[PENDULUM_ANGLE_AFTER_D], f[PENDULUM_ANGLE_AFTER_OUTPUTS];
    double y;
    if (pendulum_angle_after_read(input, x)) return PENDULUM_ANGLE_AFTER_NO_NUMBER;
    pendulum_angle_after_network(x, iterations, f);
    y = -5.614164825758816e-17 + 0.45999398193603314 * (double)f[0];
    return y < -1.4006224272055656 ? -1.4006224272055656 : y > 1.4006224272055656 ? 1.4006224272055656 : y;
}

double pendulum_angle_after_evaluate(const pendulum_angle_after_input *input) { return pendulum_angle_after_after(input, PENDULUM_ANGLE_AFTER_ITERATIONS); }

float pendulum_angle_after_predict(const float *x) {
    pendulum_angle_after_input input;
    input.angle = x[0];
    input.speed = x[1];
    return (float)pendulum_angle_after_evaluate(&input);
}
