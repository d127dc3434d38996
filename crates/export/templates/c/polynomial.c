
static float model_between(float low, float x, float high) {
    x = low > x ? low : x;
    return high < x ? high : x;
}

static float model_polynomial(const float *coefficients, int n, float x) {
    float y = coefficients[n - 1];
    for (n -= 2; n >= 0; n--) y = MODEL_FMA(y, x, coefficients[n]);
    return y;
}
