// Serves a gene's files to Node's module loader from memory (design §4).
//
// The supervisor has read every loadable file of the gene and made it ready; this module answers Node's questions about
// those files from that list, under the files' own URLs, with an explicit format. So the code that runs is the code the
// v2 identity was computed over, an enclosing package.json decides nothing, and loading needs no right to read the folder.
'use strict';

// Taken once, before any code of the gene runs: a gene that changes a built-in harms only itself.
const { registerHooks, setSourceMapsSupport } = require('node:module');
const { dirname, extname, resolve: resolvePath, sep } = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');

/**
 * @typedef {'module' | 'commonjs' | 'json' | 'fault'} Format `fault`: a file that cannot run; its source is a {@link Fault} as JSON
 * @typedef {{ message: string, line: number | null, column: number | null, help: string | null }} Fault
 * @typedef {{ format: Format, source: string }} GeneFile
 * @typedef {GeneFile & { path: string, url: string }} ServedFile
 * @typedef {import('node:module').ResolveFnOutput} Resolved
 * @typedef {import('node:module').LoadFnOutput} Loaded
 */

/** What `./x` may mean, in this order: TypeScript's own order, then JavaScript's, then data. */
const EXTENSIONS = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json'];

/** What TypeScript authors write in an import, and the file they mean by it. */
const WRITTEN_AS = new Map([['.js', '.ts'], ['.mjs', '.mts'], ['.cjs', '.cts']]);

/** The module genes import `MemoryError` from, under both of the names the reference gives it. */
const OWN_MODULES = new Set(['@rotifer/playground/memory', '@rotifer/playground']);
const OWN_URL = 'rotifer:memory';

/** Where the source text served for {@link OWN_URL} finds the exports: text cannot carry an object. */
const OWN_EXPORTS = Symbol.for('rotifer.memory');

/**
 * Starts serving a gene's files to `import` and `require` in this thread.
 *
 * @param {{ files: Map<string, GeneFile>, memoryModule: Record<string, unknown> }} gene `files` by file URL (an absolute path
 *   does too); `memoryModule` is what `@rotifer/playground/memory` exports.
 */
function install({ files, memoryModule }) {
  const served = index(files);
  const root = folderOf(served);
  const ownSource = sourceOfExports(memoryModule);

  for (const { format, source } of served.byPath.values()) {
    // Without a map nothing is switched on: plain stripping keeps every position.
    if (format !== 'json' && source.lastIndexOf('//# sourceMappingURL=') !== -1) {
      setSourceMapsSupport(true);
      break;
    }
  }
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (OWN_MODULES.has(specifier)) return { url: OWN_URL, format: 'module', shortCircuit: true };
      const target = targetOf(specifier, context);
      if (target !== null) {
        const file = find(served.byPath, target.path);
        if (file !== undefined) return resolvedTo(file, target.suffix, context);
        if (isOwn(root, target.path)) throw notFound(specifier, context);
      }
      return nextResolve(specifier, context);
    },
    load(url, context, nextLoad) {
      if (url === OWN_URL) return { format: 'module', source: ownSource, shortCircuit: true };
      const file = served.byUrl.get(url) ?? served.byUrl.get(bare(url));
      if (file === undefined) return nextLoad(url, context);
      if (file.format === 'fault') throw faultOf(file);
      return { format: file.format, source: file.source, shortCircuit: true };
    },
  });
}

/**
 * The files by path and by the URL that Node itself makes of that path, so that differences in percent-encoding never count.
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
 * The gene's folder, with a separator at its end. The entry stands at its top, so it is the shortest folder of all files.
 *
 * @param {{ byPath: Map<string, ServedFile> }} served
 */
function folderOf({ byPath }) {
  /** @type {string | undefined} */
  let folder;
  for (const path of byPath.keys()) {
    const own = dirname(path) + sep;
    if (folder === undefined || own.length < folder.length) folder = own;
  }
  return folder;
}

/**
 * Whether a path is one that only the list of served files can answer for. The gene's own `node_modules` is Node's business.
 *
 * @param {string | undefined} root
 * @param {string} path
 */
function isOwn(root, path) {
  return root !== undefined && path.startsWith(root) && !path.slice(root.length - 1).includes(`${sep}node_modules${sep}`);
}

/**
 * The path a relative, absolute or `file:` specifier points at (and its `?query#hash`); null for a bare specifier.
 *
 * @param {string} specifier
 * @param {{ parentURL?: string | undefined, conditions?: string[] }} context
 * @returns {{ path: string, suffix: string } | null}
 */
