
static float model_activation(float u) {
    static const float p[5] = {
        -0.16666667f, 0.008333351f, -0.00019843104f, 2.7628325e-6f, -2.5539649e-8f
    };
    model_bits t;
    float n, r, square, cube, y;
    t.value = MODEL_FMA(u, 0.31830987f, MODEL_MAGIC);
    n = MODEL_MAGIC - t.value;
    r = MODEL_FMA(n, 3.1415927f, u);
    r = MODEL_FMA(n, -8.742278e-8f, r);
    r = MODEL_FMA(n, -3.430249e-15f, r);
    r = model_between(-1.6f, r, 1.6f);
    square = r * r;
    cube = r * square;
    y = MODEL_FMA(model_polynomial(p, 5, square), cube, r);
    return t.bits & 1u ? -y : y;
}
