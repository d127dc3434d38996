/* a * b + c, rounded once. To do without fmaf, for values within about 1e-6, compile with
   -D'MODEL_FMA(a,b,c)=((a)*(b)+(c))'. */
#ifndef MODEL_FMA
#define MODEL_FMA(a, b, c) fmaf((a), (b), (c))
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
