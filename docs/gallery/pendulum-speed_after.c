#include "pendulum-speed_after.h"
#include <stdint.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

const char *const pendulum_speed_after_columns[PENDULUM_SPEED_AFTER_COLUMNS] = {"angle", "speed"};

#define PENDULUM_SPEED_AFTER_D 2
#define PENDULUM_SPEED_AFTER_Q 3
#define PENDULUM_SPEED_AFTER_OUTPUTS 1
#define PENDULUM_SPEED_AFTER_R 24
#define PENDULUM_SPEED_AFTER_STEP 0
#define PENDULUM_SPEED_AFTER_CLIP 8.0f

static const float pendulum_speed_after_input_weights[9] = {
    1.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f,
    0.0f,
};
static const float pendulum_speed_after_block_weights[171] = {
    1.8931811f, 0.06546881f, -0.2462527f, -3.1415172f, 0.0f, 0.0f, -2.13043f, 0.4884059f,
    -0.24622853f, -0.21711712f, -0.00044546797f, 0.0f, 0.0f, 4.527267f, 1.0086467f, 0.5693335f,
    0.1914408f, -0.0006861351f, 0.0f, 0.0f, 0.75076115f, -2.2364523f, 0.343979f, -0.0013399229f,
    -0.0022560486f, 0.0f, 0.0f, 0.18644992f, 0.51225096f, 0.47376108f, -0.09061133f, 0.00049142446f,
    0.0f, 0.0f, 1.8553373f, 1.2737806f, 0.06672311f, 0.90750444f, -0.0047977953f, 0.0f,
    0.0f, 0.27673674f, -3.8314972f, -0.4249973f, 1.2376597f, -3.1409876f, 0.0f, 0.0f,
    -0.048547946f, -0.46102235f, -0.035976283f, -1.0261225f, 3.1460094f, 0.0f, 0.0f, -0.32381606f,
    0.2859441f, 1.702048f, -0.04375862f, 0.00073657243f, 0.0f, 0.0f, -0.092237905f, -0.34233657f,
    -2.8600154f, -1.1835698f, -3.067582f, 0.0f, 0.0f, -0.00012820795f, 1.2869973f, -2.131806f,
    -0.45925695f, 0.002103282f, 0.0f, 0.0f, 0.01189756f, 0.33536595f, -1.2349819f, -0.33482167f,
    0.78447235f, 0.0f, 0.0f, 0.043534365f, 0.114489645f, 1.6396744f, 0.037758235f, 1.5142568f,
    0.0f, 0.0f, 0.00057335495f, -0.62691176f, -1.7615845f, -0.035426665f, 0.0023547048f, 0.0f,
    0.0f, -0.08068571f, 0.7470614f, 1.2022661f, 0.50566983f, -0.20829801f, 0.0f, 0.0f,
    0.0032769612f, -0.85101676f, 0.6928282f, 2.5858915f, -0.8557888f, 0.0f, 0.0f, -1.7344171e-6f,
    -1.2587214f, -1.4757234f, -1.9486529f, 0.6213553f, 0.0f, 0.0f, 4.329727e-5f, 0.32872528f,
    -1.241042f, -0.3244168f, -0.7530647f, 0.0f, 0.0f, 0.045721028f, 1.9805123f, 0.9749841f,
    0.120522335f, -0.007679414f, 0.0f, 0.0f, -0.13527606f, 1.0316966f, -1.3926364f, -1.5161055f,
    -1.2904059f, 0.0f, 0.0f, -0.00015038106f, -1.212355f, 1.5583336f, 1.6560241f, -0.33317357f,
    0.0f, 0.0f, 0.00044872772f, -0.20739755f, -0.023538861f, -1.2494887f, 0.0053993096f, 0.0f,
    0.0f, -0.02415935f, 1.3891488f, -1.3943392f, -0.5175315f, -0.003908364f, 0.0f, 0.0f,
    -0.05461946f, -2.1170166f, -0.9776909f, -0.9845671f, 0.8755479f, 0.0f, 0.0f, 9.091158e-5f,
    0.0f, 0.0f, 0.0004395582f,
};
static const float pendulum_speed_after_output_weights[4] = {
    -3.3728535f, 0.30131903f, 1.0f, 0.00045384743f,
};

