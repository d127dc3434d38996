#include "arm-elbow.h"
#include <stdint.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

const char *const arm_elbow_columns[ARM_ELBOW_COLUMNS] = {"x", "y"};

#define ARM_ELBOW_D 2
#define ARM_ELBOW_Q 4
#define ARM_ELBOW_OUTPUTS 1
#define ARM_ELBOW_R 6
#define ARM_ELBOW_STEP 58
#define ARM_ELBOW_CLIP 8.0f

static const float arm_elbow_input_weights[12] = {
    1.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f,
    0.0f, 0.0f, 0.0f, 0.0f,
};
static const float arm_elbow_block_weights[174] = {
    0.4124293f, -0.62942916f, 0.0f, 0.0f, -0.3588307f, 0.0f, 0.0f, -1.0944135f,
    0.27257395f, -0.08946722f, 0.22730914f, 0.0f, 0.0f, 0.36430255f, 0.0f, 0.0f,
    0.011702158f, -0.73191535f, 0.56127733f, 0.1521854f, 0.0f, 0.0f, -0.3389714f, 0.0f,
    0.0f, -0.95651335f, 0.42691556f, 0.667764f, 0.25590342f, 0.0f, 0.0f, 0.9553761f,
    0.0f, 0.0f, -0.1586495f, -0.8226574f, -0.20981836f, 1.2211409f, 0.0f, 0.0f,
    0.43774778f, 0.0f, 0.0f, -0.20903437f, 0.8923401f, 0.51690334f, 0.056980286f, 0.0f,
    0.0f, -0.22856164f, 0.0f, 0.0f, -1.175787f, 0.694931f, 0.0f, 0.0f,
    0.21394601f, -0.21617064f, 0.12739934f, -0.96704036f, 0.615586f, -0.6083694f, -0.10235406f, 0.0f,
    0.0f, -0.7219523f, -0.23851182f, 0.5696941f, 1.7155222f, 0.29447046f, 0.5345829f, 1.3038507f,
    0.0f, 0.0f, -0.28677735f, -0.25609574f, -1.0986544f, -0.16539146f, -0.5364157f, 0.37234455f,
    0.4475091f, 0.0f, 0.0f, 0.2248224f, -0.31551883f, -0.77131295f, -1.0939082f, 0.23121697f,
    -1.1827192f, -0.13274619f, 0.0f, 0.0f, 0.18005273f, 1.0227581f, 0.49471533f, 0.020550758f,
    -0.13946313f, 0.5834169f, -0.6097879f, 0.0f, 0.0f, -0.36147222f, 3.0007575f, -0.27542508f,
    -0.45211548f, 0.38135096f, -0.9158026f, -0.5612254f, 0.0f, 0.0f, -0.32247058f, -1.6269647f,
    0.0f, 0.0f, 0.10415159f, -0.13754807f, -0.6408456f, -0.18546808f, -0.82542855f, 0.9195835f,
    0.18933171f, 0.0f, 0.0f, -0.93862486f, -2.7861502e-13f, -0.10287669f, -0.021693464f, -0.17177357f,
    2.3184154f, -0.76301026f, 0.0f, 0.0f, -1.7990212f, 1.4407528e-13f, 0.62395f, 0.20567076f,
    1.5776317f, 1.8669316f, -0.47866443f, 0.0f, 0.0f, 0.4782932f, -1.658037e-13f, -0.39823073f,
    -1.6275198f, -0.45241255f, -0.21407878f, 0.01141399f, 0.0f, 0.0f, -0.19392438f, 7.0827784e-14f,
    0.36736155f, -1.2665027f, -0.2756096f, 0.42409375f, 0.16960008f, 0.0f, 0.0f, -0.18054217f,
    -3.78082e-13f, -0.089296356f, -0.21106805f, 0.4849845f, -0.12069687f, 0.21561481f, 0.0f, 0.0f,
    0.27772176f, 5.098552e-13f, 0.0f, 0.0f, 0.0f, 0.0f,
};
static const float arm_elbow_output_weights[5] = {
    0.008266857f, -0.29613885f, 1.0f, 0.0f, 0.11445223f,
};

/* a * b + c, rounded once: by the processor, if the compiler says that it can. Otherwise the product is exact in a double, and the
   sum may be rounded again unless it lies halfway between two floats, or is small; there it is rounded to odd first. To do without, for values within about 1e-6, compile with
   -D'ARM_ELBOW_FMA(a,b,c)=((a)*(b)+(c))'. */
