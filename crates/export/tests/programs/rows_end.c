
int main(void) {
    static char line[65536];
    while (fgets(line, sizeof line, stdin)) {
        char *cells[64], *word;
        int n = 0;
        line[strcspn(line, "\n")] = 0;
        for (word = strtok(line, " "); word; word = strtok(0, " ")) cells[n++] = word;
        runs[atoi(cells[0])](cells + 2, atoi(cells[1]));
    }
    return 0;
}
