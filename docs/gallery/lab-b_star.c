#include "lab-b_star.h"
#include <stdint.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

const char *const lab_b_star_columns[LAB_B_STAR_COLUMNS] = {"r", "g", "b"};

#define LAB_B_STAR_D 3
#define LAB_B_STAR_Q 5
#define LAB_B_STAR_OUTPUTS 1
#define LAB_B_STAR_R 15
#define LAB_B_STAR_STEP 0
#define LAB_B_STAR_CLIP 8.0f

static const float lab_b_star_input_weights[20] = {
    0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f,
    1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f,
    0.0f, 0.0f, 0.0f, 0.0f,
};
static const float lab_b_star_block_weights[170] = {
    2.306f, -0.15632613f, 0.03386869f, 0.4381262f, 0.28100732f, 3.2067351f, 0.0f, 0.0f,
    0.0f, -0.25918645f, -0.34262836f, 0.18368748f, 0.013701024f, -0.16430949f, 0.38791063f, -0.22137477f,
    -0.07882864f, 0.0f, 0.0f, 0.0f, -0.31918874f, 3.1653945f, -0.5751911f, -1.9451002f,
    0.27086952f, 1.5880263f, -0.7881968f, -1.6436592f, 0.0f, 0.0f, 0.0f, 0.13665396f,
    -0.27598527f, 0.2332458f, 0.47964275f, -0.88893527f, -1.6899164f, -0.79135317f, 0.8005308f, 0.0f,
    0.0f, 0.0f, 0.10356338f, -0.38706344f, 0.23591076f, 0.3526071f, 0.25467148f, 0.32542297f,
    0.15153481f, 1.2109789f, 0.0f, 0.0f, 0.0f, 1.2953784f, -0.9440186f, 1.4218838f,
    0.87445587f, 0.3982735f, 2.8117065f, -0.54335946f, 2.633624f, 0.0f, 0.0f, 0.0f,
    -0.12289833f, -0.58227473f, -0.3625526f, 0.43238303f, -0.6107558f, -0.46963722f, -0.15932243f, -0.008097398f,
    0.0f, 0.0f, 0.0f, 0.32289267f, -0.7166182f, -0.008074031f, 1.7852267f, -0.017864194f,
    -0.6759871f, 0.43460432f, 1.4661359f, 0.0f, 0.0f, 0.0f, 0.21341544f, -0.85715157f,
    0.55234176f, -1.070731f, 1.1423489f, 1.06574f, -0.62597716f, 0.353371f, 0.0f, 0.0f,
    0.0f, -0.0148073165f, -0.08339174f, 0.20468284f, 0.16961583f, 0.4084623f, 0.5709865f, 0.046786208f,
    -0.35101184f, 0.0f, 0.0f, 0.0f, -0.27582064f, 0.8720331f, -0.037213683f, -0.15452993f,
    -0.35165766f, 0.2045746f, 0.42433682f, -0.16408928f, 0.0f, 0.0f, 0.0f, 0.21032265f,
    0.24220604f, 0.46837345f, -0.35288015f, -0.3172523f, 0.9480621f, 0.06399216f, 0.3126773f, 0.0f,
    0.0f, 0.0f, 0.13991201f, -0.08719582f, -0.8142287f, 0.020514628f, -0.23331933f, -1.046228f,
    0.436952f, -0.29614824f, 0.0f, 0.0f, 0.0f, -0.21484888f, 0.4248294f, -0.16449317f,
    0.22809379f, 0.5692922f, -0.5986628f, 0.2406411f, 0.26600108f, 0.0f, 0.0f, 0.0f,
    0.18299669f, -1.8665074f, -0.0130787585f, 0.92974794f, 1.2150089f, -0.23785302f, -1.8787531f, 0.7626884f,
    0.0f, 0.0f, 0.0f, 0.0012457151f, 0.14514333f, 0.0f, 0.0f, 0.0f,
    -0.25379667f, 0.31145477f,
};
static const float lab_b_star_output_weights[6] = {
    0.25417897f, 0.14054817f, 0.37394294f, 1.0f, 0.0f, 0.14060082f,
};

/* a * b + c, rounded once: by the processor, if the compiler says that it can. Otherwise the product is exact in a double, and the
   sum may be rounded again unless it lies halfway between two floats, or is small; there it is rounded to odd first. To do without, for values within about 1e-6, compile with
   -D'LAB_B_STAR_FMA(a,b,c)=((a)*(b)+(c))'. */
