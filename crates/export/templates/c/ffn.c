
/* Model inputs to outputs after some iterations: z becomes z + W2 s(W1 z + b1) + b2. */
static void model_network(const float *x, int iterations, float *f) {
    float z[MODEL_Q], next[MODEL_Q];
    int t, j, k;
    for (k = 0; k < MODEL_Q; k++) z[k] = model_affine(model_input_weights + k * (MODEL_D + 1), x, MODEL_D);
    for (t = 0; t < iterations; t++) {
        const float *unit = model_block_weights + t * MODEL_STEP;
        const float *b2 = unit + MODEL_R * (2 * MODEL_Q + 1);
        for (k = 0; k < MODEL_Q; k++) next[k] = z[k] + b2[k];
        for (j = 0; j < MODEL_R; j++, unit += 2 * MODEL_Q + 1) {
            const float h = model_activation(model_affine(unit, z, MODEL_Q));
            for (k = 0; k < MODEL_Q; k++) next[k] = MODEL_FMA(unit[MODEL_Q + 1 + k], h, next[k]);
        }
        for (k = 0; k < MODEL_Q; k++) z[k] = next[k];
    }
    for (k = 0; k < MODEL_OUTPUTS; k++) {
        f[k] = model_clip(model_affine(model_output_weights + k * (MODEL_Q + 1), z, MODEL_Q));
    }
}
