#include "lab-L.h"
#include <stdint.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

const char *const lab_l_columns[LAB_L_COLUMNS] = {"r", "g", "b"};

#define LAB_L_D 3
#define LAB_L_Q 5
#define LAB_L_OUTPUTS 1
#define LAB_L_R 15
#define LAB_L_STEP 0
#define LAB_L_CLIP 8.0f

static const float lab_l_input_weights[20] = {
    0.0f, 1.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f,
    0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f,
    0.0f, 0.0f, 0.0f, 0.0f,
};
static const float lab_l_block_weights[170] = {
    -0.96796936f, 0.40487155f, -0.24631539f, -0.21757199f, -2.0483153f, 1.3741257f, 0.0f, 0.0f,
    0.0f, -0.010587061f, -0.31672063f, -0.07906216f, -0.61560595f, -0.16767181f, 0.63852036f, -0.34853142f,
    -0.37935674f, 0.0f, 0.0f, 0.0f, 0.22332388f, 0.018236462f, 0.34864196f, 0.007274774f,
    0.0058504264f, 1.3887784f, -0.14829163f, -0.2802102f, 0.0f, 0.0f, 0.0f, -0.22793692f,
    -0.3679748f, -0.18073411f, -0.08231317f, -0.040706668f, -3.4864473f, 0.8751987f, -0.35767934f, 0.0f,
    0.0f, 0.0f, -0.05762003f, 1.919074f, -0.018625392f, -0.39157912f, 0.2090461f, 0.4528341f,
    0.022945259f, -0.069914155f, 0.0f, 0.0f, 0.0f, 0.13356249f, -0.9910576f, 1.4837431f,
    -0.06731977f, -0.03502406f, 0.21613736f, 0.50275564f, 1.2233703f, 0.0f, 0.0f, 0.0f,
    0.25881603f, -0.37081283f, -0.16470917f, -0.21873222f, -0.008684236f, -1.2848241f, 0.07289196f, 1.270918f,
    0.0f, 0.0f, 0.0f, -0.033831913f, 0.4719376f, -0.12981819f, -0.30831409f, 0.6286807f,
    -0.51198626f, 0.045689836f, -1.0261077f, 0.0f, 0.0f, 0.0f, 0.030347936f, -0.47077963f,
    -0.8602029f, -0.3683688f, 0.21949816f, 0.21122915f, 1.24585f, 0.051975578f, 0.0f, 0.0f,
    0.0f, -0.024090433f, 0.2773651f, -0.5503094f, -0.27353424f, 1.2969766f, -0.41942334f, -0.5508494f,
    -0.07006015f, 0.0f, 0.0f, 0.0f, 0.014117626f, -0.0034065996f, -1.0969119f, 0.06033132f,
    -0.06789223f, 0.8585231f, 0.29231542f, -1.6911287f, 0.0f, 0.0f, 0.0f, 0.17690358f,
    0.62976235f, -0.39022776f, 0.72379327f, 0.5079067f, -1.1053464f, -0.38444868f, -0.3908495f, 0.0f,
    0.0f, 0.0f, 0.016545892f, 0.15829675f, -1.4561522f, 0.5043873f, 0.22450852f, 0.08416971f,
    -0.13137822f, 0.28964213f, 0.0f, 0.0f, 0.0f, 0.022589633f, -0.12666155f, -0.21456666f,
    1.3306946f, -0.10799137f, -0.35255054f, -1.2335758f, 0.7342406f, 0.0f, 0.0f, 0.0f,
    0.009253126f, -0.0704865f, -0.23787136f, -0.5061757f, -0.07088519f, -0.44193298f, -0.15614308f, 0.08265728f,
    0.0f, 0.0f, 0.0f, -0.07849695f, 0.06635603f, 0.0f, 0.0f, 0.0f,
    -0.056178797f, -0.65232915f,
};
static const float lab_l_output_weights[6] = {
    0.45390588f, 0.5440856f, 0.056404952f, 1.0f, 0.0f, -0.2731258f,
};

/* a * b + c, rounded once: by the processor, if the compiler says that it can. Otherwise the product is exact in a double, and the
   sum may be rounded again unless it lies halfway between two floats, or is small; there it is rounded to odd first. To do without, for values within about 1e-6, compile with
   -D'LAB_L_FMA(a,b,c)=((a)*(b)+(c))'. */
