    for (k = 0; k < MODEL_OUTPUTS; k++) {
        const int8_t *w = model_output_weights + k * MODEL_Q;
        const int32_t u = model_row(w, z, MODEL_Q, model_output_shifts[k], model_output_biases[k]);
        f[k] = (model_q)(u > MODEL_CLIP ? MODEL_CLIP : u < -MODEL_CLIP ? -MODEL_CLIP : u);
    }
