
/* Layer normalisation of q numbers: gains, then biases. */
static void model_norm(const float *norm, const float *u, float *y) {
    float sum = 0.0f, squares = 0.0f, mean, scale;
    int k;
    for (k = 0; k < MODEL_Q; k++) sum = sum + u[k];
    mean = MODEL_SHARE * sum;
    for (k = 0; k < MODEL_Q; k++) {
        y[k] = u[k] - mean;
        squares = MODEL_FMA(y[k], y[k], squares);
    }
    scale = 1.0f / sqrtf(MODEL_FMA(MODEL_SHARE, squares, MODEL_STABILISER));
    for (k = 0; k < MODEL_Q; k++) y[k] = MODEL_FMA(norm[k], y[k] * scale, norm[MODEL_Q + k]);
}

static void model_softmax(float *p) {
    float largest = p[0], sum = 0.0f, share;
    int j;
    for (j = 1; j < MODEL_N; j++) largest = p[j] > largest ? p[j] : largest;
    for (j = 0; j < MODEL_N; j++) {
        p[j] = model_exp(MODEL_ATTENTION_SCALE * (p[j] - largest));
        sum = sum + p[j];
    }
    share = 1.0f / sum;
    for (j = 0; j < MODEL_N; j++) p[j] = share * p[j];
}

/* Model inputs to outputs after some iterations: the tokens S become LN2{Y + W2 ReLU(W1 Y + b1) + b2} of Y = LN1{S + Attn(S)}. */
static void model_network(const float *x, int iterations, float *f) {
    float s[MODEL_N * MODEL_Q], qkv[MODEL_N * 3 * MODEL_Q], p[MODEL_N], o[MODEL_Q], u[MODEL_Q], y[MODEL_Q];
    const float *row = model_input_weights;
    const int *input = model_token_inputs;
    int t, i, j, k;
    for (i = 0; i < MODEL_TOKENS; input += model_token_sizes[i], i++) {
        for (k = 0; k < MODEL_Q; k++) {
            float sum = row[model_token_sizes[i]];
            for (j = 0; j < model_token_sizes[i]; j++) sum = MODEL_FMA(row[j], x[input[j]], sum);
            s[i * MODEL_Q + k] = sum;
            row += model_token_sizes[i] + 1;
        }
    }
    for (i = MODEL_TOKENS * MODEL_Q; i < MODEL_N * MODEL_Q; i++) s[i] = *row++;
    for (t = 0; t < iterations; t++) {
        const float *weights = model_block_weights + t * MODEL_STEP;
        const float *out = weights + 3 * MODEL_Q * (MODEL_Q + 1);
        const float *norm1 = out + MODEL_Q * (MODEL_Q + 1);
        const float *units = norm1 + 2 * MODEL_Q;
        const float *b2 = units + MODEL_R * (2 * MODEL_Q + 1);
        const float *norm2 = b2 + MODEL_Q;
        for (i = 0; i < MODEL_N; i++) {
            for (k = 0; k < 3 * MODEL_Q; k++) {
                qkv[i * 3 * MODEL_Q + k] = model_affine(weights + k * (MODEL_Q + 1), s + i * MODEL_Q, MODEL_Q);
            }
        }
        for (i = 0; i < MODEL_N; i++) {
            const float *query = qkv + i * 3 * MODEL_Q;
            const float *unit = units;
            for (j = 0; j < MODEL_N; j++) {
                const float *key = qkv + j * 3 * MODEL_Q + MODEL_Q;
                p[j] = 0.0f;
                for (k = 0; k < MODEL_Q; k++) p[j] = MODEL_FMA(query[k], key[k], p[j]);
            }
            model_softmax(p);
            for (k = 0; k < MODEL_Q; k++) {
                o[k] = 0.0f;
                for (j = 0; j < MODEL_N; j++) o[k] = MODEL_FMA(p[j], qkv[j * 3 * MODEL_Q + 2 * MODEL_Q + k], o[k]);
            }
            for (k = 0; k < MODEL_Q; k++) {
                const float *weight = out + k * (MODEL_Q + 1);
                u[k] = s[i * MODEL_Q + k] + weight[MODEL_Q];
                for (j = 0; j < MODEL_Q; j++) u[k] = MODEL_FMA(weight[j], o[j], u[k]);
            }
            model_norm(norm1, u, y);
            for (k = 0; k < MODEL_Q; k++) u[k] = y[k] + b2[k];
            for (j = 0; j < MODEL_R; j++, unit += 2 * MODEL_Q + 1) {
                const float h = model_activation(model_affine(unit, y, MODEL_Q));
                for (k = 0; k < MODEL_Q; k++) u[k] = MODEL_FMA(unit[MODEL_Q + 1 + k], h, u[k]);
            }
            model_norm(norm2, u, s + i * MODEL_Q);
        }
    }
    for (k = 0; k < MODEL_OUTPUTS; k++) {
        f[k] = model_clip(model_affine(model_output_weights + k * (MODEL_N * MODEL_Q + 1), s, MODEL_N * MODEL_Q));
    }
}
