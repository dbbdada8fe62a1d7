/* A Vulkan loader that never comes back, or takes its program down, while it is being opened: as a broken
   driver does. -DPLAY=HANGS or CRASHES. */
#include <stdlib.h>
#include <unistd.h>

enum { HANGS, CRASHES };

__attribute__((constructor)) static void open(void) {
    if (PLAY == HANGS) sleep(600);
    abort();
}
