#include "arm-shoulder.h"
#include <stdint.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

const char *const arm_shoulder_columns[ARM_SHOULDER_COLUMNS] = {"x", "y"};

#define ARM_SHOULDER_D 2
#define ARM_SHOULDER_Q 3
#define ARM_SHOULDER_OUTPUTS 1
#define ARM_SHOULDER_R 24
#define ARM_SHOULDER_STEP 0
#define ARM_SHOULDER_CLIP 8.0f

static const float arm_shoulder_input_weights[9] = {
    0.0f, 1.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f, 0.0f,
    0.0f,
};
static const float arm_shoulder_block_weights[171] = {
    0.096051194f, -0.78167826f, -0.9005461f, -4.150116f, 0.0f, 0.0f, -0.24047783f, 0.21936804f,
    -0.672798f, 0.61571455f, -3.1261764f, 0.0f, 0.0f, 0.2060409f, -1.7515198f, 0.16217689f,
    -0.8582647f, -1.1386255f, 0.0f, 0.0f, -0.12364386f, -0.50848424f, -0.4053242f, -1.8592501f,
    1.0646056f, 0.0f, 0.0f, 0.17332402f, 1.2832613f, -0.41321316f, 0.90700626f, -1.6419489f,
    0.0f, 0.0f, 0.2717351f, 1.9699163f, -0.23839016f, 1.8237953f, -0.18901816f, 0.0f,
    0.0f, 0.03469481f, 2.2252324f, 0.48689744f, 0.4496547f, -0.9683638f, 0.0f, 0.0f,
    -0.039835893f, 0.2524555f, 0.2598246f, -1.6634271f, 0.19567975f, 0.0f, 0.0f, 0.12510519f,
    0.34573546f, -1.557273f, -0.35441294f, -0.5138472f, 0.0f, 0.0f, -0.027148196f, 1.109356f,
    0.52389985f, 0.9182347f, -0.063991584f, 0.0f, 0.0f, -0.049745355f, 1.5810583f, -0.22370462f,
    -0.27383304f, -0.32698157f, 0.0f, 0.0f, 0.094258666f, 0.86202776f, -0.41384533f, 2.1259243f,
    0.5419098f, 0.0f, 0.0f, -0.07759462f, 1.1318885f, 0.5091104f, 0.7490311f, -0.23776507f,
    0.0f, 0.0f, -0.007922527f, 0.9045965f, -0.0046673073f, -1.3227267f, -0.01967488f, 0.0f,
    0.0f, 0.017365199f, -1.0156502f, 0.09349368f, 1.1715125f, 0.7921421f, 0.0f, 0.0f,
    -0.021040889f, 2.310905f, 0.9102521f, 1.0289192f, -0.38362402f, 0.0f, 0.0f, 0.022084754f,
    -2.7364025f, -0.7155339f, 0.4020176f, 1.9743221f, 0.0f, 0.0f, -0.0042472016f, -2.2907796f,
    -1.2630359f, -1.2502252f, 0.5565218f, 0.0f, 0.0f, 0.008277572f, 1.1431968f, 0.09213257f,
    -0.45976672f, -0.93144435f, 0.0f, 0.0f, 0.02062011f, 0.106893845f, -2.1662664f, -0.62234926f,
    -0.48333493f, 0.0f, 0.0f, 0.0018915248f, 0.9671071f, 0.3271631f, -0.3310039f, -1.2104512f,
    0.0f, 0.0f, 0.020484757f, 0.033339128f, -0.0065600206f, 0.17639932f, -1.503275f, 0.0f,
    0.0f, -0.014108051f, 0.79731137f, -1.3980865f, 0.9955822f, -0.80078423f, 0.0f, 0.0f,
    0.015450092f, -2.3474681f, 0.65549344f, 0.6613758f, -0.6273705f, 0.0f, 0.0f, 0.00804941f,
    0.0f, 0.0f, 0.07685331f,
};
static const float arm_shoulder_output_weights[4] = {
    0.907837f, 0.09455797f, 1.0f, 0.09486563f,
};

/* a * b + c, rounded once: by the processor, if the compiler says that it can. Otherwise the product is exact in a double, and the
   sum may be rounded again unless it lies halfway between two floats, or is small; there it is rounded to odd first. To do without, for values within about 1e-6, compile with
   -D'ARM_SHOULDER_FMA(a,b,c)=((a)*(b)+(c))'. */
