/**
 * The wire's edge (design §2, pitfalls "Bridges, processes"): a supervisor that takes and gives a few
 * bytes at a time, interrupts, says the wrong thing or goes away.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

const CHANNEL = join(import.meta.dirname, '../../js-shim/rotifer_shim/channel.cjs');
const require = createRequire(import.meta.url);
const real = { readSync: fs.readSync, writeSync: fs.writeSync, writevSync: fs.writevSync };
const HELLO = Buffer.from([0x00, 0x53, 0x50, 0x00, 0x00, 0x31, 0x00, 0x00]);

const broken = (code) => Object.assign(new Error(code), { code });

/** A frame as the supervisor sends it. */
function frame(id, head, tail = Buffer.alloc(0)) {
  const payload = Buffer.concat([Buffer.from(`${head}\n`), tail]);
  const header = Buffer.alloc(12);
  header.writeBigUInt64BE(BigInt(4 + payload.length));
  header.writeUInt32BE((0x80000000 | id) >>> 0, 8);
  return Buffer.concat([header, payload]);
}

/**
 * The channel, loaded anew upon a wire of which every call moves at most `step` bytes, and every
 * `fault`-th call fails with `code`. `answers` are what comes in.
 */
function wired(answers, { step = Infinity, fault = Infinity, code = 'EINTR', hello = HELLO } = {}) {
  const incoming = [hello, ...answers];
  const sent = [];
  let calls = 0;
  const interrupt = () => {
    calls += 1;
    if (calls % fault === 0) throw broken(code);
  };
  const write = (fd, bytes) => {
    assert.equal(fd, 3);
    interrupt();
    const some = Math.min(step, bytes.byteLength);
    sent.push(Buffer.from(bytes.subarray(0, some)));
    return some;
  };
  fs.readSync = (fd, target, start, length) => {
    assert.equal(fd, 3);
    interrupt();
    if (incoming.length === 0) return 0;
    // One answer at a time: the supervisor says nothing unasked.
    const some = Math.min(step, length, incoming[0].length);
    incoming[0].copy(target, start, 0, some);
    incoming[0] = incoming[0].subarray(some);
    if (incoming[0].length === 0) incoming.shift();
    return some;
  };
  fs.writeSync = write;
  fs.writevSync = (fd, parts) => (step < parts[0].byteLength ? write(fd, parts[0]) : write(fd, Buffer.concat(parts)));
  const { reallyExit } = process;
  process.reallyExit = (exitCode) => {
    throw Object.assign(new Error(`exit ${exitCode}`), { exitCode });
  };
  delete require.cache[CHANNEL];
  try {
    return { channel: require(CHANNEL), sent: () => Buffer.concat(sent) };
  } finally {
    Object.assign(fs, real);
    process.reallyExit = reallyExit;
  }
}

const VALUE = Buffer.alloc(200_000, 'value ');
const WIRES = [{}, { step: 1 }, { step: 7, fault: 3 }, { step: 65_536, fault: 2 }, { step: 99_999, fault: 2 }];

for (const wire of WIRES) {
  test(`a reply is whole, however it comes: ${JSON.stringify(wire)}`, () => {
    const answers = [frame(1, '{"a":1}', VALUE), frame(2, `{"b":"${'x'.repeat(70_000)}"}`), frame(3, '{}')];
    const { channel } = wired(answers, wire);

    channel.connect();
    const first = channel.ask('{"op":"one"}');
    assert.deepEqual(first.head, { a: 1 });
    assert.ok(VALUE.equals(channel.take(first)));
    assert.equal(channel.ask('{"op":"two"}').head.b.length, 70_000);
    assert.deepEqual(channel.ask('{"op":"three"}').head, {});
  });

  test(`a request is whole, however it goes: ${JSON.stringify(wire)}`, () => {
    const { channel, sent } = wired([frame(1, '{}'), frame(2, '{}'), frame(3, '{}')], wire);
    const long = JSON.stringify({ op: 'é'.repeat(40_000) });

    channel.connect();
    channel.ask('{"op":"é"}', Buffer.from('tail'));
    channel.ask('{"op":"big"}', VALUE);
    channel.ask(long);

    const expected = [
      Buffer.from([0x00, 0x53, 0x50, 0x00, 0x00, 0x30, 0x00, 0x00]),
      frame(1, '{"op":"é"}', Buffer.from('tail')),
      frame(2, '{"op":"big"}', VALUE),
      frame(3, long),
    ];
    assert.ok(Buffer.concat(expected).equals(sent()));
  });
}

test('values of one reply are taken one after the other, across the edge of the buffer', () => {
  const tail = Buffer.concat([Buffer.alloc(65_000, 'a'), Buffer.alloc(3_000, 'b'), Buffer.alloc(9, 'c')]);
  const { channel } = wired([frame(1, '{}', tail), frame(2, '{"next":true}')]);

  channel.connect();
  const reply = channel.ask('{}');
  const values = [65_000, 3_000, 9].map((size) => Buffer.from(channel.take(reply, size)).toString());

  assert.deepEqual(values, ['a'.repeat(65_000), 'b'.repeat(3_000), 'c'.repeat(9)]);
  assert.deepEqual(channel.ask('{}').head, { next: true });
});

const ENDS = {
  'a supervisor that has gone': [[], {}],
  'a reply to another request': [[frame(2, '{}')], {}],
  'a reply without the high bit': [[frame(0x7fffffff & 1, '{}').fill(0, 8, 9)], {}],
  'a reply cut in its middle': [[frame(1, '{"a":1}').subarray(0, 15)], {}],
  'a socket that would block': [[frame(1, '{}')], { fault: 3, code: 'EAGAIN' }],
  'a pipe that is broken': [[frame(1, '{}')], { fault: 3, code: 'EPIPE' }],
};

for (const [what, [answers, wire]] of Object.entries(ENDS)) {
  test(`${what} ends the process, and no call goes on with half an answer`, () => {
    const { channel } = wired(answers, wire);

    channel.connect();

    assert.throws(() => channel.ask('{}'), { exitCode: 113 });
  });
}

test('a peer that is no reply socket ends the process', () => {
  const { channel } = wired([], { hello: Buffer.from(HELLO).fill(0x30, 5, 6) });

  assert.throws(() => channel.connect(), { exitCode: 113 });
});
