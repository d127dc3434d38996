
static float model_activation(float u) {
    static const float p[5] = {1.0f, 0.13379699f, 0.0034940126f, 2.058313e-5f, 1.3318608e-8f};
    static const float q[5] = {1.0f, 0.46713015f, 0.02587099f, 0.00032830573f, 7.761824e-7f};
    const float x = model_between(-9.02f, u, 9.02f);
    const float square = x * x;
    const float above = x * model_polynomial(p, 5, square);
    return model_between(-1.0f, above / model_polynomial(q, 5, square), 1.0f);
}