#ifndef LAB_B_STAR_FMA
#ifdef __FP_FAST_FMAF
#define LAB_B_STAR_FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define LAB_B_STAR_FMA(a, b, c) lab_b_star_fma((a), (b), (c))
static float lab_b_star_fma(float a, float b, float c) {
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
static float lab_b_star_affine(const float *row, const float *x, int n) {
    float sum = row[n];
    int i;
    for (i = 0; i < n; i++) sum = LAB_B_STAR_FMA(row[i], x[i], sum);
    return sum;
}

static float lab_b_star_clip(float u) {
    return u > LAB_B_STAR_CLIP ? LAB_B_STAR_CLIP : u < -LAB_B_STAR_CLIP ? -LAB_B_STAR_CLIP : u;
}

static float lab_b_star_between(float low, float x, float high) {
    x = low > x ? low : x;
    return high < x ? high : x;
}

static float lab_b_star_polynomial(const float *coefficients, int n, float x) {
    float y = coefficients[n - 1];
    for (n -= 2; n >= 0; n--) y = LAB_B_STAR_FMA(y, x, coefficients[n]);
    return y;
}

typedef union { float value; uint32_t bits; } lab_b_star_bits;

/* 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits of the sum. */
#define LAB_B_STAR_MAGIC 12582912.0f

/* e^x within two units in the last place, x held to [-87, 88]. */
static float lab_b_star_exp(float x) {
    static const float p[6] = {
        0.5f, 1.6666665e-1f, 4.1665796e-2f, 8.333452e-3f, 1.3982e-3f, 1.9875692e-4f
    };
    lab_b_star_bits t, y;
    float n, r;
    x = lab_b_star_between(-87.0f, x, 88.0f);
    t.value = LAB_B_STAR_FMA(x, 1.442695f, LAB_B_STAR_MAGIC);
    n = t.value - LAB_B_STAR_MAGIC;
    r = LAB_B_STAR_FMA(n, -0.6933594f, x);
    r = LAB_B_STAR_FMA(n, 2.1219444e-4f, r);
    y.value = LAB_B_STAR_FMA(lab_b_star_polynomial(p, 6, r), r * r, r) + 1.0f;
    y.bits += t.bits << 23;
    return y.value;
}

static float lab_b_star_activation(float u) {
    const float sigmoid = 1.0f / (1.0f + lab_b_star_exp(0.0f - u));
    return (-88.0f > u ? -88.0f : u) * sigmoid;
}

/* Model inputs to outputs after some iterations: z becomes z + W2 s(W1 z + b1) + b2. */
static void lab_b_star_network(const float *x, int iterations, float *f) {
    float z[LAB_B_STAR_Q], next[LAB_B_STAR_Q];
    int t, j, k;
    for (k = 0; k < LAB_B_STAR_Q; k++) z[k] = lab_b_star_affine(lab_b_star_input_weights + k * (LAB_B_STAR_D + 1), x, LAB_B_STAR_D);
    for (t = 0; t < iterations; t++) {
        const float *unit = lab_b_star_block_weights + t * LAB_B_STAR_STEP;
        const float *b2 = unit + LAB_B_STAR_R * (2 * LAB_B_STAR_Q + 1);
        for (k = 0; k < LAB_B_STAR_Q; k++) next[k] = z[k] + b2[k];
        for (j = 0; j < LAB_B_STAR_R; j++, unit += 2 * LAB_B_STAR_Q + 1) {
            const float h = lab_b_star_activation(lab_b_star_affine(unit, z, LAB_B_STAR_Q));
            for (k = 0; k < LAB_B_STAR_Q; k++) next[k] = LAB_B_STAR_FMA(unit[LAB_B_STAR_Q + 1 + k], h, next[k]);
        }
        for (k = 0; k < LAB_B_STAR_Q; k++) z[k] = next[k];
    }
    for (k = 0; k < LAB_B_STAR_OUTPUTS; k++) {
        f[k] = lab_b_star_clip(lab_b_star_affine(lab_b_star_output_weights + k * (LAB_B_STAR_Q + 1), z, LAB_B_STAR_Q));
    }
}

/* A number in model units from its shift, scale and median; 1 if it is too extreme to be one. */
static int lab_b_star_number(double v, const double *number, float *to) {
    v = ((v != v ? number[2] : v) - number[0]) / number[1];
    if (!(v > -3.4028235677973366e38 && v < 3.4028235677973366e38)) return 1;
    *to = (float)v;
    return 0;
}

static const double lab_b_star_scales[3][3] = {
    {0.5, 0.311875767953705, 0.5},
    {0.5, 0.311875767953705, 0.5},
    {0.5, 0.311875767953705, 0.5},
};

/* Model inputs of a row; 2 if a number is too extreme, 1 if it lies outside the box of a density. */
static int lab_b_star_read(const lab_b_star_input *input, float *x) {
    int status = 0;
    status |= 2 * lab_b_star_number(input->r, lab_b_star_scales[0], x + 0);
    status |= 2 * lab_b_star_number(input->g, lab_b_star_scales[1], x + 1);
    status |= 2 * lab_b_star_number(input->b, lab_b_star_scales[2], x + 2);
    return status;
}

/* Not a number, and infinity. */
static const union { uint64_t bits; double value; } lab_b_star_special[2] = {{(uint64_t)0x7ff8 << 48}, {(uint64_t)0x7ff0 << 48}};
#define LAB_B_STAR_NO_NUMBER (lab_b_star_special[0].value)
#define LAB_B_STAR_INFINITY (lab_b_star_special[1].value)

static double lab_b_star_after(const lab_b_star_input *input, int iterations) {
    float x[LAB_B_STAR_D], f[LAB_B_STAR_OUTPUTS];
    double y;
    if (lab_b_star_read(input, x)) return LAB_B_STAR_NO_NUMBER;
    lab_b_star_network(x, iterations, f);
    y = 4.060730271559363 + 47.580932526124705 * (double)f[0];
    return y < -107.85373425232731 ? -107.85373425232731 : y > 94.48771962998863 ? 94.48771962998863 : y;
}

double lab_b_star_evaluate(const lab_b_star_input *input) { return lab_b_star_after(input, LAB_B_STAR_ITERATIONS); }

float lab_b_star_predict(const float *x) {
    lab_b_star_input input;
    input.r = x[0];
    input.g = x[1];
    input.b = x[2];
    return (float)lab_b_star_evaluate(&input);
}
