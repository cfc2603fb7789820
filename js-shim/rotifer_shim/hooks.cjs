'use strict';
/**
 * Serves a gene's files to Node's module loader from memory (design §4).
 *
 * The supervisor has read every loadable file of the gene and made it ready; here Node's questions
 * about those files are answered from that list, under the files' own URLs, with an explicit
 * format. So the code that runs is the code the v2 identity was computed over, an enclosing
 * package.json decides nothing, and loading needs no right to read the folder.
 */

// Taken once, before any code of the gene runs: one that changes built-ins harms only itself.
const { createRequire, registerHooks, setSourceMapsSupport } = require('node:module');
const { dirname, extname, resolve: resolvePath, sep } = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');

/**
 * @typedef {'module' | 'commonjs' | 'json' | 'fault'} Format `fault`: a file that cannot run; its
 *   source is a {@link Fault} as JSON
 * @typedef {{ message: string, line: number | null, help: string | null }} Fault
 * @typedef {{ format: Format, source: string }} GeneFile
 * @typedef {GeneFile & { path: string, url: string }} ServedFile
 * @typedef {import('node:module').ResolveHookContext} Context
 * @typedef {import('node:module').ResolveFnOutput} Resolved
 */

/** What `./x` may mean, in this order: TypeScript, then JavaScript, then data. */
const EXTENSIONS = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json'];

/** What TypeScript authors write in an import, and the file they mean by it. */
const WRITTEN_AS = new Map([
  ['.js', '.ts'],
  ['.mjs', '.mts'],
  ['.cjs', '.cts'],
]);

/** The module genes import `MemoryError` from, under both names the reference gives it. */
const OWN_MODULES = new Set(['@rotifer/playground/memory', '@rotifer/playground']);
const OWN_URL = 'rotifer:memory';

/** Where the source text behind {@link OWN_URL} finds the exports: text cannot carry an object. */
const OWN_EXPORTS = Symbol.for('rotifer.memory');

/** Above this many keys an object is data, and nobody imports its keys by name. */
const MAX_NAMED_KEYS = 1_000;

/**
 * Whether the `require` of a CommonJS module that was imported knows of hooks (nodejs/node#62920).
 * Where it does not, a module of ours stands before the CommonJS one: under the same URL, marked.
 */
const HAS_TRUE_REQUIRE = isSince({ 24: 18, 26: 2 });
const MARK = '#commonjs';

/**
 * Starts serving a gene's files to `import` and `require` in this thread. Once in a process.
 *
 * @param {{ files: Map<string, GeneFile>, memoryModule: Record<string, unknown> }} gene `files` by
 *   file URL (an absolute path does too); `memoryModule`: what `@rotifer/playground/memory` exports
 */
function install({ files, memoryModule }) {
  const { byPath, byUrl } = index(files);
  const root = folderOf(byPath);
  const ownSource = sourceOfExports(memoryModule);

  for (const { format, source } of byPath.values()) {
    // Plain stripping keeps every position and brings no map: then nothing is switched on.
    if (format !== 'json' && source.lastIndexOf('//# sourceMappingURL=') !== -1) {
      setSourceMapsSupport(true);
      break;
    }
  }
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (OWN_MODULES.has(specifier)) {
        return { url: OWN_URL, format: 'module', shortCircuit: true };
      }
      const target = targetOf(specifier, context);
      if (target !== null) {
        const file = find(byPath, target.path);
        if (file !== undefined) return resolvedTo(file, target.suffix, context);
        if (isOwn(root, target.path)) throw notFound(specifier, context);
      }
      return nextResolve(specifier, context);
    },
    load(url, context, nextLoad) {
      if (url === OWN_URL) return { format: 'module', source: ownSource, shortCircuit: true };
      const file = byUrl.get(url) ?? byUrl.get(bare(url));
      if (file === undefined) return nextLoad(url, context);
      if (file.format === 'fault') throw faultOf(file);
      if (context.format === 'module' && file.format !== 'module') {
        return { format: 'module', source: moduleOf(file), shortCircuit: true };
      }
      return { format: file.format, source: file.source, shortCircuit: true };
    },
  });
}

