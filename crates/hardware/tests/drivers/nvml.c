/* A library that answers like NVIDIA's, as far as a probe asks. What it plays is chosen when it is built:
   -DPLAY=... with one of the words below. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TWO_CARDS, NO_SIZE, ONE_CUT, ONE_LOST, NOT_LOADED, MISMATCH, HANGS, CRASHES, HANGS_LATER };
enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9, GPU_LOST = 15, LIB_MISMATCH = 18 };

struct memory { unsigned version; unsigned long long total, reserved, free, used; };
struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char address[32]; };

static char cards[2], slices[2];
static int number(void *handle) { return (char *)handle == &cards[1] || (char *)handle == &slices[1]; }
static int is_slice(void *handle) { return (char *)handle == &slices[0] || (char *)handle == &slices[1]; }

int nvmlInit_v2(void) {
    switch (PLAY) {
    case NOT_LOADED: return DRIVER_NOT_LOADED;
    case MISMATCH: return LIB_MISMATCH;
    case HANGS: sleep(600); return OK;
    case CRASHES: abort();
    default: return OK;
    }
}
int nvmlShutdown(void) { return OK; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { strncpy(out, "580.95.05", size); return OK; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = PLAY == TWO_CARDS || PLAY == ONE_LOST ? 2 : 1; return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
    if (PLAY == ONE_LOST && index == 1) return GPU_LOST;
    *out = &cards[index];
    return OK;
}
int nvmlDeviceGetName(void *card, char *out, unsigned size) {
    const char *name = PLAY == NO_SIZE ? "NVIDIA GB10" : is_slice(card) ? "NVIDIA Stub MIG 1g.10gb" : "NVIDIA Stub 24";
    strncpy(out, name, size);
    return OK;
}
int nvmlDeviceGetUUID(void *card, char *out, unsigned size) {
    const char *names[] = { "GPU-aaaa", "GPU-bbbb", "MIG-aaaa", "MIG-bbbb" };
    strncpy(out, names[number(card) + 2 * is_slice(card)], size);
    return OK;
}
int nvmlDeviceGetPciInfo_v3(void *card, struct pci *out) {
    memset(out, 0, sizeof *out);
    strcpy(out->address, number(card) ? "00000000:0B:00.0" : "00000000:0A:00.0");
    return OK;
}
int nvmlDeviceGetMemoryInfo_v2(void *card, struct memory *out) {
    static int asked;
    if (PLAY == NO_SIZE) return NOT_SUPPORTED;
    /* The third question is never answered: a driver that is reset while somebody watches. */
    if (PLAY == HANGS_LATER && ++asked > 2) sleep(600);
    out->total = is_slice(card) ? 10ull << 30 : 24ull << 30;
    out->used = 1ull << 30;
    out->free = out->total - out->used;
    return OK;
}
int nvmlDeviceGetCudaComputeCapability(void *card, int *major, int *minor) {
    (void)card; *major = PLAY == NO_SIZE ? 12 : 8; *minor = PLAY == NO_SIZE ? 1 : 6; return OK;
}
int nvmlDeviceGetMemoryBusWidth(void *card, unsigned *bits) { (void)card; *bits = 384; return PLAY == NO_SIZE ? NOT_SUPPORTED : OK; }
int nvmlDeviceGetMaxClockInfo(void *card, unsigned kind, unsigned *mhz) { (void)card; (void)kind; *mhz = 9751; return PLAY == NO_SIZE ? NOT_SUPPORTED : OK; }
int nvmlDeviceGetMigMode(void *card, unsigned *now, unsigned *next) {
    (void)card;
    if (PLAY != ONE_CUT) return NOT_SUPPORTED;
    *now = *next = 1;
    return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(void *card, unsigned *count) { (void)card; *count = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *card, unsigned place, void **out) {
    (void)card;
    /* Slices need not lie side by side. */
    if (place != 0 && place != 3) return NOT_FOUND;
    *out = &slices[place == 3];
    return OK;
}

/* Half of what is used belongs to whoever started the program that asks, the other half to nobody we know. */
struct process { unsigned pid; unsigned long long used; unsigned slice, part; };
int nvmlDeviceGetComputeRunningProcesses_v3(void *card, unsigned *count, struct process *out) {
    (void)card;
    unsigned room = *count;
    *count = 1;
    if (room < 1) return 7;
    out[0] = (struct process){ (unsigned)getppid(), 512ull << 20, 0, 0 };
    return OK;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *card, unsigned *count, struct process *out) { (void)card; (void)out; *count = 0; return OK; }
