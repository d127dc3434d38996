#include MODEL_FILE

void show(const char *text);
void show_number(int32_t v);
void clock_start(void);
uint32_t clock_ticks(void);

#ifdef MODEL_INPUTS
typedef model_q number;
#define COUNT MODEL_INPUTS
#define PREDICT(x) model_predict_q(x)
#else
typedef float number;
#define COUNT MODEL_COLUMNS
#define PREDICT(x) answer(model_predict(x))
static int32_t answer(float y) { return (int32_t)(y * 1000.0f); }
#endif

static const number rows[ROWS][COUNT] = {
#include "rows.h"
};

/* The stack below this function is painted; what is still painted afterwards was not used. */
extern uint32_t bss_end;

static uint32_t stack_used(void) {
    uint8_t *const top = (uint8_t *)__builtin_frame_address(0) - 64;
    uint8_t *lowest;
    static volatile int32_t found;
    for (lowest = (uint8_t *)&bss_end; lowest < top; lowest++) *lowest = 0xa5;
    found = PREDICT(rows[0]);
    for (lowest = (uint8_t *)&bss_end; lowest < top && *lowest == 0xa5; lowest++) {}
    (void)found;
    return (uint32_t)(top - lowest);
}

int main(void) {
    static volatile int32_t found;
    int i;
    uint32_t ticks;
    for (i = 0; i < ROWS; i++) {
        show_number(PREDICT(rows[i]));
        show("\n");
    }
    clock_start();
    for (i = 0; i < ROWS; i++) found = PREDICT(rows[i]);
    ticks = clock_ticks();
    show("ticks ");
    show_number((int32_t)ticks);
    show("\nstack ");
    show_number((int32_t)stack_used());
    show("\n");
    return 0;
}
