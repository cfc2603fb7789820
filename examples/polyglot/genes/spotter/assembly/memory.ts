// The memory of the agent, as far as this gene needs it: texts by their keys.

@external("rotifer", "readMemory")
declare function readMemory(request: usize, length: u32, out: usize, room: u32): i32;
@external("rotifer", "writeMemory")
declare function writeMemory(request: usize, length: u32, out: usize, room: u32): i32;

const ROOM: u32 = 4096;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** What a call came to: its answer, or the envelope of its error. */
class Answer {
  constructor(
    readonly failed: bool,
    readonly text: string,
  ) {}
}

/** The text that is kept under a key in a category; empty where there is none. */
export function readText(key: string, category: string): string {
  const answer = ask(`{"key":"${key}","category":"${category}"}`, false);
  if (answer.failed || answer.text == "null") return "";
  const start = answer.text.indexOf('"value":"') + 9;
  return decoded(answer.text.substring(start, answer.text.indexOf('"', start)));
}

/** Keep a text under a key; empty, or the envelope of the error: a gene may answer with it. */
export function writeText(key: string, category: string, text: string): string {
  const value = encoded(text);
  const answer = ask(`{"key":"${key}","value":"${value}","category":"${category}"}`, true);
  return answer.failed ? answer.text : "";
}

function ask(request: string, write: bool): Answer {
  const sent = String.UTF8.encode(request);
  const out = new ArrayBuffer(ROOM);
  const from = changetype<usize>(sent);
  const to = changetype<usize>(out);
  const result = write
    ? writeMemory(from, sent.byteLength, to, ROOM)
    : readMemory(from, sent.byteLength, to, ROOM);
  // A negative result is an error, and its envelope ends with a NUL.
  return new Answer(result < 0, String.UTF8.decodeUnsafe(to, result < 0 ? ROOM : result, result < 0));
}

function encoded(text: string): string {
  const bytes = Uint8Array.wrap(String.UTF8.encode(text));
  let told = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const left = bytes.length - at;
    const group =
      (u32(bytes[at]) << 16) |
      (left > 1 ? u32(bytes[at + 1]) << 8 : 0) |
      (left > 2 ? u32(bytes[at + 2]) : 0);
    told += ALPHABET.charAt(group >> 18) + ALPHABET.charAt((group >> 12) & 63);
    told += left > 1 ? ALPHABET.charAt((group >> 6) & 63) : "=";
    told += left > 2 ? ALPHABET.charAt(group & 63) : "=";
  }
  return told;
}

function decoded(text: string): string {
  const bytes: u8[] = [];
  let group: u32 = 0;
  for (let at = 0; at < text.length && text.charAt(at) != "="; at++) {
    group = (group << 6) | ALPHABET.indexOf(text.charAt(at));
    if (at % 4 > 0) bytes.push(u8(group >> (6 - 2 * (at % 4))));
  }
  return String.UTF8.decodeUnsafe(bytes.dataStart, bytes.length);
}
