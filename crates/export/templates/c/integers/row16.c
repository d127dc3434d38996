/* A weighted sum of n values, shifted to the right by 11 and more and rounded, and a bias: products of the low 11 bits have a sum of
   their own, so that both fit 32 bits. */
static int32_t model_row(const int16_t *w, const model_q *v, int n, int shift, int32_t bias) {
    int32_t high = 0, low = 0;
    int i;
    for (i = 0; i < n; i++) {
        high += (int32_t)w[i] * (v[i] >> 11);
        low += (int32_t)w[i] * (v[i] & 2047);
    }
    high += low >> 11;
    return ((high + (((int32_t)1 << shift) >> 1)) >> shift) + bias * MODEL_BIAS;
}
