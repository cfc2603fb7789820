'use strict';
/**
 * Stands in for worker.cjs: serves a gene as the worker does, loads it, and lets a test's function
 * look at it. Request on stdin, `{result}` or `{error}` as JSON on fd 3.
 */

const { readFileSync, writeSync } = require('node:fs');
const { install } = require('../../js-shim/rotifer_shim/hooks.cjs');

class MemoryError extends Error {}

async function main() {
  const { files, entry, test } = JSON.parse(readFileSync(0, 'utf8'));
  install({ files: new Map(files), memoryModule: { MemoryError } });
  const answer = {};
  try {
    const look = (0, eval)(`(${test})`);
    answer.result = await look(await import(entry), { MemoryError });
  } catch (thrown) {
    const { name, message, code, stack, fault } = Object(thrown);
    answer.error = { name, message, code, stack, fault };
  }
  writeSync(3, JSON.stringify(answer));
}

main();
