// The memory calls that the input lists, from AssemblyScript. Built with `--use abort=`.

@external("rotifer", "readMemory")
declare function readMemory(request: usize, length: u32, out: usize, room: u32): i32;
@external("rotifer", "writeMemory")
declare function writeMemory(request: usize, length: u32, out: usize, room: u32): i32;
@external("rotifer", "queryMemory")
declare function queryMemory(request: usize, length: u32, out: usize, room: u32): i32;
@external("rotifer", "deleteMemory")
declare function deleteMemory(request: usize, length: u32, out: usize, room: u32): i32;
@external("rotifer", "log")
declare function log(level: i32, text: usize, length: u32): void;

export function alloc(size: i32): usize {
  return heap.alloc(size);
}

export function express(pointer: usize, length: i32): usize {
  const input = String.UTF8.decodeUnsafe(pointer, length);
  const results: string[] = [];
  let at = 1;
  while (at < input.length && input.charAt(at) != "]") {
    const op = input.charAt(at + 1);
    const comma = skip(input, at) + 1;
    const start = input.indexOf(",", comma) + 1;
    const room = I32.parseInt(input.substring(comma, start - 1));
    const end = skip(input, start);
    const quoted = input.charAt(start) == '"' ? 1 : 0;
    results.push(ask(op, input.substring(start + quoted, end - quoted), room));
    at = end + 1;
  }
  return changetype<usize>(String.UTF8.encode(`[${results.join(",")}]`, true));
}

function ask(op: string, request: string, room: i32): string {
  const sent = String.UTF8.encode(request);
  const out = heap.alloc(room + 1);
  store<u8>(out, 0);
  const result = call(op, changetype<usize>(sent), sent.byteLength, out, room);
  say(result.toString());
  let length = result;
  if (result < 0) {
    length = 0;
    while (length < room && load<u8>(out + length) != 0) length++;
  }
  const answer = length > 0 ? String.UTF8.decodeUnsafe(out, length) : "null";
  heap.free(out);
  return `[${result},${answer}]`;
}

function call(op: string, request: usize, length: u32, out: usize, room: u32): i32 {
  if (op == "r") return readMemory(request, length, out, room);
  if (op == "w") return writeMemory(request, length, out, room);
  if (op == "q") return queryMemory(request, length, out, room);
  return deleteMemory(request, length, out, room);
}

function say(text: string): void {
  const line = String.UTF8.encode(text);
  log(1, changetype<usize>(line), line.byteLength);
}

/** The end of the JSON value that starts at `at`. */
function skip(text: string, at: i32): i32 {
  let depth = 0;
  do {
    const c = text.charCodeAt(at);
    if (c == 0x22) {
      for (at++; text.charCodeAt(at) != 0x22; at++) if (text.charCodeAt(at) == 0x5c) at++;
    } else if (c == 0x7b || c == 0x5b) depth++;
    else if (c == 0x7d || c == 0x5d) depth--;
    at++;
  } while (depth > 0);
  return at;
}
