int model_classify(const model_input *input, double *probabilities) {
    double p[MODEL_CLASSES];
    const int best = model_after(input, MODEL_ITERATIONS, p);
    int k;
    for (k = 0; probabilities && k < MODEL_CLASSES; k++) probabilities[k] = p[k];
    return best;
}

int model_predict(const float *x, float *probabilities) {
    model_input input;
    double p[MODEL_CLASSES];
    int best, k;
    FIELDS
    best = model_classify(&input, p);
    for (k = 0; probabilities && k < MODEL_CLASSES; k++) probabilities[k] = (float)p[k];
    return best;
}
