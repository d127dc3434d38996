
int32_t model_predict_q(const model_q *x) {
    model_q f[MODEL_OUTPUTS];
    model_run(x, MODEL_ITERATIONS, f);
    return f[0];
}

int32_t model_predict_q_iteration(const model_q *x, int t) {
    model_q f[MODEL_OUTPUTS];
    model_run(x, t < 1 ? 1 : t > MODEL_ITERATIONS ? MODEL_ITERATIONS : t, f);
    return f[0];
}
