
static double model_sigmoid64(double x) {
    double e;
    if (x >= 0.0) return 1.0 / (1.0 + model_exp64(-x));
    e = model_exp64(x);
    return e / (1.0 + e);
}

static int model_probabilities(const float *f, double *p) {
    p[0] = model_sigmoid64(-(double)f[0]);
    p[1] = model_sigmoid64((double)f[0]);
    return f[0] > 0.0f;
}
