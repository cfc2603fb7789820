/* The relay in WASI mode: JSON on standard input, JSON on standard output. */

#include "relay.h"

struct piece {
  char *at;
  u32 length;
};

IMPORT("wasi_snapshot_preview1", "fd_read") int fd_read(int, const struct piece *, u32, u32 *);
IMPORT("wasi_snapshot_preview1", "fd_write") int fd_write(int, const struct piece *, u32, u32 *);

static char input[ROOM];

EXPORT("_start") void start(void) {
  struct piece piece = {input, ROOM - 1};
  u32 count;
  while (piece.length && fd_read(0, &piece, 1, &count) == 0 && count) {
    piece.at += count;
    piece.length -= count;
  }
  piece.length = relay(input);
  for (piece.at = out; piece.length && fd_write(1, &piece, 1, &count) == 0;) {
    piece.at += count;
    piece.length -= count;
  }
}
