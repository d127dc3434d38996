
/* Model inputs to outputs. */
static void model_run(const model_q *x, int iterations, model_q *f) {
    model_q v[MODEL_D], z[MODEL_Q];
    int k;
    (void)iterations;
    for (k = 0; k < MODEL_D; k++) v[k] = model_held(x[k]);
    for (k = 0; k < MODEL_Q; k++) {
        z[k] = model_held(model_row(model_input_weights + k * MODEL_D, v, MODEL_D, model_input_shifts[k], model_input_biases[k]));
    }
    OUTPUT
}