function targetOf(specifier, { parentURL, conditions }) {
  const isFileUrl = specifier.startsWith('file:');
  if (!isFileUrl && !/^(?:\/|\.\.?(?:\/|$))/.test(specifier)) return null;
  try {
    if (conditions !== undefined && conditions.includes('require') && !isFileUrl) {
      // What `require` takes is a path: its `%`, `#` and `?` are letters like any other.
      const from = parentURL === undefined || !parentURL.startsWith('file:') ? '.' : dirname(fileURLToPath(bare(parentURL)));
      const isFolder = /(?:^|\/)\.{0,2}$/.test(specifier);
      return { path: resolvePath(from, specifier) + (isFolder ? sep : ''), suffix: '' };
    }
    const url = new URL(specifier, parentURL);
    return { path: fileURLToPath(url), suffix: url.search + url.hash };
  } catch {
    return null; // not a URL of a file: Node says so in its own words
  }
}

/**
 * The served file a path means: itself, the TypeScript behind `.js`, the path with an extension, or a folder's index.
 *
 * @param {Map<string, ServedFile>} byPath
 * @param {string} path
 * @returns {ServedFile | undefined}
 */
function find(byPath, path) {
  if (!path.endsWith(sep)) {
    const exact = byPath.get(path);
    if (exact !== undefined) return exact;
    const extension = extname(path);
    const source = WRITTEN_AS.get(extension);
    const behind = source && byPath.get(path.slice(0, -extension.length) + source);
    if (behind) return behind;
    for (const ending of EXTENSIONS) {
      const file = byPath.get(path + ending);
      if (file !== undefined) return file;
    }
    path += sep;
  }
  for (const ending of EXTENSIONS) {
    const file = byPath.get(`${path}index${ending}`);
    if (file !== undefined) return file;
  }
  return undefined;
}

/**
 * @param {ServedFile} file
 * @param {string} suffix
 * @param {{ importAttributes?: ImportAttributes }} context
 * @returns {Resolved}
 */
function resolvedTo(file, suffix, { importAttributes }) {
  /** @type {Resolved} */
  const resolved = { url: file.url + suffix, format: file.format === 'fault' ? 'module' : file.format, shortCircuit: true };
  // Genes written for bundlers import JSON without `with { type: 'json' }`.
  if (file.format === 'json') resolved.importAttributes = { ...importAttributes, type: 'json' };
  return resolved;
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

/**
 * The source text of a module that exports what an object holds.
 *
 * @param {Record<string, unknown>} exports
 */
function sourceOfExports(exports) {
  Object.defineProperty(globalThis, OWN_EXPORTS, { value: exports });
  const lines = [`const own = globalThis[Symbol.for(${JSON.stringify(OWN_EXPORTS.description)})];`];
  for (const name of Object.keys(exports)) lines.push(`export const ${name} = own.${name};`);
  return lines.join('\n');
}

/**
 * @param {string} specifier
 * @param {{ parentURL?: string | undefined, conditions?: string[] }} context
 */
function notFound(specifier, { parentURL, conditions }) {
  const importer = parentURL === undefined ? '' : ` imported from ${readable(parentURL)}`;
  const hint = /\.[^./]+$/.test(specifier) && !EXTENSIONS.includes(extname(specifier))
    ? `; the files a gene can load end in ${EXTENSIONS.join(' ')}`
    : '';
  const code = conditions?.includes('require') ? 'MODULE_NOT_FOUND' : 'ERR_MODULE_NOT_FOUND';
  return Object.assign(new Error(`Cannot find module '${specifier}'${importer}${hint}`), { code });
}

/** @param {string} url */
function readable(url) {
  return url.startsWith('file:') ? fileURLToPath(bare(url)) : url;
}

/**
 * The error of a file that cannot run, thrown only when the gene loads that file. The parts stand beside the text for whoever
 * renders them in another way.
 *
 * @param {ServedFile} file
 */
function faultOf({ path, source }) {
  /** @type {Fault} */
  const { message, line, help } = JSON.parse(source);
  const where = line === null ? path : `${path}:${line}`;
  const error = new SyntaxError(help === null ? `${where}: ${message}` : `${where}: ${message}\n${help}`);
  error.stack = `${error.name}: ${error.message}`;
  return Object.assign(error, { code: 'ROTIFER_FAULT', fault: { message, where, help } });
}

module.exports = { install };