/* a * b + c, rounded once: by the processor, if the compiler says that it can. Otherwise the product is exact in a double, and the
   sum may be rounded again unless it lies halfway between two floats, or is small; there it is rounded to odd first. To do without, for values within about 1e-6, compile with
   -D'PENDULUM_SPEED_AFTER_FMA(a,b,c)=((a)*(b)+(c))'. */
#ifndef PENDULUM_SPEED_AFTER_FMA
#ifdef __FP_FAST_FMAF
#define PENDULUM_SPEED_AFTER_FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define PENDULUM_SPEED_AFTER_FMA(a, b, c) pendulum_speed_after_fma((a), (b), (c))
static float pendulum_speed_after_fma(float a, float b, float c) {
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
static float pendulum_speed_after_affine(const float *row, const float *x, int n) {
    float sum = row[n];
    int i;
    for (i = 0; i < n; i++) sum = PENDULUM_SPEED_AFTER_FMA(row[i], x[i], sum);
    return sum;
}

static float pendulum_speed_after_clip(float u) {
    return u > PENDULUM_SPEED_AFTER_CLIP ? PENDULUM_SPEED_AFTER_CLIP : u < -PENDULUM_SPEED_AFTER_CLIP ? -PENDULUM_SPEED_AFTER_CLIP : u;
}

static float pendulum_speed_after_between(float low, float x, float high) {
    x = low > x ? low : x;
    return high < x ? high : x;
}

static float pendulum_speed_after_polynomial(const float *coefficients, int n, float x) {
    float y = coefficients[n - 1];
    for (n -= 2; n >= 0; n--) y = PENDULUM_SPEED_AFTER_FMA(y, x, coefficients[n]);
    return y;
}

typedef union { float value; uint32_t bits; } pendulum_speed_after_bits;

/* 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits of the sum. */
#define PENDULUM_SPEED_AFTER_MAGIC 12582912.0f

static float pendulum_speed_after_activation(float u) {
    static const float p[5] = {
        -0.16666667f, 0.008333351f, -0.00019843104f, 2.7628325e-6f, -2.5539649e-8f
    };
    pendulum_speed_after_bits t;
    float n, r, square, cube, y;
    t.value = PENDULUM_SPEED_AFTER_FMA(u, 0.31830987f, PENDULUM_SPEED_AFTER_MAGIC);
    n = PENDULUM_SPEED_AFTER_MAGIC - t.value;
    r = PENDULUM_SPEED_AFTER_FMA(n, 3.1415927f, u);
    r = PENDULUM_SPEED_AFTER_FMA(n, -8.742278e-8f, r);
    r = PENDULUM_SPEED_AFTER_FMA(n, -3.430249e-15f, r);
    r = pendulum_speed_after_between(-1.6f, r, 1.6f);
    square = r * r;
    cube = r * square;
    y = PENDULUM_SPEED_AFTER_FMA(pendulum_speed_after_polynomial(p, 5, square), cube, r);
    return t.bits & 1u ? -y : y;
}

/* Model inputs to outputs after some iterations: z becomes z + W2 s(W1 z + b1) + b2. */
static void pendulum_speed_after_network(const float *x, int iterations, float *f) {
    float z[PENDULUM_SPEED_AFTER_Q], next[PENDULUM_SPEED_AFTER_Q];
    int t, j, k;
    for (k = 0; k < PENDULUM_SPEED_AFTER_Q; k++) z[k] = pendulum_speed_after_affine(pendulum_speed_after_input_weights + k * (PENDULUM_SPEED_AFTER_D + 1), x, PENDULUM_SPEED_AFTER_D);
    for (t = 0; t < iterations; t++) {
        const float *unit = pendulum_speed_after_block_weights + t * PENDULUM_SPEED_AFTER_STEP;
        const float *b2 = unit + PENDULUM_SPEED_AFTER_R * (2 * PENDULUM_SPEED_AFTER_Q + 1);
        for (k = 0; k < PENDULUM_SPEED_AFTER_Q; k++) next[k] = z[k] + b2[k];
        for (j = 0; j < PENDULUM_SPEED_AFTER_R; j++, unit += 2 * PENDULUM_SPEED_AFTER_Q + 1) {
            const float h = pendulum_speed_after_activation(pendulum_speed_after_affine(unit, z, PENDULUM_SPEED_AFTER_Q));
            for (k = 0; k < PENDULUM_SPEED_AFTER_Q; k++) next[k] = PENDULUM_SPEED_AFTER_FMA(unit[PENDULUM_SPEED_AFTER_Q + 1 + k], h, next[k]);
        }
        for (k = 0; k < PENDULUM_SPEED_AFTER_Q; k++) z[k] = next[k];
    }
    for (k = 0; k < PENDULUM_SPEED_AFTER_OUTPUTS; k++) {
        f[k] = pendulum_speed_after_clip(pendulum_speed_after_affine(pendulum_speed_after_output_weights + k * (PENDULUM_SPEED_AFTER_Q + 1), z, PENDULUM_SPEED_AFTER_Q));
    }
}

/* A number in model units from its shift, scale and median; 1 if it is too extreme to be one. */
static int pendulum_speed_after_number(double v, const double *number, float *to) {
    v = ((v != v ? number[2] : v) - number[0]) / number[1];
    if (!(v > -3.4028235677973366e38 && v < 3.4028235677973366e38)) return 1;
    *to = (float)v;
    return 0;
}

static const double pendulum_speed_after_scales[2][3] = {
    {1.1228329651517633e-16, 1.1809437324333254, 0.0},
    {6.315935428978668e-17, 1.1809437324333254, 0.0},
};

/* Model inputs of a row; 2 if a number is too extreme, 1 if it lies outside the box of a density. */
static int pendulum_speed_after_read(const pendulum_speed_after_input *input, float *x) {
    int status = 0;
    status |= 2 * pendulum_speed_after_number(input->angle, pendulum_speed_after_scales[0], x + 0);
    status |= 2 * pendulum_speed_after_number(input->speed, pendulum_speed_after_scales[1], x + 1);
    return status;
}

/* Not a number, and infinity. */
static const union { uint64_t bits; double value; } pendulum_speed_after_special[2] = {{(uint64_t)0x7ff8 << 48}, {(uint64_t)0x7ff0 << 48}};
#define PENDULUM_SPEED_AFTER_NO_NUMBER (pendulum_speed_after_special[0].value)
#define PENDULUM_SPEED_AFTER_INFINITY (pendulum_speed_after_special[1].value)

static double pendulum_speed_after_after(const pendulum_speed_after_input *input, int iterations) {
    float x[PENDULUM_SPEED_AFTER_D], f[PENDULUM_SPEED_AFTER_OUTPUTS];
    double y;
    if (pendulum_speed_after_read(input, x)) return PENDULUM_SPEED_AFTER_NO_NUMBER;
    pendulum_speed_after_network(x, iterations, f);
    y = 0.0 + 1.9751735662913545 * (double)f[0];
    return y < -3.7343281265338626 ? -3.7343281265338626 : y > 3.7343281265338626 ? 3.7343281265338626 : y;
}

double pendulum_speed_after_evaluate(const pendulum_speed_after_input *input) { return pendulum_speed_after_after(input, PENDULUM_SPEED_AFTER_ITERATIONS); }

float pendulum_speed_after_predict(const float *x) {
    pendulum_speed_after_input input;
    input.angle = x[0];
    input.speed = x[1];
    return (float)pendulum_speed_after_evaluate(&input);
}
