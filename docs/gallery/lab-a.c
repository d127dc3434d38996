#include "lab-a.h"
#include <stdint.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

const char *const lab_a_columns[LAB_A_COLUMNS] = {"r", "g", "b"};

#define LAB_A_D 3
#define LAB_A_Q 4
#define LAB_A_OUTPUTS 1
#define LAB_A_R 20
#define LAB_A_STEP 0
#define LAB_A_CLIP 8.0f

static const float lab_a_input_weights[16] = {
    0.0f, 1.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f,
    0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f,
};
static const float lab_a_block_weights[184] = {
    0.030382048f, 0.5531634f, 0.46586758f, 2.7294848f, 0.8100985f, 0.0f, 0.0f, 0.0f,
    0.30709773f, -0.00011185526f, 0.5532965f, 0.5195512f, -0.33420378f, 2.062011f, 0.0f, 0.0f,
    0.0f, -0.098397784f, -1.6835496f, 0.06947523f, 0.08070012f, 0.5193515f, -3.4936554f, 0.0f,
    0.0f, 0.0f, -0.14884892f, 0.36715177f, 0.66644627f, -0.6096053f, -2.104885f, 0.15836218f,
    0.0f, 0.0f, 0.0f, 0.22402242f, -0.8606894f, 0.39841178f, 0.28890985f, 1.0290937f,
    -0.18422551f, 0.0f, 0.0f, 0.0f, 0.07486652f, -0.8207938f, 0.8676597f, 0.4032029f,
    3.358325f, 0.59610885f, 0.0f, 0.0f, 0.0f, -0.12349254f, -0.56456167f, -1.1686625f,
    1.0254169f, 2.6927536f, -0.941836f, 0.0f, 0.0f, 0.0f, 0.022881012f, 0.97681755f,
    -0.32596794f, -0.0934338f, -0.9394755f, 1.0131086f, 0.0f, 0.0f, 0.0f, -0.10548699f,
    -0.30462435f, 0.17291933f, -0.066794805f, 0.5402326f, 0.044238366f, 0.0f, 0.0f, 0.0f,
    -0.16708076f, -0.24885377f, -0.6020766f, -0.15788123f, -0.02664352f, -0.6947542f, 0.0f, 0.0f,
    0.0f, -0.07046029f, -0.21932912f, -0.72936875f, 0.06727943f, -0.22781865f, -1.1455694f, 0.0f,
    0.0f, 0.0f, 0.11132068f, 1.0692527f, 0.14970767f, 0.2001403f, 1.1086847f, 0.05193579f,
    0.0f, 0.0f, 0.0f, -0.015470447f, 0.07135058f, 0.03486379f, -0.8008194f, -0.18835056f,
    -1.0663828f, 0.0f, 0.0f, 0.0f, 0.030064872f, -1.3876277f, -0.21459262f, -0.11962416f,
    -0.094266206f, -2.4089494f, 0.0f, 0.0f, 0.0f, 0.104094714f, 1.613174f, 1.5691918f,
    0.6874515f, 1.6726235f, 3.1527286f, 0.0f, 0.0f, 0.0f, 0.07015586f, -1.8462359f,
    -0.406753f, -0.2382918f, -0.14327268f, -2.8554523f, 0.0f, 0.0f, 0.0f, -0.021203581f,
    -1.8597434f, 0.60742134f, 0.07090625f, 0.023454739f, -2.5597866f, 0.0f, 0.0f, 0.0f,
    -0.009908488f, 1.0462897f, -0.37029684f, 0.026649132f, -0.7487927f, 0.7832824f, 0.0f, 0.0f,
    0.0f, 0.044792775f, -1.4049197f, -1.435043f, -0.72679675f, -2.2319891f, -2.780784f, 0.0f,
    0.0f, 0.0f, 0.10692015f, -0.16620792f, -0.34153357f, 0.65121007f, -2.6624222f, 0.9152624f,
    0.0f, 0.0f, 0.0f, 0.023734817f, 0.0f, 0.0f, 0.0f, 0.30096895f,
};
static const float lab_a_output_weights[5] = {
    -0.8133458f, 0.33822092f, 0.30223903f, 1.0f, -1.1934528f,
};

/* a * b + c, rounded once: by the processor, if the compiler says that it can. Otherwise the product is exact in a double, and the
   sum may be rounded again unless it lies halfway between two floats, or is small; there it is rounded to odd first. To do without, for values within about 1e-6, compile with
   -D'LAB_A_FMA(a,b,c)=((a)*(b)+(c))'. */
