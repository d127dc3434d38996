
/* Model inputs to outputs after some iterations: z becomes z + W2 s(W1 z + b1) + b2. */
static void model_run(const model_q *x, int iterations, model_q *f) {
    model_q v[MODEL_D], z[MODEL_Q], h[MODEL_R];
    int t, row, k;
    for (k = 0; k < MODEL_D; k++) v[k] = model_held(x[k]);
    for (k = 0; k < MODEL_Q; k++) {
        z[k] = model_held(model_row(model_input_weights + k * MODEL_D, v, MODEL_D, model_input_shifts[k], model_input_biases[k]));
    }
    for (t = 0; t < iterations; t++) {
        for (k = 0, row = t * MODEL_STEP * MODEL_R; k < MODEL_R; k++, row++) {
            const int8_t *w = model_first_weights + row * MODEL_Q;
            h[k] = model_activation(model_row(w, z, MODEL_Q, model_first_shifts[row], model_first_biases[row]));
        }
        for (k = 0, row = t * MODEL_STEP * MODEL_Q; k < MODEL_Q; k++, row++) {
            const int8_t *w = model_second_weights + row * MODEL_R;
            z[k] = model_held(z[k] + model_row(w, h, MODEL_R, model_second_shifts[row], model_second_biases[row]));
        }
    }
    OUTPUT
}
