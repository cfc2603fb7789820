'use strict';
/**
 * A gene's process: asks the supervisor for the gene, then for runs, and answers them (design §2).
 *
 * The supervisor says nothing unasked. What is sent:
 *   hello  {op, node}                 answered by {files, entry, exports, limits, gateway}, the sources
 *                                     behind it
 *   next   {op}                       answered by {run}, the input's JSON behind it; or by
 *                                     {run, display}, an output behind it that is to be shown
 *   done   {op, run}, output's JSON   answered like `next`
 *   failed {op, run, kind, ...}       answered like `next`, or by {end} where the process is ending
 *   read, write, query, delete        the memory calls (memory.cjs)
 */

const { ask, connect, parse, stringify, take, utf8Slice } = require('./channel.cjs');
const { MemoryError, NetworkGatewayError, memoryOf } = require('./memory.cjs');
const { install } = require('./hooks.cjs');

const { inspect, types } = require('node:util');
const { from } = Buffer;
const exit = process.exit.bind(process);

// Node buffers what a full pipe does not take, and this thread then blocks on the supervisor: what
// a gene printed would stay behind. Writing must block instead. (Made when first used: 2 ms.)
for (const name of ['stdout', 'stderr']) {
  const get = /** @type {any} */ (Object.getOwnPropertyDescriptor(process, name)).get;
  Object.defineProperty(process, name, {
    configurable: true,
    enumerable: true,
    get() {
      const stream = get.call(process);
      stream._handle?.setBlocking?.(true);
      return stream;
    },
  });
}

/** The gateway of a Hybrid gene (gateway.cjs). @type {ReturnType<typeof import('./gateway.cjs').openGateway> | undefined} */
let gateway;
/** The run that is going on; 0 between runs. */
let current = 0;
/** The event loop ran dry while a run was going on. */
let idle = false;

/** What is told of a failure, in characters: enough for a person, too little to choke on. */
const MAX_MESSAGE = 8_192;

/** @param {string} text @param {number} limit */
function clip(text, limit) {
  return text.length <= limit ? text : `${text.slice(0, limit)}…`;
}

/**
 * What was thrown, as far as it can be told. A gene may throw anything, also things whose every
 * property throws.
 * @param {unknown} thrown
 */
function describe(thrown) {
  try {
    if (types.isNativeError(thrown) || thrown instanceof Error) {
      const { name, message, stack, code, fault, resource, cause } = /** @type {any} */ (thrown);
      // `fetch failed` says nothing; what it was caused by does.
      const because = types.isNativeError(cause) ? ` (${cause.message || cause.name})` : '';
      return {
        __proto__: null,
        name: clip(`${name}`, 200),
        message: clip(`${message}${because}`, MAX_MESSAGE),
        stack: clip(typeof stack === 'string' ? stack : '', MAX_MESSAGE),
        code: typeof code === 'string' ? clip(code, 200) : undefined,
        resource: code === 'ERR_ACCESS_DENIED' ? clip(`${resource}`, 1_000) : undefined,
        // A file that cannot run: the loader has its line and the remedy (hooks.cjs).
        fault: code === 'ROTIFER_FAULT' ? fault : undefined,
      };
    }
    const text = typeof thrown === 'string' ? thrown : inspect(thrown, { depth: 2 });
    const name = thrown === null ? 'null' : typeof thrown;
    return { __proto__: null, name, message: clip(text, MAX_MESSAGE) };
  } catch {
    return { __proto__: null, name: 'unknown', message: 'a value that cannot be described' };
  }
}

/** @param {string} kind @param {unknown} [thrown] */
function fail(kind, thrown) {
  const run = current;
  current = 0;
  // `throw undefined` is a throw like any other.
  const told = arguments.length > 1 ? describe(thrown) : undefined;
  return ask(stringify({ __proto__: null, op: 'failed', run, kind, error: told }));
}

process.on('beforeExit', () => {
  idle = true;
});
process.on('exit', (code) => {
  if (current === 0) return;
  if (idle) fail('unsettled');
  else fail('exited', `${code}`);
});
process.on('uncaughtException', (thrown) => {
  if (current === 0) exit(1);
  fail('uncaught', thrown);
  exit(1);
});

