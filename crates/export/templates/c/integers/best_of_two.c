
static int model_best(const model_q *f) { return f[0] > 0; }
