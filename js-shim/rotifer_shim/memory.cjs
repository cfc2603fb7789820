'use strict';
/**
 * `ctx.memory`: the four synchronous calls (memory §5); and the errors that genes can import.
 *
 * The rules are the engine's. Here is checked only what JavaScript alone can see: that an argument
 * can be said in JSON at all, and that a value is bytes.
 */

const { types } = require('node:util');
const { isUint8Array, isSharedArrayBuffer } = types;
const { ask, byteLengthOf, stringify, take } = require('./channel.cjs');

const { freeze, getPrototypeOf, defineProperty } = Object;
const { ownKeys } = Reflect;
const { isFinite: isFiniteNumber } = Number;
const { isArray } = Array;
const Bytes = Uint8Array;

/** A request's JSON line longer than this is no request; the key's own limit is far below. */
const MAX_LINE = 65_536;

/**
 * A class of errors that have one of the documented codes (memory §8, projects §6).
 * @param {string} name
 */
function coded(name) {
  const { [name]: Coded } = {
    [name]: class extends Error {
      /** @param {string} code @param {string} message */
      constructor(code, message) {
        super(message);
        this.code = code;
      }
    },
  };
  defineProperty(Coded.prototype, 'name', { value: name, configurable: true, writable: true });
  return Coded;
}

const MemoryError = coded('MemoryError');
const NetworkGatewayError = coded('NetworkGatewayError');

/** @param {string} message */
function invalid(message) {
  return new MemoryError('MEMORY_INVALID_INPUT', message);
}

/** @param {number} count a whole number; with commas (Intl would take 13 ms to load) */
function grouped(count) {
  let digits = `${count}`;
  let text = '';
  while (digits.length > 3) {
    text = `,${digits.slice(-3)}${text}`;
    digits = digits.slice(0, -3);
  }
  return digits + text;
}

/** @param {unknown} value */
function kindOf(value) {
  if (value === null) return 'null';
  if (types.isProxy(value)) return 'a Proxy';
  if (isArray(value)) return 'an array';
  if (typeof value === 'number') return `the number ${value}`;
  return typeof value === 'undefined' ? 'nothing' : `a value of type ${typeof value}`;
}

/**
 * An argument as the engine may see it: JSON's own primitives pass, to be judged there.
 * @param {unknown} value @param {string} what
 */
function primitive(value, what) {
  if (value === null) return value;
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value;
    case 'number':
      if (isFiniteNumber(value)) return value;
  }
  throw invalid(`${what} cannot be ${kindOf(value)}`);
}

/**
 * A policy or a filter: a flat, plain object of JSON's primitives. Fields that are `undefined` are
 * absent. A Map, a Date or an instance of a class would look like an object without fields, and so
 * like no filter at all: refused.
 * @param {unknown} value @param {string} what
 * @returns {any}
 */
function flat(value, what) {
  if (value === undefined || value === null) return value;
  try {
    if (typeof value === 'object' && isPlain(value)) {
      /** @type {any} */
      const copy = { __proto__: null };
      for (const name of ownKeys(value)) {
        if (typeof name === 'symbol') throw invalid(`${what} has a field named by a symbol`);
        copy[name] = primitive(/** @type {any} */ (value)[name], `${what}.${name}`);
      }
      return copy;
    }
  } catch (error) {
    if (error instanceof MemoryError) throw error;
    throw invalid(`${what} cannot be read: reading one of its fields throws`);
  }
  throw invalid(`Expected ${what} to be a plain object, got ${kindOf(value)}`);
}

/** @param {object} value */
function isPlain(value) {
  const prototype = getPrototypeOf(value);
  // An object of another realm has another Object.prototype: it is the one without a prototype.
  return prototype === null || getPrototypeOf(prototype) === null;
}

/**
 * @param {any} request @param {Uint8Array} [tail]
 * @returns {import('./channel.cjs').Reply}
 */
function send(request, tail) {
  const line = stringify(request);
  if (line.length > MAX_LINE) {
    throw invalid(`the arguments are ${line.length} characters of JSON; the limit is ${MAX_LINE}`);
  }
  const reply = ask(line, tail);
  const error = reply.head.error;
  if (error !== undefined) throw new MemoryError(error.code, error.message);
  return reply;
}

