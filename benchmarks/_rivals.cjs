'use strict';
// One of the others, called as often as asked; prints the microseconds of each call as JSON.
const { join } = require('node:path');

const [kind, python, folder] = process.argv.slice(2);
const [size, count] = process.argv.slice(5).map(Number);
const payload = Buffer.alloc(size, 97);

const makers = {
  synckit() {
    process.env.ROTIFER_BENCH = 'synckit';
    process.env.ROTIFER_BENCH_PYTHON = python;
    const { createSyncFn } = require('synckit');
    const call = createSyncFn(join(__dirname, '_rival_worker.cjs'));
    return () => call(payload).length;
  },
  async 'make-synchronous'() {
    const { default: makeSynchronous } = await import('make-synchronous');
    // Its function is a text of its own: what it needs, it has to load itself.
    const source = `async (payload) => {
      const { hop } = process.getBuiltinModule('node:module')
        .createRequire(${JSON.stringify(__filename)})('./_hop.cjs');
      globalThis.ask ??= hop(${JSON.stringify(python)});
      return globalThis.ask(Buffer.from(payload));
    }`;
    const call = makeSynchronous({ toString: () => source });
    return () => call(payload).length;
  },
  'sync-rpc'() {
    const call = require('sync-rpc')(join(__dirname, '_rival_worker.cjs'), python);
    const text = payload.toString('latin1');
    return () => call(text).length;
  },
  'better-sqlite3 read'() {
    const statement = database().prepare('SELECT v FROM t WHERE k = ?');
    return (i) => statement.get(Buffer.from(`${i % 10}`)).v.length;
  },
  'better-sqlite3 upsert'() {
    const statement = database().prepare(
      'INSERT INTO t VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v',
    );
    return (i) => {
      payload.writeUInt32BE(i, 0); // or nothing would change, and nothing be written
      statement.run(Buffer.from(`${i % 10}`), payload);
      return size;
    };
  },
};

function database() {
  const Database = require('better-sqlite3');
  const connection = new Database(join(folder, 'rival.db'));
  connection.pragma('journal_mode = WAL');
  connection.pragma('synchronous = FULL');
  connection.exec('CREATE TABLE IF NOT EXISTS t (k BLOB PRIMARY KEY, v BLOB) STRICT');
  const fill = connection.prepare('INSERT OR IGNORE INTO t VALUES (?, ?)');
  for (let i = 0; i < 10; i += 1) fill.run(Buffer.from(`${i}`), payload);
  return connection;
}

async function main() {
  const call = await makers[kind]();
  const before = Math.ceil(count / 5);
  const times = [];
  for (let i = 0; i < count + before; i += 1) {
    const start = process.hrtime.bigint();
    const got = call(i);
    if (i >= before) times.push(Number(process.hrtime.bigint() - start) / 1000);
    if (got !== size) throw new Error(`${kind} gave ${got} bytes for ${size}`);
  }
  process.stdout.write(JSON.stringify(times), () => process.exit(0));
}

main();