#ifndef ARM_ELBOW_FMA
#ifdef __FP_FAST_FMAF
#define ARM_ELBOW_FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define ARM_ELBOW_FMA(a, b, c) arm_elbow_fma((a), (b), (c))
static float arm_elbow_fma(float a, float b, float c) {
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
static float arm_elbow_affine(const float *row, const float *x, int n) {
    float sum = row[n];
    int i;
    for (i = 0; i < n; i++) sum = ARM_ELBOW_FMA(row[i], x[i], sum);
    return sum;
}

static float arm_elbow_clip(float u) {
    return u > ARM_ELBOW_CLIP ? ARM_ELBOW_CLIP : u < -ARM_ELBOW_CLIP ? -ARM_ELBOW_CLIP : u;
}

static float arm_elbow_between(float low, float x, float high) {
    x = low > x ? low : x;
    return high < x ? high : x;
}

static float arm_elbow_polynomial(const float *coefficients, int n, float x) {
    float y = coefficients[n - 1];
    for (n -= 2; n >= 0; n--) y = ARM_ELBOW_FMA(y, x, coefficients[n]);
    return y;
}

typedef union { float value; uint32_t bits; } arm_elbow_bits;

/* 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits of the sum. */
#define ARM_ELBOW_MAGIC 12582912.0f

/* e^x within two units in the last place, x held to [-87, 88]. */
static float arm_elbow_exp(float x) {
    static const float p[6] = {
        0.5f, 1.6666665e-1f, 4.1665796e-2f, 8.333452e-3f, 1.3982e-3f, 1.9875692e-4f
    };
    arm_elbow_bits t, y;
    float n, r;
    x = arm_elbow_between(-87.0f, x, 88.0f);
    t.value = ARM_ELBOW_FMA(x, 1.442695f, ARM_ELBOW_MAGIC);
    n = t.value - ARM_ELBOW_MAGIC;
    r = ARM_ELBOW_FMA(n, -0.6933594f, x);
    r = ARM_ELBOW_FMA(n, 2.1219444e-4f, r);
    y.value = ARM_ELBOW_FMA(arm_elbow_polynomial(p, 6, r), r * r, r) + 1.0f;
    y.bits += t.bits << 23;
    return y.value;
}

static float arm_elbow_activation(float u) {
    const float sigmoid = 1.0f / (1.0f + arm_elbow_exp(0.0f - u));
    return (-88.0f > u ? -88.0f : u) * sigmoid;
}

/* Model inputs to outputs after some iterations: z becomes z + W2 s(W1 z + b1) + b2. */
static void arm_elbow_network(const float *x, int iterations, float *f) {
    float z[ARM_ELBOW_Q], next[ARM_ELBOW_Q];
    int t, j, k;
    for (k = 0; k < ARM_ELBOW_Q; k++) z[k] = arm_elbow_affine(arm_elbow_input_weights + k * (ARM_ELBOW_D + 1), x, ARM_ELBOW_D);
    for (t = 0; t < iterations; t++) {
        const float *unit = arm_elbow_block_weights + t * ARM_ELBOW_STEP;
        const float *b2 = unit + ARM_ELBOW_R * (2 * ARM_ELBOW_Q + 1);
        for (k = 0; k < ARM_ELBOW_Q; k++) next[k] = z[k] + b2[k];
        for (j = 0; j < ARM_ELBOW_R; j++, unit += 2 * ARM_ELBOW_Q + 1) {
            const float h = arm_elbow_activation(arm_elbow_affine(unit, z, ARM_ELBOW_Q));
            for (k = 0; k < ARM_ELBOW_Q; k++) next[k] = ARM_ELBOW_FMA(unit[ARM_ELBOW_Q + 1 + k], h, next[k]);
        }
        for (k = 0; k < ARM_ELBOW_Q; k++) z[k] = next[k];
    }
    for (k = 0; k < ARM_ELBOW_OUTPUTS; k++) {
        f[k] = arm_elbow_clip(arm_elbow_affine(arm_elbow_output_weights + k * (ARM_ELBOW_Q + 1), z, ARM_ELBOW_Q));
    }
}

/* A number in model units from its shift, scale and median; 1 if it is too extreme to be one. */
static int arm_elbow_number(double v, const double *number, float *to) {
    v = ((v != v ? number[2] : v) - number[0]) / number[1];
    if (!(v > -3.4028235677973366e38 && v < 3.4028235677973366e38)) return 1;
    *to = (float)v;
    return 0;
}

static const double arm_elbow_scales[2][3] = {
    {0.9, 0.29523593310833135, 0.8999999999999999},
    {3.157967714489334e-17, 0.5904718662166627, 0.0},
};

/* Model inputs of a row; 2 if a number is too extreme, 1 if it lies outside the box of a density. */
static int arm_elbow_read(const arm_elbow_input *input, float *x) {
    int status = 0;
    status |= 2 * arm_elbow_number(input->x, arm_elbow_scales[0], x + 0);
    status |= 2 * arm_elbow_number(input->y, arm_elbow_scales[1], x + 1);
    return status;
}

/* Not a number, and infinity. */
static const union { uint64_t bits; double value; } arm_elbow_special[2] = {{(uint64_t)0x7ff8 << 48}, {(uint64_t)0x7ff0 << 48}};
#define ARM_ELBOW_NO_NUMBER (arm_elbow_special[0].value)
#define ARM_ELBOW_INFINITY (arm_elbow_special[1].value)

static double arm_elbow_after(const arm_elbow_input *input, int iterations) {
    float x[ARM_ELBOW_D], f[ARM_ELBOW_OUTPUTS];
    double y;
    if (arm_elbow_read(input, x)) return ARM_ELBOW_NO_NUMBER;
    arm_elbow_network(x, iterations, f);
    y = 1.8427440142040648 + 0.43002537567097493 * (double)f[0];
    return y < 0.6005941268660512 ? 0.6005941268660512 : y > 2.751831920792318 ? 2.751831920792318 : y;
}

double arm_elbow_evaluate(const arm_elbow_input *input) { return arm_elbow_after(input, ARM_ELBOW_ITERATIONS); }

float arm_elbow_predict(const float *x) {
    arm_elbow_input input;
    input.x = x[0];
    input.y = x[1];
    return (float)arm_elbow_evaluate(&input);
}
