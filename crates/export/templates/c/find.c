
static int model_find(const char *const *names, const char *text) {
    int k, i;
    if (!text) return MODEL_MISSING;
    for (k = 0; names[k]; k++) {
        for (i = 0; text[i] && text[i] == names[k][i]; i++) {}
        if (text[i] == names[k][i]) return k;
    }
    return MODEL_UNKNOWN;
}
