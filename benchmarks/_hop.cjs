'use strict';
// The asynchronous hop to Python that a synchronous bridge of npm's has to be given.
const { spawn } = require('node:child_process');
const { join } = require('node:path');

/** @param {string} python */
exports.hop = (python) => {
  const child = spawn(python, [join(__dirname, '_hop.py')], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.unref();
  child.stdin.unref();
  child.stdout.unref();
  let parts = [];
  let got = 0;
  let done;
  child.stdout.on('data', (part) => {
    parts.push(part);
    got += part.length;
    const whole = got >= 4 ? Buffer.concat(parts) : undefined;
    if (whole === undefined || got < 4 + whole.readUInt32BE(0)) return;
    parts = [];
    got = 0;
    child.stdout.unref();
    done(whole.subarray(4));
  });
  return (payload) =>
    new Promise((resolve) => {
      done = resolve;
      const head = Buffer.alloc(4);
      head.writeUInt32BE(payload.length, 0);
      child.stdout.ref();
      child.stdin.write(Buffer.concat([head, payload]));
    });
};
