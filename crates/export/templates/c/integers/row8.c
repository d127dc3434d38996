/* A weighted sum of n values, shifted to the right and rounded, and a bias. */
static int32_t model_row(const int8_t *w, const model_q *v, int n, int shift, int32_t bias) {
    int32_t sum = 0;
    int i;
    for (i = 0; i < n; i++) sum += (int32_t)w[i] * v[i];
    return ((sum + (((int32_t)1 << shift) >> 1)) >> shift) + bias * MODEL_BIAS;
}
