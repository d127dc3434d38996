int model_classify_iteration(const model_input *input, int t, double *probabilities) {
    double p[MODEL_CLASSES];
    const int best = t < 1 || t > MODEL_ITERATIONS ? -1 : model_after(input, t, p);
    int k;
    for (k = 0; probabilities && k < MODEL_CLASSES; k++) probabilities[k] = best < 0 ? MODEL_NO_NUMBER : p[k];
    return best;
}

int model_predict_iteration(const float *x, int t, float *probabilities) {
    model_input input;
    double p[MODEL_CLASSES];
    int best, k;
    FIELDS
    best = model_classify_iteration(&input, t, p);
    for (k = 0; probabilities && k < MODEL_CLASSES; k++) probabilities[k] = (float)p[k];
    return best;
}
