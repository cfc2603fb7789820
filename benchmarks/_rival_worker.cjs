'use strict';
// What runs beside Node's main thread: synckit's worker thread, or sync-rpc's process.
const { hop } = require('./_hop.cjs');

if (process.env.ROTIFER_BENCH === 'synckit') {
  const { runAsWorker } = require('synckit');
  runAsWorker(hop(process.env.ROTIFER_BENCH_PYTHON));
} else {
  module.exports = (python) => {
    const ask = hop(python);
    return async (text) => (await ask(Buffer.from(text, 'latin1'))).toString('latin1');
  };
}