/**
 * The files by path, and by the URL that Node itself makes of that path: percent-encoding is done
 * in more than one way.
 *
 * @param {Map<string, GeneFile>} files
 */
function index(files) {
  /** @type {Map<string, ServedFile>} */
  const byPath = new Map();
  /** @type {Map<string, ServedFile>} */
  const byUrl = new Map();
  for (const [key, { format, source }] of files) {
    const path = key.startsWith('file:') ? fileURLToPath(key) : key;
    const file = { path, url: pathToFileURL(path).href, format, source };
    byPath.set(path, file);
    byUrl.set(file.url, file);
  }
  return { byPath, byUrl };
}

/**
 * The gene's folder, with a separator at its end: the shortest of all, for the entry stands in it.
 *
 * @param {Map<string, ServedFile>} byPath
 */
function folderOf(byPath) {
  /** @type {string | undefined} */
  let folder;
  for (const path of byPath.keys()) {
    const own = dirname(path) + sep;
    if (folder === undefined || own.length < folder.length) folder = own;
  }
  return folder;
}

/**
 * Whether only the list of served files can answer for a path. `node_modules` is Node's business.
 *
 * @param {string | undefined} root
 * @param {string} path
 */
function isOwn(root, path) {
  if (root === undefined || !path.startsWith(root)) return false;
  return !path.slice(root.length - 1).includes(`${sep}node_modules${sep}`);
}

/**
 * Whether it is `require` that asks.
 *
 * @param {Iterable<string>} conditions an array, or (Node 22.15) a set
 */
function isRequired(conditions) {
  return [...conditions].includes('require');
}

/**
 * The path that a relative, absolute or `file:` specifier points at, and its `?query#hash`; null
 * for a bare specifier.
 *
 * @param {string} specifier
 * @param {Context} context
 * @returns {{ path: string, suffix: string } | null}
 */
function targetOf(specifier, { parentURL, conditions }) {
  const isFileUrl = specifier.startsWith('file:');
  if (!isFileUrl && !/^(?:\/|\.\.?(?:\/|$))/.test(specifier)) return null;
  try {
    if (isRequired(conditions) && !isFileUrl) {
      // What `require` takes is a path: its `%`, `#` and `?` are letters like any other.
      const importer = parentURL === undefined ? '' : readable(parentURL);
      const isFolder = /(?:^|\/)\.{0,2}$/.test(specifier);
      const path = resolvePath(dirname(importer), specifier);
      return { path: isFolder ? path + sep : path, suffix: '' };
    }
    const url = new URL(specifier, parentURL);
    return { path: fileURLToPath(url), suffix: url.search + url.hash };
  } catch {
    return null; // not the URL of a file: Node says so in its own words
  }
}

/**
 * The served file a path means: itself, the TypeScript behind `.js`, the path with an extension, or
 * a folder's index.
 *
 * @param {Map<string, ServedFile>} byPath
 * @param {string} path
 */
function find(byPath, path) {
  let folder = path;
  if (!path.endsWith(sep)) {
    const extension = extname(path);
    const written = WRITTEN_AS.get(extension);
    const meant = written && path.slice(0, -extension.length) + written;
    const file = byPath.get(path) ?? (meant && byPath.get(meant)) ?? firstOf(byPath, path);
    if (file) return file;
    folder += sep;
  }
  return firstOf(byPath, `${folder}index`);
}

/**
 * @param {Map<string, ServedFile>} byPath
 * @param {string} stem
 */
function firstOf(byPath, stem) {
  for (const extension of EXTENSIONS) {
    const file = byPath.get(stem + extension);
    if (file !== undefined) return file;
  }
  return undefined;
}

/**
 * @param {ServedFile} file
 * @param {string} suffix
 * @param {Context} context
 * @returns {Resolved}
 */
