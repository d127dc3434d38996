
/* The same from and to floats. */
static void model_network(const float *x, int iterations, float *f) {
    const float most = (float)MODEL_LIMIT;
    model_q fixed[MODEL_D], found[MODEL_OUTPUTS];
    int k;
    for (k = 0; k < MODEL_D; k++) {
        float v = x[k] * MODEL_UNIT;
        v = v > -most ? (v < most ? v : most) : -most;
        fixed[k] = (model_q)(v + (v < 0.0f ? -0.5f : 0.5f));
    }
    model_run(fixed, iterations, found);
    for (k = 0; k < MODEL_OUTPUTS; k++) f[k] = (float)found[k] * (float)MODEL_F_STEP;
}