#ifndef LAB_L_FMA
#ifdef __FP_FAST_FMAF
#define LAB_L_FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define LAB_L_FMA(a, b, c) lab_l_fma((a), (b), (c))
static float lab_l_fma(float a, float b, float c) {
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
static float lab_l_affine(const float *row, const float *x, int n) {
    float sum = row[n];
    int i;
    for (i = 0; i < n; i++) sum = LAB_L_FMA(row[i], x[i], sum);
    return sum;
}

static float lab_l_clip(float u) {
    return u > LAB_L_CLIP ? LAB_L_CLIP : u < -LAB_L_CLIP ? -LAB_L_CLIP : u;
}

static float lab_l_between(float low, float x, float high) {
    x = low > x ? low : x;
    return high < x ? high : x;
}

static float lab_l_polynomial(const float *coefficients, int n, float x) {
    float y = coefficients[n - 1];
    for (n -= 2; n >= 0; n--) y = LAB_L_FMA(y, x, coefficients[n]);
    return y;
}

typedef union { float value; uint32_t bits; } lab_l_bits;

/* 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits of the sum. */
#define LAB_L_MAGIC 12582912.0f

/* e^x within two units in the last place, x held to [-87, 88]. */
static float lab_l_exp(float x) {
    static const float p[6] = {
        0.5f, 1.6666665e-1f, 4.1665796e-2f, 8.333452e-3f, 1.3982e-3f, 1.9875692e-4f
    };
    lab_l_bits t, y;
    float n, r;
    x = lab_l_between(-87.0f, x, 88.0f);
    t.value = LAB_L_FMA(x, 1.442695f, LAB_L_MAGIC);
    n = t.value - LAB_L_MAGIC;
    r = LAB_L_FMA(n, -0.6933594f, x);
    r = LAB_L_FMA(n, 2.1219444e-4f, r);
    y.value = LAB_L_FMA(lab_l_polynomial(p, 6, r), r * r, r) + 1.0f;
    y.bits += t.bits << 23;
    return y.value;
}

static float lab_l_activation(float u) {
    const float sigmoid = 1.0f / (1.0f + lab_l_exp(0.0f - u));
    return (-88.0f > u ? -88.0f : u) * sigmoid;
}

/* Model inputs to outputs after some iterations: z becomes z + W2 s(W1 z + b1) + b2. */
static void lab_l_network(const float *x, int iterations, float *f) {
    float z[LAB_L_Q], next[LAB_L_Q];
    int t, j, k;
    for (k = 0; k < LAB_L_Q; k++) z[k] = lab_l_affine(lab_l_input_weights + k * (LAB_L_D + 1), x, LAB_L_D);
    for (t = 0; t < iterations; t++) {
        const float *unit = lab_l_block_weights + t * LAB_L_STEP;
        const float *b2 = unit + LAB_L_R * (2 * LAB_L_Q + 1);
        for (k = 0; k < LAB_L_Q; k++) next[k] = z[k] + b2[k];
        for (j = 0; j < LAB_L_R; j++, unit += 2 * LAB_L_Q + 1) {
            const float h = lab_l_activation(lab_l_affine(unit, z, LAB_L_Q));
            for (k = 0; k < LAB_L_Q; k++) next[k] = LAB_L_FMA(unit[LAB_L_Q + 1 + k], h, next[k]);
        }
        for (k = 0; k < LAB_L_Q; k++) z[k] = next[k];
    }
    for (k = 0; k < LAB_L_OUTPUTS; k++) {
        f[k] = lab_l_clip(lab_l_affine(lab_l_output_weights + k * (LAB_L_Q + 1), z, LAB_L_Q));
    }
}

/* A number in model units from its shift, scale and median; 1 if it is too extreme to be one. */
static int lab_l_number(double v, const double *number, float *to) {
    v = ((v != v ? number[2] : v) - number[0]) / number[1];
    if (!(v > -3.4028235677973366e38 && v < 3.4028235677973366e38)) return 1;
    *to = (float)v;
    return 0;
}

static const double lab_l_scales[3][3] = {
    {0.5, 0.311875767953705, 0.5},
    {0.5, 0.311875767953705, 0.5},
    {0.5, 0.311875767953705, 0.5},
};

/* Model inputs of a row; 2 if a number is too extreme, 1 if it lies outside the box of a density. */
static int lab_l_read(const lab_l_input *input, float *x) {
    int status = 0;
    status |= 2 * lab_l_number(input->r, lab_l_scales[0], x + 0);
    status |= 2 * lab_l_number(input->g, lab_l_scales[1], x + 1);
    status |= 2 * lab_l_number(input->b, lab_l_scales[2], x + 2);
    return status;
}

/* Not a number, and infinity. */
static const union { uint64_t bits; double value; } lab_l_special[2] = {{(uint64_t)0x7ff8 << 48}, {(uint64_t)0x7ff0 << 48}};
#define LAB_L_NO_NUMBER (lab_l_special[0].value)
#define LAB_L_INFINITY (lab_l_special[1].value)

static double lab_l_after(const lab_l_input *input, int iterations) {
    float x[LAB_L_D], f[LAB_L_OUTPUTS];
    double y;
    if (lab_l_read(input, x)) return LAB_L_NO_NUMBER;
    lab_l_network(x, iterations, f);
    y = 58.15939310069395 + 21.513286319797622 * (double)f[0];
    return y < 0.0 ? 0.0 : y > 100.0 ? 100.0 : y;
}

double lab_l_evaluate(const lab_l_input *input) { return lab_l_after(input, LAB_L_ITERATIONS); }

float lab_l_predict(const float *x) {
    lab_l_input input;
    input.r = x[0];
    input.g = x[1];
    input.b = x[2];
    return (float)lab_l_evaluate(&input);
}