/** @param {any} meta @param {Uint8Array} value */
function entryOf(meta, value) {
  return {
    entryId: meta.entryId,
    category: meta.category,
    key: meta.key,
    value,
    createdBy: meta.createdBy,
    lastAccessedBy: meta.lastAccessedBy,
    createdAt: meta.createdAt,
    updatedAt: meta.updatedAt,
    accessPolicy: meta.accessPolicy,
    retentionPolicy: meta.retentionPolicy,
  };
}

/**
 * An entry of a query: what many entries have alike stands in `shared`, once (`_wire.py`). Its
 * policies are copied, so that a gene which changes one entry changes no other.
 * @param {any[]} row @param {any[]} shared @param {Uint8Array} value
 */
function entryOfRow(row, shared, value) {
  const retention = shared[row[8]];
  return {
    entryId: row[0],
    category: row[1],
    key: row[2],
    value,
    createdBy: shared[row[3]],
    lastAccessedBy: shared[row[4]],
    createdAt: row[5],
    updatedAt: row[6],
    accessPolicy: { ...shared[row[7]] },
    retentionPolicy: retention === null ? null : { ...retention },
  };
}

/**
 * A value's bytes, ready to be sent.
 * @param {unknown} value @param {number} limit bytes
 * @returns {Uint8Array}
 */
function valueBytes(value, limit) {
  if (!isUint8Array(value)) {
    const remedy = typeof value === 'string' ? ': use new TextEncoder().encode(text)' : '';
    throw invalid(`Expected value to be a Uint8Array, got ${kindOf(value)}${remedy}`);
  }
  if (/** @type {any} */ (value.buffer).detached) {
    throw invalid('value has been transferred away: its buffer is detached');
  }
  const size = byteLengthOf(value);
  if (size > limit) {
    // Not worth sending: the engine could only say the same.
    throw invalid(
      `value is ${grouped(size)} bytes; the limit is ${grouped(limit)}`,
    );
  }
  return isSharedArrayBuffer(value.buffer) ? new Bytes(value) : value;
}

/**
 * The memory of one run. The supervisor knows the gene by its socket and the run by its number; a
 * handle kept for a later run is denied there.
 * @param {number} run
 * @param {{ value: number }} limits bytes
 * @returns {any} a `GeneMemoryAccess`
 */
function memoryOf(run, limits) {
  return freeze({
    __proto__: null,

    /** @param {unknown} key @param {unknown} [category] */
    readMemory(key, category) {
      const reply = send({
        __proto__: null,
        op: 'read',
        run,
        key: primitive(key, 'key'),
        category: primitive(category, 'category'),
      });
      const { entry, size } = reply.head;
      return entry === null ? null : entryOf(entry, take(reply, size));
    },

    /**
     * @param {unknown} key @param {unknown} value @param {unknown} category
     * @param {unknown} [accessPolicy] @param {unknown} [retentionPolicy]
     */
    writeMemory(key, value, category, accessPolicy, retentionPolicy) {
      const request = {
        __proto__: null,
        op: 'write',
        run,
        key: primitive(key, 'key'),
        category: primitive(category, 'category'),
        accessPolicy: flat(accessPolicy, 'accessPolicy'),
        retentionPolicy: flat(retentionPolicy, 'retentionPolicy'),
      };
      const bytes = valueBytes(value, limits.value);
      const { entry } = send(request, bytes).head;
      // What is stored is what was sent: it need not come back.
      return entryOf(entry, new Bytes(bytes));
    },

    /** @param {unknown} [filter] */
    queryMemory(filter) {
      const fields = flat(filter, 'filter');
      if (fields === null) throw invalid('filter cannot be null; leave it out for no filter');
      const reply = send({ __proto__: null, op: 'query', run, filter: fields });
      const { entries, shared } = reply.head;
      for (let index = 0; index < entries.length; index += 1) {
        const row = entries[index];
        entries[index] = entryOfRow(row, shared, take(reply, row[9]));
      }
      return entries;
    },

    /** @param {unknown} key */
    deleteMemory(key) {
      send({ __proto__: null, op: 'delete', run, key: primitive(key, 'key') });
    },
  });
}

module.exports = { MemoryError, NetworkGatewayError, memoryOf };
