
static int model_best(const model_q *f) {
    int best = 0, k;
    for (k = 1; k < MODEL_OUTPUTS; k++) best = f[k] > f[best] ? k : best;
    return best;
}
