
/* e^x within two units in the last place, x held to [-87, 88]. */
static float model_exp(float x) {
    static const float p[6] = {
        0.5f, 1.6666665e-1f, 4.1665796e-2f, 8.333452e-3f, 1.3982e-3f, 1.9875692e-4f
    };
    model_bits t, y;
    float n, r;
    x = model_between(-87.0f, x, 88.0f);
    t.value = MODEL_FMA(x, 1.442695f, MODEL_MAGIC);
    n = t.value - MODEL_MAGIC;
    r = MODEL_FMA(n, -0.6933594f, x);
    r = MODEL_FMA(n, 2.1219444e-4f, r);
    y.value = MODEL_FMA(model_polynomial(p, 6, r), r * r, r) + 1.0f;
    y.bits += t.bits << 23;
    return y.value;
}
