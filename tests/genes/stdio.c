/* A gene with a C library under it, in WASI mode: the words of its input, counted. */

#include <ctype.h>
#include <stdio.h>

int main(void) {
  int words = 0, inside = 0, byte;
  while ((byte = getchar()) != EOF) {
    int letter = isalpha(byte) || byte > 127;
    words += letter && !inside;
    inside = letter;
  }
  fprintf(stderr, "counted\n");
  printf("{\"words\":%d}\n", words);
  return 0;
}
