/* A Cortex-M without a system: vectors, text by semihosting, a clock. */
#include <stdint.h>

extern uint32_t stack_top, data_start, data_end, data_load, bss_start, bss_end;
int main(void);

static int32_t semihosting(int32_t operation, const void *argument) {
    register int32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void show(const char *text) { semihosting(4, text); }

void show_number(int32_t v) {
    char text[13];
    uint32_t size = v < 0 ? 0u - (uint32_t)v : (uint32_t)v;
    int i = 12;
    text[i] = 0;
    do {
        text[--i] = (char)('0' + size % 10u);
        size /= 10u;
    } while (size);
    if (v < 0) text[--i] = '-';
    show(text + i);
}

static void leave(void) {
    semihosting(0x18, (const void *)0x20026); /* ADP_Stopped_ApplicationExit */
    for (;;) {}
}

/* SysTick counts down from 2^24. */
#define SYSTICK ((volatile uint32_t *)0xe000e010)

void clock_start(void) {
    SYSTICK[1] = 0xffffff;
    SYSTICK[2] = 0;
    SYSTICK[0] = 5;
}

uint32_t clock_ticks(void) { return (0xffffffu - SYSTICK[2]) & 0xffffffu; }

void reset(void) {
    uint32_t *to, *from = &data_load;
    for (to = &data_start; to < &data_end; to++) *to = *from++;
    for (to = &bss_start; to < &bss_end; to++) *to = 0;
#ifdef __ARM_FP
    *(volatile uint32_t *)0xe000ed88 |= 0xf00000u; /* the floating point unit */
#endif
    main();
    leave();
}

__attribute__((section(".vectors"), used)) const void *const vectors[16] = {
    &stack_top, (const void *)reset, (const void *)leave, (const void *)leave
};
