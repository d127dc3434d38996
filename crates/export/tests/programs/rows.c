#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number(const char *cell) {
    uint64_t bits = strtoull(cell, 0, 16);
    double v;
    memcpy(&v, &bits, 8);
    return v;
}

static const char *text(const char *cell) {
    static char found[4096];
    size_t i, n = strlen(cell) / 2;
    if (cell[0] == '-') return 0;
    for (i = 0; i < n; i++) {
        const char digits[3] = {cell[1 + 2 * i], cell[2 + 2 * i], 0};
        found[i] = (char)strtoul(digits, 0, 16);
    }
    found[n] = 0;
    return found;
}

static void show(double v) {
    uint64_t bits;
    memcpy(&bits, &v, 8);
    printf(" %016llx", (unsigned long long)bits);
}

static void same(int yes) {
    if (!yes) {
        fprintf(stderr, "numbers in order and by name differ\n");
        exit(1);
    }
}

static void same_float(float a, float b) { same(a == b || (a != a && b != b)); }

