
/* A coordinate of the density in model units from its shift, scale and median; 1 if it lies outside. */
static int model_coordinate(double v, const double *number, float *to) {
    int outside;
    v = ((v != v ? number[2] : v) - number[0]) / number[1];
    outside = !(v >= 0.0 && v <= 1.0);
    *to = (float)(v < 0.0 ? 0.0 : v > 1.0 ? 1.0 : v);
    return outside;
}
