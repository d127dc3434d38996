
int model_predict_q(const model_q *x, model_q *outputs) {
    model_q f[MODEL_OUTPUTS];
    int k;
    model_run(x, MODEL_ITERATIONS, f);
    for (k = 0; outputs && k < MODEL_OUTPUTS; k++) outputs[k] = f[k];
    return model_best(f);
}

int model_predict_q_iteration(const model_q *x, int t, model_q *outputs) {
    model_q f[MODEL_OUTPUTS];
    int k;
    model_run(x, t < 1 ? 1 : t > MODEL_ITERATIONS ? MODEL_ITERATIONS : t, f);
    for (k = 0; outputs && k < MODEL_OUTPUTS; k++) outputs[k] = f[k];
    return model_best(f);
}
