
/* The table at a place with 12 bits behind the point, by Bessel's formula to second order. */
static int32_t model_interpolated(int32_t place) {
    const int16_t *f = model_table + (place >> 12);
    const int32_t t = place & 4095, curve = (int32_t)f[0] - f[1] - f[2] + f[3];
    const int32_t bend = (((t * (t - 4096)) >> 8) * curve) >> 6;
    return f[1] + ((t * ((int32_t)f[2] - f[1]) + bend + 2048) >> 12);
}
