/* a * b + c, rounded once: by the processor, if the compiler says that it can. Otherwise the product is exact in a double, and the
   sum may be rounded again unless it lies halfway between two floats, or is small; there it is rounded to odd first. To do without, for values within about 1e-6, compile with
   -D'MODEL_FMA(a,b,c)=((a)*(b)+(c))'. */
#ifndef MODEL_FMA
#ifdef __FP_FAST_FMAF
#define MODEL_FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define MODEL_FMA(a, b, c) model_fma((a), (b), (c))
static float model_fma(float a, float b, float c) {
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
static float model_affine(const float *row, const float *x, int n) {
    float sum = row[n];
    int i;
    for (i = 0; i < n; i++) sum = MODEL_FMA(row[i], x[i], sum);
    return sum;
}

static float model_clip(float u) {
    return u > MODEL_CLIP ? MODEL_CLIP : u < -MODEL_CLIP ? -MODEL_CLIP : u;
}
