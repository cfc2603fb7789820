'use strict';
/**
 * The wire: nng's stream protocol, request side, on file descriptor 3 (design §2).
 *
 * `ask` blocks the thread until the reply is there. Everything is captured when this file loads, so
 * that a gene which changes globals or prototypes harms only itself.
 */

const { readSync, writeSync, writevSync } = require('node:fs');

const { call, bind } = Function.prototype;
/** @type {(method: Function) => any} A method as a function of its receiver, captured for good. */
const unbound = /** @type {any} */ (bind.bind(call));

const { parse, stringify } = JSON;
const { floor, min } = Math;
const { allocUnsafeSlow, from } = Buffer;
const latin1Slice = unbound(/** @type {any} */ (Buffer.prototype).latin1Slice);
const utf8Slice = unbound(/** @type {any} */ (Buffer.prototype).utf8Slice);
const utf8Write = unbound(/** @type {any} */ (Buffer.prototype).utf8Write);
const subarray = unbound(Uint8Array.prototype.subarray);
const copyInto = unbound(Uint8Array.prototype.set);
const indexOf = unbound(Buffer.prototype.indexOf);
const readUInt32BE = unbound(Buffer.prototype.readUInt32BE);
const writeUInt32BE = unbound(Buffer.prototype.writeUInt32BE);
const byteLengthOf = unbound(
  /** @type {any} */ (
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'byteLength')
  ).get,
);
const Bytes = Uint8Array;
const exit = /** @type {any} */ (process).reallyExit ?? process.exit;

const FD = 3;
const HEADER = 12;
const ROOM = 65_536;
const NEWLINE = 10;
/** The supervisor is gone, or the wire is broken: nothing can be said to anyone any more. */
const EXIT_DISCONNECTED = 113;

/** Nearly every request and reply fits in these and takes one system call each. */
const outgoing = allocUnsafeSlow(ROOM);
const room = allocUnsafeSlow(ROOM);
let requestId = 0;

/** @param {Uint8Array} target @param {number} start @param {number} length */
function readSome(target, start, length) {
  for (;;) {
    let count = 0;
    try {
      count = readSync(FD, target, start, length, null);
    } catch (error) {
      if (/** @type {any} */ (error)?.code === 'EINTR') continue;
    }
    if (count === 0) exit.call(process, EXIT_DISCONNECTED);
    return count;
  }
}

/** @param {Uint8Array[]} parts */
function writeAll(parts) {
  let first = 0;
  while (first < parts.length) {
    let count = 0;
    try {
      count =
        parts.length === 1
          ? writeSync(FD, parts[0])
          : writevSync(FD, first === 0 ? parts : parts.slice(first));
    } catch (error) {
      if (/** @type {any} */ (error)?.code === 'EINTR') continue;
      exit.call(process, EXIT_DISCONNECTED);
    }
    while (first < parts.length && count >= byteLengthOf(parts[first])) {
      count -= byteLengthOf(parts[first]);
      first += 1;
    }
    if (first < parts.length && count > 0) parts[first] = subarray(parts[first], count);
  }
}

/** @param {Uint8Array} target @param {number} payload bytes behind the request id */
function putHeader(target, payload) {
  const size = 4 + payload;
  writeUInt32BE(target, floor(size / 0x1_0000_0000), 0);
  writeUInt32BE(target, size >>> 0, 4);
  writeUInt32BE(target, (0x80000000 | requestId) >>> 0, 8);
}

/** Open the channel: nng's hello, REQ to REP. */
function connect() {
  writeAll([from([0x00, 0x53, 0x50, 0x00, 0x00, 0x30, 0x00, 0x00])]);
  let got = 0;
  while (got < 8) got += readSome(room, got, 8 - got);
  if (latin1Slice(room, 0, 8) !== '\x00SP\x00\x001\x00\x00') exit.call(process, EXIT_DISCONNECTED);
}

/**
 * A reply: its JSON line, and how far the bytes behind it have been read. They stand at `start` to
 * `got` in a buffer that the next `ask` uses again, the rest up to `end` is in the pipe still: `take`
 * all of it before the next `ask`.
 * @typedef {{ head: any, bytes: Buffer, start: number, got: number, end: number }} Reply
 */

/**
 * Send one request and wait for its reply.
 * @param {string} head compact JSON, without line feeds
 * @param {Uint8Array} [tail] the bytes behind it
 * @returns {Reply}
 */
function ask(head, tail) {
  requestId = (requestId + 1) & 0x7fffffff;
  const extra = tail === undefined ? 0 : byteLengthOf(tail);
  if (HEADER + head.length * 3 + 1 + extra <= ROOM) {
    const end = HEADER + utf8Write(outgoing, head, HEADER);
    outgoing[end] = NEWLINE;
    if (tail !== undefined) copyInto(outgoing, tail, end + 1);
    putHeader(outgoing, end + 1 + extra - HEADER);
    writeAll([subarray(outgoing, 0, end + 1 + extra)]);
  } else {
    const line = from(head + '\n', 'utf8');
    putHeader(outgoing, byteLengthOf(line) + extra);
    const header = subarray(outgoing, 0, HEADER);
    writeAll(tail === undefined ? [header, line] : [header, line, tail]);
  }

  let got = 0;
  while (got < HEADER) got += readSome(room, got, ROOM - got);
  const end = HEADER - 4 + readUInt32BE(room, 0) * 0x1_0000_0000 + readUInt32BE(room, 4);
  // Strictly one reply to each request: anything else is a broken wire.
  if (readUInt32BE(room, 8) !== (0x80000000 | requestId) >>> 0) exit.call(process, EXIT_DISCONNECTED);
  let bytes = room;
  let newline = indexOf(subarray(room, 0, got), NEWLINE, HEADER);
  if (newline === -1) {
    // Not all of the line is here yet, or it is a long one: read the whole reply.
    if (end > ROOM) {
      bytes = allocUnsafeSlow(end);
      copyInto(bytes, subarray(room, 0, got));
    }
    while (got < end) got += readSome(bytes, got, end - got);
    newline = indexOf(bytes, NEWLINE, HEADER);
  }
  // The supervisor's JSON is ASCII: latin1 is its fastest decoder.
  const line = parse(latin1Slice(bytes, HEADER, newline));
  return { head: line, bytes, start: newline + 1, got, end };
}

/**
 * The next bytes of a reply, as a plain `Uint8Array` of its own. A large value is read from the pipe
 * right into it.
 * @param {Reply} reply @param {number} [size] all that is left, if not given
 * @returns {Uint8Array}
 */
function take(reply, size = reply.end - reply.start) {
  const own = new Bytes(size);
  const here = min(size, reply.got - reply.start);
  copyInto(own, subarray(reply.bytes, reply.start, reply.start + here));
  let filled = here;
  while (filled < size) filled += readSome(own, filled, size - filled);
  reply.start += here;
  reply.end -= size - here;
  return own;
}

module.exports = { ask, connect, take, byteLengthOf, parse, stringify, unbound, utf8Slice };
