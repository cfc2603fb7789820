'use strict';
/**
 * `ctx.gatewayFetch` of Hybrid genes (projects §6); loaded for these alone.
 *
 * Requests go to the supervisor on file descriptor 4, many at once: frames of a length (u32, big
 * endian), a line of JSON and the body's bytes. The rules are the supervisor's: what is checked here
 * is only what JavaScript alone can see. While nothing is outstanding the socket does not keep the
 * event loop running, so a gene that waits for nothing is still found out.
 */

const { isArrayBuffer, isUint8Array } = require('node:util').types;
const { byteLengthOf, parse, stringify, unbound, utf8Slice } = require('./channel.cjs');
const { NetworkGatewayError } = require('./memory.cjs');

const { entries } = Object;
const { isArray } = Array;
const { alloc, concat, from } = Buffer;
const latin1Slice = unbound(/** @type {any} */ (Buffer.prototype).latin1Slice);
const indexOf = unbound(Buffer.prototype.indexOf);
const readUInt32BE = unbound(Buffer.prototype.readUInt32BE);
const writeUInt32BE = unbound(Buffer.prototype.writeUInt32BE);
const subarray = unbound(Uint8Array.prototype.subarray);
const upper = unbound(String.prototype.toUpperCase);
const Later = Promise;
const Address = URL;

const FD = 4;
const NEWLINE = 10;
const PREFIX = 4;
/** Bytes; the supervisor hangs up on a larger one (_gateway.py says the same). */
const MAX_REQUEST = 16_777_216;

/**
 * @typedef {{ run: number, resolve: (value: unknown) => void, reject: (error: unknown) => void }} Pending
 */

/**
 * The gateway of a gene's process. Before any code of the gene runs.
 */
function openGateway() {
  const { Socket } = require('node:net');
  const socket = new Socket({ fd: FD, readable: true, writable: true });
  socket.unref();

  /** @type {Map<number, Pending>} */
  let pending = new Map();
  let current = 0;
  let lastId = 0;
  let isClosed = false;

  /** @type {Buffer[]} */
  let chunks = [];
  let have = 0;
  let need = PREFIX;

  /** @param {number} id @returns {Pending | undefined} */
  function settle(id) {
    const found = pending.get(id);
    pending.delete(id);
    if (pending.size === 0) socket.unref();
    return found;
  }

  /** @param {Buffer} frame */
  function receive(frame) {
    const newline = indexOf(frame, NEWLINE, PREFIX);
    const head = parse(latin1Slice(frame, PREFIX, newline));
    const found = settle(head.id);
    if (found === undefined) return; // of a run that has ended
    if (head.error !== undefined) {
      found.reject(new NetworkGatewayError(head.error.code, head.error.message));
      return;
    }
    const { status, headers, isTruncated } = head;
    found.resolve({ status, headers, body: utf8Slice(frame, newline + 1), isTruncated });
  }

  socket.on('data', (/** @type {Buffer} */ chunk) => {
    chunks.push(chunk);
    have += byteLengthOf(chunk);
    while (have >= need) {
      const all = chunks.length === 1 ? /** @type {Buffer} */ (chunks[0]) : concat(chunks, have);
      chunks = [all];
      const end = PREFIX + readUInt32BE(all, 0);
      if (have < end) {
        need = end;
        return;
      }
      have -= end;
      chunks = have === 0 ? [] : [subarray(all, end)];
      need = PREFIX;
      receive(subarray(all, 0, end));
    }
  });
  socket.on('error', () => {}); // 'close' follows
  socket.on('close', () => {
    isClosed = true;
    const left = pending;
    pending = new Map();
    for (const { reject } of left.values()) reject(gone());
  });

  /**
   * A run begins: what an earlier one did not wait for is forgotten, and never settles.
   * @param {number} run
   */
  function begin(run) {
    current = run;
    pending = new Map();
    socket.unref();
  }

  /**
   * @param {number} run
   * @returns {(url: unknown, options?: unknown) => Promise<unknown>} `ctx.gatewayFetch`
   */
  function fetchOf(run) {
    return async function gatewayFetch(url, options) {
      const { line, body } = requestOf(url, options, run, lastId + 1);
      const size = byteLengthOf(line) + (body === undefined ? 0 : byteLengthOf(body));
      if (run !== current) {
        throw new NetworkGatewayError(
          'NETWORK_ERROR',
          'this ctx.gatewayFetch belongs to a run that has ended',
        );
      }
      if (size > MAX_REQUEST) {
        throw new NetworkGatewayError(
          'NETWORK_ERROR',
          `the request is ${size} bytes; the limit is ${MAX_REQUEST}`,
        );
      }
      if (isClosed) throw gone();
      lastId += 1;
      const id = lastId;
      const prefix = alloc(PREFIX);
      writeUInt32BE(prefix, size, 0);
      return new Later((resolve, reject) => {
        pending.set(id, { run, resolve, reject });
        socket.ref();
        socket.write(prefix);
        socket.write(line);
        if (body !== undefined) socket.write(body);
      });
    };
  }

  return { begin, fetchOf };
}

