
static int model_after(const model_input *input, int iterations, double *p) {
    float x[MODEL_D], f[MODEL_OUTPUTS];
    int status = model_read(input, x), k, best;
    if (!status) model_network(x, iterations, f);
    for (k = 0; !status && k < MODEL_OUTPUTS; k++) status = f[k] != f[k];
    if (status) {
        for (k = 0; k < MODEL_CLASSES; k++) p[k] = MODEL_NO_NUMBER;
        return -1;
    }
    best = model_probabilities(f, p);
    for (k = 0; k < MODEL_CLASSES; k++) p[k] = ROOM * p[k] + LEAST;
    return best;
}
