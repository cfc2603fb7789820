/* The memory calls that the input lists: what both modes of the C relay do. */

typedef unsigned int u32;

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

IMPORT("rotifer", "readMemory") int read_memory(const char *, u32, char *, u32);
IMPORT("rotifer", "writeMemory") int write_memory(const char *, u32, char *, u32);
IMPORT("rotifer", "queryMemory") int query_memory(const char *, u32, char *, u32);
IMPORT("rotifer", "deleteMemory") int delete_memory(const char *, u32, char *, u32);
IMPORT("rotifer", "log") void host_log(int level, const char *, u32);

#define ROOM 4194304

static char out[ROOM];

/* The end of the JSON value that starts at `at`. */
static const char *skip(const char *at) {
  int depth = 0;
  do {
    if (*at == '"') {
      for (at++; *at != '"'; at++)
        if (*at == '\\') at++;
    } else if (*at == '{' || *at == '[') {
      depth++;
    } else if (*at == '}' || *at == ']') {
      depth--;
    }
    at++;
  } while (depth > 0);
  return at;
}

static char *put_number(char *to, int number) {
  char digits[12];
  u32 left = number < 0 ? 0u - (u32)number : (u32)number;
  int count = 0;
  if (number < 0) *to++ = '-';
  do digits[count++] = (char)('0' + left % 10);
  while (left /= 10);
  while (count) *to++ = digits[--count];
  return to;
}

static int host_call(char op, const char *request, u32 length, char *answer, u32 room) {
  switch (op) {
    case 'r': return read_memory(request, length, answer, room);
    case 'w': return write_memory(request, length, answer, room);
    case 'q': return query_memory(request, length, answer, room);
    default: return delete_memory(request, length, answer, room);
  }
}

/* Make the calls; the answer is in `out`, NUL-terminated. Gives its length. */
static u32 relay(const char *at) {
  static char answer[ROOM / 2];
  char *to = out;
  *to++ = '[';
  for (at++; *at != ']';) {
    char op = at[1];
    u32 room = 0;
    const char *request, *end;
    int result, length;
    for (at = skip(at) + 1; *at != ','; at++) room = room * 10 + (u32)(*at - '0');
    request = ++at;
    end = at = skip(at);
    if (*request == '"') request++, end--;
    answer[0] = 0;
    result = host_call(op, request, (u32)(end - request), answer, room);
    if (to != out + 1) *to++ = ',';
    *to++ = '[';
    {
      char *number = to;
      to = put_number(to, result);
      host_log(1, number, (u32)(to - number));
    }
    *to++ = ',';
    if (result < 0 && !answer[0]) {
      *to++ = 'n', *to++ = 'u', *to++ = 'l', *to++ = 'l';
    } else {
      for (length = 0; result < 0 ? answer[length] : length < result; length++) *to++ = answer[length];
    }
    *to++ = ']';
    if (*at == ',') at++;
  }
  *to++ = ']';
  *to = 0;
  return (u32)(to - out);
}