function gone() {
  return new NetworkGatewayError('NETWORK_ERROR', 'the gateway is closed');
}

/**
 * A request, checked as far as JavaScript alone can see.
 * @param {unknown} url @param {unknown} options @param {number} run @param {number} id
 * @returns {{ line: Buffer, body: Uint8Array | undefined }}
 */
function requestOf(url, options, run, id) {
  const place = typeof url === 'string' ? url : /** @type {any} */ (url)?.href; // a URL has one
  if (typeof place !== 'string') {
    throw new TypeError(`Expected url to be a string, got ${kindOf(url)}`);
  }
  if (options !== undefined && (typeof options !== 'object' || options === null)) {
    throw new TypeError(`Expected options to be an object, got ${kindOf(options)}`);
  }
  const { method = 'POST', headers, body } = /** @type {any} */ (options ?? {});
  if (typeof method !== 'string') {
    throw new TypeError(`Expected method to be a string, got ${kindOf(method)}`);
  }
  const bytes = bytesOf(body);
  let target;
  try {
    target = new Address(place);
  } catch {
    throw new NetworkGatewayError('DOMAIN_BLOCKED', `not a URL: ${place.slice(0, 200)}`);
  }
  const line = stringify({
    __proto__: null,
    id,
    run,
    url: target.href,
    method: upper(method),
    headers: pairsOf(headers),
    body: bytes !== undefined,
  });
  return { line: from(`${line}\n`, 'utf8'), body: bytes };
}

/**
 * @param {unknown} headers an object, pairs, or what gives pairs (`Headers`, a `Map`)
 * @returns {string[][]}
 */
function pairsOf(headers) {
  if (headers === undefined || headers === null) return [];
  if (typeof headers !== 'object') {
    throw new TypeError(`Expected headers to be an object, got ${kindOf(headers)}`);
  }
  const iterable = /** @type {any} */ (headers);
  const given = typeof iterable[Symbol.iterator] === 'function' ? [...iterable] : entries(headers);
  const pairs = [];
  for (const pair of given) {
    const [name, value] = pair;
    if (value === undefined) continue;
    pairs.push([`${name}`, `${value}`]);
  }
  return pairs;
}

/**
 * A body's bytes, copied: the gene may change its own while the request waits to be sent.
 * @param {unknown} body
 * @returns {Uint8Array | undefined}
 */
function bytesOf(body) {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') return from(body, 'utf8');
  if (isUint8Array(body)) return from(/** @type {any} */ (body));
  if (isArrayBuffer(body)) return from(new Uint8Array(body));
  throw new TypeError(
    `Expected body to be a string or a Uint8Array, got ${kindOf(body)}: use JSON.stringify(value)`,
  );
}

/** @param {unknown} value */
function kindOf(value) {
  if (value === null) return 'null';
  return isArray(value) ? 'an array' : typeof value;
}

module.exports = { openGateway };
