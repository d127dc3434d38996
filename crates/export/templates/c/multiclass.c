
/* Halves of more than 32 terms are summed apart. */
static double model_total(const double *terms, int n) {
    double sum = 0.0;
    int k;
    if (n > 32) return model_total(terms, n / 2) + model_total(terms + n / 2, n - n / 2);
    for (k = 0; k < n; k++) sum += terms[k];
    return sum;
}

/* The softmax of the outputs; the class of the largest. */
static int model_probabilities(const float *f, double *p) {
    int best = 0, k;
    double total;
    for (k = 1; k < MODEL_CLASSES; k++) best = f[k] > f[best] ? k : best;
    for (k = 0; k < MODEL_CLASSES; k++) p[k] = model_exp64((double)f[k] - (double)f[best]);
    total = (double)f[best] + model_log64(model_total(p, MODEL_CLASSES));
    for (k = 0; k < MODEL_CLASSES; k++) p[k] = model_exp64((double)f[k] - total);
    return best;
}