#ifndef LAB_A_FMA
#ifdef __FP_FAST_FMAF
#define LAB_A_FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define LAB_A_FMA(a, b, c) lab_a_fma((a), (b), (c))
static float lab_a_fma(float a, float b, float c) {
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
static float lab_a_affine(const float *row, const float *x, int n) {
    float sum = row[n];
    int i;
    for (i = 0; i < n; i++) sum = LAB_A_FMA(row[i], x[i], sum);
    return sum;
}

static float lab_a_clip(float u) {
    return u > LAB_A_CLIP ? LAB_A_CLIP : u < -LAB_A_CLIP ? -LAB_A_CLIP : u;
}

static float lab_a_between(float low, float x, float high) {
    x = low > x ? low : x;
    return high < x ? high : x;
}

static float lab_a_polynomial(const float *coefficients, int n, float x) {
    float y = coefficients[n - 1];
    for (n -= 2; n >= 0; n--) y = LAB_A_FMA(y, x, coefficients[n]);
    return y;
}

static float lab_a_activation(float u) {
    static const float p[5] = {1.0f, 0.13379699f, 0.0034940126f, 2.058313e-5f, 1.3318608e-8f};
    static const float q[5] = {1.0f, 0.46713015f, 0.02587099f, 0.00032830573f, 7.761824e-7f};
    const float x = lab_a_between(-9.02f, u, 9.02f);
    const float square = x * x;
    const float above = x * lab_a_polynomial(p, 5, square);
    return lab_a_between(-1.0f, above / lab_a_polynomial(q, 5, square), 1.0f);
}

/* Model inputs to outputs after some iterations: z becomes z + W2 s(W1 z + b1) + b2. */
static void lab_a_network(const float *x, int iterations, float *f) {
    float z[LAB_A_Q], next[LAB_A_Q];
    int t, j, k;
    for (k = 0; k < LAB_A_Q; k++) z[k] = lab_a_affine(lab_a_input_weights + k * (LAB_A_D + 1), x, LAB_A_D);
    for (t = 0; t < iterations; t++) {
        const float *unit = lab_a_block_weights + t * LAB_A_STEP;
        const float *b2 = unit + LAB_A_R * (2 * LAB_A_Q + 1);
        for (k = 0; k < LAB_A_Q; k++) next[k] = z[k] + b2[k];
        for (j = 0; j < LAB_A_R; j++, unit += 2 * LAB_A_Q + 1) {
            const float h = lab_a_activation(lab_a_affine(unit, z, LAB_A_Q));
            for (k = 0; k < LAB_A_Q; k++) next[k] = LAB_A_FMA(unit[LAB_A_Q + 1 + k], h, next[k]);
        }
        for (k = 0; k < LAB_A_Q; k++) z[k] = next[k];
    }
    for (k = 0; k < LAB_A_OUTPUTS; k++) {
        f[k] = lab_a_clip(lab_a_affine(lab_a_output_weights + k * (LAB_A_Q + 1), z, LAB_A_Q));
    }
}

/* A number in model units from its shift, scale and median; 1 if it is too extreme to be one. */
static int lab_a_number(double v, const double *number, float *to) {
    v = ((v != v ? number[2] : v) - number[0]) / number[1];
    if (!(v > -3.4028235677973366e38 && v < 3.4028235677973366e38)) return 1;
    *to = (float)v;
    return 0;
}

static const double lab_a_scales[3][3] = {
    {0.5, 0.311875767953705, 0.5},
    {0.5, 0.311875767953705, 0.5},
    {0.5, 0.311875767953705, 0.5},
};

/* Model inputs of a row; 2 if a number is too extreme, 1 if it lies outside the box of a density. */
static int lab_a_read(const lab_a_input *input, float *x) {
    int status = 0;
    status |= 2 * lab_a_number(input->r, lab_a_scales[0], x + 0);
    status |= 2 * lab_a_number(input->g, lab_a_scales[1], x + 1);
    status |= 2 * lab_a_number(input->b, lab_a_scales[2], x + 2);
    return status;
}

/* Not a number, and infinity. */
static const union { uint64_t bits; double value; } lab_a_special[2] = {{(uint64_t)0x7ff8 << 48}, {(uint64_t)0x7ff0 << 48}};
#define LAB_A_NO_NUMBER (lab_a_special[0].value)
#define LAB_A_INFINITY (lab_a_special[1].value)

static double lab_a_after(const lab_a_input *input, int iterations) {
    float x[LAB_A_D], f[LAB_A_OUTPUTS];
    double y;
    if (lab_a_read(input, x)) return LAB_A_NO_NUMBER;
    lab_a_network(x, iterations, f);
    y = 7.666162992486644 + 46.11133713470954 * (double)f[0];
    return y < -86.18843409411964 ? -86.18843409411964 : y > 98.24972395765231 ? 98.24972395765231 : y;
}

double lab_a_evaluate(const lab_a_input *input) { return lab_a_after(input, LAB_A_ITERATIONS); }

float lab_a_predict(const float *x) {
    lab_a_input input;
    input.r = x[0];
    input.g = x[1];
    input.b = x[2];
    return (float)lab_a_evaluate(&input);
}
