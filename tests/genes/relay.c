/* The relay in direct mode: the input where `alloc` says, the answer NUL-terminated. */

#include "relay.h"

static char input[ROOM];

EXPORT("alloc") char *alloc(u32 size) { return size < ROOM ? input : (char *)-1; }

EXPORT("express") int express(const char *given, u32 length) {
  input[length] = 0;
  relay(given);
  return (int)out;
}