#ifndef ARM_SHOULDER_FMA
#ifdef __FP_FAST_FMAF
#define ARM_SHOULDER_FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define ARM_SHOULDER_FMA(a, b, c) arm_shoulder_fma((a), (b), (c))
static float arm_shoulder_fma(float a, float b, float c) {
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
static float arm_shoulder_affine(const float *row, const float *x, int n) {
    float sum = row[n];
    int i;
    for (i = 0; i < n; i++) sum = ARM_SHOULDER_FMA(row[i], x[i], sum);
    return sum;
}

static float arm_shoulder_clip(float u) {
    return u > ARM_SHOULDER_CLIP ? ARM_SHOULDER_CLIP : u < -ARM_SHOULDER_CLIP ? -ARM_SHOULDER_CLIP : u;
}

static float arm_shoulder_between(float low, float x, float high) {
    x = low > x ? low : x;
    return high < x ? high : x;
}

static float arm_shoulder_polynomial(const float *coefficients, int n, float x) {
    float y = coefficients[n - 1];
    for (n -= 2; n >= 0; n--) y = ARM_SHOULDER_FMA(y, x, coefficients[n]);
    return y;
}

typedef union { float value; uint32_t bits; } arm_shoulder_bits;

/* 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits of the sum. */
#define ARM_SHOULDER_MAGIC 12582912.0f

static float arm_shoulder_activation(float u) {
    static const float p[5] = {
        -0.16666667f, 0.008333351f, -0.00019843104f, 2.7628325e-6f, -2.5539649e-8f
    };
    arm_shoulder_bits t;
    float n, r, square, cube, y;
    t.value = ARM_SHOULDER_FMA(u, 0.31830987f, ARM_SHOULDER_MAGIC);
    n = ARM_SHOULDER_MAGIC - t.value;
    r = ARM_SHOULDER_FMA(n, 3.1415927f, u);
    r = ARM_SHOULDER_FMA(n, -8.742278e-8f, r);
    r = ARM_SHOULDER_FMA(n, -3.430249e-15f, r);
    r = arm_shoulder_between(-1.6f, r, 1.6f);
    square = r * r;
    cube = r * square;
    y = ARM_SHOULDER_FMA(arm_shoulder_polynomial(p, 5, square), cube, r);
    return t.bits & 1u ? -y : y;
}

/* Model inputs to outputs after some iterations: z becomes z + W2 s(W1 z + b1) + b2. */
static void arm_shoulder_network(const float *x, int iterations, float *f) {
    float z[ARM_SHOULDER_Q], next[ARM_SHOULDER_Q];
    int t, j, k;
    for (k = 0; k < ARM_SHOULDER_Q; k++) z[k] = arm_shoulder_affine(arm_shoulder_input_weights + k * (ARM_SHOULDER_D + 1), x, ARM_SHOULDER_D);
    for (t = 0; t < iterations; t++) {
        const float *unit = arm_shoulder_block_weights + t * ARM_SHOULDER_STEP;
        const float *b2 = unit + ARM_SHOULDER_R * (2 * ARM_SHOULDER_Q + 1);
        for (k = 0; k < ARM_SHOULDER_Q; k++) next[k] = z[k] + b2[k];
        for (j = 0; j < ARM_SHOULDER_R; j++, unit += 2 * ARM_SHOULDER_Q + 1) {
            const float h = arm_shoulder_activation(arm_shoulder_affine(unit, z, ARM_SHOULDER_Q));
            for (k = 0; k < ARM_SHOULDER_Q; k++) next[k] = ARM_SHOULDER_FMA(unit[ARM_SHOULDER_Q + 1 + k], h, next[k]);
        }
        for (k = 0; k < ARM_SHOULDER_Q; k++) z[k] = next[k];
    }
    for (k = 0; k < ARM_SHOULDER_OUTPUTS; k++) {
        f[k] = arm_shoulder_clip(arm_shoulder_affine(arm_shoulder_output_weights + k * (ARM_SHOULDER_Q + 1), z, ARM_SHOULDER_Q));
    }
}

/* A number in model units from its shift, scale and median; 1 if it is too extreme to be one. */
static int arm_shoulder_number(double v, const double *number, float *to) {
    v = ((v != v ? number[2] : v) - number[0]) / number[1];
    if (!(v > -3.4028235677973366e38 && v < 3.4028235677973366e38)) return 1;
    *to = (float)v;
    return 0;
}

static const double arm_shoulder_scales[2][3] = {
    {0.9, 0.29523593310833135, 0.8999999999999999},
    {3.157967714489334e-17, 0.5904718662166627, 0.0},
};

/* Model inputs of a row; 2 if a number is too extreme, 1 if it lies outside the box of a density. */
static int arm_shoulder_read(const arm_shoulder_input *input, float *x) {
    int status = 0;
    status |= 2 * arm_shoulder_number(input->x, arm_shoulder_scales[0], x + 0);
    status |= 2 * arm_shoulder_number(input->y, arm_shoulder_scales[1], x + 1);
    return status;
}

/* Not a number, and infinity. */
static const union { uint64_t bits; double value; } arm_shoulder_special[2] = {{(uint64_t)0x7ff8 << 48}, {(uint64_t)0x7ff0 << 48}};
#define ARM_SHOULDER_NO_NUMBER (arm_shoulder_special[0].value)
#define ARM_SHOULDER_INFINITY (arm_shoulder_special[1].value)

static double arm_shoulder_after(const arm_shoulder_input *input, int iterations) {
    float x[ARM_SHOULDER_D], f[ARM_SHOULDER_OUTPUTS];
    double y;
    if (arm_shoulder_read(input, x)) return ARM_SHOULDER_NO_NUMBER;
    arm_shoulder_network(x, iterations, f);
    y = -0.7541170723536109 + 0.605752754539503 * (double)f[0];
    return y < -1.9822754318690778 ? -1.9822754318690778 : y > 0.40282281486349536 ? 0.40282281486349536 : y;
}

double arm_shoulder_evaluate(const arm_shoulder_input *input) { return arm_shoulder_after(input, ARM_SHOULDER_ITERATIONS); }

float arm_shoulder_predict(const float *x) {
    arm_shoulder_input input;
    input.x = x[0];
    input.y = x[1];
    return (float)arm_shoulder_evaluate(&input);
}