function resolvedTo({ url, format }, suffix, { conditions, importAttributes }) {
  const answer = { url: url + suffix, format, shortCircuit: true };
  if (format === 'fault') return { ...answer, format: 'module' };
  if (isRequired(conditions)) return answer;
  // Genes made with a bundler import JSON bare, and keys of it by name: both need a module.
  if (format === 'json' && importAttributes?.type === undefined) {
    return { ...answer, format: 'module' };
  }
  if (format === 'commonjs' && !HAS_TRUE_REQUIRE) {
    return { url: url + MARK, format: 'module', shortCircuit: true };
  }
  return answer;
}

/**
 * Whether this Node is of one of the versions given, or later.
 *
 * @param {Record<number, number>} minors the first minor version by major version, ascending
 */
function isSince(minors) {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const newest = Math.max(...Object.keys(minors).map(Number));
  return major > newest || minor >= (minors[major] ?? Infinity);
}

/**
 * A URL without its `?query#hash`.
 *
 * @param {string} url
 */
function bare(url) {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

/** @param {string} url */
function readable(url) {
  return url.startsWith('file:') ? fileURLToPath(bare(url)) : url;
}

/**
 * The source of a module that exports what an object holds.
 *
 * @param {Record<string, unknown>} exports
 */
function sourceOfExports(exports) {
  Object.defineProperty(globalThis, OWN_EXPORTS, { value: exports });
  const lines = [`const own = globalThis[Symbol.for('${OWN_EXPORTS.description}')];`];
  for (const name of Object.keys(exports)) lines.push(`export const ${name} = own.${name};`);
  return lines.join('\n');
}

/**
 * The source of a module that stands for a file of another format: its value is the default export,
 * and what the value has can be imported by name.
 *
 * @param {ServedFile} file
 */
function moduleOf({ format, path, url, source }) {
  const isJson = format === 'json';
  const value = isJson ? JSON.parse(source) : createRequire(url)(path);
  const lines = isJson
    ? [`const value = JSON.parse(${JSON.stringify(source)});`]
    : [
        "import { createRequire } from 'node:module';",
        `const value = createRequire(import.meta.url)(${JSON.stringify(path)});`,
      ];
  lines.push('export { value as default };');
  const isPlain = Object(value) === value && !Array.isArray(value);
  const keys = isPlain ? Object.keys(value).filter((key) => key.isWellFormed()) : [];
  if (keys.length > MAX_NAMED_KEYS) keys.length = 0;
  keys.forEach((key, at) => {
    if (key === 'default') return;
    const name = JSON.stringify(key);
    lines.push(`const key${at} = value[${name}]; export { key${at} as ${name} };`);
  });
  return lines.join('\n');
}

/**
 * @param {string} specifier
 * @param {Context} context
 */
function notFound(specifier, { parentURL, conditions }) {
  const importer = parentURL === undefined ? '' : ` imported from ${readable(parentURL)}`;
  const extension = extname(specifier);
  const hint =
    extension === '' || EXTENSIONS.includes(extension)
      ? ''
      : `; if it is a file, note that a gene can load ${EXTENSIONS.join(' ')}`;
  const code = isRequired(conditions) ? 'MODULE_NOT_FOUND' : 'ERR_MODULE_NOT_FOUND';
  const error = new Error(`Cannot find module '${specifier}'${importer}${hint}`);
  return Object.assign(error, { code });
}

/**
 * The error of a file that cannot run, thrown only when the gene loads it. Its parts stand beside
 * the text, for whoever shows them in another way.
 *
 * @param {ServedFile} file
 */
function faultOf({ path, source }) {
  /** @type {Fault} */
  const { message, line, help } = JSON.parse(source);
  const where = line === null ? path : `${path}:${line}`;
  const error = new SyntaxError(`${where}: ${message}${help === null ? '' : `\n${help}`}`);
  error.stack = `${error.name}: ${error.message}`; // our own frames say nothing to the author
  return Object.assign(error, { code: 'ROTIFER_FAULT', fault: { message, where, help } });
}

module.exports = { install };