/**
 * The answer as JSON, or why it cannot be one.
 * @param {unknown} output
 * @returns {{ json: string } | { kind: string, thrown?: unknown }}
 */
function serialize(output) {
  if (output === undefined) return { kind: 'undefined' };
  try {
    const json = stringify(output);
    if (json !== undefined) return { json };
    const what = typeof output === 'object' ? 'an object whose toJSON gives nothing' : `a ${typeof output}`;
    return { kind: 'not-json', thrown: what };
  } catch (thrown) {
    return { kind: 'not-json', thrown };
  }
}

/**
 * @param {Function} express @param {import('./channel.cjs').Reply} reply
 * @param {{ value: number, output: number }} limits bytes
 */
async function run(express, reply, limits) {
  const number = reply.head.run;
  const input = parse(utf8Slice(take(reply)));
  /** @type {{ memory: unknown, gatewayFetch?: unknown }} */
  const ctx = { memory: memoryOf(number, limits) };
  if (gateway !== undefined) {
    gateway.begin(number);
    ctx.gatewayFetch = gateway.fetchOf(number);
  }
  current = number;
  idle = false;
  let output;
  try {
    output = express(input, ctx);
    if (types.isPromise(output) || typeof (/** @type {any} */ (output)?.then) === 'function') {
      output = await output;
    }
  } catch (thrown) {
    return fail('threw', thrown);
  }
  const answer = serialize(output);
  if (!('json' in answer)) return fail(answer.kind, answer.thrown);
  const bytes = from(answer.json, 'utf8');
  if (bytes.length > limits.output) {
    return fail('too-large', `${bytes.length}`);
  }
  current = 0;
  return ask(`{"op":"done","run":${number}}`, bytes);
}

/**
 * Show an output: what `display` gives back is told if it is text, else it has printed for itself.
 * @param {any} display @param {import('./channel.cjs').Reply} reply
 */
async function show(display, reply) {
  const { run: number, display: options } = reply.head;
  const output = parse(utf8Slice(take(reply)));
  let answer = 'false';
  if (typeof display === 'function') {
    current = number;
    idle = false;
    try {
      const shown = await display(output, options);
      answer = typeof shown === 'string' ? stringify(shown) : 'null';
    } catch (thrown) {
      return fail('threw', thrown);
    }
    current = 0;
  }
  return ask(`{"op":"done","run":${number}}`, from(answer, 'utf8'));
}

/**
 * The first of the names that is a function; `default` is the default export itself.
 * @param {any} exports @param {string[]} names
 */
function entryPoint(exports, names) {
  for (const name of names) {
    for (const space of [exports, exports?.default]) {
      if (space === null || space === undefined) continue;
      if (typeof space[name] === 'function') return space[name];
    }
  }
  return undefined;
}

/** @param {any} space @returns {string[]} the names a gene's author would say it exports */
function exportsOf(space) {
  const own = space.default;
  const more = typeof own === 'object' && own !== null ? Object.keys(own) : [];
  const names = Object.keys(space).filter((name) => name !== 'module.exports');
  if (typeof own === 'function') return names;
  return [...new Set([...names, ...more])].filter((name) => name !== 'default');
}

async function main() {
  connect();
  const hello = ask(stringify({ __proto__: null, op: 'hello', node: process.version }));
  const { files, entry, exports: names, limits } = hello.head;
  const served = new Map();
  for (const [url, format, size] of files) {
    served.set(url, { format, source: utf8Slice(take(hello, size)) });
  }
  if (hello.head.gateway) gateway = require('./gateway.cjs').openGateway();
  install({ files: served, memoryModule: { MemoryError, NetworkGatewayError } });

  current = -1; // loading counts as a run: a gene may throw, exit or hang here too
  let express;
  let display;
  try {
    const space = await import(entry);
    express = entryPoint(space, names);
    display = entryPoint(space, ['display']);
    if (express === undefined) fail('no-express', exportsOf(space).join(', '));
  } catch (thrown) {
    fail('load', thrown);
  }
  if (express === undefined) exit(1);
  current = 0;
  let reply = ask('{"op":"next"}');
  for (;;) {
    reply =
      reply.head.display === undefined
        ? await run(/** @type {Function} */ (express), reply, limits)
        : await show(display, reply);
  }
}

main();
