/**
 * The vectors shared with the engine (tests/vectors), on the shim's memory alone: behind it stands a
 * channel that records what would be sent. What the engine is to judge must reach it as it was given;
 * what JSON cannot say must be refused here.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

const SHIM = join(import.meta.dirname, '../../js-shim/rotifer_shim');
const LIMIT = 1_048_576;

const require = createRequire(import.meta.url);
const channel = require(join(SHIM, 'channel.cjs'));
let sent = [];
channel.ask = (line, tail) => {
  // As the channel does it: what is no Unicode would be lost in these bytes.
  sent.push({ ...JSON.parse(Buffer.from(line, 'utf8').toString()), tail: tail && Buffer.from(tail) });
  return { head: { entry: {}, entries: [], size: 0 }, bytes: Buffer.alloc(0), start: 0, got: 0, end: 0 };
};
const { memoryOf, MemoryError } = require(join(SHIM, 'memory.cjs'));
const memory = memoryOf(1, { value: LIMIT });

const vectors = (name) =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../vectors', `${name}.json`), 'ascii'));
const text = (t) =>
  Array.isArray(t) ? t.map(([part, times]) => part.repeat(times)).join('') : t;
const number = (n) => (n?.number === undefined ? n : Number(n.number));
const blob = (parts) =>
  new Uint8Array(
    Buffer.concat(parts.map(([hex, times]) => Buffer.alloc((hex.length / 2) * times, hex, 'hex'))),
  );
const none = new Uint8Array(0);

/** What a call sends: one request, or none and the error. */
function asked(call) {
  sent = [];
  call();
  assert.equal(sent.length, 1);
  return sent[0];
}

/** A call that is refused before anything is sent. */
function refusedHere(call, words, why) {
  sent = [];
  assert.throws(call, (error) => {
    assert.ok(error instanceof MemoryError);
    assert.equal(error.code, 'MEMORY_INVALID_INPUT', why);
    assert.ok(error.message.includes(words), error.message);
    return true;
  });
  assert.deepEqual(sent, []);
}

test('keys reach the engine as they are, those that it will refuse too', () => {
  const { accept, refuse } = vectors('keys');
  for (const vector of [...accept, ...refuse]) {
    const key = text(vector.text);
    assert.equal(asked(() => memory.readMemory(key)).key, key, vector.why);
    assert.equal(asked(() => memory.writeMemory(key, none, 'CACHE')).key, key, vector.why);
    assert.equal(asked(() => memory.deleteMemory(key)).key, key, vector.why);
  }
});

test('prefixes reach the engine as they are', () => {
  const { accept, refuse } = vectors('prefixes');
  for (const { prefix, why } of [...accept, ...refuse]) {
    const keyPrefix = text(prefix);
    assert.deepEqual(asked(() => memory.queryMemory({ keyPrefix })).filter, { keyPrefix }, why);
  }
});

test('values are sent byte for byte beside the request, or not at all', () => {
  const { accept, refuse } = vectors('values');
  for (const { hex, why } of accept) {
    const value = blob(hex);
    const { tail, ...request } = asked(() => memory.writeMemory('k', value, 'CACHE'));
    assert.ok(tail.equals(value), why);
    assert.deepEqual(request, { op: 'write', run: 1, key: 'k', category: 'CACHE' });
  }
  for (const { hex, says, why } of refuse) {
    refusedHere(() => memory.writeMemory('k', blob(hex), 'CACHE'), says, why);
  }
});

test('limits reach the engine when JSON can say them', () => {
  const { accept, refuse } = vectors('limits');
  for (const vector of [...accept, ...refuse]) {
    const limit = number(vector.limit);
    const call = () => memory.queryMemory('limit' in vector ? { limit } : undefined);
    if (typeof limit === 'number' && !Number.isFinite(limit)) {
      refusedHere(call, `filter.limit cannot be the number ${limit}`, vector.why);
    } else {
      const { filter } = asked(call);
      // JSON has one zero.
      assert.equal(filter?.limit, limit === 0 ? 0 : limit, vector.why);
    }
  }
});

test('times reach the engine as they are', () => {
  const { accept, refuse } = vectors('times');
  for (const { text: since, why } of [...accept, ...refuse]) {
    const until = since;
    assert.deepEqual(asked(() => memory.queryMemory({ since, until })).filter, { since, until }, why);
  }
});

test('the entry that a write gives has a value of its own', () => {
  const value = new Uint8Array([1, 2]);
  const entry = memory.writeMemory('k', value, 'CACHE');
  value.fill(0);
  assert.deepEqual(entry.value, new Uint8Array([1, 2]));
});
