'use strict';
// The yardstick's Node side: the same blocking round trip on fd 3, with nothing behind it.
const { readSync, writeSync } = require('node:fs');

const [kind, size, count] = [process.argv[2], +process.argv[3], +process.argv[4]];
const room = Buffer.allocUnsafeSlow(size + 4096);
let id = 0;

function readFull(length) {
  let got = 0;
  while (got < length) {
    const some = readSync(3, room, got, room.length - got, null);
    if (some === 0) process.exit(1);
    got += some;
  }
}

if (kind === 'nng') {
  writeSync(3, Buffer.from([0, 0x53, 0x50, 0, 0, 0x30, 0, 0]));
  readFull(8);
}
const frame = Buffer.alloc(12 + size, 97);
frame.writeUInt32BE(0, 0);
frame.writeUInt32BE(4 + size, 4);

function call() {
  id += 1;
  frame.writeUInt32BE((0x80000000 | id) >>> 0, 8);
  let sent = 0;
  while (sent < frame.length) sent += writeSync(3, frame, sent, frame.length - sent);
  readFull(frame.length);
}

for (let i = 0; i < count / 5; i += 1) call();
const times = [];
for (let i = 0; i < count; i += 1) {
  const start = process.hrtime.bigint();
  call();
  times.push(Number(process.hrtime.bigint() - start) / 1000);
}
process.stdout.write(JSON.stringify(times));
